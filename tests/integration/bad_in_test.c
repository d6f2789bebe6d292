/*
 * bad_in: what stands in Iggy, what Iggy answers and what Iggy loses: each time what is good around it
 * reaches the subscriber, once.
 */
#include "rig.h"

#include "message/headers.h"

#include <mqtt_protocol.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char config[] =
    RIG_CONFIG "'limits':{'max_poll_bytes':'256KB'},'routes':["
               "{'name':'bad','direction':'in','stream':'bad','topic':'t','filter':'bad/#',"
               " 'mqtt_topic':'bad/{header:device}/x','qos':1},"
               "{'name':'lost','direction':'in','stream':'lost','topic':'t','mqtt_topic':'lost/{partition}',"
               " 'qos':1},"
               "{'name':'killed','direction':'in','stream':'killed','topic':'t',"
               " 'mqtt_topic':'killed/{partition}','qos':1}]}";

static struct rig *rig;
static struct mi_mqtt *subscriber;

static void start(void)
{
    if (!rig) {
        rig = rig_new(NULL, NULL);
        CU_ASSERT_TRUE_FATAL(mi_iggy_server_start(&rig->iggy));
        CU_ASSERT_TRUE_FATAL(mi_readback_create(rig->readback, "bad", "t", 1) &&
                             mi_readback_create(rig->readback, "lost", "t", 1) &&
                             mi_readback_create(rig->readback, "killed", "t", 2));
        CU_ASSERT_TRUE_FATAL(mi_broker_config(&rig->broker, config, rig->iggy.port) &&
                             mi_broker_start(&rig->broker));
        subscriber = rig_client(rig, "subscriber", MQTT_PROTOCOL_V5);
        CU_ASSERT_TRUE_FATAL(subscriber && mi_mqtt_subscribe(subscriber, "#", 1));
        CU_ASSERT_EQUAL_FATAL(rig_metric(rig, "mosquitto_iggy_readers", 4, 10000), 4);
    }
    CU_ASSERT_TRUE_FATAL(mi_mqtt_connected(subscriber));
}

static double metric(const char *name, const char *labels, double at_least)
{
    char text[200];
    snprintf(text, sizeof text, "mosquitto_iggy_%s_total{route=\"%s}", name, labels);
    return rig_metric(rig, text, at_least, 8000);
}

/* ---- what stands there ---- */

static struct mi_span header(const char *name, enum mi_header_kind kind, const char *value, size_t len)
{
    static struct mi_buf block;
    if (!block.max)
        mi_buf_init(&block, 1000);
    mi_buf_reset(&block);
    struct mi_span v = {(const uint8_t *)value, len};
    CU_ASSERT_TRUE(mi_headers_add(&block, mi_span_of(name), MI_HEADER_RAW, v));
    block.data[5 + strlen(name)] = (uint8_t)kind; /* which the value need not fit */
    return mi_buf_span(&block);
}

static void put(struct mi_span headers, const char *payload)
{
    CU_ASSERT_TRUE(mi_readback_produce(rig->readback, "bad", "t", 0, headers, payload));
}

static void put_good(const char *device, const char *payload)
{
    put(header("device", MI_HEADER_STRING, device, strlen(device)), payload);
}

/* The next message is that one: what stood before it did not come. */
static void next_is(const char *payload)
{
    size_t before = mi_mqtt_count(subscriber);
    CU_ASSERT_TRUE_FATAL(mi_mqtt_wait(subscriber, before + 1, 10000));
    CU_ASSERT_STRING_EQUAL((const char *)mi_mqtt_message(subscriber, before)->payload, payload);
}

