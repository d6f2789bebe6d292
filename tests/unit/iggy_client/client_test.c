/* client: how a request ends, with a server that refuses, cuts, hangs, lies or restarts. */
#include "calls.h"
#include "stub.h"

#include "support/process.h"
#include "support/suite.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MESSAGES "POST /streams/s/topics/t/messages "
#define STORED                                                                                 \
    "HTTP/1.1 201 Created\r\nIggy-Durability: replicated-memory\r\nContent-Length: 82\r\n\r\n" \
    "{\"confirmations\":[{\"stream_id\":0,\"topic_id\":0,\"partition_id\":2,\"base_offset\":17}]}"

static struct iggy_client *connect_with(struct stub *stub, uint32_t timeout_ms, size_t max_answer)
{
    const char *urls[] = {stub_url(stub)};
    struct iggy_options options = {.urls = urls,
                                   .url_count = 1,
                                   .username = "bob",
                                   .password = "secret",
                                   .request_timeout_ms = timeout_ms,
                                   .max_answer_bytes = max_answer};
    return iggy_client_new(&options, NULL, 0);
}

static struct iggy_batch *one_message(void)
{
    struct iggy_batch *batch = iggy_batch_new();
    iggy_batch_add(batch, (struct iggy_id){0, 1}, s(""), s("hello"), s(""));
    return batch;
}

/* Logs in, and leaves a connection that the next request will use again. */
static void warm_up(struct iggy_client *client)
{
    struct call call = {0};
    iggy_get_me(client, on_user, &call);
    call_wait(client, &call);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_OK);
    call_clear(&call);
}

static void produce(struct iggy_client *client, struct call *call)
{
    struct iggy_batch *batch = one_message();
    call_clear(call);
    CU_ASSERT_NOT_EQUAL(iggy_produce(client, s("s"), s("t"), batch, on_produced, call), 0);
    call_wait(client, call);
    iggy_batch_free(batch);
}

static void produced_and_confirmed(void)
{
    const struct stub_rule rules[] = {
        STUB_LOGIN, STUB_ME, {.request = MESSAGES, .answer = STORED}, {.request = NULL}};
    struct stub *stub = stub_start(rules);
    struct iggy_client *client = connect_with(stub, 5000, 0);
    struct call call = {0};
    produce(client, &call);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_OK);
    CU_ASSERT_EQUAL(call.result.effect, IGGY_EFFECT_DONE);
    CU_ASSERT_TRUE(call.produced.confirmed);
    CU_ASSERT_EQUAL(call.produced.partition_id, 2);
    CU_ASSERT_EQUAL(call.produced.base_offset, 17);
    CU_ASSERT_FALSE(call.produced.persisted);
    CU_ASSERT_TRUE(call.result.new_connection);
    const char *sent = stub_request(stub, MESSAGES, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(
        sent, "\r\n\r\n{\"partitioning\":{\"kind\":\"partition_id\",\"value\":\"AAAAAA==\"},\"messages\":"
              "[{\"id\":\"00000000-0000-0000-0000-000000000001\",\"payload\":\"aGVsbG8=\"}]}"));
    CU_ASSERT_PTR_NOT_NULL(strstr(sent, "Content-Type: application/json\r\n"));
    CU_ASSERT_PTR_NULL(strcasestr(sent, "\r\nExpect:"));
    CU_ASSERT_PTR_NULL(strcasestr(sent, "Transfer-Encoding"));
    produce(client, &call);
    CU_ASSERT_FALSE(call.result.new_connection);
    CU_ASSERT_EQUAL(stub_connections(stub), 1);
    call_clear(&call);
    iggy_client_free(client);
    stub_stop(stub);
}

