#include "cluster.h"

#include <mqtt_protocol.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { READ_MS = 60000, MAX_CLUSTERS = 16 };

static struct cluster *clusters[MAX_CLUSTERS];

static void free_all(void)
{
    for (size_t i = 0; i < MAX_CLUSTERS; i++)
        cluster_free(clusters[i]);
}

struct cluster *cluster_new(void)
{
    static bool registered;
    struct cluster *c = calloc(1, sizeof *c);
    size_t slot = 0;
    while (slot < MAX_CLUSTERS - 1 && clusters[slot])
        slot++;
    if (!c || !mi_iggy_server_prepare(&c->iggy) || !mi_iggy_server_start(&c->iggy))
        exit(2);
    clusters[slot] = c;
    c->readback = mi_readback_new(c->iggy.port);
    if (!registered)
        atexit(free_all);
    registered = true;
    return c;
}

void cluster_free(struct cluster *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < MAX_CLUSTERS; i++)
        if (clusters[i] == c)
            clusters[i] = NULL;
    for (size_t i = 0; i < c->count; i++)
        mi_broker_remove(&c->brokers[i]);
    mi_readback_free(c->readback);
    mi_iggy_server_remove(&c->iggy);
    free(c);
}

bool cluster_add(struct cluster *c, const char *conf, const char *json)
{
    struct mi_broker *b = &c->brokers[c->count];
    if (!mi_broker_prepare(b, conf, NULL))
        return false;
    b->program = c->count == 1 ? getenv("MOSQUITTO_2") : NULL;
    c->count++;
    return mi_broker_config(b, json, c->iggy.port) && mi_broker_start(b);
}

struct mi_mqtt *cluster_client(struct cluster *c, size_t broker, const char *client_id)
{
    struct mi_mqtt_options o = {
        .port = c->brokers[broker].port, .client_id = client_id, .protocol = MQTT_PROTOCOL_V5};
    return mi_mqtt_connect(&o);
}

double cluster_metric(struct cluster *c, size_t broker, const char *name)
{
    char *page = mi_http_get(c->brokers[broker].status_port, "/metrics", NULL);
    double value = page ? mi_prometheus_value(page, name) : -1;
    free(page);
    return value;
}

bool cluster_has_read(struct cluster *c, size_t broker, const char *route, double messages)
{
    char injected[200], own[200];
    double read = 0;
    snprintf(injected, sizeof injected, "mosquitto_iggy_injected_total{route=\"%s\"}", route);
    snprintf(own, sizeof own, "mosquitto_iggy_in_skipped_total{route=\"%s\",reason=\"own_origin\"}", route);
    for (uint64_t end = mi_monotonic_ms() + READ_MS; mi_monotonic_ms() < end; mi_sleep_ms(50)) {
        read = cluster_metric(c, broker, injected) + cluster_metric(c, broker, own);
        if (read >= messages)
            return true;
    }
    printf("\n    broker %zu has read %g of %g\n", broker, read, messages);
    return false;
}
