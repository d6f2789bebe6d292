/*
 * state: the content of the state file: out's checkpoint and in's positions, side by side. Pure.
 *
 *   off len
 *     0   4  magic "MIS1"
 *     4   4  bytes of out's checkpoint
 *     8   4  bytes of in's positions
 *    12      checkpoint, positions
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

/* Splits a state; false when it is none. */
bool mi_state_split(struct mi_span state, struct mi_span *checkpoint, struct mi_span *positions);

#endif