/* What a produce may be answered, and what is believed of it. */
static void only_a_true_201_is_believed(void)
{
    const struct {
        const char *answer;
        enum iggy_kind kind;
        enum iggy_effect effect;
        bool confirmed;
    } rows[] = {
        {stub_empty(201), IGGY_OK, IGGY_EFFECT_DONE, false}, /* 0.8 */
        {stub_json(201, "{\"confirmations\":[]}"), IGGY_OK, IGGY_EFFECT_DONE, false},
        {stub_json(201, "{\"confirmations\":[{\"partition_id\":1,\"base_offset\":18446744073709551615,"
                        "\"new\":{}}],\"x\":1}"),
         IGGY_OK, IGGY_EFFECT_DONE, true},
        {stub_json(201, "{\"confirmations\":[{\"partition_id\":1}]}"), IGGY_OK, IGGY_EFFECT_DONE, false},
        {stub_json(201, "<html>"), IGGY_GARBLED, IGGY_EFFECT_UNKNOWN, false},
        {stub_json(200, "<html>Log in to the hotel's network</html>"), IGGY_GARBLED, IGGY_EFFECT_UNKNOWN,
         false},
        {stub_json(200, "{}"), IGGY_GARBLED, IGGY_EFFECT_UNKNOWN, false},
        {stub_empty(202), IGGY_GARBLED, IGGY_EFFECT_UNKNOWN, false},
        {stub_empty(307), IGGY_HTTP, IGGY_EFFECT_UNKNOWN, false},
        {stub_json(503, "{\"id\":57,\"code\":\"transient_not_committed\"}"), IGGY_HTTP, IGGY_EFFECT_UNKNOWN,
         false},
        {stub_json(503, "{\"id\":503,\"code\":\"server_busy\"}"), IGGY_HTTP, IGGY_EFFECT_NONE, false},
        {stub_json(504, "{\"id\":504,\"code\":\"produce_timeout\"}"), IGGY_HTTP, IGGY_EFFECT_UNKNOWN, false},
        {stub_json(422, "plain text"), IGGY_HTTP, IGGY_EFFECT_NONE, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct stub_rule rules[] = {
            STUB_LOGIN, STUB_ME, {.request = MESSAGES, .answer = rows[i].answer}, {.request = NULL}};
        struct stub *stub = stub_start(rules);
        struct iggy_client *client = connect_with(stub, 5000, 0);
        struct call call = {0};
        produce(client, &call);
        CU_ASSERT_EQUAL(call.result.kind, rows[i].kind);
        CU_ASSERT_EQUAL(call.result.effect, rows[i].effect);
        CU_ASSERT_EQUAL(call.produced.confirmed, rows[i].confirmed);
        CU_ASSERT_EQUAL(stub_count(stub, MESSAGES), 1);
        CU_ASSERT_EQUAL(call.result.text[0] != '\0', rows[i].kind != IGGY_OK);
        iggy_client_free(client);
        stub_stop(stub);
    }
}

/* The connection was used before and dies without an answer: libcurl by itself would send the request once
 * more. */
static void a_cut_produce_is_never_sent_again(void)
{
    const struct stub_rule rules[] = {
        STUB_LOGIN, STUB_ME, {.request = MESSAGES, .action = STUB_CUT}, {.request = NULL}};
    struct stub *stub = stub_start(rules);
    struct iggy_client *client = connect_with(stub, 2000, 0);
    struct call call = {0};
    warm_up(client);
    produce(client, &call);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_CUT);
    CU_ASSERT_EQUAL(call.result.effect, IGGY_EFFECT_UNKNOWN);
    CU_ASSERT_EQUAL(call.result.retry, IGGY_RETRY_LATER);
    CU_ASSERT_EQUAL(stub_count(stub, MESSAGES), 1);
    iggy_client_free(client);
    stub_stop(stub);
}

static void a_cut_delete_is_never_sent_again(void)
{
    const struct stub_rule rules[] = {
        STUB_LOGIN, STUB_ME, {.request = "DELETE ", .action = STUB_CUT}, {.request = NULL}};
    struct stub *stub = stub_start(rules);
    struct iggy_client *client = connect_with(stub, 2000, 0);
    struct call call = {0};
    warm_up(client);
    iggy_delete_partitions(client, s("s"), s("t"), 1, on_done, &call);
    call_wait(client, &call);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_CUT);
    CU_ASSERT_EQUAL(call.result.effect, IGGY_EFFECT_UNKNOWN);
    CU_ASSERT_EQUAL(stub_count(stub, "DELETE "), 1);
    iggy_client_free(client);
    stub_stop(stub);
}

/* Half a body cannot have been acted on. */
static void a_body_cut_half_way_had_no_effect(void)
{
    const struct stub_rule rules[] = {
        STUB_LOGIN, STUB_ME, {.request = MESSAGES, .action = STUB_CUT_EARLY}, {.request = NULL}};
    struct stub *stub = stub_start(rules);
    struct iggy_client *client = connect_with(stub, 5000, 0);
    struct call call = {0};
    struct iggy_batch *batch = iggy_batch_new();
    struct iggy_span large = {calloc(1, 24000000), 24000000};
    CU_ASSERT_TRUE(iggy_batch_add(batch, (struct iggy_id){0, 1}, s(""), large, s("")));
    iggy_produce(client, s("s"), s("t"), batch, on_produced, &call);
    call_wait(client, &call);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_CUT);
    CU_ASSERT_EQUAL(call.result.effect, IGGY_EFFECT_NONE);
    iggy_batch_free(batch);
    free((void *)large.data);
    iggy_client_free(client);
    stub_stop(stub);
}

