/* session_name: drawn once, kept, and drawn again where the file is none of ours. */
#include "loop/session_name.h"
#include "support/process.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void it_stays_the_same_in_its_directory(void)
{
    char one[200], two[200], path[220], a[MI_SESSION_NAME_HEX + 1], b[MI_SESSION_NAME_HEX + 1];
    struct mi_error err;
    struct stat st;
    CU_ASSERT_TRUE_FATAL(mi_temp_dir(one, sizeof one) && mi_temp_dir(two, sizeof two));
    CU_ASSERT_EQUAL(mi_session_name(one, a, &err), 0);
    CU_ASSERT_EQUAL(strlen(a), MI_SESSION_NAME_HEX);
    CU_ASSERT_EQUAL(mi_session_name(one, b, &err), 0);
    CU_ASSERT_STRING_EQUAL(a, b);
    CU_ASSERT_EQUAL(mi_session_name(two, b, &err), 0);
    CU_ASSERT_STRING_NOT_EQUAL(a, b);
    snprintf(path, sizeof path, "%s/session", one);
    CU_ASSERT_TRUE(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
    static const char *const broken[] = {"", "short", "0123456789ABCDEF0123456789ABCDEF",
                                         "../../../../etc/passwd........"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        CU_ASSERT_TRUE(mi_write_file(path, broken[i]));
        CU_ASSERT_EQUAL(mi_session_name(one, b, &err), 0);
        CU_ASSERT_EQUAL(strspn(b, "0123456789abcdef"), MI_SESSION_NAME_HEX);
        CU_ASSERT_EQUAL(mi_session_name(one, a, &err), 0);
        CU_ASSERT_STRING_EQUAL(a, b);
    }
    mi_remove_tree(one);
    mi_remove_tree(two);
    CU_ASSERT_EQUAL(mi_session_name("/nowhere/at/all", a, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/nowhere/at/all/session cannot be written"));
}

static CU_TestInfo tests[] = {
    {"it stays the same in its directory", it_stays_the_same_in_its_directory},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("session name", tests)
