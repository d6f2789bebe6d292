/*
 * disk_thread: runs the journal's disk steps and writes the state file, so that no sync happens on another
 * thread.
 */
#ifndef MI_DISK_THREAD_H
#define MI_DISK_THREAD_H

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "journal/journal.h"
#include "journal/slots.h"

struct mi_disk_thread;

/* Borrows journal and slots, which must outlive it. Starts nothing. */
struct mi_disk_thread *mi_disk_thread_new(struct mi_journal *journal, struct mi_slots *slots,
                                          const struct mi_clock *clock, const struct mi_log *log);
void mi_disk_thread_free(struct mi_disk_thread *d); /* after stop, or when start was never called */

/* Starts the thread with all signals blocked. -1 with err. Main thread. */
int mi_disk_thread_start(struct mi_disk_thread *d, struct mi_error *err);
/* Lets it end after what it is doing and joins it. A state that was handed over is written first. Main
 * thread. */
void mi_disk_thread_stop(struct mi_disk_thread *d);

/* Asks for a step soon. Any thread; at most one system call, none while one is already asked for. */
void mi_disk_thread_wake(struct mi_disk_thread *d);

/* Hands over a state to write; takes the bytes out of content (swapped with an empty buffer). false, and
 * content as it was, while an earlier one is still being written. release comes back through
 * mi_disk_thread_written. Bridge thread. */
bool mi_disk_thread_submit(struct mi_disk_thread *d, struct mi_buf *content, uint64_t release);
/* The release of the newest state that is on disk. Any thread. */
uint64_t mi_disk_thread_written(struct mi_disk_thread *d);

#endif
