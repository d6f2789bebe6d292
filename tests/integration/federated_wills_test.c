/* federated wills: brokers on one log whose route is fed by a subscription: a will on one of them reaches the
 * subscribers of all, once, and goes round in no circle. */
#include "cluster.h"

#include <stdio.h>
#include <string.h>

static const char config[] = CLUSTER_CONFIG
    "'broker':{'address':'BROKER'},"
    "'routes':[{'name':'all','filter':'fed/#','direction':'both','via':'subscription','stamp':true,"
    "'stream':'fed','topic':'messages'}]}";

enum { BROKERS = 2, EACH = 20 };

static bool reaches(struct cluster *c, size_t broker, const char *metric, double value)
{
    for (uint64_t end = mi_monotonic_ms() + 10000; mi_monotonic_ms() < end; mi_sleep_ms(20))
        if (cluster_metric(c, broker, metric) >= value)
            return true;
    return false;
}

static void die_with_a_will(struct cluster *c, size_t broker, const char *topic)
{
    struct mi_mqtt_options o = {.port = c->brokers[broker].port,
                                .client_id = "mortal",
                                .protocol = MQTT_PROTOCOL_V311,
                                .will_topic = topic};
    struct mi_mqtt *m = mi_mqtt_connect(&o);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    mi_mqtt_cut(m);
}

static void a_will_reaches_everybody_once(void)
{
    struct cluster *c = cluster_new();
    struct mi_mqtt *subscriber[BROKERS];
    char topic[32];
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    for (size_t i = 0; i < BROKERS; i++) {
        CU_ASSERT_TRUE_FATAL(cluster_add(c, NULL, config));
        CU_ASSERT_TRUE(reaches(c, i, "mosquitto_iggy_subscribed", 1));
        subscriber[i] = cluster_client(c, i, "subscriber");
        CU_ASSERT_TRUE_FATAL(subscriber[i] && mi_mqtt_subscribe(subscriber[i], "#", 1));
    }
    /* What is first on the log makes the topic that the readers then find. */
    die_with_a_will(c, 0, "fed/first");
    for (size_t i = 0; i < BROKERS; i++)
        CU_ASSERT_TRUE(reaches(c, i, "mosquitto_iggy_readers", 1));
    size_t before[BROKERS];
    mi_sleep_ms(500);
    for (size_t i = 0; i < BROKERS; i++) {
        mi_mqtt_run(subscriber[i], 200);
        before[i] = mi_mqtt_count(subscriber[i]);
    }
    for (int n = 0; n < EACH; n++) {
        snprintf(topic, sizeof topic, "fed/will/%d", n);
        die_with_a_will(c, (size_t)n % BROKERS, topic);
    }
    for (size_t i = 0; i < BROKERS; i++) {
        CU_ASSERT_TRUE(mi_mqtt_wait(subscriber[i], before[i] + EACH, 20000));
        mi_mqtt_run(subscriber[i], 500);
        CU_ASSERT_EQUAL(mi_mqtt_count(subscriber[i]), before[i] + EACH);
    }
    CU_ASSERT_TRUE(mi_readback_wait(c->readback, "fed", "messages", EACH + 1, 5000));
    for (size_t i = 0; i < BROKERS; i++) {
        mi_mqtt_close(subscriber[i]);
        CU_ASSERT_TRUE(mi_broker_stop(&c->brokers[i], 20000));
    }
    cluster_free(c);
}

static CU_TestInfo tests[] = {
    {"a will reaches everybody once", a_will_reaches_everybody_once},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("federated wills", tests)
