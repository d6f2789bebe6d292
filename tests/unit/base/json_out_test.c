/* json_out: any bytes become a JSON string. */
#include "base/json_out.h"
#include "support/suite.h"

#include <string.h>

static void is(const char *bytes, size_t len, const char *json, bool replaced)
{
    struct mi_buf out;
    bool was = false;
    mi_buf_init(&out, 1000);
    CU_ASSERT_TRUE(mi_json_add_string(&out, (struct mi_span){(const uint8_t *)bytes, len}, &was));
    mi_buf_add_byte(&out, 0);
    CU_ASSERT_STRING_EQUAL((const char *)out.data, json);
    CU_ASSERT_EQUAL(was, replaced);
    mi_buf_fini(&out);
}
#define IS(bytes, json, replaced) is(bytes, sizeof bytes - 1, json, replaced)

static void text_is_quoted(void)
{
    IS("", "\"\"", false);
    IS("plain /+#$ text", "\"plain /+#$ text\"", false);
    IS("a\"b\\c", "\"a\\\"b\\\\c\"", false);
    IS("\x01\n\x1f\x7f\0z", "\"\\u0001\\u000a\\u001f\\u007f\\u0000z\"", false);
    IS("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80", "\"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80\"", false);
}

#define R "\xef\xbf\xbd"
static void what_is_no_utf8_is_replaced_byte_by_byte(void)
{
    IS("\xff", "\"" R "\"", true);
    IS("a\xc3", "\"a" R "\"", true);
    IS("\xc3(", "\"" R "(\"", true);
    IS("\xe2\x82z", "\"" R R "z\"", true);
    IS("\xc0\xaf", "\"" R R "\"", true);             /* overlong */
    IS("\xed\xa0\x80", "\"" R R R "\"", true);       /* a surrogate */
    IS("\xf5\x80\x80\x80", "\"" R R R R "\"", true); /* above U+10FFFF */
}

static void a_full_buffer_is_said(void)
{
    struct mi_buf out;
    mi_buf_init(&out, 4);
    CU_ASSERT_FALSE(mi_json_add_string(&out, mi_span_of("abc"), NULL));
    mi_buf_fini(&out);
}

static CU_TestInfo tests[] = {
    {"text is quoted", text_is_quoted},
    {"what is no UTF-8 is replaced byte by byte", what_is_no_utf8_is_replaced_byte_by_byte},
    {"a full buffer is said", a_full_buffer_is_said},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("JSON text", tests)
