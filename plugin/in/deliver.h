/*
 * deliver: one message from Iggy -> one message for the broker, or the reason why not (design section 8,
 * "Which topic"). No I/O; everything it needs is given.
 */
#ifndef MI_DELIVER_H
#define MI_DELIVER_H

#include "config/config.h"
#include "in/inbox.h"
#include "metrics/metrics.h"

struct mi_delivery {
    const struct mi_config *config;
    size_t route; /* index */
    struct mi_span stream, topic;
    uint32_t partition;
    uint64_t appended_us; /* Iggy's own stamp */
    struct mi_span headers, payload;
    uint64_t now_us;         /* wall clock, for max_age */
    bool retained_only;      /* others are skipped, uncounted: *skipped is MI_C_IN_OWN */
    struct mi_span identity; /* of this bridge, for stamp */
    bool (*is_own)(void *context, struct mi_span origin);
    void *context;
};

/* Makes the message (the caller owns it, and fills in reader and mark), or returns NULL with the counter that
 * tells why in *skipped, and a sentence for the log (static text; NULL: nothing to say) in *why. *skipped is
 * MI_C_ROUTE_COUNTERS when memory is out: then the same message must be tried again. scratch is for the
 * envelope. An own retained message comes too (its kind says so), for the order of retained values; with
 * retain off when it is too old to be stored again. */
struct mi_inbound *mi_deliver(const struct mi_delivery *d, struct mi_buf *scratch, struct mi_buf *topic,
                              enum mi_route_counter *skipped, const char **why);

#endif
