/*
 * counts: records per route, in a small open-addressing table. Owner locks.
 */
#ifndef MI_COUNTS_H
#define MI_COUNTS_H

#include "journal/journal.h"

struct mi_count {
    uint32_t route;
    bool used;
    uint64_t total;   /* ever */
    uint64_t segment; /* of them in the segment that is being written */
};

struct mi_counts {
    struct mi_count *slots; /* a power of two, at most 3/4 used */
    size_t size, used;
};

void mi_counts_fini(struct mi_counts *c);
/* The entry of a route, made when it is missing. NULL when memory is out. */
struct mi_count *mi_counts_get(struct mi_counts *c, uint32_t route);
/* Room for that many new routes, so that the next so many gets cannot fail. */
bool mi_counts_reserve(struct mi_counts *c, size_t more);

#endif
