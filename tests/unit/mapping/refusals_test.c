/* refusals: what a map does not take, at which key, and what it warns of. */
#include "maps.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct complaints said;

static void refused(struct mi_rule_spec rule, const char *key, const char *words)
{
    rule.name = rule.name ? rule.name : "r";
    struct mi_map *m = map_of(&rule, 1, 0, &said);
    CU_ASSERT_PTR_NULL(m);
    CU_ASSERT_TRUE(complained(&said, MI_REFUSED, 0, key, words));
    mi_map_free(m);
}

#define OUT .direction = MI_OUT, .stream = "s", .topic = "t"
#define IN .direction = MI_IN, .stream = "s", .topic = "t"
#define SPEC(...) ((struct mi_rule_spec){__VA_ARGS__})

static void field_95_one_rule_that_is_wrong(void)
{
    refused(SPEC(.filter = "a/#/b", OUT), "filter", "last level");
    refused(SPEC(.regex = "a/(b", OUT), "regex", "at byte 4");
    refused(SPEC(.filter = "#", .regex = ".*", OUT), "regex", "both given");
    refused(SPEC(OUT), "filter", "neither filter nor regex");
    refused(SPEC(.direction = MI_BOTH, .stream = "s", .topic = "t", .mqtt_topic = "x"), "filter", "neither");
    refused(SPEC(IN), "mqtt_topic", "neither filter, regex nor mqtt_topic");
    refused(SPEC(.filter = "#", .direction = MI_OUT, .topic = "t"), "stream", "no stream");
    refused(SPEC(.filter = "#", .direction = MI_OUT, .stream = "s"), "topic", "no topic");
    refused(SPEC(.filter = "#", .stream = "s", .topic = "t"), "direction", "out, in and both");
    refused(SPEC(.name = "", .filter = "#", OUT), "name", "no name");
    refused(SPEC(.filter = "#", .direction = MI_OUT, .stream = "12", .topic = "t"), "stream", "numeric id");
    refused(SPEC(.filter = "#", .direction = MI_OUT, .stream = "", .topic = "t"), "stream", "empty");
    refused(SPEC(.filter = "+", .direction = MI_OUT, .stream = "s", .topic = "{1}"), "topic",
            "no fixed character");
    refused(SPEC(.filter = "+", .direction = MI_OUT, .stream = "s_{2}", .topic = "t"), "stream",
            "not captured");
    refused(SPEC(.regex = "(?<a>.)", .direction = MI_OUT, .stream = "s_{b}", .topic = "t"), "stream",
            "not captured");
    refused(SPEC(.filter = "#", .partition_key = "{nope}", OUT), "partition_key", "not captured");
    refused(SPEC(.filter = "#", .partition_key = "", OUT), "partition_key", "empty");
    refused(SPEC(.filter = "#", .partition_key = "k", .balanced = true, OUT), "partition_key",
            "keep the one");
    refused(SPEC(.filter = "$SYS/#", IN), "filter", "direction \"out\"");
    refused(SPEC(.filter = "a/{x}", .mqtt_topic = "b/{x}", IN), "mqtt_topic",
            "neither in stream nor in topic");
    refused(SPEC(.mqtt_topic = "b/{x}", IN), "mqtt_topic", "not captured");
    refused(SPEC(.direction = MI_IN, .stream = "s_{topic}", .topic = "t", .mqtt_topic = "b"), "stream",
            "of your own");
    refused(SPEC(.direction = MI_IN, .stream = "s_{1}", .topic = "t", .mqtt_topic = "b"), "stream",
            "use a name");
}

/* A name that a refused stream would have made is still a name for the topic's check. */
static void a_refused_stream_leaves_its_names(void)
{
    struct mi_rule_spec rule =
        SPEC(.name = "r", .direction = MI_IN, .stream = "{x}", .topic = "t_{x}", .mqtt_topic = "a/{x}");
    CU_ASSERT_PTR_NULL(map_of(&rule, 1, 0, &said));
    CU_ASSERT_EQUAL(said.count, 1);
    CU_ASSERT_TRUE(complained(&said, MI_REFUSED, 0, "stream", "no fixed character"));
}

static void every_refusal_is_reported(void)
{
    const struct mi_rule_spec rules[] = {
        {.name = "a", .filter = "a+", .direction = MI_OUT, .stream = "s", .topic = "t"},
        {.name = "b", .filter = "#", .direction = MI_OUT, .stream = "1", .topic = "{", .partition_key = "}"},
        {.name = "b", .filter = "x", .direction = MI_OUT, .stream = "s", .topic = "t"},
        {.name = "b", .filter = "y", .direction = MI_OUT, .stream = "s", .topic = "t"},
    };
    CU_ASSERT_PTR_NULL(map_of(rules, 4, 0, &said));
    CU_ASSERT_EQUAL(said.count, 6);
    CU_ASSERT_TRUE(complained(&said, MI_REFUSED, 0, "filter", ""));
    CU_ASSERT_TRUE(complained(&said, MI_REFUSED, 1, "stream", ""));
    CU_ASSERT_TRUE(complained(&said, MI_REFUSED, 1, "topic", ""));
    CU_ASSERT_TRUE(complained(&said, MI_REFUSED, 1, "partition_key", ""));
    CU_ASSERT_TRUE(complained(&said, MI_REFUSED, 2, "name", "rename one"));
    CU_ASSERT_TRUE(complained(&said, MI_REFUSED, 3, "name", "rename one"));
}

