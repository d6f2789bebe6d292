/*
 * target: table, questions, creation.
 */
#include "out/target.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "out/lane.h"
#include "out/outcome.h"

enum { BUCKETS = 8192, REFRESH_S = 60, SAY_EVERY_S = 60, MISSING_MAX_S = 10, SAME_TOPIC_US = 1000000 };

struct mi_targets {
    struct mi_targets_options o;
    const struct mi_config *config;
    struct mi_target *bucket[BUCKETS];
    struct mi_target *todo;
    uint64_t todo_due_ns;
    uint32_t count;
    bool freeing;
};

static void ask(struct mi_target *t, uint64_t now);
static void create(struct mi_target *t);
static bool may_create(const struct mi_target *t);
static void want(struct mi_target *t, uint64_t due_ns);
static void is_missing(struct mi_target *t, const struct iggy_result *result);

struct mi_targets *mi_targets_new(const struct mi_targets_options *options)
{
    struct mi_targets *ts = calloc(1, sizeof *ts);
    if (!ts)
        return NULL;
    ts->o = *options;
    ts->todo_due_ns = UINT64_MAX;
    return ts;
}

void mi_targets_free(struct mi_targets *ts)
{
    if (!ts)
        return;
    ts->freeing = true;
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct mi_target *t = ts->bucket[i], *next; t; t = next) {
            next = t->next;
            if (t->request)
                ts->o.transport->cancel(ts->o.transport->context, t->request);
            free(t->tails);
            free(t->lanes);
            free(t);
        }
    }
    free(ts);
}

void mi_targets_set_config(struct mi_targets *ts, const struct mi_config *config)
{
    ts->config = config;
}

void mi_targets_each(struct mi_targets *ts, void (*each)(void *context, struct mi_target *t), void *context)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct mi_target *t = ts->bucket[i]; t; t = t->next)
            each(context, t);
}

static struct mi_target *make(struct mi_targets *ts, struct mi_span stream, struct mi_span topic,
                              uint64_t hash)
{
    struct mi_target *t = calloc(1, sizeof *t + stream.len + topic.len);
    if (!t)
        return NULL;
    memcpy(t->names, stream.data, stream.len);
    memcpy(t->names + stream.len, topic.data, topic.len);
    t->stream = (struct mi_span){t->names, stream.len};
    t->topic = (struct mi_span){t->names + stream.len, topic.len};
    t->owner = ts;
    t->hash = hash;
    mi_queue_init(&t->waiting);
    mi_queue_init(&t->to_park);
    t->next = ts->bucket[hash % BUCKETS];
    ts->bucket[hash % BUCKETS] = t;
    ts->count++;
    return t;
}

static struct mi_target *find(struct mi_targets *ts, struct mi_span stream, struct mi_span topic,
                              uint64_t hash)
{
    for (struct mi_target *t = ts->bucket[hash % BUCKETS]; t; t = t->next)
        if (t->hash == hash && mi_span_equal(t->stream, stream) && mi_span_equal(t->topic, topic))
            return t;
    return NULL;
}

struct mi_target *mi_targets_find(struct mi_targets *ts, struct mi_span stream, struct mi_span topic)
{
    return find(ts, stream, topic, mi_target_hash(ts->o.missing->seed, stream, topic));
}

struct mi_target *mi_targets_get(struct mi_targets *ts, struct mi_span stream, struct mi_span topic,
                                 uint32_t route)
{
    uint64_t hash = mi_target_hash(ts->o.missing->seed, stream, topic);
    struct mi_target *t = find(ts, stream, topic, hash);
    if (t || ts->count >= MI_MAX_LANES)
        return t;
    t = make(ts, stream, topic, hash);
    if (!t)
        return NULL;
    t->route = route;
    want(t, 0);
    return t;
}

uint32_t mi_targets_route_id(const struct mi_target *t)
{
    return t->owner->o.routes->slots[t->route].id;
}

void mi_target_use(struct mi_target *t)
{
    if (t->state == MI_TARGET_READY && !t->in_todo && !t->request)
        want(t, t->due_ns);
}

void mi_target_gone(struct mi_target *t, uint64_t now_ns)
{
    t->gone = true;
    if (t->state == MI_TARGET_READY)
        want(t, now_ns);
}

static void want(struct mi_target *t, uint64_t due_ns)
{
    struct mi_targets *ts = t->owner;
    t->due_ns = due_ns;
    if (due_ns < ts->todo_due_ns)
        ts->todo_due_ns = due_ns;
    if (t->in_todo)
        return;
    t->in_todo = true;
    t->todo = ts->todo;
    ts->todo = t;
}

