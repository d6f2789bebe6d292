/*
 * settle: the answer to an unknown outcome: reading back what Iggy holds (design section 7). And what a lane
 * knows of its partition. For the files of this folder.
 *
 * What is asked for is, in this order: the batch at hand; what was lost and may partly be there (the lane's
 * queue again); everything that may have been sent before this start.
 */
#ifndef MI_SETTLE_H
#define MI_SETTLE_H

#include "out/id_set.h"
#include "out/out_private.h"

enum {
    MI_READ_PAGE = 1000,      /* messages of one poll */
    MI_MAX_READ_BACK = 100000 /* messages read from the end backwards where no offset is known; beyond it what
                                 was sent may be sent twice (promise 3) */
};

/* Asks for messages of the lane's partition; done gets the lane. False: no request could be made. */
bool mi_lane_poll(struct mi_lane *lane, enum iggy_strategy strategy, uint64_t value, uint32_t count,
                  iggy_polled_fn done);
/* The answer to a lane's request is here: its outcome, noted where all answers are. False: out is being freed
 * and nothing is to follow. */
bool mi_lane_answered(struct mi_lane *lane, const struct iggy_result *result, enum mi_outcome *outcome);

/* Begins a read-back for a lane in READING_BACK; it ends with a READ_ event. */
void mi_out_read_back(struct mi_lane *lane);
/* What was found is done; the rest waits in its queue. */
void mi_out_reader_finish(struct mi_lane *lane);
void mi_out_reader_free(struct mi_lane *lane);

/* current is stored. True when what was confirmed before must be checked first: the answer shows a sign of a
 * restart, or offsets are given out again. */
bool mi_confirmed(struct mi_lane *lane, const struct iggy_produced *produced, bool sign);
/* A message of ours stands at that offset; it is the newest that is known to. */
void mi_known_at(struct mi_lane *lane, struct iggy_id id, uint64_t offset);
/* The check went well. */
void mi_checked(struct mi_lane *lane);
/* What was confirmed means nothing any more: the topic is another one. */
void mi_forget_confirmed(struct mi_lane *lane);
/* The target's details are fresh: a lane at rest learns from where on its next messages can stand. */
void mi_saw_tail(struct mi_lane *lane);

#endif
