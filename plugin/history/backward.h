/*
 * backward: the newest N that match, found from the tails of all partitions and merged by the time of their
 * append; what a page holds is in order. Bridge thread.
 */
#ifndef MI_HISTORY_BACKWARD_H
#define MI_HISTORY_BACKWARD_H

#include "history/job.h"

/* Once the plan is there. NULL with why: memory is out. */
struct mi_backward *mi_backward_new(struct mi_job *job, const char **why);
void mi_backward_free(struct mi_backward *b); /* NULL is allowed */
uint64_t mi_backward_step(struct mi_job *job, uint64_t now_ns);
void mi_backward_fetched(struct mi_job *job, enum mi_fetched what, const struct iggy_polled *answer,
                         const char *why);
/* Looks no further: what was found is delivered. Repeating it does nothing. */
void mi_backward_cut(struct mi_job *job, enum mi_end_reason reason);

#endif
