/*
 * header_checks: user headers, as array and as raw block, also those that no consumer can decode.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "call.h"
#include "checks.h"
#include "support/suite.h"
#include "target.h"

static const char *stream;

static void start(void)
{
    stream = fresh_stream();
    make_topic(stream, "t", 1);
}

/* Produces a message with that JSON as user_headers. */
static struct reply *send_headers(const char *json)
{
    size_t size = strlen(json) + 100;
    char *messages = malloc(size);
    if (!messages)
        abort();
    snprintf(messages, size, "[{\"payload\":\"YQ==\",\"user_headers\":%s}]", json);
    struct reply *r = produce(stream, "t", 0, messages);
    free(messages);
    return r;
}

/* What comes back for it, as JSON text without spaces. */
static const char *round_trip(const char *json)
{
    static char text[2000];
    if (!expect(send_headers(json), 201, 0))
        return "";
    struct reply *r = poll_query(stream, "t", "kind=last&count=1");
    char *printed = cJSON_PrintUnformatted(cJSON_GetObjectItem(message_at(r, 0), "user_headers"));
    snprintf(text, sizeof text, "%s", printed ? printed : "");
    free(printed);
    return text;
}

static void add_entry(struct mi_buf *block, const char *key, uint8_t kind, const void *value, size_t len)
{
    uint8_t number[4];
    mi_buf_add_byte(block, 2);
    mi_put_u32le(number, (uint32_t)strlen(key));
    mi_buf_add(block, number, 4);
    mi_buf_add_text(block, key);
    mi_buf_add_byte(block, kind);
    mi_put_u32le(number, (uint32_t)len);
    mi_buf_add(block, number, 4);
    mi_buf_add(block, value, len);
}

/* The block as JSON string; frees it. */
static const char *as_string(struct mi_buf *block)
{
    static char text[200000];
    snprintf(text, sizeof text, "\"%s\"", b64(block->data, block->len));
    mi_buf_fini(block);
    return text;
}

#define FIELD(kind, value) "{\"kind\":\"" kind "\",\"value\":\"" value "\"}"
#define ENTRY(key, kind, value) "{\"key\":" FIELD("string", key) ",\"value\":" FIELD(kind, value) "}"

static void none_is_an_empty_array(void)
{
    start();
    CU_ASSERT_STRING_EQUAL(round_trip("null"), "[]");
    CU_ASSERT_STRING_EQUAL(round_trip("[]"), "[]");
    CU_ASSERT_STRING_EQUAL(round_trip("\"\""), "[]");
}

static void an_array_comes_back_by_key_and_the_last_one_wins(void)
{
    start();
    const char *back = round_trip("[" ENTRY("Yg==", "uint8", "AQ==") "," ENTRY("YQ==", "string", "eA==") "]");
    CU_ASSERT_PTR_NOT_NULL(strstr(back, ENTRY("YQ==", "string", "eA==")));
    CU_ASSERT_PTR_NOT_NULL(strstr(back, ENTRY("Yg==", "uint8", "AQ==")));
    if (!target_is_08())
        CU_ASSERT_STRING_EQUAL(back,
                               "[" ENTRY("YQ==", "string", "eA==") "," ENTRY("Yg==", "uint8", "AQ==") "]");
    back = round_trip("[" ENTRY("YQ==", "string", "MQ==") "," ENTRY("YQ==", "string", "Mg==") "]");
    CU_ASSERT_STRING_EQUAL(back, "[" ENTRY("YQ==", "string", "Mg==") "]");
}

static void a_raw_block_is_the_same_thing(void)
{
    struct mi_buf block;
    uint64_t micros = 1785510000000000;
    uint8_t number[8];
    start();
    mi_put_u64le(number, micros);
    mi_buf_init(&block, 1000);
    add_entry(&block, "mqtt.time", 12, number, 8);
    add_entry(&block, "mqtt.retain", 3, "\1", 1);
    add_entry(&block, "mqtt.properties", 1, "\0\xff", 2);
    const char *back = round_trip(as_string(&block));
    CU_ASSERT_PTR_NOT_NULL(strstr(back, ENTRY("bXF0dC5yZXRhaW4=", "bool", "AQ==")));
    CU_ASSERT_PTR_NOT_NULL(strstr(back, ENTRY("bXF0dC5wcm9wZXJ0aWVz", "raw", "AP8=")));
    CU_ASSERT_PTR_NOT_NULL(strstr(back, FIELD("uint64", "APxKcelXBgA=")));
    mi_buf_init(&block, 1000);
    add_entry(&block, "a", 2, "1", 1);
    add_entry(&block, "a", 2, "2", 1);
    CU_ASSERT_STRING_EQUAL(round_trip(as_string(&block)), "[" ENTRY("YQ==", "string", "Mg==") "]");
}

