/* authorize: what Iggy's users may send and poll is what MQTT clients may publish and read. */
#include "acl_clients.h"
#include "rig.h"

#include "support/iggy_admin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE_MS = 20000 };
#define AUTH(more) \
    "'auth':{'login':'iggy','rate_per_address':0,'authorize':'iggy','refresh':'200ms'" more "},"
#define ROUTES                                                                                           \
    "'history':{},"                                                                                      \
    "'broker':{'acl':'none','address':'BROKER'},'routes':["                                              \
    "{'name':'rooms','filter':'rooms/{room}/#','direction':'both','stream':'room_{room}','topic':'t'},"  \
    "{'name':'twice','filter':'log/#','direction':'out','stream':'log','topic':'a','continue':true},"    \
    "{'name':'log','filter':'log/x','direction':'out','stream':'log','topic':'b'},"                      \
    "{'name':'via','filter':'via/#','direction':'out','via':'subscription','stream':'via','topic':'t'}," \
    "{'name':'own','filter':'own/#','direction':'out','stream':'own_{username}','topic':'t'},"           \
    "{'name':'commands','direction':'in','stream':'commands','topic':'devices',"                         \
    "'mqtt_topic':'devices/{header:device}/command'}]}"

static struct rig *rig;
static struct acl_client root; /* Iggy's root: all rights */
static uint16_t iggy;
static long a_id, a_topic, log_id, log_a, log_b, own_id, commands_id;

static void make_users(void)
{
    long nobody = -1;
    CU_ASSERT_TRUE(
        mi_iggy_admin_user(iggy, "ann", mi_iggy_permissions(NULL, a_id, "send_messages", -1, NULL)));
    CU_ASSERT_TRUE(
        mi_iggy_admin_user(iggy, "bob", mi_iggy_permissions(NULL, a_id, NULL, a_topic, "poll_messages")));
    CU_ASSERT_TRUE(
        mi_iggy_admin_user(iggy, "half", mi_iggy_permissions(NULL, log_id, NULL, log_a, "send_messages")));
    CU_ASSERT_TRUE(
        mi_iggy_admin_user(iggy, "log", mi_iggy_permissions(NULL, log_id, "manage_topics", -1, NULL)));
    CU_ASSERT_TRUE(
        mi_iggy_admin_user(iggy, "own", mi_iggy_permissions(NULL, own_id, "manage_stream", -1, NULL)));
    CU_ASSERT_TRUE(
        mi_iggy_admin_user(iggy, "cmd", mi_iggy_permissions(NULL, commands_id, "poll_messages", -1, NULL)));
    CU_ASSERT_TRUE(
        mi_iggy_admin_user(iggy, "all", mi_iggy_permissions("poll_messages", nobody, NULL, -1, NULL)));
    CU_ASSERT_TRUE(mi_iggy_admin_user(iggy, "none", "null"));
}

static void start(void)
{
    if (rig)
        return;
    rig = rig_new(NULL, NULL);
    iggy = rig->iggy.port;
    CU_ASSERT_TRUE_FATAL(mi_iggy_server_start(&rig->iggy));
    a_id = mi_iggy_admin_stream(iggy, "room_a");
    a_topic = mi_iggy_admin_topic(iggy, "room_a", "t");
    log_id = mi_iggy_admin_stream(iggy, "log");
    log_a = mi_iggy_admin_topic(iggy, "log", "a");
    log_b = mi_iggy_admin_topic(iggy, "log", "b");
    own_id = mi_iggy_admin_stream(iggy, "own_own");
    commands_id = mi_iggy_admin_stream(iggy, "commands");
    CU_ASSERT_TRUE_FATAL(mi_iggy_admin_stream(iggy, "room_b") >= 0 &&
                         mi_iggy_admin_topic(iggy, "commands", "devices") >= 0);
    make_users();
    CU_ASSERT_TRUE_FATAL(mi_broker_config(&rig->broker, RIG_CONFIG AUTH("") ROUTES, iggy) &&
                         mi_broker_start(&rig->broker));
    CU_ASSERT_TRUE_FATAL(acl_client_log_in(&root, rig->broker.port, "iggy", "iggy", "root", NULL));
}

