/*
 * in: which targets there are, the turn, and the positions. Requests and answers are in asks.c and polls.c.
 */
#include "in/in.h"

#include <stdlib.h>
#include <string.h>

#include "in/in_private.h"

static void add_constant_targets(struct mi_in *in);
static void add_target(struct mi_in *in, size_t route, struct mi_span stream, struct mi_span topic,
                       bool is_new);
static void found_target(void *context, size_t route, struct mi_span stream, struct mi_span topic);
static void searched_all(void *context);
static void drop_target(struct mi_in *in, struct mi_target *t);
static bool make_backlog(struct mi_in *in);

struct mi_in *mi_in_new(const struct mi_in_options *options, struct mi_error *err)
{
    struct mi_in *in = calloc(1, sizeof *in);
    bool made = false;
    if (in) {
        in->o = *options;
        in->config = mi_config_hold(options->config);
        in->rebuild_budget.left = in->config->rebuild_size;
        mi_buf_init(&in->scratch, 256u << 20);
        mi_buf_init(&in->topic, 65536);
        mi_saved_init(&in->saved);
        in->set = mi_target_set_new();
        mi_watch_init(&in->watch, in->set, in->config->watch_requests);
        in->discover = mi_discover_new(options->client, found_target, searched_all, in);
        in->mirror = mi_mirror_new(options->client, options->identity, options->clock, options->log);
        made = in->set && in->discover && in->mirror && make_backlog(in);
    }
    if (!made) {
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
    mi_mirror_free(in->mirror);
    if (in->listing)
        iggy_client_cancel(in->o.client, in->listing);
    while (in->set && mi_target_set_count(in->set) > 0)
        drop_target(in, mi_target_set_at(in->set, 0));
    mi_target_set_free(in->set);
    mi_watch_fini(&in->watch);
    mi_timers_fini(&in->waiting);
    mi_saved_fini(&in->saved);
    mi_interest_picture_release(in->interest);
    mi_config_release(in->config);
    free(in->backlog);
    free(in->searched);
    mi_buf_fini(&in->scratch);
    mi_buf_fini(&in->topic);
    free(in);
}

/* One for each route; after a reload they begin anew. */
static bool make_backlog(struct mi_in *in)
{
    size_t count = in->config->route_count;
    struct mi_tokens *backlog = calloc(count ? count : 1, sizeof *backlog);
    if (!backlog)
        return false;
    for (size_t i = 0; i < count; i++)
        mi_tokens_set(&backlog[i], in->config->routes[i].catch_up_rate, mi_now_ns(in->o.clock));
    free(in->backlog);
    in->backlog = backlog;
    return true;
}

static void drop_target(struct mi_in *in, struct mi_target *t)
{
    mi_in_unask(in, t);
    for (uint32_t p = 0; p < t->reader_count; p++) {
        mi_in_stop_reader(in, t->readers[p]);
        mi_in_scan_drop(in, t->readers[p]);
        mi_in_keep_forget(t->readers[p]);
    }
    mi_watch_forget(&in->watch, t);
    in->resting -= t->wanted ? 0 : t->reader_count;
    mi_target_set_drop(in->set, t);
    in->interest_at = 0; /* the order has changed */
}

/* ---- which targets there are ---- */

struct restoring {
    struct mi_in *in;
    struct mi_target *target;
};

static void restore(void *context, const struct mi_position *p)
{
    struct restoring *to = context;
    struct mi_target *t = to->target;
    uint32_t before = t->reader_count;
    if (p->partition >= MI_MAX_PARTITIONS || !mi_target_grow(t, p->partition + 1))
        return;
    for (uint32_t i = before; i < t->reader_count; i++)
        mi_target_set_new_id(to->in->set, t->readers[i], false);
    struct mi_reader *r = t->readers[p->partition];
    t->created_at = p->created_at;
    t->rests = t->rests || p->rests;
    mi_reader_place(r, p->next, p->marked ? &p->mark : NULL);
    mi_reader_doubt(r);
    r->read_any = p->marked;
    r->rebuild = p->rebuild || to->in->o.rebuild;
}

static void restore_positions(struct mi_in *in, struct mi_target *t)
{
    struct restoring to = {in, t};
    mi_saved_take(&in->saved, t->route_id, mi_span_of(t->stream), mi_span_of(t->topic), restore, &to);
}

/* is_new: all of it came since the route is read, so none of it is skipped, wherever reading begins. */
static void add_target(struct mi_in *in, size_t route, struct mi_span stream, struct mi_span topic,
                       bool is_new)
{
    uint32_t id = in->config->routes[route].id;
    if (mi_target_set_find(in->set, id, stream, topic))
        return;
    struct mi_target *t = mi_target_set_add(in->set, route, id, stream, topic);
    if (!t)
        return;
    restore_positions(in, t);
    mi_in_feed_first(in, t);
    t->was_missing = is_new && t->wanted;
    mi_watch_add(&in->watch, t);
}

static bool was_searched(const struct mi_in *in, uint32_t route)
{
    for (size_t i = 0; i < in->searched_count; i++)
        if (in->searched[i] == route)
            return true;
    return false;
}

static void note_searched(struct mi_in *in, uint32_t route)
{
    if (in->searched_count == MI_MAX_ROUTES || was_searched(in, route))
        return;
    uint32_t *more = realloc(in->searched, (in->searched_count + 1) * sizeof *more);
    if (!more)
        return;
    in->searched = more;
    more[in->searched_count++] = route;
}

static void found_target(void *context, size_t route, struct mi_span stream, struct mi_span topic)
{
    struct mi_in *in = context;
    add_target(in, route, stream, topic, was_searched(in, in->config->routes[route].id));
}

static void searched_all(void *context)
{
    struct mi_in *in = context;
    for (size_t i = 0; i < in->config->route_count; i++)
        if (mi_discover_seeks(in->config, i))
            note_searched(in, in->config->routes[i].id);
}

static void add_constant_targets(struct mi_in *in)
{
    for (size_t i = 0; i < in->config->route_count; i++) {
        struct mi_span stream, topic;
        if ((in->config->routes[i].direction & MI_IN) &&
            mi_map_constant_target(in->config->map, i, &stream, &topic))
            add_target(in, i, stream, topic, false);
    }
}

/* The index of a route by its id; as a rule it is where it was. */
static bool find_route(const struct mi_config *config, uint32_t id, size_t hint, size_t *index)
{
    for (size_t n = 0; n < config->route_count; n++) {
        *index = (hint + n) % config->route_count;
        if (config->routes[*index].id == id)
            return (config->routes[*index].direction & MI_IN) != 0;
    }
    return false;
}

static bool still_there(const struct mi_config *config, struct mi_target *t)
{
    struct mi_span stream = mi_span_of(t->stream), topic = mi_span_of(t->topic);
    return find_route(config, t->route_id, t->route, &t->route) &&
           mi_map_stream_fits(config->map, t->route, stream) &&
           mi_map_topic_fits(config->map, t->route, stream, topic);
}

void mi_in_set_config(struct mi_in *in, struct mi_config *config)
{
    struct mi_config *former = in->config;
    in->config = mi_config_hold(config);
    if (!make_backlog(in)) { /* out of memory: the former one stays */
        mi_config_release(in->config);
        in->config = former;
        return;
    }
    mi_budget_set(&in->watch.budget, config->watch_requests);
    for (size_t i = 0; i < mi_target_set_count(in->set);) {
        struct mi_target *t = mi_target_set_at(in->set, i);
        if (still_there(config, t))
            i++;
        else
            drop_target(in, t);
    }
    mi_discover_set_config(in->discover, in->config);
    add_constant_targets(in);
    mi_config_release(former);
    in->interest_at = 0;
    in->interest_changed = true;
    in->changed = true;
}

/* ---- the turn ---- */

/* Called for what the broker has. */
static void delivered(void *context, uint32_t id, const struct mi_mark *mark)
{
    struct mi_in *in = context;
    struct mi_reader *r = id ? mi_target_set_reader(in->set, id) : NULL;
    if (id == 0 && mark->offset > in->rebuilds_delivered)
        in->rebuilds_delivered = mark->offset;
    if (r && mi_track_delivered(&r->track, mark, id == r->former_id))
        mi_in_moved(in, r);
}

void mi_in_collect(struct mi_in *in)
{
    mi_inbox_collect(in->o.inbox, delivered, in);
}

uint64_t mi_in_step(struct mi_in *in, uint64_t now)
{
    mi_in_collect(in);
    mi_in_heed_signs(in);
    bool more = mi_in_feed_step(in, now);
    uint64_t due = mi_discover_step(in->discover, now);
    /* In turn: both draw on one budget. */
    in->polls_first = !in->polls_first;
    uint64_t polls = in->polls_first ? mi_in_poll(in, now) : 0;
    due = mi_earlier(due, mi_in_ask(in, now));
    due = mi_earlier(due, in->polls_first ? polls : mi_in_poll(in, now));
    due = mi_earlier(due, mi_in_scan_step(in, now));
    due = mi_earlier(due, mi_in_keep_step(in, now));
    mi_metrics_set(in->o.metrics, MI_G_INBOX, mi_inbox_count(in->o.inbox));
    mi_metrics_set(in->o.metrics, MI_G_READERS, mi_target_set_reader_count(in->set) - in->resting);
    return more ? now : due;
}

/* ---- positions ---- */

static bool add_position(const struct mi_target *t, const struct mi_reader *r, struct mi_buf *out,
                         size_t start)
{
    struct mi_position p = {
        .route = t->route_id,
        .partition = r->partition,
        .created_at = t->created_at,
        .next = r->track.kept.next,
        .marked = r->track.kept.marked,
        .mark = r->track.kept.mark,
        .rests = t->rests || t->at_tail,
        .rebuild = r->rebuild,
        .stream = mi_span_of(t->stream),
        .topic = mi_span_of(t->topic),
    };
    return mi_positions_add(out, start, &p);
}

static bool is_read(void *context, uint32_t route)
{
    const struct mi_in *in = context;
    size_t index;
    return find_route(in->config, route, 0, &index);
}

bool mi_in_save(struct mi_in *in, struct mi_buf *out)
{
    size_t start;
    if (!mi_positions_begin(out, &start) ||
        !mi_saved_write(&in->saved, out, start, in->o.rebuild, is_read, in))
        return false;
    for (size_t i = 0; i < mi_target_set_count(in->set); i++) {
        const struct mi_target *t = mi_target_set_at(in->set, i);
        for (uint32_t p = 0; p < t->reader_count; p++) {
            const struct mi_reader *r = t->readers[p];
            if ((r->placed || t->at_tail) && !add_position(t, r, out, start))
                return false;
        }
    }
    in->changed = false;
    return true;
}

/* A route that has positions was searched by an earlier run. */
static void note_earlier_searches(struct mi_in *in, struct mi_span saved)
{
    struct mi_position p;
    size_t at = 0;
    while (mi_positions_next(saved, &at, &p) == 1)
        note_searched(in, p.route);
}

bool mi_in_load(struct mi_in *in, struct mi_span saved)
{
    if (!mi_saved_load(&in->saved, saved))
        return false;
    note_earlier_searches(in, saved);
    for (size_t i = 0; i < mi_target_set_count(in->set); i++) {
        struct mi_target *t = mi_target_set_at(in->set, i);
        restore_positions(in, t);
        mi_in_feed_first(in, t);
    }
    return true;
}

bool mi_in_changed(const struct mi_in *in)
{
    return in->changed;
}
