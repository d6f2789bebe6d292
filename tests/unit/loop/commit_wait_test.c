/* commit_wait: ends when the records are settled, when the time is over, and at once while Iggy is away. */
#include "loop/commit_wait.h"
#include "support/process.h"
#include "support/suite.h"

#include <pthread.h>
#include <stdatomic.h>

struct bridge {
    struct mi_commit_wait *wait;
    atomic_ullong settled_below; /* records with a lower sequence */
    atomic_bool away, stop;
    atomic_uint wakes;
};

static bool is_settled(void *context, uint64_t first, uint64_t last)
{
    struct bridge *b = context;
    (void)first;
    return last < atomic_load(&b->settled_below);
}

static void wake(void *context)
{
    struct bridge *b = context;
    atomic_fetch_add(&b->wakes, 1);
}

static void *turn(void *arg)
{
    struct bridge *b = arg;
    for (; !atomic_load(&b->stop); mi_sleep_ms(1)) {
        mi_commit_wait_look(b->wait, atomic_load(&b->away), is_settled, b);
        atomic_fetch_add(&b->settled_below, 1);
    }
    return NULL;
}

static void run(struct bridge *b, pthread_t *thread)
{
    b->wait = mi_commit_wait_new();
    CU_ASSERT_PTR_NOT_NULL_FATAL(b->wait);
    pthread_create(thread, NULL, turn, b);
}

static void end(struct bridge *b, pthread_t thread)
{
    atomic_store(&b->stop, true);
    pthread_join(thread, NULL);
    mi_commit_wait_free(b->wait);
}

static void ends_when_all_are_settled(void)
{
    struct bridge b = {0};
    pthread_t thread;
    run(&b, &thread);
    CU_ASSERT_TRUE(mi_commit_wait_for(b.wait, 10, 20, 20000000000ull, wake, &b));
    CU_ASSERT_TRUE(atomic_load(&b.settled_below) > 20);
    CU_ASSERT_EQUAL(atomic_load(&b.wakes), 1);
    end(&b, thread);
}

static void ends_when_the_time_is_over(void)
{
    struct bridge b = {0};
    pthread_t thread;
    run(&b, &thread);
    uint64_t before = mi_monotonic_ms();
    CU_ASSERT_FALSE(mi_commit_wait_for(b.wait, 1u << 30, 1u << 30, 30000000ull, wake, &b));
    CU_ASSERT_TRUE(mi_monotonic_ms() - before >= 29);
    end(&b, thread);
}

static void does_not_begin_while_iggy_is_away(void)
{
    struct bridge b = {0};
    pthread_t thread;
    atomic_store(&b.away, true);
    run(&b, &thread);
    while (atomic_load(&b.settled_below) < 5)
        mi_sleep_ms(1);
    CU_ASSERT_FALSE(mi_commit_wait_for(b.wait, 1u << 30, 1u << 30, UINT64_MAX / 4, wake, &b));
    CU_ASSERT_EQUAL(atomic_load(&b.wakes), 0);
    end(&b, thread);
}

static void goes_on_when_iggy_goes_away_meanwhile(void)
{
    struct bridge b = {0};
    b.wait = mi_commit_wait_new();
    pthread_t thread;
    pthread_create(&thread, NULL, turn, &b);
    mi_commit_wait_look(b.wait, false, is_settled, &b);
    CU_ASSERT_FALSE(mi_commit_wait_for(b.wait, 1u << 30, 1u << 30, 5000000ull, wake, &b));
    atomic_store(&b.away, true);
    mi_sleep_ms(20);
    CU_ASSERT_FALSE(mi_commit_wait_for(b.wait, 1u << 30, 1u << 30, UINT64_MAX / 4, wake, &b));
    end(&b, thread);
}

static CU_TestInfo tests[] = {
    {"ends when all are settled", ends_when_all_are_settled},
    {"ends when the time is over", ends_when_the_time_is_over},
    {"does not begin while Iggy is away", does_not_begin_while_iggy_is_away},
    {"goes on when Iggy goes away meanwhile", goes_on_when_iggy_goes_away_meanwhile},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("commit_wait", tests)
