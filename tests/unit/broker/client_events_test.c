/* client_events: which events become records, what stands in them, and that nothing happens to a client when
 * they cannot be kept. */
#include "broker/client_events.h"
#include "fakes.h"
#include "message/headers.h"
#include "stubs.h"
#include "support/suite.h"

#include <cjson/cJSON.h>
#include <string.h>

static struct mi_plugin plugin;
static struct mosquitto client;

static void log_line(void *context, enum mi_log_level level, const char *line)
{
    (void)context;
    mosquitto_log_printf((int)level, "%s", line);
}

static const struct mi_log log_here = {log_line, NULL};

static void start(bool v2_1)
{
    stubs_reset();
    fakes_reset();
    struct mi_config *c = &fakes.config;
    c->events = true;
    c->events_route = 1;
    c->events_stream = "mqtt";
    c->events_topic = "clients";
    c->events_connect = c->events_disconnect = c->events_refused = true;
    c->events_subscribe = c->events_unsubscribe = true;
    plugin = (struct mi_plugin){.metrics = mi_metrics_new(),
                                .log = &log_here,
                                .config = c,
                                .bridge = (struct mi_bridge *)&client,
                                .compat.v2_1 = v2_1,
                                .events = mi_client_events_new()};
    client = (struct mosquitto){
        .id = "device", .username = "user", .protocol = 5, .address = "10.0.0.7", .clean = true};
}

static void end(void)
{
    mi_client_events_free(plugin.events);
    mi_metrics_free(plugin.metrics);
}

/* The last record's object; the caller deletes it. */
static cJSON *last(void)
{
    cJSON *object = cJSON_Parse(fakes.payload);
    CU_ASSERT_PTR_NOT_NULL_FATAL(object);
    CU_ASSERT_EQUAL(cJSON_GetObjectItem(object, "version")->valueint, 1);
    CU_ASSERT_TRUE(cJSON_GetObjectItem(object, "time")->valuedouble > 1.6e15);
    return object;
}

static bool text_is(const cJSON *object, const char *key, const char *text)
{
    const cJSON *item = cJSON_GetObjectItem(object, key);
    return text ? cJSON_IsString(item) && strcmp(item->valuestring, text) == 0 : item == NULL;
}

static bool number_is(const cJSON *object, const char *key, int number)
{
    const cJSON *item = cJSON_GetObjectItem(object, key);
    return cJSON_IsNumber(item) && item->valueint == number;
}

static void connect_and_who_it_is(void)
{
    start(true);
    mi_subscriptions_connect(&plugin, &(struct mi_evt_connect){.client = &client});
    CU_ASSERT_EQUAL(fakes.records, 1);
    CU_ASSERT_EQUAL(fakes.last.route, 101);
    CU_ASSERT_TRUE(mi_span_equal(fakes.last.stream, mi_span_of("mqtt")));
    CU_ASSERT_TRUE(mi_span_equal(fakes.last.topic, mi_span_of("clients")));
    cJSON *o = last();
    CU_ASSERT_TRUE(text_is(o, "event", "connect"));
    CU_ASSERT_TRUE(text_is(o, "client_id", "device"));
    CU_ASSERT_TRUE(text_is(o, "username", "user"));
    CU_ASSERT_TRUE(text_is(o, "address", "10.0.0.7"));
    CU_ASSERT_TRUE(text_is(o, "protocol", "5"));
    CU_ASSERT_TRUE(text_is(o, "transport", NULL));
    CU_ASSERT_TRUE(cJSON_IsTrue(cJSON_GetObjectItem(o, "clean_session")));
    CU_ASSERT_TRUE(number_is(o, "keepalive", 60));
    CU_ASSERT_TRUE(text_is(o, "replaced", NULL));
    cJSON_Delete(o);
    struct mi_header h;
    struct mi_span block = {fakes.bytes[0], fakes.header_len[0]};
    CU_ASSERT_TRUE(mi_headers_find(block, mi_span_of("mqtt.event"), &h) &&
                   mi_span_equal(h.value, mi_span_of("connect")));
    CU_ASSERT_TRUE(mi_headers_find(block, mi_span_of("mqtt.origin"), &h));
    CU_ASSERT_FALSE(mi_headers_find(block, mi_span_of("mqtt.topic"), &h));
    client = (struct mosquitto){.id = "nobody", .protocol = 4, .websockets = true};
    mi_subscriptions_connect(&plugin, &(struct mi_evt_connect){.client = &client});
    o = last();
    CU_ASSERT_TRUE(text_is(o, "username", NULL));
    CU_ASSERT_TRUE(text_is(o, "address", NULL));
    CU_ASSERT_TRUE(text_is(o, "protocol", "3.1.1"));
    CU_ASSERT_TRUE(text_is(o, "transport", "websockets"));
    cJSON_Delete(o);
    end();
}

