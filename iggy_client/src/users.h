/*
 * users: how an answer that holds a user is read.
 */
#ifndef IGGY_USERS_H
#define IGGY_USERS_H

#include "iggy_client.h"
#include "transport.h"

/* False when it is no user's record; the spans point into the answer. */
bool users_read(struct answer *answer, struct iggy_user *user);

#endif
