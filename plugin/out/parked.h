/*
 * parked: what cannot be shipped for reasons of its own target leaves the window (design section 6, "Window
 * and parking"). Bridge thread; for the files of this folder.
 *
 * A lane that is held for park_after, or the records of a target that is missing that long, are parked; when
 * the window is full, at once. Their records are written to the target's file, synced, and only then done in
 * the window; later ones follow. They stay pending in the account. A parked record comes back as a side entry
 * of the window, a few at a time while the target does not work, in order and before all newer ones. A
 * partition's parking ends when the whole file is back in the lanes.
 *
 * Crashes: the state file names the bytes of the file that are valid, and those in it that are settled. What
 * stands behind was not done in that state, so the journal still has it: it is cut at the start. A file is
 * removed, and its space given back, only after a state that no longer needs it is on disk.
 *
 * The order is kept per partition. One file serves all partitions of a topic: where only some of them work
 * again, their parked records wait behind those of the others.
 */
#ifndef MI_PARKED_H
#define MI_PARKED_H

#include "out/out_private.h"
#include "out/parked_file.h"

struct mi_parked_loaded {
    uint64_t at;
    uint32_t bytes;
    bool done;
};

/* Of the records that are not settled, those of one route. */
struct mi_parked_share {
    uint32_t route; /* slot */
    uint64_t records, bytes;
};

struct mi_parked {
    struct mi_target *target;
    uint32_t number, index;          /* of the file; in mi_out.parked */
    uint64_t old_size;               /* bytes that were there at this start */
    uint64_t size;                   /* synced bytes */
    uint64_t read_at;                /* behind what was loaded or passed over */
    struct mi_parked_loaded *loaded; /* in order; the first count from first on */
    uint32_t first, count, cap;
    uint32_t in_window;          /* of them not done */
    struct mi_done_runs settled; /* bytes behind read_at that an earlier life has settled */
    struct mi_parked_share *share;
    uint32_t shares;
    uint64_t oldest_us; /* no unsettled record is older */
    uint64_t write_due_ns, read_due_ns;
    uint32_t read_failures; /* of the journal, in a row */
    bool old;               /* some of the records may have been sent before this start */
    bool fresh;             /* nothing was written since parking began */
    bool flowing;           /* something was settled since a lane was held last */
    /* Space is given back when the state of free_release is on disk. */
    uint64_t free_release, free_to, freed;
    bool free_pending;
};

/* Begins, writes, loads, ends; returns when it wants to be called again, 0: at once. */
uint64_t mi_parked_step(struct mi_out *out, uint64_t now_ns);
void mi_parked_fini(struct mi_out *out);

/* The target's, made at first use; NULL: memory is out. */
struct mi_parked *mi_parked_of(struct mi_out *out, struct mi_target *t);
/* A loaded entry was settled; called before it is done in the window. */
void mi_parked_done(struct mi_out *out, uint32_t entry);
/* A lane of the target is held. */
void mi_parked_stuck(struct mi_target *t);
/* Is there anything parked that is not settled? */
bool mi_parked_any(const struct mi_parked *p);
/* ... that may have been sent before this start? Then the next start must look for it where this one did,
 * also when it was found: it is not settled before it is loaded. NULL is allowed. */
bool mi_parked_old(const struct mi_parked *p);
uint64_t mi_parked_records(const struct mi_parked *p);
/* Offset below which all is settled. */
uint64_t mi_parked_start(const struct mi_parked *p);
void mi_parked_count(struct mi_out *out, struct mi_parked *p, uint32_t route, uint64_t records,
                     uint64_t bytes);
struct mi_parked_totals {
    uint64_t records, bytes, targets, oldest_us;
};
void mi_parked_total(const struct mi_out *out, struct mi_parked_totals *totals);

/* ---- parked_memory.c ---- */

void mi_parked_checkpoint(struct mi_out *out, struct mi_checkpoint_writer *w);
/* Items P, then Q and R of it. false: memory is out. */
bool mi_parked_restore(struct mi_out *out, const struct mi_checkpoint_item *item);
/* After the checkpoint was taken in: cuts the files. Without a checkpoint what lies there is taken over as
 * far as the journal does not have it; adopted is told how many records of which route. -1 with err. */
int mi_parked_open_all(struct mi_out *out, bool checkpoint,
                       bool (*adopted)(void *context, uint32_t route, uint64_t records), void *context,
                       struct mi_error *err);

#endif
