/*
 * saved: positions from the state file that no target has taken yet: of streams that are not found yet, and
 * of partitions that do not show yet. They are written again with every state until they are taken. One
 * thread.
 */
#ifndef MI_SAVED_H
#define MI_SAVED_H

#include "in/positions.h"

struct mi_saved {
    struct mi_buf bytes;
    struct mi_saved_entry *entries; /* sorted by hash */
    size_t count;
};

void mi_saved_init(struct mi_saved *s);
void mi_saved_fini(struct mi_saved *s);
/* Takes a copy of what mi_positions wrote; false when it cannot be read or memory is out (then it is empty).
 */
bool mi_saved_load(struct mi_saved *s, struct mi_span positions);
/* Calls each for the positions of that target, which are then taken. */
void mi_saved_take(struct mi_saved *s, uint32_t route, struct mi_span stream, struct mi_span topic,
                   void (*each)(void *context, const struct mi_position *p), void *context);
/* Writes what is not taken, of routes that keep says are still there. rebuild: with that flag (positions.h).
 */
bool mi_saved_write(const struct mi_saved *s, struct mi_buf *out, size_t start, bool rebuild,
                    bool (*keep)(void *context, uint32_t route), void *context);

#endif
