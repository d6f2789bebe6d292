/*
 * base64: the standard alphabet, in both directions, by table.
 */
#ifndef DEV_BASE64_H
#define DEV_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* Most bytes that len characters can stand for. */
size_t dev_base64_decoded_max(size_t len);
/* Decodes into out, which has room for dev_base64_decoded_max(len) bytes; *written gets their number. Padding
 * must be complete unless lax is set (Iggy asks for it in payloads, not in the partitioning value). False:
 * not base64. */
bool dev_base64_decode(const char *text, size_t len, bool lax, uint8_t *out, size_t *written);
/* Appends the text of data, with padding. */
bool dev_base64_append(struct mi_buf *out, const uint8_t *data, size_t len);

#endif
