/*
 * memory: out <-> checkpoint.
 */
#include "out/memory.h"

#include <stdlib.h>

#include "out/parked.h"

/* ---- taking ---- */

struct counts {
    struct mi_route_count *list;
    size_t count;
    uint64_t next;
};

static bool take_counts(struct mi_out *out, struct counts *c)
{
    enum { MOST = 2 * MI_MAX_ROUTES };
    c->list = malloc(MOST * sizeof *c->list);
    if (!c->list)
        return false;
    c->count = mi_journal_counts(out->journal, c->list, MOST, &c->next);
    if (c->count > MOST)
        c->count = MOST;
    return true;
}

void mi_out_mirror_counts(struct mi_out *out)
{
    struct counts c;
    if (!take_counts(out, &c))
        return;
    for (size_t i = 0; i < c.count; i++) {
        struct mi_route_metrics *m = mi_metrics_route(out->metrics, c.list[i].route, NULL);
        if (m)
            atomic_store_explicit(&m->counter[MI_C_JOURNALED], c.list[i].records, memory_order_relaxed);
    }
    free(c.list);
}

static bool put_done(void *context, uint64_t first, uint64_t count)
{
    mi_checkpoint_put(context, &(struct mi_checkpoint_item){.tag = 'D', .done = {first, count}});
    return true;
}

static uint64_t journaled(const struct counts *c, uint32_t route)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->list[i].route == route)
            return c->list[i].records;
    return 0;
}

static uint32_t targets_made(struct mi_out *out, uint32_t route)
{
    uint32_t slot = mi_out_routes_slot(&out->routes, route);
    return slot == UINT32_MAX ? 0 : out->routes.slots[slot].targets_made;
}

/* Every route that ever counted something, whether the configuration still has it or not. */
static void put_routes(struct mi_out *out, struct mi_checkpoint_writer *w, const struct counts *c)
{
    size_t n = mi_metrics_route_count(out->metrics);
    for (size_t i = 0; i < n; i++) {
        struct mi_route_metrics *m = mi_metrics_route_at(out->metrics, i);
        struct mi_checkpoint_item item = {.tag = 'C',
                                          .route = {.id = m->route,
                                                    .targets_made = targets_made(out, m->route),
                                                    .journaled = journaled(c, m->route),
                                                    .counters = MI_C_ROUTE_COUNTERS}};
        for (uint32_t k = 0; k < MI_C_ROUTE_COUNTERS; k++)
            item.route.counter[k] = mi_counted(m, k);
        mi_checkpoint_put(w, &item);
    }
}

static void put_lane(struct mi_checkpoint_writer *w, const struct mi_lane *lane)
{
    const struct mi_out *out = lane->out;
    /* What may have been sent before this start and is not looked for yet may stand lower than what came
     * since. */
    bool old = (!lane->old_settled && mi_window_start(&out->window) < out->start_sequence) ||
               mi_parked_old(lane->target->parked);
    struct mi_checkpoint_item item = {
        .tag = 'L',
        .lane = {.partition = lane->partition,
                 .confirmed = lane->confirmed,
                 .floating = lane->floating,
                 .read_from_known = lane->read_from_known && (!old || lane->old_from_known),
                 .lost = lane->lost || lane->again.count,
                 .confirmed_offset = lane->confirmed_offset,
                 .id_hi = lane->confirmed_id.hi,
                 .id_lo = lane->confirmed_id.lo,
                 .read_from = old && lane->old_from < lane->read_from ? lane->old_from : lane->read_from,
                 .lost_next = lane->lost_next,
                 .lost_last = lane->lost_last,
                 .again_from = lane->again_from}};
    if (lane->again.count) /* what is queued must be collected again after a crash */
        item.lane.lost_next = lane->out->window.entries[lane->again.head].ref.sequence;
    mi_checkpoint_put(w, &item);
}

static void put_target(void *context, struct mi_target *t)
{
    struct mi_checkpoint_writer *w = context;
    if (!t->partitions)
        return;
    struct mi_checkpoint_item item = {.tag = 'T',
                                      .target = {.stream = t->stream,
                                                 .topic = t->topic,
                                                 .created_at = t->created_at,
                                                 .partitions = t->partitions,
                                                 .route = UINT32_MAX}};
    if (t->route != UINT32_MAX)
        item.target.route = mi_targets_route_id(t);
    mi_checkpoint_put(w, &item);
    for (uint32_t i = 0; i < t->lane_cap; i++)
        if (t->lanes[i])
            put_lane(w, t->lanes[i]);
}

bool mi_out_checkpoint(struct mi_out *out, struct mi_buf *bytes, uint64_t *release_sequence)
{
    struct counts c;
    struct mi_checkpoint_writer w;
    if (!take_counts(out, &c))
        return false;
    uint64_t start = mi_window_start(&out->window);
    mi_checkpoint_begin(&w, bytes);
    mi_checkpoint_put(&w, &(struct mi_checkpoint_item){.tag = 'H', .head = {start, c.next}});
    mi_window_done_runs(&out->window, put_done, &w);
    put_routes(out, &w, &c);
    mi_targets_each(out->targets, put_target, &w);
    mi_parked_checkpoint(out, &w);
    free(c.list);
    if (!mi_checkpoint_end(&w))
        return false;
    *release_sequence = start;
    out->changed = false;
    return true;
}

/* ---- restoring ---- */

