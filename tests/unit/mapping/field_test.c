/* field: topics that users of comparable bridges had trouble with. Numbers in names: tests/README.md. */
#include "maps.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct mi_map *all_by_topic(void)
{
    const struct mi_rule_spec r = {
        .name = "all", .filter = "#", .direction = MI_BOTH, .stream = "s", .topic = "t_{topic}"};
    struct mi_map *m = map_of(&r, 1, 16, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    return m;
}

/* Goes out whole, under a name of its own, and comes back to the very topic. */
static void goes_both_ways(struct mi_map *m, const char *topic)
{
    struct mi_hit h[MI_MAX_HITS];
    char expected[300];
    CU_ASSERT_EQUAL_FATAL(match(m, topic, h), 1);
    CU_ASSERT_EQUAL(h[0].status, MI_HIT_OK);
    snprintf(expected, sizeof expected, "t_%s", topic);
    CU_ASSERT_TRUE(says(h[0].topic, expected) && says(h[0].key, topic));
    CU_ASSERT_TRUE(mi_map_maps_back(m, 0, mi_span_of(topic), h[0].stream, h[0].topic));
}

static void field_65_two_hundred_levels(void)
{
    struct mi_map *m = all_by_topic();
    char topic[201];
    memset(topic, '/', 200);
    topic[200] = '\0';
    goes_both_ways(m, topic);
    mi_map_free(m);
    char filter[402] = "+";
    for (int i = 0; i < 200; i++)
        strcat(filter, i == 199 ? "/#" : "/");
    const struct mi_rule_spec r = {
        .name = "deep", .filter = filter, .direction = MI_OUT, .stream = "s", .topic = "t"};
    m = map_of(&r, 1, 16, NULL);
    CU_ASSERT_STRING_NOT_EQUAL(first(m, topic), "-");
    topic[198] = '\0';
    CU_ASSERT_STRING_EQUAL(first(m, topic), "-");
    mi_map_free(m);
}

static void field_81_spaces_and_parentheses(void)
{
    struct mi_map *m = all_by_topic();
    goes_both_ways(m, "evcc/site/authProviders/Tibber (VW ID.3, Cupra Tavascan)");
    mi_map_free(m);
}

static void field_82_dots_stay_dots(void)
{
    struct mi_map *m = all_by_topic();
    goes_both_ways(m, "spBv1.0/g/NDATA/n");
    goes_both_ways(m, "a.b/c");
    goes_both_ways(m, "a/b/c");
    CU_ASSERT_FALSE(mi_map_maps_back(m, 0, mi_span_of("a/b/c"), mi_span_of("s"), mi_span_of("t_a.b/c")));
    mi_map_free(m);
}

static void field_84_leading_slash(void)
{
    struct mi_map *m = all_by_topic();
    goes_both_ways(m, "/i/i0/hq");
    CU_ASSERT_FALSE(mi_map_maps_back(m, 0, mi_span_of("i/i0/hq"), mi_span_of("s"), mi_span_of("t_/i/i0/hq")));
    mi_map_free(m);
}

static void field_86_87_slash_and_trailing_space(void)
{
    struct mi_map *m = all_by_topic();
    goes_both_ways(m, "abc/def");
    goes_both_ways(m, "a/b ");
    mi_map_free(m);
}

static void field_89_dollar_topics_only_when_named(void)
{
    const struct mi_rule_spec rules[] = {
        {.name = "all", .filter = "#", .direction = MI_OUT, .stream = "s", .topic = "t"},
        {.name = "one", .filter = "+/broker/#", .direction = MI_OUT, .stream = "s", .topic = "u"},
        {.name = "re", .regex = ".*", .direction = MI_OUT, .stream = "s", .topic = "u"},
        {.name = "sys", .filter = "$SYS/#", .direction = MI_OUT, .stream = "sys", .topic = "u"},
    };
    struct mi_map *m = map_of(rules, 4, 16, NULL);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_STRING_EQUAL(first(m, "$SYS/broker/uptime"), "3 sys/u/$SYS/broker/uptime");
        CU_ASSERT_STRING_EQUAL(first(m, "$foo/bar"), "-");
        CU_ASSERT_STRING_EQUAL(first(m, "foo/$bar"), "0 s/t/foo/$bar");
    }
    mi_map_free(m);
}

static void field_91_control_characters_are_not_injected(void)
{
    struct mi_map *m = all_by_topic();
    CU_ASSERT_FALSE(mi_map_maps_back(m, 0, mi_span_of("zigbee2mqtt/\tX"), mi_span_of("s"),
                                     mi_span_of("t_zigbee2mqtt/\tX")));
    mi_map_free(m);
}

