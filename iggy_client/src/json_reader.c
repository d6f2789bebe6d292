#include "json_reader.h"

#include "base64.h"

#include <string.h>

#define SHORT_STRING 24

static bool skip_string(struct json *j);
static bool skip_scalar(struct json *j);
static bool unescape(struct json *j, uint8_t *start, uint8_t *end, struct mi_span *value);

struct json json_start(uint8_t *text, size_t len)
{
    struct json j = {text, text + len, 0, 0, false};
    return j;
}

bool json_fail(struct json *j)
{
    j->failed = true;
    return false;
}

static inline void skip_space(struct json *j)
{
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\n' || *j->at == '\r' || *j->at == '\t'))
        j->at++;
}

/* The next byte that is no white space, unread; 0 at the end or after an error. */
static inline int peek_byte(struct json *j)
{
    if (j->failed)
        return 0;
    skip_space(j);
    return j->at < j->end ? *j->at : 0;
}

enum json_type json_peek(struct json *j)
{
    int c = peek_byte(j);
    switch (c) {
    case '{':
        return JSON_OBJECT;
    case '[':
        return JSON_ARRAY;
    case '"':
        return JSON_STRING;
    case 't':
    case 'f':
        return JSON_BOOL;
    case 'n':
        return JSON_NULL;
    default:
        return c == '-' || (c >= '0' && c <= '9') ? JSON_NUMBER : JSON_NONE;
    }
}

static bool enter(struct json *j, int opening)
{
    if (peek_byte(j) != opening || j->depth >= JSON_MAX_DEPTH)
        return json_fail(j);
    j->at++;
    j->depth++;
    j->started &= ~(1ull << j->depth);
    return true;
}

bool json_object(struct json *j)
{
    return enter(j, '{');
}

bool json_array(struct json *j)
{
    return enter(j, '[');
}

/* Steps to the next item of the container that closes with that byte; false when it is left. */
static bool next(struct json *j, int closing)
{
    int c = peek_byte(j);
    uint64_t bit = 1ull << j->depth;
    if (c == 0 || j->depth == 0)
        return json_fail(j);
    if (c == closing) {
        j->at++;
        j->depth--;
        return false;
    }
    if (j->started & bit) {
        if (c != ',')
            return json_fail(j);
        j->at++;
        /* A comma must be followed by an item. */
        if (peek_byte(j) == closing)
            return json_fail(j);
    }
    j->started |= bit;
    return true;
}

bool json_item(struct json *j)
{
    return next(j, ']');
}

bool json_member(struct json *j, struct mi_span *key)
{
    if (!next(j, '}') || !json_string(j, key))
        return false;
    if (peek_byte(j) != ':')
        return json_fail(j);
    j->at++;
    return true;
}

bool json_end(struct json *j)
{
    skip_space(j);
    return !j->failed && j->depth == 0 && j->at == j->end;
}

/* ---- strings
 * ----------------------------------------------------------------------------------------------- */

/* The closing quote at or behind at; NULL when there is none. Most strings are short names: a few bytes are
 * looked at one by one before memchr is worth its call. */
static uint8_t *closing_quote(uint8_t *at, uint8_t *end, bool *escaped)
{
    uint8_t *soon = end - at > SHORT_STRING ? at + SHORT_STRING : end;
    for (uint8_t *p = at; p < soon && *p != '\\'; p++)
        if (*p == '"')
            return p;
    uint8_t *quote = memchr(at, '"', (size_t)(end - at));
    *escaped = quote && memchr(at, '\\', (size_t)(quote - at)) != NULL;
    if (!*escaped)
        return quote;
    for (quote = at; quote < end && *quote != '"'; quote++)
        if (*quote == '\\')
            quote++;
    return quote < end ? quote : NULL;
}

/* Leaves the reader behind the closing quote; start and end delimit what stands between, escaped tells
 * whether there is something to unescape in it. */
