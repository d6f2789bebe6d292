/*
 * letter_round: a handful of dead letters on their way out of the file, by the orders of `mosquitto_iggy
 * dead-letters requeue|drop`. The tool does whole rounds by itself; on a running broker the bridge thread
 * reads and takes out, and the main thread appends in between.
 *
 * Accounting (design promise 8): a letter stays counted as dead_lettered, for that is what became of the
 * message that was received. Requeued it is a new receipt of its route: a new record with a new sequence and
 * so a new message id in Iggy, one more in received and in pending. Dropped it changes no counter. So
 * received = committed + dead_lettered + dropped + pending holds at every moment, and dead_lettered counts
 * how often messages failed, not how many letters lie in the file.
 *
 * Order of things: a letter is taken out only after its new record is on the device. A crash in between
 * leaves it in the file and in the journal: it may then be requeued twice, but is never lost.
 */
#ifndef MI_LETTER_ROUND_H
#define MI_LETTER_ROUND_H

#include "journal/journal.h"
#include "out/dead_letter_file.h"

enum { MI_ROUND_LETTERS = 256, MI_ROUND_BYTES = 1 << 20 /* or a single larger letter */ };

struct mi_order {
    bool requeue; /* else drop */
    bool all;
    uint64_t number; /* without all: sequence of the one letter */
    uint64_t below;  /* with all: letters filed later are not meant; UINT64_MAX: no limit */
};

/* "requeue all", "drop 17". false: it is no order. below is set to UINT64_MAX. */
bool mi_order_parse(const char *text, struct mi_order *out);

/* Some letters can only fail again: their stream or topic name is none that Iggy can address. They are not
 * requeued. */
bool mi_letter_is_hopeless(const struct mi_record *record);

struct mi_round {
    struct mi_record records[MI_ROUND_LETTERS]; /* as they go to the journal; spans into bytes */
    uint64_t sequences[MI_ROUND_LETTERS];       /* of the letters */
    size_t count;
    size_t appended;   /* the first so many records are in the journal */
    uint64_t hopeless; /* letters passed over, since mi_round_init */
    uint64_t damaged;  /* damaged places passed over, since mi_round_init */
    uint64_t from;     /* offset where the round began */
    uint64_t next;     /* offset where the next one begins */
    struct mi_buf bytes;
};

void mi_round_init(struct mi_round *r);
void mi_round_fini(struct mi_round *r);

/* Reads the next letters of that order, from r->next on. 1: count is above 0; 0: no more; -1 with err. Reads
 * at most MI_ROUND_LETTERS letters that are there for the taking; those taken out before cost a read of their
 * head. */
int mi_round_read(struct mi_round *r, struct mi_letter_file *f, const struct mi_order *order,
                  struct mi_error *err);

/* Appends up to most of the records that are not appended yet. Main thread. MI_APPEND_OK when that went well.
 */
enum mi_append mi_round_append(struct mi_round *r, struct mi_journal *j, size_t most);

/* Takes the first count letters of the round out of the file, durably. The file may be another one than that
 * which they were read from: they are looked for by sequence, from the beginning when replaced is set. */
int mi_round_take_out(struct mi_round *r, struct mi_letter_file *f, size_t count, bool replaced,
                      struct mi_error *err);

#endif
