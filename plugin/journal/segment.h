/*
 * segment: a journal segment file as bytes: its header, its seal. Pure.
 *
 * Little-endian. The header stands twice, at 0 and at 64, so that one damaged sector line does not take the
 * file:
 *
 *   off len
 *     0   4  magic "MIG1"
 *     4   4  format version, 1
 *     8   8  run number: random, one per opening of the journal
 *    16   8  segment number: that of the file name
 *    24   8  first sequence
 *    32   8  size: bytes of the file
 *    40   8  previous end: records of the segment before it with this sequence or a higher one were refused
 *    48   8  time of its start, microseconds since 1970 UTC, for people
 *    56   4  0
 *    60   4  CRC-32C of bytes 0 to 59
 *
 * A header of 128 zero bytes marks a file that is prepared and not yet used. Records (record.h) follow from
 * 128 on.
 *
 * A full segment is sealed: at (size - 64) stands the trailer, right before it the totals, 12 bytes per route
 * (u32 route, u64 records) in any order:
 *
 *     0   4  magic "MIS1"
 *     4   4  routes: number of totals
 *     8   8  run number
 *    16   8  segment number
 *    24   8  next sequence: one more than the last record's
 *    32   8  records
 *    40   4  end: offset behind the last record
 *    44   4  damage end: damage before this offset has been counted
 *    48   8  first sequence, so that a lost header can be made again
 *    56   4  0
 *    60   4  CRC-32C of the totals and bytes 0 to 59 of the trailer
 *
 * Run and number tie the seal to the header: the seal of an earlier use of a recycled file does not count.
 */
#ifndef MI_SEGMENT_H
#define MI_SEGMENT_H

#include "base/bytes.h"

enum {
    MI_SEGMENT_VERSION = 1,
    MI_SEGMENT_HEADER = 64,
    MI_SEGMENT_HEAD = 128, /* both copies; offset of the first record */
    MI_SEAL_TRAILER = 64,
    MI_SEAL_ROUTE = 12
};

struct mi_segment_header {
    uint32_t version;
    uint64_t run, number, first, size, previous_end, time_us;
};

/* Writes both copies: MI_SEGMENT_HEAD bytes. */
void mi_segment_header_encode(const struct mi_segment_header *h, uint8_t *bytes);

enum mi_segment_kind {
    MI_SEGMENT_GOOD,
    MI_SEGMENT_UNUSED,  /* zeros: prepared, not used */
    MI_SEGMENT_UNKNOWN, /* a version that this code does not know; out->version says which */
    MI_SEGMENT_BAD
};
/* Looks at the first len bytes of a file. */
enum mi_segment_kind mi_segment_header_decode(const uint8_t *bytes, size_t len,
                                              struct mi_segment_header *out);

struct mi_seal {
    uint32_t routes;
    uint64_t run, number, first, next, records, end, damage_end;
};
/* Bytes of a whole seal with so many routes. */
size_t mi_seal_bytes(size_t routes);
/* Writes the trailer behind the totals, which stand at bytes already. */
void mi_seal_encode(const struct mi_seal *s, uint8_t *bytes);
/* Reads the trailer's fields without its CRC: how many totals stand before it. False when it is none of
 * segment number in a file of that size. */
bool mi_seal_peek(const uint8_t *trailer, uint64_t number, uint64_t size, struct mi_seal *out);
/* Is the whole seal (totals and trailer) sound? */
bool mi_seal_check(const uint8_t *bytes, size_t len);

/* "0000000000000001.seg"; name has room for MI_SEGMENT_NAME bytes. */
enum { MI_SEGMENT_NAME = 32 };
void mi_segment_name(uint64_t number, char *name);
/* False when it is no segment's name. */
bool mi_segment_number(const char *name, uint64_t *number);

#endif
