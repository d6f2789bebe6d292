/*
 * slab: an array with holes.
 */
#include "slab.h"

#include <stdlib.h>
#include <string.h>

bool dev_slab_add(struct dev_slab *slab, void *item, bool last_freed, uint32_t *id)
{
    *id = 0;
    while (*id < slab->cap && slab->items[*id])
        ++*id;
    if (last_freed && slab->freed_count)
        *id = slab->freed[slab->freed_count - 1];
    return dev_slab_put(slab, *id, item);
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
        slab->items = grown;
        uint32_t *freed = realloc(slab->freed, cap * sizeof *freed);
        if (!freed)
            return false;
        slab->freed = freed;
        memset(grown + slab->cap, 0, (cap - slab->cap) * sizeof *grown);
        slab->cap = cap;
    }
    slab->items[id] = item;
    slab->count++;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < slab->freed_count; i++)
        if (slab->freed[i] != id)
            slab->freed[kept++] = slab->freed[i];
    slab->freed_count = kept;
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
        slab->freed[slab->freed_count++] = id;
    }
    return item;
}

void dev_slab_fini(struct dev_slab *slab)
{
    free(slab->items);
    free(slab->freed);
    *slab = (struct dev_slab){0};
}

void *dev_slab_next(const struct dev_slab *slab, uint32_t *id)
{
    while (*id < slab->cap && !slab->items[*id])
        ++*id;
    return *id < slab->cap ? slab->items[*id] : NULL;
}
