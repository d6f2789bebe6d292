#include "history/job.h"

#include <stdlib.h>
#include <string.h>

#include "history/backward.h"
#include "history/forward.h"

enum {
    FULL_RETRY_MS = 2, /* the outbox is full, or other requests poll: look again */
    QUICK_POLLS = 3,   /* that a request makes without resting: a page takes no more as a rule */
    MAX_POLLS = 2,     /* under way for all requests: live traffic shall find Iggy and this thread free */
    SAME_TOPIC_US = 1000000
};

static const char *check_cursor(struct mi_job *job);
static void planned(void *context, struct mi_plan *plan, bool refused, const char *why);
static void fetched(void *context, enum mi_fetched what, const struct iggy_polled *answer, const char *why);

/* ---- making ---- */

static char *join(struct mi_span a, struct mi_span b)
{
    char *text = malloc(a.len + b.len + 1);
    if (!text)
        return NULL;
    if (a.len)
        memcpy(text, a.data, a.len);
    if (b.len)
        memcpy(text + a.len, b.data, b.len);
    text[a.len + b.len] = '\0';
    return text;
}

/* At most half of what the broker queues for a client, where that is known: the other half is for live
 * messages. */
static uint32_t page_of(const struct mi_config *c)
{
    uint64_t queue = c->broker.max_queued_messages;
    uint64_t most = queue == 0 || queue == UINT64_MAX ? UINT32_MAX : queue / 2;
    most = most < 1 ? 1 : most;
    return c->history_page < most ? c->history_page : (uint32_t)most;
}

static const char *fill(struct mi_job *job, const uint8_t key[MI_CURSOR_KEY],
                        const struct mi_history_ask *ask, uint64_t now_us)
{
    struct mi_request request;
    struct mi_error err;
    const char *why;
    job->text = join(ask->filter, (struct mi_span){NULL, 0});
    if (!job->text)
        return "out of memory";
    if (!mi_request_parse(mi_span_of(job->text), now_us, &request, &why))
        return why;
    job->kind = request.kind;
    job->from = request.from;
    job->since_us = request.since_us;
    job->wanted = request.last;
    job->whole = join(ask->mount, request.filter);
    if (!job->whole)
        return "out of memory";
    job->mount = (struct mi_span){(const uint8_t *)job->whole, ask->mount.len};
    if (mi_filter_parse_plain(&job->filter, job->whole, &err) != 0)
        return "the filter behind $iggy/FROM/ is none that can be searched: it is malformed or has more than "
               "32 "
               "wildcards";
    if (job->kind != MI_FROM_CURSOR)
        return NULL;
    if (!mi_cursor_read(key, mi_span_of(job->whole), job->from, &job->cursor))
        return "this cursor was not made here for this filter: start again";
    return check_cursor(job);
}

struct mi_job *mi_job_new(struct mi_config *config, const uint8_t key[MI_CURSOR_KEY],
                          const struct mi_history_ask *ask, uint64_t now_us, const char **why)
{
    struct mi_job *job = calloc(1, sizeof *job);
    *why = "out of memory";
    if (!job)
        return NULL;
    job->config = mi_config_hold(config);
    job->qos = ask->qos;
    job->page = page_of(config);
    mi_buf_init(&job->scratch, SIZE_MAX / 4);
    mi_buf_init(&job->topic, MI_MAX_MQTT_STRING);
    *why = fill(job, key, ask, now_us);
    if (*why) {
        mi_job_free(job);
        return NULL;
    }
    return job;
}

/* What the cursor says takes the place of FROM. */
static const char *check_cursor(struct mi_job *job)
{
    job->since_us = job->cursor.since_us;
    job->wanted = job->cursor.remaining;
    if (job->cursor.kind == MI_CURSOR_BACKWARD && job->wanted == 0)
        return "this cursor is at its end";
    return NULL;
}

