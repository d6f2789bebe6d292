#include "auth/rights_table.h"

#include "base/fnv.h"

#include <stdlib.h>
#include <string.h>

struct user {
    struct user *next;
    struct mi_iggy_rights *rights;
    uint32_t hash;
    uint32_t len;
    uint8_t name[];
};

struct mi_rights_table {
    struct user **buckets;
    size_t mask, count;
};

struct mi_rights_table *mi_rights_table_new(void)
{
    struct mi_rights_table *t = calloc(1, sizeof *t);
    if (t && (t->buckets = calloc(64, sizeof *t->buckets)) != NULL) {
        t->mask = 63;
        return t;
    }
    free(t);
    return NULL;
}

static void free_user(struct user *u)
{
    mi_rights_free(u->rights);
    free(u);
}

void mi_rights_table_free(struct mi_rights_table *t)
{
    if (!t)
        return;
    for (size_t i = 0; i <= t->mask; i++)
        for (struct user *u = t->buckets[i], *next; u; u = next) {
            next = u->next;
            free_user(u);
        }
    free(t->buckets);
    free(t);
}

/* Names of accounts, which Iggy gave: nobody chooses them to collide. */
static uint32_t hash_of(struct mi_span name)
{
    uint32_t hash = mi_fnv32(MI_FNV32, name);
    return hash ^ hash >> 15;
}

static struct user **place_of(const struct mi_rights_table *t, struct mi_span name, uint32_t hash)
{
    struct user **link = &t->buckets[hash & t->mask];
    while (*link && !((*link)->hash == hash && (*link)->len == name.len &&
                      memcmp((*link)->name, name.data, name.len) == 0))
        link = &(*link)->next;
    return link;
}

const struct mi_iggy_rights *mi_rights_table_find(const struct mi_rights_table *t, struct mi_span name)
{
    const struct user *u = name.len ? *place_of(t, name, hash_of(name)) : NULL;
    return u ? u->rights : NULL;
}

/* Twice the buckets; when memory is out the chains grow instead. */
static void widen(struct mi_rights_table *t)
{
    size_t mask = t->mask * 2 + 1;
    struct user **buckets = calloc(mask + 1, sizeof *buckets);
    if (!buckets)
        return;
    for (size_t i = 0; i <= t->mask; i++)
        for (struct user *u = t->buckets[i], *next; u; u = next) {
            next = u->next;
            u->next = buckets[u->hash & mask];
            buckets[u->hash & mask] = u;
        }
    free(t->buckets);
    t->buckets = buckets;
    t->mask = mask;
}

void mi_rights_table_set(struct mi_rights_table *t, struct mi_span name, struct mi_iggy_rights *rights)
{
    if (name.len == 0) {
        mi_rights_free(rights);
        return;
    }
    uint32_t hash = hash_of(name);
    struct user **link = place_of(t, name, hash), *u = *link;
    if (u) {
        *link = u->next;
        t->count--;
        free_user(u);
    }
    u = rights ? malloc(sizeof *u + name.len) : NULL;
    if (!u) {
        mi_rights_free(rights);
        return;
    }
    if (t->count > t->mask) {
        widen(t);
        link = &t->buckets[hash & t->mask];
    }
    *u = (struct user){.next = *link, .rights = rights, .hash = hash, .len = (uint32_t)name.len};
    memcpy(u->name, name.data, name.len);
    *link = u;
    t->count++;
}

size_t mi_rights_table_count(const struct mi_rights_table *t)
{
    return t->count;
}
