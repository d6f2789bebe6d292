/* regex: anchors, captures, messages, and the time that the worst patterns take. */
#include "mapping/regex.h"
#include "base/clock.h"
#include "maps.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct mi_regex_scratch *scratch;

static enum mi_regex_result try(const char *pattern, struct mi_span topic, struct mi_span *captures)
{
    struct mi_error err;
    struct mi_regex *r = mi_regex_new(pattern, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(r);
    enum mi_regex_result result = mi_regex_match(r, scratch, topic, captures);
    mi_regex_free(r);
    return result;
}

static bool matches(const char *pattern, const char *topic)
{
    return try(pattern, mi_span_of(topic), NULL) == MI_REGEX_YES;
}

static void whole_topics_only(void)
{
    CU_ASSERT_TRUE(matches("sensors/([^/]+)/data", "sensors/7/data"));
    CU_ASSERT_FALSE(matches("sensors/([^/]+)/data", "xsensors/7/data"));
    CU_ASSERT_FALSE(matches("sensors/([^/]+)/data", "sensors/7/data2"));
    CU_ASSERT_FALSE(matches("a", "a\n"));
    CU_ASSERT_FALSE(matches("a$", "a\n"));
    CU_ASSERT_TRUE(matches("a|ab|abc", "ab"));
    CU_ASSERT_TRUE(matches("x.y", "xéy"));
    CU_ASSERT_FALSE(matches("x.y", "x\xffy"));
}

/* The comparison of the literal beginning must never say no where the pattern says yes. */
static void literal_beginnings_are_safe(void)
{
    CU_ASSERT_TRUE(matches("ab?c", "ac"));
    CU_ASSERT_TRUE(matches("ab*c", "ac"));
    CU_ASSERT_TRUE(matches("ab{0}c", "ac"));
    CU_ASSERT_TRUE(matches("aé?c", "ac"));
    CU_ASSERT_TRUE(matches("ab|c", "c"));
    CU_ASSERT_TRUE(matches("(?i)ab", "AB"));
    CU_ASSERT_TRUE(matches("\\Qa.b\\E", "a.b"));
    CU_ASSERT_TRUE(matches("a/.*", "a/"));
    CU_ASSERT_FALSE(matches("a/.*", "a"));
}

static void dollar_topics_only_when_named(void)
{
    CU_ASSERT_FALSE(matches(".*", "$SYS/x"));
    CU_ASSERT_FALSE(matches("[^/]+/x", "$SYS/x"));
    CU_ASSERT_TRUE(matches("\\$SYS/.*", "$SYS/x"));
    CU_ASSERT_TRUE(matches("^(\\$SYS)/.*", "$SYS/x"));
}

static void groups_that_took_no_part_are_empty(void)
{
    struct mi_span c[MI_MAX_CAPTURES];
    CU_ASSERT_EQUAL(try("(a)(b)?/(?<n>.*)?(x)?", mi_span_of("a/q"), c), MI_REGEX_YES);
    CU_ASSERT_TRUE(says(c[0], "a") && says(c[1], "") && says(c[2], "q") && says(c[3], ""));
}

static void group_names(void)
{
    struct mi_error err;
    struct mi_regex *r = mi_regex_new("(x)/(?<room>.*)/(?P<b2>.)", &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(r);
    CU_ASSERT_EQUAL(mi_regex_captures(r), 3);
    CU_ASSERT_TRUE(says(mi_regex_group_name(r, 1), "") && says(mi_regex_group_name(r, 2), "room"));
    CU_ASSERT_TRUE(says(mi_regex_group_name(r, 3), "b2"));
    mi_regex_free(r);
}

static void refused(const char *pattern, const char *words)
{
    struct mi_error err = {""};
    struct mi_regex *r = mi_regex_new(pattern, &err);
    CU_ASSERT_PTR_NULL(r);
    if (!strstr(err.text, words))
        printf("  %s: %s\n", pattern, err.text);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, words));
    mi_regex_free(r);
}

static void refusals_have_the_offset_and_the_message(void)
{
    char many[256] = "";
    for (int i = 0; i <= MI_MAX_CAPTURES; i++)
        strcat(many, "(a)");
    refused("a/(b", "missing closing parenthesis, at byte 4");
    refused("a/[b", "missing terminating ]");
    refused("a/\\C", "\\C");
    refused("", "0 bytes");
    refused("a\xff", "UTF-8");
    refused(many, "(?:...)");
}

/* No pattern may hold the broker for long, whatever the topic. */
/* Of this thread: what else the machine does is not counted. */
static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * MI_NS_PER_S + (uint64_t)t.tv_nsec;
}

