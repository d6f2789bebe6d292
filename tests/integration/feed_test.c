/* feed: on_subscribe: reading begins with a subscription, ends with the last one, and starts at the end. */
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ON_SUBSCRIBE "'direction':'in','feed':'on_subscribe',"
#define NOBODY_DECIDES "'broker':{'acl':'none'},"

static const char plain_config[] = RIG_CONFIG NOBODY_DECIDES
    "'routes':["
    "{'name':'news','filter':'news/today'," ON_SUBSCRIBE "'stream':'news','topic':'today'},"
    "{'name':'other','filter':'other/#'," ON_SUBSCRIBE
    "'stream':'other','topic':'messages','mqtt_topic':'other/x'}]}";

static const char template_config[] =
    RIG_CONFIG NOBODY_DECIDES "'routes':["
                              "{'name':'buildings','filter':'building/{building}/#'," ON_SUBSCRIBE
                              "'stream':'building_{building}','topic':'telemetry',"
                              "'mqtt_topic':'building/{building}/room'}]}";

static const char persistence[] = "persistence true\npersistence_location DIR/\nautosave_interval 1\n";

static struct rig *begin(const char *conf, const char *config)
{
    struct rig *r = rig_new(conf, NULL);
    CU_ASSERT_TRUE_FATAL(mi_iggy_server_start(&r->iggy));
    CU_ASSERT_TRUE_FATAL(mi_readback_create(r->readback, "news", "today", 2) &&
                         mi_readback_create(r->readback, "other", "messages", 1) &&
                         mi_readback_create(r->readback, "building_1", "telemetry", 1) &&
                         mi_readback_create(r->readback, "building_2", "telemetry", 1));
    CU_ASSERT_TRUE_FATAL(mi_broker_config(&r->broker, config, r->iggy.port) && mi_broker_start(&r->broker));
    return r;
}

/* So many partitions are being read, soon. */
static bool reads(struct rig *r, double count)
{
    double is = -1;
    for (uint64_t end = mi_monotonic_ms() + 20000; mi_monotonic_ms() < end && is != count; mi_sleep_ms(20))
        is = rig_metric(r, "mosquitto_iggy_readers", 0, 0);
    if (is != count)
        printf("\n    %g readers instead of %g\n", is, count);
    return is == count;
}

static bool produce(struct rig *r, const char *stream, const char *topic, const char *text)
{
    return mi_readback_produce(r->readback, stream, topic, 0, mi_span_of(NULL), text);
}

static struct mi_mqtt *client(struct rig *r, const char *id, int protocol, bool keep)
{
    struct mi_mqtt_options o = {
        .port = r->broker.port, .client_id = id, .protocol = protocol, .keep_session = keep};
    struct mi_mqtt *m = mi_mqtt_connect(&o);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    return m;
}

static bool got(struct mi_mqtt *m, const char *text)
{
    for (size_t i = 0; i < mi_mqtt_count(m); i++)
        if (strcmp((const char *)mi_mqtt_message(m, i)->payload, text) == 0)
            return true;
    return false;
}

/* Produces until something arrives: when a reader has found the end of its partition shows nowhere. */
static bool flows(struct rig *r, struct mi_mqtt *m, const char *stream, const char *topic, const char *text)
{
    for (uint64_t end = mi_monotonic_ms() + 20000; mi_monotonic_ms() < end && !got(m, text);) {
        if (!produce(r, stream, topic, text))
            return false;
        mi_mqtt_run(m, 100);
    }
    return got(m, text);
}

static void reading_begins_and_ends_with_a_subscription(void)
{
    struct rig *r = begin(NULL, plain_config);
    CU_ASSERT_TRUE(reads(r, 0));
    CU_ASSERT_TRUE(produce(r, "news", "today", "before"));
    struct mi_mqtt *m = client(r, "a", MQTT_PROTOCOL_V311, false);
    CU_ASSERT_TRUE(mi_mqtt_subscribe(m, "news/+", 1));
    CU_ASSERT_TRUE(reads(r, 2));
    CU_ASSERT_TRUE(flows(r, m, "news", "today", "now"));
    CU_ASSERT_FALSE(got(m, "before")); /* nobody wanted it */
    struct mi_mqtt *second = client(r, "b", MQTT_PROTOCOL_V311, false);
    CU_ASSERT_TRUE(mi_mqtt_subscribe(second, "#", 1));
    CU_ASSERT_TRUE(reads(r, 3));
    mi_mqtt_close(second);
    CU_ASSERT_TRUE(reads(r, 2));
    mi_mqtt_close(m);
    CU_ASSERT_TRUE(reads(r, 0));
    CU_ASSERT_TRUE(produce(r, "news", "today", "meanwhile"));
    m = client(r, "a", MQTT_PROTOCOL_V311, false);
    CU_ASSERT_TRUE(mi_mqtt_subscribe(m, "$share/group/news/today", 1));
    CU_ASSERT_TRUE(reads(r, 2));
    CU_ASSERT_TRUE(flows(r, m, "news", "today", "again"));
    CU_ASSERT_FALSE(got(m, "meanwhile"));
    mi_mqtt_close(m);
    rig_free(r);
}