static void an_answer_cut_half_way(void)
{
    const struct stub_rule rules[] = {
        STUB_LOGIN,
        STUB_ME,
        {.request = MESSAGES,
         .action = STUB_ANSWER_CUT,
         .answer = "HTTP/1.1 201 Created\r\nContent-Length: 80\r\n\r\n{\"confirmations\":["},
        {.request = "GET /streams ",
         .action = STUB_ANSWER_CUT,
         .answer = "HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n["},
        {.request = "GET /stats ", .action = STUB_ANSWER_CUT, .answer = "\x16\x03\x01 what is this?\r\n\r\n"},
        {.request = NULL}};
    struct stub *stub = stub_start(rules);
    struct iggy_client *client = connect_with(stub, 5000, 0);
    struct call call = {0};
    produce(client, &call);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_CUT);
    CU_ASSERT_EQUAL(call.result.effect, IGGY_EFFECT_UNKNOWN);
    CU_ASSERT_EQUAL(call.result.http_status, 0);
    CU_ASSERT_FALSE(call.produced.confirmed);
    call_clear(&call);
    iggy_get_streams(client, on_streams, &call);
    call_wait(client, &call);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_CUT);
    CU_ASSERT_EQUAL(call.result.effect, IGGY_EFFECT_NONE);
    call_clear(&call);
    iggy_get_stats(client, on_stats, &call);
    call_wait(client, &call);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_CUT);
    iggy_client_free(client);
    stub_stop(stub);
}

static void a_server_that_hangs(void)
{
    const struct stub_rule rules[] = {
        STUB_LOGIN, STUB_ME, {.request = MESSAGES, .action = STUB_HANG}, {.request = NULL}};
    struct stub *stub = stub_start(rules);
    struct iggy_client *client = connect_with(stub, 300, 0);
    struct call call = {0};
    uint64_t start = mi_monotonic_ms();
    produce(client, &call);
    uint64_t took = mi_monotonic_ms() - start;
    CU_ASSERT_EQUAL(call.result.kind, IGGY_TIMEOUT);
    CU_ASSERT_EQUAL(call.result.effect, IGGY_EFFECT_UNKNOWN);
    CU_ASSERT_TRUE(took >= 290 && took < 3000);
    iggy_client_free(client);
    stub_stop(stub);
}

static void an_answer_that_is_too_large(void)
{
    static char large[20100];
    int head = snprintf(large, sizeof large, "HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n");
    memset(large + head, ' ', 20000);
    const struct stub_rule rules[] = {STUB_LOGIN,
                                      STUB_ME,
                                      {.request = "GET /streams ", .answer = large},
                                      {.request = "GET /streams/s/topics/t/messages?", .answer = large},
                                      {.request = NULL}};
    struct stub *stub = stub_start(rules);
    struct iggy_client *client = connect_with(stub, 5000, 10000);
    struct call call = {0};
    iggy_get_streams(client, on_streams, &call);
    call_wait(client, &call);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_GARBLED);
    CU_ASSERT_EQUAL(call.result.http_status, 200);
    CU_ASSERT_PTR_NOT_NULL(strstr(call.result.text, "larger"));
    struct iggy_poll poll = {.stream = s("s"), .topic = s("t"), .max_bytes = 500};
    call_clear(&call);
    iggy_poll(client, &poll, on_polled, &call);
    call_wait(client, &call);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_GARBLED);
    CU_ASSERT_TRUE(call.result.too_large); /* told apart from one that cannot be read */
    CU_ASSERT_EQUAL(call.polled.count, 0);
    call_clear(&call);
    poll.max_bytes = 50000;
    iggy_poll(client, &poll, on_polled, &call);
    call_wait(client, &call);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_GARBLED);
    CU_ASSERT_FALSE(call.result.too_large);
    CU_ASSERT_EQUAL(call.result.answer_bytes, 20000);
    call_clear(&call);
    iggy_client_free(client);
    stub_stop(stub);
}

static void one_login_for_many_requests(void)
{
    const struct stub_rule rules[] = {
        {.request = "POST /users/login ",
         .answer =
             stub_json(200, "{\"user_id\":7,\"access_token\":{\"token\":\"t1\",\"expiry\":4000000000}}"),
         .delay_ms = 50},
        STUB_ME,
        {.request = "GET /streams ", .answer = stub_json(200, "[]"), .delay_ms = 5},
        {.request = NULL}};
    struct stub *stub = stub_start(rules);
    const char *urls[] = {stub_url(stub)};
    struct iggy_options options = {
        .urls = urls, .url_count = 1, .username = "bob", .password = "secret", .max_connections = 4};
    struct iggy_client *client = iggy_client_new(&options, NULL, 0);
    struct call calls[30] = {{0}};
    for (int i = 0; i < 30; i++)
        iggy_get_streams(client, on_streams, &calls[i]);
    for (int i = 0; i < 30; i++) {
        call_wait(client, &calls[i]);
        CU_ASSERT_EQUAL(calls[i].result.kind, IGGY_OK);
    }
    CU_ASSERT_EQUAL(stub_count(stub, "POST /users/login"), 1);
    CU_ASSERT_TRUE(stub_most_at_once(stub) <= 4);
    CU_ASSERT_TRUE(stub_connections(stub) <= 4);
    iggy_client_free(client);
    stub_stop(stub);
}

