#include "history/forward.h"

#include <stdlib.h>

enum { MAX_FAILURES = 6, BACKOFF_FIRST_MS = 50, LEAST_COUNT = 10, MOST_COUNT = 1000 };
#define NOT_KNOWN UINT64_MAX

struct mi_forward {
    size_t place;        /* index into the plan */
    bool opened;         /* its details are here */
    uint64_t created_at; /* of the topic; 0: not known */
    uint64_t *ends;      /* one past the last offset of each partition when it was looked at; NOT_KNOWN */
    uint32_t count;      /* partitions */
    uint32_t partition;  /* being read */
    uint64_t next;       /* offset; MI_CURSOR_UNPLACED: the partition was not begun */
    bool resuming;       /* the place of the cursor, not opened yet */
    bool asking_tail;
    unsigned failures; /* of the details, in a row */
    uint64_t due_ns;
    uint64_t looked, taken; /* messages: how many of those read are wanted? */
};

static void details_answered(void *arg, const struct iggy_result *result, const struct iggy_topic *topic);
static void poll_next(struct mi_job *job);
static void take(struct mi_job *job, const struct iggy_polled *answer);
static bool settle(struct mi_job *job);
static void cut(struct mi_job *job, enum mi_end_reason reason, const char *text);

struct mi_forward *mi_forward_new(struct mi_job *job, const char **why)
{
    struct mi_forward *f = calloc(1, sizeof *f);
    *why = "out of memory";
    if (!f)
        return NULL;
    f->next = MI_CURSOR_UNPLACED;
    if (job->kind != MI_FROM_CURSOR)
        return f;
    f->place = mi_plan_find(job->plan, job->cursor.tag);
    f->partition = job->cursor.partition;
    f->next = job->cursor.next;
    f->resuming = true;
    if (f->place < job->plan->count)
        return f;
    *why = "the topic in which this cursor stands is gone, or no route leads to it any more: start again";
    free(f);
    return NULL;
}

void mi_forward_free(struct mi_forward *f)
{
    if (!f)
        return;
    free(f->ends);
    free(f);
}

/* ---- the walk ---- */

static void next_partition(struct mi_forward *f)
{
    f->partition++;
    f->next = MI_CURSOR_UNPLACED;
}

static void next_place(struct mi_forward *f)
{
    f->place++;
    f->partition = 0;
    f->next = MI_CURSOR_UNPLACED;
    f->opened = false;
    f->created_at = 0;
}

/* Goes on to the next partition of an opened topic with something to read; false when nothing is left. */
static bool settle(struct mi_job *job)
{
    struct mi_forward *f = job->forward;
    while (f->place < job->plan->count && f->opened) {
        if (f->partition >= f->count) {
            next_place(f);
            continue;
        }
        uint64_t end = f->ends[f->partition];
        if (end == NOT_KNOWN || (end > 0 && (f->next == MI_CURSOR_UNPLACED || f->next < end)))
            return true;
        next_partition(f);
    }
    return f->place < job->plan->count;
}

uint64_t mi_forward_step(struct mi_job *job, uint64_t now_ns)
{
    struct mi_forward *f = job->forward;
    uint64_t due;
    if (job->details || mi_fetch_busy(&job->fetch))
        return UINT64_MAX;
    if (!settle(job)) {
        mi_job_end(job, MI_END_COMPLETE, NULL, NULL);
        return now_ns;
    }
    if (!f->opened) {
        if (now_ns >= f->due_ns && !mi_job_ask_details(job, &job->plan->places[f->place], details_answered))
            f->due_ns = now_ns + BACKOFF_FIRST_MS * MI_NS_PER_MS;
        return job->details ? UINT64_MAX : f->due_ns;
    }
    if (!mi_job_may_poll(job, now_ns, &due))
        return due;
    poll_next(job);
    return mi_fetch_busy(&job->fetch) ? UINT64_MAX : now_ns + BACKOFF_FIRST_MS * MI_NS_PER_MS;
}

