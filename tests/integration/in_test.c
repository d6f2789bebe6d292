/* in: what native producers and other bridges write into Iggy reaches MQTT subscribers, once, and only where
 * it may. */
#include "rig.h"

#include "message/headers.h"

#include <mqtt_protocol.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char config[] =
    RIG_CONFIG "'routes':["
               "{'name':'commands','direction':'in','stream':'commands','topic':'devices',"
               " 'mqtt_topic':'devices/{header:device}/command','qos':1,'retain':'never'},"
               "{'name':'plain','filter':'news/today','direction':'in','stream':'news','topic':'today'},"
               "{'name':'safe','filter':'safe/#','direction':'both','stream':'safe','topic':'messages'},"
               "{'name':'loop','filter':'loop/#','direction':'both','stream':'loop','topic':'messages'}]}";

static struct rig *rig;
static struct mi_mqtt *subscriber, *publisher;

static void start(void)
{
    if (!rig) {
        rig = rig_new(NULL, NULL);
        CU_ASSERT_TRUE_FATAL(mi_iggy_server_start(&rig->iggy));
        CU_ASSERT_TRUE_FATAL(mi_readback_create(rig->readback, "commands", "devices", 3) &&
                             mi_readback_create(rig->readback, "news", "today", 1) &&
                             mi_readback_create(rig->readback, "safe", "messages", 1) &&
                             mi_readback_create(rig->readback, "loop", "messages", 1));
        CU_ASSERT_TRUE_FATAL(mi_broker_config(&rig->broker, config, rig->iggy.port) &&
                             mi_broker_start(&rig->broker));
        subscriber = rig_client(rig, "subscriber", MQTT_PROTOCOL_V5);
        publisher = rig_client(rig, "publisher", MQTT_PROTOCOL_V5);
        CU_ASSERT_TRUE_FATAL(subscriber && publisher && mi_mqtt_subscribe(subscriber, "#", 2));
        CU_ASSERT_EQUAL_FATAL(rig_metric(rig, "mosquitto_iggy_readers", 6, 10000), 6);
    }
    CU_ASSERT_TRUE_FATAL(mi_mqtt_connected(subscriber));
}

static struct mi_span header(const char *name, const char *value)
{
    static struct mi_buf block;
    if (!block.max)
        mi_buf_init(&block, 1000);
    mi_buf_reset(&block);
    CU_ASSERT_TRUE(mi_headers_add(&block, mi_span_of(name), MI_HEADER_STRING, mi_span_of(value)));
    return mi_buf_span(&block);
}

/* The next message that the subscriber gets. */
static const struct mi_mqtt_message *next_of(struct mi_mqtt *c, size_t before)
{
    return mi_mqtt_wait(c, before + 1, 5000) ? mi_mqtt_message(c, before) : NULL;
}

static void a_native_command_reaches_its_device(void)
{
    start();
    for (uint32_t partition = 0; partition < 3; partition++) {
        size_t before = mi_mqtt_count(subscriber);
        uint64_t sent = mi_monotonic_ms();
        CU_ASSERT_TRUE(mi_readback_produce(rig->readback, "commands", "devices", partition,
                                           header("device", "lamp7"), "on"));
        const struct mi_mqtt_message *m = next_of(subscriber, before);
        CU_ASSERT_PTR_NOT_NULL_FATAL(m);
        printf("\n    produce to MQTT subscriber: %lu ms\n", (unsigned long)(mi_monotonic_ms() - sent));
        CU_ASSERT_STRING_EQUAL(m->topic, "devices/lamp7/command");
        CU_ASSERT_STRING_EQUAL((const char *)m->payload, "on");
        CU_ASSERT_EQUAL(m->qos, 1);
        CU_ASSERT_FALSE(m->retain);
    }
}

static void a_filter_without_wildcards_is_its_own_topic(void)
{
    start();
    size_t before = mi_mqtt_count(subscriber);
    CU_ASSERT_TRUE(mi_readback_produce(rig->readback, "news", "today", 0, mi_span_of(NULL), "sun"));
    const struct mi_mqtt_message *m = next_of(subscriber, before);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_STRING_EQUAL(m->topic, "news/today");
}

