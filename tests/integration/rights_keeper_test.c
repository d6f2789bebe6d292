/*
 * rights_keeper: what an administrator changes at an Iggy server reaches the table that the broker's thread
 * asks, within the refresh; and nobody gains a right by an id or a name that is given out again.
 */
#include "auth/rights_keeper.h"
#include "auth/rights_table.h"
#include "support/iggy_admin.h"
#include "support/iggy_server.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REFRESH_MS = 200, PATIENCE_MS = 20000 };

static struct mi_iggy_server server;
static struct iggy_client *client;
static struct mi_rights_news *news;
static struct mi_rights_keeper *keeper;
static struct mi_rights_table *table;
static char kicked[500], said[2000];
static long s_id, t_id;

static void write_line(void *context, enum mi_log_level level, const char *line)
{
    (void)context;
    (void)level;
    snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", line);
}

static void nothing(void *context)
{
    (void)context;
}

static void open_keeper(const char *user, const char *password)
{
    static const struct mi_log log = {write_line, NULL};
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%u", server.port);
    const char *urls[] = {url};
    struct iggy_options o = {.urls = urls, .url_count = 1, .username = user, .password = password};
    client = iggy_client_new(&o, NULL, 0);
    news = mi_rights_news_new();
    table = mi_rights_table_new();
    struct mi_rights_keeper_options k = {.client = client,
                                         .news = news,
                                         .clock = &mi_clock_system,
                                         .log = &log,
                                         .refresh_ns = REFRESH_MS * MI_NS_PER_MS,
                                         .max_users = 50,
                                         .wake_main = nothing};
    keeper = mi_rights_keeper_new(&k, NULL);
    CU_ASSERT_TRUE_FATAL(client && news && table && keeper);
}

static void close_keeper(void)
{
    iggy_client_free(client);
    mi_rights_keeper_free(keeper);
    mi_rights_news_free(news);
    mi_rights_table_free(table);
}

static void start(void)
{
    if (server.port)
        return;
    CU_ASSERT_TRUE_FATAL(mi_iggy_server_prepare(&server) && mi_iggy_server_start(&server));
    s_id = mi_iggy_admin_stream(server.port, "s");
    t_id = mi_iggy_admin_topic(server.port, "s", "t");
    CU_ASSERT_TRUE_FATAL(s_id >= 0 && t_id >= 0);
    CU_ASSERT_TRUE(
        mi_iggy_admin_user(server.port, "ann", mi_iggy_permissions(NULL, s_id, "send_messages", -1, NULL)));
    CU_ASSERT_TRUE(
        mi_iggy_admin_user(server.port, "bob", mi_iggy_permissions(NULL, s_id, NULL, t_id, "poll_messages")));
    CU_ASSERT_TRUE(mi_iggy_admin_user(server.port, "nobody", "null"));
    open_keeper("iggy", "iggy");
}

/* One turn of both threads. */
static void turn(void)
{
    mi_rights_keeper_step(keeper, mi_now_ns(&mi_clock_system));
    iggy_client_drive(client, 5, NULL, 0);
    for (struct mi_rights_news_item *i = mi_rights_news_take(news), *next; i; i = next) {
        next = i->next;
        mi_rights_table_set(table, (struct mi_span){i->name, i->name_len}, i->rights);
        if (i->kick)
            snprintf(kicked + strlen(kicked), sizeof kicked - strlen(kicked), "%.*s ", (int)i->name_len,
                     (char *)i->name);
        free(i);
    }
}

static void turns(unsigned ms)
{
    for (uint64_t end = mi_monotonic_ms() + ms; mi_monotonic_ms() < end;)
        turn();
}

/* "sp": may send and poll; "-": not known. */
static const char *rights_of(const char *user, const char *stream, const char *topic)
{
    static char text[4];
    const struct mi_iggy_rights *r = mi_rights_table_find(table, mi_span_of(user));
    if (!r)
        return "-";
    text[0] = '\0';
    if (mi_rights_allow(r, mi_span_of(stream), mi_span_of(topic), MI_RIGHT_SEND))
        strcat(text, "s");
    if (mi_rights_allow(r, mi_span_of(stream), mi_span_of(topic), MI_RIGHT_POLL))
        strcat(text, "p");
    return text;
}

static bool becomes(const char *user, const char *stream, const char *topic, const char *want)
{
    for (uint64_t end = mi_monotonic_ms() + PATIENCE_MS; mi_monotonic_ms() < end;) {
        if (strcmp(rights_of(user, stream, topic), want) == 0)
            return true;
        turn();
    }
    printf("%s on %s/%s is \"%s\", not \"%s\"\n%s", user, stream, topic, rights_of(user, stream, topic), want,
           said);
    return false;
}

