/*
 * checkpoint: writing and reading.
 */
#include "out/checkpoint.h"

#include <stdlib.h>
#include <string.h>

enum { CONFIRMED = 1, READ_FROM = 2, LOST = 4, FLOATING = 8, VARINT_BYTES = 10 };

static void put(struct mi_buf *b, uint64_t v)
{
    uint8_t bytes[VARINT_BYTES];
    size_t n = 0;
    do {
        bytes[n] = (uint8_t)(v & 0x7f);
        v >>= 7;
        if (v)
            bytes[n] |= 0x80;
        n++;
    } while (v);
    mi_buf_add(b, bytes, n);
}

static void put_name(struct mi_buf *b, struct mi_span name)
{
    put(b, name.len);
    mi_buf_add_span(b, name);
}

static void put_route(struct mi_buf *b, const struct mi_checkpoint_item *item)
{
    put(b, item->route.id);
    put(b, item->route.journaled);
    put(b, item->route.targets_made);
    put(b, item->route.counters);
    for (uint32_t i = 0; i < item->route.counters; i++)
        put(b, item->route.counter[i]);
}

static void put_lane(struct mi_buf *b, const struct mi_checkpoint_lane *l)
{
    put(b, l->partition);
    put(b, (l->confirmed ? CONFIRMED : 0u) | (l->read_from_known ? READ_FROM : 0u) | (l->lost ? LOST : 0u) |
               (l->floating ? FLOATING : 0u));
    put(b, l->confirmed_offset);
    put(b, l->id_hi);
    put(b, l->id_lo);
    put(b, l->read_from);
    put(b, l->lost_next);
    put(b, l->lost_last);
    put(b, l->again_from);
}

static void put_parked(struct mi_buf *b, const struct mi_checkpoint_item *item)
{
    put_name(b, item->parked.stream);
    put_name(b, item->parked.topic);
    put(b, item->parked.route);
    put(b, item->parked.number);
    put(b, item->parked.start);
    put(b, item->parked.size);
    put(b, item->parked.oldest_us);
}

void mi_checkpoint_begin(struct mi_checkpoint_writer *w, struct mi_buf *out)
{
    *w = (struct mi_checkpoint_writer){.out = out};
    mi_buf_add_text(out, "MIC");
    mi_buf_add_byte(out, MI_CHECKPOINT_VERSION);
}

void mi_checkpoint_put(struct mi_checkpoint_writer *w, const struct mi_checkpoint_item *item)
{
    struct mi_buf *b = w->out;
    mi_buf_add_byte(b, (uint8_t)item->tag);
    switch (item->tag) {
    case 'H':
        put(b, item->head.window_start);
        put(b, item->head.counts_next);
        w->done_end = item->head.window_start;
        break;
    case 'D':
    case 'Q':
        put(b, item->done.first - w->done_end);
        put(b, item->done.count);
        w->done_end = item->done.first + item->done.count;
        break;
    case 'C':
        put_route(b, item);
        break;
    case 'T':
        put_name(b, item->target.stream);
        put_name(b, item->target.topic);
        put(b, item->target.created_at);
        put(b, item->target.partitions);
        put(b, item->target.route);
        break;
    case 'P':
        put_parked(b, item);
        w->done_end = item->parked.start;
        break;
    case 'R':
        put(b, item->share.route);
        put(b, item->share.records);
        put(b, item->share.bytes);
        break;
    case 'L':
        put_lane(b, &item->lane);
        break;
    default:
        break;
    }
}

bool mi_checkpoint_end(struct mi_checkpoint_writer *w)
{
    return mi_buf_add_byte(w->out, 'E');
}

bool mi_checkpoint_open(struct mi_checkpoint_reader *r, struct mi_span in)
{
    *r = (struct mi_checkpoint_reader){.in = in, .at = 4};
    return in.len >= 4 && memcmp(in.data, "MIC", 3) == 0 && in.data[3] == MI_CHECKPOINT_VERSION;
}

