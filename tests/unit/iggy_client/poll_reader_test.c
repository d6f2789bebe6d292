/* poll_reader: answers as real servers sent them, every form of user headers, random answers in any order of
 * members, and answers that are cut or damaged. */
#include "poll_reader.h"

#include "support/suite.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Recorded from a real 0.9 server. */
static const char recorded[] =
    "{\"partition_id\":3,\"current_offset\":2,\"count\":3,\"messages\":[{\"header\":{\"checksum\":"
    "17018081769248400063,\"id\":"
    "24197857199965561741520400062332047378,\"offset\":0,\"timestamp\":1795974196486506,\"origin_timestamp\":"
    "1795974196486425,\"user_headers_length\":12,\"payload_length\":2,\"reserved\":0},\"payload\":\"aGk=\","
    "\"user_headers\":["
    "{\"key\":{\"kind\":\"string\",\"value\":\"YQ==\"},\"value\":{\"kind\":\"uint8\",\"value\":\"Yg==\"}}]},{"
    "\"header\":{"
    "\"checksum\":17798309038896956143,\"id\":12345678901234567890123456789012,\"offset\":1,\"timestamp\":"
    "1795974196486506,"
    "\"origin_timestamp\":1795974196486428,\"user_headers_length\":0,\"payload_length\":2,\"reserved\":0},"
    "\"payload\":"
    "\"aGk=\",\"user_headers\":[]},{\"header\":{\"checksum\":14531410842442129274,\"id\":"
    "340282366920938463463374607431768211455,\"offset\":2,\"timestamp\":1795974196486506,\"origin_"
    "timestamp\":"
    "1795974196486429,\"user_headers_length\":0,\"payload_length\":2,\"reserved\":0},\"payload\":\"aG8=\","
    "\"user_headers\":"
    "\"AgEAAABrAgAAAAA=\"}]}";

struct reading {
    uint8_t *text; /* a block of its own, so that a sanitizer sees a read past its end */
    struct poll_reader reader;
    bool ok;
};

static struct reading read_bytes(const char *json, size_t len)
{
    struct reading r = {.text = malloc(len ? len : 1)};
    memcpy(r.text, json, len);
    r.ok = poll_read(&r.reader, r.text, len);
    return r;
}

static void end(struct reading *r)
{
    poll_reader_fini(&r->reader);
    free(r->text);
}

static bool reads(const char *json)
{
    struct reading r = read_bytes(json, strlen(json));
    end(&r);
    return r.ok;
}

static void recorded_answer(void)
{
    struct reading r = read_bytes(recorded, sizeof recorded - 1);
    const struct iggy_polled *polled = &r.reader.polled;
    CU_ASSERT_TRUE_FATAL(r.ok && polled->count == 3);
    CU_ASSERT_EQUAL(polled->partition_id, 3);
    CU_ASSERT_EQUAL(polled->current_offset, 2);
    const struct iggy_polled_message *m = polled->messages;
    CU_ASSERT_TRUE(m[0].id.hi == 0x1234567890123456 && m[0].id.lo == 0x7890123456789012);
    CU_ASSERT_TRUE(m[2].id.hi == UINT64_MAX && m[2].id.lo == UINT64_MAX);
    CU_ASSERT_EQUAL(m[1].offset, 1);
    CU_ASSERT_EQUAL(m[1].timestamp, 1795974196486506);
    CU_ASSERT_EQUAL(m[1].origin_timestamp, 1795974196486428);
    CU_ASSERT_TRUE(m[0].payload.len == 2 && memcmp(m[0].payload.data, "hi", 2) == 0);
    static const uint8_t block[] = {2, 1, 0, 0, 0, 'a', 9, 1, 0, 0, 0, 'b'};
    CU_ASSERT_TRUE(m[0].headers.len == sizeof block && memcmp(m[0].headers.data, block, sizeof block) == 0);
    CU_ASSERT_EQUAL(m[1].headers.len, 0);
    static const uint8_t raw[] = {2, 1, 0, 0, 0, 'k', 2, 0, 0, 0, 0};
    CU_ASSERT_TRUE(m[2].headers.len == sizeof raw && memcmp(m[2].headers.data, raw, sizeof raw) == 0);
    end(&r);
}

static void empty_answers(void)
{
    static const char nothing[] = "{\"partition_id\":0,\"current_offset\":7,\"count\":0,\"messages\":[]}";
    struct reading r = read_bytes(nothing, sizeof nothing - 1);
    CU_ASSERT_TRUE(r.ok);
    CU_ASSERT_EQUAL(r.reader.polled.count, 0);
    CU_ASSERT_EQUAL(r.reader.polled.current_offset, 7);
    end(&r);
    CU_ASSERT_FALSE(reads(""));
    CU_ASSERT_FALSE(reads("{}"));
    CU_ASSERT_FALSE(reads("null"));
    CU_ASSERT_FALSE(reads("[]"));
}

static bool reads_message(const char *message)
{
    char json[1024];
    snprintf(json, sizeof json, "{\"messages\":[%s]}", message);
    return reads(json);
}

