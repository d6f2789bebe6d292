/*
 * stream_checks: streams, their ids, and names of every kind.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "checks.h"
#include "support/suite.h"
#include "target.h"

static struct reply *create(const char *name)
{
    char body[600];
    snprintf(body, sizeof body, "{\"name\":\"%s\"}", name);
    return call("POST", "/streams", body);
}

static void a_stream_has_these_members(void)
{
    const char *stream = fresh_stream();
    struct reply *r = callf("GET", NULL, "/streams/%s", stream);
    expect(r, 200, 0);
    CU_ASSERT_STRING_EQUAL(text_of(r->json, "name"), stream);
    CU_ASSERT_TRUE(number_of(r->json, "created_at") > 1.7e15);
    CU_ASSERT_EQUAL(number_of(r->json, "messages_count"), 0);
    CU_ASSERT_EQUAL(number_of(r->json, "topics_count"), 0);
    CU_ASSERT_TRUE(cJSON_IsArray(cJSON_GetObjectItem(r->json, "topics")));
    CU_ASSERT_STRING_EQUAL(text_of(r->json, "size"), "0 B"); /* a string, never a number */
    r = call("GET", "/streams", NULL);
    expect(r, 200, 0);
    CU_ASSERT_PTR_NULL(cJSON_GetObjectItem(cJSON_GetArrayItem(r->json, 0), "topics"));
}

static void bad_stream_names_are_refused(void)
{
    char longer[300];
    memset(longer, 'x', 256);
    longer[256] = '\0';
    expect(create(""), 400, 1013);
    expect(create(longer), 400, 1013);
    expect(create(fresh_stream()), 400, 1012);
    expect_text(call("POST", "/streams", "{\"nam\":\"x\"}"), 422);
}

static void missing_streams(void)
{
    char longer[300] = "/streams/";
    memset(longer + 9, 'x', 256);
    expect(call("GET", "/streams/missing", NULL), 404, 404);
    expect(call("GET", "/streams/987654", NULL), 404, 404);
    expect(call("DELETE", "/streams/missing", NULL), 404, 1009);
    expect(call("PUT", "/streams/missing", "{\"name\":\"y\"}"), 404, 1009);
    expect(call("GET", longer, NULL), 400, 6);
    expect(call("GET", "/streams/%FF", NULL), 400, 0);
}

static void a_stream_can_be_renamed(void)
{
    const char *stream = fresh_stream();
    expect(create("renamed_other"), 200, 0);
    expect(callf("PUT", "{\"name\":\"renamed\"}", "/streams/%s", stream), 204, 0);
    expect(callf("GET", NULL, "/streams/%s", stream), 404, 404);
    expect(call("PUT", "/streams/renamed", "{\"name\":\"renamed_other\"}"), 400, 1012);
    expect(call("DELETE", "/streams/renamed", NULL), 204, 0);
    expect(call("DELETE", "/streams/renamed_other", NULL), 204, 0);
}

/* The lowest free one in 0.9, the one that was freed last in 0.8: here both are the same. */
static void a_free_id_is_given_again(void)
{
    double first = number_of(create("slot_a")->json, "id");
    double second = number_of(create("slot_b")->json, "id");
    CU_ASSERT_TRUE(first >= 0 && second >= 0 && second != first);
    expect(call("DELETE", "/streams/slot_a", NULL), 204, 0);
    CU_ASSERT_EQUAL(number_of(create("slot_c")->json, "id"), first);
    expect(call("DELETE", "/streams/slot_b", NULL), 204, 0);
    expect(call("DELETE", "/streams/slot_c", NULL), 204, 0);
}

/* Every byte but letters and digits, as the product does it. */
static void percent_encode(const char *name, char *out)
{
    for (; *name; name++)
        if ((*name >= '0' && *name <= '9') || (*name >= 'a' && *name <= 'z') ||
            (*name >= 'A' && *name <= 'Z'))
            *out++ = *name;
        else
            out += sprintf(out, "%%%02X", (unsigned)(unsigned char)*name);
    *out = '\0';
}

