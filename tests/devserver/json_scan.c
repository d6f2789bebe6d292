/*
 * json_scan: RFC 8259 by hand, strict like serde_json.
 */
#include "json_scan.h"

#include <stdint.h>
#include <string.h>

enum { MAX_DEPTH = 127 };

static bool fail(struct dev_json *j)
{
    j->syntax_error = true;
    return false;
}

void dev_json_start(struct dev_json *j, char *text, size_t len)
{
    *j = (struct dev_json){.at = text, .end = text + len};
}

static void skip_space(struct dev_json *j)
{
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\n' || *j->at == '\t' || *j->at == '\r'))
        j->at++;
}

enum dev_json_type dev_json_peek(struct dev_json *j)
{
    skip_space(j);
    if (j->syntax_error || j->at == j->end)
        return DEV_JSON_NONE;
    switch (*j->at) {
    case '{':
        return DEV_JSON_OBJECT;
    case '[':
        return DEV_JSON_ARRAY;
    case '"':
        return DEV_JSON_STRING;
    case 't':
    case 'f':
        return DEV_JSON_BOOL;
    case 'n':
        return DEV_JSON_NULL;
    default:
        return *j->at == '-' || (*j->at >= '0' && *j->at <= '9') ? DEV_JSON_NUMBER : DEV_JSON_NONE;
    }
}

static bool hex4(const char *p, const char *end, uint32_t *value)
{
    if (end - p < 4)
        return false;
    *value = 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                : 16;
        if (digit > 15)
            return false;
        *value = *value << 4 | digit;
    }
    return true;
}

static char *put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        *out++ = (char)c;
    } else if (c < 0x800) {
        *out++ = (char)(0xc0 | c >> 6);
        *out++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *out++ = (char)(0xe0 | c >> 12);
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    } else {
        *out++ = (char)(0xf0 | c >> 18);
        *out++ = (char)(0x80 | (c >> 12 & 0x3f));
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    }
    return out;
}

/* Reads the escape whose backslash is at *in. */
static bool unescape(char **in, const char *end, char **out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (end - *in < 2)
        return false;
    char c = (*in)[1];
    *in += 2;
    const char *plain = c ? strchr(from, c) : NULL;
    if (plain) {
        *(*out)++ = to[plain - from];
        return true;
    }
    uint32_t unit, low;
    if (c != 'u' || !hex4(*in, end, &unit))
        return false;
    *in += 4;
    if (unit >= 0xdc00 && unit < 0xe000)
        return false;
    if (unit >= 0xd800 && unit < 0xdc00) {
        if (end - *in < 6 || (*in)[0] != '\\' || (*in)[1] != 'u' || !hex4(*in + 2, end, &low) ||
            low < 0xdc00 || low > 0xdfff)
            return false;
        *in += 6;
        unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    }
    *out = put_utf8(*out, unit);
    return true;
}

bool dev_json_string(struct dev_json *j, struct dev_text *text)
{
    skip_space(j);
    if (j->syntax_error || j->at == j->end || *j->at != '"')
        return fail(j);
    char *in = j->at + 1, *out;
    text->data = in;
    while (in < j->end && *in != '"' && *in != '\\' && (uint8_t)*in >= 0x20)
        in++;
    out = in;
    while (in < j->end && *in != '"') {
        if ((uint8_t)*in < 0x20)
            return fail(j);
        if (*in != '\\')
            *out++ = *in++;
        else if (!unescape(&in, j->end, &out))
            return fail(j);
    }
    if (in >= j->end)
        return fail(j);
    text->len = (size_t)(out - text->data);
    j->at = in + 1;
    return true;
}

static size_t digits(struct dev_json *j)
{
    char *start = j->at;
    while (j->at < j->end && *j->at >= '0' && *j->at <= '9')
        j->at++;
    return (size_t)(j->at - start);
}

bool dev_json_number(struct dev_json *j, struct dev_text *text)
{
    if (dev_json_peek(j) != DEV_JSON_NUMBER)
        return fail(j);
    text->data = j->at;
    if (*j->at == '-')
        j->at++;
    char *whole = j->at;
    size_t n = digits(j);
    if (n == 0 || (n > 1 && *whole == '0'))
        return fail(j);
    if (j->at < j->end && *j->at == '.') {
        j->at++;
        if (digits(j) == 0)
            return fail(j);
    }
    if (j->at < j->end && (*j->at == 'e' || *j->at == 'E')) {
        j->at++;
        if (j->at < j->end && (*j->at == '+' || *j->at == '-'))
            j->at++;
        if (digits(j) == 0)
            return fail(j);
    }
    text->len = (size_t)(j->at - text->data);
    return true;
}

static bool skip_word(struct dev_json *j)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < 3; i++) {
        size_t len = strlen(words[i]);
        if ((size_t)(j->end - j->at) >= len && memcmp(j->at, words[i], len) == 0) {
            j->at += len;
            return true;
        }
    }
    return fail(j);
}

bool dev_json_skip(struct dev_json *j)
{
    struct dev_text text;
    bool first = true;
    switch (dev_json_peek(j)) {
    case DEV_JSON_STRING:
        return dev_json_string(j, &text);
    case DEV_JSON_NUMBER:
        return dev_json_number(j, &text);
    case DEV_JSON_BOOL:
    case DEV_JSON_NULL:
        return skip_word(j);
    case DEV_JSON_OBJECT:
        if (!dev_json_open(j))
            return false;
        while (dev_json_next_key(j, &first, &text))
            if (!dev_json_skip(j))
                return false;
        return !j->syntax_error;
    case DEV_JSON_ARRAY:
        if (!dev_json_open(j))
            return false;
        while (dev_json_next_item(j, &first))
            if (!dev_json_skip(j))
                return false;
        return !j->syntax_error;
    default:
        return fail(j);
    }
}

bool dev_json_open(struct dev_json *j)
{
    enum dev_json_type type = dev_json_peek(j);
    if ((type != DEV_JSON_OBJECT && type != DEV_JSON_ARRAY) || ++j->depth > MAX_DEPTH)
        return fail(j);
    j->at++;
    return true;
}

static bool next(struct dev_json *j, bool *first, char close)
{
    skip_space(j);
    if (j->syntax_error || j->at == j->end)
        return fail(j);
    if (*j->at == close) {
        j->at++;
        j->depth--;
        return false;
    }
    if (!*first) {
        if (*j->at != ',')
            return fail(j);
        j->at++;
        skip_space(j);
    }
    *first = false;
    return true;
}

bool dev_json_next_key(struct dev_json *j, bool *first, struct dev_text *key)
{
    if (!next(j, first, '}') || !dev_json_string(j, key))
        return false;
    skip_space(j);
    if (j->at == j->end || *j->at != ':')
        return fail(j);
    j->at++;
    return true;
}

bool dev_json_next_item(struct dev_json *j, bool *first)
{
    if (!next(j, first, ']'))
        return false;
    return dev_json_peek(j) != DEV_JSON_NONE || fail(j);
}

bool dev_json_finish(struct dev_json *j)
{
    skip_space(j);
    return (!j->syntax_error && j->at == j->end) || fail(j);
}

bool dev_text_is(struct dev_text text, const char *word)
{
    return strlen(word) == text.len && memcmp(text.data, word, text.len) == 0;
}
