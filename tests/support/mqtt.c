#include "support/mqtt.h"

#include <arpa/inet.h>
#include <mqtt_protocol.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/process.h"

enum { ANSWER_MS = 10000 };

struct mi_mqtt {
    struct mosquitto *client;
    bool v5;
    bool connected, refused;
    bool *acknowledged; /* by packet id */
    size_t acknowledged_count;
    int waiting_mid, reason; /* of the publish that is waited for; reason MI_MQTT_NO_ANSWER until it comes */
    int subscribe_mid;       /* 0 once it is answered */
    struct mi_mqtt_message *messages;
    size_t count, room;
};

static void init_once(void)
{
    static bool done;
    if (!done)
        mosquitto_lib_init();
    done = true;
}

static void on_connect(struct mosquitto *client, void *arg, int code, int flags,
                       const mosquitto_property *properties)
{
    (void)client;
    (void)flags;
    (void)properties;
    struct mi_mqtt *m = arg;
    m->connected = code == 0;
    m->refused = code != 0;
}

static void on_publish(struct mosquitto *client, void *arg, int mid, int code,
                       const mosquitto_property *properties)
{
    (void)client;
    (void)properties;
    struct mi_mqtt *m = arg;
    bool good = code < 0x80;
    if (good && !m->acknowledged[mid]) {
        m->acknowledged[mid] = true;
        m->acknowledged_count++;
    }
    if (mid == m->waiting_mid)
        m->reason = code;
}

static void on_subscribe(struct mosquitto *client, void *arg, int mid, int count, const int *granted,
                         const mosquitto_property *properties)
{
    (void)client;
    (void)properties;
    struct mi_mqtt *m = arg;
    if (mid == m->subscribe_mid && count > 0 && granted[0] < 0x80)
        m->subscribe_mid = 0;
}

static void on_message(struct mosquitto *client, void *arg, const struct mosquitto_message *message,
                       const mosquitto_property *properties)
{
    (void)client;
    struct mi_mqtt *m = arg;
    if (m->count == m->room) {
        m->room = m->room ? 2 * m->room : 64;
        m->messages = realloc(m->messages, m->room * sizeof *m->messages);
        if (!m->messages)
            abort();
    }
    struct mi_mqtt_message *to = &m->messages[m->count++];
    *to = (struct mi_mqtt_message){.topic = strdup(message->topic),
                                   .len = (size_t)message->payloadlen,
                                   .qos = message->qos,
                                   .retain = message->retain};
    to->payload = calloc(1, to->len + 1);
    if (to->len)
        memcpy(to->payload, message->payload, to->len);
    mosquitto_property_copy_all(&to->properties, properties);
}

static int turn(struct mi_mqtt *m, int timeout_ms)
{
    int result = mosquitto_loop(m->client, timeout_ms, 1);
    if (result != MOSQ_ERR_SUCCESS)
        m->connected = false;
    return result;
}

static void set_up(struct mi_mqtt *m, const struct mi_mqtt_options *o)
{
    mosquitto_int_option(m->client, MOSQ_OPT_PROTOCOL_VERSION, o->protocol);
    mosquitto_int_option(m->client, MOSQ_OPT_TCP_NODELAY, 1);
    mosquitto_connect_v5_callback_set(m->client, on_connect);
    mosquitto_publish_v5_callback_set(m->client, on_publish);
    mosquitto_subscribe_v5_callback_set(m->client, on_subscribe);
    mosquitto_message_v5_callback_set(m->client, on_message);
    if (o->username)
        mosquitto_username_pw_set(m->client, o->username, o->password ? o->password : "password");
    if (o->will_topic)
        mosquitto_will_set(m->client, o->will_topic, 4, "gone", 1, false);
}

static bool handshake(struct mi_mqtt *m, const struct mi_mqtt_options *o)
{
    mosquitto_property *properties = NULL;
    if (m->v5 && o->keep_session)
        mosquitto_property_add_int32(&properties, MQTT_PROP_SESSION_EXPIRY_INTERVAL, 3600);
    if (m->v5 && o->max_packet)
        mosquitto_property_add_int32(&properties, MQTT_PROP_MAXIMUM_PACKET_SIZE, o->max_packet);
    int result = mosquitto_connect_bind_v5(m->client, "127.0.0.1", o->port, 60, NULL, properties);
    mosquitto_property_free_all(&properties);
    if (result != MOSQ_ERR_SUCCESS)
        return false;
    for (uint64_t end = mi_monotonic_ms() + ANSWER_MS;
         mi_monotonic_ms() < end && !m->connected && !m->refused;)
        if (turn(m, 20) != MOSQ_ERR_SUCCESS)
            return false;
    return m->connected;
}

