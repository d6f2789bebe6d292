#include "crowd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKS = 80 };

struct values {
    char of[CROWD_TOPICS][64]; /* "": none */
};

struct cluster *crowd_cluster(size_t brokers, const char *conf, const char *json)
{
    struct cluster *c = cluster_new();
    CU_ASSERT_TRUE_FATAL(mi_readback_create(c->readback, "fed", "messages", 3));
    for (size_t i = 0; i < brokers; i++)
        CU_ASSERT_TRUE_FATAL(cluster_add(c, conf, json));
    return c;
}

void crowd_wait_for_readers(struct cluster *c)
{
    for (size_t i = 0; i < c->count; i++)
        for (int n = 0; n < 500 && cluster_metric(c, i, "mosquitto_iggy_readers") < 3; n++)
            mi_sleep_ms(20);
}

static void topic_name(size_t t, char name[32])
{
    snprintf(name, 32, "fed/retained/%zu", t);
}

/* Puts a retained message, or a delete, among the values. */
static void put(struct values *v, struct mi_span topic, struct mi_span payload)
{
    char name[32];
    for (size_t t = 0; t < CROWD_TOPICS; t++) {
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

bool crowd_equal(struct cluster *c, size_t broker, bool say)
{
    struct values stored, log;
    bool equal = true;
    last_values(c, &log);
    stored_values(c, broker, &stored);
    for (size_t t = 0; t < CROWD_TOPICS; t++)
        if (strcmp(stored.of[t], log.of[t]) != 0) {
            equal = false;
            if (say)
                printf("\n    broker %zu, topic %zu: \"%s\", the log says \"%s\"\n", broker, t, stored.of[t],
                       log.of[t]);
        }
    return equal;
}

static bool retain(struct mi_mqtt *m, const char *topic, const char *payload)
{
    return mi_mqtt_publish(m, topic, payload, strlen(payload), 1, true, NULL) < 0x80;
}

void crowd_say(struct cluster *c, size_t broker, const char *payload, size_t first, size_t last)
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

void crowd_wait_for_rebuilds(struct cluster *c, size_t broker)
{
    for (int n = 0; n < 500 && (cluster_metric(c, broker, "mosquitto_iggy_readers") < 3 ||
                                cluster_metric(c, broker, "mosquitto_iggy_rebuilding") != 0);
         n++)
        mi_sleep_ms(20);
}

void crowd_settles(struct cluster *c, size_t broker, size_t messages)
{
    if (messages)
        CU_ASSERT_TRUE(mi_readback_wait(c->readback, "fed", "messages", messages, 20000));
    bool equal = false;
    for (int n = 0; n < LOOKS && !equal; n++)
        equal = crowd_equal(c, broker, n == LOOKS - 1);
    CU_ASSERT_TRUE(equal);
}

static unsigned draw(struct crowd_member *p, unsigned below)
{
    p->random = p->random * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(p->random >> 33) % below;
}

static void *publish_retained(void *arg)
{
    struct crowd_member *p = arg;
    char name[32], payload[64], id[32];
    snprintf(id, sizeof id, "crowd-%zu", p->broker);
    struct mi_mqtt *m = cluster_client(p->cluster, p->broker, id);
    p->ok = m != NULL;
    for (int n = 0; n < CROWD_ROUND && p->ok; n++) {
        topic_name(draw(p, CROWD_TOPICS), name);
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

void crowd_start(struct crowd_member *m, struct cluster *c, size_t broker, uint64_t seed)
{
    *m = (struct crowd_member){.cluster = c, .broker = broker, .random = seed * 31 + broker};
    CU_ASSERT_EQUAL_FATAL(pthread_create(&m->thread, NULL, publish_retained, m), 0);
}

bool crowd_join(struct crowd_member *m)
{
    pthread_join(m->thread, NULL);
    return m->ok;
}

uint64_t crowd_seed(void)
{
    const char *given = getenv("FEDERATION_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : mi_monotonic_ms();
    printf("\n    seed %llu\n", (unsigned long long)seed);
    return seed;
}
