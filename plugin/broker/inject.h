/*
 * inject: what waits in the inbox is published into the broker, and its delivery reported.
 *
 * The broker routes what a plugin publishes after TICK has returned, and before the following TICK on every
 * version. So a message counts as delivered, and its position may move, in the TICK after the one that
 * published it. Main thread only.
 */
#ifndef MI_INJECT_H
#define MI_INJECT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"
#include "base/clock.h"
#include "broker/compat.h"
#include "broker/retained.h"
#include "in/inbox.h"
#include "metrics/metrics.h"

struct mi_inject_options {
    struct mi_inbox *inbox;
    struct mi_metrics *metrics;
    const struct mi_clock *clock;
    const struct mi_log *log;
    struct mi_retained *retained; /* decides about retained messages */
    const struct mi_compat *compat;
};

struct mi_inject;
struct mi_inject *mi_inject_new(const struct mi_inject_options *options); /* NULL when memory is out */
void mi_inject_free(struct mi_inject *in);                                /* NULL is allowed */

/* Nothing waits to be published. One or two loads. */
bool mi_inject_idle(const struct mi_inject *in);

/* One TICK: reports what the TICK before published, then publishes at most max messages. Returns how
 * many; when the broker is out of memory the rest waits for the next TICK. A message whose topic or
 * properties the broker could not carry is counted (MI_C_IN_TOPIC, MI_C_IN_BROKEN), logged at most every 10
 * s, and reported as delivered, so that its position moves past it. */
size_t mi_inject_tick(struct mi_inject *in, size_t max);

#endif
