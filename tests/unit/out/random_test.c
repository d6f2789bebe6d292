#include "support/suite.h"
static void t(void){CU_PASS("x");}
static CU_TestInfo tests[]={{"x",t},CU_TEST_INFO_NULL};
MI_SUITE_MAIN("x",tests)
