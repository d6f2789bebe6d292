/*
 * json_out: text as a JSON string. Pure; any thread.
 */
#ifndef MI_JSON_OUT_H
#define MI_JSON_OUT_H

#include "base/bytes.h"

/* Appends text in quotes. Control characters are escaped; each byte that is no part of valid UTF-8 becomes
 * U+FFFD, and *replaced (may be NULL) is then set to true, else left as it is. false when the buffer is full.
 */
bool mi_json_add_string(struct mi_buf *out, struct mi_span text, bool *replaced);

#endif
