#include "support/readback.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/process.h"

enum { PAGE = 500, ANSWER_MS = 15000 };

struct mi_readback {
    struct iggy_client *client;
    struct mi_stored *stored;
    size_t count, room;
    /* the request under way */
    bool done, ok;
    size_t got;
    uint32_t partitions;
    uint64_t next_id;
    uint64_t offset;
};

static struct iggy_span span(const char *text)
{
    return (struct iggy_span){(const uint8_t *)text, strlen(text)};
}

struct mi_readback *mi_readback_new(uint16_t port)
{
    char url[64], error[256];
    snprintf(url, sizeof url, "http://127.0.0.1:%u", port);
    const char *urls[] = {url};
    struct iggy_options o = {.urls = urls,
                             .url_count = 1,
                             .username = "iggy",
                             .password = "iggy",
                             .request_timeout_ms = ANSWER_MS,
                             .max_answer_bytes = 64u << 20};
    struct mi_readback *r = calloc(1, sizeof *r);
    if (r)
        r->client = iggy_client_new(&o, error, sizeof error);
    if (!r || !r->client) {
        free(r);
        return NULL;
    }
    return r;
}

static void forget(struct mi_readback *r)
{
    for (size_t i = 0; i < r->count; i++) {
        mi_buf_fini(&r->stored[i].headers);
        mi_buf_fini(&r->stored[i].body);
        mi_buf_fini(&r->stored[i].scratch);
    }
    r->count = 0;
}

void mi_readback_free(struct mi_readback *r)
{
    if (!r)
        return;
    forget(r);
    free(r->stored);
    iggy_client_free(r->client);
    free(r);
}

static void finish(struct mi_readback *r, const struct iggy_result *result)
{
    r->done = true;
    r->ok = result->kind == IGGY_OK;
}

static bool wait_for(struct mi_readback *r, iggy_request request)
{
    r->done = r->ok = false;
    for (uint64_t end = mi_monotonic_ms() + ANSWER_MS; request && !r->done && mi_monotonic_ms() < end;)
        iggy_client_drive(r->client, 20, NULL, 0);
    return r->done && r->ok;
}

static void on_done(void *arg, const struct iggy_result *result)
{
    finish(arg, result);
}

static void on_topic(void *arg, const struct iggy_result *result, const struct iggy_topic *topic)
{
    struct mi_readback *r = arg;
    finish(r, result);
    r->partitions = r->ok ? topic->partitions_count : 0;
}

static void store(struct mi_readback *r, uint32_t partition, const struct iggy_polled_message *m)
{
    if (r->count == r->room) {
        r->room = r->room ? 2 * r->room : 256;
        r->stored = realloc(r->stored, r->room * sizeof *r->stored);
        if (!r->stored)
            abort();
    }
    struct mi_stored *s = &r->stored[r->count++];
    *s = (struct mi_stored){.id = m->id, .partition = partition, .offset = m->offset};
    mi_buf_init(&s->headers, 1 << 20);
    mi_buf_init(&s->body, 64 << 20);
    mi_buf_init(&s->scratch, 64 << 20);
    mi_buf_add(&s->headers, m->headers.data, m->headers.len);
    mi_buf_add(&s->body, m->payload.data, m->payload.len);
    const char *why;
    s->kind =
        mi_envelope_decode(mi_buf_span(&s->headers), mi_buf_span(&s->body), &s->message, &s->scratch, &why);
}

static void on_polled(void *arg, const struct iggy_result *result, const struct iggy_polled *polled)
{
    struct mi_readback *r = arg;
    finish(r, result);
    r->got = r->ok ? polled->count : 0;
    for (size_t i = 0; i < r->got; i++)
        store(r, polled->partition_id, &polled->messages[i]);
}

static bool read_partition(struct mi_readback *r, const char *stream, const char *topic, uint32_t partition)
{
    uint64_t from = 0;
    do {
        struct iggy_poll p = {.stream = span(stream),
                              .topic = span(topic),
                              .partition_id = partition,
                              .strategy = IGGY_FROM_OFFSET,
                              .value = from,
                              .count = PAGE,
                              .consumer = "77"};
        if (!wait_for(r, iggy_poll(r->client, &p, on_polled, r)))
            return false;
        if (r->got)
            from = r->stored[r->count - 1].offset + 1;
    } while (r->got > 0);
    return true;
}

