#include "auth/login.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "auth/limits.h"

/* A ticket and the id of a check: a running number, and the place in the array. */
enum { PLACE_BITS = 16, PLACE_MASK = (1 << PLACE_BITS) - 1 };

/* One question to the back end. */
struct check {
    uint64_t id; /* 0: unused */
    uint8_t hash[MI_SECRET_HASH_BYTES];
    char *username, *address;
    char *token; /* without a user name: needed once its owner is known; wiped */
    bool known;
};

/* One client that waits for a check. */
struct waiter {
    uint64_t ticket; /* 0: unused */
    uint64_t check;
};

struct arrival {
    uint64_t check;
    enum mi_backend_answer answer;
    char owner[MI_MAX_OWNER + 1];
};

struct mi_login {
    /* constant after set_backend */
    struct mi_login_options options;
    struct mi_backend backend;
    struct mi_secret_hash hash;
    /* main thread */
    struct mi_login_cache *cache;
    struct mi_login_limits *limits;
    uint64_t number; /* the last one given */
    struct check *checks;
    struct waiter *waiters;
    uint32_t check_top, waiter_top; /* places from there on are unused */
    struct mi_login_outcome *done;  /* to be taken; a ring */
    size_t done_first, done_count;
    /* under lock */
    pthread_mutex_t lock;
    pthread_cond_t came;
    struct arrival *arrivals;
    /* any thread; changed under lock */
    _Atomic size_t arrived;
};

static void answered(void *context, uint64_t ticket, const struct mi_backend_reply *reply);
static void collect(struct mi_login *l);

/* ---- life ---- */

struct mi_login *mi_login_new(const struct mi_login_options *options)
{
    struct mi_login *l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    const struct mi_login_rules *rules = &options->rules;
    pthread_condattr_t monotonic;
    l->options = *options;
    bool hash = mi_secret_hash_init(&l->hash, options->clock);
    pthread_mutex_init(&l->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&l->came, &monotonic);
    pthread_condattr_destroy(&monotonic);
    l->cache = mi_login_cache_new(options->cache_entries);
    l->limits = mi_login_limits_new(rules->tries_per_user, rules->tries_per_address, &l->hash);
    l->checks = calloc(options->max_pending, sizeof *l->checks);
    l->waiters = calloc(options->max_pending, sizeof *l->waiters);
    l->done = calloc(options->max_pending, sizeof *l->done);
    l->arrivals = calloc(options->max_pending, sizeof *l->arrivals);
    if (hash && l->cache && l->limits && l->checks && l->waiters && l->done && l->arrivals)
        return l;
    mi_login_free(l);
    return NULL;
}

static void wipe_check(struct check *c)
{
    if (c->token)
        explicit_bzero(c->token, strlen(c->token));
    free(c->token);
    free(c->username);
    free(c->address);
    explicit_bzero(c, sizeof *c);
}

