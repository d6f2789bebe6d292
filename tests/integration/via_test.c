/* via: routes that are fed by a subscription: wills, what bridges and other routes bring, and nothing twice.
 */
#include "rig.h"

#include <mqtt_protocol.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BROKER_BLOCK "'broker':{'address':'BROKER'},"
#define VIA(name, filter, stream)                                                                       \
    "{'name':'" name "','filter':'" filter "','direction':'out','via':'subscription','stream':'" stream \
    "','topic':'t'}"
#define HOOK(name, filter, stream) \
    "{'name':'" name "','filter':'" filter "','direction':'out','stream':'" stream "','topic':'t'}"

static bool start(struct rig *rig, const char *routes)
{
    char config[3000];
    snprintf(config, sizeof config, RIG_CONFIG BROKER_BLOCK "'routes':[%s]}", routes);
    return rig_start(rig, config) && rig_metric(rig, "mosquitto_iggy_subscribed", 1, 10000) == 1;
}

/* A client that dies with a will. */
static void die(struct rig *rig, const char *id, const char *topic)
{
    struct mi_mqtt_options o = {
        .port = rig->broker.port, .client_id = id, .protocol = MQTT_PROTOCOL_V311, .will_topic = topic};
    struct mi_mqtt *c = mi_mqtt_connect(&o);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    mi_mqtt_cut(c);
}

static void stop(struct rig *rig)
{
    CU_ASSERT_TRUE(mi_broker_stop(&rig->broker, 10000));
    rig_free(rig);
}

static size_t times(struct rig *rig, const char *mqtt_topic)
{
    size_t count = 0;
    for (size_t i = 0; i < mi_readback_count(rig->readback); i++)
        count += mi_span_equal(mi_readback_at(rig->readback, i)->message.topic, mi_span_of(mqtt_topic));
    return count;
}

static void field_79_a_will_arrives_once_and_nothing_both_ways(void)
{
    struct rig *rig = rig_new(NULL, NULL);
    CU_ASSERT_TRUE_FATAL(start(rig, HOOK("data", "dev/+/data", "data") "," VIA("all", "dev/{id}/#", "all")));
    die(rig, "one", "dev/1/status");
    const struct mi_stored *s = rig_arrived(rig, "all", "t", "dev/1/status");
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CU_ASSERT_TRUE(rig_payload_is(s, "gone", 4));
    CU_ASSERT_EQUAL(s->message.qos, 1);
    CU_ASSERT_EQUAL(s->message.client_id.len, 0);
    struct mi_mqtt *c = rig_client(rig, "c", MQTT_PROTOCOL_V5);
    CU_ASSERT_TRUE((unsigned)mi_mqtt_say(c, "dev/1/data", "hook", 1) < 0x80);
    CU_ASSERT_TRUE((unsigned)mi_mqtt_say(c, "dev/1/other", "subscription", 1) < 0x80);
    CU_ASSERT_PTR_NOT_NULL(rig_arrived(rig, "all", "t", "dev/1/other"));
    CU_ASSERT_EQUAL(times(rig, "dev/1/data"), 0);
    CU_ASSERT_EQUAL(mi_readback_count(rig->readback), 2);
    CU_ASSERT_PTR_NOT_NULL(rig_arrived(rig, "data", "t", "dev/1/data"));
    CU_ASSERT_EQUAL(mi_readback_count(rig->readback), 1);
    mi_mqtt_close(c);
    stop(rig);
}

static mosquitto_property *some_properties(void)
{
    mosquitto_property *list = NULL;
    mosquitto_property_add_byte(&list, MQTT_PROP_PAYLOAD_FORMAT_INDICATOR, 1);
    mosquitto_property_add_int32(&list, MQTT_PROP_MESSAGE_EXPIRY_INTERVAL, 1000);
    mosquitto_property_add_string(&list, MQTT_PROP_CONTENT_TYPE, "text/plain");
    mosquitto_property_add_binary(&list, MQTT_PROP_CORRELATION_DATA, "\1\2", 2);
    mosquitto_property_add_string_pair(&list, MQTT_PROP_USER_PROPERTY, "a", "b");
    mosquitto_property_add_string_pair(&list, MQTT_PROP_USER_PROPERTY, "a", "");
    return list;
}

