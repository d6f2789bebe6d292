/* log_queue: lines of other threads reach the broker's log on the main thread, in order, bounded. */
#include "broker/log_queue.h"
#include "base/limits.h"
#include "stubs.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>

static struct mi_metrics *metrics;
static struct mi_log_queue *queue;

static void start(void)
{
    stubs_reset();
    metrics = mi_metrics_new();
    queue = mi_log_queue_new(metrics);
}

static void end(void)
{
    mi_log_queue_free(queue);
    mi_metrics_free(metrics);
}

static void *log_lines(void *arg)
{
    int count = *(int *)arg;
    for (int i = 0; i < count; i++)
        mi_log_line(mi_log_queue_log(queue), MI_LOG_WARNING, "line %d", i);
    return NULL;
}

static void from_other_thread(int count)
{
    pthread_t t;
    pthread_create(&t, NULL, log_lines, &count);
    pthread_join(t, NULL);
}

static void lines_of_other_threads_wait_for_the_main_thread(void)
{
    start();
    from_other_thread(3);
    CU_ASSERT_EQUAL(stubs.log_count, 0);
    CU_ASSERT_FALSE(mi_log_queue_empty(queue));
    mi_log_queue_drain(queue);
    CU_ASSERT_EQUAL(stubs.log_count, 3);
    CU_ASSERT_STRING_EQUAL(stubs.log[0], "mosquitto_iggy: line 0");
    CU_ASSERT_STRING_EQUAL(stubs.log[2], "mosquitto_iggy: line 2");
    CU_ASSERT_TRUE(pthread_equal(stubs.log_thread[0], pthread_self()));
    CU_ASSERT_EQUAL(stubs.log_level[0], MOSQ_LOG_WARNING);
    CU_ASSERT_TRUE(mi_log_queue_empty(queue));
    end();
}

static void lines_of_the_main_thread_are_written_at_once_and_in_order(void)
{
    start();
    from_other_thread(1);
    mi_log_line(mi_log_queue_log(queue), MI_LOG_ERROR, "mine");
    CU_ASSERT_EQUAL(stubs.log_count, 2);
    CU_ASSERT_STRING_EQUAL(stubs.log[0], "mosquitto_iggy: line 0");
    CU_ASSERT_STRING_EQUAL(stubs.log[1], "mosquitto_iggy: mine");
    CU_ASSERT_EQUAL(stubs.log_level[1], MOSQ_LOG_ERR);
    end();
}

static void what_does_not_fit_is_counted(void)
{
    start();
    from_other_thread(MI_MAX_LOG_QUEUE + 7);
    CU_ASSERT_EQUAL(mi_metrics_get(metrics, MI_G_LOG_LOST), 7);
    mi_log_queue_drain(queue);
    CU_ASSERT_EQUAL(stubs.log_count, MI_MAX_LOG_QUEUE);
    from_other_thread(1);
    mi_log_queue_drain(queue);
    CU_ASSERT_EQUAL(stubs.log_count, MI_MAX_LOG_QUEUE + 1);
    end();
}

static void what_waits_at_the_end_is_written(void)
{
    start();
    from_other_thread(2);
    end();
    CU_ASSERT_EQUAL(stubs.log_count, 2);
}

static void threads_and_drain_at_the_same_time_lose_nothing(void)
{
    start();
    enum { THREADS = 3, EACH = 50 };
    pthread_t t[THREADS];
    int each = EACH;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, log_lines, &each);
    while (stubs.log_count < THREADS * EACH && mi_metrics_get(metrics, MI_G_LOG_LOST) == 0)
        if (!mi_log_queue_empty(queue))
            mi_log_queue_drain(queue);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    CU_ASSERT_EQUAL(stubs.log_count, THREADS * EACH);
    end();
}

static CU_TestInfo tests[] = {
    {"lines of other threads wait for the main thread", lines_of_other_threads_wait_for_the_main_thread},
    {"lines of the main thread are written at once and in order",
     lines_of_the_main_thread_are_written_at_once_and_in_order},
    {"what does not fit is counted", what_does_not_fit_is_counted},
    {"what waits at the end is written", what_waits_at_the_end_is_written},
    {"threads and drain at the same time lose nothing", threads_and_drain_at_the_same_time_lose_nothing},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("log_queue", tests)