static void one_failed_login_for_many_requests(void)
{
    const struct stub_rule rules[] = {
        {.request = "POST /users/login ",
         .answer = stub_json(400, "{\"id\":42,\"code\":\"invalid_credentials\",\"reason\":\"no\"}"),
         .delay_ms = 50},
        {.request = NULL}};
    struct stub *stub = stub_start(rules);
    struct iggy_client *client = connect_with(stub, 5000, 0);
    struct call calls[30] = {{0}};
    for (int i = 0; i < 30; i++)
        iggy_get_streams(client, on_streams, &calls[i]);
    for (int i = 0; i < 30; i++) {
        call_wait(client, &calls[i]);
        CU_ASSERT_EQUAL(calls[i].result.kind, IGGY_LOGIN);
        CU_ASSERT_EQUAL(calls[i].result.effect, IGGY_EFFECT_NONE);
        CU_ASSERT_EQUAL(calls[i].result.code, 42);
    }
    for (int i = 0; i < 30; i++) { /* one after another, while the pause lasts */
        call_clear(&calls[0]);
        iggy_get_streams(client, on_streams, &calls[0]);
        call_wait(client, &calls[0]);
        CU_ASSERT_EQUAL(calls[0].result.kind, IGGY_LOGIN);
        CU_ASSERT_TRUE(calls[0].result.retry_after_ms > 0);
    }
    CU_ASSERT_EQUAL(stub_count(stub, "POST /users/login"), 1);
    CU_ASSERT_EQUAL(stub_count(stub, "GET "), 0);
    iggy_client_free(client);
    stub_stop(stub);
}

static void field_128_a_401_logs_in_again_and_repeats_once(void)
{
    const struct stub_rule rules[] = {
        {.request = "POST /users/login ",
         .times = 1,
         .answer =
             stub_json(200, "{\"user_id\":7,\"access_token\":{\"token\":\"first\",\"expiry\":4000000000}}")},
        {.request = "POST /users/login ",
         .answer =
             stub_json(200, "{\"user_id\":7,\"access_token\":{\"token\":\"second\",\"expiry\":4000000000}}")},
        STUB_ME,
        {.request = MESSAGES,
         .answer = stub_json(401, "{\"id\":40,\"code\":\"unauthenticated\"}"),
         .contains = "Bearer first"},
        {.request = MESSAGES, .answer = STORED, .contains = "Bearer second"},
        {.request = NULL}};
    struct stub *stub = stub_start(rules);
    struct iggy_client *client = connect_with(stub, 5000, 0);
    struct call call = {0};
    produce(client, &call);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_OK);
    CU_ASSERT_TRUE(call.result.logged_in_again);
    CU_ASSERT_EQUAL(stub_count(stub, MESSAGES), 2);
    const char *first = strstr(stub_request(stub, MESSAGES, 0), "\r\n\r\n");
    const char *second = strstr(stub_request(stub, MESSAGES, 1), "\r\n\r\n");
    CU_ASSERT_PTR_NOT_NULL_FATAL(first && second ? first : NULL);
    CU_ASSERT_STRING_EQUAL(first, second);
    produce(client, &call);
    CU_ASSERT_FALSE(call.result.logged_in_again);
    iggy_client_free(client);
    stub_stop(stub);
}

static void a_401_that_stays(void)
{
    const struct stub_rule rules[] = {
        STUB_LOGIN, STUB_ME, {.request = MESSAGES, .answer = stub_empty(401)}, {.request = NULL}};
    struct stub *stub = stub_start(rules);
    struct iggy_client *client = connect_with(stub, 5000, 0);
    struct call call = {0};
    produce(client, &call);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_HTTP);
    CU_ASSERT_EQUAL(call.result.http_status, 401);
    CU_ASSERT_EQUAL(call.result.effect, IGGY_EFFECT_NONE);
    for (int i = 0; i < 20; i++) {
        produce(client, &call);
        CU_ASSERT_EQUAL(call.result.kind, IGGY_LOGIN);
    }
    CU_ASSERT_EQUAL(stub_count(stub, MESSAGES), 2);
    CU_ASSERT_EQUAL(stub_count(stub, "POST /users/login"), 2);
    iggy_client_free(client);
    stub_stop(stub);
}

