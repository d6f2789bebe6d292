/*
 * dup_guess: does a PUBLISH look like one that the client sends a second time? (design section 1, promise 3)
 *
 * Mosquitto shows a plugin neither packet id nor DUP. A client that reconnects sends again, in order and
 * before anything new, what it has no acknowledgement for: so the first messages after a reconnect that
 * repeat the last ones of the connection before, in their order, are suspects. They are marked, never
 * dropped.
 *
 * Remembers a 64-bit fingerprint of the last MI_DUP_MESSAGES messages with QoS 1 or 2 of up to max_clients
 * clients, the least recently heard one makes room. Nothing is remembered over a restart of the broker. Main
 * thread only.
 */
#ifndef MI_DUP_GUESS_H
#define MI_DUP_GUESS_H

#include "base/bytes.h"

enum { MI_DUP_MESSAGES = 32 };

struct mi_dup_guess;
struct mi_dup_guess *mi_dup_guess_new(size_t max_clients); /* NULL when memory is out */
void mi_dup_guess_free(struct mi_dup_guess *g);

/* The fingerprint of a message. */
uint64_t mi_dup_guess_print(struct mi_span topic, struct mi_span payload, uint8_t qos, bool retain);

/* The client's connection ended. */
void mi_dup_guess_disconnected(struct mi_dup_guess *g, struct mi_span client_id);

/* Is this message a suspect? Asked once per message, before mi_dup_guess_keep. */
bool mi_dup_guess_check(struct mi_dup_guess *g, struct mi_span client_id, uint64_t print);
/* The message was kept: a second one like it would be a repetition. */
void mi_dup_guess_keep(struct mi_dup_guess *g, struct mi_span client_id, uint64_t print);

#endif
