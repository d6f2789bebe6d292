/* compile: from rules as the configuration states them to rules that match, with every complaint about them.
 */
#include "mapping/rule.h"

#include <stdlib.h>
#include <string.h>

struct compiler {
    struct mi_map *map;
    const struct mi_rule_spec *specs;
    mi_map_report report;
    void *context;
    size_t number; /* of the rule in work */
    bool refused;
    struct mi_error err;
};

static void compile_rule(struct compiler *c, const struct mi_rule_spec *spec, struct mi_rule *rule);
static int compile_pattern(struct compiler *c, const struct mi_rule_spec *spec, struct mi_rule *rule,
                           struct mi_names *names);
static int compile_filter(struct compiler *c, const struct mi_rule_spec *spec, struct mi_rule *rule,
                          struct mi_names *names);
static int compile_regex(struct compiler *c, const struct mi_rule_spec *spec, struct mi_rule *rule,
                         struct mi_names *names);
static void compile_target(struct compiler *c, const char *key, const char *text, struct mi_template *t,
                           struct mi_names *names);
static void compile_key(struct compiler *c, const struct mi_rule_spec *spec, struct mi_rule *rule,
                        struct mi_names *names);
static void compile_back(struct compiler *c, const struct mi_rule_spec *spec, struct mi_rule *rule,
                         struct mi_names *names);
static void check_names(struct compiler *c);
static int by_name(const void *a, const void *b);
static int build_trie(struct compiler *c);
static void check_order(struct compiler *c);
static void check_filter_order(struct compiler *c, size_t number);
static void check_regex_order(struct compiler *c, size_t number, size_t catch_all);
static void warn_shadow(struct compiler *c, size_t number, size_t by);
static int refuse(struct compiler *c, const char *key);
static int refuse_text(struct compiler *c, const char *key, const char *sentence);
static void warn_text(struct compiler *c, const char *key, const char *sentence);

int mi_map_compile(struct mi_map *map, const struct mi_rule_spec *specs, mi_map_report report, void *context)
{
    struct compiler c = {.map = map, .specs = specs, .report = report, .context = context};
    for (c.number = 0; c.number < map->count; c.number++)
        compile_rule(&c, &specs[c.number], &map->rules[c.number]);
    check_names(&c);
    if (c.refused || build_trie(&c) != 0)
        return -1;
    check_order(&c);
    return c.refused ? -1 : 0;
}

static void compile_rule(struct compiler *c, const struct mi_rule_spec *spec, struct mi_rule *rule)
{
    struct mi_names names = {.count = 0};
    rule->direction = spec->direction;
    rule->aside = spec->aside;
    rule->goes_on = spec->go_on;
    rule->balanced = spec->balanced;
    rule->name = strdup(spec->name ? spec->name : "");
    if (!rule->name)
        refuse_text(c, "name", "memory is out");
    else if (rule->name[0] == '\0')
        refuse_text(c, "name", "the route has no name; give it one, messages and metrics call it by that");
    if (spec->direction < MI_OUT || spec->direction > MI_BOTH)
        refuse_text(c, "direction", "the direction is none of out, in and both; write one of them");
    /* Without a pattern it is not known what its templates may say. */
    if (compile_pattern(c, spec, rule, &names) != 0)
        return;
    compile_target(c, "stream", spec->stream, &rule->stream, &names);
    compile_target(c, "topic", spec->topic, &rule->topic, &names);
    compile_key(c, spec, rule, &names);
    compile_back(c, spec, rule, &names);
    rule->topic_only =
        rule->stream.topic_only && rule->topic.topic_only && (rule->balanced || rule->key.topic_only);
}

static int compile_pattern(struct compiler *c, const struct mi_rule_spec *spec, struct mi_rule *rule,
                           struct mi_names *names)
{
    if (spec->aside)
        return 0;
    if (spec->filter && spec->regex)
        return refuse_text(c, "regex", "filter and regex are both given; keep the one that is meant");
    if (spec->filter)
        return compile_filter(c, spec, rule, names);
    if (spec->regex)
        return compile_regex(c, spec, rule, names);
    if (spec->direction != MI_IN)
        return refuse_text(c, "filter",
                           "there is neither filter nor regex; say which topics the route takes, "
                           "\"#\" for all");
    names->open = true;
    return 0;
}

