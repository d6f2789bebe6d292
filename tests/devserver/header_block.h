/*
 * header_block: user headers of a message, in Iggy's raw form and in the two JSON forms.
 *
 * Raw: entries of key kind (1 byte), key length (u32 LE), key, value kind (1), value length (u32 LE), value.
 */
#ifndef DEV_HEADER_BLOCK_H
#define DEV_HEADER_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "json_scan.h"

enum { DEV_MAX_HEADER_BLOCK = 100000 };

/* Reads what "user_headers" holds (null, array or base64 string) and appends the raw block. False: it does
 * not fit; the reason is 422, unless j has a syntax error. */
bool dev_headers_read(struct dev_json *j, struct mi_buf *block);
/* Appends the JSON form: an array sorted by key kind and bytes where the last of repeated keys counts, or the
 * block as base64 string when it cannot be decoded. */
void dev_headers_append(struct mi_buf *out, const uint8_t *block, size_t len);

#endif
