#include "auth/user_rules.h"

#include "base/fnv.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 4096, MAX_WANTED = 256, MAX_NAME = 255, ASK_AGAIN_MS = 1000, LOG_S = 10 };

struct user {
    struct user *next; /* in its bucket */
    struct user *newer, *older;
    struct mi_acl_file *rules;
    uint64_t told_ns;
    char name[];
};

/* What came, or a name that is wanted. */
struct note {
    struct note *next;
    char *text; /* NULL: no such user */
    char name[];
};

struct mi_user_rules {
    struct mi_user_rules_options options;
    /* main thread */
    struct user *buckets[BUCKETS];
    struct user *newest, *oldest;
    size_t count;
    struct note *wanted; /* names, the last first */
    size_t wanted_count;
    struct note *gone; /* names, for the next TICK */
    uint64_t ask_ns;   /* no refresh before */
    struct mi_log_limit limit;
    /* under lock */
    pthread_mutex_t lock;
    struct note *came, **last;
    /* any thread */
    atomic_bool any;
};

static void collect(struct mi_user_rules *r);

/* ---- life ---- */

struct mi_user_rules *mi_user_rules_new(const struct mi_user_rules_options *options)
{
    struct mi_user_rules *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->options = *options;
    r->last = &r->came;
    pthread_mutex_init(&r->lock, NULL);
    return r;
}

static struct note *new_note(struct mi_span name, const char *text)
{
    struct note *n = calloc(1, sizeof *n + name.len + 1);
    if (!n)
        return NULL;
    memcpy(n->name, name.data, name.len);
    n->text = text ? strdup(text) : NULL;
    if (!text || n->text)
        return n;
    free(n);
    return NULL;
}

static void free_note(struct note *n)
{
    free(n->text);
    free(n);
}

static void free_notes(struct note *first)
{
    for (struct note *n = first, *next; n; n = next) {
        next = n->next;
        free_note(n);
    }
}

static void free_user(struct user *u)
{
    mi_acl_file_free(u->rules);
    free(u);
}