static void messages_that_are_none_are_skipped_and_counted(void)
{
    /* key kind and length that lead nowhere: Iggy takes it and gives it back as base64 */
    static const uint8_t nonsense[] = {2, 200, 0, 0, 0, 'x'};
    start();
    put_good("a", "first");
    put((struct mi_span){nonsense, sizeof nonsense}, "undecodable");
    put(header("mqtt.topic", MI_HEADER_STRING, "bad/\xff\xfe", 6), "not UTF-8");
    put(header("mqtt.topic", MI_HEADER_RAW, "\xff", 1), "raw");
    put(header("mqtt.envelope", MI_HEADER_UINT8, "\x63", 1), "unknown version");
    put(header("device", MI_HEADER_STRING, "a/b", 3), "slash");
    put(header("device", MI_HEADER_STRING, "+", 1), "plus");
    put(header("device", MI_HEADER_STRING, "#", 1), "hash");
    put(header("device", MI_HEADER_STRING, "x\0y", 3), "NUL");
    put((struct mi_span){0}, "no header");
    next_is("first");
    put_good("a", "last");
    next_is("last");
    double topics = metric("in_rejected", "bad\",reason=\"topic\"", 5);
    double headers = metric("in_rejected", "bad\",reason=\"headers\"", 0);
    CU_ASSERT_EQUAL(topics + headers, 9);
}

static void a_message_beyond_max_poll_bytes_is_skipped_alone(void)
{
    static char large[1000001];
    start();
    memset(large, 'x', sizeof large - 1);
    put_good("a", "before");
    put_good("b", large);
    put_good("a", "after");
    next_is("before");
    next_is("after");
    CU_ASSERT_EQUAL(metric("in_skipped", "bad\",reason=\"too_large\"", 1), 1);
}

static void large_ones_come_in_smaller_answers(void)
{
    static char text[60001];
    start();
    size_t before = mi_mqtt_count(subscriber);
    memset(text, 'y', sizeof text - 1);
    for (int i = 0; i < 40; i++)
        put_good("a", text);
    CU_ASSERT_TRUE(mi_mqtt_wait(subscriber, before + 40, 20000));
    CU_ASSERT_EQUAL(metric("in_skipped", "bad\",reason=\"too_large\"", 1), 1);
}

/* ---- what is answered ---- */

static void answers_that_cannot_be_read_lose_nothing(void)
{
    static const char *const faults[] = {
        "on poll garble 3",    "on poll truncate 3",    "on poll cut after 3",
        "on topics garble 3",  "on streams garble 3",   "on topics truncate 2",
        "on poll slow 1000 1", "on poll next 503 57 2", "on poll next 500 2"};
    start();
    for (size_t i = 0; i < sizeof faults / sizeof *faults && !rig->iggy.real; i++) {
        CU_ASSERT_TRUE(mi_iggy_server_fault(&rig->iggy, faults[i]));
        put_good("a", faults[i]);
        next_is(faults[i]);
    }
    CU_ASSERT_EQUAL(metric("in_skipped", "bad\",reason=\"too_large\"", 1), 1);
}

/* ---- what is lost ---- */

/* The first one after a kill may meet the old connection. */
static void produce(const char *stream, uint32_t partition, const char *payload)
{
    for (int i = 0; i < 50; i++) {
        if (mi_readback_produce(rig->readback, stream, "t", partition, (struct mi_span){0}, payload))
            return;
        mi_sleep_ms(100);
    }
    CU_FAIL("cannot produce");
}

static void lose(const char *payload)
{
    produce("lost", 0, payload);
}

static void a_tail_that_iggy_lost_is_noticed_and_reading_goes_on(void)
{
    start();
    char text[20];
    for (int i = 0; i < 10; i++) {
        snprintf(text, sizeof text, "old %d", i);
        lose(text);
        next_is(text);
    }
    mi_iggy_server_kill(&rig->iggy);
    CU_ASSERT_TRUE_FATAL(mi_iggy_server_start(&rig->iggy));
    size_t before = mi_mqtt_count(subscriber);
    for (int i = 0; i < 5; i++) {
        snprintf(text, sizeof text, "new %d", i);
        lose(text);
    }
    CU_ASSERT_TRUE(mi_mqtt_wait(subscriber, before + 5, 20000));
    mi_mqtt_run(subscriber, 500);
    CU_ASSERT_EQUAL(mi_mqtt_count(subscriber), before + 5);
    for (size_t i = 0; i < 5 && before + i < mi_mqtt_count(subscriber); i++) {
        snprintf(text, sizeof text, "new %zu", i);
        CU_ASSERT_STRING_EQUAL((const char *)mi_mqtt_message(subscriber, before + i)->payload, text);
    }
    CU_ASSERT_TRUE(metric("in_tail_lost", "lost\"", 0) + metric("in_offsets_reused", "lost\"", 0) >= 1);
}

