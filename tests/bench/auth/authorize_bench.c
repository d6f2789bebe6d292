/*
 * authorize_bench: ns per decision by Iggy's rights, as ACL_CHECK asks for it: from an MQTT topic and a user
 * name to yes or no. At most 500 ns are promised.
 */
#include "base/clock.h"
#include "broker/authorize.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TOPICS = 1000, USERS = 1000, GRANTS = 20, SUBSCRIBERS = 16, ROUNDS = 200, REPEATS = 7, ROUTES = 1000 };

static char texts[TOPICS][64], users[USERS][16], filters[ROUTES][64], streams[ROUTES][32];
static struct mi_rule_spec rules[ROUTES];
static struct mi_config config;
static struct mi_authorize *authorize;

/* The configuration's own counting is not linked. */
struct mi_config *mi_config_hold(struct mi_config *c)
{
    return c;
}

void mi_config_release(struct mi_config *c)
{
    (void)c;
}

static void nothing(void *context)
{
    (void)context;
}

/* Each user may send to the streams of ten machines, and poll one topic of ten others. */
static struct mi_iggy_rights *rights_of(size_t user)
{
    struct mi_named_grant grants[GRANTS];
    for (size_t i = 0; i < GRANTS; i++) {
        bool whole = i % 2;
        grants[i] = (struct mi_named_grant){mi_span_of(streams[(user + i) % ROUTES]),
                                            mi_span_of(whole ? "" : "telemetry"),
                                            whole ? MI_RIGHT_SEND : MI_RIGHT_POLL};
    }
    return mi_rights_new(0, grants, GRANTS);
}

static void make(bool templated)
{
    struct mi_rights_news *news = mi_rights_news_new();
    struct mi_error err = {""};
    for (size_t i = 0; i < ROUTES; i++) {
        snprintf(streams[i], sizeof streams[i], "machine_%zu", i);
        snprintf(filters[i], sizeof filters[i], templated ? "site/%zu/{machine}/#" : "site/%zu/#", i);
        rules[i] = (struct mi_rule_spec){.name = filters[i],
                                         .filter = filters[i],
                                         .direction = MI_BOTH,
                                         .stream = templated ? "machine_{machine}" : streams[i],
                                         .topic = "telemetry"};
    }
    config = (struct mi_config){.rules = rules, .route_count = ROUTES, .topic_cache = 4096};
    struct mi_authorize_options o = {
        .config = &config, .news = news, .metrics = mi_metrics_new(), .wake_bridge = nothing};
    authorize = mi_authorize_new(&o, &err);
    if (!authorize) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    for (size_t i = 0; i < USERS; i++) {
        snprintf(users[i], sizeof users[i], "user-%zu", i);
        mi_rights_news_put(news, mi_span_of(users[i]), rights_of(i), false);
    }
    for (size_t i = 0; i < TOPICS; i++)
        snprintf(texts[i], sizeof texts[i], "site/%zu/%zu/temperature", i % ROUTES, i % ROUTES);
}

/* Of this thread alone: other work on the machine costs it caches, but not time. */
static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * MI_NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Publishing: each time another user and a topic of his. Reading: a message goes to some subscribers. */
static double measure(bool publish, size_t *allowed)
{
    double best = 1e9;
    for (int k = 0; k < REPEATS; k++) {
        uint64_t start = cpu_ns();
        *allowed = 0;
        for (size_t i = 0; i < (size_t)ROUNDS * TOPICS; i++) {
            size_t user = publish ? i * 31 % USERS : i % USERS;
            size_t topic = publish ? user + 1 + i % 10 * 2 : i / SUBSCRIBERS * SUBSCRIBERS + SUBSCRIBERS;
            const struct mi_authorize_client client = {mi_span_of(users[user]), mi_span_of("client")};
            struct mi_span text = mi_span_of(texts[topic % TOPICS]);
            *allowed += publish ? mi_authorize_publish(authorize, &client, text)
                                : mi_authorize_read(authorize, &client, text);
        }
        double ns = (double)(cpu_ns() - start) / (ROUNDS * TOPICS);
        best = ns < best ? ns : best;
    }
    return best;
}

static bool run(const char *what, bool templated, bool publish)
{
    size_t allowed;
    make(templated);
    double ns = measure(publish, &allowed);
    printf("%-44s %7.1f ns (%zu of %d allowed), promised at most 500: %s\n", what, ns, allowed,
           ROUNDS * TOPICS, ns <= 500 ? "held" : "BROKEN");
    mi_authorize_free(authorize);
    return ns <= 500;
}

int main(void)
{
    bool held = run("publish, constant streams, 1000 users", false, true);
    held &= run("read, constant streams, 1000 users", false, false);
    held &= run("publish, templated streams, 1000 users", true, true);
    held &= run("read, templated streams, 1000 users", true, false);
    return held ? 0 : 1;
}
