/*
 * topic_checks: topics, partitions, options, and how current their counts are.
 */
#include <stdio.h>
#include <string.h>

#include "call.h"
#include "checks.h"
#include "support/process.h"
#include "support/suite.h"
#include "target.h"

static const cJSON *partition_at(const struct reply *r, int n)
{
    return cJSON_GetArrayItem(cJSON_GetObjectItem(r->json, "partitions"), n);
}

static struct reply *topic(const char *stream, const char *name)
{
    return callf("GET", NULL, "/streams/%s/topics/%s", stream, name);
}

static void a_topic_has_these_members(void)
{
    const char *stream = fresh_stream();
    make_topic(stream, "t", 3);
    struct reply *r = topic(stream, "t");
    expect(r, 200, 0);
    CU_ASSERT_STRING_EQUAL(text_of(r->json, "name"), "t");
    CU_ASSERT_STRING_EQUAL(text_of(r->json, "size"), "0 B");
    CU_ASSERT_STRING_EQUAL(text_of(r->json, "compression_algorithm"), "none");
    CU_ASSERT_EQUAL(number_of(r->json, "partitions_count"), 3);
    CU_ASSERT_PTR_NOT_NULL(strstr(r->body, "\"message_expiry\":18446744073709551615"));
    CU_ASSERT_EQUAL(cJSON_HasObjectItem(r->json, "options"), !target_is_08());
    CU_ASSERT_EQUAL(cJSON_HasObjectItem(r->json, "replication_factor"), target_is_08());
    const cJSON *p = partition_at(r, 2);
    CU_ASSERT_EQUAL(number_of(p, "id"), 2);
    CU_ASSERT_EQUAL(number_of(p, "current_offset"), 0);
    CU_ASSERT_EQUAL(number_of(p, "messages_count"), 0);
    CU_ASSERT_EQUAL(number_of(p, "segments_count"), 1);
    CU_ASSERT_TRUE(number_of(p, "created_at") > 1.7e15);
    CU_ASSERT_TRUE(cJSON_IsString(cJSON_GetObjectItem(p, "size")));
    r = callf("GET", NULL, "/streams/%s/topics", stream);
    CU_ASSERT_FALSE(cJSON_HasObjectItem(cJSON_GetArrayItem(r->json, 0), "partitions"));
}

static struct reply *create_raw(const char *stream, const char *members)
{
    char body[512];
    snprintf(body, sizeof body, "{%s}", members);
    return callf("POST", body, "/streams/%s/topics", stream);
}

static void all_members_of_a_creation_are_required(void)
{
    const char *stream = fresh_stream();
    expect_text(create_raw(stream, "\"name\":\"t\""), 422);
    expect_text(
        create_raw(stream, "\"name\":\"t\",\"partitions_count\":1,\"message_expiry\":0,\"max_topic_size\":0"),
        422);
    expect_text(create_raw(stream, "\"name\":\"t\",\"partitions_count\":1,\"compression_algorithm\":\"zip\","
                                   "\"message_expiry\":0,\"max_topic_size\":0"),
                422);
    expect_text(create_raw(stream, "\"name\":\"t\",\"partitions_count\":1,\"compression_algorithm\":\"none\","
                                   "\"message_expiry\":\"1 day\",\"max_topic_size\":0"),
                422);
    /* The size must be a number too, whatever the reference says. */
    expect_text(create_raw(stream, "\"name\":\"t\",\"partitions_count\":1,\"compression_algorithm\":\"none\","
                                   "\"message_expiry\":0,\"max_topic_size\":\"unlimited\""),
                422);
    expect(create_raw(stream, "\"name\":\"t\",\"partitions_count\":1,\"compression_algorithm\":\"none\","
                              "\"message_expiry\":60000000,\"max_topic_size\":18446744073709551615"),
           200, 0);
    CU_ASSERT_EQUAL(number_of(topic(stream, "t")->json, "message_expiry"), 60000000);
}

