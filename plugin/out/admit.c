/*
 * admit: records from the journal into the window, to their target, to their lane; and dead letters to
 * theirs.
 */
#include "out/out_private.h"
#include "out/parked.h"
#include "out/settle.h"

enum {
    READ_TURN = 4096,      /* records of one turn, so that answers are not kept waiting */
    SPREAD_BALANCED = 128, /* consecutive records of one partition, so that batches stay large */
    PAUSE_MS = 50,         /* reading waits this long for a busy lane, then goes past it */
    READ_AGAIN_S = 1,
    DEAD_AGAIN_S = 1,
    DEAD_FAILURES = 4 /* of the dead letters' stream in a row, then the file takes them */
};

static void admit(struct mi_out *out, const struct mi_journal_ref *ref, const struct mi_record *record);
static bool paused(struct mi_out *out, uint64_t now);

bool mi_out_read_on(struct mi_out *out, uint64_t now)
{
    struct mi_journal_ref ref;
    struct mi_record record;
    struct mi_error err;
    if (now < out->read_due_ns)
        return false;
    for (uint32_t i = 0; i < READ_TURN; i++) {
        if (!mi_window_has_room(&out->window) || paused(out, now))
            return false;
        int rc = mi_cursor_next(out->cursor, &ref, &record, &err);
        if (rc == 0)
            return false;
        if (rc < 0) {
            out->read_due_ns = now + READ_AGAIN_S * MI_NS_PER_S;
            mi_log_limited(out->log, &out->read_limit, now, MI_SAY_EVERY_S * MI_NS_PER_S, MI_LOG_ERROR,
                           "journal: cannot be read, what waits stays where it is: %s", err.text);
            return false;
        }
        admit(out, &ref, &record);
    }
    return true;
}

/* To read past a lane whose next batch is full is to read its records twice; but nobody else may wait for it
 * long. */
static bool paused(struct mi_out *out, uint64_t now)
{
    struct mi_lane *lane = out->paused_for;
    if (!lane)
        return false;
    if (out->paused_until_ns == 0)
        out->paused_until_ns = now + PAUSE_MS * MI_NS_PER_MS;
    bool busy = lane->machine.state == MI_LANE_IN_FLIGHT && lane->next.count;
    if (busy && now < out->paused_until_ns)
        return true;
    if (busy)
        lane->slow = true;
    out->paused_for = NULL;
    return false;
}

/* ---- one record ---- */

uint32_t mi_out_partition(uint64_t sequence, bool balanced, uint32_t key_hash, uint32_t partitions)
{
    return balanced ? (uint32_t)(sequence / SPREAD_BALANCED % partitions) : key_hash % partitions;
}

/* To its lane, to wait for its target, or to be parked with it. */
static void to_target(struct mi_out *out, struct mi_target *t, uint32_t entry, const struct mi_record *record)
{
    struct mi_entry *e = mi_out_entry(out, entry);
    struct mi_lane *lane = NULL;
    bool parks = !e->parked && !e->reason;
    bool direct = t->partitions && !mi_out_draining(t) && t->waiting.count == 0;
    if (direct && !(parks && t->park_all))
        lane =
            mi_out_lane(out, t, mi_out_partition(e->ref.sequence, e->balanced, e->key_hash, t->partitions));
    if (parks && (t->park_all || (lane && lane->parked)))
        mi_queue_push(&out->window, &t->to_park, entry);
    else if (lane)
        mi_out_lane_push(lane, entry, record);
    else {
        mi_target_use(t);
        mi_queue_push(&out->window, &t->waiting, entry);
    }
}

int mi_out_read(struct mi_out *out, const struct mi_entry *e, struct mi_record *record, struct mi_error *err)
{
    struct mi_buf *b = &out->scratch;
    struct mi_error none;
    size_t need;
    if (!e->parked) {
        if (mi_journal_read(out->journal, &e->ref, b, record, err) != 0)
            return -1;
        record->run = e->run;
        return 0;
    }
    uint32_t number = out->parked[e->parked - 1]->number;
    if (mi_parked_read(&out->parked_files, number, e->ref.segment, e->ref.bytes, b, err ? err : &none) != 0)
        return -1;
    if (mi_parked_decode(b->data, b->len, record, &need) <= 0 || record->sequence != e->ref.sequence)
        return mi_error_set(err, "a parked message is damaged or gone");
    return 0;
}

static size_t message_limit(const struct mi_out *out)
{
    return out->config->max_batch_bytes - MI_BATCH_BASE_BYTES;
}

