/*
 * history_bench: one MQTT 3.1.1 client asks for the whole past of a topic, page after page (500 messages
 * each), at QoS 0 and QoS 1. Prints messages a second over all pages and the broker's resident memory after
 * the first pages and at the end. Then the time from a native append to its delivery over MQTT, alone and
 * while four clients search the whole past for a topic that is not in it.
 *
 *   history_bench [messages]        500,000 of 200 bytes over 4 partitions without an argument
 *
 * MOSQUITTO and IGGY_SERVER name the programs (default: the installed broker, iggy-devserver).
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "integration/rig.h"

enum { BATCH = 1000, PARTITIONS = 4, PAYLOAD = 200, FIRST_PAGES = 20, LATENCIES = 300, SEARCHERS = 4 };

static const char config[] =
    RIG_CONFIG "'broker':{'acl':'none'},'history':{},'routes':["
               "{'name':'past','filter':'past/#','direction':'out','stream':'past','topic':'all',"
               "'create':{'partitions':4}},"
               "{'name':'live','direction':'in','stream':'live','topic':'t','mqtt_topic':'live/t'}]}";

static struct rig *rig;

static void fail(const char *what)
{
    fprintf(stderr, "history_bench: %s\n", what);
    exit(1);
}

/* ---- filling Iggy ---- */

static bool produced_ok, produced_any;

static void produced(void *arg, const struct iggy_result *result, const struct iggy_produced *where)
{
    (void)arg, (void)where;
    produced_ok = result->kind == IGGY_OK;
    produced_any = true;
}

static void produce(struct iggy_client *client, struct iggy_batch *batch)
{
    struct iggy_span stream = {(const uint8_t *)"past", 4}, topic = {(const uint8_t *)"all", 3};
    produced_any = false;
    if (!iggy_produce(client, stream, topic, batch, produced, NULL))
        fail("out of memory");
    while (!produced_any)
        iggy_client_drive(client, 1000, NULL, 0);
    if (!produced_ok)
        fail("Iggy does not take a batch");
}

static void fill(long messages)
{
    char url[64], topic[32], payload[PAYLOAD + 1];
    snprintf(url, sizeof url, "http://127.0.0.1:%u", rig->iggy.port);
    const char *urls[] = {url};
    struct iggy_options o = {.urls = urls, .url_count = 1, .username = "iggy", .password = "iggy"};
    struct iggy_client *client = iggy_client_new(&o, NULL, 0);
    struct iggy_batch *batch = iggy_batch_new();
    struct mi_envelope e;
    mi_envelope_init(&e);
    memset(payload, 'x', sizeof payload);
    for (long i = 0; i < messages;) {
        iggy_batch_start(batch, (uint32_t)(i / BATCH % PARTITIONS));
        for (int k = 0; k < BATCH; k++, i++) {
            snprintf(topic, sizeof topic, "past/%ld", i % 100);
            struct mi_message m = {.topic = mi_span_of(topic),
                                   .payload = {(const uint8_t *)payload, PAYLOAD},
                                   .qos = 1,
                                   .time_us = 1700000000000000 + (uint64_t)i};
            mi_envelope_encode(&e, &m);
            iggy_batch_add(batch, (struct iggy_id){0, (uint64_t)i + 1},
                           (struct iggy_span){e.headers.data, e.headers.len},
                           (struct iggy_span){m.payload.data, m.payload.len}, (struct iggy_span){NULL, 0});
        }
        produce(client, batch);
    }
    mi_envelope_fini(&e);
    iggy_batch_free(batch);
    iggy_client_free(client);
}

/* ---- the client ---- */

struct reader {
    int fd;
    uint8_t in[1 << 20];
    size_t len;
    uint8_t acks[1 << 19];
    size_t ack_len;
    long messages;
    bool ended, complete;
    char next[1100];
};

/* SUBSCRIBE, or with qos -1 UNSUBSCRIBE. */
static void subscribe_to(struct reader *r, const char *filter, int qos)
{
    uint8_t packet[1300];
    bool un = qos < 0;
    size_t len = strlen(filter);
    size_t remaining = len + 4 + !un, at = 1;
    packet[0] = un ? 0xA2 : 0x82;
    for (; remaining > 127; remaining >>= 7)
        packet[at++] = (uint8_t)(remaining | 0x80);
    packet[at++] = (uint8_t)remaining;
    memcpy(packet + at, (const uint8_t[]){0, 1, (uint8_t)(len >> 8), (uint8_t)len}, 4);
    memcpy(packet + at + 4, filter, len);
    packet[at + 4 + len] = un ? 0 : (uint8_t)qos;
    r->ended = false;
    if (!mi_raw_send(r->fd, packet, at + 4 + len + !un))
        fail("cannot subscribe");
}

static void subscribe(struct reader *r, const char *from, const char *filter, int qos)
{
    char whole[1200];
    snprintf(whole, sizeof whole, "$iggy/%s/%s", from, filter);
    subscribe_to(r, whole, qos);
}

static void take_marker(struct reader *r, const uint8_t *payload, size_t len)
{
    char json[1500];
    snprintf(json, sizeof json, "%.*s", (int)len, (const char *)payload);
    const char *next = strstr(json, "\"next\":\"");
    r->ended = true;
    r->complete = strstr(json, "\"complete\":true") != NULL;
    snprintf(r->next, sizeof r->next, "%s", next ? next + 8 : "");
    r->next[strcspn(r->next, "\"")] = '\0';
    if (!r->complete && !r->next[0])
        fail(json);
}

