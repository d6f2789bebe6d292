/*
 * in_bench: from Iggy into the broker, in one run: latency of single native messages, CPU of 1,000 idle
 * watched partitions, and throughput with one QoS 1 subscriber beside what the same broker takes from MQTT
 * publishers.
 *
 *   in_bench [latency] [idle] [throughput]       all three without arguments
 *
 * MOSQUITTO and IGGY_SERVER name the programs (default: the installed broker, iggy-devserver).
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "iggy_client.h"
#include "integration/rig.h"

enum { LATENCIES = 400, IDLE_S = 10, THROUGHPUT = 300000, BATCH = 500, IN_FLIGHT = 2, PAYLOAD = 256 };

static const char conf[] = "max_queued_messages 0\nmax_inflight_messages 0\n";
static const char config[] =
    RIG_CONFIG "'routes':["
               "{'name':'lat','direction':'in','stream':'lat','topic':'t','mqtt_topic':'lat/{partition}'},"
               "{'name':'idle','direction':'in','stream':'idle','topic':'t','mqtt_topic':'idle/{partition}'},"
               "{'name':'load','direction':'in','stream':'load','topic':'t','mqtt_topic':'load/{partition}',"
               "'catch_up_rate':0}]}";

static struct rig *rig;

static void fail(const char *what)
{
    fprintf(stderr, "in_bench: %s\n", what);
    exit(1);
}

static uint64_t now(void)
{
    return mi_now_ns(&mi_clock_system);
}

/* ---- a subscriber over a raw socket ---- */

struct subscriber {
    int fd;
    uint8_t in[1 << 20];
    size_t len;
    uint64_t count;
};

static void acknowledge(struct subscriber *s, const uint8_t *acks, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = send(s->fd, acks + at, len - at, MSG_NOSIGNAL);
        if (n > 0)
            at += (size_t)n;
        else
            poll(&(struct pollfd){.fd = s->fd, .events = POLLOUT}, 1, 1000);
    }
}

/* Bytes of the packet at p, 0 when it is not whole; *body: where its variable header begins. */
static size_t packet_len(const uint8_t *p, size_t left, size_t *body)
{
    size_t remaining = 0;
    for (size_t i = 1; i < 5 && i < left; i++) {
        remaining |= (size_t)(p[i] & 0x7f) << (7 * (i - 1));
        if (p[i] & 0x80)
            continue;
        *body = i + 1;
        return i + 1 + remaining <= left ? i + 1 + remaining : 0;
    }
    return 0;
}

/* Takes what is there. */
static void receive(struct subscriber *s)
{
    static uint8_t acks[1 << 18];
    size_t ack_len = 0, at = 0, body = 0, len;
    ssize_t n = recv(s->fd, s->in + s->len, sizeof s->in - s->len, MSG_DONTWAIT);
    if (n == 0)
        fail("the broker closed the subscriber's connection");
    if (n > 0)
        s->len += (size_t)n;
    for (; (len = packet_len(s->in + at, s->len - at, &body)) > 0; at += len) {
        const uint8_t *p = s->in + at;
        if (p[0] >> 4 != 3)
            continue;
        s->count++;
        if ((p[0] & 6) == 0)
            continue;
        const uint8_t *mid = p + body + 2 + mi_get_u16be(p + body);
        memcpy(acks + ack_len, (const uint8_t[]){0x40, 2, mid[0], mid[1]}, 4);
        ack_len += 4;
        if (ack_len == sizeof acks) {
            acknowledge(s, acks, ack_len);
            ack_len = 0;
        }
    }
    memmove(s->in, s->in + at, s->len - at);
    s->len -= at;
    acknowledge(s, acks, ack_len);
}

static struct subscriber *subscribe(const char *filter)
{
    struct subscriber *s = calloc(1, sizeof *s);
    uint8_t packet[100] = {0x82, (uint8_t)(5 + strlen(filter)), 0, 1, 0, (uint8_t)strlen(filter)};
    memcpy(packet + 6, filter, strlen(filter));
    packet[6 + strlen(filter)] = 1;
    if (!s || (s->fd = mi_raw_connect(rig->broker.port, filter, 4, true)) < 0 ||
        !mi_raw_send(s->fd, packet, 7 + strlen(filter)) || mi_raw_receive(s->fd, NULL, 5000) != 0x90)
        fail("cannot subscribe");
    return s;
}

