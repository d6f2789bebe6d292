/*
 * restart_checks: what kill -9 destroys, what a graceful stop keeps, and by what signs a client sees either.
 * They come last: each restart ends all logins.
 */
#include <stdio.h>
#include <string.h>

#include "call.h"
#include "checks.h"
#include "support/process.h"
#include "support/suite.h"
#include "target.h"

static double messages(const char *stream, const char *topic)
{
    struct reply *r = callf("GET", NULL, "/streams/%s/topics/%s", stream, topic);
    expect(r, 200, 0);
    return number_of(r->json, "messages_count");
}

static double start_time(void)
{
    return number_of(call("GET", "/stats", NULL)->json, "start_time");
}

static bool restart(bool graceful)
{
    bool up = target_restart(graceful);
    CU_ASSERT_TRUE_FATAL(up);
    return up;
}

static void a_kill_loses_what_is_not_saved(void)
{
    const char *stream = fresh_stream();
    char body[64];
    make_topic(stream, "tail", 1);
    make_topic(stream, "saved", 1);
    expect(produce_many(stream, "tail", 0, 100, 20), 201, 0);
    expect(produce_many(stream, "saved", 0, 1000, 20), 201, 0);
    expect(produce_many(stream, "saved", 0, 24, 20), 201, 0); /* 1024: written */
    expect(produce_many(stream, "saved", 0, 10, 20), 201, 0);
    snprintf(body, sizeof body, "{\"consumer_id\":5,\"partition_id\":0,\"offset\":70}");
    expect(callf("PUT", body, "/streams/%s/topics/tail/consumer-offsets", stream), 204, 0);
    double born = number_of(callf("GET", NULL, "/streams/%s/topics/tail", stream)->json, "created_at");
    restart(false);
    CU_ASSERT_EQUAL(messages(stream, "tail"), 0);
    CU_ASSERT_EQUAL(messages(stream, "saved"), 1024);
    /* The topic is the same one, but its offsets are given again. */
    double moved =
        number_of(callf("GET", NULL, "/streams/%s/topics/tail", stream)->json, "created_at") - born;
    if (target_is_08()) { /* 0.8 tells the time of its log from then on, some milliseconds later */
        CU_ASSERT_TRUE(moved > 0 && moved < 1e6);
    } else {
        CU_ASSERT_EQUAL(moved, 0);
    }
    /* A stored offset beyond the tail is cut to the tail, and so is 0 in an empty partition: "next" skips a
     * message. */
    struct reply *r =
        callf("GET", NULL, "/streams/%s/topics/tail/consumer-offsets?consumer_id=5&partition_id=0", stream);
    CU_ASSERT_EQUAL(number_of(r->json, "stored_offset"), 0);
    expect(produce_many(stream, "tail", 0, 2, 20), 201, 0);
    CU_ASSERT_EQUAL(offset_at(poll_query(stream, "tail", "kind=first&count=1"), 0), 0);
    CU_ASSERT_EQUAL(offset_at(poll_query(stream, "tail", "kind=next&consumer_id=5&count=1"), 0), 1);
    expect(produce_many(stream, "saved", 0, 1, 20), 201, 0);
    CU_ASSERT_EQUAL(offset_at(poll_query(stream, "saved", "kind=last&count=1"), 0), 1024);
}

static void bytes_save_too(void)
{
    const char *stream = fresh_stream();
    make_topic(stream, "t", 1);
    expect(produce_many(stream, "t", 0, 1000, 1040), 201, 0); /* about 1.04 MB, below 1 MiB of payload */
    expect(produce_many(stream, "t", 0, 20, 1040), 201, 0);
    restart(false);
    CU_ASSERT_TRUE(messages(stream, "t") >= 1000);
}

static void an_option_makes_09_save_each_message(void)
{
    const char *stream = fresh_stream();
    expect(create_topic(stream, "t", 1, "{\"messages_required_to_save\":\"1\"}"), 200, 0);
    for (int i = 0; i < 5; i++)
        expect(produce_many(stream, "t", 0, 1, 20), 201, 0);
    restart(false);
    CU_ASSERT_EQUAL(messages(stream, "t"), target_is_08() ? 0 : 5);
}

static void a_graceful_stop_keeps_all(void)
{
    const char *stream = fresh_stream();
    make_topic(stream, "t", 1);
    expect(produce_many(stream, "t", 0, 7, 20), 201, 0);
    expect(callf("PUT", "{\"consumer_id\":5,\"partition_id\":0,\"offset\":3}",
                 "/streams/%s/topics/t/consumer-offsets", stream),
           204, 0);
    restart(true);
    CU_ASSERT_EQUAL(messages(stream, "t"), 7);
    CU_ASSERT_EQUAL(offset_at(poll_query(stream, "t", "kind=next&consumer_id=5&count=1"), 0), 4);
}

static void a_restart_ends_logins_and_not_access_tokens(void)
{
    char login[2048], token[128], body[200];
    snprintf(login, sizeof login, "%s", target_token());
    struct reply *r = call("POST", "/personal-access-tokens", "{\"name\":\"survivor\",\"expiry\":0}");
    expect(r, 200, 0);
    snprintf(token, sizeof token, "%s", text_of(r->json, "token"));
    restart(true);
    expect(call_as(login, "GET", "/streams", NULL), 401, target_is_08() ? 0 : 40);
    snprintf(body, sizeof body, "{\"token\":\"%s\"}", token);
    expect(call_as(NULL, "POST", "/personal-access-tokens/login", body), 200, 0);
    if (!target_is_08())
        expect(call_as(token, "GET", "/streams", NULL), 200, 0);
    expect(call("DELETE", "/personal-access-tokens/survivor", NULL), 204, 0);
}

/* In whole seconds: two starts within one second look the same. */
static void a_restart_shows_in_the_start_time(void)
{
    double before = start_time();
    mi_sleep_ms(1100);
    restart(false);
    CU_ASSERT_TRUE(start_time() > before);
}

static void users_survive_a_kill(void)
{
    expect(call("POST", "/users", "{\"username\":\"lasting\",\"password\":\"secret\",\"status\":\"active\"}"),
           200, 0);
    restart(false);
    expect(call_as(NULL, "POST", "/users/login", "{\"username\":\"lasting\",\"password\":\"secret\"}"), 200,
           0);
    expect(call("DELETE", "/users/lasting", NULL), 204, 0);
}

CU_TestInfo restart_checks[] = {
    {"a kill loses what is not saved", a_kill_loses_what_is_not_saved},
    {"bytes save too", bytes_save_too},
    {"an option makes 0.9 save each message", an_option_makes_09_save_each_message},
    {"a graceful stop keeps all", a_graceful_stop_keeps_all},
    {"a restart ends logins and not access tokens", a_restart_ends_logins_and_not_access_tokens},
    {"a restart shows in the start time", a_restart_shows_in_the_start_time},
    {"users survive a kill", users_survive_a_kill},
    CU_TEST_INFO_NULL};
