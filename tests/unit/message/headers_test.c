/* headers: only what every Iggy SDK can decode is written; everything is read; values become text. */
#include "message/headers.h"
#include "reference_decoder.h"
#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

static struct mi_span bytes(const void *data, size_t len)
{
    return (struct mi_span){data, len};
}

static void an_entry_has_the_layout_of_the_api(void)
{
    struct mi_buf b;
    mi_buf_init(&b, 1000);
    CU_ASSERT_TRUE(mi_headers_add(&b, mi_span_of("qos"), MI_HEADER_UINT8, bytes("\x01", 1)));
    static const uint8_t expected[] = {2, 3, 0, 0, 0, 'q', 'o', 's', 9, 1, 0, 0, 0, 1};
    CU_ASSERT_TRUE(mi_span_equal(mi_buf_span(&b), bytes(expected, sizeof expected)));
    CU_ASSERT_EQUAL(mi_headers_entry_bytes(3, 1), sizeof expected);
    mi_buf_fini(&b);
}

static void what_no_sdk_could_decode_is_refused(void)
{
    static const uint8_t zeros[300];
    char key[257] = {0};
    memset(key, 'k', 256);
    struct mi_buf b;
    mi_buf_init(&b, 100000);
    struct mi_span k = mi_span_of("k"), v = mi_span_of("v");
    CU_ASSERT_FALSE(mi_headers_add(&b, mi_span_of(""), MI_HEADER_STRING, v));
    CU_ASSERT_FALSE(mi_headers_add(&b, mi_span_of(key), MI_HEADER_STRING, v));
    CU_ASSERT_FALSE(mi_headers_add(&b, mi_span_of("\xff"), MI_HEADER_STRING, v));
    CU_ASSERT_FALSE(mi_headers_add(&b, k, MI_HEADER_STRING, mi_span_of("")));
    CU_ASSERT_FALSE(mi_headers_add(&b, k, MI_HEADER_STRING, mi_span_of("\xc3")));
    CU_ASSERT_FALSE(mi_headers_add(&b, k, MI_HEADER_RAW, bytes(zeros, 256)));
    CU_ASSERT_FALSE(mi_headers_add(&b, k, MI_HEADER_BOOL, bytes("\x02", 1)));
    CU_ASSERT_FALSE(mi_headers_add(&b, k, (enum mi_header_kind)0, v));
    CU_ASSERT_FALSE(mi_headers_add(&b, k, (enum mi_header_kind)16, v));
    CU_ASSERT_EQUAL(b.len, 0);
    CU_ASSERT_FALSE(b.failed);
    CU_ASSERT_TRUE(mi_headers_add(&b, bytes(key, 255), MI_HEADER_RAW, bytes(zeros, 255)));
    mi_buf_fini(&b);
}

/* Every kind with every length: what is accepted is what the reference accepts. */
static void field_106_byte_counts_fit_their_kinds(void)
{
    static const uint8_t zeros[20];
    unsigned accepted = 0;
    for (int kind = 0; kind < 20; kind++)
        for (size_t len = 0; len <= sizeof zeros; len++) {
            struct mi_buf b;
            mi_buf_init(&b, 100);
            bool added = mi_headers_add(&b, mi_span_of("k"), (enum mi_header_kind)kind, bytes(zeros, len));
            struct reference_header h;
            const char *fault;
            uint8_t entry[40] = {2, 1, 0, 0, 0, 'k', (uint8_t)kind, (uint8_t)len};
            int expected = reference_decode(entry, 11 + len, 100, &h, 1, &fault);
            CU_ASSERT_EQUAL(added, expected == 1);
            CU_ASSERT_TRUE(!added || mi_span_equal(mi_buf_span(&b), bytes(entry, 11 + len)));
            accepted += added;
            mi_buf_fini(&b);
        }
    CU_ASSERT_EQUAL(accepted, 2 * 20 + 13);
}

static void a_full_buffer_says_so_and_keeps_its_content(void)
{
    struct mi_buf b;
    mi_buf_init(&b, 25);
    CU_ASSERT_TRUE(mi_headers_add(&b, mi_span_of("a"), MI_HEADER_STRING, mi_span_of("1")));
    CU_ASSERT_FALSE(mi_headers_add(&b, mi_span_of("bb"), MI_HEADER_STRING, mi_span_of("22")));
    CU_ASSERT_TRUE(b.failed);
    CU_ASSERT_EQUAL(b.len, 12);
    mi_buf_fini(&b);
}

static void the_last_of_repeated_keys_is_found(void)
{
    struct mi_buf b;
    mi_buf_init(&b, 1000);
    mi_headers_add(&b, mi_span_of("a"), MI_HEADER_STRING, mi_span_of("1"));
    mi_headers_add(&b, mi_span_of("b"), MI_HEADER_STRING, mi_span_of("2"));
    mi_headers_add(&b, mi_span_of("a"), MI_HEADER_STRING, mi_span_of("3"));
    struct mi_header h;
    CU_ASSERT_TRUE(mi_headers_find(mi_buf_span(&b), mi_span_of("a"), &h));
    CU_ASSERT_TRUE(mi_span_equal(h.value, mi_span_of("3")));
    CU_ASSERT_FALSE(mi_headers_find(mi_buf_span(&b), mi_span_of("c"), &h));
    b.data[0] = MI_HEADER_RAW; /* another kind of key is another key */
    b.data[24] = MI_HEADER_RAW;
    CU_ASSERT_FALSE(mi_headers_find(mi_buf_span(&b), mi_span_of("a"), &h));
    mi_buf_fini(&b);
}

