/*
 * wanted: which targets are read now: all of a route with feed: always, those that somebody may want of one
 * with feed: on_subscribe. Bridge thread.
 */
#ifndef MI_WANTED_H
#define MI_WANTED_H

#include "config/config.h"
#include "in/interest.h"

/* Might somebody want what this stream and topic brings through that route? NULL picture: yes. scratch: for a
 * filter, started by the caller with room for one (MI_MAX_MQTT_STRING); without room the answer is yes. */
bool mi_wanted(const struct mi_interest_picture *picture, const struct mi_config *config, size_t route,
               struct mi_span stream, struct mi_span topic, struct mi_buf *scratch);

#endif
