/*
 * offset_checks: consumer offsets and consumer groups.
 */
#include <stdio.h>
#include <string.h>

#include "call.h"
#include "checks.h"
#include "support/suite.h"
#include "target.h"

static const char *stream;

/* Ten messages in partition 0 of 2. */
static void start(void)
{
    stream = fresh_stream();
    make_topic(stream, "t", 2);
    expect(produce_many(stream, "t", 0, 10, 20), 201, 0);
}

static struct reply *store(const char *body)
{
    return callf("PUT", body, "/streams/%s/topics/t/consumer-offsets", stream);
}

static struct reply *get(const char *query)
{
    return callf("GET", NULL, "/streams/%s/topics/t/consumer-offsets?%s", stream, query);
}

static void nothing_stored_is_404(void)
{
    start();
    expect(get("consumer_id=5&partition_id=0"), 404, 404);
    expect(get("consumer_id=5&partition_id=9"), 404, 404);
}

static void a_stored_offset_comes_back_and_may_go_back(void)
{
    start();
    expect(store("{\"consumer_id\":5,\"partition_id\":0,\"offset\":7}"), 204, 0);
    struct reply *r = get("consumer_id=5&partition_id=0");
    expect(r, 200, 0);
    CU_ASSERT_EQUAL(number_of(r->json, "stored_offset"), 7);
    CU_ASSERT_EQUAL(number_of(r->json, "current_offset"), 9);
    expect(store("{\"consumer_id\":\"5\",\"partition_id\":0,\"offset\":2}"), 204, 0);
    CU_ASSERT_EQUAL(number_of(get("consumer_id=5&partition_id=0")->json, "stored_offset"), 2);
    CU_ASSERT_EQUAL(offset_at(poll_query(stream, "t", "kind=next&consumer_id=5&count=1"), 0), 3);
}

static void names_are_consumers_too(void)
{
    start();
    expect(store("{\"consumer_id\":\"mqtt.edge-1/\xc3\xa4\",\"partition_id\":0,\"offset\":4}"), 204, 0);
    struct reply *r = get("consumer_id=mqtt.edge-1%2F%C3%A4&partition_id=0");
    CU_ASSERT_EQUAL(number_of(r->json, "stored_offset"), 4);
    r = poll_query(stream, "t", "kind=next&consumer_id=mqtt.edge-1%2F%C3%A4&count=1");
    CU_ASSERT_EQUAL(offset_at(r, 0), 5);
}

static void offsets_beyond_the_tail_are_refused(void)
{
    start();
    expect(store("{\"consumer_id\":5,\"partition_id\":0,\"offset\":9}"), 204, 0);
    expect(store("{\"consumer_id\":5,\"partition_id\":0,\"offset\":10}"), 400, 4100);
    expect(store("{\"consumer_id\":5,\"partition_id\":1,\"offset\":0}"), 400, 4100); /* empty */
}

static void what_may_be_left_out(void)
{
    start();
    expect(store("{\"partition_id\":0,\"offset\":1}"), 204, 0); /* consumer 1 */
    CU_ASSERT_EQUAL(number_of(get("")->json, "stored_offset"), 1);
    expect_text(store("{\"consumer_id\":5,\"partition_id\":0}"), 422);
    expect_text(store("{\"consumer_id\":\"\",\"partition_id\":0,\"offset\":1}"), 422);
    struct reply *r = store("{\"consumer_id\":5,\"offset\":1}"); /* no partition */
    expect(r, target_is_08() ? 204 : 404, target_is_08() ? 0 : 20);
}

static void missing_targets_of_offsets(void)
{
    static const char body[] = "{\"consumer_id\":5,\"partition_id\":0,\"offset\":0}";
    start();
    expect(store("{\"consumer_id\":5,\"partition_id\":9,\"offset\":0}"), 404, target_is_08() ? 3007 : 20);
    struct reply *r = callf("PUT", body, "/streams/%s/topics/missing/consumer-offsets", stream);
    expect(r, 404, target_is_08() ? 2010 : 20);
}

static void offsets_can_be_deleted(void)
{
    start();
    expect(store("{\"consumer_id\":5,\"partition_id\":0,\"offset\":7}"), 204, 0);
    if (!target_is_08())
        expect(callf("DELETE", NULL, "/streams/%s/topics/t/consumer-offsets/5", stream), 404, 20);
    expect(callf("DELETE", NULL, "/streams/%s/topics/t/consumer-offsets/5?partition_id=0", stream), 204, 0);
    expect(callf("DELETE", NULL, "/streams/%s/topics/t/consumer-offsets/5?partition_id=0", stream), 404,
           3021);
    expect(get("consumer_id=5&partition_id=0"), 404, 404);
}

/* The offset moves when the answer is made, before the client has it. */
static void auto_commit_moves_back_in_08_only(void)
{
    start();
    for (int i = 0; i < 2; i++)
        CU_ASSERT_EQUAL(
            offset_at(poll_query(stream, "t", "kind=next&count=3&consumer_id=6&auto_commit=true"), 0), 3 * i);
    CU_ASSERT_EQUAL(number_of(get("consumer_id=6&partition_id=0")->json, "stored_offset"), 5);
    expect(poll_query(stream, "t", "kind=first&count=1&consumer_id=6&auto_commit=true"), 200, 0);
    CU_ASSERT_EQUAL(number_of(get("consumer_id=6&partition_id=0")->json, "stored_offset"),
                    target_is_08() ? 0 : 5);
}

static void groups_exist_but_have_no_members(void)
{
    start();
    struct reply *r = callf("POST", "{\"name\":\"g\"}", "/streams/%s/topics/t/consumer-groups", stream);
    expect(r, target_is_08() ? 201 : 200, 0);
    CU_ASSERT_EQUAL(number_of(r->json, "members_count"), 0);
    CU_ASSERT_EQUAL(number_of(r->json, "partitions_count"), 2);
    expect(callf("POST", "{\"name\":\"g\"}", "/streams/%s/topics/t/consumer-groups", stream), 400, 5004);
    expect(callf("POST", "{\"name\":\"\"}", "/streams/%s/topics/t/consumer-groups", stream), 400, 5005);
    expect(callf("GET", NULL, "/streams/%s/topics/t/consumer-groups/g", stream), 200, 0);
    r = callf("GET", NULL, "/streams/%s/topics/t/consumer-groups/missing", stream);
    expect(r, 404, target_is_08() ? 5000 : 404);
    expect(callf("DELETE", NULL, "/streams/%s/topics/t/consumer-groups/missing", stream), 404, 5000);
    expect(callf("DELETE", NULL, "/streams/%s/topics/t/consumer-groups/g", stream), 204, 0);
}

CU_TestInfo offset_checks[] = {
    {"nothing stored is 404", nothing_stored_is_404},
    {"a stored offset comes back and may go back", a_stored_offset_comes_back_and_may_go_back},
    {"names are consumers too", names_are_consumers_too},
    {"offsets beyond the tail are refused", offsets_beyond_the_tail_are_refused},
    {"what may be left out of an offset", what_may_be_left_out},
    {"missing targets of offsets", missing_targets_of_offsets},
    {"offsets can be deleted", offsets_can_be_deleted},
    {"auto-commit moves back in 0.8 only", auto_commit_moves_back_in_08_only},
    {"groups exist but have no members", groups_exist_but_have_no_members},
    CU_TEST_INFO_NULL};
