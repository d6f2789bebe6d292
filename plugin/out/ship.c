/*
 * ship: lanes at work. Builds batches, sends them, and does what the lane's machine answers to each outcome.
 */
#include <stdlib.h>
#include <string.h>

#include "message/envelope.h"
#include "out/out_private.h"
#include "out/parked.h"
#include "out/settle.h"

static void perform(struct mi_lane *lane, enum mi_lane_action action, enum mi_lane_event event,
                    const struct iggy_result *result);
static void after_event(struct mi_lane *lane);
static bool add_to_batch(struct mi_lane *lane, struct mi_batch *batch, struct mi_entry *e,
                         const struct mi_record *r);
static void drop_batch(struct mi_out *out, struct mi_batch *batch);

/* ---- lanes ---- */

static bool grow(struct mi_out *out)
{
    if (out->lane_count < out->lane_cap)
        return true;
    uint32_t cap = out->lane_cap ? out->lane_cap * 2 : 64;
    struct mi_lane **more = realloc(out->lanes, cap * sizeof *more);
    if (!more)
        return false;
    out->lanes = more;
    out->lane_cap = cap;
    return true;
}

static bool grow_target(struct mi_target *t, uint32_t partition)
{
    if (partition < t->lane_cap)
        return true;
    uint32_t cap = partition + 1 > t->partitions ? partition + 1 : t->partitions;
    struct mi_lane **more = realloc(t->lanes, cap * sizeof *more);
    if (!more)
        return false;
    memset(more + t->lane_cap, 0, (cap - t->lane_cap) * sizeof *more);
    t->lanes = more;
    t->lane_cap = cap;
    return true;
}

struct mi_lane *mi_out_lane(struct mi_out *out, struct mi_target *target, uint32_t partition)
{
    if (partition < target->lane_cap && target->lanes[partition])
        return target->lanes[partition];
    if (out->lane_count >= MI_MAX_LANES || !grow(out) || !grow_target(target, partition))
        return NULL;
    struct mi_lane *lane = calloc(1, sizeof *lane);
    if (!lane)
        return NULL;
    lane->out = out;
    lane->target = target;
    lane->partition = partition;
    lane->index = out->lane_count;
    lane->byte_limit = out->config->max_batch_bytes;
    mi_queue_init(&lane->queue);
    mi_queue_init(&lane->again);
    mi_lane_init(&lane->machine, false, 0, 0);
    if (target->tails && partition < target->found_partitions) {
        lane->read_from = target->tails[partition];
        lane->read_from_known = true;
    }
    target->lanes[partition] = lane;
    out->lanes[out->lane_count++] = lane;
    return lane;
}

void mi_out_lane_free(struct mi_lane *lane)
{
    struct mi_out *out = lane->out;
    if (lane->request)
        out->transport.cancel(out->transport.context, lane->request);
    mi_out_reader_free(lane);
    iggy_batch_free(lane->current.body);
    iggy_batch_free(lane->next.body);
    free(lane);
}

static bool at_work(const struct mi_lane *lane)
{
    return lane->machine.state == MI_LANE_IDLE || lane->machine.state == MI_LANE_IN_FLIGHT;
}

void mi_out_make_ready(struct mi_lane *lane)
{
    struct mi_out *out = lane->out;
    if (lane->in_ready)
        return;
    lane->in_ready = true;
    lane->ready_next = NULL;
    *out->ready_end = lane;
    out->ready_end = &lane->ready_next;
}

static void make_timed(struct mi_lane *lane)
{
    struct mi_out *out = lane->out;
    if (lane->machine.due_ns < out->timed_due_ns)
        out->timed_due_ns = lane->machine.due_ns;
    if (lane->in_timed)
        return;
    lane->in_timed = true;
    lane->timed_next = out->timed;
    out->timed = lane;
}

static bool waits_for_timer(const struct mi_lane *lane)
{
    enum mi_lane_state s = lane->machine.state;
    return s == MI_LANE_BACKOFF || s == MI_LANE_HELD || s == MI_LANE_SETTLING;
}