void mi_user_rules_free(struct mi_user_rules *r)
{
    if (!r)
        return;
    for (struct user *u = r->newest, *older; u; u = older) {
        older = u->older;
        free_user(u);
    }
    free_notes(r->wanted);
    free_notes(r->gone);
    free_notes(r->came);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

void mi_user_rules_set_refresh(struct mi_user_rules *r, uint64_t refresh_ns)
{
    r->options.refresh_ns = refresh_ns;
}

size_t mi_user_rules_count(const struct mi_user_rules *r)
{
    return r->count;
}

/* ---- any thread ---- */

void mi_user_rules_tell(struct mi_user_rules *r, struct mi_span username, const char *text)
{
    struct note *n = username.len && username.len <= MAX_NAME ? new_note(username, text) : NULL;
    if (!n)
        return;
    pthread_mutex_lock(&r->lock);
    *r->last = n;
    r->last = &n->next;
    pthread_mutex_unlock(&r->lock);
    atomic_store(&r->any, true);
}

/* ---- the table ---- */

/* Only users of the database get in here, so nobody else chooses what meets in a bucket. */
static struct user **bucket_of(struct mi_user_rules *r, struct mi_span name)
{
    return &r->buckets[mi_fnv32(MI_FNV32, name) % BUCKETS];
}

static struct user *find(struct mi_user_rules *r, struct mi_span name)
{
    struct user *u = *bucket_of(r, name);
    while (u && !mi_span_equal(mi_span_of(u->name), name))
        u = u->next;
    return u;
}

static void unlink_age(struct mi_user_rules *r, struct user *u)
{
    *(u->newer ? &u->newer->older : &r->newest) = u->older;
    *(u->older ? &u->older->newer : &r->oldest) = u->newer;
}

static void link_newest(struct mi_user_rules *r, struct user *u)
{
    u->newer = NULL;
    u->older = r->newest;
    *(r->newest ? &r->newest->newer : &r->oldest) = u;
    r->newest = u;
}

static void drop(struct mi_user_rules *r, struct user *u)
{
    struct user **link = bucket_of(r, mi_span_of(u->name));
    while (*link != u)
        link = &(*link)->next;
    *link = u->next;
    unlink_age(r, u);
    free_user(u);
    r->count--;
}

static struct user *add(struct mi_user_rules *r, const char *name)
{
    struct user *u = calloc(1, sizeof *u + strlen(name) + 1);
    if (!u)
        return NULL;
    if (r->count == r->options.max_users)
        drop(r, r->oldest);
    memcpy(u->name, name, strlen(name) + 1);
    struct user **bucket = bucket_of(r, mi_span_of(name));
    u->next = *bucket;
    *bucket = u;
    link_newest(r, u);
    r->count++;
    return u;
}

/* ---- taking over ---- */

static void remember_gone(struct mi_user_rules *r, struct note *n)
{
    n->next = r->gone;
    r->gone = n;
}

static void take_over(struct mi_user_rules *r, struct note *n)
{
    struct mi_error err = {"out of memory"};
    uint64_t now = mi_now_ns(r->options.clock);
    struct user *u = find(r, mi_span_of(n->name));
    if (!n->text) {
        if (u)
            drop(r, u);
        if (u)
            remember_gone(r, n);
        else
            free_note(n);
        return;
    }
    struct mi_acl_file *rules = mi_acl_file_parse(mi_span_of(n->text), MI_ACL_RULES_2_1, &err);
    if (!rules)
        mi_log_limited(r->options.log, &r->limit, now, LOG_S * MI_NS_PER_S, MI_LOG_WARNING,
                       "auth.authorize: the rights of a user cannot be used, so that user has none: %s",
                       err.text);
    if (!u)
        u = add(r, n->name);
    if (u) {
        mi_acl_file_free(u->rules);
        u->rules = rules;
        u->told_ns = now;
        unlink_age(r, u);
        link_newest(r, u);
    } else {
        mi_acl_file_free(rules);
    }
    free_note(n);
}

static void collect(struct mi_user_rules *r)
{
    if (!atomic_load(&r->any))
        return;
    pthread_mutex_lock(&r->lock);
    struct note *first = r->came;
    r->came = NULL;
    r->last = &r->came;
    atomic_store(&r->any, false);
    pthread_mutex_unlock(&r->lock);
    for (struct note *n = first, *next; n; n = next) {
        next = n->next;
        take_over(r, n);
    }
}

/* ---- deciding ---- */

static void want(struct mi_user_rules *r, struct mi_span name)
{
    if (r->wanted_count == MAX_WANTED || name.len > MAX_NAME)
        return;
    for (const struct note *n = r->wanted; n; n = n->next)
        if (mi_span_equal(mi_span_of(n->name), name))
            return;
    struct note *n = new_note(name, NULL);
    if (!n)
        return;
    n->next = r->wanted;
    r->wanted = n;
    r->wanted_count++;
}

bool mi_user_rules_allow(struct mi_user_rules *r, const struct mi_acl_client *client, struct mi_span topic,
                         enum mi_acl_access access)
{
    collect(r);
    if (client->username.len == 0)
        return false;
    const struct user *u = find(r, client->username);
    if (u)
        return u->rules && mi_acl_file_allows(u->rules, client, topic, access);
    want(r, client->username);
    return false;
}

/* One who was told of longest ago, at a pace that gets round within refresh. */
static void refresh(struct mi_user_rules *r, uint64_t now)
{
    struct user *u = r->oldest;
    if (!u || now < r->ask_ns || now - u->told_ns < r->options.refresh_ns / 2)
        return;
    r->ask_ns = now + r->options.refresh_ns / 2 / r->count;
    if (!r->options.ask(r->options.context, mi_span_of(u->name))) {
        r->ask_ns = now + ASK_AGAIN_MS * MI_NS_PER_MS;
        return;
    }
    unlink_age(r, u); /* if no answer comes it is the turn of the next one */
    link_newest(r, u);
}

void mi_user_rules_tick(struct mi_user_rules *r, void (*gone)(void *context, const char *username),
                        void *context)
{
    collect(r);
    for (struct note *n = r->gone, *next; n; n = next) {
        next = n->next;
        gone(context, n->name);
        free_note(n);
    }
    r->gone = NULL;
    uint64_t now = mi_now_ns(r->options.clock);
    while (r->wanted && now >= r->ask_ns) {
        struct note *n = r->wanted;
        if (!r->options.ask(r->options.context, mi_span_of(n->name))) {
            r->ask_ns = now + ASK_AGAIN_MS * MI_NS_PER_MS;
            break;
        }
        r->wanted = n->next;
        r->wanted_count--;
        free_note(n);
    }
    refresh(r, now);
}
