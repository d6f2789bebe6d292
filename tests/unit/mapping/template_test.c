/* template: substitutions, braces, what is constant, and what cannot be a target. */
#include "mapping/template.h"
#include "maps.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct mi_names room_and_number(void)
{
    struct mi_names n = {.count = 2};
    n.name[0] = mi_span_of("room");
    n.one_level[0] = true;
    return n;
}

static bool look_up(void *context, struct mi_span name, struct mi_span *value)
{
    (void)context;
    if (!mi_span_equal(name, mi_span_of("site")))
        return false;
    *value = mi_span_of("north");
    return true;
}

static void gives(const char *text, enum mi_template_use use, const char *expected)
{
    const struct mi_span captures[2] = {mi_span_of("R1"), mi_span_of("9")};
    const struct mi_values values = {.captures = captures,
                                     .topic = mi_span_of("a/b"),
                                     .client_id = mi_span_of("cid"),
                                     .username = mi_span_of("me"),
                                     .stream = mi_span_of("st"),
                                     .partition = mi_span_of("3"),
                                     .named = look_up};
    struct mi_names names = room_and_number();
    names.shown[0] = true;
    struct mi_template t;
    struct mi_error err = {""};
    struct mi_buf out;
    mi_buf_init(&out, 1000);
    if (mi_template_parse(&t, text, use, &names, &err) != 0)
        printf("  %s: %s\n", text, err.text);
    CU_ASSERT_TRUE(mi_template_expand(&t, &values, 1000, &out));
    CU_ASSERT_TRUE(says(mi_buf_span(&out), expected));
    mi_buf_fini(&out);
    mi_template_fini(&t);
}

static void every_substitution(void)
{
    gives("r_{room}", MI_USE_TARGET, "r_R1");
    gives("{1}-{2}", MI_USE_TARGET, "R1-9");
    gives("{topic}", MI_USE_KEY, "a/b");
    gives("{client_id}{username}", MI_USE_KEY, "cidme");
    gives("{property:site}/{property:none}x", MI_USE_KEY, "north/x");
    gives("{header:site}/{partition}/{stream}/{topic}/{room}", MI_USE_NATIVE, "north/3/st/a/b/R1");
    gives("constant", MI_USE_TARGET, "constant");
}

static void doubled_braces(void)
{
    gives("{{room}}", MI_USE_TARGET, "{room}");
    gives("{{{room}}}", MI_USE_TARGET, "{R1}");
    gives("a}}{{b", MI_USE_TARGET, "a}{b");
}

static void constant_and_topic_only(void)
{
    static const struct {
        const char *text;
        bool constant, topic_only;
    } cases[] = {
        {"abc", true, true},
        {"a{{b", true, true},
        {"a{room}", false, true},
        {"{topic}", false, true},
        {"{client_id}", false, false},
        {"x{username}", false, false},
        {"{property:p}", false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mi_names names = room_and_number();
        struct mi_template t;
        struct mi_span whole;
        CU_ASSERT_EQUAL_FATAL(mi_template_parse(&t, cases[i].text, MI_USE_KEY, &names, NULL), 0);
        CU_ASSERT_EQUAL(mi_template_constant(&t, &whole), cases[i].constant);
        CU_ASSERT_EQUAL(t.topic_only, cases[i].topic_only);
        mi_template_fini(&t);
    }
}

static void cut_at_the_maximum(void)
{
    struct mi_names names = room_and_number();
    struct mi_template t;
    struct mi_buf out;
    const struct mi_span captures[2] = {mi_span_of("12345"), mi_span_of("6789")};
    const struct mi_values values = {.captures = captures};
    mi_buf_init(&out, 100);
    mi_buf_add_text(&out, "before");
    CU_ASSERT_EQUAL_FATAL(mi_template_parse(&t, "x{1}{2}", MI_USE_TARGET, &names, NULL), 0);
    CU_ASSERT_TRUE(mi_template_expand(&t, &values, 8, &out));
    CU_ASSERT_TRUE(says(mi_buf_span(&out), "beforex1234567"));
    mi_template_fini(&t);
    mi_buf_fini(&out);
}

static void refused(const char *text, enum mi_template_use use, const char *words)
{
    struct mi_names names = room_and_number();
    struct mi_template t;
    struct mi_error err = {""};
    CU_ASSERT_EQUAL(mi_template_parse(&t, text, use, &names, &err), -1);
    if (!strstr(err.text, words))
        printf("  %s: %s\n", text, err.text);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, words));
}

