#include "config/units.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct unit {
    const char *name;
    uint64_t factor;
};

/* Both lists from large to small: formatting takes the first that divides. */
static const struct unit size_units[] = {{"TB", 1000000000000ull},
                                         {"TiB", 1ull << 40},
                                         {"GB", 1000000000ull},
                                         {"GiB", 1ull << 30},
                                         {"MB", 1000000},
                                         {"MiB", 1ull << 20},
                                         {"KB", 1000},
                                         {"KiB", 1024},
                                         {"B", 1},
                                         {NULL, 0}};
static const struct unit time_units[] = {{"d", 86400000000000ull},
                                         {"h", 3600000000000ull},
                                         {"m", 60000000000ull},
                                         {"s", 1000000000ull},
                                         {"ms", 1000000},
                                         {"us", 1000},
                                         {"ns", 1},
                                         {NULL, 0}};

static bool parse(const char *text, const struct unit *units, bool any_case, uint64_t *out, bool *too_large)
{
    const char *p = text;
    uint64_t value = 0;
    *too_large = false;
    for (; *p >= '0' && *p <= '9'; p++) {
        unsigned digit = (unsigned)(*p - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return *too_large = true, false;
        value = value * 10 + digit;
    }
    if (p == text)
        return false;
    if (*p == ' ')
        p++;
    for (const struct unit *u = units; u->name; u++) {
        if ((any_case ? strcasecmp(p, u->name) : strcmp(p, u->name)) != 0)
            continue;
        if (value > UINT64_MAX / u->factor)
            return *too_large = true, false;
        *out = value * u->factor;
        return true;
    }
    return false;
}

int mi_parse_size(const char *text, uint64_t *bytes, struct mi_error *err)
{
    bool too_large;
    if (parse(text, size_units, true, bytes, &too_large))
        return 0;
    if (too_large)
        return mi_error_set(err, "\"%s\" is too large a size", text);
    return mi_error_set(
        err,
        "\"%s\" is not a size: write a whole number with a unit, such as \"256MB\" (B, KB, MB, GB, "
        "TB in steps of 1000; KiB, MiB, GiB, TiB in steps of 1024)",
        text);
}

int mi_parse_time(const char *text, uint64_t *ns, struct mi_error *err)
{
    bool too_large;
    if (parse(text, time_units, false, ns, &too_large))
        return 0;
    if (too_large)
        return mi_error_set(err, "\"%s\" is too long a time", text);
    return mi_error_set(
        err,
        "\"%s\" is not a time: write a whole number with a unit, such as \"100ms\" or \"30d\" (us, "
        "ms, s, m, h, d)",
        text);
}

static void format(uint64_t value, const struct unit *units, char text[MI_UNIT_TEXT])
{
    const struct unit *u = units;
    while (u->factor > 1 && (value == 0 || value % u->factor != 0))
        u++;
    snprintf(text, MI_UNIT_TEXT, "%" PRIu64 "%s", value / u->factor, u->name);
}

void mi_format_size(uint64_t bytes, char text[MI_UNIT_TEXT])
{
    format(bytes, size_units, text);
}

void mi_format_time(uint64_t ns, char text[MI_UNIT_TEXT])
{
    if (ns == 0)
        snprintf(text, MI_UNIT_TEXT, "0s");
    else
        format(ns, time_units, text);
}
