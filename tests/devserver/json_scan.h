/*
 * json_scan: a pull reader for one JSON text in memory, for the produce body: 128-bit ids need their number
 * text, and a thousand messages a request need no tree.
 *
 * Errors come in the two kinds that Iggy's server tells apart: a text that is no JSON (400) and JSON that
 * does not fit (422). The first one found in reading order counts, as there. Strings are unescaped in place,
 * so the text is changed.
 */
#ifndef DEV_JSON_SCAN_H
#define DEV_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

enum dev_json_type {
    DEV_JSON_OBJECT,
    DEV_JSON_ARRAY,
    DEV_JSON_STRING,
    DEV_JSON_NUMBER,
    DEV_JSON_BOOL,
    DEV_JSON_NULL,
    DEV_JSON_NONE /* the end of the text, or no value at all */
};

struct dev_json {
    char *at;
    char *end;
    int depth;
    bool syntax_error; /* set once; every later call fails */
};

struct dev_text {
    const char *data;
    size_t len;
};

void dev_json_start(struct dev_json *j, char *text, size_t len);
/* What comes next, after white space. */
enum dev_json_type dev_json_peek(struct dev_json *j);
/* Each reads one value of that type, which must come next. False: syntax error (also set in j). */
bool dev_json_string(struct dev_json *j, struct dev_text *text);
bool dev_json_number(struct dev_json *j, struct dev_text *text);
bool dev_json_skip(struct dev_json *j);
/* Opens the object or array that comes next. */
bool dev_json_open(struct dev_json *j);
/* Steps to the next member; false at the closing bracket (which is read) and on a syntax error. first starts
 * true. */
bool dev_json_next_key(struct dev_json *j, bool *first, struct dev_text *key);
bool dev_json_next_item(struct dev_json *j, bool *first);
/* True when nothing but white space is left. */
bool dev_json_finish(struct dev_json *j);

bool dev_text_is(struct dev_text text, const char *word);

#endif
