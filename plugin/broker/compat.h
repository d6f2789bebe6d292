/*
 * compat: one binary for Mosquitto 2.0.11 to 2.1.x.
 *
 * What only some brokers have is looked up at start instead of linked: a missing symbol would make the broker
 * refuse the plugin. Make-built 2.0 brokers export 34 functions, the property readers not among them; those
 * then come from libmosquitto, whose property lists have the same shape within a series. Main thread only.
 */
#ifndef MI_COMPAT_H
#define MI_COMPAT_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__has_include)
#if __has_include(<mosquitto/broker.h>)
#define MI_HEADERS_2_1 1
#endif
#endif
#ifdef MI_HEADERS_2_1
#include <mosquitto.h>
#else
#include <mosquitto.h>
#include <mosquitto_broker.h>
#include <mosquitto_plugin.h>
#endif

/* What the 2.0 headers do not know; numbers and structs of the 2.1 headers. */
enum {
    MI_EVT_CONNECT = 11,
    MI_EVT_SUBSCRIBE = 12,
    MI_EVT_UNSUBSCRIBE = 13,
    MI_EVT_CLIENT_OFFLINE = 28,
    MI_ERR_QUOTA_EXCEEDED = -6,
    MI_ERR_AUTH_DELAYED = -5,
    MI_ERR_PLUGIN_IGNORE = 32,
    MI_REASON_TAKEN_OVER = 142 /* of DISCONNECT, on 2.1 */
};
struct mi_evt_connect {
    void *future;
    struct mosquitto *client;
    void *future2[4];
};
struct mi_subscription {
    char *clientid; /* NULL, whatever the name says */
    char *topic_filter;
    mosquitto_property *properties;
    uint32_t identifier;
    uint8_t options; /* of the SUBSCRIBE packet: QoS in the lowest two bits */
    uint8_t padding[3];
    void *future2[8];
};
/* UNSUBSCRIBE has the same shape. */
struct mi_evt_subscribe {
    void *future;
    struct mosquitto *client;
    struct mi_subscription data;
    void *future2[8];
};

/* Where symbols come from; a test gives its own. */
struct mi_symbols {
    void *(*open)(const char *library);             /* NULL when there is none */
    void *(*find)(void *library, const char *name); /* library NULL: what the process has loaded */
    void (*close)(void *library);
};
extern const struct mi_symbols mi_symbols_system;

/* Readers of a property list. text_free frees what read_string, read_string_pair and read_binary allocate. */
struct mi_property_readers {
    const mosquitto_property *(*next)(const mosquitto_property *list);
    int (*identifier)(const mosquitto_property *property);
    const mosquitto_property *(*read_byte)(const mosquitto_property *list, int id, uint8_t *value, bool skip);
    const mosquitto_property *(*read_binary)(const mosquitto_property *list, int id, void **value,
                                             uint16_t *len, bool skip);
    const mosquitto_property *(*read_string)(const mosquitto_property *list, int id, char **value, bool skip);
    const mosquitto_property *(*read_string_pair)(const mosquitto_property *list, int id, char **name,
                                                  char **value, bool skip);
    void (*text_free)(void *text);
};

struct mi_compat {
    bool v2_1;        /* the running broker is 2.1 or newer */
    bool has_readers; /* else properties cannot be read on this broker */
    struct mi_property_readers readers;
    int (*set_info)(mosquitto_plugin_id_t *id, const char *name, const char *version); /* NULL on 2.0 */
    /* For BASIC_AUTH that was answered with MI_ERR_AUTH_DELAYED; NULL on 2.0. */
    void (*complete_basic_auth)(const char *client_id, int result);
    /* A client or session that logged in; NULL on 2.0. */
    struct mosquitto *(*client_of_id)(const char *client_id);
    /* Calls each for every session, connected or not, while it returns 0; NULL on 2.0. */
    int (*for_all_clients)(int (*each)(const struct mosquitto *client, void *context), void *context);
    const struct mi_symbols *symbols;
    void *library; /* libmosquitto, where the readers had to come from it */
};

void mi_compat_init(struct mi_compat *c, const struct mi_symbols *symbols);
void mi_compat_fini(struct mi_compat *c);

#endif