/* On 2.1 the broker says whether a session of MQTT 5 ended with its connection. */
static void a_session_of_mqtt_5_ends(void)
{
    struct rig *r = begin(NULL, plain_config);
    if (!mi_broker_is_2_1(&r->broker)) {
        mi_skip("%s does not tell", mi_broker_version(&r->broker));
        rig_free(r);
        return;
    }
    struct mi_mqtt *m = client(r, "a", MQTT_PROTOCOL_V5, false);
    CU_ASSERT_TRUE(mi_mqtt_subscribe(m, "news/today", 1));
    CU_ASSERT_TRUE(reads(r, 2));
    mi_mqtt_close(m);
    CU_ASSERT_TRUE(reads(r, 0));
    m = client(r, "a", MQTT_PROTOCOL_V5, true);
    CU_ASSERT_TRUE(mi_mqtt_subscribe(m, "news/today", 1));
    mi_mqtt_close(m);
    struct mi_mqtt *other = client(r, "b", MQTT_PROTOCOL_V5, false);
    CU_ASSERT_TRUE(mi_mqtt_subscribe(other, "other/#", 1));
    CU_ASSERT_TRUE(reads(r, 3)); /* its session waits for it */
    m = client(r, "a", MQTT_PROTOCOL_V5, false);
    CU_ASSERT_TRUE(reads(r, 1)); /* begun anew */
    mi_mqtt_close(m);
    mi_mqtt_close(other);
    rig_free(r);
}

static void streams_are_read_as_far_as_they_are_wanted(void)
{
    struct rig *r = begin(NULL, template_config);
    struct mi_mqtt *m = client(r, "a", MQTT_PROTOCOL_V311, false);
    CU_ASSERT_TRUE(reads(r, 0));
    CU_ASSERT_TRUE(mi_mqtt_subscribe(m, "building/2/+", 1));
    CU_ASSERT_TRUE(reads(r, 1));
    CU_ASSERT_TRUE(flows(r, m, "building_2", "telemetry", "two"));
    CU_ASSERT_TRUE(produce(r, "building_1", "telemetry", "one, unwanted"));
    CU_ASSERT_TRUE(mi_mqtt_subscribe(m, "building/#", 1));
    CU_ASSERT_TRUE(reads(r, 2));
    CU_ASSERT_TRUE(flows(r, m, "building_1", "telemetry", "one"));
    CU_ASSERT_FALSE(got(m, "one, unwanted"));
    CU_ASSERT_TRUE(mi_readback_create(r->readback, "building_3", "telemetry", 1)); /* is noticed */
    CU_ASSERT_TRUE(reads(r, 3));
    CU_ASSERT_TRUE(flows(r, m, "building_3", "telemetry", "three"));
    mi_mqtt_close(m);
    rig_free(r);
}

static void a_session_that_stays_misses_nothing(void)
{
    struct rig *r = begin(persistence, plain_config);
    struct mi_mqtt *m = client(r, "stays", MQTT_PROTOCOL_V311, true);
    CU_ASSERT_TRUE(mi_mqtt_subscribe(m, "news/today", 1));
    CU_ASSERT_TRUE(reads(r, 2));
    CU_ASSERT_TRUE(flows(r, m, "news", "today", "here"));
    mi_mqtt_close(m);
    CU_ASSERT_TRUE(produce(r, "news", "today", "away"));
    CU_ASSERT_TRUE(rig_metric(r, "mosquitto_iggy_injected_total{route=\"news\"}", 2, 10000) >= 2);
    CU_ASSERT_TRUE(mi_broker_stop(&r->broker, 15000));
    CU_ASSERT_TRUE(produce(r, "news", "today", "down"));
    CU_ASSERT_TRUE_FATAL(mi_broker_start(&r->broker));
    CU_ASSERT_TRUE(reads(r, 2)); /* what it subscribed to stands in the broker's database */
    CU_ASSERT_TRUE(produce(r, "news", "today", "up"));
    m = client(r, "stays", MQTT_PROTOCOL_V311, true);
    for (uint64_t end = mi_monotonic_ms() + 20000; mi_monotonic_ms() < end && !got(m, "up");)
        mi_mqtt_run(m, 50);
    CU_ASSERT_TRUE(got(m, "away") && got(m, "down") && got(m, "up"));
    mi_mqtt_close(m);
    rig_free(r);
}

