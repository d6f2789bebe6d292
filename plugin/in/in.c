/*
 * in: turns the targets' wishes into requests and the answers into messages in the inbox.
 */
#include "in/in.h"

#include <stdlib.h>
#include <string.h>

#include "in/deliver.h"
#include "in/discover.h"
#include "in/positions.h"
#include "in/target.h"
#include "in/wanted.h"

enum {
    MAX_POLLS = 8, /* under way at a time: each may hold max_poll_bytes */
    MAX_DETAILS = 8,
    MAX_TARGETS = 10000,
    COUNT_MAX = 1000,
    REQUESTS_PER_S = 200, /* for topic details while nothing happens */
    FULL_RETRY_MS = 5,    /* the inbox is full: look again */
    BLIND_POLL_MS = 100   /* without the right to read details */
};
#define LOG_INTERVAL_NS (30 * MI_NS_PER_S)

struct mi_in {
    struct mi_in_options o;
    struct mi_config *config;
    struct mi_discover *discover;
    struct mi_target *targets;
    size_t target_count;
    uint32_t next_reader_id;
    unsigned polls, details; /* under way */
    bool changed;
    struct mi_interest_picture *interest; /* held; NULL: everything is wanted */
    struct mi_buf scratch, topic,
        saved; /* saved: positions from the state file that no target has taken yet */
    struct mi_log_limit skipped_log, failed_log, change_log;
};

/* One request's way back to its target; freed in its callback. */
struct asked {
    struct mi_in *in;
    struct mi_target *target;
    uint32_t partition;
};

static void add_constant_targets(struct mi_in *in);
static void look_wanted(struct mi_in *in, struct mi_target *t);
static void add_target(void *context, size_t route, struct mi_span stream, struct mi_span topic);
static void drop_target(struct mi_in *in, struct mi_target *t);

struct mi_in *mi_in_new(const struct mi_in_options *options, struct mi_error *err)
{
    struct mi_in *in = calloc(1, sizeof *in);
    if (in) {
        in->o = *options;
        in->config = mi_config_hold(options->config);
        mi_buf_init(&in->scratch, 256u << 20);
        mi_buf_init(&in->topic, 65536);
        mi_buf_init(&in->saved, 64u << 20);
        in->discover = mi_discover_new(options->client, add_target, in);
    }
    if (!in || !in->discover) {
        mi_error_set(err, "out of memory");
        mi_in_free(in);
        return NULL;
    }
    mi_discover_set_config(in->discover, in->config);
    add_constant_targets(in);
    return in;
}

void mi_in_free(struct mi_in *in)
{
    if (!in)
        return;
    mi_discover_free(in->discover);
    while (in->targets) {
        struct mi_target *t = in->targets;
        in->targets = t->next;
        drop_target(in, t);
    }
    mi_config_release(in->config);
    mi_interest_picture_release(in->interest);
    mi_buf_fini(&in->scratch);
    mi_buf_fini(&in->topic);
    mi_buf_fini(&in->saved);
    free(in);
}

static void drop_target(struct mi_in *in, struct mi_target *t)
{
    if (t->asking)
        iggy_client_cancel(in->o.client, t->request);
    for (uint32_t p = 0; p < t->reader_count; p++)
        if (t->readers[p].polling)
            iggy_client_cancel(in->o.client, t->readers[p].request);
    mi_target_free(t);
}

/* ---- which targets there are ---- */

static struct mi_target *find_target(struct mi_in *in, uint32_t route_id, struct mi_span stream,
                                     struct mi_span topic)
{
    for (struct mi_target *t = in->targets; t; t = t->next)
        if (t->route_id == route_id && mi_span_equal(mi_span_of(t->stream), stream) &&
            mi_span_equal(mi_span_of(t->topic), topic))
            return t;
    return NULL;
}

static void restore_positions(struct mi_in *in, struct mi_target *t)
{
    struct mi_position p;
    size_t at = 0;
    while (in->saved.len && mi_positions_next(mi_buf_span(&in->saved), &at, &p) == 1)
        if (p.route == t->route_id && mi_span_equal(p.stream, mi_span_of(t->stream)) &&
            mi_span_equal(p.topic, mi_span_of(t->topic)))
            mi_target_restore(t, p.partition, p.created_at, p.next, &in->next_reader_id);
}

