/*
 * history_bench: one MQTT 3.1.1 client asks for the whole past of a topic, page after page (500 messages
 * each), at QoS 0 and QoS 1. Prints messages a second over all pages and the broker's resident memory after
 * the first pages and at the end.
 *
 *   history_bench [messages]        500,000 of 200 bytes over 4 partitions without an argument
 *
 * MOSQUITTO and IGGY_SERVER name the programs (default: the installed broker, iggy-devserver).
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "integration/rig.h"

enum { BATCH = 1000, PARTITIONS = 4, PAYLOAD = 200, FIRST_PAGES = 20 };

static const char config[] =
    RIG_CONFIG "'broker':{'acl':'none'},'history':{},'routes':["
               "{'name':'past','filter':'past/#','direction':'out','stream':'past','topic':'all',"
               "'create':{'partitions':4}}]}";

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
static void subscribe(struct reader *r, const char *from, int qos)
{
    uint8_t packet[1300];
    char filter[1200];
    bool un = qos < 0;
    size_t len = (size_t)snprintf(filter, sizeof filter, "$iggy/%s/past/#", from);
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

static void read_all(int qos, long messages)
{
    struct reader *r = calloc(1, sizeof *r);
    char from[1100] = "first";
    long pages = 0, early = 0;
    if (!r || (r->fd = mi_raw_connect(rig->broker.port, "reader", 4, true)) < 0)
        fail("cannot connect");
    /* Else the SUBSCRIBE after the PUBACKs waits 40 ms for the broker's TCP. */
    setsockopt(r->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    uint64_t start = mi_now_ns(&mi_clock_system);
    do {
        subscribe(r, from, qos);
        while (!r->ended)
            receive(r);
        subscribe(r, from, -1); /* else the broker keeps a subscription per page */
        snprintf(from, sizeof from, "%s", r->next);
        if (++pages == FIRST_PAGES)
            early = resident_kb();
    } while (!r->complete);
    double seconds = (double)(mi_now_ns(&mi_clock_system) - start) / 1e9;
    printf(
        "QoS %d: %ld of %ld messages in %ld pages, %.2f s: %.0f messages/s; resident %ld kB after %d pages, "
        "%ld kB at the end\n",
        qos, r->messages, messages, pages, seconds, (double)r->messages / seconds, early, FIRST_PAGES,
        resident_kb());
    close(r->fd);
    free(r);
}

int main(int argc, char **argv)
{
    long messages = argc > 1 ? strtol(argv[1], NULL, 10) : 500000;
    rig = rig_new(NULL, "plugin_opt_config_file DIR/iggy.json\nlog_type none\n");
    if (!rig_start(rig, config) || !mi_readback_create(rig->readback, "past", "all", PARTITIONS))
        fail("cannot start");
    fill(messages);
    read_all(0, messages);
    read_all(1, messages);
    return 0;
}
