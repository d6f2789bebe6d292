#include "history/outbox.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "history/item.h"

struct mi_outbox {
    /* set at the start, then constant */
    size_t max_items, max_bytes;
    /* any thread */
    atomic_size_t count;
    /* under lock */
    pthread_mutex_t lock;
    struct mi_history_item *head, **tail;
    size_t bytes;
};

struct mi_outbox *mi_outbox_new(size_t max_items, size_t max_bytes)
{
    struct mi_outbox *o = calloc(1, sizeof *o);
    if (!o)
        return NULL;
    o->max_items = max_items;
    o->max_bytes = max_bytes;
    o->tail = &o->head;
    pthread_mutex_init(&o->lock, NULL);
    return o;
}

static void free_list(struct mi_history_item *list)
{
    while (list) {
        struct mi_history_item *item = list;
        list = item->next;
        mi_history_item_free(item);
    }
}

void mi_outbox_free(struct mi_outbox *o)
{
    if (!o)
        return;
    free_list(o->head);
    pthread_mutex_destroy(&o->lock);
    free(o);
}

bool mi_outbox_empty(const struct mi_outbox *o)
{
    return atomic_load(&o->count) == 0;
}

bool mi_outbox_has_room(struct mi_outbox *o)
{
    pthread_mutex_lock(&o->lock);
    bool room = atomic_load(&o->count) < o->max_items && o->bytes < o->max_bytes;
    pthread_mutex_unlock(&o->lock);
    return room;
}

void mi_outbox_put(struct mi_outbox *o, struct mi_history_item *item)
{
    item->next = NULL;
    pthread_mutex_lock(&o->lock);
    *o->tail = item;
    o->tail = &item->next;
    o->bytes += mi_item_bytes(item);
    atomic_fetch_add(&o->count, 1);
    pthread_mutex_unlock(&o->lock);
}

struct mi_history_item *mi_outbox_take(struct mi_outbox *o, size_t max)
{
    if (max == 0 || mi_outbox_empty(o))
        return NULL;
    pthread_mutex_lock(&o->lock);
    struct mi_history_item *first = o->head, *last = NULL;
    size_t n = 0;
    for (struct mi_history_item *item = first; item && n < max && !(last && (item->last || last->last));
         item = item->next, n++) {
        o->bytes -= mi_item_bytes(item);
        last = item;
    }
    if (last) {
        o->head = last->next;
        last->next = NULL;
    }
    if (!o->head)
        o->tail = &o->head;
    atomic_fetch_sub(&o->count, n);
    pthread_mutex_unlock(&o->lock);
    return first;
}

void mi_outbox_drop(struct mi_outbox *o, mi_history_id id)
{
    struct mi_history_item *dropped = NULL;
    pthread_mutex_lock(&o->lock);
    struct mi_history_item **at = &o->head;
    while (*at) {
        struct mi_history_item *item = *at;
        if (item->id != id) {
            at = &item->next;
            continue;
        }
        *at = item->next;
        o->bytes -= mi_item_bytes(item);
        atomic_fetch_sub(&o->count, 1);
        item->next = dropped;
        dropped = item;
    }
    o->tail = at;
    pthread_mutex_unlock(&o->lock);
    free_list(dropped);
}
