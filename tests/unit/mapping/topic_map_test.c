/* topic_map: order, "continue", regexes between filters, names and keys, and a cache that changes no answer.
 */
#include "maps.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* The example of the design. */
static const struct mi_rule_spec example[] = {
    {.name = "rooms",
     .filter = "building/{building}/room/{room}/#",
     .direction = MI_BOTH,
     .stream = "building_{building}",
     .topic = "telemetry",
     .partition_key = "room_{room}"},
    {.name = "legacy",
     .regex = "sensors/([^/]+)/data",
     .direction = MI_OUT,
     .stream = "sensors",
     .topic = "sensor_data",
     .partition_key = "sensor_{1}"},
    {.name = "commands",
     .direction = MI_IN,
     .stream = "commands",
     .topic = "devices",
     .mqtt_topic = "devices/{header:device}/command"},
    {.name = "unmatched",
     .filter = "#",
     .direction = MI_OUT,
     .stream = "sensors",
     .topic = "messages_default"},
};

static void the_example_of_the_design(void)
{
    for (size_t cache = 0; cache <= 64; cache += 64) {
        struct mi_map *m = map_of(example, COUNT(example), cache, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(m);
        for (int again = 0; again < 3; again++) {
            CU_ASSERT_STRING_EQUAL(first(m, "building/7/room/12/temp"), "0 building_7/telemetry/room_12");
            CU_ASSERT_STRING_EQUAL(first(m, "building/7/room/12"), "0 building_7/telemetry/room_12");
            CU_ASSERT_STRING_EQUAL(first(m, "sensors/x9/data"), "1 sensors/sensor_data/sensor_x9");
            CU_ASSERT_STRING_EQUAL(first(m, "sensors/x9/data/2"),
                                   "3 sensors/messages_default/sensors/x9/data/2");
            CU_ASSERT_STRING_EQUAL(first(m, "$SYS/broker"), "-");
        }
        mi_map_free(m);
    }
}

/* XXH32 with seed 0, values of the reference implementation. */
static void the_key_hash_is_xxh32(void)
{
    const struct mi_rule_spec rules[] = {
        {.name = "k", .filter = "#", .direction = MI_OUT, .stream = "s", .topic = "t"},
    };
    struct mi_map *m = map_of(rules, 1, 8, NULL);
    struct mi_hit hits[MI_MAX_HITS];
    CU_ASSERT_EQUAL(match(m, "a", hits), 1);
    CU_ASSERT_EQUAL(hits[0].key_hash, 0x550d7456u);
    CU_ASSERT_EQUAL(match(m, "abc", hits), 1);
    CU_ASSERT_EQUAL(hits[0].key_hash, 0x32d153ffu);
    mi_map_free(m);
}

static void balanced_has_no_key(void)
{
    const struct mi_rule_spec rules[] = {
        {.name = "b", .filter = "#", .direction = MI_OUT, .stream = "s", .topic = "t", .balanced = true},
    };
    struct mi_map *m = map_of(rules, 1, 8, NULL);
    struct mi_hit hits[MI_MAX_HITS];
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(match(m, "a", hits), 1);
        CU_ASSERT_TRUE(hits[0].balanced && hits[0].key.len == 0 && hits[0].key_hash == 0);
    }
    mi_map_free(m);
}

static void a_key_of_nothing_is_empty(void)
{
    const struct mi_rule_spec rules[] = {
        {.name = "k",
         .filter = "#",
         .direction = MI_OUT,
         .stream = "s",
         .topic = "t",
         .partition_key = "{username}"},
    };
    struct mi_map *m = map_of(rules, 1, 8, NULL);
    struct mi_hit hits[MI_MAX_HITS];
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(match(m, "a", hits), 1);
        CU_ASSERT_TRUE(hits[0].status == MI_HIT_OK && hits[0].key.len == 0 &&
                       hits[0].key_hash == 0x02cc5d05u);
    }
    mi_map_free(m);
}