static void bad_topics_are_refused(void)
{
    const char *stream = fresh_stream();
    make_topic(stream, "t", 1);
    expect(create_topic(stream, "t", 1, NULL), 400, 2013);
    expect(create_topic(stream, "", 1, NULL), 400, 2014);
    expect(create_topic(stream, "many", 1001, NULL), 400, 2015);
    expect(create_raw(stream, "\"name\":\"s\",\"partitions_count\":1,\"compression_algorithm\":\"none\","
                              "\"message_expiry\":0,\"max_topic_size\":1000"),
           400, 1019);
    struct reply *r = create_topic("missing", "t", 1, NULL);
    expect(r, 404, target_is_08() ? 404 : 1009);
}

static void missing_topics(void)
{
    const char *stream = fresh_stream();
    expect(topic(stream, "missing"), 404, 404);
    expect(topic("missing", "t"), 404, 404);
    expect(callf("DELETE", NULL, "/streams/%s/topics/missing", stream), 404, 2010);
    expect(call("DELETE", "/streams/missing/topics/t", NULL), 404, 1009);
    struct reply *r = call("GET", "/streams/missing/topics", NULL);
    expect(r, target_is_08() ? 404 : 200, 0); /* 0.9: an empty list */
}

static void unknown_options_are_refused_by_09_and_ignored_by_08(void)
{
    const char *stream = fresh_stream();
    expect(create_topic(stream, "a", 1, "{\"nonsense\":\"1\"}"), target_is_08() ? 200 : 400,
           target_is_08() ? 0 : 4041);
    expect(create_topic(stream, "b", 1, "{\"messages_required_to_save\":\"x\"}"), target_is_08() ? 200 : 400,
           target_is_08() ? 0 : 4042);
    expect(create_topic(stream, "c", 1, "{\"messages_required_to_save\":1}"), target_is_08() ? 200 : 422, 0);
    expect(create_topic(stream, "d", 1, "{\"messages_required_to_save\":\"1\"}"), 200, 0);
    if (target_is_08())
        return;
    const cJSON *option = cJSON_GetObjectItem(cJSON_GetObjectItem(topic(stream, "d")->json, "options"),
                                              "messages_required_to_save");
    CU_ASSERT_STRING_EQUAL(text_of(option, "value"), "1");
    CU_ASSERT_TRUE(cJSON_IsTrue(cJSON_GetObjectItem(option, "explicit")));
}

static void partitions_come_and_go(void)
{
    const char *stream = fresh_stream();
    make_topic(stream, "t", 1);
    expect(callf("POST", "{\"partitions_count\":2}", "/streams/%s/topics/t/partitions", stream),
           target_is_08() ? 201 : 200, 0);
    CU_ASSERT_EQUAL(number_of(topic(stream, "t")->json, "partitions_count"), 3);
    expect(callf("POST", "{\"partitions_count\":0}", "/streams/%s/topics/t/partitions", stream), 400, 2015);
    expect(callf("POST", "{\"partitions_count\":1001}", "/streams/%s/topics/t/partitions", stream), 400,
           2015);
    expect(callf("DELETE", NULL, "/streams/%s/topics/t/partitions?partitions_count=1", stream), 204, 0);
    CU_ASSERT_EQUAL(number_of(topic(stream, "t")->json, "partitions_count"), 2);
    expect(callf("DELETE", NULL, "/streams/%s/topics/t/partitions?partitions_count=9", stream), 400, 2019);
    expect(callf("DELETE", NULL, "/streams/%s/topics/t/partitions", stream), 400, 0);
    expect(callf("POST", "{\"partitions_count\":1}", "/streams/%s/topics/missing/partitions", stream), 404,
           2010);
}

static void a_topic_made_again_has_a_new_birth(void)
{
    const char *stream = fresh_stream();
    make_topic(stream, "t", 1);
    expect(produce_many(stream, "t", 0, 3, 20), 201, 0);
    struct reply *before = topic(stream, "t");
    expect(callf("DELETE", NULL, "/streams/%s/topics/t", stream), 204, 0);
    make_topic(stream, "t", 1);
    struct reply *after = topic(stream, "t");
    CU_ASSERT_EQUAL(number_of(before->json, "id"), number_of(after->json, "id"));
    CU_ASSERT_TRUE(number_of(after->json, "created_at") > number_of(before->json, "created_at"));
    CU_ASSERT_EQUAL(number_of(after->json, "messages_count"), 0);
}

