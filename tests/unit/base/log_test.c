/* log: a cause writes once per interval and counts what it held back; long lines are cut. */
#include "base/clock.h"
#include "base/log.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>

static int lines;
static char last[2048];

static void keep(void *context, enum mi_log_level level, const char *line)
{
    (void)context;
    (void)level;
    lines++;
    snprintf(last, sizeof last, "%s", line);
}

static const struct mi_log log_here = {keep, NULL};

static void one_line_per_interval_and_the_rest_counted(void)
{
    struct mi_log_limit limit = {0, 0};
    lines = 0;
    for (uint64_t t = 0; t < 25; t++)
        mi_log_limited(&log_here, &limit, t * MI_NS_PER_S, 10 * MI_NS_PER_S, MI_LOG_WARNING, "down");
    CU_ASSERT_EQUAL(lines, 3);
    CU_ASSERT_STRING_EQUAL(last, "down (9 such lines held back)");
}

static void long_lines_are_cut(void)
{
    char text[3000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    mi_log_line(&log_here, MI_LOG_INFO, "%s", text);
    CU_ASSERT_EQUAL(strlen(last), 899);
    mi_log_line(NULL, MI_LOG_INFO, "%s", text);
}

static CU_TestInfo tests[] = {
    {"one line per interval and the rest counted", one_line_per_interval_and_the_rest_counted},
    {"long lines are cut", long_lines_are_cut},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("log", tests)
