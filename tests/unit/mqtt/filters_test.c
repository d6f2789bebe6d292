/* filters: overlapping ones become one that covers them, and nothing else is covered twice. */
#include "mqtt/filters.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds the filters ("a b c") and compares what is left, in any order. */
static void become(const char *filters, const char *expected)
{
    char text[400], *rest = text;
    struct mi_filters f = {0};
    snprintf(text, sizeof text, "%s", filters);
    for (char *one; (one = strtok_r(rest, " ", &rest)) != NULL;)
        CU_ASSERT_TRUE(mi_filters_add(&f, one));
    snprintf(text, sizeof text, "%s", expected);
    size_t count = 0;
    rest = text;
    for (char *one; (one = strtok_r(rest, " ", &rest)) != NULL; count++) {
        if (!mi_filters_has(&f, one))
            printf("\n    %s: %s is missing", filters, one);
        CU_ASSERT_TRUE(mi_filters_has(&f, one));
    }
    CU_ASSERT_EQUAL(f.count, count);
    mi_filters_clear(&f);
}

static void what_cannot_meet_stays_apart(void)
{
    become("a b", "a b");
    become("a/+ b/+", "a/+ b/+");
    become("a/b a/c a/b/c", "a/b a/c a/b/c");
    become("+/a +/b", "+/a +/b");
    become("a/+/x a/+/y", "a/+/x a/+/y");
    become("# $SYS/#", "# $SYS/#");
    become("+/a $x/a", "+/a $x/a");
    become("a/ a", "a/ a");
}

static void what_can_meet_becomes_one(void)
{
    become("a a", "a");
    become("a/b a/+", "a/+");
    become("a/# a", "a/#");
    become("a/# a/b/c", "a/#");
    become("a/+ +/b", "+/+");
    become("a/+/x a/y/#", "a/+/#");
    become("# a b/+", "#");
    become("+ /x", "+ /x");
    become("+/+ /x", "+/+");
    become("$SYS/# $SYS/a", "$SYS/#");
}

/* What covers two may now meet a third. */
static void covers_are_added_anew(void)
{
    become("x/b a/+ +/b", "+/+");
    become("c/d a/+ +/b", "+/+");
    become("a/1 a/2 b a/+", "a/+ b");
    become("a/b/c d/e a/b/# a/b", "a/b/# d/e");
}

static uint32_t seed = 12345;
static unsigned random_below(unsigned n)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 16) % n;
}

static bool matches(const char *filter, const char *topic)
{
    while (true) {
        if (*filter == '#')
            return true;
        size_t f = strcspn(filter, "/"), t = strcspn(topic, "/");
        if (!(f == 1 && *filter == '+') && (f != t || memcmp(filter, topic, f) != 0))
            return false;
        if (!filter[f] && !topic[t])
            return true;
        if (!topic[t])
            return strcmp(filter + f, "/#") == 0;
        if (!filter[f])
            return false;
        filter += f + 1;
        topic += t + 1;
    }
}

static void random_filter(char *out, bool topic)
{
    static const char *const levels[] = {"a", "b", "c", "+"};
    unsigned count = 1 + random_below(4);
    *out = '\0';
    for (unsigned i = 0; i < count; i++) {
        strcat(out, i ? "/" : "");
        if (!topic && i == count - 1 && random_below(4) == 0)
            strcat(out, "#");
        else
            strcat(out, levels[random_below(topic ? 3 : 4)]);
    }
}

/* Every topic that one of the filters matches comes exactly once, whatever the filters are. */
static void each_topic_comes_exactly_once(void)
{
    for (int round = 0; round < 2000; round++) {
        char filters[5][32], topic[32];
        struct mi_filters f = {0};
        unsigned count = 1 + random_below(5);
        for (unsigned i = 0; i < count; i++) {
            random_filter(filters[i], false);
            mi_filters_add(&f, filters[i]);
        }
        for (int k = 0; k < 30; k++) {
            bool wanted = false;
            unsigned times = 0;
            random_filter(topic, true);
            for (unsigned i = 0; i < count; i++)
                wanted = wanted || matches(filters[i], topic);
            for (size_t i = 0; i < f.count; i++)
                times += matches(f.text[i], topic);
            CU_ASSERT_TRUE(times <= 1);
            CU_ASSERT_TRUE(!wanted || times == 1);
        }
        mi_filters_clear(&f);
    }
}

static void is_plain(const char *named, const char *expected)
{
    char *plain = mi_filter_without_names(named);
    CU_ASSERT_STRING_EQUAL(plain, expected);
    free(plain);
}

static void names_are_left_out(void)
{
    is_plain("a/b", "a/b");
    is_plain("building/{building}/room/{room}/#", "building/+/room/+/#");
    is_plain("{a}/{rest...}", "+/#");
    is_plain("{x}", "+");
    is_plain("//{x}/", "//+/");
    is_plain("+/#", "+/#");
}

static CU_TestInfo tests[] = {
    {"what cannot meet stays apart", what_cannot_meet_stays_apart},
    {"what can meet becomes one", what_can_meet_becomes_one},
    {"covers are added anew", covers_are_added_anew},
    {"each topic comes exactly once", each_topic_comes_exactly_once},
    {"names are left out", names_are_left_out},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("filters of a subscription", tests)