static void continue_goes_on_to_the_first_that_does_not(void)
{
    const struct mi_rule_spec rules[] = {
        {.name = "0", .filter = "x/#", .direction = MI_OUT, .stream = "s0", .topic = "t", .go_on = true},
        {.name = "1", .regex = "x/.*", .direction = MI_OUT, .stream = "s1", .topic = "t", .go_on = true},
        {.name = "2", .filter = "+/a", .direction = MI_OUT, .stream = "s2", .topic = "t"},
        {.name = "3", .regex = ".*", .direction = MI_OUT, .stream = "s3", .topic = "t"},
        {.name = "4", .filter = "#", .direction = MI_OUT, .stream = "s4", .topic = "t"},
    };
    struct mi_map *m = map_of(rules, COUNT(rules), 8, NULL);
    struct mi_hit h[MI_MAX_HITS];
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(match(m, "x/a", h), 3);
        CU_ASSERT_TRUE(h[0].rule == 0 && h[1].rule == 1 && h[2].rule == 2);
        CU_ASSERT_TRUE(says(h[2].stream, "s2"));
        CU_ASSERT_EQUAL(match(m, "x/b", h), 3);
        CU_ASSERT_EQUAL(h[2].rule, 3);
        CU_ASSERT_EQUAL(match(m, "y", h), 1);
        CU_ASSERT_EQUAL(h[0].rule, 3);
    }
    mi_map_free(m);
}

static void more_than_the_most_is_counted(void)
{
    struct mi_rule_spec rules[20];
    char names[20][4], filters[20][16];
    memset(rules, 0, sizeof rules);
    for (int i = 0; i < 20; i++) {
        snprintf(names[i], sizeof names[i], "%d", i);
        /* Filters that meet in one topic without one taking all topics of another. */
        snprintf(filters[i], sizeof filters[i], "%c/%c/%c/%c/%c", "a+"[i & 1], "a+"[i >> 1 & 1],
                 "a+"[i >> 2 & 1], "a+"[i >> 3 & 1], "a+"[i >> 4 & 1]);
        rules[i] = (struct mi_rule_spec){.name = names[i],
                                         .filter = filters[i],
                                         .direction = MI_OUT,
                                         .stream = "s",
                                         .topic = "t",
                                         .go_on = true};
    }
    struct mi_map *m = map_of(rules, 20, 8, NULL);
    struct mi_hit h[MI_MAX_HITS];
    struct mi_map_counts counts;
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(match(m, "a/a/a/a/a", h), MI_MAX_HITS);
        for (size_t k = 0; k < MI_MAX_HITS; k++)
            CU_ASSERT_EQUAL(h[k].rule, k);
    }
    CU_ASSERT_EQUAL(match(m, "a/a/a/a/b", h), 4);
    mi_map_get_counts(m, &counts);
    CU_ASSERT_EQUAL(counts.too_many, 2);
    CU_ASSERT_EQUAL(counts.remembered, 1);
    CU_ASSERT_EQUAL(counts.worked_out, 2);
    mi_map_free(m);
}

static bool site(void *context, struct mi_span name, struct mi_span *value)
{
    if (!mi_span_equal(name, mi_span_of("site")))
        return false;
    *value = mi_span_of(context);
    return true;
}