/* ---- details ---- */

static bool open_with(struct mi_forward *f, uint32_t count, uint64_t end)
{
    uint64_t *ends = realloc(f->ends, ((size_t)count + 1) * sizeof *ends);
    if (!ends)
        return false;
    f->ends = ends;
    f->count = count;
    for (uint32_t i = 0; i < count; i++)
        ends[i] = end;
    f->opened = true;
    return true;
}

/* Without the right to see details: as many partitions as the route would make, their tails to be asked. */
static bool open_blind(struct mi_job *job)
{
    const struct mi_place *place = &job->plan->places[job->forward->place];
    uint32_t most = 1;
    for (size_t i = 0; i < place->route_count; i++) {
        uint32_t count = job->config->routes[place->routes[i]].create_partitions;
        most = count > most ? count : most;
    }
    return open_with(job->forward, most, NOT_KNOWN);
}

static bool open_topic(struct mi_forward *f, const struct iggy_topic *topic)
{
    if (!open_with(f, topic->partitions_count, 0))
        return false;
    f->created_at = topic->created_at;
    for (uint32_t i = 0; topic->partitions && i < topic->partitions_count; i++)
        if (topic->partitions[i].id < f->count)
            f->ends[topic->partitions[i].id] = mi_partition_end(&topic->partitions[i]);
    return true;
}

/* The end of the cursor's own partition was fixed when it was begun, so that reading it ends. */
static bool resume(struct mi_job *job)
{
    struct mi_forward *f = job->forward;
    const struct mi_cursor *c = &job->cursor;
    f->resuming = false;
    if (c->created_at && (!f->opened || (f->created_at && !mi_same_created(c->created_at, f->created_at)))) {
        mi_job_end(job, MI_END_REFUSED, "the topic in which this cursor stands was made again: start again",
                   NULL);
        return false;
    }
    if (c->end && c->next != MI_CURSOR_UNPLACED && f->partition < f->count && c->end < f->ends[f->partition])
        f->ends[f->partition] = c->end;
    return true;
}

static void details_answered(void *arg, const struct iggy_result *result, const struct iggy_topic *topic)
{
    struct mi_job *job = arg;
    struct mi_forward *f = job->forward;
    if (!job->details)
        return; /* the job has stopped */
    job->details = 0;
    bool ok = false;
    if (result->kind == IGGY_OK)
        ok = open_topic(f, topic);
    else if (result->kind == IGGY_HTTP && result->http_status == 403)
        ok = open_blind(job);
    else if (result->kind == IGGY_HTTP && result->http_status == 404)
        ok = true; /* not there: nothing to read in it */
    if (!ok && ++f->failures > MAX_FAILURES) {
        cut(job, MI_END_ERROR, "Iggy cannot be read now");
        return;
    }
    if (!ok) {
        f->due_ns =
            mi_now_ns(job->shared->clock) + ((uint64_t)BACKOFF_FIRST_MS << (f->failures - 1)) * MI_NS_PER_MS;
        return;
    }
    f->failures = 0;
    if (f->resuming && !resume(job))
        return;
    if (!f->opened)
        next_place(f);
}

/* ---- polling ---- */

/* As many as will fill the page, if the next messages are like those before. */
static uint32_t count_for_page(const struct mi_job *job)
{
    const struct mi_forward *f = job->forward;
    uint64_t left = job->page - job->put;
    uint64_t per_taken = f->taken ? f->looked / f->taken + 1 : f->looked ? MOST_COUNT : 1;
    uint64_t count = left * per_taken;
    return count < LEAST_COUNT ? LEAST_COUNT : count > MOST_COUNT ? MOST_COUNT : (uint32_t)count;
}

