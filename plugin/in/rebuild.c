#include "in/rebuild.h"

#include "base/fnv.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BUCKETS = 64, OVERHEAD = 64 };

/* Values of one bucket are chained through their next. */
struct mi_rebuild {
    struct mi_rebuild_budget *budget;
    uint64_t offset, end;
    struct mi_inbound **buckets;
    size_t bucket_count, count;
    size_t emitting; /* bucket */
};

struct mi_rebuild *mi_rebuild_new(struct mi_rebuild_budget *budget, uint64_t end)
{
    struct mi_rebuild *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->budget = budget;
    r->end = end;
    r->bucket_count = FIRST_BUCKETS;
    r->buckets = calloc(r->bucket_count, sizeof *r->buckets);
    if (!r->buckets) {
        free(r);
        return NULL;
    }
    return r;
}

void mi_rebuild_free(struct mi_rebuild *r)
{
    if (!r)
        return;
    for (struct mi_inbound *m; (m = mi_rebuild_next(r)) != NULL;)
        mi_inbound_free(m);
    free(r->buckets);
    free(r);
}

uint64_t mi_rebuild_offset(const struct mi_rebuild *r)
{
    return r->offset;
}

void mi_rebuild_read(struct mi_rebuild *r, uint64_t next)
{
    if (next > r->offset)
        r->offset = next;
}

bool mi_rebuild_before_end(const struct mi_rebuild *r, uint64_t offset)
{
    return offset < r->end;
}

bool mi_rebuild_scanned(const struct mi_rebuild *r)
{
    return r->offset >= r->end;
}

static size_t size_of(const struct mi_inbound *m)
{
    return sizeof *m + OVERHEAD + strlen(m->topic) + m->payload_len + m->properties_len;
}

/* Who fills buckets on purpose slows down one start. */
static size_t hash_of(const char *topic)
{
    uint64_t h = mi_fnv64(MI_FNV64, mi_span_of(topic));
    return (size_t)(h ^ h >> 32);
}

static struct mi_inbound **find(struct mi_rebuild *r, const char *topic)
{
    struct mi_inbound **at = &r->buckets[hash_of(topic) & (r->bucket_count - 1)];
    while (*at && strcmp((*at)->topic, topic) != 0)
        at = &(*at)->next;
    return at;
}

static void give_back(struct mi_rebuild *r, const struct mi_inbound *m)
{
    r->budget->left += size_of(m);
    r->count--;
}

static void drop(struct mi_rebuild *r, struct mi_inbound **at)
{
    struct mi_inbound *m = *at;
    *at = m->next;
    give_back(r, m);
    mi_inbound_free(m);
}

/* Longer chains are all that happens when memory is out. */
static void grow(struct mi_rebuild *r)
{
    size_t count = r->bucket_count * 2;
    struct mi_inbound **buckets = calloc(count, sizeof(struct mi_inbound *));
    if (!buckets)
        return;
    for (size_t i = 0; i < r->bucket_count; i++)
        for (struct mi_inbound *m = r->buckets[i], *next; m; m = next) {
            size_t bucket = hash_of(m->topic) & (count - 1);
            next = m->next;
            m->next = buckets[bucket];
            buckets[bucket] = m;
        }
    free(r->buckets);
    r->buckets = buckets;
    r->bucket_count = count;
}

void mi_rebuild_take(struct mi_rebuild *r, struct mi_inbound *m)
{
    struct mi_inbound **at = find(r, m->topic);
    if (*at) {
        if (m->mark.id_lo < (*at)->mark.id_lo)
            m->mark.id_lo = (*at)->mark.id_lo;
        drop(r, at);
    }
    bool says = m->payload_len > 0 || m->mark.id_lo > 0;
    size_t size = size_of(m);
    if (!says || size > r->budget->left) {
        r->budget->left_out += says;
        mi_inbound_free(m);
        return;
    }
    r->budget->left -= size;
    m->next = *at;
    *at = m;
    if (++r->count > r->bucket_count)
        grow(r);
}

struct mi_inbound *mi_rebuild_next(struct mi_rebuild *r)
{
    while (r->emitting < r->bucket_count && !r->buckets[r->emitting])
        r->emitting++;
    if (r->emitting == r->bucket_count)
        return NULL;
    struct mi_inbound *m = r->buckets[r->emitting];
    r->buckets[r->emitting] = m->next;
    m->next = NULL;
    give_back(r, m);
    return m;
}
