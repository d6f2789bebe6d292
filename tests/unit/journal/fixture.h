/*
 * fixture: a journal in a directory of its own, a clock that tests move, log lines that tests read, and
 * records whose content follows from a number, so that every one can be checked when it comes back.
 */
#ifndef JOURNAL_FIXTURE_H
#define JOURNAL_FIXTURE_H

#include "faulty_files.h"
#include "journal/journal.h"

struct fixture {
    char base[256], dir[300];
    struct faulty files;
    uint64_t now_ns, random;
    struct mi_clock clock;
    struct mi_log log;
    char lines[8192];
    struct mi_journal_options options;
    struct mi_journal *j;
    struct mi_journal_report report;
    struct mi_error err;
    unsigned disk_wakes, read_wakes;
};

/* A new directory, small segments (16 KB), 1 MB in all, keep 0, sync by interval of 100 ms. Opens nothing. */
void fixture_begin(struct fixture *f);
void fixture_end(struct fixture *f);
bool fixture_open(struct fixture *f);
void fixture_close(struct fixture *f);
/* Closes as a crash would: what the disk does not hold is gone. */
void fixture_crash(struct fixture *f);
/* Closes as a loss of power would. */
void fixture_power_loss(struct fixture *f, unsigned seed, unsigned keep);

/* Bytes of the payload of record number n: 0 to most-1, from n. */
size_t fixture_payload(uint64_t n, uint8_t *payload, size_t most);
/* One record whose content follows from n. */
enum mi_append fixture_append(struct fixture *f, uint64_t n, uint8_t qos);
/* Is r what fixture_append made of n? */
bool fixture_is(const struct mi_record *r, uint64_t n);
/* Number n of a record that fixture_append made. */
uint64_t fixture_number(const struct mi_record *r);

/* Walks the journal from a sequence on: how many records; numbers (may be NULL) gets up to cap of them. Fails
 * the test on a read error, a content that is not right, or a sequence that does not grow. */
size_t fixture_walk(struct fixture *f, uint64_t from, uint64_t *numbers, size_t cap);

/* The path of a file in the journal; a static buffer. */
const char *fixture_path(const struct fixture *f, const char *name);
/* Name of the n-th segment file in order of names; false: there is none. */
bool fixture_segment(const struct fixture *f, size_t n, char *name);
size_t fixture_files(const struct fixture *f);
/* Changes bytes of a file in place. */
void fixture_flip(const char *path, long offset, uint8_t mask);

#endif
