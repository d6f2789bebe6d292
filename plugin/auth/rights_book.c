#include "auth/rights_book.h"

#include "base/fnv.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ENTRIES = 65536 };

/* One entry of a user's permissions and what its ids meant when it was first seen. */
struct entry {
    struct iggy_grant grant;
    uint32_t since; /* round after which it may be resolved */
    bool resolved;  /* what follows counts; nobody: it meant nothing */
    struct mi_identity stream, topic;
};

struct mi_rights_user {
    struct mi_span name;
    uint32_t id;
    uint64_t created_at;
    struct entry *entries; /* in order of scope and ids */
    size_t count;
    uint64_t wanted_ns;
    uint64_t version; /* of the id map when the rights were made */
    bool made;
    size_t at;                   /* in users */
    struct mi_rights_user *next; /* in its bucket */
};

struct mi_rights_book {
    struct mi_id_map *ids;
    struct mi_rights_user **users;
    size_t count, max;
    struct mi_rights_user **buckets;
    size_t mask;
};

struct mi_rights_book *mi_rights_book_new(size_t max_users)
{
    struct mi_rights_book *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    size_t buckets = 16;
    while (buckets < max_users)
        buckets *= 2;
    b->max = max_users;
    b->mask = buckets - 1;
    b->ids = mi_id_map_new();
    b->users = calloc(max_users, sizeof(struct mi_rights_user *));
    b->buckets = calloc(buckets, sizeof(struct mi_rights_user *));
    if (b->ids && b->users && b->buckets)
        return b;
    mi_rights_book_free(b);
    return NULL;
}

void mi_rights_book_free(struct mi_rights_book *b)
{
    if (!b)
        return;
    while (b->count > 0)
        mi_rights_book_drop(b, b->users[b->count - 1]);
    mi_id_map_free(b->ids);
    free(b->users);
    free(b->buckets);
    free(b);
}

struct mi_id_map *mi_rights_book_ids(struct mi_rights_book *b)
{
    return b->ids;
}

/* ---- users ---- */

static struct mi_rights_user **bucket_of(const struct mi_rights_book *b, struct mi_span name)
{
    uint64_t hash = mi_fnv64(MI_FNV64, name);
    return &b->buckets[(hash ^ hash >> 32) & b->mask];
}

struct mi_rights_user *mi_rights_book_find(const struct mi_rights_book *b, struct mi_span name)
{
    struct mi_rights_user *u = *bucket_of(b, name);
    while (u && !mi_span_equal(u->name, name))
        u = u->next;
    return u;
}

struct mi_span mi_rights_user_name(const struct mi_rights_user *u)
{
    return u->name;
}

size_t mi_rights_book_count(const struct mi_rights_book *b)
{
    return b->count;
}

struct mi_rights_user *mi_rights_book_at(const struct mi_rights_book *b, size_t i)
{
    return b->users[i];
}

void mi_rights_book_drop(struct mi_rights_book *b, struct mi_rights_user *u)
{
    struct mi_rights_user **link = bucket_of(b, u->name);
    while (*link != u)
        link = &(*link)->next;
    *link = u->next;
    b->users[u->at] = b->users[--b->count];
    b->users[u->at]->at = u->at;
    free((void *)u->name.data);
    free(u->entries);
    free(u);
}

struct mi_rights_user *mi_rights_book_oldest(const struct mi_rights_book *b)
{
    struct mi_rights_user *oldest = b->count ? b->users[0] : NULL;
    for (size_t i = 1; i < b->count; i++)
        if (b->users[i]->wanted_ns < oldest->wanted_ns)
            oldest = b->users[i];
    return oldest;
}

static struct mi_rights_user *add_user(struct mi_rights_book *b, struct mi_span name)
{
    if (b->count == b->max)
        return NULL;
    struct mi_rights_user *u = calloc(1, sizeof *u), **bucket = bucket_of(b, name);
    uint8_t *text = malloc(name.len + 1);
    if (!u || !text) {
        free(u);
        free(text);
        return NULL;
    }
    memcpy(text, name.data, name.len);
    u->name = (struct mi_span){text, name.len};
    u->next = *bucket;
    *bucket = u;
    u->at = b->count;
    b->users[b->count++] = u;
    return u;
}

