/*
 * plugin: the three functions that Mosquitto calls by name, and the table of events.
 *
 * Nothing but them is exported: 2.0 loads plugins with RTLD_GLOBAL, where equal names of two plugins collide.
 */
#include "broker/plugin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/acl_event.h"
#include "broker/client_events.h"
#include "broker/history_event.h"
#include "broker/interest_events.h"
#include "broker/login_event.h"
#include "broker/shared_log.h"
#include "broker/reload.h"
#include "broker/subscriptions.h"
#include "broker/tick.h"
#include "config/broker_file.h"
#include "broker/via.h"

#define EXPORTED __attribute__((visibility("default")))
#define FIRST_TICK_MS 5000
/* Topics with retained values on their way through the log; each takes 32 bytes while it is. */
#define MAX_RETAINED_TOPICS 100000

EXPORTED int mosquitto_plugin_version(int count, const int *versions);
EXPORTED int mosquitto_plugin_init(mosquitto_plugin_id_t *id, void **userdata, struct mosquitto_opt *options,
                                   int option_count);
EXPORTED int mosquitto_plugin_cleanup(void *userdata, struct mosquitto_opt *options, int option_count);

static int make(struct mi_plugin *p, const struct mosquitto_opt *options, int option_count);
static int register_all(struct mi_plugin *p);
static void unregister_all(struct mi_plugin *p);
static void destroy(struct mi_plugin *p);

int mosquitto_plugin_version(int count, const int *versions)
{
    for (int i = 0; i < count; i++)
        if (versions[i] == MOSQ_PLUGIN_VERSION)
            return MOSQ_PLUGIN_VERSION;
    return -1;
}

/* 2.1 calls cleanup after a failed init too, 2.0 does not: so a failed init frees everything and leaves NULL.
 */
int mosquitto_plugin_init(mosquitto_plugin_id_t *id, void **userdata, struct mosquitto_opt *options,
                          int option_count)
{
    *userdata = NULL;
    struct mi_plugin *p = calloc(1, sizeof *p);
    if (!p)
        return MOSQ_ERR_NOMEM;
    p->id = id;
    int result = make(p, options, option_count);
    if (result == MOSQ_ERR_SUCCESS)
        result = register_all(p);
    if (result != MOSQ_ERR_SUCCESS) {
        destroy(p);
        return result;
    }
    *userdata = p;
    return MOSQ_ERR_SUCCESS;
}

int mosquitto_plugin_cleanup(void *userdata, struct mosquitto_opt *options, int option_count)
{
    (void)options;
    (void)option_count;
    struct mi_plugin *p = userdata;
    if (p) {
        unregister_all(p);
        destroy(p);
    }
    return MOSQ_ERR_SUCCESS;
}

/* ---- making and freeing ---- */

void mi_plugin_log_finding(void *context, const struct mi_finding *f)
{
    char line[16] = "";
    if (f->line)
        snprintf(line, sizeof line, "%u:", f->line);
    mi_log_line(context, f->refused ? MI_LOG_ERROR : MI_LOG_WARNING, "%s:%s %s: %s",
                f->file ? f->file : "mosquitto.conf", line, f->key, f->sentence);
}

static void late(void *context)
{
    static const char text[] = "the broker does not call this plugin's TICK: nothing reaches Iggy. Mosquitto "
                               "2.0.11 to 2.0.14 never do with "
                               "per_listener_settings true; turn that off or use a newer Mosquitto";
    const struct mi_plugin *p = context;
    mi_log_line(p->log, MI_LOG_ERROR, "%s", text);
    fprintf(stderr, "mosquitto_iggy: %s\n", text);
}

static int no_memory(struct mi_plugin *p)
{
    mi_log_line(p->log, MI_LOG_ERROR, "out of memory");
    return MOSQ_ERR_NOMEM;
}

