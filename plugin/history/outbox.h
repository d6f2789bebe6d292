/*
 * outbox: what was found, on its way from the bridge thread to the main thread; bounded in count and bytes.
 * One mutex, held for pointer work only.
 */
#ifndef MI_HISTORY_OUTBOX_H
#define MI_HISTORY_OUTBOX_H

#include "history/history.h"

struct mi_outbox;
struct mi_outbox *mi_outbox_new(size_t max_items, size_t max_bytes);
void mi_outbox_free(struct mi_outbox *o); /* and what is left in it */

/* Bridge thread. Room for more? Then one whole answer of Iggy fits, whatever its size. */
bool mi_outbox_has_room(struct mi_outbox *o);
void mi_outbox_put(struct mi_outbox *o, struct mi_history_item *item);

/* Any thread; one load. */
bool mi_outbox_empty(const struct mi_outbox *o);

/* Main thread. At most max items, oldest first; an end marker alone. */
struct mi_history_item *mi_outbox_take(struct mi_outbox *o, size_t max);
/* Drops what waits for that request. */
void mi_outbox_drop(struct mi_outbox *o, mi_history_id id);

#endif
