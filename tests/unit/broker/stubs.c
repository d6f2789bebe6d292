#include "stubs.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mqtt_protocol.h>

struct stubs stubs;

void stubs_reset(void)
{
    memset(&stubs, 0, sizeof stubs);
}

bool stubs_logged(const char *text)
{
    for (int i = 0; i < stubs.log_count; i++)
        if (strstr(stubs.log[i], text))
            return true;
    return false;
}

int stubs_fire(int event, void *data)
{
    for (int i = 0; i < stubs.callback_count; i++)
        if (stubs.event[i] == event)
            return stubs.callback[i](event, data, stubs.userdata[i]);
    return -1000;
}

void mosquitto_log_printf(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));
void mosquitto_log_printf(int level, const char *format, ...)
{
    if (stubs.log_count >= STUB_MAX)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(stubs.log[stubs.log_count], sizeof stubs.log[0], format, args);
    va_end(args);
    stubs.log_level[stubs.log_count] = level;
    stubs.log_thread[stubs.log_count++] = pthread_self();
}

const char *mosquitto_client_id(const struct mosquitto *client)
{
    return client->id;
}

const char *mosquitto_client_username(const struct mosquitto *client)
{
    return client->username;
}

int mosquitto_client_protocol_version(const struct mosquitto *client)
{
    return client->protocol;
}

bool mosquitto_client_clean_session(const struct mosquitto *client)
{
    return client->clean;
}

int mosquitto_set_username(struct mosquitto *client, const char *username)
{
    snprintf(client->given_name, sizeof client->given_name, "%s", username);
    client->username = client->given_name;
    return MOSQ_ERR_SUCCESS;
}

int mosquitto_client_sub_count(const struct mosquitto *client)
{
    return client->subscriptions;
}

const char *mosquitto_client_address(const struct mosquitto *client)
{
    return client->address;
}

int mosquitto_client_protocol(const struct mosquitto *client)
{
    return client->websockets ? mp_websockets : mp_mqtt;
}

int mosquitto_client_keepalive(const struct mosquitto *client)
{
    (void)client;
    return 60;
}

void *mosquitto_calloc(size_t count, size_t size)
{
    return calloc(count, size);
}

void mosquitto_free(void *mem)
{
    free(mem);
}

int mosquitto_kick_client_by_username(const char *username, bool with_will)
{
    (void)username, (void)with_will;
    return MOSQ_ERR_SUCCESS;
}

int mosquitto_broker_publish_copy(const char *clientid, const char *topic, int payloadlen,
                                  const void *payload, int qos, bool retain, mosquitto_property *properties)
{
    bool expected = stubs.only_client ? clientid && strcmp(clientid, stubs.only_client) == 0 : !clientid;
    if (!expected || stubs.publish_result != MOSQ_ERR_SUCCESS)
        return expected ? stubs.publish_result : MOSQ_ERR_INVAL;
    struct stub_publish *p = &stubs.published[stubs.publish_count++];
    char *type = NULL;
    snprintf(p->topic, sizeof p->topic, "%s", topic);
    if (payloadlen)
        memcpy(p->payload, payload, (size_t)payloadlen);
    p->payload_len = payloadlen;
    p->qos = qos;
    p->retain = retain;
    if (mosquitto_property_read_string(properties, MQTT_PROP_CONTENT_TYPE, &type, false))
        snprintf(p->content_type, sizeof p->content_type, "%s", type);
    free(type);
    mosquitto_property_free_all(&properties);
    return MOSQ_ERR_SUCCESS;
}

int mosquitto_callback_register(mosquitto_plugin_id_t *id, int event, MOSQ_FUNC_generic_callback callback,
                                const void *event_data, void *userdata)
{
    (void)id;
    (void)event_data;
    if (event == stubs.refuse_event)
        return MOSQ_ERR_NOT_SUPPORTED;
    stubs.event[stubs.callback_count] = event;
    stubs.callback[stubs.callback_count] = callback;
    stubs.userdata[stubs.callback_count++] = userdata;
    return MOSQ_ERR_SUCCESS;
}

int mosquitto_callback_unregister(mosquitto_plugin_id_t *id, int event, MOSQ_FUNC_generic_callback callback,
                                  const void *event_data)
{
    (void)id;
    (void)event_data;
    for (int i = 0; i < stubs.callback_count; i++) {
        if (stubs.event[i] != event || stubs.callback[i] != callback)
            continue;
        stubs.callback_count--;
        for (int k = i; k < stubs.callback_count; k++) {
            stubs.event[k] = stubs.event[k + 1];
            stubs.callback[k] = stubs.callback[k + 1];
            stubs.userdata[k] = stubs.userdata[k + 1];
        }
        return MOSQ_ERR_SUCCESS;
    }
    return MOSQ_ERR_NOT_FOUND;
}