static void field_94_unicode_as_it_came(void)
{
    struct mi_map *m = all_by_topic();
    goes_both_ways(m, "температура/кухня/😀");
    goes_both_ways(m, "caf\xc3\xa9");
    goes_both_ways(m, "cafe\xcc\x81");
    CU_ASSERT_FALSE(
        mi_map_maps_back(m, 0, mi_span_of("caf\xc3\xa9"), mi_span_of("s"), mi_span_of("t_cafe\xcc\x81")));
    mi_map_free(m);
}

static void field_96_filters_are_no_prefixes(void)
{
    const struct mi_rule_spec rules[] = {
        {.name = "f", .filter = "sensors/#", .direction = MI_OUT, .stream = "s", .topic = "t"},
        {.name = "r", .regex = "a.c", .direction = MI_OUT, .stream = "s", .topic = "t"},
    };
    struct mi_map *m = map_of(rules, 2, 16, NULL);
    CU_ASSERT_STRING_EQUAL(first(m, "sensorsdata"), "-");
    CU_ASSERT_STRING_EQUAL(first(m, "sensors"), "0 s/t/sensors");
    CU_ASSERT_STRING_EQUAL(first(m, "abcd"), "-");
    CU_ASSERT_STRING_EQUAL(first(m, "xabc"), "-");
    mi_map_free(m);
}

/* A level of digits would reach the stream whose numeric id it is. */
static void field_96_a_level_of_digits_is_no_name(void)
{
    struct complaints c;
    const struct mi_rule_spec r = {
        .name = "f", .filter = "s/{id}", .direction = MI_OUT, .stream = "{id}", .topic = "t"};
    CU_ASSERT_PTR_NULL(map_of(&r, 1, 0, &c));
    CU_ASSERT_TRUE(complained(&c, MI_REFUSED, 0, "stream", "room_{room}"));
}

static void field_97_topics_longer_than_a_name(void)
{
    const struct mi_rule_spec rules[] = {
        {.name = "c", .filter = "#", .direction = MI_OUT, .stream = "s", .topic = "t", .go_on = true},
        {.name = "n", .filter = "#", .direction = MI_OUT, .stream = "s_{topic}", .topic = "t"},
    };
    struct mi_map *m = map_of(rules, 2, 16, NULL);
    struct mi_hit h[MI_MAX_HITS];
    static char topic[65536];
    memset(topic, 'x', 65535);
    for (size_t len = 300; len <= 65535; len += 65235) {
        struct mi_map_input in = {.topic = {(uint8_t *)topic, len}};
        for (int i = 0; i < 2; i++) {
            CU_ASSERT_EQUAL_FATAL(mi_map_match(m, &in, h), 2);
            CU_ASSERT_EQUAL(h[0].status, MI_HIT_OK);
            CU_ASSERT_EQUAL(h[0].key.len, len);
            CU_ASSERT_EQUAL(memcmp(h[0].key.data, topic, len), 0);
            CU_ASSERT_EQUAL(h[1].status, MI_HIT_STREAM_UNUSABLE);
        }
    }
    mi_map_free(m);
}

/* One device keeps its messages together topic by topic, however many it sends. */
static void field_117_the_key_is_the_topic(void)
{
    struct mi_map *m = all_by_topic();
    struct mi_hit h[MI_MAX_HITS];
    CU_ASSERT_EQUAL_FATAL(match(m, "device/1/t", h), 1);
    uint32_t first_hash = h[0].key_hash;
    CU_ASSERT_EQUAL_FATAL(match(m, "device/1/u", h), 1);
    CU_ASSERT_NOT_EQUAL(h[0].key_hash, first_hash);
    CU_ASSERT_EQUAL_FATAL(match(m, "device/1/t", h), 1);
    CU_ASSERT_EQUAL(h[0].key_hash, first_hash);
    mi_map_free(m);
}

static CU_TestInfo tests[] = {
    {"field 65: two hundred levels", field_65_two_hundred_levels},
    {"field 81: spaces and parentheses", field_81_spaces_and_parentheses},
    {"field 82: dots stay dots", field_82_dots_stay_dots},
    {"field 84: leading slash", field_84_leading_slash},
    {"field 86 87: slash and trailing space", field_86_87_slash_and_trailing_space},
    {"field 89: dollar topics only when named", field_89_dollar_topics_only_when_named},
    {"field 91: control characters are not injected", field_91_control_characters_are_not_injected},
    {"field 94: unicode as it came", field_94_unicode_as_it_came},
    {"field 96: filters are no prefixes", field_96_filters_are_no_prefixes},
    {"field 96: a level of digits is no name", field_96_a_level_of_digits_is_no_name},
    {"field 97: topics longer than a name", field_97_topics_longer_than_a_name},
    {"field 117: the key is the topic", field_117_the_key_is_the_topic},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("mapping field problems", tests)