static const cJSON *named(const cJSON *list, const char *name)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        if (strcmp(text_of(item, "name"), name) == 0)
            return item;
    }
    return NULL;
}

static void counts_are_up_to_date_after_a_201(void)
{
    const char *stream = fresh_stream();
    make_topic(stream, "t", 2);
    for (int n = 1; n <= 20; n++) {
        expect(produce_many(stream, "t", 1, 1, 20), 201, 0);
        struct reply *r = call("GET", "/streams", NULL);
        CU_ASSERT_EQUAL(number_of(named(r->json, stream), "messages_count"), n);
        r = callf("GET", NULL, "/streams/%s", stream);
        CU_ASSERT_EQUAL(number_of(named(cJSON_GetObjectItem(r->json, "topics"), "t"), "messages_count"), n);
        r = topic(stream, "t");
        CU_ASSERT_EQUAL(number_of(partition_at(r, 0), "messages_count"), 0);
        CU_ASSERT_EQUAL(number_of(partition_at(r, 1), "messages_count"), n);
        CU_ASSERT_EQUAL(number_of(partition_at(r, 1), "current_offset"), n - 1);
    }
}

/* Asks for the topic until it has that many segments, or for two seconds: 0.9 deletes after it has answered.
 */
static struct reply *topic_with_segments(const char *stream, const char *name, double segments)
{
    for (int tries = 0;; tries++) {
        struct reply *r = topic(stream, name);
        if (number_of(partition_at(r, 0), "segments_count") == segments || tries == 100)
            return r;
        mi_sleep_ms(20);
    }
}

static void old_segments_can_be_deleted(void)
{
    const char *stream = fresh_stream();
    if (target_is_08()) {
        mi_skip("0.8 has no option for the segment size");
        return;
    }
    expect(create_topic(stream, "t", 1, "{\"segment_size\":\"1 MiB\"}"), 200, 0);
    for (int i = 0; i < 15; i++)
        expect(produce_many(stream, "t", 0, 1000, 200), 201, 0);
    struct reply *r = topic(stream, "t");
    double segments = number_of(partition_at(r, 0), "segments_count");
    CU_ASSERT_TRUE(segments >= 3);
    expect(callf("DELETE", NULL, "/streams/%s/topics/t/partitions/0?segments_count=1", stream), 204, 0);
    r = topic_with_segments(stream, "t", segments - 1);
    CU_ASSERT_EQUAL(number_of(partition_at(r, 0), "segments_count"), segments - 1);
    CU_ASSERT_EQUAL(number_of(partition_at(r, 0), "current_offset"), 14999);
    double kept = number_of(partition_at(r, 0), "messages_count");
    CU_ASSERT_TRUE(kept > 0 && kept < 15000); /* net of what is gone */
    r = poll_query(stream, "t", "kind=offset&value=0&count=1");
    CU_ASSERT_EQUAL(offset_at(r, 0), 15000 - kept); /* starts above the asked offset, without a word */
    expect(callf("DELETE", NULL, "/streams/%s/topics/t/partitions/0", stream), 400, 0);
}

CU_TestInfo topic_checks[] = {
    {"a topic has these members", a_topic_has_these_members},
    {"all members of a creation are required", all_members_of_a_creation_are_required},
    {"bad topics are refused", bad_topics_are_refused},
    {"missing topics", missing_topics},
    {"unknown options: refused by 0.9, ignored by 0.8", unknown_options_are_refused_by_09_and_ignored_by_08},
    {"partitions come and go", partitions_come_and_go},
    {"a topic made again has a new birth", a_topic_made_again_has_a_new_birth},
    {"counts are up to date after a 201", counts_are_up_to_date_after_a_201},
    {"old segments can be deleted", old_segments_can_be_deleted},
    CU_TEST_INFO_NULL};
