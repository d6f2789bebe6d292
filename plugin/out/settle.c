/*
 * settle: one reader per lane that reads back, page after page.
 */
#include "out/settle.h"

#include <stdlib.h>

#include "out/parked.h"

enum question { BATCH, AGAIN, OLD };

struct sought {
    uint64_t sequence;
    uint32_t entry;
};

struct mi_reader {
    enum question question;
    uint64_t next; /* offset of the next page */
    uint32_t page;
    uint32_t sought, found;
    bool located;  /* next was found from the partition's end */
    bool locating; /* the last message is being asked for */
    bool known;    /* something was found: where */
    uint64_t known_offset;
    struct iggy_id known_id;
    struct sought *again; /* what the window's ring cannot find: the lane's queue again, or a batch with
                             parked messages; by sequence; NULL: not needed */
    uint32_t again_count;
};

static void ask_page(struct mi_lane *lane);
static int by_sequence(const void *a, const void *b);
static void ask_last(struct mi_lane *lane);
static void ended(struct mi_lane *lane, enum mi_lane_event event, const struct iggy_result *result);

/* ---- what a lane knows ---- */

void mi_known_at(struct mi_lane *lane, struct iggy_id id, uint64_t offset)
{
    lane->confirmed = true;
    lane->floating = false;
    lane->confirmed_id = id;
    lane->confirmed_offset = offset;
    lane->read_from = offset + 1;
    lane->read_from_known = true;
}

/* The same without knowing where, but not below that offset. */
static void known_above(struct mi_lane *lane, struct iggy_id id, uint64_t offset)
{
    lane->confirmed = true;
    lane->floating = true;
    lane->confirmed_id = id;
    lane->confirmed_offset = offset;
    if (lane->read_from_known)
        lane->read_from = offset + 1;
}

/* Where the first message of a batch stands at least that was stored just now. */
static uint64_t lowest(const struct mi_lane *lane)
{
    uint64_t from = lane->read_from_known ? lane->read_from : 0;
    uint64_t behind = lane->unchecked   ? lane->unchecked_offset + 1
                      : lane->confirmed ? lane->confirmed_offset + 1
                                        : 0;
    return from > behind ? from : behind;
}

bool mi_confirmed(struct mi_lane *lane, const struct iggy_produced *produced, bool sign)
{
    bool floating = !produced->confirmed;
    uint64_t base = floating ? lowest(lane) : produced->base_offset;
    uint64_t last = base + lane->current.count - 1;
    lane->unchecked |= lane->confirmed && (sign || (!floating && base <= lane->confirmed_offset));
    if (lane->unchecked) {
        lane->unchecked_floating = floating;
        lane->unchecked_offset = last;
        lane->unchecked_id = lane->current.last;
    } else if (floating) {
        known_above(lane, lane->current.last, last);
    } else {
        mi_known_at(lane, lane->current.last, last);
    }
    return lane->unchecked;
}

void mi_checked(struct mi_lane *lane)
{
    if (lane->unchecked && lane->unchecked_floating)
        known_above(lane, lane->unchecked_id, lane->unchecked_offset);
    else if (lane->unchecked)
        mi_known_at(lane, lane->unchecked_id, lane->unchecked_offset);
    lane->unchecked = false;
}

void mi_forget_confirmed(struct mi_lane *lane)
{
    lane->confirmed = lane->unchecked = false;
    lane->read_from = lane->old_from = 0;
    lane->read_from_known = true;
}

void mi_saw_tail(struct mi_lane *lane)
{
    enum mi_lane_state s = lane->machine.state;
    const struct mi_target *t = lane->target;
    if ((s != MI_LANE_IDLE && s != MI_LANE_BACKOFF && s != MI_LANE_HELD) || !t->tails ||
        lane->partition >= t->found_partitions)
        return;
    lane->read_from = t->tails[lane->partition];
    lane->read_from_known = true;
}

/* ---- requests ---- */

bool mi_lane_poll(struct mi_lane *lane, enum iggy_strategy strategy, uint64_t value, uint32_t count,
                  iggy_polled_fn done)
{
    struct mi_out *out = lane->out;
    struct iggy_poll poll = {
        .stream = mi_iggy_span(lane->target->stream),
        .topic = mi_iggy_span(lane->target->topic),
        .partition_id = lane->partition,
        .strategy = strategy,
        .value = value,
        .count = count,
    };
    lane->request = out->transport.poll(out->transport.context, &poll, done, lane);
    if (!lane->request)
        return false;
    out->in_flight++;
    mi_gate_took(&out->gate);
    return true;
}

