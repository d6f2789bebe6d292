/* federation_restart: brokers of one log that stop, die and come back end with the retained values of the
 * log. */
#include "crowd.h"

#include <arpa/inet.h>
#include <mqtt_protocol.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char config[] = CLUSTER_CONFIG "'limits':{'stop_timeout':'300ms'}," CROWD_ROUTES("");

static void a_broker_without_persistence_comes_back_with_all_values(void)
{
    struct cluster *c = crowd_cluster(2, NULL, config);
    crowd_wait_for_readers(c);
    crowd_say(c, 0, "of the first", 0, 2);
    crowd_say(c, 1, "of the second", 2, 4);
    crowd_settles(c, 1, 6);
    CU_ASSERT_TRUE(mi_broker_stop(&c->brokers[1], 10000));
    crowd_say(c, 0, "meanwhile", 4, 4);
    CU_ASSERT_TRUE_FATAL(mi_broker_start(&c->brokers[1]));
    crowd_wait_for_rebuilds(c, 1);
    crowd_settles(c, 1, 7);
    mi_broker_kill(&c->brokers[1]);
    CU_ASSERT_TRUE_FATAL(mi_broker_start(&c->brokers[1]));
    crowd_wait_for_rebuilds(c, 1);
    crowd_settles(c, 1, 7);
    cluster_free(c);
}

static void a_broker_with_persistence_comes_back_as_the_log_says(void)
{
    struct cluster *c = crowd_cluster(2, CLUSTER_CONF_PERSISTENT, config);
    crowd_wait_for_readers(c);
    crowd_say(c, 0, "of the first", 0, 2);
    crowd_say(c, 1, "of the second", 2, 4);
    crowd_settles(c, 1, 6);
    CU_ASSERT_TRUE(mi_broker_stop(&c->brokers[1], 10000));
    crowd_say(c, 0, "meanwhile", 4, 4);
    CU_ASSERT_TRUE_FATAL(mi_broker_start(&c->brokers[1]));
    crowd_wait_for_rebuilds(c, 1);
    crowd_settles(c, 1, 7);
    /* Its own values that it never saved, and foreign ones, in the order of the log. */
    crowd_say(c, 1, "unsaved", 0, 4);
    crowd_settles(c, 0, 12);
    crowd_say(c, 0, "foreign", 1, 2);
    crowd_settles(c, 1, 14);
    mi_broker_kill(&c->brokers[1]);
    CU_ASSERT_TRUE_FATAL(mi_broker_start(&c->brokers[1]));
    crowd_wait_for_rebuilds(c, 1);
    crowd_settles(c, 1, 14);
    cluster_free(c);
}

/* A start that comes to nothing, because somebody else has the port, changes nothing; but Mosquitto 2.1.2
 * replaces its store by an empty one. */
