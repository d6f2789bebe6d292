/*
 * shared_log: does what a PUBLISH writes into Iggy come back through a route of this bridge? Pure. Main
 * thread (the map's way back).
 */
#ifndef MI_SHARED_LOG_H
#define MI_SHARED_LOG_H

#include "config/config.h"

/* Will this bridge read the copy of a retained PUBLISH back, and follow the retained values there? */
bool mi_shared_log_follows(const struct mi_config *config, const struct mi_hit *hit, struct mi_span topic);

/* Does a route with stamp: true read the stream and topic of this hit? */
bool mi_shared_log_stamps(const struct mi_config *config, const struct mi_hit *hit);

/* Does any route have stamp: true? */
bool mi_shared_log_has_stamp(const struct mi_config *config);

#endif