static void the_worst_patterns_end_soon(void)
{
    /* They end in a class, so that PCRE2 cannot see from one missing character that there is no match. */
    static const char *const patterns[] = {
        "(a+)+[bd]",
        "(a|aa)+[bd]",
        "(.*)(.*)(.*)(.*)(.*)[bd]",
        "(?:a*)*[bd]",
        "((a*)*)*[bd]",
        "(a?){1000}a{1000}[bd]",
        "(.*?a){25}[bd]",
        "(?=(a+))\\1*[bd]",
        "(?:(?:(?:a+)+)+)+[bd]",
        "(\\w+\\s?)+[!?]",
        "(([a-z])+.)+[A-Z]([a-z])+",
        "(a(?1)?a|[bd])",
        "(.+)+\\1\\1\\1[bd]",
        "(?:(?=.*[bd])a|a)*",
        "(?:a(?=.*[bd]|a))*[bd]",
        "(?:a(?!.*[bd]))*[bd]",
        "(?:a(?<=a.{200}|a))*[bd]",
        "[a]*[a]*[a]*[a]*[a]*[a]*[bd]",
        "(?:a(?=\\p{L}*+))*+",
        ".*?[^b]*b[!]",
        "(?:.*?[^b]*b[!])*[bd]",
        "(.*?)(.*)[!]",
        "(?:[^b]*b|a)*[!?]",
        "(?:a(?=\\X*+))*+",
        "(?:a(?=a{30000})(?=a{29999})(?=a{29998})(?=a{29997}))*+",
        "(?:a(?<=.{20000}|a)(?<=.{19999}|a)(?<=.{19998}|a))*+",
        "(?:a(?=[^b-df]*+))*+",
        "(?=(a{20000}))(?:a(?=\\1)(?=\\1)(?=\\1)(?=\\1)(?=\\1)(?=\\1)(?=\\1)(?=\\1)(?=\\1)(?=\\1))*+",
        "(?=(a{500}))(?:a(?=\\1)(?=\\1)(?=\\1)(?=\\1)(?=\\1)(?=\\1)(?=\\1)(?=\\1)(?=\\1)(?=\\1))*+",
        "(?:a(?<=a.{250}|a)(?<=a.{249}|a)(?<=a.{248}|a)(?<=a.{247}|a))*[bd]",
        "(?:a(?!.*+[bd]))*[bd]",
        "(?:a(?=.*+))*+[bd]",
        "(?:a(?=(?>.*)))*+",
        "(?=(?:a(?=.*+))*+)(?:a(?=.*+))*+",
        "(?:.*+|a)*",
        "(?:a(?=(.*+))\\K)*+",
        "(?i)(?:a(?=[[:alpha:]]*+))*+",
        "(?:(.*)\\1*)*[bd]",
    };
    static uint8_t topic[65535];
    uint64_t worst = 0;
    memset(topic, 'a', sizeof topic);
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        for (size_t len = 30; len <= sizeof topic; len = len == 30     ? 2000
                                                         : len == 2000 ? sizeof topic
                                                                       : SIZE_MAX) {
            struct mi_error err;
            struct mi_regex *r = mi_regex_new(patterns[i], &err);
            CU_ASSERT_PTR_NOT_NULL_FATAL(r);
            uint64_t start = cpu_ns();
            enum mi_regex_result result = mi_regex_match(r, scratch, (struct mi_span){topic, len}, NULL);
            uint64_t took = cpu_ns() - start;
            if (getenv("V") || took > 1000000)
                printf("  %s on %zu bytes: %.1f ms, result %d\n", patterns[i], len, (double)took / 1e6,
                       result);
            worst = took > worst ? took : worst;
            mi_regex_free(r);
        }
    }
    printf("  worst: %.1f ms\n", (double)worst / 1e6);
    CU_ASSERT_TRUE(worst < 300 * MI_NS_PER_MS);
}

/* A sane pattern is not given up, whatever the length of the topic. */
static void limits_leave_room_for_sane_patterns(void)
{
    static const char *const patterns[] = {"(.*)/([^/]+)", "(?:[^/]+/)*([^/]+)", "[^/]+(/[^/]+)+",
                                           "(?:[a-z]+/?)*"};
    static char topic[65536];
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        struct mi_span c[MI_MAX_CAPTURES];
        memset(topic, 'a', 65535);
        for (int k = 1; k <= 40; k++)
            topic[k * 1635] = '/';
        CU_ASSERT_EQUAL(try(patterns[i], (struct mi_span){(uint8_t *)topic, 65535}, c), MI_REGEX_YES);
        for (int k = 1; k < 200; k++)
            topic[k * 40] = '/';
        CU_ASSERT_EQUAL(try(patterns[i], (struct mi_span){(uint8_t *)topic, 8040}, c), MI_REGEX_YES);
    }
}

static CU_TestInfo tests[] = {
    {"whole topics only", whole_topics_only},
    {"literal beginnings are safe", literal_beginnings_are_safe},
    {"dollar topics only when named", dollar_topics_only_when_named},
    {"groups that took no part are empty", groups_that_took_no_part_are_empty},
    {"group names", group_names},
    {"refusals have the offset and the message", refusals_have_the_offset_and_the_message},
    {"the worst patterns end soon", the_worst_patterns_end_soon},
    {"limits leave room for sane patterns", limits_leave_room_for_sane_patterns},
    CU_TEST_INFO_NULL,
};

int main(int argc, char **argv)
{
    scratch = mi_regex_scratch_new();
    int rc = mi_suite_run("mapping regex", tests, argc, argv);
    mi_regex_scratch_free(scratch);
    return rc;
}
