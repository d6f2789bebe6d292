/* online: the needs of a configuration, one after the other. */
#include "tool/online.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "mapping/topic_map.h"
#include "tool/online_ask.h"

enum { MAX_TARGETS = 256 };

/* A stream and topic that the configuration names, and what happens there. */
struct target {
    struct mi_span stream, topic;
    const char *for_whom; /* the first route */
    bool send, poll, create;
};

struct check {
    const struct mi_config *config;
    struct mi_asking *ask;
    struct target targets[MAX_TARGETS];
    size_t target_count, left_out;
    bool templates_out, templates_in;
    unsigned missing;
};

#define NAME(t) \
    (int)(t)->stream.len, (const char *)(t)->stream.data, (int)(t)->topic.len, (const char *)(t)->topic.data

static void collect(struct check *c);
static void check_target(struct check *c, const struct target *t);
static void check_creation(struct check *c, const struct target *t);
static void check_templates(struct check *c);
static void check_server(struct check *c);
static void say(struct check *c, enum mi_may may, bool needed, const char *mend, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

bool mi_check_online(const struct mi_config *config)
{
    struct check *c = calloc(1, sizeof *c);
    struct mi_asking *ask = c ? mi_asking_new(config) : NULL;
    bool good = false;
    if (ask) {
        c->config = config;
        c->ask = ask;
        if (mi_ask_me(ask)) {
            printf("ok       connect and log in\n");
            collect(c);
            for (size_t i = 0; i < c->target_count; i++)
                check_target(c, &c->targets[i]);
            check_templates(c);
            check_server(c);
            good = c->missing == 0;
        } else {
            printf("MISSING  connect and log in: %s\n", mi_asking_why(ask));
        }
    }
    mi_asking_free(ask);
    free(c);
    return good;
}

/* mend: what to do when it is needed, what happens when it is not. */
static void say(struct check *c, enum mi_may may, bool needed, const char *mend, const char *format, ...)
{
    va_list args;
    printf("%-9s", may == MI_MAY ? "ok" : may == MI_MAY_UNKNOWN ? "?" : needed ? "MISSING" : "without");
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    if (may == MI_MAY_UNKNOWN)
        printf(": %s", mi_asking_why(c->ask));
    else if (may != MI_MAY)
        printf(": %s", mend);
    printf("\n");
    c->missing += needed && may != MI_MAY && may != MI_MAY_UNKNOWN;
}

/* ---- where messages go and come from ---- */

static struct target *target_of(struct check *c, struct mi_span stream, struct mi_span topic,
                                const char *for_whom)
{
    for (size_t i = 0; i < c->target_count; i++)
        if (mi_span_equal(c->targets[i].stream, stream) && mi_span_equal(c->targets[i].topic, topic))
            return &c->targets[i];
    if (c->target_count == MAX_TARGETS) {
        c->left_out++;
        return NULL;
    }
    c->targets[c->target_count] = (struct target){.stream = stream, .topic = topic, .for_whom = for_whom};
    return &c->targets[c->target_count++];
}

static void collect(struct check *c)
{
    const struct mi_config *config = c->config;
    for (size_t i = 0; i < config->route_count; i++) {
        const struct mi_route *route = &config->routes[i];
        struct mi_span stream, topic;
        bool out = (route->direction & MI_OUT) || config->rules[i].aside, in = route->direction & MI_IN;
        if (!mi_map_constant_target(config->map, i, &stream, &topic)) {
            c->templates_out |= out;
            c->templates_in |= in;
            continue;
        }
        struct target *t = target_of(c, stream, topic, route->name);
        if (!t)
            continue;
        t->send |= out;
        t->poll |= in;
        t->create |= route->create;
    }
    if (config->dead_letter_stream) {
        struct target *t = target_of(c, mi_span_of(config->dead_letter_stream),
                                     mi_span_of(config->dead_letter_topic), "dead_letter");
        if (t)
            t->send = t->create = true;
    }
    if (c->left_out)
        printf("?        %zu further streams and topics are not tried\n", c->left_out);
}

static void check_target(struct check *c, const struct target *t)
{
    enum mi_may details = mi_ask_topic(c->ask, t->stream, t->topic);
    if (details == MI_MAY_MISSING) {
        check_creation(c, t);
        return;
    }
    if (t->send)
        say(c, mi_ask_send(c->ask, t->stream, t->topic), true,
            "give the account send_messages on the topic, its stream, or everything",
            "send to %.*s/%.*s (%s)", NAME(t), t->for_whom);
    say(c, mi_ask_poll(c->ask, t->stream, t->topic), t->poll,
        t->poll ? "give the account poll_messages on the topic, its stream, or everything"
                : "what became of a request that was never answered cannot be looked up: those messages may "
                  "be sent twice",
        "poll %.*s/%.*s (%s)", NAME(t), t->for_whom);
    say(c, details, false,
        t->poll
            ? "each partition is watched by polling it, more slowly, and partitions that are added later "
              "are not seen; give read_topic"
            : "the number of partitions is taken from create.partitions; give read_topic, or state it there",
        "read details of %.*s/%.*s (%s)", NAME(t), t->for_whom);
}

static void check_creation(struct check *c, const struct target *t)
{
    uint32_t id = 0, rights = mi_asking_global(c->ask);
    if (!t->create) {
        say(c, MI_MAY_MISSING, t->send,
            t->send ? "it does not exist; make it, or let the route make it (\"create\": true)"
                    : "it does not exist yet, and is read once it does",
            "find %.*s/%.*s (%s)", NAME(t), t->for_whom);
        return;
    }
    enum mi_may stream = mi_ask_stream(c->ask, t->stream, &id);
    if (stream == MI_MAY)
        rights |= mi_asking_on_stream(c->ask, id);
    bool may =
        rights & (stream == MI_MAY_MISSING ? IGGY_MANAGE_STREAM : IGGY_MANAGE_STREAM | IGGY_MANAGE_TOPIC);
    if (!may && stream == MI_MAY_NOT)
        printf("?        make %.*s/%.*s (%s): the account may not read the stream, so it cannot be tried\n",
               NAME(t), t->for_whom);
    else
        say(c, may ? MI_MAY : MI_MAY_NOT, true,
            stream == MI_MAY_MISSING ? "make stream and topic, or give the account manage_streams"
                                     : "make the topic, or give the account manage_topics on the stream",
            "make %.*s/%.*s, which does not exist (%s)", NAME(t), t->for_whom);
}

/* ---- templates ---- */

/* What the names become is not known now, so only a right on everything can be told. */
static void check_templates(struct check *c)
{
    uint32_t rights = mi_asking_global(c->ask);
    if (c->templates_out && iggy_rights_send(IGGY_SCOPE_ALL, rights))
        printf("ok       send to every stream that a template names\n");
    else if (c->templates_out)
        printf("?        send to the streams that templates name: the account may not send everywhere, and "
               "needs the right on each of them\n");
    if (!c->templates_in)
        return;
    say(c, mi_ask_streams(c->ask), true,
        "the streams that templates name cannot be found; give the account read_streams", "list streams");
    if (iggy_rights_poll(IGGY_SCOPE_ALL, rights))
        printf("ok       poll every stream that a template names\n");
    else
        printf(
            "?        poll the streams that templates name: the account may not poll everywhere, and needs "
            "the right on each of them\n");
}

/* ---- the server itself ---- */

static void check_server(struct check *c)
{
    say(c, mi_ask_stats(c->ask), false,
        "a restarted server is noticed by its connections and tokens alone; give read_servers",
        "read the server's start time");
    if (c->config->auth.authorize != MI_AUTHORIZE_BY_IGGY)
        return;
    say(c, mi_ask_users(c->ask), true, "nobody has rights on topics; give the account read_users",
        "read users (auth.authorize)");
    say(c, mi_ask_streams(c->ask), true,
        "what rights on single streams and topics mean cannot be found; give the account read_streams",
        "list streams (auth.authorize)");
}
