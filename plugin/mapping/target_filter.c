/* target_filter: which MQTT topics the messages of one stream and topic can have, as filters. */
#include "mapping/rule.h"

/* What is sure of the captures. */
struct known {
    struct mi_span value[MI_MAX_CAPTURES];
    bool is[MI_MAX_CAPTURES];
};

static void learn(const struct mi_template *t, struct mi_span name, struct known *known);
static bool add_filter(const struct mi_filter *f, const struct known *known, struct mi_buf *out);
static bool add_template(const struct mi_template *t, struct mi_span stream, struct mi_span topic,
                         const struct known *known, struct mi_buf *out);

bool mi_map_target_filter(const struct mi_map *map, size_t rule, struct mi_span stream, struct mi_span topic,
                          unsigned which, struct mi_buf *out)
{
    mi_buf_reset(out);
    if (rule >= map->count || which > 1)
        return false;
    const struct mi_rule *r = &map->rules[rule];
    if (which == 0 && r->regex)
        return mi_buf_add_byte(out, '#') && mi_buf_add_byte(out, 0);
    if (which == 0 ? r->filter.count == 0 : r->mqtt_topic.count == 0)
        return false;
    struct known known = {.is = {false}};
    learn(&r->stream, stream, &known);
    learn(&r->topic, topic, &known);
    bool added = which == 0 ? add_filter(&r->filter, &known, out)
                            : add_template(&r->mqtt_topic, stream, topic, &known, out);
    return added && mi_buf_add_byte(out, 0);
}

/* Only a template with one substitution leaves no doubt about where a value begins and ends. */
static void learn(const struct mi_template *t, struct mi_span name, struct known *known)
{
    const struct mi_piece *only = NULL;
    size_t before = 0, after = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        const struct mi_piece *p = &t->pieces[i];
        if (p->kind == MI_PIECE_TEXT)
            *(only ? &after : &before) += p->text.len;
        else if (only)
            return;
        else
            only = p;
    }
    if (!only || only->kind != MI_PIECE_CAPTURE || name.len < before + after)
        return;
    known->value[only->capture] = (struct mi_span){name.data + before, name.len - before - after};
    known->is[only->capture] = true;
}

static bool plain(struct mi_span level)
{
    for (size_t i = 0; i < level.len; i++)
        if (level.data[i] == '/' || level.data[i] == '+' || level.data[i] == '#' || level.data[i] == 0)
            return false;
    return true;
}

static bool add_filter(const struct mi_filter *f, const struct known *known, struct mi_buf *out)
{
    uint32_t capture = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        const struct mi_level *level = &f->levels[i];
        struct mi_span text = level->text;
        if (level->kind == MI_LEVEL_REST)
            text = mi_span_of("#");
        else if (level->kind == MI_LEVEL_ONE && known->is[capture] && plain(known->value[capture]))
            text = known->value[capture++];
        else if (level->kind == MI_LEVEL_ONE)
            text = mi_span_of("+"), capture++;
        if ((i > 0 && !mi_buf_add_byte(out, '/')) || !mi_buf_add_span(out, text))
            return false;
    }
    return true;
}

/* What a substitution stands for, where that is sure. */
static bool value_of(const struct mi_piece *p, struct mi_span stream, struct mi_span topic,
                     const struct known *known, struct mi_span *value)
{
    if (p->kind == MI_PIECE_CAPTURE && known->is[p->capture])
        *value = known->value[p->capture];
    else if (p->kind == MI_PIECE_STREAM)
        *value = stream;
    else if (p->kind == MI_PIECE_TOPIC)
        *value = topic;
    else
        return false;
    return plain(*value);
}

/* Begins a '+' in place of the level that out ends with. */
static bool widen(struct mi_buf *out)
{
    while (out->len > 0 && out->data[out->len - 1] != '/')
        out->len--;
    return mi_buf_add_byte(out, '+');
}

/* Each substitution is a part of one level: a level that holds one of which nothing is sure is a '+'. */
static bool add_template(const struct mi_template *t, struct mi_span stream, struct mi_span topic,
                         const struct known *known, struct mi_buf *out)
{
    bool wide = false; /* the level under way is a '+' already */
    for (uint32_t i = 0; i < t->count; i++) {
        const struct mi_piece *p = &t->pieces[i];
        struct mi_span text = p->text;
        if (p->kind != MI_PIECE_TEXT && !value_of(p, stream, topic, known, &text)) {
            if (!wide && !widen(out))
                return false;
            wide = true;
            continue;
        }
        for (size_t k = 0; k < text.len; k++) {
            wide = wide && text.data[k] != '/';
            if (!wide && !mi_buf_add_byte(out, text.data[k]))
                return false;
        }
    }
    return true;
}
