/* wakeup: a waiting main thread comes back at once, a lost signal is repeated, done ends it; and the
 * watchdog. */
#include "broker/wakeup.h"
#include "broker/watchdog.h"
#include "support/process.h"
#include "support/suite.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static struct mi_wakeup *open_wakeup(void)
{
    struct mi_error err = {""};
    struct mi_wakeup *w = mi_wakeup_new(SIGRTMIN + 5, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    return w;
}

static void *call_soon(void *w)
{
    mi_sleep_ms(20);
    mi_wakeup_call(w);
    return NULL;
}

static void a_waiting_main_thread_comes_back(void)
{
    struct mi_wakeup *w = open_wakeup();
    pthread_t t;
    pthread_create(&t, NULL, call_soon, w);
    uint64_t before = mi_monotonic_ms();
    int got = poll(NULL, 0, 3000);
    CU_ASSERT_EQUAL(got, -1);
    CU_ASSERT_EQUAL(errno, EINTR);
    CU_ASSERT_TRUE(mi_monotonic_ms() - before < 1000);
    CU_ASSERT_TRUE(mi_wakeup_called(w));
    pthread_join(t, NULL);
    mi_wakeup_free(w);
}

static void a_lost_signal_is_repeated_until_done(void)
{
    struct mi_wakeup *w = open_wakeup();
    mi_wakeup_call(w); /* its first signal lands before the wait */
    CU_ASSERT_EQUAL(poll(NULL, 0, 3000), -1);
    CU_ASSERT_EQUAL(poll(NULL, 0, 3000), -1);
    mi_wakeup_done(w);
    CU_ASSERT_FALSE(mi_wakeup_called(w));
    CU_ASSERT_EQUAL(poll(NULL, 0, 50), 0);
    mi_wakeup_call(w);
    CU_ASSERT_EQUAL(poll(NULL, 0, 3000), -1);
    mi_wakeup_free(w);
}

static void another_turn_comes_soon_and_until_done(void)
{
    struct mi_wakeup *w = open_wakeup();
    mi_wakeup_again(w);
    CU_ASSERT_TRUE(mi_wakeup_called(w));
    CU_ASSERT_EQUAL(poll(NULL, 0, 3000), -1);
    mi_wakeup_again(w);
    CU_ASSERT_EQUAL(poll(NULL, 0, 3000), -1);
    CU_ASSERT_EQUAL(poll(NULL, 0, 3000), -1);
    mi_wakeup_done(w);
    CU_ASSERT_EQUAL(poll(NULL, 0, 50), 0);
    mi_wakeup_free(w);
}

/* As bridge thread and TICK do it: put, call; take, done, look again. Nothing may be left lying for ever. */
static atomic_int put, stop;

static void *put_and_call(void *w)
{
    while (!atomic_load(&stop)) {
        atomic_fetch_add(&put, 1);
        mi_wakeup_call(w);
        if (atomic_load(&put) % 64 == 0)
            usleep(300);
    }
    return NULL;
}

static void no_call_is_lost_under_load(void)
{
    struct mi_wakeup *w = open_wakeup();
    pthread_t t;
    int lost = 0;
    atomic_store(&put, 0);
    atomic_store(&stop, 0);
    pthread_create(&t, NULL, put_and_call, w);
    for (uint64_t end = mi_monotonic_ms() + 400; mi_monotonic_ms() < end;) {
        if (poll(NULL, 0, 500) == 0)
            lost++;
        atomic_store(&put, 0);
        mi_wakeup_done(w);
        if (atomic_load(&put) > 0)
            mi_wakeup_call(w);
    }
    atomic_store(&stop, 1);
    pthread_join(t, NULL);
    CU_ASSERT_EQUAL(lost, 0);
    mi_wakeup_free(w);
}

static void somebody(int signal)
{
    (void)signal;
}

static void signals_that_are_not_ours_are_refused(void)
{
    struct mi_error err = {""};
    CU_ASSERT_PTR_NULL(mi_wakeup_new(SIGTERM, &err));
    CU_ASSERT_PTR_NULL(mi_wakeup_new(SIGRTMIN, &err)); /* 2.1 rotates its log on it */
    CU_ASSERT_PTR_NULL(mi_wakeup_new(SIGRTMAX + 1, &err));
    signal(SIGRTMIN + 6, somebody);
    CU_ASSERT_PTR_NULL(mi_wakeup_new(SIGRTMIN + 6, &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "SIGRTMIN+6 is already in use"));
    signal(SIGRTMIN + 6, SIG_DFL);
}

static void a_late_signal_does_not_end_the_process(void)
{
    mi_wakeup_free(open_wakeup());
    raise(SIGRTMIN + 5);
    struct mi_wakeup *again = open_wakeup();
    mi_wakeup_free(again);
}

static atomic_int barked;

static void bark(void *context)
{
    (void)context;
    atomic_fetch_add(&barked, 1);
}

static void the_watchdog_barks_once_when_nobody_comes(void)
{
    atomic_store(&barked, 0);
    struct mi_watchdog *w = mi_watchdog_new(20, bark, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    mi_sleep_ms(80);
    mi_watchdog_free(w);
    CU_ASSERT_EQUAL(atomic_load(&barked), 1);
}

static void the_watchdog_is_called_off_at_once(void)
{
    atomic_store(&barked, 0);
    uint64_t before = mi_monotonic_ms();
    mi_watchdog_free(mi_watchdog_new(5000, bark, NULL));
    CU_ASSERT_TRUE(mi_monotonic_ms() - before < 1000);
    CU_ASSERT_EQUAL(atomic_load(&barked), 0);
    mi_watchdog_free(NULL);
}

static CU_TestInfo tests[] = {
    {"a waiting main thread comes back", a_waiting_main_thread_comes_back},
    {"a lost signal is repeated until done", a_lost_signal_is_repeated_until_done},
    {"another turn comes soon, and until done", another_turn_comes_soon_and_until_done},
    {"no call is lost under load", no_call_is_lost_under_load},
    {"signals that are not ours are refused", signals_that_are_not_ours_are_refused},
    {"a late signal does not end the process", a_late_signal_does_not_end_the_process},
    {"the watchdog barks once when nobody comes", the_watchdog_barks_once_when_nobody_comes},
    {"the watchdog is called off at once", the_watchdog_is_called_off_at_once},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("wakeup", tests)
