/* filter: MQTT's examples, names, captures, refusals, and random filters against a naive matcher. */
#include "mapping/filter.h"
#include "maps.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool matches(const char *filter, const char *topic)
{
    struct mi_filter f;
    struct mi_error err;
    CU_ASSERT_EQUAL_FATAL(mi_filter_parse(&f, filter, &err), 0);
    bool yes = mi_filter_match(&f, mi_span_of(topic), NULL);
    mi_filter_fini(&f);
    return yes;
}

/* The examples of MQTT 5.0, section 4.7. */
static void examples_of_the_standard(void)
{
    CU_ASSERT_TRUE(matches("sport/tennis/player1/#", "sport/tennis/player1"));
    CU_ASSERT_TRUE(matches("sport/tennis/player1/#", "sport/tennis/player1/ranking"));
    CU_ASSERT_TRUE(matches("sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon"));
    CU_ASSERT_TRUE(matches("sport/#", "sport"));
    CU_ASSERT_TRUE(matches("#", "a/b"));
    CU_ASSERT_TRUE(matches("sport/tennis/+", "sport/tennis/player1"));
    CU_ASSERT_FALSE(matches("sport/tennis/+", "sport/tennis/player1/ranking"));
    CU_ASSERT_FALSE(matches("sport/+", "sport"));
    CU_ASSERT_TRUE(matches("sport/+", "sport/"));
    CU_ASSERT_TRUE(matches("+/+", "/finance"));
    CU_ASSERT_TRUE(matches("/+", "/finance"));
    CU_ASSERT_FALSE(matches("+", "/finance"));
    CU_ASSERT_FALSE(matches("#", "$SYS/x"));
    CU_ASSERT_FALSE(matches("+/monitor/Clients", "$SYS/monitor/Clients"));
    CU_ASSERT_TRUE(matches("$SYS/#", "$SYS/x"));
    CU_ASSERT_TRUE(matches("$SYS/monitor/+", "$SYS/monitor/Clients"));
    CU_ASSERT_FALSE(matches("ACCOUNTS", "Accounts"));
}

static void captures_in_order(void)
{
    struct mi_filter f;
    struct mi_error err;
    struct mi_span c[MI_MAX_CAPTURES];
    CU_ASSERT_EQUAL_FATAL(mi_filter_parse(&f, "b/{building}/+/{rest...}", &err), 0);
    CU_ASSERT_EQUAL(f.captures, 3);
    CU_ASSERT_TRUE(mi_filter_match(&f, mi_span_of("b/7//x/y"), c));
    CU_ASSERT_TRUE(says(c[0], "7") && says(c[1], "") && says(c[2], "x/y"));
    CU_ASSERT_TRUE(mi_filter_match(&f, mi_span_of("b/7/z"), c));
    CU_ASSERT_TRUE(says(c[1], "z") && says(c[2], ""));
    mi_filter_fini(&f);
}

static void doubled_braces_are_text(void)
{
    CU_ASSERT_TRUE(matches("a/{{x}}", "a/{x}"));
    CU_ASSERT_TRUE(matches("{{/}}", "{/}"));
    CU_ASSERT_FALSE(matches("a/{{x}}", "a/b"));
}

static void refused(const char *filter, const char *words)
{
    struct mi_filter f;
    struct mi_error err = {""};
    CU_ASSERT_EQUAL(mi_filter_parse(&f, filter, &err), -1);
    if (!strstr(err.text, words))
        printf("  %s: %s\n", filter, err.text);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, words));
    CU_ASSERT_PTR_NULL(f.levels);
}

static void refusals_say_how_to_mend(void)
{
    refused("", "write \"#\"");
    refused("a/#/b", "last level");
    refused("a+/b", "a level of its own");
    refused("a/b#", "a level of its own");
    refused("a/x{room}", "whole level");
    refused("a/{room}x", "whole level");
    refused("a/{room", "whole level");
    refused("a/room}", "doubled");
    refused("a/{}", "no name");
    refused("a/{1x}", "no name");
    refused("a/{a-b}", "no name");
    refused("a/{r...}/b", "last level");
    refused("a/{...}", "no name");
    refused("a/{r}/{r}", "rename one");
    refused("a/{topic}", "another name");
    refused("$share/g/a", "$share");
    refused("a/\xff", "UTF-8");
    refused("a/\t", "control character");
    char many[256] = "+";
    for (int i = 0; i < MI_MAX_CAPTURES; i++)
        strcat(many, "/+");
    refused(many, "more than 32");
}

static void explains_what_does_not_fit(void)
{
    static const char *const cases[][3] = {
        {"a/b/c", "a/x/c", "level 2 is \"x\", the filter says \"b\""},
        {"a/b/c", "a/b", "ends before level 3"},
        {"a/b", "a/b/c", "more levels than the filter's 2"},
        {"+/b", "$SYS/b", "begin with $"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mi_filter f;
        struct mi_error err = {""};
        CU_ASSERT_EQUAL_FATAL(mi_filter_parse(&f, cases[i][0], &err), 0);
        CU_ASSERT_FALSE(mi_filter_explain(&f, mi_span_of(cases[i][1]), &err));
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i][2]));
        mi_filter_fini(&f);
    }
}

static void random_filters_agree_with_the_naive_matcher(void)
{
    struct dice d = dice_new();
    unsigned yes = 0;
    for (int i = 0; i < 100000; i++) {
        char filter[256], topic[256];
        random_filter(&d, filter, sizeof filter);
        random_topic(&d, topic, sizeof topic);
        bool ours = matches(filter, topic), naive = naive_match(filter, topic);
        yes += ours;
        if (ours != naive) {
            printf("  %s on %s: %d, naive %d\n", filter, topic, ours, naive);
            CU_FAIL_FATAL("differs");
        }
    }
    CU_ASSERT_TRUE(yes > 1000);
}

static CU_TestInfo tests[] = {
    {"examples of the standard", examples_of_the_standard},
    {"captures in order", captures_in_order},
    {"doubled braces are text", doubled_braces_are_text},
    {"refusals say how to mend", refusals_say_how_to_mend},
    {"explains what does not fit", explains_what_does_not_fit},
    {"random filters agree with the naive matcher", random_filters_agree_with_the_naive_matcher},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("mapping filter", tests)