static void refusals_say_how_to_mend(void)
{
    char longest[300] = "", parts[600] = "a";
    memset(longest, 'x', 256);
    for (int i = 0; i < MI_MAX_PIECES; i++)
        strcat(parts, "{room}");
    refused("s_{romm}", MI_USE_TARGET, "{romm} is not captured");
    refused("s_{3}", MI_USE_TARGET, "there are 2");
    refused("s_{0}", MI_USE_TARGET, "not captured");
    refused("s_{}", MI_USE_TARGET, "no substitution");
    refused("s_{a b}", MI_USE_TARGET, "no substitution");
    refused("s_{room", MI_USE_TARGET, "never closed");
    refused("s_room}", MI_USE_TARGET, "doubled");
    refused("s_{header:x}", MI_USE_TARGET, "belongs to mqtt_topic");
    refused("s_{partition}", MI_USE_KEY, "belongs to mqtt_topic");
    refused("s_{property:}", MI_USE_TARGET, "needs a name");
    refused("{room}", MI_USE_TARGET, "no fixed character");
    refused("1{room}2", MI_USE_TARGET, "no fixed character");
    refused("+{room}", MI_USE_TARGET, "no fixed character");
    refused("", MI_USE_TARGET, "empty");
    refused("12", MI_USE_TARGET, "numeric id");
    refused("+12", MI_USE_TARGET, "numeric id");
    refused(longest, MI_USE_TARGET, "256 bytes");
    strcat(longest, "{room}");
    refused(longest, MI_USE_TARGET, "make it shorter");
    refused("a\xff", MI_USE_TARGET, "UTF-8");
    refused(parts, MI_USE_TARGET, "make it shorter");
    refused("a/{client_id}", MI_USE_NATIVE, "belongs to a PUBLISH");
    refused("a/{room}", MI_USE_NATIVE, "neither in stream nor in topic");
    refused("a/+", MI_USE_NATIVE, "not a filter");
    refused("a/#", MI_USE_NATIVE, "not a filter");
    refused("a\tb", MI_USE_NATIVE, "control character");
    refused("a\xc2\x85", MI_USE_NATIVE, "control character");
    refused("$SYS/a", MI_USE_NATIVE, "begin with $");
    refused("", MI_USE_NATIVE, "empty");
}

static void a_name_shown_by_a_target_is_known_to_the_way_back(void)
{
    struct mi_names names = room_and_number();
    struct mi_template stream, back;
    CU_ASSERT_EQUAL_FATAL(mi_template_parse(&stream, "b_{room}", MI_USE_TARGET, &names, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(mi_template_parse(&back, "x/{room}", MI_USE_NATIVE, &names, NULL), 0);
    CU_ASSERT_EQUAL(back.pieces[1].kind, MI_PIECE_CAPTURE);
    CU_ASSERT_TRUE(back.pieces[1].one_level);
    mi_template_fini(&stream);
    mi_template_fini(&back);
}

static CU_TestInfo tests[] = {
    {"every substitution", every_substitution},
    {"doubled braces", doubled_braces},
    {"constant and topic only", constant_and_topic_only},
    {"cut at the maximum", cut_at_the_maximum},
    {"refusals say how to mend", refusals_say_how_to_mend},
    {"a name shown by a target is known to the way back", a_name_shown_by_a_target_is_known_to_the_way_back},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("mapping template", tests)
