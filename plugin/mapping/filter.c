#include "mapping/filter.h"

#include "mapping/names.h"

#include <stdlib.h>
#include <string.h>

static int check_text(struct mi_span text, struct mi_error *err);
static int parse_level(struct mi_filter *f, struct mi_span raw, bool last, char **to, struct mi_error *err);
static int parse_named(struct mi_level *level, struct mi_span raw, bool last, struct mi_error *err);
static int parse_text(struct mi_level *level, struct mi_span raw, char **to, struct mi_error *err);
static int check_name(const struct mi_filter *f, struct mi_span name, struct mi_error *err);

#define TEXT(s) (int)(s).len, (const char *)(s).data

int mi_filter_parse(struct mi_filter *f, const char *text, struct mi_error *err)
{
    struct mi_span whole = mi_span_of(text);
    memset(f, 0, sizeof *f);
    if (check_text(whole, err) != 0)
        return -1;
    size_t levels = 1;
    for (size_t i = 0; i < whole.len; i++)
        levels += whole.data[i] == '/';
    /* The raw text, which wildcards name themselves from, and behind it the literals with braces undoubled.
     */
    f->storage = malloc(whole.len * 2 + 1);
    f->levels = calloc(levels, sizeof *f->levels);
    if (!f->storage || !f->levels) {
        mi_filter_fini(f);
        return mi_error_set(err, "memory is out");
    }
    memcpy(f->storage, text, whole.len);
    whole.data = (const uint8_t *)f->storage;
    char *to = f->storage + whole.len;
    size_t at = 0;
    for (size_t i = 0; i < levels; i++) {
        struct mi_span raw = mi_level_at(whole, at);
        if (parse_level(f, raw, i + 1 == levels, &to, err) != 0) {
            mi_filter_fini(f);
            return -1;
        }
        at += raw.len + 1;
    }
    return 0;
}

int mi_filter_parse_plain(struct mi_filter *f, const char *text, struct mi_error *err)
{
    memset(f, 0, sizeof *f);
    if (strlen(text) > MI_MAX_MQTT_STRING) /* before the doubling, which must not count */
        return mi_error_set(err, "the filter is longer than MQTT allows");
    char *doubled = malloc(strlen(text) * 2 + 1);
    if (!doubled)
        return mi_error_set(err, "memory is out");
    char *to = doubled;
    for (const char *from = text; *from; from++) {
        if (*from == '{' || *from == '}')
            *to++ = *from;
        *to++ = *from;
    }
    *to = '\0';
    int result = mi_filter_parse(f, doubled, err);
    free(doubled);
    return result;
}

static int check_text(struct mi_span text, struct mi_error *err)
{
    if (text.len == 0)
        return mi_error_set(err, "the filter is empty; write \"#\" for every topic");
    if (text.len > MI_MAX_MQTT_STRING)
        return mi_error_set(err, "the filter has %zu bytes; MQTT allows %d", text.len, MI_MAX_MQTT_STRING);
    if (!mi_text_valid(text))
        return mi_error_set(err, "the filter is not UTF-8; save the file as UTF-8");
    if (mi_has_control(text))
        return mi_error_set(
            err, "the filter has a control character, which Mosquitto allows in no topic; take it out");
    if (text.len >= 7 && memcmp(text.data, "$share/", 7) == 0)
        return mi_error_set(err, "a route is no shared subscription; leave out \"$share/\" and the group");
    return 0;
}

static int parse_level(struct mi_filter *f, struct mi_span raw, bool last, char **to, struct mi_error *err)
{
    struct mi_level *level = &f->levels[f->count];
    if (raw.len == 1 && raw.data[0] == '+') {
        level->kind = MI_LEVEL_ONE;
    } else if (raw.len == 1 && raw.data[0] == '#') {
        level->kind = MI_LEVEL_REST;
        if (!last)
            return mi_error_set(err, "\"#\" must be the last level; write \"+\" for one level in between");
    } else if (raw.len > 1 && raw.data[0] == '{' && raw.data[1] != '{') {
        if (parse_named(level, raw, last, err) != 0 || check_name(f, level->text, err) != 0)
            return -1;
    } else if (parse_text(level, raw, to, err) != 0) {
        return -1;
    }
    f->count++;
    if (level->kind != MI_LEVEL_TEXT && ++f->captures > MI_MAX_CAPTURES)
        return mi_error_set(err, "the filter has more than %d wildcards; write one \"#\" for the last levels",
                            MI_MAX_CAPTURES);
    return 0;
}

static int parse_named(struct mi_level *level, struct mi_span raw, bool last, struct mi_error *err)
{
    level->kind = MI_LEVEL_ONE;
    level->text = (struct mi_span){raw.data + 1, raw.len - 1};
    if (raw.data[raw.len - 1] != '}')
        return mi_error_set(err,
                            "a named level is the whole level, as in \"a/{room}/b\", not \"%.*s\"; "
                            "for parts of a level use \"regex\"",
                            TEXT(raw));
    level->text.len--;
    if (level->text.len > 3 && memcmp(level->text.data + level->text.len - 3, "...", 3) == 0) {
        level->kind = MI_LEVEL_REST;
        level->text.len -= 3;
        if (!last)
            return mi_error_set(
                err, "\"%.*s\" must be the last level; for one level write it without the dots", TEXT(raw));
    }
    if (!mi_capture_name_valid(level->text))
        return mi_error_set(
            err,
            "\"%.*s\" is no name for a level: use letters, digits and _, not beginning with a "
            "digit, at most 32; a brace that is meant is doubled",
            TEXT(raw));
    return 0;
}

