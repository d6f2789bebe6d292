/*
 * slab: an array with holes.
 */
#include "slab.h"

#include <stdlib.h>
#include <string.h>

bool dev_slab_add(struct dev_slab *slab, void *item, uint32_t *id)
{
    uint32_t lowest = 0;
    while (lowest < slab->cap && slab->items[lowest])
        lowest++;
    *id = lowest;
    return dev_slab_put(slab, lowest, item);
}

bool dev_slab_put(struct dev_slab *slab, uint32_t id, void *item)
{
    if (id >= slab->cap) {
        uint32_t cap = slab->cap ? slab->cap * 2 : 16;
        if (cap <= id)
            cap = id + 1;
        void **grown = realloc(slab->items, cap * sizeof *grown);
        if (!grown)
            return false;
        memset(grown + slab->cap, 0, (cap - slab->cap) * sizeof *grown);
        slab->items = grown;
        slab->cap = cap;
    }
    slab->items[id] = item;
    slab->count++;
    return true;
}

void *dev_slab_get(const struct dev_slab *slab, uint32_t id)
{
    return id < slab->cap ? slab->items[id] : NULL;
}

void *dev_slab_remove(struct dev_slab *slab, uint32_t id)
{
    void *item = dev_slab_get(slab, id);
    if (item) {
        slab->items[id] = NULL;
        slab->count--;
    }
    return item;
}

void dev_slab_fini(struct dev_slab *slab)
{
    free(slab->items);
    *slab = (struct dev_slab){0};
}

void *dev_slab_next(const struct dev_slab *slab, uint32_t *id)
{
    while (*id < slab->cap && !slab->items[*id])
        ++*id;
    return *id < slab->cap ? slab->items[*id] : NULL;
}
