/* refuse: what clients see when a PUBLISH cannot be kept, for each QoS and protocol, on the broker that runs
 * here. */
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BIG 20000

static const char config[] =
    "{'iggy':{'url':'IGGY','username':'iggy','password_file':'DIR/iggy.password'},"
    "'journal':{'directory':'DIR/"
    "journal','max_size':'1MB','keep':'0B'},'status':{'listen':'STATUS'},'routes':["
    "{'name':'reason','filter':'reason/#','direction':'out','stream':'s','topic':'t'},"
    "{'name':'cut','filter':'cut/#','direction':'out','stream':'s','topic':'t','refuse':'disconnect'},"
    "{'name':'lax','filter':'lax/#','direction':'out','stream':'s','topic':'t',"
    " 'when_journal_full':'deliver_without_copy'},"
    "{'name':'missing','filter':'missing/#','direction':'out','stream':'missing','topic':'t','create':false,"
    " 'on_missing':'refuse'}]}";

static struct rig *rig;
static size_t kept; /* acknowledged and so promised */

/* A journal that is full to the last record, with Iggy away. */
static void start(void)
{
    if (rig)
        return;
    rig = rig_new(NULL, NULL);
    CU_ASSERT_TRUE_FATAL(mi_broker_config(&rig->broker, config, rig->iggy.port));
    CU_ASSERT_TRUE_FATAL(mi_broker_start(&rig->broker));
    struct mi_mqtt *c = rig_client(rig, "filler", MQTT_PROTOCOL_V5);
    static char payload[BIG];
    for (size_t len = sizeof payload; len > 0; len /= 8)
        while (kept < 1000 && mi_mqtt_publish(c, "reason/fill", payload, len, 1, false, NULL) < 0x80)
            kept++;
    CU_ASSERT_TRUE(kept > 10 && kept < 1000);
    mi_mqtt_close(c);
}

static int refusal(void)
{
    return mi_broker_is_2_1(&rig->broker) ? 0x97 : 0x87;
}

static int say(const char *client_id, int protocol, const char *topic, int qos, bool *connected)
{
    struct mi_mqtt *c = rig_client(rig, client_id, protocol);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    int answer = mi_mqtt_say(c, topic, "one message more than the journal can take, and a bit longer", qos);
    mi_mqtt_run(c, 100);
    *connected = mi_mqtt_connected(c);
    mi_mqtt_close(c);
    return answer;
}

static void mqtt_5_is_refused_by_reason_code(void)
{
    bool connected;
    start();
    CU_ASSERT_EQUAL(say("c", MQTT_PROTOCOL_V5, "reason/a", 1, &connected), refusal());
    CU_ASSERT_TRUE(connected);
    CU_ASSERT_EQUAL(say("c", MQTT_PROTOCOL_V5, "reason/a", 2, &connected), refusal());
    CU_ASSERT_TRUE(connected);
    CU_ASSERT_TRUE(rig_metric(rig, "mosquitto_iggy_rejected_total{route=\"reason\",reason=\"journal_full\"}",
                              2, 2000) >= 2);
    CU_ASSERT_TRUE(mi_broker_says(&rig->broker, "journal.max_size", 1000));
}

static void mqtt_3_is_disconnected(void)
{
    bool connected;
    start();
    CU_ASSERT_EQUAL(say("c", MQTT_PROTOCOL_V311, "reason/a", 1, &connected), MI_MQTT_LOST);
    CU_ASSERT_FALSE(connected);
    CU_ASSERT_EQUAL(say("c", MQTT_PROTOCOL_V311, "reason/a", 2, &connected), MI_MQTT_LOST);
    CU_ASSERT_FALSE(connected);
    CU_ASSERT_EQUAL(say("c", MQTT_PROTOCOL_V31, "reason/a", 1, &connected), MI_MQTT_LOST);
}

static void mqtt_5_is_disconnected_where_the_route_says_so(void)
{
    bool connected;
    start();
    CU_ASSERT_EQUAL(say("c", MQTT_PROTOCOL_V5, "cut/a", 1, &connected), MI_MQTT_LOST);
    CU_ASSERT_FALSE(connected);
    int fd = mi_raw_connect(rig->broker.port, "raw", 5, true), reason = 0;
    mi_raw_publish(fd, 5, "cut/a", 5, "one message more than the journal can take, and a bit longer", 60, 1,
                   false, false, 1);
    CU_ASSERT_EQUAL(mi_raw_receive(fd, &reason, 3000), 0xe0); /* DISCONNECT, 0x80 */
    CU_ASSERT_EQUAL(mi_raw_receive(fd, NULL, 3000), 0);
    close(fd);
}

static void qos_0_is_never_refused_to_subscribers(void)
{
    bool connected;
    start();
    struct mi_mqtt *subscriber = rig_client(rig, "s", MQTT_PROTOCOL_V311);
    CU_ASSERT_TRUE(mi_mqtt_subscribe(subscriber, "reason/#", 0));
    say("c", MQTT_PROTOCOL_V311, "reason/qos0", 0, &connected);
    CU_ASSERT_TRUE(connected);
    say("c", MQTT_PROTOCOL_V5, "reason/qos0", 0, &connected);
    CU_ASSERT_TRUE(connected);
    CU_ASSERT_TRUE(mi_mqtt_wait(subscriber, 2, 2000));
    CU_ASSERT_EQUAL(
        rig_metric(rig, "mosquitto_iggy_dropped_total{route=\"reason\",reason=\"qos0\"}", 2, 2000), 2);
    mi_mqtt_close(subscriber);
}