static int make_base(struct mi_plugin *p, const struct mosquitto_opt *options, int option_count)
{
    mi_compat_init(&p->compat, &mi_symbols_system);
    if (p->compat.set_info)
        p->compat.set_info(p->id, "mosquitto_iggy", MI_VERSION);
    p->metrics = mi_metrics_new();
    p->log_queue = p->metrics ? mi_log_queue_new(p->metrics) : NULL;
    p->opts = calloc((size_t)option_count + 1, sizeof *p->opts);
    if (!p->log_queue || !p->opts)
        return MOSQ_ERR_NOMEM;
    p->log = mi_log_queue_log(p->log_queue);
    for (p->opt_count = 0; p->opt_count < (size_t)option_count; p->opt_count++)
        p->opts[p->opt_count] =
            (struct mi_plugin_opt){options[p->opt_count].key, options[p->opt_count].value};
    return MOSQ_ERR_SUCCESS;
}

static void wake_main(void *context)
{
    mi_wakeup_call(context);
}

static int refused(struct mi_plugin *p, const struct mi_error *err)
{
    mi_log_line(p->log, MI_LOG_ERROR, "%s", err->text);
    return MOSQ_ERR_INVAL;
}

static uint64_t settled_below(void *context)
{
    struct mi_journal_stats stats;
    const struct mi_plugin *p = context;
    mi_journal_stats(mi_bridge_journal(p->bridge), &stats);
    return stats.released_sequence;
}

/* Retained values that clients publish here, until they are read back from the log. */
static bool make_retained(struct mi_plugin *p)
{
    struct mi_journal_stats stats;
    mi_journal_stats(mi_bridge_journal(p->bridge), &stats);
    struct mi_retained_options o = {
        .max_topics = MAX_RETAINED_TOPICS,
        .first_sequence = stats.next_sequence,
        .routes_later = p->compat.v2_1,
        .store_behind = mi_bridge_store_behind(p->bridge),
        .clock = &mi_clock_system,
        .settled = settled_below,
        .context = p,
    };
    p->retained = mi_retained_new(&o);
    struct mi_span outstanding = mi_bridge_outstanding(p->bridge);
    if (p->retained && outstanding.len && !mi_retained_load(p->retained, outstanding))
        mi_log_line(p->log, MI_LOG_WARNING,
                    "state file: the list of retained topics cannot be read; some may differ from the log");
    return p->retained != NULL;
}

static void wake_bridge(void *context)
{
    mi_bridge_wake(context);
}

static bool make_authorize(struct mi_plugin *p, struct mi_error *err)
{
    struct mi_authorize_options o = {.config = p->config,
                                     .news = mi_bridge_rights(p->bridge),
                                     .metrics = p->metrics,
                                     .wake_bridge = wake_bridge,
                                     .context = p->bridge};
    if (o.news)
        p->authorize = mi_authorize_new(&o, err);
    return p->authorize || !o.news;
}

static int make_parts(struct mi_plugin *p)
{
    struct mi_error err = {"out of memory"};
    p->wakeup = mi_wakeup_new(p->config->wake_signal, &err);
    if (!p->wakeup)
        return refused(p, &err);
    struct mi_bridge_options bridge = {p->config, p->metrics, &mi_clock_system, p->log, wake_main, p->wakeup};
    p->bridge = mi_bridge_new(&bridge, &err);
    if (!p->bridge)
        return refused(p, &err);
    if (!make_retained(p))
        return no_memory(p);
    if (!make_authorize(p, &err))
        return refused(p, &err);
    struct mi_hook_options hook = {&p->compat,       p->config, p->metrics, p->bridge,
                                   &mi_clock_system, p->log,    p->retained};
    p->hook = mi_hook_new(&hook, &err);
    if (!p->hook)
        return refused(p, &err);
    struct mi_inject_options inject = {
        mi_bridge_inbox(p->bridge), p->metrics, &mi_clock_system, p->log, p->retained, &p->compat};
    p->inject = mi_inject_new(&inject);
    p->events = mi_client_events_new();
    if (mi_login_event_make(p, &err) != 0)
        return refused(p, &err);
    struct mi_history_event_options history = {mi_bridge_history(p->bridge),
                                               p->compat.v2_1,
                                               p->config,
                                               p->metrics,
                                               &mi_clock_system,
                                               p->log,
                                               p->authorize,
                                               p->user_rules};
    p->history = mi_history_event_new(&history);
    if (!p->inject || !p->events || !p->history || !mi_interest_events_follow_config(p))
        return no_memory(p);
    p->via = mi_via_new(p, &err);
    if (!p->via)
        return refused(p, &err);
    mi_bridge_watch(p->bridge, mi_via_descriptor(p->via));
    mi_via_follow_config(p->via);
    mi_interest_events_start(p); /* knows then which session is the plugin's own */
    return MOSQ_ERR_SUCCESS;
}

