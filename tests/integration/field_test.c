/*
 * field: the inputs of the field problems on their way from Iggy to MQTT, and those that need both ways; the
 * way out is in envelope_test.c. Numbers in names: tests/README.md.
 */
#include "rig.h"

#include <mqtt_protocol.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BOTH(name) "'filter':'" name "/#','direction':'both','stream':'" name "','topic':'messages'"

#define PAIR(n) \
    "{'name':'pair" n "','filter':'pair/" n "','direction':'both','stream':'pair','topic':'messages'},"
/* first: a route that a reload takes out, with its comma */
#define CONFIG(first)                                                                                       \
    RIG_CONFIG "'routes':[" first PAIR("2") "{'name':'sensors'," BOTH(                                      \
        "sensors") "},"                                                                                     \
                   "{'name':'never'," BOTH(                                                                 \
                       "never") ",'retain':'never'},"                                                       \
                                "{'name':'always'," BOTH(                                                   \
                                    "always") ",'retain':'always'},"                                        \
                                              "{'name':'aged'," BOTH(                                       \
                                                  "aged") ",'max_age':'1h'},"                               \
                                                          "{'name':'devices','filter':'devices/"            \
                                                          "{id}','direction':'out','stream':'devices',"     \
                                                          " 'topic':'d_{id}','create':{'max_targets':2}},"  \
                                                          "{'name':'all','filter':'#','direction':'both','" \
                                                          "stream':'all','topic':'messages'}]}"

enum { READERS = 7 }; /* one per route and partition */

static struct rig *rig;
static struct mi_mqtt *subscriber, *publisher;

static void start(void)
{
    static const char *const streams[] = {"sensors", "never", "always", "aged", "all", "pair"};
    if (!rig) {
        rig = rig_new(NULL, NULL);
        CU_ASSERT_TRUE_FATAL(mi_iggy_server_start(&rig->iggy));
        for (size_t i = 0; i < 6; i++)
            CU_ASSERT_TRUE_FATAL(mi_readback_create(rig->readback, streams[i], "messages", 1));
        CU_ASSERT_TRUE_FATAL(mi_broker_config(&rig->broker, CONFIG(PAIR("1")), rig->iggy.port) &&
                             mi_broker_start(&rig->broker));
        subscriber = rig_client(rig, "subscriber", MQTT_PROTOCOL_V5);
        publisher = rig_client(rig, "publisher", MQTT_PROTOCOL_V5);
        CU_ASSERT_TRUE_FATAL(subscriber && publisher && mi_mqtt_subscribe(subscriber, "#", 2));
        CU_ASSERT_EQUAL_FATAL(rig_metric(rig, "mosquitto_iggy_readers", READERS, 10000), READERS);
    }
    CU_ASSERT_TRUE_FATAL(mi_mqtt_connected(subscriber) && mi_mqtt_connected(publisher));
}

static double counted(const char *name, const char *route, const char *reason, double at_least)
{
    char text[200];
    snprintf(text, sizeof text, "mosquitto_iggy_%s_total{route=\"%s\"%s%s%s}", name, route,
             reason ? ",reason=\"" : "", reason ? reason : "", reason ? "\"" : "");
    return rig_metric(rig, text, at_least, 8000);
}

/* ---- from Iggy ---- */

static struct mi_message message(const char *topic, const char *payload)
{
    return (struct mi_message){.topic = mi_span_of(topic),
                               .payload = mi_span_of(payload),
                               .qos = 1,
                               .origin = mi_span_of("ffffffffffffffffffffffffffffffff"),
                               .time_us = 1};
}

/* As another bridge would have written it. */
static void put(const char *stream, struct mi_message m)
{
    struct mi_envelope e;
    mi_envelope_init(&e);
    CU_ASSERT_TRUE(mi_envelope_encode(&e, &m) && mi_buf_add_span(&e.prefix, m.payload));
    CU_ASSERT_TRUE(mi_readback_produce_bytes(rig->readback, stream, "messages", 0, mi_buf_span(&e.headers),
                                             mi_buf_span(&e.prefix)));
    mi_envelope_fini(&e);
}

/* The next message that the client gets is that one. */
static const struct mi_mqtt_message *next_is(struct mi_mqtt *c, size_t before, const char *topic,
                                             struct mi_span payload)
{
    CU_ASSERT_TRUE_FATAL(mi_mqtt_wait(c, before + 1, 10000));
    const struct mi_mqtt_message *m = mi_mqtt_message(c, before);
    CU_ASSERT_STRING_EQUAL(m->topic, topic);
    CU_ASSERT_TRUE(mi_span_equal((struct mi_span){m->payload, m->len}, payload));
    return m;
}

