/*
 * restart: signs, the question to the server, and each lane's check of its last confirmed message.
 */
#include "out/restart.h"

#include "out/out_private.h"
#include "out/settle.h"

enum {
    ASK_EVERY_S = 5,
    HOLD_MS = 1000, /* a server that is slow to answer holds nothing up for longer */
    CHECK_PAGE = 1000,
    RUNS_TRIED = 8,
    FLOATING_PAGES = 10,
    UNPROVED_MOST = 10,
    UNGUARDED_S = 60
};

/* ---- signs ---- */

static uint64_t signs(const struct mi_out *out)
{
    return out->transport.signs(out->transport.context);
}

static void look_into(struct mi_out *out, uint64_t now)
{
    struct mi_restart *r = &out->restart;
    r->noticed = signs(out);
    if (!r->request)
        r->due_ns = now;
    if (now >= r->hold_until_ns)
        r->hold_until_ns = now + HOLD_MS * MI_NS_PER_MS;
}

void mi_out_sign(struct mi_out *out, const struct iggy_result *result)
{
    if (!result->logged_in_again)
        return;
    out->restart.signed_login = true;
    look_into(out, mi_now_ns(out->clock));
}

bool mi_out_holds_sends(const struct mi_out *out, uint64_t now_ns)
{
    const struct mi_restart *r = &out->restart;
    return now_ns < r->hold_until_ns || (signs(out) != r->signs && now_ns >= r->unguarded_until_ns);
}

uint64_t mi_out_signs_seen(struct mi_out *out, uint64_t now_ns)
{
    return now_ns < out->restart.unguarded_until_ns ? MI_ANY_SIGNS : out->restart.signs;
}

bool mi_out_held_back(struct mi_out *out, const struct iggy_result *result)
{
    struct mi_restart *r = &out->restart;
    if (result->kind != IGGY_HELD_BACK) {
        r->unproved = 0;
        return false;
    }
    out->gate.probing = false;
    return true;
}

static void tell_lanes(struct mi_out *out, enum mi_lane_event event)
{
    for (uint32_t i = 0; i < out->lane_count; i++)
        mi_out_lane_event(out->lanes[i], event, NULL);
}

/* A sign that proves nothing. Where each request needs a new connection they never end and nothing would ever
 * be sent: the guard is laid down for a while. */
static void unproved(struct mi_out *out)
{
    struct mi_restart *r = &out->restart;
    uint64_t now = mi_now_ns(out->clock);
    if (now - r->unproved_ns > MI_NS_PER_S)
        r->unproved = 0;
    r->unproved_ns = now;
    if (++r->unproved >= UNPROVED_MOST) {
        r->unproved = 0;
        r->unguarded_until_ns = now + UNGUARDED_S * MI_NS_PER_S;
    }
    tell_lanes(out, MI_EV_SIGN);
}

static void restarted(struct mi_out *out)
{
    mi_metrics_add(out->metrics, MI_G_SERVER_RESTARTS, 1);
    mi_log_line(out->log, MI_LOG_NOTICE,
                "Iggy was restarted; checking whether it still has what it confirmed");
    tell_lanes(out, MI_EV_RESTART);
}

/* A start time has whole seconds: an unchanged one does not disprove a sign, so the lanes look for
 * themselves.
 */
static void answered_start(struct mi_out *out, uint64_t start_time, bool sign)
{
    struct mi_restart *r = &out->restart;
    bool changed = r->server_start && start_time != r->server_start;
    r->server_start = start_time;
    if (changed)
        restarted(out);
    else if (sign)
        unproved(out);
}

