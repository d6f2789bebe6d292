#include "faulty_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 512, NAME = 64 };

enum undo_kind { UNDO_WRITE, UNDO_SIZE, UNDO_CREATE, UNDO_RENAME, UNDO_UNLINK };

struct faulty_undo {
    struct faulty_undo *next;
    enum undo_kind kind;
    ino_t inode;
    int fd; /* own descriptor of the file; of the directory for names */
    off_t offset, size;
    size_t len;
    uint8_t *bytes;
    char from[NAME], to[NAME];
};

static bool refuses(struct faulty *f, enum faulty_op op)
{
    f->calls[op]++;
    if (f->cut_after && --f->cut_after == 0)
        faulty_cut(f);
    if (f->error[op])
        errno = f->error[op];
    return f->error[op] != 0;
}

static ino_t inode_of(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

static struct faulty_undo *push(struct faulty *f, enum undo_kind kind, int fd)
{
    if (!f->remember)
        return NULL;
    struct faulty_undo *u = calloc(1, sizeof *u);
    u->kind = kind;
    u->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    u->inode = inode_of(fd);
    u->next = f->undo;
    f->undo = u;
    return u;
}

static void push_name(struct faulty *f, enum undo_kind kind, int dir, const char *from, const char *to)
{
    struct faulty_undo *u = push(f, kind, dir);
    if (u) {
        snprintf(u->from, NAME, "%s", from);
        snprintf(u->to, NAME, "%s", to);
    }
}

static void drop_undo(struct faulty_undo *u)
{
    close(u->fd);
    free(u->bytes);
    free(u);
}

static void forget(struct faulty *f, ino_t inode)
{
    for (struct faulty_undo **at = &f->undo; *at;) {
        struct faulty_undo *u = *at;
        if (u->inode != inode) {
            at = &u->next;
            continue;
        }
        *at = u->next;
        if (u->kind == UNDO_UNLINK)
            unlinkat(u->fd, u->to, 0);
        drop_undo(u);
    }
}

static int op_open(void *context, int dir, const char *name, int flags, mode_t mode)
{
    struct faulty *f = context;
    f->dir = dir;
    if (refuses(f, FAULTY_OPEN))
        return -1;
    bool exists = faccessat(dir, name, F_OK, 0) == 0;
    int fd = openat(dir, name, flags | O_CLOEXEC, mode);
    if (fd >= 0 && !exists)
        push_name(f, UNDO_CREATE, dir, name, "");
    return fd;
}

static int op_close(void *context, int fd)
{
    (void)context;
    return close(fd);
}

static void remember_bytes(struct faulty *f, int fd, const struct iovec *iov, int count, off_t offset)
{
    struct faulty_undo *u = push(f, UNDO_WRITE, fd);
    if (!u)
        return;
    for (int i = 0; i < count; i++)
        u->len += iov[i].iov_len;
    u->bytes = calloc(1, u->len + 1);
    u->offset = offset;
    ssize_t n = pread(fd, u->bytes, u->len, offset);
    (void)n;
}

static ssize_t op_pwritev(void *context, int fd, const struct iovec *iov, int count, off_t offset)
{
    struct faulty *f = context;
    if (refuses(f, FAULTY_WRITE))
        return -1;
    remember_bytes(f, fd, iov, count, offset);
    size_t all = 0, most = SIZE_MAX;
    for (int i = 0; i < count; i++)
        all += iov[i].iov_len;
    if (f->short_write)
        most = f->short_write;
    if (f->write_budget >= 0 && (size_t)f->write_budget < most)
        most = (size_t)f->write_budget;
    if (most == 0) {
        errno = ENOSPC;
        return -1;
    }
    if (all <= most) {
        if (f->write_budget >= 0)
            f->write_budget -= (int64_t)all;
        return pwritev(fd, iov, count, offset);
    }
    size_t done = 0;
    for (int i = 0; i < count && done < most; i++) {
        size_t len = iov[i].iov_len < most - done ? iov[i].iov_len : most - done;
        if (pwrite(fd, iov[i].iov_base, len, offset + (off_t)done) != (ssize_t)len)
            return -1;
        done += len;
    }
    if (f->write_budget >= 0)
        f->write_budget -= (int64_t)done;
    return (ssize_t)done;
}

static ssize_t op_pread(void *context, int fd, void *data, size_t len, off_t offset)
{
    return refuses(context, FAULTY_READ) ? -1 : pread(fd, data, len, offset);
}

static int op_fdatasync(void *context, int fd)
{
    struct faulty *f = context;
    if (refuses(f, FAULTY_SYNC))
        return -1;
    forget(f, inode_of(fd));
    return 0;
}

static void remember_size(struct faulty *f, int fd)
{
    struct stat st;
    struct faulty_undo *u = push(f, UNDO_SIZE, fd);
    if (u && fstat(fd, &st) == 0)
        u->size = st.st_size;
}

static int op_fallocate(void *context, int fd, off_t len)
{
    if (refuses(context, FAULTY_ALLOCATE))
        return -1;
    remember_size(context, fd);
    return ftruncate(fd, len);
}

static int op_punch(void *context, int fd, off_t offset, off_t len)
{
    if (refuses(context, FAULTY_ALLOCATE))
        return -1;
    return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, len);
}

