/*
 * job: one request at work on the bridge thread: from finding the topics to the end marker.
 *
 *   PLANNING   which Iggy topics the filter reaches (plan.h)          -> FORWARD or BACKWARD, or OVER
 *   FORWARD    first, a time: partition after partition (forward.h)   -> OVER
 *   BACKWARD   last-N: from the tails of all partitions (backward.h)  -> OVER
 *   OVER       the end marker is in the outbox
 */
#ifndef MI_HISTORY_JOB_H
#define MI_HISTORY_JOB_H

#include "history/cursor.h"
#include "history/fetch.h"
#include "history/item.h"
#include "history/outbox.h"
#include "history/pick.h"
#include "history/plan.h"
#include "history/request.h"

/* What all jobs share; bridge thread. */
struct mi_job_shared {
    struct iggy_client *client;
    struct mi_metrics *metrics;
    const struct mi_clock *clock;
    const struct mi_log *log;
    struct mi_outbox *outbox;
    uint8_t key[MI_CURSOR_KEY];
    unsigned polls;   /* under way */
    uint64_t rest_ns; /* until when long searches rest */
    void (*wake_main)(void *context);
    void *context;
};

enum mi_job_state { MI_JOB_PLANNING, MI_JOB_FORWARD, MI_JOB_BACKWARD, MI_JOB_OVER };

struct mi_forward;
struct mi_backward;

struct mi_job {
    /* made by the main thread, then constant */
    mi_history_id id;
    char *text;           /* filter without mount point: "$iggy/2h/rooms/#" */
    char *whole;          /* mount point and inner filter: "rooms/#" */
    struct mi_span mount; /* of whole */
    struct mi_span from;  /* of text */
    enum mi_from kind;
    uint64_t since_us; /* MI_FROM_TIME */
    struct mi_cursor cursor;
    uint64_t wanted; /* MI_FROM_LAST: messages still wanted */
    struct mi_filter filter;
    uint8_t qos;
    uint32_t page;
    struct mi_config *config; /* held */
    /* bridge thread */
    struct mi_job_shared *shared;
    enum mi_job_state state;
    struct mi_finder *finder;
    struct mi_plan *plan;
    struct mi_fetch fetch;
    iggy_request details; /* of a topic, under way */
    union {
        struct mi_forward *forward;
        struct mi_backward *backward;
    };
    uint64_t deadline_ns;
    uint64_t scanned; /* bytes */
    uint64_t put;     /* messages in the outbox */
    uint8_t top_qos;  /* of them */
    uint64_t skipped; /* too large or unreadable */
    struct mi_buf scratch, topic;
    struct mi_job *next;
};

/* Main thread: makes one of a request; NULL with why (static text). */
struct mi_job *mi_job_new(struct mi_config *config, const uint8_t key[MI_CURSOR_KEY],
                          const struct mi_history_ask *ask, uint64_t now_us, const char **why);
/* Cancels what is under way. NULL is allowed. Bridge thread, once it was begun there. */
void mi_job_free(struct mi_job *job);

/* Bridge thread. */
void mi_job_begin(struct mi_job *job, struct mi_job_shared *shared);
/* Does what is due; returns when it wants to be called again. Is it over afterwards, the caller frees it. */
uint64_t mi_job_step(struct mi_job *job, uint64_t now_ns);

/* ---- for forward.c and backward.c ---- */

/* Ends it: the marker goes out. next: where a later request goes on; NULL: nowhere. */
void mi_job_end(struct mi_job *job, enum mi_end_reason reason, const char *text,
                const struct mi_cursor *next);
/* Counts a message as scanned and decides about it; the item, or NULL. */
struct mi_history_item *mi_job_pick(struct mi_job *job, const struct mi_place *place, uint32_t partition,
                                    const struct iggy_polled_message *m);
void mi_job_put(struct mi_job *job, struct mi_history_item *item);
/* May it poll now? Else it waits until *due_ns. */
bool mi_job_may_poll(struct mi_job *job, uint64_t now_ns, uint64_t *due_ns);
/* Asks for the details of a topic, job->details until they come; false when memory is out. */
bool mi_job_ask_details(struct mi_job *job, const struct mi_place *place, iggy_topic_fn answered);
/* One past the newest offset of a partition. */
uint64_t mi_partition_end(const struct iggy_partition *p);
/* Is it the same topic by its stamps? Iggy 0.8 changes them by milliseconds at its first restart. */
bool mi_same_created(uint64_t a_us, uint64_t b_us);

#endif