static bool was_kicked(const char *user)
{
    char word[64];
    snprintf(word, sizeof word, "%s ", user);
    for (uint64_t end = mi_monotonic_ms() + PATIENCE_MS; mi_monotonic_ms() < end && !strstr(kicked, word);)
        turn();
    return strstr(kicked, word) != NULL;
}

static void users_are_known_without_a_login(void)
{
    start();
    CU_ASSERT_TRUE(becomes("ann", "s", "t", "s"));
    CU_ASSERT_TRUE(becomes("bob", "s", "t", "p"));
    CU_ASSERT_TRUE(becomes("nobody", "s", "t", ""));
    CU_ASSERT_TRUE(becomes("iggy", "other", "x", "sp"));
    CU_ASSERT_STRING_EQUAL(rights_of("ann", "other", "t"), "");
    CU_ASSERT_STRING_EQUAL(rights_of("bob", "s", "other"), "");
    CU_ASSERT_STRING_EQUAL(rights_of("carl", "s", "t"), "-");
}

static void changes_are_seen(void)
{
    start();
    CU_ASSERT_TRUE(mi_iggy_admin_permit(server.port, "nobody",
                                        mi_iggy_permissions("read_topics", s_id, "send_messages", -1, NULL)));
    CU_ASSERT_TRUE(becomes("nobody", "s", "t", "sp"));
    CU_ASSERT_TRUE(mi_iggy_admin_permit(server.port, "nobody", "null"));
    CU_ASSERT_TRUE(becomes("nobody", "s", "t", ""));
    CU_ASSERT_EQUAL(kicked[0], '\0');
}

static void a_new_user_is_found_when_he_is_asked_for(void)
{
    start();
    CU_ASSERT_TRUE(
        mi_iggy_admin_user(server.port, "eve", mi_iggy_permissions("send_messages", -1, NULL, -1, NULL)));
    CU_ASSERT_TRUE(mi_rights_news_ask(news, mi_span_of("eve")));
    CU_ASSERT_FALSE(mi_rights_news_ask(news, mi_span_of("eve")));
    CU_ASSERT_TRUE(becomes("eve", "any", "x", "s"));
}

static bool admitted;

static void on_admitted(void *arg)
{
    (void)arg;
    admitted = true;
}

static void on_verdict(void *arg, const struct iggy_result *result, enum iggy_verdict verdict,
                       const struct iggy_user *user)
{
    (void)arg;
    (void)result;
    CU_ASSERT_EQUAL(verdict, IGGY_VERDICT_GOOD);
    mi_rights_keeper_admit(keeper, user, on_admitted, NULL);
}

static void rights_are_there_when_a_login_is_answered(void)
{
    start();
    mi_rights_keeper_set_refresh(keeper, 3600 * MI_NS_PER_S); /* nothing but the login brings them */
    turns(REFRESH_MS * 2);
    long stream = mi_iggy_admin_stream(server.port, "fresh");
    long topic = mi_iggy_admin_topic(server.port, "fresh", "t");
    CU_ASSERT_TRUE(mi_iggy_admin_user(server.port, "fred",
                                      mi_iggy_permissions(NULL, stream, NULL, topic, "manage_topic")));
    iggy_check_password(client, (struct iggy_span){(const uint8_t *)"fred", 4},
                        (struct iggy_span){(const uint8_t *)"secret", 6}, on_verdict, NULL);
    for (uint64_t end = mi_monotonic_ms() + PATIENCE_MS; mi_monotonic_ms() < end && !admitted;)
        turn();
    CU_ASSERT_TRUE(admitted);
    CU_ASSERT_STRING_EQUAL(rights_of("fred", "fresh", "t"), "sp");
    mi_rights_keeper_set_refresh(keeper, REFRESH_MS * MI_NS_PER_MS);
}

/* Streams that are made until one gets that id; false: this server does not give it out again. */
static bool reuse_id(long id, char *name, size_t size)
{
    for (int i = 0; i < 5; i++) {
        snprintf(name, size, "again_%d", i);
        if (mi_iggy_admin_stream(server.port, name) == id)
            return true;
    }
    return false;
}

