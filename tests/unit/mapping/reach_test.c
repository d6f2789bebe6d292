/* reach: no topic of a rule is missed, and rules and targets that cannot matter are left out. */
#include "maps.h"
#include "support/suite.h"

#include "mapping/filter.h"

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
     .mqtt_topic = "devices/{header:device}/{stream}"},
    {.name = "3", .direction = MI_IN, .stream = "n_{a}", .topic = "t", .mqtt_topic = "n/{a}/{topic}"},
    {.name = "4", .filter = "plain/topic", .direction = MI_BOTH, .stream = "s", .topic = "t"},
    {.name = "5", .filter = "#", .direction = MI_OUT, .stream = "rest", .topic = "t"},
};

static bool reaches(const struct mi_map *m, size_t rule, const char *stream, const char *topic,
                    const char *filter)
{
    struct mi_filter f;
    struct mi_error err;
    CU_ASSERT_EQUAL_FATAL(mi_filter_parse_plain(&f, filter, &err), 0);
    bool yes = mi_map_reaches(m, rule, mi_span_of(stream), mi_span_of(topic), &f);
    mi_filter_fini(&f);
    return yes;
}

static void rules_and_targets_that_cannot_matter(void)
{
    struct mi_map *m = map_of(rules, COUNT(rules), 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    static const struct {
        size_t rule;
        const char *stream, *topic, *filter;
        bool reached;
    } cases[] = {
        {0, NULL, NULL, "building/#", true},
        {0, NULL, NULL, "building/7/room/1/t", true},
        {0, NULL, NULL, "+/7/#", true},
        {0, NULL, NULL, "building", false},
        {0, NULL, NULL, "building/7/hall/#", false},
        {0, NULL, NULL, "building/+/+/+", true}, /* "#" covers its parent */
        {0, NULL, NULL, "building/+/+", false},
        {0, NULL, NULL, "$SYS/#", false},
        {0, "building_7", NULL, "building/7/#", true},
        {0, "building_7", NULL, "building/8/#", false},
        {0, "building_7", "telemetry", "building/+/room/1/#", true},
        {0, "building_7", "other", "building/7/#", false},
        {0, "elsewhere", NULL, "building/#", false},
        {1, "d", "t_a", "rooms/#", true}, /* nobody can tell what a regex matches */
        {1, "e", "t_a", "d/#", false},
        {2, "commands", "devices", "devices/+/commands", true},
        {2, "commands", "devices", "devices/lamp/other", false},
        {2, NULL, NULL, "devices/lamp/other", true},
        {2, NULL, NULL, "devices/lamp", false},
        {3, NULL, NULL, "n/1/t", true},
        {3, "n_1", NULL, "n/1/t", true},
        {3, "n_1", NULL, "n/2/t", false},
        {4, NULL, NULL, "plain/topic", true},
        {4, NULL, NULL, "plain/#", true},
        {4, NULL, NULL, "plain/topic/#", true},
        {4, NULL, NULL, "plain/topic/x", false},
        {5, "rest", "t", "any/thing/+", true},
        {99, NULL, NULL, "#", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        CU_ASSERT_EQUAL(reaches(m, cases[i].rule, cases[i].stream, cases[i].topic, cases[i].filter),
                        cases[i].reached);
        if (reaches(m, cases[i].rule, cases[i].stream, cases[i].topic, cases[i].filter) != cases[i].reached)
            printf("\n    rule %zu, %s/%s, %s\n", cases[i].rule, cases[i].stream ? cases[i].stream : "-",
                   cases[i].topic ? cases[i].topic : "-", cases[i].filter);
    }
    mi_map_free(m);
}

/* What a filter matches is reached: by the rule that takes the topic, in the target that it gives, for any
 * filter. */
static void no_topic_is_missed(void)
{
    struct dice d = dice_new();
    struct mi_map *m = map_of(rules, COUNT(rules), 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    unsigned matched = 0;
    for (int i = 0; i < 20000; i++) {
        char topic[200], tail[100], filter[200];
        static const char *const heads[] = {"building/7/room/a/", "d/x/", "plain/", ""};
        random_topic(&d, tail, sizeof tail);
        snprintf(topic, sizeof topic, "%s%s", heads[roll(&d, 4)], tail);
        /* A filter that matches it: some of its levels become wildcards. */
        size_t at = 0;
        for (const char *level = topic; level;) {
            const char *slash = strchr(level, '/');
            int len = slash ? (int)(slash - level) : (int)strlen(level);
            if (roll(&d, 8) == 0) {
                at += (size_t)snprintf(filter + at, sizeof filter - at, "%s#", at ? "/" : "");
                break;
            }
            bool wild = roll(&d, 3) == 0;
            at += (size_t)snprintf(filter + at, sizeof filter - at, "%s%.*s", level == topic ? "" : "/",
                                   wild ? 1 : len, wild ? "+" : level);
            level = slash ? slash + 1 : NULL;
        }
        struct mi_hit hits[MI_MAX_HITS];
        size_t count = match(m, topic, hits);
        for (size_t h = 0; h < count; h++) {
            struct mi_filter f;
            struct mi_error err;
            if (hits[h].status != MI_HIT_OK || mi_filter_parse_plain(&f, filter, &err) != 0)
                continue;
            if (mi_filter_match(&f, mi_span_of(topic), NULL)) {
                matched++;
                CU_ASSERT_TRUE(mi_map_reaches(m, hits[h].rule, hits[h].stream, hits[h].topic, &f));
                CU_ASSERT_TRUE(mi_map_reaches(m, hits[h].rule, hits[h].stream, mi_span_of(NULL), &f));
                CU_ASSERT_TRUE(mi_map_reaches(m, hits[h].rule, mi_span_of(NULL), mi_span_of(NULL), &f));
            }
            mi_filter_fini(&f);
        }
    }
    CU_ASSERT_TRUE(matched > 5000);
    mi_map_free(m);
}

static void braces_mean_nothing_in_a_plain_filter(void)
{
    struct mi_filter f;
    struct mi_error err;
    CU_ASSERT_EQUAL_FATAL(mi_filter_parse_plain(&f, "a/{b}/{{/+", &err), 0);
    CU_ASSERT_TRUE(mi_filter_match(&f, mi_span_of("a/{b}/{{/x"), NULL));
    CU_ASSERT_FALSE(mi_filter_match(&f, mi_span_of("a/c/{{/x"), NULL));
    mi_filter_fini(&f);
    CU_ASSERT_EQUAL(mi_filter_parse_plain(&f, "a/#/b", &err), -1);
    CU_ASSERT_EQUAL(mi_filter_parse_plain(&f, "", &err), -1);
}

static CU_TestInfo tests[] = {
    {"rules and targets that cannot matter", rules_and_targets_that_cannot_matter},
    {"no topic is missed", no_topic_is_missed},
    {"braces mean nothing in a plain filter", braces_mean_nothing_in_a_plain_filter},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("mapping_reach", tests)
