/*
 * via: routes with "via": "subscription" are fed by a subscription of the plugin to its own broker, and so
 * get what no MESSAGE event shows: wills, messages of MQTT bridges, what other routes bring from Iggy; each
 * after the broker's own ACL let it through.
 *
 * A topic belongs to the first route that matches it, whoever feeds that: so nothing is copied both ways. The
 * messages are read in TICK, on the main thread, and acknowledged to the broker once they are in the journal;
 * the bridge thread only watches the socket. Main thread only.
 */
#ifndef MI_VIA_H
#define MI_VIA_H

#include "broker/plugin.h"

struct mi_via;
/* NULL with err. */
struct mi_via *mi_via_new(struct mi_plugin *p, struct mi_error *err);
void mi_via_free(struct mi_via *v); /* NULL is allowed */

/* The descriptor that the bridge thread watches (mi_bridge_watch). */
int mi_via_descriptor(const struct mi_via *v);

/* Goes over to p's configuration: before the first TICK, and after a reload. */
void mi_via_follow_config(struct mi_via *v);

/* Where this plugin checks logins, its own connection has a user name and a password that is drawn at each
 * start and known to nobody else, unless broker.username says otherwise. Are these those? */
bool mi_via_knows(const struct mi_via *v, const char *username, const char *password);

/* In every TICK. True when there is more to do at once. */
bool mi_via_tick(struct mi_via *v);

/* Is that the plugin's own connection? It is nobody's interest and no event. */
bool mi_via_is_own(const struct mi_via *v, struct mi_span client_id);

#endif
