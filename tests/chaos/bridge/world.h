/*
 * world: one broker with the plugin and one Iggy (tests/support: devserver or a real server), each of which
 * can be killed, paused and started again on the same port and data. The environment names others than those
 * that were built: MOSQUITTO, MOSQUITTO_IGGY_PLUGIN, IGGY_SERVER.
 */
#ifndef MI_WORLD_H
#define MI_WORLD_H

#include "support/broker.h"
#include "support/iggy_server.h"

struct mi_world {
    struct mi_broker broker;
    struct mi_iggy_server iggy;
    bool token;       /* the plugin logs in with a personal access token */
    bool durable;     /* topics are made durable */
    bool forbidden;   /* what is published below held/ goes to a stream that the plugin may not write to */
    const char *sync; /* journal.sync: "interval" or "always" */
};

/* Makes directories, configuration and ports; starts both and waits until they serve. */
bool mi_world_start(struct mi_world *w);
void mi_world_stop(struct mi_world *w); /* ends both; keeps the directories */
void mi_world_remove(struct mi_world *w);

/* Gives the plugin's user the right to write to the forbidden stream, or takes it away. False: Iggy did not
 * do it. */
bool mi_world_permit(struct mi_world *w, bool permitted);
/* GET path of the status listener; malloc'd body, NULL when it does not answer. */
char *mi_world_status(struct mi_world *w, const char *path);

#endif
