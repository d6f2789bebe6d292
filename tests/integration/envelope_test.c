/*
 * envelope: what devices send arrives in Iggy whole: topics, payloads, flags and properties of the field
 * problems. Numbers in names: tests/README.md.
 */
#include "rig.h"

#include <mqtt_protocol.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ALL "all", "messages"

static const char config[] =
    RIG_CONFIG "'routes':["
               "{'name':'sensors','filter':'sensors/#','direction':'out','stream':'sensors','topic':'data'},"
               "{'name':'rooms','filter':'building/{building}/room/{room}/"
               "#','direction':'out','stream':'building_{building}',"
               " 'topic':'telemetry','partition_key':'room_{room}','create':{'partitions':4}},"
               "{'name':'names','filter':'name/"
               "{name}','direction':'out','stream':'names','topic':'n{name}','create':true},"
               "{'name':'copied','filter':'copied/"
               "#','direction':'out','stream':'copies','topic':'first','continue':true,"
               " 'send_client_id':false},"
               "{'name':'all','filter':'#','direction':'out','stream':'all','topic':'messages'}]}";

static struct rig *rig;
static struct mi_mqtt *client;

static void start(void)
{
    if (!rig) {
        rig = rig_new(NULL, NULL);
        CU_ASSERT_TRUE_FATAL(rig_start(rig, config));
        client = rig_client(rig, "publisher", MQTT_PROTOCOL_V5);
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(client);
    CU_ASSERT_TRUE_FATAL(mi_mqtt_connected(client));
}

/* Publishes text with QoS 1 on a topic and finds exactly that in Iggy, once. */
static const struct mi_stored *goes_through(const char *topic, const char *payload)
{
    CU_ASSERT_TRUE(mi_mqtt_say(client, topic, payload, 1) < 0x80);
    const struct mi_stored *s = rig_arrived(rig, ALL, topic);
    CU_ASSERT_PTR_NOT_NULL(s);
    if (s)
        CU_ASSERT_TRUE(rig_payload_is(s, payload, strlen(payload)));
    return s;
}

static void an_ordinary_publish(void)
{
    start();
    uint64_t now = (uint64_t)time(NULL);
    const struct mi_stored *s = goes_through("plain/temperature", "21.5");
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CU_ASSERT_TRUE(mi_span_equal(s->message.client_id, mi_span_of("publisher")));
    CU_ASSERT_EQUAL(s->message.username.len, 0);
    CU_ASSERT_EQUAL(s->message.qos, 1);
    CU_ASSERT_FALSE(s->message.retain);
    CU_ASSERT_FALSE(s->message.maybe_dup);
    CU_ASSERT_EQUAL(s->message.origin.len, 32);
    CU_ASSERT_TRUE(s->message.time_us / 1000000 >= now && s->message.time_us / 1000000 <= now + 15);
    CU_ASSERT_EQUAL(s->body.len, 4); /* the MQTT payload itself: a native consumer needs no decoder */
}

static void field_37_111_every_qos_and_protocol_arrives_once(void)
{
    static const int protocols[] = {MQTT_PROTOCOL_V31, MQTT_PROTOCOL_V311, MQTT_PROTOCOL_V5};
    char topic[64];
    start();
    for (int p = 0; p < 3; p++) {
        struct mi_mqtt *c = rig_client(rig, "versions", protocols[p]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(c);
        for (int qos = 0; qos <= 2; qos++) {
            snprintf(topic, sizeof topic, "version/%d/qos/%d", protocols[p], qos);
            CU_ASSERT_TRUE(mi_mqtt_say(c, topic, "x", qos) < 0x80 && mi_mqtt_connected(c));
            mi_mqtt_run(c, 10);
            const struct mi_stored *s = rig_arrived(rig, ALL, topic);
            CU_ASSERT_PTR_NOT_NULL(s);
            if (s)
                CU_ASSERT_EQUAL(s->message.qos, qos);
        }
        mi_mqtt_close(c);
    }
}

static void field_28_a_repeated_qos_2_is_appended_and_marked_after_a_reconnect(void)
{
    start();
    int fd = mi_raw_connect(rig->broker.port, "resender", 4, false);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    mi_raw_publish(fd, 4, "resent/qos2", 11, "on", 2, 2, false, false, 7);
    CU_ASSERT_EQUAL(mi_raw_receive(fd, NULL, 5000), 0x50);
    close(fd); /* the PUBREL never comes */
    fd = mi_raw_connect(rig->broker.port, "resender", 4, false);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    mi_raw_publish(fd, 4, "resent/qos2", 11, "on", 2, 2, false, true, 7);
    CU_ASSERT_EQUAL(mi_raw_receive(fd, NULL, 5000), 0x50);
    mi_raw_publish(fd, 4, "resent/end", 10, "x", 1, 1, false, false, 8);
    CU_ASSERT_EQUAL(mi_raw_receive(fd, NULL, 5000), 0x40);
    close(fd);
    CU_ASSERT_PTR_NOT_NULL(rig_arrived(rig, ALL, "resent/end"));
    int seen = 0, marked = 0;
    for (size_t i = 0; i < mi_readback_count(rig->readback); i++) {
        const struct mi_message *m = &mi_readback_at(rig->readback, i)->message;
        if (!mi_span_equal(m->topic, mi_span_of("resent/qos2")))
            continue;
        CU_ASSERT_EQUAL(m->maybe_dup, seen == 1);
        seen++;
        marked += m->maybe_dup;
    }
    CU_ASSERT_EQUAL(seen, 2);
    CU_ASSERT_EQUAL(marked, 1);
}

static void field_71_an_empty_payload_comes_back_empty(void)
{
    start();
    const struct mi_stored *s = goes_through("empty/payload", "");
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CU_ASSERT_EQUAL(s->body.len, 1); /* Iggy refuses empty ones */
}

static void field_70_a_retained_delete_is_a_message(void)
{
    start();
    CU_ASSERT_TRUE(mi_mqtt_publish(client, "retained/gone", "1", 1, 1, true, NULL) < 0x80);
    CU_ASSERT_PTR_NOT_NULL(rig_arrived(rig, ALL, "retained/gone"));
    mi_iggy_server_stop(&rig->iggy);
    CU_ASSERT_TRUE(mi_mqtt_publish(client, "retained/gone", NULL, 0, 1, true, NULL) < 0x80);
    CU_ASSERT_TRUE(mi_iggy_server_start(&rig->iggy));
    CU_ASSERT_TRUE(goes_through("retained/after", "x") != NULL);
    const struct mi_stored *last = NULL;
    for (size_t i = 0; i < mi_readback_count(rig->readback); i++)
        if (mi_span_equal(mi_readback_at(rig->readback, i)->message.topic, mi_span_of("retained/gone")))
            last = mi_readback_at(rig->readback, i);
    CU_ASSERT_PTR_NOT_NULL_FATAL(last);
    CU_ASSERT_TRUE(last->message.retain);
    CU_ASSERT_EQUAL(last->message.payload.len, 0);
    struct mi_mqtt *late = rig_client(rig, "late", MQTT_PROTOCOL_V311);
    CU_ASSERT_TRUE(mi_mqtt_subscribe(late, "retained/gone", 1));
    CU_ASSERT_FALSE(mi_mqtt_wait(late, 1, 200)); /* the broker forgot it too */
    mi_mqtt_close(late);
}

static void field_77_the_retain_flag_is_as_sent(void)
{
    start();
    CU_ASSERT_TRUE(mi_mqtt_publish(client, "retain/on", "x", 1, 1, true, NULL) < 0x80);
    const struct mi_stored *s = rig_arrived(rig, ALL, "retain/on");
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CU_ASSERT_TRUE(s->message.retain);
    s = goes_through("retain/off", "x");
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CU_ASSERT_FALSE(s->message.retain);
}

static void field_81_82_84_86_87_94_odd_topics_arrive_as_they_are(void)
{
    static const char *const topics[] = {
        "evcc/site/authProviders/Tibber (VW ID.3, Cupra Tavascan)", /* 81 */
        "spBv1.0/g/NDATA/n",
        "a.b/c",
        "a/b/c", /* 82 */
        "/i/i0/hq",
        "//",
        "x//y",
        "end/",    /* 84 */
        "abc/def", /* 86 */
        "a/b ",
        " a/b",         /* 87 */
        "温度/кухня/😀", /* 94 */
        "quote\"back\\slash/{brace}/%25/'",
    };
    start();
    for (size_t i = 0; i < sizeof topics / sizeof topics[0]; i++)
        CU_ASSERT_PTR_NOT_NULL(goes_through(topics[i], topics[i]));
}

static void field_94_unicode_payloads_are_not_normalised(void)
{
    start();
    goes_through("unicode/nfc", "\xc3\xa9");
    goes_through("unicode/nfd", "e\xcc\x81");
}

static void field_65_97_deep_and_long_topics(void)
{
    start();
    char deep[201];
    memset(deep, '/', 200);
    deep[200] = '\0';
    CU_ASSERT_PTR_NOT_NULL(goes_through(deep, "deep"));
    char *topic = malloc(65536);
    for (size_t len = 300; len <= 65535; len += 65235) {
        memset(topic, 'x', len);
        memcpy(topic, "long/", 5);
        topic[len - 1] = 'y';
        topic[len] = '\0';
        CU_ASSERT_PTR_NOT_NULL(goes_through(topic, "long"));
    }
    free(topic);
}

static void field_89_dollar_topics_are_not_copied_by_a_wildcard(void)
{
    start();
    CU_ASSERT_TRUE(mi_mqtt_say(client, "$foo/bar", "x", 1) >= 0);
    mi_mqtt_say(client, "$SYS/broker/uptime", "x", 1);
    CU_ASSERT_TRUE(mi_mqtt_connected(client));
    CU_ASSERT_PTR_NOT_NULL(goes_through("after/dollar", "x"));
    CU_ASSERT_PTR_NULL(mi_readback_of(rig->readback, "$foo/bar"));
    for (size_t i = 0; i < mi_readback_count(rig->readback); i++)
        CU_ASSERT_NOT_EQUAL(mi_readback_at(rig->readback, i)->message.topic.data[0], '$');
}

static void field_91_a_tab_in_a_topic_harms_nobody(void)
{
    start();
    int fd = mi_raw_connect(rig->broker.port, "tab", 4, true);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    mi_raw_publish(fd, 4, "zigbee2mqtt/\tX", 14, "x", 1, 1, false, false, 1);
    CU_ASSERT_EQUAL(mi_raw_receive(fd, NULL, 3000), 0); /* the broker closes */
    close(fd);
    CU_ASSERT_PTR_NOT_NULL(goes_through("after/tab", "x"));
}

static void field_96_a_filter_is_no_substring(void)
{
    start();
    goes_through("sensorsdata", "x");
    goes_through("sensor", "x");
    CU_ASSERT_TRUE(mi_mqtt_say(client, "sensors/a", "x", 1) < 0x80);
    CU_ASSERT_TRUE(mi_mqtt_say(client, "sensors", "x", 1) < 0x80); /* "a/#" takes "a" too */
    CU_ASSERT_TRUE(mi_readback_wait(rig->readback, "sensors", "data", 2, 10000));
}

static void field_98_odd_client_ids(void)
{
    start();
    struct mi_mqtt *c = rig_client(rig, "weird id/\"\\{}$+#é", MQTT_PROTOCOL_V311);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_EQUAL(mi_mqtt_say(c, "client/odd", "x", 1), 0);
    const struct mi_stored *s = rig_arrived(rig, ALL, "client/odd");
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CU_ASSERT_TRUE(mi_span_equal(s->message.client_id, mi_span_of("weird id/\"\\{}$+#é")));
    mi_mqtt_close(c);
}

static void field_99_101_102_payloads_are_bytes(void)
{
    static const struct {
        const char *topic, *bytes;
        size_t len;
    } rows[] = {{"bytes/99", "\x53\x80\x53", 3},
                {"bytes/101", "\x01\x02\x41\x42\x81\x82", 6},
                {"bytes/nul", "\0\0\0", 3}};
    uint8_t all[256];
    start();
    for (size_t i = 0; i < 3; i++) {
        CU_ASSERT_TRUE(mi_mqtt_publish(client, rows[i].topic, rows[i].bytes, rows[i].len, 1, false, NULL) <
                       0x80);
        const struct mi_stored *s = rig_arrived(rig, ALL, rows[i].topic);
        CU_ASSERT_PTR_NOT_NULL_FATAL(s);
        CU_ASSERT_TRUE(rig_payload_is(s, rows[i].bytes, rows[i].len));
    }
    for (int i = 0; i < 256; i++)
        all[i] = (uint8_t)i;
    CU_ASSERT_TRUE(mi_mqtt_publish(client, "bytes/all", all, 256, 2, false, NULL) < 0x80);
    const struct mi_stored *s = rig_arrived(rig, ALL, "bytes/all");
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CU_ASSERT_TRUE(rig_payload_is(s, all, 256));
}

static mosquitto_property *many_properties(const char *long_value)
{
    mosquitto_property *list = NULL;
    mosquitto_property_add_byte(&list, MQTT_PROP_PAYLOAD_FORMAT_INDICATOR, 1);
    mosquitto_property_add_string(&list, MQTT_PROP_CONTENT_TYPE, "application/json");
    mosquitto_property_add_string(&list, MQTT_PROP_RESPONSE_TOPIC, "answers/here");
    mosquitto_property_add_binary(&list, MQTT_PROP_CORRELATION_DATA, "\x00\xff\x01", 3);
    mosquitto_property_add_string_pair(&list, MQTT_PROP_USER_PROPERTY, "site", "north");
    mosquitto_property_add_string_pair(&list, MQTT_PROP_USER_PROPERTY, "site", "south");
    mosquitto_property_add_string_pair(&list, MQTT_PROP_USER_PROPERTY, "", "");
    mosquitto_property_add_string_pair(&list, MQTT_PROP_USER_PROPERTY, "long", long_value);
    return list;
}

static void check_properties(const struct mi_stored *s, const char *long_value)
{
    const char *pairs[][2] = {{"site", "north"}, {"site", "south"}, {"", ""}, {"long", long_value}};
    struct mi_span block = s->message.properties, none = {NULL, 0};
    struct mi_property p;
    CU_ASSERT_TRUE(mi_properties_find(block, MI_PROP_PAYLOAD_FORMAT, none, &p) && p.byte == 1);
    CU_ASSERT_TRUE(mi_properties_find(block, MI_PROP_CONTENT_TYPE, none, &p) &&
                   mi_span_equal(p.value, mi_span_of("application/json")));
    CU_ASSERT_TRUE(mi_properties_find(block, MI_PROP_RESPONSE_TOPIC, none, &p) &&
                   mi_span_equal(p.value, mi_span_of("answers/here")));
    CU_ASSERT_TRUE(mi_properties_find(block, MI_PROP_CORRELATION_DATA, none, &p) && p.value.len == 3 &&
                   memcmp(p.value.data, "\x00\xff\x01", 3) == 0);
    size_t at = 0, n = 0;
    while (mi_properties_next(block, &at, &p) > 0 && n < 5) {
        if (p.id != MI_PROP_USER)
            continue;
        CU_ASSERT_TRUE(n < 4 && mi_span_equal(p.name, mi_span_of(pairs[n][0])) &&
                       mi_span_equal(p.value, mi_span_of(pairs[n][1])));
        n++;
    }
    CU_ASSERT_EQUAL(n, 4);
}

static void field_103_104_every_property_that_a_plugin_sees(void)
{
    start();
    char value[301];
    memset(value, 'v', 300);
    value[300] = '\0';
    mosquitto_property *list = many_properties(value);
    mosquitto_property_add_int32(&list, MQTT_PROP_MESSAGE_EXPIRY_INTERVAL, 3600);
    CU_ASSERT_TRUE(mi_mqtt_publish(client, "properties/all", "{}", 2, 1, false, list) < 0x80);
    mosquitto_property_free_all(&list);
    const struct mi_stored *s = rig_arrived(rig, ALL, "properties/all");
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    check_properties(s, value);
}

static void field_112_a_topic_alias_is_resolved(void)
{
    start();
    mosquitto_property *list = NULL;
    mosquitto_property_add_int16(&list, MQTT_PROP_TOPIC_ALIAS, 1);
    struct mi_mqtt *c = rig_client(rig, "alias", MQTT_PROTOCOL_V5);
    CU_ASSERT_TRUE(mi_mqtt_publish(c, "alias/first", "1", 1, 1, false, list) < 0x80);
    mosquitto_property_free_all(&list);
    const struct mi_stored *s = rig_arrived(rig, ALL, "alias/first");
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CU_ASSERT_EQUAL(s->message.properties.len, 0);
    mi_mqtt_close(c);
}

static void templates_and_partition_keys(void)
{
    char topic[64];
    start();
    for (int room = 0; room < 12; room++) {
        snprintf(topic, sizeof topic, "building/7/room/%d/t", room);
        CU_ASSERT_TRUE(mi_mqtt_say(client, topic, "x", 1) < 0x80);
    }
    CU_ASSERT_TRUE(mi_readback_wait(rig->readback, "building_7", "telemetry", 12, 10000));
    CU_ASSERT_EQUAL(mi_readback_partitions(rig->readback, "building_7", "telemetry"), 4);
    for (size_t i = 0; i < mi_readback_count(rig->readback); i++) {
        const struct mi_stored *s = mi_readback_at(rig->readback, i);
        int room = -1;
        CU_ASSERT_EQUAL(sscanf((const char *)s->message.topic.data, "building/7/room/%d/t", &room), 1);
        snprintf(topic, sizeof topic, "room_%d", room);
        CU_ASSERT_EQUAL(s->partition,
                        iggy_partition_of_key((struct iggy_span){(const uint8_t *)topic, strlen(topic)}, 4));
    }
}

static void continue_copies_to_both_routes(void)
{
    start();
    const struct mi_stored *s = goes_through("copied/x", "twice");
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CU_ASSERT_TRUE(mi_span_equal(s->message.client_id, mi_span_of("publisher")));
    s = rig_arrived(rig, "copies", "first", "copied/x");
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CU_ASSERT_EQUAL(s->message.client_id.len, 0);
}

static void an_unusable_name_becomes_a_dead_letter_and_disconnects_nobody(void)
{
    start();
    char topic[400] = "name/";
    memset(topic + 5, 'z', 300);
    topic[305] = '\0';
    CU_ASSERT_TRUE(mi_mqtt_say(client, topic, "x", 1) < 0x80);
    CU_ASSERT_TRUE(mi_mqtt_connected(client));
    CU_ASSERT_EQUAL(rig_metric(rig, "mosquitto_iggy_dead_lettered_total{route=\"names\"}", 1, 10000), 1);
    CU_ASSERT_TRUE(mi_mqtt_say(client, "name/good", "x", 1) < 0x80);
    CU_ASSERT_PTR_NOT_NULL(rig_arrived(rig, "names", "ngood", "name/good"));
}

static void field_79_a_will_is_the_brokers_business(void)
{
    start();
    struct mi_mqtt_options o = {.port = rig->broker.port,
                                .client_id = "mortal",
                                .protocol = MQTT_PROTOCOL_V311,
                                .will_topic = "will/gone"};
    struct mi_mqtt *watcher = rig_client(rig, "watcher", MQTT_PROTOCOL_V311);
    CU_ASSERT_TRUE(mi_mqtt_subscribe(watcher, "will/#", 1));
    mi_mqtt_cut(mi_mqtt_connect(&o));
    CU_ASSERT_TRUE(mi_mqtt_wait(watcher, 1, 5000));
    mi_mqtt_close(watcher);
    CU_ASSERT_PTR_NOT_NULL(goes_through("after/will", "x"));
    CU_ASSERT_PTR_NULL(mi_readback_of(rig->readback, "will/gone")); /* no plugin hears of wills */
}

static void field_134_the_account_adds_up(void)
{
    start();
    double received = rig_metric(rig, "mosquitto_iggy_received_total{route=\"all\"}", 10, 1000);
    CU_ASSERT_EQUAL(rig_metric(rig, "mosquitto_iggy_committed_total{route=\"all\"}", received, 10000),
                    received);
    CU_ASSERT_EQUAL(rig_metric(rig, "mosquitto_iggy_pending{route=\"all\"}", 0, 1000), 0);
    CU_ASSERT_TRUE(mi_readback_wait(rig->readback, ALL, (size_t)received, 1000));
    CU_ASSERT_EQUAL(rig_metric(rig, "mosquitto_iggy_properties_lost_total", 0, 1000), 0);
    CU_ASSERT_EQUAL(rig_metric(rig, "mosquitto_iggy_log_lines_lost_total", 0, 1000), 0);
}

static void the_broker_stops_cleanly(void)
{
    start();
    mi_mqtt_close(client);
    client = NULL;
    CU_ASSERT_TRUE(mi_broker_stop(&rig->broker, 10000));
}

static CU_TestInfo tests[] = {
    {"an ordinary PUBLISH", an_ordinary_publish},
    {"field 37 111: every QoS and protocol arrives once", field_37_111_every_qos_and_protocol_arrives_once},
    {"field 28: a repeated QoS 2 is appended, and marked after a reconnect",
     field_28_a_repeated_qos_2_is_appended_and_marked_after_a_reconnect},
    {"field 71: an empty payload comes back empty", field_71_an_empty_payload_comes_back_empty},
    {"field 70: a retained delete is a message", field_70_a_retained_delete_is_a_message},
    {"field 77: the retain flag is as sent", field_77_the_retain_flag_is_as_sent},
    {"field 81 82 84 86 87 94: odd topics arrive as they are",
     field_81_82_84_86_87_94_odd_topics_arrive_as_they_are},
    {"field 94: Unicode payloads are not normalised", field_94_unicode_payloads_are_not_normalised},
    {"field 65 97: deep and long topics", field_65_97_deep_and_long_topics},
    {"field 89: dollar topics are not copied by a wildcard",
     field_89_dollar_topics_are_not_copied_by_a_wildcard},
    {"field 91: a TAB in a topic harms nobody", field_91_a_tab_in_a_topic_harms_nobody},
    {"field 96: a filter is no substring", field_96_a_filter_is_no_substring},
    {"field 98: odd client ids", field_98_odd_client_ids},
    {"field 99 101 102: payloads are bytes", field_99_101_102_payloads_are_bytes},
    {"field 103 104: every property that a plugin sees", field_103_104_every_property_that_a_plugin_sees},
    {"field 112: a topic alias is resolved", field_112_a_topic_alias_is_resolved},
    {"templates and partition keys", templates_and_partition_keys},
    {"continue copies to both routes", continue_copies_to_both_routes},
    {"an unusable name becomes a dead letter and disconnects nobody",
     an_unusable_name_becomes_a_dead_letter_and_disconnects_nobody},
    {"field 79: a will is the broker's business", field_79_a_will_is_the_brokers_business},
    {"field 134: the account adds up", field_134_the_account_adds_up},
    {"the broker stops cleanly", the_broker_stops_cleanly},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("envelope through a broker", tests)
