/* units: sizes and times as people write them. */
#include "config/units.h"
#include "support/suite.h"

#include <string.h>

static uint64_t size_of_text(const char *text)
{
    uint64_t bytes = 0;
    return mi_parse_size(text, &bytes, NULL) == 0 ? bytes : UINT64_MAX;
}

static uint64_t time_of_text(const char *text)
{
    uint64_t ns = 0;
    return mi_parse_time(text, &ns, NULL) == 0 ? ns : UINT64_MAX;
}

static void sizes_count_in_thousands_unless_they_say_i(void)
{
    CU_ASSERT_EQUAL(size_of_text("1KB"), 1000);
    CU_ASSERT_EQUAL(size_of_text("1KiB"), 1024);
    CU_ASSERT_EQUAL(size_of_text("256MB"), 256000000);
    CU_ASSERT_EQUAL(size_of_text("64 MiB"), 64ull << 20);
    CU_ASSERT_EQUAL(size_of_text("2gb"), 2000000000ull);
    CU_ASSERT_EQUAL(size_of_text("3TiB"), 3ull << 40);
    CU_ASSERT_EQUAL(size_of_text("0B"), 0);
}

static void a_size_without_a_known_unit_is_refused(void)
{
    static const char *const bad[] = {"",
                                      "5",
                                      "MB",
                                      "5XB",
                                      "-5MB",
                                      "1.5GB",
                                      "5  MB",
                                      "5MB ",
                                      " 5MB",
                                      "0x10B",
                                      "99999999999999999999B",
                                      "99999999999TB"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CU_ASSERT_EQUAL(size_of_text(bad[i]), UINT64_MAX);
    struct mi_error err;
    uint64_t bytes;
    CU_ASSERT_EQUAL(mi_parse_size("5", &bytes, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "\"256MB\""));
}

static void times_have_lower_case_units(void)
{
    CU_ASSERT_EQUAL(time_of_text("100ms"), 100000000);
    CU_ASSERT_EQUAL(time_of_text("5us"), 5000);
    CU_ASSERT_EQUAL(time_of_text("1m"), 60000000000ull);
    CU_ASSERT_EQUAL(time_of_text("2h"), 7200000000000ull);
    CU_ASSERT_EQUAL(time_of_text("30d"), 30 * 86400000000000ull);
    CU_ASSERT_EQUAL(time_of_text("1M"), UINT64_MAX);
    CU_ASSERT_EQUAL(time_of_text("10"), UINT64_MAX);
    CU_ASSERT_EQUAL(time_of_text("213504d"), UINT64_MAX);
}

static void formatting_loses_nothing(void)
{
    static const char *const sizes[] = {"1GB", "256MB", "64MiB", "1001KB", "1025B", "0B", "7TiB"};
    static const char *const times[] = {"30d", "100ms", "90s", "1m", "0s", "1us", "25h"};
    char text[MI_UNIT_TEXT];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        mi_format_size(size_of_text(sizes[i]), text);
        CU_ASSERT_STRING_EQUAL(text, sizes[i]);
    }
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        mi_format_time(time_of_text(times[i]), text);
        CU_ASSERT_STRING_EQUAL(text, times[i]);
    }
}

static CU_TestInfo tests[] = {
    {"sizes count in thousands unless they say i", sizes_count_in_thousands_unless_they_say_i},
    {"a size without a known unit is refused", a_size_without_a_known_unit_is_refused},
    {"times have lower-case units", times_have_lower_case_units},
    {"formatting loses nothing", formatting_loses_nothing},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("units", tests)
