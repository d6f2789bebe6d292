/*
 * out_private: the struct behind out.h and the lanes' belongings, for the files of this folder. Bridge thread
 * only, but for missing.
 */
#ifndef MI_OUT_PRIVATE_H
#define MI_OUT_PRIVATE_H

#include "out/checkpoint.h"
#include "out/dead_letters.h"
#include "out/gate.h"
#include "out/lane.h"
#include "out/missing.h"
#include "out/out.h"
#include "out/outcome.h"
#include "out/parked_file.h"
#include "out/restart.h"
#include "out/routes.h"
#include "out/target.h"
#include "out/transport.h"
#include "out/window.h"

enum {
    MI_BATCH_BASE_BYTES = 256, /* of a request body beside its messages */
    MI_BATCH_MEMORY =
        16
        << 20, /* bytes of all batches made ready; records beyond it are read again when it is their turn */
    MI_DEAD_HEADER_BYTES = 1400, /* what the reasons add to an encoded message, base64 included */
    MI_PARKED_RECENT = 4096,
    MI_SAY_EVERY_S = 60 /* between two log lines of one cause */
};

struct mi_batch {
    struct iggy_batch *body; /* NULL: none */
    uint32_t count;
    size_t bytes; /* counted in mi_out.batch_bytes */
    struct iggy_id first, last;
    bool again;         /* of the lane's queue again */
    bool failed_before; /* sent before, certainly not stored */
};

struct mi_reader;

struct mi_lane {
    struct mi_out *out;
    struct mi_target *target;
    uint32_t partition;
    uint32_t index; /* in mi_out.lanes */
    struct mi_lane_machine machine;
    struct mi_queue queue;   /* in order; what is in current and next is still in it, at its head */
    struct mi_queue again;   /* what Iggy lost: goes before the queue */
    struct mi_batch current; /* under way, or to be sent again */
    struct mi_batch next;    /* gathers meanwhile */
    iggy_request request;    /* produce or poll; 0 none */
    uint64_t sent_ns;
    size_t byte_limit;      /* of a batch; halved by 413 */
    uint32_t read_failures; /* of the journal, in a row */
    bool in_ready, in_timed;
    bool slow;        /* reading does not wait for it */
    bool old_settled; /* what may have been sent before this start was looked for */
    bool old_wanted;  /* ... is to be looked for before the next POST */
    bool old_from_known;
    uint64_t old_from; /* no message sent before this start and not settled stands below this offset */
    struct mi_lane *ready_next, *timed_next;
    /* what Iggy has confirmed */
    bool confirmed;
    bool floating;             /* the server (0.8) did not say where: at confirmed_offset or higher */
    uint64_t confirmed_offset; /* of the last message */
    struct iggy_id confirmed_id;
    bool unchecked; /* a newer confirmation waits until the one above was checked: */
    bool unchecked_floating;
    uint64_t unchecked_offset;
    struct iggy_id unchecked_id;
    uint64_t read_from; /* no message that is not settled stands below this offset */
    bool read_from_known;
    struct mi_reader *reader; /* settle.c */
    /* what Iggy lost: resend.c */
    bool lost;          /* its records from lost_next to lost_last must go to the queue again */
    bool again_settled; /* the read-back for that queue is done */
    uint64_t lost_next, lost_last;
    uint64_t lost_most;  /* at most so many, the newest */
    uint64_t again_from; /* offset from which they may be there */
    uint64_t check_last; /* restart.c: newest offset of the partition */
    bool check_gone;     /* restart.c: nothing at all stands where the last confirmed message was */
    uint64_t check_next; /* restart.c: offset of the page that is looked through for our newest message */
    uint32_t check_page;
    bool check_seen; /* the newest of ours so far: */
    uint64_t check_offset;
    struct iggy_id check_id;
    uint64_t stuck_ns; /* since when it gets nothing through for its own reasons; 0: it does */
    bool parked;       /* what comes for it goes to the target's file */
    struct mi_log_limit limit;
};

struct mi_out {
    struct mi_config *config;
    struct mi_transport transport;
    struct mi_journal *journal;
    struct mi_metrics *metrics;
    const struct mi_clock *clock;
    const struct mi_log *log;
    struct mi_gate gate;
    struct mi_missing missing;
    struct mi_out_routes routes;
    struct mi_targets *targets;
    struct mi_dead_letters *dead;
    struct mi_window window;
    struct mi_cursor *cursor;
    struct mi_lane **lanes;
    uint32_t lane_count, lane_cap;
    struct mi_lane *ready, **ready_end; /* in turn */
    struct mi_lane *timed;
    uint64_t timed_due_ns;
    uint32_t in_flight;
    size_t batch_bytes;
    struct iggy_batch *spare[8];
    uint32_t spare_count;
    struct mi_buf scratch; /* a record read again */
    struct mi_buf dead_headers;
    uint64_t start_ns;
    uint64_t start_sequence;      /* records below were journaled before this start */
    struct mi_queue dead_waiting; /* dead letters that the file did not take */
    uint64_t dead_due_ns;
    struct mi_queue homeless; /* records without a target, because memory or places are out */
    uint64_t homeless_due_ns;
    struct mi_log_limit link_limit, read_limit, dead_limit, lanes_limit, park_limit;
    /* reading */
    struct mi_lane *paused_for; /* reading waits for this lane to take on more */
    uint64_t paused_until_ns;
    uint64_t read_due_ns; /* after a failed read */
    bool lost_full;       /* resend.c waits for room */
    /* settling */
    struct mi_id_set *found_ahead;   /* settle.h: in Iggy, but not in the window yet */
    struct mi_done_runs done_before; /* checkpoint.h */
    struct mi_log_limit denied_limit;
    struct mi_restart restart;     /* restart.h */
    struct mi_cursor *lost_cursor; /* resend.c: collects what Iggy lost; NULL: nothing is lost */
    /* parking */
    struct mi_parked **parked; /* parked.h */
    uint32_t parked_count, parked_cap, parked_next;
    uint64_t
        parked_recent[MI_PARKED_RECENT]; /* sequences, at their remainder: done in the window, not settled */
    uint32_t parked_loaded;              /* side entries of parked records */
    struct mi_parked_files parked_files;
    struct mi_buf parked_bytes;
    struct mi_missing full_routes; /* ids whose parked_max_size is reached */
    uint64_t park_look_ns, park_now_ns;
    uint64_t stored_ns; /* when a lane got something through last */
    uint64_t gauges_due_ns;
    bool changed, stopping, freeing;
};

