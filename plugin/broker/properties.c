#include "broker/properties.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "message/message.h"

static bool add_one(const struct mi_property_readers *r, const mosquitto_property *p, struct mi_buf *block);
static bool put_one(const struct mi_property *p, mosquitto_property **list);

bool mi_properties_from_list(const struct mi_compat *c, const mosquitto_property *list, struct mi_buf *block)
{
    for (const mosquitto_property *p = list; p; p = c->readers.next(p))
        if (!add_one(&c->readers, p, block))
            return false;
    return true;
}

bool mi_properties_to_list(struct mi_span block, mosquitto_property **list)
{
    *list = NULL;
    struct mi_property p;
    size_t at = 0;
    int got;
    while ((got = mi_properties_next(block, &at, &p)) > 0) {
        if (!put_one(&p, list)) {
            got = -1;
            break;
        }
    }
    if (got < 0)
        mosquitto_property_free_all(list);
    return got == 0;
}

static bool add_byte(const struct mi_property_readers *r, const mosquitto_property *p, int id,
                     struct mi_buf *block)
{
    uint8_t value = 0;
    return r->read_byte(p, id, &value, false) && mi_properties_add_byte(block, (uint8_t)id, value);
}

/* 2.1 gives NULL for an empty string, 2.0 gives "". */
static bool add_text(const struct mi_property_readers *r, const mosquitto_property *p, int id,
                     struct mi_buf *block)
{
    char *value = NULL;
    bool ok = r->read_string(p, id, &value, false) &&
              mi_properties_add_bytes(block, (uint8_t)id, mi_span_of(value));
    r->text_free(value);
    return ok;
}

static bool add_binary(const struct mi_property_readers *r, const mosquitto_property *p, int id,
                       struct mi_buf *block)
{
    void *value = NULL;
    uint16_t len = 0;
    bool ok = r->read_binary(p, id, &value, &len, false) &&
              mi_properties_add_bytes(block, (uint8_t)id, (struct mi_span){value, len});
    r->text_free(value);
    return ok;
}

static bool add_pair(const struct mi_property_readers *r, const mosquitto_property *p, int id,
                     struct mi_buf *block)
{
    char *name = NULL, *value = NULL;
    bool ok = r->read_string_pair(p, id, &name, &value, false) &&
              mi_properties_add_pair(block, mi_span_of(name), mi_span_of(value));
    r->text_free(name);
    r->text_free(value);
    return ok;
}

static bool add_one(const struct mi_property_readers *r, const mosquitto_property *p, struct mi_buf *block)
{
    int id = r->identifier(p);
    switch (id) {
    case MI_PROP_PAYLOAD_FORMAT:
        return add_byte(r, p, id, block);
    case MI_PROP_CONTENT_TYPE:
    case MI_PROP_RESPONSE_TOPIC:
        return add_text(r, p, id, block);
    case MI_PROP_CORRELATION_DATA:
        return add_binary(r, p, id, block);
    case MI_PROP_USER:
        return add_pair(r, p, id, block);
    default:
        return true;
    }
}

/* A NUL-terminated copy, or NULL when the bytes are no MQTT string. */
static char *text_of(struct mi_span s)
{
    if (s.len > MI_MAX_MQTT_STRING || (s.len && memchr(s.data, 0, s.len)) ||
        (s.len && mosquitto_validate_utf8((const char *)s.data, (int)s.len) != MOSQ_ERR_SUCCESS))
        return NULL;
    return mi_span_text(s);
}

static bool put_text(const struct mi_property *p, mosquitto_property **list)
{
    char *text = text_of(p->value);
    bool ok = text &&
              (p->id != MI_PROP_RESPONSE_TOPIC || mosquitto_pub_topic_check(text) == MOSQ_ERR_SUCCESS) &&
              mosquitto_property_add_string(list, p->id, text) == MOSQ_ERR_SUCCESS;
    free(text);
    return ok;
}

static bool put_pair(const struct mi_property *p, mosquitto_property **list)
{
    char *name = text_of(p->name);
    char *value = text_of(p->value);
    bool ok =
        name && value && mosquitto_property_add_string_pair(list, p->id, name, value) == MOSQ_ERR_SUCCESS;
    free(name);
    free(value);
    return ok;
}

static bool put_one(const struct mi_property *p, mosquitto_property **list)
{
    switch (p->id) {
    case MI_PROP_PAYLOAD_FORMAT:
        return p->byte <= 1 && mosquitto_property_add_byte(list, p->id, p->byte) == MOSQ_ERR_SUCCESS;
    case MI_PROP_CORRELATION_DATA:
        return p->value.len <= MI_MAX_MQTT_STRING &&
               mosquitto_property_add_binary(list, p->id, p->value.data, (uint16_t)p->value.len) ==
                   MOSQ_ERR_SUCCESS;
    case MI_PROP_USER:
        return put_pair(p, list);
    default:
        return put_text(p, list);
    }
}
