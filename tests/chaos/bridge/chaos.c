/*
 * chaos: publishes at load while broker and Iggy are killed, paused, cut off and restarted, and then demands
 * that every acknowledged message is in Iggy exactly once and in order, and that the plugin's account adds
 * up (field 14 30 33 34 114 134).
 *
 *   chaos_bridge [--durable] [--token] [--forbidden] [--sync always] [--messages N] [--kills N] [--seed N]
 *                [--rate N] [--keep-files]
 *
 * --forbidden: a fifth of it goes to a stream that the plugin may not write to, then may, then may not again,
 * so that its messages are parked, shipped, and parked again, under the same kills. world.h: which broker,
 * which Iggy.
 *
 * The seed is printed; the same seed gives the same sequence of events (not the same timing). Exit 0 only
 * when all holds.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "iggy_client.h"
#include "ledger.h"
#include "publisher.h"
#include "world.h"

enum { PUBLISHERS = 5, HELD_PUBLISHER = 3, TOPICS_EACH = 40, POLL_COUNT = 1000 };

struct options {
    uint32_t messages, kills, rate;
    uint64_t seed;
    bool keep_files;
};

struct run {
    struct options o;
    struct mi_world world;
    struct mi_ledger *ledger;
    struct mi_publisher *publishers[PUBLISHERS];
    uint64_t random;
    uint32_t events;
    uint64_t broker_up_ms, iggy_up_ms, resume_ms; /* when to bring back; 0: it is up */
    unsigned right_changes;                       /* --forbidden: given, then taken away again */
};

static uint32_t draw(struct run *r, uint32_t below)
{
    r->random ^= r->random >> 12;
    r->random ^= r->random << 25;
    r->random ^= r->random >> 27;
    return (uint32_t)((r->random * 0x2545f4914f6cdd1dull) >> 33) % below;
}

/* ---- events ---- */

static const char *do_event(struct run *r, uint64_t now)
{
    static const char *const faults[] = {"cut after 1",   "cut before 1",    "next 503 57 2", "next 503 58 2",
                                         "next 504 drop", "next 504 commit", "next 429 3",    "next 401 1",
                                         "truncate 1",    "delay 300 5",     "kill",          "pause 800"};
    uint32_t kind = draw(r, 10);
    if (kind < 3) {
        mi_process_kill(&r->world.broker.process);
        r->broker_up_ms = now + draw(r, 400);
        return "kill -9 of the broker";
    }
    if (kind < 5) {
        mi_process_kill(&r->world.iggy.process);
        r->iggy_up_ms = now + draw(r, 2500);
        return "kill -9 of Iggy";
    }
    if (kind == 5) {
        mi_process_signal(&r->world.iggy.process, SIGSTOP);
        r->resume_ms = now + draw(r, 3000);
        return "pause of Iggy";
    }
    if (kind == 6) {
        mi_process_kill(&r->world.iggy.process);
        mi_process_kill(&r->world.broker.process);
        r->iggy_up_ms = now + draw(r, 1500);
        r->broker_up_ms = now + draw(r, 1500);
        return "kill -9 of both";
    }
    if (kind == 7) {
        mi_process_stop(&r->world.broker.process, 30000);
        r->broker_up_ms = now + draw(r, 300);
        return "clean stop of the broker";
    }
    const char *fault = faults[draw(r, sizeof faults / sizeof *faults)];
    return !r->world.iggy.real && mi_iggy_server_fault(&r->world.iggy, fault)
               ? fault
               : "nothing (no fault injection here)";
}

static bool bring_back(struct run *r, uint64_t now)
{
    bool ok = true;
    if (r->resume_ms && now >= r->resume_ms) {
        mi_process_signal(&r->world.iggy.process, SIGCONT);
        r->resume_ms = 0;
    }
    if (r->iggy_up_ms && now >= r->iggy_up_ms) {
        r->iggy_up_ms = 0;
        ok = mi_iggy_server_start(&r->world.iggy);
    }
    if (r->broker_up_ms && now >= r->broker_up_ms) {
        r->broker_up_ms = 0;
        ok = mi_broker_start(&r->world.broker) && ok;
    }
    return ok;
}

static bool everything_is_up(const struct run *r)
{
    return !r->broker_up_ms && !r->iggy_up_ms && !r->resume_ms;
}

