/* federation: brokers that share one log: each message once per broker, no loop, and retained values as the
 * log says, everywhere. MOSQUITTO_2 names another program for the second broker. */
#include "cluster.h"

#include <arpa/inet.h>
#include <mqtt_protocol.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROUTES                                                                                       \
    "'routes':[{'name':'all','filter':'fed/#','direction':'both','stream':'fed','topic':'messages'," \
    "'create':{'partitions':3},'start':'latest'}]}"

static const char config[] = CLUSTER_CONFIG ROUTES;

static struct cluster *make(size_t brokers, const char *conf, const char *json)
{
    struct cluster *c = cluster_new();
    CU_ASSERT_TRUE_FATAL(mi_readback_create(c->readback, "fed", "messages", 3));
    for (size_t i = 0; i < brokers; i++)
        CU_ASSERT_TRUE_FATAL(cluster_add(c, conf, json));
    return c;
}

/* Waits until every broker reads: what comes before that is not its business with start: latest. */
static void wait_for_readers(struct cluster *c)
{
    for (size_t i = 0; i < c->count; i++)
        for (int n = 0; n < 500 && cluster_metric(c, i, "mosquitto_iggy_readers") < 3; n++)
            mi_sleep_ms(20);
}

static bool retain(struct mi_mqtt *m, const char *topic, const char *payload)
{
    return mi_mqtt_publish(m, topic, payload, strlen(payload), 1, true, NULL) < 0x80;
}

/* ---- each message once ---- */

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
    struct cluster *c = make(brokers, NULL, config);
    struct mi_mqtt *subscriber[CLUSTER_MAX], *publisher[CLUSTER_MAX];
    char payload[32], topic[32];
    wait_for_readers(c);
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

/* ---- retained values ---- */

enum { TOPICS = 5, ROUND = 120, LOOKS = 40 };

struct values {
    char of[TOPICS][64]; /* "": none */
};

static void topic_name(size_t t, char name[32])
{
    snprintf(name, 32, "fed/retained/%zu", t);
}

/* Puts a retained message, or a delete, among the values. */
static void put(struct values *v, struct mi_span topic, struct mi_span payload)
{
    char name[32];
    for (size_t t = 0; t < TOPICS; t++) {
        topic_name(t, name);
        if (mi_span_equal(topic, mi_span_of(name)))
            snprintf(v->of[t], sizeof v->of[t], "%.*s", (int)payload.len,
                     payload.len ? (const char *)payload.data : "");
    }
}

/* What the log says. */
static void last_values(struct cluster *c, struct values *v)
{
    memset(v, 0, sizeof *v);
    CU_ASSERT_TRUE(mi_readback_read(c->readback, "fed", "messages"));
    for (size_t i = 0; i < mi_readback_count(c->readback); i++) {
        const struct mi_message *m = &mi_readback_at(c->readback, i)->message;
        if (m->retain)
            put(v, m->topic, m->payload);
    }
}

/* What a broker has. */
static void stored_values(struct cluster *c, size_t broker, struct values *v)
{
    memset(v, 0, sizeof *v);
    struct mi_mqtt *m = cluster_client(c, broker, "fresh");
    CU_ASSERT_TRUE_FATAL(m && mi_mqtt_subscribe(m, "fed/retained/#", 1));
    mi_mqtt_run(m, 200);
    for (size_t i = 0; i < mi_mqtt_count(m); i++) {
        const struct mi_mqtt_message *got = mi_mqtt_message(m, i);
        if (got->retain) /* else it came just now */
            put(v, mi_span_of(got->topic), (struct mi_span){got->payload, got->len});
    }
    mi_mqtt_close(m);
}

static bool equal_to_the_log(struct cluster *c, size_t broker, const struct values *log, bool say)
{
    struct values stored;
    bool equal = true;
    stored_values(c, broker, &stored);
    for (size_t t = 0; t < TOPICS; t++)
        if (strcmp(stored.of[t], log->of[t]) != 0) {
            equal = false;
            if (say)
                printf("\n    broker %zu, topic %zu: \"%s\", the log says \"%s\"\n", broker, t, stored.of[t],
                       log->of[t]);
        }
    return equal;
}

static void all_equal_the_log(struct cluster *c)
{
    struct values log;
    size_t total = mi_readback_count(c->readback);
    for (size_t i = 0; i < c->count; i++)
        CU_ASSERT_TRUE(cluster_has_read(c, i, "all", (double)total));
    last_values(c, &log);
    for (size_t i = 0; i < c->count; i++)
        CU_ASSERT_TRUE(equal_to_the_log(c, i, &log, true));
}

struct crowd {
    struct cluster *cluster;
    size_t broker;
    uint64_t random;
    pthread_t thread;
    bool ok;
};

static unsigned draw(struct crowd *p, unsigned below)
{
    p->random = p->random * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(p->random >> 33) % below;
}

