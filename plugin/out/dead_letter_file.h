/*
 * dead_letter_file: walks the file of dead letters (dead_letters.h), takes letters out of it and gives their
 * space back. For the tool on a stopped broker and for the bridge on a running one; one thread at a time
 * writes, others may read beside it.
 *
 * A letter is known by the sequence that its message had in the journal: it stays the same whatever happens
 * around it. Taken out means that its run number is 0, which is one aligned write of 8 bytes: a crash leaves
 * it either in or out. Its bytes stay until mi_letter_file_compact, because out must know its sequence until
 * the state file says that the message is settled, or a crash would file it once more.
 *
 * What is no letter, with a letter behind it, is damage: it is passed over and shown as such. Without one it
 * is the torn end.
 */
#ifndef MI_DEAD_LETTER_FILE_H
#define MI_DEAD_LETTER_FILE_H

#include "base/bytes.h"
#include "base/error.h"
#include "journal/record.h"

struct mi_letter {
    uint64_t at, bytes; /* where it stands, and how much of the file it is */
    bool damaged;       /* these bytes are no letter; nothing below is filled in */
    bool taken_out;
    uint64_t sequence;
    struct mi_record record; /* only from a whole read of a letter that is not taken out; spans live until the
                                next call */
};

struct mi_letter_file;

/* 1: opened; 0: there is no file, so no letters; -1 with err. to_write: for mi_letter_file_take_out. */
int mi_letter_file_open(const char *directory, bool to_write, struct mi_letter_file **out,
                        struct mi_error *err);
void mi_letter_file_close(struct mi_letter_file *f); /* NULL is allowed */

/* The next letter (or damage) goes on at this offset; 0: the first. */
void mi_letter_file_seek(struct mi_letter_file *f, uint64_t at);
/* 1: one; 0: the end as it is now; -1: the file cannot be read (err). Not whole: heads only, no CRC. */
int mi_letter_file_next(struct mi_letter_file *f, bool whole, struct mi_letter *letter, struct mi_error *err);
/* After the end: bytes behind the last letter that are none. */
uint64_t mi_letter_file_torn(const struct mi_letter_file *f);
/* Was the file replaced since it was opened (mi_letter_file_compact)? */
bool mi_letter_file_replaced(const struct mi_letter_file *f);

/* Takes that letter out. Durable after mi_letter_file_sync. -1 with err. */
int mi_letter_file_take_out(struct mi_letter_file *f, const struct mi_letter *letter, struct mi_error *err);
int mi_letter_file_sync(struct mi_letter_file *f, struct mi_error *err);

/* Writes the file anew without the taken letters whose sequence is below settled_below, and puts it in the
 * place of the old one. 1: replaced, whoever has it open opens it again; 0: nothing to gain; -1 with err, the
 * old one stays. */
int mi_letter_file_compact(const char *directory, uint64_t settled_below, struct mi_error *err);

#endif
