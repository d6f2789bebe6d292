/*
 * history: the past of a topic for one MQTT client, a page at a time (design section 9).
 *
 * The main thread hands over requests (a SUBSCRIBE to $iggy/FROM/FILTER) and takes what was found, message by
 * message, for that one client; the bridge thread reads Iggy. A request is bound to its connection: the main
 * thread cancels it when the client goes, and looks again before each publication.
 *
 * Bounded: requests at a time and per client, bytes scanned, messages, seconds, and what waits for the main
 * thread. The position in the past travels in the client's own cursor, so nothing is kept between pages.
 */
#ifndef MI_HISTORY_H
#define MI_HISTORY_H

#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "iggy_client.h"
#include "metrics/metrics.h"

struct mi_history;

struct mi_history_options {
    struct mi_config *config; /* held */
    struct iggy_client *client;
    struct mi_metrics *metrics;
    const struct mi_clock *clock;
    const struct mi_log *log;
    void (*wake_main)(void *context);   /* something waits for mi_history_take; any thread */
    void (*wake_bridge)(void *context); /* a request waits for mi_history_step; any thread */
    void *context;
};
struct mi_history *mi_history_new(const struct mi_history_options *options, struct mi_error *err);
void mi_history_free(struct mi_history *h); /* after both threads have stopped using it */

/* ---- main thread ---- */

/* Names one request; 0 is none. */
typedef uint64_t mi_history_id;

struct mi_history_ask {
    struct mi_span client_id; /* who gets the answer */
    struct mi_span filter;    /* the SUBSCRIBE's whole filter, without mount point: "$iggy/2h/rooms/#" */
    uint32_t page;            /* most messages; 0: the configuration's */
};
/* Starts a request. 0 with why (static text) when it is refused at once: malformed, unknown route, too many
 * requests. */
mi_history_id mi_history_begin(struct mi_history *h, const struct mi_history_ask *ask, const char **why);
void mi_history_cancel(struct mi_history *h, mi_history_id id);
bool mi_history_idle(const struct mi_history *h); /* nothing to take; one load */

/* One message or end marker for a client. */
struct mi_history_item {
    mi_history_id id;
    char *topic;      /* "$iggy/2h/rooms/1", NUL-terminated, without mount point */
    size_t inner;     /* where in topic the topic begins that the client's rights are checked on */
    uint8_t *payload; /* NULL when empty */
    uint32_t payload_len;
    uint8_t qos;
    bool last;           /* the end marker: the request is over after it */
    uint8_t *properties; /* MQTT property block */
    uint32_t properties_len;
    struct mi_history_item *next;
};
/* At most max, oldest first; the caller owns them. */
struct mi_history_item *mi_history_take(struct mi_history *h, size_t max);
void mi_history_item_free(struct mi_history_item *item);
/* A message was held back because the client may not read it: the end marker does not count it. */
void mi_history_note_denied(struct mi_history *h, mi_history_id id);

/* ---- bridge thread ---- */

uint64_t mi_history_step(struct mi_history *h, uint64_t now_ns); /* when it wants to be called again */
void mi_history_set_config(struct mi_history *h, struct mi_config *config);

#endif