static bool string_bounds(struct json *j, uint8_t **start, uint8_t **end, bool *escaped)
{
    if (peek_byte(j) != '"')
        return json_fail(j);
    *escaped = false;
    *start = ++j->at;
    *end = closing_quote(j->at, j->end, escaped);
    if (!*end)
        return json_fail(j);
    j->at = *end + 1;
    return true;
}

bool json_string(struct json *j, struct mi_span *value)
{
    uint8_t *start, *end;
    bool escaped;
    if (!string_bounds(j, &start, &end, &escaped))
        return false;
    if (escaped)
        return unescape(j, start, end, value);
    *value = (struct mi_span){start, (size_t)(end - start)};
    return true;
}

bool json_base64(struct json *j, struct mi_span *value)
{
    struct mi_span text;
    if (!json_string(j, &text))
        return false;
    uint8_t *to = (uint8_t *)text.data; /* our own writable text; see json_start */
    value->data = to;
    return base64_decode(to, &value->len, text.data, text.len) || json_fail(j);
}

static int hex_digit(int c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The four digits of \uXXXX at p; -1 when they are not all there. */
static int32_t hex_unit(const uint8_t *p, const uint8_t *end)
{
    if (end - p < 4)
        return -1;
    int32_t unit = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(p[i]);
        if (digit < 0)
            return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

static uint8_t *put_utf8(uint8_t *to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = (uint8_t)c;
    } else if (c < 0x800) {
        *to++ = (uint8_t)(0xC0 | c >> 6);
        *to++ = (uint8_t)(0x80 | (c & 63));
    } else if (c < 0x10000) {
        *to++ = (uint8_t)(0xE0 | c >> 12);
        *to++ = (uint8_t)(0x80 | (c >> 6 & 63));
        *to++ = (uint8_t)(0x80 | (c & 63));
    } else {
        *to++ = (uint8_t)(0xF0 | c >> 18);
        *to++ = (uint8_t)(0x80 | (c >> 12 & 63));
        *to++ = (uint8_t)(0x80 | (c >> 6 & 63));
        *to++ = (uint8_t)(0x80 | (c & 63));
    }
    return to;
}

/* from stands behind "\u". Returns where to go on, NULL for a bad escape (a lone surrogate is one). */
static const uint8_t *unescape_unicode(const uint8_t *from, const uint8_t *end, uint8_t **to)
{
    int32_t unit = hex_unit(from, end);
    if (unit < 0 || (unit >= 0xDC00 && unit <= 0xDFFF))
        return NULL;
    from += 4;
    uint32_t c = (uint32_t)unit;
    if (unit >= 0xD800 && unit <= 0xDBFF) {
        int32_t low = end - from >= 6 && from[0] == '\\' && from[1] == 'u' ? hex_unit(from + 2, end) : -1;
        if (low < 0xDC00 || low > 0xDFFF)
            return NULL;
        c = 0x10000u + ((uint32_t)(unit - 0xD800) << 10) + (uint32_t)(low - 0xDC00);
        from += 6;
    }
    *to = put_utf8(*to, c);
    return from;
}

/* Every escape is at least as long as what it stands for, so the text shrinks in place. */
static bool unescape(struct json *j, uint8_t *start, uint8_t *end, struct mi_span *value)
{
    static const char names[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    uint8_t *to = start;
    for (const uint8_t *from = start; from < end;) {
        if (*from != '\\') {
            *to++ = *from++;
            continue;
        }
        const char *name = from + 1 < end ? strchr(names, from[1]) : NULL;
        if (name && *name) {
            *to++ = (uint8_t)bytes[name - names];
            from += 2;
        } else {
            from = from + 1 < end && from[1] == 'u' ? unescape_unicode(from + 2, end, &to) : NULL;
            if (!from)
                return json_fail(j);
        }
    }
    *value = (struct mi_span){start, (size_t)(to - start)};
    return true;
}

/* ---- numbers and words
 * -------------------------------------------------------------------------------------- */

bool json_u128(struct json *j, struct iggy_id *value)
{
    if (peek_byte(j) < '0' || *j->at > '9')
        return json_fail(j);
    const uint8_t *start = j->at;
    unsigned __int128 v = 0;
    for (; j->at < j->end && *j->at >= '0' && *j->at <= '9'; j->at++) {
        unsigned digit = *j->at - '0';
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, digit, &v))
            return json_fail(j);
    }
    bool fraction = j->at < j->end && (*j->at == '.' || *j->at == 'e' || *j->at == 'E');
    if (fraction || (*start == '0' && j->at - start > 1))
        return json_fail(j);
    value->hi = (uint64_t)(v >> 64);
    value->lo = (uint64_t)v;
    return true;
}

