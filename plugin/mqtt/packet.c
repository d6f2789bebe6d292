#include "mqtt/packet.h"

#include <string.h>

#include "message/message.h"

enum {
    PROP_SERVER_KEEPALIVE = 0x13,
    PROP_SESSION_EXPIRY = 0x11,
    PROP_RECEIVE_MAXIMUM = 0x21,
    MAX_REMAINING = 268435455
};

/* What is left to be read. */
struct reader {
    struct mi_span rest;
    bool failed;
};

static void read_connack(struct reader *r, struct mi_packet *p);
static void read_publish(struct reader *r, uint8_t flags, struct mi_packet *p, struct mi_buf *scratch);
static void read_suback(struct reader *r, struct mi_packet *p);

/* ---- reading ---- */

static struct mi_span take(struct reader *r, size_t len)
{
    struct mi_span taken = {r->rest.data, len};
    if (r->failed || len > r->rest.len) {
        r->failed = true;
        return (struct mi_span){NULL, 0};
    }
    r->rest.data += len;
    r->rest.len -= len;
    return taken;
}

static uint8_t take_byte(struct reader *r)
{
    struct mi_span s = take(r, 1);
    return s.len ? s.data[0] : 0;
}

static uint16_t take_u16(struct reader *r)
{
    struct mi_span s = take(r, 2);
    return s.len ? mi_get_u16be(s.data) : 0;
}

static struct mi_span take_string(struct reader *r)
{
    return take(r, take_u16(r));
}

