/*
 * cluster: several brokers with the plugin on one Iggy server, for one test program; all of it goes when the
 * program ends. The environment variable MOSQUITTO_2 names the program of the second broker, so that versions
 * are mixed.
 */
#ifndef CLUSTER_H
#define CLUSTER_H

#include "support/broker.h"
#include "support/iggy_server.h"
#include "support/mqtt.h"
#include "support/readback.h"
#include "support/suite.h"

enum { CLUSTER_MAX = 3 };

struct cluster {
    struct mi_iggy_server iggy;
    struct mi_readback *readback;
    struct mi_broker brokers[CLUSTER_MAX];
    size_t count;
};

/* The usual beginning of a configuration; routes and the closing brace follow. */
#define CLUSTER_CONFIG                                                              \
    "{'iggy':{'url':'IGGY','username':'iggy','password_file':'DIR/iggy.password'}," \
    "'journal':{'directory':'DIR/journal'},'status':{'listen':'STATUS'},"
/* Lines of mosquitto.conf. */
#define CLUSTER_CONF_PERSISTENT "persistence true\npersistence_location DIR/\nautosave_interval 1800\n"

/* A server that runs, and no broker yet. */
struct cluster *cluster_new(void);
void cluster_free(struct cluster *c);
/* Adds a broker and starts it. conf: lines for mosquitto.conf. */
bool cluster_add(struct cluster *c, const char *conf, const char *json);

struct mi_mqtt *cluster_client(struct cluster *c, size_t broker, const char *client_id);
/* A value of that broker's /metrics, -1 when it is not there. */
double cluster_metric(struct cluster *c, size_t broker, const char *name);
/* Waits until that broker has published, or skipped as its own, so many messages of the route in all. */
bool cluster_has_read(struct cluster *c, size_t broker, const char *route, double messages);

#endif
