/*
 * parked: into the files and out of them again.
 */
#include "out/parked.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    LOOK_MS = 100,     /* between two looks for lanes that should be parked */
    FULL_LOOK_MS = 20, /* ... while the window is full */
    GATHER_MS = 50,    /* records gather this long before they are written and synced */
    WRITE_RECORDS = 4096,
    WRITE_BYTES = 4 << 20,
    HOLD_BACK = 8192, /* records that may wait in the window while the file before them is shipped */
    LOAD_STUCK = MI_MAX_PROBES + 2,
    LOAD_FLOWING = 1024, /* per target */
    LOAD_ALL = MI_SIDE_ENTRIES / 2 - MI_SIDE_ENTRIES / 8,
    LOAD_BYTES = 256 * 1024,
    TRIES = 8,
    AGAIN_S = 1
};

static void look(struct mi_out *out, uint64_t now);
static bool write_step(struct mi_out *out, struct mi_parked *p, uint64_t now);
static bool load_step(struct mi_out *out, struct mi_parked *p, uint64_t now);
static void end_step(struct mi_out *out, struct mi_parked *p);
static void free_step(struct mi_out *out, struct mi_parked *p, uint64_t released);

uint64_t mi_parked_step(struct mi_out *out, uint64_t now)
{
    struct mi_journal_stats stats;
    bool full = !mi_window_has_room(&out->window), more = false;
    uint64_t due = UINT64_MAX;
    if (now >= out->park_look_ns) {
        out->park_look_ns = now + (full ? FULL_LOOK_MS : LOOK_MS) * MI_NS_PER_MS;
        look(out, now);
        mi_journal_stats(out->journal, &stats);
        for (uint32_t i = 0; i < out->parked_count; i++)
            free_step(out, out->parked[i], stats.released_sequence);
    }
    for (uint32_t i = 0; i < out->parked_count; i++) {
        struct mi_parked *p = out->parked[i];
        more |= write_step(out, p, now);
        more |= load_step(out, p, now);
        end_step(out, p);
        if (p->target->to_park.count && p->write_due_ns < due)
            due = p->write_due_ns;
    }
    if (more)
        return 0;
    return mi_window_pending(&out->window) && out->park_look_ns < due ? out->park_look_ns : due;
}

/* ---- beginning ---- */

struct mi_parked *mi_parked_of(struct mi_out *out, struct mi_target *t)
{
    if (t->parked)
        return t->parked;
    if (out->parked_count == out->parked_cap) {
        uint32_t cap = out->parked_cap ? out->parked_cap * 2 : 16;
        struct mi_parked **more = realloc(out->parked, cap * sizeof(struct mi_parked *));
        if (!more)
            return NULL;
        out->parked = more;
        out->parked_cap = cap;
    }
    struct mi_parked *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->target = t;
    p->index = out->parked_count;
    p->number = out->parked_next++;
    out->parked[out->parked_count++] = p;
    return t->parked = p;
}

void mi_parked_fini(struct mi_out *out)
{
    for (uint32_t i = 0; i < out->parked_count; i++) {
        mi_done_runs_fini(&out->parked[i]->settled);
        free(out->parked[i]->loaded);
        free(out->parked[i]->share);
        free(out->parked[i]);
    }
    free(out->parked);
    mi_parked_files_fini(&out->parked_files);
    mi_buf_fini(&out->parked_bytes);
}

static void begin(struct mi_out *out, struct mi_target *t, uint64_t now, const char *what)
{
    struct mi_parked *p = t->parked;
    if (!mi_parked_any(p) && !t->to_park.count) {
        p->fresh = true;
        p->flowing = false;
        p->write_due_ns = now;
    }
    mi_log_limited(out->log, &t->park_limit, now, MI_SAY_EVERY_S * MI_NS_PER_S, MI_LOG_NOTICE,
                   "stream %.*s topic %.*s: %s; its messages are parked beside the journal and go first when "
                   "it works again",
                   (int)t->stream.len, t->stream.data, (int)t->topic.len, t->topic.data, what);
    out->changed = true;
}

