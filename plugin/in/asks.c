/* asks: the watch's questions as requests, and their answers. */
#include "in/in_private.h"

#include <stdlib.h>
#include <string.h>

/* One request's way back; freed in its callback. */
struct question {
    struct mi_in *in;
    struct mi_looking looking;
    uint64_t signs; /* when it was asked */
};

static struct iggy_span span(const char *text)
{
    return (struct iggy_span){(const uint8_t *)text, strlen(text)};
}

static void say_failed(struct mi_in *in, uint64_t now, const char *what, const struct iggy_result *result)
{
    mi_log_limited(in->o.log, &in->failed_log, now, MI_IN_LOG_INTERVAL_NS, MI_LOG_WARNING, "%s: %s", what,
                   result->text);
}

/* ---- streams ---- */

/* An answer that is too large is as good as none: topics are then asked for one by one. */
static bool no_right(const struct iggy_result *result)
{
    return result->http_status == 403 || result->too_large;
}

static void streams_answered(void *arg, const struct iggy_result *result, const struct iggy_stream *streams,
                             size_t count)
{
    struct mi_in *in = arg;
    uint64_t now = mi_now_ns(in->o.clock);
    in->listing = 0;
    if (result->kind == IGGY_OK) {
        mi_watch_streams(&in->watch, now, streams, count);
        return;
    }
    mi_watch_streams_failed(&in->watch, now, no_right(result));
    if (result->kind != IGGY_CANCELLED && result->http_status != 403)
        say_failed(in, now, "cannot list the streams", result);
}

static void stream_answered(void *arg, const struct iggy_result *result, const struct iggy_stream *stream)
{
    struct question *q = arg;
    struct mi_in *in = q->in;
    struct mi_stream_seen *s = q->looking.stream;
    uint64_t now = mi_now_ns(in->o.clock);
    free(q);
    s->request = 0;
    if (result->kind == IGGY_OK) {
        mi_watch_stream(&in->watch, s, now, stream);
        return;
    }
    mi_watch_stream_failed(&in->watch, s, now, no_right(result));
    if (result->kind != IGGY_CANCELLED && result->http_status != 403 && result->http_status != 404)
        say_failed(in, now, "cannot look into a stream", result);
}

/* ---- topics ---- */

static void reader_shown(void *context, struct mi_reader *r, const struct mi_judgement *j)
{
    struct mi_in *in = context;
    mi_in_found(in, r, j);
    mi_in_consider(in, r);
}

/* Readers for so many partitions, each with an id. */
static void make_readers(struct mi_in *in, struct mi_target *t, uint32_t count)
{
    uint32_t before = t->reader_count;
    mi_target_grow(t, count);
    for (uint32_t p = before; p < t->reader_count; p++)
        mi_target_set_new_id(in->set, t->readers[p], false);
    if (!t->wanted) /* asked before it was stopped */
        in->resting += t->reader_count - before;
}

static void go_blind(struct mi_in *in, struct mi_target *t)
{
    mi_watch_set(&in->watch, t, t->wanted, false);
    make_readers(in, t, mi_in_route(in, t)->create_partitions);
    for (uint32_t p = 0; p < t->reader_count; p++) {
        struct mi_reader *r = t->readers[p];
        if (!r->placed && mi_in_route(in, t)->start == MI_START_EARLIEST && !t->at_tail)
            mi_reader_place(r, 0, NULL);
        mi_in_consider(in, r);
    }
    t->at_tail = false;
}

static void topic_failed(struct mi_in *in, struct mi_target *t, const struct iggy_result *result,
                         uint64_t now)
{
    bool refused = no_right(result), missing = result->http_status == 404;
    if (missing && t->created_at == 0)
        t->was_missing = true;
    mi_watch_topic_failed(&in->watch, t, now, refused, missing);
    if (refused)
        go_blind(in, t);
    /* A target that does not exist yet is the normal state before the first message. */
    if (!missing && result->kind != IGGY_CANCELLED)
        mi_log_limited(in->o.log, &in->failed_log, now, MI_IN_LOG_INTERVAL_NS, MI_LOG_WARNING,
                       "route %s: cannot look at %s/%s: %s", mi_in_route(in, t)->name, t->stream, t->topic,
                       result->text);
}

static void say_made_again(struct mi_in *in, struct mi_target *t, uint64_t now)
{
    const struct mi_route *route = mi_in_route(in, t);
    mi_count(mi_metrics_route(in->o.metrics, route->id, route->name), MI_C_IN_MADE_AGAIN, 1);
    mi_log_limited(in->o.log, &in->change_log, now, MI_NS_PER_S, MI_LOG_WARNING,
                   "route %s: %s/%s was made again; it is read from its beginning", route->name, t->stream,
                   t->topic);
}

static void topic_answered(void *arg, const struct iggy_result *result, const struct iggy_topic *topic)
{
    struct question *q = arg;
    struct mi_in *in = q->in;
    struct mi_target *t = q->looking.target;
    uint64_t now = mi_now_ns(in->o.clock);
    mi_in_heed_signs(in);
    bool outdated = q->signs != in->signs;
    free(q);
    t->request = 0;
    if (result->kind != IGGY_OK) {
        topic_failed(in, t, result, now);
        return;
    }
    if (outdated) { /* perhaps of a log that is no more */
        mi_watch_topic(&in->watch, t, now);
        mi_watch_look_at(&in->watch, t);
        return;
    }
    uint64_t moved = t->count_seen;
    if (mi_target_made_again(t, topic))
        say_made_again(in, t, now);
    in->changed = in->changed || t->created_at != topic->created_at;
    make_readers(in, t, topic->partitions_count);
    mi_watch_heard(&in->watch, now);
    mi_target_details(t, topic, mi_in_route(in, t)->start, in->watch.round, reader_shown, in);
    mi_watch_topic(&in->watch, t, now);
    if (moved != t->count_seen && moved != MI_COUNT_UNKNOWN)
        mi_watch_traffic(&in->watch, now);
}

/* ---- sending ---- */

static iggy_request send(struct mi_in *in, struct question *q)
{
    struct mi_target *t = q->looking.target;
    if (q->looking.what == MI_LOOK_STREAM)
        return q->looking.stream->request =
                   iggy_get_stream(in->o.client, span(q->looking.stream->name), stream_answered, q);
    return t->request = iggy_get_topic(in->o.client, span(t->stream), span(t->topic), topic_answered, q);
}

uint64_t mi_in_ask(struct mi_in *in, uint64_t now)
{
    struct mi_looking l;
    while ((l = mi_watch_next(&in->watch, now)).what != MI_LOOK_NOTHING) {
        bool sent;
        if (l.what == MI_LOOK_STREAMS) {
            sent = (in->listing = iggy_get_streams(in->o.client, streams_answered, in)) != 0;
        } else {
            struct question *q = malloc(sizeof *q);
            if (q)
                *q = (struct question){in, l, in->signs};
            sent = q && send(in, q) != 0;
            if (!sent)
                free(q);
        }
        if (!sent)
            mi_watch_unasked(&in->watch, &l, now);
    }
    return mi_watch_due(&in->watch, now);
}

void mi_in_unask(struct mi_in *in, struct mi_target *t)
{
    if (t->request)
        iggy_client_cancel(in->o.client, t->request);
    if (t->seen->request && mi_target_set_last_of_stream(t))
        iggy_client_cancel(in->o.client, t->seen->request);
}
