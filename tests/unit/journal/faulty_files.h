/*
 * faulty_files: the journal's file operations over real files, with faults at will: full disk, I/O errors,
 * short writes, failed syncs, and the loss of power, which takes back what was not synced.
 */
#ifndef FAULTY_FILES_H
#define FAULTY_FILES_H

#include "journal/file_ops.h"

#include <stdbool.h>
#include <stdint.h>

enum faulty_op {
    FAULTY_OPEN,
    FAULTY_WRITE,
    FAULTY_READ,
    FAULTY_SYNC,
    FAULTY_ALLOCATE,
    FAULTY_RENAME,
    FAULTY_UNLINK,
    FAULTY_SYNC_DIR,
    FAULTY_TRUNCATE,
    FAULTY_OPS
};

struct faulty_undo;

struct faulty {
    struct mi_file_ops ops; /* give this to what is tested */
    int error[FAULTY_OPS];  /* 0: works; else every call of that kind fails with it */
    uint64_t calls[FAULTY_OPS];
    int64_t write_budget;     /* bytes that may still be written before ENOSPC cuts a write short; -1: any */
    size_t short_write;       /* most bytes of one call; 0: any */
    uint64_t cut_after;       /* calls until faulty_cut happens by itself; 0: never */
    bool remember;            /* keep what power loss takes back */
    int dir;                  /* of the last named operation */
    struct faulty_undo *undo; /* newest first */
    unsigned saved;
};

void faulty_init(struct faulty *f);
void faulty_fini(struct faulty *f);
/* From now on nothing reaches the disk any more: every call fails with EIO. */
void faulty_cut(struct faulty *f);
/* Takes back what was not synced, each 512-byte piece or name with probability one in keep (1: everything);
 * call it after the journal was closed. */
void faulty_lose_power(struct faulty *f, unsigned seed, unsigned keep);

#endif
