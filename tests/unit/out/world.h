/*
 * world: a journal in a directory of its own, out over the model server, and one simulated clock for all.
 * Message number n has n as the first four bytes of its payload.
 */
#ifndef OUT_WORLD_H
#define OUT_WORLD_H

#include "base/clock.h"
#include "config/config.h"
#include "journal/journal.h"
#include "metrics/metrics.h"
#include "model.h"
#include "out/out_private.h"

struct world {
    char dir[256], secret[300];
    struct model model;
    struct mi_clock clock;
    struct mi_log log;
    char lines[65536];
    struct mi_config *config;
    struct mi_journal *journal;
    struct mi_metrics *metrics;
    struct mi_out *out;
    struct mi_buf checkpoint; /* the last one "on disk" */
    uint64_t release;
    uint32_t sent;    /* messages appended; the next has this number */
    uint32_t padding; /* bytes of payload beside the number */
};

/* One route "all": sensors/# to stream s topic t. Opens the journal, starts out. */
void world_begin(struct world *w);
void world_end(struct world *w);
/* Appends n messages of that stream and topic with that key hash. */
void world_append_to(struct world *w, uint32_t n, const char *stream, const char *topic, uint32_t key_hash);
void world_append(struct world *w, uint32_t n, uint32_t key_hash);
void world_append_record(struct world *w, struct mi_record *r);
/* Lets time pass, at most that long, until nothing waits and nothing is under way. True when it came to that.
 */
bool world_run(struct world *w, uint64_t most_ms);
/* Lets exactly that much time pass. */
void world_pass(struct world *w, uint64_t ms);
void world_checkpoint(struct world *w);
/* out and journal go down and come up again; with what the last world_checkpoint wrote. */
void world_restart(struct world *w);
bool world_said(const struct world *w, const char *text);
uint64_t world_counted(struct world *w, enum mi_route_counter which);
/* Every message from 0 to sent-1 is in the model exactly once. */
bool world_each_once(const struct world *w);
/* The numbers in that partition rise; dead letters are left out. */
bool world_in_order(struct world *w, const char *stream, const char *topic, uint32_t partition);

#endif
