/*
 * crash_child: the process that is killed. It lives on a journal at random (seeded) and tells each thing that
 * it may rely on, once it may, as a struct crash_note on descriptor 3.
 */
#ifndef CRASH_CHILD_H
#define CRASH_CHILD_H

#include "base/bytes.h"

enum crash_kind {
    NOTE_TRYING,    /* number: about to append that record and more */
    NOTE_APPENDED,  /* number is in the journal at (run, sequence), acknowledged if qos > 0 */
    NOTE_REFUSED,   /* number was refused and must never be seen */
    NOTE_RELEASING, /* sequence: records below may go from now on */
    NOTE_STATE      /* number: the state file says so now */
};

struct crash_note {
    uint32_t kind, qos;
    uint64_t number, run, sequence;
};

enum { CRASH_OPS = 500, CRASH_ENDED = 7 };

/* Content of record number n: at most this many bytes of payload, written to payload. */
enum { CRASH_MOST = 20000 };
size_t crash_payload(uint64_t n, uint8_t *payload);

/* Options that both sides use for the directory. */
struct mi_journal_options;
void crash_options(struct mi_journal_options *o, const char *directory, unsigned seed);

/* Lives CRASH_OPS operations from record number first on and ends without closing: exit code CRASH_ENDED. */
int crash_child(const char *directory, unsigned seed, uint64_t first);

#endif
