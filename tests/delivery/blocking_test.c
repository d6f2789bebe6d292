/*
 * blocking: whatever Iggy does, other clients notice nothing (field 38 39 42 50 52): the time
 * from publish to subscriber, and that of a CONNECT, beside the same with a healthy Iggy in the same run.
 */
#include "stage.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 400, CONNECTS = 10, SETTLE_MS = 300, ATTEMPTS = 3, P99_FACTOR = 10, MAX_FACTOR = 30 };

static const char config[] =
    "{'iggy':{'url':'IGGY','username':'iggy','password_file':'DIR/iggy.password'},"
    "'journal':{'directory':'DIR/journal'},'status':{'listen':'STATUS'},"
    "'limits':{'retry_min':'20ms','retry_max':'100ms'},"
    "'routes':[{'name':'all','filter':'a/#','direction':'out','stream':'s','topic':'t'},"
    "{'name':'in','direction':'in','stream':'s','topic':'back','mqtt_topic':'back','qos':1}]}";

/* Two brokers of the same kind: one with the Iggy that gets into trouble, behind a proxy, and one whose Iggy
 * is well; both are measured in turns, so that what else the machine does meets both. */
struct side {
    struct rig *rig;
    struct mi_mqtt *routed, *other, *subscriber;
    size_t received;
    double took[ROUNDS], connect_ms;
};
static struct side troubled, healthy;
static struct proxy *proxy;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* One message that a route takes, then the time of one from another client that no route takes. */
static double round_trip(struct side *s)
{
    CU_ASSERT_EQUAL(mi_mqtt_say(s->routed, "a/b", "for Iggy", 1), 0);
    double before = now_ms();
    mi_mqtt_say(s->other, "free", "for the subscriber", 0);
    CU_ASSERT_TRUE(mi_mqtt_wait(s->subscriber, ++s->received, 20000));
    return now_ms() - before;
}

static double connect_once(struct side *s)
{
    double before = now_ms();
    struct mi_mqtt *c = rig_client(s->rig, NULL, MQTT_PROTOCOL_V311);
    double took = now_ms() - before;
    CU_ASSERT_PTR_NOT_NULL(c);
    mi_mqtt_close(c);
    return took;
}

static void measure(void)
{
    for (size_t i = 0; i < ROUNDS; i++) {
        healthy.took[i] = round_trip(&healthy);
        troubled.took[i] = round_trip(&troubled);
    }
    healthy.connect_ms = troubled.connect_ms = 0;
    for (size_t i = 0; i < CONNECTS; i++) {
        double h = connect_once(&healthy), t = connect_once(&troubled);
        healthy.connect_ms = h > healthy.connect_ms ? h : healthy.connect_ms;
        troubled.connect_ms = t > troubled.connect_ms ? t : troubled.connect_ms;
    }
    qsort(healthy.took, ROUNDS, sizeof *healthy.took, by_size);
    qsort(troubled.took, ROUNDS, sizeof *troubled.took, by_size);
}

static void start_side(struct side *s, bool behind_proxy)
{
    s->rig = rig_new(NULL, NULL);
    CU_ASSERT_TRUE_FATAL(mi_iggy_server_start(&s->rig->iggy));
    CU_ASSERT_TRUE_FATAL(mi_readback_create(s->rig->readback, "s", "back", 1));
    if (behind_proxy)
        proxy = proxy_new(s->rig->iggy.port);
    CU_ASSERT_TRUE_FATAL(!behind_proxy || proxy);
    CU_ASSERT_TRUE_FATAL(
        mi_broker_config(&s->rig->broker, config, behind_proxy ? proxy_port(proxy) : s->rig->iggy.port) &&
        mi_broker_start(&s->rig->broker));
    s->routed = rig_client(s->rig, "routed", MQTT_PROTOCOL_V311);
    s->other = rig_client(s->rig, "other", MQTT_PROTOCOL_V311);
    s->subscriber = rig_client(s->rig, "subscriber", MQTT_PROTOCOL_V311);
    CU_ASSERT_TRUE_FATAL(s->routed && s->other && s->subscriber &&
                         mi_mqtt_subscribe(s->subscriber, "free", 0));
}

static void start(void)
{
    if (healthy.rig)
        return;
    start_side(&healthy, false);
    start_side(&troubled, true);
    measure(); /* warms everything up */
}

