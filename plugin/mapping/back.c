/* back: from what stands in Iggy to an MQTT topic, and the proof that a route sends that topic there. */
#include "mapping/rule.h"

#include "mapping/names.h"

#include <stdio.h>
#include <string.h>

/* More than any honest name needs: 255 bytes and a few substitutions. */
enum { FIT_STEPS = 100000 };

/* A template as a pattern: fixed texts, and places where some text stands. */
struct part {
    bool wild;
    size_t least;        /* 1: a wild part must not be empty */
    uint32_t again;      /* the same text as part number again - 1; 0: no */
    struct mi_span text; /* of a wild part: what it took */
    const struct mi_piece *piece;
};

/* What the names of a stream and a topic tell about the captures. */
struct seen {
    struct mi_span value[MI_MAX_CAPTURES];
    bool known[MI_MAX_CAPTURES];
};

static bool fits(struct part *parts, size_t count, struct mi_span text);
static bool here(struct mi_span text, size_t at, struct mi_span literal);
static size_t char_end(struct mi_span text, size_t at);
static bool may_take(const struct part *p, uint8_t byte);
static bool take_more(struct part *parts, size_t *i, size_t *at, struct mi_span text);
static uint32_t earlier(const struct mi_template *t, uint32_t piece);
static bool resolves_to(const struct mi_template *t, const struct mi_values *values, struct mi_span name);
static bool target_fits(const struct mi_rule *rule, const struct mi_template *t, struct mi_span name,
                        struct seen *seen);
static bool learn(const struct mi_rule *rule, const struct mi_piece *piece, struct mi_span value,
                  struct seen *seen);
static bool plain_topic(const struct mi_rule *rule, struct mi_buf *out);
static bool fill_in(const struct mi_template *t, const struct mi_values *values, struct mi_buf *out,
                    const char **why);

bool mi_map_maps_back(const struct mi_map *map, size_t rule, struct mi_span mqtt_topic, struct mi_span stream,
                      struct mi_span topic)
{
    if (!mi_map_has_filter(map, rule) || !mi_topic_safe(mqtt_topic))
        return false;
    const struct mi_rule *r = &map->rules[rule];
    struct mi_span captures[MI_MAX_CAPTURES];
    struct mi_regex_scratch *scratch = r->regex ? mi_regex_scratch_new() : NULL;
    bool match = (scratch || !r->regex) && mi_rule_match(r, scratch, mqtt_topic, captures) == MI_REGEX_YES;
    mi_regex_scratch_free(scratch);
    const struct mi_values values = {.captures = captures, .topic = mqtt_topic};
    return match && mi_name_check(stream) == MI_NAME_GOOD && mi_name_check(topic) == MI_NAME_GOOD &&
           resolves_to(&r->stream, &values, stream) && resolves_to(&r->topic, &values, topic);
}

static bool resolves_to(const struct mi_template *t, const struct mi_values *values, struct mi_span name)
{
    struct part parts[MI_MAX_PIECES];
    for (uint32_t i = 0; i < t->count; i++) {
        const struct mi_piece *p = &t->pieces[i];
        bool from_topic =
            p->kind == MI_PIECE_TEXT || p->kind == MI_PIECE_CAPTURE || p->kind == MI_PIECE_TOPIC;
        parts[i] = (struct part){.wild = !from_topic, .least = 1, .piece = p};
        if (from_topic)
            mi_piece_value(p, values, &parts[i].text);
    }
    return fits(parts, t->count, name);
}

/* Each wild part takes as little as it can. Only the last one met so far ever needs to take more, unless a
 * part must be the same as an earlier one. */
static bool fits(struct part *parts, size_t count, struct mi_span text)
{
    size_t i = 0, at = 0;
    for (unsigned steps = 0; steps < FIT_STEPS; steps++) {
        if (i == count && at == text.len)
            return true;
        struct part *p = i < count ? &parts[i] : NULL;
        struct mi_span literal = p && p->again ? parts[p->again - 1].text : p ? p->text : text;
        if (p && p->wild && p->least <= text.len - at && (p->least == 0 || may_take(p, text.data[at]))) {
            size_t end = p->least ? char_end(text, at) : at;
            p->text = (struct mi_span){text.data + at, end - at};
            at = end;
            i++;
        } else if (p && !p->wild && here(text, at, literal)) {
            at += literal.len;
            i++;
        } else if (!take_more(parts, &i, &at, text)) {
            return false;
        }
    }
    return false;
}

static bool here(struct mi_span text, size_t at, struct mi_span literal)
{
    return literal.len <= text.len - at &&
           (literal.len == 0 || memcmp(text.data + at, literal.data, literal.len) == 0);
}

static size_t char_end(struct mi_span text, size_t at)
{
    do
        at++;
    while (at < text.len && (text.data[at] & 0xc0) == 0x80);
    return at;
}

static bool may_take(const struct part *p, uint8_t byte)
{
    return p->piece->kind != MI_PIECE_CAPTURE || !p->piece->one_level ||
           (byte != '/' && byte != '+' && byte != '#');
}

/* Goes back to the nearest wild part that can take one character more. */
static bool take_more(struct part *parts, size_t *i, size_t *at, struct mi_span text)
{
    while (*i > 0) {
        struct part *p = &parts[--*i];
        size_t end = p->wild ? (size_t)(p->text.data - text.data) + p->text.len : text.len;
        if (end == text.len || !may_take(p, text.data[end]))
            continue;
        *at = char_end(text, end);
        p->text.len += *at - end;
        ++*i;
        return true;
    }
    return false;
}

