#include "broker/subscriptions.h"

#include "broker/client_events.h"
#include "broker/history_event.h"
#include "broker/interest_events.h"
#include "broker/via.h"

/* Who listens: wanted says from the configuration in force whether it needs to, subscriptions whether
 * SUBSCRIBE and UNSUBSCRIBE are among that (NULL: as wanted); heard gets each event while it does. Order
 * counts: the first row hears first. */
static const struct {
    bool (*wanted)(const struct mi_plugin *p);
    bool (*subscriptions)(const struct mi_plugin *p);
    void (*heard)(struct mi_plugin *p, const struct mi_client_event *e);
} listeners[] = {
    {mi_interest_events_wanted, NULL, mi_interest_events_heard},
    {mi_client_events_wanted, mi_client_events_need_subscriptions, mi_client_events_heard},
    {mi_history_event_wanted, NULL, mi_history_event_heard},
};
enum { LISTENERS = sizeof listeners / sizeof listeners[0] };

static void tell(struct mi_plugin *p, struct mi_client_event *e);

bool mi_subscriptions_wanted(const struct mi_plugin *p)
{
    for (size_t i = 0; i < LISTENERS; i++)
        if (listeners[i].subscriptions ? listeners[i].subscriptions(p) : listeners[i].wanted(p))
            return true;
    return false;
}

void mi_subscriptions_event(struct mi_plugin *p, int event, const struct mi_evt_subscribe *e)
{
    struct mi_client_event told = {
        .kind = event == MI_EVT_SUBSCRIBE ? MI_CLIENT_SUBSCRIBE : MI_CLIENT_UNSUBSCRIBE,
        .client = e->client,
        .filter = e->data.topic_filter,
        .qos = e->data.options & 3,
    };
    tell(p, &told);
}

void mi_subscriptions_check(struct mi_plugin *p, const struct mosquitto_evt_acl_check *e)
{
    if (e->access != MOSQ_ACL_SUBSCRIBE && e->access != MOSQ_ACL_UNSUBSCRIBE)
        return;
    struct mi_client_event told = {
        .kind = e->access == MOSQ_ACL_SUBSCRIBE ? MI_CLIENT_SUBSCRIBE : MI_CLIENT_UNSUBSCRIBE,
        .client = e->client,
        .filter = e->topic,
        .qos = e->qos,
    };
    tell(p, &told);
}

void mi_subscriptions_connect(struct mi_plugin *p, const struct mi_evt_connect *e)
{
    struct mi_client_event told = {.kind = MI_CLIENT_CONNECT, .client = e->client};
    tell(p, &told);
}

void mi_subscriptions_disconnect(struct mi_plugin *p, int event, const struct mosquitto_evt_disconnect *e)
{
    struct mi_client_event told = {
        .kind = event == MI_EVT_CLIENT_OFFLINE ? MI_CLIENT_OFFLINE : MI_CLIENT_DISCONNECT,
        .client = e->client,
        .reason = e->reason,
    };
    tell(p, &told);
}

/* A connection that never sent its CONNECT has no client id, and is nobody. */
static void tell(struct mi_plugin *p, struct mi_client_event *e)
{
    const char *id = e->client ? mosquitto_client_id(e->client) : NULL;
    bool about_filter = e->kind == MI_CLIENT_SUBSCRIBE || e->kind == MI_CLIENT_UNSUBSCRIBE;
    if (!id || !*id || mi_via_is_own(p->via, mi_span_of(id)) || (about_filter && !e->filter))
        return;
    e->client_id = mi_span_of(id);
    for (size_t i = 0; i < LISTENERS; i++)
        if (listeners[i].wanted(p))
            listeners[i].heard(p, e);
}
