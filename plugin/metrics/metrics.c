#include "metrics/metrics.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "metrics/table.h"

enum {
    MAX_ENTRIES = 2 * MI_MAX_ROUTES,
    SLOTS = 1 << 15, /* of the hash table; above MAX_ENTRIES, so that a probe always ends */
};
_Static_assert((int)SLOTS > (int)MAX_ENTRIES, "a probe ends");

struct mi_metrics {
    _Atomic uint64_t global[MI_G_COUNTERS];

    /* Written under the lock, read without: an entry is complete before it is published, and never goes away.
     */
    _Atomic(struct mi_route_metrics *) slots[SLOTS];
    _Atomic(struct mi_route_metrics *) entries[MAX_ENTRIES];
    _Atomic size_t count;

    pthread_mutex_t lock; /* of making and naming entries; nothing else happens under it */
};

static struct mi_route_metrics *find(struct mi_metrics *m, uint32_t route, size_t *slot);
static struct mi_route_metrics *make(struct mi_metrics *m, uint32_t route, size_t slot);
static void set_name(struct mi_route_metrics *r, const char *name);

struct mi_metrics *mi_metrics_new(void)
{
    struct mi_metrics *m = calloc(1, sizeof *m);
    if (m && pthread_mutex_init(&m->lock, NULL) != 0) {
        free(m);
        return NULL;
    }
    return m;
}

void mi_metrics_free(struct mi_metrics *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->count; i++)
        free(m->entries[i]);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

struct mi_route_metrics *mi_metrics_route(struct mi_metrics *m, uint32_t route, const char *name)
{
    size_t slot;
    struct mi_route_metrics *r = find(m, route, &slot);
    if (r && (!name || atomic_load_explicit(&r->named, memory_order_acquire)))
        return r;
    pthread_mutex_lock(&m->lock);
    r = find(m, route, &slot);
    if (!r)
        r = make(m, route, slot);
    if (r && name && !r->named)
        set_name(r, name);
    pthread_mutex_unlock(&m->lock);
    return r;
}

const char *mi_route_name(struct mi_route_metrics *r, char fallback[16])
{
    if (atomic_load_explicit(&r->named, memory_order_acquire))
        return r->name;
    snprintf(fallback, 16, "route-%08x", (unsigned)r->route);
    return fallback;
}

uint64_t mi_route_received(struct mi_route_metrics *r)
{
    uint64_t values[MI_V_VALUES];
    mi_route_snapshot(r, values);
    return values[MI_V_RECEIVED];
}

uint64_t mi_route_pending(struct mi_route_metrics *r)
{
    uint64_t values[MI_V_VALUES];
    mi_route_snapshot(r, values);
    return values[MI_V_PENDING];
}

void mi_metrics_add(struct mi_metrics *m, enum mi_global_counter which, uint64_t n)
{
    atomic_fetch_add_explicit(&m->global[which], n, memory_order_relaxed);
}

void mi_metrics_set(struct mi_metrics *m, enum mi_global_counter which, uint64_t value)
{
    atomic_store_explicit(&m->global[which], value, memory_order_relaxed);
}

uint64_t mi_metrics_get(struct mi_metrics *m, enum mi_global_counter which)
{
    return atomic_load_explicit(&m->global[which], memory_order_relaxed);
}

size_t mi_metrics_route_count(struct mi_metrics *m)
{
    return atomic_load_explicit(&m->count, memory_order_acquire);
}

struct mi_route_metrics *mi_metrics_route_at(struct mi_metrics *m, size_t index)
{
    return index < mi_metrics_route_count(m) ? m->entries[index] : NULL;
}

/* The entry, or NULL and the free slot where it would go. Route ids are hashes already. */
static struct mi_route_metrics *find(struct mi_metrics *m, uint32_t route, size_t *slot)
{
    for (size_t i = route % SLOTS;; i = (i + 1) % SLOTS) {
        struct mi_route_metrics *r = atomic_load_explicit(&m->slots[i], memory_order_acquire);
        if (r && r->route != route)
            continue;
        *slot = i;
        return r;
    }
}

static struct mi_route_metrics *make(struct mi_metrics *m, uint32_t route, size_t slot)
{
    size_t count = m->count;
    struct mi_route_metrics *r = count < MAX_ENTRIES ? calloc(1, sizeof *r) : NULL;
    if (!r)
        return NULL;
    r->route = route;
    atomic_store_explicit(&m->slots[slot], r, memory_order_release);
    atomic_store_explicit(&m->entries[count], r, memory_order_release);
    atomic_store_explicit(&m->count, count + 1, memory_order_release);
    return r;
}

/* ---- names ---- */

/* Bytes of the printable character at p; 0 when it is none. Safe on NUL-terminated text: NUL continues
 * nothing. */
static size_t printable(const unsigned char *p)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (p[0] < 0x80)
        return (p[0] >= 0x20 && p[0] != 0x7f) || p[0] == '\n';
    size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : p[0] >= 0xc0 ? 2 : 0;
    if (n == 0 || p[0] > 0xf4)
        return 0;
    unsigned point = p[0] & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (p[i] & 0x3f);
    }
    bool surrogate = point >= 0xd800 && point <= 0xdfff;
    return point < least[n] || point > 0x10ffff || surrogate ? 0 : n;
}

static void set_name(struct mi_route_metrics *r, const char *name)
{
    enum { MARK = 9 }; /* "#XXXXXXXX" */
    const unsigned char *from = (const unsigned char *)name;
    size_t len = 0, n = 1;
    bool changed = false;
    while (*from) {
        n = printable(from);
        if (len + (n ? n : 1) > sizeof r->name - 1 - MARK)
            break;
        if (n == 0) {
            r->name[len++] = '?';
            changed = true;
            from++;
            continue;
        }
        memcpy(r->name + len, from, n);
        len += n;
        from += n;
    }
    r->name[len] = '\0';
    if (changed || *from)
        snprintf(r->name + len, sizeof r->name - len, "#%08x", (unsigned)r->route);
    atomic_store_explicit(&r->named, true, memory_order_release);
}
