/* bytes: buffers stop at their maximum and stay usable; numbers keep their byte order. */
#include "base/bytes.h"
#include "support/suite.h"

#include <string.h>

static void buffer_grows_to_its_maximum_and_no_further(void)
{
    struct mi_buf b;
    mi_buf_init(&b, 1000);
    for (int i = 0; i < 1000; i++)
        CU_ASSERT_TRUE(mi_buf_add_byte(&b, (uint8_t)i));
    CU_ASSERT_EQUAL(b.len, 1000);
    CU_ASSERT_FALSE(mi_buf_add_byte(&b, 1));
    CU_ASSERT_TRUE(b.failed);
    CU_ASSERT_EQUAL(b.len, 1000);
    CU_ASSERT_FALSE(mi_buf_add(&b, "", 0));
    mi_buf_reset(&b);
    CU_ASSERT_TRUE(mi_buf_add_text(&b, "again"));
    CU_ASSERT_TRUE(mi_span_equal(mi_buf_span(&b), mi_span_of("again")));
    mi_buf_fini(&b);
}

static void formatted_text_is_added_without_its_nul(void)
{
    struct mi_buf b;
    mi_buf_init(&b, 8);
    CU_ASSERT_TRUE(mi_buf_addf(&b, "%d-%s", 12, "ab"));
    CU_ASSERT_EQUAL(b.len, 5);
    CU_ASSERT_FALSE(mi_buf_addf(&b, "%s", "abcd"));
    CU_ASSERT_EQUAL(memcmp(b.data, "12-ab", 5), 0);
    mi_buf_fini(&b);
}

static void spans_compare_as_bytes(void)
{
    CU_ASSERT_TRUE(mi_span_compare(mi_span_of("a"), mi_span_of("ab")) < 0);
    CU_ASSERT_TRUE(mi_span_compare(mi_span_of("b"), mi_span_of("ab")) > 0);
    CU_ASSERT_EQUAL(mi_span_compare(mi_span_of(""), mi_span_of(NULL)), 0);
    CU_ASSERT_FALSE(mi_span_equal(mi_span_of("a"), mi_span_of("b")));
}

static void numbers_keep_their_byte_order(void)
{
    uint8_t b[9] = {0};
    mi_put_u64le(b + 1, 0x0102030405060708ull);
    CU_ASSERT_EQUAL(b[1], 8);
    CU_ASSERT_EQUAL(mi_get_u64le(b + 1), 0x0102030405060708ull);
    mi_put_u32be(b + 1, 0xfedcba98u);
    CU_ASSERT_EQUAL(b[1], 0xfe);
    CU_ASSERT_EQUAL(mi_get_u32be(b + 1), 0xfedcba98u);
    mi_put_u16be(b, 0x1234);
    CU_ASSERT_EQUAL(mi_get_u16le(b), 0x3412);
}

static CU_TestInfo tests[] = {
    {"buffer grows to its maximum and no further", buffer_grows_to_its_maximum_and_no_further},
    {"formatted text is added without its NUL", formatted_text_is_added_without_its_nul},
    {"spans compare as bytes", spans_compare_as_bytes},
    {"numbers keep their byte order", numbers_keep_their_byte_order},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("bytes", tests)
