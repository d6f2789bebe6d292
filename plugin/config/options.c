#include "config/options.h"

#include "config/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int set_text(const struct mi_option *o, void *base, const char *value, struct mi_error *err);
static int set_word(const struct mi_option *o, void *base, const char *value, struct mi_error *err);
static int check_range(const struct mi_option *o, uint64_t value, struct mi_error *err);

const char *mi_place_path(enum mi_place place)
{
    static const char *const paths[MI_PLACES] = {
        [MI_AT_ROOT] = "",
        [MI_AT_IGGY] = "iggy",
        [MI_AT_JOURNAL] = "journal",
        [MI_AT_ROUTE] = "routes[]",
        [MI_AT_CREATE] = "routes[].create",
        [MI_AT_UNMATCHED] = "unmatched",
        [MI_AT_DEAD_LETTER] = "dead_letter",
        [MI_AT_CLIENT_EVENTS] = "client_events",
        [MI_AT_STATUS] = "status",
        [MI_AT_BROKER] = "broker",
        [MI_AT_HISTORY] = "history",
        [MI_AT_AUTH] = "auth",
        [MI_AT_LIMITS] = "limits",
    };
    return paths[place];
}

bool mi_option_at(const struct mi_option *o, enum mi_place place)
{
    return o->place == place || (place == MI_AT_UNMATCHED && o->place == MI_AT_ROUTE && o->unmatched);
}

const struct mi_option *mi_option_find(enum mi_place place, const char *key)
{
    for (size_t i = 0; i < mi_option_count; i++)
        if (mi_option_at(&mi_options[i], place) && strcmp(mi_options[i].key, key) == 0)
            return &mi_options[i];
    return NULL;
}

const struct mi_option *mi_option_of_plugin_opt(const char *name)
{
    for (size_t i = 0; i < mi_option_count; i++)
        if (mi_options[i].plugin_opt && strcmp(mi_options[i].plugin_opt, name) == 0)
            return &mi_options[i];
    return NULL;
}

size_t mi_option_index(const struct mi_option *o)
{
    return (size_t)(o - mi_options);
}

/* ---- storing ---- */

static void store(const struct mi_option *o, void *base, uint64_t value)
{
    uint8_t *to = (uint8_t *)base + o->offset;
    uint32_t four = (uint32_t)value;
    uint8_t one = (uint8_t)value;
    if (o->width == 8)
        memcpy(to, &value, 8);
    else if (o->width == 4)
        memcpy(to, &four, 4);
    else
        memcpy(to, &one, 1);
}

static uint64_t load(const struct mi_option *o, const void *base)
{
    const uint8_t *from = (const uint8_t *)base + o->offset;
    uint64_t eight = 0;
    uint32_t four = 0;
    if (o->width == 8)
        memcpy(&eight, from, 8);
    else if (o->width == 4)
        memcpy(&four, from, 4), eight = four;
    else
        eight = *from;
    return eight;
}

int mi_option_set(const struct mi_option *o, void *base, const char *value, struct mi_error *err)
{
    uint64_t number = 0;
    switch (o->kind) {
    case MI_SIZE:
        if (mi_parse_size(value, &number, err) < 0 || check_range(o, number, err) < 0)
            return -1;
        store(o, base, number);
        return 0;
    case MI_TIME:
        if (o->word && strcmp(value, o->word) == 0)
            return store(o, base, UINT64_MAX), 0;
        if (mi_parse_time(value, &number, err) < 0 || check_range(o, number, err) < 0)
            return -1;
        store(o, base, number / o->unit_ns);
        return 0;
    case MI_CHOICE:
        return set_word(o, base, value, err);
    case MI_COUNT:
        return mi_option_set_number(o, base, strtoull(value, NULL, 10), err);
    case MI_BOOL:
        return mi_option_set_number(o, base, strcmp(value, "true") == 0, err);
    default:
        return set_text(o, base, value, err);
    }
}

int mi_option_set_number(const struct mi_option *o, void *base, uint64_t value, struct mi_error *err)
{
    if (o->kind == MI_COUNT && check_range(o, value, err) < 0)
        return -1;
    store(o, base, value);
    return 0;
}

static void bound_text(const struct mi_option *o, uint64_t value, char text[MI_UNIT_TEXT])
{
    if (o->kind == MI_SIZE)
        mi_format_size(value, text);
    else if (o->kind == MI_TIME)
        mi_format_time(value, text);
    else
        snprintf(text, MI_UNIT_TEXT, "%" PRIu64, value);
}

static int check_range(const struct mi_option *o, uint64_t value, struct mi_error *err)
{
    char is[MI_UNIT_TEXT], low[MI_UNIT_TEXT], high[MI_UNIT_TEXT];
    if (value >= o->min && (o->max == 0 || value <= o->max))
        return 0;
    bound_text(o, value, is);
    bound_text(o, o->min, low);
    bound_text(o, o->max, high);
    return mi_error_set(err, "%s is out of range: use %s to %s", is, low, high);
}

