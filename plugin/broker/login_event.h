/*
 * login_event: BASIC_AUTH, registered only where auth.login is configured: a CONNECT becomes a question to
 * auth/login.h, and its answer what the broker understands.
 *
 *                       2.1                                     2.0
 *   not remembered      AUTH_DELAYED, completed from TICK       a bounded wait (auth/wait_budget.h)
 *   allowed             SUCCESS                                 SUCCESS
 *   refused             CONNACK not authorised                  CONNACK not authorised
 *   nobody to ask       MQTT 5: CONNACK 0x88. 3.1.1: closed     closed without a CONNACK
 *   too many tries      MQTT 5: CONNACK 0x9F. 3.1.1: refused    refused
 *   somebody else       DEFER                                   DEFER
 *
 * A CONNACK "not authorised" makes many clients give up; a closed connection makes them try again, and 2.0
 * knows nothing else to say. A delayed answer can only be "yes" or "not authorised", in MQTT 5 too.
 *
 * DEFER and never IGNORE: on 2.1 IGNORE of everybody lets any user name in where allow_anonymous is true.
 * Clients without user name and password are the broker's business: DEFER.
 *
 * With auth.otherwise "next", and for a session to be resumed whose user name is not known yet, 2.1 waits as
 * 2.0 does: neither can be done later.
 *
 * A delayed client is known to the broker by its id alone. A second CONNECT with an id that is pending is
 * rejected by the broker; when ours is asked for an id again, the one before is gone, and its answer is
 * thrown away. A reload makes the broker ask for all of its connected clients again (mi_login_again).
 *
 * Main thread only.
 */
#ifndef MI_LOGIN_EVENT_H
#define MI_LOGIN_EVENT_H

#include "auth/login.h"
#include "broker/plugin.h"

/* Makes what the configuration asks for: nothing without auth.login. After the bridge. -1 with err. */
int mi_login_event_make(struct mi_plugin *p, struct mi_error *err);
/* After the bridge was freed. */
void mi_login_event_free(struct mi_plugin *p);

/* Registers BASIC_AUTH; MOSQ_ERR_SUCCESS also when there is nothing to register. */
int mi_login_event_register(struct mi_plugin *p);
void mi_login_event_unregister(struct mi_plugin *p);

/* TICK: answers that came go to their clients. One load when there are none. */
void mi_login_event_tick(struct mi_plugin *p);
/* Is there one to hand out? */
bool mi_login_event_waiting(const struct mi_plugin *p);
/* 2.1's CONNECT, before anybody else hears of it: gives the user name that came with the answer. */
void mi_login_event_connected(struct mi_plugin *p, struct mosquitto *client);
/* RELOAD, before anything else: the broker will look at all its clients again. */
void mi_login_event_reloading(struct mi_plugin *p);
/* A reload brought p->config. */
void mi_login_event_follow_config(struct mi_plugin *p);

/* Pure: what the broker is told. */
int mi_login_code(enum mi_login_answer answer, bool v2_1, int protocol_version);

#endif
