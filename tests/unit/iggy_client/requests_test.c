/* requests: what each call of the API sends, byte for byte, and what its answers become. */
#include "calls.h"
#include "stub.h"

#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
    struct stub *stub;
    struct iggy_client *client;
    struct call call;
};

static void set_up(struct fixture *f, const struct stub_rule *rules)
{
    memset(f, 0, sizeof *f);
    f->stub = stub_start(rules);
    const char *urls[] = {stub_url(f->stub)};
    struct iggy_options options = {.urls = urls, .url_count = 1, .username = "bob", .password = "secret"};
    f->client = iggy_client_new(&options, NULL, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->client);
}

static void tear_down(struct fixture *f)
{
    call_clear(&f->call);
    iggy_client_free(f->client);
    stub_stop(f->stub);
}

/* Waits for the call and looks for the request that it must have made: request line, and the whole body. */
static void expect(struct fixture *f, const char *line, const char *body)
{
    call_wait(f->client, &f->call);
    const char *sent = stub_request(f->stub, line, 0);
    const char *sent_body = strstr(sent, "\r\n\r\n");
    if (!*sent || strcmp(sent_body + 4, body) != 0)
        printf("    wanted: %s, body %s\n    got: %s\n", line, body, sent);
    CU_ASSERT_TRUE(*sent && strcmp(sent_body + 4, body) == 0);
    call_clear(&f->call);
}

static void what_is_sent(void)
{
    const struct stub_rule rules[] = {STUB_LOGIN, STUB_ME, {.request = NULL}};
    struct fixture f;
    set_up(&f, rules);
    struct iggy_client *c = f.client;
    struct call *call = &f.call;
    iggy_create_stream(c, s("a\"b/\xc3\xa4"), on_done, call);
    expect(&f, "POST /streams HTTP/1.1", "{\"name\":\"a\\\"b/\xc3\xa4\"}");
    struct iggy_topic_options options = {
        .partitions = 4, .message_expiry_us = 30000000, .max_bytes = UINT64_MAX};
    iggy_create_topic(c, s("a/b"), s("t.1"), &options, on_done, call);
    expect(&f, "POST /streams/a%2Fb/topics HTTP/1.1",
           "{\"name\":\"t.1\",\"partitions_count\":4,\"compression_algorithm\":\"none\",\"message_expiry\":"
           "30000000,"
           "\"max_topic_size\":18446744073709551615}");
    iggy_get_topic(c, s(".."), s("50% ?#"), on_topic, call);
    expect(&f, "GET /streams/%2E%2E/topics/50%25%20%3F%23 HTTP/1.1", "");
    iggy_delete_stream(c, s("x"), on_done, call);
    expect(&f, "DELETE /streams/x HTTP/1.1", "");
    iggy_delete_topic(c, s("x"), s("y"), on_done, call);
    expect(&f, "DELETE /streams/x/topics/y HTTP/1.1", "");
    iggy_create_partitions(c, s("x"), s("y"), 3, on_done, call);
    expect(&f, "POST /streams/x/topics/y/partitions HTTP/1.1", "{\"partitions_count\":3}");
    iggy_delete_partitions(c, s("x"), s("y"), 2, on_done, call);
    expect(&f, "DELETE /streams/x/topics/y/partitions?partitions_count=2 HTTP/1.1", "");
    struct iggy_poll poll = {.stream = s("x"),
                             .topic = s("y"),
                             .partition_id = 7,
                             .strategy = IGGY_FROM_TIMESTAMP,
                             .value = UINT64_MAX,
                             .count = 50,
                             .consumer = "a/b",
                             .auto_commit = true};
    iggy_poll(c, &poll, on_polled, call);
    expect(&f,
           "GET "
           "/streams/x/topics/y/"
           "messages?consumer_id=a%2Fb&partition_id=7&kind=timestamp&value=18446744073709551615"
           "&count=50&auto_commit=true HTTP/1.1",
           "");
    iggy_get_offset(c, s("x"), s("y"), 3, NULL, on_offset, call);
    expect(&f, "GET /streams/x/topics/y/consumer-offsets?partition_id=3&consumer_id=1 HTTP/1.1", "");
    iggy_store_offset(c, s("x"), s("y"), 3, "12", 99, on_done, call);
    expect(&f, "PUT /streams/x/topics/y/consumer-offsets HTTP/1.1",
           "{\"consumer_id\":12,\"partition_id\":3,\"offset\":99}");
    iggy_delete_offset(c, s("x"), s("y"), 3, "edge-1", on_done, call);
    expect(&f, "DELETE /streams/x/topics/y/consumer-offsets/edge%2D1?partition_id=3 HTTP/1.1", "");
    iggy_create_user(c, "al", "p\"w", false, s("{\"global\":{}}"), on_done, call);
    expect(&f, "POST /users HTTP/1.1",
           "{\"username\":\"al\",\"password\":\"p\\\"w\",\"status\":\"inactive\",\"permissions\":{\"global\":"
           "{}}}");
    iggy_delete_user(c, s("al"), on_done, call);
    expect(&f, "DELETE /users/al HTTP/1.1", "");
    iggy_create_token(c, "br", 5000000, on_token, call);
    expect(&f, "POST /personal-access-tokens HTTP/1.1", "{\"name\":\"br\",\"expiry\":5000000}");
    iggy_delete_token(c, "br", on_done, call);
    expect(&f, "DELETE /personal-access-tokens/br HTTP/1.1", "");
    tear_down(&f);
}