static void log_in(struct acl_client *c, const char *username)
{
    static unsigned number;
    static char id[20][16];
    snprintf(id[number % 20], 16, "c%u", number);
    CU_ASSERT_TRUE_FATAL(acl_client_log_in(c, rig->broker.port, username, username ? "secret" : NULL,
                                           id[number++ % 20], NULL));
}

static bool may_write(struct acl_client *c, const char *topic)
{
    bool allowed = false;
    char *topics[] = {(char *)topic};
    CU_ASSERT_TRUE_FATAL(acl_client_write(c, topics, 1, &allowed));
    return allowed;
}

static bool may_subscribe(struct acl_client *c, const char *filter)
{
    uint8_t code = 0xff;
    CU_ASSERT_TRUE_FATAL(acl_client_subscribe_codes(c, &filter, 1, true, &code));
    CU_ASSERT_TRUE_FATAL(acl_client_subscribe(c, &filter, 1, false));
    return code < 0x80;
}

/* What root publishes on these topics and the client, subscribed to everything, gets: "10.." per topic. */
static const char *gets(struct acl_client *c, char *const *topics, size_t count)
{
    static char text[ACL_TOPICS + 1];
    static const char *const everything[] = {"#"};
    bool sent[ACL_TOPICS], seen[ACL_TOPICS];
    CU_ASSERT_TRUE_FATAL(acl_client_subscribe(c, everything, 1, true));
    CU_ASSERT_TRUE_FATAL(acl_client_write(&root, topics, count, sent));
    CU_ASSERT_TRUE_FATAL(acl_client_read(c, seen, count));
    CU_ASSERT_TRUE_FATAL(acl_client_subscribe(c, everything, 1, false));
    for (size_t i = 0; i < count; i++) {
        CU_ASSERT_TRUE(sent[i]);
        text[i] = seen[i] ? '1' : '0';
    }
    text[count] = '\0';
    return text;
}

static bool becomes(bool (*asked)(struct acl_client *c, const char *topic), struct acl_client *c,
                    const char *topic, bool want)
{
    for (uint64_t end = mi_monotonic_ms() + PATIENCE_MS; mi_monotonic_ms() < end; mi_sleep_ms(20))
        if (asked(c, topic) == want)
            return true;
    return false;
}

static void who_may_publish(void)
{
    static const struct {
        const char *user, *topic;
        bool allowed;
    } rows[] = {
        {"ann", "rooms/a/x", true},
        {"ann", "rooms/b/x", false},
        {"ann", "rooms/a", true},
        {"ann", "log/y", false},
        {"ann", "free/x", true},
        {"bob", "rooms/a/x", false},
        {"half", "log/y", true},
        {"half", "log/x", false}, /* two targets, and a right on one */
        {"log", "log/x", true},
        {"log", "rooms/a/x", false},
        {"own", "own/x", true},
        {"ann", "own/x", false},
        {"cmd", "devices/1/command", false},
        {"cmd", "devices/1/other", true},
        {"none", "rooms/a/x", false},
        {"none", "free", true},
        {"iggy", "rooms/new/x", true},
        {NULL, "rooms/a/x", false},
        {NULL, "free", true},
    };
    start();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct acl_client c = root;
        if (!rows[i].user || strcmp(rows[i].user, "iggy") != 0)
            log_in(&c, rows[i].user);
        bool allowed = may_write(&c, rows[i].topic);
        if (allowed != rows[i].allowed)
            printf("%s on %s: %d\n", rows[i].user, rows[i].topic, allowed);
        CU_ASSERT_EQUAL(allowed, rows[i].allowed);
        if (c.fd != root.fd)
            acl_client_close(&c);
    }
    CU_ASSERT_TRUE(rig_metric(rig, "mosquitto_iggy_rights_denied_total{reason=\"publish\"}", 8, 5000) >= 8);
}

