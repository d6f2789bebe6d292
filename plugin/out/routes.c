/*
 * routes: a small hash table by id.
 */
#include "out/routes.h"

#include <stdlib.h>

void mi_out_routes_init(struct mi_out_routes *r, struct mi_metrics *metrics)
{
    *r = (struct mi_out_routes){.metrics = metrics};
}

void mi_out_routes_fini(struct mi_out_routes *r)
{
    free(r->slots);
    free(r->index);
    *r = (struct mi_out_routes){0};
}

bool mi_out_routes_set(struct mi_out_routes *r, const struct mi_config *config)
{
    for (uint32_t i = 0; i < r->count; i++)
        r->slots[i].route = NULL;
    for (size_t i = 0; i < config->route_count; i++) {
        uint32_t slot = mi_out_routes_slot(r, config->routes[i].id);
        if (slot == UINT32_MAX)
            return false;
        r->slots[slot].route = &config->routes[i];
        r->slots[slot].rule = i;
        mi_metrics_route(r->metrics, config->routes[i].id, config->routes[i].name);
    }
    return true;
}

static uint32_t *place(uint32_t *index, uint32_t size, const struct mi_out_route *slots, uint32_t id)
{
    uint32_t at = (id * 2654435769u) & (size - 1);
    while (index[at] && slots[index[at] - 1].id != id)
        at = (at + 1) & (size - 1);
    return &index[at];
}

static bool grow(struct mi_out_routes *r)
{
    uint32_t cap = r->cap ? r->cap * 2 : 16;
    struct mi_out_route *slots = realloc(r->slots, cap * sizeof *slots);
    if (!slots)
        return false;
    r->slots = slots;
    uint32_t *index = calloc(cap * 2, sizeof *index);
    if (!index)
        return false;
    for (uint32_t i = 0; i < r->count; i++)
        *place(index, cap * 2, slots, slots[i].id) = i + 1;
    free(r->index);
    r->index = index;
    r->index_size = cap * 2;
    r->cap = cap;
    return true;
}

uint32_t mi_out_routes_slot(struct mi_out_routes *r, uint32_t id)
{
    if (r->count) {
        uint32_t found = *place(r->index, r->index_size, r->slots, id);
        if (found)
            return found - 1;
    }
    if (r->count == r->cap && !grow(r))
        return UINT32_MAX;
    r->slots[r->count] = (struct mi_out_route){.id = id, .metrics = mi_metrics_route(r->metrics, id, NULL)};
    *place(r->index, r->index_size, r->slots, id) = r->count + 1;
    return r->count++;
}
