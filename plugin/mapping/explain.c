/* explain: what every rule does with one PUBLISH, in words. */
#include "mapping/rule.h"

#include <stdio.h>

struct teller {
    const struct mi_map_input *input;
    struct mi_regex_scratch *scratch;
    struct mi_buf text;
    const struct mi_rule *last; /* the rule that ended the search; NULL: none yet */
    size_t taken;
    mi_map_explainer each;
    void *context;
};

static void tell(struct teller *t, size_t number, const struct mi_rule *rule);
static bool matches(struct teller *t, const struct mi_rule *rule, struct mi_span *captures,
                    struct mi_error *why);
static void take(struct teller *t, size_t number, const struct mi_rule *rule, const struct mi_span *captures);

void mi_map_explain(const struct mi_map *map, const struct mi_map_input *input, mi_map_explainer each,
                    void *context)
{
    struct teller t = {.input = input, .scratch = mi_regex_scratch_new(), .each = each, .context = context};
    mi_buf_init(&t.text, map->text.max);
    for (size_t i = 0; i < map->count; i++)
        tell(&t, i, &map->rules[i]);
    mi_buf_fini(&t.text);
    mi_regex_scratch_free(t.scratch);
}

static void tell(struct teller *t, size_t number, const struct mi_rule *rule)
{
    struct mi_span captures[MI_MAX_CAPTURES];
    struct mi_error why = {""};
    enum mi_verdict verdict;
    if (rule->aside) {
        verdict = MI_VERDICT_DIRECTION;
        mi_error_set(&why, "it takes no PUBLISH");
    } else if (!(rule->direction & MI_OUT)) {
        verdict = MI_VERDICT_DIRECTION;
        mi_error_set(&why, "direction is in");
    } else if (!matches(t, rule, captures, &why)) {
        verdict = MI_VERDICT_NO_MATCH;
    } else if (t->last) {
        verdict = MI_VERDICT_BEHIND;
        mi_error_set(&why,
                     "it matches, but route \"%s\" before it takes the topic and does not say \"continue\"",
                     t->last->name);
    } else if (t->taken == MI_MAX_HITS) {
        verdict = MI_VERDICT_BEHIND;
        mi_error_set(&why, "it matches, but a PUBLISH goes to at most %d routes", MI_MAX_HITS);
    } else {
        take(t, number, rule, captures);
        return;
    }
    t->each(t->context, number, verdict, why.text, NULL, NULL, 0);
}

static bool matches(struct teller *t, const struct mi_rule *rule, struct mi_span *captures,
                    struct mi_error *why)
{
    if (!rule->regex)
        return mi_filter_explain(&rule->filter, t->input->topic, why) &&
               mi_filter_match(&rule->filter, t->input->topic, captures);
    enum mi_regex_result result =
        t->scratch ? mi_regex_match(rule->regex, t->scratch, t->input->topic, captures) : MI_REGEX_GAVE_UP;
    if (result == MI_REGEX_GAVE_UP)
        mi_error_set(why,
                     "the regex reached its limits on this topic, which counts as no match; make it simpler");
    else if (result == MI_REGEX_NO && t->input->topic.len && t->input->topic.data[0] == '$')
        mi_error_set(why, "the regex does not match; topics that begin with $ need one that begins with \\$");
    else if (result == MI_REGEX_NO)
        mi_error_set(why, "the regex does not match the whole topic");
    return result == MI_REGEX_YES;
}

static void take(struct teller *t, size_t number, const struct mi_rule *rule, const struct mi_span *captures)
{
    struct mi_capture named[MI_MAX_CAPTURES];
    char digits[MI_MAX_CAPTURES][4];
    struct mi_hit hit = {.rule = number};
    struct mi_draft draft;
    uint32_t count = rule->regex ? mi_regex_captures(rule->regex) : rule->filter.captures;
    uint32_t level = 0;
    for (uint32_t i = 0; i < count; i++, level++) {
        while (!rule->regex && rule->filter.levels[level].kind == MI_LEVEL_TEXT)
            level++;
        named[i].name =
            rule->regex ? mi_regex_group_name(rule->regex, i + 1) : rule->filter.levels[level].text;
        named[i].value = captures[i];
        snprintf(digits[i], sizeof digits[i], "%u", (unsigned)(uint8_t)(i + 1));
        if (named[i].name.len == 0)
            named[i].name = mi_span_of(digits[i]);
    }
    mi_buf_reset(&t->text);
    mi_rule_draft(rule, t->input, captures, &t->text, &hit, &draft);
    mi_rule_settle(&t->text, &draft, &hit);
    t->taken++;
    t->last = rule->goes_on ? NULL : rule;
    t->each(t->context, number, rule->goes_on ? MI_VERDICT_TAKEN_GOES_ON : MI_VERDICT_TAKEN,
            rule->goes_on ? "it matches, and later routes are tried too" : "it matches", &hit, named, count);
}
