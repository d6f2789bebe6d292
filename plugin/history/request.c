#include "history/request.h"

#include <string.h>

static bool parse_from(struct mi_span from, uint64_t now_us, struct mi_request *out, const char **why);
static bool parse_last(struct mi_span from, struct mi_request *out, const char **why);
static bool parse_time(struct mi_span from, struct mi_request *out, const char **why);
static bool parse_age(struct mi_span from, uint64_t now_us, struct mi_request *out, const char **why);

#define US_PER_S 1000000ull

static bool begins_with(struct mi_span s, const char *word)
{
    size_t len = strlen(word);
    return s.len >= len && memcmp(s.data, word, len) == 0;
}

static bool is(struct mi_span s, const char *word)
{
    return mi_span_equal(s, mi_span_of(word));
}

bool mi_request_parse(struct mi_span text, uint64_t now_us, struct mi_request *out, const char **why)
{
    memset(out, 0, sizeof *out);
    *why = "write $iggy/FROM/FILTER";
    if (!begins_with(text, "$iggy/"))
        return false;
    struct mi_span rest = {text.data + 6, text.len - 6};
    const uint8_t *slash = rest.len ? memchr(rest.data, '/', rest.len) : NULL;
    if (!slash)
        return false;
    out->from = (struct mi_span){rest.data, (size_t)(slash - rest.data)};
    out->filter = (struct mi_span){slash + 1, rest.len - out->from.len - 1};
    if (out->filter.len == 0) {
        *why = "there is no filter behind $iggy/FROM/";
        return false;
    }
    return parse_from(out->from, now_us, out, why);
}

static bool parse_from(struct mi_span from, uint64_t now_us, struct mi_request *out, const char **why)
{
    *why = "FROM must be first, last-100, an age (15m, 2h, 7d), a time (2026-11-29T12:00:00Z) or a cursor";
    if (is(from, "first")) {
        out->kind = MI_FROM_FIRST;
        return true;
    }
    if (begins_with(from, "last-"))
        return parse_last((struct mi_span){from.data + 5, from.len - 5}, out, why);
    if (begins_with(from, "c_")) {
        out->kind = MI_FROM_CURSOR;
        return true;
    }
    if (from.len == 0 || from.data[0] < '0' || from.data[0] > '9')
        return false;
    return from.len > 4 && from.data[4] == '-' ? parse_time(from, out, why)
                                               : parse_age(from, now_us, out, why);
}

/* Reads digits from *at on, at most max of them; false when there is none. */
static bool read_number(struct mi_span s, size_t *at, size_t max, uint64_t *out)
{
    size_t first = *at;
    *out = 0;
    for (; *at < s.len && *at - first < max && s.data[*at] >= '0' && s.data[*at] <= '9'; ++*at)
        *out = *out * 10 + (s.data[*at] - '0');
    return *at > first;
}

static bool parse_last(struct mi_span from, struct mi_request *out, const char **why)
{
    size_t at = 0;
    *why = "last-N wants a number from 1 to 999999999, as in last-100";
    out->kind = MI_FROM_LAST;
    return read_number(from, &at, 9, &out->last) && at == from.len && out->last > 0;
}

static bool parse_age(struct mi_span from, uint64_t now_us, struct mi_request *out, const char **why)
{
    static const struct {
        char unit;
        uint64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 604800}};
    size_t at = 0;
    uint64_t n;
    *why = "an age is a number and one of s, m, h, d, w, as in 15m";
    if (!read_number(from, &at, 9, &n) || at + 1 != from.len)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (from.data[at] != units[i].unit)
            continue;
        uint64_t age = n * units[i].seconds * US_PER_S;
        out->kind = MI_FROM_TIME;
        out->since_us = age < now_us ? now_us - age : 0;
        return true;
    }
    return false;
}

/* ---- RFC 3339 ---- */

static bool expect(struct mi_span s, size_t *at, const char *one_of)
{
    if (*at >= s.len || !memchr(one_of, s.data[*at], strlen(one_of)))
        return false;
    ++*at;
    return true;
}

static bool two_digits(struct mi_span s, size_t *at, uint64_t most, uint64_t *out)
{
    size_t first = *at;
    return read_number(s, at, 2, out) && *at - first == 2 && *out <= most;
}