uint64_t mi_targets_step(struct mi_targets *ts, uint64_t now, uint32_t max_requests)
{
    if (now < ts->todo_due_ns)
        return ts->todo_due_ns;
    struct mi_target **link = &ts->todo;
    uint64_t due = UINT64_MAX;
    while (*link) {
        struct mi_target *t = *link;
        if (t->due_ns <= now && *ts->o.in_flight < max_requests && mi_gate_lets(ts->o.gate, now)) {
            *link = t->todo;
            t->in_todo = false;
            ask(t, now);
            continue;
        }
        if (t->due_ns < due)
            due = t->due_ns;
        link = &t->todo;
    }
    ts->todo_due_ns = due;
    if (due > now)
        return due;
    return ts->o.gate->closed && !ts->o.gate->probing ? ts->o.gate->due_ns : UINT64_MAX;
}

/* ---- requests ---- */

static struct iggy_span span(struct mi_span s)
{
    return (struct iggy_span){s.data, s.len};
}

static void begun(struct mi_target *t, iggy_request request)
{
    struct mi_targets *ts = t->owner;
    t->request = request;
    if (!request) { /* memory is out: later */
        want(t, mi_now_ns(ts->o.clock) + MI_NS_PER_S);
        return;
    }
    ++*ts->o.in_flight;
    mi_gate_took(ts->o.gate);
}

/* Bookkeeping that every answer has in common. False when there is nothing to learn from it: asked again
 * later. */
static bool answered(struct mi_target *t, const struct iggy_result *result, enum mi_outcome outcome)
{
    struct mi_targets *ts = t->owner;
    t->request = 0;
    --*ts->o.in_flight;
    if (ts->freeing)
        return false;
    uint64_t now = mi_now_ns(ts->o.clock), random = mi_random(ts->o.clock);
    uint64_t min = ts->config->retry_min_ns, max = ts->config->retry_max_ns;
    uint64_t after = result->retry_after_ms * MI_NS_PER_MS;
    if (outcome == MI_OUTCOME_LINK || outcome == MI_OUTCOME_TOKEN) {
        mi_gate_failed(ts->o.gate, now, min, max, after, random);
        mi_log_limited(ts->o.log, &t->limit, now, SAY_EVERY_S * MI_NS_PER_S, MI_LOG_WARNING,
                       "nothing is shipped to Iggy at the moment, messages wait in the journal: %s",
                       result->text);
        want(t, now);
        return false;
    }
    mi_gate_opened(ts->o.gate);
    if (outcome == MI_OUTCOME_STORED || outcome == MI_OUTCOME_TARGET)
        return true;
    t->failures++;
    if (!t->partitions && !t->missing_ns)
        t->missing_ns = now;
    want(t, now + mi_backoff_ns(t->failures, min, max, after, random));
    return false;
}

/* Iggy 0.8 gives a topic another stamp, some milliseconds off, at the first restart
 * (docs/iggy-compatibility.md): less than a second is the same topic. */
static bool differs(uint64_t a_us, uint64_t b_us)
{
    return (a_us > b_us ? a_us - b_us : b_us - a_us) >= SAME_TOPIC_US;
}

static void take_details(struct mi_target *t, const struct iggy_topic *topic)
{
    struct mi_targets *ts = t->owner;
    bool remade = t->created_at && topic->created_at && differs(t->created_at, topic->created_at);
    t->created_at = topic->created_at;
    if (topic->partitions_count == 0) {
        is_missing(t, NULL);
        return;
    }
    uint64_t *tails = topic->partitions ? calloc(topic->partitions_count, sizeof *tails) : NULL;
    for (uint32_t i = 0; tails && i < topic->partitions_count; i++)
        if (topic->partitions[i].id < topic->partitions_count)
            tails[topic->partitions[i].id] = topic->partitions[i].current_offset;
    free(t->tails);
    t->tails = tails;
    t->found_partitions = topic->partitions_count;
    t->denied = false;
    t->gone = false;
    t->failures = 0;
    t->state = MI_TARGET_READY;
    t->missing_ns = 0;
    t->due_ns = mi_now_ns(ts->o.clock) + REFRESH_S * MI_NS_PER_S;
    mi_missing_remove(ts->o.missing, t->stream, t->topic);
    ts->o.ready(ts->o.context, t, remade);
}

/* Details may not be read: the rule says how many partitions there are. */
static void take_rule(struct mi_target *t)
{
    struct mi_targets *ts = t->owner;
    const struct mi_route *route = t->route != UINT32_MAX ? ts->o.routes->slots[t->route].route : NULL;
    t->found_partitions = route && route->create_partitions ? route->create_partitions : 1;
    t->denied = true;
    t->gone = false;
    t->state = MI_TARGET_READY;
    t->missing_ns = 0;
    t->due_ns = mi_now_ns(ts->o.clock) + REFRESH_S * MI_NS_PER_S;
    mi_missing_remove(ts->o.missing, t->stream, t->topic);
    mi_log_limited(
        ts->o.log, &t->limit, mi_now_ns(ts->o.clock), 3600 * MI_NS_PER_S, MI_LOG_WARNING,
        "stream %.*s topic %.*s: details may not be read; %u partition(s) are taken from the route's "
        "create.partitions; grant read_topics on it",
        (int)t->stream.len, t->stream.data, (int)t->topic.len, t->topic.data, t->found_partitions);
    ts->o.ready(ts->o.context, t, false);
}