static int compile_filter(struct compiler *c, const struct mi_rule_spec *spec, struct mi_rule *rule,
                          struct mi_names *names)
{
    if (mi_filter_parse(&rule->filter, spec->filter, &c->err) != 0)
        return refuse(c, "filter");
    for (uint32_t i = 0; i < rule->filter.count; i++) {
        const struct mi_level *level = &rule->filter.levels[i];
        if (level->kind == MI_LEVEL_TEXT)
            continue;
        names->name[names->count] = level->text;
        names->one_level[names->count++] = level->kind == MI_LEVEL_ONE;
    }
    if (spec->filter[0] == '$' && (spec->direction & MI_IN))
        return refuse_text(c, "filter",
                           "nothing is injected into topics that begin with $; make the direction \"out\"");
    return 0;
}

static int compile_regex(struct compiler *c, const struct mi_rule_spec *spec, struct mi_rule *rule,
                         struct mi_names *names)
{
    rule->regex = mi_regex_new(spec->regex, &c->err);
    if (!rule->regex)
        return refuse(c, "regex");
    names->count = mi_regex_captures(rule->regex);
    for (uint32_t i = 0; i < names->count; i++)
        names->name[i] = mi_regex_group_name(rule->regex, i + 1);
    return 0;
}

static void compile_target(struct compiler *c, const char *key, const char *text, struct mi_template *t,
                           struct mi_names *names)
{
    if (!text)
        mi_error_set(&c->err, "the route has no %s; name one, it is where messages are kept in Iggy", key);
    else if (mi_template_parse(t, text, MI_USE_TARGET, names, &c->err) == 0)
        return;
    refuse(c, key);
}

static void compile_key(struct compiler *c, const struct mi_rule_spec *spec, struct mi_rule *rule,
                        struct mi_names *names)
{
    if (spec->balanced && spec->partition_key) {
        refuse_text(c, "partition_key",
                    "\"balanced\" spreads over partitions and a key binds to one; keep the one "
                    "that is meant");
    } else if (spec->direction == MI_IN) {
        if (spec->partition_key)
            warn_text(c, "partition_key", "a route of direction in does not use it; leave it out");
        if (spec->balanced)
            warn_text(c, "balanced", "a route of direction in does not use it; leave it out");
        if (spec->go_on)
            warn_text(c, "continue", "a route of direction in does not use it; leave it out");
        rule->key.topic_only = true;
    } else if (!spec->balanced) {
        const char *key = spec->partition_key ? spec->partition_key : "{topic}";
        if (key[0] == '\0')
            refuse_text(c, "partition_key",
                        "the key is empty; leave it out for \"{topic}\", or write \"balanced\": true");
        else if (mi_template_parse(&rule->key, key, MI_USE_KEY, names, &c->err) != 0)
            refuse(c, "partition_key");
    }
}

static void compile_back(struct compiler *c, const struct mi_rule_spec *spec, struct mi_rule *rule,
                         struct mi_names *names)
{
    if (spec->mqtt_topic && spec->direction == MI_OUT)
        warn_text(c, "mqtt_topic",
                  "a route of direction out does not use it; leave it out, or make the direction \"both\"");
    else if (spec->mqtt_topic &&
             mi_template_parse(&rule->mqtt_topic, spec->mqtt_topic, MI_USE_NATIVE, names, &c->err) != 0)
        refuse(c, "mqtt_topic");
    else if (!spec->mqtt_topic && names->open)
        refuse_text(c, "mqtt_topic",
                    "there is neither filter, regex nor mqtt_topic, so no message would find its MQTT "
                    "topic; give mqtt_topic, as in \"devices/{header:device}/command\"");
}

struct named {
    const char *name;
    size_t number;
};

static void check_names(struct compiler *c)
{
    size_t count = c->map->count;
    struct named *all = calloc(count + 1, sizeof *all);
    if (!all) {
        c->number = 0;
        refuse_text(c, "name", "memory is out");
        return;
    }
    for (size_t i = 0; i < count; i++)
        all[i] = (struct named){c->map->rules[i].name ? c->map->rules[i].name : "", i};
    qsort(all, count, sizeof *all, by_name);
    for (size_t i = 1; i < count; i++) {
        if (all[i].name[0] == '\0' || strcmp(all[i - 1].name, all[i].name) != 0)
            continue;
        c->number = all[i].number;
        mi_error_set(&c->err, "another route before it is called \"%s\" too; rename one", all[i].name);
        refuse(c, "name");
    }
    free(all);
}