static void nobody_listens(void)
{
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%u", mi_free_port());
    const char *urls[] = {url};
    struct iggy_options options = {.urls = urls, .url_count = 1, .username = "bob", .password = "secret"};
    struct iggy_client *client = iggy_client_new(&options, NULL, 0);
    struct call call = {0};
    for (int i = 0; i < 3; i++) {
        produce(client, &call);
        CU_ASSERT_EQUAL(call.result.kind, IGGY_CONNECT);
        CU_ASSERT_EQUAL(call.result.effect, IGGY_EFFECT_NONE);
        CU_ASSERT_EQUAL(call.result.retry, IGGY_RETRY_LATER);
        CU_ASSERT_EQUAL(call.result.retry_after_ms, 0);
    }
    iggy_client_free(client);
    urls[0] = "http://no-such-host.invalid:3000";
    client = iggy_client_new(&options, NULL, 0);
    produce(client, &call);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_CONNECT);
    iggy_client_free(client);
}

/* A plain HTTP server where TLS is expected: the handshake fails, nothing was sent. */
static void tls_that_fails(void)
{
    const struct stub_rule rules[] = {{.request = NULL}};
    struct stub *stub = stub_start(rules);
    char url[80];
    snprintf(url, sizeof url, "https://%s", stub_url(stub) + strlen("http://"));
    const char *urls[] = {url};
    struct iggy_options options = {
        .urls = urls, .url_count = 1, .username = "bob", .password = "secret", .request_timeout_ms = 500};
    struct iggy_client *client = iggy_client_new(&options, NULL, 0);
    struct call call = {0};
    produce(client, &call);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_CONNECT);
    CU_ASSERT_EQUAL(call.result.effect, IGGY_EFFECT_NONE);
    iggy_client_free(client);
    stub_stop(stub);
}

static void the_next_url_is_tried(void)
{
    const struct stub_rule busy[] = {
        STUB_LOGIN,
        STUB_ME,
        {.request = MESSAGES, .answer = stub_json(503, "{\"id\":58,\"code\":\"x\"}")},
        {.request = NULL}};
    const struct stub_rule good[] = {
        STUB_LOGIN, STUB_ME, {.request = MESSAGES, .answer = STORED}, {.request = NULL}};
    struct stub *first = stub_start(busy), *second = stub_start(good);
    char nowhere[64];
    snprintf(nowhere, sizeof nowhere, "http://127.0.0.1:%u/", mi_free_port());
    const char *urls[] = {nowhere, stub_url(first), stub_url(second)};
    struct iggy_options options = {.urls = urls, .url_count = 3, .username = "bob", .password = "secret"};
    struct iggy_client *client = iggy_client_new(&options, NULL, 0);
    struct call call = {0};
    produce(client, &call);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_CONNECT);
    produce(client, &call);
    CU_ASSERT_EQUAL(call.result.http_status, 503);
    CU_ASSERT_EQUAL(call.result.effect, IGGY_EFFECT_NONE);
    produce(client, &call);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_OK);
    produce(client, &call);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_OK);
    CU_ASSERT_EQUAL(stub_count(first, MESSAGES), 1);
    CU_ASSERT_EQUAL(stub_count(second, MESSAGES), 2);
    iggy_client_free(client);
    stub_stop(first);
    stub_stop(second);
}

static void cancelling(void)
{
    const struct stub_rule rules[] = {
        STUB_LOGIN, STUB_ME, {.request = MESSAGES, .action = STUB_HANG}, {.request = NULL}};
    struct stub *stub = stub_start(rules);
    struct iggy_client *client = connect_with(stub, 5000, 0);
    struct call call = {0};
    struct iggy_batch *batch = one_message();
    iggy_request id = iggy_produce(client, s("s"), s("t"), batch, on_produced, &call);
    iggy_client_cancel(client, id); /* not sent yet */
    CU_ASSERT_EQUAL(call.ended, 1);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_CANCELLED);
    CU_ASSERT_EQUAL(call.result.effect, IGGY_EFFECT_NONE);
    call_clear(&call);
    id = iggy_produce(client, s("s"), s("t"), batch, on_produced, &call);
    for (int i = 0; i < 100 && stub_count(stub, MESSAGES) == 0; i++)
        CU_ASSERT_EQUAL(iggy_client_drive(client, 50, NULL, 0), 1);
    iggy_client_cancel(client, id);
    CU_ASSERT_EQUAL(call.ended, 1);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_CANCELLED);
    CU_ASSERT_EQUAL(call.result.effect, IGGY_EFFECT_UNKNOWN);
    iggy_client_cancel(client, id); /* not known any more */
    iggy_client_cancel(client, 0);
    CU_ASSERT_EQUAL(call.ended, 1);
    CU_ASSERT_EQUAL(iggy_client_drive(client, 0, NULL, 0), 0);
    /* Freed with a request under way: no callback. */
    call_clear(&call);
    iggy_produce(client, s("s"), s("t"), batch, on_produced, &call);
    iggy_client_drive(client, 10, NULL, 0);
    iggy_client_free(client);
    CU_ASSERT_EQUAL(call.ended, 0);
    iggy_batch_free(batch);
    stub_stop(stub);
}

