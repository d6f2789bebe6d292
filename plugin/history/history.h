/*
 * history: the past of a topic for one MQTT client, a page at a time (design section 9).
 *
 * The main thread hands over requests (a SUBSCRIBE to $iggy/FROM/FILTER) and takes what was found, message by
 * message, for that one client; the bridge thread reads Iggy. A request is bound to its connection: the main
 * thread cancels it when the client goes, and looks again before each publication.
 *
 * What "the past" is: of each partition, what it holds when the request comes to it. Partitions are read one
 * after the other, each in its order; last-N alone is merged by the time of the append. A time in the request
 * is compared with mqtt.time (when a broker received the message), with Iggy's own stamp for native messages.
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
/* After both threads have stopped using it; before the client is freed. */
void mi_history_free(struct mi_history *h);

/* ---- main thread ---- */

/* Names one request; 0 is none. */
typedef uint64_t mi_history_id;

struct mi_history_ask {
    struct mi_span client_id; /* who gets the answer */
    struct mi_span mount;     /* the listener's mount point, which stands before filter and all topics */
    struct mi_span filter;    /* the SUBSCRIBE's filter without it: "$iggy/2h/rooms/#" */
    uint8_t qos;              /* no message comes with more */
};
/* Starts a request. 0 with why (static text) when it is refused at once: malformed, a cursor that is none,
 * too many requests. Other refusals (a filter that no route knows) come as the end marker. */
mi_history_id mi_history_begin(struct mi_history *h, const struct mi_history_ask *ask, const char **why);
void mi_history_cancel(struct mi_history *h, mi_history_id id);
bool mi_history_idle(const struct mi_history *h); /* nothing to take; one load; any thread */

struct mi_history_end;

/* One message or end marker for a client. */
struct mi_history_item {
    mi_history_id id;
    const char *topic; /* to publish it on: mount point, "$iggy/2h/", topic; NUL-terminated */
    const char *inner; /* what the client's rights are checked on: mount point and topic; NULL: the marker */
    const uint8_t *payload; /* NULL when empty */
    uint32_t payload_len;
    uint8_t qos;
    bool last;                 /* the end marker: the request is over after it */
    const uint8_t *properties; /* MQTT property block */
    uint32_t properties_len;
    struct mi_history_end *end; /* what the marker says; private */
    struct mi_history_item *next;
};
/* At most max, oldest first; the caller owns them. An end marker comes alone, so that denials of what came
 * before it are counted in it. */
struct mi_history_item *mi_history_take(struct mi_history *h, size_t max);
void mi_history_item_free(struct mi_history_item *item);
/* A message was held back because the client may not read it: the end marker does not count it. */
void mi_history_note_denied(struct mi_history *h, mi_history_id id);

/* The end marker of a request that was never begun; NULL when memory is out. Counts the refusal. */
struct mi_history_item *mi_history_refusal(struct mi_history *h, const struct mi_history_ask *ask,
                                           const char *why);

/* ---- bridge thread ---- */

uint64_t mi_history_step(struct mi_history *h, uint64_t now_ns); /* when it wants to be called again */
void mi_history_set_config(struct mi_history *h, struct mi_config *config);

#endif