static void a_right_does_not_follow_a_reused_id(void)
{
    char name[32];
    start();
    long id = mi_iggy_admin_stream(server.port, "old");
    CU_ASSERT_TRUE(mi_iggy_admin_permit(server.port, "nobody",
                                        mi_iggy_permissions(NULL, id, "send_messages", -1, NULL)));
    CU_ASSERT_TRUE(becomes("nobody", "old", "t", "s"));
    CU_ASSERT_EQUAL(mi_iggy_admin(server.port, "DELETE", "/streams/old", NULL) / 100, 2);
    if (!reuse_id(id, name, sizeof name)) {
        mi_skip("this server does not give ids out again at once");
        return;
    }
    CU_ASSERT_TRUE(becomes("nobody", "old", "t", ""));
    turns(REFRESH_MS * 5);
    CU_ASSERT_STRING_EQUAL(rights_of("nobody", name, "t"), "");
    /* Given again it is a new right. */
    CU_ASSERT_TRUE(mi_iggy_admin_permit(server.port, "nobody", "null"));
    turns(REFRESH_MS * 5);
    CU_ASSERT_TRUE(mi_iggy_admin_permit(server.port, "nobody",
                                        mi_iggy_permissions(NULL, id, "send_messages", -1, NULL)));
    CU_ASSERT_TRUE(becomes("nobody", name, "t", "s"));
}

static void who_is_gone_is_kicked(void)
{
    start();
    CU_ASSERT_TRUE(becomes("eve", "any", "x", "s"));
    CU_ASSERT_EQUAL(mi_iggy_admin(server.port, "DELETE", "/users/eve", NULL) / 100, 2);
    CU_ASSERT_TRUE(was_kicked("eve"));
    CU_ASSERT_STRING_EQUAL(rights_of("eve", "any", "x"), "-");
    CU_ASSERT_TRUE(becomes("ann", "s", "t", "s"));
    CU_ASSERT_EQUAL(mi_iggy_admin(server.port, "PUT", "/users/ann", "{'status':'inactive'}") / 100, 2);
    CU_ASSERT_TRUE(was_kicked("ann"));
    CU_ASSERT_STRING_EQUAL(rights_of("ann", "s", "t"), "-");
}

static void who_is_made_again_is_somebody_else(void)
{
    start();
    mi_rights_keeper_set_refresh(keeper, 3000 * MI_NS_PER_MS); /* both steps fall between two looks */
    turns(REFRESH_MS * 2);
    CU_ASSERT_TRUE(becomes("bob", "s", "t", "p"));
    kicked[0] = '\0';
    CU_ASSERT_EQUAL(mi_iggy_admin(server.port, "DELETE", "/users/bob", NULL) / 100, 2);
    mi_sleep_ms(1100); /* ages within a second are the same (Iggy 0.8) */
    CU_ASSERT_TRUE(
        mi_iggy_admin_user(server.port, "bob", mi_iggy_permissions("manage_streams", -1, NULL, -1, NULL)));
    CU_ASSERT_TRUE(was_kicked("bob"));
    mi_rights_keeper_set_refresh(keeper, REFRESH_MS * MI_NS_PER_MS);
    CU_ASSERT_TRUE(becomes("bob", "s", "t", "sp")); /* the new one */
}

static void without_the_right_to_read_users_nobody_has_rights(void)
{
    start();
    close_keeper();
    said[0] = '\0';
    CU_ASSERT_TRUE(
        mi_iggy_admin_user(server.port, "bridge", mi_iggy_permissions("read_streams", -1, NULL, -1, NULL)));
    open_keeper("bridge", "secret");
    turns(REFRESH_MS * 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "lacks the right read_users"));
    CU_ASSERT_STRING_EQUAL(rights_of("bob", "s", "t"), "-");
    CU_ASSERT_TRUE(
        mi_iggy_admin_permit(server.port, "bridge", mi_iggy_permissions("read_users", -1, NULL, -1, NULL)));
    CU_ASSERT_TRUE(becomes("bob", "s", "t", "sp"));
}

static void it_ends(void)
{
    close_keeper();
    mi_iggy_server_remove(&server);
}

static CU_TestInfo tests[] = {
    {"users_are_known_without_a_login", users_are_known_without_a_login},
    {"changes_are_seen", changes_are_seen},
    {"a_new_user_is_found_when_he_is_asked_for", a_new_user_is_found_when_he_is_asked_for},
    {"rights_are_there_when_a_login_is_answered", rights_are_there_when_a_login_is_answered},
    {"a_right_does_not_follow_a_reused_id", a_right_does_not_follow_a_reused_id},
    {"who_is_gone_is_kicked", who_is_gone_is_kicked},
    {"who_is_made_again_is_somebody_else", who_is_made_again_is_somebody_else},
    {"without_the_right_to_read_users_nobody_has_rights", without_the_right_to_read_users_nobody_has_rights},
    {"it_ends", it_ends},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("rights_keeper", tests)
