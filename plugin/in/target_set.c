#include "in/target_set.h"

#include "base/fnv.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 16384, SLOT_BITS = 21, SLOT_MASK = (1 << SLOT_BITS) - 1 };

/* An id is a slot and how often that slot has been given out (modulo 2048): an old id is not taken for a new
 * one. */
struct slot {
    struct mi_reader *reader;
    uint32_t id;
    uint32_t next_free; /* index + 1 */
};

struct mi_target_set {
    struct mi_target *by_name[BUCKETS];
    struct mi_stream_seen *streams_by_name[BUCKETS];
    struct mi_target **list;
    size_t count, cap;
    struct mi_stream_seen **streams;
    size_t stream_count, stream_cap;
    struct slot *slots;
    uint32_t slot_count, slot_cap, free_slot;
    size_t readers;
};

struct mi_target_set *mi_target_set_new(void)
{
    return calloc(1, sizeof(struct mi_target_set));
}

static void free_stream(struct mi_stream_seen *stream)
{
    if (stream)
        free(stream->name);
    free(stream);
}

void mi_target_set_free(struct mi_target_set *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++)
        mi_target_free(s->list[i]);
    for (size_t i = 0; i < s->stream_count; i++)
        free_stream(s->streams[i]);
    free(s->list);
    free(s->streams);
    free(s->slots);
    free(s);
}

/* ---- by name ---- */

static uint32_t hash(uint32_t h, struct mi_span s)
{
    return mi_fnv32_byte(mi_fnv32(h, s), 0xff);
}

static uint32_t bucket_of(struct mi_span stream, struct mi_span topic)
{
    uint32_t h = hash(hash(MI_FNV32, stream), topic);
    return (h ^ h >> 16) % BUCKETS;
}

static uint32_t stream_bucket_of(struct mi_span name)
{
    uint32_t h = hash(MI_FNV32, name);
    return (h ^ h >> 16) % BUCKETS;
}

struct mi_target *mi_target_set_find(const struct mi_target_set *s, uint32_t route_id, struct mi_span stream,
                                     struct mi_span topic)
{
    struct mi_target *t = NULL;
    while ((t = mi_target_set_named(s, stream, topic, t)) != NULL && t->route_id != route_id)
        continue;
    return t;
}

struct mi_target *mi_target_set_named(const struct mi_target_set *s, struct mi_span stream,
                                      struct mi_span topic, const struct mi_target *after)
{
    struct mi_target *t = after ? after->next_of_hash : s->by_name[bucket_of(stream, topic)];
    while (t && !(mi_span_equal(mi_span_of(t->stream), stream) && mi_span_equal(mi_span_of(t->topic), topic)))
        t = t->next_of_hash;
    return t;
}

struct mi_stream_seen *mi_target_set_stream(const struct mi_target_set *s, struct mi_span name)
{
    struct mi_stream_seen *stream = s->streams_by_name[stream_bucket_of(name)];
    while (stream && !mi_span_equal(mi_span_of(stream->name), name))
        stream = stream->next_of_hash;
    return stream;
}

/* The list with room for one more pointer at its end; NULL when memory is out (it is then as it was). */
static void *with_room(void *list, size_t count, size_t *cap)
{
    if (count < *cap)
        return list;
    size_t more = *cap ? *cap * 2 : 16;
    void *longer = realloc(list, more * sizeof(void *));
    if (longer)
        *cap = more;
    return longer;
}

static struct mi_stream_seen *add_stream(struct mi_target_set *s, struct mi_span name)
{
    struct mi_stream_seen *stream = calloc(1, sizeof *stream);
    if (stream)
        stream->name = malloc(name.len + 1);
    struct mi_stream_seen **list = with_room(s->streams, s->stream_count, &s->stream_cap);
    s->streams = list ? list : s->streams;
    if (!stream || !stream->name || !list) {
        free_stream(stream);
        return NULL;
    }
    memcpy(stream->name, name.data, name.len);
    stream->name[name.len] = '\0';
    stream->count_seen = MI_COUNT_UNKNOWN;
    stream->may_ask = true;
    stream->asks.owner = stream;
    uint32_t bucket = stream_bucket_of(name);
    stream->next_of_hash = s->streams_by_name[bucket];
    s->streams_by_name[bucket] = stream;
    stream->place = s->stream_count;
    s->streams[s->stream_count++] = stream;
    return stream;
}

static void drop_stream(struct mi_target_set *s, struct mi_stream_seen *stream)
{
    struct mi_stream_seen **at = &s->streams_by_name[stream_bucket_of(mi_span_of(stream->name))];
    while (*at != stream)
        at = &(*at)->next_of_hash;
    *at = stream->next_of_hash;
    s->streams[stream->place] = s->streams[--s->stream_count];
    s->streams[stream->place]->place = stream->place;
    free_stream(stream);
}

