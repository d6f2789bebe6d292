/*
 * log_queue: log lines of all threads reach mosquitto_log_printf on the main thread, which alone may call it.
 *
 * Lines of the main thread are written at once (after those that wait), lines of others wait for
 * mi_log_queue_drain. At most MI_MAX_LOG_QUEUE wait; further ones are lost and counted in MI_G_LOG_LOST.
 */
#ifndef MI_LOG_QUEUE_H
#define MI_LOG_QUEUE_H

#include <stdbool.h>

#include "base/log.h"
#include "metrics/metrics.h"

struct mi_log_queue;

/* The calling thread is the main thread. metrics outlives the queue. NULL when memory is out. */
struct mi_log_queue *mi_log_queue_new(struct mi_metrics *metrics);
/* Writes what waits and frees. Main thread; the other threads have ended. NULL is allowed. */
void mi_log_queue_free(struct mi_log_queue *q);

/* The log that writes into the queue; lives as long as it. Its write may be called from any thread. */
const struct mi_log *mi_log_queue_log(struct mi_log_queue *q);

/* Does anything wait? One atomic load. */
bool mi_log_queue_empty(const struct mi_log_queue *q);
/* Main thread. */
void mi_log_queue_drain(struct mi_log_queue *q);

#endif
