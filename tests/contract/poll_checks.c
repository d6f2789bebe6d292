/*
 * poll_checks: strategies, shapes, and the ends of a partition.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "checks.h"
#include "support/process.h"
#include "support/suite.h"
#include "target.h"

static const char *stream;

/* Ten messages in two batches of five, in partition 0 of 2. */
static void start(void)
{
    stream = fresh_stream();
    make_topic(stream, "t", 2);
    expect(produce_many(stream, "t", 0, 5, 20), 201, 0);
    mi_sleep_ms(3);
    expect(produce_many(stream, "t", 0, 5, 20), 201, 0);
}

/* Polls, and expects count messages from the first offset on (-1: none). */
static struct reply *expect_run(const char *query, int count, int first)
{
    struct reply *r = poll_query(stream, "t", query);
    bool good = r->status == 200 && number_of(r->json, "count") == count;
    for (int i = 0; good && i < count; i++)
        good = offset_at(r, i) == first + i;
    if (!good)
        fprintf(stderr, "\n    %s: wanted %d from %d, got %ld %.200s\n", query, count, first, r->status,
                r->body);
    CU_ASSERT_TRUE(good);
    return r;
}

static void every_strategy(void)
{
    start();
    expect_run("count=100", 10, 0);
    expect_run("", 10, 0);
    expect_run("kind=offset&value=8&count=100", 2, 8);
    expect_run("kind=o&value=7&count=1", 1, 7);
    expect_run("kind=first&count=2", 2, 0);
    expect_run("kind=last&count=2", 2, 8);
    expect_run("kind=last&count=100", 10, 0);
    expect_run("kind=next&count=3&consumer_id=500", 3, 0);
    expect_run("count=0", 0, -1);
    expect_run("kind=offset&value=100", 0, -1);
}

static void timestamps_find_the_first_message_at_or_after(void)
{
    char query[100];
    start();
    struct reply *r = expect_run("count=100", 10, 0);
    uint64_t first = (uint64_t)number_of(cJSON_GetObjectItem(message_at(r, 0), "header"), "timestamp");
    uint64_t last = (uint64_t)number_of(cJSON_GetObjectItem(message_at(r, 9), "header"), "timestamp");
    for (int i = 0; i < 10; i++) /* one stamp per batch */
        CU_ASSERT_EQUAL(number_of(cJSON_GetObjectItem(message_at(r, i), "header"), "timestamp"),
                        i < 5 ? first : last);
    snprintf(query, sizeof query, "kind=timestamp&count=100&value=%" PRIu64, last);
    expect_run(query, 5, 5);
    snprintf(query, sizeof query, "kind=timestamp&count=100&value=%" PRIu64, last - 1);
    expect_run(query, 5, 5);
    snprintf(query, sizeof query, "kind=timestamp&count=100&value=%" PRIu64, first);
    expect_run(query, 10, 0);
    expect_run("kind=timestamp&count=100&value=0", 10, 0);
    snprintf(query, sizeof query, "kind=timestamp&count=100&value=%" PRIu64, last + 1000000);
    expect_run(query, 0, -1);
}

static void a_message_has_these_members(void)
{
    stream = fresh_stream();
    make_topic(stream, "t", 1);
    expect(produce(stream, "t", 0,
                   "[{\"id\":\"340282366920938463463374607431768211455\",\"payload\":\"aGVsbG8=\"}]"),
           201, 0);
    struct reply *r = poll_query(stream, "t", "");
    const cJSON *header = cJSON_GetObjectItem(message_at(r, 0), "header");
    CU_ASSERT_EQUAL(number_of(r->json, "partition_id"), 0);
    CU_ASSERT_EQUAL(number_of(r->json, "current_offset"), 0);
    /* A number of 39 digits: not for readers that have only doubles. */
    CU_ASSERT_PTR_NOT_NULL(strstr(r->body, "\"id\":340282366920938463463374607431768211455,"));
    CU_ASSERT_EQUAL(number_of(header, "payload_length"), 5);
    CU_ASSERT_EQUAL(number_of(header, "user_headers_length"), 0);
    CU_ASSERT_TRUE(number_of(header, "timestamp") >= number_of(header, "origin_timestamp"));
    CU_ASSERT_TRUE(number_of(header, "origin_timestamp") > 1.7e15);
    CU_ASSERT_STRING_EQUAL(text_of(message_at(r, 0), "payload"), "aGVsbG8=");
    CU_ASSERT_TRUE(cJSON_IsArray(cJSON_GetObjectItem(message_at(r, 0), "user_headers")));
}