/* The right is given after two fifths and taken away after three, later when Iggy is away just then. */
static void change_right(struct run *r)
{
    uint32_t fifth = mi_ledger_sent(r->ledger) / (r->o.messages / 5 + 1);
    bool due = (r->right_changes == 0 && fifth >= 2) || (r->right_changes == 1 && fifth >= 3);
    bool given = r->right_changes == 0;
    if (r->world.forbidden && due && everything_is_up(r) && mi_world_permit(&r->world, given)) {
        r->right_changes++;
        printf("          %u sent: the right to write is %s\n", mi_ledger_sent(r->ledger),
               given ? "given" : "taken away");
    }
}

/* ---- publishing ---- */

static bool publish_with_events(struct run *r)
{
    uint64_t start = mi_monotonic_ms(), next_event = start + 1000;
    uint64_t spacing = (uint64_t)r->o.messages * 1000 / r->o.rate / (r->o.kills + 1) + 1;
    uint64_t sent = 0;
    int first = 0;
    while (mi_ledger_sent(r->ledger) < r->o.messages) {
        uint64_t now = mi_monotonic_ms();
        uint64_t allowed = (now - start) * r->o.rate / 1000;
        first = (first + 1) % PUBLISHERS; /* all have their share of what is allowed */
        for (int i = 0; i < PUBLISHERS; i++)
            sent += mi_publisher_turn(r->publishers[(first + i) % PUBLISHERS], sent < allowed ? 8 : 0);
        if (sent < allowed && !mi_publisher_connected(r->publishers[0]))
            start = now - sent * 1000 / r->o.rate; /* time without a broker does not count */
        if (now >= next_event && r->events < r->o.kills && everything_is_up(r)) {
            const char *what = do_event(r, now);
            printf("%6" PRIu64 " ms, %u sent: %s\n", now - start, mi_ledger_sent(r->ledger), what);
            r->events++;
            next_event = now + spacing / 2 + draw(r, (uint32_t)spacing);
        }
        if (!bring_back(r, now))
            return false;
        change_right(r);
        if (sent >= allowed)
            mi_sleep_ms(1);
    }
    for (uint64_t end = mi_monotonic_ms() + 60000; !everything_is_up(r) && mi_monotonic_ms() < end;
         mi_sleep_ms(5))
        if (!bring_back(r, mi_monotonic_ms()))
            return false;
    for (uint64_t end = mi_monotonic_ms() + 5000; mi_monotonic_ms() < end; mi_sleep_ms(1))
        for (int i = 0; i < PUBLISHERS; i++)
            mi_publisher_turn(r->publishers[i], 0);
    return true;
}

/* ---- reading everything back, as a native consumer ---- */

struct reading {
    struct mi_ledger *ledger;
    bool done, failed;
    uint64_t next;
    size_t count;
    uint32_t partitions;
};

static void take_messages(void *arg, const struct iggy_result *result, const struct iggy_polled *polled)
{
    struct reading *reading = arg;
    reading->done = true;
    reading->failed = result->kind != IGGY_OK;
    reading->count = reading->failed ? 0 : polled->count;
    if (reading->failed && result->http_status != 504)
        printf("reading: %s\n", result->text);
    for (size_t i = 0; i < reading->count; i++) {
        const struct iggy_polled_message *m = &polled->messages[i];
        if (m->payload.len >= 8)
            mi_ledger_found(reading->ledger, mi_get_u32le(m->payload.data),
                            mi_get_u32le(m->payload.data + 4));
        reading->next = m->offset + 1;
    }
}

static void take_topic(void *arg, const struct iggy_result *result, const struct iggy_topic *topic)
{
    struct reading *reading = arg;
    reading->done = true;
    reading->failed = result->kind != IGGY_OK;
    reading->partitions = reading->failed ? 0 : topic->partitions_count;
}

static bool wait_done(struct iggy_client *client, struct reading *reading)
{
    reading->done = false;
    for (uint64_t end = mi_monotonic_ms() + 60000; !reading->done && mi_monotonic_ms() < end;)
        iggy_client_drive(client, 50, NULL, 0);
    return reading->done && !reading->failed;
}

static struct iggy_span text(const char *s)
{
    struct iggy_span span = {(const uint8_t *)s, strlen(s)};
    return span;
}

