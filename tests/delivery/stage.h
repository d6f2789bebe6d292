/*
 * stage: what the delivery tests share: a rig behind a proxy or on a breakable disk, and the account of a
 * route.
 */
#ifndef DELIVERY_STAGE_H
#define DELIVERY_STAGE_H

#include "integration/rig.h"
#include "proxy.h"

/* Everything that the metrics say of a route. */
struct account {
    double received, committed, dead_lettered, dropped, pending, rejected, resent, found;
};
/* All of one page. Asserts on the way that received = committed + dead_lettered + dropped + pending. */
struct account account_of(struct rig *r, const char *route);
/* Waits until the route has received so many and none is pending; the account then. */
struct account account_settled(struct rig *r, const char *route, double received, unsigned timeout_ms);

/* Publishes texts "PREFIX0".. at QoS 1 and asserts that each is acknowledged. */
void say_numbers(struct rig *r, const char *topic, const char *prefix, unsigned from, unsigned count);
/* What was read of a topic holds the texts "PREFIXfrom".. once each and in that order, and nothing else. */
void assert_numbers(struct rig *r, const char *prefix, unsigned from, unsigned count);

/* Starts the broker under preload/faulty_disk.c, for its journal directory. */
bool start_on_faulty_disk(struct rig *r);
/* "write ENOSPC\n..."; NULL: the disk is well. */
void break_disk(struct rig *r, const char *orders);
bool start_and_exit_on_faulty_disk(struct rig *r);

#endif