static void add_target(void *context, size_t route, struct mi_span stream, struct mi_span topic)
{
    struct mi_in *in = context;
    uint32_t id = in->config->routes[route].id;
    if (in->target_count >= MAX_TARGETS || find_target(in, id, stream, topic))
        return;
    struct mi_target *t = mi_target_new(route, id, stream, topic);
    if (!t)
        return;
    restore_positions(in, t);
    look_wanted(in, t);
    t->next = in->targets;
    in->targets = t;
    in->target_count++;
}

static void add_constant_targets(struct mi_in *in)
{
    for (size_t i = 0; i < in->config->route_count; i++) {
        struct mi_span stream, topic;
        if ((in->config->routes[i].direction & MI_IN) &&
            mi_map_constant_target(in->config->map, i, &stream, &topic))
            add_target(in, i, stream, topic);
    }
}

static bool still_wanted(const struct mi_config *config, struct mi_target *t)
{
    struct mi_span stream = mi_span_of(t->stream), topic = mi_span_of(t->topic);
    for (size_t i = 0; i < config->route_count; i++) {
        if (config->routes[i].id != t->route_id || !(config->routes[i].direction & MI_IN))
            continue;
        t->route = i;
        return mi_map_stream_fits(config->map, i, stream) && mi_map_topic_fits(config->map, i, stream, topic);
    }
    return false;
}

void mi_in_set_config(struct mi_in *in, struct mi_config *config)
{
    struct mi_config *former = in->config;
    in->config = mi_config_hold(config);
    for (struct mi_target **at = &in->targets; *at;) {
        struct mi_target *t = *at;
        if (still_wanted(config, t)) {
            look_wanted(in, t);
            at = &t->next;
            continue;
        }
        *at = t->next;
        in->target_count--;
        drop_target(in, t);
    }
    mi_discover_set_config(in->discover, in->config);
    add_constant_targets(in);
    mi_config_release(former);
    in->changed = true;
}

/* ---- feed: on_subscribe ---- */

static void stop_reading(struct mi_in *in, struct mi_target *t)
{
    t->wanted = false;
    if (t->asking)
        iggy_client_cancel(in->o.client, t->request);
    for (uint32_t p = 0; p < t->reader_count; p++)
        if (t->readers[p].polling)
            iggy_client_cancel(in->o.client, t->readers[p].request);
}

static void look_wanted(struct mi_in *in, struct mi_target *t)
{
    bool wanted = mi_wanted(in->interest, in->config, t->route, mi_span_of(t->stream), mi_span_of(t->topic),
                            &in->topic);
    if (wanted && !t->wanted) {
        t->wanted = true;
        mi_target_wanted_again(t);
        in->changed = true;
    } else if (!wanted && t->wanted) {
        stop_reading(in, t);
    }
}

void mi_in_set_interest(struct mi_in *in, struct mi_interest_picture *picture)
{
    mi_interest_picture_hold(picture);
    mi_interest_picture_release(in->interest);
    in->interest = picture;
    for (struct mi_target *t = in->targets; t; t = t->next)
        look_wanted(in, t);
}

/* ---- topic details ---- */

static struct asked *asked_new(struct mi_in *in, struct mi_target *t, uint32_t partition)
{
    struct asked *a = malloc(sizeof *a);
    if (a)
        *a = (struct asked){in, t, partition};
    return a;
}

static void say_change(struct mi_in *in, const struct mi_target *t, enum mi_target_change change)
{
    if (change == MI_TARGET_SAME)
        return;
    in->changed = true;
    mi_log_limited(in->o.log, &in->change_log, mi_now_ns(in->o.clock), MI_NS_PER_S, MI_LOG_WARNING,
                   change == MI_TARGET_MADE_AGAIN
                       ? "route %s: %s/%s was made again; it is read from its beginning"
                       : "route %s: %s/%s ends before what was already read: Iggy lost messages; reading "
                         "goes on at its end",
                   in->config->routes[t->route].name, t->stream, t->topic);
}

