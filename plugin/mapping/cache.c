#include "mapping/cache.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { WAYS = 4 };

struct set {
    uint32_t tag[WAYS];
    struct mi_cached *entry[WAYS];
    bool used[WAYS]; /* asked for since the hand passed */
    uint8_t hand;
};

struct mi_cache {
    struct set *sets;
    uint32_t set_count;
    uint32_t ways; /* fewer than WAYS only in a cache smaller than one set */
};

static struct set *set_of(struct mi_cache *c, uint64_t hash);

struct mi_cache *mi_cache_new(size_t topics)
{
    struct mi_cache *c = calloc(1, sizeof *c);
    if (!c || topics > UINT32_MAX) {
        free(c);
        return NULL;
    }
    c->ways = topics < WAYS ? (uint32_t)topics : WAYS;
    c->set_count = topics < WAYS ? 1 : (uint32_t)(topics / WAYS);
    c->sets = calloc(c->set_count, sizeof *c->sets);
    if (!c->sets) {
        free(c);
        return NULL;
    }
    return c;
}

void mi_cache_free(struct mi_cache *c)
{
    if (!c)
        return;
    for (uint32_t i = 0; i < c->set_count; i++) {
        for (uint32_t w = 0; w < c->ways; w++)
            free(c->sets[i].entry[w]);
    }
    free(c->sets);
    free(c);
}

struct mi_cached *mi_cache_get(struct mi_cache *c, struct mi_span topic, uint64_t *hash)
{
    *hash = XXH3_64bits(topic.data, topic.len);
    struct set *s = set_of(c, *hash);
    for (uint32_t w = 0; w < c->ways; w++) {
        if (s->tag[w] != (uint32_t)*hash || !s->entry[w] || !mi_span_equal(s->entry[w]->topic, topic))
            continue;
        s->used[w] = true;
        return s->entry[w];
    }
    return NULL;
}

void mi_cache_put(struct mi_cache *c, struct mi_cached *entry, uint64_t hash)
{
    struct set *s = set_of(c, hash);
    while (s->entry[s->hand] && s->used[s->hand]) {
        s->used[s->hand] = false;
        s->hand = (uint8_t)((s->hand + 1) % c->ways);
    }
    free(s->entry[s->hand]);
    s->entry[s->hand] = entry;
    s->tag[s->hand] = (uint32_t)hash;
    s->used[s->hand] = false;
    s->hand = (uint8_t)((s->hand + 1) % c->ways);
}

/* The upper half of the hash picks the set, the lower half is the tag. */
static struct set *set_of(struct mi_cache *c, uint64_t hash)
{
    return &c->sets[(hash >> 32) * c->set_count >> 32];
}
