#include "auth/iggy_backend.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

enum {
    QUEUE = 256,
    AT_ONCE = 2,
    BURST = 10, /* logins that may follow each other without a pause after a quiet time */
    WAIT_MS = 5000,
    LOGIN_MS = 5000,
    PROBE_MS = 1000,
    LOG_MS = 10000
};
/* What Iggy lets a user be called, and have as a password; API reference 1.1. */
enum { MIN_NAME = 3, MAX_NAME = 50, MIN_PASSWORD = 3, MAX_PASSWORD = 100 };
enum { LEAST_TOKEN = 40 }; /* base64 of 50 bytes */
enum { MAX_OWNER = 255 };

struct ask {
    struct ask *next;
    struct mi_iggy_backend *backend;
    struct iggy_client *client; /* that is asked now; NULL: queued */
    uint64_t ticket;
    uint64_t deadline_ns; /* of the queue, then of the login */
    iggy_request request;
    bool as_token; /* what is being asked now */
    char owner[MAX_OWNER + 1];
    size_t name_len, secret_len;
    uint8_t text[]; /* name, secret */
};

struct mi_iggy_backend {
    /* set before the first check, then constant */
    struct mi_iggy_backend_options options;
    struct mi_backend_sink sink;
    mi_admit_fn admit; /* may be NULL */
    void *admit_context;
    /* under lock */
    pthread_mutex_t lock;
    struct ask *first, *last;
    size_t queued;
    /* any thread */
    _Atomic uint32_t per_second;
    atomic_bool away;
    _Atomic uint64_t probe_ns; /* while away: when the next one may try */
    /* bridge thread */
    struct ask *flying[AT_ONCE];
    struct ask *admitted; /* right, and not let in yet */
    uint64_t earned_ns;   /* a login may start when this, with a burst's worth on top, is not in the future */
    struct mi_log_limit away_limit;
};

static void ask_iggy(struct ask *a);
static void admit_user(struct ask *a, const struct iggy_user *user);
static void answer(struct ask *a, enum mi_backend_answer what);

/* ---- life ---- */

struct mi_iggy_backend *mi_iggy_backend_new(const struct mi_iggy_backend_options *options)
{
    struct mi_iggy_backend *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->options = *options;
    pthread_mutex_init(&b->lock, NULL);
    mi_iggy_backend_set_rate(b, options->logins_per_second);
    return b;
}

static void free_ask(struct ask *a)
{
    if (a)
        explicit_bzero(a->text, a->name_len + a->secret_len);
    free(a);
}

static void free_list(struct ask *first)
{
    for (struct ask *a = first, *next; a; a = next) {
        next = a->next;
        free_ask(a);
    }
}