static void comes_out(const char *stream, const char *topic, struct mi_span payload)
{
    size_t before = mi_mqtt_count(subscriber);
    struct mi_message m = message(topic, NULL);
    m.payload = payload;
    put(stream, m);
    next_is(subscriber, before, topic, payload);
}

/* ---- loops ---- */

/* So many deliveries and so many messages in the log, and no more once the reader has seen them all. */
static void turned_once(size_t before, size_t deliveries, size_t stored, double skipped)
{
    CU_ASSERT_TRUE(mi_mqtt_wait(subscriber, before + deliveries, 5000));
    CU_ASSERT_TRUE(mi_readback_wait(rig->readback, "all", "messages", stored, 5000));
    CU_ASSERT_EQUAL(counted("in_skipped", "all", "own_origin", skipped), skipped);
    mi_mqtt_run(subscriber, 300);
    CU_ASSERT_EQUAL(mi_mqtt_count(subscriber), before + deliveries);
    CU_ASSERT_TRUE(mi_readback_wait(rig->readback, "all", "messages", stored, 1000));
}

/* First of all: the log is empty. */
static void field_138_everything_in_and_out_on_one_stream(void)
{
    start();
    CU_ASSERT_EQUAL(mi_mqtt_count(subscriber), 0);
    for (int qos = 0; qos <= 2; qos++)
        CU_ASSERT_TRUE(mi_mqtt_say(publisher, "turns/once", "x", qos) < 0x80);
    turned_once(0, 3, 3, 3);
    put("all", message("turns/foreign", "y"));
    turned_once(3, 1, 4, 3);
    CU_ASSERT_TRUE(mi_mqtt_publish(publisher, "turns/retained", "z", 1, 1, true, NULL) < 0x80);
    turned_once(4, 1, 5, 4); /* it holds the topic until it is read back, and is not published again */
    CU_ASSERT_EQUAL(counted("injected", "all", NULL, 1), 1);
}

/* ---- topics ---- */

static void field_81_82_84_86_87_94_odd_topics_come_out_as_they_are(void)
{
    static const char *const topics[] = {
        "evcc/site/authProviders/Tibber (VW ID.3, Cupra Tavascan)",
        "spBv1.0/g/NDATA/n",
        "a.b/c",
        "a/b/c",
        "/i/i0/hq",
        "//",
        "abc/def",
        "a/b ",
        "温度/кухня/😀",
        "caf\xc3\xa9",
        "cafe\xcc\x81",
    };
    start();
    for (size_t i = 0; i < sizeof topics / sizeof topics[0]; i++)
        comes_out("all", topics[i], mi_span_of(topics[i]));
}

static void field_65_97_deep_and_long_topics_come_out(void)
{
    static char topic[65536];
    start();
    memset(topic, '/', 200);
    comes_out("all", topic, mi_span_of("deep"));
    memset(topic, 'x', sizeof topic - 1);
    for (size_t len = 65535; len >= 300; len -= 65235) {
        topic[len] = '\0';
        comes_out("all", topic, mi_span_of("long"));
    }
}

static void field_65_one_level_more_than_the_broker_takes_is_left_out(void)
{
    char topic[202];
    start();
    memset(topic, '/', 201);
    topic[201] = '\0';
    double before = counted("in_rejected", "all", "topic", 0);
    put("all", message(topic, "too deep"));
    comes_out("all", "after/deep", mi_span_of("x"));
    CU_ASSERT_EQUAL(counted("in_rejected", "all", "topic", before + 1), before + 1);
}

