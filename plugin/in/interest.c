/*
 * interest: clients, filters, and the pairs of them that are subscriptions, each found by a hash.
 *
 * A filter's text is shared with the pictures that were made of it, so a picture is a list of pointers.
 */
#include "in/interest.h"

#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "in/picture.h"

/* Any object of the three hashes begins with this. */
struct entry {
    struct entry *next;
    uint64_t hash;
};

struct table {
    struct entry **slots;
    size_t size, count; /* size: a power of two */
};

struct filter {
    struct entry entry;
    struct mi_filter_text *text;
    size_t clients, place; /* place: in the table's list */
};

struct pair {
    struct entry entry;
    struct client *client;
    struct filter *filter;
    struct pair *previous, *next; /* of the client */
};

struct client {
    struct entry entry;
    struct pair *pairs;
    bool persistent, offline;
    uint32_t id_len;
    char id[]; /* NUL-terminated */
};

enum { SWEEP_SLOTS = 256 }; /* of the clients' hash, in one call */

struct mi_interest {
    struct table clients, filters, pairs;
    struct filter **list;          /* all filters, in no order */
    struct mi_filter_text **texts; /* theirs, beside them: what a picture is made of */
    size_t list_cap;
    size_t max_filters;
    uint64_t seed;
    bool unknown;
    bool lost; /* something could not be recorded */
    bool changed;
    size_t swept;                        /* slots of clients that the sweep has looked at */
    struct mi_interest_picture *picture; /* the last one, held; NULL: none yet */
};

static struct client *find_client(const struct mi_interest *t, struct mi_span id);
static struct client *take_client(struct mi_interest *t, struct mi_span id);
static struct filter *find_filter(const struct mi_interest *t, struct mi_span text);
static struct filter *take_filter(struct mi_interest *t, struct mi_span text);
static struct pair *find_pair(const struct mi_interest *t, const struct client *c, const struct filter *f);
static bool add_pair(struct mi_interest *t, struct client *c, struct filter *f);
static void drop_pair(struct mi_interest *t, struct pair *pair);
static void drop_filter(struct mi_interest *t, struct filter *f);
static void drop_client(struct mi_interest *t, struct client *c);

struct mi_interest *mi_interest_new(size_t max_filters, const struct mi_clock *clock)
{
    struct mi_interest *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->max_filters = max_filters;
    t->seed = mi_random(clock);
    t->unknown = true;
    t->changed = true;
    return t;
}

void mi_interest_free(struct mi_interest *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->clients.size; i++)
        while (t->clients.slots[i])
            drop_client(t, (struct client *)t->clients.slots[i]);
    free(t->clients.slots);
    free(t->filters.slots);
    free(t->pairs.slots);
    free(t->list);
    free(t->texts);
    mi_interest_picture_release(t->picture);
    free(t);
}

/* The filter that counts; false when nothing below it can come from Iggy. */
static bool plain(struct mi_span *filter)
{
    static const char share[] = "$share/";
    if (filter->len > sizeof share - 1 && memcmp(filter->data, share, sizeof share - 1) == 0) {
        const uint8_t *group = filter->data + sizeof share - 1, *end = filter->data + filter->len;
        const uint8_t *slash = memchr(group, '/', (size_t)(end - group));
        if (!slash)
            return false;
        *filter = (struct mi_span){slash + 1, (size_t)(end - slash - 1)};
    }
    return filter->len > 0 && filter->data[0] != '$';
}

/* A client that was made for nothing must not stay: nobody would ever end it. */
static void drop_if_empty(struct mi_interest *t, struct client *c)
{
    if (!c->pairs)
        drop_client(t, c);
}

void mi_interest_subscribe(struct mi_interest *t, struct mi_span client, struct mi_span filter,
                           bool persistent)
{
    if (t->lost || !plain(&filter))
        return;
    struct client *c = take_client(t, client);
    struct filter *f = c ? take_filter(t, filter) : NULL;
    if (c) {
        c->persistent = persistent;
        c->offline = false;
    }
    if (!f || (!find_pair(t, c, f) && (t->pairs.count >= MI_INTEREST_MAX_PAIRS || !add_pair(t, c, f)))) {
        t->lost = true;
        t->changed = true;
    }
    if (f && f->clients == 0)
        drop_filter(t, f);
    if (c)
        drop_if_empty(t, c);
}

