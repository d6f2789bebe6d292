/*
 * targets: a second map, of rules that all take what they can: each route that may deliver becomes a rule
 * that goes on, before those that a PUBLISH goes through.
 */
#include "mapping/targets.h"

#include "mapping/rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PATTERN = 1 << 20 };
#define NOWHERE "unknown"

struct mi_topic_targets {
    struct mi_map *map;
    bool *unknown; /* of each rule of the map: its names are made up */
};

struct maker {
    struct mi_rule_spec *specs;
    bool *unknown;
    size_t count;
    char **texts; /* that were made for the specs */
    size_t text_count;
    bool failed;
};

static void add_delivery(struct maker *m, const struct mi_rule_spec *rule);
static void add_backwards(struct maker *m, const struct mi_rule_spec *rule);
static char *pattern_of(const char *mqtt_topic);
static bool told_by(const char *text, const char *mqtt_topic);
static struct mi_rule_spec *add(struct maker *m, struct mi_rule_spec spec);
static char *keep_text(struct maker *m, char *text);

static void report(void *context, enum mi_severity severity, size_t rule, const char *key,
                   const char *sentence)
{
    struct mi_error *err = context;
    (void)rule;
    if (severity == MI_REFUSED)
        mi_error_set(err, "%s: %s", key, sentence);
}

struct mi_topic_targets *mi_topic_targets_new(const struct mi_rule_spec *rules, size_t count,
                                              size_t cache_topics, struct mi_error *err)
{
    struct mi_topic_targets *t = calloc(1, sizeof *t);
    struct maker m = {.specs = calloc(count * 3 + 1, sizeof *m.specs),
                      .unknown = calloc(count * 3 + 1, sizeof *m.unknown),
                      .texts = calloc(count * 5 + 1, sizeof *m.texts)};
    mi_error_set(err, "memory is out");
    m.failed = !t || !m.specs || !m.unknown || !m.texts;
    for (size_t i = 0; !m.failed && i < count; i++) {
        if ((rules[i].direction & MI_IN) && !rules[i].aside && (rules[i].filter || rules[i].regex))
            add_delivery(&m, &rules[i]);
        if ((rules[i].direction & MI_IN) && !rules[i].aside && rules[i].mqtt_topic)
            add_backwards(&m, &rules[i]);
    }
    for (size_t i = 0; !m.failed && i < count; i++)
        if ((rules[i].direction & MI_OUT) && !rules[i].aside)
            add(&m, rules[i]);
    if (!m.failed) {
        t->unknown = m.unknown;
        m.unknown = NULL;
        t->map = mi_map_new(m.specs, m.count, cache_topics, report, err);
    }
    for (size_t i = 0; i < m.text_count; i++)
        free(m.texts[i]);
    free(m.texts);
    free(m.specs);
    free(m.unknown);
    if (t && t->map)
        return t;
    mi_topic_targets_free(t);
    return NULL;
}

void mi_topic_targets_free(struct mi_topic_targets *t)
{
    if (!t)
        return;
    mi_map_free(t->map);
    free(t->unknown);
    free(t);
}

/* ---- the rules ---- */

static void add_delivery(struct maker *m, const struct mi_rule_spec *rule)
{
    struct mi_rule_spec spec = *rule;
    spec.go_on = true;
    add(m, spec);
}

static void add_backwards(struct maker *m, const struct mi_rule_spec *rule)
{
    struct mi_rule_spec spec = {.go_on = true, .stream = rule->stream, .topic = rule->topic};
    bool told = told_by(rule->stream, rule->mqtt_topic) && told_by(rule->topic, rule->mqtt_topic);
    spec.regex = keep_text(m, pattern_of(rule->mqtt_topic));
    if (!told)
        spec.stream = spec.topic = NOWHERE;
    if (spec.regex && add(m, spec))
        m->unknown[m->count - 1] = !told;
}

/* With a name of its own, and without what only matters to those who send. */
static struct mi_rule_spec *add(struct maker *m, struct mi_rule_spec spec)
{
    char name[32];
    snprintf(name, sizeof name, "%zu", m->count);
    spec.name = keep_text(m, strdup(name));
    spec.direction = MI_OUT;
    spec.mqtt_topic = spec.partition_key = NULL;
    spec.balanced = true;
    if (m->failed)
        return NULL;
    m->specs[m->count] = spec;
    return &m->specs[m->count++];
}

