/*
 * target: what is known of each (stream, topic): does it exist, how many partitions, since when; and its
 * creation where a route says so (design section 7). Bridge thread.
 *
 * Details are asked at first use, after a 404 and every minute while it is in use. Who may not read details
 * gets the route's create.partitions. A target that is missing is asked for again with a back-off, for ever.
 */
#ifndef MI_TARGET_H
#define MI_TARGET_H

#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "out/gate.h"
#include "out/missing.h"
#include "out/routes.h"
#include "out/transport.h"
#include "out/window.h"

enum mi_target_state {
    MI_TARGET_NEW,    /* nothing known yet */
    MI_TARGET_READY,  /* partitions is known */
    MI_TARGET_MISSING /* does not exist, and could not be made */
};

struct mi_targets;
struct mi_lane;
struct mi_parked;

struct mi_target {
    struct mi_targets *owner;
    struct mi_target *next; /* in its hash chain */
    struct mi_target *todo; /* next that wants a request */
    struct mi_span stream, topic;
    uint64_t hash;
    uint32_t route; /* slot whose rule decides about creation; UINT32_MAX: the dead letters' own */
    enum mi_target_state state;
    uint32_t partitions;       /* by which records are spread now; 0 unknown */
    uint32_t found_partitions; /* as last seen; another number: the lanes are drained first */
    uint64_t created_at;       /* 0 unknown */
    uint64_t *tails; /* newest offset per partition when last seen, found_partitions of them; NULL unknown */
    uint64_t due_ns; /* of the next request */
    uint32_t failures;
    iggy_request request; /* under way; 0 none */
    bool in_todo;
    bool gone;                /* a produce request was answered 404 since the last look */
    bool denied;              /* details may not be read */
    bool was_missing;         /* until its lanes were told that it is there */
    struct mi_queue waiting;  /* records that have no lane yet */
    uint64_t missing_ns;      /* since when it is known to be missing; 0: it is not */
    struct mi_parked *parked; /* parked.h; NULL: never needed */
    bool park_all;            /* every record goes to its file */
    uint32_t parked_lanes;    /* lanes whose records do */
    struct mi_queue to_park;  /* records on their way into the file */
    struct mi_log_limit park_limit;
    struct mi_lane **lanes; /* by partition; NULL where none was needed yet */
    uint32_t lane_cap;
    struct mi_log_limit limit;
    uint8_t names[];
};

struct mi_targets_options {
    const struct mi_transport *transport;
    const struct mi_clock *clock;
    const struct mi_log *log;
    struct mi_gate *gate;
    struct mi_missing *missing;
    struct mi_out_routes *routes;
    uint32_t *in_flight; /* requests under way, shared with the lanes */
    /* After every answer that leaves the target READY. remade: another topic of the same name stands there
     * now. */
    void (*ready)(void *context, struct mi_target *target, bool remade);
    void *context;
};

struct mi_targets *mi_targets_new(const struct mi_targets_options *options);
void mi_targets_free(struct mi_targets *ts); /* cancels its requests */
void mi_targets_set_config(struct mi_targets *ts, const struct mi_config *config);

/* Finds or makes; NULL: memory is out or there are MI_MAX_LANES already. */
struct mi_target *mi_targets_get(struct mi_targets *ts, struct mi_span stream, struct mi_span topic,
                                 uint32_t route);
/* NULL: not known. */
struct mi_target *mi_targets_find(struct mi_targets *ts, struct mi_span stream, struct mi_span topic);
/* It is in use now: asks again a minute after the last look. */
void mi_target_use(struct mi_target *t);
/* A produce request says that it or its partition is not there. */
void mi_target_gone(struct mi_target *t, uint64_t now_ns);
/* Starts what is due while fewer than max_requests are under way; returns when it wants to be called again.
 */
uint64_t mi_targets_step(struct mi_targets *ts, uint64_t now_ns, uint32_t max_requests);
/* Id of the route that decides about its creation. */
uint32_t mi_targets_route_id(const struct mi_target *t);
/* Visits all. */
void mi_targets_each(struct mi_targets *ts, void (*each)(void *context, struct mi_target *t), void *context);

#endif