/* A route of # says no topic is out of reach, but the broker's own ones and what no PUBLISH may carry are. */
static void field_89_91_123_what_may_never_be_injected(void)
{
    static const char *const topics[] = {
        "$SYS/broker/uptime", "$foo/bar",        "$CONTROL/dynamic-security/v1", "$iggy/a",
        "zigbee2mqtt/\tX",    "zigbee2mqtt/\x7f"};
    size_t count = sizeof topics / sizeof topics[0];
    start();
    double before = counted("in_rejected", "all", "topic", 0);
    struct mi_mqtt *dollar = rig_client(rig, "dollar", MQTT_PROTOCOL_V311);
    CU_ASSERT_TRUE_FATAL(dollar && mi_mqtt_subscribe(dollar, "$foo/#", 1) &&
                         mi_mqtt_subscribe(dollar, "$CONTROL/#", 1));
    for (size_t i = 0; i < count; i++)
        put("all", message(topics[i], topics[i]));
    comes_out("all", "after/these", mi_span_of("x"));
    CU_ASSERT_EQUAL(counted("in_rejected", "all", "topic", before + (double)count), before + (double)count);
    mi_mqtt_run(dollar, 100);
    CU_ASSERT_EQUAL(mi_mqtt_count(dollar), 0);
    CU_ASSERT_TRUE(mi_mqtt_connected(dollar));
    mi_mqtt_close(dollar);
}

static void field_96_120_topics_of_other_routes_are_not_reached(void)
{
    static const char *const topics[] = {"admin/cmd", "sensorsdata", "sensor", "Sensors/a", "/sensors/a"};
    size_t count = sizeof topics / sizeof topics[0];
    start();
    double before = counted("in_rejected", "sensors", "topic", 0);
    for (size_t i = 0; i < count; i++)
        put("sensors", message(topics[i], topics[i]));
    comes_out("sensors", "sensors/a", mi_span_of("x"));
    comes_out("sensors", "sensors", mi_span_of("x"));
    CU_ASSERT_EQUAL(counted("in_rejected", "sensors", "topic", before + (double)count),
                    before + (double)count);
}

/* ---- payloads and properties ---- */

static void field_71_94_99_101_102_payloads_come_out_byte_for_byte(void)
{
    uint8_t all[256];
    start();
    for (int i = 0; i < 256; i++)
        all[i] = (uint8_t)i;
    comes_out("all", "bytes/99", mi_span_of("\x53\x80\x53"));
    comes_out("all", "bytes/101", mi_span_of("\x01\x02\x41\x42\x81\x82"));
    comes_out("all", "bytes/all", (struct mi_span){all, sizeof all});
    comes_out("all", "bytes/nfc", mi_span_of("\xc3\xa9"));
    comes_out("all", "bytes/nfd", mi_span_of("e\xcc\x81"));
    comes_out("all", "bytes/nul", (struct mi_span){(const uint8_t *)"", 1});
    comes_out("all", "bytes/empty", mi_span_of(""));
}

