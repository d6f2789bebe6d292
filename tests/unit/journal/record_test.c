/* Records, segment headers and seals as bytes. */
#include "journal/record.h"
#include "journal/segment.h"
#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

static void test_crc32c_known_values(void)
{
    CU_ASSERT_EQUAL(mi_crc32c(0, "123456789", 9), 0xe3069283u);
    CU_ASSERT_EQUAL(mi_crc32c(0, "", 0), 0);
    uint8_t zeros[32] = {0}, ones[32];
    memset(ones, 0xff, sizeof ones);
    CU_ASSERT_EQUAL(mi_crc32c(0, zeros, 32), 0x8a9136aau);
    CU_ASSERT_EQUAL(mi_crc32c(0, ones, 32), 0x62a8ab43u);
}

static void test_crc32c_portable_and_chained(void)
{
    uint8_t data[1000];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * i >> 3);
    for (size_t len = 0; len < sizeof data; len += 13) {
        uint32_t whole = mi_crc32c(0, data, len);
        CU_ASSERT_EQUAL(mi_crc32c_portable(0, data, len), whole);
        CU_ASSERT_EQUAL(mi_crc32c(mi_crc32c(0, data, len / 3), data + len / 3, len - len / 3), whole);
    }
}

static size_t encode(const struct mi_record *r, uint8_t *to)
{
    uint8_t *at = to + mi_record_encode_head(r, to);
    const struct mi_span parts[] = {r->headers, r->prefix, r->payload};
    for (size_t i = 0; i < 3; i++) {
        if (parts[i].len)
            memcpy(at, parts[i].data, parts[i].len);
        at += parts[i].len;
    }
    size_t bytes = mi_record_bytes(r);
    memset(at, 0, (size_t)(to + bytes - at));
    return bytes;
}

static struct mi_record sample(void)
{
    struct mi_record r = {.run = 0x1122334455667788ull,
                          .sequence = 77,
                          .time_us = 1700000000000000ull,
                          .route = 9,
                          .key_hash = 5,
                          .qos = 2,
                          .balanced = true,
                          .reason = MI_REASON_TOO_LARGE};
    r.stream = mi_span_of("sensors");
    r.topic = mi_span_of("messages");
    r.headers = mi_span_of("hhh");
    r.prefix = mi_span_of("pre");
    r.payload = mi_span_of("payload");
    return r;
}

static void test_record_round_trip(void)
{
    uint8_t bytes[256];
    struct mi_record r = sample(), got;
    size_t len = encode(&r, bytes);
    CU_ASSERT_EQUAL(len % MI_RECORD_ALIGN, 0);
    CU_ASSERT_EQUAL(mi_record_decode(bytes, sizeof bytes, &got), (int64_t)len);
    CU_ASSERT_EQUAL(got.sequence, 77);
    CU_ASSERT_EQUAL(got.run, 0x55667788);
    CU_ASSERT_EQUAL(got.time_us, r.time_us);
    CU_ASSERT_EQUAL(got.route, 9);
    CU_ASSERT_EQUAL(got.key_hash, 5);
    CU_ASSERT_EQUAL(got.qos, 2);
    CU_ASSERT_TRUE(got.balanced);
    CU_ASSERT_EQUAL(got.reason, MI_REASON_TOO_LARGE);
    CU_ASSERT_TRUE(mi_span_equal(got.stream, r.stream) && mi_span_equal(got.topic, r.topic));
    CU_ASSERT_TRUE(mi_span_equal(got.headers, r.headers));
    CU_ASSERT_TRUE(mi_span_equal(got.payload, mi_span_of("prepayload")));
}

