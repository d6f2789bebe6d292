/* shared_log: which routes read what a PUBLISH writes. */
#include "broker/shared_log.h"
#include "support/suite.h"

static const struct mi_rule_spec rules[] = {
    {.name = "both", .filter = "both/#", .direction = MI_BOTH, .stream = "b", .topic = "t"},
    {.name = "out", .filter = "a/#", .direction = MI_OUT, .stream = "s", .topic = "t"},
    {.name = "in", .filter = "a/x/#", .direction = MI_IN, .stream = "s", .topic = "t"},
    {.name = "levels", .filter = "l/{x}", .direction = MI_OUT, .stream = "of_{x}", .topic = "t"},
    {.name = "all levels", .filter = "l/{x}", .direction = MI_IN, .stream = "of_{x}", .topic = "t"},
};
enum { BOTH, OUT, IN, LEVELS, ALL_LEVELS, RULES };

static struct mi_route routes[RULES];
static struct mi_config config = {.routes = routes, .route_count = RULES};

static void start(void)
{
    for (size_t i = 0; i < RULES; i++)
        routes[i] = (struct mi_route){.name = rules[i].name, .direction = rules[i].direction};
    config.map = mi_map_new(rules, RULES, 0, NULL, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(config.map);
}

static struct mi_hit hit_of(const char *topic)
{
    struct mi_hit hits[MI_MAX_HITS];
    struct mi_map_input input = {.topic = mi_span_of(topic)};
    CU_ASSERT_EQUAL_FATAL(mi_map_match(config.map, &input, hits), 1);
    return hits[0];
}

static bool follows(const char *topic)
{
    struct mi_hit hit = hit_of(topic);
    return mi_shared_log_follows(&config, &hit, mi_span_of(topic));
}

static bool stamps(const char *topic)
{
    struct mi_hit hit = hit_of(topic);
    return mi_shared_log_stamps(&config, &hit);
}

static void own_values_that_come_back_are_followed(void)
{
    start();
    CU_ASSERT_TRUE(follows("both/1"));
    CU_ASSERT_TRUE(follows("a/x/1"));
    CU_ASSERT_FALSE(follows("a/y")); /* the same stream and topic, but the route in would not take it */
    CU_ASSERT_TRUE(follows("l/7"));
    routes[BOTH].retain = routes[IN].retain = MI_RETAIN_NEVER;
    CU_ASSERT_FALSE(follows("both/1"));
    CU_ASSERT_FALSE(follows("a/x/1"));
    mi_map_free(config.map);
}

static void a_stamp_counts_for_the_streams_that_its_route_reads(void)
{
    start();
    CU_ASSERT_FALSE(stamps("a/y"));
    routes[IN].stamp = true;
    CU_ASSERT_TRUE(stamps("a/y")); /* whatever its topic: it is in that log already */
    CU_ASSERT_FALSE(stamps("both/1"));
    CU_ASSERT_FALSE(stamps("l/7"));
    routes[ALL_LEVELS].stamp = true;
    CU_ASSERT_TRUE(stamps("l/7"));
    routes[OUT].stamp = routes[LEVELS].stamp = true;
    routes[IN].stamp = false;
    CU_ASSERT_FALSE(stamps("a/y")); /* a route out reads nothing */
    mi_map_free(config.map);
}

static CU_TestInfo tests[] = {
    {"own values that come back are followed", own_values_that_come_back_are_followed},
    {"a stamp counts for the streams that its route reads",
     a_stamp_counts_for_the_streams_that_its_route_reads},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("shared_log", tests)