static void the_consumer_by_name_is_a_string(void)
{
    const struct stub_rule rules[] = {STUB_LOGIN, STUB_ME, {.request = NULL}};
    struct fixture f;
    set_up(&f, rules);
    iggy_store_offset(f.client, s("x"), s("y"), 0, "e\"1", 1, on_done, &f.call);
    expect(&f, "PUT /streams/x/topics/y/consumer-offsets HTTP/1.1",
           "{\"consumer_id\":\"e\\\"1\",\"partition_id\":0,\"offset\":1}");
    tear_down(&f);
}

static void send_batch(struct fixture *f, const struct iggy_batch *batch)
{
    iggy_produce(f->client, s("x"), s("y"), batch, on_produced, &f->call);
}

#define MESSAGES "POST /streams/x/topics/y/messages HTTP/1.1"

static void bodies_of_batches(void)
{
    const struct stub_rule rules[] = {STUB_LOGIN, STUB_ME, {.request = NULL}};
    struct fixture f;
    struct iggy_batch *batch = iggy_batch_new();
    CU_ASSERT_EQUAL(iggy_batch_count(batch), 0);
    iggy_batch_start(batch, 0x01020304);
    CU_ASSERT_FALSE(iggy_batch_add(batch, (struct iggy_id){1, 2}, s("h"), s(""), s("")));
    CU_ASSERT_TRUE(iggy_batch_add(batch, (struct iggy_id){0, 0}, s(""), s("a"), s("")));
    CU_ASSERT_TRUE(iggy_batch_add(batch, (struct iggy_id){0x1234567890123456, 0x7890123456789012}, s("hdr!"),
                                  s("ab"), s("cd")));
    CU_ASSERT_TRUE(iggy_batch_add(batch, (struct iggy_id){UINT64_MAX, 0xabc}, s(""), s(""), s("xyz")));
    static const char body[] = "{\"partitioning\":{\"kind\":\"partition_id\",\"value\":\"BAMCAQ==\"},"
                               "\"messages\":[{\"id\":0,\"payload\":\"YQ==\"},"
                               "{\"id\":\"12345678-9012-3456-7890-123456789012\",\"payload\":\"YWJjZA==\","
                               "\"user_headers\":\"aGRyIQ==\"},"
                               "{\"id\":\"ffffffff-ffff-ffff-0000-000000000abc\",\"payload\":\"eHl6\"}]}";
    CU_ASSERT_EQUAL(iggy_batch_count(batch), 3);
    CU_ASSERT_EQUAL(iggy_batch_bytes(batch), sizeof body - 1);
    set_up(&f, rules);
    send_batch(&f, batch);
    expect(&f, MESSAGES, body);
    tear_down(&f);
    set_up(&f, rules);
    iggy_batch_start_keyed(batch, s("key"));
    iggy_batch_add(batch, (struct iggy_id){0, 1}, s(""), s("x"), s(""));
    send_batch(&f, batch);
    expect(&f, MESSAGES,
           "{\"partitioning\":{\"kind\":\"messages_key\",\"value\":\"a2V5\"},\"messages\":[{\"id\":"
           "\"00000000-0000-0000-0000-000000000001\",\"payload\":\"eA==\"}]}");
    tear_down(&f);
    set_up(&f, rules);
    iggy_batch_start_keyed(batch, s(""));
    iggy_batch_add(batch, (struct iggy_id){0, 1}, s(""), s("x"), s(""));
    send_batch(&f, batch);
    expect(&f, MESSAGES,
           "{\"partitioning\":{\"kind\":\"balanced\",\"value\":\"\"},\"messages\":[{\"id\":"
           "\"00000000-0000-0000-0000-000000000001\",\"payload\":\"eA==\"}]}");
    tear_down(&f);
    iggy_batch_free(batch);
}