static void qos_retain_and_properties_are_kept(void)
{
    struct rig *rig = rig_new(NULL, NULL);
    CU_ASSERT_TRUE_FATAL(start(rig, VIA("all", "#", "all")));
    struct mi_mqtt *c = rig_client(rig, "c", MQTT_PROTOCOL_V5);
    mosquitto_property *list = some_properties();
    char topic[20];
    for (int qos = 0; qos <= 2; qos++) {
        snprintf(topic, sizeof topic, "q/%d", qos);
        CU_ASSERT_TRUE((unsigned)mi_mqtt_publish(c, topic, "", 0, qos, qos == 2, list) < 0x80);
    }
    for (int qos = 0; qos <= 2; qos++) {
        struct mi_property p;
        snprintf(topic, sizeof topic, "q/%d", qos);
        const struct mi_stored *s = rig_arrived(rig, "all", "t", topic);
        CU_ASSERT_PTR_NOT_NULL_FATAL(s);
        CU_ASSERT_EQUAL(s->message.qos, qos);
        CU_ASSERT_EQUAL(s->message.retain, qos == 2);
        CU_ASSERT_EQUAL(s->message.payload.len, 0);
        CU_ASSERT_TRUE(
            mi_properties_find(s->message.properties, MI_PROP_CONTENT_TYPE, mi_span_of(NULL), &p) &&
            mi_span_equal(p.value, mi_span_of("text/plain")));
        CU_ASSERT_TRUE(mi_properties_find(s->message.properties, MI_PROP_USER, mi_span_of("a"), &p) &&
                       mi_span_equal(p.value, mi_span_of("b")));
    }
    mosquitto_property_free_all(&list);
    mi_mqtt_close(c);
    stop(rig);
}

/* More than the broker hands out at a time, and more than one TICK takes. */
static void order_is_kept_and_nothing_is_missing(void)
{
    enum { COUNT = 5000 };
    char text[32];
    struct rig *rig = rig_new(NULL, NULL);
    CU_ASSERT_TRUE_FATAL(start(rig, VIA("low", "n/a", "all") "," VIA("wide", "n/+", "all")));
    struct mi_mqtt *c = rig_client(rig, "c", MQTT_PROTOCOL_V311);
    for (int i = 0; i < COUNT; i++) {
        snprintf(text, sizeof text, "%d", i);
        mi_mqtt_send(c, "n/a", text, 1);
        if (i % 10 == 0)
            mi_mqtt_run(c, 1);
    }
    for (uint64_t end = mi_monotonic_ms() + 20000;
         mi_mqtt_acknowledged(c) < COUNT && mi_monotonic_ms() < end;)
        mi_mqtt_run(c, 5);
    CU_ASSERT_EQUAL(mi_mqtt_acknowledged(c), COUNT);
    CU_ASSERT_TRUE(mi_readback_wait(rig->readback, "all", "t", COUNT, 30000));
    for (size_t i = 0; i < mi_readback_count(rig->readback); i++) {
        snprintf(text, sizeof text, "%zu", i);
        if (!rig_payload_is(mi_readback_at(rig->readback, i), text, strlen(text))) {
            CU_FAIL("out of order, lost or twice");
            break;
        }
    }
    mi_mqtt_close(c);
    stop(rig);
}

static void field_121_what_the_acl_denies_is_not_copied(void)
{
    struct rig *rig = rig_new("acl_file DIR/acl\n", NULL);
    char path[300];
    snprintf(path, sizeof path, "%s/acl", rig->broker.dir);
    CU_ASSERT_TRUE(mi_write_file(path, "topic read #\ntopic write will/allowed\ntopic write say/allowed\n"));
    CU_ASSERT_TRUE_FATAL(start(rig, VIA("all", "#", "all")));
    struct mi_mqtt *c = rig_client(rig, "c", MQTT_PROTOCOL_V311);
    mi_mqtt_say(c, "say/denied", "x", 1);
    mi_mqtt_say(c, "say/allowed", "x", 1);
    die(rig, "one", "will/denied");
    mi_mqtt_run(c, 300);
    die(rig, "two", "will/allowed");
    CU_ASSERT_PTR_NOT_NULL(rig_arrived(rig, "all", "t", "will/allowed"));
    CU_ASSERT_EQUAL(times(rig, "will/denied"), 0);
    CU_ASSERT_EQUAL(times(rig, "say/denied"), 0);
    CU_ASSERT_EQUAL(times(rig, "say/allowed"), 1);
    mi_mqtt_close(c);
    stop(rig);
}

