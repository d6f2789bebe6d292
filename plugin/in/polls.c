/* polls: what the readers want to know as poll requests, and the answers as messages in the inbox. */
#include "in/in_private.h"

#include <stdlib.h>
#include <string.h>

#include "in/deliver.h"

enum {
    QUIET_POLLS = 12,     /* empty answers in a row, then a partition has no traffic any more */
    QUIET_STEP = 4,       /* so many, and it is polled half as often */
    FULL_RETRY_MS = 5,    /* the inbox is full: look again */
    BACKLOG_LOOK_MS = 20, /* tokens for a backlog are spent in such steps */
    BLIND_MAX_MS = 1000,
    NEW_FIRST_MS = 5, /* a partition that was made just now answers 504 for some milliseconds */
    NEW_MAX_MS = 200,
    FAILED_FIRST_MS = 100,
    FAILED_STEPS = 6,
    SIGNS_FREE = 12
};

#define SIGNS_IN_ROW_NS (10 * MI_NS_PER_S) /* of the one before */
#define SIGNS_MAX_NS (60 * MI_NS_PER_S)
#define SIGNS_LOG_NS (3600 * MI_NS_PER_S)

/* One poll's way back to its reader; freed in its callback. */
struct question {
    struct mi_in *in;
    struct mi_reader *reader;
};

static void answered(void *arg, const struct iggy_result *result, const struct iggy_polled *answer);

/* ---- which reader asks when ---- */

static bool blind(const struct mi_reader *r)
{
    return !r->target->may_ask;
}

/* What only looks whether there is something is left to the budget; an active partition is reading. */
static void queue_up(struct mi_in *in, struct mi_reader *r, enum mi_ask ask)
{
    bool reads = ask == MI_ASK_SINCE || r->direct || r->track.read_next < r->end;
    mi_queue_add(reads ? &in->news : &in->spare, &r->ready);
}

void mi_in_consider(struct mi_in *in, struct mi_reader *r)
{
    bool waits_for_a_reason = r->failures > 0 && r->timer.place;
    if (r->placed && r->target->wanted && !r->scan_decided)
        mi_in_scan_decide(in, r);
    if (r->polling || !r->target->wanted || waits_for_a_reason)
        return;
    enum mi_ask ask = mi_reader_wants(r, blind(r), blind(r) && !r->timer.place);
    if (ask == MI_ASK_NOTHING)
        return;
    queue_up(in, r, ask);
}

static void set_direct(struct mi_in *in, struct mi_reader *r, bool direct)
{
    if (direct == r->direct || (direct && in->direct >= MI_IN_MAX_DIRECT))
        return;
    r->direct = direct;
    in->direct += direct ? 1u : -1u;
    r->target->direct += direct ? 1u : -1u;
}

void mi_in_stop_reader(struct mi_in *in, struct mi_reader *r)
{
    if (r->polling)
        iggy_client_cancel(in->o.client, r->request);
    mi_queue_remove(&r->ready);
    mi_timers_clear(&in->waiting, &r->timer);
    set_direct(in, r, false);
}

/* Where connections do not stay open (a proxy may close them after every answer) each request is a sign, and
 * whoever heeds all of them never comes to an end: after some in a row they are heeded less and less often.
 */
static bool heeds(struct mi_in *in, uint64_t now)
{
    if (now < in->doubt_again_ns)
        return false;
    in->doubts = now < in->doubted_ns + SIGNS_IN_ROW_NS || now < in->doubt_again_ns + SIGNS_IN_ROW_NS
                     ? in->doubts + 1
                     : 0;
    in->doubted_ns = now;
    if (in->doubts < SIGNS_FREE)
        return true;
    unsigned step = in->doubts - SIGNS_FREE;
    uint64_t wait = step < 6 ? MI_NS_PER_S << step : SIGNS_MAX_NS;
    in->doubt_again_ns = now + wait;
    mi_log_limited(
        in->o.log, &in->signs_log, now, SIGNS_LOG_NS, MI_LOG_WARNING,
        "connections to Iggy do not stay open, so that restarts of it cannot be told by them; it is "
        "made sure every %llu s that what is read is still the same",
        (unsigned long long)(wait / MI_NS_PER_S));
    return true;
}

/* Answers under way may come from either process, and are not used. */
void mi_in_heed_signs(struct mi_in *in)
{
    uint64_t signs = iggy_client_signs(in->o.client);
    if (signs == in->signs || !heeds(in, mi_now_ns(in->o.clock)))
        return;
    in->signs = signs;
    for (size_t i = 0; i < mi_target_set_count(in->set); i++) {
        struct mi_target *t = mi_target_set_at(in->set, i);
        mi_watch_look_at(&in->watch, t);
        for (uint32_t p = 0; p < t->reader_count; p++) {
            struct mi_reader *r = t->readers[p];
            mi_reader_doubt(r);
            mi_in_consider(in, r);
        }
    }
}