static void on_stats(void *arg, const struct iggy_result *result, const struct iggy_stats *stats)
{
    struct mi_out *out = arg;
    struct mi_restart *r = &out->restart;
    r->request = 0;
    out->in_flight--;
    if (out->freeing)
        return;
    enum mi_outcome outcome = mi_outcome_of(result);
    mi_out_answered(out, result, outcome);
    bool login = r->signed_login || result->logged_in_again;
    r->due_ns = mi_now_ns(out->clock) + ASK_EVERY_S * MI_NS_PER_S;
    if (outcome != MI_OUTCOME_STORED && outcome != MI_OUTCOME_TARGET)
        return; /* asked again; meanwhile the lanes look for themselves, see mi_out_restart_step */
    bool sign = login || r->signs != signs(out);
    r->hold_until_ns = 0;
    r->signed_login = false;
    r->signs = r->noticed = signs(out);
    r->denied = outcome == MI_OUTCOME_TARGET;
    if (!r->denied) {
        answered_start(out, stats->start_time, sign);
        return;
    }
    mi_log_limited(
        out->log, &r->denied_limit, mi_now_ns(out->clock), 3600 * MI_NS_PER_S, MI_LOG_NOTICE,
        "the server's statistics may not be read (right read_servers): a restart of Iggy is noticed by its "
        "connections and sessions only");
    if (login)
        restarted(out);
    else if (sign)
        unproved(out);
}

/* The answer takes too long, or there is none. */
static void go_without_answer(struct mi_out *out)
{
    struct mi_restart *r = &out->restart;
    r->signs = r->noticed;
    unproved(out);
}

uint64_t mi_out_restart_step(struct mi_out *out, uint64_t now)
{
    struct mi_restart *r = &out->restart;
    if (now < r->unguarded_until_ns)
        r->signs = r->noticed = signs(out);
    if (r->noticed != signs(out))
        look_into(out, now);
    if (r->signs != r->noticed && now >= r->hold_until_ns)
        go_without_answer(out);
    if (r->request)
        return UINT64_MAX;
    bool probe = out->gate.closed && mi_gate_lets(&out->gate, now); /* the cheapest one there is */
    if (now < r->due_ns && !probe)
        return r->due_ns;
    if (!mi_out_may_request(out, now))
        return UINT64_MAX;
    r->request = out->transport.get_stats(out->transport.context, on_stats, out);
    if (!r->request)
        return r->due_ns = now + ASK_EVERY_S * MI_NS_PER_S;
    out->in_flight++;
    mi_gate_took(&out->gate);
    return UINT64_MAX;
}

/* ---- the check of one lane ---- */

static void ask(struct mi_lane *lane, enum iggy_strategy strategy, uint64_t value, uint32_t count,
                iggy_polled_fn done)
{
    if (!mi_lane_poll(lane, strategy, value, count, done))
        mi_out_lane_event(lane, MI_EV_CHECK_FAILED, NULL);
}

static void holds(struct mi_lane *lane)
{
    mi_checked(lane);
    mi_out_lane_event(lane, MI_EV_CHECK_OK, NULL);
}

/* The last confirmed message stands there. */
static void found(struct mi_lane *lane, uint64_t offset)
{
    mi_known_at(lane, lane->confirmed_id, offset);
    holds(lane);
}

/* False when the check ends here. */
static bool answered(struct mi_lane *lane, const struct iggy_result *result)
{
    enum mi_outcome outcome;
    if (!mi_lane_answered(lane, result, &outcome))
        return false;
    if (outcome == MI_OUTCOME_STORED)
        return true;
    if (result->http_status == 404)
        mi_forget_confirmed(lane); /* deleted, not lost */
    if (result->kind == IGGY_GARBLED && lane->check_page > 1)
        lane->check_page /= 2; /* too large an answer, perhaps */
    if (outcome == MI_OUTCOME_TARGET)
        holds(lane);
    else
        mi_out_lane_event(lane, MI_EV_CHECK_FAILED, NULL);
    return false;
}

static void not_lost(struct mi_lane *lane, const char *why)
{
    const struct mi_target *t = lane->target;
    mi_log_line(lane->out->log, MI_LOG_NOTICE, "stream %.*s topic %.*s partition %u: %s", (int)t->stream.len,
                t->stream.data, (int)t->topic.len, t->topic.data, lane->partition, why);
    holds(lane);
}

