/*
 * model: an Iggy server in memory, behind out's transport, in simulated time. What it does with a produce
 * request is decided by the test; what it holds can be looked at.
 */
#ifndef OUT_MODEL_H
#define OUT_MODEL_H

#include <stdbool.h>

#include "out/transport.h"

enum { MODEL_PARTITIONS = 8, MODEL_TARGETS = 16 };

struct stored {
    struct iggy_id id;
    uint64_t offset;
    uint32_t number; /* from the payload; UINT32_MAX: another producer's */
    bool dead;       /* has a header mqtt.dead_reason */
};

struct partition {
    struct stored *list;
    size_t count, cap;
    uint64_t saved; /* offsets below survive a kill */
};

struct model_topic {
    char stream[64], topic[64];
    bool exists;
    uint64_t created_at;
    uint32_t partitions;
    struct partition partition[MODEL_PARTITIONS];
};

enum fate {
    FATE_STORE,          /* 201 */
    FATE_STORE_SILENTLY, /* 201 without a confirmation, as 0.8 */
    FATE_503,            /* not stored */
    FATE_429,
    FATE_CUT_BEFORE, /* never stored, connection cut */
    FATE_CUT_AFTER,  /* stored, connection cut */
    FATE_CUT_LATE,   /* connection cut, stored late_ns later */
    FATE_504_LATE,   /* 504 after the answer time, stored late_ns later */
    FATE_403,
    FATE_422,
    FATE_413,
    FATE_400,     /* an answer that nobody has heard of */
    FATE_REFUSED, /* no connection */
    FATE_LOGIN,   /* login failed */
    FATES
};

struct model;
/* What becomes of a produce request with these message numbers. */
typedef enum fate (*fate_fn)(struct model *m, const uint32_t *numbers, size_t count, size_t bytes);

struct model {
    uint64_t now_ns;
    uint64_t latency_ns;
    uint64_t late_ns;
    uint64_t start_time;
    struct model_topic topics[MODEL_TARGETS];
    fate_fn fate;
    bool down;        /* every connection is refused */
    bool poll_denied; /* 403 */
    bool details_denied;
    bool stats_denied;
    bool polls_fail;          /* 500 */
    bool tail_unknown;        /* current_offset is 0 when nothing is returned, as 0.8 */
    bool new_connection;      /* the next answer says so */
    bool relogin;             /* the next answer says so */
    bool no_connection_lasts; /* every request opens one */
    uint64_t signs;           /* either of them is one, and holds produce requests back */
    uint64_t random;
    unsigned held; /* produce requests that were held back */
    unsigned produced, polled, asked, created, most_in_flight, in_flight, connects;
    struct op *ops;
    struct iggy_result last;
    uint64_t next_request;
    struct late *late;
};

void model_init(struct model *m);
void model_fini(struct model *m);
struct mi_transport model_transport(struct model *m);
struct model_topic *model_topic(struct model *m, const char *stream, const char *topic);
struct model_topic *model_create(struct model *m, const char *stream, const char *topic, uint32_t partitions);
/* Another producer's message. */
void model_foreign(struct model *m, struct model_topic *t, uint32_t partition);
/* When something will happen next; UINT64_MAX: nothing. */
uint64_t model_next(const struct model *m);
/* Does what is due at now_ns. */
void model_run(struct model *m);
/* Killed and started again: what is not saved is gone, requests are cut, late commits never come. */
void model_kill(struct model *m);
void model_save(struct model *m);
uint64_t model_random(struct model *m);
/* How often a message is there in all topics. */
unsigned model_count(const struct model *m, uint32_t number);

#endif