static char *keep_text(struct maker *m, char *text)
{
    m->failed |= !text;
    if (text)
        m->texts[m->text_count++] = text;
    return text;
}

/* ---- mqtt_topic, read backwards ---- */

/* The next piece of a template: one literal byte in *byte (name empty), or a substitution. It was compiled,
 * so every brace is closed or doubled. False at the end. */
static bool next_piece(const char **at, char *byte, struct mi_span *name)
{
    *name = (struct mi_span){NULL, 0};
    *byte = **at;
    if (!**at)
        return false;
    const char *end = **at == '{' && (*at)[1] != '{' ? strchr(*at, '}') : NULL;
    if (end) {
        *name = (struct mi_span){(const uint8_t *)*at + 1, (size_t)(end - *at - 1)};
        *at = end + 1;
    } else {
        *at += **at == '{' || **at == '}' ? 2 : 1;
    }
    return true;
}

/* Is it the name of a level or group, not one of the template's own words? */
static bool is_capture(struct mi_span name)
{
    static const char *const words[] = {"topic", "stream", "partition", "client_id", "username"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (mi_span_equal(name, mi_span_of(words[i])))
            return false;
    return mi_capture_name_valid(name);
}

static bool mentions(const char *text, const char *until, struct mi_span wanted)
{
    char byte;
    struct mi_span name;
    while (text < until && next_piece(&text, &byte, &name))
        if (name.len && mi_span_equal(name, wanted))
            return true;
    return false;
}

/* Does every substitution of the name stand in mqtt_topic too? */
static bool told_by(const char *text, const char *mqtt_topic)
{
    char byte;
    struct mi_span name;
    while (next_piece(&text, &byte, &name))
        if (name.len && (!is_capture(name) || !mentions(mqtt_topic, mqtt_topic + strlen(mqtt_topic), name)))
            return false;
    return true;
}

static void add_substitution(struct mi_buf *out, struct mi_span name, bool again)
{
    if (!is_capture(name))
        mi_buf_add_text(out, mi_span_equal(name, mi_span_of("partition")) ? "[0-9]+" : "[^/+#]+");
    else if (again)
        mi_buf_addf(out, "\\k<%.*s>", (int)name.len, (const char *)name.data);
    else
        mi_buf_addf(out, "(?<%.*s>[^/+#]+)", (int)name.len, (const char *)name.data);
}

/* malloc'd; NULL when memory is out. */
static char *pattern_of(const char *mqtt_topic)
{
    struct mi_buf out;
    char byte;
    struct mi_span name;
    mi_buf_init(&out, MAX_PATTERN);
    for (const char *at = mqtt_topic, *from = at; next_piece(&at, &byte, &name); from = at) {
        bool letter = (unsigned char)byte >= 0x80 || (byte >= '0' && byte <= '9') ||
                      ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z');
        if (name.len)
            add_substitution(&out, name, mentions(mqtt_topic, from, name));
        else if (letter || mi_buf_add_byte(&out, '\\'))
            mi_buf_add_byte(&out, (uint8_t)byte);
    }
    mi_buf_add_byte(&out, '\0');
    if (!out.failed)
        return (char *)out.data;
    mi_buf_fini(&out);
    return NULL;
}

/* ---- asking ---- */

/* A property is not known when a right is checked. */
static bool no_property(void *context, struct mi_span name, struct mi_span *value)
{
    (void)name;
    (void)value;
    *(bool *)context = true;
    return false;
}

size_t mi_topic_targets_of(struct mi_topic_targets *t, const struct mi_map_input *input,
                           enum mi_topic_targets_for what, struct mi_hit hits[MI_MAX_HITS], bool *complete)
{
    struct mi_map_input asked = *input;
    struct mi_map_counts before, after;
    bool property = false;
    asked.property = no_property;
    asked.property_context = &property;
    mi_map_get_counts(t->map, &before);
    size_t count = mi_map_match(t->map, &asked, hits);
    mi_map_get_counts(t->map, &after);
    *complete = !property && before.too_many == after.too_many;
    for (size_t i = 0; i < count; i++) {
        const struct mi_rule *rule = &t->map->rules[hits[i].rule];
        *complete &= !t->unknown[hits[i].rule] && hits[i].status != MI_HIT_NO_MEMORY &&
                     (what == MI_TARGETS_PUBLISH || rule->topic_only);
    }
    return count;
}