static void restore_route(struct mi_out *out, const struct mi_checkpoint_item *item)
{
    struct mi_route_metrics *m = mi_metrics_route(out->metrics, item->route.id, NULL);
    uint32_t slot = mi_out_routes_slot(&out->routes, item->route.id);
    if (slot != UINT32_MAX)
        out->routes.slots[slot].targets_made = item->route.targets_made;
    for (uint32_t k = 0; m && k < item->route.counters; k++)
        atomic_store_explicit(&m->counter[k], item->route.counter[k], memory_order_relaxed);
}

static struct mi_target *restore_target(struct mi_out *out, const struct mi_checkpoint_item *item)
{
    uint32_t slot =
        item->target.route == UINT32_MAX ? UINT32_MAX : mi_out_routes_slot(&out->routes, item->target.route);
    struct mi_target *t = mi_targets_get(out->targets, item->target.stream, item->target.topic, slot);
    if (!t)
        return NULL;
    t->created_at = item->target.created_at;
    t->partitions = item->target.partitions; /* so that what was sent is sought where it was sent to */
    return t;
}

static void restore_lane(struct mi_out *out, struct mi_target *t, const struct mi_checkpoint_lane *l)
{
    enum { MOST_PARTITIONS = 100000 };
    struct mi_lane *lane = t && l->partition < MOST_PARTITIONS ? mi_out_lane(out, t, l->partition) : NULL;
    if (!lane)
        return;
    lane->confirmed = l->confirmed;
    lane->floating = l->floating;
    lane->confirmed_offset = l->confirmed_offset;
    lane->confirmed_id = (struct iggy_id){l->id_hi, l->id_lo};
    lane->read_from = lane->old_from = l->read_from;
    lane->read_from_known = lane->old_from_known = l->read_from_known;
    if (l->lost) {
        lane->lost_next = l->lost_next;
        lane->lost_last = l->lost_last;
        lane->lost_most = UINT64_MAX;
        lane->again_from = l->again_from;
        mi_out_lost(lane);
        mi_lane_init(&lane->machine, true, 0, 0);
        return;
    }
    lane->machine.check = lane->confirmed;
    if (lane->machine.check)
        mi_out_make_ready(lane);
}

struct restored {
    uint64_t window_start, counts_next;
    struct mi_route_count *counts;
    size_t count, cap;
};

static bool add_count(struct restored *r, const struct mi_checkpoint_item *item)
{
    if (r->count == r->cap) {
        size_t cap = r->cap ? r->cap * 2 : 32;
        struct mi_route_count *more = realloc(r->counts, cap * sizeof *more);
        if (!more)
            return false;
        r->counts = more;
        r->cap = cap;
    }
    r->counts[r->count++] = (struct mi_route_count){item->route.id, item->route.journaled};
    return true;
}

/* First the whole is read without effect: half a checkpoint is none. */
static bool readable(struct mi_span checkpoint)
{
    struct mi_checkpoint_reader r;
    struct mi_checkpoint_item item;
    int rc = mi_checkpoint_open(&r, checkpoint) ? 1 : -1;
    while (rc == 1)
        rc = mi_checkpoint_next(&r, &item);
    return rc == 0;
}

static bool take_in(struct mi_out *out, struct mi_span checkpoint, struct restored *to)
{
    struct mi_checkpoint_reader r;
    struct mi_checkpoint_item item;
    struct mi_target *t = NULL;
    bool ok = mi_checkpoint_open(&r, checkpoint);
    while (ok && mi_checkpoint_next(&r, &item) == 1) {
        if (item.tag == 'H') {
            to->window_start = item.head.window_start;
            to->counts_next = item.head.counts_next;
        } else if (item.tag == 'D') {
            ok = mi_done_runs_add(&out->done_before, item.done.first, item.done.count);
        } else if (item.tag == 'C') {
            restore_route(out, &item);
            ok = add_count(to, &item);
        } else if (item.tag == 'P' || item.tag == 'Q' || item.tag == 'R') {
            ok = mi_parked_restore(out, &item);
        } else if (item.tag == 'T') {
            t = restore_target(out, &item);
        } else {
            restore_lane(out, t, &item.lane);
        }
    }
    return ok;
}

static bool add_adopted(void *context, uint32_t route, uint64_t records)
{
    struct restored *r = context;
    for (size_t i = 0; i < r->count; i++)
        if (r->counts[i].route == route) {
            r->counts[i].records += records;
            return true;
        }
    return add_count(r,
                     &(struct mi_checkpoint_item){.tag = 'C', .route = {.id = route, .journaled = records}});
}

int mi_out_restore(struct mi_out *out, struct mi_span checkpoint, uint64_t *start, struct mi_error *err)
{
    struct restored r = {0};
    bool usable = checkpoint.len && readable(checkpoint);
    if (checkpoint.len && !usable)
        mi_log_line(out->log, MI_LOG_WARNING,
                    "state file: the checkpoint of what was shipped cannot be read; everything in the "
                    "journal is looked "
                    "for in Iggy before it is sent");
    else if (usable && !take_in(out, checkpoint, &r)) {
        free(r.counts);
        return mi_error_set(err, "out of memory");
    }
    *start = r.window_start;
    int rc = mi_parked_open_all(out, usable, add_adopted, &r, err);
    if (rc == 0)
        rc = mi_journal_set_counts(out->journal, r.counts_next, r.counts, r.count, err);
    free(r.counts);
    mi_out_mirror_counts(out);
    return rc;
}