static void who_may_subscribe(void)
{
    static const struct {
        const char *user, *filter;
        bool granted;
    } rows[] = {
        {"bob", "rooms/a/x", true},
        {"bob", "rooms/b/x", false},
        {"bob", "rooms/+/x", true},
        {"bob", "$share/g/rooms/a/x", true},
        {"ann", "rooms/a/x", false},
        {"ann", "$share/g/rooms/a/x", false},
        {"ann", "#", true},
        {"ann", "free", true},
        {"cmd", "devices/7/command", true},
        {"ann", "devices/7/command", false},
        {"all", "own/x", true}, /* who published is not known: everything */
        {"own", "own/x", false},
        {NULL, "rooms/a/x", false},
        {NULL, "free", true},
        {"ann", "$SYS/broker/uptime", true},
    };
    start();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct acl_client c;
        log_in(&c, rows[i].user);
        bool granted = may_subscribe(&c, rows[i].filter);
        if (granted != rows[i].granted)
            printf("%s to %s: %d\n", rows[i].user, rows[i].filter, granted);
        CU_ASSERT_EQUAL(granted, rows[i].granted);
        acl_client_close(&c);
    }
}

static void wildcards_are_filtered_message_by_message(void)
{
    static char *topics[] = {(char *)"rooms/a/1", (char *)"rooms/b/1", (char *)"log/x",
                             (char *)"free/1",    (char *)"own/1",     (char *)"devices/1/command"};
    start();
    static const char *const wants[][2] = {{"bob", "100100"}, {"ann", "000100"}, {"log", "001100"},
                                           {"cmd", "000101"}, {"all", "111111"}, {NULL, "000100"}};
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++) {
        struct acl_client c;
        log_in(&c, wants[i][0]);
        const char *got = gets(&c, topics, 6);
        if (strcmp(got, wants[i][1]) != 0)
            printf("%s gets %s\n", wants[i][0], got);
        CU_ASSERT_STRING_EQUAL(got, wants[i][1]);
        acl_client_close(&c);
    }
}

static void changes_reach_who_is_connected(void)
{
    struct acl_client none;
    start();
    log_in(&none, "none");
    CU_ASSERT_FALSE(may_write(&none, "rooms/a/x"));
    CU_ASSERT_TRUE(
        mi_iggy_admin_permit(iggy, "none", mi_iggy_permissions("send_messages", -1, NULL, -1, NULL)));
    CU_ASSERT_TRUE(becomes(may_write, &none, "rooms/a/x", true));
    CU_ASSERT_TRUE(mi_iggy_admin_permit(iggy, "none", "null"));
    CU_ASSERT_TRUE(becomes(may_write, &none, "rooms/a/x", false));
    acl_client_close(&none);
}

static void a_new_user_has_his_rights_at_once(void)
{
    struct acl_client c;
    start();
    for (int i = 0; i < 5; i++) {
        char name[16], topic[32];
        snprintf(name, sizeof name, "new_%d", i);
        snprintf(topic, sizeof topic, "rooms/%s/x", name);
        snprintf(name, sizeof name, "room_new_%d", i);
        long id = mi_iggy_admin_stream(iggy, name);
        CU_ASSERT_TRUE(
            mi_iggy_admin_user(iggy, name, mi_iggy_permissions(NULL, id, "manage_stream", -1, NULL)));
        log_in(&c, name);
        CU_ASSERT_TRUE(may_write(&c, topic));
        acl_client_close(&c);
    }
}

static void wills_are_published_by_right(void)
{
    static const char *const filter[] = {"rooms/a/#"};
    struct acl_client watcher, c;
    bool seen[251];
    start();
    log_in(&watcher, "all");
    CU_ASSERT_TRUE(acl_client_subscribe(&watcher, filter, 1, true));
    static const char *const users[] = {"none", "ann"}; /* the second may */
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_TRUE_FATAL(
            acl_client_log_in(&c, rig->broker.port, users[i], "secret", "mortal", "rooms/a/will"));
        acl_client_close(&c);
        bool came = false;
        for (uint64_t end = mi_monotonic_ms() + (i ? PATIENCE_MS : 500); !came && mi_monotonic_ms() < end;) {
            mi_sleep_ms(50);
            CU_ASSERT_TRUE_FATAL(acl_client_read(&watcher, seen, 251));
            came = seen[250];
        }
        CU_ASSERT_EQUAL(came, i == 1);
    }
    acl_client_close(&watcher);
}