static int by_name(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : (x->number > y->number) - (x->number < y->number);
}

static int build_trie(struct compiler *c)
{
    struct mi_map *map = c->map;
    const struct mi_filter **filters = calloc(map->count + 1, sizeof *filters);
    bool *goes_on = calloc(map->count + 1, sizeof *goes_on);
    for (size_t i = 0; filters && goes_on && i < map->count; i++) {
        const struct mi_rule *rule = &map->rules[i];
        goes_on[i] = rule->goes_on;
        if (!(rule->direction & MI_OUT) || rule->aside)
            continue;
        if (rule->regex)
            map->regexes[map->regex_count++] = (uint32_t)i;
        else
            filters[i] = &rule->filter;
    }
    if (filters && goes_on)
        map->trie = mi_trie_new(filters, goes_on, map->count);
    free(filters);
    free(goes_on);
    return map->trie ? 0 : -1;
}

static void check_order(struct compiler *c)
{
    size_t catch_all = SIZE_MAX; /* the first "#" that ends the search */
    for (size_t i = 0; i < c->map->count; i++) {
        const struct mi_rule *rule = &c->map->rules[i];
        c->number = i;
        if (!(rule->direction & MI_OUT) || rule->aside)
            continue;
        if (rule->regex) {
            check_regex_order(c, i, catch_all);
            continue;
        }
        check_filter_order(c, i);
        if (catch_all == SIZE_MAX && !rule->goes_on && rule->filter.levels[0].kind == MI_LEVEL_REST)
            catch_all = i;
    }
}

static void check_filter_order(struct compiler *c, size_t number)
{
    struct mi_match found;
    mi_match_init(&found);
    found.bound = (uint32_t)number;
    mi_trie_contains(c->map->trie, &c->map->rules[number].filter, &found);
    if (found.count == 0)
        return;
    uint32_t last = found.rules[found.count - 1];
    if (found.count >= MI_MAX_HITS && c->map->rules[found.rules[MI_MAX_HITS - 1]].goes_on) {
        mi_error_set(
            &c->err,
            "%d routes with \"continue\" before it take all its topics, and a PUBLISH goes to at most "
            "%d routes; leave one of them out",
            MI_MAX_HITS, MI_MAX_HITS);
        refuse(c, "filter");
    } else if (!c->map->rules[last].goes_on) {
        warn_shadow(c, number, last);
    }
}

/* What a regex takes cannot be compared with a filter; seen are its own double and "#". */
static void check_regex_order(struct compiler *c, size_t number, size_t catch_all)
{
    const char *pattern = c->specs[number].regex;
    size_t by = strstr(pattern, "$") ? SIZE_MAX : catch_all;
    for (size_t i = 0; i < c->map->regex_count && c->map->regexes[i] < number && by == SIZE_MAX; i++) {
        size_t other = c->map->regexes[i];
        if (!c->map->rules[other].goes_on && strcmp(c->specs[other].regex, pattern) == 0)
            by = other;
    }
    if (by != SIZE_MAX)
        warn_shadow(c, number, by);
}

static void warn_shadow(struct compiler *c, size_t number, size_t by)
{
    const struct mi_rule_spec *spec = &c->specs[number];
    mi_error_set(
        &c->err,
        "route \"%s\" before it takes all topics of this one and does not say \"continue\", so this one "
        "never gets a message; move this one before it, or let that one say \"continue\": true",
        c->map->rules[by].name);
    c->report(c->context, MI_WARNED, number, spec->filter ? "filter" : "regex", c->err.text);
}

static int refuse(struct compiler *c, const char *key)
{
    c->refused = true;
    c->report(c->context, MI_REFUSED, c->number, key, c->err.text);
    return -1;
}

static int refuse_text(struct compiler *c, const char *key, const char *sentence)
{
    mi_error_set(&c->err, "%s", sentence);
    return refuse(c, key);
}

static void warn_text(struct compiler *c, const char *key, const char *sentence)
{
    c->report(c->context, MI_WARNED, c->number, key, sentence);
}

void mi_rule_fini(struct mi_rule *rule)
{
    free(rule->name);
    mi_filter_fini(&rule->filter);
    mi_regex_free(rule->regex);
    mi_template_fini(&rule->stream);
    mi_template_fini(&rule->topic);
    mi_template_fini(&rule->key);
    mi_template_fini(&rule->mqtt_topic);
}
