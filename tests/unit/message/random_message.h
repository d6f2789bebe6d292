/*
 * random_message: messages of every shape that a broker can hand to a plugin, from a seed.
 */
#ifndef MI_RANDOM_MESSAGE_H
#define MI_RANDOM_MESSAGE_H

#include "message/message.h"

struct random_message {
    struct mi_message message; /* spans into the buffers below */
    struct mi_buf topic, payload, client_id, username, properties;
};

/* xorshift64*; the state is never 0. */
uint64_t random_next(uint64_t *state);
/* MI_SEED from the environment, else the clock; printed, so that a failure can be repeated. */
uint64_t random_seed(const char *what);

void random_message_init(struct random_message *r);
void random_message_fini(struct random_message *r);
/* Makes the next message. Sizes lean to the small, and hit 0, the edges around 255 and MQTT's maximum now and
 * then. */
void random_message_make(struct random_message *r, uint64_t *state);

#endif
