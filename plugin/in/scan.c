/* scan: goes through a partition from its beginning up to a reader's place, for the last retained values
 * there (rebuild.h), beside the live reading. */
#include "in/in_private.h"

#include <stdlib.h>
#include <string.h>

#include "in/deliver.h"

enum { AT_A_TIME = 2, MOST = 1000, FAILED_MS = 1000, FULL_RETRY_MS = 20 };

struct mi_scan {
    struct mi_in *in;
    struct mi_reader *reader;
    struct mi_rebuild *values;
    iggy_request request; /* 0: none is under way */
    uint32_t count;       /* messages to ask for */
    uint64_t due_ns;
    struct mi_link link;
};

static bool put_mark(struct mi_in *in, enum mi_inbound_kind kind);
static uint64_t step(struct mi_scan *s, uint64_t now);

static bool is_wanted(const struct mi_in *in, const struct mi_reader *r)
{
    return r->rebuild && mi_in_route(in, r->target)->retain != MI_RETAIN_NEVER &&
           in->config->rebuild_size > 0 && r->track.read_next > 0;
}

void mi_in_scan_decide(struct mi_in *in, struct mi_reader *r)
{
    r->scan_decided = true;
    r->rebuild = is_wanted(in, r);
    if (!r->rebuild)
        return;
    struct mi_scan *s = calloc(1, sizeof *s);
    if (s)
        s->values = mi_rebuild_new(&in->rebuild_budget, r->track.read_next);
    if (!s || !s->values || !put_mark(in, MI_INBOUND_REBUILD_BEGIN)) {
        mi_log_line(in->o.log, MI_LOG_WARNING, "out of memory: some retained values are not restored");
        if (s)
            mi_rebuild_free(s->values);
        free(s);
        return;
    }
    s->in = in;
    s->reader = r;
    s->count = MOST;
    s->link.owner = s;
    r->scan = s;
    mi_queue_add(&in->scans, &s->link);
    in->rebuild_kept = MI_REBUILD_OPEN;
    in->changed = true;
}

bool mi_in_scans_done(const struct mi_in *in)
{
    return in->scans.count == 0 && in->rebuilds_delivered == in->rebuilds_ended;
}

static void put(struct mi_in *in, struct mi_inbound *m, enum mi_inbound_kind kind)
{
    m->kind = kind;
    m->reader = 0;
    m->mark.offset = in->rebuilds_ended;
    mi_inbox_put(in->o.inbox, m);
    in->o.wake(in->o.context);
}

static bool put_mark(struct mi_in *in, enum mi_inbound_kind kind)
{
    struct mi_span none = {0};
    struct mi_inbound *m = mi_inbound_new(none, none, none);
    if (m)
        put(in, m, kind);
    return m != NULL;
}

/* False when memory is out for its end. */
static bool end(struct mi_scan *s)
{
    struct mi_in *in = s->in;
    in->rebuilds_ended++;
    if (!put_mark(in, MI_INBOUND_REBUILD_END)) {
        in->rebuilds_ended--;
        return false;
    }
    mi_queue_remove(&s->link);
    s->reader->scan = NULL;
    mi_rebuild_free(s->values);
    free(s);
    return true;
}

void mi_in_scan_drop(struct mi_in *in, struct mi_reader *r)
{
    struct mi_scan *s = r->scan;
    if (!s)
        return;
    if (s->request)
        iggy_client_cancel(in->o.client, s->request);
    if (!end(s)) { /* the broker goes on remembering what is newer, which does no harm */
        mi_queue_remove(&s->link);
        r->scan = NULL;
        mi_rebuild_free(s->values);
        free(s);
    }
}

uint64_t mi_in_scan_step(struct mi_in *in, uint64_t now)
{
    uint64_t due = UINT64_MAX;
    size_t at_a_time = 0;
    for (struct mi_link *l = in->scans.first, *next; l && at_a_time < AT_A_TIME; l = next, at_a_time++) {
        next = l->next;
        uint64_t d = step(l->owner, now);
        due = d < due ? d : due;
    }
    mi_metrics_set(in->o.metrics, MI_G_SCANS, in->scans.count);
    mi_metrics_set(in->o.metrics, MI_G_REBUILT_LEFT_OUT, in->rebuild_budget.left_out);
    return due;
}

/* ---- reading ---- */

