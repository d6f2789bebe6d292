#include "in/watch.h"

#include "base/clock.h"

enum {
    MAX_ASKING = 8,
    FEW_TARGETS = 4, /* so many, with so many partitions, are asked for directly: fewer hops */
    FEW_PARTITIONS = 256,
    FEW_IN_STREAM = 2,
    /* Server time in microseconds, measured (API reference 9.4): what decides between ways to look. */
    COST_STREAMS = 55,
    COST_PER_STREAM = 3,
    COST_TOPIC = 100,
    PARTITIONS_PER_REQUEST = 256, /* details of that many count as one more request in the budget */
    FAILED_FIRST_MS = 100,
    FAILED_STEPS = 5 /* to 3.2 s */
};
#define HOLD_NS (250 * MI_NS_PER_MS) /* of the shortest pace, after traffic */
#define VERIFY_NS (5 * MI_NS_PER_S)  /* every target is looked at so often whatever counts say */
#define VERIFY_SHARE 4               /* but for at most one in so many requests of the budget */
#define RIGHTS_NS (60 * MI_NS_PER_S) /* a missing right is tried again */
#define SILENCE_NS (2 * MI_NS_PER_S) /* without any answer: what came meanwhile is backlog */

static void begin_turn(struct mi_watch *w, uint64_t now_ns);

void mi_watch_init(struct mi_watch *w, struct mi_target_set *set, uint32_t requests_per_s)
{
    *w = (struct mi_watch){.set = set, .may_list = true, .pace_ns = MI_PACE_MIN_NS, .round = 1};
    mi_budget_set(&w->budget, requests_per_s);
}

void mi_watch_fini(struct mi_watch *w)
{
    mi_timers_fini(&w->timers);
}

static bool counts(const struct mi_target *t)
{
    return t->wanted && t->may_ask;
}

void mi_watch_add(struct mi_watch *w, struct mi_target *t)
{
    w->watched += counts(t);
    mi_watch_look_at(w, t);
}

void mi_watch_forget(struct mi_watch *w, struct mi_target *t)
{
    w->watched -= counts(t);
    mi_queue_remove(&t->asks);
    mi_timers_clear(&w->timers, &t->timer);
    if (mi_target_set_last_of_stream(t))
        mi_queue_remove(&t->seen->asks);
}

void mi_watch_set(struct mi_watch *w, struct mi_target *t, bool wanted, bool may_ask)
{
    w->watched -= counts(t);
    t->wanted = wanted;
    t->may_ask = may_ask;
    w->watched += counts(t);
}

void mi_watch_look_at(struct mi_watch *w, struct mi_target *t)
{
    if (counts(t) && t->timer.place == 0)
        mi_queue_add(&w->targets, &t->asks);
}

void mi_watch_traffic(struct mi_watch *w, uint64_t now_ns)
{
    w->traffic_ns = now_ns;
    w->pace_ns = MI_PACE_MIN_NS;
    if (w->due_ns > now_ns + w->pace_ns)
        w->due_ns = now_ns + w->pace_ns;
}

void mi_watch_heard(struct mi_watch *w, uint64_t now_ns)
{
    uint64_t silence = SILENCE_NS + 4 * w->budget.per_request_ns;
    if (now_ns > w->heard_ns + silence)
        w->round++;
    w->heard_ns = now_ns;
}

/* ---- questions ---- */

/* Not of one that failed lately: that one has a timer. */
static bool take_target(struct mi_watch *w, uint64_t now_ns, struct mi_looking *l)
{
    while (w->targets.first) {
        struct mi_target *t = w->targets.first->owner;
        if (counts(t) && !t->asking &&
            !mi_budget_spend(&w->budget, now_ns, 1 + t->reader_count / PARTITIONS_PER_REQUEST))
            return false;
        mi_queue_remove(&t->asks);
        if (!counts(t) || t->asking)
            continue;
        t->asking = true;
        *l = (struct mi_looking){.what = MI_LOOK_TOPIC, .target = t};
        return true;
    }
    return false;
}