static void *wake_soon(void *client)
{
    mi_sleep_ms(50);
    iggy_client_wake(client);
    return NULL;
}

static void waking_and_other_descriptors(void)
{
    const struct stub_rule rules[] = {{.request = NULL}};
    struct stub *stub = stub_start(rules);
    struct iggy_client *client = connect_with(stub, 5000, 0);
    pthread_t thread;
    pthread_create(&thread, NULL, wake_soon, client);
    uint64_t start = mi_monotonic_ms();
    iggy_client_drive(client, 5000, NULL, 0);
    uint64_t took = mi_monotonic_ms() - start;
    CU_ASSERT_TRUE(took >= 40 && took < 2000);
    pthread_join(thread, NULL);
    start = mi_monotonic_ms(); /* the wake-up is used up */
    iggy_client_drive(client, 60, NULL, 0);
    CU_ASSERT_TRUE(mi_monotonic_ms() - start >= 50);
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    CU_ASSERT_EQUAL(write(ends[1], "x", 1), 1);
    struct iggy_wait waits[2] = {{ends[0], POLLIN, 0}, {ends[1], POLLOUT, 0}};
    start = mi_monotonic_ms();
    iggy_client_drive(client, 5000, waits, 2);
    CU_ASSERT_TRUE(mi_monotonic_ms() - start < 2000);
    CU_ASSERT_TRUE(waits[0].revents & POLLIN);
    CU_ASSERT_TRUE(waits[1].revents & POLLOUT);
    close(ends[0]);
    close(ends[1]);
    iggy_client_free(client);
    stub_stop(stub);
}

static void produce_guarded(struct iggy_client *client, uint64_t signs, struct call *call)
{
    struct iggy_batch *batch = one_message();
    call_clear(call);
    iggy_produce_unless_signs(client, signs, s("s"), s("t"), batch, on_produced, call);
    call_wait(client, call);
    iggy_batch_free(batch);
}

static void a_guarded_produce_is_held_back_after_a_refused_token(void)
{
    const struct stub_rule rules[] = {STUB_LOGIN,
                                      STUB_ME,
                                      {.request = MESSAGES, .times = 1, .answer = STORED},
                                      {.request = MESSAGES,
                                       .times = 1,
                                       .answer = stub_json(401, "{\"id\":40,\"code\":\"unauthenticated\"}")},
                                      {.request = MESSAGES, .answer = STORED},
                                      {.request = NULL}};
    struct stub *stub = stub_start(rules);
    struct iggy_client *client = connect_with(stub, 5000, 0);
    struct call call = {0};
    warm_up(client);
    uint64_t signs = iggy_client_signs(client);
    produce_guarded(client, signs, &call);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_OK);
    CU_ASSERT_EQUAL(iggy_client_signs(client), signs);
    produce_guarded(client, signs, &call);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_HELD_BACK);
    CU_ASSERT_EQUAL(call.result.effect, IGGY_EFFECT_NONE);
    CU_ASSERT_EQUAL(stub_count(stub, MESSAGES), 2);
    CU_ASSERT_EQUAL(iggy_client_signs(client), signs + 1);
    produce_guarded(client, signs, &call); /* still not looked at */
    CU_ASSERT_EQUAL(call.result.kind, IGGY_HELD_BACK);
    CU_ASSERT_EQUAL(stub_count(stub, MESSAGES), 2);
    produce_guarded(client, signs + 1, &call);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_OK);
    iggy_client_free(client);
    stub_stop(stub);
}

