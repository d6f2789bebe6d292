/*
 * thread: how a plugin's thread begins inside somebody else's process: all signals blocked in it, so that the
 * broker's reach the broker, and a stack that does not depend on the libc's default (musl: 128 KiB).
 */
#ifndef MI_THREAD_H
#define MI_THREAD_H

#include <pthread.h>

#include "base/error.h"

/* Starts run(arg) in *thread; -1 with err, which names what the thread is ("disk thread"). */
int mi_thread_start(pthread_t *thread, const char *what, void *(*run)(void *), void *arg,
                    struct mi_error *err);

#endif