void mi_interest_unsubscribe(struct mi_interest *t, struct mi_span client, struct mi_span filter)
{
    struct client *c = find_client(t, client);
    struct filter *f = c && plain(&filter) ? find_filter(t, filter) : NULL;
    struct pair *pair = f ? find_pair(t, c, f) : NULL;
    if (!pair)
        return;
    drop_pair(t, pair);
    drop_if_empty(t, c);
}

void mi_interest_disconnected(struct mi_interest *t, struct mi_span client)
{
    struct client *c = find_client(t, client);
    if (c && c->persistent)
        c->offline = true;
    else if (c)
        drop_client(t, c);
}

void mi_interest_connected(struct mi_interest *t, struct mi_span client, bool clean)
{
    struct client *c = find_client(t, client);
    if (!c || !c->offline)
        return;
    if (clean)
        drop_client(t, c);
    else
        c->offline = false;
}

void mi_interest_session_ended(struct mi_interest *t, struct mi_span client)
{
    struct client *c = find_client(t, client);
    if (c)
        drop_client(t, c);
}

bool mi_interest_sweep(struct mi_interest *t, bool (*gone)(void *context, const char *client), void *context)
{
    for (size_t n = 0; n < SWEEP_SLOTS && t->swept < t->clients.size; n++, t->swept++)
        for (struct entry *e = t->clients.slots[t->swept], *next; e; e = next) {
            struct client *c = (struct client *)e;
            next = e->next;
            if (c->offline && gone(context, c->id))
                drop_client(t, c);
        }
    if (t->swept < t->clients.size)
        return false;
    t->swept = 0;
    return true;
}

void mi_interest_set_unknown(struct mi_interest *t, bool unknown)
{
    t->changed = t->changed || t->unknown != unknown;
    t->unknown = unknown;
}

bool mi_interest_knows(const struct mi_interest *t, struct mi_span client)
{
    return find_client(t, client) != NULL;
}

size_t mi_interest_filters(const struct mi_interest *t)
{
    return t->filters.count;
}

/* ---- hashes ---- */

static bool grow(struct table *table)
{
    if (table->count < table->size)
        return true;
    size_t size = table->size ? table->size * 2 : 64;
    struct entry **slots = calloc(size, sizeof *slots);
    if (!slots)
        return table->size > 0; /* fuller than wished, but it works */
    for (size_t i = 0; i < table->size; i++)
        for (struct entry *e = table->slots[i], *next; e; e = next) {
            next = e->next;
            e->next = slots[e->hash & (size - 1)];
            slots[e->hash & (size - 1)] = e;
        }
    free(table->slots);
    table->slots = slots;
    table->size = size;
    return true;
}

static struct entry *first_of(const struct table *table, uint64_t hash)
{
    struct entry *e = table->size ? table->slots[hash & (table->size - 1)] : NULL;
    while (e && e->hash != hash)
        e = e->next;
    return e;
}

static struct entry *next_of(struct entry *e)
{
    uint64_t hash = e->hash;
    do
        e = e->next;
    while (e && e->hash != hash);
    return e;
}

static bool insert(struct table *table, struct entry *e, uint64_t hash)
{
    if (!grow(table))
        return false;
    e->hash = hash;
    e->next = table->slots[hash & (table->size - 1)];
    table->slots[hash & (table->size - 1)] = e;
    table->count++;
    return true;
}

static void take_out(struct table *table, struct entry *e)
{
    struct entry **at = &table->slots[e->hash & (table->size - 1)];
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    table->count--;
}

static uint64_t hash_of(const struct mi_interest *t, struct mi_span s)
{
    return XXH3_64bits_withSeed(s.data, s.len, t->seed);
}

/* ---- clients, filters, pairs ---- */

static struct client *find_client(const struct mi_interest *t, struct mi_span id)
{
    struct entry *e = first_of(&t->clients, hash_of(t, id));
    for (; e; e = next_of(e)) {
        struct client *c = (struct client *)e;
        if (mi_span_equal((struct mi_span){(const uint8_t *)c->id, c->id_len}, id))
            return c;
    }
    return NULL;
}

static struct client *take_client(struct mi_interest *t, struct mi_span id)
{
    struct client *c = find_client(t, id);
    if (c)
        return c;
    c = calloc(1, sizeof *c + id.len + 1);
    if (!c)
        return NULL;
    c->id_len = (uint32_t)id.len;
    if (id.len)
        memcpy(c->id, id.data, id.len);
    if (!insert(&t->clients, &c->entry, hash_of(t, id))) {
        free(c);
        return NULL;
    }
    return c;
}

