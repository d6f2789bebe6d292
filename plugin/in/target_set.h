/*
 * target_set: the set of all that is read, found by name in constant time, grouped by stream; and the ids
 * that readers have in inbound messages. Bridge thread.
 */
#ifndef MI_TARGET_SET_H
#define MI_TARGET_SET_H

#include "in/target.h"

enum { MI_MAX_TARGETS = 10000, MI_MAX_READERS = 1 << 20 };

/* What watching knows of a stream with targets in it; see watch.h. */
struct mi_stream_seen {
    char *name;
    struct mi_queue targets; /* their in_stream */
    uint64_t count_seen;     /* messages in the stream */
    bool may_ask;            /* false: no right to read it, its targets are asked one by one */
    bool asking;
    iggy_request request;
    unsigned failures;
    uint64_t not_before_ns;
    struct mi_link asks;
    struct mi_stream_seen *next_of_hash;
    size_t place;
};

struct mi_target_set;
struct mi_target_set *mi_target_set_new(void);
/* Frees all that is in it. */
void mi_target_set_free(struct mi_target_set *s);

struct mi_target *mi_target_set_find(const struct mi_target_set *s, uint32_t route_id, struct mi_span stream,
                                     struct mi_span topic);
/* Those of all routes with that stream and topic, one after the other: the first with after NULL. */
struct mi_target *mi_target_set_named(const struct mi_target_set *s, struct mi_span stream,
                                      struct mi_span topic, const struct mi_target *after);
/* Makes one; NULL when memory is out or there are MI_MAX_TARGETS. It must not be there yet. */
struct mi_target *mi_target_set_add(struct mi_target_set *s, size_t route, uint32_t route_id,
                                    struct mi_span stream, struct mi_span topic);
/* Frees it, and its stream when that was the last of it: take both out of other lists first. */
void mi_target_set_drop(struct mi_target_set *s, struct mi_target *t);
bool mi_target_set_last_of_stream(const struct mi_target *t);

struct mi_stream_seen *mi_target_set_stream(const struct mi_target_set *s, struct mi_span name);
size_t mi_target_set_count(const struct mi_target_set *s);
struct mi_target *mi_target_set_at(const struct mi_target_set *s, size_t index);
size_t mi_target_set_stream_count(const struct mi_target_set *s);
struct mi_stream_seen *mi_target_set_stream_at(const struct mi_target_set *s, size_t index);

/* Gives a reader another id; the one before stays known as its former one when keep says so. False when there
 * are MI_MAX_READERS or memory is out: the reader has then no id, and its positions do not move. */
bool mi_target_set_new_id(struct mi_target_set *s, struct mi_reader *r, bool keep);
/* The reader of an id, NULL when it is gone. */
struct mi_reader *mi_target_set_reader(const struct mi_target_set *s, uint32_t id);
size_t mi_target_set_reader_count(const struct mi_target_set *s);

#endif