bool mi_capture_name_valid(struct mi_span name)
{
    if (name.len == 0 || name.len > 32 || (name.data[0] >= '0' && name.data[0] <= '9'))
        return false;
    for (size_t i = 0; i < name.len; i++) {
        uint8_t c = name.data[i], letter = c | 0x20;
        if (!(letter >= 'a' && letter <= 'z') && !(c >= '0' && c <= '9') && c != '_')
            return false;
    }
    return true;
}

static int check_name(const struct mi_filter *f, struct mi_span name, struct mi_error *err)
{
    static const char *const taken[] = {"topic", "client_id", "username", "stream", "partition"};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        if (mi_span_equal(name, mi_span_of(taken[i])))
            return mi_error_set(
                err, "{%s} has a meaning of its own in templates; give the level another name", taken[i]);
    }
    for (uint32_t i = 0; i < f->count; i++) {
        if (f->levels[i].kind != MI_LEVEL_TEXT && mi_span_equal(f->levels[i].text, name))
            return mi_error_set(err, "two levels are called {%.*s}; rename one", TEXT(name));
    }
    return 0;
}

static int parse_text(struct mi_level *level, struct mi_span raw, char **to, struct mi_error *err)
{
    level->text.data = (const uint8_t *)*to;
    for (size_t i = 0; i < raw.len; i++) {
        uint8_t c = raw.data[i];
        if (c == '+' || c == '#')
            return mi_error_set(err, "\"%c\" must be a level of its own, not a part of \"%.*s\"", c,
                                TEXT(raw));
        if (c == '{' || c == '}') {
            if (i + 1 == raw.len || raw.data[i + 1] != c)
                return mi_error_set(
                    err,
                    "a single \"%c\" in \"%.*s\": a named level is the whole level, and a brace "
                    "that is meant is doubled",
                    c, TEXT(raw));
            i++;
        }
        *(*to)++ = (char)c;
    }
    level->text.len = (size_t)((const uint8_t *)*to - level->text.data);
    return 0;
}

void mi_filter_fini(struct mi_filter *f)
{
    free(f->levels);
    free(f->storage);
    memset(f, 0, sizeof *f);
}

struct mi_span mi_level_at(struct mi_span topic, size_t from)
{
    struct mi_span level = {topic.data + from, topic.len - from};
    const uint8_t *end = level.len ? memchr(level.data, '/', level.len) : NULL;
    if (end)
        level.len = (size_t)(end - level.data);
    return level;
}

bool mi_filter_match(const struct mi_filter *f, struct mi_span topic, struct mi_span *captures)
{
    if (topic.len == 0 || f->count == 0 || (topic.data[0] == '$' && f->levels[0].kind != MI_LEVEL_TEXT))
        return false;
    size_t at = 0; /* where the next level begins; topic.len + 1: behind the last */
    for (uint32_t i = 0; i < f->count; i++) {
        const struct mi_level *level = &f->levels[i];
        if (level->kind == MI_LEVEL_REST) {
            size_t from = at > topic.len ? topic.len : at;
            if (captures)
                *captures = (struct mi_span){topic.data + from, topic.len - from};
            return true;
        }
        if (at > topic.len)
            return false;
        struct mi_span here = mi_level_at(topic, at);
        if (level->kind == MI_LEVEL_TEXT && !mi_span_equal(here, level->text))
            return false;
        if (level->kind == MI_LEVEL_ONE && captures)
            *captures++ = here;
        at += here.len + 1;
    }
    return at > topic.len;
}

bool mi_filter_explain(const struct mi_filter *f, struct mi_span topic, struct mi_error *why)
{
    if (mi_filter_match(f, topic, NULL))
        return true;
    if (topic.len && topic.data[0] == '$' && f->count && f->levels[0].kind != MI_LEVEL_TEXT) {
        mi_error_set(why, "wildcards in the first level do not match topics that begin with $");
        return false;
    }
    size_t at = 0;
    for (uint32_t i = 0; i < f->count && f->levels[i].kind != MI_LEVEL_REST; i++) {
        if (at > topic.len) {
            mi_error_set(why, "the topic ends before level %u of the filter", i + 1);
            return false;
        }
        struct mi_span here = mi_level_at(topic, at);
        if (f->levels[i].kind == MI_LEVEL_TEXT && !mi_span_equal(here, f->levels[i].text)) {
            mi_error_set(why, "level %u is \"%.*s\", the filter says \"%.*s\"", i + 1, TEXT(here),
                         TEXT(f->levels[i].text));
            return false;
        }
        at += here.len + 1;
    }
    mi_error_set(why, "the topic has more levels than the filter's %u", f->count);
    return false;
}