static void who_is_deleted_disabled_or_made_again_goes(void)
{
    static const char *const users[] = {"gone", "off", "again"};
    struct acl_client c[3], next;
    start();
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_TRUE(
            mi_iggy_admin_user(iggy, users[i], mi_iggy_permissions("send_messages", -1, NULL, -1, NULL)));
        log_in(&c[i], users[i]);
        CU_ASSERT_TRUE(may_write(&c[i], "rooms/a/x"));
    }
    mi_sleep_ms(1100);
    CU_ASSERT_EQUAL(mi_iggy_admin(iggy, "DELETE", "/users/gone", NULL) / 100, 2);
    CU_ASSERT_EQUAL(mi_iggy_admin(iggy, "PUT", "/users/off", "{'status':'inactive'}") / 100, 2);
    CU_ASSERT_EQUAL(mi_iggy_admin(iggy, "DELETE", "/users/again", NULL) / 100, 2);
    CU_ASSERT_TRUE(mi_iggy_admin_user(iggy, "again", "null"));
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_TRUE(acl_client_is_cut(&c[i], PATIENCE_MS));
        acl_client_close(&c[i]);
    }
    CU_ASSERT_FALSE(acl_client_log_in(&next, rig->broker.port, "gone", "secret", "n1", NULL));
    CU_ASSERT_FALSE(acl_client_log_in(&next, rig->broker.port, "off", "secret", "n2", NULL));
    CU_ASSERT_TRUE_FATAL(acl_client_log_in(&next, rig->broker.port, "again", "secret", "n3", NULL));
    CU_ASSERT_FALSE(may_write(&next, "rooms/a/x")); /* the new account has no rights */
    acl_client_close(&next);
    CU_ASSERT_TRUE(may_write(&root, "rooms/a/x")); /* nobody else was cut */
}

static void a_reused_stream_id_opens_nothing(void)
{
    struct acl_client c;
    char name[32], topic[40];
    start();
    long id = mi_iggy_admin_stream(iggy, "room_old"), again = -1;
    CU_ASSERT_TRUE(mi_iggy_admin_user(iggy, "old", mi_iggy_permissions(NULL, id, "send_messages", -1, NULL)));
    log_in(&c, "old");
    CU_ASSERT_TRUE(may_write(&c, "rooms/old/x"));
    CU_ASSERT_EQUAL(mi_iggy_admin(iggy, "DELETE", "/streams/room_old", NULL) / 100, 2);
    for (int i = 0; again != id && i < 5; i++) {
        snprintf(name, sizeof name, "room_r%d", i);
        snprintf(topic, sizeof topic, "rooms/r%d/x", i);
        again = mi_iggy_admin_stream(iggy, name);
    }
    if (again == id) {
        CU_ASSERT_TRUE(becomes(may_write, &c, "rooms/old/x", false));
        CU_ASSERT_FALSE(may_write(&c, topic));
    } else {
        mi_skip("this server does not give ids out again at once");
    }
    acl_client_close(&c);
}

static void reload(const char *json)
{
    size_t before = mi_broker_count(&rig->broker, "the new configuration is in force");
    CU_ASSERT_TRUE_FATAL(mi_broker_config(&rig->broker, json, iggy) && mi_broker_reload(&rig->broker));
    for (uint64_t end = mi_monotonic_ms() + PATIENCE_MS; mi_monotonic_ms() < end; mi_sleep_ms(10))
        if (mi_broker_count(&rig->broker, "the new configuration is in force") > before)
            return;
    CU_FAIL_FATAL("no reload");
}

