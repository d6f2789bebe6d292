/*
 * control: the unix socket "control" in the journal's directory, through which `mosquitto_iggy dead-letters`
 * gives orders to a running broker.
 *
 * One order a connection: a line ("requeue all", "requeue 17", "drop all", "drop 17"), answered by a line
 * that begins with "ok " or "error ". Orders are carried out one after the other. What only looks (list,
 * show) reads the file itself and needs no socket. Who may connect: the owner of the directory (mode 0600),
 * and root.
 *
 * No thread of its own, nothing here blocks. Bounded: 4 connections, 64 bytes a line, 10 s to send it.
 */
#ifndef MI_CONTROL_H
#define MI_CONTROL_H

#include "base/clock.h"
#include "base/error.h"
#include "journal/journal.h"

#define MI_CONTROL_SOCKET "control"

struct mi_control_options {
    const char *directory; /* the journal's, whose lock we hold; outlives the control, as all the others */
    uint64_t settled_at_start; /* every message with a lower sequence is settled, says the state file */
    struct mi_journal *journal;
    const struct mi_clock *clock;
    void (*wake_bridge)(void *context); /* any thread: mi_control_step soon */
    void *context;
};

struct mi_control;
/* Listens; a socket that an earlier run left behind is replaced. NULL with err. */
struct mi_control *mi_control_new(const struct mi_control_options *options, struct mi_error *err);
/* After both threads have stopped: closes, removes the socket. NULL is allowed. */
void mi_control_free(struct mi_control *c);

/* ---- bridge thread ---- */

int mi_control_fd(const struct mi_control *c); /* wait for it to be readable */
/* Does what is due; returns when it wants to be called again. A call without need does no harm. */
uint64_t mi_control_step(struct mi_control *c, uint64_t now_ns);
/* The main thread is to come to TICK: an order waits for it. */
bool mi_control_waits_for_main(const struct mi_control *c);

/* ---- main thread ---- */

void mi_control_tick(struct mi_control *c); /* in every TICK; NULL is allowed */

#endif
