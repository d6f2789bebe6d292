/*
 * files: whole small files, with a bound, and with words that name user and mode when they cannot or must not
 * be read.
 */
#ifndef MI_FILES_H
#define MI_FILES_H

#include "base/bytes.h"
#include "base/error.h"

/* A configuration larger than this is a mistake: 10,000 routes need about half of it. */
#define MI_MAX_CONFIG_BYTES (8u << 20)
/* Passwords and tokens. */
#define MI_MAX_SECRET_BYTES 65536u

/* Reads a regular file whole into out (started by the caller with a maximum that is larger than max). -1 with
 * err: missing, unreadable for this user, not a regular file, larger than max. */
int mi_file_read(const char *path, size_t max, struct mi_buf *out, struct mi_error *err);

/* Reads a secret: as above, and the file must not be readable or writable for others (mode & 006), so
 * root-owned 0640 files with the broker's group work. Trailing line ends are cut off; empty files and NUL
 * bytes are refused. The text in out is NUL-terminated (the NUL is not counted). */
int mi_file_read_secret(const char *path, struct mi_buf *out, struct mi_error *err);

/* May this user read that file? -1 with err. private_key: others must not be able to. */
int mi_file_check(const char *path, bool private_key, struct mi_error *err);

#endif
