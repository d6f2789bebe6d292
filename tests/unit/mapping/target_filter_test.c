/* target_filter: the filters of a target match every topic that comes from it, and not much else. */
#include "maps.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct mi_rule_spec rules[] = {
    {.name = "0",
     .filter = "building/{building}/room/{room}/#",
     .direction = MI_BOTH,
     .stream = "building_{building}",
     .topic = "telemetry"},
    {.name = "1", .regex = "d/(?<n>.+)/data", .direction = MI_BOTH, .stream = "d", .topic = "t_{n}"},
    {.name = "2",
     .direction = MI_IN,
     .stream = "commands",
     .topic = "devices",
     .mqtt_topic = "devices/x{header:device}-{partition}/command"},
    {.name = "3",
     .direction = MI_IN,
     .stream = "b_{building}",
     .topic = "f{floor}_{wing}",
     .mqtt_topic = "b/{building}/{floor}/{stream}/x{wing}"},
    {.name = "4",
     .filter = "x/{a}/{b}/+",
     .direction = MI_IN,
     .stream = "x_{a}_{b}",
     .topic = "t_{a}",
     .mqtt_topic = "x/{a}/{b}/{header:h}"},
    {.name = "5", .filter = "plain/topic", .direction = MI_BOTH, .stream = "s", .topic = "t"},
    {.name = "6", .filter = "c/+", .direction = MI_BOTH, .stream = "c_{client_id}", .topic = "t"},
};

static struct mi_buf out;

static const char *filter_of(const struct mi_map *m, size_t rule, const char *stream, const char *topic,
                             unsigned which)
{
    if (!out.max)
        mi_buf_init(&out, 70000);
    return mi_map_target_filter(m, rule, mi_span_of(stream), mi_span_of(topic), which, &out)
               ? (const char *)out.data
               : "-";
}

static void what_the_names_show_stands_in_the_filter(void)
{
    struct mi_map *m = map_of(rules, COUNT(rules), 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_STRING_EQUAL(filter_of(m, 0, "building_7", "telemetry", 0), "building/7/room/+/#");
    CU_ASSERT_STRING_EQUAL(filter_of(m, 0, "building_7", "telemetry", 1), "-");
    CU_ASSERT_STRING_EQUAL(filter_of(m, 0, "building_", "telemetry", 0), "building//room/+/#");
    CU_ASSERT_STRING_EQUAL(filter_of(m, 0, "building_a/b", "telemetry", 0), "building/+/room/+/#");
    CU_ASSERT_STRING_EQUAL(filter_of(m, 0, "building_#", "telemetry", 0), "building/+/room/+/#");
    CU_ASSERT_STRING_EQUAL(filter_of(m, 0, "short", "telemetry", 0), "building/+/room/+/#");
    CU_ASSERT_STRING_EQUAL(filter_of(m, 1, "d", "t_x", 0), "#");
    CU_ASSERT_STRING_EQUAL(filter_of(m, 2, "commands", "devices", 0), "-");
    CU_ASSERT_STRING_EQUAL(filter_of(m, 2, "commands", "devices", 1), "devices/+/command");
    CU_ASSERT_STRING_EQUAL(filter_of(m, 5, "s", "t", 0), "plain/topic");
    CU_ASSERT_STRING_EQUAL(filter_of(m, 6, "c_me", "t", 0), "c/+");
    CU_ASSERT_STRING_EQUAL(filter_of(m, 99, "s", "t", 0), "-");
    CU_ASSERT_STRING_EQUAL(filter_of(m, 5, "s", "t", 2), "-");
    mi_map_free(m);
}

/* f1_2_3: floor 1 and wing 2_3, or floor 1_2 and wing 3. */
static void what_is_in_doubt_is_a_wildcard(void)
{
    struct mi_map *m = map_of(rules, COUNT(rules), 0, NULL);
    CU_ASSERT_STRING_EQUAL(filter_of(m, 3, "b_7", "f1_2_3", 1), "b/7/+/b_7/+");
    CU_ASSERT_STRING_EQUAL(filter_of(m, 4, "x_1_2", "t_1", 0), "x/1/+/+");
    CU_ASSERT_STRING_EQUAL(filter_of(m, 4, "x_1_2", "t_1", 1), "x/1/+/+");
    mi_map_free(m);
}

static void no_room_is_no_filter(void)
{
    struct mi_map *m = map_of(rules, COUNT(rules), 0, NULL);
    struct mi_buf small;
    mi_buf_init(&small, 8);
    CU_ASSERT_FALSE(mi_map_target_filter(m, 5, mi_span_of("s"), mi_span_of("t"), 0, &small));
    mi_buf_fini(&small);
    mi_map_free(m);
}

static void odd(const struct mi_rule_spec *rule, const char *topic, const struct mi_hit *hit)
{
    printf("\n  %s to %s/%s: %s went to %.*s/%.*s\n", rule->filter, rule->stream, rule->topic, topic,
           (int)hit->stream.len, (const char *)hit->stream.data, (int)hit->topic.len,
           (const char *)hit->topic.data);
    CU_FAIL("does not fit where it went");
}

/* Whatever a rule sends to a target, the target's filter matches. */
static void the_filter_matches_what_the_rule_sends_there(void)
{
    static const char *const streams[] = {"s", "s_{x}", "s_{x}_{y}", "s{x}a{y}", "{x}s", "s_{topic}"};
    static const char *const topics[] = {"t", "t_{x}", "t{y}", "t_{y}{x}", "t{y}_{y}"};
    static const char *const filters[] = {"{x}/{y}/#", "a/{x}/{y}", "{x}/{y}", "+/{x}/{y}", "{x}/{y}/{z...}"};
    struct dice dice = dice_new();
    size_t matched = 0;
    for (int round = 0; round < 400; round++) {
        const struct mi_rule_spec rule = {.name = "r",
                                          .filter = filters[roll(&dice, COUNT(filters))],
                                          .direction = MI_BOTH,
                                          .stream = streams[roll(&dice, COUNT(streams))],
                                          .topic = topics[roll(&dice, COUNT(topics))]};
        struct mi_map *m = map_of(&rule, 1, 0, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(m);
        for (int i = 0; i < 100; i++) {
            char topic[128];
            struct mi_hit hits[MI_MAX_HITS];
            random_topic(&dice, topic, sizeof topic);
            if (match(m, topic, hits) == 0 || hits[0].status != MI_HIT_OK)
                continue;
            matched++;
            if (!mi_map_topic_fits(m, 0, hits[0].stream, hits[0].topic)) /* it would not be found */
                odd(&rule, topic, &hits[0]);
            CU_ASSERT_TRUE_FATAL(mi_map_target_filter(m, 0, hits[0].stream, hits[0].topic, 0, &out));
            CU_ASSERT_TRUE(naive_match((const char *)out.data, topic));
        }
        mi_map_free(m);
    }
    CU_ASSERT_TRUE(matched > 1000);
    mi_buf_fini(&out);
}

static CU_TestInfo tests[] = {
    {"what the names show stands in the filter", what_the_names_show_stands_in_the_filter},
    {"what is in doubt is a wildcard", what_is_in_doubt_is_a_wildcard},
    {"no room is no filter", no_room_is_no_filter},
    {"the filter matches what the rule sends there", the_filter_matches_what_the_rule_sends_there},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("target filter", tests)