static void batches_that_cannot_be_sent(void)
{
    const struct stub_rule rules[] = {STUB_LOGIN, STUB_ME, {.request = NULL}};
    struct fixture f;
    set_up(&f, rules);
    struct iggy_batch *batch = iggy_batch_new();
    send_batch(&f, batch);
    call_wait(f.client, &f.call);
    CU_ASSERT_EQUAL(f.call.result.kind, IGGY_LOCAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(f.call.result.text, "empty"));
    char key[257];
    memset(key, 'k', 256);
    key[256] = '\0';
    iggy_batch_start_keyed(batch, s(key));
    CU_ASSERT_FALSE(iggy_batch_add(batch, (struct iggy_id){0, 1}, s(""), s("x"), s("")));
    call_clear(&f.call);
    send_batch(&f, batch);
    call_wait(f.client, &f.call);
    CU_ASSERT_EQUAL(f.call.result.kind, IGGY_LOCAL);
    CU_ASSERT_EQUAL(stub_count(f.stub, "POST"), 0);
    iggy_batch_start(batch, 0); /* and is usable again */
    CU_ASSERT_TRUE(iggy_batch_add(batch, (struct iggy_id){0, 1}, s(""), s("x"), s("")));
    iggy_batch_free(batch);
    tear_down(&f);
}

/* The bound is never passed, and with all parts present it is exact. */
static void the_bound_of_a_message(void)
{
    struct iggy_batch *batch = iggy_batch_new();
    static uint8_t bytes[3000];
    srand(3);
    for (int i = 0; i < 2000; i++) {
        size_t h = (size_t)rand() % 300, a = (size_t)rand() % 1500, b = (size_t)rand() % 1500 + (a == 0);
        if (i % 100 == 0)
            iggy_batch_start(batch, 0);
        size_t before = iggy_batch_bytes(batch), bound = iggy_batch_message_bytes(h, a + b);
        CU_ASSERT_TRUE(iggy_batch_add(batch, (struct iggy_id){1, (uint64_t)i}, (struct iggy_span){bytes, h},
                                      (struct iggy_span){bytes, a}, (struct iggy_span){bytes, b}));
        size_t added = iggy_batch_bytes(batch) - before;
        CU_ASSERT_TRUE(added == bound || (i % 100 == 0 && added + 1 == bound));
    }
    iggy_batch_free(batch);
}

