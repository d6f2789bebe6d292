/*
 * iggy_server: an Iggy to test against, on free loopback ports: iggy-devserver, or the real server that the
 * environment variable IGGY_SERVER names. It keeps its ports and data over restarts. Root user iggy, password
 * iggy.
 */
#ifndef MI_TEST_IGGY_SERVER_H
#define MI_TEST_IGGY_SERVER_H

#include "support/process.h"

struct mi_iggy_server {
    struct mi_process process;
    char dir[256];
    bool real;
    uint16_t port, admin_port;
};

/* Chooses ports and makes a folder; starts nothing. */
bool mi_iggy_server_prepare(struct mi_iggy_server *s);
/* Starts it and waits until it serves. */
bool mi_iggy_server_start(struct mi_iggy_server *s);
void mi_iggy_server_stop(struct mi_iggy_server *s); /* SIGTERM: keeps all data */
void mi_iggy_server_kill(struct mi_iggy_server *s); /* kill -9: loses what is only in its memory */
/* Ends it and removes the folder. */
void mi_iggy_server_remove(struct mi_iggy_server *s);

/* One line to devserver's admin port ("produce delay 10000"); false when it is refused or the server is a
 * real one. */
bool mi_iggy_server_fault(struct mi_iggy_server *s, const char *line);

/* GET http://127.0.0.1:port/path: the body, malloc'd; NULL when nothing answers. *status may be NULL. */
char *mi_http_get(uint16_t port, const char *path, int *status);
/* The value of a line in a Prometheus page: "name" or "name{labels}"; -1 when it is not there. */
double mi_prometheus_value(const char *page, const char *name);

#endif
