#include "broker/acl_event.h"

#include "broker/subscriptions.h"

static int on_acl_check(int event, void *data, void *userdata)
{
    (void)event;
    return mi_acl_event(userdata, data);
}

static bool wanted(const struct mi_plugin *p)
{
    return !p->compat.v2_1 && mi_subscriptions_wanted(p);
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

/* The answers of "authorize" belong between the two: what it denies is denied, what it does not know goes on
 * to broker.acl. */
int mi_acl_event(struct mi_plugin *p, const struct mosquitto_evt_acl_check *e)
{
    mi_subscriptions_check(p, e);
    return p->config->broker.acl == MI_ACL_NONE && !p->somebody_decides ? MOSQ_ERR_SUCCESS
                                                                        : MOSQ_ERR_PLUGIN_DEFER;
}