static void more_rules_than_the_limit(void)
{
    static struct mi_rule_spec rules[MI_MAX_ROUTES + 1];
    static char text[MI_MAX_ROUTES + 1][16];
    for (size_t i = 0; i <= MI_MAX_ROUTES; i++) {
        snprintf(text[i], sizeof text[i], "r%zu", i);
        rules[i] = SPEC(.name = text[i], .filter = text[i], OUT);
    }
    CU_ASSERT_PTR_NULL(map_of(rules, MI_MAX_ROUTES + 1, 0, &said));
    CU_ASSERT_TRUE(complained(&said, MI_REFUSED, MI_MAX_ROUTES, "routes", "10000"));
    struct mi_map *m = map_of(rules, MI_MAX_ROUTES, 0, &said);
    CU_ASSERT_PTR_NOT_NULL(m);
    CU_ASSERT_EQUAL(said.count, 0);
    CU_ASSERT_STRING_EQUAL(first(m, "r9999"), "9999 s/t/r9999");
    mi_map_free(m);
}

static void sixteen_that_go_on_leave_nothing_for_the_next(void)
{
    struct mi_rule_spec rules[MI_MAX_HITS + 1];
    char names[MI_MAX_HITS + 1][4];
    for (int i = 0; i <= MI_MAX_HITS; i++) {
        snprintf(names[i], sizeof names[i], "%d", i);
        rules[i] = SPEC(.name = names[i], .filter = "a/#", .go_on = true, OUT);
    }
    CU_ASSERT_PTR_NULL(map_of(rules, MI_MAX_HITS + 1, 0, &said));
    CU_ASSERT_TRUE(complained(&said, MI_REFUSED, MI_MAX_HITS, "filter", "at most 16"));
    struct mi_map *m = map_of(rules, MI_MAX_HITS, 0, &said);
    CU_ASSERT_PTR_NOT_NULL(m);
    mi_map_free(m);
}

/* second says what happens to rule 1 behind rule 0. */
static void pair(const char *before, bool goes_on, const char *after, bool shadowed)
{
    struct mi_rule_spec rules[2] = {SPEC(.name = "first", .go_on = goes_on, OUT),
                                    SPEC(.name = "second", OUT)};
    *(before[0] == '~' ? &rules[0].regex : &rules[0].filter) = before + (before[0] == '~');
    *(after[0] == '~' ? &rules[1].regex : &rules[1].filter) = after + (after[0] == '~');
    struct mi_map *m = map_of(rules, 2, 0, &said);
    CU_ASSERT_PTR_NOT_NULL(m);
    CU_ASSERT_EQUAL(said.count, shadowed ? 1 : 0);
    if (shadowed)
        CU_ASSERT_TRUE(complained(&said, MI_WARNED, 1, after[0] == '~' ? "regex" : "filter", "\"first\""));
    if (said.count != (shadowed ? 1 : 0))
        printf("  %s then %s\n", before, after);
    mi_map_free(m);
}

static void a_shadowed_rule_is_a_warning(void)
{
    pair("#", false, "a/b", true);
    pair("#", true, "a/b", false);
    pair("a/#", false, "a", true);
    pair("a/#", false, "a/+/c/#", true);
    pair("a/+", false, "a/{x}", true);
    pair("a/{x}/c", false, "a/b/c", true);
    pair("a/b", false, "a/b", true);
    pair("a/b", false, "a/+", false);
    pair("a/+", false, "a/#", false);
    pair("+/b", false, "a/+", false);
    pair("#", false, "$SYS/#", false);
    pair("+/a", false, "$SYS/a", false);
    pair("$SYS/#", false, "$SYS/a", true);
    pair("#", false, "~a/.*", true);
    pair("#", false, "~\\$SYS/.*", false);
    pair("~a/.*", false, "~a/.*", true);
    pair("~a/.*", true, "~a/.*", false);
    pair("a/#", false, "~a/.*", false);
}

static void unused_keys_are_warnings(void)
{
    struct mi_rule_spec rule = SPEC(.name = "r", .filter = "a/+", .partition_key = "x", .go_on = true, IN);
    struct mi_map *m = map_of(&rule, 1, 0, &said);
    CU_ASSERT_PTR_NOT_NULL(m);
    CU_ASSERT_TRUE(complained(&said, MI_WARNED, 0, "partition_key", "leave it out"));
    CU_ASSERT_TRUE(complained(&said, MI_WARNED, 0, "continue", "leave it out"));
    mi_map_free(m);
    rule = SPEC(.name = "r", .filter = "a/+", .mqtt_topic = "x", OUT);
    m = map_of(&rule, 1, 0, &said);
    CU_ASSERT_PTR_NOT_NULL(m);
    CU_ASSERT_TRUE(complained(&said, MI_WARNED, 0, "mqtt_topic", "leave it out"));
    mi_map_free(m);
}

static void no_rules_match_nothing(void)
{
    struct mi_map *m = map_of(NULL, 0, 8, &said);
    CU_ASSERT_PTR_NOT_NULL(m);
    CU_ASSERT_STRING_EQUAL(first(m, "a"), "-");
    mi_map_free(m);
}

static CU_TestInfo tests[] = {
    {"field 95: one rule that is wrong", field_95_one_rule_that_is_wrong},
    {"a refused stream leaves its names", a_refused_stream_leaves_its_names},
    {"every refusal is reported", every_refusal_is_reported},
    {"more rules than the limit", more_rules_than_the_limit},
    {"sixteen that go on leave nothing for the next", sixteen_that_go_on_leave_nothing_for_the_next},
    {"a shadowed rule is a warning", a_shadowed_rule_is_a_warning},
    {"unused keys are warnings", unused_keys_are_warnings},
    {"no rules match nothing", no_rules_match_nothing},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("mapping refusals", tests)