static void what_was_retained_before_is_not_new(void)
{
    struct rig *rig = rig_new("persistence true\npersistence_location DIR/\n", NULL);
    CU_ASSERT_TRUE_FATAL(rig_start(rig, RIG_CONFIG BROKER_BLOCK "'routes':[]}"));
    struct mi_mqtt *c = rig_client(rig, "c", MQTT_PROTOCOL_V5);
    CU_ASSERT_TRUE((unsigned)mi_mqtt_publish(c, "r/old", "old", 3, 1, true, NULL) < 0x80);
    CU_ASSERT_TRUE(mi_broker_config(
        &rig->broker, RIG_CONFIG BROKER_BLOCK "'routes':[" VIA("all", "r/#", "all") "]}", rig->iggy.port));
    CU_ASSERT_TRUE(mi_broker_reload(&rig->broker));
    CU_ASSERT_EQUAL(rig_metric(rig, "mosquitto_iggy_subscribed", 1, 10000), 1);
    CU_ASSERT_TRUE((unsigned)mi_mqtt_publish(c, "r/new", "new", 3, 1, true, NULL) < 0x80);
    CU_ASSERT_PTR_NOT_NULL(rig_arrived(rig, "all", "t", "r/new"));
    CU_ASSERT_EQUAL(mi_readback_count(rig->readback), 1);
    /* And away again: the session ends with the route. */
    CU_ASSERT_TRUE(mi_broker_config(&rig->broker, RIG_CONFIG BROKER_BLOCK "'routes':[]}", rig->iggy.port));
    CU_ASSERT_TRUE(mi_broker_reload(&rig->broker));
    for (uint64_t end = mi_monotonic_ms() + 10000; mi_monotonic_ms() < end; mi_sleep_ms(20))
        if (rig_metric(rig, "mosquitto_iggy_subscribed", 0, 1000) == 0)
            break;
    CU_ASSERT_EQUAL(rig_metric(rig, "mosquitto_iggy_subscribed", 0, 1000), 0);
    CU_ASSERT_TRUE(mi_broker_says(&rig->broker, "Client mosquitto-iggy-", 5000));
    mi_mqtt_close(c);
    stop(rig);
}

static void what_other_routes_bring_is_copied_and_what_is_its_own_is_not(void)
{
    struct rig *rig = rig_new(NULL, NULL);
    CU_ASSERT_TRUE_FATAL(mi_iggy_server_start(&rig->iggy));
    CU_ASSERT_TRUE(mi_readback_create(rig->readback, "cmd", "t", 1));
    CU_ASSERT_TRUE(mi_readback_create(rig->readback, "shared", "t", 1));
    char config[2000];
    snprintf(config, sizeof config, "%s",
             RIG_CONFIG BROKER_BLOCK
             "'routes':[{'name':'cmd','direction':'in','stream':'cmd','topic':'t','mqtt_topic':'cmd/x'},"
             "{'name':'shared','filter':'shared/#','direction':'both','via':'subscription','stamp':true,"
             "'stream':'shared','topic':'t','mqtt_topic':'shared/native'}," VIA("log", "cmd/#", "log") "]}");
    CU_ASSERT_TRUE_FATAL(mi_broker_config(&rig->broker, config, rig->iggy.port) &&
                         mi_broker_start(&rig->broker));
    CU_ASSERT_EQUAL(rig_metric(rig, "mosquitto_iggy_subscribed", 1, 10000), 1);
    CU_ASSERT_EQUAL(rig_metric(rig, "mosquitto_iggy_readers", 2, 10000), 2);
    CU_ASSERT_TRUE(mi_readback_produce(rig->readback, "cmd", "t", 0, mi_span_of(NULL), "go"));
    const struct mi_stored *s = rig_arrived(rig, "log", "t", "cmd/x");
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CU_ASSERT_TRUE(rig_payload_is(s, "go", 2));
    struct mi_mqtt *c = rig_client(rig, "c", MQTT_PROTOCOL_V5);
    CU_ASSERT_TRUE(mi_mqtt_subscribe(c, "shared/#", 1));
    CU_ASSERT_TRUE(mi_readback_produce(rig->readback, "shared", "t", 0, mi_span_of(NULL), "native"));
    CU_ASSERT_TRUE(mi_mqtt_wait(c, 1, 10000)); /* injected */
    die(rig, "one", "shared/will");
    CU_ASSERT_TRUE(mi_mqtt_wait(c, 2, 10000));
    CU_ASSERT_PTR_NOT_NULL(rig_arrived(rig, "shared", "t", "shared/will"));
    CU_ASSERT_EQUAL(mi_readback_count(rig->readback), 2); /* the native one and the will, each once */
    CU_ASSERT_EQUAL(
        rig_metric(rig, "mosquitto_iggy_not_copied_total{route=\"shared\",reason=\"stamped\"}", 1, 5000), 1);
    mi_mqtt_run(c, 300);
    CU_ASSERT_EQUAL(mi_mqtt_count(c), 2);
    mi_mqtt_close(c);
    stop(rig);
}