static void drop_client(struct mi_interest *t, struct client *c)
{
    while (c->pairs)
        drop_pair(t, c->pairs);
    take_out(&t->clients, &c->entry);
    free(c);
}

static struct filter *find_filter(const struct mi_interest *t, struct mi_span text)
{
    struct entry *e = first_of(&t->filters, hash_of(t, text));
    for (; e; e = next_of(e))
        if (mi_span_equal(mi_filter_text_span(((struct filter *)e)->text), text))
            return (struct filter *)e;
    return NULL;
}

static bool room_in_list(struct mi_interest *t)
{
    if (t->filters.count < t->list_cap)
        return true;
    size_t cap = t->list_cap ? t->list_cap * 2 : 64;
    struct filter **list = realloc(t->list, cap * sizeof *list);
    t->list = list ? list : t->list;
    struct mi_filter_text **texts = realloc(t->texts, cap * sizeof *texts);
    t->texts = texts ? texts : t->texts;
    if (!list || !texts)
        return false;
    t->list_cap = cap;
    return true;
}

static struct filter *take_filter(struct mi_interest *t, struct mi_span text)
{
    struct filter *f = find_filter(t, text);
    if (f)
        return f;
    f = calloc(1, sizeof *f);
    if (f)
        f->text = mi_filter_text_new(text);
    if (!f || !f->text || !room_in_list(t) || !insert(&t->filters, &f->entry, hash_of(t, text))) {
        if (f)
            mi_filter_text_release(f->text);
        free(f);
        return NULL;
    }
    f->place = t->filters.count - 1;
    t->list[f->place] = f;
    t->texts[f->place] = f->text;
    t->changed = true;
    return f;
}

static void drop_filter(struct mi_interest *t, struct filter *f)
{
    take_out(&t->filters, &f->entry);
    t->list[f->place] = t->list[t->filters.count];
    t->texts[f->place] = t->texts[t->filters.count];
    t->list[f->place]->place = f->place;
    mi_filter_text_release(f->text);
    free(f);
    t->changed = true;
}

static uint64_t pair_hash(const struct mi_interest *t, const struct client *c, const struct filter *f)
{
    const void *both[2] = {c, f};
    return XXH3_64bits_withSeed(both, sizeof both, t->seed);
}

static struct pair *find_pair(const struct mi_interest *t, const struct client *c, const struct filter *f)
{
    struct entry *e = first_of(&t->pairs, pair_hash(t, c, f));
    for (; e; e = next_of(e)) {
        struct pair *pair = (struct pair *)e;
        if (pair->client == c && pair->filter == f)
            return pair;
    }
    return NULL;
}

static bool add_pair(struct mi_interest *t, struct client *c, struct filter *f)
{
    struct pair *pair = malloc(sizeof *pair);
    if (!pair || !insert(&t->pairs, &pair->entry, pair_hash(t, c, f))) {
        free(pair);
        return false;
    }
    pair->client = c;
    pair->filter = f;
    pair->previous = NULL;
    pair->next = c->pairs;
    if (c->pairs)
        c->pairs->previous = pair;
    c->pairs = pair;
    f->clients++;
    return true;
}

static void drop_pair(struct mi_interest *t, struct pair *pair)
{
    if (pair->previous)
        pair->previous->next = pair->next;
    else
        pair->client->pairs = pair->next;
    if (pair->next)
        pair->next->previous = pair->previous;
    take_out(&t->pairs, &pair->entry);
    if (--pair->filter->clients == 0)
        drop_filter(t, pair->filter);
    free(pair);
}

/* ---- the picture ---- */

bool mi_interest_changed(const struct mi_interest *t)
{
    return t->changed;
}

struct mi_interest_picture *mi_interest_picture(struct mi_interest *t)
{
    if (t->changed || !t->picture) {
        bool everything = t->unknown || t->lost || t->filters.count > t->max_filters;
        struct mi_interest_picture *p = mi_picture_new(everything, t->texts, t->filters.count);
        if (!p)
            return NULL;
        mi_interest_picture_release(t->picture);
        t->picture = p;
        t->changed = false;
    }
    return mi_interest_picture_hold(t->picture);
}
