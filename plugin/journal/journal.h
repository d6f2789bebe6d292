/*
 * journal: the append-only disk queue between a PUBLISH and Iggy (design section 6).
 *
 * A directory of segment files. The main thread appends; the disk thread syncs, preallocates, recycles and
 * unlinks in mi_journal_disk_step; the bridge thread reads through cursors and releases what is settled. The
 * few shared positions are guarded inside; no lock is held across a read or a sync. A PUBACK may be sent when
 * mi_journal_append returned MI_APPEND_OK: from then on the record survives a crash of the process, and power
 * loss as the sync option says.
 *
 * When a write fails, what it wrote is taken back and never comes up at a later start; its sequences are used
 * up. When a sync fails, the segment is closed and never synced again: what was acknowledged since its last
 * good sync stays readable and is sent, but power loss may take it until then (logged; durable_sequence stays
 * below it). The journal refuses appends meanwhile, until a new segment was written and synced.
 *
 * Nothing here depends on Mosquitto, curl or the threads' owner. A directory can be looked at without opening
 * it: inspect.h. The file formats: segment.h, record.h.
 */
#ifndef MI_JOURNAL_H
#define MI_JOURNAL_H

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "journal/record.h"

enum mi_sync { MI_SYNC_INTERVAL, MI_SYNC_ALWAYS };

struct mi_journal_options {
    const char *directory; /* created (0700) when its parent exists */
    uint64_t max_size;     /* bytes on disk of what is not yet released; also counts kept segments */
    uint64_t keep; /* bytes of released segments that stay for promise 4; first to go when space is needed */
    uint64_t segment_size; /* 0: MI_SEGMENT_BYTES; tests make it small */
    enum mi_sync sync;
    uint64_t sync_interval_ns;
    const struct mi_clock *clock;
    const struct mi_log *log;
};

/* What opening found; all zero for a new directory. */
struct mi_journal_report {
    bool created;             /* the directory held no journal */
    bool identity_changed;    /* a copied directory: a new identity was drawn */
    uint64_t records;         /* valid records found, without counting sealed segments one by one */
    uint64_t torn_bytes;      /* cut behind the last valid record */
    uint64_t damaged_records; /* skipped in the middle, quarantined */
    uint64_t damaged_bytes;
};

struct mi_journal;

/* Opens or creates, locks (another holder is an error that names its pid where known), recovers, starts a new
 * segment with a new run number. Loads no messages. -1 with err: not writable, locked, unknown format
 * version, no space. */
int mi_journal_open(const struct mi_journal_options *options, struct mi_journal **out,
                    struct mi_journal_report *report, struct mi_error *err);

/* Writes what is gathered, syncs, closes, unlocks. The caller has stopped the other threads. NULL is allowed.
 */
void mi_journal_close(struct mi_journal *j);

/* The bridge's random identity (32 hex digits, NUL-terminated), and whether an identity was one of its former
 * ones: mqtt.origin. Any thread. */
const char *mi_journal_identity(const struct mi_journal *j);
bool mi_journal_is_own(const struct mi_journal *j, struct mi_span identity);

/* ---- main thread ---- */

enum mi_append {
    MI_APPEND_OK,
    MI_APPEND_FULL,   /* max_size reached */
    MI_APPEND_FAILED, /* the disk refused: from now on every append fails until the journal is opened again or
                         mi_journal_disk_step found the disk writable again in a new segment */
    MI_APPEND_TOO_LARGE /* a part does not fit the format, or the record alone passes max_size */
};

/* Appends count records (1 to MI_MAX_HITS) in one write: all or none. Sets run and sequence of each. When all
 * are QoS 0 they may only be gathered in memory (at most MI_QOS0_GATHER_BYTES and 2 ms, then the disk thread
 * writes them); gathered ones are lost if the process dies, as QoS 0 may be, and are counted only once
 * written. With MI_SYNC_ALWAYS and any QoS above 0 this returns after fdatasync. */
