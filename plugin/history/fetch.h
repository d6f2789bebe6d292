/*
 * fetch: one poll at a time for one request, with the size of the next by the size of the messages seen, and
 * the one place that decides what a failure means. Bridge thread.
 */
#ifndef MI_HISTORY_FETCH_H
#define MI_HISTORY_FETCH_H

#include "base/clock.h"
#include "history/plan.h"

enum mi_fetched {
    MI_FETCHED,     /* an answer; ask for what follows it */
    MI_FETCH_AGAIN, /* ask the same again, not before due_ns; count may have become smaller */
    MI_FETCH_SKIP,  /* the one message asked for is too large: go on behind it */
    MI_FETCH_GONE,  /* no such topic or partition */
    MI_FETCH_FAILED /* tried often enough; why says what (static text) */
};

struct mi_fetch;
typedef void (*mi_fetch_done)(void *context, enum mi_fetched what, const struct iggy_polled *answer,
                              const char *why);

struct mi_fetch_options {
    struct iggy_client *client;
    const struct mi_clock *clock;
    size_t max_bytes; /* of one answer */
    mi_fetch_done done;
    void *context;
    unsigned *under_way; /* polls of all requests */
    uint64_t *rest_ns;   /* until when all long searches rest: as long as the last poll took */
};

struct mi_fetch {
    struct mi_fetch_options o;
    iggy_request request; /* under way; 0: none */
    uint32_t partition, count;
    bool exact; /* from an offset on, and which: one that cannot be read may be skipped */
    uint64_t value;
    uint32_t most;     /* messages to ask for, by what was seen */
    unsigned failures; /* in a row */
    unsigned polls;    /* so far */
    uint64_t started_ns;
    uint64_t due_ns;
};

void mi_fetch_init(struct mi_fetch *f, const struct mi_fetch_options *options);
/* Cancels what is under way; done is not called. */
void mi_fetch_cancel(struct mi_fetch *f);
/* Is one under way? */
bool mi_fetch_busy(const struct mi_fetch *f);
/* Polls at most want messages, fewer when they are large. False when memory is out. */
bool mi_fetch_poll(struct mi_fetch *f, const struct mi_place *place, uint32_t partition,
                   enum iggy_strategy strategy, uint64_t value, uint32_t want);
/* What it would ask for at most now. */
uint32_t mi_fetch_most(const struct mi_fetch *f);

/* Bytes that a message counts for history.max_scan. */
size_t mi_fetch_weight(const struct iggy_polled_message *m);

#endif
