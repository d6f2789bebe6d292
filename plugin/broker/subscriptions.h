/*
 * subscriptions: the one place where the broker tells which client came, went, subscribed and unsubscribed.
 *
 *                  2.1                           2.0
 *   SUBSCRIBE      event 12, after the ACL       ACL_CHECK, before anybody decided (acl_event.h)
 *   UNSUBSCRIBE    event 13                      ACL_CHECK
 *   CONNECT        event 11                      not seen
 *   DISCONNECT     event 10, the session ends    event 10, whatever becomes of the session
 *   OFFLINE        event 28, it stays            not seen
 *
 * Not seen on any version: sessions that the broker restored or resumed, the end of a session by expiry.
 * A listener is one row of the table in subscriptions.c. Main thread only.
 */
#ifndef MI_SUBSCRIPTIONS_H
#define MI_SUBSCRIPTIONS_H

#include "base/bytes.h"
#include "broker/plugin.h"

enum mi_client_event_kind {
    MI_CLIENT_SUBSCRIBE,
    MI_CLIENT_UNSUBSCRIBE,
    MI_CLIENT_CONNECT,
    MI_CLIENT_DISCONNECT,
    MI_CLIENT_OFFLINE
};

/* What a listener hears; everything lives for the call only. */
struct mi_client_event {
    enum mi_client_event_kind kind;
    struct mosquitto *client;
    struct mi_span client_id; /* never empty */
    /* SUBSCRIBE and UNSUBSCRIBE: as the client wrote it, $share/GROUP/ included; a listener's mount point
     * stands in front of it at SUBSCRIBE, on no version at UNSUBSCRIBE (which the broker then does not carry
     * out). */
    const char *filter;
    /* SUBSCRIBE. On 2.0 0 also where the broker checks the subscriptions of a client that it kicks; the
     * DISCONNECT follows at once. */
    uint8_t qos;
    /* DISCONNECT and OFFLINE: a MOSQ_ERR_ number, on 2.0 always -1. On 2.1 a session that another connection
     * takes over, resumed or not, is a DISCONNECT with MI_REASON_TAKEN_OVER. */
    int reason;
};

/* Is anybody there who listens to SUBSCRIBE and UNSUBSCRIBE? */
bool mi_subscriptions_wanted(const struct mi_plugin *p);

/* ---- from the entry points ---- */

/* 2.1: MOSQ_EVT_SUBSCRIBE and UNSUBSCRIBE. */
void mi_subscriptions_event(struct mi_plugin *p, int event, const struct mi_evt_subscribe *e);
/* 2.0: an ACL_CHECK; those for READ and WRITE are none of ours. */
void mi_subscriptions_check(struct mi_plugin *p, const struct mosquitto_evt_acl_check *e);
void mi_subscriptions_connect(struct mi_plugin *p, const struct mi_evt_connect *e);
/* MOSQ_EVT_DISCONNECT and CLIENT_OFFLINE. */
void mi_subscriptions_disconnect(struct mi_plugin *p, int event, const struct mosquitto_evt_disconnect *e);

#endif