static void after_event(struct mi_lane *lane)
{
    if (lane->lost && !lane->again.count && lane->machine.state == MI_LANE_SETTLING)
        return; /* until its records are collected */
    if (waits_for_timer(lane))
        make_timed(lane);
    else if (mi_lane_wants(&lane->machine, lane->queue.count + lane->again.count) &&
             !mi_out_draining(lane->target))
        mi_out_make_ready(lane);
    if (mi_out_draining(lane->target))
        mi_out_try_spread(lane->out, lane->target);
}

/* The first message that may have been sent before this start makes the lane settle before its first POST. */
static void begin_unknown(struct mi_lane *lane)
{
    struct mi_out *out = lane->out;
    uint64_t settle = out->start_ns + MI_SETTLE_MS * MI_NS_PER_MS;
    lane->old_wanted = lane->machine.state != MI_LANE_IDLE;
    if (lane->old_wanted)
        return;
    mi_out_take_apart(lane);
    bool check = lane->machine.check;
    mi_lane_init(&lane->machine, true, mi_now_ns(out->clock), settle);
    lane->machine.check = check;
    after_event(lane);
}

static bool may_gather(const struct mi_lane *lane)
{
    const struct mi_out *out = lane->out;
    uint32_t gathered = (lane->current.again ? 0 : lane->current.count) + lane->next.count;
    return at_work(lane) && !lane->machine.doubted && lane->queue.count == gathered && !out->gate.closed &&
           out->batch_bytes < MI_BATCH_MEMORY && !mi_out_draining(lane->target);
}

void mi_out_lane_push(struct mi_lane *lane, uint32_t entry, const struct mi_record *record)
{
    struct mi_out *out = lane->out;
    struct mi_entry *e = mi_out_entry(out, entry);
    if (e->old && !lane->old_settled)
        begin_unknown(lane);
    if (lane->old_settled)
        e->old = false;
    bool gathered = record && may_gather(lane) && add_to_batch(lane, &lane->next, e, record);
    e->lane = lane->index;
    mi_queue_push(&out->window, &lane->queue, entry);
    if (!gathered && record && !lane->slow && lane->machine.state == MI_LANE_IN_FLIGHT && lane->next.count) {
        out->paused_for = lane; /* its next batch is full: to read on now is to read twice */
        out->paused_until_ns = 0;
    }
    if (lane->machine.state == MI_LANE_IDLE && !mi_out_draining(lane->target))
        mi_out_make_ready(lane);
}

/* ---- batches ---- */

static bool begin_batch(struct mi_lane *lane, struct mi_batch *batch)
{
    struct mi_out *out = lane->out;
    if (batch->body)
        return true;
    batch->body = out->spare_count ? out->spare[--out->spare_count] : iggy_batch_new();
    if (!batch->body)
        return false;
    iggy_batch_start(batch->body, lane->partition);
    batch->count = 0;
    batch->bytes = iggy_batch_bytes(batch->body);
    batch->again = batch->failed_before = false;
    out->batch_bytes += batch->bytes;
    return true;
}

static void drop_batch(struct mi_out *out, struct mi_batch *batch)
{
    if (!batch->body)
        return;
    out->batch_bytes -= batch->bytes;
    if (out->spare_count < sizeof out->spare / sizeof out->spare[0])
        out->spare[out->spare_count++] = batch->body;
    else
        iggy_batch_free(batch->body);
    *batch = (struct mi_batch){0};
}

/* Headers of a dead letter: its own, and why and where it should have gone. */
static struct mi_span dead_headers(struct mi_out *out, const struct mi_entry *e, const struct mi_record *r)
{
    struct mi_buf *b = &out->dead_headers;
    mi_buf_reset(b);
    mi_buf_add_span(b, r->headers);
    mi_envelope_add_header(b, "mqtt.dead_reason", mi_span_of(mi_reason_name(e->reason)));
    mi_envelope_add_header(b, "mqtt.dead_stream", r->stream);
    mi_envelope_add_header(b, "mqtt.dead_topic", r->topic);
    return mi_buf_span(b);
}

