/*
 * orders: carries out one order about the dead letters ("requeue all", "drop 17") on a running broker, in
 * small steps. The bridge thread reads letters and takes them out of the file; the main thread, which alone
 * appends to the journal, does so in its TICK. At the end of an order the file is written anew without what
 * was taken out and is settled; out notices. The accounting is that of out/letter_round.h.
 */
#ifndef MI_ORDERS_H
#define MI_ORDERS_H

#include "base/clock.h"
#include "base/log.h"
#include "journal/journal.h"

struct mi_orders;

/* Borrows all, which must outlive it. settled_at_start: control.h. wake_bridge: called by the main thread
 * when its part is done. NULL: memory is out. */
struct mi_orders *mi_orders_new(const char *directory, struct mi_journal *journal, uint64_t settled_at_start,
                                const struct mi_clock *clock, void (*wake_bridge)(void *context),
                                void *context);
/* The other threads have stopped. What is in the journal for good is still taken out of the file. NULL is
 * allowed. */
void mi_orders_free(struct mi_orders *o);

/* ---- bridge thread ---- */

enum { MI_ORDER_ANSWER = 400 };

/* Takes an order on; one at a time. Its answer comes from mi_orders_step. */
void mi_orders_begin(struct mi_orders *o, const char *text);
bool mi_orders_busy(const struct mi_orders *o);
/* Goes on; true when the order has ended: the answer is one line without its end, "ok ..." or "error ...".
 * *due_ns: when to call again at the latest. */
bool mi_orders_step(struct mi_orders *o, uint64_t now_ns, char answer[MI_ORDER_ANSWER], uint64_t *due_ns);
/* The main thread is to call mi_orders_tick. */
bool mi_orders_waits_for_main(const struct mi_orders *o);

/* ---- main thread ---- */

/* In every TICK; one atomic load when there is nothing to do. Appends a bounded number of letters. */
void mi_orders_tick(struct mi_orders *o);

#endif