static void wait_until(struct mi_in *in, struct mi_reader *r, uint64_t due_ns)
{
    mi_queue_remove(&r->ready);
    mi_timers_set(&in->waiting, &r->timer, due_ns);
}

/* ---- what was found ---- */

static void say(struct mi_in *in, struct mi_reader *r, enum mi_route_counter which, uint64_t n,
                const char *what)
{
    const struct mi_target *t = r->target;
    const struct mi_route *route = mi_in_route(in, t);
    mi_count(mi_metrics_route(in->o.metrics, route->id, route->name), which, n);
    mi_log_limited(in->o.log, &in->change_log, mi_now_ns(in->o.clock), MI_NS_PER_S, MI_LOG_WARNING,
                   "route %s: %s/%s partition %u %s; reading goes on at offset %llu", route->name, t->stream,
                   t->topic, r->partition, what, (unsigned long long)r->track.read_next);
}

void mi_in_found(struct mi_in *in, struct mi_reader *r, const struct mi_judgement *j)
{
    if (j->new_life)
        mi_target_set_new_id(in->set, r, true);
    if (j->found == MI_FOUND_TAIL_LOST)
        say(in, r, MI_C_IN_TAIL_LOST, 1, "ends before what was already read: Iggy lost messages");
    if (j->found == MI_FOUND_REUSED)
        say(in, r, MI_C_IN_REUSED, 1,
            "has another message where one was read: Iggy lost messages and gave their offsets out again");
    if (j->found == MI_FOUND_EXPIRED)
        say(in, r, MI_C_IN_EXPIRED, j->expired, "lost messages to retention before they were read");
    if (j->need_details)
        mi_watch_look_at(&in->watch, r->target);
    if (j->found != MI_FOUND_NOTHING)
        in->changed = true;
}

static void count_skipped(struct mi_in *in, const struct mi_reader *r, uint64_t offset,
                          enum mi_route_counter which, const char *why)
{
    const struct mi_target *t = r->target;
    const struct mi_route *route = mi_in_route(in, t);
    mi_count(mi_metrics_route(in->o.metrics, route->id, route->name), which, 1);
    if (why)
        mi_log_limited(in->o.log, &in->skipped_log, mi_now_ns(in->o.clock), MI_IN_LOG_INTERVAL_NS,
                       MI_LOG_WARNING,
                       "route %s: message at offset %llu of %s/%s partition %u was not published: %s",
                       route->name, (unsigned long long)offset, t->stream, t->topic, r->partition, why);
}

/* ---- messages ---- */

enum taken { TAKEN_PUT, TAKEN_SKIPPED, TAKEN_NO_MEMORY };

static enum taken take_message(struct mi_in *in, struct mi_reader *r, const struct iggy_polled_message *m)
{
    const struct mi_target *t = r->target;
    struct mi_delivery d = {
        .config = in->config,
        .route = t->route,
        .stream = mi_span_of(t->stream),
        .topic = mi_span_of(t->topic),
        .partition = r->partition,
        .appended_us = m->timestamp,
        .headers = {m->headers.data, m->headers.len},
        .payload = {m->payload.data, m->payload.len},
        .now_us = mi_wall_us(in->o.clock),
        .identity = mi_span_of(in->o.identity),
        .is_own = in->o.is_own,
        .context = in->o.context,
    };
    struct mi_mark mark = {m->offset, m->id.hi, m->id.lo, m->timestamp};
    enum mi_route_counter skipped;
    const char *why;
    struct mi_inbound *inbound = mi_deliver(&d, &in->scratch, &in->topic, &skipped, &why);
    if (!inbound && skipped == MI_C_ROUTE_COUNTERS)
        return TAKEN_NO_MEMORY;
    if (inbound) {
        inbound->reader = r->id;
        inbound->mark = mark;
        mi_track_put(&r->track, m->offset);
        mi_inbox_put(in->o.inbox, inbound);
    } else {
        count_skipped(in, r, m->offset, skipped, why);
    }
    if (mi_track_read(&r->track, &mark))
        mi_in_moved(in, r);
    r->read_any = true;
    return inbound ? TAKEN_PUT : TAKEN_SKIPPED;
}

/* What was live is paid for; the rest took tokens, and those that were not needed go back. */
static void pay(struct mi_in *in, struct mi_reader *r, uint64_t put)
{
    uint64_t live = put < r->live ? put : r->live;
    r->live -= live;
    uint64_t spent = put - live < r->tokens ? put - live : r->tokens;
    mi_tokens_give_back(&in->backlog[r->target->route], r->tokens - spent);
    r->tokens = 0;
}

