/* names: which names are usable, how they travel, and JSON strings. */
#include "names.h"

#include "support/suite.h"

#include <string.h>

static struct iggy_span s(const char *text)
{
    return names_span(text);
}

static void numbers_are_no_names(void)
{
    static const char *const bad[] = {"",   "0", "7", "123", "007", "4294967295", "99999999999999999999",
                                      "+7", "+0"};
    static const char *const good[] = {"a",  "a7", "7a",  "-7",  "1.5",      "1e5", " 7",
                                       "7 ", "+",  "++7", "+7a", "\xd9\xa3", "0x1", "."};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CU_ASSERT_FALSE(iggy_name_usable(s(bad[i])));
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        CU_ASSERT_TRUE(iggy_name_usable(s(good[i])));
    uint8_t longest[256];
    memset(longest, 'x', sizeof longest);
    CU_ASSERT_TRUE(iggy_name_usable((struct iggy_span){longest, 255}));
    CU_ASSERT_FALSE(iggy_name_usable((struct iggy_span){longest, 256}));
}

static void words_of_the_api_are_no_users(void)
{
    CU_ASSERT_FALSE(names_user_usable(s("me")));
    CU_ASSERT_FALSE(names_user_usable(s("logout")));
    CU_ASSERT_FALSE(names_user_usable(s("login")));
    CU_ASSERT_FALSE(names_user_usable(s("12")));
    CU_ASSERT_TRUE(names_user_usable(s("melon")));
}

static void every_other_byte_is_encoded(void)
{
    for (int c = 0; c < 256; c++) {
        uint8_t byte = (uint8_t)c;
        struct mi_buf to;
        char expected[4] = {(char)c, 0, 0, 0};
        mi_buf_init(&to, 16);
        CU_ASSERT_TRUE(names_add_segment(&to, (struct iggy_span){&byte, 1}));
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!plain) {
            static const char hex[] = "0123456789ABCDEF";
            expected[0] = '%';
            expected[1] = hex[c / 16];
            expected[2] = hex[c % 16];
        }
        CU_ASSERT_EQUAL(to.len, plain ? 1 : 3);
        CU_ASSERT_EQUAL(memcmp(to.data, expected, to.len), 0);
        mi_buf_fini(&to);
    }
}

static void json_strings_are_escaped(void)
{
    struct mi_buf to;
    static const char expected[] = "\"a\\\"b\\\\c\\u000a\\u0000\xc3\xa4\"";
    mi_buf_init(&to, 100);
    CU_ASSERT_TRUE(names_add_json(&to, (struct iggy_span){(const uint8_t *)"a\"b\\c\n\0\xc3\xa4", 9}));
    CU_ASSERT_EQUAL_FATAL(to.len, sizeof expected - 1);
    CU_ASSERT_EQUAL(memcmp(to.data, expected, to.len), 0);
    mi_buf_fini(&to);
}

/* XXH32 with seed 0, values from xxHash's own test vectors. */
static void partition_of_key(void)
{
    CU_ASSERT_EQUAL(iggy_partition_of_key(s(""), 1000000000), 0x02CC5D05u % 1000000000);
    CU_ASSERT_EQUAL(iggy_partition_of_key(s("abc"), UINT32_MAX), 0x32D153FFu);
    CU_ASSERT_EQUAL(iggy_partition_of_key(s("abc"), 1), 0);
}

static CU_TestInfo tests[] = {{"numbers_are_no_names", numbers_are_no_names},
                              {"words_of_the_api_are_no_users", words_of_the_api_are_no_users},
                              {"every_other_byte_is_encoded", every_other_byte_is_encoded},
                              {"json_strings_are_escaped", json_strings_are_escaped},
                              {"partition_of_key", partition_of_key},
                              CU_TEST_INFO_NULL};
MI_SUITE_MAIN("names", tests)