/* One topic, another client: the cache must not give the one's stream to the other. */
static void the_cache_keeps_clients_apart(void)
{
    const struct mi_rule_spec rules[] = {
        {.name = "0",
         .filter = "d/{dev}",
         .direction = MI_OUT,
         .stream = "u_{username}_{property:site}",
         .topic = "c_{client_id}",
         .partition_key = "{dev}-{client_id}",
         .go_on = true},
        {.name = "1",
         .regex = "d/(?<dev>.*)",
         .direction = MI_OUT,
         .stream = "s_{dev}",
         .topic = "t_{client_id}"},
    };
    struct mi_map *m = map_of(rules, COUNT(rules), 8, NULL);
    static const char *const who[] = {"ann", "bob", "ann", ""};
    for (size_t i = 0; i < COUNT(who); i++) {
        struct mi_hit h[MI_MAX_HITS];
        char expected[64];
        struct mi_map_input in = {.topic = mi_span_of("d/7"),
                                  .client_id = mi_span_of(who[i]),
                                  .username = mi_span_of(who[i]),
                                  .property = site,
                                  .property_context = (void *)"n"};
        CU_ASSERT_EQUAL_FATAL(mi_map_match(m, &in, h), 2);
        snprintf(expected, sizeof expected, "u_%s_n", who[i]);
        CU_ASSERT_TRUE(says(h[0].stream, expected));
        snprintf(expected, sizeof expected, "c_%s", who[i]);
        CU_ASSERT_TRUE(says(h[0].topic, expected));
        snprintf(expected, sizeof expected, "7-%s", who[i]);
        CU_ASSERT_TRUE(says(h[0].key, expected));
        snprintf(expected, sizeof expected, "t_%s", who[i]);
        CU_ASSERT_TRUE(says(h[1].topic, expected) && says(h[1].stream, "s_7"));
    }
    mi_map_free(m);
}

static void resolved_names_are_checked_every_time(void)
{
    const struct mi_rule_spec rules[] = {
        {.name = "0",
         .filter = "d/{dev}",
         .direction = MI_OUT,
         .stream = "s_{dev}",
         .topic = "t_{client_id}"},
    };
    struct mi_map *m = map_of(rules, 1, 8, NULL);
    struct mi_hit h[MI_MAX_HITS];
    char topic[2100] = "d/";
    memset(topic + 2, 'x', 253);
    CU_ASSERT_EQUAL(match(m, topic, h), 1);
    CU_ASSERT_EQUAL(h[0].status, MI_HIT_OK);
    topic[255] = 'x';
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(match(m, topic, h), 1);
        CU_ASSERT_EQUAL(h[0].status, MI_HIT_STREAM_UNUSABLE);
        CU_ASSERT_EQUAL(h[0].stream.len, 256);
    }
    memset(topic + 2, 'x', 2000);
    CU_ASSERT_EQUAL(match(m, topic, h), 1);
    CU_ASSERT_EQUAL(h[0].stream.len, 1024);
    struct mi_map_input in = {.topic = mi_span_of("d/1"), .client_id = mi_span_of("\xff")};
    CU_ASSERT_EQUAL(mi_map_match(m, &in, h), 1);
    CU_ASSERT_EQUAL(h[0].status, MI_HIT_TOPIC_UNUSABLE);
    for (int s = MI_HIT_OK; s <= MI_HIT_NO_MEMORY; s++)
        CU_ASSERT_TRUE(strlen(mi_hit_status_text((enum mi_hit_status)s)) > 10);
    mi_map_free(m);
}

/* Names and keys of more than 16 MB in one match do not fit: said so, and the next match works. */
static void what_does_not_fit_in_memory_is_said(void)
{
    char key[600] = "";
    for (int i = 0; i < 60; i++)
        strcat(key, "{topic}");
    const struct mi_rule_spec rules[] = {
        {.name = "0",
         .filter = "#",
         .direction = MI_OUT,
         .stream = "s",
         .topic = "t",
         .partition_key = key,
         .go_on = true},
        {.name = "1",
         .filter = "#",
         .direction = MI_OUT,
         .stream = "s",
         .topic = "t",
         .partition_key = key,
         .go_on = true},
        {.name = "2",
         .filter = "#",
         .direction = MI_OUT,
         .stream = "s",
         .topic = "t",
         .partition_key = key,
         .go_on = true},
        {.name = "3",
         .filter = "#",
         .direction = MI_OUT,
         .stream = "s",
         .topic = "t",
         .partition_key = key,
         .go_on = true},
        {.name = "4", .filter = "#", .direction = MI_OUT, .stream = "s", .topic = "t", .partition_key = key},
    };
    struct mi_map *m = map_of(rules, COUNT(rules), 8, NULL);
    struct mi_hit h[MI_MAX_HITS];
    static char topic[65536];
    memset(topic, 'x', 65535);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(match(m, topic, h), 5);
        CU_ASSERT_EQUAL(h[3].status, MI_HIT_OK);
        CU_ASSERT_EQUAL(h[3].key.len, 60 * 65535);
        CU_ASSERT_EQUAL(h[4].status, MI_HIT_NO_MEMORY);
        CU_ASSERT_EQUAL(match(m, "y", h), 5);
        CU_ASSERT_EQUAL(h[4].status, MI_HIT_OK);
    }
    mi_map_free(m);
}

