/*
 * journal_private: what the journal's own files share: its state, by the thread and lock that own it.
 *
 * Order of locks: write_lock, then lock. write_lock is held across the one write of an append (the main
 * thread's, or the disk thread's for gathered records), never across a sync or a read, except with
 * MI_SYNC_ALWAYS, where the main thread's append includes its sync. lock guards positions and lists only and
 * is never held across I/O.
 */
#ifndef MI_JOURNAL_PRIVATE_H
#define MI_JOURNAL_PRIVATE_H

#include "base/limits.h"
#include "journal/counts.h"
#include "journal/file_ops.h"
#include "journal/identity.h"
#include "journal/journal.h"
#include "journal/segment.h"

#include <pthread.h>
#include <stdatomic.h>

#define MI_GATHER_NS (2 * MI_NS_PER_MS)    /* gathered QoS 0 records are written after this at the latest */
#define MI_DISK_RETRY_NS (1 * MI_NS_PER_S) /* between tries to write again after a failure */
#define MI_DISK_LOG_NS (30 * MI_NS_PER_S)  /* between log lines of one cause */
#define MI_MAX_APPEND_BYTES                                                                   \
    (UINT32_MAX - (16u << 20))            /* of one append: offsets in a segment have 32 bits \
                                           */
#define MI_QUARANTINE_BYTES (16ull << 20) /* of the file that keeps damaged bytes */

enum {
    MI_GATHER_RECORDS = MI_QOS0_GATHER_BYTES / MI_RECORD_HEAD + 1,
    MI_PAGE = 4096,
    MI_SMALL_RECORD = 2048, /* bytes up to which copying a record beats telling the kernel of its pieces */
    MI_RECYCLE_POOL = 2 /* released segments beyond keep that wait to be recycled instead of being unlinked */
};

struct mi_journal_segment {
    struct mi_segment_header h; /* constant */
    uint64_t room;              /* bytes on the device: h.size, less when recovery gave the empty part back */
    int fd;                     /* for writing; -1: closed. Opened by main, closed by the disk thread */
    atomic_bool dir_synced;     /* its name is durable */
    /* under lock */
    uint64_t next;        /* one more than its last record's sequence; h.first when empty */
    uint64_t end;         /* offset behind its last record */
    uint64_t records;     /* valid ones in it */
    uint64_t synced_next; /* below it its records are on the device */
    uint64_t damage_end;  /* damage before this offset has been counted */
    uint32_t routes;
    uint8_t *seal; /* totals, with room for the trailer; from its retirement to its sealing */
    bool sealed;
    bool retired;     /* takes no more records; wants sync and seal */
    bool sync_failed; /* a sync of it failed: not tried again, never recycled */
    bool seal_failed; /* stays without; the next start scans it */
};

struct mi_journal {
    /* set at open, then constant */
    const struct mi_file_ops *ops;
    const struct mi_clock *clock;
    const struct mi_log *log;
    char *directory;
    int dir, lock_fd;
    uint64_t max_size, keep, segment_size, sync_interval_ns;
    enum mi_sync sync;
    struct mi_identity identity;
    uint64_t run;
    bool opened; /* as a whole: closing writes seals */
    void (*wake_disk)(void *);
    void (*wake_readable)(void *);
    void *wake_context;

    /* under write_lock */
    pthread_mutex_t write_lock;
    struct mi_journal_segment *active; /* in the list; NULL: the next append starts one */
    bool header_pending;               /* the active segment's header goes out with its first record */
    uint64_t write_next;               /* sequence of the next record, gathered ones counted */
    uint8_t *gather;
    size_t gather_len, gather_count;
    uint64_t gather_since_ns;
    uint32_t gather_routes[MI_GATHER_RECORDS];
    struct mi_buf heads; /* scratch: heads and names of one append */
    uint64_t published;  /* writes that readers may see */
    bool want_disk;      /* the disk thread should be woken after this append */
    struct mi_log_limit failed_limit;

    /* under lock */
    pthread_mutex_t lock;
    struct mi_journal_segment **list; /* by sequence; the last one may be active */
    size_t list_len, list_cap;
    struct mi_journal_segment *spare; /* prepared, not in the list */
    uint64_t next_number;
    uint64_t released;
    uint64_t base_next; /* next sequence when the journal was opened, or set_counts moved it */
    struct mi_counts counts;
    uint64_t dirty_since_ns;
    bool dirty; /* the active segment has records that are not synced */
    uint64_t damaged_records, torn_bytes, gathered_lost;
    uint64_t quarantined; /* bytes in the quarantine file */
    struct mi_log_limit damage_limit;