static void subscribe_all(struct mi_mqtt *m, const char *const *filters)
{
    for (; *filters; filters++)
        CU_ASSERT_TRUE(mi_mqtt_subscribe(m, *filters, 1));
}

/* Many sessions with odd filters, and one that wants something: only that one counts after a restart. */
static void restored_sessions_want_what_they_wanted(void)
{
    static const char *const odd[] = {"/", "//a", "a//b/#", "odd/x/+", "$SYS/#", "x y/z", NULL},
                             *const news[] = {"/news/today", "news/+", NULL};
    char id[32];
    struct rig *r = begin(persistence, plain_config);
    CU_ASSERT_TRUE(reads(r, 0));
    for (int i = 0; i < 30; i++) {
        snprintf(id, sizeof id, "odd-%d", i);
        struct mi_mqtt *m = client(r, id, i % 2 ? MQTT_PROTOCOL_V311 : MQTT_PROTOCOL_V5, true);
        subscribe_all(m, odd);
        mi_mqtt_close(m);
    }
    struct mi_mqtt *m = client(r, "news", MQTT_PROTOCOL_V311, true);
    subscribe_all(m, news);
    CU_ASSERT_TRUE(reads(r, 2));
    mi_mqtt_close(m);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_TRUE(mi_broker_stop(&r->broker, 15000));
        CU_ASSERT_TRUE_FATAL(mi_broker_start(&r->broker));
        CU_ASSERT_TRUE(reads(r, 2));
    }
    m = client(r, "news", MQTT_PROTOCOL_V311, false);
    CU_ASSERT_TRUE(mi_mqtt_subscribe(m, "nothing", 1));
    CU_ASSERT_TRUE(reads(r, 0)); /* it began anew */
    mi_mqtt_close(m);
    rig_free(r);
}

/* The broker puts it in front of what its clients subscribe to, and of nothing that comes from Iggy. */
static void a_mount_point_stands_in_front(void)
{
    char conf[200];
    uint16_t port = mi_free_port();
    snprintf(conf, sizeof conf, "listener %u 127.0.0.1\nmount_point mp/\n", port);
    struct rig *r = begin(conf, plain_config);
    struct mi_mqtt_options o = {.port = port, .client_id = "mounted", .protocol = MQTT_PROTOCOL_V311};
    struct mi_mqtt *mounted = mi_mqtt_connect(&o), *m = client(r, "a", MQTT_PROTOCOL_V311, false);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mounted);
    CU_ASSERT_TRUE(mi_mqtt_subscribe(mounted, "#", 1));
    CU_ASSERT_TRUE(mi_mqtt_subscribe(m, "other/x", 1));
    CU_ASSERT_TRUE(reads(r, 1));
    CU_ASSERT_TRUE(flows(r, m, "other", "messages", "x"));
    CU_ASSERT_EQUAL(mi_mqtt_count(mounted), 0);
    mi_mqtt_close(mounted);
    mi_mqtt_close(m);
    rig_free(r);
}

static void a_bridge_of_the_broker_wants_everything(void)
{
    struct rig *r = begin("connection somewhere\naddress 127.0.0.1:9\ntopic # out\n", plain_config);
    CU_ASSERT_TRUE(reads(r, 3));
    rig_free(r);
}

static void many_subscribers_are_one_reader(void)
{
    enum { MANY = 300 };
    struct mi_mqtt *all[MANY];
    char id[32];
    struct rig *r = begin(NULL, plain_config);
    for (int i = 0; i < MANY; i++) {
        snprintf(id, sizeof id, "many-%d", i);
        all[i] = client(r, id, MQTT_PROTOCOL_V311, false);
        CU_ASSERT_TRUE(mi_mqtt_subscribe(all[i], "other/x", 0));
    }
    CU_ASSERT_TRUE(reads(r, 1));
    CU_ASSERT_TRUE(flows(r, all[0], "other", "messages", "all"));
    for (int i = 0; i < MANY; i++)
        CU_ASSERT_TRUE(mi_mqtt_wait(all[i], 1, 10000));
    for (int i = 1; i < MANY; i++)
        mi_mqtt_close(all[i]);
    CU_ASSERT_TRUE(reads(r, 1));
    mi_mqtt_close(all[0]);
    CU_ASSERT_TRUE(reads(r, 0));
    rig_free(r);
}

