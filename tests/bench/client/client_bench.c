/*
 * client_bench: what the client library does per second, alone and with a server.
 *
 *   client_bench                                  base64 and the codec, no server
 *   client_bench URL USER PASSWORD [MESSAGES [PER_REQUEST [IN_FLIGHT]]]
 *                                                also produces and polls: payloads of 200 bytes, 4 headers,
 * as one raw block; default 1,000,000 messages, 1000 per request, 2 in flight, each request on a partition of
 * its own
 *
 * Prints one figure per line. The stream bench_client is deleted at the start and at the end.
 */
#include "base64.h"
#include "poll_reader.h"

#include "base/clock.h"
#include "iggy_client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define PAYLOAD 200
#define MAX_IN_FLIGHT 24

static double seconds(void)
{
    return (double)mi_now_ns(&mi_clock_system) / 1e9;
}

static double cpu_seconds(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)used.ru_utime.tv_sec + (double)used.ru_stime.tv_sec +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static struct iggy_span text(const char *words)
{
    return (struct iggy_span){(const uint8_t *)words, strlen(words)};
}

/* Four headers as the bridge would send them. */
static size_t make_headers(uint8_t *block)
{
    static const char *const names[] = {"mqtt.topic", "mqtt.client_id", "mqtt.origin", "mqtt.qos"};
    static const char *const values[] = {"building/7/room/12/temperature", "sensor-000712",
                                         "3f6c1a9be0d24b71", "\1"};
    size_t len = 0;
    for (int i = 0; i < 4; i++) {
        struct {
            uint8_t kind;
            const char *bytes;
        } parts[] = {{2, names[i]}, {i == 3 ? 9 : 2, values[i]}};
        for (int k = 0; k < 2; k++) {
            uint32_t n = (uint32_t)strlen(parts[k].bytes);
            block[len++] = parts[k].kind;
            mi_put_u32le(block + len, n);
            memcpy(block + len + 4, parts[k].bytes, n);
            len += 4 + n;
        }
    }
    return len;
}

static void fill(struct iggy_batch *batch, uint32_t partition, uint64_t first, unsigned count)
{
    static uint8_t payload[PAYLOAD];
    uint8_t block[256];
    struct iggy_span headers = {block, make_headers(block)};
    for (size_t i = 0; i < PAYLOAD; i++)
        payload[i] = (uint8_t)(i * 31 + first);
    iggy_batch_start(batch, partition);
    for (unsigned i = 0; i < count; i++)
        if (!iggy_batch_add(batch, (struct iggy_id){0x1122334455667788, first + i}, headers,
                            (struct iggy_span){payload, PAYLOAD}, text("")))
            exit(1);
}

/* ---- without a server
 * ------------------------------------------------------------------------------------------ */

static void measure_base64(size_t size)
{
    uint8_t *raw = malloc(size), *back = malloc(size + 3);
    char *encoded = malloc(base64_encoded_size(size));
    if (!raw || !back || !encoded)
        exit(1);
    for (size_t i = 0; i < size; i++)
        raw[i] = (uint8_t)(i * 2654435761u >> 11);
    size_t rounds = 200000000 / size, len = 0, decoded = 0;
    double start = seconds();
    for (size_t i = 0; i < rounds; i++) {
        raw[0] = (uint8_t)i;
        len = base64_encode(encoded, raw, size);
    }
    double encoding = seconds() - start;
    start = seconds();
    bool ok = true;
    for (size_t i = 0; i < rounds; i++)
        ok &= base64_decode(back, &decoded, (const uint8_t *)encoded, len);
    double decoding = seconds() - start;
    if (!ok || decoded != size || memcmp(raw, back, size) != 0)
        exit(1);
    double megabytes = (double)rounds * (double)size / 1e6;
    printf("base64 of %zu bytes: encode %.0f MB/s, decode %.0f MB/s (raw bytes)\n", size,
           megabytes / encoding, megabytes / decoding);
    free(raw);
    free(back);
    free(encoded);
}

static void measure_batch(void)
{
    struct iggy_batch *batch = iggy_batch_new();
    if (!batch)
        exit(1);
    double start = seconds();
    unsigned rounds = 1000;
    for (unsigned i = 0; i < rounds; i++)
        fill(batch, 0, (uint64_t)i * 1000 + 1, 1000);
    double spent = seconds() - start;
    printf("produce body: %.2f million messages/s, %zu bytes per message\n", rounds * 1000 / spent / 1e6,
           iggy_batch_bytes(batch) / 1000);
    iggy_batch_free(batch);
}

/* ---- with a server
 * ----------------------------------------------------------------------------------------------- */

struct bench {
    struct iggy_client *client;
    unsigned per_request, in_flight;
    uint64_t wanted, begun, done; /* messages */
    struct lane {
        struct bench *bench;
        struct iggy_batch *batch;
        uint32_t partition;
        uint64_t next_offset;
        bool busy;
    } lanes[MAX_IN_FLIGHT];
    bool failed;
};

static void stop_if_failed(const struct iggy_result *result, bool *failed)
{
    if (result->kind != IGGY_OK) {
        fprintf(stderr, "%s: %s\n", iggy_kind_name(result->kind), result->text);
        *failed = true;
    }
}

static void on_done(void *arg, const struct iggy_result *result)
{
    *(int *)arg = result->kind == IGGY_OK ? 1 : 2;
    if (result->kind != IGGY_OK)
        fprintf(stderr, "%s\n", result->text);
}

