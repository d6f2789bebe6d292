/*
 * outcome: what the end of a produce request means. One table, from design section 7.
 */
#ifndef MI_OUTCOME_H
#define MI_OUTCOME_H

#include "iggy_client.h"

enum mi_outcome {
    MI_OUTCOME_STORED,     /* done */
    MI_OUTCOME_NOT_STORED, /* certainly not; this lane backs off and sends again, nothing to read back */
    MI_OUTCOME_LINK,       /* certainly not, and no lane would fare better: no connection, wrong server */
    MI_OUTCOME_TOKEN,      /* certainly not: the login failed or the session is refused; as LINK */
    MI_OUTCOME_UNKNOWN,    /* perhaps, perhaps later: settle, read back, send what is missing */
    MI_OUTCOME_TARGET,     /* certainly not: stream, topic, partition or right is missing */
    MI_OUTCOME_MESSAGE,    /* certainly not: something in this batch is refused */
    MI_OUTCOMES
};
const char *mi_outcome_name(enum mi_outcome outcome);

/* Pure. What nobody has heard of is UNKNOWN, so that no surprise can lose or duplicate. */
enum mi_outcome mi_outcome_of(const struct iggy_result *result);

#endif
