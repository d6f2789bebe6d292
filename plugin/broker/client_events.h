/*
 * client_events: what happens to clients, as records in Iggy (docs/client-events.md): one JSON object each,
 * through the same journal, accounted for as the route "client_events".
 *
 * An event is never a reason to refuse or disconnect anybody, and never waits: what the journal cannot take,
 * or not without using more than half of its room, is dropped and counted (dropped, reason qos0). Main thread
 * only.
 */
#ifndef MI_CLIENT_EVENTS_H
#define MI_CLIENT_EVENTS_H

#include "broker/subscriptions.h"

struct mi_client_events;
struct mi_client_events *mi_client_events_new(void);    /* NULL when memory is out */
void mi_client_events_free(struct mi_client_events *e); /* NULL is allowed */

/* As rows of the table in subscriptions.c. */
bool mi_client_events_wanted(const struct mi_plugin *p);
bool mi_client_events_need_subscriptions(const struct mi_plugin *p);
void mi_client_events_heard(struct mi_plugin *p, const struct mi_client_event *e);

/* A login that this plugin refused. client is NULL when the answer came later: then only id and address are
 * known. username and address may be NULL; why is static text, such as "credentials". */
struct mi_refused_login {
    const struct mosquitto *client;
    const char *client_id, *username, *address, *why;
};
void mi_client_events_refused(struct mi_plugin *p, const struct mi_refused_login *login);

#endif