static void existing_targets_are_ok(void)
{
    const struct stub_rule rules[] = {
        STUB_LOGIN,
        STUB_ME,
        {.request = "POST /streams ",
         .answer = stub_json(400, "{\"id\":1012,\"code\":\"stream_name_already_exists\"}")},
        {.request = "POST /streams/x/topics ",
         .answer = stub_json(400, "{\"id\":2013,\"code\":\"topic_name_already_exists\"}")},
        {.request = "POST /streams/y/topics ",
         .answer = stub_json(400, "{\"id\":1019,\"code\":\"invalid_topic_size\"}")},
        {.request = NULL}};
    struct fixture f;
    struct iggy_topic_options options = {.partitions = 1};
    set_up(&f, rules);
    iggy_create_stream(f.client, s("x"), on_done, &f.call);
    call_wait(f.client, &f.call);
    CU_ASSERT_EQUAL(f.call.result.kind, IGGY_OK);
    CU_ASSERT_EQUAL(f.call.result.effect, IGGY_EFFECT_DONE);
    call_clear(&f.call);
    iggy_create_topic(f.client, s("x"), s("t"), &options, on_done, &f.call);
    call_wait(f.client, &f.call);
    CU_ASSERT_EQUAL(f.call.result.kind, IGGY_OK);
    call_clear(&f.call);
    iggy_create_topic(f.client, s("y"), s("t"), &options, on_done, &f.call);
    call_wait(f.client, &f.call);
    CU_ASSERT_EQUAL(f.call.result.kind, IGGY_HTTP);
    CU_ASSERT_EQUAL(f.call.result.code, 1019);
    call_clear(&f.call);
    options.partitions = 0;
    iggy_create_topic(f.client, s("y"), s("t"), &options, on_done, &f.call);
    call_wait(f.client, &f.call);
    CU_ASSERT_EQUAL(f.call.result.kind, IGGY_LOCAL);
    tear_down(&f);
}

/* Creates a durable topic on a server that answers the question for its options like that. */
static void create_durable(const char *answer, struct call *call, char *body, size_t size)
{
    const struct stub_rule rules[] = {STUB_LOGIN,
                                      STUB_ME,
                                      {.request = "GET /options/topic ", .answer = answer},
                                      {.request = "POST /streams/x/topics ", .answer = stub_json(200, "{}")},
                                      {.request = NULL}};
    struct fixture f;
    struct iggy_topic_options options = {.partitions = 1, .durable = true};
    set_up(&f, rules);
    iggy_create_topic(f.client, s("x"), s("t"), &options, on_done, &f.call);
    call_wait(f.client, &f.call);
    *call = f.call;
    const char *sent = strstr(stub_request(f.stub, "POST /streams/x/topics ", 0), "\r\n\r\n");
    snprintf(body, size, "%s", sent ? sent : "");
    tear_down(&f);
}

static void durable_in_the_servers_words(void)
{
    struct call call;
    char body[600];
    create_durable(stub_json(200,
                             "[{\"key\":\"segment_size\"},{\"key\":\"enforce_fsync\",\"default_value\":[0]},"
                             "{\"key\":\"messages_required_to_save\"}]"),
                   &call, body, sizeof body);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_OK);
    CU_ASSERT_STRING_EQUAL(call.result.text, "");
    CU_ASSERT_PTR_NOT_NULL(
        strstr(body, "\"options\":{\"enforce_fsync\":\"true\",\"messages_required_to_save\":\"1\"}}"));
    create_durable(stub_json(200, "[{\"key\":\"messages_required_to_save\"},{\"key\":\"durability\"}]"),
                   &call, body, sizeof body);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(body, "\"options\":{\"durability\":\"persisted\"}}"));
    create_durable(stub_json(200, "[{\"key\":\"segment_size\"}]"), &call, body, sizeof body);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_OK);
    CU_ASSERT_PTR_NULL(strstr(body, "options"));
    CU_ASSERT_PTR_NOT_NULL(strstr(call.result.text, "cannot keep"));
    create_durable(stub_empty(404), &call, body, sizeof body);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(call.result.text, "cannot keep"));
    /* The question fails: nothing is created on a guess. */
    create_durable(stub_empty(503), &call, body, sizeof body);
    CU_ASSERT_EQUAL(call.result.http_status, 503);
    CU_ASSERT_STRING_EQUAL(body, "");
    create_durable(stub_json(200, "<html>"), &call, body, sizeof body);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_GARBLED);
    CU_ASSERT_EQUAL(call.result.effect, IGGY_EFFECT_NONE);
    CU_ASSERT_STRING_EQUAL(body, "");
}