static void on_topic(void *arg, const struct iggy_result *result, const struct iggy_topic *topic)
{
    struct mi_target *t = arg;
    enum mi_outcome outcome = mi_outcome_of(result);
    if (!answered(t, result, outcome))
        return;
    if (outcome == MI_OUTCOME_STORED)
        take_details(t, topic);
    else if (result->http_status == 403 && !t->gone)
        take_rule(t);
    else if (result->kind == IGGY_HTTP && may_create(t))
        create(t);
    else
        is_missing(t, result);
}

static void ask(struct mi_target *t, uint64_t now)
{
    const struct mi_transport *transport = t->owner->o.transport;
    (void)now;
    if (t->request) /* the answer that is under way will do */
        return;
    begun(t, transport->get_topic(transport->context, span(t->stream), span(t->topic), on_topic, t));
}

/* ---- creation ---- */

static bool may_create(const struct mi_target *t)
{
    const struct mi_targets *ts = t->owner;
    if (t->route == UINT32_MAX)
        return true;
    const struct mi_out_route *r = &ts->o.routes->slots[t->route];
    if (!r->route || !r->route->create)
        return false;
    struct mi_span stream, topic;
    bool constant = ts->config->map && mi_map_constant_target(ts->config->map, r->rule, &stream, &topic);
    return constant || r->targets_made < r->route->max_targets;
}

static void on_topic_made(void *arg, const struct iggy_result *result)
{
    struct mi_target *t = arg;
    struct mi_targets *ts = t->owner;
    enum mi_outcome outcome = mi_outcome_of(result);
    if (!answered(t, result, outcome))
        return;
    if (outcome != MI_OUTCOME_STORED) {
        is_missing(t, result);
        return;
    }
    t->was_missing = true;
    if (t->route != UINT32_MAX)
        ts->o.routes->slots[t->route].targets_made++;
    mi_log_line(ts->o.log, MI_LOG_NOTICE, "stream %.*s topic %.*s: created%s%s", (int)t->stream.len,
                t->stream.data, (int)t->topic.len, t->topic.data, result->text[0] ? ": " : "", result->text);
    if (t->denied)
        take_rule(t);
    else
        want(t, mi_now_ns(ts->o.clock));
}

static void on_stream_made(void *arg, const struct iggy_result *result)
{
    struct mi_target *t = arg;
    struct mi_targets *ts = t->owner;
    enum mi_outcome outcome = mi_outcome_of(result);
    if (!answered(t, result, outcome))
        return;
    if (outcome != MI_OUTCOME_STORED && result->http_status != 403) {
        is_missing(t, result);
        return;
    }
    /* 403: the stream may exist all the same, and the topic be ours to make. */
    const struct mi_route *route = t->route != UINT32_MAX ? ts->o.routes->slots[t->route].route : NULL;
    struct iggy_topic_options options = {
        .partitions = route && route->create_partitions ? route->create_partitions : 1,
        .message_expiry_us = route ? route->message_expiry_us : 0,
        .durable = !route || route->durable,
    };
    begun(t, ts->o.transport->create_topic(ts->o.transport->context, span(t->stream), span(t->topic),
                                           &options, on_topic_made, t));
}

static void create(struct mi_target *t)
{
    const struct mi_transport *transport = t->owner->o.transport;
    begun(t, transport->create_stream(transport->context, span(t->stream), on_stream_made, t));
}

static const char *remedy(const struct mi_target *t)
{
    if (t->route == UINT32_MAX)
        return "create the dead letters' stream and topic, or grant the right to";
    const struct mi_out_route *r = &t->owner->o.routes->slots[t->route];
    if (!r->route)
        return "its route is no longer configured; create it to ship what waits";
    if (!r->route->create)
        return "create it, or set the route's create";
    if (r->targets_made >= r->route->max_targets)
        return "the route has made create.max_targets already; create it, or raise that limit";
    return "create it, or grant the right to";
}

static void is_missing(struct mi_target *t, const struct iggy_result *result)
{
    struct mi_targets *ts = t->owner;
    uint64_t now = mi_now_ns(ts->o.clock);
    t->state = MI_TARGET_MISSING;
    if (!t->missing_ns)
        t->missing_ns = now;
    t->was_missing = true;
    t->failures++;
    mi_missing_add(ts->o.missing, t->stream, t->topic);
    want(t, now + mi_backoff_ns(t->failures, ts->config->retry_min_ns, MISSING_MAX_S * MI_NS_PER_S, 0,
                                mi_random(ts->o.clock)));
    mi_log_limited(ts->o.log, &t->limit, now, SAY_EVERY_S * MI_NS_PER_S, MI_LOG_WARNING,
                   "stream %.*s topic %.*s is missing, its messages wait: %s (%s)", (int)t->stream.len,
                   t->stream.data, (int)t->topic.len, t->topic.data, remedy(t),
                   result ? result->text : "the topic has no partitions");
}