static void every_kind_has_its_number(void)
{
    static const char *const kinds[] = {NULL,     "raw",     "string",  "bool",   "int8",   "int16",
                                        "int32",  "int64",   "int128",  "uint8",  "uint16", "uint32",
                                        "uint64", "uint128", "float32", "float64"};
    static const size_t sizes[] = {0, 3, 3, 1, 1, 2, 4, 8, 16, 1, 2, 4, 8, 16, 4, 8};
    start();
    for (uint8_t kind = 1; kind <= 15; kind++) {
        struct mi_buf block;
        char want[64];
        mi_buf_init(&block, 1000);
        add_entry(&block, "k", kind, "\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1", sizes[kind]);
        snprintf(want, sizeof want, "\"value\":{\"kind\":\"%s\",\"value\":\"AQ", kinds[kind]);
        CU_ASSERT_PTR_NOT_NULL(strstr(round_trip(as_string(&block)), want));
    }
}

/* Accepted with 201, and then the whole block comes back as a base64 string. */
static void expect_undecodable(const char *json)
{
    const char *back = round_trip(json);
    CU_ASSERT_EQUAL(back[0], '"');
}

static void undecodable_headers_are_accepted_and_come_back_raw(void)
{
    char value[257];
    struct mi_buf block;
    memset(value, 'v', sizeof value);
    start();
    expect_undecodable("[" ENTRY("YQ==", "string", "") "]");
    expect_undecodable("[" ENTRY("YQ==", "uint8", "eHk=") "]");
    expect_undecodable("[" ENTRY("", "string", "eA==") "]");
    mi_buf_init(&block, 1000);
    add_entry(&block, "a", 2, value, 256);
    expect_undecodable(as_string(&block));
    mi_buf_init(&block, 1000);
    add_entry(&block, "a", 99, "x", 1);
    expect_undecodable(as_string(&block));
    mi_buf_init(&block, 1000);
    add_entry(&block, "a", 2, "x", 1);
    mi_buf_add_byte(&block, 0);
    expect_undecodable(as_string(&block));
    CU_ASSERT_STRING_EQUAL(round_trip("\"AgE=\""), "\"AgE=\"");
}

static void a_string_need_not_be_utf8(void)
{
    start();
    CU_ASSERT_STRING_EQUAL(round_trip("[" ENTRY("YQ==", "string", "//4=") "]"),
                           "[" ENTRY("YQ==", "string", "//4=") "]");
}

static void headers_that_do_not_fit_are_422(void)
{
    static const char *const bad[] = {"5",
                                      "{\"a\":" FIELD("string", "eA==") "}",
                                      "[{\"key\":" FIELD("string", "YQ==") "}]",
                                      "[" ENTRY("YQ==", "nonsense", "eA==") "]",
                                      "[" ENTRY("YQ==", "string", "a*==") "]",
                                      "\"a*==\""};
    start();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        expect_text(send_headers(bad[i]), 422);
}

/* count entries of about 220 bytes each as a JSON array. */
static char *big_array(unsigned count)
{
    struct mi_buf out;
    char value[200];
    memset(value, 'v', sizeof value);
    mi_buf_init(&out, 4 << 20);
    for (unsigned i = 0; i < count; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%05u", i);
        mi_buf_addf(&out, "%s{\"key\":{\"kind\":\"string\",\"value\":\"%s\"},", i ? "," : "[", b64_text(key));
        mi_buf_addf(&out, "\"value\":{\"kind\":\"string\",\"value\":\"%s\"}}", b64(value, sizeof value));
    }
    mi_buf_add_text(&out, "]");
    mi_buf_add_byte(&out, 0);
    return (char *)out.data;
}

static void only_arrays_are_limited_to_100_000_bytes(void)
{
    char value[200];
    start();
    char *array = big_array(460); /* 460 * 216 = 99,360 */
    expect(send_headers(array), 201, 0);
    free(array);
    array = big_array(470);
    expect_text(send_headers(array), 422);
    free(array);
    struct mi_buf block;
    memset(value, 'v', sizeof value);
    mi_buf_init(&block, 1 << 20);
    for (int i = 0; i < 600; i++)
        add_entry(&block, "k", 2, value, sizeof value);
    expect(send_headers(as_string(&block)), 201, 0);
}

CU_TestInfo header_checks[] = {
    {"no headers are an empty array", none_is_an_empty_array},
    {"an array comes back by key, the last one wins", an_array_comes_back_by_key_and_the_last_one_wins},
    {"a raw block is the same thing", a_raw_block_is_the_same_thing},
    {"every kind has its number", every_kind_has_its_number},
    {"undecodable headers are accepted and come back raw",
     undecodable_headers_are_accepted_and_come_back_raw},
    {"a string need not be UTF-8", a_string_need_not_be_utf8},
    {"headers that do not fit are 422", headers_that_do_not_fit_are_422},
    {"only arrays are limited to 100,000 bytes", only_arrays_are_limited_to_100_000_bytes},
    CU_TEST_INFO_NULL};