/* ---- latency ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void latency(void)
{
    static double ms[LATENCIES];
    struct subscriber *s = subscribe("lat/#");
    unsigned seed = 1;
    for (int i = -20; i < LATENCIES; i++) {
        uint64_t start = now(), before = s->count;
        if (!mi_readback_produce(rig->readback, "lat", "t", 0, (struct mi_span){0}, "x"))
            fail("cannot produce");
        while (s->count == before && now() - start < 5 * MI_NS_PER_S) {
            poll(&(struct pollfd){.fd = s->fd, .events = POLLIN}, 1, 100);
            receive(s);
        }
        if (i >= 0)
            ms[i] = (double)(now() - start) / 1e6;
        usleep(1000 + (useconds_t)rand_r(&seed) % 30000);
    }
    qsort(ms, LATENCIES, sizeof *ms, by_value);
    printf("latency of an active topic: p50 %.2f ms, p99 %.2f ms, max %.2f ms (%d messages)\n",
           ms[LATENCIES / 2], ms[LATENCIES * 99 / 100], ms[LATENCIES - 1], LATENCIES);
    close(s->fd);
    free(s);
}

/* ---- idle ---- */

/* CPU seconds of a process, or of its main thread. */
static double cpu_of(pid_t pid, bool main_thread)
{
    char path[64], text[1024];
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, main_thread ? "/proc/%ld/task/%ld/stat" : "/proc/%ld/stat", (long)pid,
             (long)pid);
    FILE *f = fopen(path, "r");
    if (!f)
        return 0;
    size_t n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    fclose(f);
    char *p = strrchr(text, ')');
    if (p)
        sscanf(p + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static double server_idle_percent; /* before anything watched it */

static double idle_percent(pid_t pid)
{
    sleep(5); /* a server is busy for a while after it made 1,000 partitions */
    double before = cpu_of(pid, false);
    sleep(IDLE_S);
    return (cpu_of(pid, false) - before) / IDLE_S * 100;
}

static void idle(void)
{
    sleep(3); /* pace and readers come to rest */
    double server = cpu_of(rig->iggy.process.pid, false), broker = cpu_of(rig->broker.process.pid, false);
    sleep(IDLE_S);
    server = (cpu_of(rig->iggy.process.pid, false) - server) / IDLE_S * 100;
    broker = (cpu_of(rig->broker.process.pid, false) - broker) / IDLE_S * 100;
    printf("%.0f idle watched partitions: server %.1f %% of a core (%.1f %% unwatched), broker %.1f %%\n",
           rig_metric(rig, "mosquitto_iggy_readers", 0, 0), server, server_idle_percent, broker);
}

/* ---- throughput ---- */

struct producer {
    struct iggy_client *client;
    struct iggy_batch *batch;
    unsigned under_way;
    uint64_t sent;
};

static void produced(void *arg, const struct iggy_result *result, const struct iggy_produced *p)
{
    struct producer *to = arg;
    (void)p;
    to->under_way--;
    if (result->kind != IGGY_OK)
        fail(result->text);
    to->sent += BATCH;
}

static void make_producer(struct producer *p)
{
    static char url[64];
    static const char *const urls[] = {url};
    static const uint8_t payload[PAYLOAD];
    snprintf(url, sizeof url, "http://127.0.0.1:%u", rig->iggy.port);
    struct iggy_options options = {.urls = urls, .url_count = 1, .username = "iggy", .password = "iggy"};
    *p = (struct producer){.client = iggy_client_new(&options, NULL, 0), .batch = iggy_batch_new()};
    if (!p->client || !p->batch)
        fail("memory");
    iggy_batch_start(p->batch, 0);
    for (uint64_t i = 0; i < BATCH; i++)
        iggy_batch_add(p->batch, (struct iggy_id){1, i + 1}, (struct iggy_span){0},
                       (struct iggy_span){payload, PAYLOAD}, (struct iggy_span){0});
}

static double from_iggy(struct subscriber *s)
{
    struct producer p;
    struct iggy_span stream = {(const uint8_t *)"load", 4}, topic = {(const uint8_t *)"t", 1};
    make_producer(&p);
    uint64_t start = now();
    while (s->count < THROUGHPUT) {
        while (p.under_way < IN_FLIGHT && p.sent + p.under_way * BATCH < THROUGHPUT &&
               p.sent + p.under_way * BATCH < s->count + 20000) {
            iggy_produce(p.client, stream, topic, p.batch, produced, &p);
            p.under_way++;
        }
        struct iggy_wait wait = {.fd = s->fd, .events = POLLIN};
        iggy_client_drive(p.client, 100, &wait, 1);
        receive(s);
        if (now() - start > 120 * MI_NS_PER_S)
            fail("messages do not arrive");
    }
    double rate = THROUGHPUT / ((double)(now() - start) / 1e9);
    iggy_client_free(p.client);
    iggy_batch_free(p.batch);
    return rate;
}

/* mqtt_load's rate, while s (may be NULL) receives what it publishes. */
static double from_mqtt(struct subscriber *s, const char *prefix)
{
    char command[600], line[200] = "";
    snprintf(command, sizeof command, "%s --port %u --qos 1 --count %d --size %d --prefix %s --topics 1",
             MQTT_LOAD, rig->broker.port, THROUGHPUT, PAYLOAD, prefix);
    FILE *f = popen(command, "r");
    uint64_t start = now();
    while (s && s->count < THROUGHPUT) {
        poll(&(struct pollfd){.fd = s->fd, .events = POLLIN}, 1, 100);
        receive(s);
        if (now() - start > 120 * MI_NS_PER_S)
            fail("published messages do not arrive");
    }
    double delivered = THROUGHPUT / ((double)(now() - start) / 1e9);
    if (!f || !fgets(line, sizeof line, f))
        fail("mqtt_load");
    pclose(f);
    return s ? delivered : strtod(line, NULL);
}

/* CPU that a message cost the broker since *main and *all were taken. */
static void say_cpu(const char *what, double main, double all)
{
    pid_t pid = rig->broker.process.pid;
    printf("  %s: %.2f us of the broker's main thread per message, %.2f us of its process\n", what,
           (cpu_of(pid, true) - main) * 1e6 / THROUGHPUT, (cpu_of(pid, false) - all) * 1e6 / THROUGHPUT);
}

static void throughput(void)
{
    pid_t pid = rig->broker.process.pid;
    struct subscriber *native = subscribe("load/#"), *direct = subscribe("direct/#");
    double main = cpu_of(pid, true), all = cpu_of(pid, false), in = from_iggy(native);
    say_cpu("from Iggy", main, all);
    main = cpu_of(pid, true), all = cpu_of(pid, false);
    double out = from_mqtt(direct, "direct");
    say_cpu("from MQTT publishers", main, all);
    double alone = from_mqtt(NULL, "nobody");
    printf(
        "into the broker with one QoS 1 subscriber: %.0f msgs/s from Iggy, %.0f msgs/s from MQTT publishers "
        "to the same subscriber (ratio %.2f); without any subscriber they reach %.0f\n",
        in, out, in / out, alone);
    close(native->fd);
    close(direct->fd);
    free(native);
    free(direct);
}

static bool chosen(int argc, char **argv, const char *what)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], what) == 0)
            return true;
    return argc == 1;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    rig = rig_new(conf, NULL);
    if (!rig || !mi_iggy_server_start(&rig->iggy) || !mi_readback_create(rig->readback, "lat", "t", 1) ||
        !mi_readback_create(rig->readback, "idle", "t", 1000) ||
        !mi_readback_create(rig->readback, "load", "t", 1))
        fail("cannot start Iggy");
    if (chosen(argc, argv, "idle"))
        server_idle_percent = idle_percent(rig->iggy.process.pid);
    if (!mi_broker_config(&rig->broker, config, rig->iggy.port) || !mi_broker_start(&rig->broker) ||
        rig_metric(rig, "mosquitto_iggy_readers", 1002, 20000) < 1002)
        fail("cannot start the broker");
    printf("mosquitto %s, %s\n", mi_broker_version(&rig->broker),
           rig->iggy.real ? "real Iggy server" : "iggy-devserver");
    if (chosen(argc, argv, "idle"))
        idle();
    if (chosen(argc, argv, "latency"))
        latency();
    if (chosen(argc, argv, "throughput"))
        throughput();
    rig_free(rig);
    return 0;
}
