/*
 * entry: the bytes of one header entry, unchecked; private to headers.c and to the encoder, for whom it is
 * the hot path.
 */
#ifndef MI_MESSAGE_ENTRY_H
#define MI_MESSAGE_ENTRY_H

#include <string.h>

#include "base/bytes.h"
#include "message/headers.h"

enum { MI_ENTRY_FIXED = 10 }; /* bytes of two kinds and two lengths */

/* Key and value of 1-255 bytes, so that three of four bytes of their lengths are 0. false when the buffer is
 * full. */
static inline bool mi_entry_put(struct mi_buf *block, struct mi_span key, enum mi_header_kind kind,
                                struct mi_span value)
{
    uint8_t *to = mi_buf_reserve(block, MI_ENTRY_FIXED + key.len + value.len);
    if (!to)
        return false;
    const uint8_t key_head[5] = {MI_HEADER_STRING, (uint8_t)key.len};
    const uint8_t value_head[5] = {(uint8_t)kind, (uint8_t)value.len};
    memcpy(to, key_head, sizeof key_head);
    memcpy(to + 5, key.data, key.len);
    memcpy(to + 5 + key.len, value_head, sizeof value_head);
    memcpy(to + MI_ENTRY_FIXED + key.len, value.data, value.len);
    block->len += MI_ENTRY_FIXED + key.len + value.len;
    return true;
}

#endif
