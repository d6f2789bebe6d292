/*
 * dead_letters: the bounded file beside the journal for messages that Iggy can never take and that no
 * dead-letter stream took. Records in the journal's form (journal/record.h), each with its reason, one behind
 * the other:
 *
 *   off len
 *     0   8  run number, upper half of the message id
 *     8      record, its reason set
 *
 * Appended and synced one by one; a torn tail is cut at opening, and the file is opened again when another
 * one has taken its place. The sequences that the file holds are known, so that a record comes in once even
 * when a crash hit between this file and the state file.
 */
#ifndef MI_DEAD_LETTERS_H
#define MI_DEAD_LETTERS_H

#include "base/error.h"
#include "journal/record.h"

#define MI_DEAD_LETTER_FILE "dead-letters.log"

struct mi_dead_letters;

/* Opens nothing yet. Sequences below first are settled and need not be remembered. NULL: memory is out. */
struct mi_dead_letters *mi_dead_letters_new(const char *directory, uint64_t max_bytes, uint64_t first);
void mi_dead_letters_free(struct mi_dead_letters *d);
void mi_dead_letters_set_max(struct mi_dead_letters *d, uint64_t max_bytes);

enum mi_dead { MI_DEAD_WRITTEN, MI_DEAD_FULL, MI_DEAD_FAILED };
/* Writes and syncs; a sequence that is there already counts as written. FAILED: err says why. */
enum mi_dead mi_dead_letters_add(struct mi_dead_letters *d, const struct mi_record *record,
                                 struct mi_error *err);

#endif
