/* events: what clients do becomes records in Iggy, and nothing of it holds a client up. */
#include "rig.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS "'client_events':{'stream':'mqtt','topic':'clients','subscribe':true,'unsubscribe':true}"

/* The events read so far of that kind and client; each is a JSON object that the caller does not free. */
static cJSON *all[512];
static size_t count;

static void forget(void)
{
    for (size_t i = 0; i < count; i++)
        cJSON_Delete(all[i]);
    count = 0;
}

static void read_events(struct rig *rig)
{
    forget();
    if (!mi_readback_read(rig->readback, "mqtt", "clients"))
        return;
    for (size_t i = 0; i < mi_readback_count(rig->readback) && count < 512; i++) {
        const struct mi_stored *s = mi_readback_at(rig->readback, i);
        CU_ASSERT_EQUAL(s->kind, MI_DECODED_NATIVE);
        all[count] = cJSON_ParseWithLength((const char *)s->body.data, s->body.len);
        CU_ASSERT_PTR_NOT_NULL_FATAL(all[count]);
        count++;
    }
}

static bool has(const cJSON *o, const char *key, const char *text)
{
    const char *value = cJSON_GetStringValue(cJSON_GetObjectItem(o, key));
    return value && strcmp(value, text) == 0;
}

static const cJSON *find(const char *event, const char *client)
{
    for (size_t i = 0; i < count; i++)
        if (has(all[i], "event", event) && has(all[i], "client_id", client))
            return all[i];
    return NULL;
}

static const cJSON *arrived(struct rig *rig, const char *event, const char *client)
{
    for (uint64_t end = mi_monotonic_ms() + 10000; mi_monotonic_ms() < end; mi_sleep_ms(20)) {
        read_events(rig);
        if (find(event, client))
            break;
    }
    return find(event, client);
}

static void a_client_leaves_its_traces(void)
{
    struct rig *rig = rig_new(NULL, NULL);
    CU_ASSERT_TRUE_FATAL(rig_start(rig, RIG_CONFIG EVENTS ",'broker':{'acl':'none'},'routes':[]}"));
    bool v2_1 = mi_broker_is_2_1(&rig->broker);
    struct mi_mqtt *c = rig_client(rig, "device \xc3\xa9\"1", MQTT_PROTOCOL_V5);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_TRUE(mi_mqtt_subscribe(c, "a/+", 1));
    mi_mqtt_close(c);
    const cJSON *o = arrived(rig, "disconnect", "device \xc3\xa9\"1");
    CU_ASSERT_PTR_NOT_NULL_FATAL(o);
    CU_ASSERT_TRUE(has(o, "address", "127.0.0.1"));
    CU_ASSERT_TRUE(has(o, "protocol", "5"));
    CU_ASSERT_EQUAL(cJSON_GetNumberValue(cJSON_GetObjectItem(o, "reason")), v2_1 ? 0 : -1);
    o = find("subscribe", "device \xc3\xa9\"1");
    CU_ASSERT_PTR_NOT_NULL_FATAL(o);
    CU_ASSERT_TRUE(has(o, "filter", "a/+"));
    CU_ASSERT_EQUAL(cJSON_GetObjectItem(o, "granted") != NULL, v2_1);
    CU_ASSERT_EQUAL(find("connect", "device \xc3\xa9\"1") != NULL, v2_1);
    /* In order of time, since one client has one partition. */
    double last = 0;
    for (size_t i = 0; i < count; i++) {
        double time = cJSON_GetNumberValue(cJSON_GetObjectItem(all[i], "time"));
        CU_ASSERT_TRUE(time >= last);
        last = time;
    }
    CU_ASSERT_EQUAL(
        rig_metric(rig, "mosquitto_iggy_committed_total{route=\"client_events\"}", (double)count, 5000),
        (double)count);
    CU_ASSERT_TRUE(mi_broker_stop(&rig->broker, 10000));
    forget();
    rig_free(rig);
}

/* A client may publish to any topic; none is the events' own. */
static void nobody_can_write_events(void)
{
    struct rig *rig = rig_new(NULL, NULL);
    CU_ASSERT_TRUE_FATAL(rig_start(rig, RIG_CONFIG EVENTS
                                   ",'broker':{'acl':'none'},"
                                   "'unmatched':{'stream':'other','topic':'t'},'routes':[]}"));
    struct mi_mqtt *c = rig_client(rig, "c", MQTT_PROTOCOL_V5);
    static const char *const topics[] = {"client_events", "$client_events", "mqtt/clients"};
    for (size_t i = 0; i < 3; i++)
        CU_ASSERT_TRUE((unsigned)mi_mqtt_say(c, topics[i], "{\"event\":\"forged\"}", 1) < 0x80);
    mi_mqtt_close(c);
    CU_ASSERT_PTR_NOT_NULL(arrived(rig, "disconnect", "c"));
    for (size_t i = 0; i < count; i++)
        CU_ASSERT_FALSE(has(all[i], "event", "forged"));
    CU_ASSERT_TRUE(mi_readback_wait(rig->readback, "other", "t", 2, 10000)); /* "#" takes no $-topic */
    CU_ASSERT_TRUE(mi_broker_stop(&rig->broker, 10000));
    forget();
    rig_free(rig);
}

