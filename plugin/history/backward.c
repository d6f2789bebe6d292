#include "history/backward.h"

#include <stdlib.h>

enum {
    MAX_FAILURES = 6,
    BACKOFF_FIRST_MS = 50,
    MAX_LEGS = 4096,
    MOST_COUNT = 1000,
    FOUND_BYTES = 16 * 1024 * 1024, /* of one request; then its page is full */
    PUT_AT_ONCE = 256
};
#define NOT_KNOWN UINT64_MAX

/* One partition. */
struct leg {
    size_t place;
    uint32_t partition;
    uint64_t low;     /* all from here up to the tail was looked at; NOT_KNOWN: the tail is not known yet */
    uint64_t edge;    /* time of the oldest message looked at: what lies below is not newer */
    uint64_t dropped; /* one past the newest match that was found and had no room; 0: none */
    uint32_t step;    /* messages to look at next */
    bool over;        /* nothing lies below */
};

struct found {
    struct mi_history_item *item;
    uint64_t time_us; /* of the append, never newer than that of the message behind it in its partition */
    size_t leg;
    uint64_t offset;
};

struct list {
    struct found *all;
    size_t count, cap;
};

struct mi_backward {
    size_t place; /* whose details are asked next */
    uint64_t tag; /* of all topics, as they are */
    struct leg *legs;
    size_t leg_count;
    size_t limit; /* messages of this page */
    struct list found, window;
    size_t bytes; /* of found */
    /* the window that is being looked at: offsets from..to of a leg */
    bool looking;
    size_t leg;
    uint64_t from, next, to;
    uint64_t first, first_time; /* of the messages seen in it; first NOT_KNOWN: none yet */
    /* the end */
    bool delivering;
    size_t delivered;
    enum mi_end_reason reason;
    const char *text;
    unsigned failures;
    uint64_t due_ns;
};

static void details_answered(void *arg, const struct iggy_result *result, const struct iggy_topic *topic);
static bool begin_legs(struct mi_job *job);
static bool open_window(struct mi_job *job);
static void poll_window(struct mi_job *job);
static void close_window(struct mi_job *job);
static void finish(struct mi_job *job, enum mi_end_reason reason, const char *text);
static uint64_t deliver(struct mi_job *job, uint64_t now_ns);

struct mi_backward *mi_backward_new(struct mi_job *job, const char **why)
{
    struct mi_backward *b = calloc(1, sizeof *b);
    *why = "out of memory";
    if (!b)
        return NULL;
    b->limit = job->wanted < job->page ? (size_t)job->wanted : job->page;
    b->tag = job->plan->tag;
    return b;
}

static void free_list(struct list *l)
{
    for (size_t i = 0; i < l->count; i++)
        mi_history_item_free(l->all[i].item);
    free(l->all);
}

void mi_backward_free(struct mi_backward *b)
{
    if (!b)
        return;
    free_list(&b->found);
    free_list(&b->window);
    free(b->legs);
    free(b);
}

uint64_t mi_backward_step(struct mi_job *job, uint64_t now_ns)
{
    struct mi_backward *b = job->backward;
    uint64_t due;
    if (b->delivering)
        return deliver(job, now_ns);
    if (job->details || mi_fetch_busy(&job->fetch))
        return UINT64_MAX;
    if (b->place < job->plan->count) {
        if (now_ns >= b->due_ns && !mi_job_ask_details(job, &job->plan->places[b->place], details_answered))
            b->due_ns = now_ns + BACKOFF_FIRST_MS * MI_NS_PER_MS;
        return job->details ? UINT64_MAX : b->due_ns;
    }
    if (!b->looking && !open_window(job)) {
        finish(job, MI_END_COMPLETE, NULL);
        return now_ns;
    }
    if (!mi_job_may_poll(job, now_ns, &due))
        return due;
    poll_window(job);
    return mi_fetch_busy(&job->fetch) ? UINT64_MAX : now_ns + BACKOFF_FIRST_MS * MI_NS_PER_MS;
}

/* ---- legs ---- */

