/* names: what Iggy can address by its name, and what may stand in an MQTT topic. */
#include "mapping/names.h"
#include "support/suite.h"

#include <string.h>

static enum mi_name_fault check(const char *text)
{
    return mi_name_check(mi_span_of(text));
}

static void numbers_are_no_names(void)
{
    CU_ASSERT_EQUAL(check("1"), MI_NAME_NUMBER);
    CU_ASSERT_EQUAL(check("0042"), MI_NAME_NUMBER);
    CU_ASSERT_EQUAL(check("99999999999999999999"), MI_NAME_NUMBER);
    CU_ASSERT_EQUAL(check("+7"), MI_NAME_NUMBER);
    CU_ASSERT_EQUAL(check("+"), MI_NAME_GOOD);
    CU_ASSERT_EQUAL(check("-7"), MI_NAME_GOOD);
    CU_ASSERT_EQUAL(check("7a"), MI_NAME_GOOD);
    CU_ASSERT_EQUAL(check("1.5"), MI_NAME_GOOD);
}

static void length_is_in_bytes(void)
{
    char text[258];
    memset(text, 'x', sizeof text);
    CU_ASSERT_EQUAL(mi_name_check((struct mi_span){(uint8_t *)text, 0}), MI_NAME_EMPTY);
    CU_ASSERT_EQUAL(mi_name_check((struct mi_span){(uint8_t *)text, 255}), MI_NAME_GOOD);
    CU_ASSERT_EQUAL(mi_name_check((struct mi_span){(uint8_t *)text, 256}), MI_NAME_LONG);
}

static void only_well_formed_utf8(void)
{
    static const char *const good[] = {
        "a b",          "\t",           "\xc2\x80",     "\xdf\xbf",         "\xe0\xa0\x80",
        "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"};
    static const char *const bad[] = {"\x80",
                                      "\xc0\x80",
                                      "\xc1\xbf",
                                      "\xc3",
                                      "\xe0\x9f\xbf",
                                      "\xe1\x80",
                                      "\xe1\x80\x41",
                                      "\xed\xa0\x80",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xff",
                                      "\xf0\x90\x80"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CU_ASSERT_EQUAL(check(good[i]), MI_NAME_GOOD);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CU_ASSERT_EQUAL(check(bad[i]), MI_NAME_BYTES);
    CU_ASSERT_EQUAL(mi_name_check((struct mi_span){(const uint8_t *)"a\0b", 3}), MI_NAME_BYTES);
}

static void what_may_be_one_level(void)
{
    static const char *const bad[] = {"",    "a/b",  "/",    "+",        "a+",  "#",
                                      "a#b", "a\tb", "\x7f", "\xc2\x85", "\xff"};
    CU_ASSERT_TRUE(mi_level_safe(mi_span_of("pump 7 é")));
    CU_ASSERT_TRUE(mi_level_safe(mi_span_of("\xc2\xa0")));
    CU_ASSERT_TRUE(mi_level_safe(mi_span_of("$x")));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CU_ASSERT_FALSE(mi_level_safe(mi_span_of(bad[i])));
    CU_ASSERT_FALSE(mi_level_safe((struct mi_span){(const uint8_t *)"a\0b", 3}));
}

static void what_may_be_a_topic(void)
{
    static char text[65537];
    memset(text, 'x', sizeof text);
    CU_ASSERT_TRUE(mi_topic_safe(mi_span_of("/a//b/")));
    CU_ASSERT_FALSE(mi_topic_safe(mi_span_of("$SYS/x")));
    CU_ASSERT_FALSE(mi_topic_safe(mi_span_of("a/+/b")));
    CU_ASSERT_FALSE(mi_topic_safe(mi_span_of("")));
    CU_ASSERT_TRUE(mi_topic_safe((struct mi_span){(uint8_t *)text, 65535}));
    CU_ASSERT_FALSE(mi_topic_safe((struct mi_span){(uint8_t *)text, 65536}));
}

static CU_TestInfo tests[] = {
    {"numbers are no names", numbers_are_no_names},   {"length is in bytes", length_is_in_bytes},
    {"only well formed utf8", only_well_formed_utf8}, {"what may be one level", what_may_be_one_level},
    {"what may be a topic", what_may_be_a_topic},     CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("mapping names", tests)