bool json_u64(struct json *j, uint64_t *value)
{
    struct iggy_id wide;
    if (!json_u128(j, &wide))
        return false;
    if (wide.hi != 0)
        return json_fail(j);
    *value = wide.lo;
    return true;
}

bool json_u32(struct json *j, uint32_t *value)
{
    uint64_t wide;
    if (!json_u64(j, &wide))
        return false;
    if (wide > UINT32_MAX)
        return json_fail(j);
    *value = (uint32_t)wide;
    return true;
}

static bool word(struct json *j, const char *expected)
{
    size_t len = strlen(expected);
    if ((size_t)(j->end - j->at) < len || memcmp(j->at, expected, len) != 0)
        return json_fail(j);
    j->at += len;
    return true;
}

bool json_bool(struct json *j, bool *value)
{
    int c = peek_byte(j);
    *value = c == 't';
    if (c != 't' && c != 'f')
        return json_fail(j);
    return word(j, c == 't' ? "true" : "false");
}

/* ---- skipping
 * ------------------------------------------------------------------------------------------------ */

bool json_raw(struct json *j, struct mi_span *text)
{
    peek_byte(j);
    const uint8_t *start = j->at;
    if (!json_skip(j))
        return false;
    *text = (struct mi_span){start, (size_t)(j->at - start)};
    return true;
}

/* Not recursive: the depth is bounded, and so is the stack. */
bool json_skip(struct json *j)
{
    unsigned outside = j->depth;
    uint64_t is_array = 0;
    for (;;) {
        enum json_type type = json_peek(j);
        if (type == JSON_OBJECT || type == JSON_ARRAY) {
            if (!enter(j, *j->at))
                return false;
            uint64_t bit = 1ull << j->depth;
            is_array = type == JSON_ARRAY ? is_array | bit : is_array & ~bit;
        } else if (!skip_scalar(j)) {
            return false;
        }
        for (;;) {
            if (j->depth == outside)
                return true;
            bool array = is_array >> j->depth & 1;
            bool more = next(j, array ? ']' : '}');
            if (j->failed)
                return false;
            if (!more)
                continue;
            if (!array && (!skip_string(j) || peek_byte(j) != ':'))
                return json_fail(j);
            if (!array)
                j->at++;
            break;
        }
    }
}

static bool skip_string(struct json *j)
{
    uint8_t *start, *end;
    bool escaped;
    return string_bounds(j, &start, &end, &escaped);
}

static bool skip_digits(struct json *j)
{
    const uint8_t *start = j->at;
    while (j->at < j->end && *j->at >= '0' && *j->at <= '9')
        j->at++;
    return j->at > start || json_fail(j);
}

static bool skip_number(struct json *j)
{
    if (*j->at == '-')
        j->at++;
    if (!skip_digits(j))
        return false;
    if (j->at < j->end && *j->at == '.') {
        j->at++;
        if (!skip_digits(j))
            return false;
    }
    if (j->at < j->end && (*j->at == 'e' || *j->at == 'E')) {
        j->at++;
        if (j->at < j->end && (*j->at == '+' || *j->at == '-'))
            j->at++;
        return skip_digits(j);
    }
    return true;
}

static bool skip_scalar(struct json *j)
{
    bool ignored;
    switch (json_peek(j)) {
    case JSON_STRING:
        return skip_string(j);
    case JSON_NUMBER:
        return skip_number(j);
    case JSON_BOOL:
        return json_bool(j, &ignored);
    case JSON_NULL:
        return word(j, "null");
    default:
        return json_fail(j);
    }
}
