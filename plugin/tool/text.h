/*
 * text: bytes from devices as text for a terminal or JSON: what is not printable UTF-8 becomes \xNN.
 */
#ifndef MI_TEXT_H
#define MI_TEXT_H

#include "base/bytes.h"

#include <stdio.h>

/* malloc'd and NUL-terminated; NULL when memory is out. */
char *mi_text_of(struct mi_span bytes);
void mi_text_print(FILE *to, struct mi_span bytes);
/* "2026-11-29T12:00:00.123456Z" of microseconds since 1970. */
enum { MI_TIME_TEXT = 40 };
const char *mi_text_time(uint64_t us, char text[MI_TIME_TEXT]);
/* "12 bytes", "1.5 KB", "64.0 MB". */
enum { MI_SIZE_TEXT = 32 };
const char *mi_text_size(uint64_t bytes, char text[MI_SIZE_TEXT]);
/* A decimal number up to 2^63; false when it is none. */
bool mi_text_number(const char *text, uint64_t *out);

#endif
