#include "in/saved.h"

#include "base/fnv.h"

#include <stdlib.h>

struct mi_saved_entry {
    uint32_t hash;
    bool taken;
    size_t at;
};

enum { MAX_BYTES = 256 << 20 };

void mi_saved_init(struct mi_saved *s)
{
    *s = (struct mi_saved){0};
    mi_buf_init(&s->bytes, MAX_BYTES);
}

void mi_saved_fini(struct mi_saved *s)
{
    mi_buf_fini(&s->bytes);
    free(s->entries);
    s->entries = NULL;
    s->count = 0;
}

static uint32_t hash_of(uint32_t route, struct mi_span stream, struct mi_span topic)
{
    return mi_fnv32(mi_fnv32_byte(mi_fnv32(MI_FNV32 ^ route, stream), 0xff), topic);
}

static int compare(const void *a, const void *b)
{
    const struct mi_saved_entry *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

bool mi_saved_load(struct mi_saved *s, struct mi_span positions)
{
    struct mi_position p;
    size_t at = 0, count = 0;
    int found;
    mi_saved_fini(s);
    mi_buf_reset(&s->bytes);
    while ((found = mi_positions_next(positions, &at, &p)) == 1)
        count++;
    if (found < 0)
        return false;
    struct mi_saved_entry *entries = calloc(count ? count : 1, sizeof *entries);
    if (!entries || !mi_buf_add_span(&s->bytes, positions)) {
        free(entries);
        return false;
    }
    s->entries = entries;
    size_t before = at = 0;
    while (mi_positions_next(mi_buf_span(&s->bytes), &at, &p) == 1) {
        entries[s->count++] =
            (struct mi_saved_entry){.hash = hash_of(p.route, p.stream, p.topic), .at = before};
        before = at;
    }
    qsort(entries, count, sizeof *entries, compare);
    return true;
}

static bool read_entry(const struct mi_saved *s, const struct mi_saved_entry *e, struct mi_position *p)
{
    size_t at = e->at;
    return !e->taken && mi_positions_next(mi_buf_span(&s->bytes), &at, p) == 1;
}

void mi_saved_take(struct mi_saved *s, uint32_t route, struct mi_span stream, struct mi_span topic,
                   void (*each)(void *context, const struct mi_position *p), void *context)
{
    uint32_t hash = hash_of(route, stream, topic);
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->entries[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < s->count && s->entries[low].hash == hash; low++) {
        struct mi_position p;
        if (!read_entry(s, &s->entries[low], &p) || p.route != route || !mi_span_equal(p.stream, stream) ||
            !mi_span_equal(p.topic, topic))
            continue;
        s->entries[low].taken = true;
        each(context, &p);
    }
}

bool mi_saved_write(const struct mi_saved *s, struct mi_buf *out, size_t start, bool rebuild,
                    bool (*keep)(void *context, uint32_t route), void *context)
{
    for (size_t i = 0; i < s->count; i++) {
        struct mi_position p;
        if (!read_entry(s, &s->entries[i], &p) || !keep(context, p.route))
            continue;
        p.rebuild = p.rebuild || rebuild;
        if (!mi_positions_add(out, start, &p))
            return false;
    }
    return true;
}
