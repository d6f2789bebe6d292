#include "broker/log_queue.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "broker/compat.h"

struct line {
    enum mi_log_level level;
    char *text;
};

struct mi_log_queue {
    struct mi_log log;
    struct mi_metrics *metrics;
    pthread_t main;
    pthread_mutex_t lock; /* guards lines, first, count's changes */
    struct line lines[MI_MAX_LOG_QUEUE];
    size_t first;
    atomic_size_t count;
};

static void write_line(void *context, enum mi_log_level level, const char *text);

struct mi_log_queue *mi_log_queue_new(struct mi_metrics *metrics)
{
    struct mi_log_queue *q = calloc(1, sizeof *q);
    if (!q)
        return NULL;
    q->log = (struct mi_log){write_line, q};
    q->metrics = metrics;
    q->main = pthread_self();
    pthread_mutex_init(&q->lock, NULL);
    return q;
}

void mi_log_queue_free(struct mi_log_queue *q)
{
    if (!q)
        return;
    mi_log_queue_drain(q);
    pthread_mutex_destroy(&q->lock);
    free(q);
}

const struct mi_log *mi_log_queue_log(struct mi_log_queue *q)
{
    return &q->log;
}

bool mi_log_queue_empty(const struct mi_log_queue *q)
{
    return atomic_load_explicit(&q->count, memory_order_relaxed) == 0;
}

static void print(enum mi_log_level level, const char *text)
{
    static const int levels[] = {MOSQ_LOG_ERR, MOSQ_LOG_WARNING, MOSQ_LOG_NOTICE, MOSQ_LOG_INFO,
                                 MOSQ_LOG_DEBUG};
    mosquitto_log_printf(levels[level], "mosquitto_iggy: %s", text);
}

static bool take(struct mi_log_queue *q, struct line *out)
{
    pthread_mutex_lock(&q->lock);
    bool any = q->count > 0;
    if (any) {
        *out = q->lines[q->first];
        q->first = (q->first + 1) % MI_MAX_LOG_QUEUE;
        q->count--;
    }
    pthread_mutex_unlock(&q->lock);
    return any;
}

void mi_log_queue_drain(struct mi_log_queue *q)
{
    struct line line;
    while (take(q, &line)) {
        print(line.level, line.text);
        free(line.text);
    }
}

static bool put(struct mi_log_queue *q, struct line line)
{
    pthread_mutex_lock(&q->lock);
    bool room = q->count < MI_MAX_LOG_QUEUE;
    if (room) {
        q->lines[(q->first + q->count) % MI_MAX_LOG_QUEUE] = line;
        q->count++;
    }
    pthread_mutex_unlock(&q->lock);
    return room;
}

static void write_line(void *context, enum mi_log_level level, const char *text)
{
    struct mi_log_queue *q = context;
    if (pthread_equal(pthread_self(), q->main)) {
        if (!mi_log_queue_empty(q))
            mi_log_queue_drain(q);
        print(level, text);
        return;
    }
    struct line line = {level, strdup(text)};
    if (!line.text || !put(q, line)) {
        free(line.text);
        mi_metrics_add(q->metrics, MI_G_LOG_LOST, 1);
    }
}
