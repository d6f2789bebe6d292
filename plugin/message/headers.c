#include "message/headers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "message/entry.h"
#include "base/utf8.h"

/* Bytes of a value of that kind; 0: any number. */
static const uint8_t kind_size[] = {
    [MI_HEADER_BOOL] = 1,    [MI_HEADER_INT8] = 1,    [MI_HEADER_INT16] = 2,    [MI_HEADER_INT32] = 4,
    [MI_HEADER_INT64] = 8,   [MI_HEADER_INT128] = 16, [MI_HEADER_UINT8] = 1,    [MI_HEADER_UINT16] = 2,
    [MI_HEADER_UINT32] = 4,  [MI_HEADER_UINT64] = 8,  [MI_HEADER_UINT128] = 16, [MI_HEADER_FLOAT32] = 4,
    [MI_HEADER_FLOAT64] = 8,
};

/* Writes the number as text, NUL included; false when it does not fit. */
static bool integer_text(const struct mi_header *h, char *text, size_t cap);
static bool float_text(const struct mi_header *h, char *text, size_t cap);

static bool fits_kind(unsigned kind, struct mi_span value)
{
    if (kind < MI_HEADER_RAW || kind > MI_HEADER_FLOAT64)
        return false;
    if (kind_size[kind] && value.len != kind_size[kind])
        return false;
    return kind != MI_HEADER_BOOL || value.data[0] <= 1;
}

bool mi_headers_add(struct mi_buf *block, struct mi_span key, enum mi_header_kind kind, struct mi_span value)
{
    if (key.len < 1 || key.len > MI_MAX_HEADER_FIELD || value.len < 1 || value.len > MI_MAX_HEADER_FIELD)
        return false;
    if (!fits_kind(kind, value) || !mi_utf8_valid(key) || (kind == MI_HEADER_STRING && !mi_utf8_valid(value)))
        return false;
    return mi_entry_put(block, key, kind, value);
}

size_t mi_headers_entry_bytes(size_t key_len, size_t value_len)
{
    return MI_ENTRY_FIXED + key_len + value_len;
}

/* Reads kind, length and bytes of one half of an entry. */
static bool field(struct mi_span block, size_t *at, uint8_t *kind, struct mi_span *out)
{
    if (block.len - *at < 5)
        return false;
    *kind = block.data[*at];
    out->len = mi_get_u32le(block.data + *at + 1);
    out->data = block.data + *at + 5;
    if (block.len - *at - 5 < out->len)
        return false;
    *at += 5 + out->len;
    return true;
}

int mi_headers_next(struct mi_span block, size_t *at, struct mi_header *out)
{
    if (*at >= block.len)
        return 0;
    if (!field(block, at, &out->key_kind, &out->key) || !field(block, at, &out->kind, &out->value))
        return -1;
    return 1;
}

bool mi_headers_find(struct mi_span block, struct mi_span key, struct mi_header *out)
{
    size_t at = 0;
    bool found = false;
    struct mi_header h;
    while (mi_headers_next(block, &at, &h) == 1) {
        if (h.key_kind != MI_HEADER_STRING || !mi_span_equal(h.key, key))
            continue;
        *out = h;
        found = true;
    }
    return found;
}

bool mi_header_text(const struct mi_header *h, char *text, size_t cap, struct mi_span *out)
{
    if (!fits_kind(h->kind, h->value))
        return false;
    if (h->kind == MI_HEADER_RAW || h->kind == MI_HEADER_STRING) {
        *out = h->value;
        return true;
    }
    if (h->kind == MI_HEADER_BOOL) {
        *out = mi_span_of(h->value.data[0] ? "true" : "false");
        return true;
    }
    bool is_float = h->kind == MI_HEADER_FLOAT32 || h->kind == MI_HEADER_FLOAT64;
    if (!(is_float ? float_text(h, text, cap) : integer_text(h, text, cap)))
        return false;
    *out = mi_span_of(text);
    return true;
}

static bool integer_text(const struct mi_header *h, char *text, size_t cap)
{
    bool is_signed = h->kind <= MI_HEADER_INT128;
    bool negative = is_signed && (h->value.data[h->value.len - 1] & 0x80);
    /* Little-endian, extended to 16 bytes with the sign. */
    unsigned __int128 n = negative ? ~(unsigned __int128)0 : 0;
    for (size_t i = h->value.len; i-- > 0;)
        n = n << 8 | h->value.data[i];
    if (negative)
        n = -n;
    char digits[41];
    size_t at = sizeof digits;
    digits[--at] = '\0';
    do {
        digits[--at] = (char)('0' + (int)(n % 10));
        n /= 10;
    } while (n);
    if (negative)
        digits[--at] = '-';
    if (sizeof digits - at > cap)
        return false;
    memcpy(text, digits + at, sizeof digits - at);
    return true;
}

/* The shortest decimal form that reads back as the same number. */
static bool float_text(const struct mi_header *h, char *text, size_t cap)
{
    double number;
    float narrow;
    bool wide = h->kind == MI_HEADER_FLOAT64;
    if (wide) {
        uint64_t bits = mi_get_u64le(h->value.data);
        memcpy(&number, &bits, sizeof number);
    } else {
        uint32_t bits = mi_get_u32le(h->value.data);
        memcpy(&narrow, &bits, sizeof narrow);
        number = (double)narrow;
    }
    for (int precision = 1; precision <= 17; precision++) {
        int n = snprintf(text, cap, "%.*g", precision, number);
        if (n < 0 || (size_t)n >= cap)
            return false;
        if (isnan(number) || (wide ? strtod(text, NULL) == number : strtof(text, NULL) == narrow))
            return true;
    }
    return true;
}

bool mi_header_lookup(void *context, struct mi_span name, struct mi_span *value)
{
    struct mi_header_lookup *l = context;
    struct mi_header h;
    return mi_headers_find(l->block, name, &h) && mi_header_text(&h, l->text, sizeof l->text, value);
}