/* ---- permissions ---- */

struct collected {
    struct entry *entries;
    size_t count, room;
    bool failed;
};

static void collect(void *arg, const struct iggy_grant *grant)
{
    struct collected *c = arg;
    if (c->failed ||
        (!iggy_rights_send(grant->scope, grant->rights) && !iggy_rights_poll(grant->scope, grant->rights)))
        return;
    if (c->count == c->room) {
        size_t room = c->room * 2 + 8;
        struct entry *wider = c->count < MAX_ENTRIES ? realloc(c->entries, room * sizeof *wider) : NULL;
        c->failed = !wider;
        if (!wider)
            return;
        c->entries = wider;
        c->room = room;
    }
    c->entries[c->count++] = (struct entry){.grant = *grant};
}

static int order(const void *a, const void *b)
{
    const struct iggy_grant *x = &((const struct entry *)a)->grant, *y = &((const struct entry *)b)->grant;
    if (x->scope != y->scope)
        return x->scope < y->scope ? -1 : 1;
    if (x->stream_id != y->stream_id)
        return x->stream_id < y->stream_id ? -1 : 1;
    return x->topic_id < y->topic_id ? -1 : x->topic_id > y->topic_id;
}

/* Entries that stand there unchanged keep what they mean; true when anything else is there. */
static bool carry_over(const struct mi_rights_user *u, struct collected *now)
{
    size_t kept = 0;
    for (size_t i = 0, k = 0; i < now->count && k < u->count;) {
        int way = order(&now->entries[i], &u->entries[k]);
        if (way == 0 && now->entries[i].grant.rights == u->entries[k].grant.rights) {
            now->entries[i] = u->entries[k];
            kept++;
        }
        i += way <= 0;
        k += way >= 0;
    }
    return kept != now->count || kept != u->count;
}

/* What cannot be read gives no rights. */
static bool set_permissions(struct mi_rights_user *u, struct iggy_span permissions, uint32_t round)
{
    struct collected now = {NULL, 0, 0, false};
    if (!iggy_permissions_read(permissions, collect, &now) || now.failed) {
        free(now.entries);
        now = (struct collected){NULL, 0, 0, false};
    }
    if (now.count)
        qsort(now.entries, now.count, sizeof *now.entries, order);
    for (size_t i = 0; i < now.count; i++)
        now.entries[i].since = round;
    bool changed = carry_over(u, &now);
    free(u->entries);
    u->entries = now.entries;
    u->count = now.count;
    u->made = u->made && !changed;
    return changed;
}

enum mi_user_change mi_rights_book_record(struct mi_rights_book *b, const struct iggy_user *record,
                                          uint32_t round, uint64_t now_ns)
{
    const struct mi_span name = {record->username.data, record->username.len};
    struct mi_rights_user *u = mi_rights_book_find(b, name);
    bool other = u && (!record->active || u->id != record->id ||
                       !mi_identity_same(mi_identity_of(u->created_at, name),
                                         mi_identity_of(record->created_at, name)));
    if (other)
        mi_rights_book_drop(b, u);
    if (!record->active)
        return MI_USER_REPLACED;
    if (other || !u)
        u = add_user(b, name);
    if (!u)
        return other ? MI_USER_REPLACED : MI_USER_NO_ROOM;
    bool known = u->created_at != 0;
    u->id = record->id;
    u->created_at = record->created_at;
    if (now_ns)
        u->wanted_ns = now_ns;
    bool changed = set_permissions(u, record->permissions, round);
    return other ? MI_USER_REPLACED : changed || !known ? MI_USER_CHANGED : MI_USER_SAME;
}

/* ---- meaning ---- */

bool mi_rights_user_waits(const struct mi_rights_user *u)
{
    for (size_t i = 0; i < u->count; i++)
        if (u->entries[i].grant.scope != IGGY_SCOPE_ALL && !u->entries[i].resolved)
            return true;
    return false;
}