static void what_an_mqtt_bridge_brings_is_copied(void)
{
    struct rig *far = rig_new(NULL, NULL);
    CU_ASSERT_TRUE_FATAL(rig_start(far, RIG_CONFIG "'routes':[]}"));
    char lines[300];
    snprintf(lines, sizeof lines,
             "connection far\naddress 127.0.0.1:%u\ntopic br/# in 1\nrestart_timeout 1\n", far->broker.port);
    struct rig *rig = rig_new(lines, NULL);
    CU_ASSERT_TRUE_FATAL(start(rig, VIA("all", "br/#", "all")));
    struct mi_mqtt *c = rig_client(far, "c", MQTT_PROTOCOL_V311);
    char topic[20] = "";
    /* Until the bridge stands: what comes before is not its own. */
    for (int i = 0; i < 200 && mi_readback_count(rig->readback) == 0; i++) {
        snprintf(topic, sizeof topic, "br/%d", i);
        CU_ASSERT_EQUAL(mi_mqtt_say(c, topic, "x", 1), 0);
        mi_mqtt_run(c, 50);
        mi_readback_read(rig->readback, "all", "t");
    }
    CU_ASSERT_PTR_NOT_NULL(rig_arrived(rig, "all", "t", topic));
    mi_mqtt_close(c);
    stop(rig);
    stop(far);
}

static void iggy_and_the_broker_may_go_and_come(void)
{
    struct rig *rig = rig_new("persistence true\npersistence_location DIR/\n", NULL);
    CU_ASSERT_TRUE_FATAL(start(rig, VIA("all", "w/#", "all")));
    die(rig, "a", "w/1");
    CU_ASSERT_PTR_NOT_NULL(rig_arrived(rig, "all", "t", "w/1"));
    mi_iggy_server_stop(&rig->iggy);
    die(rig, "b", "w/2");
    CU_ASSERT_EQUAL(rig_metric(rig, "mosquitto_iggy_received_total{route=\"all\"}", 2, 10000), 2);
    CU_ASSERT_TRUE(mi_broker_stop(&rig->broker, 20000));
    CU_ASSERT_TRUE_FATAL(mi_iggy_server_start(&rig->iggy));
    CU_ASSERT_TRUE_FATAL(mi_broker_start(&rig->broker));
    CU_ASSERT_EQUAL(rig_metric(rig, "mosquitto_iggy_subscribed", 1, 10000), 1);
    die(rig, "c", "w/3");
    for (int i = 1; i <= 3; i++) {
        char topic[10];
        snprintf(topic, sizeof topic, "w/%d", i);
        for (uint64_t end = mi_monotonic_ms() + 40000; times(rig, topic) == 0 && mi_monotonic_ms() < end;
             mi_sleep_ms(50))
            mi_readback_read(rig->readback, "all", "t");
        CU_ASSERT_EQUAL(times(rig, topic), 1);
    }
    stop(rig);
}