bool mi_readback_read(struct mi_readback *r, const char *stream, const char *topic)
{
    forget(r);
    if (!wait_for(r, iggy_get_topic(r->client, span(stream), span(topic), on_topic, r)))
        return false;
    for (uint32_t p = 0, n = r->partitions; p < n; p++)
        if (!read_partition(r, stream, topic, p))
            return false;
    return true;
}

size_t mi_readback_count(const struct mi_readback *r)
{
    return r->count;
}

const struct mi_stored *mi_readback_at(const struct mi_readback *r, size_t index)
{
    return &r->stored[index];
}

bool mi_readback_wait(struct mi_readback *r, const char *stream, const char *topic, size_t count,
                      unsigned timeout_ms)
{
    uint64_t end = mi_monotonic_ms() + timeout_ms;
    while ((!mi_readback_read(r, stream, topic) || r->count < count) && mi_monotonic_ms() < end)
        mi_sleep_ms(20);
    if (r->count != count)
        printf("\n%s/%s holds %zu messages, not %zu\n", stream, topic, r->count, count);
    return r->count == count;
}

const struct mi_stored *mi_readback_of(const struct mi_readback *r, const char *mqtt_topic)
{
    const struct mi_stored *found = NULL;
    for (size_t i = 0; i < r->count; i++) {
        if (r->stored[i].kind != MI_DECODED_MQTT ||
            !mi_span_equal(r->stored[i].message.topic, mi_span_of(mqtt_topic)))
            continue;
        if (found)
            return NULL;
        found = &r->stored[i];
    }
    return found;
}

bool mi_readback_create(struct mi_readback *r, const char *stream, const char *topic, uint32_t partitions)
{
    struct iggy_topic_options o = {.partitions = partitions};
    return wait_for(r, iggy_create_stream(r->client, span(stream), on_done, r)) &&
           wait_for(r, iggy_create_topic(r->client, span(stream), span(topic), &o, on_done, r));
}

bool mi_readback_delete(struct mi_readback *r, const char *stream, const char *topic)
{
    return wait_for(r, iggy_delete_topic(r->client, span(stream), span(topic), on_done, r));
}

static void on_produced(void *arg, const struct iggy_result *result, const struct iggy_produced *produced)
{
    (void)produced;
    finish(arg, result);
}

bool mi_readback_produce_bytes(struct mi_readback *r, const char *stream, const char *topic,
                               uint32_t partition, struct mi_span headers, struct mi_span payload)
{
    struct iggy_batch *batch = iggy_batch_new();
    iggy_batch_start(batch, partition);
    bool ok = iggy_batch_add(batch, (struct iggy_id){0x7e57, ++r->next_id},
                             (struct iggy_span){headers.data, headers.len},
                             (struct iggy_span){payload.data, payload.len}, span("")) &&
              wait_for(r, iggy_produce(r->client, span(stream), span(topic), batch, on_produced, r));
    iggy_batch_free(batch);
    return ok;
}

bool mi_readback_produce(struct mi_readback *r, const char *stream, const char *topic, uint32_t partition,
                         struct mi_span headers, const char *payload)
{
    return mi_readback_produce_bytes(r, stream, topic, partition, headers, mi_span_of(payload));
}

uint32_t mi_readback_partitions(struct mi_readback *r, const char *stream, const char *topic)
{
    return wait_for(r, iggy_get_topic(r->client, span(stream), span(topic), on_topic, r)) ? r->partitions : 0;
}

static void on_offset(void *arg, const struct iggy_result *result, const struct iggy_offset *offset)
{
    struct mi_readback *r = arg;
    r->done = true;
    r->ok = result->kind == IGGY_OK && offset->stored;
    r->offset = offset->offset;
}

bool mi_readback_consumer(struct mi_readback *r, const char *stream, const char *topic, uint32_t partition,
                          const char *consumer, uint64_t *offset)
{
    bool found =
        wait_for(r, iggy_get_offset(r->client, span(stream), span(topic), partition, consumer, on_offset, r));
    *offset = r->offset;
    return found;
}