static bool read_partition(struct iggy_client *client, struct reading *reading, const char *stream,
                           uint32_t partition)
{
    reading->next = 0;
    unsigned failures = 0;
    do {
        struct iggy_poll poll = {.stream = text(stream),
                                 .topic = text("messages"),
                                 .partition_id = partition,
                                 .strategy = IGGY_FROM_OFFSET,
                                 .value = reading->next,
                                 .count = POLL_COUNT};
        iggy_poll(client, &poll, take_messages, reading);
        if (!wait_done(client, reading)) {
            if (++failures > 100)
                return false;
            mi_sleep_ms(50);
            reading->count = 1;
        }
    } while (reading->count > 0);
    return true;
}

static bool read_stream(struct iggy_client *client, struct reading *reading, const char *stream)
{
    iggy_get_topic(client, text(stream), text("messages"), take_topic, reading);
    bool ok = wait_done(client, reading);
    for (uint32_t p = 0, partitions = reading->partitions; ok && p < partitions; p++)
        ok = read_partition(client, reading, stream, p);
    return ok;
}

static bool read_all(struct run *r)
{
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%u", r->world.iggy.port);
    const char *urls[] = {url};
    struct iggy_options options = {.urls = urls, .url_count = 1, .username = "iggy", .password = "iggy"};
    struct iggy_client *client = iggy_client_new(&options, NULL, 0);
    struct reading reading = {.ledger = r->ledger};
    mi_ledger_forget_found(r->ledger);
    bool ok = client && read_stream(client, &reading, "chaos") &&
              (!r->world.forbidden || read_stream(client, &reading, "held"));
    iggy_client_free(client);
    return ok;
}

/* ---- the account ---- */

/* Sum of all samples of a metric whose line begins with name. */
static uint64_t metric(const char *page, const char *name)
{
    uint64_t sum = 0;
    size_t len = strlen(name);
    for (const char *line = page; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        if (strncmp(line, name, len) != 0 || (line[len] != '{' && line[len] != ' '))
            continue;
        const char *value = strchr(line, line[len] == '{' ? '}' : ' ');
        if (value)
            sum += strtoull(value + 1, NULL, 10);
    }
    return sum;
}

static uint64_t now_in(struct run *r, const char *name)
{
    char *page = mi_world_status(&r->world, "/metrics");
    uint64_t n = page ? metric(page, name) : UINT64_MAX;
    free(page);
    return n;
}

static uint64_t pending(struct run *r)
{
    return now_in(r, "mosquitto_iggy_pending");
}

/* At the end of publishing the forbidden stream's newest are parked and everything else gets through; then
 * the right is given for good. */
static bool release_what_is_parked(struct run *r)
{
    uint64_t parked = 0, waiting = UINT64_MAX;
    for (uint64_t end = mi_monotonic_ms() + 120000; mi_monotonic_ms() < end; mi_sleep_ms(200)) {
        parked = now_in(r, "mosquitto_iggy_parked");
        waiting = pending(r);
        if (parked > 0 && parked == waiting)
            break;
    }
    printf("parked in the end: %" PRIu64 " of %" PRIu64 " that wait\n", parked, waiting);
    return r->right_changes == 2 && parked > 0 && parked == waiting && mi_world_permit(&r->world, true);
}

static bool wait_until_shipped(struct run *r)
{
    for (uint64_t end = mi_monotonic_ms() + 180000; mi_monotonic_ms() < end; mi_sleep_ms(200))
        if (pending(r) == 0)
            return true;
    printf("still pending after three minutes: %" PRIu64 "\n", pending(r));
    return false;
}

static bool account_adds_up(struct run *r, const struct mi_verdict *v)
{
    char *page = mi_world_status(&r->world, "/metrics");
    if (!page)
        return false;
    uint64_t received = metric(page, "mosquitto_iggy_received_total");
    uint64_t committed = metric(page, "mosquitto_iggy_committed_total");
    uint64_t dead = metric(page, "mosquitto_iggy_dead_lettered_total");
    uint64_t dropped = metric(page, "mosquitto_iggy_dropped_total");
    printf("account: received %" PRIu64 " = committed %" PRIu64 " + dead lettered %" PRIu64
           " + dropped %" PRIu64 "; resent %" PRIu64 ", found by reading back %" PRIu64
           ", lost by Iggy and sent again %" PRIu64 "\n",
           received, committed, dead, dropped, metric(page, "mosquitto_iggy_resent_total"),
           metric(page, "mosquitto_iggy_found_total"), metric(page, "mosquitto_iggy_lost_resent_total"));
    free(page);
    return received == committed + dead + dropped && committed == v->found;
}