static void what_a_message_must_have(void)
{
    CU_ASSERT_TRUE(reads_message("{\"header\":{\"id\":1,\"offset\":2},\"payload\":\"\"}"));
    CU_ASSERT_TRUE(
        reads_message("{\"header\":{\"id\":1,\"offset\":2},\"payload\":\"\",\"user_headers\":null}"));
    CU_ASSERT_TRUE(reads_message(
        "{\"new\":{\"a\":[]},\"payload\":\"\",\"header\":{\"offset\":2,\"x\":-1.5e3,\"id\":1}}"));
    CU_ASSERT_FALSE(reads_message("{\"header\":{\"id\":1},\"payload\":\"\"}"));
    CU_ASSERT_FALSE(reads_message("{\"header\":{\"offset\":1},\"payload\":\"\"}"));
    CU_ASSERT_FALSE(reads_message("{\"header\":{\"id\":1,\"offset\":2}}"));
    CU_ASSERT_FALSE(reads_message("{\"payload\":\"\"}"));
    CU_ASSERT_FALSE(reads_message("{\"header\":{\"id\":1,\"offset\":2},\"payload\":\"a\"}"));
    CU_ASSERT_FALSE(reads_message("{\"header\":{\"id\":1,\"offset\":2},\"payload\":null}"));
    CU_ASSERT_FALSE(reads_message("{\"header\":{\"id\":-1,\"offset\":2},\"payload\":\"\"}"));
    CU_ASSERT_FALSE(
        reads_message("{\"header\":{\"id\":1,\"offset\":18446744073709551616},\"payload\":\"\"}"));
    CU_ASSERT_FALSE(
        reads_message("{\"header\":{\"id\":1,\"offset\":2},\"payload\":\"\",\"user_headers\":7}"));
    CU_ASSERT_FALSE(
        reads_message("{\"header\":{\"id\":1,\"offset\":2},\"payload\":\"\",\"user_headers\":[{}]}"));
    CU_ASSERT_FALSE(reads_message("7"));
}

/* ---- random answers
 * ------------------------------------------------------------------------------------------------ */

struct expected {
    struct iggy_id id;
    uint64_t offset, timestamp;
    uint8_t block[2048], payload[400];
    size_t block_len, payload_len;
};

static char json[1 << 20];
static size_t json_len;

static void put(const char *text)
{
    size_t len = strlen(text);
    memcpy(json + json_len, text, len);
    json_len += len;
    /* White space where it is allowed: behind any of these. */
    if (len && strchr("{}[],:", text[len - 1]) && rand() % 8 == 0)
        json[json_len++] = " \t\r\n"[rand() % 4];
}

static void put_base64(const uint8_t *bytes, size_t len)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    json[json_len++] = '"';
    for (size_t i = 0; i < len; i += 3) {
        unsigned v = (unsigned)bytes[i] << 16 | (i + 1 < len ? (unsigned)bytes[i + 1] << 8 : 0) |
                     (i + 2 < len ? bytes[i + 2] : 0u);
        json[json_len++] = alphabet[v >> 18];
        json[json_len++] = alphabet[v >> 12 & 63];
        json[json_len++] = i + 1 < len ? alphabet[v >> 6 & 63] : '=';
        json[json_len++] = i + 2 < len ? alphabet[v & 63] : '=';
    }
    put("\"");
}

static void put_number(unsigned __int128 v)
{
    char digits[48];
    size_t at = sizeof digits - 1;
    digits[at] = '\0';
    do
        digits[--at] = (char)('0' + (int)(v % 10));
    while ((v /= 10) != 0);
    put(digits + at);
}

static uint64_t random_bits(void)
{
    uint64_t v = 0;
    for (int i = 0; i < 5; i++)
        v = v << 15 ^ (uint64_t)rand();
    return v >> rand() % 64;
}

static size_t random_bytes(uint8_t *to, size_t most)
{
    size_t len = (size_t)rand() % (most + 1);
    for (size_t i = 0; i < len; i++)
        to[i] = (uint8_t)(rand() >> 5);
    return len;
}

static const char *const kinds[] = {"raw",    "string", "bool",    "int8",    "int16",
                                    "int32",  "int64",  "int128",  "uint8",   "uint16",
                                    "uint32", "uint64", "uint128", "float32", "float64"};

/* One field of a header entry, in the JSON and in the expected block (whose place is given: the order may
 * differ). */
static void put_field(int kind, const uint8_t *bytes, size_t len)
{
    put("{");
    bool value_first = rand() % 2;
    for (int i = 0; i < 2; i++) {
        if (i == value_first) {
            put("\"kind\":");
            put("\"");
            put(kinds[kind - 1]);
            put("\"");
        } else {
            put("\"value\":");
            put_base64(bytes, len);
        }
        put(i == 0 ? "," : "}");
    }
}

static void add_to_block(struct expected *e, int kind, const uint8_t *bytes, size_t len)
{
    e->block[e->block_len++] = (uint8_t)kind;
    mi_put_u32le(e->block + e->block_len, (uint32_t)len);
    memcpy(e->block + e->block_len + 4, bytes, len);
    e->block_len += 4 + len;
}