static bool is_backward(const struct mi_job *job)
{
    return job->kind == MI_FROM_LAST ||
           (job->kind == MI_FROM_CURSOR && job->cursor.kind == MI_CURSOR_BACKWARD);
}

static void stop_requests(struct mi_job *job)
{
    mi_finder_free(job->finder);
    job->finder = NULL;
    mi_fetch_cancel(&job->fetch);
    iggy_request details = job->details;
    job->details = 0;
    if (details)
        iggy_client_cancel(job->shared->client, details);
}

void mi_job_free(struct mi_job *job)
{
    if (!job)
        return;
    if (job->shared)
        stop_requests(job);
    if (is_backward(job))
        mi_backward_free(job->backward);
    else
        mi_forward_free(job->forward);
    mi_plan_free(job->plan);
    mi_filter_fini(&job->filter);
    mi_config_release(job->config);
    mi_buf_fini(&job->scratch);
    mi_buf_fini(&job->topic);
    free(job->text);
    free(job->whole);
    free(job);
}

/* ---- running ---- */

void mi_job_begin(struct mi_job *job, struct mi_job_shared *shared)
{
    job->shared = shared;
    job->deadline_ns = mi_now_ns(shared->clock) + job->config->history_max_time_ns;
    struct mi_fetch_options fetch = {
        .client = shared->client,
        .clock = shared->clock,
        .max_bytes = job->config->max_poll_bytes,
        .done = fetched,
        .context = job,
        .under_way = &shared->polls,
        .rest_ns = &shared->rest_ns,
    };
    mi_fetch_init(&job->fetch, &fetch);
    job->finder = mi_finder_start(shared->client, job->config, &job->filter, planned, job);
    if (!job->finder)
        mi_job_end(job, MI_END_ERROR, "out of memory", NULL);
}

static void planned(void *context, struct mi_plan *plan, bool refused, const char *why)
{
    struct mi_job *job = context;
    job->plan = plan;
    if (!plan) {
        mi_job_end(job, refused ? MI_END_REFUSED : MI_END_ERROR, why, NULL);
        return;
    }
    bool backward = is_backward(job);
    if (backward)
        job->backward = mi_backward_new(job, &why);
    else
        job->forward = mi_forward_new(job, &why);
    if (backward ? !job->backward : !job->forward)
        mi_job_end(job, MI_END_REFUSED, why, NULL);
    else
        job->state = backward ? MI_JOB_BACKWARD : MI_JOB_FORWARD;
}

uint64_t mi_job_step(struct mi_job *job, uint64_t now_ns)
{
    if (job->state == MI_JOB_OVER)
        return now_ns;
    bool late = now_ns >= job->deadline_ns;
    if (late) {
        stop_requests(job);
        if (job->state == MI_JOB_FORWARD)
            mi_forward_cut(job, MI_END_MAX_TIME);
        else if (job->state == MI_JOB_BACKWARD)
            mi_backward_cut(job, MI_END_MAX_TIME);
        else
            mi_job_end(job, MI_END_MAX_TIME, "Iggy did not answer in time", NULL);
    }
    uint64_t due = UINT64_MAX;
    if (job->state == MI_JOB_FORWARD)
        due = mi_forward_step(job, now_ns);
    else if (job->state == MI_JOB_BACKWARD)
        due = mi_backward_step(job, now_ns);
    return late || due < job->deadline_ns ? due : job->deadline_ns;
}

static void fetched(void *context, enum mi_fetched what, const struct iggy_polled *answer, const char *why)
{
    struct mi_job *job = context;
    if (job->state == MI_JOB_FORWARD)
        mi_forward_fetched(job, what, answer, why);
    else if (job->state == MI_JOB_BACKWARD)
        mi_backward_fetched(job, what, answer, why);
}

/* That of the highest message: a lower one would overtake it. */
static uint8_t marker_qos(const struct mi_job *job)
{
    uint8_t least = job->qos < 1 ? job->qos : 1;
    return job->top_qos > least ? job->top_qos : least;
}