struct mi_target *mi_target_set_add(struct mi_target_set *s, size_t route, uint32_t route_id,
                                    struct mi_span stream, struct mi_span topic)
{
    struct mi_target **list = s->count < MI_MAX_TARGETS ? with_room(s->list, s->count, &s->cap) : NULL;
    if (!list)
        return NULL;
    s->list = list;
    struct mi_target *t = mi_target_new(route, route_id, stream, topic);
    if (!t)
        return NULL;
    t->seen = mi_target_set_stream(s, stream);
    if (!t->seen)
        t->seen = add_stream(s, stream);
    if (!t->seen) {
        mi_target_free(t);
        return NULL;
    }
    mi_queue_add(&t->seen->targets, &t->in_stream);
    uint32_t bucket = bucket_of(stream, topic);
    t->next_of_hash = s->by_name[bucket];
    s->by_name[bucket] = t;
    t->place = s->count;
    s->list[s->count++] = t;
    return t;
}

bool mi_target_set_last_of_stream(const struct mi_target *t)
{
    return t->seen->targets.count == 1;
}

static void free_slot(struct mi_target_set *s, uint32_t id)
{
    if (id == 0)
        return;
    uint32_t i = id & SLOT_MASK;
    s->slots[i].reader = NULL;
    s->slots[i].next_free = s->free_slot;
    s->free_slot = i + 1;
}

void mi_target_set_drop(struct mi_target_set *s, struct mi_target *t)
{
    for (uint32_t p = 0; p < t->reader_count; p++) {
        s->readers -= t->readers[p]->id != 0;
        free_slot(s, t->readers[p]->id);
        free_slot(s, t->readers[p]->former_id);
    }
    struct mi_target **at = &s->by_name[bucket_of(mi_span_of(t->stream), mi_span_of(t->topic))];
    while (*at != t)
        at = &(*at)->next_of_hash;
    *at = t->next_of_hash;
    s->list[t->place] = s->list[--s->count];
    s->list[t->place]->place = t->place;
    mi_queue_remove(&t->in_stream);
    if (t->seen->targets.count == 0)
        drop_stream(s, t->seen);
    mi_target_free(t);
}

size_t mi_target_set_count(const struct mi_target_set *s)
{
    return s->count;
}

struct mi_target *mi_target_set_at(const struct mi_target_set *s, size_t index)
{
    return s->list[index];
}

size_t mi_target_set_stream_count(const struct mi_target_set *s)
{
    return s->stream_count;
}

struct mi_stream_seen *mi_target_set_stream_at(const struct mi_target_set *s, size_t index)
{
    return s->streams[index];
}

/* ---- ids of readers ---- */

static bool more_slots(struct mi_target_set *s)
{
    if (s->slot_count == s->slot_cap) {
        uint32_t cap = s->slot_cap ? s->slot_cap * 2 : 256;
        struct slot *more = cap <= SLOT_MASK + 1 ? realloc(s->slots, cap * sizeof *more) : NULL;
        if (!more)
            return false;
        s->slots = more;
        s->slot_cap = cap;
    }
    s->slots[s->slot_count] = (struct slot){.id = s->slot_count};
    s->slots[s->slot_count].next_free = s->free_slot;
    s->free_slot = ++s->slot_count;
    return true;
}

bool mi_target_set_new_id(struct mi_target_set *s, struct mi_reader *r, bool keep)
{
    uint32_t *old = keep ? &r->former_id : &r->id;
    free_slot(s, *old);
    if (keep)
        r->former_id = r->id;
    else
        s->readers -= r->id != 0;
    s->readers -= keep;
    r->id = 0;
    if (s->readers >= MI_MAX_READERS || (!s->free_slot && !more_slots(s)))
        return false;
    struct slot *slot = &s->slots[s->free_slot - 1];
    s->free_slot = slot->next_free;
    slot->id += 1u << SLOT_BITS;
    if (slot->id >> SLOT_BITS == 0) /* an id is never 0 */
        slot->id += 1u << SLOT_BITS;
    slot->reader = r;
    r->id = slot->id;
    s->readers++;
    return true;
}

struct mi_reader *mi_target_set_reader(const struct mi_target_set *s, uint32_t id)
{
    uint32_t i = id & SLOT_MASK;
    return i < s->slot_count && s->slots[i].id == id ? s->slots[i].reader : NULL;
}

size_t mi_target_set_reader_count(const struct mi_target_set *s)
{
    return s->readers;
}