struct mi_config *mi_plugin_load_config(struct mi_plugin *p, mi_find find, void *context)
{
    struct mi_broker_file file;
    struct mi_error err;
    struct mi_broker_view view = {.series = p->compat.v2_1 ? MI_SERIES_2_1 : MI_SERIES_2_0};
    if (mi_broker_file_read_own(&file, &err) == 0) {
        const struct mi_broker_section *section = mi_broker_file_section(&file);
        view.file = &file;
        p->somebody_decides = section->acl_file || section->plugin || file.sections[0].plugin;
    } else {
        view.why = err.text;
    }
    struct mi_config *config = mi_config_from_broker(p->opts, p->opt_count, &view, find, context);
    mi_broker_file_free(&file);
    return config;
}

static int make(struct mi_plugin *p, const struct mosquitto_opt *options, int option_count)
{
    int result = make_base(p, options, option_count);
    if (result != MOSQ_ERR_SUCCESS)
        return result;
    p->config = mi_plugin_load_config(p, mi_plugin_log_finding, (void *)p->log);
    if (!p->config)
        return MOSQ_ERR_INVAL;
    if (!p->compat.has_readers)
        mi_log_line(
            p->log, MI_LOG_WARNING,
            "this broker does not export the readers of MQTT 5 properties, and no libmosquitto.so.1 of its "
            "series is installed: properties are not copied to Iggy (install libmosquitto1)");
    if (!p->compat.has_readers && mi_shared_log_has_stamp(p->config))
        mi_log_line(p->log, MI_LOG_WARNING,
                    "routes[].stamp: this broker cannot read user properties, so stamped messages that come "
                    "back through an MQTT bridge are copied again: do not bridge these topics here");
    return make_parts(p);
}

/* What is outstanding at a clean end still is at the next start. */
static void keep_outstanding(struct mi_plugin *p)
{
    struct mi_buf outstanding;
    mi_buf_init(&outstanding, MAX_RETAINED_TOPICS * 16 + 16);
    if (mi_retained_save(p->retained, &outstanding))
        mi_bridge_keep_outstanding(p->bridge, mi_buf_span(&outstanding));
    mi_buf_fini(&outstanding);
}

static void destroy(struct mi_plugin *p)
{
    mi_watchdog_free(p->watchdog);
    if (p->retained)
        keep_outstanding(p);
    mi_hook_free(p->hook);
    mi_inject_free(p->inject);
    mi_interest_free(p->interest);
    mi_client_events_free(p->events);
    mi_history_event_free(p->history);
    mi_authorize_free(p->authorize);
    mi_bridge_free(p->bridge);
    mi_login_event_free(p);
    mi_via_free(p->via); /* the bridge thread watched its socket */
    mi_retained_free(p->retained);
    mi_wakeup_free(p->wakeup);
    mi_config_release(p->config);
    mi_log_queue_free(p->log_queue);
    mi_metrics_free(p->metrics);
    free(p->opts);
    mi_compat_fini(&p->compat);
    free(p);
}

/* ---- events ---- */