static int op_ftruncate(void *context, int fd, off_t len)
{
    if (refuses(context, FAULTY_TRUNCATE))
        return -1;
    remember_size(context, fd);
    return ftruncate(fd, len);
}

static int op_rename(void *context, int dir, const char *from, const char *to)
{
    if (refuses(context, FAULTY_RENAME))
        return -1;
    int rc = renameat(dir, from, dir, to);
    if (rc == 0)
        push_name(context, UNDO_RENAME, dir, from, to);
    return rc;
}

static int op_unlink(void *context, int dir, const char *name)
{
    struct faulty *f = context;
    if (refuses(f, FAULTY_UNLINK))
        return -1;
    char saved[NAME];
    snprintf(saved, sizeof saved, "saved-%u", f->saved++);
    if (f->remember && renameat(dir, name, dir, saved) == 0) {
        push_name(f, UNDO_UNLINK, dir, name, saved);
        return 0;
    }
    return unlinkat(dir, name, 0);
}

static int op_sync_dir(void *context, int dir)
{
    struct faulty *f = context;
    if (refuses(f, FAULTY_SYNC_DIR))
        return -1;
    forget(f, inode_of(dir));
    return 0;
}

void faulty_init(struct faulty *f)
{
    memset(f, 0, sizeof *f);
    f->write_budget = -1;
    struct mi_file_ops ops = {op_open,  op_close,     op_pwritev, op_pread,  op_fdatasync, op_fallocate,
                              op_punch, op_ftruncate, op_rename,  op_unlink, op_sync_dir,  f};
    f->ops = ops;
}

void faulty_fini(struct faulty *f)
{
    while (f->undo) {
        struct faulty_undo *u = f->undo;
        f->undo = u->next;
        drop_undo(u);
    }
}

void faulty_cut(struct faulty *f)
{
    for (int i = 0; i < FAULTY_OPS; i++)
        f->error[i] = EIO;
}

/* Is this piece of this file lost? The same answer for every write to it. */
static bool is_lost(unsigned seed, unsigned keep, ino_t inode, uint64_t piece)
{
    uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15ull ^ (uint64_t)inode * 0xbf58476d1ce4e5b9ull ^
                 piece * 0x94d049bb133111ebull;
    x ^= x >> 31;
    x *= 0xd6e8feb86659fd93ull;
    x ^= x >> 32;
    return x % keep == 0;
}

static void undo_write(const struct faulty_undo *u, unsigned seed, unsigned keep)
{
    for (size_t at = 0; at < u->len;) {
        uint64_t piece = (uint64_t)(u->offset + (off_t)at) / PIECE;
        size_t len = (size_t)((piece + 1) * PIECE - (uint64_t)u->offset - at);
        if (len > u->len - at)
            len = u->len - at;
        if (is_lost(seed, keep, u->inode, piece) &&
            pwrite(u->fd, u->bytes + at, len, u->offset + (off_t)at) != (ssize_t)len)
            abort();
        at += len;
    }
}

void faulty_lose_power(struct faulty *f, unsigned seed, unsigned keep)
{
    /* Names are journaled by file systems: the newest changes are lost first, up to a point. */
    bool names = is_lost(seed, keep, 1, 0);
    while (f->undo) {
        struct faulty_undo *u = f->undo;
        int rc = 0;
        if (u->kind == UNDO_WRITE)
            undo_write(u, seed, keep);
        else if (u->kind == UNDO_SIZE && is_lost(seed, keep, u->inode, UINT64_MAX))
            rc = ftruncate(u->fd, u->size);
        else if (u->kind == UNDO_CREATE && names)
            rc = unlinkat(u->fd, u->from, 0);
        else if (u->kind == UNDO_RENAME && names)
            rc = renameat(u->fd, u->to, u->fd, u->from);
        else if (u->kind == UNDO_UNLINK)
            rc = names ? renameat(u->fd, u->to, u->fd, u->from) : unlinkat(u->fd, u->to, 0);
        (void)rc;
        f->undo = u->next;
        drop_undo(u);
    }
}
