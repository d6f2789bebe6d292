/*
 * routes: what out keeps per route id: the rule of the configuration in force, its counters, how many targets
 * it made. A route that a reload removed stays: its records still wait.
 */
#ifndef MI_OUT_ROUTES_H
#define MI_OUT_ROUTES_H

#include "config/config.h"
#include "metrics/metrics.h"

struct mi_out_route {
    uint32_t id;
    const struct mi_route *route; /* NULL: not in the configuration any more */
    size_t rule;                  /* with route: its index */
    struct mi_route_metrics *metrics;
    uint32_t targets_made;
    uint64_t parked_bytes;
    bool full; /* parked_bytes has reached its bound */
};

struct mi_out_routes {
    struct mi_out_route *slots;
    uint32_t count, cap;
    uint32_t *index; /* open addressing by id: slot + 1 */
    uint32_t index_size;
    struct mi_metrics *metrics;
};

void mi_out_routes_init(struct mi_out_routes *r, struct mi_metrics *metrics);
void mi_out_routes_fini(struct mi_out_routes *r);
/* Points the slots at the configuration's routes. false: memory is out. */
bool mi_out_routes_set(struct mi_out_routes *r, const struct mi_config *config);
/* The slot of an id, made at first use; UINT32_MAX: memory is out. */
uint32_t mi_out_routes_slot(struct mi_out_routes *r, uint32_t id);

#endif
