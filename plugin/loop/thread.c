#include "loop/thread.h"

#include <signal.h>
#include <string.h>

enum { STACK_BYTES = 1024 * 1024 };

int mi_thread_start(pthread_t *thread, const char *what, void *(*run)(void *), void *arg,
                    struct mi_error *err)
{
    pthread_attr_t attr;
    sigset_t all, before;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(thread, &attr, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return rc == 0 ? 0 : mi_error_set(err, "cannot start the %s: %s", what, strerror(rc));
}