static bool add_to_batch(struct mi_lane *lane, struct mi_batch *batch, struct mi_entry *e,
                         const struct mi_record *r)
{
    struct mi_out *out = lane->out;
    if (!begin_batch(lane, batch) || batch->count >= out->config->max_batch_messages ||
        (batch->count && batch->bytes + e->encoded > lane->byte_limit))
        return false;
    struct mi_span headers = e->reason ? dead_headers(out, e, r) : r->headers;
    if (!iggy_batch_add(batch->body, (struct iggy_id){r->run, r->sequence}, mi_iggy_span(headers),
                        mi_iggy_span(r->prefix), mi_iggy_span(r->payload)))
        return false;
    batch->last = (struct iggy_id){r->run, r->sequence};
    if (batch->count++ == 0)
        batch->first = batch->last;
    size_t bytes = iggy_batch_bytes(batch->body);
    out->batch_bytes += bytes - batch->bytes;
    batch->bytes = bytes;
    return true;
}

/* Reads an entry's record again. 1 read; 0 not now; -1 gone for good: it leaves its queue, counted as
 * damaged. */
static int read_again(struct mi_lane *lane, struct mi_queue *q, uint32_t entry, uint32_t position,
                      struct mi_record *record)
{
    enum { TRIES = 8 };
    struct mi_out *out = lane->out;
    struct mi_error err;
    if (mi_out_read(out, mi_out_entry(out, entry), record, &err) == 0) {
        lane->read_failures = 0;
        return 1;
    }
    mi_log_limited(out->log, &out->read_limit, mi_now_ns(out->clock), MI_SAY_EVERY_S * MI_NS_PER_S,
                   MI_LOG_ERROR, "journal: a waiting message cannot be read: %s", err.text);
    if (++lane->read_failures < TRIES)
        return 0;
    lane->read_failures = 0;
    mi_queue_take(&out->window, q, position);
    mi_out_settled(out, entry, MI_C_DROPPED_DAMAGED);
    return -1;
}

/* Fills current from a queue. False when nothing could be built. */
static bool build(struct mi_lane *lane)
{
    struct mi_out *out = lane->out;
    bool again = lane->again.count > 0;
    struct mi_queue *q = again ? &lane->again : &lane->queue;
    uint32_t position = mi_lane_skip(&lane->machine), most = mi_lane_limit(&lane->machine);
    uint32_t entry = q->head;
    for (uint32_t i = 0; i < position && entry != MI_NO_ENTRY; i++)
        entry = mi_out_entry(out, entry)->next;
    while (entry != MI_NO_ENTRY && (most == 0 || lane->current.count < most)) {
        struct mi_record record;
        struct mi_entry *e = mi_out_entry(out, entry);
        uint32_t next = e->next;
        int rc = read_again(lane, q, entry, position, &record);
        if (rc == 0 || (rc > 0 && !add_to_batch(lane, &lane->current, e, &record)))
            break;
        if (rc > 0)
            position++;
        entry = next;
    }
    lane->current.again = again;
    return lane->current.count > 0;
}

/* Makes current the batch to send. */
static bool have_batch(struct mi_lane *lane)
{
    if (lane->current.count)
        return true;
    if (lane->next.count && !lane->again.count && !lane->machine.doubted) {
        lane->current = lane->next;
        lane->next = (struct mi_batch){0};
        return true;
    }
    drop_batch(lane->out, &lane->next);
    return build(lane);
}

void mi_out_take_apart(struct mi_lane *lane)
{
    drop_batch(lane->out, &lane->current);
    drop_batch(lane->out, &lane->next);
}

/* ---- sending ---- */

static struct mi_queue *queue_of_current(struct mi_lane *lane)
{
    return lane->current.again || (!lane->current.count && lane->again.count) ? &lane->again : &lane->queue;
}

