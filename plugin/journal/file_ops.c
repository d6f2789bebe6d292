#include "journal/file_ops.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int system_open(void *context, int dir, const char *name, int flags, mode_t mode)
{
    (void)context;
    return openat(dir, name, flags | O_CLOEXEC, mode);
}

static int system_close(void *context, int fd)
{
    (void)context;
    return close(fd);
}

static ssize_t system_pwritev(void *context, int fd, const struct iovec *iov, int count, off_t offset)
{
    (void)context;
    return pwritev(fd, iov, count, offset);
}

static ssize_t system_pread(void *context, int fd, void *data, size_t len, off_t offset)
{
    (void)context;
    return pread(fd, data, len, offset);
}

static int system_fdatasync(void *context, int fd)
{
    (void)context;
    return fdatasync(fd);
}

static int system_fallocate(void *context, int fd, off_t len)
{
    (void)context;
    return fallocate(fd, 0, 0, len);
}

static int system_punch(void *context, int fd, off_t offset, off_t len)
{
    (void)context;
    return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, len);
}

static int system_ftruncate(void *context, int fd, off_t len)
{
    (void)context;
    return ftruncate(fd, len);
}

static int system_rename(void *context, int dir, const char *from, const char *to)
{
    (void)context;
    return renameat(dir, from, dir, to);
}

static int system_unlink(void *context, int dir, const char *name)
{
    (void)context;
    return unlinkat(dir, name, 0);
}

static int system_sync_dir(void *context, int dir)
{
    (void)context;
    return fsync(dir);
}

const struct mi_file_ops mi_file_ops_system = {
    system_open,  system_close,     system_pwritev, system_pread,  system_fdatasync, system_fallocate,
    system_punch, system_ftruncate, system_rename,  system_unlink, system_sync_dir,  NULL};

int mi_write_all(const struct mi_file_ops *ops, int fd, struct iovec *iov, int count, uint64_t offset)
{
    while (count > 0) {
        ssize_t n = ops->pwritev(ops->context, fd, iov, count, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = EIO;
        if (n <= 0)
            return -1;
        offset += (uint64_t)n;
        size_t done = (size_t)n;
        while (count > 0 && done >= iov->iov_len) {
            done -= iov->iov_len;
            iov++;
            count--;
        }
        if (count > 0) {
            iov->iov_base = (uint8_t *)iov->iov_base + done;
            iov->iov_len -= done;
        }
    }
    return 0;
}

int mi_write_bytes(const struct mi_file_ops *ops, int fd, const void *data, size_t len, uint64_t offset)
{
    struct iovec v = {(void *)(uintptr_t)data, len};
    return mi_write_all(ops, fd, &v, len > 0, offset);
}

ssize_t mi_read_some(const struct mi_file_ops *ops, int fd, void *data, size_t len, uint64_t offset)
{
    size_t have = 0;
    while (have < len) {
        ssize_t n = ops->pread(ops->context, fd, (uint8_t *)data + have, len - have, (off_t)(offset + have));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        have += (size_t)n;
    }
    return (ssize_t)have;
}
