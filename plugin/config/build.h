/*
 * build: a configuration while it is being put together: what is read so far, who owns its texts, what was
 * found wrong.
 *
 * Private to this folder. Reading (read.c, plugin_opts.c) fills it, checking (check.c, routes.c) completes
 * it, and mi_build_finish turns it into a configuration or into nothing.
 */
#ifndef MI_BUILD_H
#define MI_BUILD_H

#include "config/config.h"
#include "config/options.h"

/* A route as far as it is read. Rows of MI_AT_ROUTE and MI_AT_CREATE store here. */
struct mi_route_draft {
    struct mi_route route;
    struct mi_rule_spec rule;
    const char *where; /* "routes[2]", "unmatched" or "plugin_opt_topic" */
    const char *line;  /* the value of the plugin_opt_topic line, else NULL */
    bool create_given; /* else: constant targets are created, others not */
    bool given[MI_MAX_OPTIONS];
};

struct mi_build {
    struct mi_config *config; /* unfinished */
    bool given[MI_MAX_OPTIONS];
    const char *urls[MI_MAX_URLS];
    struct mi_route_draft *drafts;
    size_t draft_count, draft_cap;
    const struct mi_broker_view *broker; /* NULL: nothing is known */
    /* findings */
    mi_find find;
    void *context;
    const char *file; /* being read, or NULL: plugin_opt_ lines */
    const char *text; /* of file, for lines; NULL when it could not be read */
    size_t found;     /* findings so far */
    bool refused;
};

/* Starts with the defaults. -1 when memory is out. */
int mi_build_start(struct mi_build *b, mi_find find, void *context);
/* Hands out the configuration, or NULL when anything was refused. Ends the build. */
struct mi_config *mi_build_finish(struct mi_build *b);

/* A text or memory that lives as long as the configuration; NULL (and refused) when memory is out. */
char *mi_build_text(struct mi_build *b, const char *text, size_t len);
void *mi_build_take(struct mi_build *b, size_t bytes);

/* A new draft with the defaults; the pointer lives until the next call. NULL when memory is out. */
struct mi_route_draft *mi_build_draft(struct mi_build *b, const char *where);

/* One finding at a key of an object: where is "", "iggy", "routes[2]"; key may be NULL: the object itself. In
 * the plugin_opt_ form the key is named as it stands there. */
void mi_refuse(struct mi_build *b, const char *where, const char *key, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void mi_warn(struct mi_build *b, const char *where, const char *key, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* At a route; names the line in the plugin_opt_ form. */
void mi_route_finding(struct mi_build *b, const struct mi_route_draft *draft, bool refused, const char *key,
                      const char *sentence);
/* With everything given. */
void mi_finding_at(struct mi_build *b, bool refused, const char *key, unsigned line, const char *sentence);

/* Stores one value as text, with a finding when it does not fit. */
void mi_build_set(struct mi_build *b, const struct mi_option *o, void *base, const char *where,
                  const char *value);

/* True when that key was written by the operator. */
bool mi_is_given(const bool *given, enum mi_place place, const char *key);

/* read.c: the whole file. */
void mi_read_config_file(struct mi_build *b, const char *path);
/* plugin_opts.c */
void mi_read_plugin_opts(struct mi_build *b, const struct mi_plugin_opt *opts, size_t count);
/* check.c: everything that concerns more than one key, and the secrets. */
void mi_check(struct mi_build *b);
/* broker_facts.c: completes the block "broker", and checks what depends on the broker. */
void mi_check_broker(struct mi_build *b);
/* routes.c: drafts -> routes, rules and map. */
void mi_check_routes(struct mi_build *b);
/* via.c: after the routes. */
void mi_check_via(struct mi_build *b);

#endif