/* ---- ship.c: batches and lanes ---- */

/* The lane of a partition, made at first use; NULL: memory is out or there are MI_MAX_LANES. */
struct mi_lane *mi_out_lane(struct mi_out *out, struct mi_target *target, uint32_t partition);
void mi_out_lane_free(struct mi_lane *lane);
/* The last in a lane's queue; record (may be NULL) is the entry's, still at hand: saves reading it again. */
void mi_out_lane_push(struct mi_lane *lane, uint32_t entry, const struct mi_record *record);
/* Sends for lanes that wait in turn, while requests may be made. */
void mi_out_send(struct mi_out *out, uint64_t now_ns);
/* Feeds TIMER to those that are due; returns the next time. */
uint64_t mi_out_timers(struct mi_out *out, uint64_t now_ns);
/* One event for a lane's machine, and what follows from it. result: of a produce request, else NULL. */
void mi_out_lane_event(struct mi_lane *lane, enum mi_lane_event event, const struct iggy_result *result);
/* It may have something to do: takes its turn. */
void mi_out_make_ready(struct mi_lane *lane);
/* Its messages all wait again. */
void mi_out_take_apart(struct mi_lane *lane);
/* An answer came (or none): the gate's bookkeeping, common to all requests of lanes. */
void mi_out_answered(struct mi_out *out, const struct iggy_result *result, enum mi_outcome outcome);
/* May one more request begin? */
bool mi_out_may_request(const struct mi_out *out, uint64_t now_ns);
bool mi_out_draining(const struct mi_target *target);

/* ---- restart.c, resend.c ---- */

/* Looks at a result for signs of a restarted server. */
void mi_out_sign(struct mi_out *out, const struct iggy_result *result);
/* Asks for the server's start time when there was a sign, at the start, and every few seconds. */
uint64_t mi_out_restart_step(struct mi_out *out, uint64_t now_ns);
/* Produce requests wait while a sign is being looked into, and the checks that follow from it. */
bool mi_out_holds_sends(const struct mi_out *out, uint64_t now_ns);
/* What a produce request is guarded with. */
uint64_t mi_out_signs_seen(struct mi_out *out, uint64_t now_ns);
/* Was it held back by the client? */
bool mi_out_held_back(struct mi_out *out, const struct iggy_result *result);
/* A lane in CHECKING: is its last confirmed message where it was? Ends with a CHECK_ event. */
void mi_out_check(struct mi_lane *lane);
/* Iggy lost what the lane sent from sequence lane->lost_next to lane->lost_last. */
void mi_out_lost(struct mi_lane *lane);
/* Collects lost records from the journal; true when there is more to do at once. */
bool mi_out_resend_step(struct mi_out *out);
/* The queue again was emptied: is there more to collect? */
void mi_out_resend_more(struct mi_lane *lane);

/* ---- admit.c: from the journal to the lanes ---- */

/* Reads on while there is room and sense in it. True when it stopped only because its share of the turn was
 * used up. */
bool mi_out_read_on(struct mi_out *out, uint64_t now_ns);
/* Which partition a record goes to. */
uint32_t mi_out_partition(uint64_t sequence, bool balanced, uint32_t key_hash, uint32_t partitions);
/* A parked record, loaded again, goes to its lane, past what is parked. */
void mi_out_admit_parked(struct mi_out *out, struct mi_target *target, uint32_t entry,
                         const struct mi_record *record);
/* Nothing of the target is parked any more: what waited behind goes to its lanes. */
void mi_out_unpark(struct mi_out *out, struct mi_target *target);
/* Reads an entry's record again into scratch, from the journal or its parked file. -1 with err. */
int mi_out_read(struct mi_out *out, const struct mi_entry *e, struct mi_record *record, struct mi_error *err);
/* A target is READY: its waiting records go to their lanes, a changed number of partitions is taken over. */
void mi_out_target_ready(void *out, struct mi_target *target, bool remade);
/* A lane of a draining target came to rest. */
void mi_out_try_spread(struct mi_out *out, struct mi_target *target);
/* An entry in no queue becomes a dead letter. record as in mi_out_lane_push. */
void mi_out_dead(struct mi_out *out, uint32_t entry, const struct mi_record *record);
uint64_t mi_out_homeless_step(struct mi_out *out, uint64_t now_ns);
uint64_t mi_out_dead_step(struct mi_out *out, uint64_t now_ns);
/* Settles an entry in no queue: counted for its route, done. */
void mi_out_settled(struct mi_out *out, uint32_t entry, enum mi_route_counter how);

static inline struct mi_entry *mi_out_entry(struct mi_out *out, uint32_t entry)
{
    return &out->window.entries[entry];
}
static inline struct iggy_span mi_iggy_span(struct mi_span s)
{
    return (struct iggy_span){s.data, s.len};
}

/* As mi_out_new over another transport. options->client is not looked at. */
struct mi_out *mi_out_new_over(const struct mi_out_options *options, const struct mi_transport *transport,
                               struct mi_error *err);

#endif
