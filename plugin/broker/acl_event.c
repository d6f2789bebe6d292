#include "broker/acl_event.h"

#include "broker/subscriptions.h"
#include "broker/via.h"

static int on_acl_check(int event, void *data, void *userdata)
{
    (void)event;
    return mi_acl_event(userdata, data);
}

static bool wanted(const struct mi_plugin *p)
{
    return p->authorize || p->user_rules || (!p->compat.v2_1 && mi_subscriptions_wanted(p));
}

int mi_acl_event_register(struct mi_plugin *p)
{
    if (wanted(p) == p->acl_registered)
        return MOSQ_ERR_SUCCESS;
    if (p->acl_registered) {
        mi_acl_event_unregister(p);
        return MOSQ_ERR_SUCCESS;
    }
    int result = mosquitto_callback_register(p->id, MOSQ_EVT_ACL_CHECK, on_acl_check, NULL, p);
    if (result != MOSQ_ERR_SUCCESS)
        mi_log_line(p->log, MI_LOG_ERROR, "the broker does not take the callback for ACL_CHECK (error %d)",
                    result);
    p->acl_registered = result == MOSQ_ERR_SUCCESS;
    return result;
}

void mi_acl_event_unregister(struct mi_plugin *p)
{
    if (p->acl_registered)
        mosquitto_callback_unregister(p->id, MOSQ_EVT_ACL_CHECK, on_acl_check, NULL);
    p->acl_registered = false;
}

/* The plugin's own subscription, whose user name only its own password opens (via.h), reads what routes with
 * "via": "subscription" copy. */
static bool reads_for_us(const struct mi_plugin *p, struct mi_span username, int access)
{
    return p->logins && (access == MOSQ_ACL_READ || access == MOSQ_ACL_SUBSCRIBE) &&
           mi_via_is_own(p->via, username);
}

static bool authorized(const struct mi_plugin *p, const struct mosquitto_evt_acl_check *e)
{
    const struct mi_authorize_client client = {mi_span_of(mosquitto_client_username(e->client)),
                                               mi_span_of(mosquitto_client_id(e->client))};
    struct mi_span topic = mi_span_of(e->topic);
    if (reads_for_us(p, client.username, e->access))
        return true;
    switch (e->access) {
    case MOSQ_ACL_WRITE:
        return mi_authorize_publish(p->authorize, &client, topic);
    case MOSQ_ACL_READ:
        return mi_authorize_read(p->authorize, &client, topic);
    case MOSQ_ACL_SUBSCRIBE:
        return mi_authorize_subscribe(p->authorize, &client, topic);
    default:
        return true; /* an UNSUBSCRIBE takes nothing from anybody */
    }
}

/* The plugin's own connection, which no other client can have: its password is known to nobody. */
static bool is_own(const struct mi_plugin *p, const struct mi_acl_client *client)
{
    return mi_via_is_own(p->via, client->client_id) && mi_span_equal(client->username, client->client_id);
}

/* By a database: as with an acl_file a SUBSCRIBE is not refused, what it brings is checked. */
static bool ruled(const struct mi_plugin *p, const struct mosquitto_evt_acl_check *e)
{
    const struct mi_acl_client client = {mi_span_of(mosquitto_client_username(e->client)),
                                         mi_span_of(mosquitto_client_id(e->client))};
    if ((e->access != MOSQ_ACL_WRITE && e->access != MOSQ_ACL_READ) || is_own(p, &client))
        return true;
    return mi_user_rules_allow(p->user_rules, &client, mi_span_of(e->topic),
                               e->access == MOSQ_ACL_WRITE ? MI_ACL_WRITE : MI_ACL_READ);
}

int mi_acl_event(struct mi_plugin *p, const struct mosquitto_evt_acl_check *e)
{
    if (p->user_rules && !ruled(p, e))
        return MOSQ_ERR_ACL_DENIED;
    if (p->authorize && !authorized(p, e))
        return MOSQ_ERR_ACL_DENIED;
    if (!p->compat.v2_1)
        mi_subscriptions_check(p, e);
    if (p->config->broker.acl != MI_ACL_NONE || p->somebody_decides)
        return MOSQ_ERR_PLUGIN_DEFER;
    return p->compat.v2_1 ? (int)MI_ERR_PLUGIN_IGNORE : (int)MOSQ_ERR_SUCCESS;
}