static bool was_done(struct mi_out *out, const struct mi_record *r)
{
    return mi_id_set_take(out->found_ahead, (struct iggy_id){r->run, r->sequence});
}

static void admit(struct mi_out *out, const struct mi_journal_ref *ref, const struct mi_record *record)
{
    uint32_t entry = mi_window_push(&out->window, ref);
    struct mi_entry *e = mi_out_entry(out, entry);
    e->run = record->run;
    e->route = mi_out_routes_slot(&out->routes, record->route);
    e->key_hash = record->key_hash;
    e->balanced = record->balanced;
    e->reason = record->reason;
    e->old = ref->sequence < out->start_sequence;
    e->encoded =
        (uint32_t)iggy_batch_message_bytes(record->headers.len, record->prefix.len + record->payload.len);
    if (e->old && mi_done_runs_has(&out->done_before, ref->sequence)) {
        mi_window_done(&out->window, entry);
        return;
    }
    if (e->old && was_done(out, record)) {
        if (e->route != UINT32_MAX)
            mi_count(out->routes.slots[e->route].metrics, MI_C_FOUND, 1);
        mi_out_settled(out, entry, e->reason ? MI_C_DEAD_LETTERED : MI_C_COMMITTED);
        return;
    }
    if (!e->reason && e->encoded > message_limit(out))
        e->reason = MI_REASON_TOO_LARGE;
    if (e->reason) {
        mi_out_dead(out, entry, record);
        return;
    }
    struct mi_target *t = mi_targets_get(out->targets, record->stream, record->topic, e->route);
    if (t)
        to_target(out, t, entry, record);
    else
        mi_queue_push(&out->window, &out->homeless, entry);
}

void mi_out_admit_parked(struct mi_out *out, struct mi_target *t, uint32_t entry,
                         const struct mi_record *record)
{
    struct mi_entry *e = mi_out_entry(out, entry);
    if (e->old && was_done(out, record)) {
        if (e->route != UINT32_MAX)
            mi_count(out->routes.slots[e->route].metrics, MI_C_FOUND, 1);
        mi_out_settled(out, entry, MI_C_COMMITTED);
        return;
    }
    if (e->encoded > message_limit(out)) {
        e->reason = MI_REASON_TOO_LARGE;
        mi_out_dead(out, entry, record);
        return;
    }
    to_target(out, t, entry, record);
}

void mi_out_unpark(struct mi_out *out, struct mi_target *t)
{
    struct mi_queue q = t->to_park;
    mi_queue_init(&t->to_park);
    t->park_all = false;
    t->parked_lanes = 0;
    for (uint32_t i = 0; i < t->lane_cap; i++)
        if (t->lanes[i])
            t->lanes[i]->parked = false;
    while (q.count)
        to_target(out, t, mi_queue_pop(&out->window, &q), NULL);
    out->changed = true;
}

/* Records for which there was no memory, or which name more targets than fit, try again. */
uint64_t mi_out_homeless_step(struct mi_out *out, uint64_t now)
{
    if (out->homeless.count == 0)
        return UINT64_MAX;
    if (now < out->homeless_due_ns)
        return out->homeless_due_ns;
    out->homeless_due_ns = now + READ_AGAIN_S * MI_NS_PER_S;
    while (out->homeless.count) {
        struct mi_record r;
        uint32_t entry = mi_queue_pop(&out->window, &out->homeless);
        struct mi_entry *e = mi_out_entry(out, entry);
        struct mi_target *t = NULL;
        if (mi_out_read(out, e, &r, NULL) == 0)
            t = mi_targets_get(out->targets, r.stream, r.topic, e->route);
        if (!t) {
            mi_log_limited(out->log, &out->lanes_limit, now, MI_SAY_EVERY_S * MI_NS_PER_S, MI_LOG_ERROR,
                           "more than %d streams and topics are in use, or memory is out: %u messages wait",
                           MI_MAX_LANES, out->homeless.count + 1);
            mi_queue_put_back(&out->window, &out->homeless, entry);
            break;
        }
        to_target(out, t, entry, NULL);
    }
    return out->homeless_due_ns;
}

void mi_out_settled(struct mi_out *out, uint32_t entry, enum mi_route_counter how)
{
    struct mi_entry *e = mi_out_entry(out, entry);
    if (e->route != UINT32_MAX)
        mi_count(out->routes.slots[e->route].metrics,
                 mi_window_is_side(entry) && !e->parked ? MI_C_LOST_RESENT : how, 1);
    if (e->parked)
        mi_parked_done(out, entry);
    mi_window_done(&out->window, entry);
    out->changed = true;
}

