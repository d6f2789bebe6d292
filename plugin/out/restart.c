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
    RUNS_TRIED = 8
};

/* ---- signs ---- */

void mi_out_sign(struct mi_out *out, const struct iggy_result *result)
{
    struct mi_restart *r = &out->restart;
    if (!result->new_connection && !result->logged_in_again)
        return;
    r->signed_login |= result->logged_in_again;
    r->signed_connection |= result->new_connection;
    uint64_t now = mi_now_ns(out->clock);
    if (!r->request)
        r->due_ns = now;
    if (now >= r->hold_until_ns)
        r->hold_until_ns = now + HOLD_MS * MI_NS_PER_MS;
}

bool mi_out_holds_sends(const struct mi_out *out, uint64_t now_ns)
{
    return now_ns < out->restart.hold_until_ns;
}

static void tell_lanes(struct mi_out *out, enum mi_lane_event event)
{
    for (uint32_t i = 0; i < out->lane_count; i++)
        mi_out_lane_event(out->lanes[i], event, NULL);
}

static void restarted(struct mi_out *out)
{
    mi_metrics_add(out->metrics, MI_G_SERVER_RESTARTS, 1);
    mi_log_line(out->log, MI_LOG_NOTICE,
                "Iggy was restarted; checking whether it still has what it confirmed");
    tell_lanes(out, MI_EV_RESTART);
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
    bool login = r->signed_login || result->logged_in_again, connection = r->signed_connection;
    r->due_ns = mi_now_ns(out->clock) + ASK_EVERY_S * MI_NS_PER_S;
    if (outcome == MI_OUTCOME_LINK || outcome == MI_OUTCOME_TOKEN)
        return; /* the next request that gets through brings its own sign */
    r->hold_until_ns = 0;
    if (outcome != MI_OUTCOME_STORED && outcome != MI_OUTCOME_TARGET)
        return;
    r->signed_login = r->signed_connection = false;
    r->denied = outcome == MI_OUTCOME_TARGET;
    if (!r->denied) {
        bool changed = r->server_start && stats->start_time != r->server_start;
        r->server_start = stats->start_time;
        if (changed)
            restarted(out);
        return;
    }
    mi_log_limited(
        out->log, &r->denied_limit, mi_now_ns(out->clock), 3600 * MI_NS_PER_S, MI_LOG_NOTICE,
        "the server's statistics may not be read (right read_servers): a restart of Iggy is noticed by its "
        "connections and sessions only");
    if (login)
        restarted(out);
    else if (connection)
        tell_lanes(out, MI_EV_SIGN);
}

uint64_t mi_out_restart_step(struct mi_out *out, uint64_t now)
{
    struct mi_restart *r = &out->restart;
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
    if (!lane->request) {
        mi_out_lane_event(lane, MI_EV_CHECK_FAILED, NULL);
        return;
    }
    out->in_flight++;
    mi_gate_took(&out->gate);
}

static void holds(struct mi_lane *lane)
{
    mi_checked(lane);
    mi_out_lane_event(lane, MI_EV_CHECK_OK, NULL);
}

/* False when the check ends here. */
static bool answered(struct mi_lane *lane, const struct iggy_result *result)
{
    struct mi_out *out = lane->out;
    lane->request = 0;
    out->in_flight--;
    if (out->freeing)
        return false;
    enum mi_outcome outcome = mi_outcome_of(result);
    mi_out_answered(out, result, outcome);
    if (outcome == MI_OUTCOME_STORED)
        return true;
    if (result->http_status == 404)
        mi_forget_confirmed(lane); /* deleted, not lost */
    bool over = outcome == MI_OUTCOME_TARGET;
    if (over)
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
    lane->lost_next = from_sequence;
    lane->lost_last = lane->confirmed_id.lo;
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

/* The newest message of ours shows how far the server's memory reaches: per partition we send in order. */
static void on_newest(void *arg, const struct iggy_result *result, const struct iggy_polled *polled)
{
    struct mi_lane *lane = arg;
    if (!answered(lane, result))
        return;
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
        if (m->id.lo == lane->confirmed_id.lo)
            not_lost(lane, "the last confirmed message stands at another offset than before");
        else
            lost(lane, m->id.lo + 1, UINT64_MAX, m->offset + 1);
        return;
    }
    uint64_t last = lane->check_last;
    uint64_t most = last < lane->confirmed_offset ? lane->confirmed_offset - last : UINT64_MAX;
    lost(lane, 0, most, last > MI_MAX_READ_BACK ? last - MI_MAX_READ_BACK : 0);
}

static void on_tail(void *arg, const struct iggy_result *result, const struct iggy_polled *polled)
{
    struct mi_lane *lane = arg;
    if (!answered(lane, result))
        return;
    if (polled->count == 0) {
        lost(lane, 0, lane->confirmed_offset + 1, 0);
        return;
    }
    uint64_t last = polled->messages[polled->count - 1].offset;
    if (lane->check_gone && last >= lane->confirmed_offset) {
        not_lost(lane, "what was confirmed last is no longer there, but newer messages are: expired");
        return;
    }
    lane->check_last = last;
    ask(lane, IGGY_FROM_OFFSET, last >= CHECK_PAGE ? last - CHECK_PAGE + 1 : 0, CHECK_PAGE, on_newest);
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
    if (lane->confirmed)
        ask(lane, IGGY_FROM_OFFSET, lane->confirmed_offset, 1, on_checked);
    else
        holds(lane);
}