static bool take_stream(struct mi_watch *w, uint64_t now_ns, struct mi_looking *l)
{
    while (w->streams.first) {
        struct mi_stream_seen *s = w->streams.first->owner;
        if (!s->asking && !mi_budget_spend(&w->budget, now_ns, 1))
            return false;
        mi_queue_remove(&s->asks);
        if (s->asking)
            continue;
        s->asking = true;
        *l = (struct mi_looking){.what = MI_LOOK_STREAM, .stream = s};
        return true;
    }
    return false;
}

struct mi_looking mi_watch_next(struct mi_watch *w, uint64_t now_ns)
{
    struct mi_looking l = {.what = MI_LOOK_NOTHING};
    for (struct mi_target *t; (t = mi_timers_take(&w->timers, now_ns)) != NULL;) {
        mi_watch_set(w, t, t->wanted, true); /* perhaps the right is there now */
        mi_watch_look_at(w, t);
    }
    if (w->watched > 0 && now_ns >= w->due_ns && !w->targets.first && !w->streams.first && !w->list_wanted)
        begin_turn(w, now_ns);
    if (w->list_wanted && !w->listing && mi_budget_spend(&w->budget, now_ns, 1)) {
        w->list_wanted = false;
        w->listing = true;
        l.what = MI_LOOK_STREAMS;
        return l;
    }
    if (w->asking < MAX_ASKING && (take_target(w, now_ns, &l) || take_stream(w, now_ns, &l)))
        w->asking++;
    return l;
}

uint64_t mi_watch_due(const struct mi_watch *w, uint64_t now_ns)
{
    uint64_t due = mi_timers_due(&w->timers);
    bool waiting = w->targets.first || w->streams.first;
    if ((waiting && w->asking < MAX_ASKING) || (w->list_wanted && !w->listing)) {
        uint64_t budget = mi_budget_due(&w->budget, now_ns);
        return budget < due ? budget : due;
    }
    if (w->watched > 0 && !waiting && !w->list_wanted && w->due_ns < due)
        due = w->due_ns;
    return due;
}

/* ---- turns ---- */

static bool few(const struct mi_watch *w)
{
    size_t readers = mi_target_set_reader_count(w->set);
    size_t streams = w->listed ? w->listed : mi_target_set_stream_count(w->set);
    size_t directly = w->watched * COST_TOPIC + readers / 2;
    return (w->watched <= FEW_TARGETS && readers <= FEW_PARTITIONS) ||
           directly <= COST_STREAMS + streams * COST_PER_STREAM;
}

/* Details of the targets of a stream; not of those whose partitions are all being polled. */
static void look_at_targets(struct mi_watch *w, struct mi_stream_seen *s)
{
    for (struct mi_link *l = s->targets.first; l; l = l->next) {
        struct mi_target *t = l->owner;
        if (t->reader_count == 0 || t->direct < t->reader_count)
            mi_watch_look_at(w, t);
    }
}

static void step_into(struct mi_watch *w, struct mi_stream_seen *s, uint64_t now_ns)
{
    if (!s->may_ask && now_ns >= s->not_before_ns)
        s->may_ask = true;
    if (s->targets.count <= FEW_IN_STREAM || !s->may_ask)
        look_at_targets(w, s);
    else
        mi_queue_add(&w->streams, &s->asks);
}

/* The next few of all targets, such that each has its turn about every VERIFY_NS. */
static void verify(struct mi_watch *w, uint64_t now_ns)
{
    size_t count = mi_target_set_count(w->set);
    uint64_t interval = VERIFY_NS / (count ? count : 1), least = w->budget.per_request_ns * VERIFY_SHARE;
    if (interval < least)
        interval = least;
    if (w->verify_ns + MI_NS_PER_S < now_ns)
        w->verify_ns = now_ns;
    for (; count > 0 && w->verify_ns <= now_ns; w->verify_ns += interval) {
        w->verify_at = (w->verify_at + 1) % count;
        mi_watch_look_at(w, mi_target_set_at(w->set, w->verify_at));
    }
}

