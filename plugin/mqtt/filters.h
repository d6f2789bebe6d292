/*
 * filters: few subscriptions that no message comes through twice. Pure.
 *
 * Mosquitto delivers a message once per matching subscription of a client, so overlapping filters are
 * replaced by one that covers both; what comes through it in excess is for nobody, and is dropped.
 */
#ifndef MI_MQTT_FILTERS_H
#define MI_MQTT_FILTERS_H

#include "base/bytes.h"

struct mi_filters {
    char **text;
    size_t count;
};

/* Adds an MQTT filter (copied). false when memory is out; the set is then as it was, or covers more. */
bool mi_filters_add(struct mi_filters *f, const char *filter);
bool mi_filters_has(const struct mi_filters *f, const char *filter);
void mi_filters_clear(struct mi_filters *f);

/* The filter of a route without its names: "a/{room}/{rest...}" becomes "a/+/#". malloc'd; NULL when memory
 * is out. */
char *mi_filter_without_names(const char *filter);

#endif