void mi_rights_book_wanted(const struct mi_rights_book *b, void (*each)(void *arg, uint32_t stream_id),
                           void *arg)
{
    for (size_t i = 0; i < b->count; i++) {
        const struct mi_rights_user *u = b->users[i];
        for (size_t k = 0; k < u->count; k++)
            if (u->entries[k].grant.scope == IGGY_SCOPE_TOPIC)
                each(arg, u->entries[k].grant.stream_id);
    }
}

/* Fixes what the entry means, as soon as a round after it can tell. True when it did. */
static bool settle(const struct mi_id_map *ids, struct entry *e)
{
    if (e->resolved || mi_id_map_round(ids) <= e->since)
        return false;
    const struct mi_id_stream *s = mi_id_map_stream(ids, e->grant.stream_id);
    if (s && e->grant.scope == IGGY_SCOPE_TOPIC && s->topics_round <= e->since)
        return false;
    const struct mi_id_topic *t =
        s && e->grant.scope == IGGY_SCOPE_TOPIC ? mi_id_map_topic(s, e->grant.topic_id) : NULL;
    if (s)
        e->stream = mi_identity_of(s->created_at, s->name);
    if (t)
        e->topic = mi_identity_of(t->created_at, t->name);
    e->resolved = true;
    return true;
}

/* Is it who it was? Then a new name, or the few milliseconds by which he seems older, are remembered. */
static bool still(struct mi_identity *was, struct mi_identity is)
{
    if (!mi_identity_same(*was, is))
        return false;
    *was = is;
    return true;
}

/* The grant by names, as long as the ids mean what they meant. */
static bool name_grant(const struct mi_id_map *ids, struct entry *e, struct mi_named_grant *g)
{
    const struct mi_id_stream *s = e->resolved ? mi_id_map_stream(ids, e->grant.stream_id) : NULL;
    if (!s || !still(&e->stream, mi_identity_of(s->created_at, s->name)))
        return false;
    *g = (struct mi_named_grant){.stream = s->name};
    if (iggy_rights_send(e->grant.scope, e->grant.rights))
        g->rights |= MI_RIGHT_SEND;
    if (iggy_rights_poll(e->grant.scope, e->grant.rights))
        g->rights |= MI_RIGHT_POLL;
    if (e->grant.scope == IGGY_SCOPE_STREAM)
        return true;
    const struct mi_id_topic *t = mi_id_map_topic(s, e->grant.topic_id);
    if (!t || !still(&e->topic, mi_identity_of(t->created_at, t->name)))
        return false;
    g->topic = t->name;
    return true;
}

static struct mi_iggy_rights *make(const struct mi_id_map *ids, struct mi_rights_user *u)
{
    struct mi_named_grant *grants = calloc(u->count + 1, sizeof *grants);
    unsigned everywhere = 0;
    size_t count = 0;
    for (size_t i = 0; grants && i < u->count; i++) {
        struct entry *e = &u->entries[i];
        if (e->grant.scope != IGGY_SCOPE_ALL) {
            count += name_grant(ids, e, &grants[count]);
            continue;
        }
        everywhere |= iggy_rights_send(IGGY_SCOPE_ALL, e->grant.rights) ? MI_RIGHT_SEND : 0u;
        everywhere |= iggy_rights_poll(IGGY_SCOPE_ALL, e->grant.rights) ? MI_RIGHT_POLL : 0u;
    }
    struct mi_iggy_rights *rights = grants ? mi_rights_new(everywhere, grants, count) : NULL;
    free(grants);
    return rights;
}

bool mi_rights_user_resolve(struct mi_rights_book *b, struct mi_rights_user *u,
                            struct mi_iggy_rights **rights)
{
    bool settled = false;
    for (size_t i = 0; i < u->count; i++)
        settled |= u->entries[i].grant.scope != IGGY_SCOPE_ALL && settle(b->ids, &u->entries[i]);
    if (u->made && !settled && u->version == mi_id_map_version(b->ids))
        return false;
    *rights = make(b->ids, u);
    u->made = *rights != NULL;
    u->version = mi_id_map_version(b->ids);
    return true;
}

void mi_rights_user_make_again(struct mi_rights_user *u)
{
    u->made = false;
}
