/*
 * json_text: what cJSON does not do: comments, strictness about bytes, and line numbers.
 *
 * The text of a configuration is cleaned in place (a byte order mark and comments become spaces, so that
 * every byte keeps its line), parsed by cJSON, and later asked on which line a key stands. Main thread
 * (cJSON).
 */
#ifndef MI_JSON_TEXT_H
#define MI_JSON_TEXT_H

#include "base/error.h"

#include <cjson/cJSON.h>
#include <stddef.h>

/* Cleans text (len bytes and a NUL behind them) and parses it. NULL with the line and a sentence: not UTF-8,
 * a NUL byte or an escaped one, a comment that never ends, a syntax error. */
cJSON *mi_json_parse(char *text, size_t len, unsigned *line, struct mi_error *err);

/* The line of the member "key" of the object at path ("" is the top, then "routes[2].create"); key NULL: of
 * the object itself. occurrence 0 is the first member of that name, 1 the second. What is not there gives the
 * line of the deepest part of the path that is. text was accepted by mi_json_parse. */
unsigned mi_json_line(const char *text, const char *path, const char *key, unsigned occurrence);

#endif
