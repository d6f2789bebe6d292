/*
 * cursor: where an answer ended, as text for the client to bring back. Pure but for the check value.
 *
 * The text is "c_" and base64url: no '/', '+', '#' or '$' in it, so it is one level of a topic. Inside:
 *
 *   version (1 byte: 1), kind (1), fields as LEB128 numbers, check value (12 bytes)
 *   forward   since, tag, created_at, partition, end, next + 1 (0: the partition was not begun)
 *   backward  remaining, tag, number of legs, one position per leg
 *
 * The check value is HMAC-SHA256 over all of it and the filter it was made for, so that a cursor that was
 * altered, belongs to another filter or to another broker is refused. It gives no right: rights are looked at
 * for each message.
 */
#ifndef MI_HISTORY_CURSOR_H
#define MI_HISTORY_CURSOR_H

#include "base/bytes.h"

enum {
    MI_CURSOR_KEY = 32,   /* bytes */
    MI_CURSOR_LEGS = 64,  /* positions that fit one cursor */
    MI_CURSOR_TEXT = 1024 /* bytes of the longest text */
};
#define MI_CURSOR_UNPLACED UINT64_MAX

enum mi_cursor_kind { MI_CURSOR_FORWARD = 1, MI_CURSOR_BACKWARD = 2 };

struct mi_cursor {
    enum mi_cursor_kind kind;
    /* forward: partitions in order, from one to the next */
    uint64_t since_us;   /* 0: no bound */
    uint64_t tag;        /* which Iggy topic (backward: which topics); see plan.h */
    uint64_t created_at; /* of that topic; 0: not known */
    uint32_t partition;
    uint64_t next; /* offset; MI_CURSOR_UNPLACED: not begun */
    uint64_t end;  /* one past the last offset that belongs to the past; 0: not known */
    /* backward: every partition, towards older messages */
    uint64_t remaining; /* messages still wanted */
    uint32_t legs;
    uint64_t position[MI_CURSOR_LEGS]; /* all below this offset is still to be looked at */
};

/* Appends the text; false when memory is out. filter: the whole filter, mount point and all. */
bool mi_cursor_write(const uint8_t key[MI_CURSOR_KEY], struct mi_span filter, const struct mi_cursor *c,
                     struct mi_buf *text);
/* False when it is none of ours, or not for this filter. */
bool mi_cursor_read(const uint8_t key[MI_CURSOR_KEY], struct mi_span filter, struct mi_span text,
                    struct mi_cursor *out);

/* The key of this broker's cursors: directory/history.key, made at first use (0600). False: it can be neither
 * read nor written; then key is random, and cursors end with this process. */
struct mi_clock;
bool mi_cursor_key_load(const char *directory, const struct mi_clock *clock, uint8_t key[MI_CURSOR_KEY]);

#endif
