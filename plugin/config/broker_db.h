/*
 * broker_db: the subscriptions that the broker's mosquitto.db holds: those of the sessions that it restored,
 * which no event tells of.
 *
 * Formats 5 and 6 (mosquitto/src/persist.h of 2.0.11 to 2.1.2): a header, then chunks of a kind, a length and
 * a body, all numbers big-endian. Everything but subscriptions is passed over. To be read while the broker
 * starts, before it saves the file for the first time.
 */
#ifndef MI_BROKER_DB_H
#define MI_BROKER_DB_H

#include "base/bytes.h"
#include "base/error.h"

typedef void (*mi_broker_db_each)(void *context, struct mi_span client_id, struct mi_span filter);

/* -1 with err: it cannot be read to its end, or has another form; each may have been called then. */
int mi_broker_db_subscriptions(const char *path, mi_broker_db_each each, void *context, struct mi_error *err);

#endif
