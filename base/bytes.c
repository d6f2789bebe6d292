#include "base/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mi_span mi_span_of(const char *text)
{
    struct mi_span s = {(const uint8_t *)text, text ? strlen(text) : 0};
    return s;
}

bool mi_span_equal(struct mi_span a, struct mi_span b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

char *mi_span_text(struct mi_span s)
{
    char *text = malloc(s.len + 1);
    if (!text)
        return NULL;
    if (s.len)
        memcpy(text, s.data, s.len);
    text[s.len] = '\0';
    return text;
}

int mi_span_compare(struct mi_span a, struct mi_span b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n ? memcmp(a.data, b.data, n) : 0;
    if (order != 0)
        return order;
    return (a.len > b.len) - (a.len < b.len);
}

void mi_buf_init(struct mi_buf *b, size_t max)
{
    memset(b, 0, sizeof *b);
    b->max = max;
}

void mi_buf_fini(struct mi_buf *b)
{
    free(b->data);
    mi_buf_init(b, b->max);
}

void mi_buf_reset(struct mi_buf *b)
{
    b->len = 0;
    b->failed = false;
}

uint8_t *mi_buf_reserve(struct mi_buf *b, size_t len)
{
    if (b->failed || len > b->max - b->len) {
        b->failed = true;
        return NULL;
    }
    if (b->len + len > b->cap) {
        size_t cap = b->cap ? b->cap : 256;
        while (cap < b->len + len)
            cap *= 2;
        uint8_t *data = realloc(b->data, cap);
        if (!data) {
            b->failed = true;
            return NULL;
        }
        b->data = data;
        b->cap = cap;
    }
    /* An empty reservation in an empty buffer still answers "there is room". */
    static uint8_t nothing;
    return b->data ? b->data + b->len : &nothing;
}

bool mi_buf_add(struct mi_buf *b, const void *data, size_t len)
{
    uint8_t *to = mi_buf_reserve(b, len);
    if (!to)
        return false;
    if (len)
        memcpy(to, data, len);
    b->len += len;
    return true;
}

bool mi_buf_add_span(struct mi_buf *b, struct mi_span s)
{
    return mi_buf_add(b, s.data, s.len);
}

bool mi_buf_add_text(struct mi_buf *b, const char *text)
{
    return mi_buf_add(b, text, strlen(text));
}

bool mi_buf_add_byte(struct mi_buf *b, uint8_t byte)
{
    return mi_buf_add(b, &byte, 1);
}

bool mi_buf_addf(struct mi_buf *b, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    /* One byte more than is kept: vsnprintf writes a NUL that is not counted. */
    uint8_t *to = n < 0 ? NULL : mi_buf_reserve(b, (size_t)n + 1);
    if (to) {
        vsnprintf((char *)to, (size_t)n + 1, format, again);
        b->len += (size_t)n;
    }
    va_end(again);
    return to != NULL;
}

struct mi_span mi_buf_span(const struct mi_buf *b)
{
    struct mi_span s = {b->data, b->len};
    return s;
}

uint16_t mi_get_u16le(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

uint32_t mi_get_u32le(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

uint64_t mi_get_u64le(const uint8_t *p)
{
    return (uint64_t)mi_get_u32le(p) | (uint64_t)mi_get_u32le(p + 4) << 32;
}

void mi_put_u16le(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

void mi_put_u32le(uint8_t *p, uint32_t v)
{
    mi_put_u16le(p, (uint16_t)v);
    mi_put_u16le(p + 2, (uint16_t)(v >> 16));
}

void mi_put_u64le(uint8_t *p, uint64_t v)
{
    mi_put_u32le(p, (uint32_t)v);
    mi_put_u32le(p + 4, (uint32_t)(v >> 32));
}

uint16_t mi_get_u16be(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

uint32_t mi_get_u32be(const uint8_t *p)
{
    return (uint32_t)mi_get_u16be(p) << 16 | mi_get_u16be(p + 2);
}

void mi_put_u16be(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

void mi_put_u32be(uint8_t *p, uint32_t v)
{
    mi_put_u16be(p, (uint16_t)(v >> 16));
    mi_put_u16be(p + 2, (uint16_t)v);
}
