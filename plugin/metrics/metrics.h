/*
 * metrics: every counter and gauge, in one table, updated from any thread without a lock.
 *
 * Counters of routes are kept by route id (config.h), so that they survive reloads and, through out's
 * checkpoint, restarts. The identity of promise 8, per route: received = committed + dead_lettered +
 * sum(dropped) + pending          (rejected stands beside it)
 */
#ifndef MI_METRICS_H
#define MI_METRICS_H

#include <stdatomic.h>

#include "base/bytes.h"

/* Kept in the checkpoint, in this order: only append, and raise MI_CHECKPOINT_VERSION in out when the order
 * changes. */
enum mi_route_counter {
    MI_C_JOURNALED,     /* records written to the journal; owned by the journal's counts, mirrored here */
    MI_C_COMMITTED,     /* acknowledged by Iggy */
    MI_C_DEAD_LETTERED, /* in the dead letters (stream or file) */
    MI_C_DROPPED_QOS0, /* QoS 0: delivered to subscribers, copy dropped because the journal was full or failed
                        */
    MI_C_DROPPED_WITHOUT_COPY, /* QoS 1/2 under when_journal_full deliver_without_copy */
    MI_C_DROPPED_DAMAGED,      /* records that the disk lost */
    MI_C_REJECTED_FULL,        /* PUBLISH refused: journal full */
    MI_C_REJECTED_FAILED,      /* PUBLISH refused: journal's disk failed */
    MI_C_REJECTED_MISSING,     /* PUBLISH refused: target missing and on_missing is refuse */
    MI_C_RESENT,               /* messages sent again after an outcome that was not "stored" */
    MI_C_FOUND,                /* messages found by read-back instead of being sent again */
    MI_C_LOST_RESENT,          /* confirmed messages that Iggy lost and that were sent again */
    MI_C_INJECTED,             /* messages from Iggy published into the broker */
    MI_C_IN_OWN,               /* skipped: own origin */
    MI_C_IN_TOPIC,             /* rejected_in: the topic does not map back, or is none that may be injected */
    MI_C_IN_BROKEN,            /* rejected_in: headers or envelope cannot be read */
    MI_C_IN_AGE,               /* skipped: older than max_age */
    MI_C_IN_TOO_LARGE,         /* skipped: larger than max_poll_bytes */
    MI_C_LATE,                 /* acknowledged from the journal because Iggy took longer than wait_for_iggy */
    MI_C_STAMPED,              /* not copied: a bridge of the same log published it before (stamp) */
    MI_C_IN_EXPIRED,           /* messages that retention took before they were read */
    MI_C_IN_MADE_AGAIN,        /* topics that were made again under the name */
    MI_C_IN_TAIL_LOST,         /* times that a partition ended before what was already read */
    MI_C_IN_REUSED,            /* times that an offset had become another message */
    MI_C_ROUTE_COUNTERS
};

struct mi_route_metrics {
    uint32_t route;     /* id */
    _Atomic bool named; /* name is valid, for good; read it through mi_route_name */
    char name[128];
    _Atomic uint64_t counter[MI_C_ROUTE_COUNTERS];
};