static void details_failed(struct mi_in *in, struct mi_target *t, const struct iggy_result *result,
                           uint64_t now)
{
    const struct mi_route *route = &in->config->routes[t->route];
    if (result->http_status == 403) {
        mi_target_blind(t, route->create_partitions, t->from_end ? MI_START_LATEST : route->start,
                        &in->next_reader_id);
        t->due_ns = UINT64_MAX;
    } else {
        mi_target_failed(t, now);
    }
    if (result->http_status == 404 && t->created_at == 0)
        t->was_missing = true;
    /* A target that does not exist yet is the normal state before the first message. */
    if (result->http_status != 404)
        mi_log_limited(in->o.log, &in->failed_log, now, LOG_INTERVAL_NS, MI_LOG_WARNING,
                       "route %s: cannot read %s/%s: %s", route->name, t->stream, t->topic, result->text);
}

/* Idle targets together ask at most REQUESTS_PER_S times a second. */
static uint64_t slowest_pace(const struct mi_in *in)
{
    uint64_t budget = in->target_count * (MI_NS_PER_S / REQUESTS_PER_S);
    return budget > MI_PACE_MAX_NS ? budget : MI_PACE_MAX_NS;
}

static bool has_news(const struct mi_target *t)
{
    for (uint32_t p = 0; p < t->reader_count; p++)
        if (t->readers[p].placed && t->readers[p].next < t->readers[p].end)
            return true;
    return false;
}

static void details_answered(void *arg, const struct iggy_result *result, const struct iggy_topic *topic)
{
    struct asked *a = arg;
    struct mi_in *in = a->in;
    struct mi_target *t = a->target;
    free(a);
    in->details--;
    t->asking = false;
    if (result->kind == IGGY_CANCELLED)
        return;
    uint64_t now = mi_now_ns(in->o.clock);
    if (result->kind != IGGY_OK) {
        details_failed(in, t, result, now);
        return;
    }
    bool first = t->created_at == 0;
    say_change(in, t, mi_target_details(t, topic, in->config->routes[t->route].start, &in->next_reader_id));
    in->changed = in->changed || first;
    mi_target_pace(t, now, has_news(t), slowest_pace(in));
}

static void ask_details(struct mi_in *in, struct mi_target *t)
{
    struct asked *a = asked_new(in, t, 0);
    if (!a)
        return;
    struct iggy_span stream = {(const uint8_t *)t->stream, strlen(t->stream)};
    struct iggy_span topic = {(const uint8_t *)t->topic, strlen(t->topic)};
    t->request = iggy_get_topic(in->o.client, stream, topic, details_answered, a);
    t->asking = t->request != 0;
    if (t->asking)
        in->details++;
    else
        free(a);
}

/* ---- polling ---- */

static void count_skipped(struct mi_in *in, struct mi_target *t, const struct mi_reader *r, uint64_t offset,
                          enum mi_route_counter which, const char *why)
{
    const struct mi_route *route = &in->config->routes[t->route];
    mi_count(mi_metrics_route(in->o.metrics, route->id, route->name), which, 1);
    if (why)
        mi_log_limited(in->o.log, &in->skipped_log, mi_now_ns(in->o.clock), LOG_INTERVAL_NS, MI_LOG_WARNING,
                       "route %s: message at offset %llu of %s/%s partition %u was not published: %s",
                       route->name, (unsigned long long)offset, t->stream, t->topic, r->partition, why);
}

/* False when memory is out and the same message must be tried again. */
static bool take_message(struct mi_in *in, struct mi_target *t, struct mi_reader *r,
                         const struct iggy_polled_message *m)
{
    struct mi_delivery d = {
        .config = in->config,
        .route = t->route,
        .stream = mi_span_of(t->stream),
        .topic = mi_span_of(t->topic),
        .partition = r->partition,
        .offset = m->offset,
        .appended_us = m->timestamp,
        .headers = {m->headers.data, m->headers.len},
        .payload = {m->payload.data, m->payload.len},
        .now_us = mi_wall_us(in->o.clock),
        .is_own = in->o.is_own,
        .context = in->o.context,
    };
    enum mi_route_counter skipped;
    const char *why;
    struct mi_inbound *inbound = mi_deliver(&d, &in->scratch, &in->topic, &skipped, &why);
    if (!inbound && skipped == MI_C_ROUTE_COUNTERS)
        return false;
    if (inbound) {
        inbound->reader = r->id;
        mi_inbox_put(in->o.inbox, inbound);
    } else {
        count_skipped(in, t, r, m->offset, skipped, why);
    }
    return true;
}

