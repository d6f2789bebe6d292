/*
 * properties: Mosquitto's property list <-> the MQTT property block of message/message.h. Main thread only.
 */
#ifndef MI_BROKER_PROPERTIES_H
#define MI_BROKER_PROPERTIES_H

#include "base/bytes.h"
#include "broker/compat.h"

/* Appends the properties that the envelope carries to block, in their order; others are left out (the broker
 * has dealt with them). false when memory is out; block is then incomplete. c must have readers. */
bool mi_properties_from_list(const struct mi_compat *c, const mosquitto_property *list, struct mi_buf *block);

/* Makes a list for mosquitto_broker_publish_copy; NULL in *list for an empty block. false, and no list, when
 * the block is malformed, a text is not valid UTF-8 or holds a NUL, a response topic has wildcards, or memory
 * is out. */
bool mi_properties_to_list(struct mi_span block, mosquitto_property **list);

#endif