void mi_job_end(struct mi_job *job, enum mi_end_reason reason, const char *text, const struct mi_cursor *next)
{
    struct mi_buf cursor;
    mi_buf_init(&cursor, MI_CURSOR_TEXT + 1);
    bool has_next = next && mi_cursor_write(job->shared->key, mi_span_of(job->whole), next, &cursor) &&
                    mi_buf_add_byte(&cursor, '\0');
    struct mi_end_facts facts = {
        .reason = reason,
        .messages = job->put,
        .skipped = job->skipped,
        .text = text,
        .next = has_next ? (const char *)cursor.data : NULL,
    };
    struct mi_history_item *item =
        mi_item_new_end(job->mount, mi_span_of(job->text), marker_qos(job), &facts);
    mi_buf_fini(&cursor);
    job->state = MI_JOB_OVER;
    mi_metrics_add(job->shared->metrics, MI_G_HISTORY_BYTES, job->scanned);
    if (reason != MI_END_COMPLETE && reason != MI_END_PAGE)
        mi_metrics_add(job->shared->metrics,
                       reason == MI_END_REFUSED ? MI_G_HISTORY_REFUSED : MI_G_HISTORY_CUT, 1);
    if (!item)
        return; /* memory is out: the client sees no marker and may ask again */
    item->id = job->id;
    mi_outbox_put(job->shared->outbox, item);
    job->shared->wake_main(job->shared->context);
}

struct mi_history_item *mi_job_pick(struct mi_job *job, const struct mi_place *place, uint32_t partition,
                                    const struct iggy_polled_message *m)
{
    struct mi_pick pick = {
        .config = job->config,
        .place = place,
        .filter = &job->filter,
        .mount = job->mount,
        .from = job->from,
        .partition = partition,
        .since_us = job->since_us,
        .max_qos = job->qos,
        .scratch = &job->scratch,
        .topic = &job->topic,
    };
    struct mi_history_item *item = NULL;
    job->scanned += mi_fetch_weight(m);
    if (mi_pick(&pick, m, &item) == MI_PICK_UNREADABLE)
        job->skipped++;
    if (item)
        item->id = job->id;
    return item;
}

void mi_job_put(struct mi_job *job, struct mi_history_item *item)
{
    job->top_qos = item->qos > job->top_qos ? item->qos : job->top_qos;
    mi_outbox_put(job->shared->outbox, item);
    job->put++;
}

bool mi_job_may_poll(struct mi_job *job, uint64_t now_ns, uint64_t *due_ns)
{
    *due_ns = job->fetch.due_ns;
    if (now_ns < job->fetch.due_ns)
        return false;
    *due_ns = job->shared->rest_ns;
    if (job->fetch.polls >= QUICK_POLLS && now_ns < job->shared->rest_ns)
        return false;
    *due_ns = now_ns + FULL_RETRY_MS * MI_NS_PER_MS;
    return job->shared->polls < MAX_POLLS && mi_outbox_has_room(job->shared->outbox);
}

bool mi_job_ask_details(struct mi_job *job, const struct mi_place *place, iggy_topic_fn answered)
{
    struct iggy_span stream = {(const uint8_t *)place->stream, strlen(place->stream)};
    struct iggy_span topic = {(const uint8_t *)place->topic, strlen(place->topic)};
    job->details = iggy_get_topic(job->shared->client, stream, topic, answered, job);
    return job->details != 0;
}

uint64_t mi_partition_end(const struct iggy_partition *p)
{
    return p->messages_count == 0 && p->current_offset == 0 ? 0 : p->current_offset + 1;
}

bool mi_same_created(uint64_t a_us, uint64_t b_us)
{
    return (a_us > b_us ? a_us - b_us : b_us - a_us) < SAME_TOPIC_US;
}
