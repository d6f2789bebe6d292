/*
 * error: one sentence that tells a person what is wrong and how to mend it.
 *
 * Functions that can fail for a reason an operator must read take a struct mi_error *; it is written only on
 * failure. Codes that a program acts on are separate enums beside the function.
 */
#ifndef MI_ERROR_H
#define MI_ERROR_H

struct mi_error {
    char text[1024]; /* NUL-terminated, cut when longer */
};

/* Writes the sentence; err may be NULL. Always returns -1, so that "return mi_error_set(...)" reads well. */
int mi_error_set(struct mi_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
