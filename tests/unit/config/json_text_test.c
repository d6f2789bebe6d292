/* json_text: comments, bytes, syntax errors with their line, and where a key stands. */
#include "config/json_text.h"
#include "support/suite.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static struct mi_error err;
static unsigned line;

/* Parses a copy; true when it is accepted. *kept (may be NULL) is the cleaned text, to be freed. */
static bool parse(const char *text, size_t len, char **kept, cJSON **tree)
{
    char *copy = malloc(len + 1);
    memcpy(copy, text, len);
    copy[len] = 0;
    cJSON *parsed = mi_json_parse(copy, len, &line, &err);
    if (tree)
        *tree = parsed;
    else
        cJSON_Delete(parsed);
    if (kept)
        *kept = copy;
    else
        free(copy);
    return parsed != NULL;
}

static bool accepted(const char *text)
{
    return parse(text, strlen(text), NULL, NULL);
}

static bool refused(const char *text, unsigned at, const char *part)
{
    return !accepted(text) && line == at && strstr(err.text, part);
}

static void comments_are_spaces_and_texts_are_not_comments(void)
{
    cJSON *tree;
    const char *text = "\xef\xbb\xbf// first\n{ /* a\n b */ \"url\": \"http://h:1/*x*/\", // end \"quote\n "
                       "\"q\": \"a\\\"//b\" }";
    CU_ASSERT_TRUE_FATAL(parse(text, strlen(text), NULL, &tree));
    CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(tree, "url")->valuestring, "http://h:1/*x*/");
    CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(tree, "q")->valuestring, "a\"//b");
    cJSON_Delete(tree);
}

static void syntax_errors_name_their_line(void)
{
    CU_ASSERT_TRUE(refused("{\n \"a\": 1\n \"b\": 2 }", 3, "comma is missing before \"b\""));
    CU_ASSERT_TRUE(refused("{\n \"a\": 1,\n}", 3, "comma too many"));
    CU_ASSERT_TRUE(refused("{\n \"a\": [1,\n2,]\n}", 3, "comma too many"));
    CU_ASSERT_TRUE(refused("{\n \"a\": nonsense\n}", 2, "at: nonsense"));
    CU_ASSERT_TRUE(refused("{\n \"a\": 1\n", 3, "ends too early"));
    CU_ASSERT_TRUE(refused("{} \n\n x", 3, "at: x"));
    CU_ASSERT_TRUE(refused("", 1, "empty"));
    CU_ASSERT_TRUE(refused(" // nothing\n\n", 3, "empty"));
    CU_ASSERT_TRUE(refused("{\n/* a\n", 2, "never ends"));
    CU_ASSERT_TRUE(refused("{\n\"a\": \"x\n}", 2, "quote is missing"));
}

static void bytes_that_are_no_text_are_refused(void)
{
    CU_ASSERT_TRUE(refused("{\n\"a\": \"\xff\"}", 2, "UTF-8"));
    CU_ASSERT_TRUE(refused("{\n\"a\": \"\xed\xa0\x80\"}", 2, "UTF-8"));
    CU_ASSERT_TRUE(refused("{\n\"a\": \"\xc0\xaf\"}", 2, "UTF-8"));
    CU_ASSERT_TRUE(refused("{\n\"a\": \"x\\u0000y\"}", 2, "NUL"));
    CU_ASSERT_TRUE(accepted("{\"a\": \"x\\\\u0000y \xf0\x9f\x98\x80 \xd1\x82\"}"));
    CU_ASSERT_FALSE(parse("{}\0{}", 5, NULL, NULL));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "NUL"));
}

static void deep_nesting_is_an_error_and_not_a_crash(void)
{
    enum { DEPTH = 200000 };
    char *text = malloc(DEPTH);
    memset(text, '[', DEPTH);
    CU_ASSERT_FALSE(parse(text, DEPTH, NULL, NULL));
    for (size_t i = 0; i + 5 <= DEPTH; i += 5)
        memcpy(text + i, "{\"a\":", 5);
    CU_ASSERT_FALSE(parse(text, DEPTH, NULL, NULL));
    free(text);
}

static void a_key_is_found_on_its_line(void)
{
    char *t;
    const char *text =
        "// one\n{ \"a\": { \"x\": \"}]\\\"\",\n \"y\": 2 },\n \"list\": [ 1, { \"k\": [[], {}] },\n"
        "  { \"k\": 1,\n    \"k\":\n 2 } ],\n \"z\" : null }\n";
    CU_ASSERT_TRUE_FATAL(parse(text, strlen(text), &t, NULL));
    CU_ASSERT_EQUAL(mi_json_line(t, "", NULL, 0), 2);
    CU_ASSERT_EQUAL(mi_json_line(t, "", "a", 0), 2);
    CU_ASSERT_EQUAL(mi_json_line(t, "a", "y", 0), 3);
    CU_ASSERT_EQUAL(mi_json_line(t, "list[1]", "k", 0), 4);
    CU_ASSERT_EQUAL(mi_json_line(t, "list[2]", NULL, 0), 5);
    CU_ASSERT_EQUAL(mi_json_line(t, "list[2]", "k", 1), 6);
    CU_ASSERT_EQUAL(mi_json_line(t, "", "z", 0), 8);
    free(t);
}

static void what_is_not_there_gives_the_line_of_its_parent(void)
{
    char *t;
    const char *text = "{\n \"a\":\n  { \"x\": 1 },\n \"l\": [\n 5 ] }";
    CU_ASSERT_TRUE_FATAL(parse(text, strlen(text), &t, NULL));
    CU_ASSERT_EQUAL(mi_json_line(t, "a", "nope", 0), 2);
    CU_ASSERT_EQUAL(mi_json_line(t, "a.b.c", "d", 0), 2);
    CU_ASSERT_EQUAL(mi_json_line(t, "l[7]", "d", 0), 4);
    CU_ASSERT_EQUAL(mi_json_line(t, "l[0]", "d", 0), 5);
    CU_ASSERT_EQUAL(mi_json_line(t, "none", "d", 0), 1);
    free(t);
}

static CU_TestInfo tests[] = {
    {"comments are spaces, texts are not comments", comments_are_spaces_and_texts_are_not_comments},
    {"syntax errors name their line", syntax_errors_name_their_line},
    {"bytes that are no text are refused", bytes_that_are_no_text_are_refused},
    {"deep nesting is an error and not a crash", deep_nesting_is_an_error_and_not_a_crash},
    {"a key is found on its line", a_key_is_found_on_its_line},
    {"what is not there gives the line of its parent", what_is_not_there_gives_the_line_of_its_parent},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("json_text", tests)