/* Finding the ends of so many takes its time (limits.watch_requests); nobody else waits for it. */
static void a_filter_that_matches_ten_thousand_routes_blocks_nobody(void)
{
    enum { MANY = 10000, ROUTE = 160 };
    size_t size = MANY * ROUTE + 1000;
    char *config = malloc(size);
    size_t len = (size_t)snprintf(config, size, RIG_CONFIG NOBODY_DECIDES "'routes':[");
    for (int i = 0; i < MANY; i++)
        len += (size_t)snprintf(config + len, size - len,
                                "%s{'name':'r%d','filter':'r/%d'," ON_SUBSCRIBE
                                "'stream':'other','topic':'messages'}",
                                i ? "," : "", i, i);
    snprintf(config + len, size - len, "]}");
    struct rig *r = begin(NULL, config);
    free(config);
    struct mi_mqtt *all = client(r, "all", MQTT_PROTOCOL_V311, false),
                   *other = client(r, "other", MQTT_PROTOCOL_V311, false);
    CU_ASSERT_TRUE(mi_mqtt_subscribe(other, "talk", 1) && mi_mqtt_subscribe(all, "r/#", 1));
    uint64_t longest = 0;
    for (int i = 0; i < 200; i++) {
        uint64_t before = mi_monotonic_ms();
        CU_ASSERT_EQUAL(mi_mqtt_say(other, "talk", "x", 1), 0);
        CU_ASSERT_TRUE(mi_mqtt_wait(other, (size_t)i + 1, 10000));
        if (mi_monotonic_ms() - before > longest)
            longest = mi_monotonic_ms() - before;
    }
    printf("longest round trip meanwhile: %u ms ", (unsigned)longest);
    CU_ASSERT_TRUE(rig_metric(r, "mosquitto_iggy_readers", 100, 20000) >= 100);
    mi_mqtt_close(all);
    CU_ASSERT_TRUE(reads(r, 0));
    mi_mqtt_close(other);
    rig_free(r);
}

/* The broker's own file is read: what contradicts it ends the start with one clear line. */
static void what_the_broker_says_otherwise_ends_the_start(void)
{
    struct rig *r = rig_new("acl_file DIR/acl\n", NULL);
    char path[300];
    snprintf(path, sizeof path, "%s/acl", r->broker.dir);
    CU_ASSERT_TRUE(mi_write_file(path, "topic #\n"));
    CU_ASSERT_TRUE(mi_broker_config(&r->broker, plain_config, 1));
    CU_ASSERT_TRUE(mi_broker_start_and_exit(&r->broker) > 0);
    CU_ASSERT_TRUE(mi_broker_says(&r->broker, "broker.acl: none contradicts the broker's own file", 1000));
    CU_ASSERT_TRUE(mi_broker_says(&r->broker, "say acl_file", 1000));
    rig_free(r);
}

static void on_2_0_it_must_be_stated_who_decides(void)
{
    static const char config[] = RIG_CONFIG "'routes':[{'name':'news','filter':'news/today'," ON_SUBSCRIBE
                                            "'stream':'news','topic':'today'}]}";
    struct rig *r = rig_new(NULL, NULL);
    CU_ASSERT_TRUE(mi_broker_config(&r->broker, config, 1));
    bool started = mi_broker_start(&r->broker);
    CU_ASSERT_TRUE(mi_broker_says(&r->broker, "mosquitto version", 1000));
    CU_ASSERT_EQUAL(started, mi_broker_is_2_1(&r->broker));
    if (!started)
        CU_ASSERT_TRUE(mi_broker_says(&r->broker, "broker.acl: must be stated", 1000));
    rig_free(r);
}

static CU_TestInfo tests[] = {
    {"reading begins and ends with a subscription", reading_begins_and_ends_with_a_subscription},
    {"a session of MQTT 5 ends", a_session_of_mqtt_5_ends},
    {"streams are read as far as they are wanted", streams_are_read_as_far_as_they_are_wanted},
    {"a session that stays misses nothing", a_session_that_stays_misses_nothing},
    {"restored sessions want what they wanted", restored_sessions_want_what_they_wanted},
    {"a mount point stands in front", a_mount_point_stands_in_front},
    {"a bridge of the broker wants everything", a_bridge_of_the_broker_wants_everything},
    {"many subscribers are one reader", many_subscribers_are_one_reader},
    {"a filter that matches ten thousand routes blocks nobody",
     a_filter_that_matches_ten_thousand_routes_blocks_nobody},
    {"what the broker says otherwise ends the start", what_the_broker_says_otherwise_ends_the_start},
    {"on 2.0 it must be stated who decides", on_2_0_it_must_be_stated_who_decides},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("feed", tests)
