/*
 * window: ring, side entries, queues.
 */
#include "out/window.h"

#include <stdlib.h>
#include <string.h>

enum { ENTRIES = MI_WINDOW_RECORDS + MI_SIDE_ENTRIES };

static struct mi_entry *at_slot(const struct mi_window *w, uint64_t slot)
{
    return &w->entries[slot % MI_WINDOW_RECORDS];
}

bool mi_window_init(struct mi_window *w, uint64_t start_sequence)
{
    *w = (struct mi_window){.next_sequence = start_sequence, .side_free = MI_NO_ENTRY};
    w->entries = calloc(ENTRIES, sizeof *w->entries);
    return w->entries != NULL;
}

void mi_window_fini(struct mi_window *w)
{
    free(w->entries);
    w->entries = NULL;
}

bool mi_window_has_room(const struct mi_window *w)
{
    return w->tail - w->head < MI_WINDOW_RECORDS;
}

static void begin(struct mi_entry *e, const struct mi_journal_ref *ref)
{
    *e = (struct mi_entry){.ref = *ref, .next = MI_NO_ENTRY, .lane = MI_NO_LANE};
}

uint32_t mi_window_push(struct mi_window *w, const struct mi_journal_ref *ref)
{
    uint32_t index = (uint32_t)(w->tail++ % MI_WINDOW_RECORDS);
    begin(&w->entries[index], ref);
    w->next_sequence = ref->sequence + 1;
    return index;
}

void mi_window_done(struct mi_window *w, uint32_t entry)
{
    struct mi_entry *e = &w->entries[entry];
    e->done = true;
    if (mi_window_is_side(entry)) {
        e->next = w->side_free;
        w->side_free = entry;
        w->side_used--;
        return;
    }
    while (w->head < w->tail && at_slot(w, w->head)->done)
        w->head++;
}

uint64_t mi_window_start(const struct mi_window *w)
{
    return w->head < w->tail ? at_slot(w, w->head)->ref.sequence : w->next_sequence;
}

uint64_t mi_window_pending(const struct mi_window *w)
{
    return w->tail - w->head;
}

uint32_t mi_window_find(const struct mi_window *w, uint64_t sequence)
{
    uint64_t low = w->head, high = w->tail;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (at_slot(w, middle)->ref.sequence < sequence)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == w->tail || at_slot(w, low)->ref.sequence != sequence)
        return MI_NO_ENTRY;
    return (uint32_t)(low % MI_WINDOW_RECORDS);
}

uint32_t mi_window_side(struct mi_window *w, const struct mi_journal_ref *ref)
{
    uint32_t index = w->side_free;
    if (index != MI_NO_ENTRY)
        w->side_free = w->entries[index].next;
    else if (w->side_fresh < MI_SIDE_ENTRIES)
        index = MI_WINDOW_RECORDS + w->side_fresh++;
    else
        return MI_NO_ENTRY;
    w->side_used++;
    begin(&w->entries[index], ref);
    return index;
}

void mi_window_done_runs(const struct mi_window *w,
                         bool (*each)(void *context, uint64_t first, uint64_t count), void *context)
{
    uint64_t slot = w->head;
    while (slot < w->tail) {
        while (slot < w->tail && !at_slot(w, slot)->done)
            slot++;
        if (slot == w->tail)
            return;
        uint64_t first = at_slot(w, slot)->ref.sequence, last = first;
        while (slot < w->tail && at_slot(w, slot)->done)
            last = at_slot(w, slot++)->ref.sequence;
        if (!each(context, first, last - first + 1))
            return;
    }
}

void mi_queue_init(struct mi_queue *q)
{
    *q = (struct mi_queue){.head = MI_NO_ENTRY, .tail = MI_NO_ENTRY};
}

void mi_queue_push(struct mi_window *w, struct mi_queue *q, uint32_t entry)
{
    w->entries[entry].next = MI_NO_ENTRY;
    if (q->count++ == 0)
        q->head = entry;
    else
        w->entries[q->tail].next = entry;
    q->tail = entry;
}

void mi_queue_put_back(struct mi_window *w, struct mi_queue *q, uint32_t entry)
{
    w->entries[entry].next = q->head;
    q->head = entry;
    if (q->count++ == 0)
        q->tail = entry;
}

uint32_t mi_queue_pop(struct mi_window *w, struct mi_queue *q)
{
    return mi_queue_take(w, q, 0);
}

uint32_t mi_queue_take(struct mi_window *w, struct mi_queue *q, uint32_t skip)
{
    uint32_t before = MI_NO_ENTRY, entry = q->head;
    for (uint32_t i = 0; i < skip && entry != MI_NO_ENTRY; i++) {
        before = entry;
        entry = w->entries[entry].next;
    }
    if (entry == MI_NO_ENTRY)
        return MI_NO_ENTRY;
    uint32_t next = w->entries[entry].next;
    if (before == MI_NO_ENTRY)
        q->head = next;
    else
        w->entries[before].next = next;
    if (q->tail == entry)
        q->tail = before;
    q->count--;
    return entry;
}

void mi_queue_merge(struct mi_window *w, struct mi_queue *q, struct mi_queue *from)
{
    struct mi_queue merged;
    mi_queue_init(&merged);
    while (q->count || from->count) {
        bool second = !q->count ||
                      (from->count && w->entries[from->head].ref.sequence < w->entries[q->head].ref.sequence);
        mi_queue_push(w, &merged, mi_queue_pop(w, second ? from : q));
    }
    *q = merged;
}
