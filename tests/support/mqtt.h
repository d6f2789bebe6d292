/*
 * mqtt: an MQTT client for tests, over libmosquitto, without a thread: it works while one of these functions
 * waits. Nothing is ever sent twice: a client that lost its connection stays lost.
 */
#ifndef MI_TEST_MQTT_H
#define MI_TEST_MQTT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mosquitto.h>

struct mi_mqtt_options {
    uint16_t port;          /* on 127.0.0.1 */
    const char *client_id;  /* NULL: the broker chooses */
    const char *username;   /* NULL: none */
    const char *password;   /* with a user name; NULL: "password" */
    int protocol;           /* MQTT_PROTOCOL_V31, V311 or V5 */
    bool keep_session;      /* not clean; MQTT 5: with a session expiry of an hour */
    const char *will_topic; /* NULL: no will; its payload is "gone", QoS 1 */
    uint32_t max_packet;    /* MQTT 5: the largest packet it takes; 0: any */
};

struct mi_mqtt;

/* Connects and waits for the CONNACK; NULL when it does not come or refuses. */
struct mi_mqtt *mi_mqtt_connect(const struct mi_mqtt_options *options);
/* DISCONNECT, unless the connection is gone. NULL is allowed. */
void mi_mqtt_close(struct mi_mqtt *m);
/* Cuts the connection without DISCONNECT, as a client that died. */
void mi_mqtt_cut(struct mi_mqtt *m);

bool mi_mqtt_connected(struct mi_mqtt *m);
/* Lets it work for that long. */
void mi_mqtt_run(struct mi_mqtt *m, unsigned ms);

/* What became of a PUBLISH: the reason code of the acknowledgement (0 also for MQTT 3 and QoS 0), or: */
enum { MI_MQTT_LOST = -1, MI_MQTT_NO_ANSWER = -2 };
int mi_mqtt_publish(struct mi_mqtt *m, const char *topic, const void *payload, size_t len, int qos,
                    bool retain, const mosquitto_property *properties);
/* The same with text and nothing else. */
int mi_mqtt_say(struct mi_mqtt *m, const char *topic, const char *text, int qos);
/* Sends without waiting; the packet id. mi_mqtt_acknowledged counts what was acknowledged with success so
 * far. */
int mi_mqtt_send(struct mi_mqtt *m, const char *topic, const char *text, int qos);
size_t mi_mqtt_acknowledged(struct mi_mqtt *m);
/* Was the one with that packet id? */
bool mi_mqtt_was_acknowledged(struct mi_mqtt *m, int mid);

/* Waits for the SUBACK. */
bool mi_mqtt_subscribe(struct mi_mqtt *m, const char *filter, int qos);
/* Only sends it. */
bool mi_mqtt_unsubscribe(struct mi_mqtt *m, const char *filter);

struct mi_mqtt_message {
    char *topic;
    uint8_t *payload; /* NUL-terminated for convenience */
    size_t len;
    int qos;
    bool retain;
    mosquitto_property *properties;
};
/* Waits until so many messages have come since the connection began; false when they do not. */
bool mi_mqtt_wait(struct mi_mqtt *m, size_t count, unsigned timeout_ms);
size_t mi_mqtt_count(struct mi_mqtt *m);
const struct mi_mqtt_message *mi_mqtt_message(struct mi_mqtt *m, size_t index);

/* ---- raw packets, for what no client library sends ---- */

/* A socket after CONNECT and CONNACK (protocol 4 or 5), -1 when refused. */
int mi_raw_connect(uint16_t port, const char *client_id, int protocol, bool clean);
/* One PUBLISH, without properties. */
bool mi_raw_publish(int fd, int protocol, const void *topic, size_t topic_len, const void *payload,
                    size_t len, int qos, bool retain, bool dup, uint16_t mid);
bool mi_raw_send(int fd, const void *bytes, size_t len);
/* Reads one packet: its first byte, its reason code in *reason when it is an acknowledgement (0 when it has
 * none); 0 at the end of the connection, -1 when nothing comes in time. */
int mi_raw_receive(int fd, int *reason, unsigned timeout_ms);

#endif
