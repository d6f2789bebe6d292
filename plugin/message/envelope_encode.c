#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "message/envelope.h"
#include "message/headers.h"
#include "message/names.h"
#include "message/utf8.h"

enum { FIRST_PIECE_OF_OVERFLOW = 4 }; /* the block's length stands before it */

enum result { WRITTEN, TOO_LONG, NO_MEMORY };

struct writer {
    struct mi_envelope *to;
    bool overflow; /* what does not fit the headers goes on in the prefix */
    bool spilled;  /* it does already */
};

static enum result write_all(struct writer *w, const struct mi_message *m);
static enum result write_flags(struct writer *w, const struct mi_message *m);
static enum result write_for_people(struct writer *w, struct mi_span properties);
static enum result write_text(struct writer *w, struct mi_span name, struct mi_span value);
static enum result write_pieces(struct writer *w, struct mi_span name, enum mi_header_kind kind,
                                struct mi_span value);
static enum result write_entry(struct writer *w, struct mi_span key, enum mi_header_kind kind,
                               struct mi_span value);

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
    struct writer w = {e, false, false};
    mi_buf_reset(&e->headers);
    mi_buf_reset(&e->prefix);
    enum result result = write_all(&w, m);
    if (result == TOO_LONG) {
        const uint8_t length_later[FIRST_PIECE_OF_OVERFLOW] = {0};
        w.overflow = true;
        mi_buf_reset(&e->headers);
        if (!mi_buf_add(&e->prefix, length_later, sizeof length_later))
            return false;
        result = write_all(&w, m);
        if (result == WRITTEN)
            mi_put_u32le(e->prefix.data, (uint32_t)(e->prefix.len - FIRST_PIECE_OF_OVERFLOW));
    }
    return result == WRITTEN && (m->payload.len > 0 || mi_buf_add_byte(&e->prefix, 0));
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
static enum result write_all(struct writer *w, const struct mi_message *m)
{
    const struct {
        struct mi_span name, value;
    } texts[] = {
        {MI_NAME_ORIGIN, m->origin},
        {MI_NAME_TOPIC, m->topic},
        {MI_NAME_CLIENT_ID, m->client_id},
        {MI_NAME_USERNAME, m->username},
    };
    enum result result = write_flags(w, m);
    if (result == WRITTEN)
        result = write_for_people(w, m->properties);
    for (size_t i = 0; i < sizeof texts / sizeof *texts && result == WRITTEN; i++)
        result = write_text(w, texts[i].name, texts[i].value);
    if (result == WRITTEN)
        result = write_pieces(w, MI_NAME_PROPERTIES, MI_HEADER_RAW, m->properties);
    return result;
}

static enum result write_flags(struct writer *w, const struct mi_message *m)
{
    static const uint8_t one = 1;
    uint8_t time[8];
    mi_put_u64le(time, m->time_us);
    const struct {
        bool present;
        struct mi_span name;
        enum mi_header_kind kind;
        struct mi_span value;
    } flags[] = {
        {w->overflow, MI_NAME_ENVELOPE, MI_HEADER_UINT8, {&one, 1}},
        {true, MI_NAME_QOS, MI_HEADER_UINT8, {&m->qos, 1}},
        {true, MI_NAME_TIME, MI_HEADER_UINT64, {time, sizeof time}},
        {m->retain, MI_NAME_RETAIN, MI_HEADER_BOOL, {&one, 1}},
        {m->will, MI_NAME_WILL, MI_HEADER_BOOL, {&one, 1}},
        {m->maybe_dup, MI_NAME_MAYBE_DUP, MI_HEADER_BOOL, {&one, 1}},
        {m->payload.len == 0, MI_NAME_EMPTY, MI_HEADER_BOOL, {&one, 1}},
    };
    enum result result = WRITTEN;
    for (size_t i = 0; i < sizeof flags / sizeof *flags && result == WRITTEN; i++)
        if (flags[i].present)
            result = write_entry(w, flags[i].name, flags[i].kind, flags[i].value);
    return result;
}

static enum result write_for_people(struct writer *w, struct mi_span properties)
{
    const struct {
        uint8_t id;
        struct mi_span name;
    } shown[] = {
        {MI_PROP_CONTENT_TYPE, MI_NAME_CONTENT_TYPE},
        {MI_PROP_RESPONSE_TOPIC, MI_NAME_RESPONSE_TOPIC},
    };
    enum result result = WRITTEN;
    if (properties.len == 0)
        return result;
    for (size_t i = 0; i < sizeof shown / sizeof *shown && result == WRITTEN; i++) {
        struct mi_property p;
        if (mi_properties_find(properties, shown[i].id, mi_span_of(NULL), &p) && p.value.len > 0 &&
            p.value.len <= MI_MAX_HEADER_FIELD && mi_utf8_valid(p.value))
            result = write_entry(w, shown[i].name, MI_HEADER_STRING, p.value);
    }
    return result;
}

static enum result write_text(struct writer *w, struct mi_span name, struct mi_span value)
{
    return write_pieces(w, name, mi_utf8_valid(value) ? MI_HEADER_STRING : MI_HEADER_RAW, value);
}

static enum result write_pieces(struct writer *w, struct mi_span name, enum mi_header_kind kind,
                                struct mi_span value)
{
    char numbered[64];
    struct mi_span key = name;
    enum result result = WRITTEN;
    for (unsigned piece = 1; value.len > 0 && result == WRITTEN; piece++) {
        struct mi_span part = value;
        if (part.len > MI_MAX_HEADER_FIELD)
            part.len =
                kind == MI_HEADER_STRING ? mi_utf8_cut(value, MI_MAX_HEADER_FIELD) : MI_MAX_HEADER_FIELD;
        result = write_entry(w, key, kind, part);
        value.data += part.len;
        value.len -= part.len;
        if (value.len > 0) {
            snprintf(numbered, sizeof numbered, "%.*s.%u", (int)name.len, (const char *)name.data, piece);
            key = mi_span_of(numbered);
        }
    }
    return result;
}

static enum result write_entry(struct writer *w, struct mi_span key, enum mi_header_kind kind,
                               struct mi_span value)
{
    struct mi_envelope *e = w->to;
    if (e->headers.len + mi_headers_entry_bytes(key.len, value.len) > MI_ENVELOPE_BLOCK_BYTES) {
        if (!w->overflow)
            return TOO_LONG;
        w->spilled = true;
    }
    return mi_headers_add(w->spilled ? &e->prefix : &e->headers, key, kind, value) ? WRITTEN : NO_MEMORY;
}