static bool judge(struct run *r)
{
    if (r->world.forbidden && !release_what_is_parked(r)) {
        printf("FAILED: what is forbidden, and nothing else, should be parked\n");
        return false;
    }
    if (!wait_until_shipped(r) || !read_all(r)) {
        printf("FAILED: what is in Iggy could not be read\n");
        return false;
    }
    struct mi_verdict v = mi_ledger_judge(r->ledger);
    printf("sent %u, acknowledged %u, in Iggy %u (of them %u not acknowledged), lost %u, twice %u, "
           "disordered %u, foreign %u\n",
           v.sent, v.acknowledged, v.found, v.unacknowledged_found, v.lost, v.duplicated, v.disordered,
           v.foreign);
    bool ok = v.lost == 0 && v.duplicated == 0 && v.disordered == 0 && v.foreign == 0;
    return account_adds_up(r, &v) && ok;
}

/* ---- start ---- */

static bool read_options(struct run *r, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(name, "--forbidden"))
            r->world.forbidden = true;
        else if (!strcmp(name, "--token"))
            r->world.token = true;
        else if (!strcmp(name, "--durable"))
            r->world.durable = true;
        else if (!strcmp(name, "--keep-files"))
            r->o.keep_files = true;
        else if (i++, !strcmp(name, "--sync"))
            r->world.sync = value;
        else if (!strcmp(name, "--messages"))
            r->o.messages = (uint32_t)strtoul(value, NULL, 10);
        else if (!strcmp(name, "--kills"))
            r->o.kills = (uint32_t)strtoul(value, NULL, 10);
        else if (!strcmp(name, "--rate"))
            r->o.rate = (uint32_t)strtoul(value, NULL, 10);
        else if (!strcmp(name, "--seed"))
            r->o.seed = strtoull(value, NULL, 10);
        else
            return false;
    }
    return r->o.messages && r->o.rate;
}

static bool make_publishers(struct run *r)
{
    static const int qos[PUBLISHERS] = {1, 1, 2, 1, 0};
    r->ledger = mi_ledger_new(r->o.messages);
    for (int i = 0; i < PUBLISHERS; i++) {
        const char *prefix = r->world.forbidden && i == HELD_PUBLISHER ? "held" : "chaos";
        r->publishers[i] = mi_publisher_new(r->ledger, r->world.broker.port, qos[i], prefix,
                                            (uint32_t)i * TOPICS_EACH, TOPICS_EACH);
        if (!r->publishers[i])
            return false;
    }
    return r->ledger != NULL;
}

int main(int argc, char **argv)
{
    static struct run r;
    r.o = (struct options){.messages = 60000, .kills = 25, .rate = 2000};
    r.world.sync = "interval";
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!read_options(&r, argc, argv)) {
        fprintf(stderr, "usage: chaos_bridge [--durable] [--token] [--forbidden] [--sync always] "
                        "[--messages N] [--kills N] [--rate N] [--seed N] [--keep-files]\n");
        return 2;
    }
    if (r.o.seed == 0)
        r.o.seed = mi_random(&mi_clock_system) % 1000000 + 1;
    r.random = r.o.seed * 0x9e3779b97f4a7c15ull;
    printf("seed %" PRIu64 ", %u messages, %u events\n", r.o.seed, r.o.messages, r.o.kills);
    bool ok = mi_world_start(&r.world) && make_publishers(&r) && publish_with_events(&r);
    if (ok && !r.world.iggy.real)
        mi_iggy_server_fault(&r.world.iggy, "clear");
    ok = ok && judge(&r);
    for (int i = 0; i < PUBLISHERS; i++)
        mi_publisher_free(r.publishers[i]);
    mi_ledger_free(r.ledger);
    mi_world_stop(&r.world);
    printf("%s (seed %" PRIu64 "), %s with %s\n", ok ? "passed" : "FAILED", r.o.seed,
           mi_broker_version(&r.world.broker), r.world.iggy.real ? "a real Iggy" : "devserver");
    if (ok && !r.o.keep_files)
        mi_world_remove(&r.world);
    else
        printf("files in %s and %s\n", r.world.broker.dir, r.world.iggy.dir);
    return ok ? 0 : 1;
}
