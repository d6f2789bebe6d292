/* targets: what an MQTT topic has to do with, in every direction, and when that cannot be told. */
#include "mapping/targets.h"

#include "maps.h"

#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct mi_topic_targets *targets;

static void use(const struct mi_rule_spec *rules, size_t count)
{
    struct complaints complaints = {.count = 0};
    struct mi_error err = {""};
    struct mi_map *map = map_of(rules, count, 0, &complaints); /* the configuration takes these rules */
    CU_ASSERT_PTR_NOT_NULL(map);
    mi_map_free(map);
    mi_topic_targets_free(targets);
    targets = mi_topic_targets_new(rules, count, 64, &err);
    if (!targets)
        printf("%s\n", err.text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(targets);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* "s/t s2/t2", each once, in order; with "?" at the end when there may be others. */
static const char *of(const char *topic, enum mi_topic_targets_for what)
{
    static char text[4000];
    char names[MI_MAX_HITS][200];
    struct mi_hit hits[MI_MAX_HITS];
    bool complete[2];
    const struct mi_map_input input = {
        .topic = mi_span_of(topic), .client_id = mi_span_of("me"), .username = mi_span_of("ann")};
    size_t n = mi_topic_targets_of(targets, &input, what, hits, &complete[0]);
    n = mi_topic_targets_of(targets, &input, what, hits, &complete[1]); /* from its memory now */
    CU_ASSERT_EQUAL(complete[0], complete[1]);
    for (size_t i = 0; i < n; i++)
        snprintf(names[i], sizeof names[i], "%.*s/%.*s", (int)hits[i].stream.len, hits[i].stream.data,
                 (int)hits[i].topic.len, hits[i].topic.data);
    qsort(names, n, sizeof *names, by_text);
    text[0] = '\0';
    for (size_t i = 0; i < n; i++)
        if (i == 0 || strcmp(names[i - 1], names[i]) != 0)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", *text ? " " : "", names[i]);
    return complete[0] ? text : strcat(text, "?");
}

#define BOTH_SAY(topic, want)                                        \
    do {                                                             \
        CU_ASSERT_STRING_EQUAL(of(topic, MI_TARGETS_PUBLISH), want); \
        CU_ASSERT_STRING_EQUAL(of(topic, MI_TARGETS_READ), want);    \
    } while (0)

static void where_a_publish_goes(void)
{
    const struct mi_rule_spec rules[] = {
        {.name = "all", .filter = "a/#", .direction = MI_OUT, .stream = "log", .topic = "all", .go_on = true},
        {.name = "b", .filter = "a/{room}", .direction = MI_OUT, .stream = "s_{room}", .topic = "t"},
        {.name = "behind", .filter = "a/x", .direction = MI_OUT, .stream = "never", .topic = "t"},
        {.name = "events", .direction = MI_OUT, .stream = "ev", .topic = "t", .aside = true},
    };
    use(rules, 4);
    BOTH_SAY("a/x", "log/all s_x/t");
    BOTH_SAY("a/x/y", "log/all");
    BOTH_SAY("b", "");
    BOTH_SAY("$a/x", "");
}

static void whence_deliveries_come(void)
{
    const struct mi_rule_spec rules[] = {
        {.name = "first", .filter = "a/#", .direction = MI_OUT, .stream = "out", .topic = "t"},
        {.name = "both", .filter = "a/{room}/#", .direction = MI_BOTH, .stream = "s_{room}", .topic = "t"},
        {.name = "in", .regex = "a/([^/]+)/x", .direction = MI_IN, .stream = "in_{1}", .topic = "t"},
    };
    use(rules, 3);
    BOTH_SAY("a/r/x", "in_r/t out/t s_r/t"); /* a PUBLISH goes to "out" alone, but all three may deliver */
    BOTH_SAY("a", "out/t");
}

static void mqtt_topic_is_read_backwards(void)
{
    const struct mi_rule_spec rules[] = {
        {.name = "native",
         .direction = MI_IN,
         .stream = "commands",
         .topic = "devices",
         .mqtt_topic = "dev.1/{header:d}/{partition}/c"},
        {.name = "named",
         .direction = MI_IN,
         .stream = "b_{b}",
         .topic = "t_{r}{b}",
         .mqtt_topic = "b/{b}/{r}/{b}/{{x}}"},
        {.name = "hidden", .direction = MI_IN, .stream = "h_{x}", .topic = "t", .mqtt_topic = "h/{header:y}"},
        {.name = "whole",
         .direction = MI_IN,
         .stream = "w_{x}",
         .topic = "t",
         .mqtt_topic = "w/{stream}/{x}"},
        {.name = "both",
         .filter = "in/{x}",
         .direction = MI_BOTH,
         .stream = "o",
         .topic = "t_{x}",
         .mqtt_topic = "elsewhere/{x}"},
        {.name = "other",
         .filter = "n/+",
         .direction = MI_BOTH,
         .stream = "o",
         .topic = "t_{1}",
         .mqtt_topic = "numbered/{1}"},
    };
    use(rules, 6);
    BOTH_SAY("dev.1/7/0/c", "commands/devices");
    BOTH_SAY("dev.1/7/x/c", "");
    BOTH_SAY("devx1/7/0/c", "");
    BOTH_SAY("dev.1/7/0/c/d", "");
    BOTH_SAY("b/1/2/1/{x}", "b_1/t_21");
    BOTH_SAY("b/1/2/3/{x}", "");
    BOTH_SAY("h/anything", "unknown/unknown?");
    BOTH_SAY("w/w_5/5", "w_5/t");
    BOTH_SAY("in/5", "o/t_5");
    BOTH_SAY("elsewhere/5", "o/t_5");
    BOTH_SAY("n/5", "o/t_5");
    BOTH_SAY("numbered/5", "unknown/unknown?");
}

static void what_hangs_on_the_publisher(void)
{
    const struct mi_rule_spec rules[] = {
        {.name = "id", .filter = "id/#", .direction = MI_BOTH, .stream = "c_{client_id}", .topic = "t"},
        {.name = "user", .filter = "u/#", .direction = MI_OUT, .stream = "s", .topic = "u_{username}"},
        {.name = "prop", .filter = "p/#", .direction = MI_OUT, .stream = "s_{property:x}", .topic = "t"},
    };
    use(rules, 3);
    CU_ASSERT_STRING_EQUAL(of("id/x", MI_TARGETS_PUBLISH), "c_me/t");
    CU_ASSERT_STRING_EQUAL(of("id/x", MI_TARGETS_READ), "c_me/t?");
    CU_ASSERT_STRING_EQUAL(of("u/x", MI_TARGETS_PUBLISH), "s/u_ann");
    CU_ASSERT_STRING_EQUAL(of("u/x", MI_TARGETS_READ), "s/u_ann?");
    CU_ASSERT_STRING_EQUAL(of("p/x", MI_TARGETS_PUBLISH), "s_/t?");
}

static void more_than_can_be_shown(void)
{
    static char names[40][2][16];
    struct mi_rule_spec rules[40];
    for (int i = 0; i < 40; i++) {
        snprintf(names[i][0], 16, "s_%d", i);
        snprintf(names[i][1], 16, i % 2 ? "a/+/%d" : "a/%d/+", i % 4);
        rules[i] = (struct mi_rule_spec){.name = names[i][0],
                                         .filter = names[i][1],
                                         .direction = MI_IN,
                                         .stream = names[i][0],
                                         .topic = "t"};
    }
    use(rules, 20);
    BOTH_SAY("a/9/9", "");
    CU_ASSERT_PTR_NULL(strchr(of("a/2/9", MI_TARGETS_READ), '?'));
    use(rules, 40);
    CU_ASSERT_PTR_NOT_NULL(strchr(of("a/2/1", MI_TARGETS_READ), '?')); /* 20 of them */
}

static void it_ends(void)
{
    mi_topic_targets_free(targets);
}

static CU_TestInfo tests[] = {
    {"where_a_publish_goes", where_a_publish_goes},
    {"whence_deliveries_come", whence_deliveries_come},
    {"mqtt_topic_is_read_backwards", mqtt_topic_is_read_backwards},
    {"what_hangs_on_the_publisher", what_hangs_on_the_publisher},
    {"more_than_can_be_shown", more_than_can_be_shown},
    {"it_ends", it_ends},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("mapping_targets", tests)
