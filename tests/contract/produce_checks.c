/*
 * produce_checks: the produce body, its partitions, ids and answers, and the size of a request.
 */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "call.h"
#include "checks.h"
#include "support/suite.h"
#include "target.h"

#define ONE "[{\"payload\":\"aGVsbG8=\"}]"

static const char *stream;

static void start(unsigned partitions)
{
    stream = fresh_stream();
    make_topic(stream, "t", partitions);
}

static struct reply *post(const char *body)
{
    return callf("POST", body, "/streams/%s/topics/t/messages", stream);
}

/* Produces one message with this partitioning. */
static struct reply *partitioned(const char *kind, const char *value)
{
    char body[1024];
    snprintf(body, sizeof body, "{\"partitioning\":{\"kind\":\"%s\",\"value\":\"%s\"},\"messages\":" ONE "}",
             kind, value);
    return post(body);
}

static const cJSON *confirmation(const struct reply *r)
{
    return cJSON_GetArrayItem(cJSON_GetObjectItem(r->json, "confirmations"), 0);
}

static void a_produce_is_confirmed_by_09(void)
{
    start(2);
    for (int i = 0; i < 3; i++) {
        struct reply *r = produce(stream, "t", 1, "[{\"payload\":\"YQ==\"},{\"payload\":\"Yg==\"}]");
        expect(r, 201, 0);
        if (target_is_08()) {
            CU_ASSERT_EQUAL(r->len, 0);
            CU_ASSERT_PTR_NULL(strstr(r->headers, "iggy-durability"));
            continue;
        }
        CU_ASSERT_PTR_NOT_NULL(strstr(r->headers, "iggy-durability: replicated"));
        CU_ASSERT_EQUAL(number_of(confirmation(r), "partition_id"), 1);
        CU_ASSERT_EQUAL(number_of(confirmation(r), "base_offset"), 2 * i);
    }
    struct reply *r = poll_query(stream, "t", "partition_id=1&count=100");
    CU_ASSERT_EQUAL(number_of(r->json, "count"), 6);
}

static void bodies_that_do_not_fit_are_422(void)
{
    static const char *const bad[] = {
        "{\"messages\":" ONE "}",
        "{\"partitioning\":{\"kind\":\"balanced\",\"value\":\"\"}}",
        "{\"partitioning\":{\"kind\":\"balanced\"},\"messages\":" ONE "}",
        "{\"partitioning\":{\"kind\":\"nonsense\",\"value\":\"\"},\"messages\":" ONE "}",
        "{\"partitioning\":{\"kind\":\"balanced\",\"value\":\"\"},\"messages\":" ONE ",\"x\":1}",
        "{\"partitioning\":{\"kind\":\"balanced\",\"value\":\"\"},\"messages\":[],\"messages\":[]}",
        "{\"partitioning\":{\"kind\":\"balanced\",\"value\":\"\"},\"messages\":[{}]}",
        "{\"partitioning\":{\"kind\":\"balanced\",\"value\":\"\"},\"messages\":[5]}",
        "{\"partitioning\":{\"kind\":\"balanced\",\"value\":\"\"},\"messages\":[{\"payload\":\"\"}]}",
        "{\"partitioning\":{\"kind\":\"balanced\",\"value\":\"\"},\"messages\":[{\"payload\":\"YQ\"}]}",
        "{\"partitioning\":{\"kind\":\"balanced\",\"value\":\"\"},\"messages\":[{\"payload\":\"a*==\"}]}",
        "{\"partitioning\":{\"kind\":\"balanced\",\"value\":\"\"},\"messages\":[{\"payload\":null}]}",
    };
    start(1);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        expect_text(post(bad[i]), 422);
    expect_text(post("{\"partitioning\":{"), 400);
    expect(post("{\"partitioning\":{\"kind\":\"balanced\",\"value\":\"\"},\"messages\":[]}"), 400, 4009);
    CU_ASSERT_EQUAL(number_of(poll_query(stream, "t", "count=1")->json, "count"), 0);
}

