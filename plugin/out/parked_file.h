/*
 * parked_file: the files of parked records beside the journal, one per (stream, topic). Records in the form
 * of dead_letters.h (run number, then the journal's record), one behind the other; only ever appended to, and
 * valid up to the size that the state file names. For parked.c.
 */
#ifndef MI_PARKED_FILE_H
#define MI_PARKED_FILE_H

#include "base/bytes.h"
#include "base/error.h"
#include "journal/record.h"

enum { MI_PARKED_RUN_BYTES = 8, MI_PARKED_NAME = 24 };

struct mi_parked_files {
    const char *directory; /* lives as long as this */
    int fd;                /* of the file used last; -1 none */
    uint32_t number;
};

void mi_parked_files_init(struct mi_parked_files *f, const char *directory);
void mi_parked_files_fini(struct mi_parked_files *f);
void mi_parked_name(uint32_t number, char name[MI_PARKED_NAME]);

/* Adds the bytes of one record to out; false when memory is out. */
bool mi_parked_encode(struct mi_buf *out, const struct mi_record *record);
/* Writes bytes at that offset and syncs them, and the directory when the file is new. On -1 (err) what may
 * have been written is cut again. */
int mi_parked_write(struct mi_parked_files *f, uint32_t number, uint64_t at, struct mi_span bytes,
                    struct mi_error *err);
/* Reads up to len bytes into buf (reset first), fewer only at the end of the file. -1 with err. */
int mi_parked_read(struct mi_parked_files *f, uint32_t number, uint64_t at, size_t len, struct mi_buf *buf,
                   struct mi_error *err);
/* Bytes of the file; 0 when there is none. -1 with err. */
int64_t mi_parked_size(struct mi_parked_files *f, uint32_t number, struct mi_error *err);
int mi_parked_cut(struct mi_parked_files *f, uint32_t number, uint64_t size, struct mi_error *err);
/* Gives the space from there to there back to the disk where the file system can; offsets stay. */
void mi_parked_free_space(struct mi_parked_files *f, uint32_t number, uint64_t from, uint64_t to);
void mi_parked_remove(struct mi_parked_files *f, uint32_t number);
/* Calls each for every parked file of the directory. */
void mi_parked_list(struct mi_parked_files *f, void (*each)(void *context, uint32_t number), void *context);

/* What stands at data: >0 the bytes of a whole record, its run filled in; 0: more than len bytes are needed
 * (*need of them); -1: none. */
int64_t mi_parked_decode(const uint8_t *data, size_t len, struct mi_record *record, size_t *need);

#endif