/* What waits to be sent again is collected again too, behind what was lost now. Returns the last of both. */
static uint64_t forget_again(struct mi_lane *lane, uint64_t last)
{
    struct mi_window *w = &lane->out->window;
    if (lane->lost && lane->lost_last > last)
        last = lane->lost_last;
    while (lane->again.count) {
        uint32_t entry = mi_queue_pop(w, &lane->again);
        if (w->entries[entry].ref.sequence > last)
            last = w->entries[entry].ref.sequence;
        mi_window_done(w, entry);
    }
    return last;
}

static void lost(struct mi_lane *lane, uint64_t from_sequence, uint64_t most, uint64_t from_offset)
{
    struct mi_out *out = lane->out;
    const struct mi_target *t = lane->target;
    mi_log_line(out->log, MI_LOG_WARNING,
                "stream %.*s topic %.*s partition %u: Iggy no longer has messages that it had confirmed (up "
                "to offset "
                "%llu); they are sent again from the journal",
                (int)t->stream.len, t->stream.data, (int)t->topic.len, t->topic.data, lane->partition,
                (unsigned long long)lane->confirmed_offset);
    mi_out_take_apart(lane);
    lane->lost_next = from_sequence;
    lane->lost_last = forget_again(lane, lane->confirmed_id.lo);
    lane->lost_most = most;
    lane->again_from = lane->read_from = from_offset;
    lane->confirmed = lane->unchecked = false;
    mi_out_lost(lane);
    mi_out_lane_event(lane, MI_EV_CHECK_LOST, NULL);
}

/* Did this bridge write the message? Its run is that of the journal's record of the same sequence. */
static bool is_ours(struct mi_out *out, struct iggy_id id)
{
    struct mi_journal_ref ref;
    struct mi_record record;
    struct mi_cursor *c = mi_cursor_new(out->journal, id.lo);
    bool ours =
        c && mi_cursor_next(c, &ref, &record, NULL) == 1 && ref.sequence == id.lo && record.run == id.hi;
    mi_cursor_free(c);
    return ours;
}

static void look_on(struct mi_lane *lane);

/* The newest message of ours is known, or that there is none. */
static void looked_through(struct mi_lane *lane)
{
    if (!lane->check_seen) {
        uint64_t last = lane->check_last;
        bool fell = !lane->floating && last < lane->confirmed_offset;
        lost(lane, 0, fell ? lane->confirmed_offset - last : UINT64_MAX,
             last > MI_MAX_READ_BACK ? last - MI_MAX_READ_BACK : 0);
    } else if (lane->check_id.lo != lane->confirmed_id.lo) {
        lost(lane, lane->check_id.lo + 1, UINT64_MAX, lane->check_offset + 1);
    } else if (lane->floating) {
        found(lane, lane->check_offset);
    } else {
        not_lost(lane, "the last confirmed message stands at another offset than before");
    }
}

/* The newest message of ours on the page shows how far the server's memory reaches: per partition we send in
 * order. */
static void look_through(struct mi_lane *lane, const struct iggy_polled *polled)
{
    uint32_t tried = 0;
    for (size_t i = polled->count; i > 0 && tried < RUNS_TRIED; i--) {
        const struct iggy_polled_message *m = &polled->messages[i - 1];
        if (m->id.lo > lane->confirmed_id.lo)
            continue;
        if (m->id.hi != lane->confirmed_id.hi) {
            tried++;
            if (!is_ours(lane->out, m->id))
                continue;
        }
        lane->check_seen = true;
        lane->check_id = m->id;
        lane->check_offset = m->offset;
        return;
    }
}

static void on_page(void *arg, const struct iggy_result *result, const struct iggy_polled *polled)
{
    struct mi_lane *lane = arg;
    if (!answered(lane, result))
        return;
    look_through(lane, polled);
    if (polled->count)
        lane->check_next = polled->messages[polled->count - 1].offset + 1;
    if (polled->count && lane->check_next <= lane->check_last)
        look_on(lane);
    else
        looked_through(lane);
}

