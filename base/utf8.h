/*
 * utf8: what Iggy's string headers and MQTT's strings must be. Strict: no overlong forms, no surrogates,
 * nothing above U+10FFFF. NUL counts as a character here. Pure; any thread.
 */
#ifndef MI_UTF8_H
#define MI_UTF8_H

#include "base/bytes.h"

/* The empty span is valid. */
bool mi_utf8_valid(struct mi_span s);

/* How many of the first bytes of s to keep so that they are at most max and end between two characters. s
 * must be valid UTF-8; with max of 4 or more the answer is 0 only for the empty span. */
size_t mi_utf8_cut(struct mi_span s, size_t max);

#endif
