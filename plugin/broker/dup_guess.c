#include "broker/dup_guess.h"

#include <stdlib.h>
#include <xxhash.h>

/* A number counts a client's kept messages; number n stands at prints[n % MI_DUP_MESSAGES]. */
struct client {
    struct client *newer, *older; /* by when it was last heard */
    struct client *chain;
    uint64_t id;     /* hash of the client id */
    uint64_t next;   /* number of the next message */
    uint64_t expect; /* the old message that the next one may repeat, or a later one */
    uint64_t end;    /* first number of this connection; expect == end: nothing is suspected any more */
    uint64_t prints[MI_DUP_MESSAGES];
};

struct mi_dup_guess {
    size_t count, max;
    size_t bucket_mask;
    struct client **buckets;
    struct client *newest, *oldest;
};

struct mi_dup_guess *mi_dup_guess_new(size_t max_clients)
{
    struct mi_dup_guess *g = calloc(1, sizeof *g);
    size_t buckets = 16;
    while (buckets < max_clients)
        buckets *= 2;
    if (g)
        g->buckets = calloc(buckets, sizeof *g->buckets);
    if (!g || !g->buckets) {
        free(g);
        return NULL;
    }
    g->max = max_clients;
    g->bucket_mask = buckets - 1;
    return g;
}

void mi_dup_guess_free(struct mi_dup_guess *g)
{
    if (!g)
        return;
    while (g->newest) {
        struct client *c = g->newest;
        g->newest = c->older;
        free(c);
    }
    free(g->buckets);
    free(g);
}

uint64_t mi_dup_guess_print(struct mi_span topic, struct mi_span payload, uint8_t qos, bool retain)
{
    uint64_t seed = XXH64(topic.data, topic.len, (uint64_t)qos << 1 | (retain ? 1 : 0));
    return XXH64(payload.data, payload.len, seed);
}

static uint64_t hash_id(struct mi_span client_id)
{
    return XXH64(client_id.data, client_id.len, 0);
}

static struct client *find(const struct mi_dup_guess *g, uint64_t id)
{
    struct client *c = g->buckets[id & g->bucket_mask];
    while (c && c->id != id)
        c = c->chain;
    return c;
}

void mi_dup_guess_disconnected(struct mi_dup_guess *g, struct mi_span client_id)
{
    struct client *c = find(g, hash_id(client_id));
    if (!c)
        return;
    c->end = c->next;
    c->expect = c->next > MI_DUP_MESSAGES ? c->next - MI_DUP_MESSAGES : 0;
}

bool mi_dup_guess_check(struct mi_dup_guess *g, struct mi_span client_id, uint64_t print)
{
    struct client *c = find(g, hash_id(client_id));
    if (!c || c->expect == c->end)
        return false;
    /* expect keeps ahead of what the ring forgets: both go on by at least, and at most, one per message. */
    while (c->expect < c->end && c->prints[c->expect % MI_DUP_MESSAGES] != print)
        c->expect++;
    if (c->expect == c->end)
        return false;
    c->expect++;
    return true;
}

static void unlink_client(struct mi_dup_guess *g, struct client *c)
{
    *(c->newer ? &c->newer->older : &g->newest) = c->older;
    *(c->older ? &c->older->newer : &g->oldest) = c->newer;
}

static void link_newest(struct mi_dup_guess *g, struct client *c)
{
    c->newer = NULL;
    c->older = g->newest;
    *(g->newest ? &g->newest->newer : &g->oldest) = c;
    g->newest = c;
}

static void forget_oldest(struct mi_dup_guess *g)
{
    struct client *c = g->oldest;
    struct client **at = &g->buckets[c->id & g->bucket_mask];
    while (*at != c)
        at = &(*at)->chain;
    *at = c->chain;
    unlink_client(g, c);
    free(c);
    g->count--;
}

static struct client *add_client(struct mi_dup_guess *g, uint64_t id)
{
    if (g->count >= g->max)
        forget_oldest(g);
    struct client *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->id = id;
    c->chain = g->buckets[id & g->bucket_mask];
    g->buckets[id & g->bucket_mask] = c;
    link_newest(g, c);
    g->count++;
    return c;
}

void mi_dup_guess_keep(struct mi_dup_guess *g, struct mi_span client_id, uint64_t print)
{
    uint64_t id = hash_id(client_id);
    struct client *c = find(g, id);
    if (!c)
        c = add_client(g, id);
    if (!c)
        return;
    if (c != g->newest) {
        unlink_client(g, c);
        link_newest(g, c);
    }
    c->prints[c->next % MI_DUP_MESSAGES] = print;
    c->next++;
}
