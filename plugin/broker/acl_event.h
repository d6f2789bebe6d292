/*
 * acl_event: ACL_CHECK, where it is needed: for auth.authorize, and on 2.0 to hear of subscriptions (2.0 has
 * no other event for them).
 *
 * Whoever answers such checks takes part in the decision. What Iggy's rights are against is denied, and the
 * broker asks nobody else. Everything else must be left to those who are asked later, and no version has a
 * neutral answer that is right in every company: DEFER with nobody behind it denies everything; SUCCESS lets
 * nobody behind it decide; 2.1's IGNORE, as the last of all, turns the denial of a plugin that defers into a
 * grant. So the operator states who is there (broker.acl):
 *
 *   broker.acl          2.0       2.1
 *   acl_file, plugin    DEFER     DEFER     that one decides, and everything is denied should it be missing
 *   none                SUCCESS   IGNORE    allowed, as a broker without any ACL does; on 2.1 whoever is
 * asked later may still say no. DEFER as soon as a reload shows that the broker's own file has one after all
 *
 * The first who says SUCCESS ends the questions. So a plugin that grants must stand behind this one in the
 * broker's file, or its grants pass by Iggy's rights; the acl_file always does.
 *
 * On 2.1 ACL_CHECK is not registered to look on. Main thread only.
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
