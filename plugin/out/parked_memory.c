/*
 * parked_memory: parked files <-> checkpoint.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "out/parked.h"

enum { CHUNK = 1 << 20 };

/* ---- taking ---- */

static void put_settled(const struct mi_parked *p, struct mi_checkpoint_writer *w)
{
    for (uint32_t i = 0; i < p->count;) {
        const struct mi_parked_loaded *l = &p->loaded[p->first + i];
        uint64_t first = l->at, end = l->at;
        for (; i < p->count && l->done; l = &p->loaded[p->first + i]) {
            end = l->at + l->bytes;
            if (++i == p->count)
                break;
        }
        if (end > first)
            mi_checkpoint_put(w, &(struct mi_checkpoint_item){.tag = 'Q', .done = {first, end - first}});
        else
            i++;
    }
    for (uint32_t i = p->settled.next; i < p->settled.count; i++) {
        const struct mi_done_run *r = &p->settled.run[i];
        uint64_t first = r->first > p->read_at ? r->first : p->read_at, end = r->first + r->count;
        if (end > first)
            mi_checkpoint_put(w, &(struct mi_checkpoint_item){.tag = 'Q', .done = {first, end - first}});
    }
}

void mi_parked_checkpoint(struct mi_out *out, struct mi_checkpoint_writer *w)
{
    for (uint32_t i = 0; i < out->parked_count; i++) {
        struct mi_parked *p = out->parked[i];
        const struct mi_target *t = p->target;
        if (!p->free_pending && mi_parked_start(p) > p->freed) {
            p->free_pending = true;
            p->free_to = mi_parked_start(p);
            p->free_release = mi_window_start(&out->window);
        }
        if (!mi_parked_any(p) && !mi_parked_records(p))
            continue;
        mi_checkpoint_put(w, &(struct mi_checkpoint_item){.tag = 'P',
                                                          .parked = {.stream = t->stream,
                                                                     .topic = t->topic,
                                                                     .route = mi_targets_route_id(t),
                                                                     .number = p->number,
                                                                     .start = mi_parked_start(p),
                                                                     .size = p->size,
                                                                     .oldest_us = p->oldest_us}});
        put_settled(p, w);
        for (uint32_t k = 0; k < p->shares; k++) {
            const struct mi_parked_share *s = &p->share[k];
            if (s->records && s->route != UINT32_MAX)
                mi_checkpoint_put(
                    w, &(struct mi_checkpoint_item){
                           .tag = 'R', .share = {out->routes.slots[s->route].id, s->records, s->bytes}});
        }
    }
}

/* ---- restoring ---- */

bool mi_parked_restore(struct mi_out *out, const struct mi_checkpoint_item *item)
{
    struct mi_parked *p = out->parked_count ? out->parked[out->parked_count - 1] : NULL;
    if (item->tag == 'Q')
        return !p || mi_done_runs_add(&p->settled, item->done.first, item->done.count);
    if (item->tag == 'R') {
        uint32_t slot = mi_out_routes_slot(&out->routes, item->share.route);
        if (p && slot != UINT32_MAX)
            mi_parked_count(out, p, slot, item->share.records, item->share.bytes);
        return slot != UINT32_MAX;
    }
    uint32_t slot = mi_out_routes_slot(&out->routes, item->parked.route);
    struct mi_target *t = mi_targets_get(out->targets, item->parked.stream, item->parked.topic, slot);
    p = t && !t->parked ? mi_parked_of(out, t) : NULL;
    if (!p)
        return false;
    p->number = item->parked.number;
    if (out->parked_next <= p->number)
        out->parked_next = p->number + 1;
    p->read_at = p->freed = item->parked.start;
    p->size = item->parked.size;
    p->oldest_us = item->parked.oldest_us;
    p->old_size = p->size;
    t->park_all = p->old = true; /* whatever comes goes behind what is there */
    return true;
}

static struct mi_parked *with_number(struct mi_out *out, uint32_t number)
{
    for (uint32_t i = 0; i < out->parked_count; i++)
        if (out->parked[i]->number == number)
            return out->parked[i];
    return NULL;
}

struct opening {
    struct mi_out *out;
    bool checkpoint;
    uint64_t first_sequence, next_sequence; /* the journal has the records from there to there */
    bool (*adopted)(void *context, uint32_t route, uint64_t records);
    void *context;
    struct mi_error *err;
    int rc;
};