static void any_name_works_when_percent_encoded(void)
{
    static const char *const names[] = {
        "a/b",  "..", ".",  "a%2Fb", "x?y#z", "with space", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
        "+/#$", "1a", "-1", "007x",  "a&b=c"};
    char path[900], longest[256];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        expect(create(names[i]), 200, 0);
        strcpy(path, "/streams/");
        percent_encode(names[i], path + strlen(path));
        struct reply *r = call("GET", path, NULL);
        expect(r, 200, 0);
        CU_ASSERT_STRING_EQUAL(text_of(r->json, "name"), names[i]);
        expect(call("DELETE", path, NULL), 204, 0);
    }
    memset(longest, '_', 255);
    longest[255] = '\0';
    expect(create(longest), 200, 0);
    strcpy(path, "/streams/");
    percent_encode(longest, path + strlen(path));
    expect(call("DELETE", path, NULL), 204, 0);
}

static void a_name_of_digits_is_an_id(void)
{
    struct reply *r = create("123456");
    expect(r, 200, 0);
    double id = number_of(r->json, "id");
    expect(call("GET", "/streams/123456", NULL), 404, 404);
    expect(callf("DELETE", NULL, "/streams/%.0f", id), 204, 0);
    expect(create("4294967296"), 200, 0); /* no u32 any more: a name again */
    expect(call("DELETE", "/streams/4294967296", NULL), 204, 0);
}

/* Rust's number parser takes one plus sign; what it does not take is a name. */
static void a_plus_and_digits_are_an_id(void)
{
    static const char *const names[] = {"+", "++7", "+7a", "7+", "+4294967296"};
    char path[100];
    struct reply *r = create("plus");
    expect(r, 200, 0);
    double id = number_of(r->json, "id");
    r = callf("GET", NULL, "/streams/%%2B%.0f", id);
    expect(r, 200, 0);
    CU_ASSERT_STRING_EQUAL(text_of(r->json, "name"), "plus");
    r = callf("GET", NULL, "/streams/%%2B000%.0f", id);
    expect(r, 200, 0);
    expect(call("DELETE", "/streams/plus", NULL), 204, 0);
    r = create("+123456");
    expect(r, 200, 0);
    id = number_of(r->json, "id");
    expect(call("GET", "/streams/%2B123456", NULL), 404, 404);
    expect(callf("DELETE", NULL, "/streams/%.0f", id), 204, 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        expect(create(names[i]), 200, 0);
        strcpy(path, "/streams/");
        percent_encode(names[i], path + strlen(path));
        expect(call("DELETE", path, NULL), 204, 0);
    }
}

static void purge_starts_offsets_anew(void)
{
    const char *stream = fresh_stream();
    make_topic(stream, "t", 1);
    expect(produce_many(stream, "t", 0, 3, 20), 201, 0);
    expect(callf("DELETE", NULL, "/streams/%s/purge", stream), 204, 0);
    expect(produce_many(stream, "t", 0, 1, 20), 201, 0);
    struct reply *r = poll_query(stream, "t", "kind=last&count=1");
    CU_ASSERT_EQUAL(offset_at(r, 0), 0);
}

CU_TestInfo stream_checks[] = {{"a stream has these members", a_stream_has_these_members},
                               {"bad stream names are refused", bad_stream_names_are_refused},
                               {"missing streams", missing_streams},
                               {"a stream can be renamed", a_stream_can_be_renamed},
                               {"a free id is given again", a_free_id_is_given_again},
                               {"any name works when percent-encoded", any_name_works_when_percent_encoded},
                               {"a name of digits is an id", a_name_of_digits_is_an_id},
                               {"a plus and digits are an id", a_plus_and_digits_are_an_id},
                               {"purge starts offsets anew", purge_starts_offsets_anew},
                               CU_TEST_INFO_NULL};