static void field_44_many_messages_in_order(void)
{
    start();
    char text[16];
    size_t before = mi_mqtt_count(subscriber);
    for (int i = 0; i < 300; i++) {
        snprintf(text, sizeof text, "%d", i);
        CU_ASSERT_TRUE(mi_readback_produce(rig->readback, "news", "today", 0, mi_span_of(NULL), text));
    }
    CU_ASSERT_TRUE(mi_mqtt_wait(subscriber, before + 300, 10000));
    for (int i = 0; i < 300 && before + (size_t)i < mi_mqtt_count(subscriber); i++)
        CU_ASSERT_EQUAL(atoi((const char *)mi_mqtt_message(subscriber, before + (size_t)i)->payload), i);
}

/* A message as another bridge would have written it. */
static bool foreign(const char *stream, const char *mqtt_topic, const char *payload, bool retain,
                    struct mi_span properties)
{
    struct mi_envelope e;
    struct mi_message m = {.topic = mi_span_of(mqtt_topic),
                           .payload = mi_span_of(payload),
                           .qos = 2,
                           .retain = retain,
                           .origin = mi_span_of("ffffffffffffffffffffffffffffffff"),
                           .time_us = 1,
                           .properties = properties};
    mi_envelope_init(&e);
    bool ok = mi_envelope_encode(&e, &m) &&
              mi_readback_produce(rig->readback, stream, "messages", 0, mi_buf_span(&e.headers), payload);
    mi_envelope_fini(&e);
    return ok;
}

static void field_72_103_another_bridges_message_comes_out_whole(void)
{
    struct mi_buf block;
    start();
    size_t before = mi_mqtt_count(subscriber);
    mi_buf_init(&block, 1000);
    mi_properties_add_bytes(&block, MI_PROP_CONTENT_TYPE, mi_span_of("text/plain"));
    mi_properties_add_pair(&block, mi_span_of("k"), mi_span_of("v"));
    CU_ASSERT_TRUE(foreign("safe", "safe/room/1", "hello", true, mi_buf_span(&block)));
    mi_buf_fini(&block);
    const struct mi_mqtt_message *m = next_of(subscriber, before);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_STRING_EQUAL(m->topic, "safe/room/1");
    CU_ASSERT_EQUAL(m->qos, 2);
    char *type = NULL, *name = NULL, *value = NULL;
    CU_ASSERT_PTR_NOT_NULL(
        mosquitto_property_read_string(m->properties, MQTT_PROP_CONTENT_TYPE, &type, false));
    CU_ASSERT_STRING_EQUAL(type, "text/plain");
    CU_ASSERT_PTR_NOT_NULL(
        mosquitto_property_read_string_pair(m->properties, MQTT_PROP_USER_PROPERTY, &name, &value, false));
    CU_ASSERT_STRING_EQUAL(value, "v");
    free(type);
    free(name);
    free(value);
    struct mi_mqtt *late = rig_client(rig, "late", MQTT_PROTOCOL_V311); /* 72: the retain flag was carried */
    CU_ASSERT_TRUE(mi_mqtt_subscribe(late, "safe/room/1", 1));
    CU_ASSERT_TRUE(mi_mqtt_wait(late, 1, 3000) && mi_mqtt_message(late, 0)->retain);
    mi_mqtt_close(late);
}

