/*
 * identity: who a journal directory belongs to: its lock, and the file that names the bridge.
 *
 * The file "identity" is text: "mosquitto-iggy journal 1", then "identity HEX32", "machine ID", "inode N",
 * and one "former HEX32" per identity that the directory had before. A directory whose inode or machine id is
 * another one was copied: it draws a new identity and keeps the old one as former.
 */
#ifndef MI_IDENTITY_H
#define MI_IDENTITY_H

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "journal/file_ops.h"

enum { MI_IDENTITY_HEX = 32, MI_MAX_FORMER = 128 };

struct mi_identity {
    char id[MI_IDENTITY_HEX + 1];
    char former[MI_MAX_FORMER]
               [MI_IDENTITY_HEX + 1]; /* newest first; beyond the maximum the oldest is forgotten */
    size_t former_count;
    bool created; /* there was none */
    bool changed; /* a copy, or the file was damaged: drawn anew */
};

/* Opens or creates the directory (0700; its parent must exist). Its descriptor, or -1 with err. */
int mi_directory_open(const char *directory, bool create, struct mi_error *err);

/* Takes the directory's lock: a descriptor that holds it until closed, or -1 with err, which names the
 * holder's pid. */
int mi_directory_lock(const struct mi_file_ops *ops, int dir, const char *directory, struct mi_error *err);
/* The pid that the lock file names if somebody holds the lock now; 0 if nobody does. */
long mi_directory_holder(int dir);

/* Reads the identity, or draws and writes one. -1 with err: cannot be written, or a format that is not ours.
 */
int mi_identity_load(const struct mi_file_ops *ops, int dir, const char *directory,
                     const struct mi_clock *clock, struct mi_identity *out, struct mi_error *err);
/* Only reads. 1 read, 0 missing or damaged, -1 another format (err). */
int mi_identity_read(const struct mi_file_ops *ops, int dir, const char *directory, struct mi_identity *out,
                     struct mi_error *err);
bool mi_identity_is_own(const struct mi_identity *id, struct mi_span identity);

#endif