/* A target of which nothing is known but that it is not there. */
static void look_at_target(void *context, struct mi_target *t)
{
    struct mi_out *out = context;
    uint64_t now = out->park_now_ns;
    bool late = !mi_window_has_room(&out->window) || now - t->missing_ns >= out->config->park_after_ns;
    if (!t->missing_ns || !late || t->park_all || !t->waiting.count || t->route == UINT32_MAX ||
        mi_out_draining(t) || !mi_parked_of(out, t) || t->parked->write_due_ns > now)
        return;
    begin(out, t, now, "it is missing");
    t->park_all = true;
    struct mi_queue back;
    mi_queue_init(&back);
    while (t->waiting.count) {
        uint32_t entry = mi_queue_pop(&out->window, &t->waiting);
        struct mi_entry *e = mi_out_entry(out, entry);
        mi_queue_push(&out->window, e->reason || e->parked ? &back : &t->to_park, entry);
    }
    t->waiting = back;
}

static bool should_park(struct mi_out *out, const struct mi_lane *lane, uint64_t now)
{
    bool full = !mi_window_has_room(&out->window);
    bool late = lane->stuck_ns && now - lane->stuck_ns >= out->config->park_after_ns;
    if (!lane->queue.count || lane->target->route == UINT32_MAX || mi_out_draining(lane->target))
        return false;
    if (lane->machine.state == MI_LANE_HELD)
        return late || full;
    /* 503 for ever, while others get through: not before it is in their way */
    return lane->machine.state == MI_LANE_BACKOFF && late && full && !out->gate.closed &&
           out->stored_ns > lane->stuck_ns;
}

static void look_at_lane(struct mi_out *out, struct mi_lane *lane, uint64_t now)
{
    struct mi_target *t = lane->target;
    if (!should_park(out, lane, now) || !mi_parked_of(out, t) || t->parked->write_due_ns > now)
        return;
    struct mi_queue all = lane->queue, stay;
    mi_queue_init(&stay);
    bool some = false;
    for (uint32_t e = all.head; e != MI_NO_ENTRY && !some; e = mi_out_entry(out, e)->next)
        some = !mi_out_entry(out, e)->parked && !mi_out_entry(out, e)->reason;
    if (!some)
        return;
    begin(out, t, now, "what is sent there is not accepted");
    mi_out_take_apart(lane);
    t->parked_lanes += !lane->parked;
    lane->parked = true;
    while (all.count) {
        uint32_t entry = mi_queue_pop(&out->window, &all);
        struct mi_entry *e = mi_out_entry(out, entry);
        bool goes = !e->parked && !e->reason;
        if (goes)
            e->lane = MI_NO_LANE;
        mi_queue_push(&out->window, goes ? &t->to_park : &stay, entry);
    }
    lane->queue = stay;
}

static void look(struct mi_out *out, uint64_t now)
{
    if (out->stopping || !mi_window_pending(&out->window))
        return;
    out->park_now_ns = now;
    mi_targets_each(out->targets, look_at_target, out);
    for (uint32_t i = 0; i < out->lane_count; i++)
        look_at_lane(out, out->lanes[i], now);
}

void mi_parked_stuck(struct mi_target *t)
{
    if (t->parked)
        t->parked->flowing = false;
}

/* ---- the account ---- */

static void check_bound(struct mi_out *out, struct mi_out_route *r)
{
    uint64_t max = r->route ? r->route->parked_max_size : UINT64_MAX;
    bool full = r->full ? r->parked_bytes > max - max / 8 : r->parked_bytes >= max;
    if (full == r->full)
        return;
    uint8_t id[4];
    mi_put_u32le(id, r->id);
    struct mi_span key = {id, sizeof id}, none = {0};
    r->full = full;
    if (full)
        mi_missing_add(&out->full_routes, key, none);
    else
        mi_missing_remove(&out->full_routes, key, none);
    char name[16];
    mi_log_line(out->log, full ? MI_LOG_WARNING : MI_LOG_NOTICE,
                "route %s: %s (%" PRIu64 " bytes are parked)",
                r->metrics ? mi_route_name(r->metrics, name) : "?",
                full ? "parked_max_size is reached, new messages are refused as by a full journal until its "
                       "targets work again"
                     : "messages are taken again",
                r->parked_bytes);
}