/* False when memory is out: the same message again, later. */
static bool take_message(struct mi_scan *s, const struct iggy_polled_message *m)
{
    struct mi_in *in = s->in;
    const struct mi_target *t = s->reader->target;
    struct mi_delivery d = {
        .config = in->config,
        .route = t->route,
        .stream = mi_span_of(t->stream),
        .topic = mi_span_of(t->topic),
        .partition = s->reader->partition,
        .appended_us = m->timestamp,
        .headers = {m->headers.data, m->headers.len},
        .payload = {m->payload.data, m->payload.len},
        .now_us = mi_wall_us(in->o.clock),
        .retained_only = true,
        .identity = mi_span_of(in->o.identity),
        .is_own = in->o.is_own,
        .context = in->o.context,
    };
    enum mi_route_counter skipped;
    const char *why;
    struct mi_inbound *value = mi_deliver(&d, &in->scratch, &in->topic, &skipped, &why);
    if (value && value->retain) {
        value->mark.id_lo = value->kind == MI_INBOUND_OWN ? m->id.lo : 0;
        mi_rebuild_take(s->values, value);
    } else {
        mi_inbound_free(value);
    }
    return value || skipped != MI_C_ROUTE_COUNTERS;
}

static void take(struct mi_scan *s, const struct iggy_polled *answer)
{
    for (size_t i = 0; i < answer->count && !mi_rebuild_scanned(s->values); i++) {
        const struct iggy_polled_message *m = &answer->messages[i];
        if (m->offset < mi_rebuild_offset(s->values))
            continue;
        /* What retention left may begin behind the end. */
        if (mi_rebuild_before_end(s->values, m->offset) && !take_message(s, m))
            return;
        mi_rebuild_read(s->values, m->offset + 1);
    }
    if (s->count < MOST)
        s->count *= 2;
}

static void failed(struct mi_scan *s, const struct iggy_result *result, uint64_t now)
{
    if (result->too_large && s->count > 1) {
        s->count /= 2;
    } else if (result->too_large) {
        mi_rebuild_read(s->values, mi_rebuild_offset(s->values) + 1);
    } else if (result->http_status == 404) {
        mi_rebuild_read(s->values, UINT64_MAX); /* it is gone, and its values with it */
    } else {
        s->due_ns = now + FAILED_MS * MI_NS_PER_MS;
    }
}

static void answered(void *arg, const struct iggy_result *result, const struct iggy_polled *answer)
{
    struct mi_scan *s = arg;
    s->request = 0;
    if (result->kind != IGGY_OK)
        failed(s, result, mi_now_ns(s->in->o.clock));
    else if (answer->count == 0 || answer->partition_id != s->reader->partition)
        mi_rebuild_read(s->values, UINT64_MAX); /* the log ends before the place */
    else
        take(s, answer);
}

static void ask(struct mi_scan *s, uint64_t now)
{
    const struct mi_target *t = s->reader->target;
    struct iggy_poll poll = {
        .stream = {(const uint8_t *)t->stream, strlen(t->stream)},
        .topic = {(const uint8_t *)t->topic, strlen(t->topic)},
        .partition_id = s->reader->partition,
        .strategy = IGGY_FROM_OFFSET,
        .value = mi_rebuild_offset(s->values),
        .count = s->count,
        .max_bytes = s->in->config->max_poll_bytes,
    };
    s->request = iggy_poll(s->in->o.client, &poll, answered, s);
    if (!s->request)
        s->due_ns = now + FAILED_MS * MI_NS_PER_MS;
}

/* ---- handing over ---- */

/* Values go out as the inbox has room, and the end behind them. */
static uint64_t hand_over(struct mi_scan *s, uint64_t now)
{
    struct mi_in *in = s->in;
    while (mi_in_room(in) > 0) {
        struct mi_inbound *m = mi_rebuild_next(s->values);
        if (m)
            put(in, m, MI_INBOUND_REBUILT);
        else if (end(s))
            return now;
        else
            break;
    }
    return now + FULL_RETRY_MS * MI_NS_PER_MS;
}

static uint64_t step(struct mi_scan *s, uint64_t now)
{
    if (s->request)
        return UINT64_MAX;
    if (mi_rebuild_scanned(s->values))
        return hand_over(s, now);
    if (now >= s->due_ns)
        ask(s, now);
    return s->request ? UINT64_MAX : s->due_ns;
}