static void take_messages(struct mi_in *in, struct mi_target *t, struct mi_reader *r,
                          const struct iggy_polled *polled)
{
    bool nothing_out = r->delivered == r->next;
    if (polled->messages[0].offset > r->next)
        mi_log_limited(in->o.log, &in->change_log, mi_now_ns(in->o.clock), MI_NS_PER_S, MI_LOG_WARNING,
                       "route %s: offsets %llu to %llu of %s/%s partition %u are gone (retention)",
                       in->config->routes[t->route].name, (unsigned long long)r->next,
                       (unsigned long long)polled->messages[0].offset - 1, t->stream, t->topic, r->partition);
    size_t put_before = mi_inbox_count(in->o.inbox);
    for (size_t i = 0; i < polled->count; i++) {
        const struct iggy_polled_message *m = &polled->messages[i];
        if (m->offset < r->next) /* an older server may start earlier than asked */
            continue;
        if (!take_message(in, t, r, m))
            break;
        r->next = m->offset + 1;
    }
    if (r->end < r->next)
        r->end = r->next;
    /* When every message was skipped, none will be reported as delivered: the position moves with the
     * reading. */
    if (nothing_out && mi_inbox_count(in->o.inbox) == 0 && put_before == 0) {
        r->delivered = r->next;
        in->changed = true;
    }
    if (!mi_inbox_empty(in->o.inbox))
        in->o.wake(in->o.context);
}

static void place_blind(struct mi_in *in, struct mi_reader *r, const struct iggy_polled *polled)
{
    r->placed = true;
    r->next = r->delivered = polled->count ? polled->messages[polled->count - 1].offset + 1 : 0;
    in->changed = true;
}

static void poll_failed(struct mi_in *in, struct mi_target *t, struct mi_reader *r,
                        const struct iggy_result *result, uint64_t now)
{
    if (result->kind == IGGY_GARBLED && r->count > 1) {
        r->count /= 2; /* perhaps only too large: ask for less */
        return;
    }
    if (result->kind == IGGY_GARBLED) {
        count_skipped(in, t, r, r->next, MI_C_IN_TOO_LARGE,
                      "its answer is larger than max_poll_bytes or cannot be read");
        r->next++;
        r->count = COUNT_MAX;
        return;
    }
    r->due_ns = now + 200 * MI_NS_PER_MS;
    if (result->http_status == 404)
        t->due_ns = now; /* made again or gone: the details tell */
    else if (result->http_status != 504)
        mi_log_limited(in->o.log, &in->failed_log, now, LOG_INTERVAL_NS, MI_LOG_WARNING,
                       "route %s: cannot poll %s/%s: %s", in->config->routes[t->route].name, t->stream,
                       t->topic, result->text);
}

static void polled(void *arg, const struct iggy_result *result, const struct iggy_polled *answer)
{
    struct asked *a = arg;
    struct mi_in *in = a->in;
    struct mi_target *t = a->target;
    struct mi_reader *r = &t->readers[a->partition];
    free(a);
    in->polls--;
    r->polling = false;
    if (result->kind == IGGY_CANCELLED)
        return;
    uint64_t now = mi_now_ns(in->o.clock);
    if (result->kind != IGGY_OK) {
        poll_failed(in, t, r, result, now);
        return;
    }
    if (!t->may_ask)
        r->due_ns = now + BLIND_POLL_MS * MI_NS_PER_MS;
    if (answer->partition_id != r->partition && answer->count > 0)
        return; /* not what was asked for */
    if (!r->placed) {
        place_blind(in, r, answer);
    } else if (answer->count > 0) {
        take_messages(in, t, r, answer);
        if (r->count < COUNT_MAX)
            r->count *= 2;
        r->due_ns = 0;
        mi_target_pace(t, now, true, slowest_pace(in));
    } else {
        r->end = t->may_ask ? r->next : UINT64_MAX;
    }
}