static void a_guarded_produce_is_held_back_on_a_connection_that_replaces_a_dead_one(void)
{
    const struct stub_rule rules[] = {
        STUB_LOGIN,
        STUB_ME,
        {.request = MESSAGES,
         .times = 1,
         .answer = "HTTP/1.1 201 Created\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"},
        {.request = MESSAGES, .answer = STORED},
        {.request = NULL}};
    struct stub *stub = stub_start(rules);
    struct iggy_client *client = connect_with(stub, 5000, 0);
    struct call call = {0};
    warm_up(client);
    uint64_t signs = iggy_client_signs(client);
    produce_guarded(client, signs, &call);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_OK);
    produce_guarded(client, signs, &call);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_HELD_BACK);
    CU_ASSERT_EQUAL(call.result.effect, IGGY_EFFECT_NONE);
    CU_ASSERT_EQUAL(stub_count(stub, MESSAGES), 1);
    CU_ASSERT_EQUAL(iggy_client_signs(client), signs + 1);
    warm_up(client); /* opens one, and leaves it */
    produce_guarded(client, iggy_client_signs(client), &call);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_OK);
    CU_ASSERT_FALSE(call.result.new_connection);
    iggy_client_free(client);
    stub_stop(stub);
}

static void a_connection_beside_a_living_one_is_no_sign(void)
{
    const struct stub_rule rules[] = {
        STUB_LOGIN, STUB_ME, {.request = MESSAGES, .answer = STORED}, {.request = NULL}};
    struct stub *stub = stub_start(rules);
    struct iggy_client *client = connect_with(stub, 5000, 0);
    struct call one = {0}, two = {0};
    warm_up(client);
    uint64_t signs = iggy_client_signs(client);
    struct iggy_batch *batch = one_message();
    iggy_produce_unless_signs(client, signs, s("s"), s("t"), batch, on_produced, &one);
    iggy_produce_unless_signs(client, signs, s("s"), s("t"), batch, on_produced, &two);
    call_wait(client, &one);
    call_wait(client, &two);
    CU_ASSERT_EQUAL(one.result.kind, IGGY_OK);
    CU_ASSERT_EQUAL(two.result.kind, IGGY_OK);
    CU_ASSERT_EQUAL(stub_connections(stub), 2);
    CU_ASSERT_EQUAL(iggy_client_signs(client), signs);
    call_clear(&one);
    call_clear(&two);
    iggy_batch_free(batch);
    iggy_client_free(client);
    stub_stop(stub);
}

static void reset_connects_anew(void)
{
    const struct stub_rule rules[] = {
        STUB_LOGIN, STUB_ME, {.request = MESSAGES, .answer = STORED}, {.request = NULL}};
    struct stub *stub = stub_start(rules);
    struct iggy_client *client = connect_with(stub, 5000, 0);
    struct call call = {0};
    produce(client, &call);
    iggy_client_reset(client);
    produce(client, &call);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_OK);
    CU_ASSERT_TRUE(call.result.new_connection);
    CU_ASSERT_EQUAL(stub_connections(stub), 2);
    CU_ASSERT_EQUAL(stub_count(stub, "POST /users/login"), 2);
    produce(client, &call);
    CU_ASSERT_FALSE(call.result.new_connection);
    iggy_client_free(client);
    stub_stop(stub);
}

static void the_environment_names_no_proxy(void)
{
    const struct stub_rule rules[] = {{.request = "GET /ping ", .answer = stub_json(200, "pong")},
                                      {.request = NULL}};
    struct stub *stub = stub_start(rules);
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    setenv("all_proxy", "http://127.0.0.1:1", 1);
    struct iggy_client *client = connect_with(stub, 5000, 0);
    struct call call = {0};
    iggy_ping(client, on_done, &call);
    call_wait(client, &call);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_OK);
    CU_ASSERT_EQUAL(stub_count(stub, "POST"), 0); /* no login for a ping */
    unsetenv("http_proxy");
    unsetenv("all_proxy");
    iggy_client_free(client);
    stub_stop(stub);
}

static void options_that_cannot_work(void)
{
    static const char *const fine[] = {"http://127.0.0.1:3000/iggy/"};
    const struct {
        const char *url;
        struct iggy_options options;
        const char *says;
    } rows[] = {
        {NULL, {.url_count = 0}, "no URL"},
        {"127.0.0.1:3000", {.url_count = 1}, "cannot be used"},
        {"ftp://127.0.0.1", {.url_count = 1}, "http://"},
        {"http://user:pass@host", {.url_count = 1}, "do not belong"},
        {"http://host/?a=b", {.url_count = 1}, "must end"},
        {"http://host", {.url_count = 1, .username = "u"}, "without a password"},
        {"http://host", {.url_count = 1, .password = "p"}, "without a user"},
        {"http://host", {.url_count = 1, .username = "u", .password = "p", .token = "t"}, "not both"},
        {"http://host", {.url_count = 1, .token = "a\r\nb"}, "white space"},
        {"https://host", {.url_count = 1, .ca_file = "/nowhere/ca.pem"}, "/nowhere/ca.pem"},
        {"https://host", {.url_count = 1, .ca_file = "/dev/null"}, "PEM"},
        {"https://host", {.url_count = 1, .client_key_file = "/dev/null"}, "without a client certificate"},
    };
    char error[256];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct iggy_options options = rows[i].options;
        options.urls = &rows[i].url;
        CU_ASSERT_PTR_NULL(iggy_client_new(&options, error, sizeof error));
        CU_ASSERT_PTR_NOT_NULL(strstr(error, rows[i].says));
        CU_ASSERT_PTR_NULL(strstr(error, "pass@"));
    }
    struct iggy_options options = {.urls = fine, .url_count = 1};
    struct iggy_client *client = iggy_client_new(&options, error, sizeof error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(client);
    struct call call = {0};
    iggy_get_streams(client, on_streams, &call); /* no credentials */
    call_wait(client, &call);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_LOCAL);
    iggy_client_free(client);
}

