#include "journal/counts.h"

#include <stdlib.h>

void mi_counts_fini(struct mi_counts *c)
{
    free(c->slots);
    c->slots = NULL;
    c->size = c->used = 0;
}

static struct mi_count *find(const struct mi_counts *c, uint32_t route)
{
    size_t at = (route * 2654435769u) & (c->size - 1);
    while (c->slots[at].used && c->slots[at].route != route)
        at = (at + 1) & (c->size - 1);
    return &c->slots[at];
}

bool mi_counts_reserve(struct mi_counts *c, size_t more)
{
    size_t size = c->size ? c->size : 16;
    while ((c->used + more) * 4 > size * 3)
        size *= 2;
    if (size == c->size)
        return true;
    struct mi_counts bigger = {calloc(size, sizeof *bigger.slots), size, c->used};
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < c->size; i++)
        if (c->slots[i].used)
            *find(&bigger, c->slots[i].route) = c->slots[i];
    free(c->slots);
    *c = bigger;
    return true;
}

struct mi_count *mi_counts_get(struct mi_counts *c, uint32_t route)
{
    struct mi_count *found = c->size ? find(c, route) : NULL;
    if (found && found->used)
        return found;
    if (!mi_counts_reserve(c, 1))
        return NULL;
    found = find(c, route);
    found->used = true;
    found->route = route;
    c->used++;
    return found;
}
