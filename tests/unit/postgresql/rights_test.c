/* rights: rows of mqtt_acl as lines that give no more than the row says. */
#include "postgresql/connection.h"
#include "support/suite.h"

#include <string.h>

static bool line_of(const char *topic, const char *access, const char *want)
{
    struct mi_buf lines;
    mi_buf_init(&lines, 1000);
    bool ok = mi_pg_rights_line(&lines, topic, access);
    bool same = !ok || mi_span_equal(mi_buf_span(&lines), mi_span_of(want));
    CU_ASSERT_TRUE(same);
    CU_ASSERT_TRUE(ok || lines.len == 0);
    mi_buf_fini(&lines);
    return ok;
}

static void access_is_read_write_or_both(void)
{
    CU_ASSERT_TRUE(line_of("a/#", "1", "pattern read a/#\n"));
    CU_ASSERT_TRUE(line_of("a/+/c", "2", "pattern write a/+/c\n"));
    CU_ASSERT_TRUE(line_of("devices/%c/%u", "3", "pattern readwrite devices/%c/%u\n"));
    CU_ASSERT_TRUE(line_of("a b", "1", "pattern read a b\n"));
    static const char *const none[] = {"", "0", "4", "-1", "11", "t", "read"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        CU_ASSERT_FALSE(line_of("a", none[i], ""));
}

static void what_is_no_filter_gives_nothing(void)
{
    static const char *const bad[] = {
        "", "a#", "a/#/b", "a+", " a", "a ", "a\nuser root", "a\rb", "a\npattern readwrite #"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CU_ASSERT_FALSE(line_of(bad[i], "3", ""));
}

static CU_TestInfo tests[] = {{"access is read, write or both", access_is_read_write_or_both},
                              {"what is no filter gives nothing", what_is_no_filter_gives_nothing},
                              CU_TEST_INFO_NULL};

MI_SUITE_MAIN("rights of the database", tests)
