/*
 * names: what may stand in a URL path and how, and JSON strings for request bodies.
 *
 * Iggy decodes each path segment and reads it as an id when it is an unsigned 32-bit number in Rust's eyes,
 * which takes a leading '+' too (measured: "%2B1" means id 1). Every byte that is not an ASCII letter or
 * digit is percent-encoded: '/' to stay inside the segment, '.' because HTTP libraries collapse "..".
 */
#ifndef IGGY_NAMES_H
#define IGGY_NAMES_H

#include "base/bytes.h"

#include "iggy_client.h"

/* Appends the name percent-encoded. False when memory is out. */
bool names_add_segment(struct mi_buf *to, struct iggy_span name);
/* Appends text as a JSON string with quotes. False when memory is out. */
bool names_add_json(struct mi_buf *to, struct iggy_span text);
/* Only ASCII digits, at least one: a numeric id on the server. */
bool names_all_digits(struct iggy_span name);
/* Does the name of a user mean that user? As iggy_name_usable, and none of the words that the route keeps. */
bool names_user_usable(struct iggy_span name);
struct iggy_span names_span(const char *text);

#endif
