#include "rig.h"

#include <stdlib.h>
#include <string.h>

/* Longer than a message whose outcome is unknown may take (12 s), when a server restarted within the second
 * of its first start shows no other start time. */
enum { ARRIVE_MS = 30000, MAX_RIGS = 32 };

static struct rig *rigs[MAX_RIGS];

static void free_all(void)
{
    for (size_t i = 0; i < MAX_RIGS; i++)
        rig_free(rigs[i]);
}

struct rig *rig_new(const char *conf, const char *plugin_lines)
{
    static bool registered;
    struct rig *r = calloc(1, sizeof *r);
    size_t slot = 0;
    while (slot < MAX_RIGS - 1 && rigs[slot])
        slot++;
    if (!r || !mi_broker_prepare(&r->broker, conf, plugin_lines) || !mi_iggy_server_prepare(&r->iggy))
        exit(2);
    rigs[slot] = r;
    r->readback = mi_readback_new(r->iggy.port);
    if (!registered)
        atexit(free_all);
    registered = true;
    return r;
}

bool rig_start(struct rig *r, const char *json)
{
    return mi_iggy_server_start(&r->iggy) && (!json || mi_broker_config(&r->broker, json, r->iggy.port)) &&
           mi_broker_start(&r->broker);
}

void rig_free(struct rig *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < MAX_RIGS; i++)
        if (rigs[i] == r)
            rigs[i] = NULL;
    mi_broker_remove(&r->broker);
    mi_readback_free(r->readback);
    mi_iggy_server_remove(&r->iggy);
    free(r);
}

struct mi_mqtt *rig_client(struct rig *r, const char *client_id, int protocol)
{
    struct mi_mqtt_options o = {.port = r->broker.port, .client_id = client_id, .protocol = protocol};
    return mi_mqtt_connect(&o);
}

static size_t count_of(const struct mi_readback *r, const char *mqtt_topic)
{
    size_t count = 0;
    for (size_t i = 0; i < mi_readback_count(r); i++)
        if (mi_readback_at(r, i)->kind == MI_DECODED_MQTT &&
            mi_span_equal(mi_readback_at(r, i)->message.topic, mi_span_of(mqtt_topic)))
            count++;
    return count;
}

const struct mi_stored *rig_arrived(struct rig *r, const char *stream, const char *topic,
                                    const char *mqtt_topic)
{
    for (uint64_t end = mi_monotonic_ms() + ARRIVE_MS; mi_monotonic_ms() < end; mi_sleep_ms(10))
        if (mi_readback_read(r->readback, stream, topic) && count_of(r->readback, mqtt_topic) > 0)
            break;
    return mi_readback_of(r->readback, mqtt_topic);
}

double rig_metric(struct rig *r, const char *name, double at_least, unsigned timeout_ms)
{
    double value = -1;
    for (uint64_t end = mi_monotonic_ms() + timeout_ms; value < at_least;) {
        char *page = mi_http_get(r->broker.status_port, "/metrics", NULL);
        value = page ? mi_prometheus_value(page, name) : -1;
        free(page);
        if (mi_monotonic_ms() >= end)
            break;
        mi_sleep_ms(20);
    }
    return value;
}

bool rig_payload_is(const struct mi_stored *s, const void *bytes, size_t len)
{
    return s->message.payload.len == len && (len == 0 || memcmp(s->message.payload.data, bytes, len) == 0);
}
