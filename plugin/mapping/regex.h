/*
 * regex: PCRE2 patterns over whole topics, within limits so that no pattern can stall the broker.
 *
 * A pattern is anchored at both ends and matches UTF-8. A match that reaches a limit counts as no match.
 * Topics that begin with '$' are only tried when the pattern itself begins with "\$" (as filters, whose
 * wildcards leave them out).
 */
#ifndef MI_REGEX_H
#define MI_REGEX_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/limits.h"

enum mi_regex_result {
    MI_REGEX_NO,
    MI_REGEX_YES,
    MI_REGEX_GAVE_UP /* a limit was reached, or memory is out */
};

struct mi_regex;
/* Compiles; NULL with PCRE2's message and offset in err. */
struct mi_regex *mi_regex_new(const char *pattern, struct mi_error *err);
void mi_regex_free(struct mi_regex *regex);

uint32_t mi_regex_captures(const struct mi_regex *regex);
/* The name of group index (from 1); empty when it has none. Lives as long as the regex. */
struct mi_span mi_regex_group_name(const struct mi_regex *regex, uint32_t index);

/* Working memory of one thread, for all regexes. */
struct mi_regex_scratch;
struct mi_regex_scratch *mi_regex_scratch_new(void);
void mi_regex_scratch_free(struct mi_regex_scratch *scratch);

/* captures (NULL: not wanted) gets mi_regex_captures views into topic; a group that took no part is empty.
 * Any thread, each with its own scratch. */
enum mi_regex_result mi_regex_match(const struct mi_regex *regex, struct mi_regex_scratch *scratch,
                                    struct mi_span topic, struct mi_span *captures);

#endif