static void unknown_members_of_a_message_are_ignored(void)
{
    start(1);
    expect(produce(stream, "t", 0, "[{\"payload\":\"YQ==\",\"headers\":{\"a\":1},\"unknown\":[{}]}]"), 201,
           0);
}

static void a_wrong_content_type_is_415(void)
{
    char authorization[2100], path[100];
    start(1);
    snprintf(authorization, sizeof authorization, "Bearer %s", target_token());
    snprintf(path, sizeof path, "/streams/%s/topics/t/messages", stream);
    expect_text(call_raw("POST", path, "{}", 2, "text/plain", authorization), 415);
}

static void the_partition_is_little_endian(void)
{
    start(3);
    expect(partitioned("partition_id", "AgAAAA=="), 201, 0);
    CU_ASSERT_EQUAL(number_of(poll_query(stream, "t", "partition_id=2")->json, "count"), 1);
    expect(partitioned("partition_id", ""), 400, 4028);
    expect(partitioned("partition_id", b64("ab", 2)), 400, 3);
    expect(partitioned("partition_id", "CQAAAA=="), 404, target_is_08() ? 3007 : 20);
}

static void balanced_goes_round(void)
{
    start(3);
    for (int i = 0; i < 6; i++)
        expect(partitioned("balanced", ""), 201, 0);
    for (unsigned p = 0; p < 3; p++) {
        char query[32];
        snprintf(query, sizeof query, "partition_id=%u", p);
        CU_ASSERT_EQUAL(number_of(poll_query(stream, "t", query)->json, "count"), 2);
    }
}

static void a_key_goes_to_xxh32_modulo_partitions(void)
{
    static const char *const keys[] = {"device-42", "building/7", "\xc3\xa4", "x"};
    start(7);
    for (size_t i = 0; i < 4; i++) {
        unsigned want = XXH32(keys[i], strlen(keys[i]), 0) % 7;
        char query[64];
        snprintf(query, sizeof query, "partition_id=%u&count=100", want);
        double before = number_of(poll_query(stream, "t", query)->json, "count");
        expect(partitioned("messages_key", b64_text(keys[i])), 201, 0);
        CU_ASSERT_EQUAL(number_of(poll_query(stream, "t", query)->json, "count"), before + 1);
    }
    char key[257];
    memset(key, 'k', sizeof key);
    expect(partitioned("messages_key", b64(key, 255)), 201, 0);
    expect(partitioned("messages_key", b64(key, 256)), 400, 4028);
    expect(partitioned("messages_key", ""), 400, 4028);
}

static void ids_come_in_these_forms(void)
{
    static const struct {
        const char *sent, *polled; /* NULL: refused */
    } ids[] = {
        {"1", "\"id\":1,"},
        {"18446744073709551615", "\"id\":18446744073709551615,"},
        {"\"5\"", "\"id\":5,"},
        {"\"340282366920938463463374607431768211455\"", "\"id\":340282366920938463463374607431768211455,"},
        {"\"018f6d3e-0f7a-7c1e-9b1a-2f3c4d5e6f70\"", "\"id\":2073942146138620375584465284268715888,"},
        {"\"018F6D3E0F7A7C1E9B1A2F3C4D5E6F70\"", "\"id\":2073942146138620375584465284268715888,"},
        /* 32 digits without a letter are decimal, even where hex was meant; with a dash they are hex */
        {"\"00000000000000000000000000000012\"", "\"id\":12,"},
        {"\"10000000000000000000000000000000\"", "\"id\":10000000000000000000000000000000,"},
        {"\"00000000-0000-0000-0000-000000000012\"", "\"id\":18,"},
        {"\"+5\"", "\"id\":5,"},
        {"\"+\"", NULL},
        {"18446744073709551616", NULL},
        {"\"340282366920938463463374607431768211456\"", NULL},
        {"-1", NULL},
        {"1.5", NULL},
        {"null", NULL},
        {"true", NULL},
        {"\"\"", NULL},
        {"\"nonsense\"", NULL},
        {"\"{018f6d3e-0f7a-7c1e-9b1a-2f3c4d5e6f70}\"", NULL},
    };
    start(1);
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        char messages[200];
        snprintf(messages, sizeof messages, "[{\"id\":%s,\"payload\":\"YQ==\"}]", ids[i].sent);
        struct reply *r = produce(stream, "t", 0, messages);
        if (!ids[i].polled) {
            expect_text(r, 422);
            continue;
        }
        expect(r, 201, 0);
        r = poll_query(stream, "t", "kind=last&count=1");
        CU_ASSERT_PTR_NOT_NULL(strstr(r->body, ids[i].polled));
    }
}