/* ---- targets ---- */

bool mi_out_draining(const struct mi_target *t)
{
    return t->partitions && t->found_partitions && t->partitions != t->found_partitions;
}

static bool at_rest(const struct mi_lane *lane)
{
    enum mi_lane_state s = lane->machine.state;
    return s == MI_LANE_IDLE || s == MI_LANE_BACKOFF || s == MI_LANE_HELD;
}

static void spread(struct mi_out *out, struct mi_target *t)
{
    struct mi_queue waiting = t->waiting, to_park = t->to_park;
    mi_queue_init(&t->waiting);
    mi_queue_init(&t->to_park);
    while (waiting.count) {
        uint32_t entry = mi_queue_pop(&out->window, &waiting);
        to_target(out, t, entry, NULL);
    }
    mi_queue_merge(&out->window, &t->to_park, &to_park);
}

/* All of a target's lanes rest: what waits in them goes by the new number of partitions. What is under way or
 * unknown was settled before, so that order per partition and the search for unknown batches hold. */
void mi_out_try_spread(struct mi_out *out, struct mi_target *t)
{
    if (!mi_out_draining(t))
        return;
    for (uint32_t i = 0; i < t->lane_cap; i++)
        if (t->lanes[i] && !at_rest(t->lanes[i]))
            return;
    mi_log_line(out->log, MI_LOG_NOTICE, "stream %.*s topic %.*s: %u partitions instead of %u",
                (int)t->stream.len, t->stream.data, (int)t->topic.len, t->topic.data, t->found_partitions,
                t->partitions);
    for (uint32_t i = 0; i < t->lane_cap; i++) {
        struct mi_lane *lane = t->lanes[i];
        if (!lane)
            continue;
        mi_out_take_apart(lane);
        mi_queue_merge(&out->window, &t->waiting, &lane->queue);
        lane->old_settled = true;
        t->park_all |= lane->parked; /* until the file, whose records may go anywhere now, is shipped */
        if (lane->machine.state != MI_LANE_IDLE)
            mi_lane_init(&lane->machine, false, 0, 0);
    }
    t->partitions = t->found_partitions;
    out->changed = true;
    spread(out, t);
}

static void forget_confirmations(struct mi_out *out, struct mi_target *t)
{
    mi_log_line(out->log, MI_LOG_WARNING,
                "stream %.*s topic %.*s was deleted and made again; what it held before is not sent again",
                (int)t->stream.len, t->stream.data, (int)t->topic.len, t->topic.data);
    for (uint32_t i = 0; i < t->lane_cap; i++)
        if (t->lanes[i])
            mi_forget_confirmed(t->lanes[i]);
}

void mi_out_target_ready(void *context, struct mi_target *t, bool remade)
{
    struct mi_out *out = context;
    if (remade)
        forget_confirmations(out, t);
    if (!t->partitions)
        t->partitions = t->found_partitions;
    for (uint32_t i = 0; i < t->lane_cap; i++) {
        struct mi_lane *lane = t->lanes[i];
        if (!lane)
            continue;
        mi_saw_tail(lane);
        if (lane->machine.state == MI_LANE_HELD && t->was_missing)
            mi_out_lane_event(lane, MI_EV_TARGET_READY, NULL);
    }
    t->was_missing = false;
    if (mi_out_draining(t))
        mi_out_try_spread(out, t);
    else if (t->waiting.count)
        spread(out, t);
}

/* ---- dead letters ---- */

static bool to_dead_target(struct mi_out *out, uint32_t entry, const struct mi_record *record)
{
    const struct mi_config *c = out->config;
    struct mi_entry *e = mi_out_entry(out, entry);
    if (!c->dead_letter_stream || !c->dead_letter_topic ||
        e->encoded + MI_DEAD_HEADER_BYTES > message_limit(out) || e->filed)
        return false;
    struct mi_target *t = mi_targets_get(out->targets, mi_span_of(c->dead_letter_stream),
                                         mi_span_of(c->dead_letter_topic), UINT32_MAX);
    if (!t)
        return false;
    e->encoded += MI_DEAD_HEADER_BYTES;
    e->filed = true; /* the next time it goes to the file */
    to_target(out, t, entry, record);
    return true;
}

