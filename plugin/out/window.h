/*
 * window: the records at the journal's head that out looks at at once (design section 6), and the queues they
 * wait in. Pure.
 *
 * A ring of MI_WINDOW_RECORDS small entries in the order of the journal. Entries are done in any order; the
 * start moves on over those that are. Beside the ring stand MI_SIDE_ENTRIES of the same kind for records that
 * are not at the head (what Iggy lost, what was parked). An entry is named by its index, which stays its own
 * until it is done.
 */
#ifndef MI_WINDOW_H
#define MI_WINDOW_H

#include "base/bytes.h"
#include "base/limits.h"
#include "journal/journal.h"

enum { MI_SIDE_ENTRIES = 32768 };
#define MI_NO_ENTRY UINT32_MAX
#define MI_NO_LANE UINT32_MAX

struct mi_entry {
    struct mi_journal_ref ref;
    uint64_t run;
    uint32_t next;    /* in its queue; MI_NO_ENTRY at the end */
    uint32_t parked;  /* it stands in that parked file, from 1 on (parked.h), at offset ref.segment */
    uint32_t lane;    /* MI_NO_LANE while it waits for its target */
    uint32_t route;   /* slot, see routes.h */
    uint32_t encoded; /* upper bound of what it adds to a request body */
    uint32_t key_hash;
    uint8_t reason; /* enum mi_reason: it goes to the dead letters */
    bool balanced;
    bool old;   /* journaled before this start: may have been sent before */
    bool filed; /* a dead letter that its stream had its chance at: the file is next */
    bool found; /* seen in Iggy by a read-back that is still going on */
    bool done;
};

struct mi_window {
    struct mi_entry *entries; /* ring, then side entries */
    uint64_t head, tail;      /* slots; the ring index is the slot modulo its size */
    uint64_t next_sequence;   /* one more than the last record taken in; where the window ends */
    uint32_t side_free;       /* list through next */
    uint32_t side_used;
    uint32_t side_fresh; /* side entries never used yet */
};

bool mi_window_init(struct mi_window *w, uint64_t start_sequence);
void mi_window_fini(struct mi_window *w);

bool mi_window_has_room(const struct mi_window *w);
/* Takes a record in; the caller has looked for room. The entry is zero but for ref, next and lane. */
uint32_t mi_window_push(struct mi_window *w, const struct mi_journal_ref *ref);
/* Settled for good; start moves on when it can. Side entries become free. */
void mi_window_done(struct mi_window *w, uint32_t entry);
/* All records below this sequence are done. */
uint64_t mi_window_start(const struct mi_window *w);
uint64_t mi_window_pending(const struct mi_window *w);
/* The entry of a sequence in the ring, or MI_NO_ENTRY. */
uint32_t mi_window_find(const struct mi_window *w, uint64_t sequence);
static inline bool mi_window_is_side(uint32_t entry)
{
    return entry >= MI_WINDOW_RECORDS;
}
/* An entry outside of the ring, or MI_NO_ENTRY when all are in use. */
uint32_t mi_window_side(struct mi_window *w, const struct mi_journal_ref *ref);

/* Runs of done records behind the start, as pairs (distance from the end of the run before, length), for the
 * checkpoint: calls each for every run until it returns false. */
void mi_window_done_runs(const struct mi_window *w,
                         bool (*each)(void *context, uint64_t first, uint64_t count), void *context);

/* ---- queues through the entries ---- */

struct mi_queue {
    uint32_t head, tail, count;
};
void mi_queue_init(struct mi_queue *q);
void mi_queue_push(struct mi_window *w, struct mi_queue *q, uint32_t entry);
void mi_queue_put_back(struct mi_window *w, struct mi_queue *q, uint32_t entry); /* as the first */
uint32_t mi_queue_pop(struct mi_window *w, struct mi_queue *q);
/* Takes out the one behind position skip (0: the first). */
uint32_t mi_queue_take(struct mi_window *w, struct mi_queue *q, uint32_t skip);
/* Merges from into q by sequence; both are in order. from is empty afterwards. */
void mi_queue_merge(struct mi_window *w, struct mi_queue *q, struct mi_queue *from);

#endif