void mi_parked_count(struct mi_out *out, struct mi_parked *p, uint32_t route, uint64_t records,
                     uint64_t bytes)
{
    uint32_t i = 0;
    while (i < p->shares && p->share[i].route != route)
        i++;
    if (i == p->shares) {
        struct mi_parked_share *more = realloc(p->share, (i + 1) * sizeof *more);
        if (!more)
            return; /* its bound and the exact account of damage suffer, nothing else */
        p->share = more;
        p->share[p->shares++] = (struct mi_parked_share){.route = route};
    }
    p->share[i].records += records;
    p->share[i].bytes += bytes;
    if (route == UINT32_MAX)
        return;
    out->routes.slots[route].parked_bytes += bytes;
    check_bound(out, &out->routes.slots[route]);
}

static void count_off(struct mi_out *out, struct mi_parked *p, uint32_t route, uint64_t bytes)
{
    for (uint32_t i = 0; i < p->shares; i++) {
        struct mi_parked_share *s = &p->share[i];
        if (s->route != route || !s->records)
            continue;
        s->records--;
        s->bytes -= bytes < s->bytes ? bytes : s->bytes;
        if (route == UINT32_MAX)
            return;
        struct mi_out_route *r = &out->routes.slots[route];
        r->parked_bytes -= bytes < r->parked_bytes ? bytes : r->parked_bytes;
        check_bound(out, r);
        return;
    }
}

uint64_t mi_parked_records(const struct mi_parked *p)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < p->shares; i++)
        n += p->share[i].records;
    return n;
}

bool mi_parked_any(const struct mi_parked *p)
{
    return p->in_window || p->read_at < p->size;
}

bool mi_parked_old(const struct mi_parked *p)
{
    return p && p->old && mi_parked_any(p);
}

uint64_t mi_parked_start(const struct mi_parked *p)
{
    return p->count ? p->loaded[p->first].at : p->read_at;
}

void mi_parked_total(const struct mi_out *out, struct mi_parked_totals *totals)
{
    *totals = (struct mi_parked_totals){.oldest_us = UINT64_MAX};
    for (uint32_t i = 0; i < out->parked_count; i++) {
        const struct mi_parked *p = out->parked[i];
        if (!mi_parked_any(p))
            continue;
        totals->targets++;
        totals->records += mi_parked_records(p);
        totals->bytes += p->size - mi_parked_start(p);
        if (p->oldest_us && p->oldest_us < totals->oldest_us)
            totals->oldest_us = p->oldest_us;
    }
}

/* ---- writing ---- */

static bool write_is_due(struct mi_out *out, const struct mi_parked *p, uint64_t now)
{
    const struct mi_target *t = p->target;
    if (!t->to_park.count || now < p->write_due_ns)
        return false;
    /* While the file drains what follows waits in the window, so that parking comes to an end. */
    return !p->flowing || t->to_park.count > HOLD_BACK || !mi_window_has_room(&out->window);
}

/* Reads the first that waits into the batch. 1: in; 0: full, or not now; -1: gone for good. */
static int gather(struct mi_out *out, struct mi_parked *p, uint32_t entry, uint64_t now)
{
    struct mi_record record;
    struct mi_error err;
    struct mi_entry *e = mi_out_entry(out, entry);
    size_t before = out->parked_bytes.len;
    if (mi_journal_read(out->journal, &e->ref, &out->scratch, &record, &err) != 0) {
        mi_log_limited(out->log, &out->read_limit, now, MI_SAY_EVERY_S * MI_NS_PER_S, MI_LOG_ERROR,
                       "journal: a waiting message cannot be read: %s", err.text);
        p->read_failures++;
        return p->read_failures < TRIES ? 0 : -1;
    }
    p->read_failures = 0;
    record.run = e->run;
    if (!mi_parked_encode(&out->parked_bytes, &record)) {
        out->parked_bytes.len = before;
        out->parked_bytes.failed = false;
        return 0;
    }
    if (!mi_parked_any(p) && before == 0)
        p->oldest_us = record.time_us;
    return 1;
}

