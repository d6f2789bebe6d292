#include "broker/store_retained.h"

#include <string.h>

#include "broker/properties.h"

/* struct mosquitto_base_msg of Mosquitto 2.1 (mosquitto/broker.h), which the headers of 2.0 do not have; the
 * same from 2.1.0 to 2.1.2. */
struct base_message {
    uint64_t id;
    int64_t expiry_time;
    char *topic;
    void *payload;
    char *source_id;
    char *source_username;
    mosquitto_property *properties;
    uint32_t payload_len;
    uint16_t source_mid;
    uint16_t source_port;
    uint8_t qos;
    bool retain;
    uint8_t padding[6];
    void *future[8];
};

void mi_store_retained_init(struct mi_store_retained *s, const struct mi_compat *compat,
                            const struct mi_clock *clock)
{
    memset(s, 0, sizeof *s);
    s->clock = clock;
    if (!compat->v2_1)
        return;
    *(void **)&s->set = compat->symbols->find(NULL, "mosquitto_persist_retain_msg_set");
    *(void **)&s->remove = compat->symbols->find(NULL, "mosquitto_persist_retain_msg_delete");
    if (s->set && s->remove)
        *(void **)&s->add = compat->symbols->find(NULL, "mosquitto_persist_base_msg_add");
}

/* As the broker's allocator counts it; with a NUL behind. */
static void *copy(const void *data, size_t len)
{
    uint8_t *bytes = mosquitto_calloc(1, len + 1);
    if (bytes && len)
        memcpy(bytes, data, len);
    return bytes;
}

/* The broker's own numbers begin with a node id of 10 bits, 0 unless a plugin sets it: this is of the last
 * node. */
static uint64_t new_id(const struct mi_store_retained *s)
{
    return mi_random(s->clock) | 1023ull << 54;
}

bool mi_store_retained(const struct mi_store_retained *s, const struct mi_inbound *m)
{
    if (!s->add)
        return false;
    if (m->payload_len == 0)
        return s->remove(m->topic) == MOSQ_ERR_SUCCESS;
    struct base_message b = {.id = new_id(s), .payload_len = m->payload_len, .qos = m->qos, .retain = true};
    uint64_t id = b.id;
    struct mi_span block = {m->properties, m->properties_len};
    b.topic = copy(m->topic, strlen(m->topic));
    b.payload = copy(m->payload, m->payload_len);
    if (!b.topic || !b.payload || !mi_properties_to_list(block, &b.properties)) {
        mosquitto_free(b.topic);
        mosquitto_free(b.payload);
        return false;
    }
    return s->add(&b) == MOSQ_ERR_SUCCESS && s->set(m->topic, id) == MOSQ_ERR_SUCCESS;
}
