/*
 * poll_reader: the decoder of a poll answer, apart from the request so that tests and fuzzers reach it.
 * Payloads and blocks are decoded in place in the answer; headers in the array form are encoded again into
 * one buffer of their own.
 */
#ifndef IGGY_POLL_READER_H
#define IGGY_POLL_READER_H

#include "base/bytes.h"

#include "iggy_client.h"
#include "json_reader.h"

struct poll_reader {
    struct iggy_polled polled; /* what was read; messages point into text and into this */
    struct iggy_polled_message *messages;
    size_t capacity;
    struct mi_buf blocks;
};

/* Reads a whole answer into a zeroed reader. False when it cannot be read. End with poll_reader_fini in any
 * case. */
bool poll_read(struct poll_reader *reader, uint8_t *text, size_t len);
void poll_reader_fini(struct poll_reader *reader);

/* Reads the value of "user_headers" as one raw block: an array of {key:{kind,value},value:{kind,value}} is
 * encoded into blocks (which must have been started with the length of the answer as its maximum), a string
 * is base64 of the block, null is empty. */
bool user_headers_read(struct json *j, struct mi_buf *blocks, struct mi_span *block);

#endif