static void written(struct mi_out *out, struct mi_parked *p, uint32_t records)
{
    for (uint32_t i = 0; i < records; i++) {
        uint32_t entry = mi_queue_pop(&out->window, &p->target->to_park);
        struct mi_entry *e = mi_out_entry(out, entry);
        out->parked_recent[e->ref.sequence % MI_PARKED_RECENT] = e->ref.sequence;
        p->old |= e->ref.sequence < out->start_sequence;
        mi_parked_count(out, p, e->route, 1, MI_PARKED_RUN_BYTES + e->ref.bytes);
        mi_window_done(&out->window, entry);
    }
    p->size += out->parked_bytes.len;
    p->fresh = false;
    out->changed = true;
}

/* True when there is more to write at once. */
static bool write_step(struct mi_out *out, struct mi_parked *p, uint64_t now)
{
    struct mi_target *t = p->target;
    struct mi_error err;
    uint32_t records = 0;
    if (!write_is_due(out, p, now))
        return false;
    mi_buf_reset(&out->parked_bytes);
    uint32_t entry = t->to_park.head;
    int rc = 1;
    while (entry != MI_NO_ENTRY && records < WRITE_RECORDS && out->parked_bytes.len < WRITE_BYTES &&
           (rc = gather(out, p, entry, now)) == 1) {
        records++;
        entry = mi_out_entry(out, entry)->next;
    }
    if (rc == -1 && !records) {
        p->read_failures = 0;
        mi_out_settled(out, mi_queue_pop(&out->window, &t->to_park), MI_C_DROPPED_DAMAGED);
        return true;
    }
    p->write_due_ns = now + (records ? GATHER_MS * MI_NS_PER_MS : AGAIN_S * MI_NS_PER_S);
    if (!records)
        return false;
    if (mi_parked_write(&out->parked_files, p->number, p->size, mi_buf_span(&out->parked_bytes), &err) != 0) {
        p->write_due_ns = now + AGAIN_S * MI_NS_PER_S;
        mi_log_limited(out->log, &out->park_limit, now, MI_SAY_EVERY_S * MI_NS_PER_S, MI_LOG_ERROR,
                       "messages that cannot be sent cannot be parked either and wait in the journal; a full "
                       "window of them stops other routes: %s",
                       err.text);
        return false;
    }
    written(out, p, records);
    bool more =
        t->to_park.count >= WRITE_RECORDS / 4 || (t->to_park.count && !mi_window_has_room(&out->window));
    if (more)
        p->write_due_ns = now;
    return more;
}

/* ---- loading ---- */

static bool grow(struct mi_parked *p)
{
    if (p->first && p->first + p->count == p->cap) {
        for (uint32_t i = 0; i < p->count; i++)
            p->loaded[i] = p->loaded[p->first + i];
        p->first = 0;
    }
    if (p->first + p->count < p->cap)
        return true;
    uint32_t cap = p->cap ? p->cap * 2 : 64;
    struct mi_parked_loaded *more = realloc(p->loaded, cap * sizeof *more);
    if (!more)
        return false;
    p->loaded = more;
    p->cap = cap;
    return true;
}

static void skip_done(struct mi_parked *p)
{
    while (p->count && p->loaded[p->first].done) {
        p->first++;
        p->count--;
    }
    if (!p->count)
        p->first = 0;
}

void mi_parked_done(struct mi_out *out, uint32_t entry)
{
    const struct mi_entry *e = mi_out_entry(out, entry);
    struct mi_parked *p = out->parked[e->parked - 1];
    uint32_t low = p->first, high = p->first + p->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (p->loaded[middle].at < e->ref.segment)
            low = middle + 1;
        else
            high = middle;
    }
    uint64_t *recent = &out->parked_recent[e->ref.sequence % MI_PARKED_RECENT];
    if (*recent == e->ref.sequence)
        *recent = 0;
    count_off(out, p, e->route, e->ref.bytes);
    p->loaded[low].done = true;
    p->in_window--;
    p->flowing = true;
    out->parked_loaded--;
    skip_done(p);
}

