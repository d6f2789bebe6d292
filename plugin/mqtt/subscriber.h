/*
 * subscriber: one MQTT 5 connection that takes messages and acknowledges each only once its owner has it.
 *
 * libmosquitto acknowledges before its callback runs, and brokers export functions of the same names; so this
 * is our own, and small. It owns no thread and never waits: all calls belong to one thread, and what they
 * block on is nothing. The session is resumed after a lost connection: what was not acknowledged comes again.
 * The connection is made again after a pause that grows, each failure is logged once per interval.
 */
#ifndef MI_MQTT_SUBSCRIBER_H
#define MI_MQTT_SUBSCRIBER_H

#include "base/clock.h"
#include "base/log.h"
#include "mqtt/filters.h"
#include "mqtt/packet.h"

struct mi_subscriber_options {
    /* Numeric address, or the path of a Unix socket when it begins with '/'. Borrowed, like the texts below,
     * until the next mi_subscriber_follow. */
    const char *host;
    uint16_t port;
    const char *username, *password; /* NULL: none */
    const char *client_id;
    const struct mi_clock *clock;
    const struct mi_log *log;
    int watch; /* an epoll descriptor: whoever waits there learns once that there is something to do */
    /* Takes a message; false: not now, it is offered again at the next step. spans live for the call. */
    bool (*take)(void *context, const struct mi_packet *publish);
    void *context;
};

struct mi_subscriber;
struct mi_subscriber *mi_subscriber_new(const struct mi_subscriber_options *options); /* NULL: no memory */
/* Closes the connection; the session stays. NULL is allowed. */
void mi_subscriber_free(struct mi_subscriber *s);

/* From now on exactly these filters, taken over (and *filters emptied), and this address and login; a
 * connection of another one is made anew. No filters: the session ends, nothing is connected any more. */
void mi_subscriber_follow(struct mi_subscriber *s, const struct mi_subscriber_options *options,
                          struct mi_filters *filters);

/* Does what is possible now, at most max packets. True when there are more of them already. */
bool mi_subscriber_step(struct mi_subscriber *s, size_t max);

/* Is every filter subscribed to at this moment? */
bool mi_subscriber_ready(const struct mi_subscriber *s);
/* Why not, for people: the last failure; empty when there was none since. */
const char *mi_subscriber_trouble(const struct mi_subscriber *s);

#endif
