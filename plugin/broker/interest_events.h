/*
 * interest_events: from the broker's events to the table of who wants what (in/interest.h), and from there to
 * the bridge thread.
 *
 * What can be known differs:
 *
 *   MQTT 3      the clean session flag says whether subscriptions outlive their connection
 *   MQTT 5      the session expiry does, which no plugin sees. 2.1 tells afterwards (DISCONNECT or
 *               CLIENT_OFFLINE); on 2.0 a session counts as lasting, until the client comes back with
 *               a clean start
 *   UNSUBSCRIBE on 2.0 seen before anybody decided: with broker.acl: plugin it may be denied, and is
 *               not believed
 *   restored    sessions from before the start of the broker: no event tells of them. What they
 *               subscribed to stands in mosquitto.db; where that cannot be read everything is wanted
 *   listeners   where the broker loads the plugin for one of several it hears of no other: everything is
 *               wanted
 *   bridges     the broker's own connections subscribe without any event: everything is wanted
 *
 * Main thread only.
 */
#ifndef MI_INTEREST_EVENTS_H
#define MI_INTEREST_EVENTS_H

#include "broker/plugin.h"
#include "broker/subscriptions.h"

/* Makes the table when a route has feed: on_subscribe, or frees it when none has any more. One that is made
 * at a reload has missed what came before: everything is wanted until the broker's next start. False when
 * memory is out (then everything is wanted). */
bool mi_interest_events_follow_config(struct mi_plugin *p);
/* At start, before the broker saves its sessions for the first time: takes in those that it restored. */
void mi_interest_events_start(struct mi_plugin *p);
/* In the first TICK: says what is known of restored sessions and bridges. */
void mi_interest_events_first_tick(struct mi_plugin *p);
/* In every TICK: hands a new picture over when something changed; one load when nothing did. */
void mi_interest_events_tick(struct mi_plugin *p);
/* Something changed and waits for a later TICK. */
bool mi_interest_events_waiting(const struct mi_plugin *p);

/* A listener of subscriptions.h. */
bool mi_interest_events_wanted(const struct mi_plugin *p);
void mi_interest_events_heard(struct mi_plugin *p, const struct mi_client_event *e);

#endif
