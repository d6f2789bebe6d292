/*
 * rig: a broker with the plugin, an Iggy server and a reader of what it holds, for one test program; all of
 * it goes when the program ends.
 */
#ifndef RIG_H
#define RIG_H

#include "support/broker.h"
#include "support/iggy_server.h"
#include "support/mqtt.h"
#include "support/readback.h"
#include "support/suite.h"

struct rig {
    struct mi_broker broker;
    struct mi_iggy_server iggy;
    struct mi_readback *readback;
};

/* The usual beginning of a configuration; routes and the closing brace follow. */
#define RIG_CONFIG                                                                  \
    "{'iggy':{'url':'IGGY','username':'iggy','password_file':'DIR/iggy.password'}," \
    "'journal':{'directory':'DIR/journal'},'status':{'listen':'STATUS'},"

/* A new rig; nothing runs yet. conf: lines for mosquitto.conf before the plugin; plugin_lines as
 * mi_broker_prepare. */
struct rig *rig_new(const char *conf, const char *plugin_lines);
/* Starts Iggy, then the broker with that configuration (NULL: without a file). */
bool rig_start(struct rig *r, const char *json);
void rig_free(struct rig *r);

struct mi_mqtt *rig_client(struct rig *r, const char *client_id, int protocol);

/* The message with that MQTT topic once it is in Iggy; NULL when it does not come in 30 s or is there twice.
 */
const struct mi_stored *rig_arrived(struct rig *r, const char *stream, const char *topic,
                                    const char *mqtt_topic);
/* A value of /metrics, waiting up to timeout_ms until it is at least that much; the value. */
double rig_metric(struct rig *r, const char *name, double at_least, unsigned timeout_ms);

bool rig_payload_is(const struct mi_stored *s, const void *bytes, size_t len);

#endif