/* With Iggy away the journal fills up; clients come and go as before, and the account adds up. */
static void a_full_journal_holds_nobody_up(void)
{
    struct rig *rig = rig_new(NULL, NULL);
    char config[1000], id[20];
    snprintf(config, sizeof config, "%s", RIG_CONFIG EVENTS ",'broker':{'acl':'none'},'routes':[]}");
    char *at = strstr(config, "DIR/journal'");
    char rest[900];
    snprintf(rest, sizeof rest, "%s", at + strlen("DIR/journal'"));
    snprintf(at, sizeof config - (size_t)(at - config), "DIR/journal','max_size':'1MB','keep':'0B'%s", rest);
    CU_ASSERT_TRUE_FATAL(mi_broker_config(&rig->broker, config, rig->iggy.port));
    CU_ASSERT_TRUE_FATAL(mi_broker_start(&rig->broker)); /* no Iggy */
    double dropped = 0;
    int clients = 0;
    char username[4001];
    memset(username, 'u', sizeof username - 1);
    username[sizeof username - 1] = '\0';
    for (; clients < 1000 && dropped < 10; clients++) {
        snprintf(id, sizeof id, "c%d", clients);
        struct mi_mqtt_options o = {
            .port = rig->broker.port, .client_id = id, .username = username, .protocol = MQTT_PROTOCOL_V311};
        struct mi_mqtt *c = mi_mqtt_connect(&o);
        CU_ASSERT_PTR_NOT_NULL_FATAL(c);
        mi_mqtt_close(c);
        if (clients % 50 == 49)
            dropped = rig_metric(rig, "mosquitto_iggy_dropped_total{route=\"client_events\",reason=\"qos0\"}",
                                 0, 2000);
    }
    CU_ASSERT_TRUE(dropped >= 10);
    CU_ASSERT_TRUE(mi_broker_says(&rig->broker, "client_events: the journal does not take", 2000));
    CU_ASSERT_TRUE(mi_broker_stop(&rig->broker, 10000));
    rig_free(rig);
}

static void a_refused_login_is_an_event(void)
{
    struct rig *rig = rig_new(NULL, NULL);
    CU_ASSERT_TRUE_FATAL(rig_start(
        rig, RIG_CONFIG
        "'auth':{'login':'iggy'},'client_events':{'stream':'mqtt','topic':'clients'},'routes':[]}"));
    struct mi_mqtt_options o = {.port = rig->broker.port,
                                .client_id = "thief",
                                .username = "iggy",
                                .password = "a-wrong-password",
                                .protocol = MQTT_PROTOCOL_V311};
    const cJSON *e = NULL;
    for (int i = 0; i < 50 && !(e && has(e, "why", "credentials")); i++, mi_sleep_ms(100)) {
        CU_ASSERT_PTR_NULL(mi_mqtt_connect(&o));
        read_events(rig);
        for (size_t k = 0; k < count; k++)
            if (has(all[k], "event", "refused") && has(all[k], "why", "credentials"))
                e = all[k];
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(e);
    CU_ASSERT_TRUE(has(e, "client_id", "thief"));
    CU_ASSERT_TRUE(has(e, "username", "iggy"));
    CU_ASSERT_TRUE(has(e, "address", "127.0.0.1"));
    for (size_t i = 0; i < mi_readback_count(rig->readback); i++) {
        const struct mi_buf *body = &mi_readback_at(rig->readback, i)->body;
        CU_ASSERT_PTR_NULL(memmem(body->data, body->len, "a-wrong-password", 16));
    }
    CU_ASSERT_TRUE(mi_broker_stop(&rig->broker, 10000));
    forget();
    rig_free(rig);
}

/* On 2.0 whoever sees subscriptions takes part in the decision; guessing would deny or grant. */
static void subscriptions_on_2_0_need_a_statement(void)
{
    struct rig *rig = rig_new(NULL, NULL);
    CU_ASSERT_TRUE(mi_iggy_server_start(&rig->iggy));
    CU_ASSERT_TRUE(mi_broker_config(&rig->broker, RIG_CONFIG EVENTS ",'routes':[]}", rig->iggy.port));
    if (mi_broker_start_and_exit(&rig->broker) == -1) {
        CU_ASSERT_TRUE(mi_broker_is_2_1(&rig->broker));
    } else {
        CU_ASSERT_FALSE(mi_broker_is_2_1(&rig->broker));
        CU_ASSERT_TRUE(mi_broker_says(&rig->broker, "broker.acl: must be stated for subscriptions", 1000));
    }
    rig_free(rig);
}

static CU_TestInfo tests[] = {
    {"a client leaves its traces", a_client_leaves_its_traces},
    {"nobody can write events", nobody_can_write_events},
    {"a full journal holds nobody up", a_full_journal_holds_nobody_up},
    {"a refused login is an event", a_refused_login_is_an_event},
    {"subscriptions on 2.0 need a statement", subscriptions_on_2_0_need_a_statement},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("client events", tests)