static void answers_are_read(void)
{
    const struct stub_rule rules[] = {
        STUB_LOGIN,
        STUB_ME,
        {.request = "GET /streams/x/topics/y/consumer-offsets?partition_id=0",
         .answer = stub_json(200, "{\"partition_id\":0,\"current_offset\":18,\"stored_offset\":17}")},
        {.request = "GET /streams/x/topics/y/consumer-offsets?partition_id=1",
         .answer = stub_json(404, "{\"id\":404,\"code\":\"not_found\"}")},
        {.request = "GET /streams/x/topics/y/consumer-offsets?partition_id=2",
         .answer = stub_json(200, "{\"x\":1}")},
        {.request = "GET /stats ",
         .answer = stub_json(
             200, "{\"cpu_usage\":0.5,\"start_time\":1795974174000000,\"iggy_server_version\":\"0.9.0\","
                  "\"cache_metrics\":{\"0-0-1\":{\"hits\":1}}}")},
        {.request = "GET /users/al ",
         .answer = stub_json(
             200,
             "{\"id\":4,\"created_at\":5,\"status\":\"inactive\",\"username\":\"al\",\"permissions\":{\"a\":"
             "[1,{}]},\"options\":{}}")},
        {.request = "POST /personal-access-tokens ", .answer = stub_json(200, "{\"token\":\"ra+w/=\"}")},
        {.request = "GET /ping ", .answer = stub_json(200, "<html>")},
        {.request = "DELETE /streams/x ", .answer = stub_json(200, "<html>")},
        {.request = NULL}};
    struct fixture f;
    set_up(&f, rules);
    iggy_get_offset(f.client, s("x"), s("y"), 0, NULL, on_offset, &f.call);
    call_wait(f.client, &f.call);
    CU_ASSERT_TRUE(f.call.offset.stored && f.call.offset.offset == 17 && f.call.offset.current == 18);
    call_clear(&f.call);
    iggy_get_offset(f.client, s("x"), s("y"), 1, NULL, on_offset, &f.call);
    call_wait(f.client, &f.call);
    CU_ASSERT_TRUE(f.call.result.kind == IGGY_OK && !f.call.offset.stored);
    call_clear(&f.call);
    iggy_get_offset(f.client, s("x"), s("y"), 2, NULL, on_offset, &f.call);
    call_wait(f.client, &f.call);
    CU_ASSERT_EQUAL(f.call.result.kind, IGGY_GARBLED);
    call_clear(&f.call);
    iggy_get_stats(f.client, on_stats, &f.call);
    call_wait(f.client, &f.call);
    CU_ASSERT_EQUAL(f.call.stats.start_time, 1795974174000000);
    CU_ASSERT_STRING_EQUAL(f.call.text, "0.9.0");
    call_clear(&f.call);
    iggy_get_user(f.client, s("al"), on_user, &f.call);
    call_wait(f.client, &f.call);
    CU_ASSERT_TRUE(f.call.user.id == 4 && f.call.user.created_at == 5 && !f.call.user.active);
    CU_ASSERT_STRING_EQUAL(f.call.permissions, "{\"a\":[1,{}]}");
    call_clear(&f.call);
    iggy_create_token(f.client, "br", 0, on_token, &f.call);
    call_wait(f.client, &f.call);
    CU_ASSERT_STRING_EQUAL(f.call.text, "ra+w/=");
    call_clear(&f.call);
    iggy_ping(f.client, on_done, &f.call);
    call_wait(f.client, &f.call);
    CU_ASSERT_EQUAL(f.call.result.kind, IGGY_GARBLED);
    call_clear(&f.call);
    iggy_delete_stream(f.client, s("x"), on_done, &f.call);
    call_wait(f.client, &f.call);
    CU_ASSERT_TRUE(f.call.result.kind == IGGY_GARBLED && f.call.result.effect == IGGY_EFFECT_UNKNOWN);
    tear_down(&f);
}

