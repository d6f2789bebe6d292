/*
 * missing: fixed open addressing; a reader looks at a bounded run of slots, so removal needs no tombstones.
 */
#include "out/missing.h"

#include <xxhash.h>

enum { RUN = 16 }; /* slots that an entry may stand in, from its own on */

uint64_t mi_target_hash(uint64_t seed, struct mi_span stream, struct mi_span topic)
{
    uint64_t h =
        XXH3_64bits_withSeed(topic.data, topic.len, XXH3_64bits_withSeed(stream.data, stream.len, seed));
    return h ? h : 1;
}

void mi_missing_init(struct mi_missing *m, uint64_t seed)
{
    m->seed = seed;
    atomic_init(&m->count, 0);
    for (size_t i = 0; i < MI_MISSING_SLOTS; i++)
        atomic_init(&m->slot[i], 0);
}

/* Its slot, or with value 0 a free one of its run; NULL: none. */
static _Atomic uint64_t *look(struct mi_missing *m, uint64_t hash, uint64_t value)
{
    for (size_t i = 0; i < RUN; i++) {
        _Atomic uint64_t *slot = &m->slot[(hash + i) % MI_MISSING_SLOTS];
        if (atomic_load_explicit(slot, memory_order_relaxed) == value)
            return slot;
    }
    return NULL;
}

void mi_missing_add(struct mi_missing *m, struct mi_span stream, struct mi_span topic)
{
    uint64_t hash = mi_target_hash(m->seed, stream, topic);
    if (look(m, hash, hash))
        return;
    _Atomic uint64_t *slot = look(m, hash, 0);
    if (!slot)
        return;
    atomic_store_explicit(slot, hash, memory_order_relaxed);
    atomic_fetch_add_explicit(&m->count, 1, memory_order_release);
}

void mi_missing_remove(struct mi_missing *m, struct mi_span stream, struct mi_span topic)
{
    uint64_t hash = mi_target_hash(m->seed, stream, topic);
    _Atomic uint64_t *slot = look(m, hash, hash);
    if (!slot)
        return;
    atomic_store_explicit(slot, 0, memory_order_relaxed);
    atomic_fetch_sub_explicit(&m->count, 1, memory_order_release);
}

bool mi_missing_has(struct mi_missing *m, struct mi_span stream, struct mi_span topic)
{
    if (atomic_load_explicit(&m->count, memory_order_acquire) == 0)
        return false;
    uint64_t hash = mi_target_hash(m->seed, stream, topic);
    return look(m, hash, hash) != NULL;
}