static bool to_file(struct mi_out *out, uint32_t entry, const struct mi_record *record)
{
    struct mi_entry *e = mi_out_entry(out, entry);
    struct mi_error err = {{0}};
    struct mi_record r;
    uint64_t now = mi_now_ns(out->clock);
    if (record)
        r = *record;
    else if (mi_out_read(out, e, &r, &err) != 0) {
        mi_log_limited(out->log, &out->read_limit, now, MI_SAY_EVERY_S * MI_NS_PER_S, MI_LOG_ERROR,
                       "journal: a dead letter cannot be read: %s", err.text);
        return false;
    }
    r.run = e->run;
    r.reason = e->reason;
    enum mi_dead dead = mi_dead_letters_add(out->dead, &r, &err);
    if (dead == MI_DEAD_WRITTEN) {
        mi_out_settled(out, entry, MI_C_DEAD_LETTERED);
        return true;
    }
    mi_log_limited(out->log, &out->dead_limit, now, MI_SAY_EVERY_S * MI_NS_PER_S, MI_LOG_ERROR,
                   "dead letters: %s; nothing is dropped, %u wait",
                   dead == MI_DEAD_FULL
                       ? "the file " MI_DEAD_LETTER_FILE
                         " is full: raise dead_letter.file_max or take letters out with the tool"
                       : err.text,
                   out->dead_waiting.count + 1);
    return false;
}

void mi_out_dead(struct mi_out *out, uint32_t entry, const struct mi_record *record)
{
    struct mi_entry *e = mi_out_entry(out, entry);
    e->old = e->ref.sequence < out->start_sequence; /* it may be among the dead letters already */
    if (e->old && mi_id_set_take(out->found_ahead, (struct iggy_id){e->run, e->ref.sequence})) {
        mi_out_settled(out, entry, MI_C_DEAD_LETTERED);
        return;
    }
    if (to_dead_target(out, entry, record) || to_file(out, entry, record))
        return;
    mi_queue_push(&out->window, &out->dead_waiting, entry);
    if (out->dead_due_ns == 0)
        out->dead_due_ns = mi_now_ns(out->clock) + DEAD_AGAIN_S * MI_NS_PER_S;
}

static void file_all(struct mi_out *out, struct mi_queue *q)
{
    while (q->count) {
        uint32_t entry = mi_queue_pop(&out->window, q);
        mi_out_dead(out, entry, NULL); /* its stream had its chance: the file is next */
    }
}

/* A dead-letter stream that is missing or refuses its letters for a while: the file takes them. */
static void give_up_dead_target(struct mi_out *out)
{
    const struct mi_config *c = out->config;
    struct mi_target *t =
        mi_targets_find(out->targets, mi_span_of(c->dead_letter_stream), mi_span_of(c->dead_letter_topic));
    if (!t)
        return;
    if (t->state == MI_TARGET_MISSING && t->failures >= DEAD_FAILURES)
        file_all(out, &t->waiting);
    for (uint32_t i = 0; i < t->lane_cap; i++) {
        struct mi_lane *lane = t->lanes[i];
        if (!lane || lane->machine.state != MI_LANE_HELD || lane->machine.failures < DEAD_FAILURES)
            continue;
        mi_out_take_apart(lane);
        struct mi_queue letters, others;
        mi_queue_init(&letters);
        mi_queue_init(&others);
        while (lane->queue.count) {
            uint32_t entry = mi_queue_pop(&out->window, &lane->queue);
            mi_queue_push(&out->window, mi_out_entry(out, entry)->reason ? &letters : &others, entry);
        }
        lane->queue = others;
        file_all(out, &letters);
    }
}

uint64_t mi_out_dead_step(struct mi_out *out, uint64_t now)
{
    bool stream = out->config->dead_letter_stream && out->config->dead_letter_topic;
    if (out->dead_waiting.count == 0 && !stream)
        return UINT64_MAX;
    if (now < out->dead_due_ns)
        return out->dead_due_ns;
    if (stream)
        give_up_dead_target(out);
    while (out->dead_waiting.count) {
        uint32_t entry = mi_queue_pop(&out->window, &out->dead_waiting);
        if (!to_file(out, entry, NULL)) {
            mi_queue_put_back(&out->window, &out->dead_waiting, entry);
            break;
        }
    }
    out->dead_due_ns = now + DEAD_AGAIN_S * MI_NS_PER_S;
    return out->dead_waiting.count || stream ? out->dead_due_ns : UINT64_MAX;
}