static void unmapped_topics_by_a_reload(void)
{
    struct acl_client c;
    start();
    log_in(&c, "ann");
    CU_ASSERT_TRUE(may_write(&c, "free/x"));
    reload(RIG_CONFIG AUTH(",'unmapped':'deny'") ROUTES);
    CU_ASSERT_FALSE(may_write(&c, "free/x"));
    CU_ASSERT_FALSE(may_subscribe(&c, "free/x"));
    CU_ASSERT_TRUE(may_write(&c, "rooms/a/x"));
    reload(RIG_CONFIG AUTH("") ROUTES);
    CU_ASSERT_TRUE(may_write(&c, "free/x"));
    acl_client_close(&c);
}

static void rights_stay_while_iggy_is_away(void)
{
    struct acl_client c;
    start();
    log_in(&c, "ann");
    CU_ASSERT_TRUE(may_write(&c, "rooms/a/x"));
    mi_iggy_server_stop(&rig->iggy);
    mi_sleep_ms(1000);
    CU_ASSERT_TRUE(may_write(&c, "rooms/a/x"));
    CU_ASSERT_FALSE(may_write(&c, "rooms/b/x"));
    CU_ASSERT_TRUE(mi_iggy_server_start(&rig->iggy));
    CU_ASSERT_TRUE(becomes(may_write, &c, "rooms/a/x", true));
    acl_client_close(&c);
}

static void the_plugins_own_subscription_needs_no_right(void)
{
    start();
    CU_ASSERT_TRUE(may_write(&root, "via/x"));
    CU_ASSERT_PTR_NOT_NULL(rig_arrived(rig, "via", "t", "via/x"));
}

/* Does the client get the message with payload 0 of the past, before the end marker (JSON, so its last byte
 * is a brace)? */
static bool gets_past(const char *user)
{
    static const char *const filter[] = {"$iggy/first/rooms/past/#"};
    struct acl_client c;
    bool seen[126], got = false, ended = false;
    log_in(&c, user);
    CU_ASSERT_TRUE_FATAL(acl_client_subscribe(&c, filter, 1, true));
    for (uint64_t end = mi_monotonic_ms() + PATIENCE_MS; !ended && mi_monotonic_ms() < end; mi_sleep_ms(20)) {
        CU_ASSERT_TRUE_FATAL(acl_client_read(&c, seen, 126));
        got |= seen[0];
        ended = seen['}'];
    }
    CU_ASSERT_TRUE(ended);
    acl_client_close(&c);
    return got;
}

static void the_past_by_the_same_rights(void)
{
    start();
    CU_ASSERT_TRUE(mi_iggy_admin_stream(iggy, "room_past") >= 0 &&
                   mi_iggy_admin_topic(iggy, "room_past", "t") >= 0);
    CU_ASSERT_TRUE(may_write(&root, "rooms/past/x"));
    CU_ASSERT_PTR_NOT_NULL(rig_arrived(rig, "room_past", "t", "rooms/past/x"));
    CU_ASSERT_TRUE(gets_past("all"));
    CU_ASSERT_FALSE(gets_past("bob"));
    CU_ASSERT_FALSE(gets_past(NULL));
}

static CU_TestInfo tests[] = {
    {"who_may_publish", who_may_publish},
    {"who_may_subscribe", who_may_subscribe},
    {"wildcards_are_filtered_message_by_message", wildcards_are_filtered_message_by_message},
    {"changes_reach_who_is_connected", changes_reach_who_is_connected},
    {"a_new_user_has_his_rights_at_once", a_new_user_has_his_rights_at_once},
    {"wills_are_published_by_right", wills_are_published_by_right},
    {"who_is_deleted_disabled_or_made_again_goes", who_is_deleted_disabled_or_made_again_goes},
    {"a_reused_stream_id_opens_nothing", a_reused_stream_id_opens_nothing},
    {"unmapped_topics_by_a_reload", unmapped_topics_by_a_reload},
    {"rights_stay_while_iggy_is_away", rights_stay_while_iggy_is_away},
    {"the_plugins_own_subscription_needs_no_right", the_plugins_own_subscription_needs_no_right},
    {"the_past_by_the_same_rights", the_past_by_the_same_rights},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("authorize", tests)