enum mi_global_counter {
    MI_G_PUBLISH_SEEN,    /* MESSAGE events */
    MI_G_UNMATCHED,       /* no route */
    MI_G_PROPERTIES_LOST, /* messages whose MQTT 5 properties could not be read on this broker */
    MI_G_REQUESTS,        /* produce requests sent */
    MI_G_REQUESTS_FAILED, /* produce requests that did not end with "stored" */
    MI_G_LOGIN_FAILED,
    MI_G_SERVER_RESTARTS,   /* signs of a restarted Iggy */
    MI_G_LANES,             /* gauge: lanes with waiting messages */
    MI_G_LANES_HELD,        /* gauge: lanes that cannot move for their own reasons */
    MI_G_IN_FLIGHT,         /* gauge: produce requests under way */
    MI_G_OLDEST_PENDING_MS, /* gauge: age of the oldest message not yet settled */
    MI_G_READERS,           /* gauge: partitions being read */
    MI_G_INBOX,             /* gauge: messages waiting to be injected */
    MI_G_PARKED,            /* gauge: messages parked beside the journal */
    MI_G_PARKED_BYTES,      /* gauge: their bytes */
    MI_G_SCANS,             /* gauge: partitions that are searched for retained values */
    MI_G_REBUILT_LEFT_OUT,  /* retained values for which rebuild_size had no room */
    MI_G_LOG_LOST,          /* log lines that did not fit the queue */
    MI_G_HISTORY_REQUESTS,  /* history requests begun */
    MI_G_HISTORY_REFUSED,   /* not begun: malformed, no route, no right, too many */
    MI_G_HISTORY_MESSAGES,  /* messages of the past delivered */
    MI_G_HISTORY_DENIED,    /* messages held back because the client may not read them */
    MI_G_HISTORY_BYTES,     /* bytes read from Iggy for them */
    MI_G_HISTORY_CANCELLED, /* ended by the client: disconnect, take-over, UNSUBSCRIBE */
    MI_G_HISTORY_CUT,       /* ended by a limit or an error before page or past did */
    MI_G_LOGINS_ALLOWED,    /* CONNECTs by what the plugin answered */
    MI_G_LOGINS_REFUSED,
    MI_G_LOGINS_UNAVAILABLE,
    MI_G_LOGINS_LIMITED,
    MI_G_LOGINS_NEXT,
    MI_G_LOGINS_CACHED,           /* those of them that were answered from memory */
    MI_G_LOGINS_ASKED,            /* checks that the back end was asked for */
    MI_G_SUBSCRIBED,              /* gauge: 1 while the plugin's own subscription to its broker stands */
    MI_G_RIGHTS_PUBLISH_DENIED,   /* by Iggy's rights: PUBLISHes, */
    MI_G_RIGHTS_READ_DENIED,      /* messages to a subscriber, */
    MI_G_RIGHTS_SUBSCRIBE_DENIED, /* SUBSCRIBEs */
    MI_G_TOO_MANY_ROUTES,         /* PUBLISHes that more than MI_MAX_HITS routes would have taken */
    MI_G_REGEX_LIMITS,            /* PUBLISHes for which a route's regex was given up at its limits */
    MI_G_COUNTERS
};

struct mi_metrics;
struct mi_metrics *mi_metrics_new(void);
void mi_metrics_free(struct mi_metrics *m);

/* The entry of a route id, made at first use; lives as long as m. Takes a lock only when it is new. name may
 * be NULL for an id that is known from a checkpoint only (it is then shown as "route-XXXXXXXX" until a name
 * is given). NULL only when memory is out or there are 2 * MI_MAX_ROUTES entries. */
struct mi_route_metrics *mi_metrics_route(struct mi_metrics *m, uint32_t route, const char *name);

static inline void mi_count(struct mi_route_metrics *r, enum mi_route_counter which, uint64_t n)
{
    if (r)
        atomic_fetch_add_explicit(&r->counter[which], n, memory_order_relaxed);
}
static inline uint64_t mi_counted(struct mi_route_metrics *r, enum mi_route_counter which)
{
    return r ? atomic_load_explicit(&r->counter[which], memory_order_relaxed) : 0;
}

/* For people and labels: the configured name, made printable: what is not UTF-8 and control characters become
 * "?", a long one is cut between characters; a name that had to be changed gets "#" and its id, so that no
 * two ids share one. fallback takes "route-XXXXXXXX" while there is no name. */
const char *mi_route_name(struct mi_route_metrics *r, char fallback[16]);

/* Derived, such that the identity above holds in every answer, also while counters move. NULL counts as 0. */
uint64_t mi_route_received(struct mi_route_metrics *r); /* journaled + dropped without being journaled */
uint64_t mi_route_pending(struct mi_route_metrics *r);

void mi_metrics_add(struct mi_metrics *m, enum mi_global_counter which, uint64_t n);
void mi_metrics_set(struct mi_metrics *m, enum mi_global_counter which, uint64_t value);
uint64_t mi_metrics_get(struct mi_metrics *m, enum mi_global_counter which);

/* Visits the routes in order of their making. Any thread. */
size_t mi_metrics_route_count(struct mi_metrics *m);
struct mi_route_metrics *mi_metrics_route_at(struct mi_metrics *m, size_t index);

/* Prometheus text format 0.0.4 (all names start with mosquitto_iggy_; labels route and reason, escaped) and
 * one JSON object {"counters": {...}, "routes": [{...}]}; false when out is full or memory is out, then
 * out->failed is set and the content is of no use. One snapshot per call: each route's account adds up within
 * it. Any thread. */
bool mi_metrics_prometheus(struct mi_metrics *m, struct mi_buf *out);
bool mi_metrics_json(struct mi_metrics *m, struct mi_buf *out);

/* docs/metrics.md: every metric with type, labels and meaning, as a Markdown table. */
bool mi_metrics_reference(struct mi_buf *out);

#endif
