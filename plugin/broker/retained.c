#include "broker/retained.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { FIRST_SLOTS = 64, ENTRY = 16, GIVE_UP_S = 60, MAX_FLYING = 256 };

#define OVERTAKEN (1ull << 63) /* beside a saved sequence */

struct entry {
    uint64_t topic;    /* hash; 0: the slot is free */
    uint64_t sequence; /* of the newest own message that was not read back */
    uint64_t since_ns; /* when a foreign message first found it settled and not back; 0: not yet */
    bool outstanding;
    bool overtaken; /* the outstanding one, by a foreign one that was routed later */
    bool flying;    /* published with retain on in this TICK, not yet routed */
    bool newer;     /* it got a retained value since the rebuild began */
};

struct mi_retained {
    struct mi_retained_options o;
    uint64_t seed;
    struct entry *slots; /* linear probing, at most half full */
    size_t slot_count, used;
    uint64_t flying[MAX_FLYING]; /* topics */
    size_t flying_count;
    bool flying_unknown; /* more than those */
    unsigned rebuilds;
    uint64_t again_below; /* own messages below it that are not outstanding here are stored again */
    bool forgot_newer;    /* a topic of the rebuild got a newer value that is unknown here */
};

struct mi_retained *mi_retained_new(const struct mi_retained_options *options)
{
    struct mi_retained *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->o = *options;
    r->seed = mi_random(options->clock);
    r->again_below = options->store_behind ? options->first_sequence : 0;
    r->slot_count = FIRST_SLOTS;
    r->slots = calloc(r->slot_count, sizeof *r->slots);
    if (!r->slots) {
        free(r);
        return NULL;
    }
    return r;
}

void mi_retained_free(struct mi_retained *r)
{
    if (!r)
        return;
    free(r->slots);
    free(r);
}

/* ---- the table ---- */

static uint64_t hash_of(const struct mi_retained *r, const char *topic)
{
    uint64_t h = XXH64(topic, strlen(topic), r->seed);
    return h ? h : 1;
}

/* The slot of that topic, or the free one where it would stand. */
static struct entry *slot_of(const struct mi_retained *r, uint64_t topic)
{
    size_t mask = r->slot_count - 1, i = topic & mask;
    while (r->slots[i].topic && r->slots[i].topic != topic)
        i = (i + 1) & mask;
    return &r->slots[i];
}

static bool grow(struct mi_retained *r)
{
    struct entry *former = r->slots;
    size_t count = r->slot_count;
    struct entry *slots = calloc(count * 2, sizeof *slots);
    if (!slots)
        return false;
    r->slots = slots;
    r->slot_count = count * 2;
    for (size_t i = 0; i < count; i++)
        if (former[i].topic)
            *slot_of(r, former[i].topic) = former[i];
    free(former);
    return true;
}

static struct entry *find(const struct mi_retained *r, uint64_t topic)
{
    struct entry *e = slot_of(r, topic);
    return e->topic ? e : NULL;
}

/* Finds or adds; NULL when there is no room. */
static struct entry *demand(struct mi_retained *r, uint64_t topic)
{
    struct entry *e = find(r, topic);
    if (e)
        return e;
    if (r->used >= r->o.max_topics || (r->used * 2 >= r->slot_count && !grow(r)))
        return NULL;
    e = slot_of(r, topic);
    *e = (struct entry){.topic = topic};
    r->used++;
    return e;
}

/* Frees the slot unless it still says something; what stands behind it closes up. */
static void drop_if_idle(struct mi_retained *r, struct entry *e)
{
    if (e->outstanding || e->newer || e->flying)
        return;
    size_t mask = r->slot_count - 1, hole = (size_t)(e - r->slots);
    for (size_t i = (hole + 1) & mask; r->slots[i].topic; i = (i + 1) & mask) {
        size_t home = r->slots[i].topic & mask;
        if (((i - home) & mask) < ((i - hole) & mask))
            continue;
        r->slots[hole] = r->slots[i];
        hole = i;
    }
    r->slots[hole].topic = 0;
    r->used--;
}

/* ---- what happens ---- */

static void note_newer(struct mi_retained *r, struct entry *e)
{
    if (r->rebuilds == 0)
        return;
    if (e)
        e->newer = true;
    else
        r->forgot_newer = true;
}

static void forget_own(struct mi_retained *r, uint64_t sequence)
{
    if (r->again_below <= sequence)
        r->again_below = sequence + 1;
}

void mi_retained_own(struct mi_retained *r, const char *topic, uint64_t sequence)
{
    struct entry *e = demand(r, hash_of(r, topic));
    note_newer(r, e);
    if (!e) {
        forget_own(r, sequence);
        return;
    }
    e->outstanding = true;
    e->overtaken = e->flying || r->flying_unknown;
    e->sequence = sequence;
    e->since_ns = 0;
}