static void start_in_vain(struct mi_broker *b)
{
    int s = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons(b->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    CU_ASSERT_TRUE(s >= 0 && bind(s, (struct sockaddr *)&a, sizeof a) == 0 && listen(s, 1) == 0);
    CU_ASSERT_TRUE(mi_broker_start_and_exit(b) > 0);
    close(s);
}

static void a_start_in_vain_costs_no_value(void)
{
    struct cluster *c = crowd_cluster(1, CLUSTER_CONF_PERSISTENT, config);
    crowd_wait_for_readers(c);
    crowd_say(c, 0, "value", 0, 4);
    CU_ASSERT_TRUE(cluster_has_read(c, 0, "all", 5));
    CU_ASSERT_TRUE(mi_broker_stop(&c->brokers[0], 10000));
    start_in_vain(&c->brokers[0]);
    CU_ASSERT_TRUE_FATAL(mi_broker_start(&c->brokers[0]));
    crowd_settles(c, 0, 5);
    cluster_free(c);
}

/* What is in the journal at the end is still outstanding at the start. */
static void an_own_value_that_waits_over_a_clean_stop_wins(void)
{
    struct cluster *c = crowd_cluster(2, CLUSTER_CONF_PERSISTENT, config);
    crowd_wait_for_readers(c);
    crowd_say(c, 0, "first", 0, 4);
    crowd_settles(c, 1, 5);
    mi_iggy_server_stop(&c->iggy);
    crowd_say(c, 0, "of the first, later in the log", 0, 1);
    CU_ASSERT_TRUE(mi_broker_stop(&c->brokers[0], 20000));
    CU_ASSERT_TRUE_FATAL(mi_iggy_server_start(&c->iggy));
    crowd_say(c, 1, "of the second", 0, 2);
    crowd_settles(c, 1, 8);
    if (!mi_broker_is_2_1(&c->brokers[0]))
        start_in_vain(&c->brokers[0]);
    CU_ASSERT_TRUE_FATAL(mi_broker_start(&c->brokers[0]));
    struct mi_mqtt *live = cluster_client(c, 0, "live");
    CU_ASSERT_TRUE_FATAL(live && mi_mqtt_subscribe(live, "fed/#", 1));
    crowd_settles(c, 0, 10);
    crowd_settles(c, 1, 10);
    mi_mqtt_run(live, 300);
    for (size_t i = 0; i < mi_mqtt_count(live); i++) /* no second delivery of what it had published */
        CU_ASSERT_TRUE(mi_mqtt_message(live, i)->retain ||
                       strcmp((const char *)mi_mqtt_message(live, i)->payload, "of the second") == 0);
    mi_mqtt_close(live);
    cluster_free(c);
}

/* The first broker publishes before it has found where to begin reading: its values stand before that place.
 */
static void values_from_before_reading_began_hold_nobody_off(void)
{
    struct cluster *c = crowd_cluster(1, NULL, config);
    crowd_wait_for_readers(c);
    mi_iggy_server_stop(&c->iggy);
    CU_ASSERT_TRUE_FATAL(cluster_add(c, NULL, config));
    crowd_say(c, 1, "before", 0, 2);
    crowd_say(c, 1, "", 2, 2);
    CU_ASSERT_TRUE_FATAL(mi_iggy_server_start(&c->iggy));
    crowd_settles(c, 1, 4);
    crowd_say(c, 0, "after", 1, 2);
    crowd_settles(c, 1, 6);
    crowd_settles(c, 0, 6);
    cluster_free(c);
}

/* Brokers that are killed while clients publish on all of them. */
static void brokers_die_in_the_crowd(void)
{
    struct cluster *c = crowd_cluster(3, CLUSTER_CONF_PERSISTENT, config);
    struct crowd_member crowd[3];
    uint64_t seed = crowd_seed();
    crowd_wait_for_readers(c);
    for (size_t i = 0; i < 3; i++)
        crowd_start(&crowd[i], c, i, seed);
    for (size_t i = 1; i < 3; i++) {
        mi_sleep_ms(40 + (unsigned)(seed % 7) * 20);
        mi_broker_kill(&c->brokers[i]);
        CU_ASSERT_TRUE_FATAL(mi_broker_start(&c->brokers[i]));
    }
    for (size_t i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(crowd_join(&crowd[i]) || i > 0, true); /* who lost its broker gives up */
    for (size_t i = 0; i < 3; i++)
        for (int n = 0; n < 1000 && cluster_metric(c, i, "mosquitto_iggy_pending{route=\"all\"}") != 0; n++)
            mi_sleep_ms(50);
    for (size_t i = 0; i < 3; i++)
        crowd_settles(c, i, 0);
    cluster_free(c);
}

static CU_TestInfo tests[] = {
    {"a broker without persistence comes back with all values",
     a_broker_without_persistence_comes_back_with_all_values},
    {"a broker with persistence comes back as the log says",
     a_broker_with_persistence_comes_back_as_the_log_says},
    {"an own value that waits over a clean stop wins", an_own_value_that_waits_over_a_clean_stop_wins},
    {"a start in vain costs no value", a_start_in_vain_costs_no_value},
    {"values from before reading began hold nobody off", values_from_before_reading_began_hold_nobody_off},
    {"brokers die in the crowd", brokers_die_in_the_crowd},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("federation_restart", tests)