static bool wait_for(struct iggy_client *client, iggy_request request, int *state)
{
    while (request && *state == 0)
        iggy_client_drive(client, 1000, NULL, 0);
    return *state == 1;
}

static void on_produced(void *arg, const struct iggy_result *result, const struct iggy_produced *produced)
{
    (void)produced;
    struct lane *lane = arg;
    lane->busy = false;
    stop_if_failed(result, &lane->bench->failed);
    lane->bench->done += lane->bench->per_request;
}

static void produce_all(struct bench *b)
{
    b->begun = b->done = 0;
    double start = seconds(), cpu = cpu_seconds();
    while (b->done < b->wanted && !b->failed) {
        for (unsigned i = 0; i < b->in_flight; i++) {
            struct lane *lane = &b->lanes[i];
            if (lane->busy || b->begun >= b->wanted)
                continue;
            lane->busy = true;
            fill(lane->batch, lane->partition, b->begun + 1, b->per_request);
            b->begun += b->per_request;
            iggy_produce(b->client, text("bench_client"), text("t"), lane->batch, on_produced, lane);
        }
        iggy_client_drive(b->client, 1000, NULL, 0);
    }
    double spent = seconds() - start;
    printf("produced: %.0f messages/s (%u per request, %u in flight), %.2f us of our CPU per message\n",
           (double)b->done / spent, b->per_request, b->in_flight,
           (cpu_seconds() - cpu) / (double)b->done * 1e6);
}

static void on_polled(void *arg, const struct iggy_result *result, const struct iggy_polled *polled)
{
    struct lane *lane = arg;
    lane->busy = false;
    /* 504 right after a creation is ordinary; the lane asks again. */
    if (result->http_status != 504)
        stop_if_failed(result, &lane->bench->failed);
    lane->next_offset += polled->count;
    lane->bench->done += polled->count;
    if (polled->count && polled->messages[0].payload.len != PAYLOAD)
        lane->bench->failed = true;
}

static void poll_all(struct bench *b)
{
    uint64_t wanted = b->done;
    b->done = 0;
    double start = seconds(), cpu = cpu_seconds();
    while (b->done < wanted && !b->failed) {
        for (unsigned i = 0; i < b->in_flight; i++) {
            struct lane *lane = &b->lanes[i];
            struct iggy_poll poll = {.stream = text("bench_client"),
                                     .topic = text("t"),
                                     .partition_id = lane->partition,
                                     .strategy = IGGY_FROM_OFFSET,
                                     .value = lane->next_offset,
                                     .count = b->per_request};
            if (!lane->busy && iggy_poll(b->client, &poll, on_polled, lane))
                lane->busy = true;
        }
        iggy_client_drive(b->client, 1000, NULL, 0);
    }
    double spent = seconds() - start;
    printf("polled: %.0f messages/s, %.2f us of our CPU per message\n", (double)b->done / spent,
           (cpu_seconds() - cpu) / (double)b->done * 1e6);
    while (iggy_client_drive(b->client, 100, NULL, 0) > 0)
        continue;
}

static bool set_up(struct bench *b)
{
    int state = 0;
    struct iggy_topic_options options = {.partitions = b->in_flight};
    wait_for(b->client, iggy_delete_stream(b->client, text("bench_client"), on_done, &state), &state);
    state = 0;
    if (!wait_for(b->client, iggy_create_stream(b->client, text("bench_client"), on_done, &state), &state))
        return false;
    state = 0;
    return wait_for(b->client,
                    iggy_create_topic(b->client, text("bench_client"), text("t"), &options, on_done, &state),
                    &state);
}

static int run(struct bench *b)
{
    if (!set_up(b))
        return 1;
    for (unsigned i = 0; i < b->in_flight; i++) {
        b->lanes[i] = (struct lane){.bench = b, .batch = iggy_batch_new(), .partition = i};
        if (!b->lanes[i].batch)
            return 1;
    }
    produce_all(b);
    if (!b->failed)
        poll_all(b);
    int state = 0;
    wait_for(b->client, iggy_delete_stream(b->client, text("bench_client"), on_done, &state), &state);
    for (unsigned i = 0; i < b->in_flight; i++)
        iggy_batch_free(b->lanes[i].batch);
    return b->failed ? 1 : 0;
}

static uint64_t number(int argc, char **argv, int i, uint64_t otherwise, uint64_t most)
{
    uint64_t n = argc > i ? strtoull(argv[i], NULL, 10) : otherwise;
    return n == 0 || n > most ? otherwise : n;
}

int main(int argc, char **argv)
{
    measure_base64(60);
    measure_base64(200);
    measure_base64(65536);
    measure_batch();
    if (argc < 4)
        return 0;
    const char *urls[] = {argv[1]};
    struct iggy_options options = {.urls = urls, .url_count = 1, .username = argv[2], .password = argv[3]};
    char error[256];
    struct bench bench = {
        .client = iggy_client_new(&options, error, sizeof error),
        .wanted = number(argc, argv, 4, 1000000, 1000000000),
        .per_request = (unsigned)number(argc, argv, 5, 1000, 4000),
        .in_flight = (unsigned)number(argc, argv, 6, 2, MAX_IN_FLIGHT),
    };
    if (!bench.client) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    int code = run(&bench);
    iggy_client_free(bench.client);
    return code;
}
