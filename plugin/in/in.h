/*
 * in: what Iggy holds reaches MQTT subscribers (design section 8). This is its face to the loop; the watch,
 * the readers and the decisions are in the files beside it.
 *
 * Everything here runs on the bridge thread, driven by mi_in_step and by callbacks of the client.
 */
#ifndef MI_IN_H
#define MI_IN_H

#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "iggy_client.h"
#include "in/inbox.h"
#include "in/save_gate.h"
#include "in/interest.h"
#include "metrics/metrics.h"

struct mi_in_options {
    struct mi_config *config; /* held by in */
    struct iggy_client *client;
    struct mi_inbox *inbox;
    struct mi_save_gate *gate; /* the bridge thread's while it runs */
    const char *identity;      /* of the bridge */
    bool rebuild;              /* the broker's store began empty: retained values from before the positions */
    struct mi_metrics *metrics;
    const struct mi_clock *clock;
    const struct mi_log *log;
    /* Is this origin (mqtt.origin) ours? The journal knows its former identities. */
    bool (*is_own)(void *context, struct mi_span origin);
    /* The main thread should look into the inbox. */
    void (*wake)(void *context);
    void *context;
};

struct mi_in;
struct mi_in *mi_in_new(const struct mi_in_options *options, struct mi_error *err);
/* Cancels its requests. */
void mi_in_free(struct mi_in *in);
/* Goes over to another configuration; routes that stay the same go on where they are. */
void mi_in_set_config(struct mi_in *in, struct mi_config *config);
/* What is wanted from now on, for routes with feed: on_subscribe; held. Until the first call everything is.
 */
void mi_in_set_interest(struct mi_in *in, struct mi_interest_picture *picture);
/* Does what is due at now_ns; returns the monotonic time when it wants to be called again (UINT64_MAX:
 * never). */
uint64_t mi_in_step(struct mi_in *in, uint64_t now_ns);

/* The broker has ended, and the bridge thread too: positions for the last mi_in_save. saved: the broker saved
 * after its last TICK. Main thread. */
void mi_in_ended(struct mi_in *in, bool saved);

/* The broker's store is lost: the next mi_in_save says that retained values are to be gathered again. Main
 * thread, as mi_in_ended. */
void mi_in_store_lost(struct mi_in *in);

/* Positions as bytes for the state file, and back; false when they cannot be read (then readers start as
 * configured). */
bool mi_in_save(struct mi_in *in, struct mi_buf *out);
bool mi_in_load(struct mi_in *in, struct mi_span saved);
/* Positions have moved since the last save. */
bool mi_in_changed(const struct mi_in *in);

#endif
