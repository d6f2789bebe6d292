/*
 * resend: finds in the journal what Iggy lost and queues it again, before anything newer. One walk through
 * the journal serves all lanes that lost something.
 */
#include "out/out_private.h"

enum { COLLECT_TURN = 8192 };

void mi_out_lost(struct mi_lane *lane)
{
    struct mi_out *out = lane->out;
    lane->lost = true;
    lane->again_settled = false;
    if (out->lost_cursor && mi_cursor_sequence(out->lost_cursor) <= lane->lost_next)
        return;
    mi_cursor_free(out->lost_cursor);
    out->lost_cursor = mi_cursor_new(out->journal, lane->lost_next);
}

static struct mi_lane *lane_of(struct mi_out *out, const struct mi_record *record)
{
    struct mi_target *t = mi_targets_find(out->targets, record->stream, record->topic);
    if (!t || !t->partitions || record->reason)
        return NULL;
    uint32_t p = mi_out_partition(record->sequence, record->balanced, record->key_hash, t->partitions);
    struct mi_lane *lane = p < t->lane_cap ? t->lanes[p] : NULL;
    bool due =
        lane && lane->lost && record->sequence >= lane->lost_next && record->sequence <= lane->lost_last;
    return due ? lane : NULL;
}

/* false: no room for more at the moment. */
static bool collect(struct mi_out *out, const struct mi_journal_ref *ref, const struct mi_record *record)
{
    struct mi_lane *lane = lane_of(out, record);
    size_t bytes = iggy_batch_message_bytes(record->headers.len, record->prefix.len + record->payload.len);
    if (!lane || bytes > out->config->max_batch_bytes - MI_BATCH_BASE_BYTES)
        return true;
    uint32_t waiting = mi_window_find(&out->window, record->sequence);
    if (waiting != MI_NO_ENTRY && !mi_out_entry(out, waiting)->done)
        return true;
    if (lane->again.count >= lane->lost_most)
        mi_window_done(&out->window, mi_queue_pop(&out->window, &lane->again));
    uint32_t entry = mi_window_side(&out->window, ref);
    if (entry == MI_NO_ENTRY)
        return false;
    struct mi_entry *e = mi_out_entry(out, entry);
    e->run = record->run;
    e->route = mi_out_routes_slot(&out->routes, record->route);
    e->encoded = (uint32_t)bytes;
    e->key_hash = record->key_hash;
    e->balanced = record->balanced;
    e->lane = lane->index;
    mi_queue_push(&out->window, &lane->again, entry);
    lane->lost_next = record->sequence + 1;
    return true;
}

static void begin_again(struct mi_lane *lane)
{
    struct mi_out *out = lane->out;
    if (lane->machine.state == MI_LANE_IDLE) { /* a further part: it may be there too */
        bool check = lane->machine.check;
        mi_lane_init(&lane->machine, true, 0, mi_now_ns(out->clock));
        lane->machine.check = check;
    }
    if (!lane->again.count)
        mi_log_limited(out->log, &out->restart.lost_limit, mi_now_ns(out->clock),
                       MI_SAY_EVERY_S * MI_NS_PER_S, MI_LOG_ERROR,
                       "what Iggy lost is not in the journal any more (journal.keep)");
    mi_out_make_ready(lane);
}

/* The walk pauses or ends: lanes whose part it has passed may send; when there is no room for more, those
 * with a part. */
static void stop(struct mi_out *out, bool full, uint64_t passed)
{
    bool more = false;
    for (uint32_t i = 0; i < out->lane_count; i++) {
        struct mi_lane *lane = out->lanes[i];
        if (!lane->lost)
            continue;
        lane->lost = passed <= lane->lost_last;
        if (!lane->lost || (full && lane->again.count))
            begin_again(lane);
        more |= lane->lost;
    }
    if (!more) {
        mi_cursor_free(out->lost_cursor);
        out->lost_cursor = NULL;
    }
}

bool mi_out_resend_step(struct mi_out *out)
{
    if (out->lost_full && out->window.side_used <= MI_SIDE_ENTRIES / 2)
        out->lost_full = false;
    if (!out->lost_cursor || out->lost_full)
        return false;
    struct mi_journal_ref ref;
    struct mi_record record;
    for (uint32_t i = 0; i < COLLECT_TURN; i++) {
        bool end = mi_cursor_next(out->lost_cursor, &ref, &record, NULL) != 1;
        if (end) {
            stop(out, false, UINT64_MAX);
            return false;
        }
        if (!collect(out, &ref, &record)) {
            mi_cursor_free(out->lost_cursor); /* this record again, when there is room */
            out->lost_cursor = mi_cursor_new(out->journal, ref.sequence);
            out->lost_full = true;
            stop(out, true, ref.sequence);
            return false;
        }
    }
    stop(out, false, mi_cursor_sequence(out->lost_cursor));
    return out->lost_cursor != NULL;
}

void mi_out_resend_more(struct mi_lane *lane)
{
    lane->again_settled = false;
    if (lane->lost && !lane->out->lost_cursor)
        lane->out->lost_cursor = mi_cursor_new(lane->out->journal, lane->lost_next);
}
