/*
 * names: the keys of the envelope's headers; private to encoder and decoder.
 */
#ifndef MI_MESSAGE_NAMES_H
#define MI_MESSAGE_NAMES_H

#include "base/bytes.h"

#define MI_NAME(text) ((struct mi_span){(const uint8_t *)(text), sizeof(text) - 1})

#define MI_NAME_TOPIC MI_NAME("mqtt.topic")
#define MI_NAME_QOS MI_NAME("mqtt.qos")
#define MI_NAME_RETAIN MI_NAME("mqtt.retain")
#define MI_NAME_CLIENT_ID MI_NAME("mqtt.client_id")
#define MI_NAME_USERNAME MI_NAME("mqtt.username")
#define MI_NAME_ORIGIN MI_NAME("mqtt.origin")
#define MI_NAME_TIME MI_NAME("mqtt.time")
#define MI_NAME_EMPTY MI_NAME("mqtt.empty")
#define MI_NAME_WILL MI_NAME("mqtt.will")
#define MI_NAME_MAYBE_DUP MI_NAME("mqtt.maybe_dup")
#define MI_NAME_CONTENT_TYPE MI_NAME("mqtt.content_type")
#define MI_NAME_RESPONSE_TOPIC MI_NAME("mqtt.response_topic")
#define MI_NAME_PROPERTIES MI_NAME("mqtt.properties")
#define MI_NAME_ENVELOPE MI_NAME("mqtt.envelope")

#endif
