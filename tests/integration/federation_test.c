/* federation: brokers that share one log: each message once per broker, no loop, and retained values as the
 * log says, everywhere. MOSQUITTO_2 names another program for the second broker. */
#include "crowd.h"

#include <mqtt_protocol.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- each message once ---- */

static const char config[] = CLUSTER_CONFIG CROWD_ROUTES("");

enum { EACH = 60 };

static size_t seen_of(struct mi_mqtt *m, size_t from, size_t number)
{
    char payload[32];
    size_t seen = 0;
    snprintf(payload, sizeof payload, "%zu/%zu", from, number);
    for (size_t i = 0; i < mi_mqtt_count(m); i++)
        seen += strcmp((const char *)mi_mqtt_message(m, i)->payload, payload) == 0;
    return seen;
}

static void each_message_once_per_broker(size_t brokers)
{
    struct cluster *c = crowd_cluster(brokers, NULL, config);
    struct mi_mqtt *subscriber[CLUSTER_MAX], *publisher[CLUSTER_MAX];
    char payload[32], topic[32];
    crowd_wait_for_readers(c);
    for (size_t i = 0; i < brokers; i++) {
        subscriber[i] = cluster_client(c, i, "subscriber");
        publisher[i] = cluster_client(c, i, "publisher");
        CU_ASSERT_TRUE_FATAL(subscriber[i] && publisher[i] && mi_mqtt_subscribe(subscriber[i], "#", 1));
    }
    for (size_t n = 0; n < EACH; n++)
        for (size_t i = 0; i < brokers; i++) {
            snprintf(payload, sizeof payload, "%zu/%zu", i, n);
            snprintf(topic, sizeof topic, "fed/%zu", n % 5);
            CU_ASSERT_TRUE(mi_mqtt_say(publisher[i], topic, payload, 1) < 0x80);
        }
    for (size_t i = 0; i < brokers; i++)
        CU_ASSERT_TRUE(mi_mqtt_wait(subscriber[i], EACH * brokers, 20000));
    /* No loop: one append, and one delivery each, also a while later. */
    for (size_t i = 0; i < brokers; i++) {
        CU_ASSERT_TRUE(cluster_has_read(c, i, "all", EACH * (double)brokers));
        mi_mqtt_run(subscriber[i], 200);
        CU_ASSERT_EQUAL(mi_mqtt_count(subscriber[i]), EACH * brokers);
        for (size_t from = 0; from < brokers; from++)
            for (size_t n = 0; n < EACH; n++)
                CU_ASSERT_EQUAL_FATAL(seen_of(subscriber[i], from, n), 1);
        mi_mqtt_close(subscriber[i]);
        mi_mqtt_close(publisher[i]);
    }
    CU_ASSERT_TRUE(mi_readback_wait(c->readback, "fed", "messages", EACH * brokers, 1000));
    cluster_free(c);
}

static void field_138_two_brokers_and_no_loop(void)
{
    each_message_once_per_broker(2);
}

static void field_138_three_brokers_and_no_loop(void)
{
    each_message_once_per_broker(3);
}

static void concurrent_retained_publishes_end_equal_everywhere(void)
{
    struct cluster *c = crowd_cluster(3, NULL, config);
    uint64_t seed = crowd_seed();
    crowd_wait_for_readers(c);
    for (size_t round = 0; round < 3; round++) {
        struct crowd_member crowd[3];
        size_t total = 3 * CROWD_ROUND * (round + 1);
        for (size_t i = 0; i < 3; i++)
            crowd_start(&crowd[i], c, i, seed + round);
        for (size_t i = 0; i < 3; i++)
            CU_ASSERT_TRUE(crowd_join(&crowd[i]));
        CU_ASSERT_TRUE(mi_readback_wait(c->readback, "fed", "messages", total, 30000));
        for (size_t i = 0; i < 3; i++)
            CU_ASSERT_TRUE(cluster_has_read(c, i, "all", (double)total));
        for (size_t i = 0; i < 3; i++)
            CU_ASSERT_TRUE(crowd_equal(c, i, true));
    }
    cluster_free(c);
}

static void a_late_broker_takes_the_values_over(void)
{
    struct cluster *c = crowd_cluster(1, NULL, config);
    crowd_wait_for_readers(c);
    crowd_say(c, 0, "old", 0, 4);
    crowd_say(c, 0, "new", 1, 3);
    crowd_say(c, 0, "", 3, 3);
    CU_ASSERT_TRUE(mi_readback_wait(c->readback, "fed", "messages", 9, 10000));
    CU_ASSERT_TRUE_FATAL(cluster_add(c, NULL, config));
    crowd_wait_for_rebuilds(c, 1);
    crowd_settles(c, 1, 9);
    /* And goes on from there. */
    crowd_say(c, 0, "newest", 0, 1);
    crowd_settles(c, 1, 11);
    cluster_free(c);
}

/* ---- an MQTT bridge between brokers of one log ---- */

/* The second broker also forwards to the first, what it reads included. */
static void with_stamp_a_bridge_beside_the_log_makes_no_loop(void)
{
    static const char stamped[] = CLUSTER_CONFIG CROWD_ROUTES("'stamp':true,");
    char conf[300];
    struct cluster *c = crowd_cluster(1, NULL, stamped);
    snprintf(conf, sizeof conf,
             "connection to_the_first\naddress 127.0.0.1:%u\ntopic fed/# out 1\n"
             "bridge_protocol_version mqttv50\nnotifications false\ntry_private false\n",
             c->brokers[0].port);
    CU_ASSERT_TRUE_FATAL(cluster_add(c, conf, stamped));
    crowd_wait_for_readers(c);
    struct mi_mqtt *m = cluster_client(c, 0, "publisher");
    CU_ASSERT_TRUE_FATAL(m && mi_mqtt_subscribe(m, "fed/#", 1));
    CU_ASSERT_TRUE(mi_mqtt_say(m, "fed/x", "once", 1) < 0x80);
    /* The publish itself, and once more over the bridge: that is what joining them twice means. */
    CU_ASSERT_TRUE(mi_mqtt_wait(m, 2, 20000));
    for (int n = 0; n < 100 && cluster_metric(c, 0,
                                              "mosquitto_iggy_not_copied_total{route=\"all\","
                                              "reason=\"stamped\"}") < 1;
         n++)
        mi_sleep_ms(50);
    mi_mqtt_run(m, 500);
    CU_ASSERT_EQUAL(mi_mqtt_count(m), 2);
    CU_ASSERT_TRUE(mi_readback_wait(c->readback, "fed", "messages", 1, 1000));
    char *name = NULL, *value = NULL;
    CU_ASSERT_PTR_NOT_NULL(mosquitto_property_read_string_pair(
        mi_mqtt_message(m, 1)->properties, MQTT_PROP_USER_PROPERTY, &name, &value, false));
    CU_ASSERT_TRUE(name && strcmp(name, "mosquitto-iggy-origin") == 0);
    free(name);
    free(value);
    mi_mqtt_close(m);
    cluster_free(c);
}

static CU_TestInfo tests[] = {
    {"field 138: two brokers and no loop", field_138_two_brokers_and_no_loop},
    {"field 138: three brokers and no loop", field_138_three_brokers_and_no_loop},
    {"concurrent retained publishes end equal everywhere",
     concurrent_retained_publishes_end_equal_everywhere},
    {"a late broker takes the values over", a_late_broker_takes_the_values_over},
    {"with stamp a bridge beside the log makes no loop", with_stamp_a_bridge_beside_the_log_makes_no_loop},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("federation", tests)
