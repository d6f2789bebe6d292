/*
 * wakeup: makes the broker's main thread come to TICK at once instead of within 100 ms.
 *
 * A real-time signal to the main thread ends the broker's wait; its handler does nothing. A signal that lands
 * just before the wait begins is lost, so a timer repeats it every millisecond until TICK says that all is
 * done. Nobody else has to repeat a call: one mi_wakeup_call after each mi_inbox_put is enough, and further
 * ones cost one atomic exchange until then.
 */
#ifndef MI_WAKEUP_H
#define MI_WAKEUP_H

#include <stdbool.h>

#include "base/error.h"

struct mi_wakeup;

/* Remembers the calling thread as the one to wake and installs the handler (SA_RESTART | SA_ONSTACK). NULL
 * with err: signal is none that can be used, or another part of the process handles it already. Main thread.
 */
struct mi_wakeup *mi_wakeup_new(int signal, struct mi_error *err);
/* Stops the timer; the signal is ignored from then on, so that a late one does not end the process. NULL is
 * allowed. Main thread, after the callers have stopped. */
void mi_wakeup_free(struct mi_wakeup *w);

/* The main thread should come to TICK. Any thread. */
void mi_wakeup_call(struct mi_wakeup *w);

/* The main thread itself, from TICK: another turn of the loop is needed right after this one. Its signal
 * comes when the thread most likely waits already. */
void mi_wakeup_again(struct mi_wakeup *w);

/* Main thread: has somebody called since the last mi_wakeup_done? One atomic load. */
bool mi_wakeup_called(const struct mi_wakeup *w);
/* Main thread: ends the repetition. What was put before a mi_wakeup_call that came earlier is visible after
 * this returns, so the caller looks once more and calls again if it finds something. */
void mi_wakeup_done(struct mi_wakeup *w);

#endif
