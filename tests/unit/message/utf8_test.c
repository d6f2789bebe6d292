/* utf8: the validator agrees with one that decides code point by code point; cuts fall between characters. */
#include "base/utf8.h"
#include "reference_decoder.h"
#include "support/suite.h"

#include <string.h>

static void every_four_byte_start_is_judged_like_the_reference(void)
{
    /* All leads and second bytes, with the edges of the third and fourth. */
    static const uint8_t edges[] = {0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff};
    unsigned differing = 0, valid = 0;
    for (unsigned lead = 0; lead < 256; lead++)
        for (unsigned second = 0; second < 256; second++)
            for (unsigned i = 0; i < sizeof edges * sizeof edges; i++) {
                uint8_t text[] = {(uint8_t)lead, (uint8_t)second, edges[i % sizeof edges],
                                  edges[i / sizeof edges]};
                for (size_t len = 1; len <= sizeof text; len++) {
                    bool ours = mi_utf8_valid((struct mi_span){text, len});
                    differing += ours != (reference_utf8(text, len) == 1);
                    valid += ours;
                }
            }
    CU_ASSERT_EQUAL(differing, 0);
    CU_ASSERT_TRUE(valid > 1000);
}

static void a_fault_is_found_behind_any_number_of_plain_bytes(void)
{
    uint8_t text[40];
    for (size_t at = 0; at < sizeof text; at++) {
        memset(text, 'a', sizeof text);
        CU_ASSERT_TRUE(mi_utf8_valid((struct mi_span){text, sizeof text}));
        text[at] = 0xff;
        CU_ASSERT_FALSE(mi_utf8_valid((struct mi_span){text, sizeof text}));
        CU_ASSERT_TRUE(mi_utf8_valid((struct mi_span){text, at}));
    }
    CU_ASSERT_TRUE(mi_utf8_valid(mi_span_of(NULL)));
}

static void a_cut_keeps_whole_characters_and_as_many_as_fit(void)
{
    struct mi_span text = mi_span_of("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x8c\x8dz"); /* lengths 1 2 3 4 1 */
    static const size_t expected[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};
    for (size_t max = 0; max < sizeof expected / sizeof *expected; max++)
        CU_ASSERT_EQUAL(mi_utf8_cut(text, max), expected[max]);
}

static CU_TestInfo tests[] = {
    {"every four-byte start is judged like the reference",
     every_four_byte_start_is_judged_like_the_reference},
    {"a fault is found behind any number of plain bytes", a_fault_is_found_behind_any_number_of_plain_bytes},
    {"a cut keeps whole characters and as many as fit", a_cut_keeps_whole_characters_and_as_many_as_fit},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("utf8", tests)