void mi_login_free(struct mi_login *l)
{
    if (!l)
        return;
    for (uint32_t i = 0; l->checks && i < l->options.max_pending; i++)
        wipe_check(&l->checks[i]);
    free(l->checks);
    free(l->waiters);
    free(l->done);
    free(l->arrivals);
    mi_login_limits_free(l->limits);
    mi_login_cache_free(l->cache);
    mi_secret_hash_fini(&l->hash);
    pthread_cond_destroy(&l->came);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

struct mi_backend_sink mi_login_sink(struct mi_login *l)
{
    return (struct mi_backend_sink){answered, l};
}

void mi_login_set_backend(struct mi_login *l, struct mi_backend backend)
{
    l->backend = backend;
}

bool mi_login_reachable(struct mi_login *l)
{
    return l->backend.f->reachable(l->backend.self);
}

void mi_login_set_rules(struct mi_login *l, const struct mi_login_rules *rules)
{
    l->options.rules = *rules;
    mi_login_limits_set(l->limits, rules->tries_per_user, rules->tries_per_address);
    mi_login_cache_outdate(l->cache);
}

/* ---- what the rules make of it ---- */

static void set_owner(struct mi_login_outcome *outcome, const char *owner)
{
    snprintf(outcome->owner, sizeof outcome->owner, "%s", owner);
}

static void allow(struct mi_login_outcome *outcome, const char *owner)
{
    outcome->answer = MI_LOGIN_ALLOWED;
    set_owner(outcome, owner);
}

static void refuse(const struct mi_login *l, struct mi_login_outcome *outcome)
{
    outcome->answer = l->options.rules.refused_goes_next ? MI_LOGIN_NEXT : MI_LOGIN_REFUSED;
}

/* Nobody can be asked. */
static void do_without(const struct mi_login *l, const struct mi_cached_login *cached,
                       struct mi_login_outcome *outcome)
{
    const struct mi_login_rules *rules = &l->options.rules;
    outcome->answer = MI_LOGIN_UNAVAILABLE;
    if (rules->on_unavailable == MI_AWAY_NEXT)
        outcome->answer = MI_LOGIN_NEXT;
    else if (rules->on_unavailable == MI_AWAY_CACHED && cached->kind == MI_CACHED_RIGHT &&
             cached->age_ns < rules->stale_age_ns)
        allow(outcome, cached->owner);
}

static void count(const struct mi_login *l, const struct mi_login_outcome *outcome)
{
    static const enum mi_global_counter counters[] = {
        [MI_LOGIN_ALLOWED] = MI_G_LOGINS_ALLOWED,         [MI_LOGIN_REFUSED] = MI_G_LOGINS_REFUSED,
        [MI_LOGIN_UNAVAILABLE] = MI_G_LOGINS_UNAVAILABLE, [MI_LOGIN_NEXT] = MI_G_LOGINS_NEXT,
        [MI_LOGIN_LIMITED] = MI_G_LOGINS_LIMITED,
    };
    if (outcome->answer != MI_LOGIN_LATER)
        mi_metrics_add(l->options.metrics, counters[outcome->answer], 1);
}

/* ---- asking ---- */

/* Does what is remembered answer it? */
static bool from_cache(const struct mi_login *l, const struct mi_cached_login *cached,
                       struct mi_login_outcome *outcome)
{
    const struct mi_login_rules *rules = &l->options.rules;
    bool right = cached->kind == MI_CACHED_RIGHT && !cached->outdated && cached->age_ns < rules->cache_age_ns;
    bool refused = cached->kind == MI_CACHED_REFUSED && cached->age_ns < rules->refused_age_ns;
    if (right)
        allow(outcome, cached->owner);
    if (refused)
        refuse(l, outcome);
    if (right || refused)
        mi_metrics_add(l->options.metrics, MI_G_LOGINS_CACHED, 1);
    return right || refused;
}

static struct check *check_of_hash(struct mi_login *l, const uint8_t *hash)
{
    for (uint32_t i = 0; i < l->check_top; i++)
        if (l->checks[i].id && memcmp(l->checks[i].hash, hash, MI_SECRET_HASH_BYTES) == 0)
            return &l->checks[i];
    return NULL;
}

static void end_check(struct mi_login *l, struct check *c)
{
    wipe_check(c);
    while (l->check_top > 0 && l->checks[l->check_top - 1].id == 0)
        l->check_top--;
}

static void end_waiter(struct mi_login *l, struct waiter *w)
{
    w->ticket = 0;
    while (l->waiter_top > 0 && l->waiters[l->waiter_top - 1].ticket == 0)
        l->waiter_top--;
}

/* A free place, or NULL. */
static struct waiter *new_waiter(struct mi_login *l)
{
    for (uint32_t i = 0; i < l->options.max_pending; i++) {
        if (l->waiters[i].ticket)
            continue;
        l->waiters[i].ticket = ++l->number << PLACE_BITS | i;
        if (i >= l->waiter_top)
            l->waiter_top = i + 1;
        return &l->waiters[i];
    }
    return NULL;
}

/* Places of checks run out only where those of waiters do: each is waited for, or was until lately. */
static struct check *new_check(struct mi_login *l, struct mi_span username, struct mi_span password,
                               struct mi_span address)
{
    for (uint32_t i = 0; i < l->options.max_pending; i++) {
        struct check *c = &l->checks[i];
        if (c->id)
            continue;
        c->username = strndup((const char *)username.data, username.len);
        c->address = strndup((const char *)address.data, address.len);
        c->token = username.len ? NULL : strndup((const char *)password.data, password.len);
        if (!c->username || !c->address || (username.len == 0 && !c->token)) {
            wipe_check(c);
            return NULL;
        }
        c->id = ++l->number << PLACE_BITS | i;
        if (i >= l->check_top)
            l->check_top = i + 1;
        return c;
    }
    return NULL;
}

/* Asks the back end; NULL when that cannot be done now. */
static struct check *start_check(struct mi_login *l, struct mi_span username, struct mi_span password,
                                 struct mi_span address, const uint8_t *hash, bool known)
{
    struct check *c = new_check(l, username, password, address);
    if (!c)
        return NULL;
    memcpy(c->hash, hash, sizeof c->hash);
    c->known = known;
    if (l->backend.f->check(l->backend.self, c->id, username, password)) {
        mi_metrics_add(l->options.metrics, MI_G_LOGINS_ASKED, 1);
        return c;
    }
    end_check(l, c);
    return NULL;
}

static struct mi_span span_or_empty(struct mi_span s)
{
    return s.data ? s : mi_span_of("");
}

static void decide(struct mi_login *l, struct mi_span username, struct mi_span password,
                   struct mi_span address, struct mi_login_outcome *outcome)
{
    uint8_t hash[MI_SECRET_HASH_BYTES];
    uint64_t now = mi_now_ns(l->options.clock);
    struct mi_cached_login cached = {.owner = ""};
    if (!l->backend.f->possible(username, password)) {
        refuse(l, outcome);
        return;
    }
    if (!mi_secret_hash_pair(&l->hash, username, password, hash)) {
        do_without(l, &cached, outcome);
        return;
    }
    cached = mi_login_cache_look(l->cache, hash, now);
    if (from_cache(l, &cached, outcome))
        return;
    bool known = cached.kind == MI_CACHED_RIGHT;
    struct check *c = check_of_hash(l, hash);
    struct waiter *w = new_waiter(l);
    if (w && !c) {
        if (!mi_login_limits_take(l->limits, username, address, known, now)) {
            end_waiter(l, w);
            outcome->answer = MI_LOGIN_LIMITED;
            return;
        }
        c = start_check(l, username, password, address, hash, known);
        if (!c)
            mi_login_limits_give_back(l->limits, username, address, known);
    }
    if (w && c) {
        w->check = c->id;
        outcome->ticket = w->ticket;
        outcome->answer = MI_LOGIN_LATER;
        return;
    }
    if (w)
        end_waiter(l, w);
    do_without(l, &cached, outcome);
}

void mi_login_ask(struct mi_login *l, struct mi_span username, struct mi_span password,
                  struct mi_span address, struct mi_login_outcome *outcome)
{
    *outcome = (struct mi_login_outcome){.answer = MI_LOGIN_UNAVAILABLE};
    collect(l); /* an answer that has just come may be this one's */
    decide(l, span_or_empty(username), span_or_empty(password), span_or_empty(address), outcome);
    count(l, outcome);
}

void mi_login_again(struct mi_login *l, struct mi_span username, struct mi_span password,
                    struct mi_login_outcome *outcome)
{
    uint8_t hash[MI_SECRET_HASH_BYTES];
    *outcome = (struct mi_login_outcome){.answer = MI_LOGIN_NEXT};
    if (!mi_secret_hash_pair(&l->hash, username, password, hash))
        return;
    struct mi_cached_login cached = mi_login_cache_look(l->cache, hash, mi_now_ns(l->options.clock));
    if (cached.kind == MI_CACHED_RIGHT)
        allow(outcome, cached.owner);
    else if (cached.kind == MI_CACHED_REFUSED)
        refuse(l, outcome);
}

/* ---- answers ---- */

/* Any thread. There is a place for each check that can be under way. */
static void answered(void *context, uint64_t ticket, const struct mi_backend_reply *reply)
{
    struct mi_login *l = context;
    pthread_mutex_lock(&l->lock);
    size_t n = atomic_load_explicit(&l->arrived, memory_order_relaxed);
    if (n < l->options.max_pending) {
        struct arrival *a = &l->arrivals[n];
        a->check = ticket;
        a->answer = reply->answer;
        snprintf(a->owner, sizeof a->owner, "%s", reply->owner ? reply->owner : "");
        atomic_store_explicit(&l->arrived, n + 1, memory_order_release);
    }
    pthread_cond_signal(&l->came);
    pthread_mutex_unlock(&l->lock);
    l->options.wake_main(l->options.context);
}

/* A token's owner is also known by name from now on: the broker asks for that when it looks at its clients
 * again. */
static void remember_owner(struct mi_login *l, const struct check *c, const char *owner, uint64_t now)
{
    uint8_t hash[MI_SECRET_HASH_BYTES];
    if (c->token && mi_secret_hash_pair(&l->hash, mi_span_of(owner), mi_span_of(c->token), hash))
        mi_login_cache_put(l->cache, hash, true, "", now);
}

static void settle(struct mi_login *l, const struct check *c, const struct arrival *a,
                   struct mi_login_outcome *outcome)
{
    uint64_t now = mi_now_ns(l->options.clock);
    *outcome = (struct mi_login_outcome){.answer = MI_LOGIN_UNAVAILABLE};
    if (a->answer != MI_BACKEND_NO)
        mi_login_limits_give_back(l->limits, mi_span_of(c->username), mi_span_of(c->address), c->known);
    if (a->answer == MI_BACKEND_UNAVAILABLE) {
        struct mi_cached_login cached = mi_login_cache_look(l->cache, c->hash, now);
        do_without(l, &cached, outcome);
    } else if (a->answer == MI_BACKEND_YES) {
        mi_login_cache_put(l->cache, c->hash, true, a->owner, now);
        remember_owner(l, c, a->owner, now);
        allow(outcome, a->owner);
    } else {
        mi_login_cache_put(l->cache, c->hash, false, "", now);
        refuse(l, outcome);
    }
}

static void hand_out(struct mi_login *l, uint64_t check, struct mi_login_outcome *outcome)
{
    for (uint32_t i = l->waiter_top; i-- > 0;) {
        struct waiter *w = &l->waiters[i];
        if (!w->ticket || w->check != check)
            continue;
        outcome->ticket = w->ticket;
        end_waiter(l, w);
        if (l->done_count == l->options.max_pending)
            continue;
        size_t at = (l->done_first + l->done_count++) % l->options.max_pending;
        l->done[at] = *outcome;
    }
}

static void process(struct mi_login *l, const struct arrival *a)
{
    struct mi_login_outcome outcome;
    uint64_t place = a->check & PLACE_MASK;
    if (place >= l->options.max_pending || l->checks[place].id != a->check)
        return;
    struct check *c = &l->checks[place];
    settle(l, c, a, &outcome);
    hand_out(l, c->id, &outcome);
    end_check(l, c);
}

/* Moves what came into the cache and to those who wait for it. */
static void collect(struct mi_login *l)
{
    while (atomic_load_explicit(&l->arrived, memory_order_acquire) > 0) {
        struct arrival a;
        pthread_mutex_lock(&l->lock);
        size_t last = atomic_load_explicit(&l->arrived, memory_order_relaxed) - 1;
        a = l->arrivals[last];
        atomic_store_explicit(&l->arrived, last, memory_order_release);
        pthread_mutex_unlock(&l->lock);
        process(l, &a);
    }
}

bool mi_login_has_answers(struct mi_login *l)
{
    return l->done_count > 0 || atomic_load_explicit(&l->arrived, memory_order_acquire) > 0;
}

bool mi_login_take(struct mi_login *l, struct mi_login_outcome *outcome)
{
    collect(l);
    if (l->done_count == 0)
        return false;
    *outcome = l->done[l->done_first];
    l->done_first = (l->done_first + 1) % l->options.max_pending;
    l->done_count--;
    count(l, outcome);
    return true;
}

/* ---- waiting ---- */

static struct timespec after(uint64_t timeout_ns)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    uint64_t ns = (uint64_t)t.tv_nsec + timeout_ns % MI_NS_PER_S;
    t.tv_sec += (time_t)(timeout_ns / MI_NS_PER_S + ns / MI_NS_PER_S);
    t.tv_nsec = (long)(ns % MI_NS_PER_S);
    return t;
}

