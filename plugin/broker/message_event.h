/*
 * message_event: what happens to a PUBLISH: route, envelope, journal, and the answer to the client.
 *
 * The answer cannot be "later": Mosquitto acknowledges right after the event. Refusing (a full journal, a
 * failed disk, a missing target under on_missing: refuse) therefore means
 *
 *              MQTT 5                                    MQTT 3
 *   QoS 0      delivered to subscribers, copy dropped    the same
 *   QoS 1, 2   2.0: 0x87, 2.1: 0x97 (refuse: reason)     disconnected: 3.1.1 has no reason code, and
 * Mosquitto would disconnected with 0x80 (disconnect)       acknowledge what it drops
 *
 * With when_journal_full: deliver_without_copy on all routes that take it, a PUBLISH is delivered instead and
 * counted. One that can never fit the journal, whatever an operator does, is refused by reason code, but
 * disconnects nobody who would only send it again. Main thread only.
 */
#ifndef MI_MESSAGE_EVENT_H
#define MI_MESSAGE_EVENT_H

#include "base/clock.h"
#include "base/log.h"
#include "broker/compat.h"
#include "broker/retained.h"
#include "config/config.h"
#include "journal/journal.h"
#include "loop/bridge.h"
#include "message/message.h"
#include "metrics/metrics.h"

struct mi_hook_options {
    const struct mi_compat *compat;
    struct mi_config *config; /* held by the hook */
    struct mi_metrics *metrics;
    struct mi_bridge *bridge;
    const struct mi_clock *clock;
    const struct mi_log *log;
    struct mi_retained *retained; /* hears of own retained messages; NULL: nobody does */
};

struct mi_hook;
struct mi_hook *mi_hook_new(const struct mi_hook_options *options, struct mi_error *err);
void mi_hook_free(struct mi_hook *h); /* NULL is allowed */

/* Goes over to another configuration. -1 when memory is out: then the old one stays. */
int mi_hook_set_config(struct mi_hook *h, struct mi_config *config, struct mi_error *err);

/* MOSQ_EVT_MESSAGE: what the callback returns to the broker. */
int mi_hook_message(struct mi_hook *h, const struct mosquitto_evt_message *event);
/* The same for a message that the plugin's own subscription brought: routes with "via": "subscription" take
 * it. False: the journal has no room now; the message is to be offered again. A QoS 0 message is taken in any
 * case. Only topic, payload, qos, retain, maybe_dup and properties of m count. */
bool mi_hook_subscribed(struct mi_hook *h, const struct mi_message *m);
/* MOSQ_EVT_DISCONNECT and CLIENT_OFFLINE. */
void mi_hook_disconnected(struct mi_hook *h, const struct mosquitto *client);

#endif