static void begin_turn(struct mi_watch *w, uint64_t now_ns)
{
    if (now_ns > w->traffic_ns + HOLD_NS)
        w->pace_ns += w->pace_ns / 8;
    if (w->pace_ns > MI_PACE_MAX_NS)
        w->pace_ns = MI_PACE_MAX_NS;
    w->due_ns = now_ns + w->pace_ns;
    if (!w->may_list && now_ns >= w->list_again_ns)
        w->may_list = true;
    bool directly = few(w);
    w->list_wanted = !directly && w->may_list && !w->listing;
    if (directly || !w->may_list)
        for (size_t i = 0; i < mi_target_set_stream_count(w->set); i++) {
            struct mi_stream_seen *s = mi_target_set_stream_at(w->set, i);
            if (directly)
                look_at_targets(w, s);
            else if (now_ns >= s->not_before_ns || !s->may_ask)
                step_into(w, s, now_ns);
        }
    verify(w, now_ns);
}

/* ---- answers ---- */

static uint64_t backoff_ns(unsigned *failures)
{
    unsigned step = *failures < FAILED_STEPS ? *failures : FAILED_STEPS;
    ++*failures;
    return ((uint64_t)FAILED_FIRST_MS << step) * MI_NS_PER_MS;
}

static struct mi_span name_of(struct iggy_span s)
{
    return (struct mi_span){s.data, s.len};
}

void mi_watch_streams(struct mi_watch *w, uint64_t now_ns, const struct iggy_stream *streams, size_t count)
{
    mi_watch_heard(w, now_ns);
    w->listing = false;
    w->list_failures = 0;
    w->listed = count;
    for (size_t i = 0; i < count; i++) {
        struct mi_stream_seen *s = mi_target_set_stream(w->set, name_of(streams[i].name));
        if (!s || s->count_seen == streams[i].messages_count || (s->may_ask && now_ns < s->not_before_ns))
            continue;
        s->count_seen = streams[i].messages_count;
        step_into(w, s, now_ns);
    }
}

void mi_watch_streams_failed(struct mi_watch *w, uint64_t now_ns, bool no_right)
{
    w->listing = false;
    if (no_right) {
        w->may_list = false;
        w->list_again_ns = now_ns + RIGHTS_NS;
    } else {
        w->due_ns = now_ns + backoff_ns(&w->list_failures);
    }
}

/* A topic may be read by several routes. */
void mi_watch_stream(struct mi_watch *w, struct mi_stream_seen *s, uint64_t now_ns,
                     const struct iggy_stream *stream)
{
    mi_watch_heard(w, now_ns);
    w->asking--;
    s->asking = false;
    s->failures = 0;
    s->not_before_ns = 0;
    for (uint32_t i = 0; stream->topics && i < stream->topics_count; i++) {
        const struct iggy_topic *topic = &stream->topics[i];
        struct mi_target *t = NULL;
        while ((t = mi_target_set_named(w->set, mi_span_of(s->name), name_of(topic->name), t)) != NULL)
            if (t->count_seen != topic->messages_count)
                mi_watch_look_at(w, t);
    }
}

void mi_watch_stream_failed(struct mi_watch *w, struct mi_stream_seen *s, uint64_t now_ns, bool no_right)
{
    w->asking--;
    s->asking = false;
    s->count_seen = MI_COUNT_UNKNOWN;
    if (no_right) {
        s->may_ask = false;
        s->not_before_ns = now_ns + RIGHTS_NS;
        look_at_targets(w, s);
    } else {
        s->not_before_ns = now_ns + backoff_ns(&s->failures);
    }
}

void mi_watch_topic(struct mi_watch *w, struct mi_target *t, uint64_t now_ns)
{
    mi_watch_heard(w, now_ns);
    w->asking--;
    t->asking = false;
    t->failures = 0;
}

void mi_watch_topic_failed(struct mi_watch *w, struct mi_target *t, uint64_t now_ns, bool no_right,
                           bool missing)
{
    w->asking--;
    t->asking = false;
    t->count_seen = MI_COUNT_UNKNOWN;
    uint64_t wait = no_right ? RIGHTS_NS : mi_target_backoff(t, missing);
    mi_timers_set(&w->timers, &t->timer, now_ns + wait);
}

void mi_watch_unasked(struct mi_watch *w, const struct mi_looking *l, uint64_t now_ns)
{
    if (l->what == MI_LOOK_STREAMS)
        mi_watch_streams_failed(w, now_ns, false);
    else if (l->what == MI_LOOK_STREAM)
        mi_watch_stream_failed(w, l->stream, now_ns, false);
    else if (l->what == MI_LOOK_TOPIC)
        mi_watch_topic_failed(w, l->target, now_ns, false, false);
}