/* Days since 1970-01-01 of the Gregorian calendar; year at least 1970. */
static uint64_t days_since_1970(uint64_t year, uint64_t month, uint64_t day)
{
    static const uint16_t before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    uint64_t y = year - 1;
    uint64_t leap_days = (y / 4 - y / 100 + y / 400) - (1969 / 4 - 1969 / 100 + 1969 / 400);
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return (year - 1970) * 365 + leap_days + before[month - 1] + (month > 2 && leap) + day - 1;
}

static bool read_date(struct mi_span s, size_t *at, uint64_t *days)
{
    static const uint8_t longest[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    uint64_t year, month, day;
    size_t first = *at;
    if (!read_number(s, at, 4, &year) || *at - first != 4 || year < 1970 || !expect(s, at, "-") ||
        !two_digits(s, at, 12, &month) || month == 0 || !expect(s, at, "-") ||
        !two_digits(s, at, longest[month - 1], &day) || day == 0)
        return false;
    if (month == 2 && day == 29 && (year % 4 != 0 || (year % 100 == 0 && year % 400 != 0)))
        return false;
    *days = days_since_1970(year, month, day);
    return true;
}

static bool read_clock(struct mi_span s, size_t *at, uint64_t *us)
{
    uint64_t hour, minute, second;
    if (!two_digits(s, at, 23, &hour) || !expect(s, at, ":") || !two_digits(s, at, 59, &minute) ||
        !expect(s, at, ":") || !two_digits(s, at, 60, &second))
        return false;
    *us = ((hour * 60 + minute) * 60 + second) * US_PER_S;
    if (!expect(s, at, "."))
        return true;
    uint64_t unit = US_PER_S / 10, digit;
    size_t first = *at;
    while (read_number(s, at, 1, &digit)) {
        *us += digit * unit;
        unit /= 10;
    }
    return *at > first;
}

/* Microseconds to take off for UTC: out is signed. */
static bool read_offset(struct mi_span s, size_t *at, int64_t *us)
{
    uint64_t hour, minute;
    bool east = false;
    *us = 0;
    if (expect(s, at, "Zz"))
        return true;
    if (s.len - *at >= 3 && memcmp(s.data + *at, "%2B", 3) == 0) {
        east = true;
        *at += 3;
    } else if (!expect(s, at, "-")) {
        return false;
    }
    if (!two_digits(s, at, 23, &hour) || !expect(s, at, ":") || !two_digits(s, at, 59, &minute))
        return false;
    *us = (int64_t)((hour * 60 + minute) * 60 * US_PER_S);
    if (!east)
        *us = -*us;
    return true;
}

static bool parse_time(struct mi_span from, struct mi_request *out, const char **why)
{
    uint64_t days, clock;
    int64_t offset;
    size_t at = 0;
    *why = "a time is written 2026-11-29T12:00:00Z, from 1970 on; an offset as -05:00 or %2B01:00";
    if (!read_date(from, &at, &days) || !expect(from, &at, "Tt") || !read_clock(from, &at, &clock) ||
        !read_offset(from, &at, &offset) || at != from.len)
        return false;
    int64_t us = (int64_t)(days * 86400 * US_PER_S + clock) - offset;
    out->kind = MI_FROM_TIME;
    out->since_us = us > 0 ? (uint64_t)us : 0;
    return true;
}

/* ---- where it stands ---- */

size_t mi_request_begins(struct mi_span text)
{
    for (size_t at = 0; at < text.len;) {
        struct mi_span rest = {text.data + at, text.len - at};
        if (begins_with(rest, "$iggy/") || is(rest, "$iggy"))
            return at;
        const uint8_t *slash = memchr(rest.data, '/', rest.len);
        if (!slash)
            break;
        at += (size_t)(slash - rest.data) + 1;
    }
    return SIZE_MAX;
}

bool mi_request_is_shared(struct mi_span text, size_t *filter_at)
{
    if (!begins_with(text, "$share/"))
        return false;
    const uint8_t *slash = memchr(text.data + 7, '/', text.len - 7);
    if (!slash)
        return false;
    *filter_at = (size_t)(slash - text.data) + 1;
    return true;
}