/* Settled, and the readers, which have come to a foreign message of the topic, still do not bring it. */
static bool never_comes(struct mi_retained *r, struct entry *e)
{
    if (r->o.settled(r->o.context) <= e->sequence)
        return false;
    uint64_t now = mi_now_ns(r->o.clock);
    if (e->since_ns == 0)
        e->since_ns = now;
    return now - e->since_ns >= GIVE_UP_S * MI_NS_PER_S;
}

bool mi_retained_foreign(struct mi_retained *r, const char *topic)
{
    uint64_t hash = hash_of(r, topic);
    struct entry *e = r->rebuilds ? demand(r, hash) : find(r, hash);
    note_newer(r, e);
    if (!e || !e->outstanding)
        return true;
    if (!never_comes(r, e))
        return false;
    e->outstanding = false;
    forget_own(r, e->sequence);
    drop_if_idle(r, e);
    return true;
}

void mi_retained_published(struct mi_retained *r, const char *topic)
{
    if (!r->o.routes_later)
        return;
    struct entry *e = r->flying_count < MAX_FLYING ? demand(r, hash_of(r, topic)) : NULL;
    if (!e) {
        r->flying_unknown = true;
        return;
    }
    if (!e->flying)
        r->flying[r->flying_count++] = e->topic;
    e->flying = true;
}

void mi_retained_tick(struct mi_retained *r)
{
    for (; r->flying_count > 0; r->flying_count--) {
        struct entry *e = find(r, r->flying[r->flying_count - 1]);
        if (e) {
            e->flying = false;
            drop_if_idle(r, e);
        }
    }
    r->flying_unknown = false;
}

enum mi_own_back mi_retained_own_back(struct mi_retained *r, const char *topic, uint64_t sequence)
{
    uint64_t hash = hash_of(r, topic);
    struct entry *e = find(r, hash);
    if (e && e->outstanding) {
        bool overtaken = e->sequence <= sequence && e->overtaken;
        if (e->sequence <= sequence) {
            e->outstanding = false;
            note_newer(r, e);
            drop_if_idle(r, e);
        }
        return overtaken ? MI_OWN_STORE : MI_OWN_DONE;
    }
    if (sequence >= r->again_below)
        return MI_OWN_DONE;
    /* What was stored now would be replaced by what this TICK published before. */
    bool flying = r->flying_unknown || (e && e->flying);
    note_newer(r, r->rebuilds ? demand(r, hash) : NULL);
    return sequence >= r->o.first_sequence && !flying ? MI_OWN_STORE : MI_OWN_PUBLISH;
}

void mi_retained_rebuild_begin(struct mi_retained *r)
{
    r->rebuilds++;
}

void mi_retained_rebuild_end(struct mi_retained *r)
{
    if (r->rebuilds == 0 || --r->rebuilds > 0)
        return;
    r->forgot_newer = false;
    /* A slot that closes up may move into the place that was just looked at: look at it again. */
    for (size_t i = 0; i < r->slot_count;) {
        struct entry *e = &r->slots[i];
        bool was_newer = e->topic && e->newer;
        e->newer = false;
        if (was_newer)
            drop_if_idle(r, e);
        if (!was_newer || r->slots[i].topic == 0 || !r->slots[i].newer)
            i++;
    }
}

bool mi_retained_rebuilt(struct mi_retained *r, const char *topic, uint64_t own)
{
    struct entry *e = find(r, hash_of(r, topic));
    if (!e)
        return !r->forgot_newer;
    if (e->outstanding && own && own >= e->sequence)
        e->outstanding = false;
    bool may = !e->newer && !e->outstanding;
    drop_if_idle(r, e);
    return may;
}

/* ---- over a clean stop ---- */

bool mi_retained_save(const struct mi_retained *r, struct mi_buf *out)
{
    uint8_t number[ENTRY];
    mi_put_u64le(number, r->seed);
    mi_put_u64le(number + 8, r->again_below);
    mi_buf_add(out, number, ENTRY);
    for (size_t i = 0; i < r->slot_count; i++) {
        if (!r->slots[i].topic || !r->slots[i].outstanding)
            continue;
        mi_put_u64le(number, r->slots[i].topic);
        mi_put_u64le(number + 8, r->slots[i].sequence | (r->slots[i].overtaken ? OVERTAKEN : 0));
        mi_buf_add(out, number, ENTRY);
    }
    return !out->failed;
}

bool mi_retained_load(struct mi_retained *r, struct mi_span saved)
{
    if (saved.len < ENTRY || saved.len % ENTRY != 0)
        return false;
    r->seed = mi_get_u64le(saved.data);
    if (r->again_below < mi_get_u64le(saved.data + 8))
        r->again_below = mi_get_u64le(saved.data + 8);
    for (const uint8_t *at = saved.data + ENTRY; at < saved.data + saved.len; at += ENTRY) {
        uint64_t topic = mi_get_u64le(at);
        struct entry *e = topic ? demand(r, topic) : NULL;
        if (!e)
            return false;
        e->outstanding = true;
        e->sequence = mi_get_u64le(at + 8) & ~OVERTAKEN;
        e->overtaken = mi_get_u64le(at + 8) & OVERTAKEN;
    }
    return true;
}
