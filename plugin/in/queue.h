/*
 * queue: an intrusive doubly linked list, first in, first out. A link that is zero is in no queue; each link
 * knows which one it is in, so that adding twice and removing twice are harmless.
 */
#ifndef MI_QUEUE_H
#define MI_QUEUE_H

#include <stddef.h>

struct mi_link {
    struct mi_link *next, *previous;
    void *owner;
    struct mi_queue *in; /* NULL: none */
};

struct mi_queue {
    struct mi_link *first, *last;
    size_t count;
};

static inline void mi_queue_remove(struct mi_link *l)
{
    struct mi_queue *q = l->in;
    if (!q)
        return;
    *(l->previous ? &l->previous->next : &q->first) = l->next;
    *(l->next ? &l->next->previous : &q->last) = l->previous;
    l->in = NULL;
    q->count--;
}

/* Takes it out of another queue first. */
static inline void mi_queue_add(struct mi_queue *q, struct mi_link *l)
{
    if (l->in == q)
        return;
    mi_queue_remove(l);
    l->in = q;
    l->next = NULL;
    l->previous = q->last;
    *(q->last ? &q->last->next : &q->first) = l;
    q->last = l;
    q->count++;
}

/* The owner of the first link, which is taken out; NULL when there is none. */
static inline void *mi_queue_take(struct mi_queue *q)
{
    struct mi_link *l = q->first;
    if (!l)
        return NULL;
    mi_queue_remove(l);
    return l->owner;
}

#endif
