/* authorize: Iggy's rights on topics, decided from what the bridge thread told. */
#include "support/suite.h"

#include "broker/authorize.h"

#include <stdio.h>
#include <string.h>

static const struct mi_rule_spec rules[] = {
    {.name = "rooms",
     .filter = "rooms/{room}/#",
     .direction = MI_BOTH,
     .stream = "room_{room}",
     .topic = "t"},
    {.name = "in", .direction = MI_IN, .stream = "commands", .topic = "c", .mqtt_topic = "do/{header:x}"},
    {.name = "own", .filter = "own/#", .direction = MI_OUT, .stream = "own_{client_id}", .topic = "t"},
    {.name = "property", .filter = "p/#", .direction = MI_OUT, .stream = "p_{property:x}", .topic = "t"},
};
static struct mi_config config;
static struct mi_authorize *authorize;
static struct mi_rights_news *news;
static struct mi_metrics *metrics;
static const char *username;
static int woken;
static char kicked[100];

static void wake(void *context)
{
    (void)context;
    woken++;
}

static void kick(void *context, const char *name)
{
    (void)context;
    snprintf(kicked + strlen(kicked), sizeof kicked - strlen(kicked), "%s ", name);
}

static void tell(const char *user, unsigned everywhere, const char *stream, const char *topic,
                 unsigned rights)
{
    const struct mi_named_grant grant = {mi_span_of(stream), mi_span_of(topic), rights};
    CU_ASSERT_TRUE(
        mi_rights_news_put(news, mi_span_of(user), mi_rights_new(everywhere, &grant, stream ? 1 : 0), false));
}

struct mi_config *mi_config_hold(struct mi_config *c)
{
    return c;
}

void mi_config_release(struct mi_config *c)
{
    (void)c;
}

