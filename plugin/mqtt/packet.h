/*
 * packet: the packets of MQTT 5 that a subscriber sends and gets. Pure: bytes in, bytes out.
 */
#ifndef MI_MQTT_PACKET_H
#define MI_MQTT_PACKET_H

#include "base/bytes.h"

enum mi_packet_type {
    MI_CONNACK = 2,
    MI_PUBLISH = 3,
    MI_PUBACK = 4,
    MI_PUBREC = 5,
    MI_PUBREL = 6,
    MI_PUBCOMP = 7,
    MI_SUBACK = 9,
    MI_UNSUBACK = 11,
    MI_PINGRESP = 13,
    MI_DISCONNECT = 14
};

struct mi_packet {
    enum mi_packet_type type;
    uint16_t id;    /* PUBLISH with QoS 1 or 2, PUBREL, SUBACK, UNSUBACK */
    uint8_t reason; /* CONNACK, DISCONNECT; of SUBACK the only one */
    bool session_present;
    uint16_t server_keepalive; /* CONNACK; 0: the broker does not say */
    /* PUBLISH */
    struct mi_span topic, payload;
    uint8_t qos;
    bool retain, dup;
    /* Those properties that message/message.h knows, in MQTT's own encoding, as a block of it. */
    struct mi_span properties;
};

/* Reads the packet at the beginning of data. >0: its bytes, packet is filled in with spans into data and
 * scratch (reset first). 0: it is not whole yet. -1: no packet that a server may send. */
int64_t mi_packet_read(struct mi_span data, struct mi_packet *packet, struct mi_buf *scratch);

struct mi_packet_login {
    const char *client_id, *username, *password; /* user name and password may be NULL */
    uint16_t keepalive_s;
    uint32_t session_expiry_s; /* the session is resumed, and kept for so long */
    uint16_t receive_maximum;
};
/* Append one packet; false when out is full. */
bool mi_packet_connect(struct mi_buf *out, const struct mi_packet_login *login);
/* At QoS 2, with the retain flag as published, nothing that was retained before, nothing of our own. */
bool mi_packet_subscribe(struct mi_buf *out, uint16_t id, const char *filter);
bool mi_packet_unsubscribe(struct mi_buf *out, uint16_t id, const char *filter);
/* PUBACK, PUBREC, PUBCOMP with success. */
bool mi_packet_acknowledge(struct mi_buf *out, enum mi_packet_type type, uint16_t id);
bool mi_packet_ping(struct mi_buf *out);
/* The session ends with it. */
bool mi_packet_goodbye(struct mi_buf *out);

/* CONNACK's and SUBACK's reason in words; static text. */
const char *mi_packet_reason(uint8_t reason);

#endif