struct mi_mqtt *mi_mqtt_connect(const struct mi_mqtt_options *options)
{
    init_once();
    struct mi_mqtt *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->v5 = options->protocol == MQTT_PROTOCOL_V5;
    m->acknowledged = calloc(65536, sizeof *m->acknowledged);
    m->client = mosquitto_new(options->client_id, !options->keep_session, m);
    if (!m->acknowledged || !m->client)
        abort();
    set_up(m, options);
    if (handshake(m, options))
        return m;
    mi_mqtt_cut(m);
    return NULL;
}

static void free_all(struct mi_mqtt *m)
{
    mosquitto_destroy(m->client);
    for (size_t i = 0; i < m->count; i++) {
        free(m->messages[i].topic);
        free(m->messages[i].payload);
        mosquitto_property_free_all(&m->messages[i].properties);
    }
    free(m->messages);
    free(m->acknowledged);
    free(m);
}

void mi_mqtt_close(struct mi_mqtt *m)
{
    if (!m)
        return;
    if (m->connected && mosquitto_disconnect(m->client) == MOSQ_ERR_SUCCESS)
        for (int i = 0; i < 100 && turn(m, 20) == MOSQ_ERR_SUCCESS; i++)
            continue;
    free_all(m);
}

void mi_mqtt_cut(struct mi_mqtt *m)
{
    if (m)
        free_all(m); /* closes the socket */
}

bool mi_mqtt_connected(struct mi_mqtt *m)
{
    return m->connected;
}

void mi_mqtt_run(struct mi_mqtt *m, unsigned ms)
{
    for (uint64_t end = mi_monotonic_ms() + ms; m->connected && mi_monotonic_ms() < end;)
        turn(m, 5);
}

int mi_mqtt_publish(struct mi_mqtt *m, const char *topic, const void *payload, size_t len, int qos,
                    bool retain, const mosquitto_property *properties)
{
    int mid = 0;
    m->reason = MI_MQTT_NO_ANSWER;
    m->waiting_mid = -1;
    int result = mosquitto_publish_v5(m->client, &mid, topic, (int)len, payload, qos, retain, properties);
    if (result != MOSQ_ERR_SUCCESS)
        return MI_MQTT_LOST;
    m->waiting_mid = mid;
    if (qos == 0)
        return m->connected ? 0 : MI_MQTT_LOST;
    for (uint64_t end = mi_monotonic_ms() + ANSWER_MS;
         m->reason == MI_MQTT_NO_ANSWER && mi_monotonic_ms() < end;)
        if (turn(m, 20) != MOSQ_ERR_SUCCESS)
            return MI_MQTT_LOST;
    return m->reason;
}

int mi_mqtt_say(struct mi_mqtt *m, const char *topic, const char *text, int qos)
{
    return mi_mqtt_publish(m, topic, text, strlen(text), qos, false, NULL);
}

int mi_mqtt_send(struct mi_mqtt *m, const char *topic, const char *text, int qos)
{
    int mid = -1;
    mosquitto_publish_v5(m->client, &mid, topic, (int)strlen(text), text, qos, false, NULL);
    return mid;
}

size_t mi_mqtt_acknowledged(struct mi_mqtt *m)
{
    return m->acknowledged_count;
}

bool mi_mqtt_was_acknowledged(struct mi_mqtt *m, int mid)
{
    return mid > 0 && m->acknowledged[mid];
}

bool mi_mqtt_subscribe(struct mi_mqtt *m, const char *filter, int qos)
{
    if (mosquitto_subscribe(m->client, &m->subscribe_mid, filter, qos) != MOSQ_ERR_SUCCESS)
        return false;
    for (uint64_t end = mi_monotonic_ms() + ANSWER_MS; m->subscribe_mid && mi_monotonic_ms() < end;)
        if (turn(m, 20) != MOSQ_ERR_SUCCESS)
            return false;
    return m->subscribe_mid == 0;
}

bool mi_mqtt_unsubscribe(struct mi_mqtt *m, const char *filter)
{
    return mosquitto_unsubscribe(m->client, NULL, filter) == MOSQ_ERR_SUCCESS &&
           turn(m, 20) == MOSQ_ERR_SUCCESS;
}

bool mi_mqtt_wait(struct mi_mqtt *m, size_t count, unsigned timeout_ms)
{
    for (uint64_t end = mi_monotonic_ms() + timeout_ms; m->count < count && mi_monotonic_ms() < end;)
        if (turn(m, 10) != MOSQ_ERR_SUCCESS)
            break;
    return m->count >= count;
}

size_t mi_mqtt_count(struct mi_mqtt *m)
{
    return m->count;
}

const struct mi_mqtt_message *mi_mqtt_message(struct mi_mqtt *m, size_t index)
{
    return &m->messages[index];
}