static void look_on(struct mi_lane *lane)
{
    ask(lane, IGGY_FROM_OFFSET, lane->check_next, lane->check_page, on_page);
}

/* Where a message's offset was never said it may stand anywhere between the lowest possible one and the end.
 */
static void look_from_end(struct mi_lane *lane, uint64_t last)
{
    uint64_t page = lane->check_page, most = lane->floating ? FLOATING_PAGES * page : page;
    uint64_t from = last >= most ? last - most + 1 : 0;
    uint64_t low = lane->confirmed_offset < last ? lane->confirmed_offset : last;
    if (low + 1 > page && from < low + 1 - page)
        from = low + 1 - page;
    lane->check_last = last;
    lane->check_seen = false;
    lane->check_next = from;
    look_on(lane);
}

/* Nothing is there: what the server knows of the partition's past tells lost from expired. */
static void on_details(void *arg, const struct iggy_result *result, const struct iggy_topic *topic)
{
    struct mi_lane *lane = arg;
    bool denied = result->http_status == 403;
    if (denied) {
        lane->request = 0;
        lane->out->in_flight--;
    } else if (!answered(lane, result)) {
        return;
    }
    if (lane->out->freeing)
        return;
    uint64_t tail = 0;
    for (uint32_t i = 0; !denied && topic->partitions && i < topic->partitions_count; i++)
        if (topic->partitions[i].id == lane->partition)
            tail = topic->partitions[i].current_offset;
    if (tail && tail >= lane->confirmed_offset)
        not_lost(lane, "nothing is there any more: expired");
    else
        lost(lane, 0, lane->floating ? UINT64_MAX : lane->confirmed_offset + 1, 0);
}

static void ask_details(struct mi_lane *lane)
{
    struct mi_out *out = lane->out;
    lane->request = out->transport.get_topic(out->transport.context, mi_iggy_span(lane->target->stream),
                                             mi_iggy_span(lane->target->topic), on_details, lane);
    if (!lane->request) {
        mi_out_lane_event(lane, MI_EV_CHECK_FAILED, NULL);
        return;
    }
    out->in_flight++;
    mi_gate_took(&out->gate);
}

static void on_tail(void *arg, const struct iggy_result *result, const struct iggy_polled *polled)
{
    struct mi_lane *lane = arg;
    if (!answered(lane, result))
        return;
    if (polled->count == 0) {
        ask_details(lane);
        return;
    }
    const struct iggy_polled_message *m = &polled->messages[polled->count - 1];
    if (lane->floating && m->id.hi == lane->confirmed_id.hi && m->id.lo == lane->confirmed_id.lo)
        found(lane, m->offset);
    else if (!lane->floating && lane->check_gone && m->offset >= lane->confirmed_offset)
        not_lost(lane, "what was confirmed last is no longer there, but newer messages are: expired");
    else
        look_from_end(lane, m->offset);
}

static void on_checked(void *arg, const struct iggy_result *result, const struct iggy_polled *polled)
{
    struct mi_lane *lane = arg;
    if (!answered(lane, result))
        return;
    const struct iggy_polled_message *m = polled->count ? &polled->messages[0] : NULL;
    if (m && m->offset > lane->confirmed_offset)
        not_lost(lane, "what was confirmed last has expired");
    else if (m && m->offset == lane->confirmed_offset && m->id.hi == lane->confirmed_id.hi &&
             m->id.lo == lane->confirmed_id.lo)
        holds(lane);
    else {
        lane->check_gone = !m;
        ask(lane, IGGY_FROM_LAST, 0, 1, on_tail);
    }
}

void mi_out_check(struct mi_lane *lane)
{
    if (!lane->check_page)
        lane->check_page = CHECK_PAGE;
    if (!lane->confirmed)
        holds(lane);
    else if (lane->floating)
        ask(lane, IGGY_FROM_LAST, 0, 1, on_tail);
    else
        ask(lane, IGGY_FROM_OFFSET, lane->confirmed_offset, 1, on_checked);
}
