/*
 * history: the table of requests on the main thread, the jobs on the bridge thread, and the two ways between
 * them.
 */
#include "history/history.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "history/job.h"

enum {
    PER_CLIENT = 4,      /* requests at a time */
    WAITING_ITEMS = 2000 /* for the main thread; then nothing more is read */
};
#define WAITING_BYTES (16u * 1024 * 1024)

/* One request as the main thread sees it. */
struct asker {
    mi_history_id id;
    char *client_id;
    uint64_t denied;
    struct asker *next;
};

struct mi_history {
    /* set at the start, then constant */
    struct mi_history_options o;
    struct mi_job_shared shared; /* polls: bridge thread */
    /* main thread */
    struct asker *askers;
    size_t asker_count;
    mi_history_id last_id;
    /* under lock */
    pthread_mutex_t lock;
    struct mi_config *config; /* held */
    struct mi_job *incoming, **incoming_end;
    mi_history_id *cancelled;
    size_t cancelled_count, cancelled_cap;
    /* bridge thread */
    struct mi_job *jobs;
};

static void wake_main(void *context)
{
    const struct mi_history *h = context;
    h->o.wake_main(h->o.context);
}

struct mi_history *mi_history_new(const struct mi_history_options *options, struct mi_error *err)
{
    struct mi_history *h = calloc(1, sizeof *h);
    struct mi_outbox *outbox = mi_outbox_new(WAITING_ITEMS, WAITING_BYTES);
    if (!h || !outbox) {
        free(h);
        mi_outbox_free(outbox);
        mi_error_set(err, "out of memory");
        return NULL;
    }
    h->o = *options;
    h->config = mi_config_hold(options->config);
    h->incoming_end = &h->incoming;
    pthread_mutex_init(&h->lock, NULL);
    h->shared = (struct mi_job_shared){
        .client = options->client,
        .metrics = options->metrics,
        .clock = options->clock,
        .log = options->log,
        .outbox = outbox,
        .wake_main = wake_main,
        .context = h,
    };
    if (!mi_cursor_key_load(h->config->journal_directory, options->clock, h->shared.key) &&
        h->config->history)
        mi_log_line(options->log, MI_LOG_WARNING,
                    "history.key cannot be kept in %s: cursors of history end with this process",
                    h->config->journal_directory);
    return h;
}

static void free_jobs(struct mi_job *list)
{
    while (list) {
        struct mi_job *job = list;
        list = job->next;
        mi_job_free(job);
    }
}

