/*
 * units: sizes and times as people write them, "256MB" and "100ms".
 *
 * Sizes: B, KB, MB, GB, TB count in steps of 1000 (as Iggy does); KiB, MiB, GiB, TiB in steps of 1024; upper
 * and lower case are the same. Times: us, ms, s, m, h, d, in lower case. A whole number, at most one space,
 * the unit; a number alone is refused, since nobody can tell what it counts.
 */
#ifndef MI_UNITS_H
#define MI_UNITS_H

#include "base/error.h"

#include <stdint.h>

/* 0, or -1 with a sentence that says what a value must look like. */
int mi_parse_size(const char *text, uint64_t *bytes, struct mi_error *err);
int mi_parse_time(const char *text, uint64_t *ns, struct mi_error *err);

enum { MI_UNIT_TEXT = 32 };
/* With the largest unit that loses nothing. */
void mi_format_size(uint64_t bytes, char text[MI_UNIT_TEXT]);
void mi_format_time(uint64_t ns, char text[MI_UNIT_TEXT]);

#endif
