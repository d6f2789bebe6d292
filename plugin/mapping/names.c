#include "mapping/names.h"

#include "base/limits.h"
#include "base/utf8.h"

#include <string.h>

static bool reads_as_number(struct mi_span name);
static bool plain(struct mi_span text);

enum mi_name_fault mi_name_check(struct mi_span name)
{
    if (name.len == 0)
        return MI_NAME_EMPTY;
    if (name.len > MI_MAX_IGGY_NAME)
        return MI_NAME_LONG;
    if (reads_as_number(name))
        return MI_NAME_NUMBER;
    return mi_text_valid(name) ? MI_NAME_GOOD : MI_NAME_BYTES;
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

bool mi_text_valid(struct mi_span text)
{
    return text.len == 0 || (!memchr(text.data, 0, text.len) && mi_utf8_valid(text));
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