void mi_history_free(struct mi_history *h)
{
    if (!h)
        return;
    free_jobs(h->incoming);
    free_jobs(h->jobs);
    while (h->askers) {
        struct asker *a = h->askers;
        h->askers = a->next;
        free(a->client_id);
        free(a);
    }
    mi_outbox_free(h->shared.outbox);
    mi_config_release(h->config);
    free(h->cancelled);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

/* ---- main thread ---- */

static struct mi_config *hold_config(struct mi_history *h)
{
    pthread_mutex_lock(&h->lock);
    struct mi_config *config = mi_config_hold(h->config);
    pthread_mutex_unlock(&h->lock);
    return config;
}

static const char *no_room_for(const struct mi_history *h, const struct mi_config *config,
                               struct mi_span client_id)
{
    size_t own = 0;
    for (const struct asker *a = h->askers; a; a = a->next)
        own += mi_span_equal(mi_span_of(a->client_id), client_id);
    if (!config->history)
        return "this broker gives no history: its configuration has no history block";
    if (own >= PER_CLIENT)
        return "four requests of this client are under way: wait for their end";
    if (h->asker_count >= config->history_max_requests)
        return "too many requests are under way on this broker (history.max_requests): try again later";
    return NULL;
}

static struct asker *add_asker(struct mi_history *h, struct mi_span client_id)
{
    struct asker *a = calloc(1, sizeof *a);
    char *name = a ? malloc(client_id.len + 1) : NULL;
    if (!name) {
        free(a);
        return NULL;
    }
    if (client_id.len)
        memcpy(name, client_id.data, client_id.len);
    name[client_id.len] = '\0';
    *a = (struct asker){.id = ++h->last_id, .client_id = name, .next = h->askers};
    h->askers = a;
    h->asker_count++;
    return a;
}

static struct asker **find_asker(struct mi_history *h, mi_history_id id)
{
    struct asker **at = &h->askers;
    while (*at && (*at)->id != id)
        at = &(*at)->next;
    return at;
}

static void remove_asker(struct mi_history *h, struct asker **at)
{
    struct asker *a = *at;
    *at = a->next;
    h->asker_count--;
    free(a->client_id);
    free(a);
}

mi_history_id mi_history_begin(struct mi_history *h, const struct mi_history_ask *ask, const char **why)
{
    struct mi_config *config = hold_config(h);
    struct mi_job *job = NULL;
    struct asker *asker = NULL;
    *why = no_room_for(h, config, ask->client_id);
    if (!*why)
        job = mi_job_new(config, h->shared.key, ask, mi_wall_us(h->o.clock), why);
    mi_config_release(config);
    if (!job)
        return 0;
    asker = add_asker(h, ask->client_id);
    if (!asker) {
        *why = "out of memory";
        mi_job_free(job);
        return 0;
    }
    job->id = asker->id;
    mi_metrics_add(h->o.metrics, MI_G_HISTORY_REQUESTS, 1);
    pthread_mutex_lock(&h->lock);
    *h->incoming_end = job;
    h->incoming_end = &job->next;
    pthread_mutex_unlock(&h->lock);
    h->o.wake_bridge(h->o.context);
    return asker->id;
}

/* A job that the bridge thread did not see yet is simply taken back. */
static struct mi_job *take_back(struct mi_history *h, mi_history_id id)
{
    struct mi_job **at = &h->incoming;
    while (*at && (*at)->id != id)
        at = &(*at)->next;
    struct mi_job *job = *at;
    if (!job)
        return NULL;
    *at = job->next;
    if (!*at)
        h->incoming_end = at;
    return job;
}

static void note_cancelled(struct mi_history *h, mi_history_id id)
{
    if (h->cancelled_count == h->cancelled_cap) {
        size_t cap = h->cancelled_cap ? h->cancelled_cap * 2 : 16;
        mi_history_id *more = realloc(h->cancelled, cap * sizeof *more);
        if (!more)
            return; /* it runs to its end, and what it finds is dropped */
        h->cancelled = more;
        h->cancelled_cap = cap;
    }
    h->cancelled[h->cancelled_count++] = id;
}

void mi_history_cancel(struct mi_history *h, mi_history_id id)
{
    struct asker **at = find_asker(h, id);
    if (!*at)
        return;
    remove_asker(h, at);
    mi_metrics_add(h->o.metrics, MI_G_HISTORY_CANCELLED, 1);
    pthread_mutex_lock(&h->lock);
    struct mi_job *job = take_back(h, id);
    if (!job)
        note_cancelled(h, id);
    pthread_mutex_unlock(&h->lock);
    mi_job_free(job);
    mi_outbox_drop(h->shared.outbox, id);
    h->o.wake_bridge(h->o.context);
}

bool mi_history_idle(const struct mi_history *h)
{
    return mi_outbox_empty(h->shared.outbox);
}

struct mi_history_item *mi_history_take(struct mi_history *h, size_t max)
{
    struct mi_history_item *list = mi_outbox_take(h->shared.outbox, max);
    if (!list || !list->last)
        return list;
    struct asker **at = find_asker(h, list->id);
    uint64_t denied = *at ? (*at)->denied : 0;
    if (*at)
        remove_asker(h, at);
    if (!mi_item_write_end(list, denied)) {
        mi_history_item_free(list);
        return NULL;
    }
    return list;
}

void mi_history_note_denied(struct mi_history *h, mi_history_id id)
{
    struct asker *a = *find_asker(h, id);
    if (a)
        a->denied++;
    mi_metrics_add(h->o.metrics, MI_G_HISTORY_DENIED, 1);
}

struct mi_history_item *mi_history_refusal(struct mi_history *h, const struct mi_history_ask *ask,
                                           const char *why)
{
    struct mi_end_facts facts = {.reason = MI_END_REFUSED, .text = why};
    struct mi_history_item *item =
        mi_item_new_end(ask->mount, ask->filter, ask->qos < 1 ? ask->qos : 1, &facts);
    mi_metrics_add(h->o.metrics, MI_G_HISTORY_REFUSED, 1);
    if (item && !mi_item_write_end(item, 0)) {
        mi_history_item_free(item);
        item = NULL;
    }
    return item;
}

/* ---- bridge thread ---- */

void mi_history_set_config(struct mi_history *h, struct mi_config *config)
{
    pthread_mutex_lock(&h->lock);
    struct mi_config *former = h->config;
    h->config = mi_config_hold(config);
    pthread_mutex_unlock(&h->lock);
    mi_config_release(former);
}

static void drop_cancelled(struct mi_history *h, const mi_history_id *ids, size_t count)
{
    for (struct mi_job **at = &h->jobs; *at;) {
        struct mi_job *job = *at;
        size_t i = 0;
        while (i < count && ids[i] != job->id)
            i++;
        if (i == count) {
            at = &job->next;
            continue;
        }
        *at = job->next;
        mi_job_free(job);
        /* What it put in the outbox after the main thread emptied it. */
        mi_outbox_drop(h->shared.outbox, ids[i]);
    }
}

static void take_orders(struct mi_history *h)
{
    pthread_mutex_lock(&h->lock);
    struct mi_job *incoming = h->incoming;
    mi_history_id *cancelled = h->cancelled;
    size_t count = h->cancelled_count;
    h->incoming = NULL;
    h->incoming_end = &h->incoming;
    h->cancelled = NULL;
    h->cancelled_count = h->cancelled_cap = 0;
    pthread_mutex_unlock(&h->lock);
    drop_cancelled(h, cancelled, count);
    free(cancelled);
    struct mi_job **end = &h->jobs;
    while (*end)
        end = &(*end)->next;
    *end = incoming;
    for (; incoming; incoming = incoming->next)
        mi_job_begin(incoming, &h->shared);
}

/* The first becomes the last, so that under a bound on polls each has its turn. */
static void rotate(struct mi_history *h)
{
    struct mi_job *first = h->jobs;
    if (!first || !first->next)
        return;
    struct mi_job **end = &first->next;
    while (*end)
        end = &(*end)->next;
    h->jobs = first->next;
    first->next = NULL;
    *end = first;
}

uint64_t mi_history_step(struct mi_history *h, uint64_t now_ns)
{
    uint64_t due = UINT64_MAX;
    take_orders(h);
    for (struct mi_job **at = &h->jobs; *at;) {
        struct mi_job *job = *at;
        uint64_t wants = mi_job_step(job, now_ns);
        if (job->state == MI_JOB_OVER) {
            *at = job->next;
            mi_job_free(job);
            continue;
        }
        due = wants < due ? wants : due;
        at = &job->next;
    }
    rotate(h);
    return due;
}
