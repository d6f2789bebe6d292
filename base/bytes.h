/*
 * bytes: the two shapes in which bytes travel through this code.
 *
 * mi_span is a view: pointer and length, owned by somebody else, not NUL-terminated. mi_buf is a growing
 * buffer with a hard maximum that is given at its start, so that nothing in the process grows without a named
 * limit. None of this locks: one object belongs to one thread at a time.
 */
#ifndef MI_BYTES_H
#define MI_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mi_span {
    const uint8_t *data; /* may be NULL when len is 0 */
    size_t len;          /* bytes */
};

/* The bytes of a NUL-terminated string, without the NUL. NULL gives the empty span. */
struct mi_span mi_span_of(const char *text);
bool mi_span_equal(struct mi_span a, struct mi_span b);
/* A NUL-terminated copy, which the caller frees; NULL when memory is out. */
char *mi_span_text(struct mi_span s);
/* strcmp over bytes: order of the shorter prefix, then of the length. */
int mi_span_compare(struct mi_span a, struct mi_span b);

struct mi_buf {
    uint8_t *data;
    size_t len;
    size_t cap;
    size_t max;  /* len never passes this */
    bool failed; /* an append did not fit or memory ran out; every later append fails too until reset */
};

/* Starts an empty buffer that may grow to max bytes. Allocates nothing. */
void mi_buf_init(struct mi_buf *b, size_t max);
/* Frees the memory; the buffer may be used again with the same maximum. */
void mi_buf_fini(struct mi_buf *b);
/* Empties the buffer and clears failed, keeping the memory. */
void mi_buf_reset(struct mi_buf *b);

/* Appends; false (and failed set, content as it was) when it would pass max or memory is out. */
bool mi_buf_add(struct mi_buf *b, const void *data, size_t len);
bool mi_buf_add_span(struct mi_buf *b, struct mi_span s);
bool mi_buf_add_text(struct mi_buf *b, const char *text);
bool mi_buf_add_byte(struct mi_buf *b, uint8_t byte);
bool mi_buf_addf(struct mi_buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Makes room for len more bytes and returns where they go, or NULL. The caller writes at most len bytes there
 * and then adds what it wrote to b->len. */
uint8_t *mi_buf_reserve(struct mi_buf *b, size_t len);
struct mi_span mi_buf_span(const struct mi_buf *b);

/* Little- and big-endian numbers at any alignment. */
uint16_t mi_get_u16le(const uint8_t *p);
uint32_t mi_get_u32le(const uint8_t *p);
uint64_t mi_get_u64le(const uint8_t *p);
void mi_put_u16le(uint8_t *p, uint16_t v);
void mi_put_u32le(uint8_t *p, uint32_t v);
void mi_put_u64le(uint8_t *p, uint64_t v);
uint16_t mi_get_u16be(const uint8_t *p);
uint32_t mi_get_u32be(const uint8_t *p);
void mi_put_u16be(uint8_t *p, uint16_t v);
void mi_put_u32be(uint8_t *p, uint32_t v);

#endif