static bool add_leg(struct mi_job *job, uint32_t partition, uint64_t end)
{
    struct mi_backward *b = job->backward;
    if (b->leg_count == MAX_LEGS)
        return false;
    struct leg *more = realloc(b->legs, (b->leg_count + 1) * sizeof *more);
    if (!more)
        return false;
    b->legs = more;
    more[b->leg_count++] = (struct leg){
        .place = b->place, .partition = partition, .low = end, .edge = UINT64_MAX, .over = end == 0};
    return true;
}

static void mix(struct mi_backward *b, uint64_t value)
{
    b->tag = (b->tag ^ value) * 1099511628211ull;
}

static bool add_topic(struct mi_job *job, const struct iggy_topic *topic)
{
    mix(job->backward, topic->created_at / 1000000);
    mix(job->backward, topic->partitions_count);
    for (uint32_t i = 0; topic->partitions && i < topic->partitions_count; i++)
        if (!add_leg(job, topic->partitions[i].id, mi_partition_end(&topic->partitions[i])))
            return false;
    return true;
}

/* Without the right to see details: as many partitions as the route would make, their tails to be asked. */
static bool add_blind(struct mi_job *job)
{
    const struct mi_place *place = &job->plan->places[job->backward->place];
    uint32_t count = job->config->routes[place->routes[0]].create_partitions;
    for (uint32_t i = 0; i < count || i == 0; i++)
        if (!add_leg(job, i, NOT_KNOWN))
            return false;
    return true;
}

static void details_answered(void *arg, const struct iggy_result *result, const struct iggy_topic *topic)
{
    struct mi_job *job = arg;
    struct mi_backward *b = job->backward;
    if (!job->details)
        return; /* the job has stopped */
    job->details = 0;
    bool forbidden = result->kind == IGGY_HTTP && result->http_status == 403;
    bool missing = result->kind == IGGY_HTTP && result->http_status == 404;
    if (result->kind != IGGY_OK && !forbidden && !missing) {
        if (++b->failures > MAX_FAILURES)
            mi_job_end(job, MI_END_ERROR, "Iggy cannot be read now", NULL);
        b->due_ns =
            mi_now_ns(job->shared->clock) + ((uint64_t)BACKOFF_FIRST_MS << (b->failures - 1)) * MI_NS_PER_MS;
        return;
    }
    b->failures = 0;
    bool ok = missing || (forbidden ? add_blind(job) : add_topic(job, topic));
    b->place++;
    if (!ok)
        mi_job_end(job, MI_END_REFUSED,
                   "the filter reaches too many partitions for last-N: ask for fewer topics, or by time",
                   NULL);
    else if (b->place == job->plan->count)
        begin_legs(job);
}

/* All legs are known: those of a cursor begin where it says. */
static bool begin_legs(struct mi_job *job)
{
    struct mi_backward *b = job->backward;
    const struct mi_cursor *c = &job->cursor;
    size_t share = b->limit / (b->leg_count + 1) + 1;
    for (size_t i = 0; i < b->leg_count; i++)
        b->legs[i].step = (uint32_t)(share < MOST_COUNT ? share : MOST_COUNT);
    if (job->kind != MI_FROM_CURSOR)
        return true;
    if (c->tag != b->tag || c->legs != b->leg_count) {
        mi_job_end(job, MI_END_REFUSED, "the topics in Iggy have changed since this cursor: start again",
                   NULL);
        return false;
    }
    for (size_t i = 0; i < b->leg_count; i++) {
        struct leg *leg = &b->legs[i];
        if (c->position[i] < leg->low)
            leg->low = c->position[i];
        leg->over = leg->low == 0;
    }
    return true;
}

/* ---- looking ---- */

/* The time that a message must pass to be one of the newest; 0: there is still room. */
static uint64_t threshold(const struct mi_backward *b)
{
    return b->found.count < b->limit ? 0 : b->found.all[b->found.count - 1].time_us;
}

/* The next window is in the leg that may hold the newest of what was not looked at. False: no leg can change
 * the result. */