bool mi_lane_answered(struct mi_lane *lane, const struct iggy_result *result, enum mi_outcome *outcome)
{
    lane->request = 0;
    lane->out->in_flight--;
    *outcome = mi_outcome_of(result);
    if (lane->out->freeing)
        return false;
    mi_out_answered(lane->out, result, *outcome);
    return true;
}

/* ---- beginning ---- */

static uint32_t count_old(struct mi_lane *lane)
{
    struct mi_out *out = lane->out;
    uint32_t n = 0;
    for (uint32_t e = lane->queue.head; e != MI_NO_ENTRY; e = mi_out_entry(out, e)->next) {
        mi_out_entry(out, e)->found = false;
        n += mi_out_entry(out, e)->old;
    }
    return n;
}

static bool seek_again(struct mi_lane *lane, struct mi_reader *r)
{
    struct mi_out *out = lane->out;
    r->again = malloc(lane->again.count * sizeof *r->again);
    if (!r->again)
        return false;
    for (uint32_t e = lane->again.head; e != MI_NO_ENTRY; e = mi_out_entry(out, e)->next) {
        mi_out_entry(out, e)->found = false;
        r->again[r->again_count++] = (struct sought){mi_out_entry(out, e)->ref.sequence, e};
    }
    return true;
}

/* A batch with parked messages: exactly those of it. */
static bool seek_batch(struct mi_lane *lane, struct mi_reader *r)
{
    struct mi_out *out = lane->out;
    bool parked = false;
    uint32_t e = lane->queue.head;
    r->again = malloc(lane->current.count * sizeof *r->again);
    if (!r->again)
        return false;
    for (uint32_t i = 0; i < mi_lane_skip(&lane->machine) && e != MI_NO_ENTRY; i++)
        e = mi_out_entry(out, e)->next;
    for (; e != MI_NO_ENTRY && r->again_count < lane->current.count; e = mi_out_entry(out, e)->next) {
        parked |= mi_out_entry(out, e)->parked != 0;
        r->again[r->again_count++] = (struct sought){mi_out_entry(out, e)->ref.sequence, e};
    }
    if (!parked) {
        free(r->again);
        r->again = NULL;
        r->again_count = 0;
        return true;
    }
    qsort(r->again, r->again_count, sizeof *r->again, by_sequence);
    return true;
}

static bool prepare(struct mi_lane *lane, struct mi_reader *r)
{
    struct mi_out *out = lane->out;
    r->page = MI_READ_PAGE;
    if (lane->current.count) {
        r->question = BATCH;
        r->sought = lane->current.count;
        r->next = lane->read_from;
        r->located = lane->read_from_known;
        struct mi_queue *q = lane->current.again ? &lane->again : &lane->queue;
        for (uint32_t e = q->head; e != MI_NO_ENTRY; e = mi_out_entry(out, e)->next)
            mi_out_entry(out, e)->found = false;
        return lane->current.again ? seek_again(lane, r) : seek_batch(lane, r);
    }
    if (lane->again.count && !lane->again_settled) {
        r->question = AGAIN;
        r->sought = lane->again.count;
        r->next = lane->again_from;
        r->located = true;
        return seek_again(lane, r);
    }
    r->question = OLD;
    r->sought = count_old(lane);
    r->next = lane->old_from;
    r->located = lane->old_from_known;
    return true;
}

void mi_out_read_back(struct mi_lane *lane)
{
    mi_out_reader_free(lane);
    lane->reader = calloc(1, sizeof *lane->reader);
    if (!lane->reader || !prepare(lane, lane->reader))
        mi_out_lane_event(lane, MI_EV_READ_FAILED, NULL);
    else if (lane->reader->located)
        ask_page(lane);
    else
        ask_last(lane);
}

void mi_out_reader_free(struct mi_lane *lane)
{
    if (lane->reader)
        free(lane->reader->again);
    free(lane->reader);
    lane->reader = NULL;
}

/* ---- pages ---- */