static double p99(const struct side *s)
{
    return s->took[ROUNDS * 99 / 100];
}

static double most(const struct side *s)
{
    return s->took[ROUNDS - 1];
}

static bool within_noise(void)
{
    return p99(&troubled) <= P99_FACTOR * p99(&healthy) && most(&troubled) <= MAX_FACTOR * most(&healthy) &&
           troubled.connect_ms <= MAX_FACTOR * healthy.connect_ms;
}

/* In trouble now. A plugin that waited for Iggy would be out in each attempt. */
static void changes_nothing(const char *what)
{
    bool good = false;
    mi_sleep_ms(SETTLE_MS);
    for (int i = 0; i < ATTEMPTS && !good; i++) {
        measure();
        good = within_noise();
        printf("\n    %-24s p99 %.2f ms, max %.2f ms, CONNECT max %.2f ms (healthy: %.2f, %.2f, %.2f)", what,
               p99(&troubled), most(&troubled), troubled.connect_ms, p99(&healthy), most(&healthy),
               healthy.connect_ms);
    }
    printf("\n");
    CU_ASSERT_TRUE(good);
    CU_ASSERT_TRUE(mi_broker_count(&troubled.rig->broker, "mosquitto_iggy:") <
                   200); /* nor does the log run full */
}

static void through_proxy(enum proxy_mode mode, const char *what)
{
    start();
    proxy_set(proxy, mode);
    proxy_cut(proxy);
    changes_nothing(what);
    proxy_set(proxy, PROXY_FORWARD);
    proxy_cut(proxy);
}

static void field_39_42_a_dead_iggy(void)
{
    start();
    mi_iggy_server_stop(&troubled.rig->iggy);
    changes_nothing("dead, port closed");
    CU_ASSERT_TRUE(mi_iggy_server_start(&troubled.rig->iggy));
}

static void field_38_a_slow_iggy(void)
{
    start();
    if (!mi_iggy_server_fault(&troubled.rig->iggy, "delay 10000 always")) {
        mi_skip("needs iggy-devserver");
        return;
    }
    changes_nothing("slow, 10 s per request");
    mi_iggy_server_fault(&troubled.rig->iggy, "clear");
}

static void field_39_42_a_half_open_iggy(void)
{
    through_proxy(PROXY_SWALLOW, "packets dropped");
    through_proxy(PROXY_STALL, "half open, nothing read");
}

static void a_frozen_iggy(void)
{
    start();
    mi_process_signal(&troubled.rig->iggy.process, SIGSTOP);
    changes_nothing("frozen by SIGSTOP");
    mi_process_signal(&troubled.rig->iggy.process, SIGCONT);
}

static void garbage_for_answers(void)
{
    through_proxy(PROXY_NOISE, "random bytes");
    through_proxy(PROXY_HEADERS, "headers without end");
    through_proxy(PROXY_HUGE, "bodies of 100 MB");
}

static void stop_side(struct side *s)
{
    /* as many were routed as came to the subscriber */
    struct account a = account_settled(s->rig, "all", (double)s->received, 60000);
    CU_ASSERT_EQUAL(a.received, s->received);
    CU_ASSERT_EQUAL(a.committed, s->received);
    CU_ASSERT_TRUE(mi_readback_wait(s->rig->readback, "s", "t", s->received, 1000));
    mi_mqtt_close(s->routed);
    mi_mqtt_close(s->other);
    mi_mqtt_close(s->subscriber);
    CU_ASSERT_TRUE(mi_broker_stop(&s->rig->broker, 15000));
}

static void afterwards_everything_arrives(void)
{
    start();
    stop_side(&troubled);
    stop_side(&healthy);
    proxy_free(proxy);
}

static CU_TestInfo tests[] = {
    {"field 39 42: a dead Iggy", field_39_42_a_dead_iggy},
    {"field 38: a slow Iggy", field_38_a_slow_iggy},
    {"field 39 42: a half-open Iggy", field_39_42_a_half_open_iggy},
    {"a frozen Iggy", a_frozen_iggy},
    {"garbage for answers", garbage_for_answers},
    {"afterwards everything arrives", afterwards_everything_arrives},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("blocking", tests)
