/*
 * login_bench: what logins cost the broker.
 *
 *   login_bench rate [CONNECTS]   CONNECT to CONNACK and close, one after the other, user and password given:
 *                                 the bare broker, and with the plugin answering from memory; in turns
 *   login_bench storm [SECONDS]   latency of a connected client's QoS 1 PUBLISHes, quiet and while others
 *                                 CONNECT with wrong passwords as fast as they can
 *
 * MOSQUITTO and IGGY_SERVER name other programs, as in the integration tests.
 */
#include "integration/rig.h"

#include "support/accounts.h"
#include "support/raw_login.h"

#include <mqtt_protocol.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUTES "'routes':[{'name':'safe','filter':'safe/#','direction':'out','stream':'s','topic':'t'}]}"
#define WITHOUT RIG_CONFIG ROUTES
#define WITH RIG_CONFIG "'auth':{'login':'iggy'}," ROUTES

enum { ROUNDS = 20, MAX_SAMPLES = 200000, ATTACKERS = 4 };

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static struct rig *started(const char *config)
{
    struct rig *r = rig_new(NULL, NULL);
    if (!rig_start(r, config) || !mi_account_create(r->iggy.port, "alice", "alices secret", NULL))
        exit(1);
    return r;
}

static int connect_once(const struct rig *r, const char *password)
{
    struct mi_raw_login l = {
        .port = r->broker.port, .protocol = 4, .username = "alice", .password = password};
    return mi_raw_login(&l);
}

/* Nanoseconds that the broker's main thread was on a processor; unlike the clock it does not depend on what
 * else runs. 0 where the kernel does not tell. */
static double broker_ns(const struct rig *r)
{
    char path[100];
    double ns = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)r->broker.process.pid,
             (int)r->broker.process.pid);
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%lf", &ns) != 1)
        ns = 0;
    if (f)
        fclose(f);
    return ns;
}

/* CONNECTs a second; adds to *cpu_ns what they cost the broker. */
static double rate(const struct rig *r, unsigned connects, double *cpu_ns)
{
    for (unsigned i = 0; connect_once(r, "alices secret") != 0 && i < 100; i++)
        mi_sleep_ms(50);
    double cpu = broker_ns(r);
    uint64_t start = now_ns();
    for (unsigned i = 0; i < connects; i++)
        if (connect_once(r, "alices secret") != 0)
            exit(1);
    *cpu_ns += broker_ns(r) - cpu;
    return connects * 1e9 / (double)(now_ns() - start);
}

static int measure_rate(unsigned connects)
{
    struct rig *bare = started(WITHOUT), *with = started(WITH);
    double best_bare = 0, best_with = 0, cpu_bare = 0, cpu_with = 0;
    for (int i = 0; i < ROUNDS; i++) {
        double b = rate(bare, connects, &cpu_bare), w = rate(with, connects, &cpu_with);
        printf("round %d: without logins %.0f/s, remembered %.0f/s, ratio %.3f\n", i + 1, b, w, w / b);
        best_bare = b > best_bare ? b : best_bare;
        best_with = w > best_with ? w : best_with;
    }
    printf("%s: best of %d: without logins %.0f/s, remembered %.0f/s, ratio %.3f\n",
           mi_broker_version(&with->broker), ROUNDS, best_bare, best_with, best_with / best_bare);
    printf("the broker's time for one: without logins %.2f us, remembered %.2f us, ratio %.3f\n",
           cpu_bare / ROUNDS / connects / 1e3, cpu_with / ROUNDS / connects / 1e3, cpu_bare / cpu_with);
    return 0;
}

/* ---- storm ---- */

struct attack {
    struct rig *rig;
    atomic_bool stop;
    atomic_uint tries;
};

static void *attacker(void *arg)
{
    struct attack *a = arg;
    char password[32];
    while (!atomic_load(&a->stop)) {
        snprintf(password, sizeof password, "guess %u", atomic_fetch_add(&a->tries, 1));
        connect_once(a->rig, password);
    }
    return NULL;
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void latency(struct mi_mqtt *m, unsigned seconds, const char *what)
{
    uint64_t *took = calloc(MAX_SAMPLES, sizeof *took);
    size_t n = 0;
    for (uint64_t end = now_ns() + seconds * 1000000000ull; took && now_ns() < end && n < MAX_SAMPLES; n++) {
        uint64_t start = now_ns();
        if (mi_mqtt_say(m, "elsewhere", "x", 1) != 0)
            exit(1);
        took[n] = now_ns() - start;
        struct timespec pause = {0, 1000000};
        nanosleep(&pause, NULL);
    }
    qsort(took, n, sizeof *took, by_size);
    printf("%-28s %6zu publishes, p50 %.2f ms, p99 %.2f ms, worst %.1f ms\n", what, n,
           (double)took[n / 2] / 1e6, (double)took[n * 99 / 100] / 1e6, (double)took[n - 1] / 1e6);
    free(took);
}

static void under_attack(struct rig *r, struct mi_mqtt *m, unsigned seconds, const char *what)
{
    pthread_t threads[ATTACKERS];
    struct attack attack = {.rig = r};
    double before = rig_metric(r, "mosquitto_iggy_client_logins_asked_total", 0, 1000);
    for (int i = 0; i < ATTACKERS; i++)
        pthread_create(&threads[i], NULL, attacker, &attack);
    latency(m, seconds, what);
    atomic_store(&attack.stop, true);
    for (int i = 0; i < ATTACKERS; i++)
        pthread_join(threads[i], NULL);
    double asked = rig_metric(r, "mosquitto_iggy_client_logins_asked_total", 0, 1000);
    printf("    %u wrong logins a second, Iggy was asked for %.0f in all\n",
           atomic_load(&attack.tries) / seconds, asked >= 0 ? asked - before : 0);
}

static int measure_storm(unsigned seconds)
{
    struct rig *bare = started(WITHOUT), *with = started(WITH);
    struct mi_mqtt *b = rig_client(bare, "steady", MQTT_PROTOCOL_V311);
    struct mi_mqtt *w = rig_client(with, "steady", MQTT_PROTOCOL_V311);
    if (!b || !w)
        return 1;
    printf("%s\n", mi_broker_version(&with->broker));
    latency(b, seconds, "without logins, quiet");
    under_attack(bare, b, seconds, "without logins, CONNECTs");
    latency(w, seconds, "with logins, quiet");
    under_attack(with, w, seconds, "with logins, wrong ones");
    mi_mqtt_close(b);
    mi_mqtt_close(w);
    return 0;
}

int main(int argc, char **argv)
{
    unsigned n = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    if (argc > 1 && strcmp(argv[1], "rate") == 0)
        return measure_rate(n ? n : 500);
    if (argc > 1 && strcmp(argv[1], "storm") == 0)
        return measure_storm(n ? n : 5);
    fprintf(stderr, "usage: login_bench rate [CONNECTS] | storm [SECONDS]\n");
    return 2;
}
