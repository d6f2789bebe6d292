/*
 * missing: the set of targets known to be missing, written by the bridge thread, read by the main thread at
 * PUBLISH without a lock. Holds 64-bit hashes with a random seed; what does not fit is not in it (the route
 * then holds instead of refusing).
 */
#ifndef MI_MISSING_H
#define MI_MISSING_H

#include <stdatomic.h>

#include "base/bytes.h"

enum { MI_MISSING_SLOTS = 4096 };

struct mi_missing {
    uint64_t seed; /* constant after init */
    _Atomic uint32_t count;
    _Atomic uint64_t slot[MI_MISSING_SLOTS]; /* 0 free */
};

void mi_missing_init(struct mi_missing *m, uint64_t seed);
void mi_missing_add(struct mi_missing *m, struct mi_span stream, struct mi_span topic);    /* bridge thread */
void mi_missing_remove(struct mi_missing *m, struct mi_span stream, struct mi_span topic); /* bridge thread */
bool mi_missing_has(struct mi_missing *m, struct mi_span stream, struct mi_span topic);    /* any thread */

/* Seeded hash of a target, also for out's own tables. */
uint64_t mi_target_hash(uint64_t seed, struct mi_span stream, struct mi_span topic);

#endif