static void test_record_every_bit_counts(void)
{
    uint8_t bytes[256];
    struct mi_record r = sample(), got;
    size_t len = encode(&r, bytes), used = MI_RECORD_HEAD + 7 + 8 + 3 + 3 + 7;
    for (size_t bit = 0; bit < used * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        CU_ASSERT_TRUE(mi_record_decode(bytes, len, &got) <= 0);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

static void test_record_cut(void)
{
    uint8_t bytes[256];
    struct mi_record r = sample(), got;
    size_t len = encode(&r, bytes);
    for (size_t n = 0; n < len; n++) {
        uint8_t *exact = malloc(n ? n : 1);
        memcpy(exact, bytes, n);
        CU_ASSERT_EQUAL(mi_record_decode(exact, n, &got), 0);
        free(exact);
    }
}

static void test_record_too_long_parts(void)
{
    struct mi_record r = sample();
    r.stream.len = 65536;
    CU_ASSERT_EQUAL(mi_record_bytes(&r), 0);
    r = sample();
    r.payload.len = UINT32_MAX;
    CU_ASSERT_EQUAL(mi_record_bytes(&r), 0);
    r = sample();
    r.stream.len = 65535;
    CU_ASSERT_TRUE(mi_record_bytes(&r) > 65535);
}

static void test_header_survives_one_damaged_copy(void)
{
    uint8_t bytes[MI_SEGMENT_HEAD];
    struct mi_segment_header h = {MI_SEGMENT_VERSION, 1, 2, 3, 65536, 3, 5}, got;
    mi_segment_header_encode(&h, bytes);
    for (size_t at = 0; at < MI_SEGMENT_HEAD; at++) {
        bytes[at] ^= 0x10;
        CU_ASSERT_EQUAL(mi_segment_header_decode(bytes, sizeof bytes, &got), MI_SEGMENT_GOOD);
        CU_ASSERT_TRUE(got.run == 1 && got.number == 2 && got.first == 3 && got.size == 65536);
        bytes[at] ^= 0x10;
    }
    bytes[0] ^= 1;
    bytes[64] ^= 1;
    CU_ASSERT_EQUAL(mi_segment_header_decode(bytes, sizeof bytes, &got), MI_SEGMENT_BAD);
    CU_ASSERT_EQUAL(mi_segment_header_decode(bytes, 100, &got), MI_SEGMENT_BAD);
    memset(bytes, 0, sizeof bytes);
    CU_ASSERT_EQUAL(mi_segment_header_decode(bytes, sizeof bytes, &got), MI_SEGMENT_UNUSED);
    h.version = 2;
    mi_segment_header_encode(&h, bytes);
    CU_ASSERT_EQUAL(mi_segment_header_decode(bytes, sizeof bytes, &got), MI_SEGMENT_UNKNOWN);
    CU_ASSERT_EQUAL(got.version, 2);
}

static void test_seal(void)
{
    uint8_t bytes[MI_SEAL_TRAILER + 2 * MI_SEAL_ROUTE] = {1};
    struct mi_seal s = {2, 10, 20, 100, 150, 50, 4000, 0}, got;
    mi_seal_encode(&s, bytes);
    const uint8_t *trailer = bytes + 2 * MI_SEAL_ROUTE;
    CU_ASSERT_TRUE(mi_seal_check(bytes, sizeof bytes));
    CU_ASSERT_TRUE(mi_seal_peek(trailer, 20, 8192, &got));
    CU_ASSERT_TRUE(got.routes == 2 && got.run == 10 && got.next == 150 && got.records == 50 &&
                   got.end == 4000);
    CU_ASSERT_FALSE(mi_seal_peek(trailer, 21, 8192, &got));
    CU_ASSERT_FALSE(mi_seal_peek(trailer, 20, 4000, &got));
    for (size_t at = 0; at < sizeof bytes; at++) {
        bytes[at] ^= 4;
        CU_ASSERT_FALSE(mi_seal_check(bytes, sizeof bytes));
        bytes[at] ^= 4;
    }
}

static void test_segment_names(void)
{
    char name[MI_SEGMENT_NAME];
    uint64_t number = 0;
    mi_segment_name(7, name);
    CU_ASSERT_STRING_EQUAL(name, "0000000000000007.seg");
    CU_ASSERT_TRUE(mi_segment_number(name, &number) && number == 7);
    CU_ASSERT_FALSE(mi_segment_number("7.seg", &number));
    CU_ASSERT_FALSE(mi_segment_number("0000000000000007.seg.damaged", &number));
    CU_ASSERT_FALSE(mi_segment_number("state.0", &number));
}

static CU_TestInfo tests[] = {{"crc32c has the known values", test_crc32c_known_values},
                              {"crc32c portable and chained", test_crc32c_portable_and_chained},
                              {"a record comes back", test_record_round_trip},
                              {"every bit of a record counts", test_record_every_bit_counts},
                              {"a cut record asks for more", test_record_cut},
                              {"parts that do not fit", test_record_too_long_parts},
                              {"header: one damaged copy", test_header_survives_one_damaged_copy},
                              {"seal", test_seal},
                              {"segment names", test_segment_names},
                              CU_TEST_INFO_NULL};
MI_SUITE_MAIN("record", tests)
