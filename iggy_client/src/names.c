#include "names.h"

#include <string.h>

#define MAX_NAME 255

struct iggy_span names_span(const char *text)
{
    return (struct iggy_span){(const uint8_t *)text, text ? strlen(text) : 0};
}

bool names_all_digits(struct iggy_span name)
{
    for (size_t i = 0; i < name.len; i++)
        if (name.data[i] < '0' || name.data[i] > '9')
            return false;
    return name.len > 0;
}

bool iggy_name_usable(struct iggy_span name)
{
    if (name.len == 0 || name.len > MAX_NAME)
        return false;
    struct iggy_span unsigned_part = name;
    if (name.data[0] == '+') {
        unsigned_part.data++;
        unsigned_part.len--;
    }
    return !names_all_digits(unsigned_part);
}

static bool is(struct iggy_span name, const char *word)
{
    return name.len == strlen(word) && memcmp(name.data, word, name.len) == 0;
}

bool names_user_usable(struct iggy_span name)
{
    return iggy_name_usable(name) && !is(name, "me") && !is(name, "login") && !is(name, "logout");
}

static bool is_alphanumeric(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool names_add_segment(struct mi_buf *to, struct iggy_span name)
{
    static const char hex[] = "0123456789ABCDEF";
    for (size_t i = 0; i < name.len; i++) {
        uint8_t c = name.data[i];
        char encoded[3] = {'%', hex[c >> 4], hex[c & 15]};
        if (!(is_alphanumeric(c) ? mi_buf_add_byte(to, c) : mi_buf_add(to, encoded, 3)))
            return false;
    }
    return true;
}

bool names_add_json(struct mi_buf *to, struct iggy_span text)
{
    mi_buf_add_byte(to, '"');
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        if (c == '"' || c == '\\') {
            mi_buf_add_byte(to, '\\');
            mi_buf_add_byte(to, c);
        } else if (c < 0x20) {
            mi_buf_addf(to, "\\u%04x", c);
        } else {
            mi_buf_add_byte(to, c);
        }
    }
    return mi_buf_add_byte(to, '"');
}
