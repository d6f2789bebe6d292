#include "history/plan.h"

#include "base/fnv.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_STREAMS = 1024 }; /* that one request looks into */

static const char too_many[] = "the filter reaches too many topics in Iggy; ask for fewer levels at a time";
static const char no_route[] = "no route of this broker keeps topics of that filter in Iggy";
static const char not_listed[] = "Iggy's streams cannot be listed now";

struct mi_finder {
    struct iggy_client *client;
    const struct mi_config *config;
    const struct mi_filter *filter;
    mi_plan_done done;
    void *context;
    struct mi_plan *plan;
    iggy_request request;
    char **streams; /* still to be looked into */
    size_t stream_count, stream_at;
    const char *why; /* it failed */
};

static void add_constants(struct mi_finder *f);
static void add_place(struct mi_finder *f, size_t route, struct mi_span stream, struct mi_span topic);
static void streams_answered(void *arg, const struct iggy_result *result, const struct iggy_stream *streams,
                             size_t count);
static void end(struct mi_finder *f);

/* A route whose target depends on the message. */
static bool is_templated(const struct mi_finder *f, size_t route)
{
    struct mi_span stream, topic;
    return !mi_map_constant_target(f->config->map, route, &stream, &topic);
}

static bool reaches(const struct mi_finder *f, size_t route, struct mi_span stream, struct mi_span topic)
{
    return mi_map_reaches(f->config->map, route, stream, topic, f->filter);
}

static bool must_list(const struct mi_finder *f)
{
    struct mi_span any = {NULL, 0};
    for (size_t i = 0; i < f->config->route_count; i++)
        if (is_templated(f, i) && reaches(f, i, any, any))
            return true;
    return false;
}

struct mi_finder *mi_finder_start(struct iggy_client *client, const struct mi_config *config,
                                  const struct mi_filter *filter, mi_plan_done done, void *context)
{
    struct mi_finder *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    *f = (struct mi_finder){
        .client = client, .config = config, .filter = filter, .done = done, .context = context};
    f->plan = calloc(1, sizeof *f->plan);
    if (!f->plan) {
        free(f);
        return NULL;
    }
    add_constants(f);
    bool list = !f->why && must_list(f);
    if (!f->why && !list && f->plan->count == 0)
        f->why = no_route;
    if (list) {
        f->request = iggy_get_streams(client, streams_answered, f);
        if (f->request)
            return f;
        f->why = "out of memory";
    }
    end(f);
    return f;
}

void mi_finder_free(struct mi_finder *f)
{
    if (!f)
        return;
    iggy_request request = f->request;
    f->request = 0;
    if (request)
        iggy_client_cancel(f->client, request);
    for (size_t i = 0; i < f->stream_count; i++)
        free(f->streams[i]);
    free(f->streams);
    mi_plan_free(f->plan);
    free(f);
}

void mi_plan_free(struct mi_plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < plan->count; i++) {
        free(plan->places[i].stream);
        free(plan->places[i].topic);
        free(plan->places[i].routes);
    }
    free(plan->places);
    free(plan);
}

size_t mi_plan_find(const struct mi_plan *plan, uint64_t tag)
{
    size_t i = 0;
    while (i < plan->count && plan->places[i].tag != tag)
        i++;
    return i;
}

/* ---- places ---- */

static void add_constants(struct mi_finder *f)
{
    struct mi_span stream, topic;
    for (size_t i = 0; i < f->config->route_count && !f->why; i++)
        if (mi_map_constant_target(f->config->map, i, &stream, &topic) && reaches(f, i, stream, topic))
            add_place(f, i, stream, topic);
}

/* With the NUL. A name that is unlikely to be another's, not a check. */
static uint64_t mix(uint64_t hash, const char *text)
{
    return mi_fnv64_byte(mi_fnv64(hash, mi_span_of(text)), 0);
}

static struct mi_place *place_of(struct mi_finder *f, struct mi_span stream, struct mi_span topic)
{
    struct mi_plan *plan = f->plan;
    for (size_t i = 0; i < plan->count; i++)
        if (mi_span_equal(mi_span_of(plan->places[i].stream), stream) &&
            mi_span_equal(mi_span_of(plan->places[i].topic), topic))
            return &plan->places[i];
    if (plan->count == MI_PLAN_PLACES) {
        f->why = too_many;
        return NULL;
    }
    struct mi_place *more = realloc(plan->places, (plan->count + 1) * sizeof *more);
    if (!more)
        return NULL;
    plan->places = more;
    struct mi_place p = {.stream = mi_span_text(stream), .topic = mi_span_text(topic)};
    if (!p.stream || !p.topic) {
        free(p.stream);
        free(p.topic);
        return NULL;
    }
    p.tag = mix(mix(MI_FNV64, p.stream), p.topic);
    more[plan->count] = p;
    return &more[plan->count++];
}

