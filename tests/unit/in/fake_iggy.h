/*
 * fake_iggy: the few functions of iggy_client that in uses, over logs in memory and in simulated time. A
 * request has its effect some time after it was sent and is answered some time after that, so that answers
 * overtake each other.
 */
#ifndef FAKE_IGGY_H
#define FAKE_IGGY_H

#include "base/bytes.h"
#include "iggy_client.h"

struct fake_message {
    uint32_t n; /* its number: the first four bytes of its payload */
    uint64_t id;
    uint64_t stamp_us;
    uint32_t size; /* of the payload; from 4 on */
    const char *headers;
    size_t headers_len;
};

struct fake_partition {
    struct fake_message *log; /* by offset */
    uint64_t first, end, saved, cap;
};

struct fake_topic {
    char stream[32], name[32];
    uint64_t created_us;
    struct fake_partition *partitions;
    uint32_t partition_count;
    bool no_details; /* 403 */
};

enum fake_kind { FAKE_POLL, FAKE_TOPIC, FAKE_STREAM, FAKE_STREAMS, FAKE_KINDS };
enum fake_fault {
    FAKE_FINE,
    FAKE_GARBLED,
    FAKE_503,
    FAKE_504,
    FAKE_OTHER_PARTITION, /* poll: of the partition behind it */
    FAKE_BACKWARDS,       /* poll: the offsets fall */
    FAKE_TOO_LARGE        /* not of polls: there the sizes tell */
};

struct fake_request;
struct fake {
    uint64_t now_ns, seed, last_id, signs;
    struct fake_topic topics[300];
    size_t topic_count;
    struct fake_request *requests;
    unsigned asked[FAKE_KINDS]; /* requests so far */
    unsigned under_way[FAKE_KINDS];
    bool no_list, no_streams; /* 403 */
    bool old;                 /* 0.8: an empty poll answer tells no current_offset */
    bool no_keep_alive;       /* every request opens a connection of its own, which is a sign */
    bool away;                /* requests fail: no connection */
    enum fake_fault fault;    /* of the next so many polls */
    unsigned fault_left;
    enum fake_fault look_fault; /* of all answers about streams and topics: FAKE_GARBLED, FAKE_TOO_LARGE */
    uint64_t slowest_us;        /* of an answer */
};
extern struct fake fake;

void fake_begin(void);
void fake_end(void);
uint64_t fake_random(void);
struct fake_topic *fake_create(const char *stream, const char *topic, uint32_t partitions);
struct fake_topic *fake_find(const char *stream, const char *topic);
void fake_delete(const char *stream, const char *topic);
/* Appends message number n; it is lost in a kill until fake_save. */
void fake_append(struct fake_topic *t, uint32_t partition, uint32_t n, uint32_t size);
void fake_save(void);
/* The server is killed and is there again: what was not saved is lost, requests are cut. */
void fake_kill(void);
void fake_expire(struct fake_topic *t, uint32_t partition, uint64_t first);
/* Answers what is due at fake.now_ns. When the next is due: fake_due (UINT64_MAX: nothing is under way). */
void fake_answer(void);
uint64_t fake_due(void);

#endif