/* With nothing to return, 0.9 tells partition and tail, 0.8 two zeros. */
static void an_empty_answer_tells_the_tail_in_09_only(void)
{
    start();
    struct reply *r = expect_run("partition_id=0&kind=offset&value=100", 0, -1);
    CU_ASSERT_EQUAL(number_of(r->json, "current_offset"), target_is_08() ? 0 : 9);
    r = expect_run("partition_id=1", 0, -1);
    CU_ASSERT_EQUAL(number_of(r->json, "partition_id"), target_is_08() ? 0 : 1);
    CU_ASSERT_EQUAL(number_of(r->json, "current_offset"), 0);
    r = expect_run("kind=last&count=1", 1, 9);
    CU_ASSERT_EQUAL(number_of(r->json, "current_offset"), 9);
}

static void missing_things(void)
{
    start();
    expect(poll_query(stream, "t", "partition_id=9"), 404, 3007);
    expect(poll_query(stream, "missing", ""), 404, target_is_08() ? 2010 : 404);
    expect(poll_query("missing", "t", ""), 404, target_is_08() ? 1009 : 404);
}

static void bad_queries_are_400_in_plain_text(void)
{
    static const char *const bad[] = {"kind=nonsense",   "count=x",        "count=4294967296",
                                      "partition_id=-1", "value=-1",       "auto_commit=1",
                                      "consumer_id=",    "count=1&count=2"};
    start();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        expect_text(poll_query(stream, "t", bad[i]), 400);
    expect(poll_query(stream, "t", "unknown=1"), 200, 0);
    expect(poll_query(stream, "t", "consistency=linearizable"), 200, 0);
    expect(poll_query(stream, "t", "consistency=nonsense"), target_is_08() ? 200 : 400, 0);
}

static void an_answer_has_no_limit_but_the_count(void)
{
    stream = fresh_stream();
    make_topic(stream, "t", 1);
    for (int i = 0; i < 4; i++)
        expect(produce_many(stream, "t", 0, 1000, 900), 201, 0);
    struct reply *r = expect_run("count=100000", 4000, 0);
    CU_ASSERT_TRUE(r->len > 4000000);
}

static void a_new_partition_is_readable_within_a_second(void)
{
    stream = fresh_stream();
    for (int i = 0; i < 5; i++) {
        char topic[16];
        snprintf(topic, sizeof topic, "t%d", i);
        make_topic(stream, topic, 2);
        struct reply *r = callf("GET", NULL, "/streams/%s/topics/%s/messages?partition_id=1", stream, topic);
        if (r->status == 504) { /* 0.9, at once and for a moment only */
            CU_ASSERT_STRING_EQUAL(text_of(r->json, "code"), "partition_read_timeout");
        } else {
            expect(r, 200, 0);
        }
        expect(poll_query(stream, topic, "partition_id=1"), 200, 0);
    }
}

static void flush_is_08_only(void)
{
    start();
    struct reply *r = callf("GET", NULL, "/streams/%s/topics/t/messages/flush/0/true", stream);
    expect(r, target_is_08() ? 200 : 404, 0);
}

CU_TestInfo poll_checks[] = {
    {"every strategy", every_strategy},
    {"timestamps find the first message at or after", timestamps_find_the_first_message_at_or_after},
    {"a message has these members", a_message_has_these_members},
    {"an empty answer tells the tail in 0.9 only", an_empty_answer_tells_the_tail_in_09_only},
    {"polls of missing things", missing_things},
    {"bad queries are 400 in plain text", bad_queries_are_400_in_plain_text},
    {"an answer has no limit but the count", an_answer_has_no_limit_but_the_count},
    {"a new partition is readable within a second", a_new_partition_is_readable_within_a_second},
    {"flush is in 0.8 only", flush_is_08_only},
    CU_TEST_INFO_NULL};