static void begin(enum mi_unmapped unmapped)
{
    woken = 0;
    kicked[0] = '\0';
    username = "ann";
    config = (struct mi_config){.rules = rules,
                                .route_count = sizeof rules / sizeof *rules,
                                .topic_cache = 16,
                                .auth = {.unmapped = unmapped}};
    news = mi_rights_news_new();
    metrics = mi_metrics_new();
    struct mi_error err = {""};
    const struct mi_authorize_options o = {
        .config = &config, .news = news, .metrics = metrics, .wake_bridge = wake};
    authorize = mi_authorize_new(&o, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(authorize);
    tell("ann", 0, "room_a", "t", MI_RIGHT_SEND);
}

static void end(void)
{
    mi_authorize_free(authorize);
    mi_rights_news_free(news);
    mi_metrics_free(metrics);
}

static bool may(char what, const char *topic)
{
    const struct mi_authorize_client client = {mi_span_of(username), mi_span_of("c")};
    return what == 'w'   ? mi_authorize_publish(authorize, &client, mi_span_of(topic))
           : what == 'r' ? mi_authorize_read(authorize, &client, mi_span_of(topic))
                         : mi_authorize_subscribe(authorize, &client, mi_span_of(topic));
}

static void rights_are_on_what_a_topic_is_mapped_to(void)
{
    begin(MI_UNMAPPED_ALLOW);
    CU_ASSERT_TRUE(may('w', "rooms/a/x"));
    CU_ASSERT_FALSE(may('w', "rooms/b/x"));
    CU_ASSERT_TRUE(may('w', "free"));
    CU_ASSERT_FALSE(may('r', "rooms/a/x"));
    CU_ASSERT_TRUE(may('r', "free"));
    CU_ASSERT_FALSE(may('s', "rooms/a/x"));
    CU_ASSERT_FALSE(may('s', "$share/g/rooms/a/x"));
    CU_ASSERT_TRUE(may('s', "rooms/a/#"));
    tell("ann", 0, "room_a", "", MI_RIGHT_POLL);
    CU_ASSERT_TRUE(may('r', "rooms/a/x"));
    CU_ASSERT_TRUE(may('s', "$share/g/rooms/a/x"));
    CU_ASSERT_FALSE(may('w', "rooms/a/x")); /* news replace what was known */
    end();
}

static void unmapped_topics(void)
{
    static const enum mi_unmapped words[] = {MI_UNMAPPED_ALLOW, MI_UNMAPPED_NEXT, MI_UNMAPPED_DENY};
    for (int i = 0; i < 3; i++) {
        begin(words[i]);
        bool want = words[i] != MI_UNMAPPED_DENY;
        CU_ASSERT_EQUAL(may('w', "free"), want);
        CU_ASSERT_EQUAL(may('r', "$SYS/broker/uptime"), want);
        CU_ASSERT_EQUAL(may('s', "free"), want);
        CU_ASSERT_TRUE(may('s', "free/+"));
        CU_ASSERT_TRUE(may('s', "$iggy/first/rooms/a/x"));
        CU_ASSERT_TRUE(may('s', "mount/$iggy/first/rooms/a/x"));
        username = NULL;
        CU_ASSERT_EQUAL(may('w', "free"), want);
        CU_ASSERT_FALSE(may('w', "rooms/a/x"));
        end();
    }
}

static void what_cannot_be_told_needs_a_right_on_everything(void)
{
    begin(MI_UNMAPPED_ALLOW);
    tell("ann", 0, "p_", "t", MI_RIGHT_SEND | MI_RIGHT_POLL);
    CU_ASSERT_FALSE(may('w', "p/x")); /* not the stream of an empty property */
    tell("ann", 0, "own_c", "", MI_RIGHT_SEND | MI_RIGHT_POLL);
    CU_ASSERT_TRUE(may('w', "own/x"));
    CU_ASSERT_FALSE(may('r', "own/x")); /* somebody else may have published */
    tell("ann", MI_RIGHT_POLL, NULL, NULL, 0);
    CU_ASSERT_TRUE(may('r', "own/x"));
    CU_ASSERT_TRUE(may('r', "do/it"));
    CU_ASSERT_FALSE(may('w', "p/x"));
    end();
}

static void nobody_knows_him(void)
{
    uint8_t name[MI_MAX_USER_NAME];
    begin(MI_UNMAPPED_ALLOW);
    username = "zoe";
    CU_ASSERT_FALSE(may('w', "rooms/a/x"));
    CU_ASSERT_EQUAL(woken, 1); /* he is asked for */
    CU_ASSERT_EQUAL(mi_rights_news_asked(news, name), 3);
    username = "zod";
    CU_ASSERT_FALSE(may('w', "rooms/a/x"));
    CU_ASSERT_EQUAL(woken, 1); /* not so soon again */
    tell("zod", MI_RIGHT_SEND, NULL, NULL, 0);
    CU_ASSERT_TRUE(may('w', "rooms/a/x"));
    CU_ASSERT_EQUAL(mi_metrics_get(metrics, MI_G_RIGHTS_PUBLISH_DENIED), 2);
    end();
}

static void who_is_gone_is_kicked_from_tick(void)
{
    begin(MI_UNMAPPED_ALLOW);
    CU_ASSERT_TRUE(may('w', "rooms/a/x"));
    CU_ASSERT_TRUE(mi_rights_news_put(news, mi_span_of("ann"), NULL, true));
    CU_ASSERT_FALSE(may('w', "rooms/a/x"));
    CU_ASSERT_STRING_EQUAL(kicked, "");
    mi_authorize_tick(authorize, kick, NULL);
    mi_authorize_tick(authorize, kick, NULL);
    CU_ASSERT_STRING_EQUAL(kicked, "ann ");
    end();
}

static void another_configuration(void)
{
    static const struct mi_rule_spec other[] = {
        {.name = "x", .filter = "free", .direction = MI_OUT, .stream = "room_a", .topic = "other"}};
    struct mi_error err = {""};
    begin(MI_UNMAPPED_ALLOW);
    CU_ASSERT_TRUE(may('r', "free"));
    struct mi_config next = config;
    next.rules = other;
    next.route_count = 1;
    CU_ASSERT_EQUAL(mi_authorize_set_config(authorize, &next, &err), 0);
    CU_ASSERT_FALSE(may('r', "free")); /* nothing is remembered of the rules before */
    CU_ASSERT_TRUE(may('w', "rooms/b/x"));
    CU_ASSERT_FALSE(may('w', "free"));
    end();
}

static CU_TestInfo tests[] = {
    {"rights_are_on_what_a_topic_is_mapped_to", rights_are_on_what_a_topic_is_mapped_to},
    {"unmapped_topics", unmapped_topics},
    {"what_cannot_be_told_needs_a_right_on_everything", what_cannot_be_told_needs_a_right_on_everything},
    {"nobody_knows_him", nobody_knows_him},
    {"who_is_gone_is_kicked_from_tick", who_is_gone_is_kicked_from_tick},
    {"another_configuration", another_configuration},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("authorize", tests)