static void check_properties(const mosquitto_property *list)
{
    char *text = NULL, *name = NULL;
    void *data = NULL;
    uint16_t len = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(mosquitto_property_read_string(list, MQTT_PROP_CONTENT_TYPE, &text, false));
    CU_ASSERT_STRING_EQUAL(text, "application/json");
    free(text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(
        mosquitto_property_read_string(list, MQTT_PROP_RESPONSE_TOPIC, &text, false));
    CU_ASSERT_STRING_EQUAL(text, "answers/here");
    free(text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(
        mosquitto_property_read_binary(list, MQTT_PROP_CORRELATION_DATA, &data, &len, false));
    CU_ASSERT_TRUE(len == 3 && memcmp(data, "\x00\xff\x01", 3) == 0);
    free(data);
    const mosquitto_property *user = NULL;
    for (int i = 0; i < 2; i++) {
        user = mosquitto_property_read_string_pair(user ? user : list, MQTT_PROP_USER_PROPERTY, &name, &text,
                                                   user != NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(user);
        CU_ASSERT_STRING_EQUAL(name, "site");
        CU_ASSERT_STRING_EQUAL(text, i ? "south" : "north");
        free(name);
        free(text);
    }
}

static void field_44_103_104_properties_come_out_of_two_in_a_row(void)
{
    start();
    struct mi_buf block;
    mi_buf_init(&block, 1000);
    mi_properties_add_bytes(&block, MI_PROP_CONTENT_TYPE, mi_span_of("application/json"));
    mi_properties_add_bytes(&block, MI_PROP_RESPONSE_TOPIC, mi_span_of("answers/here"));
    mi_properties_add_bytes(&block, MI_PROP_CORRELATION_DATA,
                            (struct mi_span){(const uint8_t *)"\x00\xff\x01", 3});
    mi_properties_add_pair(&block, mi_span_of("site"), mi_span_of("north"));
    mi_properties_add_pair(&block, mi_span_of("site"), mi_span_of("south"));
    struct mi_message m = message("properties/all", "{}");
    m.properties = mi_buf_span(&block);
    size_t before = mi_mqtt_count(subscriber);
    put("all", m);
    put("all", m);
    for (size_t i = 0; i < 2; i++)
        check_properties(next_is(subscriber, before + i, "properties/all", mi_span_of("{}"))->properties);
    mi_buf_fini(&block);
}

/* ---- retain ---- */

static void put_retained(const char *stream, const char *topic, const char *payload)
{
    size_t before = mi_mqtt_count(subscriber);
    struct mi_message m = message(topic, payload);
    m.retain = true;
    put(stream, m);
    next_is(subscriber, before, topic, mi_span_of(payload));
}

/* What a client that comes late gets for a filter: so many, all with the retain flag. */
static void retained_are(const char *filter, size_t count)
{
    struct mi_mqtt *late = rig_client(rig, "late", MQTT_PROTOCOL_V311);
    CU_ASSERT_TRUE_FATAL(late && mi_mqtt_subscribe(late, filter, 1));
    CU_ASSERT_TRUE(mi_mqtt_wait(late, count, 5000));
    mi_mqtt_run(late, 100);
    CU_ASSERT_EQUAL(mi_mqtt_count(late), count);
    for (size_t i = 0; i < mi_mqtt_count(late); i++)
        CU_ASSERT_TRUE(mi_mqtt_message(late, i)->retain);
    mi_mqtt_close(late);
}

static void field_70_72_73_the_retain_flag_follows_the_route(void)
{
    start();
    put_retained("sensors", "sensors/kept/1", "1");
    put_retained("sensors", "sensors/kept/2", "2");
    comes_out("sensors", "sensors/kept/3", mi_span_of("not retained"));
    retained_are("sensors/+/+", 2);                /* by the broker's own store, wildcards as ever */
    put_retained("sensors", "sensors/kept/1", ""); /* a delete */
    retained_are("sensors/#", 1);
    put_retained("never", "never/x", "1");
    retained_are("never/#", 0);
    comes_out("always", "always/x", mi_span_of("1"));
    retained_are("always/#", 1);
}

/* ---- who takes what ---- */

static void field_110_a_client_that_takes_small_packets_only(void)
{
    static char large[5001];
    start();
    memset(large, 'x', sizeof large - 1);
    struct mi_mqtt_options o = {
        .port = rig->broker.port, .client_id = "small", .protocol = MQTT_PROTOCOL_V5, .max_packet = 1000};
    struct mi_mqtt *small = mi_mqtt_connect(&o);
    CU_ASSERT_TRUE_FATAL(small && mi_mqtt_subscribe(small, "size/#", 1));
    for (uint8_t qos = 0; qos <= 1; qos++) {
        struct mi_message m = message("size/large", large);
        size_t before = mi_mqtt_count(subscriber);
        m.qos = qos;
        put("all", m);
        next_is(subscriber, before, "size/large", mi_span_of(large));
        comes_out("all", "size/small", mi_span_of("x"));
        next_is(small, qos, "size/small", mi_span_of("x"));
    }
    CU_ASSERT_TRUE(mi_mqtt_connected(small));
    mi_mqtt_close(small);
}

static void field_113_an_aged_message_holds_up_nobody(void)
{
    start();
    size_t before = mi_mqtt_count(subscriber);
    put("aged", message("aged/x", "of 1970"));
    struct mi_message m = message("aged/x", "of now");
    m.time_us = 0; /* then Iggy's own time counts */
    put("aged", m);
    next_is(subscriber, before, "aged/x", mi_span_of("of now"));
    CU_ASSERT_EQUAL(counted("in_skipped", "aged", "max_age", 1), 1);
}

static void field_53_a_route_goes_and_the_other_of_its_topic_stays(void)
{
    start();
    comes_out("pair", "pair/1", mi_span_of("x"));
    comes_out("pair", "pair/2", mi_span_of("x"));
    CU_ASSERT_TRUE(mi_broker_config(&rig->broker, CONFIG(""), rig->iggy.port));
    CU_ASSERT_TRUE(mi_broker_reload(&rig->broker));
    CU_ASSERT_TRUE(mi_broker_says(&rig->broker, "the new configuration is in force", 5000));
    size_t before = mi_mqtt_count(subscriber);
    CU_ASSERT_TRUE(mi_mqtt_say(publisher, "pair/2", "z", 1) < 0x80);
    CU_ASSERT_TRUE(mi_readback_wait(rig->readback, "pair", "messages", 3, 10000));
    next_is(subscriber, before, "pair/2", mi_span_of("z"));
    put("pair", message("pair/1", "of the route that went"));
    comes_out("pair", "pair/2", mi_span_of("y"));
}

/* ---- out; the subscriber is not looked at any more ---- */

/* The broker keeps QoS 2 messages apart, but shows a plugin both. A second "on" may be meant. */
static void field_28_qos_2_twice_on_one_connection(void)
{
    start();
    int fd = mi_raw_connect(rig->broker.port, "twice", 4, true);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    for (int i = 0; i < 2; i++) {
        mi_raw_publish(fd, 4, "twice/qos2", 10, "on", 2, 2, false, i == 1, 7);
        CU_ASSERT_EQUAL(mi_raw_receive(fd, NULL, 5000), 0x50);
    }
    CU_ASSERT_TRUE(mi_mqtt_say(publisher, "twice/end", "x", 1) < 0x80);
    CU_ASSERT_PTR_NOT_NULL(rig_arrived(rig, "all", "messages", "twice/end"));
    close(fd);
    size_t seen = 0;
    for (size_t i = 0; i < mi_readback_count(rig->readback); i++) {
        const struct mi_message *m = &mi_readback_at(rig->readback, i)->message;
        if (!mi_span_equal(m->topic, mi_span_of("twice/qos2")))
            continue;
        CU_ASSERT_FALSE(m->maybe_dup);
        seen++;
    }
    CU_ASSERT_EQUAL(seen, 2);
}

static void field_67_a_template_makes_so_many_targets(void)
{
    static const char *const topics[] = {"d_a", "d_b", "d_c"};
    start();
    for (int turn = 0; turn < 2; turn++)
        for (char id = 'a'; id <= 'c'; id++) {
            char topic[] = "devices/?";
            topic[8] = id;
            CU_ASSERT_TRUE(mi_mqtt_say(publisher, topic, "x", 1) < 0x80);
            CU_ASSERT_TRUE(id == 'c' ||
                           mi_readback_wait(rig->readback, "devices", topics[id - 'a'], 1 + turn, 10000));
        }
    CU_ASSERT_EQUAL(rig_metric(rig, "mosquitto_iggy_pending{route=\"devices\"}", 2, 5000), 2);
    CU_ASSERT_TRUE(mi_broker_says(&rig->broker, "create.max_targets", 5000));
    CU_ASSERT_EQUAL(mi_readback_partitions(rig->readback, "devices", "d_c"), 0);
    CU_ASSERT_TRUE(mi_readback_create(rig->readback, "devices", "d_c", 1));
    CU_ASSERT_TRUE(mi_readback_wait(rig->readback, "devices", "d_c", 2, 20000));
}

static void field_66_a_server_that_says_too_many_requests(void)
{
    start();
    if (!mi_iggy_server_fault(&rig->iggy, "on produce next 429 3") ||
        !mi_iggy_server_fault(&rig->iggy, "on poll next 429 3")) {
        mi_skip("needs iggy-devserver");
        return;
    }
    char topic[] = "busy/?";
    for (topic[5] = '0'; topic[5] <= '9'; topic[5]++)
        CU_ASSERT_TRUE(mi_mqtt_say(publisher, topic, "x", 1) < 0x80);
    for (topic[5] = '0'; topic[5] <= '9'; topic[5]++)
        CU_ASSERT_PTR_NOT_NULL(rig_arrived(rig, "all", "messages", topic));
    CU_ASSERT_EQUAL(counted("dead_lettered", "all", NULL, 0), 0);
    size_t before = mi_mqtt_count(subscriber);
    mi_mqtt_wait(subscriber, before + 1000, 200); /* what came meanwhile */
    comes_out("sensors", "sensors/busy", mi_span_of("x"));
}

static void the_broker_stops_cleanly(void)
{
    start();
    mi_mqtt_close(subscriber);
    mi_mqtt_close(publisher);
    CU_ASSERT_TRUE(mi_broker_stop(&rig->broker, 10000));
}

/* ---- over a restart, with another broker ---- */

static void field_31_138_a_restart_with_persistence_doubles_nothing(void)
{
    rig = rig_new("persistence true\npersistence_location DIR/\n", NULL);
    CU_ASSERT_TRUE_FATAL(mi_iggy_server_start(&rig->iggy));
    CU_ASSERT_TRUE_FATAL(mi_readback_create(rig->readback, "all", "messages", 1));
    CU_ASSERT_TRUE_FATAL(
        mi_broker_config(&rig->broker,
                         RIG_CONFIG "'routes':[{'name':'all','filter':'#','direction':'both','stream':'all',"
                                    "'topic':'messages'}]}",
                         rig->iggy.port) &&
        mi_broker_start(&rig->broker));
    CU_ASSERT_EQUAL_FATAL(rig_metric(rig, "mosquitto_iggy_readers", 1, 10000), 1);
    struct mi_mqtt_options o = {.port = rig->broker.port,
                                .client_id = "lasting",
                                .protocol = MQTT_PROTOCOL_V311,
                                .keep_session = true};
    struct mi_mqtt *c = mi_mqtt_connect(&o);
    CU_ASSERT_TRUE_FATAL(c && mi_mqtt_subscribe(c, "#", 1));
    CU_ASSERT_EQUAL(mi_mqtt_say(c, "own/1", "x", 1), 0);
    CU_ASSERT_EQUAL(mi_mqtt_publish(c, "own/2", "x", 1, 1, true, NULL), 0);
    struct mi_message m = message("foreign/1", "x");
    m.retain = true;
    put("all", m);
    CU_ASSERT_TRUE(mi_mqtt_wait(c, 3, 5000));
    CU_ASSERT_TRUE(mi_readback_wait(rig->readback, "all", "messages", 3, 5000));
    CU_ASSERT_EQUAL(counted("in_skipped", "all", "own_origin", 2), 2);
    mi_mqtt_close(c);
    CU_ASSERT_TRUE(mi_broker_stop(&rig->broker, 10000));
    CU_ASSERT_TRUE_FATAL(mi_broker_start(&rig->broker));
    c = mi_mqtt_connect(&o);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    put("all", message("foreign/2", "y"));
    next_is(c, 0, "foreign/2", mi_span_of("y"));
    mi_mqtt_run(c, 300);
    CU_ASSERT_EQUAL(mi_mqtt_count(c), 1);
    CU_ASSERT_TRUE(mi_readback_wait(rig->readback, "all", "messages", 4, 5000));
    CU_ASSERT_EQUAL(counted("injected", "all", NULL, 2), 2); /* both foreign ones; counted over restarts */
    mi_mqtt_close(c);
    CU_ASSERT_TRUE(mi_broker_stop(&rig->broker, 10000));
}

static CU_TestInfo tests[] = {
    {"field 138: everything in and out on one stream", field_138_everything_in_and_out_on_one_stream},
    {"field 81 82 84 86 87 94: odd topics come out as they are",
     field_81_82_84_86_87_94_odd_topics_come_out_as_they_are},
    {"field 65 97: deep and long topics come out", field_65_97_deep_and_long_topics_come_out},
    {"field 65: one level more than the broker takes is left out",
     field_65_one_level_more_than_the_broker_takes_is_left_out},
    {"field 89 91 123: what may never be injected", field_89_91_123_what_may_never_be_injected},
    {"field 96 120: topics of other routes are not reached",
     field_96_120_topics_of_other_routes_are_not_reached},
    {"field 71 94 99 101 102: payloads come out byte for byte",
     field_71_94_99_101_102_payloads_come_out_byte_for_byte},
    {"field 44 103 104: properties come out, of two in a row",
     field_44_103_104_properties_come_out_of_two_in_a_row},
    {"field 70 72 73: the retain flag follows the route", field_70_72_73_the_retain_flag_follows_the_route},
    {"field 110: a client that takes small packets only", field_110_a_client_that_takes_small_packets_only},
    {"field 113: an aged message holds up nobody", field_113_an_aged_message_holds_up_nobody},
    {"field 53: a route goes, and the other of its topic stays",
     field_53_a_route_goes_and_the_other_of_its_topic_stays},
    {"field 28: QoS 2 twice on one connection", field_28_qos_2_twice_on_one_connection},
    {"field 67: a template makes so many targets", field_67_a_template_makes_so_many_targets},
    {"field 66: a server that says too many requests", field_66_a_server_that_says_too_many_requests},
    {"the broker stops cleanly", the_broker_stops_cleanly},
    {"field 31 138: a restart with persistence doubles nothing",
     field_31_138_a_restart_with_persistence_doubles_nothing},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("field problems through a broker", tests)
