#include "in/target.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum {
    BACKOFF_FIRST_MS = 100,
    BACKOFF_MAX_MS = 5000,
    BACKOFF_MISSING_MS = 1000,
    BACKOFF_STEPS = 6,
    SAME_TOPIC_US = 1000000,
    BLURRED_FAILURES = 4 /* so many in a row, and what came meanwhile was not watched */
};

struct mi_target *mi_target_new(size_t route, uint32_t route_id, struct mi_span stream, struct mi_span topic)
{
    struct mi_target *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->route = route;
    t->route_id = route_id;
    t->stream = mi_span_text(stream);
    t->topic = mi_span_text(topic);
    t->may_ask = true;
    t->wanted = true;
    t->count_seen = MI_COUNT_UNKNOWN;
    t->asks.owner = t->timer.owner = t->in_stream.owner = t;
    if (!t->stream || !t->topic) {
        mi_target_free(t);
        return NULL;
    }
    return t;
}

void mi_target_free(struct mi_target *t)
{
    if (!t)
        return;
    for (uint32_t p = 0; p < t->reader_count; p++)
        free(t->readers[p]);
    free(t->readers);
    free(t->stream);
    free(t->topic);
    free(t->filters);
    free(t);
}

bool mi_target_grow(struct mi_target *t, uint32_t count)
{
    if (count > MI_MAX_PARTITIONS)
        count = MI_MAX_PARTITIONS;
    if (count <= t->reader_count)
        return true;
    struct mi_reader **readers = realloc(t->readers, count * sizeof *readers);
    if (!readers)
        return false;
    t->readers = readers;
    while (t->reader_count < count) {
        struct mi_reader *r = calloc(1, sizeof *r);
        if (!r)
            return false;
        r->target = t;
        r->partition = t->reader_count;
        r->rebuild =
            true; /* one that finds its first place takes over the values of all that was before it */
        r->ready.owner = r->timer.owner = r->unsaved.owner = r->unmirrored.owner = r;
        t->readers[t->reader_count++] = r;
    }
    return true;
}

/* Iggy 0.8 gives a topic another stamp, some milliseconds off, at the first restart
 * (docs/iggy-compatibility.md): less than a second is the same topic. */
bool mi_target_made_again(const struct mi_target *t, const struct iggy_topic *topic)
{
    uint64_t a = t->created_at, b = topic->created_at;
    return a != 0 && (a > b ? a - b : b - a) >= SAME_TOPIC_US;
}

static uint64_t end_of(const struct iggy_partition *p)
{
    return p->messages_count == 0 && p->current_offset == 0 ? 0 : p->current_offset + 1;
}

void mi_target_details(struct mi_target *t, const struct iggy_topic *topic, enum mi_start start,
                       uint32_t round,
                       void (*each)(void *context, struct mi_reader *r, const struct mi_judgement *j),
                       void *context)
{
    bool first_look = t->created_at == 0 && !t->was_missing;
    bool made_again = mi_target_made_again(t, topic);
    t->created_at = topic->created_at;
    t->count_seen = topic->messages_count;
    for (uint32_t i = 0; topic->partitions && i < topic->partitions_count; i++) {
        const struct iggy_partition *p = &topic->partitions[i];
        if (p->id >= t->reader_count)
            continue;
        struct mi_reader *r = t->readers[p->id];
        struct mi_judgement j = {0};
        /* A partition that appeared while we look is read from its beginning: all in it came meanwhile. */
        bool is_new = made_again || (!r->placed && !first_look && !t->at_tail);
        if (is_new) {
            r->end = r->live = 0;
            j.new_life = mi_reader_place(r, 0, NULL);
        }
        if (t->failures > BLURRED_FAILURES)
            r->end_round = 0;
        mi_reader_saw_end(r, end_of(p), round, is_new);
        if (!r->placed || t->at_tail)
            j.new_life = mi_reader_place(r, t->at_tail || start == MI_START_LATEST ? r->end : 0, NULL);
        else if (!is_new)
            j = mi_reader_details(r, p);
        each(context, r, &j);
    }
    t->at_tail = false;
}

uint64_t mi_target_backoff(struct mi_target *t, bool missing)
{
    unsigned step = t->failures < BACKOFF_STEPS ? t->failures : BACKOFF_STEPS;
    t->failures++;
    uint64_t ms = (uint64_t)BACKOFF_FIRST_MS << step, most = missing ? BACKOFF_MISSING_MS : BACKOFF_MAX_MS;
    return (ms < most ? ms : most) * MI_NS_PER_MS;
}
