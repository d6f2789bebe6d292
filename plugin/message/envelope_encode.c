#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "message/envelope.h"
#include "message/entry.h"
#include "message/headers.h"
#include "message/names.h"
#include "base/utf8.h"

enum { LENGTH_OF_BLOCK = 4 }; /* bytes before the block that overflows */

struct writer {
    struct mi_envelope *to;
    bool overflow;                                /* what does not fit the headers goes on in the prefix */
    bool spilled;                                 /* it does already */
    enum { WRITTEN, TOO_LONG, NO_MEMORY } result; /* once not WRITTEN, nothing more is written */
};

static int write_all(struct writer *w, const struct mi_message *m);
static void write_flags(struct writer *w, const struct mi_message *m);
static void write_for_people(struct writer *w, struct mi_span properties, uint8_t id, struct mi_span name);
static void write_text(struct writer *w, struct mi_span name, struct mi_span value);
static void write_pieces(struct writer *w, struct mi_span name, enum mi_header_kind kind,
                         struct mi_span value);
static void write_entry(struct writer *w, struct mi_span key, enum mi_header_kind kind, struct mi_span value);

void mi_envelope_init(struct mi_envelope *e)
{
    mi_buf_init(&e->headers, MI_MAX_HEADER_BLOCK);
    mi_buf_init(&e->prefix, MI_MAX_OVERFLOW_BYTES);
}

void mi_envelope_fini(struct mi_envelope *e)
{
    mi_buf_fini(&e->headers);
    mi_buf_fini(&e->prefix);
}

bool mi_envelope_encode(struct mi_envelope *e, const struct mi_message *m)
{
    struct writer w = {.to = e};
    mi_buf_reset(&e->headers);
    mi_buf_reset(&e->prefix);
    if (write_all(&w, m) == TOO_LONG) {
        const uint8_t length_later[LENGTH_OF_BLOCK] = {0};
        w = (struct writer){.to = e, .overflow = true};
        mi_buf_reset(&e->headers);
        if (!mi_buf_add(&e->prefix, length_later, sizeof length_later) || write_all(&w, m) != WRITTEN)
            return false;
        mi_put_u32le(e->prefix.data, (uint32_t)(e->prefix.len - LENGTH_OF_BLOCK));
    }
    return w.result == WRITTEN && (m->payload.len > 0 || mi_buf_add_byte(&e->prefix, 0));
}

bool mi_envelope_add_header(struct mi_buf *headers, const char *name, struct mi_span value)
{
    struct mi_span key = mi_span_of(name), block = mi_buf_span(headers);
    bool text = mi_utf8_valid(value);
    struct mi_header old;
    if (mi_headers_find(block, key, &old)) {
        size_t size = mi_headers_entry_bytes(old.key.len, old.value.len);
        size_t end = (size_t)(old.value.data + old.value.len - block.data);
        memmove(headers->data + end - size, headers->data + end, headers->len - end);
        headers->len -= size;
    }
    if (value.len == 0)
        return true;
    if (value.len > MI_MAX_HEADER_FIELD)
        value.len = text ? mi_utf8_cut(value, MI_MAX_HEADER_FIELD) : MI_MAX_HEADER_FIELD;
    return mi_headers_add(headers, key, text ? MI_HEADER_STRING : MI_HEADER_RAW, value);
}

/* Small headers first: only the ends of long values overflow. */
static int write_all(struct writer *w, const struct mi_message *m)
{
    write_flags(w, m);
    if (m->properties.len > 0) {
        write_for_people(w, m->properties, MI_PROP_CONTENT_TYPE, MI_NAME_CONTENT_TYPE);
        write_for_people(w, m->properties, MI_PROP_RESPONSE_TOPIC, MI_NAME_RESPONSE_TOPIC);
    }
    write_text(w, MI_NAME_ORIGIN, m->origin);
    write_text(w, MI_NAME_TOPIC, m->topic);
    write_text(w, MI_NAME_CLIENT_ID, m->client_id);
    write_text(w, MI_NAME_USERNAME, m->username);
    write_pieces(w, MI_NAME_PROPERTIES, MI_HEADER_RAW, m->properties);
    return w->result;
}

static void write_flags(struct writer *w, const struct mi_message *m)
{
    static const uint8_t one = 1;
    const struct mi_span yes = {&one, 1}, qos = {&m->qos, 1};
    uint8_t time[8];
    mi_put_u64le(time, m->time_us);
    if (w->overflow)
        write_entry(w, MI_NAME_ENVELOPE, MI_HEADER_UINT8, yes);
    write_entry(w, MI_NAME_QOS, MI_HEADER_UINT8, qos);
    write_entry(w, MI_NAME_TIME, MI_HEADER_UINT64, (struct mi_span){time, sizeof time});
    if (m->retain)
        write_entry(w, MI_NAME_RETAIN, MI_HEADER_BOOL, yes);
    if (m->will)
        write_entry(w, MI_NAME_WILL, MI_HEADER_BOOL, yes);
    if (m->maybe_dup)
        write_entry(w, MI_NAME_MAYBE_DUP, MI_HEADER_BOOL, yes);
    if (m->payload.len == 0)
        write_entry(w, MI_NAME_EMPTY, MI_HEADER_BOOL, yes);
}

static void write_for_people(struct writer *w, struct mi_span properties, uint8_t id, struct mi_span name)
{
    struct mi_property p;
    if (mi_properties_find(properties, id, mi_span_of(NULL), &p) && p.value.len > 0 &&
        p.value.len <= MI_MAX_HEADER_FIELD && mi_utf8_valid(p.value))
        write_entry(w, name, MI_HEADER_STRING, p.value);
}

static void write_text(struct writer *w, struct mi_span name, struct mi_span value)
{
    write_pieces(w, name, mi_utf8_valid(value) ? MI_HEADER_STRING : MI_HEADER_RAW, value);
}

static void write_pieces(struct writer *w, struct mi_span name, enum mi_header_kind kind,
                         struct mi_span value)
{
    char numbered[64];
    struct mi_span key = name;
    for (unsigned piece = 1; value.len > 0 && w->result == WRITTEN; piece++) {
        struct mi_span part = value;
        if (part.len > MI_MAX_HEADER_FIELD)
            part.len =
                kind == MI_HEADER_STRING ? mi_utf8_cut(value, MI_MAX_HEADER_FIELD) : MI_MAX_HEADER_FIELD;
        write_entry(w, key, kind, part);
        value.data += part.len;
        value.len -= part.len;
        if (value.len > 0) {
            snprintf(numbered, sizeof numbered, "%.*s.%u", (int)name.len, (const char *)name.data, piece);
            key = mi_span_of(numbered);
        }
    }
}

/* Key and value are right by the making of them: 1-255 bytes, UTF-8 where the kind says so. */
static void write_entry(struct writer *w, struct mi_span key, enum mi_header_kind kind, struct mi_span value)
{
    struct mi_envelope *e = w->to;
    if (w->result != WRITTEN)
        return;
    if (e->headers.len + MI_ENTRY_FIXED + key.len + value.len > MI_ENVELOPE_BLOCK_BYTES) {
        w->spilled = w->overflow;
        if (!w->overflow) {
            w->result = TOO_LONG;
            return;
        }
    }
    if (!mi_entry_put(w->spilled ? &e->prefix : &e->headers, key, kind, value))
        w->result = NO_MEMORY;
}
