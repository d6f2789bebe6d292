/*
 * history_event: SUBSCRIBE to $iggy/... -> requests for history, and what they find -> to that one client.
 *
 * A request belongs to one connection: it ends with it (DISCONNECT, OFFLINE, take-over), with an UNSUBSCRIBE
 * of the same filter, with another SUBSCRIBE of it (which begins anew), and when the connection's user name
 * is another one.
 *
 * A SUBSCRIBE is only noted; the request begins in the following TICK. So the SUBACK comes first, and a check
 * of subscriptions that a kick makes on 2.0 (it looks like a SUBSCRIBE) begins nothing: the DISCONNECT comes
 * before the TICK.
 *
 * A listener's mount point stands in front of the filter that a SUBSCRIBE shows ("MOUNT$iggy/2h/rooms/#").
 * What stands before a level "$iggy" is taken for one: the client then gets only what lies below it, with the
 * rights it has there. A mount point that does not end with "/" is not seen.
 *
 * Rights: delivery to one client skips the broker's check, so each message's own topic is checked here, by
 * auth.authorize where it is on, and by broker.acl: none: allowed; acl_file: as the broker would
 * (auth/acl_file.h); plugin, or not stated: refused, but on 2.1 history.rights subscribe makes the right to
 * subscribe enough. Main thread only.
 */
#ifndef MI_HISTORY_EVENT_H
#define MI_HISTORY_EVENT_H

#include "broker/plugin.h"
#include "broker/subscriptions.h"
#include "history/history.h"

struct mi_history_event_options {
    struct mi_history *history;
    bool v2_1;
    struct mi_config *config; /* held */
    struct mi_metrics *metrics;
    const struct mi_clock *clock;
    const struct mi_log *log;
    struct mi_authorize *authorize; /* NULL: Iggy's rights do not count */
    struct mi_user_rules *rules;    /* NULL: nor do a database's */
};

struct mi_history_event *mi_history_event_new(const struct mi_history_event_options *options);
void mi_history_event_free(struct mi_history_event *h); /* NULL is allowed */

/* A reload: the broker has read its acl_file again, and so is it here. */
void mi_history_event_reload(struct mi_history_event *h, struct mi_config *config);

/* One TICK: begins what was asked for, publishes at most max messages. Returns how many. */
size_t mi_history_event_tick(struct mi_history_event *h, size_t max);
/* Nothing to begin and nothing to publish. */
bool mi_history_event_idle(const struct mi_history_event *h);

/* What the client did. */
void mi_history_event_subscribe(struct mi_history_event *h, const struct mi_client_event *e);
void mi_history_event_unsubscribe(struct mi_history_event *h, const struct mi_client_event *e);
void mi_history_event_gone(struct mi_history_event *h, const struct mosquitto *client);

/* The row of subscriptions.c. */
bool mi_history_event_wanted(const struct mi_plugin *p);
void mi_history_event_heard(struct mi_plugin *p, const struct mi_client_event *e);

#endif
