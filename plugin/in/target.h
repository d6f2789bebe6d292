/*
 * target: one (route, stream, topic) that is read, with one reader per partition however many subscribers.
 * Two routes that read the same topic have a target each: their positions, rates and rules differ. Decides
 * from topic details; sends nothing itself. Pure but for memory. Bridge thread.
 */
#ifndef MI_TARGET_H
#define MI_TARGET_H

#include "base/bytes.h"
#include "config/config.h"
#include "iggy_client.h"
#include "in/reader.h"

struct mi_stream_seen;

#define MI_COUNT_UNKNOWN UINT64_MAX

/* That are read of one topic. Iggy makes up to 1,000 at a time, and more can be added. */
enum { MI_MAX_PARTITIONS = 10000 };

struct mi_target {
    size_t route; /* index into the configuration's routes */
    uint32_t route_id;
    char *stream, *topic;
    uint64_t created_at; /* of the topic, microseconds; 0 not known */
    struct mi_reader **readers;
    uint32_t reader_count;
    bool was_missing; /* it did not exist when it was first looked for: all of it is new */
    bool rests;       /* nobody wanted it: it goes on at the tail when somebody does again */
    bool at_tail;     /* the next details place its readers at the tail */
    /* watching; see watch.h */
    bool wanted;
    bool may_ask; /* false: no right to read details, partitions are polled blindly */
    bool asking;  /* topic details under way */
    iggy_request request;
    uint64_t count_seen;    /* messages in the topic */
    unsigned failures;      /* in a row */
    uint64_t not_before_ns; /* after a failure */
    unsigned direct;        /* readers that are polled directly */
    struct mi_link asks;    /* in the queue of those that ask for details */
    struct mi_timer timer;  /* to ask again after a failure */
    /* of the set (target_set.h) */
    struct mi_stream_seen *seen;
    struct mi_link in_stream;
    size_t place;
    struct mi_target *next_of_hash;
    char *filters; /* MQTT filters of its messages, NUL after each; NULL: not worked out */
    size_t filter_count;
};

struct mi_target *mi_target_new(size_t route, uint32_t route_id, struct mi_span stream, struct mi_span topic);
void mi_target_free(struct mi_target *t);

/* Readers for partitions 0..count-1 (at most MI_MAX_PARTITIONS) with their owner set; false when memory is
 * out (some may be there). */
bool mi_target_grow(struct mi_target *t, uint32_t count);

/* Is that the creation of another topic of this name? */
bool mi_target_made_again(const struct mi_target *t, const struct iggy_topic *topic);

/* Takes topic details in: where each partition ends, and places readers that are not placed (start says
 * where), all of them at 0 when the topic was made again. round: see mi_reader_saw_end. Calls each for every
 * reader with what was found. */
void mi_target_details(struct mi_target *t, const struct iggy_topic *topic, enum mi_start start,
                       uint32_t round,
                       void (*each)(void *context, struct mi_reader *r, const struct mi_judgement *j),
                       void *context);

/* After a failure: how long to wait, doubling up to 5 s; a target that does not exist yet at most 1 s. */
uint64_t mi_target_backoff(struct mi_target *t, bool missing);

#endif
