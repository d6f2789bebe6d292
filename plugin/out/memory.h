/*
 * memory: out's checkpoint taken and restored. For the files of this folder.
 */
#ifndef MI_OUT_MEMORY_H
#define MI_OUT_MEMORY_H

#include "out/out_private.h"

/* Restores targets, lanes, counters and settled records, and the journal's base counts. Sets *start to the
 * first sequence that is not settled. -1 with err when the journal cannot be read. What cannot be understood
 * is logged and counts as none. */
int mi_out_restore(struct mi_out *out, struct mi_span checkpoint, uint64_t *start, struct mi_error *err);

/* The journal's counts into the metrics. */
void mi_out_mirror_counts(struct mi_out *out);

#endif
