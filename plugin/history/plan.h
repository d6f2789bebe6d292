/*
 * plan: which streams and topics of Iggy may hold messages that a filter matches, and the routes that lead
 * back from there. Constant targets are known; for templated ones the streams that exist are looked through.
 * Bridge thread.
 */
#ifndef MI_HISTORY_PLAN_H
#define MI_HISTORY_PLAN_H

#include "config/config.h"
#include "iggy_client.h"
#include "mapping/filter.h"

enum { MI_PLAN_PLACES = 256 }; /* a filter that reaches more is refused */

/* One topic of Iggy. */
struct mi_place {
    char *stream, *topic;
    size_t *routes; /* indices, ascending: the first that maps a message back counts */
    size_t route_count;
    uint64_t tag; /* names it in cursors */
};

struct mi_plan {
    struct mi_place *places; /* in the order of their first route, then by name */
    size_t count;
    uint64_t tag; /* of all of them together */
};

struct mi_finder;
/* Finds; done is called once, from here or from the client, with the plan (owned by the callee) or NULL and
 * why (static text): refused when the filter is what is wrong, else Iggy. NULL: memory is out, done is not
 * called. filter and config live until then. */
typedef void (*mi_plan_done)(void *context, struct mi_plan *plan, bool refused, const char *why);
struct mi_finder *mi_finder_start(struct iggy_client *client, const struct mi_config *config,
                                  const struct mi_filter *filter, mi_plan_done done, void *context);
/* Cancels what is under way; then done is not called. Also to be called after done. NULL is allowed. */
void mi_finder_free(struct mi_finder *f);

void mi_plan_free(struct mi_plan *plan);
/* The place with that tag; count when there is none. */
size_t mi_plan_find(const struct mi_plan *plan, uint64_t tag);

#endif