static void add_place(struct mi_finder *f, size_t route, struct mi_span stream, struct mi_span topic)
{
    struct mi_place *p = place_of(f, stream, topic);
    if (p && p->route_count && p->routes[p->route_count - 1] == route)
        return;
    size_t *routes = p ? realloc(p->routes, (p->route_count + 1) * sizeof *routes) : NULL;
    if (!routes) {
        f->why = f->why ? f->why : "out of memory";
        return;
    }
    p->routes = routes;
    p->routes[p->route_count++] = route;
}

static int compare_places(const void *a, const void *b)
{
    const struct mi_place *x = a, *y = b;
    if (x->routes[0] != y->routes[0])
        return x->routes[0] < y->routes[0] ? -1 : 1;
    int by_stream = strcmp(x->stream, y->stream);
    return by_stream ? by_stream : strcmp(x->topic, y->topic);
}

static int compare_routes(const void *a, const void *b)
{
    const size_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* ---- discovery ---- */

static void keep_stream(struct mi_finder *f, struct mi_span name)
{
    if (f->stream_count == MAX_STREAMS) {
        f->why = too_many;
        return;
    }
    char **more = realloc(f->streams, (f->stream_count + 1) * sizeof *more);
    char *text = more ? mi_span_text(name) : NULL;
    if (more)
        f->streams = more;
    if (text)
        f->streams[f->stream_count++] = text;
    else
        f->why = "out of memory";
}

static bool some_route_reaches(const struct mi_finder *f, struct mi_span stream)
{
    for (size_t i = 0; i < f->config->route_count; i++)
        if (is_templated(f, i) && reaches(f, i, stream, (struct mi_span){NULL, 0}))
            return true;
    return false;
}

static void stream_answered(void *arg, const struct iggy_result *result, const struct iggy_stream *stream);

static void ask_next_stream(struct mi_finder *f)
{
    if (!f->why && f->stream_at < f->stream_count) {
        const char *name = f->streams[f->stream_at++];
        struct iggy_span span = {(const uint8_t *)name, strlen(name)};
        f->request = iggy_get_stream(f->client, span, stream_answered, f);
        if (f->request)
            return;
        f->why = "out of memory";
    }
    end(f);
}

static void streams_answered(void *arg, const struct iggy_result *result, const struct iggy_stream *streams,
                             size_t count)
{
    struct mi_finder *f = arg;
    if (result->kind == IGGY_CANCELLED && !f->request)
        return; /* by mi_finder_free */
    f->request = 0;
    if (result->kind != IGGY_OK) {
        f->why = result->http_status == 403
                     ? "the bridge's user may not list Iggy's streams, which this route needs"
                     : not_listed;
        count = 0;
    }
    for (size_t i = 0; i < count && !f->why; i++) {
        struct mi_span name = {streams[i].name.data, streams[i].name.len};
        if (some_route_reaches(f, name))
            keep_stream(f, name);
    }
    ask_next_stream(f);
}

static void stream_answered(void *arg, const struct iggy_result *result, const struct iggy_stream *stream)
{
    struct mi_finder *f = arg;
    if (result->kind == IGGY_CANCELLED && !f->request)
        return;
    f->request = 0;
    if (result->kind != IGGY_OK && result->http_status != 404)
        f->why = not_listed;
    struct mi_span name = {stream->name.data, stream->name.len};
    for (uint32_t t = 0; result->kind == IGGY_OK && stream->topics && t < stream->topics_count; t++) {
        struct mi_span topic = {stream->topics[t].name.data, stream->topics[t].name.len};
        for (size_t i = 0; i < f->config->route_count && !f->why; i++)
            if (is_templated(f, i) && reaches(f, i, name, topic))
                add_place(f, i, name, topic);
    }
    ask_next_stream(f);
}

static void end(struct mi_finder *f)
{
    struct mi_plan *plan = f->plan;
    f->plan = NULL;
    if (f->why) {
        mi_plan_free(plan);
        f->done(f->context, NULL, f->why == too_many || f->why == no_route, f->why);
        return;
    }
    plan->tag = 0;
    for (size_t i = 0; i < plan->count; i++)
        qsort(plan->places[i].routes, plan->places[i].route_count, sizeof(size_t), compare_routes);
    if (plan->count)
        qsort(plan->places, plan->count, sizeof *plan->places, compare_places);
    for (size_t i = 0; i < plan->count; i++)
        plan->tag = (plan->tag ^ plan->places[i].tag) * 1099511628211ull;
    f->done(f->context, plan, false, NULL);
}