static void a_regex_at_its_limits_is_no_match_and_counted(void)
{
    const struct mi_rule_spec rules[] = {
        {.name = "0", .regex = "(?:(a+)+)+[bd]", .direction = MI_OUT, .stream = "s", .topic = "t"},
        {.name = "1", .filter = "#", .direction = MI_OUT, .stream = "s", .topic = "rest"},
    };
    struct mi_map *m = map_of(rules, COUNT(rules), 0, NULL);
    struct mi_map_counts counts;
    CU_ASSERT_EQUAL(strncmp(first(m, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac"), "1 s/rest/", 9), 0);
    mi_map_get_counts(m, &counts);
    CU_ASSERT_EQUAL(counts.regex_limits, 1);
    mi_map_free(m);
}

/* A small cache, many topics, several kinds of rules: every answer is that of a map without one. */
static void a_cache_changes_no_answer(void)
{
    struct dice d = dice_new();
    const struct mi_rule_spec rules[] = {
        {.name = "0",
         .filter = "a/{x}/#",
         .direction = MI_OUT,
         .stream = "s_{x}",
         .topic = "t{2}",
         .go_on = true},
        {.name = "1",
         .regex = "(.*)/b/(.*)",
         .direction = MI_OUT,
         .stream = "r_{1}",
         .topic = "t_{topic}",
         .go_on = true},
        {.name = "2",
         .filter = "+/+/{y}",
         .direction = MI_OUT,
         .stream = "c_{client_id}",
         .topic = "t_{y}_{1}"},
        {.name = "3",
         .filter = "{r...}",
         .direction = MI_OUT,
         .stream = "all_{r}",
         .topic = "t",
         .balanced = true},
    };
    struct mi_map *with = map_of(rules, COUNT(rules), 24, NULL),
                  *without = map_of(rules, COUNT(rules), 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(with);
    for (int i = 0; i < 50000; i++) {
        struct mi_hit a[MI_MAX_HITS], b[MI_MAX_HITS];
        char topic[256];
        random_topic(&d, topic, sizeof topic);
        struct mi_map_input in = {.topic = mi_span_of(topic),
                                  .client_id = mi_span_of(roll(&d, 2) ? "me" : "you")};
        size_t n = mi_map_match(with, &in, a);
        CU_ASSERT_EQUAL_FATAL(mi_map_match(without, &in, b), n);
        for (size_t k = 0; k < n; k++) {
            CU_ASSERT_TRUE_FATAL(a[k].rule == b[k].rule && a[k].status == b[k].status &&
                                 a[k].key_hash == b[k].key_hash);
            CU_ASSERT_TRUE_FATAL(mi_span_equal(a[k].stream, b[k].stream) &&
                                 mi_span_equal(a[k].topic, b[k].topic) && mi_span_equal(a[k].key, b[k].key) &&
                                 a[k].balanced == b[k].balanced);
        }
    }
    struct mi_map_counts counts;
    mi_map_get_counts(with, &counts);
    CU_ASSERT_TRUE(counts.remembered > 1000 && counts.worked_out > 1000);
    mi_map_free(with);
    mi_map_free(without);
}

struct told {
    enum mi_verdict verdict[8];
    char why[8][256];
    char captures[8][256];
    char stream[8][64];
};

static void hear(void *context, size_t rule, enum mi_verdict verdict, const char *why,
                 const struct mi_hit *hit, const struct mi_capture *captures, size_t count)
{
    struct told *t = context;
    t->verdict[rule] = verdict;
    snprintf(t->why[rule], sizeof t->why[rule], "%s", why);
    for (size_t i = 0; i < count; i++) {
        size_t at = strlen(t->captures[rule]);
        snprintf(t->captures[rule] + at, sizeof t->captures[rule] - at, "%.*s=%.*s;",
                 (int)captures[i].name.len, (const char *)captures[i].name.data, (int)captures[i].value.len,
                 (const char *)captures[i].value.data);
    }
    if (hit)
        snprintf(t->stream[rule], sizeof t->stream[rule], "%.*s", (int)hit->stream.len,
                 (const char *)hit->stream.data);
}

static void explain_says_what_every_rule_did(void)
{
    const struct mi_rule_spec rules[] = {
        {.name = "deep", .filter = "a/b/c", .direction = MI_OUT, .stream = "s", .topic = "t"},
        {.name = "copy",
         .filter = "a/{x}/+",
         .direction = MI_OUT,
         .stream = "s_{x}",
         .topic = "t",
         .go_on = true},
        {.name = "native", .direction = MI_IN, .stream = "s", .topic = "t", .mqtt_topic = "x"},
        {.name = "re", .regex = "a/(?<all>.*)/(.)", .direction = MI_OUT, .stream = "r_{all}", .topic = "t"},
        {.name = "re2", .regex = "b", .direction = MI_OUT, .stream = "r", .topic = "t"},
        {.name = "rest", .filter = "#", .direction = MI_OUT, .stream = "s", .topic = "t"},
    };
    struct mi_map *m = map_of(rules, COUNT(rules), 8, NULL);
    static struct told t;
    struct mi_map_input in = {.topic = mi_span_of("a/b/d")};
    mi_map_explain(m, &in, hear, &t);
    CU_ASSERT_EQUAL(t.verdict[0], MI_VERDICT_NO_MATCH);
    CU_ASSERT_STRING_EQUAL(t.why[0], "level 3 is \"d\", the filter says \"c\"");
    CU_ASSERT_EQUAL(t.verdict[1], MI_VERDICT_TAKEN_GOES_ON);
    CU_ASSERT_STRING_EQUAL(t.captures[1], "x=b;2=d;");
    CU_ASSERT_STRING_EQUAL(t.stream[1], "s_b");
    CU_ASSERT_EQUAL(t.verdict[2], MI_VERDICT_DIRECTION);
    CU_ASSERT_EQUAL(t.verdict[3], MI_VERDICT_TAKEN);
    CU_ASSERT_STRING_EQUAL(t.captures[3], "all=b;2=d;");
    CU_ASSERT_EQUAL(t.verdict[4], MI_VERDICT_NO_MATCH);
    CU_ASSERT_EQUAL(t.verdict[5], MI_VERDICT_BEHIND);
    CU_ASSERT_PTR_NOT_NULL(strstr(t.why[5], "route \"re\" before it"));
    mi_map_free(m);
}

static CU_TestInfo tests[] = {
    {"the example of the design", the_example_of_the_design},
    {"the key hash is xxh32", the_key_hash_is_xxh32},
    {"balanced has no key", balanced_has_no_key},
    {"a key of nothing is empty", a_key_of_nothing_is_empty},
    {"continue goes on to the first that does not", continue_goes_on_to_the_first_that_does_not},
    {"more than the most is counted", more_than_the_most_is_counted},
    {"the cache keeps clients apart", the_cache_keeps_clients_apart},
    {"resolved names are checked every time", resolved_names_are_checked_every_time},
    {"what does not fit in memory is said", what_does_not_fit_in_memory_is_said},
    {"a regex at its limits is no match and counted", a_regex_at_its_limits_is_no_match_and_counted},
    {"a cache changes no answer", a_cache_changes_no_answer},
    {"explain says what every rule did", explain_says_what_every_rule_did},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("topic map", tests)
