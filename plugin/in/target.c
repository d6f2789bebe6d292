#include "in/target.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_COUNT = 100, BACKOFF_FIRST_MS = 100, BACKOFF_STEPS = 6, SAME_TOPIC_US = 1000000 };

static char *text_of(struct mi_span s)
{
    char *text = malloc(s.len + 1);
    if (text) {
        memcpy(text, s.data, s.len);
        text[s.len] = '\0';
    }
    return text;
}

struct mi_target *mi_target_new(size_t route, uint32_t route_id, struct mi_span stream, struct mi_span topic)
{
    struct mi_target *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->route = route;
    t->route_id = route_id;
    t->stream = text_of(stream);
    t->topic = text_of(topic);
    t->may_ask = true;
    t->wanted = true;
    t->pace_ns = MI_PACE_MIN_NS;
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
    free(t->stream);
    free(t->topic);
    free(t->readers);
    free(t);
}

/* Makes room for readers of partitions 0..count-1. */
static bool make_readers(struct mi_target *t, uint32_t count, uint32_t *next_id)
{
    if (count <= t->reader_count)
        return true;
    struct mi_reader *readers = realloc(t->readers, count * sizeof *readers);
    if (!readers)
        return false;
    t->readers = readers;
    for (uint32_t p = t->reader_count; p < count; p++)
        readers[p] = (struct mi_reader){.id = (*next_id)++, .partition = p, .count = FIRST_COUNT};
    t->reader_count = count;
    return true;
}

/* Iggy 0.8 gives a topic another stamp, some milliseconds off, at the first restart
 * (docs/iggy-compatibility.md): less than a second is the same topic. */
static bool differs(uint64_t a_us, uint64_t b_us)
{
    return (a_us > b_us ? a_us - b_us : b_us - a_us) >= SAME_TOPIC_US;
}

static void place(struct mi_reader *r, uint64_t at)
{
    r->placed = true;
    r->next = r->delivered = at;
}

/* A partition that appeared later is read from its beginning: nothing in it was there before we looked. */
static void place_new(struct mi_reader *r, enum mi_start start, bool first_look)
{
    place(r, start == MI_START_LATEST && first_look ? r->end : 0);
}

static enum mi_target_change take_partition(struct mi_reader *r, const struct iggy_partition *p,
                                            enum mi_start start, bool first_look, bool made_again)
{
    r->end = p->messages_count == 0 && p->current_offset == 0 ? 0 : p->current_offset + 1;
    if (made_again) {
        place(r, 0);
        return MI_TARGET_MADE_AGAIN;
    }
    if (!r->placed) {
        place_new(r, start, first_look);
    } else if (r->end < r->next && !r->polling) {
        place(r, r->end);
        return MI_TARGET_TAIL_LOST;
    }
    return MI_TARGET_SAME;
}

enum mi_target_change mi_target_details(struct mi_target *t, const struct iggy_topic *topic,
                                        enum mi_start start, uint32_t *next_id)
{
    if (t->from_end)
        start = MI_START_LATEST;
    bool first_look = t->created_at == 0 && !t->was_missing;
    bool made_again = t->created_at != 0 && differs(t->created_at, topic->created_at);
    enum mi_target_change change = MI_TARGET_SAME;
    if (!make_readers(t, topic->partitions_count, next_id))
        return MI_TARGET_SAME;
    t->created_at = topic->created_at;
    for (uint32_t i = 0; topic->partitions && i < topic->partitions_count; i++) {
        const struct iggy_partition *p = &topic->partitions[i];
        if (p->id >= t->reader_count)
            continue;
        enum mi_target_change c = take_partition(&t->readers[p->id], p, start, first_look, made_again);
        if (c > change)
            change = c;
    }
    return change;
}

void mi_target_blind(struct mi_target *t, uint32_t count, enum mi_start start, uint32_t *next_id)
{
    t->may_ask = false;
    if (!make_readers(t, count, next_id))
        return;
    for (uint32_t p = 0; p < t->reader_count; p++) {
        struct mi_reader *r = &t->readers[p];
        r->end = UINT64_MAX;
        /* "latest" is found by the first answer's current_offset; see in.c. */
        if (!r->placed && start == MI_START_EARLIEST)
            place(r, 0);
    }
}

void mi_target_wanted_again(struct mi_target *t)
{
    t->due_ns = 0;
    if (t->created_at == 0 && t->may_ask)
        return; /* never looked at: the route's start holds */
    t->from_end = true;
    t->created_at = 0;
    t->was_missing = false;
    for (uint32_t p = 0; p < t->reader_count; p++)
        t->readers[p].placed = false;
}

void mi_target_pace(struct mi_target *t, uint64_t now_ns, bool had_traffic, uint64_t slowest_ns)
{
    t->failures = 0;
    t->pace_ns = had_traffic ? MI_PACE_MIN_NS : t->pace_ns + t->pace_ns / 8;
    if (t->pace_ns > slowest_ns)
        t->pace_ns = slowest_ns;
    t->due_ns = now_ns + t->pace_ns;
}

void mi_target_failed(struct mi_target *t, uint64_t now_ns)
{
    unsigned step = t->failures < BACKOFF_STEPS ? t->failures : BACKOFF_STEPS;
    t->failures++;
    t->due_ns = now_ns + ((uint64_t)BACKOFF_FIRST_MS << step) * 1000000ull;
}

bool mi_reader_wants(const struct mi_target *t, const struct mi_reader *r, uint64_t now_ns)
{
    if (r->polling || now_ns < r->due_ns)
        return false;
    return t->may_ask ? r->placed && r->next < r->end : true;
}

void mi_target_restore(struct mi_target *t, uint32_t partition, uint64_t created_at, uint64_t next,
                       uint32_t *next_id)
{
    if (partition >= 1000000 || !make_readers(t, partition + 1, next_id))
        return;
    t->created_at = created_at;
    place(&t->readers[partition], next);
}
