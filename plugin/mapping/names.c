#include "mapping/names.h"

#include "base/limits.h"

#include <string.h>

static bool reads_as_number(struct mi_span name);
static size_t sequence_length(const uint8_t *p, size_t left);
static bool plain(struct mi_span text);

enum mi_name_fault mi_name_check(struct mi_span name)
{
    if (name.len == 0)
        return MI_NAME_EMPTY;
    if (name.len > MI_MAX_IGGY_NAME)
        return MI_NAME_LONG;
    if (reads_as_number(name))
        return MI_NAME_NUMBER;
    return mi_utf8_valid(name) ? MI_NAME_GOOD : MI_NAME_BYTES;
}

static bool reads_as_number(struct mi_span name)
{
    size_t i = name.data[0] == '+' ? 1 : 0;
    if (i == name.len)
        return false;
    for (; i < name.len; i++) {
        if (name.data[i] < '0' || name.data[i] > '9')
            return false;
    }
    return true;
}

bool mi_utf8_valid(struct mi_span text)
{
    for (size_t i = 0; i < text.len;) {
        size_t n = sequence_length(text.data + i, text.len - i);
        if (n == 0)
            return false;
        i += n;
    }
    return true;
}

/* Length of the well-formed sequence at p (Unicode table 3-7), 0 when there is none. */
static size_t sequence_length(const uint8_t *p, size_t left)
{
    uint8_t c = p[0], low = 0x80, high = 0xbf;
    if (c < 0x80)
        return c != 0;
    size_t n = c >= 0xc2 && c <= 0xdf ? 2 : (c & 0xf0) == 0xe0 ? 3 : c >= 0xf0 && c <= 0xf4 ? 4 : 0;
    if (n == 0 || n > left)
        return 0;
    if (c == 0xe0)
        low = 0xa0;
    else if (c == 0xed)
        high = 0x9f;
    else if (c == 0xf0)
        low = 0x90;
    else if (c == 0xf4)
        high = 0x8f;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    }
    return n;
}

bool mi_level_safe(struct mi_span text)
{
    return text.len > 0 && !(memchr(text.data, '/', text.len)) && plain(text);
}

bool mi_topic_safe(struct mi_span topic)
{
    return topic.len > 0 && topic.len <= MI_MAX_MQTT_STRING && topic.data[0] != '$' && plain(topic);
}

/* No wildcard, no control character, and UTF-8. */
static bool plain(struct mi_span text)
{
    return text.len > 0 && !memchr(text.data, '+', text.len) && !memchr(text.data, '#', text.len) &&
           !mi_has_control(text) && mi_utf8_valid(text);
}

bool mi_has_control(struct mi_span text)
{
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        if (c < 0x20 || c == 0x7f || (c == 0xc2 && i + 1 < text.len && text.data[i + 1] < 0xa0))
            return true;
    }
    return false;
}
