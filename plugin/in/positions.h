/*
 * positions: where each reader stands, as bytes for the state file. Pure.
 *
 *   off len
 *     0   4  magic "MIP2"
 *     4   4  entries
 *     8      entries: route id (4), partition (4), topic's created_at (8), next offset (8), id of the message
 *            before it (8 low, 8 high), its stamp (8), flags (4), bytes of the stream name (2), bytes of the
 *            topic name (2), names
 *
 * "MIP1", which is still read, has neither id, stamp nor flags.
 */
#ifndef MI_POSITIONS_H
#define MI_POSITIONS_H

#include "in/inbox.h"

struct mi_position {
    uint32_t route;
    uint32_t partition;
    uint64_t created_at; /* of the topic: another value means it was made again */
    uint64_t next;       /* offset of the first message that was not yet delivered */
    bool marked;         /* mark is known */
    struct mi_mark mark; /* of the message at next - 1 */
    bool rests;          /* nobody wanted it: reading goes on at the tail */
    bool rebuild;        /* the broker does not have all retained values from before it (scan.c) */
    struct mi_span stream, topic;
};

bool mi_positions_begin(struct mi_buf *out, size_t *start);
bool mi_positions_add(struct mi_buf *out, size_t start, const struct mi_position *p);

/* Reads the entry at *at (start with 0, for the first call): 1 read, 0 end, -1 unreadable. */
int mi_positions_next(struct mi_span saved, size_t *at, struct mi_position *out);

#endif
