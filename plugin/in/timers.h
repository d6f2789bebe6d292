/*
 * timers: many points in time of which few are due: a binary heap, so that a turn costs nothing for those
 * that are not. One thread.
 */
#ifndef MI_TIMERS_H
#define MI_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Part of what waits; owner is what mi_timers_take returns. */
struct mi_timer {
    uint64_t due_ns;
    size_t place; /* in the heap, from 1 on; 0: not set */
    void *owner;
};

struct mi_timers {
    struct mi_timer **heap;
    size_t count, cap;
};

void mi_timers_fini(struct mi_timers *t);
/* Sets or moves it; false when memory is out (then it is not set). */
bool mi_timers_set(struct mi_timers *t, struct mi_timer *timer, uint64_t due_ns);
void mi_timers_clear(struct mi_timers *t, struct mi_timer *timer);
/* When the first is due; UINT64_MAX: none is set. */
uint64_t mi_timers_due(const struct mi_timers *t);
/* The owner of one that is due, which is taken out; NULL: none is. */
void *mi_timers_take(struct mi_timers *t, uint64_t now_ns);

#endif
