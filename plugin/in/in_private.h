/*
 * in_private: the struct behind in.h. For the files of this folder that send requests: asks.c (watching),
 * polls.c (reading), keep.c (positions), feed.c (feed: on_subscribe) and in.c. All of it belongs to the
 * bridge thread.
 *
 * Work per turn depends on what moved, not on how much is watched: readers stand in a queue only while they
 * have something to ask, and in a heap of timers while they wait for a time.
 */
#ifndef MI_IN_PRIVATE_H
#define MI_IN_PRIVATE_H

#include "in/discover.h"
#include "in/in.h"
#include "in/mirror.h"
#include "in/rebuild.h"
#include "in/saved.h"
#include "in/watch.h"

enum {
    MI_IN_MAX_POLLS = 8, /* under way at a time: each may hold max_poll_bytes */
    MI_IN_MAX_DIRECT = 4 /* readers polled directly at a time; others are watched through topic details */
};
#define MI_IN_LOG_INTERVAL_NS (30 * MI_NS_PER_S)

struct mi_in {
    struct mi_in_options o;
    struct mi_config *config;
    struct mi_tokens *backlog; /* beside the configuration's routes */
    struct mi_discover *discover;
    uint32_t *searched; /* ids of routes whose targets were all found once: what is found later is new */
    size_t searched_count;
    struct mi_target_set *set;
    struct mi_saved saved;
    struct mi_watch watch;
    iggy_request listing; /* the list of streams, under way */
    uint64_t signs;       /* of the client, which were heeded */
    unsigned doubts;      /* in a row */
    uint64_t doubted_ns, doubt_again_ns;
    /* reading */
    struct mi_queue news;     /* readers with something to fetch */
    struct mi_queue spare;    /* readers that ask without knowing of anything: as the budget allows */
    struct mi_timers waiting; /* readers */
    unsigned polls;           /* under way */
    bool polls_first;         /* in this turn they ask before the watch does */
    unsigned direct;          /* readers polled directly */
    size_t reserved;          /* messages that they may bring */
    /* feed: on_subscribe */
    struct mi_interest_picture *interest; /* held; NULL: all is wanted */
    size_t interest_at;                   /* the next target to look at */
    bool interest_changed;
    size_t resting; /* readers of targets that nobody wants */
    /* rebuilding retained values */
    struct mi_queue scans;
    struct mi_rebuild_budget rebuild_budget;
    uint64_t rebuilds_ended, rebuilds_delivered; /* ends put into the inbox, and known to the broker */
    enum mi_rebuild_kept { MI_REBUILD_KEPT, MI_REBUILD_CAPTURED, MI_REBUILD_OPEN } rebuild_kept;
    /* positions */
    struct mi_queue unsaved;    /* readers whose position waits for the broker's save */
    struct mi_queue unmirrored; /* readers whose position moved since it was shown in Iggy */
    struct mi_mirror *mirror;
    bool changed; /* the state file is behind */
    struct mi_buf scratch, topic;
    struct mi_log_limit skipped_log, failed_log, change_log, signs_log;
};

/* in.c: hears what the broker has. */
void mi_in_collect(struct mi_in *in);

/* asks.c: sends what the watch wants to know; returns when it is due again. */
uint64_t mi_in_ask(struct mi_in *in, uint64_t now_ns);
/* Cancels what is under way about a target that goes. */
void mi_in_unask(struct mi_in *in, struct mi_target *t);

/* polls.c: sends polls and takes their answers; returns when it is due again. */
uint64_t mi_in_poll(struct mi_in *in, uint64_t now_ns);
/* A reader may have something to ask. */
void mi_in_consider(struct mi_in *in, struct mi_reader *r);
/* A reader does nothing any more until it is considered again. */
void mi_in_stop_reader(struct mi_in *in, struct mi_reader *r);
/* What was found about the log of a reader: counts, log, and another id for a new life. */
void mi_in_found(struct mi_in *in, struct mi_reader *r, const struct mi_judgement *j);
/* After a sign of another server process every reader makes sure of its place. */
void mi_in_heed_signs(struct mi_in *in);

/* Room for messages in the inbox that no poll under way has a claim to. */
size_t mi_in_room(const struct mi_in *in);

/* scan.c: a reader has its place: are retained values from before it wanted? Call before it reads. */
void mi_in_scan_decide(struct mi_in *in, struct mi_reader *r);
/* Scans, hands values over; returns when it is due again. */
uint64_t mi_in_scan_step(struct mi_in *in, uint64_t now_ns);
/* The reader goes. */
void mi_in_scan_drop(struct mi_in *in, struct mi_reader *r);
bool mi_in_scans_done(const struct mi_in *in); /* the broker has all values */

/* keep.c: the broker has more of a reader than before. */
void mi_in_moved(struct mi_in *in, struct mi_reader *r);
/* Keeps what the broker saved, shows positions in Iggy; returns when it is due again. */
uint64_t mi_in_keep_step(struct mi_in *in, uint64_t now_ns);
void mi_in_keep_forget(struct mi_reader *r);

/* feed.c: decides whether a target that came is wanted; call before it is watched. */
void mi_in_feed_first(struct mi_in *in, struct mi_target *t);
/* Looks at some targets after the interest changed; true: there are more. */
bool mi_in_feed_step(struct mi_in *in, uint64_t now_ns);

static inline const struct mi_route *mi_in_route(const struct mi_in *in, const struct mi_target *t)
{
    return &in->config->routes[t->route];
}

#endif