static int on_message(int event, void *data, void *userdata)
{
    (void)event;
    struct mi_plugin *p = userdata;
    if (!p->ticked && !mi_log_queue_empty(p->log_queue))
        mi_log_queue_drain(p->log_queue);
    return mi_hook_message(p->hook, data);
}

static int on_tick(int event, void *data, void *userdata)
{
    (void)event;
    (void)data;
    mi_tick(userdata);
    return MOSQ_ERR_SUCCESS;
}

static int on_reload(int event, void *data, void *userdata)
{
    (void)event;
    (void)data;
    return mi_reload(userdata);
}

/* CLIENT_OFFLINE has the same shape as DISCONNECT. */
static int on_disconnect(int event, void *data, void *userdata)
{
    const struct mosquitto_evt_disconnect *e = data;
    struct mi_plugin *p = userdata;
    mi_hook_disconnected(p->hook, e->client);
    mi_subscriptions_disconnect(p, event, e);
    return MOSQ_ERR_SUCCESS;
}

/* 2.1 disconnects a client whose SUBSCRIBE is not answered with success. */
static int on_subscribe(int event, void *data, void *userdata)
{
    mi_subscriptions_event(userdata, event, data);
    return MOSQ_ERR_SUCCESS;
}

static int on_connect(int event, void *data, void *userdata)
{
    (void)event;
    const struct mi_evt_connect *e = data;
    mi_login_event_connected(userdata, e->client);
    mi_subscriptions_connect(userdata, e);
    return MOSQ_ERR_SUCCESS;
}

static const struct {
    int event;
    MOSQ_FUNC_generic_callback callback;
    bool optional; /* only newer brokers know it */
} events[] = {
    {MOSQ_EVT_MESSAGE, on_message, false},        {MOSQ_EVT_TICK, on_tick, false},
    {MOSQ_EVT_RELOAD, on_reload, false},          {MOSQ_EVT_DISCONNECT, on_disconnect, false},
    {MI_EVT_CLIENT_OFFLINE, on_disconnect, true}, {MI_EVT_CONNECT, on_connect, true},
    {MI_EVT_SUBSCRIBE, on_subscribe, true},       {MI_EVT_UNSUBSCRIBE, on_subscribe, true},
};
enum { EVENTS = sizeof events / sizeof events[0] };

static int register_all(struct mi_plugin *p)
{
    for (size_t i = 0; i < EVENTS; i++) {
        int result = mosquitto_callback_register(p->id, events[i].event, events[i].callback, NULL, p);
        if (result != MOSQ_ERR_SUCCESS && !events[i].optional) {
            mi_log_line(p->log, MI_LOG_ERROR, "the broker does not take the callback for event %d (%s)",
                        events[i].event,
                        result == MOSQ_ERR_ALREADY_EXISTS ? "is the plugin loaded twice?" : "error");
            unregister_all(p);
            return result;
        }
    }
    int result = mi_acl_event_register(p);
    if (result == MOSQ_ERR_SUCCESS)
        result = mi_login_event_register(p);
    if (result != MOSQ_ERR_SUCCESS) {
        unregister_all(p);
        return result;
    }
    p->watchdog = mi_watchdog_new(FIRST_TICK_MS, late, p);
    return MOSQ_ERR_SUCCESS;
}

static void unregister_all(struct mi_plugin *p)
{
    mi_acl_event_unregister(p);
    mi_login_event_unregister(p);
    for (size_t i = 0; i < EVENTS; i++)
        mosquitto_callback_unregister(p->id, events[i].event, events[i].callback, NULL);
}

int mi_plugin_move_message_last(struct mi_plugin *p)
{
    mosquitto_callback_unregister(p->id, MOSQ_EVT_MESSAGE, on_message, NULL);
    int result = mosquitto_callback_register(p->id, MOSQ_EVT_MESSAGE, on_message, NULL, p);
    if (result != MOSQ_ERR_SUCCESS)
        mi_log_line(p->log, MI_LOG_ERROR, "the broker does not take the callback for MESSAGE (error %d)",
                    result);
    return result;
}