void mi_iggy_backend_free(struct mi_iggy_backend *b)
{
    if (!b)
        return;
    free_list(b->first);
    free_list(b->admitted);
    for (size_t i = 0; i < AT_ONCE; i++)
        free_ask(b->flying[i]);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

void mi_iggy_backend_set_sink(struct mi_iggy_backend *b, struct mi_backend_sink sink)
{
    b->sink = sink;
}

void mi_iggy_backend_set_admit(struct mi_iggy_backend *b, mi_admit_fn admit, void *context)
{
    b->admit = admit;
    b->admit_context = context;
}

void mi_iggy_backend_set_rate(struct mi_iggy_backend *b, uint32_t logins_per_second)
{
    atomic_store(&b->per_second, logins_per_second);
}

/* ---- main thread ---- */

static bool possible(struct mi_span username, struct mi_span password)
{
    return (username.len == 0 || (username.len >= MIN_NAME && username.len <= MAX_NAME)) &&
           password.len >= MIN_PASSWORD && password.len <= MAX_PASSWORD && mi_utf8_valid(username) &&
           mi_utf8_valid(password);
}

static bool reachable(void *self)
{
    struct mi_iggy_backend *b = self;
    return !atomic_load(&b->away);
}

/* While Iggy is away one ask a second goes through. */
static bool may_ask(struct mi_iggy_backend *b)
{
    if (reachable(b))
        return true;
    uint64_t now = mi_now_ns(b->options.clock), due = atomic_load(&b->probe_ns);
    return now >= due && atomic_compare_exchange_strong(&b->probe_ns, &due, now + PROBE_MS * MI_NS_PER_MS);
}

static bool enqueue(struct mi_iggy_backend *b, struct ask *a)
{
    pthread_mutex_lock(&b->lock);
    bool room = b->queued < QUEUE;
    if (room) {
        *(b->last ? &b->last->next : &b->first) = a;
        b->last = a;
        b->queued++;
    }
    pthread_mutex_unlock(&b->lock);
    return room;
}

static bool check(void *self, uint64_t ticket, struct mi_span username, struct mi_span password)
{
    struct mi_iggy_backend *b = self;
    struct ask *a = may_ask(b) ? malloc(sizeof *a + username.len + password.len) : NULL;
    if (!a)
        return false;
    *a = (struct ask){.backend = b,
                      .ticket = ticket,
                      .deadline_ns = mi_now_ns(b->options.clock) + WAIT_MS * MI_NS_PER_MS,
                      .as_token = username.len == 0 || mi_looks_like_token(password),
                      .name_len = username.len,
                      .secret_len = password.len};
    if (username.len)
        memcpy(a->text, username.data, username.len);
    memcpy(a->text + username.len, password.data, password.len);
    if (!enqueue(b, a)) {
        free_ask(a);
        return false;
    }
    b->options.wake_bridge(b->options.context);
    return true;
}

struct mi_backend mi_iggy_backend_interface(struct mi_iggy_backend *b)
{
    static const struct mi_backend_functions functions = {
        .name = "iggy", .possible = possible, .check = check, .reachable = reachable};
    return (struct mi_backend){&functions, b};
}

bool mi_looks_like_token(struct mi_span text)
{
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        bool base64 = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                      c == '+' || c == '/' || c == '-' || c == '_' || c == '=';
        if (!base64)
            return false;
    }
    return text.len >= LEAST_TOKEN;
}

/* ---- bridge thread ---- */

static struct ask *dequeue(struct mi_iggy_backend *b)
{
    pthread_mutex_lock(&b->lock);
    struct ask *a = b->first;
    if (a) {
        b->first = a->next;
        if (!b->first)
            b->last = NULL;
        b->queued--;
        a->next = NULL;
    }
    pthread_mutex_unlock(&b->lock);
    return a;
}

/* When does the oldest of the queue run out? */
static uint64_t queue_deadline(struct mi_iggy_backend *b)
{
    pthread_mutex_lock(&b->lock);
    uint64_t deadline = b->first ? b->first->deadline_ns : UINT64_MAX;
    pthread_mutex_unlock(&b->lock);
    return deadline;
}

/* What waited too long is no sign that Iggy is away: there was too much to do. */
static void drop_late(struct mi_iggy_backend *b, uint64_t now)
{
    while (queue_deadline(b) <= now)
        answer(dequeue(b), MI_BACKEND_UNAVAILABLE);
}

static uint64_t pause_ns(struct mi_iggy_backend *b)
{
    uint32_t rate = atomic_load(&b->per_second);
    return MI_NS_PER_S / (rate ? rate : 1);
}

/* Leaky bucket: earned_ns runs ahead of the clock by what was started, at most by a burst. */
static uint64_t may_start_at(struct mi_iggy_backend *b, uint64_t now)
{
    uint64_t burst = (BURST - 1) * pause_ns(b);
    if (b->earned_ns < now)
        b->earned_ns = now;
    return b->earned_ns - now > burst ? b->earned_ns - burst : now;
}

static struct ask **free_place(struct mi_iggy_backend *b)
{
    for (size_t i = 0; i < AT_ONCE; i++)
        if (!b->flying[i])
            return &b->flying[i];
    return NULL;
}

uint64_t mi_iggy_backend_step(struct mi_iggy_backend *b, struct iggy_client *client, uint64_t now)
{
    drop_late(b, now);
    for (size_t i = 0; i < AT_ONCE; i++)
        if (b->flying[i] && now >= b->flying[i]->deadline_ns)
            iggy_client_cancel(client, b->flying[i]->request);
    uint64_t due = queue_deadline(b);
    for (struct ask **place; (place = free_place(b)) != NULL;) {
        uint64_t start = may_start_at(b, now);
        struct ask *a = start <= now ? dequeue(b) : NULL;
        if (!a) {
            due = due == UINT64_MAX ? due : start > now ? start : due;
            break;
        }
        b->earned_ns += pause_ns(b);
        a->deadline_ns = now + LOGIN_MS * MI_NS_PER_MS;
        a->client = client;
        *place = a;
        ask_iggy(a);
    }
    for (size_t i = 0; i < AT_ONCE; i++)
        if (b->flying[i] && b->flying[i]->deadline_ns < due)
            due = b->flying[i]->deadline_ns;
    return due;
}