static void disconnect(int event, int reason)
{
    struct mosquitto_evt_disconnect e = {.client = &client, .reason = reason};
    mi_subscriptions_disconnect(&plugin, event, &e);
}

static void disconnect_has_its_reason(void)
{
    start(true);
    disconnect(MOSQ_EVT_DISCONNECT, 7);
    cJSON *o = last();
    CU_ASSERT_TRUE(text_is(o, "event", "disconnect"));
    CU_ASSERT_TRUE(number_is(o, "reason", 7));
    CU_ASSERT_TRUE(text_is(o, "session", "ended"));
    cJSON_Delete(o);
    disconnect(MI_EVT_CLIENT_OFFLINE, 0);
    o = last();
    CU_ASSERT_TRUE(text_is(o, "session", "kept"));
    cJSON_Delete(o);
    end();
    start(false);
    disconnect(MOSQ_EVT_DISCONNECT, -1);
    o = last();
    CU_ASSERT_TRUE(number_is(o, "reason", -1));
    CU_ASSERT_TRUE(text_is(o, "session", NULL));
    cJSON_Delete(o);
    end();
}

static void subscriptions_on_both_versions(void)
{
    start(true);
    struct mi_evt_subscribe s = {.client = &client};
    s.data.topic_filter = (char *)"$share/g/a/#";
    s.data.options = 2;
    mi_subscriptions_event(&plugin, MI_EVT_SUBSCRIBE, &s);
    cJSON *o = last();
    CU_ASSERT_TRUE(text_is(o, "event", "subscribe"));
    CU_ASSERT_TRUE(text_is(o, "filter", "$share/g/a/#"));
    CU_ASSERT_TRUE(number_is(o, "qos", 2));
    CU_ASSERT_TRUE(cJSON_IsTrue(cJSON_GetObjectItem(o, "granted")));
    cJSON_Delete(o);
    end();
    start(false);
    struct mosquitto_evt_acl_check a = {.client = &client, .topic = "b/+", .access = MOSQ_ACL_UNSUBSCRIBE};
    mi_subscriptions_check(&plugin, &a);
    o = last();
    CU_ASSERT_TRUE(text_is(o, "event", "unsubscribe"));
    CU_ASSERT_TRUE(text_is(o, "filter", "b/+"));
    cJSON_Delete(o);
    a.access = MOSQ_ACL_SUBSCRIBE;
    mi_subscriptions_check(&plugin, &a);
    o = last();
    CU_ASSERT_PTR_NULL(cJSON_GetObjectItem(o, "granted"));
    cJSON_Delete(o);
    a.access = MOSQ_ACL_READ;
    mi_subscriptions_check(&plugin, &a);
    CU_ASSERT_EQUAL(fakes.records, 2);
    end();
}

static void a_refused_login_may_hold_any_bytes(void)
{
    start(true);
    client.id = "id \x01\"\\";
    mi_client_events_refused(
        &plugin, &(struct mi_refused_login){&client, client.id, "caf\xe9 \xc3\xa9", NULL, "credentials"});
    cJSON *o = last();
    CU_ASSERT_TRUE(text_is(o, "event", "refused"));
    CU_ASSERT_TRUE(text_is(o, "client_id", "id \x01\"\\"));
    CU_ASSERT_TRUE(text_is(o, "username", "caf\xef\xbf\xbd \xc3\xa9"));
    CU_ASSERT_TRUE(text_is(o, "why", "credentials"));
    CU_ASSERT_TRUE(cJSON_IsTrue(cJSON_GetObjectItem(o, "replaced")));
    cJSON_Delete(o);
    end();
}

