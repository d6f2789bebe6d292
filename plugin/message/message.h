/*
 * message: one MQTT message as a plugin can see it, and MQTT 5's property block.
 *
 * All spans are views; who made the message owns the bytes. Pure: no Mosquitto, no Iggy HTTP, no threads.
 */
#ifndef MI_MESSAGE_H
#define MI_MESSAGE_H

#include "base/bytes.h"

struct mi_message {
    struct mi_span topic; /* 1-65,535 bytes of UTF-8 */
    struct mi_span payload;
    uint8_t qos;
    bool retain;
    bool will;
    bool maybe_dup;
    struct mi_span client_id; /* empty: unknown or switched off */
    struct mi_span username;
    struct mi_span origin; /* identity of the bridge that took it */
    uint64_t time_us;      /* when the broker received it */
    /* Properties in MQTT's own encoding (MQTT 5 section 2.2.2), without the leading length; empty: none. Only
     * those that a plugin sees: payload format 0x01, content type 0x03, response topic 0x08, correlation data
     * 0x09, user property 0x26. */
    struct mi_span properties;
};

/* ---- property block ---- */

enum {
    MI_PROP_PAYLOAD_FORMAT = 0x01,
    MI_PROP_CONTENT_TYPE = 0x03,
    MI_PROP_RESPONSE_TOPIC = 0x08,
    MI_PROP_CORRELATION_DATA = 0x09,
    MI_PROP_USER = 0x26
};

/* Appends one property; false when the buffer is full or a string is over 65,535 bytes. */
bool mi_properties_add_byte(struct mi_buf *block, uint8_t id, uint8_t value);
bool mi_properties_add_bytes(struct mi_buf *block, uint8_t id, struct mi_span value);
bool mi_properties_add_pair(struct mi_buf *block, struct mi_span name, struct mi_span value);

/* User property of what a bridge published with stamp: true; its value is the identity of that bridge. */
#define MI_STAMP_NAME "mosquitto-iggy-origin"

struct mi_property {
    uint8_t id;
    uint8_t byte;         /* MI_PROP_PAYLOAD_FORMAT */
    struct mi_span value; /* the others */
    struct mi_span name;  /* MI_PROP_USER */
};
/* Reads the next property at *at (start with 0): 1 one was read, 0 at the end, -1 malformed or an unknown id.
 */
int mi_properties_next(struct mi_span block, size_t *at, struct mi_property *out);
/* First property with that id (and, for user properties, that name). */
bool mi_properties_find(struct mi_span block, uint8_t id, struct mi_span name, struct mi_property *out);

#endif