/* Goes through a file that no state speaks of, as far as the journal does not have its records. False: memory
 * is out. */
static bool adopt_records(struct opening *o, uint32_t number, uint64_t end)
{
    struct mi_out *out = o->out;
    struct mi_buf *b = &out->parked_bytes;
    struct mi_record r;
    size_t need = CHUNK;
    for (uint64_t at = 0; at < end;) {
        if (mi_parked_read(&out->parked_files, number, at, need > CHUNK ? need : CHUNK, b, o->err) != 0)
            return false;
        size_t in = 0;
        int64_t bytes;
        while ((bytes = mi_parked_decode(b->data + in, b->len - in, &r, &need)) > 0) {
            struct mi_target *t;
            uint32_t slot = mi_out_routes_slot(&out->routes, r.route);
            t = slot == UINT32_MAX ? NULL : mi_targets_get(out->targets, r.stream, r.topic, slot);
            struct mi_parked *p = t ? mi_parked_of(out, t) : NULL;
            bool there = r.sequence >= o->first_sequence && r.sequence < o->next_sequence;
            if (!p || !(there ? mi_done_runs_add(&p->settled, at + in, (uint64_t)bytes)
                              : o->adopted(o->context, r.route, 1))) {
                mi_error_set(o->err, "out of memory");
                return false;
            }
            p->number = number;
            p->size = at + in + (uint64_t)bytes;
            p->oldest_us = p->oldest_us ? p->oldest_us : r.time_us;
            t->park_all = p->old = true;
            p->old_size = p->size;
            if (!there)
                mi_parked_count(out, p, slot, 1, (uint64_t)bytes);
            in += (size_t)bytes;
        }
        at += in;
        if (bytes < 0 || (in == 0 && at + need > end))
            return true; /* damaged: what stands behind is not counted, and cut */
    }
    return true;
}

static void open_one(void *context, uint32_t number)
{
    struct opening *o = context;
    struct mi_out *out = o->out;
    char name[MI_PARKED_NAME];
    mi_parked_name(number, name);
    if (out->parked_next <= number)
        out->parked_next = number + 1;
    if (o->rc != 0 || with_number(out, number))
        return;
    int64_t size = o->checkpoint ? 0 : mi_parked_size(&out->parked_files, number, o->err);
    if (size < 0 || (size > 0 && !adopt_records(o, number, (uint64_t)size))) {
        o->rc = -1;
        return;
    }
    const struct mi_parked *p = with_number(out, number);
    if (!p)
        mi_parked_remove(&out->parked_files, number); /* what it held is in the journal */
    else
        mi_log_line(out->log, MI_LOG_WARNING, "%s: taken over without a state file", name);
}

/* To the length that the state names. */
static int cut(struct mi_out *out, struct mi_parked *p, struct mi_error *err)
{
    char name[MI_PARKED_NAME];
    int64_t size = mi_parked_size(&out->parked_files, p->number, err);
    if (size < 0)
        return -1;
    if ((uint64_t)size > p->size)
        return mi_parked_cut(&out->parked_files, p->number, p->size, err);
    if ((uint64_t)size == p->size)
        return 0;
    mi_parked_name(p->number, name);
    mi_log_line(out->log, MI_LOG_ERROR,
                "%s: has %" PRId64 " bytes instead of %" PRIu64
                "; the messages that are missing are lost and counted as dropped (damaged)",
                name, size, p->size);
    p->size = (uint64_t)size;
    if (p->read_at > p->size)
        p->read_at = p->size;
    return 0;
}

int mi_parked_open_all(struct mi_out *out, bool checkpoint,
                       bool (*adopted)(void *context, uint32_t route, uint64_t records), void *context,
                       struct mi_error *err)
{
    struct mi_journal_stats stats;
    mi_journal_stats(out->journal, &stats);
    struct opening o = {out, checkpoint, stats.first_sequence, stats.next_sequence, adopted, context, err, 0};
    mi_parked_list(&out->parked_files, open_one, &o);
    for (uint32_t i = 0; i < out->parked_count && o.rc == 0; i++)
        o.rc = cut(out, out->parked[i], err);
    return o.rc;
}