/* One whole packet at p with its variable header at body and its end at end. */
static void take_packet(struct reader *r, const uint8_t *p, size_t body, size_t end)
{
    if (p[0] >> 4 != 3)
        return;
    size_t topic = (size_t)p[body] << 8 | p[body + 1], at = body + 2 + topic;
    if (p[0] & 6) {
        memcpy(r->acks + r->ack_len, (const uint8_t[]){0x40, 2, p[at], p[at + 1]}, 4);
        r->ack_len += 4;
        at += 2;
    }
    if (topic > 5 && memcmp(p + body + 2 + topic - 5, "/$end", 5) == 0)
        take_marker(r, p + at, end - at);
    else
        r->messages++;
}

static void receive(struct reader *r)
{
    struct pollfd p = {.fd = r->fd, .events = POLLIN};
    if (poll(&p, 1, 20000) != 1)
        fail("no answer in 20 s");
    ssize_t n = recv(r->fd, r->in + r->len, sizeof r->in - r->len, 0);
    if (n <= 0)
        fail("the broker closed the connection");
    r->len += (size_t)n;
    size_t at = 0;
    while (r->len - at >= 2) {
        size_t remaining = 0, body = at + 1;
        unsigned shift = 0;
        do {
            remaining |= (size_t)(r->in[body] & 0x7f) << shift;
            shift += 7;
        } while (r->in[body++] & 0x80 && body < r->len);
        if (body + remaining > r->len)
            break;
        take_packet(r, r->in + at, body - at, body - at + remaining);
        at = body + remaining;
    }
    memmove(r->in, r->in + at, r->len - at);
    r->len -= at;
    mi_raw_send(r->fd, r->acks, r->ack_len);
    r->ack_len = 0;
}

static long resident_kb(void)
{
    char path[64], line[256];
    long kb = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)rig->broker.process.pid);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmRSS: %ld", &kb) == 1)
            break;
    if (f)
        fclose(f);
    return kb;
}

static struct reader *connect_as(const char *client_id)
{
    struct reader *r = calloc(1, sizeof *r);
    if (!r || (r->fd = mi_raw_connect(rig->broker.port, client_id, 4, true)) < 0)
        fail("cannot connect");
    /* Else the SUBSCRIBE after the PUBACKs waits 40 ms for the broker's TCP. */
    setsockopt(r->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    return r;
}

/* Page after page; calls after each. */
static void ask_all(struct reader *r, const char *filter, int qos, void (*after)(void *context),
                    void *context)
{
    char from[1100] = "first";
    do {
        subscribe(r, from, filter, qos);
        while (!r->ended)
            receive(r);
        subscribe(r, from, filter, -1); /* else the broker keeps a subscription per page */
        snprintf(from, sizeof from, "%s", r->next);
        after(context);
    } while (!r->complete);
}

struct pages {
    long count, early_kb;
};

static void count_page(void *context)
{
    struct pages *p = context;
    if (++p->count == FIRST_PAGES)
        p->early_kb = resident_kb();
}

static void read_all(int qos, long messages)
{
    struct reader *r = connect_as("reader");
    struct pages pages = {0};
    uint64_t start = mi_now_ns(&mi_clock_system);
    ask_all(r, "past/#", qos, count_page, &pages);
    double seconds = (double)(mi_now_ns(&mi_clock_system) - start) / 1e9;
    printf(
        "QoS %d: %ld of %ld messages in %ld pages, %.2f s: %.0f messages/s; resident %ld kB after %d pages, "
        "%ld kB at the end\n",
        qos, r->messages, messages, pages.count, seconds, (double)r->messages / seconds, pages.early_kb,
        FIRST_PAGES, resident_kb());
    close(r->fd);
    free(r);
}

/* ---- live messages meanwhile ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void latency(const char *when)
{
    static double ms[LATENCIES];
    struct reader *r = connect_as("live");
    unsigned seed = 1;
    subscribe_to(r, "live/t", 1);
    for (int i = -20; i < LATENCIES; i++) {
        uint64_t start = mi_now_ns(&mi_clock_system);
        long before = r->messages;
        if (!mi_readback_produce(rig->readback, "live", "t", 0, (struct mi_span){0}, "x"))
            fail("cannot produce");
        while (r->messages == before)
            receive(r);
        if (i >= 0)
            ms[i] = (double)(mi_now_ns(&mi_clock_system) - start) / 1e6;
        usleep(1000 + (useconds_t)rand_r(&seed) % 20000);
    }
    qsort(ms, LATENCIES, sizeof *ms, by_value);
    printf("append to delivery, %s: p50 %.2f ms, p99 %.2f ms\n", when, ms[LATENCIES / 2],
           ms[LATENCIES * 99 / 100]);
    fflush(stdout);
    close(r->fd);
    free(r);
}

static void nothing(void *context)
{
    (void)context;
}

static pid_t search(int number)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    char name[16];
    snprintf(name, sizeof name, "search%d", number);
    struct reader *r = connect_as(name);
    for (;;)
        ask_all(r, "past/none", 0, nothing, NULL);
}

static void live_meanwhile(void)
{
    pid_t pids[SEARCHERS];
    latency("alone");
    for (int i = 0; i < SEARCHERS; i++)
        pids[i] = search(i);
    latency("while four clients search the past");
    for (int i = 0; i < SEARCHERS; i++)
        kill(pids[i], SIGKILL);
}

int main(int argc, char **argv)
{
    long messages = argc > 1 ? strtol(argv[1], NULL, 10) : 500000;
    rig = rig_new(NULL, "plugin_opt_config_file DIR/iggy.json\nlog_type none\n");
    if (!rig_start(rig, config) || !mi_readback_create(rig->readback, "past", "all", PARTITIONS) ||
        !mi_readback_create(rig->readback, "live", "t", 1))
        fail("cannot start");
    fill(messages);
    read_all(0, messages);
    read_all(1, messages);
    fflush(stdout);
    live_meanwhile();
    return 0;
}
