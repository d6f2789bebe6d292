/*
 * filter: one MQTT topic filter whose wildcard levels may carry names.
 *
 * MQTT 4.7: '+' is one level, a last '#' is any number of levels, the parent included. Beside them "{room}"
 * is a '+' and a last "{rest...}" a '#'. A brace that is meant is doubled: "{{" and "}}". Every wildcard is a
 * capture, counted from 1 in order; that of '#' is all that remains, '/' included, and empty for the parent.
 */
#ifndef MI_FILTER_H
#define MI_FILTER_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/limits.h"

enum mi_level_kind { MI_LEVEL_TEXT, MI_LEVEL_ONE, MI_LEVEL_REST };

struct mi_level {
    enum mi_level_kind kind;
    struct mi_span text; /* what the level is, or the wildcard's name (empty: none) */
};

struct mi_filter {
    struct mi_level *levels;
    uint32_t count;
    uint32_t captures; /* wildcards, at most MI_MAX_CAPTURES */
    char *storage;     /* what the spans point into */
};

/* Fills f; -1 with a sentence in err when text is no filter (f is then empty) or memory is out. */
int mi_filter_parse(struct mi_filter *f, const char *text, struct mi_error *err);
/* The same for a filter as an MQTT client writes it: braces mean nothing there. */
int mi_filter_parse_plain(struct mi_filter *f, const char *text, struct mi_error *err);
void mi_filter_fini(struct mi_filter *f);

/* Does the topic match? Wildcards of the first level match no topic that begins with '$' (MQTT 4.7.2).
 * captures (NULL: not wanted) gets f->captures views into topic. The empty topic matches nothing. Any thread.
 */
bool mi_filter_match(const struct mi_filter *f, struct mi_span topic, struct mi_span *captures);

/* As mi_filter_match, and says in a sentence what does not fit. */
bool mi_filter_explain(const struct mi_filter *f, struct mi_span topic, struct mi_error *why);

/* The level that begins at from: up to the next '/' or the end. */
struct mi_span mi_level_at(struct mi_span topic, size_t from);

/* Is this a name that a level or a group may have? A letter or _, then letters, digits and _, at most 32. */
bool mi_capture_name_valid(struct mi_span name);

#endif