/* A record of the file goes to its lane. false: not now. */
static bool admit(struct mi_out *out, struct mi_parked *p, uint32_t bytes, const struct mi_record *record)
{
    struct mi_journal_ref ref = {record->sequence, p->read_at, 0, bytes};
    if (!grow(p))
        return false;
    uint32_t entry = mi_window_side(&out->window, &ref);
    if (entry == MI_NO_ENTRY)
        return false;
    struct mi_entry *e = mi_out_entry(out, entry);
    e->parked = p->index + 1;
    e->run = record->run;
    e->route = mi_out_routes_slot(&out->routes, record->route);
    e->key_hash = record->key_hash;
    e->balanced = record->balanced;
    e->old = record->sequence < out->start_sequence || p->read_at < p->old_size;
    e->encoded =
        (uint32_t)iggy_batch_message_bytes(record->headers.len, record->prefix.len + record->payload.len);
    p->loaded[p->first + p->count++] = (struct mi_parked_loaded){.at = p->read_at, .bytes = bytes};
    p->in_window++;
    out->parked_loaded++;
    mi_out_admit_parked(out, p->target, entry, record);
    return true;
}

/* An earlier life has settled it; a checkpoint must go on to say so while one before it is not. */
static bool pass_settled(struct mi_parked *p, uint32_t bytes)
{
    if (!p->count)
        return true;
    if (!grow(p))
        return false;
    p->loaded[p->first + p->count++] = (struct mi_parked_loaded){p->read_at, bytes, true};
    return true;
}

/* What stands at read_at is no record: goes on at the next one. */
static void pass_damage(struct mi_out *out, struct mi_parked *p, size_t at, uint64_t now)
{
    struct mi_buf *b = &out->parked_bytes;
    struct mi_record record;
    size_t need, next = at + MI_RECORD_ALIGN;
    while (next + MI_PARKED_RUN_BYTES + MI_RECORD_HEAD <= b->len &&
           mi_parked_decode(b->data + next, b->len - next, &record, &need) < 0)
        next += MI_RECORD_ALIGN;
    char name[MI_PARKED_NAME];
    mi_parked_name(p->number, name);
    bool end = next + MI_PARKED_RUN_BYTES + MI_RECORD_HEAD > b->len;
    if (end && p->read_at + (b->len - at) >= p->size)
        next = b->len;
    mi_log_limited(out->log, &p->target->park_limit, now, MI_SAY_EVERY_S * MI_NS_PER_S, MI_LOG_ERROR,
                   "%s: damaged at offset %" PRIu64 "; the messages there are lost and counted as dropped "
                   "(damaged)",
                   name, p->read_at);
    p->read_at += next - at;
}

/* The file is read to its end and all that was found is settled: the rest is lost. */
static void drop_damaged(struct mi_out *out, struct mi_parked *p)
{
    for (uint32_t i = 0; i < p->shares; i++) {
        struct mi_parked_share *s = &p->share[i];
        if (!s->records)
            continue;
        if (s->route != UINT32_MAX) {
            mi_count(out->routes.slots[s->route].metrics, MI_C_DROPPED_DAMAGED, s->records);
            struct mi_out_route *r = &out->routes.slots[s->route];
            r->parked_bytes -= s->bytes < r->parked_bytes ? s->bytes : r->parked_bytes;
            check_bound(out, r);
        }
        s->records = s->bytes = 0;
        out->changed = true;
    }
}

static uint32_t may_load(const struct mi_out *out, const struct mi_parked *p)
{
    const struct mi_target *t = p->target;
    uint32_t most = p->flowing ? LOAD_FLOWING : LOAD_STUCK;
    if (p->read_at >= p->size || t->state != MI_TARGET_READY || !t->partitions || mi_out_draining(t) ||
        out->stopping || p->in_window > most / 2 || out->parked_loaded >= LOAD_ALL)
        return 0;
    uint32_t room = LOAD_ALL - out->parked_loaded;
    return most - p->in_window < room ? most - p->in_window : room;
}

