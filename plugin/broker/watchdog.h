/*
 * watchdog: notices that something that must happen soon does not happen: the first TICK.
 */
#ifndef MI_WATCHDOG_H
#define MI_WATCHDOG_H

struct mi_watchdog;

/* Calls late once, on a thread of its own with all signals blocked, unless mi_watchdog_free comes within
 * timeout_ms. NULL when there is no memory or no thread for it. */
struct mi_watchdog *mi_watchdog_new(unsigned timeout_ms, void (*late)(void *context), void *context);
/* Calls it off and joins its thread; waits no longer than a running late. NULL is allowed. */
void mi_watchdog_free(struct mi_watchdog *w);

#endif
