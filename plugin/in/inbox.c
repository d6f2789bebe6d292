#include "in/inbox.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct delivery {
    uint32_t reader;
    struct mi_mark mark;
};

struct mi_inbox {
    /* set at the start, then constant */
    size_t max_messages, max_bytes;
    /* any thread */
    atomic_size_t count;
    atomic_size_t reported;
    /* under lock */
    pthread_mutex_t lock;
    struct mi_inbound *head, **tail;
    size_t bytes;
    struct delivery *deliveries; /* room for every message that can be out at a time */
    size_t delivery_count, delivery_cap;
};

struct mi_inbox *mi_inbox_new(size_t max_messages, size_t max_bytes)
{
    struct mi_inbox *inbox = calloc(1, sizeof *inbox);
    if (!inbox)
        return NULL;
    inbox->max_messages = max_messages;
    inbox->max_bytes = max_bytes;
    inbox->tail = &inbox->head;
    pthread_mutex_init(&inbox->lock, NULL);
    return inbox;
}

void mi_inbox_free(struct mi_inbox *inbox)
{
    if (!inbox)
        return;
    while (inbox->head) {
        struct mi_inbound *m = inbox->head;
        inbox->head = m->next;
        mi_inbound_free(m);
    }
    free(inbox->deliveries);
    pthread_mutex_destroy(&inbox->lock);
    free(inbox);
}

static uint8_t *copy(struct mi_span s)
{
    uint8_t *bytes = malloc(s.len + 1);
    if (bytes) {
        if (s.len)
            memcpy(bytes, s.data, s.len);
        bytes[s.len] = 0;
    }
    return bytes;
}

struct mi_inbound *mi_inbound_new(struct mi_span topic, struct mi_span payload, struct mi_span properties)
{
    struct mi_inbound *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->topic = (char *)copy(topic);
    m->payload_len = (uint32_t)payload.len;
    m->properties_len = (uint32_t)properties.len;
    if (payload.len)
        m->payload = copy(payload);
    if (properties.len)
        m->properties = copy(properties);
    if (!m->topic || (payload.len && !m->payload) || (properties.len && !m->properties)) {
        mi_inbound_free(m);
        return NULL;
    }
    return m;
}

void mi_inbound_free(struct mi_inbound *m)
{
    if (!m)
        return;
    free(m->topic);
    free(m->payload);
    free(m->properties);
    free(m);
}

static size_t size_of(const struct mi_inbound *m)
{
    return sizeof *m + strlen(m->topic) + m->payload_len + m->properties_len;
}

size_t mi_inbox_room(struct mi_inbox *inbox)
{
    pthread_mutex_lock(&inbox->lock);
    size_t count = atomic_load(&inbox->count);
    bool room = count < inbox->max_messages && inbox->bytes < inbox->max_bytes;
    pthread_mutex_unlock(&inbox->lock);
    return room ? inbox->max_messages - count : 0;
}

void mi_inbox_put(struct mi_inbox *inbox, struct mi_inbound *m)
{
    m->next = NULL;
    pthread_mutex_lock(&inbox->lock);
    *inbox->tail = m;
    inbox->tail = &m->next;
    inbox->bytes += size_of(m);
    atomic_fetch_add(&inbox->count, 1);
    pthread_mutex_unlock(&inbox->lock);
}

bool mi_inbox_empty(struct mi_inbox *inbox)
{
    return atomic_load(&inbox->count) == 0;
}

size_t mi_inbox_count(struct mi_inbox *inbox)
{
    return atomic_load(&inbox->count);
}

struct mi_inbound *mi_inbox_take(struct mi_inbox *inbox, size_t max)
{
    if (max == 0 || mi_inbox_empty(inbox))
        return NULL;
    pthread_mutex_lock(&inbox->lock);
    struct mi_inbound *first = inbox->head, *last = NULL;
    size_t n = 0;
    for (struct mi_inbound *m = first; m && n < max; m = m->next, n++) {
        inbox->bytes -= size_of(m);
        last = m;
    }
    if (last) {
        inbox->head = last->next;
        last->next = NULL;
    }
    if (!inbox->head)
        inbox->tail = &inbox->head;
    atomic_fetch_sub(&inbox->count, n);
    pthread_mutex_unlock(&inbox->lock);
    return first;
}

/* Positions only move forward, so a newer report of a reader replaces the one before it. */
static bool replace_last(struct mi_inbox *inbox, uint32_t reader, const struct mi_mark *mark)
{
    for (size_t i = inbox->delivery_count; i > 0; i--) {
        if (inbox->deliveries[i - 1].reader == reader) {
            inbox->deliveries[i - 1].mark = *mark;
            return true;
        }
    }
    return false;
}

static bool grow(struct mi_inbox *inbox)
{
    size_t cap = inbox->delivery_cap ? inbox->delivery_cap * 2 : 64;
    struct delivery *more = realloc(inbox->deliveries, cap * sizeof *more);
    if (!more)
        return false;
    inbox->deliveries = more;
    inbox->delivery_cap = cap;
    return true;
}

void mi_inbox_delivered(struct mi_inbox *inbox, uint32_t reader, const struct mi_mark *mark)
{
    pthread_mutex_lock(&inbox->lock);
    /* Without memory the report is lost: the position stays behind, and after a crash the message comes
     * again. */
    if (!replace_last(inbox, reader, mark) && (inbox->delivery_count < inbox->delivery_cap || grow(inbox)))
        inbox->deliveries[inbox->delivery_count++] = (struct delivery){reader, *mark};
    atomic_store(&inbox->reported, inbox->delivery_count);
    pthread_mutex_unlock(&inbox->lock);
}

void mi_inbox_collect(struct mi_inbox *inbox,
                      void (*each)(void *context, uint32_t reader, const struct mi_mark *mark), void *context)
{
    if (atomic_load(&inbox->reported) == 0)
        return;
    pthread_mutex_lock(&inbox->lock);
    struct delivery *list = inbox->deliveries;
    size_t n = inbox->delivery_count;
    inbox->deliveries = NULL;
    inbox->delivery_count = inbox->delivery_cap = 0;
    atomic_store(&inbox->reported, 0);
    pthread_mutex_unlock(&inbox->lock);
    for (size_t i = 0; i < n; i++)
        each(context, list[i].reader, &list[i].mark);
    free(list);
}
