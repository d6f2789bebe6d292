#include "support/suite.h"

#include <CUnit/Basic.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int mi_suite_run(const char *suite_name, CU_TestInfo *tests, int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (CU_initialize_registry() != CUE_SUCCESS)
        return 2;
    CU_pSuite suite = CU_add_suite(suite_name, NULL, NULL);
    if (!suite)
        return 2;
    for (CU_TestInfo *t = tests; t->pName; t++)
        if (argc < 2 || strstr(t->pName, argv[1]))
            CU_add_test(suite, t->pName, t->pTestFunc);
    CU_basic_set_mode(CU_BRM_VERBOSE);
    CU_basic_run_tests();
    unsigned run = CU_get_number_of_tests_run();
    unsigned failed = CU_get_number_of_tests_failed() + CU_get_number_of_failures();
    CU_cleanup_registry();
    return run > 0 && failed == 0 ? 0 : 1;
}

void mi_skip(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("SKIP: ");
    vprintf(format, args);
    printf("\n");
    va_end(args);
}
