#include "auth/cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = UINT32_MAX };

struct entry {
    uint8_t hash[MI_SECRET_HASH_BYTES];
    uint64_t answered_ns;
    char *owner;             /* NULL: "" */
    uint32_t next_in_bucket; /* or in the free list */
    uint32_t newer, older;   /* by use */
    bool outdated;
};

/* One bounded table: chained buckets over an array of entries, and a list by use. */
struct table {
    struct entry *entries;
    uint32_t *buckets;
    uint32_t size, count, unused; /* entries from unused on were never taken */
    uint32_t free;
    uint32_t newest, oldest;
};

struct mi_login_cache {
    struct table right, refused;
};

/* ---- one table ---- */

static bool table_init(struct table *t, size_t entries)
{
    t->size = (uint32_t)entries;
    t->entries = calloc(entries, sizeof *t->entries);
    t->buckets = malloc(entries * sizeof *t->buckets);
    t->free = t->newest = t->oldest = NONE;
    for (size_t i = 0; t->buckets && i < entries; i++)
        t->buckets[i] = NONE;
    return t->entries && t->buckets;
}

/* The hash is keyed: nobody can choose what meets in a bucket. */
static uint32_t *bucket_of(struct table *t, const uint8_t *hash)
{
    return &t->buckets[mi_get_u64le(hash) % t->size];
}

static void unlink_use(struct table *t, uint32_t i)
{
    struct entry *e = &t->entries[i];
    *(e->newer == NONE ? &t->newest : &t->entries[e->newer].older) = e->older;
    *(e->older == NONE ? &t->oldest : &t->entries[e->older].newer) = e->newer;
}

static void link_newest(struct table *t, uint32_t i)
{
    struct entry *e = &t->entries[i];
    e->newer = NONE;
    e->older = t->newest;
    *(t->newest == NONE ? &t->oldest : &t->entries[t->newest].newer) = i;
    t->newest = i;
}

static uint32_t find(struct table *t, const uint8_t *hash)
{
    uint32_t i = *bucket_of(t, hash);
    while (i != NONE && memcmp(t->entries[i].hash, hash, MI_SECRET_HASH_BYTES) != 0)
        i = t->entries[i].next_in_bucket;
    return i;
}

static void drop(struct table *t, uint32_t i)
{
    struct entry *e = &t->entries[i];
    uint32_t *link = bucket_of(t, e->hash);
    while (*link != i)
        link = &t->entries[*link].next_in_bucket;
    *link = e->next_in_bucket;
    unlink_use(t, i);
    explicit_bzero(e->hash, sizeof e->hash);
    free(e->owner);
    e->owner = NULL;
    e->next_in_bucket = t->free;
    t->free = i;
    t->count--;
}

static uint32_t take(struct table *t)
{
    if (t->free == NONE && t->unused == t->size)
        drop(t, t->oldest);
    if (t->free == NONE)
        return t->unused++;
    uint32_t i = t->free;
    t->free = t->entries[i].next_in_bucket;
    return i;
}

static uint32_t add(struct table *t, const uint8_t *hash)
{
    uint32_t i = take(t), *bucket = bucket_of(t, hash);
    struct entry *e = &t->entries[i];
    memcpy(e->hash, hash, sizeof e->hash);
    e->next_in_bucket = *bucket;
    *bucket = i;
    link_newest(t, i);
    t->count++;
    return i;
}

static void table_fini(struct table *t)
{
    for (uint32_t i = 0; t->entries && i < t->unused; i++)
        free(t->entries[i].owner);
    free(t->entries);
    free(t->buckets);
}

/* ---- the cache ---- */

struct mi_login_cache *mi_login_cache_new(size_t entries)
{
    struct mi_login_cache *c = calloc(1, sizeof *c);
    if (c && table_init(&c->right, entries) && table_init(&c->refused, entries))
        return c;
    mi_login_cache_free(c);
    return NULL;
}

void mi_login_cache_free(struct mi_login_cache *c)
{
    if (!c)
        return;
    table_fini(&c->right);
    table_fini(&c->refused);
    free(c);
}

static bool look_in(struct table *t, const uint8_t *hash, uint64_t now_ns, struct mi_cached_login *found)
{
    uint32_t i = find(t, hash);
    if (i == NONE)
        return false;
    const struct entry *e = &t->entries[i];
    unlink_use(t, i);
    link_newest(t, i);
    found->age_ns = now_ns - e->answered_ns;
    found->outdated = e->outdated;
    found->owner = e->owner ? e->owner : "";
    return true;
}

struct mi_cached_login mi_login_cache_look(struct mi_login_cache *c, const uint8_t hash[MI_SECRET_HASH_BYTES],
                                           uint64_t now_ns)
{
    struct mi_cached_login found = {MI_CACHED_NOT, 0, false, ""};
    if (look_in(&c->right, hash, now_ns, &found))
        found.kind = MI_CACHED_RIGHT;
    else if (look_in(&c->refused, hash, now_ns, &found))
        found.kind = MI_CACHED_REFUSED;
    return found;
}

void mi_login_cache_put(struct mi_login_cache *c, const uint8_t hash[MI_SECRET_HASH_BYTES], bool right,
                        const char *owner, uint64_t now_ns)
{
    struct table *to = right ? &c->right : &c->refused, *from = right ? &c->refused : &c->right;
    uint32_t other = find(from, hash), i = find(to, hash);
    if (other != NONE)
        drop(from, other);
    char *kept = *owner ? strndup(owner, MI_MAX_OWNER) : NULL;
    if (*owner && !kept)
        return; /* without memory it is asked again */
    if (i == NONE)
        i = add(to, hash);
    struct entry *e = &to->entries[i];
    free(e->owner);
    e->owner = kept;
    e->answered_ns = now_ns;
    e->outdated = false;
}

void mi_login_cache_outdate(struct mi_login_cache *c)
{
    while (c->refused.oldest != NONE)
        drop(&c->refused, c->refused.oldest);
    for (uint32_t i = c->right.newest; i != NONE; i = c->right.entries[i].older)
        c->right.entries[i].outdated = true;
}

size_t mi_login_cache_count(const struct mi_login_cache *c, enum mi_cached kind)
{
    return kind == MI_CACHED_RIGHT ? c->right.count : kind == MI_CACHED_REFUSED ? c->refused.count : 0;
}