static struct mi_span name_of(const struct ask *a)
{
    return (struct mi_span){a->text, a->name_len};
}

static bool is_owner(const struct ask *a, const struct iggy_user *user)
{
    return a->name_len == 0 ||
           mi_span_equal(name_of(a), (struct mi_span){user->username.data, user->username.len});
}

static void note_reachable(struct mi_iggy_backend *b, const struct iggy_result *result, bool answered)
{
    if (answered) {
        if (atomic_exchange(&b->away, false))
            mi_log_line(b->options.log, MI_LOG_NOTICE, "logins: Iggy answers again");
        return;
    }
    uint64_t now = mi_now_ns(b->options.clock);
    atomic_store(&b->probe_ns, now + PROBE_MS * MI_NS_PER_MS);
    atomic_store(&b->away, true);
    mi_log_limited(b->options.log, &b->away_limit, now, LOG_MS * MI_NS_PER_MS, MI_LOG_WARNING,
                   "logins: Iggy cannot be asked: %s", result->text);
}

static void land(struct ask *a)
{
    for (size_t i = 0; i < AT_ONCE; i++)
        if (a->backend->flying[i] == a)
            a->backend->flying[i] = NULL;
}

static void copy_name(char *to, size_t size, struct iggy_span name)
{
    size_t n = name.len < size - 1 ? name.len : size - 1;
    if (n)
        memcpy(to, name.data, n);
    to[n] = '\0';
}

static void on_verdict(void *arg, const struct iggy_result *result, enum iggy_verdict verdict,
                       const struct iggy_user *user);

static void ask_iggy(struct ask *a)
{
    struct iggy_span name = {a->text, a->name_len}, secret = {a->text + a->name_len, a->secret_len};
    a->request = a->as_token ? iggy_check_token(a->client, secret, on_verdict, a)
                             : iggy_check_password(a->client, name, secret, on_verdict, a);
    if (a->request)
        return;
    land(a);
    answer(a, MI_BACKEND_UNAVAILABLE);
}

/* Not a token of Iggy's, but perhaps a password that looks like one. */
static bool goes_on(const struct ask *a, enum iggy_verdict verdict)
{
    return verdict == IGGY_VERDICT_REFUSED && a->as_token && a->name_len > 0;
}

static void on_verdict(void *arg, const struct iggy_result *result, enum iggy_verdict verdict,
                       const struct iggy_user *user)
{
    struct ask *a = arg;
    note_reachable(a->backend, result, verdict != IGGY_VERDICT_UNKNOWN);
    if (goes_on(a, verdict)) {
        a->as_token = false;
        ask_iggy(a);
        return;
    }
    land(a);
    if (verdict == IGGY_VERDICT_UNKNOWN)
        answer(a, MI_BACKEND_UNAVAILABLE);
    else if (verdict == IGGY_VERDICT_REFUSED || !is_owner(a, user))
        answer(a, MI_BACKEND_NO);
    else
        admit_user(a, user);
}

static void let_in(void *arg)
{
    struct ask *a = arg, **link = &a->backend->admitted;
    while (*link && *link != a)
        link = &(*link)->next;
    if (*link)
        *link = a->next;
    answer(a, MI_BACKEND_YES);
}

static void admit_user(struct ask *a, const struct iggy_user *user)
{
    struct mi_iggy_backend *b = a->backend;
    if (a->name_len == 0)
        copy_name(a->owner, sizeof a->owner, user->username);
    a->next = b->admitted;
    b->admitted = a;
    if (b->admit)
        b->admit(b->admit_context, user, let_in, a);
    else
        let_in(a);
}

/* Ends it. */
static void answer(struct ask *a, enum mi_backend_answer what)
{
    struct mi_backend_sink sink = a->backend->sink;
    struct mi_backend_reply reply = {.answer = what, .owner = a->owner};
    sink.answer(sink.context, a->ticket, &reply);
    free_ask(a);
}
