/* routes: names, what a direction can use, creation, and the map that is made of all routes. */
#include "config/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

static void order(struct mi_build *b);
static void add_events(struct mi_build *b);
static void check_names(struct mi_build *b);
static void check_route(struct mi_build *b, const struct mi_route_draft *draft);
static void check_unused(struct mi_build *b, const struct mi_route_draft *draft);
static void check_feed(struct mi_build *b, const struct mi_route_draft *draft);
static void make_map(struct mi_build *b);
static void finish_creation(struct mi_build *b);
static void check_retained(struct mi_build *b);

void mi_check_routes(struct mi_build *b)
{
    if (b->draft_count == 0 && !b->refused)
        mi_warn(b, "", NULL, "no route is configured: nothing will be copied");
    if (b->draft_count > MI_MAX_ROUTES)
        mi_refuse(b, "", "routes", "there are %zu routes, \"unmatched\" included: at most %d are possible",
                  b->draft_count, MI_MAX_ROUTES);
    add_events(b);
    order(b);
    for (size_t i = 0; i < b->draft_count; i++)
        check_route(b, &b->drafts[i]);
    check_names(b);
    make_map(b);
    check_retained(b);
    finish_creation(b);
}

/* The events of clients are accounted for as a route of their own, which takes no PUBLISH. */
static void add_events(struct mi_build *b)
{
    struct mi_config *c = b->config;
    if (!c->events_stream || !c->events_topic)
        return;
    struct mi_route_draft *draft = mi_build_draft(b, "client_events");
    if (!draft)
        return;
    draft->rule.name = "client_events";
    draft->rule.stream = c->events_stream;
    draft->rule.topic = c->events_topic;
    draft->rule.aside = true;
}

/* "unmatched" is the last of those that take a PUBLISH, wherever it stands in the file. */
static void order(struct mi_build *b)
{
    for (size_t i = 0; i + 1 < b->draft_count; i++)
        if (strcmp(b->drafts[i].where, "unmatched") == 0) {
            struct mi_route_draft unmatched = b->drafts[i];
            memmove(&b->drafts[i], &b->drafts[i + 1], (b->draft_count - i - 1) * sizeof unmatched);
            b->drafts[b->draft_count - 1] = unmatched;
            break;
        }
    for (size_t i = 0; i < b->draft_count; i++)
        if (b->drafts[i].rule.aside) {
            b->config->events = true;
            b->config->events_route = i;
        }
}

static bool is_taken(const struct mi_route_draft *draft, const char *reserved)
{
    return draft->rule.name && strcmp(draft->rule.name, reserved) == 0 && strcmp(draft->where, reserved) != 0;
}

static void check_route(struct mi_build *b, const struct mi_route_draft *draft)
{
    const char *name = draft->rule.name;
    for (const char *p = name; p && *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f) {
            mi_route_finding(b, draft, true, "name",
                             "holds a control character: logs and metrics show the name");
            break;
        }
    if (is_taken(draft, "client_events"))
        mi_route_finding(b, draft, true, "name",
                         "\"client_events\" is the name of the events' own route: choose another");
    if (is_taken(draft, "unmatched"))
        mi_route_finding(b, draft, true, "name",
                         "\"unmatched\" is the name of the last route: choose another");
    check_unused(b, draft);
    check_feed(b, draft);
}

/* A key that its direction never looks at was meant to do something. */
static void check_unused(struct mi_build *b, const struct mi_route_draft *draft)
{
    for (size_t i = 0; i < mi_option_count; i++) {
        const struct mi_option *o = &mi_options[i];
        if (o->place == MI_AT_ROUTE && o->only && draft->given[i] && !(o->only & draft->route.direction))
            mi_route_finding(b, draft, false, o->key,
                             o->only == MI_IN ? "has no effect: the route's direction is \"out\""
                                              : "has no effect: the route's direction is \"in\"");
    }
}

struct named {
    uint32_t id;
    size_t draft;
};

static int by_id(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return x->draft < y->draft ? -1 : x->draft > y->draft;
}

static void report_twin(struct mi_build *b, const struct mi_route_draft *first,
                        const struct mi_route_draft *second)
{
    char sentence[600];
    if (strcmp(first->rule.name, second->rule.name) == 0)
        snprintf(sentence, sizeof sentence, "\"%.200s\" is the name of %s too: names must differ",
                 second->rule.name, first->where);
    else
        snprintf(sentence, sizeof sentence,
                 "\"%.200s\" and \"%.200s\" have the same hash, by which the journal knows "
                 "them: rename one",
                 second->rule.name, first->rule.name);
    mi_route_finding(b, second, true, "name", sentence);
}

