/* back: the way back agrees with the way out, native topics, and what must never be injected. */
#include "maps.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S(text) mi_span_of(text)
#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct mi_rule_spec rules[] = {
    {.name = "0",
     .filter = "building/{building}/room/{room}/#",
     .direction = MI_BOTH,
     .stream = "building_{building}",
     .topic = "telemetry"},
    {.name = "1",
     .filter = "c/#",
     .direction = MI_BOTH,
     .stream = "c_{client_id}_x",
     .topic = "p{property:a}-{username}"},
    {.name = "2", .regex = "d/(?<n>.+)/data", .direction = MI_BOTH, .stream = "d", .topic = "t_{n}"},
    {.name = "3",
     .direction = MI_IN,
     .stream = "commands",
     .topic = "devices",
     .mqtt_topic = "devices/{header:device}/{partition}"},
    {.name = "4",
     .direction = MI_IN,
     .stream = "b_{building}",
     .topic = "f{floor}_{building}",
     .mqtt_topic = "b/{building}/{floor}/{stream}"},
    {.name = "5", .filter = "plain/{{x}}", .direction = MI_BOTH, .stream = "s", .topic = "t"},
    {.name = "6",
     .filter = "x/{a}/+",
     .direction = MI_IN,
     .stream = "x",
     .topic = "t_{a}",
     .mqtt_topic = "x/{a}/{header:h}"},
};