static void poll_partition(struct mi_in *in, struct mi_target *t, struct mi_reader *r)
{
    struct asked *a = asked_new(in, t, r->partition);
    if (!a)
        return;
    struct iggy_poll poll = {
        .stream = {(const uint8_t *)t->stream, strlen(t->stream)},
        .topic = {(const uint8_t *)t->topic, strlen(t->topic)},
        .partition_id = r->partition,
        .strategy = r->placed ? IGGY_FROM_OFFSET : IGGY_FROM_LAST,
        .value = r->next,
        .count = r->placed ? r->count : 1,
        .max_bytes = in->config->max_poll_bytes,
    };
    r->request = iggy_poll(in->o.client, &poll, polled, a);
    r->polling = r->request != 0;
    if (r->polling)
        in->polls++;
    else
        free(a);
}

/* ---- the step ---- */

static void delivered(void *context, uint32_t reader, uint64_t offset)
{
    struct mi_in *in = context;
    for (struct mi_target *t = in->targets; t; t = t->next)
        for (uint32_t p = 0; p < t->reader_count; p++)
            if (t->readers[p].id == reader && offset + 1 > t->readers[p].delivered) {
                t->readers[p].delivered = offset + 1;
                in->changed = true;
            }
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t step_readers(struct mi_in *in, struct mi_target *t, uint64_t now)
{
    uint64_t due = UINT64_MAX;
    for (uint32_t p = 0; p < t->reader_count; p++) {
        struct mi_reader *r = &t->readers[p];
        if (in->polls < MAX_POLLS && mi_reader_wants(t, r, now))
            poll_partition(in, t, r);
        if (!r->polling && r->due_ns > now)
            due = earlier(due, r->due_ns);
    }
    return due;
}

uint64_t mi_in_step(struct mi_in *in, uint64_t now)
{
    mi_inbox_collect(in->o.inbox, delivered, in);
    mi_metrics_set(in->o.metrics, MI_G_INBOX, mi_inbox_count(in->o.inbox));
    uint64_t due = mi_discover_step(in->discover, now);
    if (!mi_inbox_has_room(in->o.inbox))
        return earlier(due, now + FULL_RETRY_MS * MI_NS_PER_MS);
    uint64_t readers = 0;
    for (struct mi_target *t = in->targets; t; t = t->next) {
        if (!t->wanted)
            continue;
        readers += t->reader_count;
        if (t->may_ask && !t->asking && now >= t->due_ns && in->details < MAX_DETAILS)
            ask_details(in, t);
        if (t->may_ask && !t->asking)
            due = earlier(due, t->due_ns > now ? t->due_ns : now + MI_PACE_MIN_NS);
        due = earlier(due, step_readers(in, t, now));
    }
    mi_metrics_set(in->o.metrics, MI_G_READERS, readers);
    return due;
}

/* ---- positions ---- */

bool mi_in_save(struct mi_in *in, struct mi_buf *out)
{
    size_t start;
    if (!mi_positions_begin(out, &start))
        return false;
    for (struct mi_target *t = in->targets; t; t = t->next)
        for (uint32_t p = 0; p < t->reader_count; p++) {
            struct mi_position position = {t->route_id,           p,
                                           t->created_at,         t->readers[p].delivered,
                                           mi_span_of(t->stream), mi_span_of(t->topic)};
            if (t->readers[p].placed && t->created_at && !mi_positions_add(out, start, &position))
                return false;
        }
    in->changed = false;
    return true;
}

bool mi_in_load(struct mi_in *in, struct mi_span saved)
{
    struct mi_position p;
    size_t at = 0;
    int found;
    while ((found = mi_positions_next(saved, &at, &p)) == 1)
        continue;
    mi_buf_reset(&in->saved);
    if (found < 0 || !mi_buf_add_span(&in->saved, saved))
        return false;
    for (struct mi_target *t = in->targets; t; t = t->next)
        restore_positions(in, t);
    return true;
}

bool mi_in_changed(const struct mi_in *in)
{
    return in->changed;
}
