/*
 * record: one journaled message as bytes. Pure: encode, measure, validate, decode; no I/O.
 *
 * Little-endian, each record 8-byte aligned:
 *
 *   off len
 *     0   4  magic "MIR1"
 *     4   4  length: bytes of the whole record with padding, a multiple of 8
 *     8   4  CRC-32C of the bytes from 12 to the end of the payload (padding excluded)
 *    12   1  qos (0-2)
 *    13   1  flags: 1 balanced
 *    14   1  reason: 0, or why it was born a dead letter (enum mi_reason)
 *    15   1  0
 *    16   8  sequence: of the journal, one more than the record before it
 *    24   8  time: microseconds since 1970 UTC when the broker received it
 *    32   4  route: id of the route (config.h), stable over reloads and restarts
 *    36   4  key hash: XXH32 of the partition key, seed 0
 *    40   2  bytes of the stream name
 *    42   2  bytes of the topic name
 *    44   4  bytes of the header block
 *    48   4  bytes of the Iggy payload (envelope prefix and MQTT payload)
 *    52   4  run tag: the lower half of its segment's run number, so that an older record in a recycled
 * segment never fits 56      stream name, topic name, header block, payload, zero padding
 *
 * A record is valid only if magic, length, the sum of its parts and the CRC agree, and (in a segment) its run
 * tag is the segment's and its sequence is the one that is due. The whole run number, the upper half of the
 * message id, stands in the segment's header.
 */
#ifndef MI_RECORD_H
#define MI_RECORD_H

#include "base/bytes.h"

enum { MI_RECORD_HEAD = 56, MI_RECORD_ALIGN = 8 };

/* Why a message can never be accepted by Iggy, whatever an operator does. */
enum mi_reason {
    MI_REASON_NONE = 0,
    MI_REASON_STREAM_NAME = 1, /* the rule's template gave a stream name that Iggy cannot address */
    MI_REASON_TOPIC_NAME = 2,
    MI_REASON_TOO_LARGE = 3, /* larger than one request can carry */
    MI_REASON_REFUSED = 4    /* Iggy refused this message and took others of its lane */
};
const char *mi_reason_name(enum mi_reason reason); /* "stream_name", "too_large", ... */

struct mi_record {
    uint64_t run; /* of its segment; of its bytes only the lower half: mi_record_decode leaves the rest 0 */
    uint64_t sequence;
    uint64_t time_us;
    uint32_t route;
    uint32_t key_hash;
    uint8_t qos;
    bool balanced;
    uint8_t reason;        /* enum mi_reason */
    struct mi_span stream; /* at most 65,535 bytes each; unusable names are kept whole for the dead letter */
    struct mi_span topic;
    struct mi_span headers;
    struct mi_span prefix; /* first part of the Iggy payload; empty after decoding (it is then in payload) */
    struct mi_span payload;
};

/* Whole bytes of the record with padding; 0 when a part is too long for its length field. */
size_t mi_record_bytes(const struct mi_record *r);

/* Writes the head, names and CRC of r: everything before the header block. head must have room for
 * MI_RECORD_HEAD + names. The CRC covers headers, prefix and payload too, which the caller writes behind it
 * itself (so that a payload is never copied), and then the padding. Returns the bytes written to head. */
size_t mi_record_encode_head(const struct mi_record *r, uint8_t *head);

/* Checks what stands at data: >0 its bytes, and out filled in with spans into data; 0 when more than len
 * bytes are needed; -1 when it is not a valid record. */
int64_t mi_record_decode(const uint8_t *data, size_t len, struct mi_record *out);

/* CRC-32C (Castagnoli), hardware where the CPU has it; start with 0, chainable. */
uint32_t mi_crc32c(uint32_t crc, const void *data, size_t len);
/* The same without hardware, for machines that have none; visible so that a test compares both. */
uint32_t mi_crc32c_portable(uint32_t crc, const void *data, size_t len);

#endif
