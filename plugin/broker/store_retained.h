/*
 * store_retained: sets a retained value without delivering it to anybody, where the broker can: 2.1 exports
 * for persistence plugins what it needs itself to restore its store. Main thread only.
 */
#ifndef MI_STORE_RETAINED_H
#define MI_STORE_RETAINED_H

#include "base/clock.h"
#include "broker/compat.h"
#include "in/inbox.h"

struct mi_store_retained {
    int (*add)(void *message); /* NULL: this broker cannot */
    int (*set)(const char *topic, uint64_t message_id);
    int (*remove)(const char *topic);
    const struct mi_clock *clock;
};
void mi_store_retained_init(struct mi_store_retained *s, const struct mi_compat *compat,
                            const struct mi_clock *clock);

/* An empty payload removes the value. False when the broker cannot do it, or has no memory now. */
bool mi_store_retained(const struct mi_store_retained *s, const struct mi_inbound *m);

#endif
