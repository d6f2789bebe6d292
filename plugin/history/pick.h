/*
 * pick: one message of Iggy -> one message for the client, or not (design section 8, "Which topic"). No I/O.
 */
#ifndef MI_HISTORY_PICK_H
#define MI_HISTORY_PICK_H

#include "history/item.h"
#include "history/plan.h"

struct mi_pick {
    const struct mi_config *config;
    const struct mi_place *place;
    const struct mi_filter *filter; /* with mount point */
    struct mi_span mount, from;
    uint32_t partition;
    uint64_t since_us; /* older ones do not count; 0: no bound */
    uint8_t max_qos;
    struct mi_buf *scratch, *topic;
};

enum mi_picked {
    MI_PICKED,
    MI_PICK_NOT_WANTED, /* another topic, too old, none of this route's: nothing to tell */
    MI_PICK_UNREADABLE /* broken headers, an unknown envelope, a topic that is too long: counted as skipped */
};
/* *item is the caller's, id not set. */
enum mi_picked mi_pick(const struct mi_pick *p, const struct iggy_polled_message *m,
                       struct mi_history_item **item);

#endif