static struct mi_map *the_map(void)
{
    struct mi_map *m = map_of(rules, COUNT(rules), 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    return m;
}

static void only_what_the_route_sends_there(void)
{
    struct mi_map *m = the_map();
    CU_ASSERT_TRUE(mi_map_maps_back(m, 0, S("building/7/room/1/t"), S("building_7"), S("telemetry")));
    CU_ASSERT_FALSE(mi_map_maps_back(m, 0, S("building/8/room/1/t"), S("building_7"), S("telemetry")));
    CU_ASSERT_FALSE(mi_map_maps_back(m, 0, S("building/7/room/1/t"), S("building_7"), S("telemetrx")));
    CU_ASSERT_FALSE(mi_map_maps_back(m, 0, S("admin/cmd"), S("building_7"), S("telemetry")));
    CU_ASSERT_TRUE(mi_map_maps_back(m, 2, S("d/a/b/data"), S("d"), S("t_a/b")));
    CU_ASSERT_FALSE(mi_map_maps_back(m, 2, S("d/a/b/data"), S("d"), S("t_a")));
    CU_ASSERT_FALSE(mi_map_maps_back(m, 3, S("devices/a/0"), S("commands"), S("devices")));
    CU_ASSERT_FALSE(mi_map_maps_back(m, 99, S("a"), S("s"), S("t")));
    mi_map_free(m);
}

static void what_the_topic_does_not_tell_is_any_value(void)
{
    struct mi_map *m = the_map();
    CU_ASSERT_TRUE(mi_map_maps_back(m, 1, S("c/1"), S("c_me_x"), S("pq-u")));
    CU_ASSERT_TRUE(mi_map_maps_back(m, 1, S("c/1"), S("c_x_x_x"), S("p-----")));
    CU_ASSERT_FALSE(mi_map_maps_back(m, 1, S("c/1"), S("c__x"), S("pq-u")));
    CU_ASSERT_FALSE(mi_map_maps_back(m, 1, S("c/1"), S("c_me_x"), S("p-u")));
    CU_ASSERT_FALSE(mi_map_maps_back(m, 1, S("c/1"), S("c_me_xy"), S("pq-u")));
    mi_map_free(m);
}

static void never_wildcards_dollar_or_control(void)
{
    const struct mi_rule_spec all = {
        .name = "all", .filter = "#", .direction = MI_BOTH, .stream = "s", .topic = "t"};
    struct mi_map *m = map_of(&all, 1, 0, NULL);
    static const char *const bad[] = {"", "$SYS/x", "a/+/b", "a/#", "a\tb", "\xff", "a\xc2\x80", "a+b"};
    for (size_t i = 0; i < COUNT(bad); i++)
        CU_ASSERT_FALSE(mi_map_maps_back(m, 0, S(bad[i]), S("s"), S("t")));
    CU_ASSERT_FALSE(mi_map_maps_back(m, 0, (struct mi_span){(const uint8_t *)"a\0b", 3}, S("s"), S("t")));
    CU_ASSERT_TRUE(mi_map_maps_back(m, 0, S("a/b"), S("s"), S("t")));
    mi_map_free(m);
}

static bool header(void *context, struct mi_span name, struct mi_span *value)
{
    if (!context || !(mi_span_equal(name, S("device")) || mi_span_equal(name, S("h"))))
        return false;
    *value = *(struct mi_span *)context;
    return true;
}

static const char *native(const struct mi_map *m, size_t rule, const char *stream, const char *topic,
                          struct mi_span *h)
{
    static char text[512];
    struct mi_buf out;
    const char *why = "";
    struct mi_native_input in = {S(stream), S(topic), 3, header, h};
    mi_buf_init(&out, MI_MAX_MQTT_STRING);
    mi_buf_add_text(&out, "old");
    bool ok = mi_map_native_topic(m, rule, &in, &out, &why);
    if (ok)
        snprintf(text, sizeof text, "%.*s", (int)out.len, (const char *)out.data);
    else
        snprintf(text, sizeof text, "!%s", why);
    mi_buf_fini(&out);
    return text;
}

static void topics_of_native_messages(void)
{
    struct mi_map *m = the_map();
    struct mi_span pump = S("pump 7");
    CU_ASSERT_STRING_EQUAL(native(m, 3, "commands", "devices", &pump), "devices/pump 7/3");
    CU_ASSERT_STRING_EQUAL(native(m, 4, "b_7", "fg_7", NULL), "b/7/g/b_7");
    CU_ASSERT_STRING_EQUAL(native(m, 5, "s", "t", NULL), "plain/{x}");
    CU_ASSERT_STRING_EQUAL(native(m, 6, "x", "t_q", &pump), "x/q/pump 7");
    CU_ASSERT_STRING_EQUAL(native(m, 0, "building_7", "telemetry", NULL), "!no mqtt_topic");
    CU_ASSERT_STRING_EQUAL(native(m, 3, "commands", "devices", NULL), "!header missing");
    CU_ASSERT_STRING_EQUAL(native(m, 4, "b_7", "fg_8", NULL), "!stream or topic does not fit the route");
    CU_ASSERT_STRING_EQUAL(native(m, 4, "b_7/8", "fg_7/8", NULL), "!stream or topic does not fit the route");
    CU_ASSERT_STRING_EQUAL(native(m, 6, "x", "t_", &pump),
                           "!substitution is empty or has / + # or control characters");
    mi_map_free(m);
}

static void substitutions_are_one_level(void)
{
    struct mi_map *m = the_map();
    static const char *const bad[] = {"", "a/b", "+", "#", "a\nb", "\xff", "\x7f", "\xc2\x9f"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct mi_span h = S(bad[i]);
        CU_ASSERT_STRING_EQUAL(native(m, 3, "commands", "devices", &h),
                               "!substitution is empty or has / + # or control characters");
    }
    struct mi_span nul = {(const uint8_t *)"a\0b", 3};
    CU_ASSERT_EQUAL(native(m, 3, "commands", "devices", &nul)[0], '!');
    mi_map_free(m);
}

static void a_native_topic_never_begins_with_dollar(void)
{
    const struct mi_rule_spec r = {
        .name = "r", .direction = MI_IN, .stream = "s", .topic = "t", .mqtt_topic = "{header:h}/x"};
    struct mi_map *m = map_of(&r, 1, 0, NULL);
    struct mi_span h = S("$CONTROL"), fine = S("ok");
    CU_ASSERT_STRING_EQUAL(native(m, 0, "s", "t", &h), "!topic begins with $");
    CU_ASSERT_STRING_EQUAL(native(m, 0, "s", "t", &fine), "ok/x");
    mi_map_free(m);
}

static void names_that_fit_a_template(void)
{
    struct mi_map *m = the_map();
    CU_ASSERT_TRUE(mi_map_stream_fits(m, 0, S("building_7")));
    CU_ASSERT_TRUE(mi_map_stream_fits(m, 0, S("building_")));
    CU_ASSERT_FALSE(mi_map_stream_fits(m, 0, S("building_7/8")));
    CU_ASSERT_FALSE(mi_map_stream_fits(m, 0, S("buildin_7")));
    const struct mi_rule_spec two = {
        .name = "two", .filter = "x/{a}/{b}", .direction = MI_BOTH, .stream = "x_{a}_{b}", .topic = "t_{a}"};
    struct mi_map *doubt = map_of(&two, 1, 0, NULL);
    CU_ASSERT_TRUE(mi_map_topic_fits(doubt, 0, S("x_1_2_3"), S("t_1")));
    CU_ASSERT_TRUE(mi_map_topic_fits(doubt, 0, S("x_1_2_3"), S("t_1_2"))); /* x/1_2/3 goes there */
    CU_ASSERT_FALSE(mi_map_topic_fits(doubt, 0, S("x_1_2_3"), S("u_1")));
    mi_map_free(doubt);
    CU_ASSERT_TRUE(mi_map_topic_fits(m, 0, S("building_7"), S("telemetry")));
    CU_ASSERT_TRUE(mi_map_topic_fits(m, 4, S("b_7"), S("f2_7")));
    CU_ASSERT_FALSE(mi_map_topic_fits(m, 4, S("b_7"), S("f2_8")));
    CU_ASSERT_FALSE(mi_map_stream_fits(m, 4, S("b_")));
    CU_ASSERT_TRUE(mi_map_stream_fits(m, 1, S("c_anything_x")));
    CU_ASSERT_TRUE(mi_map_topic_fits(m, 2, S("d"), S("t_a/b")));
    struct mi_span stream, topic;
    CU_ASSERT_TRUE(mi_map_constant_target(m, 3, &stream, &topic) && says(stream, "commands") &&
                   says(topic, "devices"));
    CU_ASSERT_FALSE(mi_map_constant_target(m, 0, &stream, &topic));
    CU_ASSERT_TRUE(mi_map_has_filter(m, 0) && mi_map_has_filter(m, 2) && !mi_map_has_filter(m, 3));
    mi_map_free(m);
}

static void random_template(struct dice *d, const char *filter, char *to, size_t size)
{
    unsigned wild = 0;
    for (const char *p = filter; *p; p++)
        wild += *p == '+' || *p == '#' || *p == '{';
    snprintf(to, size, "n");
    for (uint32_t i = roll(d, 4); i > 0; i--) {
        size_t at = strlen(to);
        uint32_t kind = roll(d, 6);
        if (kind < 3 && wild)
            snprintf(to + at, size - at, "{%u}", 1 + roll(d, wild));
        else
            snprintf(to + at, size - at, "%s", kind == 3 ? "{client_id}" : kind == 4 ? "{topic}" : "_x");
    }
}

/* Whatever goes out maps back to where it went, its names fit the templates, and a name with one byte more
 * does not. */
static void random_rules_map_back_what_they_send(void)
{
    struct dice d = dice_new();
    unsigned sent = 0;
    for (int round = 0; round < 3000; round++) {
        char filter[256], stream[256], topic[256];
        random_filter(&d, filter, sizeof filter);
        random_template(&d, filter, stream, sizeof stream);
        random_template(&d, filter, topic, sizeof topic);
        const struct mi_rule_spec r = {
            .name = "r", .filter = filter, .direction = MI_OUT, .stream = stream, .topic = topic};
        struct mi_map *m = map_of(&r, 1, 8, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(m);
        for (int i = 0; i < 30; i++) {
            char t[256];
            struct mi_hit h[MI_MAX_HITS];
            random_topic(&d, t, sizeof t);
            struct mi_map_input in = {.topic = S(t), .client_id = S(roll(&d, 2) ? "c" : "_x_")};
            if (mi_map_match(m, &in, h) == 0 || t[0] == '$')
                continue;
            sent++;
            bool back = mi_map_maps_back(m, 0, in.topic, h[0].stream, h[0].topic);
            bool fits = mi_map_stream_fits(m, 0, h[0].stream);
            if (!back || !fits)
                printf("  %s -> %s %s on %s: %d %d\n", filter, stream, topic, t, back, fits);
            CU_ASSERT_TRUE_FATAL(back && fits);
            char longer[600];
            snprintf(longer, sizeof longer, "%.*s", (int)h[0].stream.len, (const char *)h[0].stream.data);
            strcat(longer, "!");
            if (!strstr(stream, "{client_id}"))
                CU_ASSERT_FALSE_FATAL(mi_map_maps_back(m, 0, in.topic, S(longer), h[0].topic));
        }
        mi_map_free(m);
    }
    CU_ASSERT_TRUE(sent > 3000);
}

static void what_keeps_a_topic_in_one_partition(void)
{
    static const struct mi_rule_spec keyed[] = {
        {.name = "topic", .filter = "a/#", .direction = MI_BOTH, .stream = "s", .topic = "t"},
        {.name = "level",
         .filter = "b/{x}",
         .direction = MI_BOTH,
         .stream = "s{x}",
         .topic = "t",
         .partition_key = "k{x}"},
        {.name = "in turn",
         .filter = "c/#",
         .direction = MI_BOTH,
         .stream = "s",
         .topic = "t",
         .balanced = true},
        {.name = "client",
         .filter = "d/#",
         .direction = MI_BOTH,
         .stream = "s",
         .topic = "t",
         .partition_key = "{client_id}"},
        {.name = "user", .filter = "e/#", .direction = MI_BOTH, .stream = "of_{username}", .topic = "t"},
    };
    struct mi_map *m = map_of(keyed, 5, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    for (size_t i = 0; i < 6; i++)
        CU_ASSERT_EQUAL(mi_map_one_partition(m, i), i < 2);
    mi_map_free(m);
}

static CU_TestInfo tests[] = {
    {"only what the route sends there", only_what_the_route_sends_there},
    {"what the topic does not tell is any value", what_the_topic_does_not_tell_is_any_value},
    {"never wildcards dollar or control", never_wildcards_dollar_or_control},
    {"topics of native messages", topics_of_native_messages},
    {"substitutions are one level", substitutions_are_one_level},
    {"a native topic never begins with dollar", a_native_topic_never_begins_with_dollar},
    {"names that fit a template", names_that_fit_a_template},
    {"random rules map back what they send", random_rules_map_back_what_they_send},
    {"what keeps a topic in one partition", what_keeps_a_topic_in_one_partition},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("mapping back", tests)