static void take_messages(struct mi_in *in, struct mi_reader *r, const struct iggy_polled *answer)
{
    uint64_t put = 0;
    uint64_t end = answer->messages[answer->count - 1].offset;
    if (end < answer->current_offset)
        end = answer->current_offset;
    mi_reader_saw_end(r, end + 1 > r->end ? end + 1 : r->end, in->watch.round, false);
    for (size_t i = 0; i < answer->count; i++) {
        if (!mi_reader_fresh(r, &answer->messages[i]))
            continue;
        enum taken taken = take_message(in, r, &answer->messages[i]);
        if (taken == TAKEN_NO_MEMORY)
            break;
        put += taken == TAKEN_PUT;
    }
    pay(in, r, put);
    if (put > 0)
        in->o.wake(in->o.context);
}

/* ---- answers ---- */

static void failed(struct mi_in *in, struct mi_reader *r, uint64_t wait_ms)
{
    r->failures++;
    wait_until(in, r, mi_now_ns(in->o.clock) + wait_ms * MI_NS_PER_MS);
}

static uint64_t doubled(uint64_t first_ms, unsigned failures, uint64_t most_ms)
{
    uint64_t ms = first_ms << (failures < FAILED_STEPS ? failures : FAILED_STEPS);
    return ms < most_ms ? ms : most_ms;
}

static void say_failed(struct mi_in *in, const struct mi_reader *r, const char *text)
{
    const struct mi_target *t = r->target;
    mi_log_limited(in->o.log, &in->failed_log, mi_now_ns(in->o.clock), MI_IN_LOG_INTERVAL_NS, MI_LOG_WARNING,
                   "route %s: cannot poll %s/%s partition %u: %s", mi_in_route(in, t)->name, t->stream,
                   t->topic, r->partition, text);
}

/* Fewer messages at a time, until a single one is still too large: then that one is skipped. */
static void too_large(struct mi_in *in, struct mi_reader *r)
{
    if (!mi_reader_too_large(r, in->config->max_poll_bytes)) {
        count_skipped(in, r, r->track.read_next, MI_C_IN_TOO_LARGE, "it is larger than max_poll_bytes");
        r->check = r->since = false;
        if (mi_track_skip_to(&r->track, r->track.read_next + 1))
            mi_in_moved(in, r);
        r->message_bytes = 0;
    }
    mi_in_consider(in, r);
}

static void poll_failed(struct mi_in *in, struct mi_reader *r, const struct iggy_result *result)
{
    if (result->kind == IGGY_GARBLED && result->too_large && r->asked == MI_ASK_MESSAGES) {
        too_large(in, r);
        return;
    }
    if (result->kind == IGGY_GARBLED && result->too_large && r->asked == MI_ASK_CHECK) {
        r->check = false; /* one that large was not delivered either */
        mi_in_consider(in, r);
        return;
    }
    bool is_new = result->http_status == 504;
    if (result->http_status == 404) {
        mi_reader_missing(r);
        mi_watch_look_at(&in->watch, r->target);
    } else if (!is_new && result->kind != IGGY_CANCELLED)
        say_failed(in, r, result->text);
    failed(in, r,
           is_new ? doubled(NEW_FIRST_MS, r->failures, NEW_MAX_MS)
                  : doubled(FAILED_FIRST_MS, r->failures, UINT64_MAX));
}

/* When it asks again, though nothing new is known. */
static void rest(struct mi_in *in, struct mi_reader *r, bool messages, uint64_t now)
{
    r->quiet = messages ? 0 : r->quiet + 1;
    if (messages)
        set_direct(in, r, true);
    if (r->quiet >= QUIET_POLLS)
        set_direct(in, r, false);
    if (mi_reader_wants(r, blind(r), false) != MI_ASK_NOTHING) {
        mi_in_consider(in, r);
    } else if (blind(r) && r->quiet > 0) {
        uint64_t ms = r->quiet * MI_PACE_MAX_NS / MI_NS_PER_MS / QUIET_POLLS;
        wait_until(in, r, now + (ms < BLIND_MAX_MS ? ms : BLIND_MAX_MS) * MI_NS_PER_MS);
    } else if (blind(r) || r->direct) {
        wait_until(in, r, now + (MI_PACE_MIN_NS << r->quiet / QUIET_STEP));
    }
}

