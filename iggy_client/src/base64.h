/*
 * base64: the standard alphabet with padding (RFC 4648 section 4), by table: two characters per lookup one
 * way, four lookups per three bytes the other way. Pure; any thread. tests/bench/client measures it.
 */
#ifndef IGGY_BASE64_H
#define IGGY_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Characters for len bytes. */
static inline size_t base64_encoded_size(size_t len)
{
    return (len + 2) / 3 * 4;
}

/* Writes base64_encoded_size(len) characters, without NUL; returns their number. */
size_t base64_encode(char *to, const uint8_t *from, size_t len);

/* Encodes the concatenation of a and b as base64_encode would encode one piece. */
size_t base64_encode_two(char *to, const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len);

/* Decodes len characters; to has room for len / 4 * 3 bytes and may be from itself. False when a character is
 * not of the alphabet, the length is no multiple of 4, the padding is misplaced or bits beyond the last byte
 * are set. */
bool base64_decode(uint8_t *to, size_t *to_len, const uint8_t *from, size_t len);

#endif
