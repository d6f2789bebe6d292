#include "in/mirror.h"

#include <stdio.h>
#include <stdlib.h>

enum { AT_A_TIME = 2, SPACING_MS = 10, REFUSED_PAUSE_S = 60, LOG_EVERY_S = 3600 };

struct mi_mirror {
    struct iggy_client *client;
    const struct mi_clock *clock;
    const struct mi_log *log;
    char consumer[16];
    iggy_request requests[AT_A_TIME]; /* 0: free */
    uint64_t not_before_ns;
    struct mi_log_limit limit;
};

struct asked {
    struct mi_mirror *mirror;
    size_t slot;
};

struct mi_mirror *mi_mirror_new(struct iggy_client *client, const char *identity,
                                const struct mi_clock *clock, const struct mi_log *log)
{
    struct mi_mirror *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->client = client;
    m->clock = clock;
    m->log = log;
    snprintf(m->consumer, sizeof m->consumer, "mqtt-%.8s", identity);
    return m;
}

void mi_mirror_free(struct mi_mirror *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < AT_A_TIME; i++)
        if (m->requests[i])
            iggy_client_cancel(m->client, m->requests[i]);
    free(m);
}

static bool has_slot(const struct mi_mirror *m, size_t *slot)
{
    for (*slot = 0; *slot < AT_A_TIME; (*slot)++)
        if (!m->requests[*slot])
            return true;
    return false;
}

bool mi_mirror_may(const struct mi_mirror *m, uint64_t now_ns, uint64_t *due)
{
    size_t slot;
    *due = now_ns < m->not_before_ns ? m->not_before_ns : now_ns + SPACING_MS * MI_NS_PER_MS;
    return now_ns >= m->not_before_ns && has_slot(m, &slot);
}

/* Refused as a rule for want of a right, or because the partition ends before that offset after a loss. */
static void stored(void *arg, const struct iggy_result *result)
{
    struct asked *a = arg;
    struct mi_mirror *m = a->mirror;
    m->requests[a->slot] = 0;
    free(a);
    if (result->kind == IGGY_OK || result->kind == IGGY_CANCELLED)
        return;
    uint64_t now = mi_now_ns(m->clock);
    m->not_before_ns = now + (result->http_status == 403 ? REFUSED_PAUSE_S : 1) * MI_NS_PER_S;
    mi_log_limited(m->log, &m->limit, now, LOG_EVERY_S * MI_NS_PER_S, MI_LOG_INFO,
                   "consumer %s: Iggy does not show where reading stands: %s (nothing else depends on it)",
                   m->consumer, result->text);
}

void mi_mirror_store(struct mi_mirror *m, struct mi_span stream, struct mi_span topic, uint32_t partition,
                     uint64_t offset, uint64_t now_ns)
{
    size_t slot;
    struct asked *a = has_slot(m, &slot) ? malloc(sizeof *a) : NULL;
    if (!a)
        return;
    *a = (struct asked){m, slot};
    struct iggy_span s = {stream.data, stream.len}, t = {topic.data, topic.len};
    m->requests[slot] = iggy_store_offset(m->client, s, t, partition, m->consumer, offset, stored, a);
    if (!m->requests[slot])
        free(a);
    m->not_before_ns = now_ns + SPACING_MS * MI_NS_PER_MS;
}
