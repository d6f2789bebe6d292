/*
 * mirror: shows the readers' positions as a consumer's offsets in Iggy, for people and tools; nobody reads
 * them back. Few requests at a time, failures are logged rarely and never in the way. Bridge thread.
 */
#ifndef MI_MIRROR_H
#define MI_MIRROR_H

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "iggy_client.h"

struct mi_mirror;
/* The consumer is called "mqtt-" and the first 8 digits of identity. */
struct mi_mirror *mi_mirror_new(struct iggy_client *client, const char *identity,
                                const struct mi_clock *clock, const struct mi_log *log);
void mi_mirror_free(struct mi_mirror *m); /* cancels its requests */

/* May another request be made now? When not, *due is when to ask again. */
bool mi_mirror_may(const struct mi_mirror *m, uint64_t now_ns, uint64_t *due);
/* Asks Iggy to keep offset, that of the last message which the broker has. */
void mi_mirror_store(struct mi_mirror *m, struct mi_span stream, struct mi_span topic, uint32_t partition,
                     uint64_t offset, uint64_t now_ns);

#endif
