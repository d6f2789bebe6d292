/*
 * headers: Iggy's raw header block. One entry: key kind (1 byte), key length (u32 LE), key, value kind (1
 * byte), value length (u32 LE), value; key and value 1-255 bytes. The server stores what it cannot decode
 * again (API reference 9.1), so the writer here is the only guard; the reader is lenient.
 */
#ifndef MI_HEADERS_H
#define MI_HEADERS_H

#include "base/bytes.h"

enum mi_header_kind {
    MI_HEADER_RAW = 1,
    MI_HEADER_STRING = 2,
    MI_HEADER_BOOL = 3,
    MI_HEADER_INT8 = 4,
    MI_HEADER_INT16 = 5,
    MI_HEADER_INT32 = 6,
    MI_HEADER_INT64 = 7,
    MI_HEADER_INT128 = 8,
    MI_HEADER_UINT8 = 9,
    MI_HEADER_UINT16 = 10,
    MI_HEADER_UINT32 = 11,
    MI_HEADER_UINT64 = 12,
    MI_HEADER_UINT128 = 13,
    MI_HEADER_FLOAT32 = 14,
    MI_HEADER_FLOAT64 = 15
};

/* Appends one entry with a string key; false (content unchanged) when key or value is not 1-255 bytes, the
 * key is not UTF-8, the value does not fit its kind (byte count, UTF-8 of a string, 0 or 1 of a bool), or the
 * buffer is full (then block->failed too). Does not look for a repeated key. */
bool mi_headers_add(struct mi_buf *block, struct mi_span key, enum mi_header_kind kind, struct mi_span value);
/* Bytes that such an entry takes. */
size_t mi_headers_entry_bytes(size_t key_len, size_t value_len);

struct mi_header {
    uint8_t key_kind, kind;
    struct mi_span key, value;
};
/* Reads the entry at *at (start with 0): 1 read, 0 end, -1 the rest cannot be read. Values of any length are
 * given. */
int mi_headers_next(struct mi_span block, size_t *at, struct mi_header *out);
/* The last entry with that string key, as far as the block can be read (a repeated key: the last wins, as in
 * Iggy). */
bool mi_headers_find(struct mi_span block, struct mi_span key, struct mi_header *out);

/* A header's value as text for templates: strings and raw as they are (any bytes, any length), numbers in
 * decimal, bool as true/false. Numbers are written to text with a NUL; 48 bytes hold every one. false when
 * the bytes do not fit the kind or cap is too small. */
bool mi_header_text(const struct mi_header *h, char *text, size_t cap, struct mi_span *out);

/* For templates, which look a header up by its name: context is a struct mi_header_lookup. The value lives as
 * long as it and the block, until the next call. */
struct mi_header_lookup {
    struct mi_span block;
    char text[64];
};
bool mi_header_lookup(void *context, struct mi_span name, struct mi_span *value);

#endif
