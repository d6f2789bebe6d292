/*
 * suite: a CUnit program in one call. Every test program is: tests as static functions, one table,
 * MI_SUITE_MAIN.
 */
#ifndef MI_SUITE_H
#define MI_SUITE_H

#include <CUnit/CUnit.h>

/* Runs the tests whose name contains argv[1] (all without it), prints CUnit's summary, returns the exit code:
 * 0 only when at least one test ran and none failed. Put SKIP reasons through mi_skip. */
int mi_suite_run(const char *suite, CU_TestInfo *tests, int argc, char **argv);

/* Says on stdout why a test does not run here (no real server, not root); counts as passed. */
void mi_skip(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define MI_SUITE_MAIN(suite, tests)                    \
    int main(int argc, char **argv)                    \
    {                                                  \
        return mi_suite_run(suite, tests, argc, argv); \
    }

#endif
