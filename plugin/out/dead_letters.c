/*
 * dead_letters: the file.
 */
#include "out/dead_letters.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { RUN_BYTES = 8, PATH_BYTES = 4096 };

struct mi_dead_letters {
    char path[PATH_BYTES];
    uint64_t max_bytes, first, bytes;
    int fd; /* -1: not open yet */
    uint64_t *sequences;
    size_t count, cap;
};

static int open_file(struct mi_dead_letters *d, struct mi_error *err);
static bool remember(struct mi_dead_letters *d, uint64_t sequence);

struct mi_dead_letters *mi_dead_letters_new(const char *directory, uint64_t max_bytes, uint64_t first)
{
    struct mi_dead_letters *d = calloc(1, sizeof *d);
    if (!d)
        return NULL;
    d->max_bytes = max_bytes;
    d->first = first;
    d->fd = -1;
    snprintf(d->path, sizeof d->path, "%s/" MI_DEAD_LETTER_FILE, directory);
    return d;
}

void mi_dead_letters_free(struct mi_dead_letters *d)
{
    if (!d)
        return;
    if (d->fd >= 0)
        close(d->fd);
    free(d->sequences);
    free(d);
}

void mi_dead_letters_set_max(struct mi_dead_letters *d, uint64_t max_bytes)
{
    d->max_bytes = max_bytes;
}

/* Only letters of a run before this one can come twice: what open_file found. */
static bool known(const struct mi_dead_letters *d, uint64_t sequence)
{
    for (size_t i = d->count; i > 0; i--)
        if (d->sequences[i - 1] == sequence)
            return true;
    return false;
}

static int write_all(int fd, struct iovec *part, int count)
{
    while (count) {
        ssize_t n = writev(fd, part, count);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        while (count && (size_t)n >= part->iov_len) {
            n -= (ssize_t)part->iov_len;
            part++;
            count--;
        }
        if (count) {
            part->iov_base = (uint8_t *)part->iov_base + n;
            part->iov_len -= (size_t)n;
        }
    }
    return 0;
}

static int append(struct mi_dead_letters *d, const struct mi_record *r, size_t bytes)
{
    static const uint8_t padding[MI_RECORD_ALIGN];
    uint8_t *head = malloc(RUN_BYTES + MI_RECORD_HEAD + r->stream.len + r->topic.len);
    if (!head) {
        errno = ENOMEM;
        return -1;
    }
    mi_put_u64le(head, r->run);
    size_t head_bytes = mi_record_encode_head(r, head + RUN_BYTES);
    size_t pad = bytes - head_bytes - r->headers.len - r->prefix.len - r->payload.len;
    struct iovec part[] = {
        {head, RUN_BYTES + head_bytes},
        {(void *)(uintptr_t)r->headers.data, r->headers.len},
        {(void *)(uintptr_t)r->prefix.data, r->prefix.len},
        {(void *)(uintptr_t)r->payload.data, r->payload.len},
        {(void *)(uintptr_t)padding, pad},
    };
    int rc = write_all(d->fd, part, 5);
    if (rc == 0)
        rc = fdatasync(d->fd);
    free(head);
    return rc;
}

/* Somebody took letters out and put a new file in this one's place. */
static bool replaced(const struct mi_dead_letters *d)
{
    struct stat ours, there;
    return fstat(d->fd, &ours) != 0 || stat(d->path, &there) != 0 || ours.st_ino != there.st_ino ||
           ours.st_dev != there.st_dev;
}

enum mi_dead mi_dead_letters_add(struct mi_dead_letters *d, const struct mi_record *record,
                                 struct mi_error *err)
{
    if (d->fd >= 0 && replaced(d)) {
        close(d->fd);
        d->fd = -1;
    }
    if (d->fd < 0 && open_file(d, err) != 0)
        return MI_DEAD_FAILED;
    if (known(d, record->sequence))
        return MI_DEAD_WRITTEN;
    size_t bytes = mi_record_bytes(record);
    if (d->bytes + RUN_BYTES + bytes > d->max_bytes)
        return MI_DEAD_FULL;
    if (append(d, record, bytes) != 0) {
        mi_error_set(err, "%s: %s", d->path, strerror(errno));
        if (ftruncate(d->fd, (off_t)d->bytes) != 0 || lseek(d->fd, (off_t)d->bytes, SEEK_SET) < 0) {
            close(d->fd); /* read anew, and its tail cut, at the next letter */
            d->fd = -1;
        }
        return MI_DEAD_FAILED;
    }
    d->bytes += RUN_BYTES + bytes;
    return MI_DEAD_WRITTEN;
}

static bool remember(struct mi_dead_letters *d, uint64_t sequence)
{
    if (sequence < d->first)
        return true;
    if (d->count == d->cap) {
        size_t cap = d->cap ? d->cap * 2 : 64;
        uint64_t *more = realloc(d->sequences, cap * sizeof *more);
        if (!more)
            return false;
        d->sequences = more;
        d->cap = cap;
    }
    d->sequences[d->count++] = sequence;
    return true;
}

/* One whole letter at that position, or 0 at its end or torn tail, -1 when it cannot be read. */
static int64_t read_letter(int fd, struct mi_buf *buf, off_t at, off_t end, struct mi_record *record)
{
    size_t want = RUN_BYTES + MI_RECORD_HEAD;
    for (;;) {
        if (at + (off_t)want > end)
            return 0;
        mi_buf_reset(buf);
        uint8_t *to = mi_buf_reserve(buf, want);
        if (!to)
            return -1;
        ssize_t got = pread(fd, to, want, at);
        if (got < 0)
            return -1;
        if ((size_t)got < want)
            return 0;
        size_t length = mi_get_u32le(to + RUN_BYTES + 4);
        if (want < RUN_BYTES + length) {
            want = RUN_BYTES + length;
            continue;
        }
        int64_t bytes = mi_record_decode(to + RUN_BYTES, want - RUN_BYTES, record);
        return bytes > 0 ? RUN_BYTES + bytes : 0;
    }
}

static int open_file(struct mi_dead_letters *d, struct mi_error *err)
{
    int fd = open(d->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return mi_error_set(err, "%s: %s", d->path, strerror(errno));
    struct mi_buf buf;
    struct mi_record record;
    struct stat st = {0};
    fstat(fd, &st);
    mi_buf_init(&buf, (size_t)st.st_size + 1);
    off_t at = 0, good = 0;
    int64_t bytes = 0;
    d->count = 0;
    while (at < st.st_size && (bytes = read_letter(fd, &buf, at, st.st_size, &record)) >= 0) {
        at += bytes ? bytes : MI_RECORD_ALIGN; /* damage between letters is left where it is */
        if (bytes && !remember(d, record.sequence)) {
            bytes = -1;
            errno = ENOMEM;
            break;
        }
        good = bytes ? at : good;
    }
    mi_buf_fini(&buf);
    if (bytes < 0 || ftruncate(fd, good) != 0 || lseek(fd, good, SEEK_SET) < 0) {
        mi_error_set(err, "%s: %s", d->path, strerror(errno));
        close(fd);
        return -1;
    }
    d->fd = fd;
    d->bytes = (uint64_t)good;
    return 0;
}