static void put_entry(struct expected *e)
{
    uint8_t key[60], value[60];
    size_t key_len = random_bytes(key, sizeof key), value_len = random_bytes(value, sizeof value);
    int key_kind = rand() % 15 + 1, value_kind = rand() % 15 + 1;
    bool value_first = rand() % 2;
    add_to_block(e, key_kind, key, key_len);
    add_to_block(e, value_kind, value, value_len);
    put("{");
    for (int i = 0; i < 2; i++) {
        put(i == value_first ? "\"key\":" : "\"value\":");
        if (i == value_first)
            put_field(key_kind, key, key_len);
        else
            put_field(value_kind, value, value_len);
        put(i == 0 ? "," : "}");
    }
}

static void put_user_headers(struct expected *e)
{
    int form = rand() % 4;
    e->block_len = 0;
    if (form == 0) {
        put("null");
    } else if (form == 1) {
        e->block_len = random_bytes(e->block, 200);
        put_base64(e->block, e->block_len);
    } else {
        put("[");
        for (int n = rand() % 8; n > 0; n--) {
            put_entry(e);
            if (n > 1)
                put(",");
        }
        put("]");
    }
}

static void put_header(const struct expected *e)
{
    put("{");
    put("\"checksum\":18446744073709551615,\"offset\":");
    put_number(e->offset);
    if (rand() % 2)
        put(",\"later\":{\"x\":[1,2.5,\"}\"]}");
    put(",\"id\":");
    put_number((unsigned __int128)e->id.hi << 64 | e->id.lo);
    put(",\"timestamp\":");
    put_number(e->timestamp);
    put("}");
}

static void put_message(struct expected *e)
{
    *e = (struct expected){
        .id = {random_bits(), random_bits()}, .offset = random_bits(), .timestamp = random_bits()};
    e->payload_len = random_bytes(e->payload, sizeof e->payload);
    int first = rand() % 3;
    put("{");
    for (int i = 0; i < 3; i++) {
        int what = (first + i) % 3;
        put(what == 0 ? "\"header\":" : what == 1 ? "\"payload\":" : "\"user_headers\":");
        if (what == 0)
            put_header(e);
        else if (what == 1)
            put_base64(e->payload, e->payload_len);
        else
            put_user_headers(e);
        put(i < 2 ? "," : "}");
    }
}

static bool same(const struct iggy_polled_message *m, const struct expected *e)
{
    return m->id.hi == e->id.hi && m->id.lo == e->id.lo && m->offset == e->offset &&
           m->timestamp == e->timestamp && m->payload.len == e->payload_len &&
           memcmp(m->payload.data, e->payload, e->payload_len) == 0 && m->headers.len == e->block_len &&
           (e->block_len == 0 || memcmp(m->headers.data, e->block, e->block_len) == 0);
}

static struct expected expected[150];

static size_t put_answer(void)
{
    size_t count = (size_t)rand() % (sizeof expected / sizeof expected[0]);
    json_len = 0;
    put("{\"messages\":[");
    for (size_t i = 0; i < count; i++) {
        put_message(&expected[i]);
        if (i + 1 < count)
            put(",");
    }
    put("],\"current_offset\":5,\"more\":null,\"partition_id\":2}");
    return count;
}

static void random_answers(void)
{
    for (unsigned seed = 1; seed <= 300; seed++) {
        srand(seed);
        size_t count = put_answer();
        struct reading r = read_bytes(json, json_len);
        CU_ASSERT_TRUE(r.ok);
        CU_ASSERT_EQUAL_FATAL(r.reader.polled.count, count);
        size_t wrong = 0;
        for (size_t i = 0; i < count; i++)
            wrong += !same(&r.reader.polled.messages[i], &expected[i]);
        if (wrong)
            printf("    seed %u\n", seed);
        CU_ASSERT_EQUAL(wrong, 0);
        end(&r);
    }
}

static void a_cut_answer_is_never_whole(void)
{
    for (size_t len = 0; len < sizeof recorded - 1; len++) {
        struct reading r = read_bytes(recorded, len);
        CU_ASSERT_FALSE(r.ok);
        end(&r);
    }
}

static void damage_does_no_harm(void)
{
    srand(11);
    char damaged[sizeof recorded];
    for (int i = 0; i < 20000; i++) {
        memcpy(damaged, recorded, sizeof recorded);
        for (int k = rand() % 3 + 1; k > 0; k--)
            damaged[(size_t)rand() % (sizeof recorded - 1)] = "\"\\{}[]:,019=Atn\0\xff"[rand() % 18];
        struct reading r = read_bytes(damaged, sizeof recorded - 1);
        CU_ASSERT_TRUE(r.reader.polled.count < sizeof recorded);
        end(&r);
    }
}

static CU_TestInfo tests[] = {{"recorded_answer", recorded_answer},
                              {"empty_answers", empty_answers},
                              {"what_a_message_must_have", what_a_message_must_have},
                              {"random_answers", random_answers},
                              {"a_cut_answer_is_never_whole", a_cut_answer_is_never_whole},
                              {"damage_does_no_harm", damage_does_no_harm},
                              CU_TEST_INFO_NULL};
MI_SUITE_MAIN("poll_reader", tests)
