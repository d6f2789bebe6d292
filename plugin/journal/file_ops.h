/*
 * file_ops: every file operation of the journal behind a function pointer, so that tests inject full disks,
 * I/O errors, short writes and power loss.
 *
 * Names are relative to a directory descriptor: after an unmount the journal keeps talking to its own file
 * system and never writes into the empty mount point. Each returns what the system call of that name returns,
 * with errno.
 */
#ifndef MI_FILE_OPS_H
#define MI_FILE_OPS_H

#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct mi_file_ops {
    int (*open)(void *context, int dir, const char *name, int flags, mode_t mode); /* adds O_CLOEXEC */
    int (*close)(void *context, int fd);
    ssize_t (*pwritev)(void *context, int fd, const struct iovec *iov, int count, off_t offset);
    ssize_t (*pread)(void *context, int fd, void *data, size_t len, off_t offset);
    int (*fdatasync)(void *context, int fd);
    int (*fallocate)(void *context, int fd, off_t len);           /* from 0, file grows to len */
    int (*punch)(void *context, int fd, off_t offset, off_t len); /* frees a part in the middle: zeros */
    int (*ftruncate)(void *context, int fd, off_t len);
    int (*rename)(void *context, int dir, const char *from, const char *to);
    int (*unlink)(void *context, int dir, const char *name);
    int (*sync_dir)(void *context, int dir);
    void *context;
};

extern const struct mi_file_ops mi_file_ops_system;

/* Writes all of iov at offset, going on after short writes and EINTR; iov is used up. -1 with errno; then any
 * part of it may have been written. */
int mi_write_all(const struct mi_file_ops *ops, int fd, struct iovec *iov, int count, uint64_t offset);
int mi_write_bytes(const struct mi_file_ops *ops, int fd, const void *data, size_t len, uint64_t offset);

/* Reads up to len bytes (fewer only at the end of the file). -1 with errno. */
ssize_t mi_read_some(const struct mi_file_ops *ops, int fd, void *data, size_t len, uint64_t offset);

#endif
