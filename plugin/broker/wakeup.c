#include "broker/wakeup.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid /* glibc before 2.40 does not name it */
#endif

enum { AGAIN_NS = 100000 }; /* from TICK to the broker's wait */

struct mi_wakeup {
    timer_t timer;
    int signal;
    atomic_bool called;
};

static void nothing(int signal)
{
    (void)signal;
}

static int take_signal(int signal, struct mi_error *err)
{
    struct sigaction old, action;
    if (signal <= SIGRTMIN || signal > SIGRTMAX || sigaction(signal, NULL, &old) != 0)
        return mi_error_set(err, "signal %d cannot wake the broker; choose one from SIGRTMIN+1 to SIGRTMAX",
                            signal);
    if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN && old.sa_handler != nothing)
        return mi_error_set(
            err, "signal SIGRTMIN+%d is already in use in this process; choose another wake_signal",
            signal - SIGRTMIN);
    memset(&action, 0, sizeof action);
    action.sa_handler = nothing;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    if (sigaction(signal, &action, NULL) != 0)
        return mi_error_set(err, "signal %d cannot be handled: %s", signal, strerror(errno));
    return 0;
}

struct mi_wakeup *mi_wakeup_new(int signal, struct mi_error *err)
{
    struct mi_wakeup *w = calloc(1, sizeof *w);
    if (!w) {
        mi_error_set(err, "out of memory");
        return NULL;
    }
    w->signal = signal;
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = signal;
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    if (take_signal(signal, err) != 0) {
        free(w);
        return NULL;
    }
    if (timer_create(CLOCK_MONOTONIC, &event, &w->timer) != 0) {
        mi_error_set(err, "cannot make a timer: %s", strerror(errno));
        free(w);
        return NULL;
    }
    return w;
}

void mi_wakeup_free(struct mi_wakeup *w)
{
    if (!w)
        return;
    timer_delete(w->timer);
    signal(w->signal, SIG_IGN);
    free(w);
}

static void set_timer(struct mi_wakeup *w, long first_ns, long interval_ns)
{
    struct itimerspec t = {{0, interval_ns}, {0, first_ns}};
    timer_settime(w->timer, 0, &t, NULL);
}

void mi_wakeup_call(struct mi_wakeup *w)
{
    if (!atomic_exchange(&w->called, true))
        set_timer(w, 1, (long)MI_NS_PER_MS);
}

void mi_wakeup_again(struct mi_wakeup *w)
{
    atomic_store(&w->called, true);
    set_timer(w, AGAIN_NS, (long)MI_NS_PER_MS);
}

bool mi_wakeup_called(const struct mi_wakeup *w)
{
    return atomic_load_explicit(&w->called, memory_order_relaxed);
}

/* The timer stops before the flag falls: a caller that comes between the two leaves the repetition to the
 * next look of the main thread, one that comes after arms the timer anew. */
void mi_wakeup_done(struct mi_wakeup *w)
{
    set_timer(w, 0, 0);
    atomic_exchange(&w->called, false);
}
