/*
 * out: what the journal holds reaches Iggy, once and in order (design section 7). This is its face to the
 * loop; window, lanes, outcome table, targets and dead letters are in the files beside it.
 *
 * Everything here runs on the bridge thread, driven by mi_out_step and by callbacks of the client.
 */
#ifndef MI_OUT_H
#define MI_OUT_H

#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "iggy_client.h"
#include "journal/journal.h"
#include "metrics/metrics.h"

struct mi_out_options {
    struct mi_config *config; /* held by out */
    struct iggy_client *client;
    struct mi_journal *journal;
    struct mi_metrics *metrics;
    const struct mi_clock *clock;
    const struct mi_log *log;
    struct mi_span checkpoint; /* from the state file; empty: none */
};

struct mi_out;
/* Restores the checkpoint (window, lanes, counters), sets the journal's counts, treats every lane with
 * pending records as having an unknown outcome. A checkpoint that cannot be read is logged and counts as
 * none. */
struct mi_out *mi_out_new(const struct mi_out_options *options, struct mi_error *err);
void mi_out_free(struct mi_out *out); /* cancels its requests */
void mi_out_set_config(struct mi_out *out, struct mi_config *config);
/* Does what is due at now_ns: reads on, builds batches, sends; returns when it wants to be called again. */
uint64_t mi_out_step(struct mi_out *out, uint64_t now_ns);
/* No message waits and none is in flight. */
bool mi_out_idle(const struct mi_out *out);
/* No request is in flight: with stopping set no new one is started. */
bool mi_out_quiet(const struct mi_out *out);
void mi_out_stop(struct mi_out *out);

/* The checkpoint as bytes for the state file; false when memory is out. The journal may be released up to
 * mi_out_release_sequence only after those bytes are on disk. */
bool mi_out_checkpoint(struct mi_out *out, struct mi_buf *bytes, uint64_t *release_sequence);
bool mi_out_changed(const struct mi_out *out); /* something moved since the last checkpoint */

/* Are the records first..last all settled (committed, or dead letters)? */
bool mi_out_run_settled(const struct mi_out *out, uint64_t first, uint64_t last);
/* Nothing gets through to Iggy at the moment: the connection or the login fails. */
bool mi_out_away(const struct mi_out *out);

/* For on_missing: refuse. Is this target known to be missing? Called by the main thread at PUBLISH; must be
 * cheap. */
bool mi_out_target_missing(struct mi_out *out, struct mi_span stream, struct mi_span topic);

/* Brings the counters that the journal keeps up to now (otherwise they are at most 250 ms behind). */
void mi_out_refresh_metrics(struct mi_out *out);

/* Is the route's parked_max_size reached, so that it refuses as a full journal does? As above. */
bool mi_out_route_full(struct mi_out *out, uint32_t route);

/* One line per lane for /status.json. */
bool mi_out_status(struct mi_out *out, struct mi_buf *json);

#endif