static void id_0_or_none_becomes_a_random_one(void)
{
    start(1);
    expect(produce(stream, "t", 0, "[{\"id\":0,\"payload\":\"YQ==\"},{\"payload\":\"YQ==\"}]"), 201, 0);
    struct reply *r = poll_query(stream, "t", "count=2");
    CU_ASSERT_EQUAL(number_of(r->json, "count"), 2);
    CU_ASSERT_TRUE(number_of(cJSON_GetObjectItem(message_at(r, 0), "header"), "id") > 1e18);
    CU_ASSERT_TRUE(number_of(cJSON_GetObjectItem(message_at(r, 1), "header"), "id") > 1e18);
}

static void the_same_id_is_stored_twice(void)
{
    start(1);
    for (int i = 0; i < 2; i++)
        expect(produce(stream, "t", 0, "[{\"id\":\"77\",\"payload\":\"YQ==\"}]"), 201, 0);
    CU_ASSERT_EQUAL(number_of(poll_query(stream, "t", "count=9")->json, "count"), 2);
}

static struct reply *acknowledged(const char *topic, const char *ack)
{
    return callf("POST", "{\"partitioning\":{\"kind\":\"balanced\",\"value\":\"\"},\"messages\":" ONE "}",
                 "/streams/%s/topics/%s/messages?ack=%s", stream, topic, ack);
}

static void ack_none_proves_nothing(void)
{
    start(1);
    expect(acknowledged("t", "none"), target_is_08() ? 201 : 202, 0);
    expect(acknowledged("t", "replicated"), 201, 0);
    expect(acknowledged("t", "nonsense"), target_is_08() ? 201 : 400, 0);
    expect(acknowledged("missing", "none"), target_is_08() ? 404 : 202, 0);
}

static void missing_targets(void)
{
    static const char body[] =
        "{\"partitioning\":{\"kind\":\"balanced\",\"value\":\"\"},\"messages\":" ONE "}";
    start(1);
    make_topic(stream, "none", 0);
    expect(callf("POST", body, "/streams/%s/topics/missing/messages", stream), 404,
           target_is_08() ? 2010 : 20);
    expect(call("POST", "/streams/missing/topics/t/messages", body), 404, target_is_08() ? 1009 : 20);
    expect(callf("POST", body, "/streams/%s/topics/none/messages", stream), 404, target_is_08() ? 2010 : 20);
    /* An empty batch is seen first. */
    expect(call("POST", "/streams/missing/topics/t/messages",
                "{\"partitioning\":{\"kind\":\"balanced\",\"value\":\"\"},\"messages\":[]}"),
           400, 4009);
}

static void produce_right_after_creation_works(void)
{
    stream = fresh_stream();
    for (int i = 0; i < 10; i++) {
        char topic[16];
        snprintf(topic, sizeof topic, "t%d", i);
        make_topic(stream, topic, 4);
        expect(produce(stream, topic, 3, ONE), 201, 0);
    }
}

/* Sends a produce body of exactly that many bytes. */
static struct reply *sized(size_t bytes)
{
    static const char head[] =
        "{\"partitioning\":{\"kind\":\"partition_id\",\"value\":\"AAAAAA==\"},\"messages\":" ONE;
    char path[100], authorization[2100];
    char *body = malloc(bytes + 1);
    if (!body)
        abort();
    memset(body, ' ', bytes);
    memcpy(body, head, sizeof head - 1);
    body[bytes - 1] = '}';
    snprintf(path, sizeof path, "/streams/%s/topics/t/messages", stream);
    snprintf(authorization, sizeof authorization, "Bearer %s", target_token());
    struct reply *r = call_raw("POST", path, body, bytes, "application/json", authorization);
    free(body);
    return r;
}