static void check_names(struct mi_build *b)
{
    struct named *names = mi_build_take(b, (b->draft_count + 1) * sizeof *names);
    size_t count = 0;
    if (!names)
        return;
    for (size_t i = 0; i < b->draft_count; i++) {
        const char *name = b->drafts[i].rule.name;
        if (!name)
            continue;
        b->drafts[i].route.name = name;
        b->drafts[i].route.id = XXH32(name, strlen(name), 0);
        names[count++] = (struct named){b->drafts[i].route.id, i};
    }
    qsort(names, count, sizeof *names, by_id);
    for (size_t i = 1; i < count; i++)
        if (names[i].id == names[i - 1].id)
            report_twin(b, &b->drafts[names[i - 1].draft], &b->drafts[names[i].draft]);
}

static void on_map_report(void *context, enum mi_severity severity, size_t rule, const char *key,
                          const char *sentence)
{
    struct mi_build *b = context;
    mi_route_finding(b, &b->drafts[rule], severity == MI_REFUSED, key, sentence);
}

/* A required key that is missing has been reported; the map would report it again in other words. */
static bool complete(const struct mi_build *b)
{
    for (size_t i = 0; i < b->draft_count; i++) {
        const struct mi_rule_spec *rule = &b->drafts[i].rule;
        if (!rule->name || !rule->stream || !rule->topic)
            return false;
    }
    return b->draft_count <= MI_MAX_ROUTES;
}

static void make_map(struct mi_build *b)
{
    struct mi_config *c = b->config;
    struct mi_rule_spec *rules = mi_build_take(b, (b->draft_count + 1) * sizeof *rules);
    bool refused_before = b->refused;
    if (!rules || !complete(b))
        return;
    for (size_t i = 0; i < b->draft_count; i++) {
        b->drafts[i].rule.direction = b->drafts[i].route.direction;
        rules[i] = b->drafts[i].rule;
    }
    c->rules = rules;
    c->map = mi_map_new(rules, b->draft_count, c->topic_cache, on_map_report, b);
    if (!c->map && b->refused == refused_before && !b->refused)
        mi_finding_at(b, true, "", 0, "memory is out");
}

/* Constant names are made unless it is forbidden, others only where it is said. */
static void finish_creation(struct mi_build *b)
{
    struct mi_config *c = b->config;
    c->routes = mi_build_take(b, (b->draft_count + 1) * sizeof *c->routes);
    c->route_count = b->draft_count;
    if (!c->map || !c->routes)
        return;
    for (size_t i = 0; i < b->draft_count; i++) {
        struct mi_span stream, topic;
        struct mi_route_draft *draft = &b->drafts[i];
        if (!draft->create_given)
            draft->route.create = mi_map_constant_target(c->map, i, &stream, &topic);
        c->routes[i] = draft->route;
    }
}

/* Retained values of several brokers end up equal only if all values of a topic stand in one order. */
/* What is retained elsewhere while nobody reads never comes, and what was retained here before stays. */
static void check_feed(struct mi_build *b, const struct mi_route_draft *draft)
{
    const struct mi_route *route = &draft->route;
    if ((route->direction & MI_IN) && route->feed == MI_FEED_ON_SUBSCRIBE &&
        route->retain == MI_RETAIN_KEEP && (draft->rule.filter || draft->rule.regex))
        mi_route_finding(
            b, draft, false, "feed",
            "\"on_subscribe\" does not read while nobody subscribes: values that other brokers "
            "retain meanwhile are missing here, and older ones stay; say \"retain\": \"never\", or "
            "\"feed\": \"always\"");
}

static void check_retained(struct mi_build *b)
{
    for (size_t i = 0; b->config->map && i < b->draft_count; i++) {
        struct mi_route_draft *draft = &b->drafts[i];
        if (draft->route.direction != MI_BOTH || draft->route.retain != MI_RETAIN_KEEP ||
            mi_map_one_partition(b->config->map, i))
            continue;
        draft->route.retain = MI_RETAIN_NEVER;
        mi_route_finding(b, draft, false, draft->rule.balanced ? "balanced" : "partition_key",
                         "spreads the messages of a topic, so their order is not known: retained values are "
                         "not shared with other brokers (what comes from Iggy is delivered with retain off); "
                         "use a partition_key that follows from the topic, or say \"retain\": \"never\"");
    }
}