static void *publish_retained(void *arg)
{
    struct crowd *p = arg;
    char name[32], payload[64], id[32];
    snprintf(id, sizeof id, "crowd-%zu", p->broker);
    struct mi_mqtt *m = cluster_client(p->cluster, p->broker, id);
    p->ok = m != NULL;
    for (int n = 0; n < ROUND && p->ok; n++) {
        topic_name(draw(p, TOPICS), name);
        snprintf(payload, sizeof payload, "%zu-%d-%08x", p->broker, n, draw(p, 1u << 31));
        size_t len = draw(p, 4) ? strlen(payload) : 0;
        p->ok = mi_mqtt_publish(m, name, payload, len, draw(p, 4) ? 1 : 0, true, NULL) < 0x80;
        if (draw(p, 3) == 0)
            mi_sleep_ms(draw(p, 8));
    }
    mi_mqtt_run(m, 50);
    mi_mqtt_close(m);
    return NULL;
}

static void concurrent(struct cluster *c, uint64_t seed)
{
    struct crowd crowd[CLUSTER_MAX];
    printf("\n    seed %llu\n", (unsigned long long)seed);
    for (size_t i = 0; i < c->count; i++) {
        crowd[i] = (struct crowd){.cluster = c, .broker = i, .random = seed * 31 + i};
        CU_ASSERT_EQUAL_FATAL(pthread_create(&crowd[i].thread, NULL, publish_retained, &crowd[i]), 0);
    }
    for (size_t i = 0; i < c->count; i++) {
        pthread_join(crowd[i].thread, NULL);
        CU_ASSERT_TRUE(crowd[i].ok);
    }
}

static uint64_t seed(void)
{
    const char *given = getenv("FEDERATION_SEED");
    return given ? strtoull(given, NULL, 10) : mi_monotonic_ms();
}

static void concurrent_retained_publishes_end_equal_everywhere(void)
{
    struct cluster *c = make(3, NULL, config);
    uint64_t first = seed();
    wait_for_readers(c);
    for (uint64_t round = 0; round < 3; round++) {
        concurrent(c, first + round);
        CU_ASSERT_TRUE(mi_readback_wait(c->readback, "fed", "messages", 3 * ROUND * (round + 1), 30000));
        all_equal_the_log(c);
    }
    cluster_free(c);
}

/* ---- late ones, restarts, crashes ---- */

static void say_values(struct cluster *c, size_t broker, const char *payload, size_t first, size_t last)
{
    char name[32];
    struct mi_mqtt *m = cluster_client(c, broker, "values");
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    for (size_t t = first; t <= last; t++) {
        topic_name(t, name);
        CU_ASSERT_TRUE(retain(m, name, payload));
    }
    mi_mqtt_close(m);
}

static void wait_for_rebuilds(struct cluster *c, size_t broker)
{
    for (int n = 0; n < 500 && (cluster_metric(c, broker, "mosquitto_iggy_readers") < 3 ||
                                cluster_metric(c, broker, "mosquitto_iggy_rebuilding") != 0);
         n++)
        mi_sleep_ms(20);
}

static void equals_the_log(struct cluster *c, size_t broker, size_t messages)
{
    struct values log;
    CU_ASSERT_TRUE(mi_readback_wait(c->readback, "fed", "messages", messages, 20000));
    last_values(c, &log);
    bool equal = false;
    for (int n = 0; n < LOOKS && !equal; n++)
        equal = equal_to_the_log(c, broker, &log, n == LOOKS - 1);
    CU_ASSERT_TRUE(equal);
}

static void a_late_broker_takes_the_values_over(void)
{
    struct cluster *c = make(1, NULL, config);
    wait_for_readers(c);
    say_values(c, 0, "old", 0, 4);
    say_values(c, 0, "new", 1, 3);
    say_values(c, 0, "", 3, 3);
    CU_ASSERT_TRUE(mi_readback_wait(c->readback, "fed", "messages", 9, 10000));
    CU_ASSERT_TRUE_FATAL(cluster_add(c, NULL, config));
    wait_for_rebuilds(c, 1);
    equals_the_log(c, 1, 9);
    /* And goes on from there. */
    say_values(c, 0, "newest", 0, 1);
    equals_the_log(c, 1, 11);
    cluster_free(c);
}

static void a_broker_without_persistence_comes_back_with_all_values(void)
{
    struct cluster *c = make(2, NULL, config);
    wait_for_readers(c);
    say_values(c, 0, "of the first", 0, 2);
    say_values(c, 1, "of the second", 2, 4);
    equals_the_log(c, 1, 6);
    CU_ASSERT_TRUE(mi_broker_stop(&c->brokers[1], 10000));
    say_values(c, 0, "meanwhile", 4, 4);
    CU_ASSERT_TRUE_FATAL(mi_broker_start(&c->brokers[1]));
    wait_for_rebuilds(c, 1);
    equals_the_log(c, 1, 7);
    mi_broker_kill(&c->brokers[1]);
    CU_ASSERT_TRUE_FATAL(mi_broker_start(&c->brokers[1]));
    wait_for_rebuilds(c, 1);
    equals_the_log(c, 1, 7);
    cluster_free(c);
}

