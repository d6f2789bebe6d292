/*
 * inspect: looks at a journal directory without being its owner: for `mosquitto_iggy journal
 * stat|dump|verify`.
 *
 * Reads only and takes no lock, so it works beside a running broker. What that broker writes or recycles
 * meanwhile may be seen in part: a segment that went away gives no records, one that is being written ends
 * where its last whole record ends.
 */
#ifndef MI_INSPECT_H
#define MI_INSPECT_H

#include "base/bytes.h"
#include "base/error.h"
#include "journal/journal.h"

struct mi_inspect;
/* NULL with err: no directory, no journal in it, not readable, a format that is not ours, memory. */
struct mi_inspect *mi_inspect_open(const char *directory, struct mi_error *err);
void mi_inspect_close(struct mi_inspect *i);

const char *mi_inspect_identity(const struct mi_inspect *i); /* empty: missing or damaged */
size_t mi_inspect_former(const struct mi_inspect *i);        /* identities that it had before */
const char *mi_inspect_former_identity(const struct mi_inspect *i, size_t index);
long mi_inspect_holder(const struct mi_inspect *i); /* pid of the broker that has it open; 0: none */

struct mi_inspect_segment {
    uint64_t number, run, first_sequence, time_us;
    uint64_t bytes; /* of the file */
    bool sealed;
    /* of a sealed one; else 0 until mi_inspect_next came to its end */
    uint64_t next_sequence, records, end;
};
/* By sequence. NULL beyond the last. Valid until close. */
const struct mi_inspect_segment *mi_inspect_segment(const struct mi_inspect *i, size_t index);

enum mi_inspect_found {
    MI_INSPECT_END,    /* of that segment */
    MI_INSPECT_RECORD, /* ref and record are filled in; spans live until the next call */
    MI_INSPECT_DAMAGE, /* ref: where and how many bytes, ref->sequence the first that is missing; lost: how
                          many records */
    MI_INSPECT_TORN,   /* ref: the beginning of a record that was never written whole; END follows */
    MI_INSPECT_ERROR   /* the file cannot be read (err) */
};
/* Starts at the beginning of a segment. */
void mi_inspect_begin(struct mi_inspect *i, size_t index);
enum mi_inspect_found mi_inspect_next(struct mi_inspect *i, struct mi_journal_ref *ref,
                                      struct mi_record *record, uint64_t *lost, struct mi_error *err);

#endif
