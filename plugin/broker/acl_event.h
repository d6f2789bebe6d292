/*
 * acl_event: ACL_CHECK, where it is needed.
 *
 * Mosquitto 2.0 has no event for SUBSCRIBE; only the check of its right shows it. Whoever answers such checks
 * takes part in the decision, and 2.0 knows no neutral answer: DEFER with nobody behind it denies everything,
 * SUCCESS lets nobody behind it decide. So the operator states who is there (broker.acl), and the answer is
 * what the broker would have found without this plugin:
 *
 *   acl_file, plugin   DEFER: that one decides, and everything is denied should it be missing
 *   none               SUCCESS: everything is allowed, as a broker without any ACL does; DEFER as soon as a
 *                      reload shows that the broker's own file has one after all
 *
 * On 2.1 ACL_CHECK is not registered to look on: its neutral answer turns the denial of a plugin that defers
 * into a grant. Main thread only.
 */
#ifndef MI_ACL_EVENT_H
#define MI_ACL_EVENT_H

#include "broker/plugin.h"

/* Registers ACL_CHECK, or takes it off, as the configuration in force needs it; at start and after a reload.
 * An error of the broker's, logged. Where ACL_CHECK is needed the configuration states broker.acl; should it
 * not, the answer is DEFER. */
int mi_acl_event_register(struct mi_plugin *p);
void mi_acl_event_unregister(struct mi_plugin *p);

/* MOSQ_EVT_ACL_CHECK: what the callback returns. Called for every message to every subscriber, too. */
int mi_acl_event(struct mi_plugin *p, const struct mosquitto_evt_acl_check *e);

#endif