static void fire_all(void)
{
    struct mi_evt_subscribe s = {.client = &client};
    s.data.topic_filter = (char *)"a";
    mi_subscriptions_connect(&plugin, &(struct mi_evt_connect){.client = &client});
    mi_subscriptions_event(&plugin, MI_EVT_SUBSCRIBE, &s);
    mi_subscriptions_event(&plugin, MI_EVT_UNSUBSCRIBE, &s);
    disconnect(MI_EVT_CLIENT_OFFLINE, 0);
    mi_client_events_refused(&plugin, &(struct mi_refused_login){NULL, "c", NULL, "10.0.0.7", "limited"});
}

static void only_what_is_included_is_written(void)
{
    static const size_t members[] = {
        offsetof(struct mi_config, events_connect), offsetof(struct mi_config, events_disconnect),
        offsetof(struct mi_config, events_refused), offsetof(struct mi_config, events_subscribe),
        offsetof(struct mi_config, events_unsubscribe)};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        start(true);
        for (size_t k = 0; k < sizeof members / sizeof *members; k++)
            *(bool *)((char *)&fakes.config + members[k]) = k == i;
        fire_all();
        CU_ASSERT_EQUAL(fakes.records, 1);
        CU_ASSERT_EQUAL(mi_subscriptions_wanted(&plugin), i >= 3);
        end();
    }
    start(true);
    fakes.config.events = false;
    fire_all();
    CU_ASSERT_EQUAL(fakes.records, 0);
    CU_ASSERT_FALSE(mi_subscriptions_wanted(&plugin));
    end();
}

static void what_the_journal_does_not_take_is_dropped_and_counted(void)
{
    start(true);
    fakes.append = MI_APPEND_FULL;
    fire_all();
    CU_ASSERT_EQUAL(fakes.records, 0);
    CU_ASSERT_EQUAL(mi_counted(mi_metrics_route(plugin.metrics, 101, NULL), MI_C_DROPPED_QOS0), 5);
    CU_ASSERT_EQUAL(stubs.log_count, 1); /* once in a while, not for each */
    CU_ASSERT_TRUE(stubs_logged("dropped and counted"));
    end();
}

static void events_leave_half_of_the_journal_to_messages(void)
{
    start(true);
    fakes.config.journal_max_size = 1000000;
    fakes.no_room_for = 500001;
    mi_subscriptions_connect(&plugin, &(struct mi_evt_connect){.client = &client});
    CU_ASSERT_EQUAL(fakes.records, 1);
    fakes.no_room_for = 500000;
    mi_subscriptions_connect(&plugin, &(struct mi_evt_connect){.client = &client});
    CU_ASSERT_EQUAL(fakes.records, 1);
    CU_ASSERT_EQUAL(mi_counted(mi_metrics_route(plugin.metrics, 101, NULL), MI_C_DROPPED_QOS0), 1);
    end();
}

static void long_texts_are_cut_between_characters(void)
{
    static char name[65536] = "x";
    start(true);
    for (size_t at = 1; at + 2 < sizeof name; at += 2)
        memcpy(name + at, "\xc3\xa4", 2);
    mi_client_events_refused(&plugin, &(struct mi_refused_login){NULL, "c", name, NULL, "credentials"});
    CU_ASSERT_EQUAL_FATAL(fakes.records, 1);
    CU_ASSERT_TRUE(fakes.last.payload.len > 4000 && fakes.last.payload.len < 4400);
    CU_ASSERT_PTR_NOT_NULL(memmem(fakes.last.payload.data, fakes.last.payload.len, "\"cut\":true}", 11));
    CU_ASSERT_PTR_NULL(memmem(fakes.last.payload.data, fakes.last.payload.len, "replaced", 8));
    end();
}

static CU_TestInfo tests[] = {
    {"connect, and who it is", connect_and_who_it_is},
    {"disconnect has its reason", disconnect_has_its_reason},
    {"subscriptions on both versions", subscriptions_on_both_versions},
    {"a refused login may hold any bytes", a_refused_login_may_hold_any_bytes},
    {"only what is included is written", only_what_is_included_is_written},
    {"what the journal does not take is dropped and counted",
     what_the_journal_does_not_take_is_dropped_and_counted},
    {"events leave half of the journal to messages", events_leave_half_of_the_journal_to_messages},
    {"long texts are cut between characters", long_texts_are_cut_between_characters},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("client events", tests)
