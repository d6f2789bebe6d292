/*
 * publisher: MQTT clients that never resend by themselves: what was not acknowledged when a connection broke
 * stays so, and the next connection goes on with new messages. Raw MQTT 3.1.1 over non-blocking sockets,
 * driven by the caller.
 */
#ifndef MI_PUBLISHER_H
#define MI_PUBLISHER_H

#include "ledger.h"

struct mi_publisher;
/* qos 0-2; publishes to PREFIX/<topic> for topic in first_topic..first_topic+topics-1 in turn; the payload is
 * the number as u32 LE, the topic as u32 LE, and filler of varying length. */
struct mi_publisher *mi_publisher_new(struct mi_ledger *ledger, uint16_t port, int qos, const char *prefix,
                                      uint32_t first_topic, uint32_t topics);
void mi_publisher_free(struct mi_publisher *p);
/* Connects when it is not connected, sends at most budget new messages, reads acknowledgements. Never blocks.
 * Returns how many were sent. */
uint32_t mi_publisher_turn(struct mi_publisher *p, uint32_t budget);
/* Nothing is waiting for an acknowledgement (on this connection). */
bool mi_publisher_idle(const struct mi_publisher *p);
bool mi_publisher_connected(const struct mi_publisher *p);

#endif