static void field_76_120_123_only_topics_of_the_route_are_published(void)
{
    static const char *const topics[] = {
        "admin/cmd", "$CONTROL/dynamic-security/v1", "$SYS/broker/uptime", "safe/#", "safe/+", "safe/\x01",
        "safe"};
    start();
    size_t before = mi_mqtt_count(subscriber);
    size_t count = sizeof topics / sizeof topics[0];
    for (size_t i = 0; i < count; i++)
        CU_ASSERT_TRUE(foreign("safe", topics[i], topics[i], false, mi_span_of(NULL)));
    CU_ASSERT_TRUE(foreign("safe", "safe/last", "last", false, mi_span_of(NULL)));
    for (const struct mi_mqtt_message *m; (m = next_of(subscriber, before)) != NULL; before++) {
        if (strcmp(m->topic, "safe/last") == 0)
            break;
        CU_ASSERT_STRING_EQUAL(m->topic, "safe"); /* "safe/#" covers "safe" itself */
    }
    CU_ASSERT_TRUE(before < mi_mqtt_count(subscriber));
    CU_ASSERT_EQUAL(
        rig_metric(rig, "mosquitto_iggy_in_rejected_total{route=\"safe\",reason=\"topic\"}", 6, 3000) +
            rig_metric(rig, "mosquitto_iggy_in_rejected_total{route=\"safe\",reason=\"headers\"}", 0, 0),
        count - 1);
}

static void field_138_a_loop_of_two_routes_turns_once(void)
{
    start();
    size_t before = mi_mqtt_count(subscriber);
    CU_ASSERT_TRUE(mi_mqtt_say(publisher, "loop/x", "once", 1) < 0x80);
    CU_ASSERT_TRUE(mi_mqtt_wait(subscriber, before + 1, 3000));
    CU_ASSERT_TRUE(mi_readback_wait(rig->readback, "loop", "messages", 1, 5000));
    CU_ASSERT_EQUAL(
        rig_metric(rig, "mosquitto_iggy_in_skipped_total{route=\"loop\",reason=\"own_origin\"}", 1, 5000), 1);
    mi_mqtt_run(subscriber, 300);
    CU_ASSERT_EQUAL(mi_mqtt_count(subscriber), before + 1);
    CU_ASSERT_TRUE(mi_readback_wait(rig->readback, "loop", "messages", 1, 1000));
}

static void a_restart_of_the_broker_repeats_nothing(void)
{
    start();
    static const char injected[] = "mosquitto_iggy_injected_total{route=\"plain\"}";
    mi_mqtt_run(subscriber, 500);
    double before = rig_metric(rig, injected, 0, 1000); /* counted on over restarts */
    mi_mqtt_close(subscriber);
    mi_mqtt_close(publisher);
    CU_ASSERT_TRUE(mi_broker_stop(&rig->broker, 10000));
    CU_ASSERT_TRUE(
        mi_readback_produce(rig->readback, "news", "today", 0, mi_span_of(NULL), "while it was down"));
    CU_ASSERT_TRUE_FATAL(mi_broker_start(&rig->broker));
    subscriber = rig_client(rig, "subscriber", MQTT_PROTOCOL_V5);
    publisher = rig_client(rig, "publisher", MQTT_PROTOCOL_V5);
    CU_ASSERT_TRUE_FATAL(subscriber && publisher);
    CU_ASSERT_EQUAL(rig_metric(rig, injected, before + 1, 10000), before + 1);
    mi_mqtt_run(subscriber, 500);
    CU_ASSERT_EQUAL(rig_metric(rig, injected, before + 1, 0), before + 1);
    CU_ASSERT_TRUE(mi_broker_stop(&rig->broker, 10000));
    mi_mqtt_close(subscriber);
    mi_mqtt_close(publisher);
}

static CU_TestInfo tests[] = {
    {"a native command reaches its device", a_native_command_reaches_its_device},
    {"a filter without wildcards is its own topic", a_filter_without_wildcards_is_its_own_topic},
    {"field 44: many messages, in order", field_44_many_messages_in_order},
    {"field 72 103: another bridge's message comes out whole",
     field_72_103_another_bridges_message_comes_out_whole},
    {"field 76 120 123: only topics of the route are published",
     field_76_120_123_only_topics_of_the_route_are_published},
    {"field 138: a loop of two routes turns once", field_138_a_loop_of_two_routes_turns_once},
    {"a restart of the broker repeats nothing", a_restart_of_the_broker_repeats_nothing},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("in", tests)