enum mi_append mi_journal_append(struct mi_journal *j, struct mi_record *records, size_t count);

/* Is there room for that many more bytes? A cheap look, for deciding before work is done. Main thread. */
bool mi_journal_has_room(struct mi_journal *j, uint64_t bytes);

/* ---- disk thread ---- */

/* Does what is due: write gathered records, fdatasync, preallocate the next segment, seal and recycle,
 * unlink, try a failed disk again. Returns nanoseconds until something will be due (UINT64_MAX: only when
 * woken). */
uint64_t mi_journal_disk_step(struct mi_journal *j);

/* Called (from any of the three threads) when mi_journal_disk_step should run soon, or when new records
 * became readable. Both must be cheap and must not call back. Set once, before the threads start. */
void mi_journal_set_wakers(struct mi_journal *j, void (*disk)(void *), void (*readable)(void *),
                           void *context);

/* ---- bridge thread: reading ---- */

/* Where a record lies; plain data, small, stays valid until its sequence is released and its segment
 * recycled. */
struct mi_journal_ref {
    uint64_t sequence;
    uint64_t segment; /* number of the segment file */
    uint32_t offset;  /* bytes from the segment's start */
    uint32_t bytes;   /* whole record */
};

/* A cursor that walks records in order from a sequence on, through large reads. */
struct mi_cursor;
/* From the first record with sequence >= from (0: the oldest kept). NULL when memory is out. */
struct mi_cursor *mi_cursor_new(struct mi_journal *j, uint64_t from);
void mi_cursor_free(struct mi_cursor *c);
/* 1: the next record, spans live until the next call on this cursor. 0: nothing more for now. -1: the disk
 * cannot be read (err). Damaged records are skipped and counted. */
int mi_cursor_next(struct mi_cursor *c, struct mi_journal_ref *ref, struct mi_record *record,
                   struct mi_error *err);
/* Sequence that the next record will have at least. */
uint64_t mi_cursor_sequence(const struct mi_cursor *c);

/* Reads one record again into buf (reset first); spans live in buf. -1: gone or damaged. */
int mi_journal_read(struct mi_journal *j, const struct mi_journal_ref *ref, struct mi_buf *buf,
                    struct mi_record *record, struct mi_error *err);

/* All records with a lower sequence are settled: their segments may be recycled, after keep. Never moves
 * back. */
void mi_journal_release(struct mi_journal *j, uint64_t sequence);

/* ---- any thread ---- */

struct mi_journal_stats {
    uint64_t first_sequence;    /* oldest still on disk */
    uint64_t released_sequence; /* argument of the last release */
    uint64_t next_sequence;     /* of the next record written */
    uint64_t durable_sequence;  /* below it everything is synced */
    uint64_t bytes;             /* on disk */
    uint64_t max_bytes;
    uint64_t segments;
    uint64_t damaged_records, torn_bytes; /* since open, its own finds included */
    uint64_t gathered_lost;               /* QoS 0 records that were gathered and could not be written */
    bool failed;                          /* refuses appends because of the disk */
};
void mi_journal_stats(struct mi_journal *j, struct mi_journal_stats *out);

/* Records per route: how many with a sequence below *next were ever journaled with that route id, counted on
 * from the base given by mi_journal_set_counts. The list and *next belong to one instant. At most cap entries
 * are written; returns how many routes there are. */
struct mi_route_count {
    uint32_t route;
    uint64_t records;
};
size_t mi_journal_counts(struct mi_journal *j, struct mi_route_count *out, size_t cap, uint64_t *next);

/* At start, before the first append: base counts of all records below sequence (from the checkpoint); the
 * journal adds what it holds from there on, from seals where a segment has one, else by scanning. Without a
 * checkpoint: sequence 0 and no counts. -1 when the disk cannot be read. */
int mi_journal_set_counts(struct mi_journal *j, uint64_t sequence, const struct mi_route_count *counts,
                          size_t count, struct mi_error *err);

#endif