/* Entries of current, in order, leave their queue. */
static void finish_current(struct mi_lane *lane, uint32_t skip)
{
    struct mi_out *out = lane->out;
    struct mi_queue *q = queue_of_current(lane);
    for (uint32_t i = 0; i < lane->current.count; i++) {
        uint32_t entry = mi_queue_take(&out->window, q, skip);
        mi_out_settled(out, entry, mi_out_entry(out, entry)->reason ? MI_C_DEAD_LETTERED : MI_C_COMMITTED);
    }
    bool again = lane->current.again;
    drop_batch(out, &lane->current);
    lane->slow = false;
    out->changed = true;
    if (again && !lane->again.count)
        mi_out_resend_more(lane);
}

static void on_produced(void *arg, const struct iggy_result *result, const struct iggy_produced *produced)
{
    static const enum mi_lane_event EVENTS[MI_OUTCOMES] = {
        [MI_OUTCOME_STORED] = MI_EV_STORED,   [MI_OUTCOME_NOT_STORED] = MI_EV_NOT_STORED,
        [MI_OUTCOME_LINK] = MI_EV_LINK,       [MI_OUTCOME_TOKEN] = MI_EV_LINK,
        [MI_OUTCOME_UNKNOWN] = MI_EV_UNKNOWN, [MI_OUTCOME_TARGET] = MI_EV_TARGET,
        [MI_OUTCOME_MESSAGE] = MI_EV_MESSAGE,
    };
    struct mi_lane *lane = arg;
    struct mi_out *out = lane->out;
    enum mi_outcome outcome = mi_outcome_of(result);
    lane->request = 0;
    out->in_flight--;
    if (out->freeing)
        return;
    if (mi_out_held_back(out, result)) {
        mi_out_lane_event(lane, MI_EV_LINK, NULL);
        return;
    }
    if (outcome != MI_OUTCOME_STORED) {
        mi_metrics_add(out->metrics, MI_G_REQUESTS_FAILED, 1);
        lane->current.failed_before = true;
    }
    mi_out_answered(out, result, outcome);
    bool check =
        outcome == MI_OUTCOME_STORED && produced && mi_confirmed(lane, produced, result->logged_in_again);
    mi_out_lane_event(lane, EVENTS[outcome], result);
    if (check)
        mi_out_lane_event(lane, MI_EV_SIGN, NULL);
    mi_out_sign(out, result);
}

void mi_out_answered(struct mi_out *out, const struct iggy_result *result, enum mi_outcome outcome)
{
    uint64_t now = mi_now_ns(out->clock);
    if (outcome != MI_OUTCOME_LINK && outcome != MI_OUTCOME_TOKEN) {
        if (mi_gate_opened(&out->gate)) {
            mi_log_line(out->log, MI_LOG_NOTICE, "Iggy answers again");
            out->link_limit = (struct mi_log_limit){0};
        }
        return;
    }
    if (outcome == MI_OUTCOME_TOKEN)
        mi_metrics_add(out->metrics, MI_G_LOGIN_FAILED, 1);
    mi_gate_failed(&out->gate, now, out->config->retry_min_ns, out->config->retry_max_ns,
                   result->retry_after_ms * MI_NS_PER_MS, mi_random(out->clock));
    mi_log_limited(out->log, &out->link_limit, now, MI_SAY_EVERY_S * MI_NS_PER_S, MI_LOG_WARNING,
                   "nothing is shipped to Iggy at the moment, messages wait in the journal: %s",
                   result->text);
}

bool mi_out_may_request(const struct mi_out *out, uint64_t now_ns)
{
    uint32_t most = out->config->max_requests < MI_MAX_REQUESTS ? out->config->max_requests : MI_MAX_REQUESTS;
    return !out->stopping && out->in_flight < most && mi_gate_lets(&out->gate, now_ns);
}

