#include "auth/limits.h"

#include <stdlib.h>

enum {
    PLACES = 4096,
    WHOLE = 60000, /* one try, in units: a rate of one a minute brings one unit each millisecond */
    LEAST_AT_ONCE = 10,
    MINUTE_PART = 6
};

struct bucket {
    uint64_t filled_ms; /* when missing was brought up to date */
    uint64_t missing;   /* units; 0: full, as everybody's is at the start */
};

struct kind {
    uint32_t per_minute;
    struct bucket places[PLACES];
};

struct mi_login_limits {
    const struct mi_secret_hash *hash;
    struct kind users, addresses;
};

struct mi_login_limits *mi_login_limits_new(uint32_t per_user, uint32_t per_address,
                                            const struct mi_secret_hash *hash)
{
    struct mi_login_limits *l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->hash = hash;
    mi_login_limits_set(l, per_user, per_address);
    return l;
}

void mi_login_limits_free(struct mi_login_limits *l)
{
    free(l);
}

void mi_login_limits_set(struct mi_login_limits *l, uint32_t per_user, uint32_t per_address)
{
    l->users.per_minute = per_user;
    l->addresses.per_minute = per_address;
}

/* NULL: no bound for it. */
static struct bucket *bucket_of(struct mi_login_limits *l, struct kind *k, struct mi_span name)
{
    uint8_t hash[MI_SECRET_HASH_BYTES];
    struct mi_span kind = mi_span_of(k == &l->users ? "user" : "address");
    if (k->per_minute == 0 || name.len == 0 || !mi_secret_hash_pair(l->hash, kind, name, hash))
        return NULL;
    return &k->places[mi_get_u64le(hash) % PLACES];
}

static uint64_t depth(const struct kind *k)
{
    uint64_t tries = k->per_minute / MINUTE_PART;
    return (tries > LEAST_AT_ONCE ? tries : LEAST_AT_ONCE) * WHOLE;
}

static bool has_one(const struct kind *k, struct bucket *b, uint64_t now_ms)
{
    if (!b)
        return true;
    uint64_t came = (now_ms - b->filled_ms) * k->per_minute;
    b->missing = came < b->missing ? b->missing - came : 0;
    b->filled_ms = now_ms;
    return b->missing + WHOLE <= depth(k);
}

bool mi_login_limits_take(struct mi_login_limits *l, struct mi_span user, struct mi_span address, bool known,
                          uint64_t now_ns)
{
    uint64_t now_ms = now_ns / MI_NS_PER_MS;
    struct bucket *by_user = known ? NULL : bucket_of(l, &l->users, user);
    struct bucket *by_address = bucket_of(l, &l->addresses, address);
    bool user_has = has_one(&l->users, by_user, now_ms);
    bool address_has = has_one(&l->addresses, by_address, now_ms);
    if (!user_has || !address_has)
        return false;
    if (by_user)
        by_user->missing += WHOLE;
    if (by_address)
        by_address->missing += WHOLE;
    return true;
}

static void give_back(struct bucket *b)
{
    if (b)
        b->missing = b->missing > WHOLE ? b->missing - WHOLE : 0;
}

void mi_login_limits_give_back(struct mi_login_limits *l, struct mi_span user, struct mi_span address,
                               bool known)
{
    if (!known)
        give_back(bucket_of(l, &l->users, user));
    give_back(bucket_of(l, &l->addresses, address));
}