static int set_text(const struct mi_option *o, void *base, const char *value, struct mi_error *err)
{
    size_t len = strlen(value);
    if (len == 0)
        return mi_error_set(err, "is empty: give it a value or leave the key out");
    if (o->max > 0 && len > o->max)
        return mi_error_set(err, "is %zu bytes long: at most %" PRIu64 " are possible", len, o->max);
    memcpy((uint8_t *)base + o->offset, &value, sizeof value);
    return 0;
}

static int set_word(const struct mi_option *o, void *base, const char *value, struct mi_error *err)
{
    size_t len = strlen(value), number = o->first;
    for (const char *word = o->choices; *word; number++) {
        size_t n = strcspn(word, "|");
        if (n == len && memcmp(word, value, n) == 0)
            return store(o, base, number), 0;
        word += n + (word[n] == '|');
    }
    return mi_error_set(err, "\"%s\" is none of the possible words: use %s", value, o->choices);
}

/* ---- as JSON ---- */

static void add_word(const struct mi_option *o, uint64_t number, struct mi_buf *out)
{
    const char *word = o->choices;
    for (uint64_t i = o->first; i < number; i++)
        word += strcspn(word, "|") + 1;
    mi_buf_addf(out, "\"%.*s\"", (int)strcspn(word, "|"), word);
}

static bool add_text(const struct mi_option *o, const void *base, struct mi_buf *out)
{
    const char *text;
    memcpy(&text, (const uint8_t *)base + o->offset, sizeof text);
    if (text)
        mi_json_quote(out, text);
    return text != NULL;
}

bool mi_option_value(const struct mi_option *o, const void *base, struct mi_buf *out)
{
    if (o->kind == MI_TEXT || o->kind == MI_PATH)
        return add_text(o, base, out);
    char text[MI_UNIT_TEXT];
    uint64_t number = load(o, base);
    if ((o->kind == MI_TIME && number == 0 && !o->fallback && !o->unknown) ||
        (o->unknown && number == UINT64_MAX) || (o->kind == MI_CHOICE && number < o->first))
        return false;
    if (o->kind == MI_CHOICE)
        add_word(o, number, out);
    else if (o->kind == MI_BOOL)
        mi_buf_add_text(out, number ? "true" : "false");
    else if (o->kind == MI_COUNT)
        mi_buf_addf(out, "%" PRIu64, number);
    else if (o->word && number == UINT64_MAX)
        mi_json_quote(out, o->word);
    else {
        bound_text(o, o->kind == MI_TIME ? number * o->unit_ns : number, text);
        mi_json_quote(out, text);
    }
    return true;
}

void mi_json_quote(struct mi_buf *out, const char *text)
{
    mi_buf_add_byte(out, '"');
    for (const char *p = text; *p; p++) {
        if (*p == '"' || *p == '\\')
            mi_buf_add_byte(out, '\\');
        if ((unsigned char)*p < 0x20)
            mi_buf_addf(out, "\\u%04x", (unsigned)*p);
        else
            mi_buf_add_byte(out, (uint8_t)*p);
    }
    mi_buf_add_byte(out, '"');
}

/* ---- unknown keys ---- */

/* Levenshtein distance, for keys of at most 31 bytes; longer ones are far from everything. */
static unsigned distance(const char *a, const char *b)
{
    size_t m = strlen(a), n = strlen(b);
    unsigned row[32];
    if (m > 31 || n > 31)
        return 99;
    for (size_t j = 0; j <= n; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= m; i++) {
        unsigned corner = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= n; j++) {
            unsigned best = corner + (a[i - 1] != b[j - 1]);
            corner = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[n];
}

static const struct mi_option *nearest(enum mi_place place, const char *key)
{
    const struct mi_option *best = NULL;
    unsigned best_distance = 3;
    for (size_t i = 0; i < mi_option_count; i++) {
        const struct mi_option *o = &mi_options[i];
        unsigned d = mi_option_at(o, place) ? distance(key, o->key) : 99;
        if (d < best_distance && d < strlen(o->key))
            best = o, best_distance = d;
    }
    return best;
}

static void list_keys(enum mi_place place, struct mi_error *sentence)
{
    size_t used = (size_t)snprintf(sentence->text, sizeof sentence->text, "is unknown; known here are");
    for (size_t i = 0; i < mi_option_count; i++)
        if (mi_option_at(&mi_options[i], place) && used < sizeof sentence->text)
            used += (size_t)snprintf(sentence->text + used, sizeof sentence->text - used, " %s",
                                     mi_options[i].key);
}

void mi_option_suggest(enum mi_place place, const char *key, struct mi_error *sentence)
{
    char secret[64];
    snprintf(secret, sizeof secret, "%s_file", key);
    const struct mi_option *near = nearest(place, key);
    if (mi_option_find(place, secret)) {
        mi_error_set(
            sentence,
            "is unknown: a secret does not stand in the configuration; put it into a file of its own "
            "and name that file in \"%s\"",
            secret);
        return;
    }
    if (near) {
        mi_error_set(sentence, "is unknown: did you mean \"%s\"?", near->key);
        return;
    }
    for (enum mi_place other = MI_AT_ROOT; other < MI_PLACES; other++)
        if (mi_option_find(other, key)) {
            mi_error_set(sentence, "is unknown here: it belongs into %s",
                         other == MI_AT_ROOT ? "the top level" : mi_place_path(other));
            return;
        }
    list_keys(place, sentence);
}
