/*
 * forward: reads partition after partition from where the request says, each in its order. Bridge thread.
 */
#ifndef MI_HISTORY_FORWARD_H
#define MI_HISTORY_FORWARD_H

#include "history/job.h"

/* The clocks of brokers and Iggy may differ by this much; by so much earlier a time is looked for in Iggy. */
#define MI_FORWARD_SKEW_US 5000000ull

/* Once the plan is there. NULL with why (static text): the cursor does not fit it. */
struct mi_forward *mi_forward_new(struct mi_job *job, const char **why);
void mi_forward_free(struct mi_forward *f); /* NULL is allowed */
uint64_t mi_forward_step(struct mi_job *job, uint64_t now_ns);
void mi_forward_fetched(struct mi_job *job, enum mi_fetched what, const struct iggy_polled *answer,
                        const char *why);
/* Ends the job where it stands, with a cursor. */
void mi_forward_cut(struct mi_job *job, enum mi_end_reason reason);

#endif
