/*
 * world: one broker with the plugin and one Iggy (devserver or a real server), each of which can be killed,
 * paused and started again on the same port and data.
 */
#ifndef MI_WORLD_H
#define MI_WORLD_H

#include "support/process.h"

struct mi_world {
    char dir[256];
    uint16_t mqtt_port, iggy_port, admin_port, status_port;
    struct mi_process broker, iggy;
    const char *mosquitto;   /* binary */
    const char *plugin;      /* .so */
    const char *iggy_binary; /* devserver or iggy-server */
    bool real;               /* iggy_binary is a real server */
    bool token;              /* the plugin logs in with a personal access token */
    bool durable;            /* topics are made durable */
    const char *sync;        /* journal.sync: "interval" or "always" */
    unsigned broker_starts, iggy_starts;
};

/* Makes directory, configuration and ports; starts both and waits until they serve. */
bool mi_world_start(struct mi_world *w);
void mi_world_stop(struct mi_world *w); /* ends both; keeps the directory */

bool mi_world_start_broker(struct mi_world *w);
bool mi_world_start_iggy(struct mi_world *w);
/* One command to devserver's admin port ("clear"); false on a real server or when it is refused. */
bool mi_world_admin(struct mi_world *w, const char *command);
/* GET path of the status listener; malloc'd body, NULL when it does not answer. */
char *mi_world_status(struct mi_world *w, const char *path);

#endif
