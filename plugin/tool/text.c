#include "tool/text.h"

#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Bytes of the printable character that begins there; 0: none. */
static size_t printable(struct mi_span s, size_t at)
{
    static const size_t longest = 4;
    uint8_t first = s.data[at];
    if (first < 0x80)
        return first >= 0x20 && first != 0x7f && first != '\\';
    for (size_t n = 2; n <= longest && at + n <= s.len; n++)
        if (mi_utf8_valid((struct mi_span){s.data + at, n}))
            return first == 0xc2 && s.data[at + 1] < 0xa0 ? 0 : n; /* C1 controls move cursors, too */
    return 0;
}

char *mi_text_of(struct mi_span s)
{
    char *text = malloc(s.len * 4 + 1), *to = text;
    for (size_t at = 0; text && at < s.len;) {
        size_t n = printable(s, at);
        if (n)
            memcpy(to, s.data + at, n);
        else
            snprintf(to, 5, s.data[at] == '\\' ? "\\\\" : "\\x%02x", s.data[at]);
        to += n ? n : strlen(to);
        at += n ? n : 1;
    }
    if (text)
        *to = '\0';
    return text;
}

void mi_text_print(FILE *to, struct mi_span bytes)
{
    char *text = mi_text_of(bytes);
    fputs(text ? text : "(memory is out)", to);
    free(text);
}

const char *mi_text_time(uint64_t us, char text[MI_TIME_TEXT])
{
    time_t seconds = (time_t)(us / 1000000);
    struct tm tm;
    if (!gmtime_r(&seconds, &tm) || strftime(text, MI_TIME_TEXT, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
        return "?";
    size_t n = strlen(text);
    snprintf(text + n, MI_TIME_TEXT - n, ".%06uZ", (unsigned)(us % 1000000));
    return text;
}

const char *mi_text_size(uint64_t bytes, char text[MI_SIZE_TEXT])
{
    static const char *const units[] = {"KB", "MB", "GB", "TB"};
    if (bytes < 1024) {
        snprintf(text, MI_SIZE_TEXT, "%u bytes", (unsigned)bytes);
        return text;
    }
    size_t unit = 0;
    double value = (double)bytes / 1024;
    for (; value >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++)
        value /= 1024;
    snprintf(text, MI_SIZE_TEXT, "%.1f %s", value, units[unit]);
    return text;
}

bool mi_text_number(const char *text, uint64_t *out)
{
    size_t len = strlen(text);
    if (!len || len > 18 || strspn(text, "0123456789") != len)
        return false;
    *out = strtoull(text, NULL, 10);
    return true;
}
