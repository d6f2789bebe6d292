/*
 * parked_file: one descriptor at a time, since there may be thousands of files.
 */
#include "out/parked_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

static void path_of(const struct mi_parked_files *f, uint32_t number, char path[PATH_BYTES])
{
    char name[MI_PARKED_NAME];
    mi_parked_name(number, name);
    snprintf(path, PATH_BYTES, "%s/%s", f->directory, name);
}

static int failed(const struct mi_parked_files *f, uint32_t number, const char *what, struct mi_error *err)
{
    char path[PATH_BYTES];
    int why = errno;
    path_of(f, number, path);
    return mi_error_set(err, "%s cannot be %s: %s", path, what, strerror(why));
}

void mi_parked_files_init(struct mi_parked_files *f, const char *directory)
{
    *f = (struct mi_parked_files){.directory = directory, .fd = -1};
}

static void let_go(struct mi_parked_files *f)
{
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

void mi_parked_files_fini(struct mi_parked_files *f)
{
    let_go(f);
}

void mi_parked_name(uint32_t number, char name[MI_PARKED_NAME])
{
    snprintf(name, MI_PARKED_NAME, "parked-%08x.log", number);
}

static void sync_directory(const struct mi_parked_files *f)
{
    int dir = open(f->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return;
    fsync(dir);
    close(dir);
}

/* -1 with errno. */
static int use(struct mi_parked_files *f, uint32_t number, bool make)
{
    char path[PATH_BYTES];
    if (f->fd >= 0 && f->number == number)
        return 0;
    let_go(f);
    path_of(f, number, path);
    f->number = number;
    f->fd = open(path, O_RDWR | O_CLOEXEC);
    if (f->fd >= 0 || errno != ENOENT || !make)
        return f->fd >= 0 ? 0 : -1;
    f->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (f->fd < 0)
        return -1;
    sync_directory(f);
    return 0;
}

bool mi_parked_encode(struct mi_buf *out, const struct mi_record *r)
{
    static const uint8_t padding[MI_RECORD_ALIGN];
    size_t whole = mi_record_bytes(r);
    uint8_t run[MI_PARKED_RUN_BYTES];
    mi_put_u64le(run, r->run);
    mi_buf_add(out, run, sizeof run);
    uint8_t *head = mi_buf_reserve(out, MI_RECORD_HEAD + r->stream.len + r->topic.len);
    if (!whole || !head)
        return false;
    size_t head_bytes = mi_record_encode_head(r, head);
    out->len += head_bytes;
    mi_buf_add_span(out, r->headers);
    mi_buf_add_span(out, r->prefix);
    mi_buf_add_span(out, r->payload);
    return mi_buf_add(out, padding, whole - head_bytes - r->headers.len - r->prefix.len - r->payload.len);
}

static int write_all(int fd, struct mi_span bytes, uint64_t at)
{
    while (bytes.len) {
        ssize_t n = pwrite(fd, bytes.data, bytes.len, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        bytes.data += n;
        bytes.len -= (size_t)n;
        at += (uint64_t)n;
    }
    return 0;
}

int mi_parked_write(struct mi_parked_files *f, uint32_t number, uint64_t at, struct mi_span bytes,
                    struct mi_error *err)
{
    if (use(f, number, true) != 0)
        return failed(f, number, "opened", err);
    if (write_all(f->fd, bytes, at) == 0 && fdatasync(f->fd) == 0)
        return 0;
    failed(f, number, "written", err);
    if (ftruncate(f->fd, (off_t)at) != 0)
        let_go(f); /* what stands behind the end is written over, or cut at the next start */
    return -1;
}

int mi_parked_read(struct mi_parked_files *f, uint32_t number, uint64_t at, size_t len, struct mi_buf *buf,
                   struct mi_error *err)
{
    mi_buf_reset(buf);
    uint8_t *to = mi_buf_reserve(buf, len);
    if (!to) {
        errno = ENOMEM;
        return failed(f, number, "read", err);
    }
    if (use(f, number, false) != 0)
        return failed(f, number, "opened", err);
    while (buf->len < len) {
        ssize_t n = pread(f->fd, to + buf->len, len - buf->len, (off_t)(at + buf->len));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return failed(f, number, "read", err);
        if (n == 0)
            break;
        buf->len += (size_t)n;
    }
    return 0;
}

int64_t mi_parked_size(struct mi_parked_files *f, uint32_t number, struct mi_error *err)
{
    struct stat st;
    if (use(f, number, false) != 0 && errno == ENOENT)
        return 0;
    if (f->fd < 0 || fstat(f->fd, &st) != 0)
        return failed(f, number, "opened", err);
    return st.st_size;
}

int mi_parked_cut(struct mi_parked_files *f, uint32_t number, uint64_t size, struct mi_error *err)
{
    if (use(f, number, false) != 0)
        return errno == ENOENT ? 0 : failed(f, number, "opened", err);
    return ftruncate(f->fd, (off_t)size) == 0 ? 0 : failed(f, number, "cut", err);
}

void mi_parked_free_space(struct mi_parked_files *f, uint32_t number, uint64_t from, uint64_t to)
{
    if (use(f, number, false) == 0)
        (void)fallocate(f->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)(to - from));
}

void mi_parked_remove(struct mi_parked_files *f, uint32_t number)
{
    char path[PATH_BYTES];
    if (f->number == number)
        let_go(f);
    path_of(f, number, path);
    (void)unlink(path); /* what stays is removed at a later start */
}

void mi_parked_list(struct mi_parked_files *f, void (*each)(void *context, uint32_t number), void *context)
{
    DIR *dir = opendir(f->directory);
    if (!dir)
        return;
    for (const struct dirent *d = readdir(dir); d; d = readdir(dir)) {
        char name[MI_PARKED_NAME];
        unsigned number;
        if (sscanf(d->d_name, "parked-%8x.log", &number) != 1)
            continue;
        mi_parked_name(number, name);
        if (strcmp(name, d->d_name) == 0)
            each(context, number);
    }
    closedir(dir);
}

int64_t mi_parked_decode(const uint8_t *data, size_t len, struct mi_record *record, size_t *need)
{
    *need = MI_PARKED_RUN_BYTES + MI_RECORD_HEAD;
    if (len < *need)
        return 0;
    const uint8_t *at = data + MI_PARKED_RUN_BYTES;
    size_t length = mi_get_u32le(at + 4);
    if (memcmp(at, "MIR1", 4) != 0 || length < MI_RECORD_HEAD || length % MI_RECORD_ALIGN)
        return -1;
    *need = MI_PARKED_RUN_BYTES + length;
    if (len < *need)
        return 0;
    uint64_t run = mi_get_u64le(data);
    if (mi_record_decode(at, length, record) != (int64_t)length || record->run != (uint32_t)run)
        return -1;
    record->run = run;
    return (int64_t)*need;
}
