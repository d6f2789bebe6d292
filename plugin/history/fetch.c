#include "history/fetch.h"

#include <string.h>

enum {
    FIRST_COUNT = 100,
    MAX_COUNT = 1000,
    WANTED_BYTES = 256 * 1024, /* of one answer's messages: about a millisecond of the bridge thread */
    FRAME_BYTES = 64,          /* what a message costs beside headers and payload */
    LONGEST_REST_MS = 50,
    MAX_FAILURES = 6,
    BACKOFF_FIRST_MS = 50
};

static void answered(void *arg, const struct iggy_result *result, const struct iggy_polled *answer);

void mi_fetch_init(struct mi_fetch *f, const struct mi_fetch_options *options)
{
    *f = (struct mi_fetch){.o = *options, .most = FIRST_COUNT};
}

void mi_fetch_cancel(struct mi_fetch *f)
{
    iggy_request request = f->request;
    f->request = 0;
    if (!request)
        return;
    (*f->o.under_way)--;
    iggy_client_cancel(f->o.client, request);
}

bool mi_fetch_busy(const struct mi_fetch *f)
{
    return f->request != 0;
}

uint32_t mi_fetch_most(const struct mi_fetch *f)
{
    return f->most;
}

size_t mi_fetch_weight(const struct iggy_polled_message *m)
{
    return FRAME_BYTES + m->headers.len + m->payload.len;
}

bool mi_fetch_poll(struct mi_fetch *f, const struct mi_place *place, uint32_t partition,
                   enum iggy_strategy strategy, uint64_t value, uint32_t want)
{
    f->partition = partition;
    f->count = want < f->most ? want : f->most;
    f->exact = strategy == IGGY_FROM_OFFSET;
    f->value = value;
    struct iggy_poll poll = {
        .stream = {(const uint8_t *)place->stream, strlen(place->stream)},
        .topic = {(const uint8_t *)place->topic, strlen(place->topic)},
        .partition_id = partition,
        .strategy = strategy,
        .value = value,
        .count = f->count,
        .max_bytes = f->o.max_bytes,
    };
    f->request = iggy_poll(f->o.client, &poll, answered, f);
    if (!f->request)
        return false;
    (*f->o.under_way)++;
    f->polls++;
    f->started_ns = mi_now_ns(f->o.clock);
    return true;
}

static void tell(struct mi_fetch *f, enum mi_fetched what, const struct iggy_polled *answer, const char *why)
{
    f->o.done(f->o.context, what, answer, why);
}

static void later(struct mi_fetch *f, const char *why)
{
    if (++f->failures > MAX_FAILURES) {
        tell(f, MI_FETCH_FAILED, NULL, why);
        return;
    }
    f->due_ns = mi_now_ns(f->o.clock) + ((uint64_t)BACKOFF_FIRST_MS << (f->failures - 1)) * MI_NS_PER_MS;
    tell(f, MI_FETCH_AGAIN, NULL, NULL);
}

/* Asked smaller, and at last left out. */
static void too_large(struct mi_fetch *f)
{
    if (f->count > 1) {
        f->most = f->count / 2;
        tell(f, MI_FETCH_AGAIN, NULL, NULL);
    } else if (!f->exact) {
        tell(f, MI_FETCH_FAILED, NULL, "the first message of this time is too large to be read");
    } else {
        f->most = FIRST_COUNT;
        tell(f, MI_FETCH_SKIP, NULL, NULL);
    }
}

static void failed(struct mi_fetch *f, const struct iggy_result *result)
{
    if (result->kind == IGGY_GARBLED && result->too_large)
        too_large(f);
    else if (result->kind == IGGY_GARBLED)
        later(f, "Iggy's answers cannot be read");
    else if (result->kind == IGGY_HTTP && result->http_status == 404)
        tell(f, MI_FETCH_GONE, NULL, NULL);
    else if (result->kind == IGGY_HTTP && result->http_status == 403)
        tell(f, MI_FETCH_FAILED, NULL, "the bridge's user may not read this topic in Iggy");
    else
        later(f, "Iggy cannot be read now");
}

/* The next answer shall weigh about WANTED_BYTES, well below the most that one may have (JSON and base64 make
 * it larger); it grows by a factor of four at most. */
static void adapt(struct mi_fetch *f, const struct iggy_polled *answer)
{
    size_t bytes = 0, wanted = f->o.max_bytes / 4 < WANTED_BYTES ? f->o.max_bytes / 4 : WANTED_BYTES;
    for (size_t i = 0; i < answer->count; i++)
        bytes += mi_fetch_weight(&answer->messages[i]);
    size_t fit = answer->count ? wanted / (bytes / answer->count + 1) : MAX_COUNT;
    size_t most = (size_t)f->most * 4;
    most = most < fit ? most : fit;
    f->most = (uint32_t)(most < 1 ? 1 : most > MAX_COUNT ? MAX_COUNT : most);
}

static void answered(void *arg, const struct iggy_result *result, const struct iggy_polled *answer)
{
    struct mi_fetch *f = arg;
    if (!f->request)
        return; /* mi_fetch_cancel */
    f->request = 0;
    (*f->o.under_way)--;
    uint64_t now = mi_now_ns(f->o.clock), took = now - f->started_ns;
    *f->o.rest_ns = now + (took < LONGEST_REST_MS * MI_NS_PER_MS ? took : LONGEST_REST_MS * MI_NS_PER_MS);
    if (result->kind != IGGY_OK) {
        failed(f, result);
        return;
    }
    /* 0.8 names partition 0 in every empty answer. */
    if (answer->count > 0 && answer->partition_id != f->partition) {
        later(f, "Iggy answers for another partition");
        return;
    }
    if (f->exact && answer->count > 0 && answer->messages[answer->count - 1].offset < f->value) {
        later(f, "Iggy answers with other messages than those asked for");
        return;
    }
    f->failures = 0;
    adapt(f, answer);
    tell(f, MI_FETCHED, answer, NULL);
}
