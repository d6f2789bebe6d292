/*
 * reference_decoder: Iggy's raw header block read by a second, independent hand, from the layout in Iggy's
 * API alone; it shares no code with plugin/message. It also checks every rule that the server does not check
 * but its SDKs rely on.
 */
#ifndef MI_REFERENCE_DECODER_H
#define MI_REFERENCE_DECODER_H

#include <stddef.h>
#include <stdint.h>

struct reference_header {
    const char *key; /* not NUL-terminated */
    unsigned key_len;
    int kind;
    const unsigned char *value;
    unsigned value_len;
};

/* Decodes at most max entries. Returns their number, or -1 with *fault: entry cut short; key or value not
 * 1-255 bytes; key not a string; strings not UTF-8; bytes that do not fit the kind; unknown kind; repeated
 * key; over limit bytes in all. */
int reference_decode(const unsigned char *block, size_t len, size_t limit, struct reference_header *out,
                     int max, const char **fault);

/* 1 when valid UTF-8, decided code point by code point. */
int reference_utf8(const unsigned char *text, size_t len);

#endif
