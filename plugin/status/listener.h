/*
 * listener: /metrics, /health, /ready and /status.json over HTTP (libmicrohttpd), polled by the bridge
 * thread's loop.
 *
 * Off unless configured. A bind failure is a warning. Only GET and HEAD (else 405; another path 404); answers
 * are built from the metrics and from what the callbacks give. No thread of its own, no signal touched;
 * everything here, callbacks too, runs on the thread that calls. Bounded: 16 connections, 10 s of silence
 * each, 16 KB of request head.
 *
 * What is asked of a caller (struct mi_listener_access) is asked for every page; /health and /ready answer
 * without it too, as probes of orchestrators need it, with their status and one word only.
 */
#ifndef MI_LISTENER_H
#define MI_LISTENER_H

#include "base/error.h"
#include "base/log.h"
#include "metrics/metrics.h"

/* Texts, NUL-terminated; read during the call that is given them. All NULL: plain HTTP, for everybody who can
 * reach the address. */
struct mi_listener_access {
    const char *token;     /* "Authorization: Bearer" must say it; not empty */
    const char *cert;      /* PEM: serves https; goes with key */
    const char *key;       /* PEM, without a pass phrase */
    const char *client_ca; /* PEM: a client certificate must be signed by one of these; needs cert */
};

struct mi_listener_options {
    const char *address; /* an IP address: "127.0.0.1", "::1" */
    uint16_t port;       /* 0: any free one, see mi_listener_port */
    unsigned silence_s;  /* a connection that is silent for so long is closed; 0: 10 seconds */
    struct mi_listener_access access;
    struct mi_metrics *metrics;
    const struct mi_log *log;
    /* Called before the metrics are written into a page, for what is kept elsewhere; may be NULL. */
    void (*refresh)(void *context);
    /* Ready: configuration valid, journal writable, TICK alive (never Iggy). why is static text when not. */
    bool (*ready)(void *context, const char **why);
    /* One JSON object, "status" in /status.json, beside "ready" and "metrics"; false: out of memory. */
    bool (*status)(void *context, struct mi_buf *json);
    void *context;
};

struct mi_listener;
/* Binds and listens. NULL with err (no prefix): not an IP address, the port cannot be had, the certificate or
 * key cannot be used, or a token and client CA are both missing
 * for an address that is not loopback. options is copied, what it points at must outlive the listener
 * (address and access only this call). */
struct mi_listener *mi_listener_new(const struct mi_listener_options *options, struct mi_error *err);
/* Closes all connections. NULL is allowed. */
void mi_listener_free(struct mi_listener *l);
/* Another token or certificates from now on (open connections end); address and port stay. -1 with err, as
 * for mi_listener_new: these cannot be used, and those before stay. */
int mi_listener_renew(struct mi_listener *l, const struct mi_listener_access *access, struct mi_error *err);
uint16_t mi_listener_port(const struct mi_listener *l);
/* The one descriptor to wait for (readable, level-triggered, timeouts included), and what to call when it is.
 * A call without need does no harm. */
int mi_listener_fd(const struct mi_listener *l);
void mi_listener_run(struct mi_listener *l);

#endif