static void a_request_may_have_2_million_bytes(void)
{
    start(1);
    expect(sized(2000000), 201, 0);
    /* The server may close before it has read all of it: then no answer is seen. */
    struct reply *r = sized(2000001);
    CU_ASSERT_TRUE(r->status == 413 || r->status == 0);
    r = sized(4000000);
    CU_ASSERT_TRUE(r->status == 413 || r->status == 0);
    CU_ASSERT_EQUAL(number_of(poll_query(stream, "t", "count=9")->json, "count"), 1);
}

static size_t discard(char *data, size_t size, size_t n, void *arg)
{
    (void)data;
    (void)arg;
    return size * n;
}

/* 24 requests in flight, as the product has them at most. */
static void twenty_four_in_flight_are_all_taken(void)
{
    enum { FLIGHT = 24 };
    static const char body[] =
        "{\"partitioning\":{\"kind\":\"balanced\",\"value\":\"\"},\"messages\":" ONE "}";
    CURLM *multi = curl_multi_init();
    CURL *handles[FLIGHT];
    char url[200], authorization[2100];
    start(8);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/streams/%s/topics/t/messages", target_port(), stream);
    snprintf(authorization, sizeof authorization, "Authorization: Bearer %s", target_token());
    struct curl_slist *headers =
        curl_slist_append(curl_slist_append(NULL, authorization), "Content-Type: application/json");
    for (int i = 0; i < FLIGHT; i++) {
        handles[i] = curl_easy_init();
        curl_easy_setopt(handles[i], CURLOPT_URL, url);
        curl_easy_setopt(handles[i], CURLOPT_NOPROXY, "*");
        curl_easy_setopt(handles[i], CURLOPT_HTTPHEADER, headers);
        curl_easy_setopt(handles[i], CURLOPT_POSTFIELDS, body);
        curl_easy_setopt(handles[i], CURLOPT_WRITEFUNCTION, discard);
        curl_multi_add_handle(multi, handles[i]);
    }
    int running = 1;
    while (running && curl_multi_perform(multi, &running) == CURLM_OK)
        curl_multi_poll(multi, NULL, 0, 1000, NULL);
    for (int i = 0; i < FLIGHT; i++) {
        long status = 0;
        curl_easy_getinfo(handles[i], CURLINFO_RESPONSE_CODE, &status);
        CU_ASSERT_EQUAL(status, 201);
        curl_multi_remove_handle(multi, handles[i]);
        curl_easy_cleanup(handles[i]);
    }
    curl_multi_cleanup(multi);
    curl_slist_free_all(headers);
    CU_ASSERT_EQUAL(number_of(callf("GET", NULL, "/streams/%s", stream)->json, "messages_count"), FLIGHT);
}

CU_TestInfo produce_checks[] = {
    {"a produce is confirmed by 0.9", a_produce_is_confirmed_by_09},
    {"bodies that do not fit are 422", bodies_that_do_not_fit_are_422},
    {"unknown members of a message are ignored", unknown_members_of_a_message_are_ignored},
    {"a wrong content type is 415", a_wrong_content_type_is_415},
    {"the partition is little-endian", the_partition_is_little_endian},
    {"balanced goes round", balanced_goes_round},
    {"a key goes to XXH32 modulo partitions", a_key_goes_to_xxh32_modulo_partitions},
    {"ids come in these forms", ids_come_in_these_forms},
    {"id 0 or none becomes a random one", id_0_or_none_becomes_a_random_one},
    {"the same id is stored twice", the_same_id_is_stored_twice},
    {"ack=none proves nothing", ack_none_proves_nothing},
    {"missing targets", missing_targets},
    {"produce right after creation works", produce_right_after_creation_works},
    {"a request may have 2 million bytes", a_request_may_have_2_million_bytes},
    {"24 in flight are all taken", twenty_four_in_flight_are_all_taken},
    CU_TEST_INFO_NULL};