static void a_refused_login_is_loud_and_mended_by_a_reload(void)
{
    struct rig *rig = rig_new("password_file DIR/users\n", NULL);
    char conf[400], path[300];
    snprintf(path, sizeof path, "%s/users", rig->broker.dir);
    snprintf(conf, sizeof conf, "mosquitto_passwd -b -c %s bridge right-secret", path);
    CU_ASSERT_EQUAL_FATAL(system(conf), 0);
    snprintf(path, sizeof path, "%s/self.password", rig->broker.dir);
    CU_ASSERT_TRUE(mi_write_file(path, "wrong-secret\n"));
    static const char config[] =
        RIG_CONFIG "'broker':{'address':'BROKER','username':'bridge','password_file':'DIR/self.password'},"
                   "'routes':[" VIA("all", "w/#", "all") "]}";
    CU_ASSERT_EQUAL(chmod(path, 0600), 0);
    CU_ASSERT_TRUE_FATAL(rig_start(rig, config));
    CU_ASSERT_TRUE(mi_broker_says(&rig->broker, "refuses the login (reason 0x86", 10000) ||
                   mi_broker_says(&rig->broker, "refuses the login (reason 0x87", 100));
    CU_ASSERT_EQUAL(rig_metric(rig, "mosquitto_iggy_subscribed", 0, 5000), 0);
    char *status = mi_http_get(rig->broker.status_port, "/status.json", NULL);
    CU_ASSERT_TRUE(status && strstr(status, "\"subscription_error\":\"the broker refuses the login"));
    free(status);
    CU_ASSERT_TRUE(mi_write_file(path, "right-secret\n"));
    CU_ASSERT_TRUE(mi_broker_reload(&rig->broker));
    CU_ASSERT_EQUAL(rig_metric(rig, "mosquitto_iggy_subscribed", 1, 20000), 1);
    die(rig, "one", "w/1");
    CU_ASSERT_PTR_NOT_NULL(rig_arrived(rig, "all", "t", "w/1"));
    CU_ASSERT_EQUAL(mi_broker_count(&rig->broker, "right-secret"), 0);
    CU_ASSERT_EQUAL(mi_broker_count(&rig->broker, "wrong-secret"), 0);
    stop(rig);
}

/* Nobody told it a password: where the plugin itself checks logins, it knows its own connection. */
static void where_iggy_knows_the_users_it_needs_no_account(void)
{
    struct rig *rig = rig_new("allow_anonymous false\n", NULL);
    CU_ASSERT_TRUE_FATAL(rig_start(rig, RIG_CONFIG "'auth':{'login':'iggy'}," BROKER_BLOCK
                                                   "'routes':[" VIA("all", "w/#", "all") "]}"));
    CU_ASSERT_EQUAL(rig_metric(rig, "mosquitto_iggy_subscribed", 1, 10000), 1);
    CU_ASSERT_PTR_NULL(rig_client(rig, "c", MQTT_PROTOCOL_V311)); /* anonymous */
    struct mi_mqtt_options o = {
        .port = rig->broker.port, .username = "iggy", .password = "iggy", .protocol = MQTT_PROTOCOL_V311};
    struct mi_mqtt *c = NULL;
    for (int i = 0; i < 50 && !c; i++, mi_sleep_ms(100)) /* 2.0: remembered at the second try */
        c = mi_mqtt_connect(&o);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_EQUAL(mi_mqtt_say(c, "w/1", "x", 1), 0);
    CU_ASSERT_PTR_NOT_NULL(rig_arrived(rig, "all", "t", "w/1"));
    mi_mqtt_close(c);
    stop(rig);
}