static bool get(struct mi_checkpoint_reader *r, uint64_t *v)
{
    *v = 0;
    for (unsigned shift = 0; shift < 64 && r->at < r->in.len; shift += 7) {
        uint8_t byte = r->in.data[r->at++];
        *v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

static bool get_u32(struct mi_checkpoint_reader *r, uint32_t *v)
{
    uint64_t wide;
    if (!get(r, &wide) || wide > UINT32_MAX)
        return false;
    *v = (uint32_t)wide;
    return true;
}

static bool get_name(struct mi_checkpoint_reader *r, struct mi_span *name)
{
    uint64_t len;
    if (!get(r, &len) || len > r->in.len - r->at)
        return false;
    *name = (struct mi_span){r->in.data + r->at, (size_t)len};
    r->at += (size_t)len;
    return true;
}

/* Counters that this code does not know are read over. */
static bool get_route(struct mi_checkpoint_reader *r, struct mi_checkpoint_item *item)
{
    uint32_t written;
    if (!get_u32(r, &item->route.id) || !get(r, &item->route.journaled) ||
        !get_u32(r, &item->route.targets_made) || !get_u32(r, &written))
        return false;
    item->route.counters = written < MI_C_ROUTE_COUNTERS ? written : MI_C_ROUTE_COUNTERS;
    for (uint32_t i = 0; i < written; i++) {
        uint64_t v;
        if (!get(r, &v))
            return false;
        if (i < MI_C_ROUTE_COUNTERS)
            item->route.counter[i] = v;
    }
    return true;
}

static bool get_lane(struct mi_checkpoint_reader *r, struct mi_checkpoint_lane *l)
{
    uint64_t flags;
    if (!get_u32(r, &l->partition) || !get(r, &flags) || !get(r, &l->confirmed_offset) ||
        !get(r, &l->id_hi) || !get(r, &l->id_lo) || !get(r, &l->read_from) || !get(r, &l->lost_next) ||
        !get(r, &l->lost_last) || !get(r, &l->again_from))
        return false;
    l->confirmed = flags & CONFIRMED;
    l->read_from_known = flags & READ_FROM;
    l->lost = flags & LOST;
    l->floating = flags & FLOATING;
    return true;
}

static bool get_parked(struct mi_checkpoint_reader *r, struct mi_checkpoint_item *item)
{
    bool ok = get_name(r, &item->parked.stream) && get_name(r, &item->parked.topic) &&
              get_u32(r, &item->parked.route) && get_u32(r, &item->parked.number) &&
              get(r, &item->parked.start) && get(r, &item->parked.size) && get(r, &item->parked.oldest_us);
    r->done_end = item->parked.start;
    return ok;
}

static bool get_done(struct mi_checkpoint_reader *r, struct mi_checkpoint_item *item)
{
    uint64_t distance;
    if (!get(r, &distance) || !get(r, &item->done.count))
        return false;
    item->done.first = r->done_end + distance;
    r->done_end = item->done.first + item->done.count;
    return true;
}

int mi_checkpoint_next(struct mi_checkpoint_reader *r, struct mi_checkpoint_item *item)
{
    bool ok = false;
    memset(item, 0, sizeof *item);
    if (r->at >= r->in.len)
        return -1;
    item->tag = (char)r->in.data[r->at++];
    switch (item->tag) {
    case 'E':
        return r->at == r->in.len ? 0 : -1;
    case 'H':
        ok = get(r, &item->head.window_start) && get(r, &item->head.counts_next);
        r->done_end = item->head.window_start;
        break;
    case 'D':
    case 'Q':
        ok = get_done(r, item);
        break;
    case 'C':
        ok = get_route(r, item);
        break;
    case 'T':
        ok = get_name(r, &item->target.stream) && get_name(r, &item->target.topic) &&
             get(r, &item->target.created_at) && get_u32(r, &item->target.partitions) &&
             get_u32(r, &item->target.route);
        break;
    case 'P':
        ok = get_parked(r, item);
        break;
    case 'R':
        ok = get_u32(r, &item->share.route) && get(r, &item->share.records) && get(r, &item->share.bytes);
        break;
    case 'L':
        ok = get_lane(r, &item->lane);
        break;
    default:
        break;
    }
    return ok ? 1 : -1;
}

bool mi_done_runs_add(struct mi_done_runs *d, uint64_t first, uint64_t count)
{
    if (d->count == d->cap) {
        uint32_t cap = d->cap ? d->cap * 2 : 64;
        struct mi_done_run *more = realloc(d->run, cap * sizeof *more);
        if (!more)
            return false;
        d->run = more;
        d->cap = cap;
    }
    d->run[d->count++] = (struct mi_done_run){first, count};
    return true;
}

bool mi_done_runs_has(struct mi_done_runs *d, uint64_t sequence)
{
    while (d->next < d->count && sequence >= d->run[d->next].first + d->run[d->next].count)
        d->next++;
    return d->next < d->count && sequence >= d->run[d->next].first;
}

void mi_done_runs_fini(struct mi_done_runs *d)
{
    free(d->run);
    *d = (struct mi_done_runs){0};
}
