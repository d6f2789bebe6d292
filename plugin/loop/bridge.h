/*
 * bridge: the bridge thread and the disk thread, and what they own (design section 2).
 *
 * The broker folder makes one, starts it in the first TICK and stops it in cleanup. Everything is called from
 * the main thread unless a comment says otherwise. No call waits for I/O, except stop.
 */
#ifndef MI_BRIDGE_H
#define MI_BRIDGE_H

#include "auth/iggy_backend.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "config/config.h"
#include "history/history.h"
#include "in/inbox.h"
#include "in/interest.h"
#include "journal/journal.h"
#include "metrics/metrics.h"

struct mi_bridge_options {
    struct mi_config *config;   /* held by the bridge */
    struct mi_metrics *metrics; /* outlives the bridge */
    const struct mi_clock *clock;
    const struct mi_log *log; /* thread-safe */
    /* Makes the broker's main thread come to TICK soon; any thread. */
    void (*wake_main)(void *context);
    void *context;
};

struct mi_bridge;

/* Opens the journal and the state file; starts no thread and no connection. NULL with err: the journal cannot
 * be used. */
struct mi_bridge *mi_bridge_new(const struct mi_bridge_options *options, struct mi_error *err);
/* Starts the threads, with all signals blocked in them. -1 with err when a thread cannot be made; the journal
 * still takes messages then, and start may be tried again. */
int mi_bridge_start(struct mi_bridge *b, struct mi_error *err);
/* close -> stop -> free in one: no new requests, waits up to the configuration's stop_timeout for those in
 * flight, writes the state, joins both threads, closes the journal. NULL is allowed. Also before start. */
void mi_bridge_free(struct mi_bridge *b);

/* What is known of the broker's own store, for broker/retained.h. Is it behind the log: was the last end not
 * clean, or did it begin with nothing? */
bool mi_bridge_store_behind(const struct mi_bridge *b);
/* The bytes that mi_bridge_keep_outstanding was given before the last clean end; empty when there was none.
 * Live until start. */
struct mi_span mi_bridge_outstanding(const struct mi_bridge *b);
/* Just before free: bytes (copied) for the next start, should this end prove clean. */
void mi_bridge_keep_outstanding(struct mi_bridge *b, struct mi_span outstanding);

/* Before start: an epoll descriptor of one-shot descriptors; whenever one of them is ready, TICK is called
 * soon. */
void mi_bridge_watch(struct mi_bridge *b, int epoll);

struct mi_journal *mi_bridge_journal(struct mi_bridge *b);
struct mi_inbox *mi_bridge_inbox(struct mi_bridge *b);
struct mi_history *mi_bridge_history(struct mi_bridge *b);

/* Who asks Iggy for the logins of MQTT clients; NULL: not configured. */
struct mi_iggy_backend *mi_bridge_logins(struct mi_bridge *b);
/* What becomes known of users' rights on topics; NULL: not configured. */
struct mi_rights_news *mi_bridge_rights(struct mi_bridge *b);

/* The bridge thread is to look at what it was given. Any thread. */
void mi_bridge_wake(struct mi_bridge *b);

/* A reload: the bridge thread takes the new configuration over at its next turn. */
void mi_bridge_set_config(struct mi_bridge *b, struct mi_config *config);

/* What is wanted from now on (in/interest.h): the bridge thread looks at it at its next turn. Held by the
 * bridge. Until the first call everything is wanted. */
void mi_bridge_set_interest(struct mi_bridge *b, struct mi_interest_picture *picture);

/* Known missing target, for on_missing: refuse. */
bool mi_bridge_target_missing(struct mi_bridge *b, struct mi_span stream, struct mi_span topic);
/* Has that route (its id) reached parked_max_size? Then it refuses as with a full journal. */
bool mi_bridge_route_full(struct mi_bridge *b, uint32_t route);

/* For wait_for_iggy: waits up to timeout_ns until the records first..last are settled; false when they are
 * not (and at once while Iggy is known to be away). The only call here that waits for Iggy. */
bool mi_bridge_wait_settled(struct mi_bridge *b, uint64_t first, uint64_t last, uint64_t timeout_ns);

/* What the last reload came to, for /status.json: NULL when it was taken over, else the error (copied). */
void mi_bridge_note_reload(struct mi_bridge *b, const char *error);

/* Why the plugin's own subscription does not stand, for /status.json: empty when it does (copied). */
void mi_bridge_note_subscription(struct mi_bridge *b, const char *error);

/* Called in every TICK: keeps /ready's sign of life, and appends what an operator requeues (control.h). One
 * atomic store and one load when there is nothing to do. */
void mi_bridge_tick(struct mi_bridge *b);

#endif