static void count_resent(struct mi_lane *lane)
{
    struct mi_out *out = lane->out;
    const struct mi_queue *q = queue_of_current(lane);
    uint32_t entry = q->head;
    for (uint32_t i = 0; i < lane->current.count && entry != MI_NO_ENTRY; i++) {
        mi_count(out->routes.slots[mi_out_entry(out, entry)->route].metrics, MI_C_RESENT, 1);
        entry = mi_out_entry(out, entry)->next;
    }
}

static void send_batch(struct mi_lane *lane)
{
    struct mi_out *out = lane->out;
    if (have_batch(lane)) {
        if (lane->current.failed_before)
            count_resent(lane);
        lane->sent_ns = mi_now_ns(out->clock);
        lane->request = out->transport.produce(
            out->transport.context, mi_out_signs_seen(out, lane->sent_ns), mi_iggy_span(lane->target->stream),
            mi_iggy_span(lane->target->topic), lane->current.body, on_produced, lane);
    }
    if (!lane->request) { /* memory is out, or the journal cannot be read: this lane tries later */
        mi_out_lane_event(lane, lane->queue.count + lane->again.count ? MI_EV_NOT_STORED : MI_EV_LINK, NULL);
        return;
    }
    out->in_flight++;
    mi_gate_took(&out->gate);
    mi_metrics_add(out->metrics, MI_G_REQUESTS, 1);
    mi_target_use(lane->target);
}

static struct mi_lane *next_ready(struct mi_out *out)
{
    struct mi_lane *lane = out->ready;
    out->ready = lane->ready_next;
    if (!out->ready)
        out->ready_end = &out->ready;
    lane->in_ready = false;
    return lane;
}

void mi_out_send(struct mi_out *out, uint64_t now_ns)
{
    while (out->ready && mi_out_may_request(out, now_ns) && !mi_out_holds_sends(out, now_ns)) {
        if (out->batch_bytes >= MI_BATCH_MEMORY && out->in_flight && !out->ready->current.count &&
            !out->ready->next.count)
            return; /* its turn comes when an answer gives memory back */
        struct mi_lane *lane = next_ready(out);
        if (lane->old_wanted)
            begin_unknown(lane);
        bool settling = lane->machine.state == MI_LANE_SETTLING;
        bool wants = mi_lane_wants(&lane->machine, lane->queue.count + lane->again.count);
        if (lane->lost && !lane->again.count)
            continue; /* resend.c makes it ready */
        if (settling)
            mi_out_lane_event(lane, MI_EV_TIMER, NULL);
        else if (wants && !mi_out_draining(lane->target))
            mi_out_lane_event(lane, MI_EV_WORK, NULL);
    }
}

uint64_t mi_out_timers(struct mi_out *out, uint64_t now_ns)
{
    if (now_ns < out->timed_due_ns)
        return out->timed_due_ns;
    struct mi_lane *lane = out->timed;
    out->timed = NULL;
    out->timed_due_ns = UINT64_MAX;
    while (lane) {
        struct mi_lane *next = lane->timed_next;
        lane->in_timed = false;
        if (!waits_for_timer(lane))
            ;
        else if (lane->machine.due_ns > now_ns)
            make_timed(lane);
        else if (lane->machine.state == MI_LANE_SETTLING)
            mi_out_make_ready(lane); /* needs a request */
        else
            mi_out_lane_event(lane, MI_EV_TIMER, NULL);
        lane = next;
    }
    return out->timed_due_ns;
}

/* ---- events ---- */

static void note_stuck(struct mi_lane *lane, enum mi_lane_event event, uint64_t now)
{
    bool held = lane->machine.state == MI_LANE_HELD;
    if (event == MI_EV_STORED || event == MI_EV_READ_ALL) {
        lane->stuck_ns = 0;
        lane->out->stored_ns = now;
    } else if (!lane->stuck_ns && (held || lane->machine.state == MI_LANE_BACKOFF)) {
        lane->stuck_ns = now;
    }
    if (held)
        mi_parked_stuck(lane->target);
}

