/*
 * plugin: one loaded instance of the plugin: what init makes, the events use and cleanup frees. Main thread
 * only, unless a part says otherwise. For the files of this folder.
 */
#ifndef MI_PLUGIN_H
#define MI_PLUGIN_H

#include "auth/user_rules.h"
#include "base/log.h"
#include "broker/authorize.h"
#include "broker/compat.h"
#include "broker/inject.h"
#include "broker/log_queue.h"
#include "broker/message_event.h"
#include "broker/retained.h"
#include "broker/wakeup.h"
#include "broker/watchdog.h"
#include "config/config.h"
#include "in/interest.h"
#include "loop/bridge.h"
#include "metrics/metrics.h"

struct mi_client_events;
struct mi_history_event;
struct mi_login_events; /* login_event.c */
struct mi_via;

struct mi_plugin {
    mosquitto_plugin_id_t *id;
    struct mi_compat compat;
    struct mi_plugin_opt *opts; /* the broker's lines, which live until cleanup; a reload reads them again */
    size_t opt_count;
    struct mi_metrics *metrics;
    struct mi_log_queue *log_queue;
    const struct mi_log *log;
    struct mi_config *config;
    struct mi_bridge *bridge;
    struct mi_retained *retained;
    struct mi_hook *hook;
    struct mi_inject *inject;
    struct mi_interest *interest; /* NULL: no route asks for it (interest_events.h) */
    uint64_t interest_sweep_ns;   /* when to look for sessions that expired */
    uint64_t interest_due_ns;     /* no new picture of it before */
    bool restored;                /* the broker may have begun with sessions of an earlier run */
    struct mi_client_events *events;
    struct mi_history_event *history;
    struct mi_via *via;
    bool via_more; /* it has more to do at once */
    struct mi_wakeup *wakeup;
    struct mi_authorize *authorize;   /* NULL: auth.authorize is off */
    struct mi_user_rules *user_rules; /* topic rights from a database; NULL: auth.authorize is another */
    struct mi_login_events *logins;   /* NULL: the plugin has no part in logins */
    struct mi_watchdog *watchdog;     /* until the first TICK */
    bool acl_registered;              /* ACL_CHECK */
    bool somebody_decides; /* as far as the broker's own file tells: it has an acl_file or a plugin for rights
                            */
    bool ticked;
    bool started;                      /* the bridge threads run */
    uint64_t start_again_ns;           /* when to try again to start them */
    struct mi_log_limit message_limit; /* of the line that MESSAGE cannot be registered */
};

/* Logs one finding of the configuration: "file:line: key: sentence". context is a struct mi_log. */
void mi_plugin_log_finding(void *context, const struct mi_finding *finding);

/* Reads the configuration, with what the broker's own file says now. NULL when it is refused. */
struct mi_config *mi_plugin_load_config(struct mi_plugin *p, mi_find find, void *context);

/* Takes MESSAGE off and registers it again, so that this plugin hears it after every other. */
int mi_plugin_move_message_last(struct mi_plugin *p);

#endif
