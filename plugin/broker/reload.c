#include "broker/reload.h"

#include "broker/acl_event.h"
#include "broker/history_event.h"
#include "broker/interest_events.h"
#include "broker/login_event.h"
#include "broker/via.h"

#include <stdio.h>
#include <string.h>

/* The first refusal is kept for the status page; all of them are logged. */
struct collector {
    const struct mi_log *log;
    char first[512];
};

static void collect(void *context, const struct mi_finding *f)
{
    struct collector *c = context;
    mi_plugin_log_finding((void *)c->log, f);
    if (f->refused && !c->first[0])
        snprintf(c->first, sizeof c->first, "%s:%u: %s: %s", f->file ? f->file : "mosquitto.conf", f->line,
                 f->key, f->sentence);
}

static void keep_old(struct mi_plugin *p, const char *why)
{
    mi_log_line(p->log, MI_LOG_ERROR,
                "reload: the new configuration is not used, the one before stays in force");
    mi_bridge_note_reload(p->bridge, why);
}

static void take_over(struct mi_plugin *p, struct mi_config *config)
{
    struct mi_error err;
    if (mi_hook_set_config(p->hook, config, &err) != 0) {
        keep_old(p, err.text);
        mi_config_release(config);
        return;
    }
    if (p->authorize && mi_authorize_set_config(p->authorize, config, &err) != 0) {
        keep_old(p, err.text);
        mi_hook_set_config(p->hook, p->config, &err);
        mi_config_release(config);
        return;
    }
    mi_bridge_set_config(p->bridge, config);
    mi_config_release(p->config);
    p->config = config;
    mi_interest_events_follow_config(p);
    mi_login_event_follow_config(p);
    mi_acl_event_register(p);
    mi_via_follow_config(p->via);
    mi_bridge_note_reload(p->bridge, NULL);
    mi_log_line(p->log, MI_LOG_NOTICE, "reload: the new configuration is in force (%zu routes)",
                config->route_count);
}

int mi_reload(struct mi_plugin *p)
{
    struct collector c = {.log = p->log};
    mi_login_event_reloading(p);
    struct mi_config *config = mi_plugin_load_config(p, collect, &c);
    if (config) {
        mi_config_report_fixed(p->config, config, collect, &c);
        take_over(p, config);
    } else {
        keep_old(p, c.first[0] ? c.first : "out of memory");
    }
    mi_history_event_reload(p->history, p->config);
    return p->compat.v2_1 ? MOSQ_ERR_SUCCESS : MOSQ_ERR_PLUGIN_DEFER;
}
