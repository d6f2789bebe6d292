/* wait_budget: however often it is asked, all waits together stay within a tenth and one wait's length. */
#include "auth/wait_budget.h"
#include "base/clock.h"
#include "support/suite.h"

#define MS MI_NS_PER_MS

static void a_quiet_broker_waits_in_full_length(void)
{
    struct mi_wait_budget b = {0};
    CU_ASSERT_EQUAL(mi_wait_budget_now(&b, 100 * MS, 5000 * MS), 100 * MS);
    mi_wait_budget_spend(&b, 100 * MS);
    CU_ASSERT_EQUAL(mi_wait_budget_now(&b, 100 * MS, 5100 * MS), 10 * MS);
    CU_ASSERT_EQUAL(mi_wait_budget_now(&b, 100 * MS, 5600 * MS), 60 * MS);
    CU_ASSERT_EQUAL(mi_wait_budget_now(&b, 100 * MS, 90000 * MS), 100 * MS);
}

static void what_is_too_short_is_nothing(void)
{
    struct mi_wait_budget b = {0};
    CU_ASSERT_EQUAL(mi_wait_budget_now(&b, 100 * MS, 5000 * MS), 100 * MS);
    mi_wait_budget_spend(&b, 100 * MS);
    CU_ASSERT_EQUAL(mi_wait_budget_now(&b, 100 * MS, 5010 * MS), 0);
    CU_ASSERT_EQUAL(mi_wait_budget_now(&b, 100 * MS, 5020 * MS), 2 * MS);
}

/* A storm: who asks again and again, and takes what he gets. */
static void a_storm_gets_a_tenth(void)
{
    uint64_t bits, now = 1000 * MS, start = now, waited = 0;
    struct mi_wait_budget b = {0};
    while (now < start + 100000 * MS) {
        bits = mi_random(&mi_clock_system);
        uint64_t may = mi_wait_budget_now(&b, 100 * MS, now);
        uint64_t took = bits & 1 ? may : bits % (may + 1);
        CU_ASSERT_TRUE_FATAL(may <= 100 * MS);
        if (may)
            mi_wait_budget_spend(&b, took);
        waited += may ? took : 0;
        now += (may ? took : 0) + (bits >> 32) % (3 * MS);
        CU_ASSERT_TRUE_FATAL(waited <= (now - start) / 10 + 100 * MS);
    }
    CU_ASSERT_TRUE(waited > 8000 * MS);
}

static CU_TestInfo tests[] = {{"a quiet broker waits in full length", a_quiet_broker_waits_in_full_length},
                              {"what is too short is nothing", what_is_too_short_is_nothing},
                              {"a storm gets a tenth", a_storm_gets_a_tenth},
                              CU_TEST_INFO_NULL};

MI_SUITE_MAIN("wait budget", tests)
