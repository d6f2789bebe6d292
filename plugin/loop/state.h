/*
 * state: the content of the state file: out's checkpoint, in's positions, and what is known of the broker's
 * own store, side by side. Pure.
 *
 *   off len
 *     0   4  magic "MIS1"
 *     4   4  bytes of out's checkpoint
 *     8   4  bytes of in's positions
 *    12      checkpoint, positions
 *         4  1: the end was clean
 *         8  next sequence of the journal
 *            what was outstanding (broker/retained.h)
 *
 * The file itself (two slots, generation, CRC) is journal/slots.h.
 */
#ifndef MI_STATE_H
#define MI_STATE_H

#include "base/bytes.h"

#define MI_STATE_MAX_BYTES (64u << 20)

/* Starts a state in out (reset first); the checkpoint is appended by the caller, then mi_state_between, then
 * the positions, then mi_state_end. Each returns false when out is full. */
bool mi_state_begin(struct mi_buf *out);
bool mi_state_between(struct mi_buf *out);
bool mi_state_end(struct mi_buf *out);

struct mi_state_store {
    bool clean;                 /* the broker saved after all that this state covers, and did not run on */
    uint64_t next_sequence;     /* of the journal */
    struct mi_span outstanding; /* what broker/retained.h saved; empty unless clean */
};
/* After mi_state_end. */
bool mi_state_add_store(struct mi_buf *out, const struct mi_state_store *store);

/* Splits a state; false when it is none. A state without the last part gives one that is not clean. */
bool mi_state_split(struct mi_span state, struct mi_span *checkpoint, struct mi_span *positions,
                    struct mi_state_store *store);

#endif
