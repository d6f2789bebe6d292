#include "broker/tick.h"

#include "broker/history_event.h"
#include "broker/interest_events.h"
#include "broker/login_event.h"
#include "broker/via.h"

enum { START_AGAIN_S = 5 };

static void first(struct mi_plugin *p);
static void start_bridge(struct mi_plugin *p);
static void kick(void *context, const char *username);
static void inject(struct mi_plugin *p);

void mi_tick(struct mi_plugin *p)
{
    if (!p->ticked)
        first(p);
    mi_interest_events_tick(p); /* before the first start: nothing is read that nobody wants */
    if (!p->started)
        start_bridge(p);
    mi_bridge_tick(p->bridge);
    mi_login_event_tick(p);
    p->via_more = mi_via_tick(p->via);
    if (p->authorize)
        mi_authorize_tick(p->authorize, kick, p);
    if (p->user_rules)
        mi_user_rules_tick(p->user_rules, kick, p);
    inject(p);
    if (!mi_log_queue_empty(p->log_queue))
        mi_log_queue_drain(p->log_queue);
}

/* With the will, as for anybody whose connection breaks; whether it may be published is asked again. What was
 * remembered of logins is asked for again, too. */
static void kick(void *context, const char *username)
{
    struct mi_plugin *p = context;
    mi_login_event_follow_config(p);
    mi_log_line(p->log, MI_LOG_NOTICE,
                "the user \"%s\" was deleted, disabled or made again: its clients are disconnected",
                username);
    mosquitto_kick_client_by_username(username, true);
}

static void first(struct mi_plugin *p)
{
    mi_watchdog_free(p->watchdog);
    p->watchdog = NULL;
    mi_interest_events_first_tick(p);
    p->ticked = mi_plugin_move_message_last(p) == MOSQ_ERR_SUCCESS;
}

static void start_bridge(struct mi_plugin *p)
{
    uint64_t now = mi_now_ns(&mi_clock_system);
    if (now < p->start_again_ns)
        return;
    struct mi_error err;
    p->started = mi_bridge_start(p->bridge, &err) == 0;
    if (p->started)
        return;
    p->start_again_ns = now + START_AGAIN_S * MI_NS_PER_S;
    mi_log_line(p->log, MI_LOG_ERROR, "%s; the journal takes messages, the next try is in %d s", err.text,
                START_AGAIN_S);
}

static bool idle(const struct mi_plugin *p)
{
    return mi_inject_idle(p->inject) && mi_history_event_idle(p->history) && !mi_interest_events_waiting(p) &&
           !mi_login_event_waiting(p) && !p->via_more;
}

/* On 2.1 the broker waits for its sockets between TICK and the routing of what TICK published: the repeated
 * wake-up goes on until the TICK after. */
static void inject(struct mi_plugin *p)
{
    size_t published = mi_inject_tick(p->inject, p->config->inject_per_tick) +
                       mi_history_event_tick(p->history, p->config->inject_per_tick);
    if ((published > 0 && p->compat.v2_1) || p->via_more)
        mi_wakeup_again(p->wakeup);
    else if (mi_wakeup_called(p->wakeup) && idle(p)) {
        mi_wakeup_done(p->wakeup);
        if (!idle(p))
            mi_wakeup_call(p->wakeup);
    }
}