static void a_broker_with_persistence_comes_back_as_the_log_says(void)
{
    struct cluster *c = make(2, CLUSTER_CONF_PERSISTENT, config);
    wait_for_readers(c);
    say_values(c, 0, "of the first", 0, 2);
    say_values(c, 1, "of the second", 2, 4);
    equals_the_log(c, 1, 6);
    CU_ASSERT_TRUE(mi_broker_stop(&c->brokers[1], 10000));
    say_values(c, 0, "meanwhile", 4, 4);
    CU_ASSERT_TRUE_FATAL(mi_broker_start(&c->brokers[1]));
    wait_for_rebuilds(c, 1);
    equals_the_log(c, 1, 7);
    /* Its own values that it never saved, and foreign ones, in the order of the log. */
    say_values(c, 1, "unsaved", 0, 4);
    equals_the_log(c, 0, 12);
    say_values(c, 0, "foreign", 1, 2);
    equals_the_log(c, 1, 14);
    mi_broker_kill(&c->brokers[1]);
    CU_ASSERT_TRUE_FATAL(mi_broker_start(&c->brokers[1]));
    wait_for_rebuilds(c, 1);
    equals_the_log(c, 1, 14);
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
    struct cluster *c = make(1, CLUSTER_CONF_PERSISTENT, config);
    wait_for_readers(c);
    say_values(c, 0, "value", 0, 4);
    CU_ASSERT_TRUE(cluster_has_read(c, 0, "all", 5));
    CU_ASSERT_TRUE(mi_broker_stop(&c->brokers[0], 10000));
    start_in_vain(&c->brokers[0]);
    CU_ASSERT_TRUE_FATAL(mi_broker_start(&c->brokers[0]));
    equals_the_log(c, 0, 5);
    cluster_free(c);
}

/* What is in the journal at the end is still outstanding at the start. */
static void an_own_value_that_waits_over_a_clean_stop_wins(void)
{
    struct cluster *c = make(2, CLUSTER_CONF_PERSISTENT, config);
    wait_for_readers(c);
    say_values(c, 0, "first", 0, 4);
    equals_the_log(c, 1, 5);
    mi_iggy_server_stop(&c->iggy);
    say_values(c, 0, "of the first, later in the log", 0, 1);
    CU_ASSERT_TRUE(mi_broker_stop(&c->brokers[0], 20000));
    CU_ASSERT_TRUE_FATAL(mi_iggy_server_start(&c->iggy));
    say_values(c, 1, "of the second", 0, 2);
    equals_the_log(c, 1, 8);
    if (!mi_broker_is_2_1(&c->brokers[0]))
        start_in_vain(&c->brokers[0]);
    CU_ASSERT_TRUE_FATAL(mi_broker_start(&c->brokers[0]));
    struct mi_mqtt *live = cluster_client(c, 0, "live");
    CU_ASSERT_TRUE_FATAL(live && mi_mqtt_subscribe(live, "fed/#", 1));
    equals_the_log(c, 0, 10);
    equals_the_log(c, 1, 10);
    mi_mqtt_run(live, 300);
    for (size_t i = 0; i < mi_mqtt_count(live); i++) /* no second delivery of what it had published */
        CU_ASSERT_TRUE(mi_mqtt_message(live, i)->retain ||
                       strcmp((const char *)mi_mqtt_message(live, i)->payload, "of the second") == 0);
    mi_mqtt_close(live);
    cluster_free(c);
}

/* ---- an MQTT bridge between brokers of one log ---- */

/* The second broker also forwards to the first, what it reads included. */
static void with_stamp_a_bridge_beside_the_log_makes_no_loop(void)
{
    static const char stamped[] =
        CLUSTER_CONFIG "'routes':[{'name':'all','filter':'fed/#','direction':'both','stream':'fed',"
                       "'topic':'messages','stamp':true}]}";
    char conf[300];
    struct cluster *c = make(1, NULL, stamped);
    snprintf(conf, sizeof conf,
             "connection to_the_first\naddress 127.0.0.1:%u\ntopic fed/# out 1\n"
             "bridge_protocol_version mqttv50\nnotifications false\ntry_private false\n",
             c->brokers[0].port);
    CU_ASSERT_TRUE_FATAL(cluster_add(c, conf, stamped));
    wait_for_readers(c);
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
    {"a broker without persistence comes back with all values",
     a_broker_without_persistence_comes_back_with_all_values},
    {"a broker with persistence comes back as the log says",
     a_broker_with_persistence_comes_back_as_the_log_says},
    {"a start in vain costs no value", a_start_in_vain_costs_no_value},
    {"with stamp a bridge beside the log makes no loop", with_stamp_a_bridge_beside_the_log_makes_no_loop},
    {"an own value that waits over a clean stop wins", an_own_value_that_waits_over_a_clean_stop_wins},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("federation", tests)
