/*
 * watch: where is something new? Decides which question to ask next; sends nothing itself. Pure but for
 * memory. Bridge thread.
 *
 * Message counts are looked at from the top down: the list of streams (one request for all of them), then a
 * stream whose count moved, then the details of a topic whose count moved; those show the tail of each
 * partition. A stream with one or two targets in it is skipped on the way. With few targets, or where the
 * server has so many streams that listing them costs more, topic details are asked for directly. Counts are
 * net of expiry, so the details of every target are also asked for now and then whatever the counts say.
 *
 * A turn of this comes MI_PACE_MIN_NS after the one before while there is traffic and some time after, then
 * less and less often, at last every MI_PACE_MAX_NS. All requests together keep to a budget.
 *
 * Without the right to list streams each stream is asked, without the right to read a stream each of its
 * topics, without the right to read a topic its partitions are polled blindly (polls.c). A right that was
 * missing is tried again every minute.
 */
#ifndef MI_WATCH_H
#define MI_WATCH_H

#include "in/pace.h"
#include "in/target_set.h"

#define MI_PACE_MIN_NS (4 * 1000000ull)
#define MI_PACE_MAX_NS (100 * 1000000ull)

struct mi_watch {
    struct mi_target_set *set;
    struct mi_budget budget;
    struct mi_timers timers;          /* of targets that failed */
    struct mi_queue streams, targets; /* that are to be asked */
    size_t watched;                   /* targets that are wanted and may be asked */
    unsigned asking;                  /* streams and targets under way */
    /* the list of streams */
    bool may_list, list_wanted, listing;
    unsigned list_failures;
    uint64_t list_again_ns; /* after a missing right */
    size_t listed;          /* streams on the server */
    /* turns */
    uint64_t pace_ns, due_ns, traffic_ns;
    size_t verify_at;
    uint64_t verify_ns;
    /* stretches of uninterrupted watching */
    uint32_t round;
    uint64_t heard_ns;
};

void mi_watch_init(struct mi_watch *w, struct mi_target_set *set, uint32_t requests_per_s);
void mi_watch_fini(struct mi_watch *w);

/* A target came (it is looked at soon), or goes. */
void mi_watch_add(struct mi_watch *w, struct mi_target *t);
void mi_watch_forget(struct mi_watch *w, struct mi_target *t);
/* Whether anybody wants it; whether its details may be read. */
void mi_watch_set(struct mi_watch *w, struct mi_target *t, bool wanted, bool may_ask);
/* Its details are wanted soon. */
void mi_watch_look_at(struct mi_watch *w, struct mi_target *t);
/* Something came: turns are short for a while. */
void mi_watch_traffic(struct mi_watch *w, uint64_t now_ns);
/* Iggy answered (any request). */
void mi_watch_heard(struct mi_watch *w, uint64_t now_ns);

enum mi_look { MI_LOOK_NOTHING, MI_LOOK_STREAMS, MI_LOOK_STREAM, MI_LOOK_TOPIC };

struct mi_looking {
    enum mi_look what;
    struct mi_stream_seen *stream; /* with MI_LOOK_STREAM */
    struct mi_target *target;      /* with MI_LOOK_TOPIC */
};
/* The next question, which counts as asked; one of the functions below must be told how it ended.
 * MI_LOOK_NOTHING: none now, mi_watch_due says when. */
struct mi_looking mi_watch_next(struct mi_watch *w, uint64_t now_ns);
uint64_t mi_watch_due(const struct mi_watch *w, uint64_t now_ns);

void mi_watch_streams(struct mi_watch *w, uint64_t now_ns, const struct iggy_stream *streams, size_t count);
void mi_watch_streams_failed(struct mi_watch *w, uint64_t now_ns, bool no_right);
void mi_watch_stream(struct mi_watch *w, struct mi_stream_seen *s, uint64_t now_ns,
                     const struct iggy_stream *stream);
void mi_watch_stream_failed(struct mi_watch *w, struct mi_stream_seen *s, uint64_t now_ns, bool no_right);
/* After mi_target_details. */
void mi_watch_topic(struct mi_watch *w, struct mi_target *t, uint64_t now_ns);
void mi_watch_topic_failed(struct mi_watch *w, struct mi_target *t, uint64_t now_ns, bool no_right,
                           bool missing);
/* A question that could not be sent, or was cancelled. */
void mi_watch_unasked(struct mi_watch *w, const struct mi_looking *l, uint64_t now_ns);

#endif
