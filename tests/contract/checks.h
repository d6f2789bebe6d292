/*
 * checks: the tests, by file; each list ends with CU_TEST_INFO_NULL.
 */
#ifndef CONTRACT_CHECKS_H
#define CONTRACT_CHECKS_H

#include <CUnit/CUnit.h>

extern CU_TestInfo login_checks[], system_checks[], stream_checks[], topic_checks[], produce_checks[],
    header_checks[], poll_checks[], offset_checks[], user_checks[], right_checks[], restart_checks[];

#endif
