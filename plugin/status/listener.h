/*
 * listener: /metrics, /health, /ready and /status.json over HTTP (libmicrohttpd), polled by the bridge thread's loop.
 *
 * Off unless configured. A bind failure is a warning. Only GET; answers are built from the metrics and from what the
 * callbacks give.
 */
#ifndef MI_LISTENER_H
#define MI_LISTENER_H

#include "base/error.h"
#include "base/log.h"
#include "metrics/metrics.h"

struct mi_listener_options {
    const char *address; /* "127.0.0.1" or "::1" */
    uint16_t port;       /* 0: any free one, see mi_listener_port */
    struct mi_metrics *metrics;
    const struct mi_log *log;
    /* Ready: configuration valid, journal writable, TICK alive (never Iggy). why is static text when not. */
    bool (*ready)(void *context, const char **why);
    /* The object for /status.json, without what the metrics hold. */
    bool (*status)(void *context, struct mi_buf *json);
    void *context;
};

struct mi_listener;
struct mi_listener *mi_listener_new(const struct mi_listener_options *options, struct mi_error *err);
void mi_listener_free(struct mi_listener *l);
uint16_t mi_listener_port(const struct mi_listener *l);
/* The one descriptor to wait for (readable), and what to call when it is. */
int mi_listener_fd(const struct mi_listener *l);
void mi_listener_run(struct mi_listener *l);

#endif
