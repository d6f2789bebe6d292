/*
 * track: the position of one reader. It never passes a message that is still on its way to the broker, and
 * skipped messages move it only in order. Pure.
 *
 * Messages of a reader reach the broker in the order of their offsets and are reported in that order. When
 * the reader is placed elsewhere (its topic was made again, the server lost messages), what is still on its
 * way belongs to its life before: those are reported under the reader's former id.
 *
 * What the broker has is kept as position at once, or after its own save. A place elsewhere is kept at once:
 * there is nothing to go back to.
 */
#ifndef MI_TRACK_H
#define MI_TRACK_H

#include "in/inbox.h"

struct mi_place {
    uint64_t next;       /* offset of a message */
    struct mi_mark mark; /* of the one before it */
    bool marked;         /* mark is known */
};

struct mi_track {
    uint64_t next;       /* first offset that the broker does not have yet */
    struct mi_mark mark; /* of the message before it */
    bool marked;         /* mark is known */
    /* the position: not beyond next (see save_gate.h) */
    struct mi_place kept;     /* goes to the state file */
    struct mi_place captured; /* may be kept once the broker has saved */
    /* what was read */
    uint64_t read_next;
    struct mi_mark read_mark;
    bool read_marked;
    uint64_t out_next; /* one past the last message on its way; not above next: none is */
    /* of the life before, still on its way */
    bool former;
    uint64_t former_out_next;
};

/* Placed at an offset, with the mark of the message before it if that is known. True when messages of the
 * life before are still on their way: then their reports are to be told apart by a new id of the reader. */
bool mi_track_place(struct mi_track *t, uint64_t at, const struct mi_mark *before);

/* The message at that offset is on its way to the broker; call before mi_track_read of the same. */
void mi_track_put(struct mi_track *t, uint64_t offset);
/* Everything up to and including that message was read (put or skipped). True when the position moved. */
bool mi_track_read(struct mi_track *t, const struct mi_mark *mark);
/* As mi_track_read for a message of which nothing but its offset is known. */
bool mi_track_skip_to(struct mi_track *t, uint64_t next);

/* The broker has that message and all before it; former: reported under the former id. True when the position
 * moved. */
bool mi_track_delivered(struct mi_track *t, const struct mi_mark *mark, bool former);
/* What the broker has becomes the position. True when that moved it. */
bool mi_track_keep(struct mi_track *t);
/* The broker's store was looked at: saved says that what was captured at the look before is in it; what the
 * broker has now is captured. True when the position moved. */
bool mi_track_looked(struct mi_track *t, bool saved);
/* Does the broker have more than the position says? */
bool mi_track_unkept(const struct mi_track *t);

/* Is anything on its way? */
bool mi_track_out(const struct mi_track *t);

#endif