static int by_sequence(const void *a, const void *b)
{
    uint64_t x = ((const struct sought *)a)->sequence, y = ((const struct sought *)b)->sequence;
    return (x > y) - (x < y);
}

static uint32_t entry_of(struct mi_lane *lane, struct iggy_id id)
{
    const struct mi_reader *r = lane->reader;
    if (!r->again)
        return mi_window_find(&lane->out->window, id.lo);
    struct sought key = {id.lo, 0};
    const struct sought *s = bsearch(&key, r->again, r->again_count, sizeof key, by_sequence);
    return s ? s->entry : MI_NO_ENTRY;
}

static bool is_sought(struct mi_lane *lane, const struct mi_entry *e, struct iggy_id id)
{
    if (e->run != id.hi || e->lane != lane->index || e->done || e->found)
        return false;
    if (lane->reader->question == BATCH)
        return (lane->reader->again && !lane->current.again) ||
               (id.lo >= lane->current.first.lo && id.lo <= lane->current.last.lo);
    return lane->reader->question == AGAIN || e->old;
}

static void note(struct mi_lane *lane, const struct iggy_polled_message *m)
{
    struct mi_out *out = lane->out;
    struct mi_reader *r = lane->reader;
    uint32_t entry = entry_of(lane, m->id);
    struct mi_entry *e = entry == MI_NO_ENTRY ? NULL : mi_out_entry(out, entry);
    if (e && is_sought(lane, e, m->id)) {
        e->found = true;
        r->found++;
        r->known = true;
        r->known_offset = m->offset;
        r->known_id = m->id;
    } else if (r->question == OLD &&
               (m->id.lo < out->start_sequence || mi_parked_old(lane->target->parked)) &&
               (e ? e->run == m->id.hi && e->lane != lane->index
                  : m->id.lo >= out->window.next_sequence || lane->target->parked)) {
        mi_id_set_add(out->found_ahead, m->id); /* of a record that is still to come */
    }
}

/* Nothing (more) at that offset. Where the tail fell below it, the server lost its newest messages, and what
 * is sought may stand lower. */
static void on_last(void *arg, const struct iggy_result *result, const struct iggy_polled *polled)
{
    struct mi_lane *lane = arg;
    struct mi_reader *r = lane->reader;
    enum mi_outcome outcome;
    if (!mi_lane_answered(lane, result, &outcome))
        return;
    if (outcome != MI_OUTCOME_STORED) {
        ended(lane, MI_EV_READ_FAILED, result);
        return;
    }
    bool first = !r->located;
    r->locating = false;
    r->located = true;
    uint64_t last = polled->count ? polled->messages[polled->count - 1].offset : 0;
    if (polled->count == 0 || (!first && last + 1 >= r->next)) {
        ended(lane, MI_EV_READ_ABSENT, NULL);
        return;
    }
    r->next = last > MI_MAX_READ_BACK ? last - MI_MAX_READ_BACK : 0;
    ask_page(lane);
}

static void on_page(void *arg, const struct iggy_result *result, const struct iggy_polled *polled)
{
    struct mi_lane *lane = arg;
    struct mi_reader *r = lane->reader;
    enum mi_outcome outcome;
    if (!mi_lane_answered(lane, result, &outcome))
        return;
    if (result->kind ==
        IGGY_GARBLED) { /* too large an answer, perhaps: smaller pages, and past a single one */
        if (r->page == 1)
            r->next++;
        r->page = r->page > 1 ? r->page / 4 + (r->page < 4) : 1;
        ask_page(lane);
        return;
    }
    if (outcome != MI_OUTCOME_STORED) {
        ended(lane, MI_EV_READ_FAILED, result);
        return;
    }
    for (size_t i = 0; i < polled->count; i++)
        note(lane, &polled->messages[i]);
    if (polled->count)
        r->next = polled->messages[polled->count - 1].offset + 1;
    if (r->question != OLD && r->found == r->sought)
        ended(lane, MI_EV_READ_ALL, NULL);
    else if (polled->count && r->next <= polled->current_offset)
        ask_page(lane);
    else
        ask_last(lane);
}

static void ask(struct mi_lane *lane, enum iggy_strategy strategy, uint64_t value, uint32_t count,
                iggy_polled_fn done)
{
    if (!mi_out_may_request(lane->out, mi_now_ns(lane->out->clock)) ||
        !mi_lane_poll(lane, strategy, value, count, done))
        ended(lane, MI_EV_READ_FAILED, NULL);
}