static void deliver_without_copy_delivers_and_counts(void)
{
    bool connected;
    start();
    struct mi_mqtt *subscriber = rig_client(rig, "s", MQTT_PROTOCOL_V311);
    CU_ASSERT_TRUE(mi_mqtt_subscribe(subscriber, "lax/#", 1));
    CU_ASSERT_EQUAL(say("c", MQTT_PROTOCOL_V311, "lax/a", 1, &connected), 0);
    CU_ASSERT_TRUE(connected);
    CU_ASSERT_TRUE(mi_mqtt_wait(subscriber, 1, 2000));
    CU_ASSERT_EQUAL(
        rig_metric(rig, "mosquitto_iggy_dropped_total{route=\"lax\",reason=\"without_copy\"}", 1, 2000), 1);
    mi_mqtt_close(subscriber);
}

static void what_no_route_takes_is_not_touched(void)
{
    bool connected;
    start();
    CU_ASSERT_TRUE(say("c", MQTT_PROTOCOL_V5, "unmatched/a", 1, &connected) < 0x80);
    CU_ASSERT_TRUE(connected);
}

/* What can never fit is refused or let through, but ends no connection: the client would only send it again.
 */
static void what_can_never_fit_disconnects_nobody(void)
{
    start();
    size_t len = 1500000; /* 2.1 takes packets of 2,000,000 bytes */
    void *payload = calloc(1, len);
    struct mi_mqtt *c = rig_client(rig, "c", MQTT_PROTOCOL_V311);
    CU_ASSERT_EQUAL(mi_mqtt_publish(c, "reason/huge", payload, len, 1, false, NULL), 0);
    CU_ASSERT_TRUE(mi_mqtt_connected(c));
    mi_mqtt_close(c);
    c = rig_client(rig, "c", MQTT_PROTOCOL_V5);
    CU_ASSERT_EQUAL(mi_mqtt_publish(c, "cut/huge", payload, len, 1, false, NULL), refusal());
    CU_ASSERT_TRUE(mi_mqtt_connected(c));
    mi_mqtt_close(c);
    CU_ASSERT_EQUAL(
        rig_metric(rig, "mosquitto_iggy_dropped_total{route=\"reason\",reason=\"without_copy\"}", 1, 2000),
        1);
    free(payload);
}

static void with_iggy_back_all_that_was_acknowledged_arrives_and_new_is_taken(void)
{
    bool connected;
    start();
    CU_ASSERT_TRUE_FATAL(mi_iggy_server_start(&rig->iggy));
    CU_ASSERT_TRUE(mi_readback_wait(rig->readback, "s", "t", kept, 20000));
    int answer = 0x97;
    for (int i = 0; i < 100 && answer >= 0x80; i++, mi_sleep_ms(50))
        answer = say("c", MQTT_PROTOCOL_V5, "reason/again", 1, &connected);
    CU_ASSERT_TRUE(answer < 0x80);
    CU_ASSERT_TRUE(mi_readback_wait(rig->readback, "s", "t", kept + 1, 10000));
}

static void a_target_known_to_be_missing_is_refused(void)
{
    bool connected;
    start();
    CU_ASSERT_TRUE(say("c", MQTT_PROTOCOL_V5, "missing/a", 1, &connected) <
                   0x80); /* nobody knows yet: kept */
    int answer = 0;
    for (int i = 0; i < 100 && answer < 0x80; i++, mi_sleep_ms(50))
        answer = say("c", MQTT_PROTOCOL_V5, "missing/a", 1, &connected);
    CU_ASSERT_EQUAL(answer, refusal());
    CU_ASSERT_TRUE(connected);
    CU_ASSERT_EQUAL(say("c", MQTT_PROTOCOL_V311, "missing/a", 1, &connected), MI_MQTT_LOST);
    CU_ASSERT_TRUE(rig_metric(rig,
                              "mosquitto_iggy_rejected_total{route=\"missing\",reason=\"target_missing\"}", 2,
                              2000) >= 2);
    CU_ASSERT_TRUE(mi_readback_create(rig->readback, "missing", "t", 1));
    answer = 0x97;
    for (int i = 0; i < 200 && answer >= 0x80; i++, mi_sleep_ms(100))
        answer = say("c", MQTT_PROTOCOL_V5, "missing/a", 1, &connected);
    CU_ASSERT_TRUE(answer < 0x80);
    CU_ASSERT_TRUE(mi_broker_stop(&rig->broker, 10000));
}

static CU_TestInfo tests[] = {
    {"MQTT 5 is refused by reason code", mqtt_5_is_refused_by_reason_code},
    {"MQTT 3 is disconnected", mqtt_3_is_disconnected},
    {"MQTT 5 is disconnected where the route says so", mqtt_5_is_disconnected_where_the_route_says_so},
    {"QoS 0 is never refused to subscribers", qos_0_is_never_refused_to_subscribers},
    {"deliver_without_copy delivers and counts", deliver_without_copy_delivers_and_counts},
    {"what no route takes is not touched", what_no_route_takes_is_not_touched},
    {"what can never fit disconnects nobody", what_can_never_fit_disconnects_nobody},
    {"with Iggy back, all that was acknowledged arrives and new is taken",
     with_iggy_back_all_that_was_acknowledged_arrives_and_new_is_taken},
    {"a target known to be missing is refused", a_target_known_to_be_missing_is_refused},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("refuse", tests)