static unsigned times_delivered(size_t from, struct mi_span payload)
{
    unsigned n = 0;
    for (size_t i = from; i < mi_mqtt_count(subscriber); i++) {
        const struct mi_mqtt_message *m = mi_mqtt_message(subscriber, i);
        n += mi_span_equal(payload, (struct mi_span){m->payload, m->len});
    }
    return n;
}

static bool all_delivered(size_t from)
{
    if (!mi_readback_read(rig->readback, "killed", "t"))
        return false;
    for (size_t i = 0; i < mi_readback_count(rig->readback); i++)
        if (times_delivered(from, mi_buf_span(&mi_readback_at(rig->readback, i)->body)) == 0)
            return false;
    return true;
}

/* Whatever Iggy holds in the end was delivered once, and nothing was delivered twice. */
static void kills_under_traffic(void)
{
    start();
    char text[20];
    size_t from = mi_mqtt_count(subscriber);
    for (int round = 0; round < 6; round++) {
        for (int i = 0; i < 60; i++) {
            snprintf(text, sizeof text, "%d-%d", round, i);
            produce("killed", (uint32_t)i % 2, text);
            mi_mqtt_run(subscriber, i % 10 == 0 ? 10 : 0);
        }
        if (round == 5)
            break;
        mi_iggy_server_kill(&rig->iggy);
        CU_ASSERT_TRUE_FATAL(mi_iggy_server_start(&rig->iggy));
    }
    for (int i = 0; i < 100 && !all_delivered(from); i++)
        mi_mqtt_run(subscriber, 200);
    CU_ASSERT_TRUE(all_delivered(from));
    CU_ASSERT_TRUE(mi_readback_count(rig->readback) >= 60);
    for (size_t i = from; i < mi_mqtt_count(subscriber); i++) {
        const struct mi_mqtt_message *m = mi_mqtt_message(subscriber, i);
        CU_ASSERT_EQUAL(times_delivered(from, (struct mi_span){m->payload, m->len}), 1);
    }
}

static void a_topic_that_was_made_again_is_read_from_its_beginning(void)
{
    start();
    mi_sleep_ms(1100); /* of two creations within a second the second is not told apart by its stamp */
    CU_ASSERT_TRUE(mi_readback_delete(rig->readback, "lost", "t"));
    CU_ASSERT_TRUE(mi_readback_create(rig->readback, "lost", "t", 2));
    lose("again");
    next_is("again");
    CU_ASSERT_EQUAL(metric("in_made_again", "lost\"", 1), 1);
    CU_ASSERT_TRUE(mi_readback_produce(rig->readback, "lost", "t", 1, (struct mi_span){0}, "second"));
    next_is("second");
    CU_ASSERT_TRUE(mi_broker_stop(&rig->broker, 10000));
    mi_mqtt_close(subscriber);
}

static CU_TestInfo tests[] = {
    {"messages that are none are skipped and counted", messages_that_are_none_are_skipped_and_counted},
    {"a message beyond max_poll_bytes is skipped alone", a_message_beyond_max_poll_bytes_is_skipped_alone},
    {"large ones come in smaller answers", large_ones_come_in_smaller_answers},
    {"answers that cannot be read lose nothing", answers_that_cannot_be_read_lose_nothing},
    {"a tail that Iggy lost is noticed and reading goes on",
     a_tail_that_iggy_lost_is_noticed_and_reading_goes_on},
    {"kills under traffic", kills_under_traffic},
    {"a topic that was made again is read from its beginning",
     a_topic_that_was_made_again_is_read_from_its_beginning},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("bad in", tests)
