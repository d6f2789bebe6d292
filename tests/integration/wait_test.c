/* wait: routes[].wait_for_iggy. The PUBACK comes after Iggy's commit, or after the bound, or at once while
 * Iggy is away. */
#include "rig.h"

static const char config[] =
    RIG_CONFIG "'routes':[{'name':'waits','filter':'waits/"
               "#','direction':'out','stream':'w','topic':'t','wait_for_iggy':'300ms'},"
               "{'name':'plain','filter':'plain/#','direction':'out','stream':'p','topic':'t'}]}";
#define LATE "mosquitto_iggy_late_total{route=\"waits\"}"

static struct rig *rig;
static struct mi_mqtt *client;

static void start(void)
{
    if (rig)
        return;
    rig = rig_new(NULL, NULL);
    CU_ASSERT_TRUE_FATAL(rig_start(rig, config));
    client = rig_client(rig, "waiter", MQTT_PROTOCOL_V5);
    CU_ASSERT_PTR_NOT_NULL_FATAL(client);
    /* The first message makes the target, which may take longer than the bound. */
    CU_ASSERT_TRUE(mi_mqtt_say(client, "waits/first", "x", 1) < 0x80);
    CU_ASSERT_TRUE(mi_readback_wait(rig->readback, "w", "t", 1, 10000));
}

static void acknowledged_means_committed(void)
{
    start();
    double late = rig_metric(rig, LATE, 0, 0);
    mi_iggy_server_fault(&rig->iggy,
                         "on produce delay 40 always"); /* not on a real server: it takes its own time */
    for (size_t i = 2; i <= 12; i++) {
        CU_ASSERT_TRUE(mi_mqtt_say(client, "waits/x", "y", 1 + (int)(i % 2)) < 0x80);
        if (rig_metric(rig, LATE, 0, 0) == late) /* it is there when the PUBACK is */
            CU_ASSERT_TRUE(mi_readback_wait(rig->readback, "w", "t", i, 0));
    }
    mi_iggy_server_fault(&rig->iggy, "clear");
    CU_ASSERT_TRUE(rig_metric(rig, LATE, 0, 0) - late < 6);
}

static void a_slow_iggy_is_waited_for_within_the_bound(void)
{
    start();
    if (!mi_iggy_server_fault(&rig->iggy, "on produce delay 2000 1")) {
        mi_skip("no fault injection on a real server");
        return;
    }
    double late = rig_metric(rig, LATE, 0, 0);
    uint64_t before = mi_monotonic_ms();
    CU_ASSERT_TRUE(mi_mqtt_say(client, "waits/slow", "y", 1) < 0x80);
    uint64_t took = mi_monotonic_ms() - before;
    CU_ASSERT_TRUE(took >= 295);
    CU_ASSERT_TRUE(took < 1900);
    CU_ASSERT_EQUAL(rig_metric(rig, LATE, late + 1, 1000), late + 1);
    before = mi_monotonic_ms();
    CU_ASSERT_TRUE(mi_mqtt_say(client, "plain/x", "y", 1) < 0x80);
    CU_ASSERT_TRUE(mi_monotonic_ms() - before < 295);
}

static void nothing_waits_while_iggy_is_away(void)
{
    start();
    mi_iggy_server_kill(&rig->iggy);
    mi_mqtt_say(client, "waits/away", "1", 1); /* this one finds out */
    mi_mqtt_run(client, 1500);
    uint64_t before = mi_monotonic_ms();
    for (int i = 0; i < 20; i++)
        CU_ASSERT_TRUE(mi_mqtt_say(client, "waits/away", "2", 1) < 0x80);
    CU_ASSERT_TRUE(mi_monotonic_ms() - before < 20 * 295);
}

static CU_TestInfo tests[] = {
    {"acknowledged means committed", acknowledged_means_committed},
    {"a slow Iggy is waited for within the bound", a_slow_iggy_is_waited_for_within_the_bound},
    {"nothing waits while Iggy is away", nothing_waits_while_iggy_is_away},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("wait", tests)