static int read_chunk(struct mi_out *out, struct mi_parked *p, size_t len, uint64_t now)
{
    struct mi_error err;
    if (len > p->size - p->read_at)
        len = (size_t)(p->size - p->read_at);
    if (mi_parked_read(&out->parked_files, p->number, p->read_at, len, &out->parked_bytes, &err) == 0) {
        if (out->parked_bytes.len < len)
            p->size = p->read_at + out->parked_bytes.len; /* somebody cut it */
        return 0;
    }
    p->read_due_ns = now + AGAIN_S * MI_NS_PER_S;
    mi_log_limited(out->log, &out->park_limit, now, MI_SAY_EVERY_S * MI_NS_PER_S, MI_LOG_ERROR,
                   "parked messages wait where they are: %s", err.text);
    return -1;
}

/* True when there is more to load at once. */
static bool load_step(struct mi_out *out, struct mi_parked *p, uint64_t now)
{
    uint32_t most = may_load(out, p), n = 0;
    size_t at = 0, want = LOAD_BYTES, need = 0;
    if (!most || now < p->read_due_ns || read_chunk(out, p, want, now) != 0)
        return false;
    while (n < most && p->read_at < p->size) {
        struct mi_record record;
        const struct mi_buf *b = &out->parked_bytes;
        int64_t bytes = mi_parked_decode(b->data + at, b->len - at, &record, &need);
        if (bytes == 0 && p->read_at + need <= p->size) {
            want = need > want ? need : want;
            at = 0;
            if (read_chunk(out, p, want, now) != 0)
                return false;
            continue;
        }
        if (bytes <= 0) {
            uint64_t from = p->read_at;
            pass_damage(out, p, at, now);
            at += (size_t)(p->read_at - from);
            continue;
        }
        bool settled = mi_done_runs_has(&p->settled, p->read_at);
        if (settled ? !pass_settled(p, (uint32_t)bytes) : !admit(out, p, (uint32_t)bytes, &record))
            return false;
        p->read_at += (uint64_t)bytes;
        at += (size_t)bytes;
        n++;
    }
    out->changed = true;
    return p->flowing && may_load(out, p) != 0;
}

/* ---- ending ---- */

static bool any_held(const struct mi_target *t)
{
    for (uint32_t i = 0; i < t->lane_cap; i++)
        if (t->lanes[i] && t->lanes[i]->machine.state == MI_LANE_HELD && t->lanes[i]->queue.count)
            return true;
    return false;
}

static void end_step(struct mi_out *out, struct mi_parked *p)
{
    struct mi_target *t = p->target;
    bool all = p->read_at >= p->size;
    if (all && !p->in_window) {
        drop_damaged(out, p);
        p->old = false;
    }
    bool cannot = p->fresh && t->to_park.count && p->write_due_ns > mi_now_ns(out->clock);
    if (!all || (p->fresh && !cannot) || (!p->flowing && p->in_window) || mi_out_draining(t))
        return;
    if (!cannot && t->to_park.count && !p->flowing)
        return; /* nothing says yet that it works */
    if ((!t->park_all && !t->to_park.count && !t->parked_lanes) || (!cannot && any_held(t)))
        return;
    p->fresh = false;
    mi_out_unpark(out, t);
    mi_log_line(out->log, MI_LOG_NOTICE, "stream %.*s topic %.*s: what was parked is on its way",
                (int)t->stream.len, t->stream.data, (int)t->topic.len, t->topic.data);
}

/* The state that was taken when so much was settled, or a later one, is on disk once more of the journal was
 * released than that state did. */
static void free_step(struct mi_out *out, struct mi_parked *p, uint64_t released)
{
    if (p->free_pending && released > p->free_release) {
        p->free_pending = false;
        if (!mi_parked_any(p) && p->free_to == p->size) {
            mi_parked_remove(&out->parked_files, p->number);
            p->size = p->read_at = p->freed = p->old_size = 0;
            p->number = out->parked_next++;
            out->changed = true;
        } else {
            mi_parked_free_space(&out->parked_files, p->number, p->freed, p->free_to);
            p->freed = p->free_to;
        }
    }
}
