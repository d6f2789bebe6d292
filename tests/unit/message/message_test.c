/* message: the MQTT 5 property block, against bytes written by hand from MQTT 5 section 2.2.2. */
#include "message/message.h"
#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

static const char block_by_hand[] = "\x01\x01" /* payload format 1 */
                                    "\x03\x00\x0a"
                                    "text/plain" /* content type */
                                    "\x08\x00\x03"
                                    "r/1" /* response topic */
                                    "\x09\x00\x02"
                                    "\x00\xff" /* correlation data */
                                    "\x26\x00\x01"
                                    "k"
                                    "\x00\x01"
                                    "1"
                                    "\x26\x00\x01"
                                    "k"
                                    "\x00\x00" /* repeated, empty value */
                                    "\x26\x00\x00"
                                    "\x00\x00"; /* empty name and value */

static struct mi_span by_hand(void)
{
    return (struct mi_span){(const uint8_t *)block_by_hand, sizeof block_by_hand - 1};
}

static void written_as_mqtt_writes_them(void)
{
    struct mi_buf b;
    mi_buf_init(&b, 1000);
    CU_ASSERT_TRUE(mi_properties_add_byte(&b, MI_PROP_PAYLOAD_FORMAT, 1));
    CU_ASSERT_TRUE(mi_properties_add_bytes(&b, MI_PROP_CONTENT_TYPE, mi_span_of("text/plain")));
    CU_ASSERT_TRUE(mi_properties_add_bytes(&b, MI_PROP_RESPONSE_TOPIC, mi_span_of("r/1")));
    CU_ASSERT_TRUE(mi_properties_add_bytes(&b, MI_PROP_CORRELATION_DATA,
                                           (struct mi_span){(const uint8_t *)"\0\xff", 2}));
    CU_ASSERT_TRUE(mi_properties_add_pair(&b, mi_span_of("k"), mi_span_of("1")));
    CU_ASSERT_TRUE(mi_properties_add_pair(&b, mi_span_of("k"), mi_span_of("")));
    CU_ASSERT_TRUE(mi_properties_add_pair(&b, mi_span_of(""), mi_span_of(NULL)));
    CU_ASSERT_TRUE(mi_span_equal(mi_buf_span(&b), by_hand()));
    mi_buf_fini(&b);
}

static void read_back_in_order(void)
{
    static const uint8_t ids[] = {0x01, 0x03, 0x08, 0x09, 0x26, 0x26, 0x26};
    struct mi_property p;
    size_t at = 0, count = 0;
    while (mi_properties_next(by_hand(), &at, &p) == 1) {
        CU_ASSERT_EQUAL_FATAL(p.id, ids[count]);
        count++;
    }
    CU_ASSERT_EQUAL(count, sizeof ids);
    CU_ASSERT_EQUAL(mi_properties_next(by_hand(), &at, &p), 0);
    CU_ASSERT_EQUAL(p.name.len + p.value.len, 0);
}

static void found_by_id_and_name(void)
{
    struct mi_property p;
    CU_ASSERT_TRUE(mi_properties_find(by_hand(), MI_PROP_PAYLOAD_FORMAT, mi_span_of(NULL), &p));
    CU_ASSERT_EQUAL(p.byte, 1);
    CU_ASSERT_TRUE(mi_properties_find(by_hand(), MI_PROP_USER, mi_span_of("k"), &p));
    CU_ASSERT_TRUE(mi_span_equal(p.value, mi_span_of("1"))); /* the first of them */
    CU_ASSERT_TRUE(mi_properties_find(by_hand(), MI_PROP_USER, mi_span_of(""), &p));
    CU_ASSERT_FALSE(mi_properties_find(by_hand(), MI_PROP_USER, mi_span_of("x"), &p));
    CU_ASSERT_FALSE(mi_properties_find(mi_span_of(NULL), MI_PROP_USER, mi_span_of("x"), &p));
}

static void a_block_cut_anywhere_is_malformed_or_ends_between_two(void)
{
    static const size_t ends[] = {0, 2, 15, 21, 26, 33, 39, 44};
    size_t next_end = 0;
    for (size_t len = 0; len <= by_hand().len; len++) {
        struct mi_property p;
        size_t at = 0;
        int more;
        /* A copy of its own, so that a sanitizer sees a read past the end. */
        uint8_t *copy = malloc(len + 1);
        memcpy(copy, block_by_hand, len);
        uint8_t *exact = realloc(copy, len ? len : 1);
        while ((more = mi_properties_next((struct mi_span){exact, len}, &at, &p)) == 1)
            ;
        bool at_end = len == ends[next_end];
        next_end += at_end;
        CU_ASSERT_EQUAL(more, at_end ? 0 : -1);
        free(exact);
    }
    CU_ASSERT_EQUAL(next_end, sizeof ends / sizeof *ends);
}

static void unknown_ids_and_long_strings_are_refused(void)
{
    struct mi_property p;
    size_t at = 0;
    CU_ASSERT_EQUAL(mi_properties_next(mi_span_of("\x02\x01\x01\x01\x01"), &at, &p), -1); /* message expiry */
    struct mi_buf b;
    mi_buf_init(&b, 1 << 20);
    uint8_t *bytes = calloc(1, 65536);
    struct mi_span longest = {bytes, 65535}, longer = {bytes, 65536};
    CU_ASSERT_FALSE(mi_properties_add_bytes(&b, MI_PROP_CORRELATION_DATA, longer));
    CU_ASSERT_FALSE(mi_properties_add_pair(&b, longer, longest));
    CU_ASSERT_FALSE(mi_properties_add_pair(&b, longest, longer));
    CU_ASSERT_EQUAL(b.len, 0);
    CU_ASSERT_TRUE(mi_properties_add_pair(&b, longest, longest));
    CU_ASSERT_EQUAL(b.len, 5 + 2 * 65535);
    free(bytes);
    mi_buf_fini(&b);
}

static CU_TestInfo tests[] = {
    {"written as MQTT writes them", written_as_mqtt_writes_them},
    {"read back in order", read_back_in_order},
    {"found by id and name", found_by_id_and_name},
    {"a block cut anywhere is malformed or ends between two",
     a_block_cut_anywhere_is_malformed_or_ends_between_two},
    {"unknown ids and long strings are refused", unknown_ids_and_long_strings_are_refused},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("message", tests)
