/*
 * slots: a small file that is replaced whole and never half (the state file).
 *
 * Two slots; each write goes to the one that does not hold the newest good copy, with a generation number and
 * a CRC-32C, and is synced. A reader takes the good slot with the higher generation.
 */
#ifndef MI_SLOTS_H
#define MI_SLOTS_H

#include "base/bytes.h"
#include "base/error.h"

struct mi_slots;
/* Opens or creates directory/name.0 and .1 and finds the newest good copy. */
struct mi_slots *mi_slots_open(const char *directory, const char *name, struct mi_error *err);
void mi_slots_close(struct mi_slots *s);
/* 1: content read into out (reset first); 0: nothing was ever written; -1: both slots are damaged (err says
 * so). */
int mi_slots_read(struct mi_slots *s, struct mi_buf *out, struct mi_error *err);
/* Replaces the content; returns after fdatasync. -1 with err on I/O errors, the old copy stays. */
int mi_slots_write(struct mi_slots *s, struct mi_span content, struct mi_error *err);

#endif
