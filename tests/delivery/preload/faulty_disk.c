/*
 * faulty_disk: a library for LD_PRELOAD under which a disk breaks on command.
 *
 * FAULTY_DIR names a directory; FAULTY_ORDERS a file. While that file exists each of its lines, "CALLS
 * ERROR", makes calls on files under the directory fail: CALLS is write, half (writes half, then fails),
 * sync, space (fallocate) or create (openat with O_CREAT or for writing); ERROR is ENOSPC, EIO or EROFS.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

static int error_of(const char *name)
{
    return strcmp(name, "ENOSPC") == 0 ? ENOSPC : strcmp(name, "EROFS") == 0 ? EROFS : EIO;
}

/* What the orders say about these calls: 0, or an errno. */
static int ordered(const char *calls)
{
    const char *path = getenv("FAULTY_ORDERS");
    FILE *f = path ? fopen(path, "re") : NULL;
    char word[16], error[16];
    int found = 0;
    while (f && fscanf(f, "%15s %15s", word, error) == 2)
        if (strcmp(word, calls) == 0)
            found = error_of(error);
    if (f)
        fclose(f);
    return found;
}

static bool is_ours(int fd)
{
    const char *dir = getenv("FAULTY_DIR");
    char link[64], path[512];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = dir ? readlink(link, path, sizeof path - 1) : -1;
    path[n > 0 ? n : 0] = '\0';
    return n > 0 && strncmp(path, dir, strlen(dir)) == 0;
}

/* True, with errno, when a call on this file shall fail. */
static bool fails(int fd, const char *calls)
{
    int before = errno, error = is_ours(fd) ? ordered(calls) : 0;
    errno = error ? error : before;
    return error != 0;
}

static void *real(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        _exit(99);
    return found;
}

EXPORTED ssize_t pwritev(int fd, const struct iovec *v, int count, off_t offset);
EXPORTED ssize_t pwritev64(int fd, const struct iovec *v, int count, off_t offset);
EXPORTED ssize_t pwrite(int fd, const void *data, size_t len, off_t offset);
EXPORTED ssize_t pwrite64(int fd, const void *data, size_t len, off_t offset);
EXPORTED int fdatasync(int fd);
EXPORTED int fsync(int fd);
EXPORTED int fallocate(int fd, int mode, off_t offset, off_t len);
EXPORTED int fallocate64(int fd, int mode, off_t offset, off_t len);
EXPORTED int openat(int dir, const char *name, int flags, ...);
EXPORTED int openat64(int dir, const char *name, int flags, ...);

static ssize_t write_vector(int fd, const struct iovec *v, int count, off_t offset)
{
    ssize_t (*call)(int, const struct iovec *, int, off_t);
    *(void **)&call = real("pwritev");
    if (fails(fd, "half")) {
        struct iovec half = {v[0].iov_base, v[0].iov_len / 2};
        int error = errno;
        (void)!call(fd, &half, 1, offset);
        errno = error;
        return -1;
    }
    return fails(fd, "write") ? -1 : call(fd, v, count, offset);
}

ssize_t pwritev(int fd, const struct iovec *v, int count, off_t offset)
{
    return write_vector(fd, v, count, offset);
}

ssize_t pwritev64(int fd, const struct iovec *v, int count, off_t offset)
{
    return write_vector(fd, v, count, offset);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t offset)
{
    struct iovec v = {(void *)data, len};
    return write_vector(fd, &v, 1, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t len, off_t offset)
{
    return pwrite(fd, data, len, offset);
}

static int sync_by(const char *name, int fd)
{
    int (*call)(int);
    *(void **)&call = real(name);
    return fails(fd, "sync") ? -1 : call(fd);
}

int fdatasync(int fd)
{
    return sync_by("fdatasync", fd);
}

int fsync(int fd)
{
    return sync_by("fsync", fd);
}

int fallocate(int fd, int mode, off_t offset, off_t len)
{
    int (*call)(int, int, off_t, off_t);
    *(void **)&call = real("fallocate");
    return fails(fd, "space") ? -1 : call(fd, mode, offset, len);
}

int fallocate64(int fd, int mode, off_t offset, off_t len)
{
    return fallocate(fd, mode, offset, len);
}

static int open_by(int dir, const char *name, int flags, mode_t mode)
{
    int (*call)(int, const char *, int, ...);
    *(void **)&call = real("openat");
    bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT);
    return writes && dir != AT_FDCWD && fails(dir, "create") ? -1 : call(dir, name, flags, mode);
}

int openat(int dir, const char *name, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
    va_end(args);
    return open_by(dir, name, flags, mode);
}

int openat64(int dir, const char *name, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
    va_end(args);
    return open_by(dir, name, flags, mode);
}