bool mi_map_stream_fits(const struct mi_map *map, size_t rule, struct mi_span stream)
{
    struct seen seen = {.known = {false}};
    return rule < map->count && target_fits(&map->rules[rule], &map->rules[rule].stream, stream, &seen);
}

/* With two substitutions it may be open where one ends and the next begins: x_{a}_{b} and the stream x_1_2_3.
 */
static bool in_doubt(const struct mi_template *t)
{
    uint32_t wild = 0;
    for (uint32_t i = 0; i < t->count; i++)
        wild += t->pieces[i].kind != MI_PIECE_TEXT;
    return wild > 1;
}

bool mi_map_topic_fits(const struct mi_map *map, size_t rule, struct mi_span stream, struct mi_span topic)
{
    struct seen seen = {.known = {false}}, nothing = {.known = {false}};
    if (rule >= map->count || !target_fits(&map->rules[rule], &map->rules[rule].stream, stream, &seen))
        return false;
    const struct mi_rule *r = &map->rules[rule];
    return target_fits(r, &r->topic, topic, &seen) ||
           (in_doubt(&r->stream) && target_fits(r, &r->topic, topic, &nothing));
}

static bool target_fits(const struct mi_rule *rule, const struct mi_template *t, struct mi_span name,
                        struct seen *seen)
{
    struct part parts[MI_MAX_PIECES];
    bool has_filter = rule->filter.count > 0 || rule->regex;
    if (mi_name_check(name) != MI_NAME_GOOD)
        return false;
    for (uint32_t i = 0; i < t->count; i++) {
        const struct mi_piece *p = &t->pieces[i];
        bool capture = p->kind == MI_PIECE_CAPTURE;
        bool known = capture && seen->known[p->capture];
        uint32_t again = capture && !known ? earlier(t, i) : 0;
        /* A level or a group of a real topic may be empty. */
        parts[i] = (struct part){.wild = p->kind != MI_PIECE_TEXT && !known && !again,
                                 .least = !(capture && has_filter),
                                 .again = again,
                                 .text = known ? seen->value[p->capture] : p->text,
                                 .piece = p};
    }
    if (!fits(parts, t->count, name))
        return false;
    for (uint32_t i = 0; i < t->count; i++) {
        if (parts[i].wild && parts[i].piece->kind == MI_PIECE_CAPTURE &&
            !learn(rule, parts[i].piece, parts[i].text, seen))
            return false;
    }
    return true;
}

/* The first piece with the same capture, counted from 1; 0: this is the first. */
static uint32_t earlier(const struct mi_template *t, uint32_t piece)
{
    for (uint32_t i = 0; i < piece; i++) {
        if (t->pieces[i].kind == MI_PIECE_CAPTURE && t->pieces[i].capture == t->pieces[piece].capture)
            return i + 1;
    }
    return 0;
}

static bool learn(const struct mi_rule *rule, const struct mi_piece *piece, struct mi_span value,
                  struct seen *seen)
{
    bool has_filter = rule->filter.count > 0 || rule->regex;
    if (piece->one_level && (value.len > 0 || !has_filter) && !mi_level_safe(value))
        return false;
    seen->known[piece->capture] = true;
    seen->value[piece->capture] = value;
    return true;
}

bool mi_map_native_topic(const struct mi_map *map, size_t rule, const struct mi_native_input *input,
                         struct mi_buf *out, const char **why)
{
    mi_buf_reset(out);
    *why = "no mqtt_topic";
    if (rule >= map->count)
        return false;
    const struct mi_rule *r = &map->rules[rule];
    if (r->mqtt_topic.count == 0) {
        if (r->filter.count == 0 || r->filter.captures > 0)
            return false;
        *why = "topic is too long";
        return plain_topic(r, out);
    }
    struct seen seen = {.known = {false}};
    *why = "stream or topic does not fit the route";
    if (!target_fits(r, &r->stream, input->stream, &seen) || !target_fits(r, &r->topic, input->topic, &seen))
        return false;
    char partition[16];
    snprintf(partition, sizeof partition, "%u", (unsigned)input->partition);
    const struct mi_values values = {.captures = seen.value,
                                     .topic = input->topic,
                                     .stream = input->stream,
                                     .partition = mi_span_of(partition),
                                     .named = input->header,
                                     .named_context = input->header_context};
    return fill_in(&r->mqtt_topic, &values, out, why);
}

/* A filter without wildcards is a topic. */
static bool plain_topic(const struct mi_rule *rule, struct mi_buf *out)
{
    bool ok = true;
    for (uint32_t i = 0; i < rule->filter.count && ok; i++)
        ok = (i == 0 || mi_buf_add_byte(out, '/')) && mi_buf_add_span(out, rule->filter.levels[i].text);
    return ok;
}

static bool fill_in(const struct mi_template *t, const struct mi_values *values, struct mi_buf *out,
                    const char **why)
{
    for (uint32_t i = 0; i < t->count; i++) {
        const struct mi_piece *p = &t->pieces[i];
        struct mi_span value;
        if (!mi_piece_value(p, values, &value)) {
            *why = "header missing";
            return false;
        }
        if (p->kind != MI_PIECE_TEXT && !mi_level_safe(value)) {
            *why = "substitution is empty or has / + # or control characters";
            return false;
        }
        if (!mi_buf_add_span(out, value) || out->len > MI_MAX_MQTT_STRING) {
            *why = "topic is too long";
            return false;
        }
    }
    *why = "topic begins with $";
    return out->data[0] != '$';
}