/* A callback may make and cancel requests. */
struct chain {
    struct iggy_client *client;
    iggy_request other;
    struct call cancelled;
    int left;
};

static void on_link(void *arg, const struct iggy_result *result)
{
    struct chain *chain = arg;
    CU_ASSERT_EQUAL(result->kind, IGGY_OK);
    iggy_client_cancel(chain->client, chain->other);
    chain->other = 0;
    if (--chain->left > 0)
        iggy_ping(chain->client, on_link, chain);
}

static void callbacks_that_go_on(void)
{
    const struct stub_rule rules[] = {{.request = "GET /ping ", .answer = stub_json(200, "pong")},
                                      STUB_LOGIN,
                                      STUB_ME,
                                      {.request = MESSAGES, .action = STUB_HANG},
                                      {.request = NULL}};
    struct stub *stub = stub_start(rules);
    struct iggy_client *client = connect_with(stub, 5000, 0);
    warm_up(client);
    struct iggy_batch *batch = one_message();
    struct chain chain = {.client = client, .left = 20};
    chain.other = iggy_produce(client, s("s"), s("t"), batch, on_produced, &chain.cancelled);
    iggy_ping(client, on_link, &chain);
    uint64_t end = mi_monotonic_ms() + 5000;
    while (iggy_client_drive(client, 100, NULL, 0) > 0 && mi_monotonic_ms() < end)
        continue;
    CU_ASSERT_EQUAL(chain.left, 0);
    CU_ASSERT_EQUAL(chain.cancelled.result.kind, IGGY_CANCELLED);
    iggy_batch_free(batch);
    iggy_client_free(client);
    stub_stop(stub);
}

static CU_TestInfo tests[] = {
    {"produced_and_confirmed", produced_and_confirmed},
    {"a_guarded_produce_is_held_back_after_a_refused_token",
     a_guarded_produce_is_held_back_after_a_refused_token},
    {"a_guarded_produce_is_held_back_on_a_connection_that_replaces_a_dead_one",
     a_guarded_produce_is_held_back_on_a_connection_that_replaces_a_dead_one},
    {"a_connection_beside_a_living_one_is_no_sign", a_connection_beside_a_living_one_is_no_sign},
    {"only_a_true_201_is_believed", only_a_true_201_is_believed},
    {"a_cut_produce_is_never_sent_again", a_cut_produce_is_never_sent_again},
    {"a_cut_delete_is_never_sent_again", a_cut_delete_is_never_sent_again},
    {"a_body_cut_half_way_had_no_effect", a_body_cut_half_way_had_no_effect},
    {"an_answer_cut_half_way", an_answer_cut_half_way},
    {"a_server_that_hangs", a_server_that_hangs},
    {"an_answer_that_is_too_large", an_answer_that_is_too_large},
    {"one_login_for_many_requests", one_login_for_many_requests},
    {"one_failed_login_for_many_requests", one_failed_login_for_many_requests},
    {"field 128: a 401 logs in again and repeats once", field_128_a_401_logs_in_again_and_repeats_once},
    {"a_401_that_stays", a_401_that_stays},
    {"nobody_listens", nobody_listens},
    {"tls_that_fails", tls_that_fails},
    {"the_next_url_is_tried", the_next_url_is_tried},
    {"cancelling", cancelling},
    {"waking_and_other_descriptors", waking_and_other_descriptors},
    {"reset_connects_anew", reset_connects_anew},
    {"the_environment_names_no_proxy", the_environment_names_no_proxy},
    {"options_that_cannot_work", options_that_cannot_work},
    {"callbacks_that_go_on", callbacks_that_go_on},
    CU_TEST_INFO_NULL};
MI_SUITE_MAIN("client", tests)
