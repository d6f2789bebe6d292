/*
 * world: in over the fake server, and a broker that takes everything from the inbox and says so a turn later;
 * one simulated clock for all.
 */
#ifndef IN_WORLD_H
#define IN_WORLD_H

#include "fake_iggy.h"
#include "in/in.h"

struct world {
    char dir[256];
    struct mi_clock clock;
    struct mi_log log;
    char lines[65536];
    struct mi_config *config;
    struct mi_metrics *metrics;
    struct mi_inbox *inbox;
    struct mi_save_gate gate; /* a broker without persistence: positions move at once */
    struct mi_in *in;
    struct mi_buf saved; /* positions of the last world_stop */
    bool rebuild;        /* the broker's store is empty at the next world_start */
    size_t rebuilds_begun, rebuilds_ended, rebuilt_count;
    struct {
        char topic[32];
        uint32_t n;     /* message number */
    } rebuilt[1000];    /* retained values from before the positions */
    bool broker_stands; /* takes nothing */
    struct mi_inbound *taken;
    /* by message number */
    uint8_t times[1 << 20]; /* delivered so often */
    uint32_t order[1 << 20];
    size_t delivered;
    size_t steps; /* turns of in */
};

/* json: the configuration's "routes" and what else follows it, without braces; single quotes for double. */
void world_begin(struct world *w, const char *json);
void world_end(struct world *w);
/* Lets that much time pass. */
void world_pass(struct world *w, uint64_t ms);
/* Until nothing more comes, at most that long: all that is on its way has arrived. */
void world_settle(struct world *w, uint64_t ms);
/* The bridge stops (its positions are kept) and comes again. */
void world_stop(struct world *w);
void world_start(struct world *w);
bool world_said(const struct world *w, const char *text);
uint64_t world_counted(struct world *w, size_t route, enum mi_route_counter which);

#endif
