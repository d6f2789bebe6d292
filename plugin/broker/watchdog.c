#include "broker/watchdog.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

struct mi_watchdog {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool off; /* under lock */
    struct timespec due;
    void (*late)(void *context);
    void *context;
};

static void *watch(void *arg)
{
    struct mi_watchdog *w = arg;
    int waited = 0;
    pthread_mutex_lock(&w->lock);
    while (!w->off && waited != ETIMEDOUT)
        waited = pthread_cond_timedwait(&w->changed, &w->lock, &w->due);
    bool late = !w->off;
    pthread_mutex_unlock(&w->lock);
    if (late)
        w->late(w->context);
    return NULL;
}

static int start_blocked(struct mi_watchdog *w)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&w->thread, NULL, watch, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

static void destroy(struct mi_watchdog *w)
{
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

struct mi_watchdog *mi_watchdog_new(unsigned timeout_ms, void (*late)(void *context), void *context)
{
    struct mi_watchdog *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->late = late;
    w->context = context;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&w->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&w->lock, NULL);
    clock_gettime(CLOCK_MONOTONIC, &w->due);
    long ns = w->due.tv_nsec + (long)(timeout_ms % 1000) * 1000000;
    w->due.tv_sec += timeout_ms / 1000 + (ns >= 1000000000 ? 1 : 0);
    w->due.tv_nsec = ns % 1000000000;
    if (start_blocked(w) != 0) {
        destroy(w);
        return NULL;
    }
    return w;
}

void mi_watchdog_free(struct mi_watchdog *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->off = true;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    destroy(w);
}
