#include "in/discover.h"

#include <stdlib.h>
#include <string.h>

#define ROUND_NS (2 * 1000000000ull)
enum { MAX_STREAMS_PER_ROUND = 10000 };

struct mi_discover {
    struct iggy_client *client;
    const struct mi_config *config;
    void (*found)(void *context, size_t route, struct mi_span stream, struct mi_span topic);
    void (*whole)(void *context);
    void *context;
    bool missed; /* something was not answered this round */
    bool needed; /* some route that reads has a templated target */
    iggy_request request;
    bool busy;
    char **streams; /* that fit, still to be looked into this round */
    size_t stream_count, stream_at;
    uint64_t due_ns;
};

static void ask_next_stream(struct mi_discover *d);

struct mi_discover *mi_discover_new(struct iggy_client *client,
                                    void (*found)(void *context, size_t route, struct mi_span stream,
                                                  struct mi_span topic),
                                    void (*whole)(void *context), void *context)
{
    struct mi_discover *d = calloc(1, sizeof *d);
    if (!d)
        return NULL;
    d->client = client;
    d->found = found;
    d->whole = whole;
    d->context = context;
    return d;
}

static void end_round(struct mi_discover *d)
{
    for (size_t i = 0; i < d->stream_count; i++)
        free(d->streams[i]);
    free(d->streams);
    d->streams = NULL;
    d->stream_count = d->stream_at = 0;
    d->busy = false;
    d->request = 0;
}

static void cancel(struct mi_discover *d)
{
    iggy_request request = d->request;
    d->request = 0;
    if (request)
        iggy_client_cancel(d->client, request);
    end_round(d);
}

void mi_discover_free(struct mi_discover *d)
{
    if (!d)
        return;
    cancel(d);
    free(d);
}

bool mi_discover_seeks(const struct mi_config *config, size_t route)
{
    struct mi_span stream, topic;
    return (config->routes[route].direction & MI_IN) &&
           !mi_map_constant_target(config->map, route, &stream, &topic);
}

void mi_discover_set_config(struct mi_discover *d, const struct mi_config *config)
{
    cancel(d);
    d->config = config;
    d->needed = false;
    d->due_ns = 0;
    for (size_t i = 0; config && i < config->route_count; i++)
        d->needed = d->needed || mi_discover_seeks(config, i);
}

static bool some_route_fits(const struct mi_discover *d, struct mi_span stream)
{
    for (size_t i = 0; i < d->config->route_count; i++)
        if (mi_discover_seeks(d->config, i) && mi_map_stream_fits(d->config->map, i, stream))
            return true;
    return false;
}

static void keep_stream(struct mi_discover *d, struct mi_span name)
{
    char **more = realloc(d->streams, (d->stream_count + 1) * sizeof *more);
    if (!more)
        return;
    d->streams = more;
    char *text = malloc(name.len + 1);
    if (!text)
        return;
    memcpy(text, name.data, name.len);
    text[name.len] = '\0';
    d->streams[d->stream_count++] = text;
}

static void streams_answered(void *arg, const struct iggy_result *result, const struct iggy_stream *streams,
                             size_t count)
{
    struct mi_discover *d = arg;
    if (result->kind == IGGY_CANCELLED)
        return;
    d->request = 0;
    d->missed = result->kind != IGGY_OK;
    if (d->missed)
        count = 0;
    for (size_t i = 0; i < count && d->stream_count < MAX_STREAMS_PER_ROUND; i++) {
        struct mi_span name = {streams[i].name.data, streams[i].name.len};
        if (some_route_fits(d, name))
            keep_stream(d, name);
    }
    ask_next_stream(d);
}

static void report_topics(struct mi_discover *d, const struct iggy_stream *stream)
{
    struct mi_span stream_name = {stream->name.data, stream->name.len};
    for (uint32_t t = 0; stream->topics && t < stream->topics_count; t++) {
        struct mi_span topic = {stream->topics[t].name.data, stream->topics[t].name.len};
        for (size_t i = 0; i < d->config->route_count; i++)
            if (mi_discover_seeks(d->config, i) && mi_map_topic_fits(d->config->map, i, stream_name, topic))
                d->found(d->context, i, stream_name, topic);
    }
}

static void stream_answered(void *arg, const struct iggy_result *result, const struct iggy_stream *stream)
{
    struct mi_discover *d = arg;
    if (result->kind == IGGY_CANCELLED)
        return;
    d->request = 0;
    if (result->kind == IGGY_OK)
        report_topics(d, stream);
    else if (result->http_status != 404)
        d->missed = true;
    ask_next_stream(d);
}

static void ask_next_stream(struct mi_discover *d)
{
    if (d->stream_at < d->stream_count) {
        const char *name = d->streams[d->stream_at++];
        struct iggy_span span = {(const uint8_t *)name, strlen(name)};
        d->request = iggy_get_stream(d->client, span, stream_answered, d);
        if (d->request)
            return;
        d->missed = true;
    }
    end_round(d);
    if (!d->missed)
        d->whole(d->context);
}

uint64_t mi_discover_step(struct mi_discover *d, uint64_t now_ns)
{
    if (!d->needed || d->busy)
        return UINT64_MAX;
    if (now_ns < d->due_ns)
        return d->due_ns;
    d->due_ns = now_ns + ROUND_NS;
    d->request = iggy_get_streams(d->client, streams_answered, d);
    d->busy = d->request != 0;
    return d->busy ? UINT64_MAX : d->due_ns;
}