static void a_block_cut_anywhere_is_read_up_to_there(void)
{
    struct mi_buf b;
    mi_buf_init(&b, 1000);
    mi_headers_add(&b, mi_span_of("key"), MI_HEADER_STRING, mi_span_of("value"));
    mi_headers_add(&b, mi_span_of("k"), MI_HEADER_BOOL, bytes("\x01", 1));
    for (size_t len = 0; len <= b.len; len++) {
        uint8_t *exact = malloc(len ? len : 1);
        memcpy(exact, b.data, len);
        struct mi_header h;
        size_t at = 0;
        int more, read = 0;
        while ((more = mi_headers_next(bytes(exact, len), &at, &h)) == 1)
            read++;
        CU_ASSERT_EQUAL(read, (len >= 18) + (len >= 30));
        CU_ASSERT_EQUAL(more, len == 0 || len == 18 || len == 30 ? 0 : -1);
        free(exact);
    }
    /* Lengths near 2^32 do not wrap. */
    static const uint8_t huge[] = {2, 0xff, 0xff, 0xff, 0xff, 'a', 1, 1, 0, 0, 0, 'v'};
    struct mi_header h;
    size_t at = 0;
    CU_ASSERT_EQUAL(mi_headers_next(bytes(huge, sizeof huge), &at, &h), -1);
    mi_buf_fini(&b);
}

/* Empty and long values, which the server stores unchecked, are given as they are. */
static void values_of_any_length_are_read(void)
{
    uint8_t block[400] = {2, 1, 0, 0, 0, 'a', 2, 0, 0, 0, 0, 2, 1, 0, 0, 0, 'b', 1, 0x2c, 1, 0, 0};
    struct mi_header h;
    size_t at = 0;
    CU_ASSERT_EQUAL(mi_headers_next(bytes(block, 322), &at, &h), 1);
    CU_ASSERT_EQUAL(h.value.len, 0);
    CU_ASSERT_EQUAL(mi_headers_next(bytes(block, 322), &at, &h), 1);
    CU_ASSERT_EQUAL(h.value.len, 300);
    CU_ASSERT_EQUAL(mi_headers_next(bytes(block, 322), &at, &h), 0);
}

static void values_become_text(void)
{
    static const struct {
        int kind;
        const char *value;
        size_t len;
        const char *text; /* NULL: does not fit */
    } cases[] = {
        {1, "\xff", 1, "\xff"},
        {2, "room 1", 6, "room 1"},
        {2, "", 0, ""},
        {3, "\x01", 1, "true"},
        {3, "\x00", 1, "false"},
        {3, "\x02", 1, NULL},
        {4, "\x80", 1, "-128"},
        {5, "\xff\x7f", 2, "32767"},
        {6, "\x00\x00\x00\x80", 4, "-2147483648"},
        {7, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, "-1"},
        {7, "\x00\x00\x00\x00\x00\x00\x00\x80", 8, "-9223372036854775808"},
        {8, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x80", 16, "-170141183460469231731687303715884105728"},
        {9, "\xff", 1, "255"},
        {9, "\xff\x00", 2, NULL},
        {10, "\x34\x12", 2, "4660"},
        {11, "\xff\xff\xff\xff", 4, "4294967295"},
        {12, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, "18446744073709551615"},
        {13, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 16,
         "340282366920938463463374607431768211455"},
        {14, "\xcd\xcc\xcc\x3d", 4, "0.1"},
        {15, "\x9a\x99\x99\x99\x99\x99\xb9\x3f", 8, "0.1"},
        {15, "\x00\x00\x00\x00\x00\x00\x35\x40", 8, "21"},
        {15, "\x00\x00\x00\x00\x00\x00\xf8\x7f", 8, "nan"},
        {16, "x", 1, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mi_header h = {2, (uint8_t)cases[i].kind, {0}, bytes(cases[i].value, cases[i].len)};
        char text[48];
        struct mi_span out;
        bool done = mi_header_text(&h, text, sizeof text, &out);
        CU_ASSERT_EQUAL(done, cases[i].text != NULL);
        CU_ASSERT_TRUE(!done || !cases[i].text || mi_span_equal(out, mi_span_of(cases[i].text)));
    }
    struct mi_header h = {2, 12, {0}, bytes("\xff\xff\xff\xff\xff\xff\xff\xff", 8)};
    char small[20];
    struct mi_span out;
    CU_ASSERT_FALSE(mi_header_text(&h, small, sizeof small, &out)); /* 20 digits and a NUL */
}

static CU_TestInfo tests[] = {
    {"an entry has the layout of the API", an_entry_has_the_layout_of_the_api},
    {"what no SDK could decode is refused", what_no_sdk_could_decode_is_refused},
    {"field 106: byte counts fit their kinds", field_106_byte_counts_fit_their_kinds},
    {"a full buffer says so and keeps its content", a_full_buffer_says_so_and_keeps_its_content},
    {"the last of repeated keys is found", the_last_of_repeated_keys_is_found},
    {"a block cut anywhere is read up to there", a_block_cut_anywhere_is_read_up_to_there},
    {"values of any length are read", values_of_any_length_are_read},
    {"values become text", values_become_text},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("headers", tests)