static void judge(struct mi_in *in, struct mi_reader *r, const struct iggy_polled *answer,
                  size_t answer_bytes, uint64_t now)
{
    mi_watch_heard(&in->watch, now);
    struct mi_judgement j = mi_reader_judge(r, answer);
    if (j.unfit) {
        say_failed(in, r, "the answer is not what was asked for");
        failed(in, r, doubled(FAILED_FIRST_MS, r->failures, UINT64_MAX));
        return;
    }
    r->failures = 0;
    mi_in_found(in, r, &j);
    if (j.take) {
        mi_reader_sized(r, answer_bytes, answer->count);
        take_messages(in, r, answer);
        mi_watch_traffic(&in->watch, now);
    }
    rest(in, r, j.take, now);
}

static void answered(void *arg, const struct iggy_result *result, const struct iggy_polled *answer)
{
    struct question *q = arg;
    struct mi_in *in = q->in;
    struct mi_reader *r = q->reader;
    free(q);
    mi_in_heed_signs(in);
    in->polls--;
    in->reserved -= r->asked_count;
    r->polling = false;
    if (r->discard || !r->target->wanted) {
        r->discard = false;
        mi_in_consider(in, r);
    } else if (result->kind != IGGY_OK) {
        poll_failed(in, r, result);
    } else {
        judge(in, r, answer, result->answer_bytes, mi_now_ns(in->o.clock));
    }
    if (r->tokens)
        pay(in, r, 0);
}

/* ---- asking ---- */

static bool send(struct mi_in *in, struct mi_reader *r, enum mi_ask ask, uint32_t most)
{
    struct question *q = malloc(sizeof *q);
    if (!q)
        return false;
    *q = (struct question){in, r};
    const struct mi_target *t = r->target;
    struct iggy_poll poll = {
        .stream = {(const uint8_t *)t->stream, strlen(t->stream)},
        .topic = {(const uint8_t *)t->topic, strlen(t->topic)},
    };
    r->overlap = in->doubts >= SIGNS_FREE && mi_now_ns(in->o.clock) < in->doubt_again_ns + SIGNS_IN_ROW_NS;
    mi_reader_question(r, ask, most, in->config->max_poll_bytes, &poll);
    r->request = iggy_poll(in->o.client, &poll, answered, q);
    r->polling = r->request != 0;
    if (!r->polling) {
        free(q);
        return false;
    }
    in->polls++;
    in->reserved += r->asked_count;
    return true;
}

size_t mi_in_room(const struct mi_in *in)
{
    size_t room = mi_inbox_room(in->o.inbox);
    return room > in->reserved ? room - in->reserved : 0;
}

static void ask(struct mi_in *in, struct mi_reader *r, enum mi_ask what, size_t most)
{
    uint64_t now = mi_now_ns(in->o.clock), behind = r->end - r->track.read_next;
    bool news = what == MI_ASK_MESSAGES && r->end > r->track.read_next;
    if (most > UINT32_MAX)
        most = UINT32_MAX;
    if (news && r->live < behind && r->live < most) {
        struct mi_tokens *backlog = &in->backlog[r->target->route];
        r->tokens = mi_tokens_take(backlog, now, (behind < most ? behind : most) - r->live);
        if (r->live + r->tokens == 0) {
            wait_until(in, r, mi_tokens_due(backlog, now) + BACKLOG_LOOK_MS * MI_NS_PER_MS);
            return;
        }
        if (r->live + r->tokens < most)
            most = r->live + r->tokens;
    }
    if (!send(in, r, what, (uint32_t)most)) {
        pay(in, r, 0);
        wait_until(in, r, now + FAILED_FIRST_MS * MI_NS_PER_MS); /* memory is out */
    }
}

uint64_t mi_in_poll(struct mi_in *in, uint64_t now)
{
    for (struct mi_reader *r; (r = mi_timers_take(&in->waiting, now)) != NULL;) {
        enum mi_ask ask = mi_reader_wants(r, blind(r), blind(r) || r->direct);
        if (ask != MI_ASK_NOTHING && !r->polling && r->target->wanted)
            queue_up(in, r, ask);
    }
    for (size_t most; in->polls < MI_IN_MAX_POLLS && (in->news.first || in->spare.first);) {
        if ((most = mi_in_room(in)) == 0)
            return now + FULL_RETRY_MS * MI_NS_PER_MS;
        if (!in->news.first && !mi_budget_spend(&in->watch.budget, now, 1)) {
            uint64_t due = mi_budget_due(&in->watch.budget, now), timers = mi_timers_due(&in->waiting);
            return due < timers ? due : timers;
        }
        struct mi_reader *r = mi_queue_take(in->news.first ? &in->news : &in->spare);
        enum mi_ask what = mi_reader_wants(r, blind(r), blind(r) || r->direct);
        if (what != MI_ASK_NOTHING && !r->polling)
            ask(in, r, what, most);
    }
    return mi_timers_due(&in->waiting);
}