static char listed[200];

static void note_users(void *arg, const struct iggy_result *result, const struct iggy_user *users,
                       size_t count)
{
    struct call *call = arg;
    call->ended++;
    call->result = *result;
    listed[0] = '\0';
    for (size_t i = 0; i < count; i++)
        snprintf(listed + strlen(listed), sizeof listed - strlen(listed), "%u %llu %.*s %d;", users[i].id,
                 (unsigned long long)users[i].created_at, (int)users[i].username.len,
                 (const char *)users[i].username.data, users[i].active);
}

static void lists_of_users(void)
{
    const struct stub_rule rules[] = {
        STUB_LOGIN,
        STUB_ME,
        {.request = "GET /users ",
         .answer = stub_json(
             200, "[{\"id\":0,\"created_at\":7,\"status\":\"active\",\"username\":\"ig\\u0067y\"},"
                  "{\"username\":\"b\",\"id\":9,\"more\":[],\"created_at\":8,\"status\":\"inactive\"}]"),
         .times = 1},
        {.request = "GET /users ", .answer = stub_json(200, "[{\"id\":0}]")},
        {.request = NULL}};
    struct fixture f;
    set_up(&f, rules);
    iggy_get_users(f.client, note_users, &f.call);
    call_wait(f.client, &f.call);
    CU_ASSERT_STRING_EQUAL(listed, "0 7 iggy 1;9 8 b 0;");
    call_clear(&f.call);
    iggy_get_users(f.client, note_users, &f.call);
    call_wait(f.client, &f.call);
    CU_ASSERT_TRUE(f.call.result.kind == IGGY_GARBLED && listed[0] == '\0');
    tear_down(&f);
}

/* What a server says must not break a log line, and is cut between characters. */
static void words_of_the_server_are_cleaned(void)
{
    const struct stub_rule rules[] = {
        STUB_LOGIN,
        STUB_ME,
        {.request = "GET /streams ",
         .answer = stub_json(500, "{\"id\":1,\"code\":\"error\",\"reason\":\"a\\nb\\u001b[31m\"}")},
        {.request = "GET /stats ",
         .answer = stub_json(500, "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"
                                  "\xe2\x82\xac\xe2\x82\xac"
                                  "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"
                                  "\xe2\x82\xac\xe2\x82\xac"
                                  "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"
                                  "\xe2\x82\xac\xe2\x82\xac"
                                  "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"
                                  "\xe2\x82\xac\xe2\x82\xac"
                                  "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"
                                  "\xe2\x82\xac\xe2\x82\xac")},
        {.request = NULL}};
    struct fixture f;
    set_up(&f, rules);
    iggy_get_streams(f.client, on_streams, &f.call);
    call_wait(f.client, &f.call);
    CU_ASSERT_EQUAL(f.call.result.code, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(f.call.result.text, "500 error (1): a b [31m"));
    call_clear(&f.call);
    iggy_get_stats(f.client, on_stats, &f.call);
    call_wait(f.client, &f.call);
    size_t len = strlen(f.call.result.text);
    CU_ASSERT_TRUE(len > 60 && memcmp(f.call.result.text + len - 3, "\xe2\x82\xac", 3) == 0);
    tear_down(&f);
}

static CU_TestInfo tests[] = {{"what_is_sent", what_is_sent},
                              {"the_consumer_by_name_is_a_string", the_consumer_by_name_is_a_string},
                              {"bodies_of_batches", bodies_of_batches},
                              {"batches_that_cannot_be_sent", batches_that_cannot_be_sent},
                              {"the_bound_of_a_message", the_bound_of_a_message},
                              {"existing_targets_are_ok", existing_targets_are_ok},
                              {"durable_in_the_servers_words", durable_in_the_servers_words},
                              {"answers_are_read", answers_are_read},
                              {"lists_of_users", lists_of_users},
                              {"words_of_the_server_are_cleaned", words_of_the_server_are_cleaned},
                              CU_TEST_INFO_NULL};
MI_SUITE_MAIN("requests", tests)
