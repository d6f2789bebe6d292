/*
 * slab: items by number, where a new item takes a free number as Iggy gives its ids.
 */
#ifndef DEV_SLAB_H
#define DEV_SLAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dev_slab {
    void **items; /* NULL: free */
    uint32_t cap;
    uint32_t count;  /* items that are not NULL */
    uint32_t *freed; /* numbers in the order in which they became free; cap of them at most */
    uint32_t freed_count;
};

/* Puts item at the lowest free number, or (0.8) at the one that was freed last. False when memory is out. */
bool dev_slab_add(struct dev_slab *slab, void *item, bool last_freed, uint32_t *id);
/* Puts item at a number that is free. */
bool dev_slab_put(struct dev_slab *slab, uint32_t id, void *item);
void *dev_slab_get(const struct dev_slab *slab, uint32_t id);
/* Frees the number, not the item, which is returned. */
void *dev_slab_remove(struct dev_slab *slab, uint32_t id);
void dev_slab_fini(struct dev_slab *slab);

/* for (uint32_t i = 0; (item = dev_slab_next(slab, &i)); i++) */
void *dev_slab_next(const struct dev_slab *slab, uint32_t *id);

#endif
