#include "broker/interest_events.h"

#include <unistd.h>

#include "base/clock.h"
#include "broker/via.h"
#include "config/broker_db.h"

enum {
    MAX_FILTERS = 20000, /* more different ones than that and everything is wanted: the price of a picture */
    COST_SHARE = 20,     /* pictures take at most this part of the main thread's time: 5 % */
    INDEX_NS = 10000,    /* per filter: sorting them costs the bridge thread a fifteenth of that */
    SWEEP_S = 10         /* between two looks at sessions that are away */
};

static bool asked_for(const struct mi_config *c);

bool mi_interest_events_follow_config(struct mi_plugin *p)
{
    if (!asked_for(p->config)) {
        mi_interest_free(p->interest);
        p->interest = NULL;
        return true;
    }
    if (!p->interest)
        p->interest = mi_interest_new(MAX_FILTERS, &mi_clock_system);
    return p->interest != NULL;
}

/* A client that comes back shows by its clean session flag whether these still hold. */
static void restored(void *context, struct mi_span client_id, struct mi_span filter)
{
    struct mi_plugin *p = context;
    if (mi_via_is_own(p->via, client_id))
        return;
    mi_interest_subscribe(p->interest, client_id, filter, true);
    mi_interest_disconnected(p->interest, client_id);
}

/* False: there may be sessions whose subscriptions nobody knows. */
static bool read_database(struct mi_plugin *p, const char *path)
{
    struct mi_error err;
    if (access(path, F_OK) != 0 || mi_broker_db_subscriptions(path, restored, p, &err) == 0)
        return true;
    mi_log_line(
        p->log, MI_LOG_WARNING,
        "%s: what restored sessions subscribed to is not known, so routes with feed: on_subscribe are "
        "read as with always until the broker's next start",
        err.text);
    return false;
}

void mi_interest_events_start(struct mi_plugin *p)
{
    const struct mi_broker_facts *facts = &p->config->broker;
    if (p->interest)
        p->restored = facts->persistence != MI_NO &&
                      (!facts->persistence_file || !read_database(p, facts->persistence_file));
}

static bool asked_for(const struct mi_config *c)
{
    for (size_t i = 0; i < c->route_count; i++)
        if ((c->routes[i].direction & MI_IN) && c->routes[i].feed == MI_FEED_ON_SUBSCRIBE)
            return true;
    return false;
}

static int has_subscriptions(const struct mosquitto *client, void *context)
{
    const struct mi_plugin *p = context;
    const char *id = mosquitto_client_id(client);
    bool known = id && (mi_via_is_own(p->via, mi_span_of(id)) ||
                        (!p->restored && p->interest && mi_interest_knows(p->interest, mi_span_of(id))));
    return !known && mosquitto_client_sub_count(client) > 0 ? MOSQ_ERR_ALREADY_EXISTS : MOSQ_ERR_SUCCESS;
}

/* Before the first client is served: whoever has a subscription then had it before, perhaps from another
 * database than mosquitto.db. */
void mi_interest_events_first_tick(struct mi_plugin *p)
{
    if (p->compat.for_all_clients)
        p->restored = p->compat.for_all_clients(has_subscriptions, p) != MOSQ_ERR_SUCCESS;
    const struct mi_broker_facts *facts = &p->config->broker;
    if (p->interest)
        mi_interest_set_unknown(p->interest, p->restored || facts->bridges != MI_NO || facts->deaf);
}

bool mi_interest_events_waiting(const struct mi_plugin *p)
{
    return p->interest && mi_interest_changed(p->interest);
}

static bool is_gone(void *context, const char *client)
{
    const struct mi_plugin *p = context;
    return p->compat.client_of_id(client) == NULL;
}

/* Sessions that expired while they were away: no event tells, but 2.1 can be asked. */
static void sweep(struct mi_plugin *p)
{
    uint64_t now = mi_now_ns(&mi_clock_system);
    if (now >= p->interest_sweep_ns && mi_interest_sweep(p->interest, is_gone, p))
        p->interest_sweep_ns = now + SWEEP_S * MI_NS_PER_S;
}

void mi_interest_events_tick(struct mi_plugin *p)
{
    if (p->interest && p->compat.client_of_id)
        sweep(p);
    if (!mi_interest_events_waiting(p))
        return;
    uint64_t before = mi_now_ns(&mi_clock_system);
    if (before < p->interest_due_ns) {
        mi_wakeup_call(p->wakeup); /* an idle broker would sleep on */
        return;
    }
    struct mi_interest_picture *picture = mi_interest_picture(p->interest);
    if (picture)
        mi_bridge_set_interest(p->bridge, picture);
    mi_interest_picture_release(picture);
    uint64_t after = mi_now_ns(&mi_clock_system);
    p->interest_due_ns =
        after + (after - before) * COST_SHARE + mi_interest_filters(p->interest) * (uint64_t)INDEX_NS;
}

bool mi_interest_events_wanted(const struct mi_plugin *p)
{
    return p->interest != NULL;
}

static bool may_last(const struct mosquitto *client)
{
    return mosquitto_client_protocol_version(client) >= 5 || !mosquitto_client_clean_session(client);
}

/* 2.0 has no CONNECT: what a client does after its DISCONNECT shows that it is there again. */
static void note_connected(struct mi_plugin *p, const struct mi_client_event *e)
{
    mi_interest_connected(p->interest, e->client_id, mosquitto_client_clean_session(e->client));
}

void mi_interest_events_heard(struct mi_plugin *p, const struct mi_client_event *e)
{
    struct mi_interest *t = p->interest;
    switch (e->kind) {
    case MI_CLIENT_SUBSCRIBE:
        note_connected(p, e);
        mi_interest_subscribe(t, e->client_id, mi_span_of(e->filter), may_last(e->client));
        break;
    case MI_CLIENT_UNSUBSCRIBE:
        note_connected(p, e);
        if (p->compat.v2_1 || p->config->broker.acl != MI_ACL_PLUGIN)
            mi_interest_unsubscribe(t, e->client_id, mi_span_of(e->filter));
        break;
    case MI_CLIENT_CONNECT:
        note_connected(p, e);
        break;
    case MI_CLIENT_DISCONNECT:
        if (p->compat.v2_1 && e->reason != MI_REASON_TAKEN_OVER)
            mi_interest_session_ended(t, e->client_id);
        else
            mi_interest_disconnected(t, e->client_id);
        break;
    case MI_CLIENT_OFFLINE:
        mi_interest_disconnected(t, e->client_id);
        break;
    }
}