void mi_out_lane_event(struct mi_lane *lane, enum mi_lane_event event, const struct iggy_result *result)
{
    struct mi_out *out = lane->out;
    struct mi_lane_input in = {
        .event = event,
        .now_ns = mi_now_ns(out->clock),
        .retry_min_ns = out->config->retry_min_ns,
        .retry_max_ns = out->config->retry_max_ns,
        .retry_after_ns = result ? result->retry_after_ms * MI_NS_PER_MS : 0,
        .sent_ns = lane->sent_ns,
        .random = mi_random(out->clock),
        .sent = lane->current.count,
        .queued = queue_of_current(lane)->count,
    };
    enum mi_lane_action action = mi_lane_step(&lane->machine, &in);
    note_stuck(lane, event, in.now_ns);
    perform(lane, action, event, result);
    after_event(lane);
}

static void say(struct mi_lane *lane, const char *what, const struct iggy_result *result)
{
    struct mi_out *out = lane->out;
    const struct mi_target *t = lane->target;
    mi_log_limited(out->log, &lane->limit, mi_now_ns(out->clock), MI_SAY_EVERY_S * MI_NS_PER_S,
                   MI_LOG_WARNING, "stream %.*s topic %.*s partition %u: %s: %s", (int)t->stream.len,
                   t->stream.data, (int)t->topic.len, t->topic.data, lane->partition, what,
                   result ? result->text : "");
}

static void convict(struct mi_lane *lane, bool stored, const struct iggy_result *result)
{
    struct mi_out *out = lane->out;
    uint32_t convicted = lane->machine.convicted;
    struct mi_queue *q = queue_of_current(lane);
    say(lane, "a message is refused and goes to the dead letters", stored ? NULL : result);
    if (stored)
        finish_current(lane, convicted);
    mi_out_take_apart(lane);
    for (uint32_t i = 0; i < convicted; i++) {
        uint32_t entry = mi_queue_pop(&out->window, q);
        if (!mi_out_entry(out, entry)->reason)
            mi_out_entry(out, entry)->reason = MI_REASON_REFUSED;
        mi_out_dead(out, entry, NULL);
    }
}

/* A 413 is about bytes: smaller batches from now on. */
static void note_too_large(struct mi_lane *lane, const struct iggy_result *result)
{
    enum { LEAST = 64 * 1024 };
    if (result && result->http_status == 413 && lane->current.count > 1 &&
        lane->current.bytes / 2 < lane->byte_limit)
        lane->byte_limit = lane->current.bytes / 2 > LEAST ? lane->current.bytes / 2 : LEAST;
}

static void refresh(struct mi_lane *lane, const struct iggy_result *result)
{
    mi_out_take_apart(lane);
    say(lane, "its messages wait", result);
    if (result && result->http_status == 404)
        mi_target_gone(lane->target, mi_now_ns(lane->out->clock));
}

static void perform(struct mi_lane *lane, enum mi_lane_action action, enum mi_lane_event event,
                    const struct iggy_result *result)
{
    switch (action) {
    case MI_DO_SEND:
        send_batch(lane);
        break;
    case MI_DO_FINISH:
        if (event == MI_EV_READ_ALL)
            mi_out_reader_finish(lane);
        else
            finish_current(lane, 0);
        break;
    case MI_DO_CONVICT:
        convict(lane, event != MI_EV_MESSAGE, result);
        break;
    case MI_DO_COMPLAIN:
        say(lane, "every message tried is refused, so none is given up and all wait", result);
        mi_out_take_apart(lane);
        break;
    case MI_DO_REBUILD:
        note_too_large(lane, result);
        mi_out_take_apart(lane);
        break;
    case MI_DO_REFRESH:
        refresh(lane, result);
        break;
    case MI_DO_READ_BACK:
        mi_out_read_back(lane);
        break;
    case MI_DO_RESEND:
        mi_out_reader_finish(lane);
        break;
    case MI_DO_CHECK:
        mi_out_check(lane);
        break;
    case MI_DO_NOTHING:
        break;
    }
}
