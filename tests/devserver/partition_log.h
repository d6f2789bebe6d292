/*
 * partition_log: the messages of one partition, in batches as they were produced.
 *
 * Like the real server it confirms what is only in memory: a batch is "saved" when the unsaved ones hold
 * enough messages or bytes, at a graceful stop, or when asked; dev_log_lose_unsaved is what kill -9 does to
 * it. With a file, saved batches live there and memory holds only the unsaved ones and an index; without, all
 * stay in memory.
 *
 * A batch is a run of records: id low and high (8 bytes each), origin timestamp (8), header length (4),
 * payload length (4), all little-endian, then headers and payload. In the file each batch has a 40-byte
 * header in front: magic (8), base offset (8), timestamp (8), count (4), bytes (4), XXH3-64 of the records
 * (8).
 */
#ifndef DEV_PARTITION_LOG_H
#define DEV_PARTITION_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synthetic.h"

enum { DEV_RECORD_HEAD = 32 };

struct dev_batch {
    uint64_t base_offset;
    uint64_t timestamp; /* microseconds: append time, one for the batch */
    uint32_t count;
    uint32_t bytes;    /* of the records */
    uint8_t *records;  /* NULL: in the file */
    uint64_t position; /* of the records in the file */
    bool new_segment;  /* the first batch of a segment */
};

struct dev_log {
    struct dev_batch *batches; /* kept ones are [first, count) */
    size_t first, count, cap;
    size_t saved;           /* batches before this index survive dev_log_lose_unsaved */
    uint64_t next_offset;   /* tail + 1 */
    uint64_t first_offset;  /* nothing below is kept */
    uint64_t bytes;         /* of all kept records */
    uint64_t segment_bytes; /* of the open segment */
    uint64_t unsaved_messages, unsaved_bytes;
    int fd; /* -1: memory only */
    uint64_t file_size;
    uint64_t memory;                /* bytes of records held in memory */
    struct dev_synthetic synthetic; /* what lies before the batches; count 0: nothing. Not kept in the file */
};

/* Starts an empty log; path NULL: memory only. With a file that exists, reads its index up to the first batch
 * that is torn, which is cut off. False with a line on stderr when the file cannot be used. */
bool dev_log_open(struct dev_log *log, const char *path, uint64_t first_offset);
/* Closes without saving. */
void dev_log_close(struct dev_log *log);

/* Takes records (malloc'd; freed by the log, on failure too). Returns false when memory is out. A segment
 * that holds segment_size bytes is closed first. */
bool dev_log_append(struct dev_log *log, uint8_t *records, uint32_t bytes, uint32_t count, uint64_t timestamp,
                    uint64_t segment_size);
/* Makes all batches survive; false on an I/O error. */
bool dev_log_save(struct dev_log *log);
void dev_log_lose_unsaved(struct dev_log *log);
/* Forgets everything; the next offset is 0 again (as Iggy's purge). */
void dev_log_purge(struct dev_log *log);
/* Drops whole batches that lie below offset, and hides the rest of the one that holds it. */
void dev_log_drop_below(struct dev_log *log, uint64_t offset);
/* Drops up to n of the oldest segments, never the open one. */
void dev_log_drop_segments(struct dev_log *log, uint32_t n);
/* Drops the closed segments whose last batch is older than the time (microseconds). */
void dev_log_expire(struct dev_log *log, uint64_t before);

/* Puts messages that are made when read at the beginning of an empty log. */
void dev_log_begin_synthetic(struct dev_log *log, const struct dev_synthetic *synthetic);

uint64_t dev_log_messages(const struct dev_log *log);
size_t dev_log_segments(const struct dev_log *log);
/* The newest offset, 0 when nothing was ever appended. */
uint64_t dev_log_tail(const struct dev_log *log);
/* Offset of the first kept message whose batch is not older than the time. */
uint64_t dev_log_offset_at(const struct dev_log *log, uint64_t timestamp);

struct dev_message {
    uint64_t id_lo, id_hi, offset, timestamp, origin_timestamp;
    const uint8_t *headers, *payload;
    uint32_t headers_len, payload_len;
    uint64_t checksum;
};
/* Calls each for up to count kept messages from offset on, until it returns false. False on an I/O error. */
bool dev_log_read(struct dev_log *log, uint64_t offset, uint32_t count,
                  bool (*each)(void *arg, const struct dev_message *message), void *arg);

#endif