static void wait_for_one(struct mi_login *l, const struct timespec *until, bool *late)
{
    pthread_mutex_lock(&l->lock);
    while (!*late && atomic_load_explicit(&l->arrived, memory_order_relaxed) == 0)
        *late = pthread_cond_timedwait(&l->came, &l->lock, until) != 0;
    pthread_mutex_unlock(&l->lock);
}

/* The answer of that ticket, taken out of its turn. */
static bool take_own(struct mi_login *l, uint64_t ticket, struct mi_login_outcome *outcome)
{
    size_t size = l->options.max_pending;
    for (size_t i = 0; i < l->done_count; i++) {
        size_t at = (l->done_first + i) % size;
        if (l->done[at].ticket != ticket)
            continue;
        *outcome = l->done[at];
        for (; i + 1 < l->done_count; i++, at = (at + 1) % size)
            l->done[at] = l->done[(at + 1) % size];
        l->done_count--;
        return true;
    }
    return false;
}

static void give_up(struct mi_login *l, uint64_t ticket, struct mi_login_outcome *outcome)
{
    struct waiter *w = &l->waiters[ticket & PLACE_MASK];
    struct mi_cached_login cached = {.owner = ""};
    if (w->ticket == ticket) {
        const struct check *c = &l->checks[w->check & PLACE_MASK];
        cached = mi_login_cache_look(l->cache, c->hash, mi_now_ns(l->options.clock));
        end_waiter(l, w);
    }
    *outcome = (struct mi_login_outcome){.answer = MI_LOGIN_UNAVAILABLE, .ticket = ticket};
    do_without(l, &cached, outcome);
}

void mi_login_wait(struct mi_login *l, uint64_t ticket, uint64_t timeout_ns, struct mi_login_outcome *outcome)
{
    struct timespec until = after(timeout_ns);
    bool late = timeout_ns == 0, found;
    for (collect(l); !(found = take_own(l, ticket, outcome)) && !late; collect(l))
        wait_for_one(l, &until, &late);
    if (!found)
        give_up(l, ticket, outcome);
    count(l, outcome);
}
