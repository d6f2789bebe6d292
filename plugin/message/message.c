#include "message/message.h"

#include <string.h>

#include "base/limits.h"

/* Writes a two-byte length and the bytes; returns where the next one goes. */
static uint8_t *put_string(uint8_t *to, struct mi_span s);
static bool get_string(struct mi_span block, size_t *at, struct mi_span *out);

bool mi_properties_add_byte(struct mi_buf *block, uint8_t id, uint8_t value)
{
    const uint8_t both[2] = {id, value};
    return mi_buf_add(block, both, sizeof both);
}

bool mi_properties_add_bytes(struct mi_buf *block, uint8_t id, struct mi_span value)
{
    if (value.len > MI_MAX_MQTT_STRING)
        return false;
    size_t size = 1 + 2 + value.len;
    uint8_t *to = mi_buf_reserve(block, size);
    if (!to)
        return false;
    *to = id;
    put_string(to + 1, value);
    block->len += size;
    return true;
}

bool mi_properties_add_pair(struct mi_buf *block, struct mi_span name, struct mi_span value)
{
    if (name.len > MI_MAX_MQTT_STRING || value.len > MI_MAX_MQTT_STRING)
        return false;
    size_t size = 1 + 2 + name.len + 2 + value.len;
    uint8_t *to = mi_buf_reserve(block, size);
    if (!to)
        return false;
    *to = MI_PROP_USER;
    put_string(put_string(to + 1, name), value);
    block->len += size;
    return true;
}

int mi_properties_next(struct mi_span block, size_t *at, struct mi_property *out)
{
    if (*at >= block.len)
        return 0;
    memset(out, 0, sizeof *out);
    out->id = block.data[(*at)++];
    bool read;
    switch (out->id) {
    case MI_PROP_PAYLOAD_FORMAT:
        read = *at < block.len;
        if (read)
            out->byte = block.data[(*at)++];
        break;
    case MI_PROP_CONTENT_TYPE:
    case MI_PROP_RESPONSE_TOPIC:
    case MI_PROP_CORRELATION_DATA:
        read = get_string(block, at, &out->value);
        break;
    case MI_PROP_USER:
        read = get_string(block, at, &out->name) && get_string(block, at, &out->value);
        break;
    default:
        read = false;
    }
    return read ? 1 : -1;
}

bool mi_properties_find(struct mi_span block, uint8_t id, struct mi_span name, struct mi_property *out)
{
    size_t at = 0;
    struct mi_property p;
    while (mi_properties_next(block, &at, &p) == 1) {
        if (p.id != id || (id == MI_PROP_USER && !mi_span_equal(p.name, name)))
            continue;
        *out = p;
        return true;
    }
    return false;
}

static uint8_t *put_string(uint8_t *to, struct mi_span s)
{
    mi_put_u16be(to, (uint16_t)s.len);
    if (s.len)
        memcpy(to + 2, s.data, s.len);
    return to + 2 + s.len;
}

static bool get_string(struct mi_span block, size_t *at, struct mi_span *out)
{
    if (block.len - *at < 2)
        return false;
    size_t len = mi_get_u16be(block.data + *at);
    if (block.len - *at - 2 < len)
        return false;
    out->data = block.data + *at + 2;
    out->len = len;
    *at += 2 + len;
    return true;
}
