/*
 * rebuild: the last retained value of each topic from before a reader's position, for a broker whose store
 * began empty (design section 8, "Several brokers"). Pure but for memory. Bridge thread.
 *
 * The partition is scanned from its beginning up to the position, beside the live reading; own messages count
 * as all others. When the scan is complete the values go to the broker in the inbox, which leaves out those
 * that a newer one has overtaken (broker/retained.h). All rebuilds share one budget of bytes: a topic that
 * does not fit has no value.
 */
#ifndef MI_REBUILD_H
#define MI_REBUILD_H

#include "in/inbox.h"

struct mi_rebuild_budget {
    size_t left;       /* bytes */
    uint64_t left_out; /* values that did not fit */
};

struct mi_rebuild;
/* Scans offsets from 0 to below end. NULL when memory is out. The budget outlives it. */
struct mi_rebuild *mi_rebuild_new(struct mi_rebuild_budget *budget, uint64_t end);
void mi_rebuild_free(struct mi_rebuild *r); /* gives back what it holds; NULL is allowed */

/* The offset to read next; what was read moves it. */
uint64_t mi_rebuild_offset(const struct mi_rebuild *r);
void mi_rebuild_read(struct mi_rebuild *r, uint64_t next);
bool mi_rebuild_before_end(const struct mi_rebuild *r, uint64_t offset);
bool mi_rebuild_scanned(const struct mi_rebuild *r);

/* Takes a message with retain on (an empty one is a delete), in the order of the log; frees it or keeps it.
 * m->mark.id_lo: of an own message its sequence in the journal, else 0. */
void mi_rebuild_take(struct mi_rebuild *r, struct mi_inbound *m);

/* After the scan: hands out one topic (the caller owns it), NULL when there are no more: its last value, and
 * in mark.id_lo the sequence of the last own message, 0 when there was none. An empty one was deleted; it
 * comes only for its own messages' sake. */
struct mi_inbound *mi_rebuild_next(struct mi_rebuild *r);

#endif