    /* any thread */
    atomic_bool failed;
    atomic_bool reader_waits; /* a cursor found nothing more; the next record wakes the reader */

    /* disk thread only */
    uint64_t retry_ns;
    int space_errno; /* why there is no spare; 0: unknown */
    struct mi_log_limit sync_limit, space_limit;

    /* bridge thread only */
    int read_fd;
    uint64_t read_segment;
};

/* ---- journal.c ---- */
/* Opens with file operations of the caller's; mi_journal_open is this with the system's. */
int mi_journal_open_with(const struct mi_journal_options *options, const struct mi_file_ops *ops,
                         struct mi_journal **out, struct mi_journal_report *report, struct mi_error *err);

/* ---- segments.c: the list and the files; lock held where it says so ---- */
struct mi_journal_segment *mi_segment_new(uint64_t number, uint64_t size);
/* Closes and frees; NULL is allowed. */
void mi_segment_free(struct mi_journal *j, struct mi_journal_segment *s);
bool mi_segment_append(struct mi_journal *j, struct mi_journal_segment *s); /* lock held; false: memory */
void mi_segment_remove(struct mi_journal *j, struct mi_journal_segment *s); /* lock held */
/* The segment with that number, or NULL. Lock held. */
struct mi_journal_segment *mi_segment_find(struct mi_journal *j, uint64_t number);
/* Takes no more records, and the disk thread is done with it: sealed, or given up. Lock held. */
bool mi_segment_settled(const struct mi_journal_segment *s);
/* Bytes of the files: of segments with unreleased records, of released ones, of all with the spare. Lock
 * held. */
struct mi_usage {
    uint64_t used, kept, total;
};
struct mi_usage mi_segment_usage(struct mi_journal *j);
/* The oldest segment that holds nothing unreleased and is not needed for the next sequence; NULL: none. Lock
 * held. */
struct mi_journal_segment *mi_segment_oldest_kept(struct mi_journal *j);
/* Creates a file of that size under the next number. NULL with errno. No lock held. */
struct mi_journal_segment *mi_segment_create(struct mi_journal *j, uint64_t size);
/* Moves what counts hold for the segment being written into its seal. */
void mi_segment_take_totals(struct mi_journal_segment *s, struct mi_counts *counts);
/* Takes its totals from the journal's counts and marks it retired. Lock held. */
void mi_segment_retire(struct mi_journal *j, struct mi_journal_segment *s);
/* Writes the seal (not the sync). -1 with errno. */
int mi_segment_write_seal(struct mi_journal *j, struct mi_journal_segment *s);
/* Bytes to leave free in a segment behind its records for the seal, with more new routes. write_lock or lock
 * held. */
uint64_t mi_segment_reserve(const struct mi_journal *j, size_t more);

/* ---- append.c ---- */
/* Writes what is gathered. write_lock held. False: the disk refused, and the journal is marked failed. */
bool mi_append_gathered(struct mi_journal *j);
/* Marks the journal failed, closes the active segment for appends, logs. write_lock held, lock not. */
void mi_append_fail(struct mi_journal *j, const char *what, int why);

/* Wakes the reader if it found nothing more. No lock held. */
void mi_append_wake_reader(struct mi_journal *j);

/* ---- disk.c ---- */
/* Syncs, seals and closes the segments that take no more. Disk thread, or at close. */
void mi_disk_seal_retired(struct mi_journal *j);

/* ---- recover.c ---- */
/* Reads the directory into the list. -1 with err. */
int mi_recover(struct mi_journal *j, struct mi_journal_report *report, struct mi_error *err);
/* Adds the journal's own records with sequence >= from to the counts. */
int mi_recover_counts(struct mi_journal *j, uint64_t from, struct mi_error *err);

/* ---- damage.c ---- */
/* What stands at offset of an open segment file is no record: counts it, logs, and keeps its bytes in the
 * quarantine file within its bound. Damage that was counted before is left alone. No lock held. */
struct mi_damage {
    int fd;
    uint64_t number, offset, bytes, records;
};
void mi_damage_found(struct mi_journal *j, const struct mi_damage *d);

#endif