static uint32_t take_varint(struct reader *r)
{
    uint32_t value = 0;
    for (unsigned shift = 0; shift < 28; shift += 7) {
        uint8_t byte = take_byte(r);
        value |= (uint32_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    r->failed = true;
    return 0;
}

/* The first byte and the length; 0: not whole yet, -1 malformed. */
static int64_t measure(struct mi_span data, size_t *head)
{
    struct reader r = {.rest = data};
    take_byte(&r);
    uint32_t remaining = take_varint(&r);
    if (r.failed)
        return data.len < 5 ? 0 : -1;
    *head = data.len - r.rest.len;
    return (int64_t)(*head + remaining);
}

int64_t mi_packet_read(struct mi_span data, struct mi_packet *p, struct mi_buf *scratch)
{
    size_t head = 0;
    int64_t whole = measure(data, &head);
    if (whole <= 0 || (size_t)whole > data.len)
        return whole < 0 ? -1 : 0;
    struct reader r = {.rest = {data.data + head, (size_t)whole - head}};
    memset(p, 0, sizeof *p);
    mi_buf_reset(scratch);
    p->type = data.data[0] >> 4;
    switch (p->type) {
    case MI_CONNACK:
        read_connack(&r, p);
        break;
    case MI_PUBLISH:
        read_publish(&r, data.data[0] & 0x0f, p, scratch);
        break;
    case MI_PUBREL:
        p->id = take_u16(&r);
        break;
    case MI_SUBACK:
    case MI_UNSUBACK:
        read_suback(&r, p);
        break;
    case MI_DISCONNECT:
        p->reason = r.rest.len ? take_byte(&r) : 0;
        break;
    case MI_PINGRESP:
        break;
    default:
        return -1;
    }
    return r.failed || scratch->failed ? -1 : whole;
}

/* One property, with its value where it is a number that matters here. */
struct property {
    uint8_t id;
    uint16_t number;
    struct mi_span raw; /* the whole of it */
};

static struct property take_property(struct reader *r)
{
    struct property p = {.raw = r->rest};
    p.id = take_byte(r);
    switch (p.id) {
    case 0x01:
    case 0x17:
    case 0x19:
    case 0x24:
    case 0x25:
    case 0x28:
    case 0x29:
    case 0x2a:
        take(r, 1);
        break;
    case 0x13:
    case 0x21:
    case 0x22:
    case 0x23:
        p.number = take_u16(r);
        break;
    case 0x02:
    case 0x11:
    case 0x18:
    case 0x27:
        take(r, 4);
        break;
    case 0x0b:
        take_varint(r);
        break;
    case 0x26:
        take_string(r);
        take_string(r);
        break;
    case 0x03:
    case 0x08:
    case 0x09:
    case 0x12:
    case 0x15:
    case 0x16:
    case 0x1a:
    case 0x1c:
    case 0x1f:
        take_string(r);
        break;
    default:
        r->failed = true;
    }
    p.raw.len -= r->rest.len;
    return p;
}

static struct reader take_properties(struct reader *r)
{
    uint32_t len = take_varint(r);
    return (struct reader){.rest = take(r, len), .failed = r->failed};
}

static void read_connack(struct reader *r, struct mi_packet *p)
{
    p->session_present = take_byte(r) & 1;
    p->reason = take_byte(r);
    if (p->reason && r->rest.len == 0) /* from a listener that does not speak MQTT 5 */
        return;
    struct reader properties = take_properties(r);
    while (!properties.failed && properties.rest.len > 0) {
        struct property one = take_property(&properties);
        if (one.id == PROP_SERVER_KEEPALIVE)
            p->server_keepalive = one.number;
    }
    r->failed = r->failed || properties.failed;
}

static bool is_kept(uint8_t id)
{
    return id == MI_PROP_PAYLOAD_FORMAT || id == MI_PROP_CONTENT_TYPE || id == MI_PROP_RESPONSE_TOPIC ||
           id == MI_PROP_CORRELATION_DATA || id == MI_PROP_USER;
}

static void read_publish(struct reader *r, uint8_t flags, struct mi_packet *p, struct mi_buf *scratch)
{
    p->dup = flags & 8;
    p->qos = flags >> 1 & 3;
    p->retain = flags & 1;
    p->topic = take_string(r);
    if (p->qos > 0)
        p->id = take_u16(r);
    struct reader properties = take_properties(r);
    while (!properties.failed && properties.rest.len > 0) {
        struct property one = take_property(&properties);
        if (!properties.failed && is_kept(one.id))
            mi_buf_add_span(scratch, one.raw);
    }
    p->properties = mi_buf_span(scratch);
    p->payload = r->rest;
    r->failed =
        r->failed || properties.failed || p->qos > 2 || p->topic.len == 0 || (p->qos > 0 && p->id == 0);
}

static void read_suback(struct reader *r, struct mi_packet *p)
{
    p->id = take_u16(r);
    take_properties(r);
    p->reason = take_byte(r);
}

/* ---- writing ---- */

static void put_u16(struct mi_buf *out, uint16_t v)
{
    uint8_t bytes[2];
    mi_put_u16be(bytes, v);
    mi_buf_add(out, bytes, sizeof bytes);
}

static void put_u32(struct mi_buf *out, uint32_t v)
{
    uint8_t bytes[4];
    mi_put_u32be(bytes, v);
    mi_buf_add(out, bytes, sizeof bytes);
}

static void put_string(struct mi_buf *out, const char *text)
{
    put_u16(out, (uint16_t)strlen(text));
    mi_buf_add_text(out, text);
}

static void put_head(struct mi_buf *out, uint8_t first, size_t remaining)
{
    mi_buf_add_byte(out, first);
    do {
        mi_buf_add_byte(out, (uint8_t)(remaining & 0x7f) | (remaining > 0x7f ? 0x80 : 0));
        remaining >>= 7;
    } while (remaining > 0);
}

static size_t string_bytes(const char *text)
{
    return text ? 2 + strlen(text) : 0;
}

bool mi_packet_connect(struct mi_buf *out, const struct mi_packet_login *l)
{
    enum { FIXED = 2 + 4 + 1 + 1 + 2, PROPERTIES = 5 + 3 };
    put_head(out, 0x10,
             FIXED + 1 + PROPERTIES + string_bytes(l->client_id) + string_bytes(l->username) +
                 string_bytes(l->password));
    put_string(out, "MQTT");
    mi_buf_add_byte(out, 5);
    mi_buf_add_byte(out, (l->username ? 0x80 : 0) | (l->password ? 0x40 : 0));
    put_u16(out, l->keepalive_s);
    mi_buf_add_byte(out, PROPERTIES);
    mi_buf_add_byte(out, PROP_SESSION_EXPIRY);
    put_u32(out, l->session_expiry_s);
    mi_buf_add_byte(out, PROP_RECEIVE_MAXIMUM);
    put_u16(out, l->receive_maximum);
    put_string(out, l->client_id);
    if (l->username)
        put_string(out, l->username);
    if (l->password)
        put_string(out, l->password);
    return !out->failed;
}

bool mi_packet_subscribe(struct mi_buf *out, uint16_t id, const char *filter)
{
    enum { QOS_2 = 2, NO_LOCAL = 4, RETAIN_AS_PUBLISHED = 8, NO_RETAINED = 32 };
    put_head(out, 0x82, 2 + 1 + string_bytes(filter) + 1);
    put_u16(out, id);
    mi_buf_add_byte(out, 0);
    put_string(out, filter);
    return mi_buf_add_byte(out, QOS_2 | NO_LOCAL | RETAIN_AS_PUBLISHED | NO_RETAINED);
}

bool mi_packet_unsubscribe(struct mi_buf *out, uint16_t id, const char *filter)
{
    put_head(out, 0xa2, 2 + 1 + string_bytes(filter));
    put_u16(out, id);
    mi_buf_add_byte(out, 0);
    put_string(out, filter);
    return !out->failed;
}

bool mi_packet_acknowledge(struct mi_buf *out, enum mi_packet_type type, uint16_t id)
{
    put_head(out, (uint8_t)(type << 4), 2);
    put_u16(out, id);
    return !out->failed;
}

bool mi_packet_ping(struct mi_buf *out)
{
    put_head(out, 0xc0, 0);
    return !out->failed;
}

bool mi_packet_goodbye(struct mi_buf *out)
{
    put_head(out, 0xe0, 2 + 5);
    mi_buf_add_byte(out, 0);
    mi_buf_add_byte(out, 5);
    mi_buf_add_byte(out, PROP_SESSION_EXPIRY);
    put_u32(out, 0);
    return !out->failed;
}

const char *mi_packet_reason(uint8_t reason)
{
    switch (reason) {
    case 0x01:
    case 0x84:
        return "MQTT 5 is not spoken there";
    case 0x86:
        return "user name or password is wrong";
    case 0x87:
        return "not authorised";
    case 0x88:
        return "server unavailable";
    case 0x8a:
        return "banned";
    case 0x8e:
        return "another client took the session over: is the client id used twice?";
    case 0x8f:
        return "the filter is invalid";
    case 0x97:
        return "quota exceeded";
    default:
        return "no reason known";
    }
}
