#include "loop/commit_wait.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

struct mi_commit_wait {
    atomic_bool waiting, away;
    /* under lock */
    pthread_mutex_t lock;
    pthread_cond_t ended;
    uint64_t first, last;
    bool settled;
};

struct mi_commit_wait *mi_commit_wait_new(void)
{
    struct mi_commit_wait *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->ended, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&w->lock, NULL);
    return w;
}

void mi_commit_wait_free(struct mi_commit_wait *w)
{
    if (!w)
        return;
    pthread_cond_destroy(&w->ended);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

static struct timespec deadline(uint64_t timeout_ns)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    uint64_t ns = (uint64_t)t.tv_nsec + timeout_ns;
    t.tv_sec += (time_t)(ns / 1000000000u);
    t.tv_nsec = (long)(ns % 1000000000u);
    return t;
}

bool mi_commit_wait_for(struct mi_commit_wait *w, uint64_t first, uint64_t last, uint64_t timeout_ns,
                        void (*wake)(void *context), void *context)
{
    if (atomic_load(&w->away))
        return false;
    struct timespec until = deadline(timeout_ns);
    int rc = 0;
    pthread_mutex_lock(&w->lock);
    w->first = first;
    w->last = last;
    w->settled = false;
    atomic_store(&w->waiting, true);
    wake(context);
    while (atomic_load(&w->waiting) && rc == 0)
        rc = pthread_cond_timedwait(&w->ended, &w->lock, &until);
    atomic_store(&w->waiting, false);
    bool settled = w->settled;
    pthread_mutex_unlock(&w->lock);
    return settled;
}

void mi_commit_wait_look(struct mi_commit_wait *w, bool away,
                         bool (*settled)(void *context, uint64_t first, uint64_t last), void *context)
{
    atomic_store(&w->away, away);
    if (!atomic_load(&w->waiting))
        return;
    pthread_mutex_lock(&w->lock);
    if (atomic_load(&w->waiting)) {
        w->settled = settled(context, w->first, w->last);
        if (w->settled || away) {
            atomic_store(&w->waiting, false);
            pthread_cond_signal(&w->ended);
        }
    }
    pthread_mutex_unlock(&w->lock);
}
