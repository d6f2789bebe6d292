/*
 * authorize: the rights of Iggy's users on MQTT topics ("authorize": "iggy"; design section 10).
 *
 * A topic is mapped when a route has to do with it, in whatever direction (mapping/targets.h). To publish on
 * it a client's user needs the right to send to every stream and topic that it is mapped to, to read it the
 * right to poll them all. What those are, and whether there may be others, is sometimes not known when a
 * right is checked: then only a right on everything is enough. Who has no user name, or one that Iggy does
 * not know, has no right on anything mapped. Topics that are not mapped are the matter of auth.unmapped.
 *
 * A subscription with wildcards is not refused: what it brings is checked message by message.
 *
 * Decided on the broker's thread from tables alone: no lock, no I/O.
 */
#ifndef MI_AUTHORIZE_H
#define MI_AUTHORIZE_H

#include "auth/rights_news.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "config/config.h"
#include "metrics/metrics.h"

struct mi_authorize_options {
    struct mi_config *config;    /* held */
    struct mi_rights_news *news; /* from the bridge thread; outlives this */
    struct mi_metrics *metrics;
    void (*wake_bridge)(void *context); /* a name was asked for */
    void *context;
};

struct mi_authorize;
struct mi_authorize *mi_authorize_new(const struct mi_authorize_options *options, struct mi_error *err);
void mi_authorize_free(struct mi_authorize *a); /* NULL is allowed */
/* Other routes, another auth.unmapped. -1 with err: everything is as before. */
int mi_authorize_set_config(struct mi_authorize *a, struct mi_config *config, struct mi_error *err);

struct mi_authorize_client {
    struct mi_span username, client_id; /* username empty: none */
};

/* Is there nothing here against it? filter: as the client wrote it. */
bool mi_authorize_publish(struct mi_authorize *a, const struct mi_authorize_client *client,
                          struct mi_span topic);
bool mi_authorize_read(struct mi_authorize *a, const struct mi_authorize_client *client,
                       struct mi_span topic);
bool mi_authorize_subscribe(struct mi_authorize *a, const struct mi_authorize_client *client,
                            struct mi_span filter);

/* TICK: takes the news; kick is called for each user whose clients are to go. */
void mi_authorize_tick(struct mi_authorize *a, void (*kick)(void *context, const char *username),
                       void *context);

#endif
