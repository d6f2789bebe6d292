#include "in/timers.h"

#include <stdlib.h>

static void put(struct mi_timers *t, size_t at, struct mi_timer *timer)
{
    t->heap[at] = timer;
    timer->place = at + 1;
}

static void rise(struct mi_timers *t, size_t at, struct mi_timer *timer)
{
    while (at > 0 && timer->due_ns < t->heap[(at - 1) / 2]->due_ns) {
        put(t, at, t->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    put(t, at, timer);
}

static void sink(struct mi_timers *t, size_t at, struct mi_timer *timer)
{
    for (size_t child; (child = 2 * at + 1) < t->count; at = child) {
        if (child + 1 < t->count && t->heap[child + 1]->due_ns < t->heap[child]->due_ns)
            child++;
        if (timer->due_ns <= t->heap[child]->due_ns)
            break;
        put(t, at, t->heap[child]);
    }
    put(t, at, timer);
}

void mi_timers_fini(struct mi_timers *t)
{
    free(t->heap);
    *t = (struct mi_timers){0};
}

bool mi_timers_set(struct mi_timers *t, struct mi_timer *timer, uint64_t due_ns)
{
    mi_timers_clear(t, timer);
    if (t->count == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 64;
        struct mi_timer **more = realloc(t->heap, cap * sizeof *more);
        if (!more)
            return false;
        t->heap = more;
        t->cap = cap;
    }
    timer->due_ns = due_ns;
    t->count++;
    rise(t, t->count - 1, timer);
    return true;
}

void mi_timers_clear(struct mi_timers *t, struct mi_timer *timer)
{
    if (timer->place == 0)
        return;
    size_t at = timer->place - 1;
    timer->place = 0;
    struct mi_timer *last = t->heap[--t->count];
    if (last == timer)
        return;
    if (at > 0 && last->due_ns < t->heap[(at - 1) / 2]->due_ns)
        rise(t, at, last);
    else
        sink(t, at, last);
}

uint64_t mi_timers_due(const struct mi_timers *t)
{
    return t->count ? t->heap[0]->due_ns : UINT64_MAX;
}

void *mi_timers_take(struct mi_timers *t, uint64_t now_ns)
{
    if (mi_timers_due(t) > now_ns)
        return NULL;
    struct mi_timer *first = t->heap[0];
    mi_timers_clear(t, first);
    return first->owner;
}
