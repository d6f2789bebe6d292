/*
 * cache: what was found out about a topic, for a bounded number of topics.
 *
 * Sets of four places with second chance inside a set: constant work per call, no lists, and topics that are
 * seen once do not push out those that come again. Owned by one thread.
 */
#ifndef MI_CACHE_H
#define MI_CACHE_H

#include "base/bytes.h"

/* The first member of what is remembered; the whole is one malloc. */
struct mi_cached {
    struct mi_span topic; /* points into the same malloc */
};

struct mi_cache;
/* For at most topics entries, at least 1. NULL when memory is out. */
struct mi_cache *mi_cache_new(size_t topics);
void mi_cache_free(struct mi_cache *cache);

/* NULL: not remembered. *hash is for mi_cache_put. */
struct mi_cached *mi_cache_get(struct mi_cache *cache, struct mi_span topic, uint64_t *hash);
/* Takes entry over, of a topic that get did not find; may free another one. */
void mi_cache_put(struct mi_cache *cache, struct mi_cached *entry, uint64_t hash);

#endif