static bool open_window(struct mi_job *job)
{
    struct mi_backward *b = job->backward;
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < b->leg_count; i++)
        if (!b->legs[i].over && (best == SIZE_MAX || b->legs[i].edge > b->legs[best].edge))
            best = i;
    if (best == SIZE_MAX || (b->found.count >= b->limit && threshold(b) >= b->legs[best].edge))
        return false;
    struct leg *leg = &b->legs[best];
    b->leg = best;
    b->looking = true;
    b->first = NOT_KNOWN;
    b->first_time = leg->edge;
    b->to = leg->low;
    b->from = leg->low == NOT_KNOWN ? NOT_KNOWN : leg->low > leg->step ? leg->low - leg->step : 0;
    b->next = b->from;
    leg->step = leg->step * 2 < MOST_COUNT ? leg->step * 2 : MOST_COUNT;
    return true;
}

static void poll_window(struct mi_job *job)
{
    struct mi_backward *b = job->backward;
    const struct leg *leg = &b->legs[b->leg];
    const struct mi_place *place = &job->plan->places[leg->place];
    if (b->from == NOT_KNOWN)
        mi_fetch_poll(&job->fetch, place, leg->partition, IGGY_FROM_LAST, 0, leg->step);
    else
        mi_fetch_poll(&job->fetch, place, leg->partition, IGGY_FROM_OFFSET, b->next,
                      (uint32_t)(b->to - b->next));
}

static bool add_found(struct list *l, struct found f)
{
    if (l->count == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 64;
        struct found *more = realloc(l->all, cap * sizeof *more);
        if (!more)
            return false;
        l->all = more;
        l->cap = cap;
    }
    l->all[l->count++] = f;
    return true;
}

static void look_at(struct mi_job *job, const struct iggy_polled_message *m)
{
    struct mi_backward *b = job->backward;
    const struct leg *leg = &b->legs[b->leg];
    if (b->first == NOT_KNOWN) {
        b->first = m->offset;
        b->first_time = m->timestamp;
    }
    struct mi_history_item *item = mi_job_pick(job, &job->plan->places[leg->place], leg->partition, m);
    struct found f = {item, m->timestamp, b->leg, m->offset};
    if (item && !add_found(&b->window, f)) {
        job->skipped++;
        mi_history_item_free(item);
    }
    b->next = m->offset + 1;
}

static void take(struct mi_job *job, const struct iggy_polled *answer)
{
    struct mi_backward *b = job->backward;
    if (b->from == NOT_KNOWN) { /* the tail: the window is what came */
        b->from = b->next = answer->count ? answer->messages[0].offset : 0;
        b->to = answer->count ? answer->messages[answer->count - 1].offset + 1 : 0;
    }
    for (size_t i = 0; i < answer->count; i++) {
        const struct iggy_polled_message *m = &answer->messages[i];
        if (m->offset >= b->to)
            b->next = b->to;
        else if (m->offset >= b->next)
            look_at(job, m);
    }
    if (answer->count == 0) /* nothing where something was: it is gone (retention, a purge) */
        b->next = b->to;
    if (b->next >= b->to)
        close_window(job);
}

void mi_backward_fetched(struct mi_job *job, enum mi_fetched what, const struct iggy_polled *answer,
                         const char *why)
{
    struct mi_backward *b = job->backward;
    switch (what) {
    case MI_FETCH_AGAIN:
        return;
    case MI_FETCH_FAILED:
        finish(job, MI_END_ERROR, why);
        return;
    case MI_FETCH_GONE:
        b->next = b->to;
        close_window(job);
        break;
    case MI_FETCH_SKIP:
        job->skipped++;
        job->scanned += job->config->max_poll_bytes;
        b->first = b->first == NOT_KNOWN ? b->next : b->first;
        if (++b->next >= b->to)
            close_window(job);
        break;
    case MI_FETCHED:
        take(job, answer);
        break;
    }
    if (!b->delivering && job->scanned >= job->config->history_max_scan)
        finish(job, MI_END_MAX_SCAN, NULL);
}

static int newest_first(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    if (x->time_us != y->time_us)
        return x->time_us > y->time_us ? -1 : 1;
    if (x->leg != y->leg)
        return x->leg > y->leg ? -1 : 1;
    return x->offset > y->offset ? -1 : x->offset < y->offset;
}

