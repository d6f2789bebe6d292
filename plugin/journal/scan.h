/*
 * scan: walks the records of one open segment file through large sequential reads.
 *
 * The one place that decides whether bytes in a segment are a record: valid in itself (record.h), the
 * segment's run tag, and the sequence that is due. What does not fit is skipped 8 bytes at a time until a
 * later record of the same segment fits; the bytes between are damage.
 */
#ifndef MI_SCAN_H
#define MI_SCAN_H

#include "base/error.h"
#include "journal/file_ops.h"
#include "journal/record.h"

#define MI_SCAN_CHUNK (256u << 10) /* bytes of one read; a larger record is read whole */

struct mi_scan {
    /* set by the caller; end and limit may grow between calls */
    const struct mi_file_ops *ops;
    int fd;
    uint64_t run;
    uint64_t offset; /* of the next record */
    uint64_t due;    /* its sequence */
    uint64_t end;    /* bytes of the file that may hold records */
    uint64_t limit;  /* records have lower sequences than this; UINT64_MAX: unknown */
    /* of the last call: what was skipped before its record */
    uint64_t damage_at, damage_bytes, damage_records;
    /* own */
    uint64_t at; /* of the record that was given last, and its bytes */
    uint32_t bytes;
    uint8_t *data;
    size_t cap, len;
    uint64_t data_at;
};

/* All fields that are the caller's must be set; the rest zero. Frees only memory. */
void mi_scan_fini(struct mi_scan *s);
/* Forgets what was read ahead: another file, or the file changed. */
void mi_scan_forget(struct mi_scan *s);

/* 1: record, spans live until the next call; s->at and s->bytes say where it lies. 0: no further record
 * before end; s->offset stays behind the last one. -1: the file cannot be read (errno), or memory is out
 * (ENOMEM). */
int mi_scan_next(struct mi_scan *s, struct mi_record *out);

/* After 0 with limit known and not reached: everything up to end is damage. Sets the damage fields and moves
 * there. */
void mi_scan_give_up(struct mi_scan *s);

/* After 0 with limit unknown: bytes at s->offset that begin a record of this segment and were not written
 * whole. */
uint64_t mi_scan_torn(struct mi_scan *s);

#endif