static void poll_next(struct mi_job *job)
{
    struct mi_forward *f = job->forward;
    const struct mi_place *place = &job->plan->places[f->place];
    uint64_t end = f->ends[f->partition];
    f->asking_tail = end == NOT_KNOWN;
    if (f->asking_tail) {
        mi_fetch_poll(&job->fetch, place, f->partition, IGGY_FROM_LAST, 0, 1);
        return;
    }
    if (f->next == MI_CURSOR_UNPLACED && job->since_us > MI_FORWARD_SKEW_US) {
        mi_fetch_poll(&job->fetch, place, f->partition, IGGY_FROM_TIMESTAMP,
                      job->since_us - MI_FORWARD_SKEW_US, count_for_page(job));
        return;
    }
    if (f->next == MI_CURSOR_UNPLACED)
        f->next = 0;
    uint64_t left = end - f->next;
    uint32_t count = count_for_page(job);
    mi_fetch_poll(&job->fetch, place, f->partition, IGGY_FROM_OFFSET, f->next,
                  left < count ? (uint32_t)left : count);
}

void mi_forward_fetched(struct mi_job *job, enum mi_fetched what, const struct iggy_polled *answer,
                        const char *why)
{
    struct mi_forward *f = job->forward;
    switch (what) {
    case MI_FETCH_AGAIN:
        return;
    case MI_FETCH_GONE:
        next_partition(f);
        return;
    case MI_FETCH_FAILED:
        cut(job, MI_END_ERROR, why);
        return;
    case MI_FETCH_SKIP:
        f->next++;
        job->skipped++;
        job->scanned += job->config->max_poll_bytes;
        break;
    case MI_FETCHED:
        if (f->asking_tail) {
            f->ends[f->partition] = answer->count ? answer->messages[answer->count - 1].offset + 1 : 0;
            return;
        }
        take(job, answer);
        break;
    }
    if (job->put >= job->page)
        cut(job, MI_END_PAGE, NULL);
    else if (job->scanned >= job->config->history_max_scan)
        cut(job, MI_END_MAX_SCAN, NULL);
}

static void take(struct mi_job *job, const struct iggy_polled *answer)
{
    struct mi_forward *f = job->forward;
    const struct mi_place *place = &job->plan->places[f->place];
    uint64_t end = f->ends[f->partition], put = job->put;
    /* Nothing where something was: it is gone (retention, a purge). */
    if (answer->count == 0)
        f->next = end;
    for (size_t i = 0; i < answer->count && job->put < job->page; i++) {
        const struct iggy_polled_message *m = &answer->messages[i];
        if (f->next != MI_CURSOR_UNPLACED && m->offset < f->next)
            continue;
        if (m->offset >= end) {
            f->next = end;
            break;
        }
        struct mi_history_item *item = mi_job_pick(job, place, f->partition, m);
        f->next = m->offset + 1;
        f->looked++;
        if (item) {
            mi_job_put(job, item);
            f->taken++;
        }
    }
    if (f->looked > MOST_COUNT * 4) { /* the newest count most */
        f->looked /= 2;
        f->taken /= 2;
    }
    if (job->put > put)
        job->shared->wake_main(job->shared->context);
}

/* ---- the end ---- */

void mi_forward_cut(struct mi_job *job, enum mi_end_reason reason)
{
    cut(job, reason, NULL);
}

static void cut(struct mi_job *job, enum mi_end_reason reason, const char *text)
{
    struct mi_forward *f = job->forward;
    if (!settle(job)) {
        mi_job_end(job, MI_END_COMPLETE, NULL, NULL);
        return;
    }
    struct mi_cursor next = {
        .kind = MI_CURSOR_FORWARD,
        .since_us = job->since_us,
        .tag = job->plan->places[f->place].tag,
        .created_at = f->opened     ? f->created_at
                      : f->resuming ? job->cursor.created_at
                                    : 0,
        .partition = f->partition,
        .next = f->next,
    };
    if (f->opened && f->partition < f->count && f->ends[f->partition] != NOT_KNOWN)
        next.end = f->ends[f->partition];
    else if (f->resuming)
        next.end = job->cursor.end;
    mi_job_end(job, reason, text, &next);
}