static void field_89_what_the_broker_says_of_itself_can_be_copied(void)
{
    struct rig *rig = rig_new("sys_interval 1\n", NULL);
    CU_ASSERT_TRUE_FATAL(start(rig, VIA("sys", "$SYS/broker/uptime", "sys") "," VIA("all", "#", "all")));
    CU_ASSERT_TRUE(rig_metric(rig, "mosquitto_iggy_committed_total{route=\"sys\"}", 2, 20000) >= 2);
    CU_ASSERT_TRUE(mi_readback_read(rig->readback, "sys", "t"));
    CU_ASSERT_TRUE(times(rig, "$SYS/broker/uptime") >= 2);
    CU_ASSERT_EQUAL(rig_metric(rig, "mosquitto_iggy_received_total{route=\"all\"}", 0, 1000), 0);
    stop(rig);
}

/* Nobody is refused for it: the broker keeps what the journal cannot take, and each comes once, in order. */
static void a_full_journal_leaves_messages_with_the_broker(void)
{
    enum { COUNT = 300, BYTES = 10000 };
    struct rig *rig = rig_new(NULL, NULL);
    static char payload[BYTES + 1];
    memset(payload, 'p', BYTES);
    CU_ASSERT_TRUE_FATAL(mi_broker_config(
        &rig->broker,
        "{'iggy':{'url':'IGGY','username':'iggy','password_file':'DIR/iggy.password'},"
        "'journal':{'directory':'DIR/journal','max_size':'1MB','keep':'0B'},'limits':{'retry_max':'200ms'},"
        "'status':{'listen':'STATUS'}," BROKER_BLOCK "'routes':[" VIA("all", "f/#", "all") "]}",
        rig->iggy.port));
    CU_ASSERT_TRUE_FATAL(mi_broker_start(&rig->broker)); /* no Iggy */
    CU_ASSERT_EQUAL(rig_metric(rig, "mosquitto_iggy_subscribed", 1, 10000), 1);
    struct mi_mqtt *c = rig_client(rig, "c", MQTT_PROTOCOL_V311);
    for (int i = 0; i < COUNT; i++) {
        snprintf(payload, 12, "%010d", i);
        payload[10] = 'p';
        CU_ASSERT_EQUAL(mi_mqtt_say(c, "f/x", payload, 1), 0);
    }
    CU_ASSERT_TRUE(mi_broker_says(&rig->broker, "waits in the broker", 10000));
    CU_ASSERT_TRUE(rig_metric(rig, "mosquitto_iggy_received_total{route=\"all\"}", 0, 1000) < COUNT);
    CU_ASSERT_TRUE_FATAL(mi_iggy_server_start(&rig->iggy));
    CU_ASSERT_TRUE(mi_readback_wait(rig->readback, "all", "t", COUNT, 60000));
    for (size_t i = 0; i < mi_readback_count(rig->readback); i++) {
        char text[16];
        snprintf(text, sizeof text, "%010u", (unsigned)i);
        const struct mi_span p = mi_readback_at(rig->readback, i)->message.payload;
        CU_ASSERT_TRUE(p.len == BYTES && memcmp(p.data, text, 10) == 0);
    }
    mi_mqtt_close(c);
    stop(rig);
}

static CU_TestInfo tests[] = {
    {"field 79: a will arrives once, and nothing both ways",
     field_79_a_will_arrives_once_and_nothing_both_ways},
    {"QoS, retain and properties are kept", qos_retain_and_properties_are_kept},
    {"order is kept and nothing is missing", order_is_kept_and_nothing_is_missing},
    {"field 121: what the ACL denies is not copied", field_121_what_the_acl_denies_is_not_copied},
    {"what was retained before is not new", what_was_retained_before_is_not_new},
    {"what other routes bring is copied, and what is its own is not",
     what_other_routes_bring_is_copied_and_what_is_its_own_is_not},
    {"what an MQTT bridge brings is copied", what_an_mqtt_bridge_brings_is_copied},
    {"Iggy and the broker may go and come", iggy_and_the_broker_may_go_and_come},
    {"a refused login is loud, and mended by a reload", a_refused_login_is_loud_and_mended_by_a_reload},
    {"where Iggy knows the users it needs no account", where_iggy_knows_the_users_it_needs_no_account},
    {"field 89: what the broker says of itself can be copied",
     field_89_what_the_broker_says_of_itself_can_be_copied},
    {"a full journal leaves messages with the broker", a_full_journal_leaves_messages_with_the_broker},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("via subscription", tests)