static void ask_page(struct mi_lane *lane)
{
    ask(lane, IGGY_FROM_OFFSET, lane->reader->next, lane->reader->page, on_page);
}

static void ask_last(struct mi_lane *lane)
{
    if (lane->reader->locating) {
        ended(lane, MI_EV_READ_ABSENT, NULL);
        return;
    }
    lane->reader->locating = true;
    ask(lane, IGGY_FROM_LAST, 0, 1, on_last);
}

/* ---- ending ---- */

static enum mi_lane_event refused(struct mi_lane *lane, const struct iggy_result *result)
{
    struct mi_out *out = lane->out;
    const struct mi_target *t = lane->target;
    if (result->http_status == 404)
        return MI_EV_READ_ABSENT; /* no such stream, topic or partition: nothing of ours in it */
    if (result->http_status != 403)
        return MI_EV_READ_FAILED;
    mi_log_limited(
        out->log, &out->denied_limit, mi_now_ns(out->clock), 3600 * MI_NS_PER_S, MI_LOG_WARNING,
        "stream %.*s topic %.*s: after an uncertain answer the messages may not be read back, so they are "
        "sent again and may be there twice; grant poll_messages: %s",
        (int)t->stream.len, t->stream.data, (int)t->topic.len, t->topic.data, result->text);
    return MI_EV_READ_DENIED;
}

static void ended(struct mi_lane *lane, enum mi_lane_event event, const struct iggy_result *result)
{
    struct mi_reader *r = lane->reader;
    if (result)
        event = refused(lane, result);
    if (event == MI_EV_READ_ABSENT && r->found == r->sought)
        event = MI_EV_READ_ALL;
    if (r->question == OLD &&
        (event == MI_EV_READ_ABSENT || event == MI_EV_READ_ALL || event == MI_EV_READ_DENIED))
        lane->old_settled = lane->machine.read_ns >= lane->machine.settle_ns || event == MI_EV_READ_DENIED;
    mi_out_lane_event(lane, event, NULL);
}

static void settle_entry(struct mi_lane *lane, struct mi_queue *to, uint32_t entry)
{
    struct mi_out *out = lane->out;
    struct mi_entry *e = mi_out_entry(out, entry);
    if (!e->found) {
        mi_queue_push(&out->window, to, entry);
        return;
    }
    if (mi_window_is_side(entry) && !e->parked) {
        mi_window_done(&out->window, entry);
        return;
    }
    if (e->route != UINT32_MAX)
        mi_count(out->routes.slots[e->route].metrics, MI_C_FOUND, 1);
    mi_out_settled(out, entry, e->reason ? MI_C_DEAD_LETTERED : MI_C_COMMITTED);
}

static void count_missing(struct mi_lane *lane, const struct mi_entry *e)
{
    if (e->route != UINT32_MAX)
        mi_count(lane->out->routes.slots[e->route].metrics, MI_C_RESENT, 1);
}

void mi_out_reader_finish(struct mi_lane *lane)
{
    struct mi_out *out = lane->out;
    struct mi_reader *r = lane->reader;
    struct mi_queue *q = r->question == AGAIN || lane->current.again ? &lane->again : &lane->queue;
    struct mi_queue all = *q;
    struct iggy_id first = lane->current.first, last = lane->current.last;
    mi_queue_init(q);
    while (all.count) {
        uint32_t entry = mi_queue_pop(&out->window, &all);
        struct mi_entry *e = mi_out_entry(out, entry);
        if (r->question == BATCH && !e->found && e->ref.sequence >= first.lo && e->ref.sequence <= last.lo)
            count_missing(lane, e);
        if (r->question == OLD && e->old && !e->found)
            e->found = mi_id_set_take(out->found_ahead, (struct iggy_id){e->run, e->ref.sequence});
        if (r->question == OLD)
            e->old = false;
        settle_entry(lane, q, entry);
    }
    if (r->known && (!lane->confirmed || r->known_offset > lane->confirmed_offset || r->question == AGAIN))
        mi_known_at(lane, r->known_id, r->known_offset);
    if (r->question == AGAIN)
        lane->again_settled = true;
    lane->slow = false;
    mi_out_take_apart(lane);
    mi_out_reader_free(lane);
    out->changed = true;
}
