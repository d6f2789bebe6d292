/*
 * target: one (route, stream, topic) that is read, with one reader per partition. Decides from topic details
 * and poll answers what to ask next; sends nothing itself. Pure but for memory. Bridge thread.
 */
#ifndef MI_TARGET_H
#define MI_TARGET_H

#include "base/bytes.h"
#include "config/config.h"
#include "iggy_client.h"

struct mi_reader {
    uint32_t id; /* in inbound messages */
    uint32_t partition;
    bool placed; /* next is known */
    bool polling;
    iggy_request request; /* of the poll, for cancelling */
    uint64_t next;        /* offset to poll from */
    uint64_t delivered;   /* first offset that the broker does not have yet: the position that is saved */
    uint64_t end;         /* one past the newest offset known */
    uint32_t count;       /* messages to ask for; halved when an answer is too large */
    uint64_t due_ns;      /* not before this */
};

struct mi_target {
    size_t route; /* index into the configuration's routes */
    uint32_t route_id;
    char *stream, *topic;
    uint64_t created_at; /* of the topic, 0 not known */
    struct mi_reader *readers;
    uint32_t reader_count;
    bool asking; /* topic details under way */
    iggy_request request;
    bool may_ask;     /* false: no right to read details, partitions are polled blindly */
    bool was_missing; /* it did not exist when it was first looked for: all of it is new */
    bool wanted;      /* else it is not read: nobody subscribes to what it brings (wanted.h) */
    bool from_end;    /* nobody wanted what came before: placed at the end, whatever the route's start says */
    uint64_t due_ns;  /* of the next details */
    uint64_t pace_ns; /* interval between details: short after traffic, longer when idle */
    unsigned failures; /* in a row, for backing off */
    struct mi_target *next;
};

#define MI_PACE_MIN_NS (4 * 1000000ull)
#define MI_PACE_MAX_NS (100 * 1000000ull)

struct mi_target *mi_target_new(size_t route, uint32_t route_id, struct mi_span stream, struct mi_span topic);
void mi_target_free(struct mi_target *t);

/* It is wanted again after a while: the next details place its readers at the end. */
void mi_target_wanted_again(struct mi_target *t);

/* What changed in the topic, for the log. */
enum mi_target_change {
    MI_TARGET_SAME,
    MI_TARGET_MADE_AGAIN, /* another created_at: readers start at 0 of the new one */
    MI_TARGET_TAIL_LOST /* a tail below a reader's position without a new topic: the server lost messages; the
                           reader goes on at the new tail, since those offsets are given out again */
};

/* Takes topic details in: makes readers for new partitions (ids from *next_id on), places those that are not
 * placed (start says where), moves ends. NULL memory: readers stay as they were. */
enum mi_target_change mi_target_details(struct mi_target *t, const struct iggy_topic *topic,
                                        enum mi_start start, uint32_t *next_id);

/* Without the right to read details: readers for partitions 0..count-1, polled blindly. */
void mi_target_blind(struct mi_target *t, uint32_t count, enum mi_start start, uint32_t *next_id);

/* Sets the next details' time after a turn: had_traffic shortens the pace, else it grows to slowest_ns. */
void mi_target_pace(struct mi_target *t, uint64_t now_ns, bool had_traffic, uint64_t slowest_ns);
/* After a failure: backs off exponentially to 5 s. */
void mi_target_failed(struct mi_target *t, uint64_t now_ns);

/* A reader with something to fetch that is due and not polling. */
bool mi_reader_wants(const struct mi_target *t, const struct mi_reader *r, uint64_t now_ns);

/* Restores a saved position. The topic's created_at is checked with the next details. */
void mi_target_restore(struct mi_target *t, uint32_t partition, uint64_t created_at, uint64_t next,
                       uint32_t *next_id);

#endif