/* The oldest have no room. */
static void keep_newest(struct mi_backward *b)
{
    size_t keep = 0, bytes = 0;
    qsort(b->found.all, b->found.count, sizeof *b->found.all, newest_first);
    for (; keep < b->found.count && keep < b->limit && (keep == 0 || bytes < FOUND_BYTES); keep++)
        bytes += mi_item_bytes(b->found.all[keep].item);
    if (keep < b->found.count && keep < b->limit)
        b->limit = keep;
    for (size_t i = keep; i < b->found.count; i++) {
        const struct found *f = &b->found.all[i];
        struct leg *leg = &b->legs[f->leg];
        leg->dropped = f->offset + 1 > leg->dropped ? f->offset + 1 : leg->dropped;
        mi_history_item_free(f->item);
    }
    b->found.count = keep;
}

static void close_window(struct mi_job *job)
{
    struct mi_backward *b = job->backward;
    struct leg *leg = &b->legs[b->leg];
    uint64_t time = leg->edge;
    b->looking = false;
    for (size_t i = b->window.count; i-- > 0;) {
        struct found *f = &b->window.all[i];
        time = f->time_us < time ? f->time_us : time;
        f->time_us = time; /* a stepping clock does not change the order */
        if (!add_found(&b->found, *f)) {
            job->skipped++;
            mi_history_item_free(f->item);
        }
    }
    b->window.count = 0;
    leg->edge = b->first_time < time ? b->first_time : time;
    leg->over = b->first == NOT_KNOWN || b->first > b->from || b->from == 0;
    leg->low = leg->over ? 0 : b->from;
    if (b->found.count)
        keep_newest(b);
}

/* ---- the end ---- */

void mi_backward_cut(struct mi_job *job, enum mi_end_reason reason)
{
    if (!job->backward->delivering)
        finish(job, reason, NULL);
}

static void finish(struct mi_job *job, enum mi_end_reason reason, const char *text)
{
    struct mi_backward *b = job->backward;
    mi_fetch_cancel(&job->fetch);
    /* A window that was not looked at to its end is looked at again. */
    for (size_t i = 0; i < b->window.count; i++)
        mi_history_item_free(b->window.all[i].item);
    b->window.count = 0;
    if (reason == MI_END_COMPLETE && b->found.count < job->wanted) {
        bool more = false;
        for (size_t i = 0; i < b->leg_count; i++)
            more = more || !b->legs[i].over || b->legs[i].dropped;
        reason = more ? MI_END_PAGE : MI_END_COMPLETE;
    }
    b->reason = reason;
    b->text = text;
    b->delivering = true;
}

static void end(struct mi_job *job)
{
    struct mi_backward *b = job->backward;
    /* Cut with all that were wanted: newer ones may have been missed, and older ones were not asked for. */
    if (b->reason == MI_END_COMPLETE || job->put >= job->wanted) {
        mi_job_end(job, b->reason, b->text, NULL);
        return;
    }
    if (b->leg_count > MI_CURSOR_LEGS || b->place < job->plan->count) {
        mi_job_end(job, b->reason,
                   b->text ? b->text
                   : b->leg_count <= MI_CURSOR_LEGS
                       ? NULL
                       : "the filter reaches too many partitions for a cursor: ask "
                         "for fewer topics, or by time",
                   NULL);
        return;
    }
    struct mi_cursor next = {.kind = MI_CURSOR_BACKWARD,
                             .remaining = job->wanted - job->put,
                             .tag = b->tag,
                             .legs = (uint32_t)b->leg_count};
    for (size_t i = 0; i < b->leg_count; i++) {
        const struct leg *leg = &b->legs[i];
        next.position[i] = leg->dropped > leg->low ? leg->dropped : leg->low;
    }
    mi_job_end(job, b->reason, b->text, &next);
}

static uint64_t deliver(struct mi_job *job, uint64_t now_ns)
{
    struct mi_backward *b = job->backward;
    size_t put = 0;
    while (b->found.count && put < PUT_AT_ONCE && mi_outbox_has_room(job->shared->outbox)) {
        mi_job_put(job, b->found.all[--b->found.count].item); /* the oldest stands last */
        put++;
    }
    if (put)
        job->shared->wake_main(job->shared->context);
    if (b->found.count == 0) {
        end(job);
        return now_ns;
    }
    return now_ns + MI_NS_PER_MS;
}
