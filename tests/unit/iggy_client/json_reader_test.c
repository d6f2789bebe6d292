/* json_reader: exact numbers, escapes, unknown members, bounds; a text that is cut anywhere is never read as
 * whole. */
#include "json_reader.h"

#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

static uint8_t text[65536];

/* The reader writes into its text: each use gets a copy. */
static struct json start(const char *json)
{
    size_t len = strlen(json);
    memcpy(text, json, len);
    return json_start(text, len);
}

static bool skips(const char *json)
{
    struct json j = start(json);
    json_skip(&j);
    return json_end(&j);
}

static void values_that_are_json(void)
{
    static const char *const good[] = {
        "null",     " true ",     "false", "0",  "-0.5e+10",     "1E5",
        "\"\"",     "\"a\\\"b\"", "[]",    "{}", "[1,2,[3,{}]]", "{\"a\":{\"b\":[null]},\"c\":\"}\"}",
        "\t\r\n[ ]"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        CU_ASSERT_TRUE(skips(good[i]));
}

static void values_that_are_not(void)
{
    static const char *const bad[] = {"",          " ",
                                      "nul",       "truer",
                                      "tru",       "-",
                                      "1.",        "1e",
                                      ".5",        "\"",
                                      "\"\\\"",    "[",
                                      "[1",        "[1,",
                                      "[1,]",      "[,1]",
                                      "[1 2]",     "{",
                                      "{\"a\"",    "{\"a\":",
                                      "{\"a\":1",  "{\"a\":1,}",
                                      "{,}",       "{1:2}",
                                      "{\"a\" 1}", "{\"a\":1 \"b\":2}",
                                      "]",         "}",
                                      "[}",        "{]",
                                      "[1}",       "{\"a\":1]",
                                      "1 2",       "[] []",
                                      "nan",       "<html>",
                                      "{\"a\"}",   "[\"a\":1]"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CU_ASSERT_FALSE(skips(bad[i]));
}

static void nesting_is_bounded(void)
{
    char nested[200];
    for (size_t depth = 1; depth < 90; depth++) {
        memset(nested, '[', depth);
        memset(nested + depth, ']', depth);
        nested[2 * depth] = '\0';
        CU_ASSERT_EQUAL(skips(nested), depth <= JSON_MAX_DEPTH);
    }
}

static bool reads_u128(const char *json, struct iggy_id *id)
{
    struct json j = start(json);
    json_u128(&j, id);
    return json_end(&j);
}

static void numbers_are_exact(void)
{
    struct iggy_id id;
    CU_ASSERT_TRUE(reads_u128("340282366920938463463374607431768211455", &id));
    CU_ASSERT_TRUE(id.hi == UINT64_MAX && id.lo == UINT64_MAX);
    CU_ASSERT_TRUE(reads_u128("18446744073709551616", &id));
    CU_ASSERT_TRUE(id.hi == 1 && id.lo == 0);
    CU_ASSERT_TRUE(reads_u128("196574893023847234987234987234987", &id));
    CU_ASSERT_TRUE(id.hi == 0x9b11fbc6c8cull && id.lo == 0xa4479a6cd6656abull);
    static const char *const bad[] = {"340282366920938463463374607431768211456",
                                      "1000000000000000000000000000000000000000",
                                      "-1",
                                      "1.0",
                                      "1e3",
                                      "01",
                                      "\"1\"",
                                      "null",
                                      "+1",
                                      "0x1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CU_ASSERT_FALSE(reads_u128(bad[i], &id));
    uint64_t wide = 0;
    struct json j = start("18446744073709551615");
    CU_ASSERT_TRUE(json_u64(&j, &wide) && json_end(&j) && wide == UINT64_MAX);
    j = start("18446744073709551616");
    CU_ASSERT_FALSE(json_u64(&j, &wide));
    uint32_t narrow = 0;
    j = start("4294967295");
    CU_ASSERT_TRUE(json_u32(&j, &narrow) && narrow == UINT32_MAX);
    j = start("4294967296");
    CU_ASSERT_FALSE(json_u32(&j, &narrow));
}

static bool reads_string(const char *json, const char *expected, size_t len)
{
    struct json j = start(json);
    struct mi_span value;
    return json_string(&j, &value) && json_end(&j) && value.len == len &&
           memcmp(value.data, expected, len) == 0;
}

static void escapes_are_resolved(void)
{
    CU_ASSERT_TRUE(reads_string("\"plain\"", "plain", 5));
    CU_ASSERT_TRUE(reads_string("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8));
    CU_ASSERT_TRUE(reads_string("\"\\u0041\\u00e4\\u20AC\\u0000x\"", "A\xc3\xa4\xe2\x82\xac\0x", 8));
    CU_ASSERT_TRUE(reads_string("\"\\ud83d\\ude00!\"", "\xf0\x9f\x98\x80!", 5));
    CU_ASSERT_TRUE(reads_string("\"a long string without an escape until \\u0021\"",
                                "a long string without an escape until !", 39));
    static const char *const bad[] = {"\"\\x\"",      "\"\\u12\"",   "\"\\u123g\"",        "\"\\ud83d\"",
                                      "\"\\ud83dx\"", "\"\\ude00\"", "\"\\ud83d\\u0041\"", "\"\\"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CU_ASSERT_FALSE(reads_string(bad[i], "", 0));
}

/* Reads {"n":..,"s":..,"list":[..]} in any order with unknown members between. */
static bool read_known(uint8_t *json, size_t len, uint64_t *n, struct mi_span *s, size_t *items)
{
    struct json j = json_start(json, len);
    struct mi_span key;
    *items = 0;
    for (bool more = json_object(&j); more && json_member(&j, &key);) {
        if (json_key_is(key, "n"))
            json_u64(&j, n);
        else if (json_key_is(key, "s"))
            json_string(&j, s);
        else if (json_key_is(key, "list"))
            for (bool any = json_array(&j); any && json_item(&j);)
                *items += json_skip(&j);
        else
            json_skip(&j);
    }
    return json_end(&j);
}

static const char known[] =
    "{\"x\":[{\"n\":1},\"]\"],\"n\":42,\"y\":null,\"list\":[1,[2,3],{\"n\":4}],\"\":{},\"s\":\"t\\u0065xt\"}";

static void unknown_members_are_skipped(void)
{
    uint64_t n = 0;
    struct mi_span s = {0};
    size_t items;
    memcpy(text, known, sizeof known);
    CU_ASSERT_TRUE(read_known(text, sizeof known - 1, &n, &s, &items));
    CU_ASSERT_EQUAL(n, 42);
    CU_ASSERT_EQUAL(items, 3);
    CU_ASSERT_TRUE(s.len == 4 && memcmp(s.data, "text", 4) == 0);
}

static void a_cut_text_is_never_whole(void)
{
    uint64_t n;
    struct mi_span s;
    size_t items;
    for (size_t len = 0; len < sizeof known - 1; len++) {
        /* A block of its own, so that a sanitizer sees a read past its end. */
        uint8_t *cut = malloc(len ? len : 1);
        memcpy(cut, known, len);
        CU_ASSERT_FALSE(read_known(cut, len, &n, &s, &items));
        free(cut);
    }
}

static void errors_stick(void)
{
    struct json j = start("[1,x,3]");
    uint64_t n = 0;
    CU_ASSERT_TRUE(json_array(&j) && json_item(&j) && json_u64(&j, &n) && json_item(&j));
    CU_ASSERT_FALSE(json_u64(&j, &n));
    CU_ASSERT_FALSE(json_item(&j));
    CU_ASSERT_FALSE(json_skip(&j));
    CU_ASSERT_EQUAL(json_peek(&j), JSON_NONE);
    CU_ASSERT_FALSE(json_end(&j));
}

static void raw_keeps_the_text(void)
{
    struct json j = start("{\"p\": {\"a\\n\": [1 , 2]} }");
    struct mi_span key, raw;
    CU_ASSERT_TRUE(json_object(&j) && json_member(&j, &key) && json_raw(&j, &raw));
    CU_ASSERT_TRUE(raw.len == 16 && memcmp(raw.data, "{\"a\\n\": [1 , 2]}", 16) == 0);
    CU_ASSERT_FALSE(json_member(&j, &key));
    CU_ASSERT_TRUE(json_end(&j));
}

/* Whatever the bytes are, reading ends, and a sanitizer finds nothing. */
static void damage_does_no_harm(void)
{
    srand(7);
    for (int i = 0; i < 20000; i++) {
        uint8_t *damaged = malloc(sizeof known - 1);
        memcpy(damaged, known, sizeof known - 1);
        for (int k = rand() % 4 + 1; k > 0; k--)
            damaged[(size_t)rand() % (sizeof known - 1)] = (uint8_t)("\"\\{}[]:,019utn\0\xff"[rand() % 17]);
        uint64_t n;
        struct mi_span s;
        size_t items;
        read_known(damaged, sizeof known - 1, &n, &s, &items);
        CU_ASSERT_TRUE(items <= sizeof known);
        free(damaged);
    }
}

static CU_TestInfo tests[] = {{"values_that_are_json", values_that_are_json},
                              {"values_that_are_not", values_that_are_not},
                              {"nesting_is_bounded", nesting_is_bounded},
                              {"numbers_are_exact", numbers_are_exact},
                              {"escapes_are_resolved", escapes_are_resolved},
                              {"unknown_members_are_skipped", unknown_members_are_skipped},
                              {"a_cut_text_is_never_whole", a_cut_text_is_never_whole},
                              {"errors_stick", errors_stick},
                              {"raw_keeps_the_text", raw_keeps_the_text},
                              {"damage_does_no_harm", damage_does_no_harm},
                              CU_TEST_INFO_NULL};
MI_SUITE_MAIN("json_reader", tests)
