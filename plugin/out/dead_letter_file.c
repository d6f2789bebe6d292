#include "out/dead_letter_file.h"

#include "out/dead_letters.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    RUN_BYTES = 8,
    HEAD_BYTES = RUN_BYTES + MI_RECORD_HEAD,
    LENGTH_AT = RUN_BYTES + 4,
    SEQUENCE_AT = RUN_BYTES + 16,
    PATH_BYTES = 4096,
    SEARCH_BYTES = 64 * 1024
};
#define NEW_FILE MI_DEAD_LETTER_FILE ".new"

struct mi_letter_file {
    char path[PATH_BYTES];
    int fd;
    uint64_t at, end, torn;
    struct mi_buf bytes;
};

static int read_at(struct mi_letter_file *f, uint64_t at, bool whole, struct mi_letter *letter);
static int find_next(struct mi_letter_file *f, uint64_t from, uint64_t *found);

static int failed(const struct mi_letter_file *f, const char *what, struct mi_error *err)
{
    return mi_error_set(err, "%s cannot be %s: %s", f->path, what, strerror(errno));
}

int mi_letter_file_open(const char *directory, bool to_write, struct mi_letter_file **out,
                        struct mi_error *err)
{
    *out = NULL;
    struct mi_letter_file *f = calloc(1, sizeof *f);
    if (!f)
        return mi_error_set(err, "memory is out while the dead letters are opened");
    snprintf(f->path, sizeof f->path, "%s/" MI_DEAD_LETTER_FILE, directory);
    mi_buf_init(&f->bytes, (size_t)UINT32_MAX + RUN_BYTES);
    f->fd = open(f->path, (to_write ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    int rc = f->fd >= 0 ? 1 : errno == ENOENT ? 0 : failed(f, "opened", err);
    if (rc == 1)
        *out = f;
    else
        free(f);
    return rc;
}

void mi_letter_file_close(struct mi_letter_file *f)
{
    if (!f)
        return;
    close(f->fd);
    mi_buf_fini(&f->bytes);
    free(f);
}

void mi_letter_file_seek(struct mi_letter_file *f, uint64_t at)
{
    f->at = at;
}

uint64_t mi_letter_file_torn(const struct mi_letter_file *f)
{
    return f->torn;
}

bool mi_letter_file_replaced(const struct mi_letter_file *f)
{
    struct stat here, there;
    return fstat(f->fd, &here) != 0 || stat(f->path, &there) != 0 || here.st_ino != there.st_ino ||
           here.st_dev != there.st_dev;
}

/* ---- the walk ---- */

int mi_letter_file_next(struct mi_letter_file *f, bool whole, struct mi_letter *letter, struct mi_error *err)
{
    struct stat st;
    uint64_t next;
    memset(letter, 0, sizeof *letter);
    f->torn = 0;
    if (fstat(f->fd, &st) != 0)
        return failed(f, "read", err);
    f->end = (uint64_t)st.st_size;
    int rc = read_at(f, f->at, whole, letter);
    if (rc < 0)
        return failed(f, "read", err);
    if (rc > 0) {
        f->at += letter->bytes;
        return 1;
    }
    rc = find_next(f, f->at + MI_RECORD_ALIGN, &next);
    if (rc < 0)
        return failed(f, "read", err);
    if (rc == 0) {
        f->torn = f->end > f->at ? f->end - f->at : 0;
        return 0;
    }
    *letter = (struct mi_letter){.at = f->at, .bytes = next - f->at, .damaged = true};
    f->at = next;
    return 1;
}

/* The bytes at that offset, in f->bytes; NULL with errno 0 when the file ends before. */
static const uint8_t *load(struct mi_letter_file *f, uint64_t at, size_t len)
{
    mi_buf_reset(&f->bytes);
    uint8_t *to = mi_buf_reserve(&f->bytes, len);
    if (!to) {
        errno = ENOMEM;
        return NULL;
    }
    for (size_t have = 0; have < len;) {
        ssize_t n = pread(f->fd, to + have, len - have, (off_t)(at + have));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            errno = n < 0 ? errno : 0;
            return NULL;
        }
        have += (size_t)n;
    }
    return to;
}

/* 1: a letter stands there; 0: none; -1: cannot be read (errno). */
static int read_at(struct mi_letter_file *f, uint64_t at, bool whole, struct mi_letter *letter)
{
    const uint8_t *head = at + HEAD_BYTES <= f->end ? load(f, at, HEAD_BYTES) : NULL;
    if (!head)
        return at + HEAD_BYTES <= f->end && errno ? -1 : 0;
    uint64_t length = mi_get_u32le(head + LENGTH_AT), run = mi_get_u64le(head);
    if (memcmp(head + RUN_BYTES, "MIR1", 4) != 0 || length < MI_RECORD_HEAD || length % MI_RECORD_ALIGN ||
        at + RUN_BYTES + length > f->end)
        return 0;
    letter->at = at;
    letter->bytes = RUN_BYTES + length;
    letter->taken_out = run == 0;
    letter->sequence = mi_get_u64le(head + SEQUENCE_AT);
    if (!whole || letter->taken_out)
        return 1;
    const uint8_t *bytes = load(f, at, letter->bytes);
    if (!bytes)
        return errno ? -1 : 0;
    if (mi_record_decode(bytes + RUN_BYTES, length, &letter->record) != (int64_t)length)
        return 0;
    letter->record.run = run;
    return 1;
}

/* The first whole letter at from or behind it: 1 found, 0 none, -1 cannot be read. */
static int find_next(struct mi_letter_file *f, uint64_t from, uint64_t *found)
{
    struct mi_letter letter;
    uint8_t *window = malloc(SEARCH_BYTES);
    int rc = window ? 0 : -1;
    for (uint64_t at = from; rc == 0 && at + HEAD_BYTES <= f->end; at += SEARCH_BYTES) {
        /* Magics are looked for at at + 8, + 16 ...; letters begin 8 bytes before. */
        ssize_t n = pread(f->fd, window, SEARCH_BYTES, (off_t)(at + RUN_BYTES));
        if (n < 0)
            rc = -1;
        for (ssize_t i = 0; rc == 0 && i + 4 <= n; i += MI_RECORD_ALIGN) {
            if (memcmp(window + i, "MIR1", 4) != 0)
                continue;
            rc = read_at(f, at + (uint64_t)i, true, &letter);
            *found = at + (uint64_t)i;
        }
    }
    free(window);
    return rc;
}

/* ---- taking out ---- */

static int write_at(int fd, const uint8_t *bytes, size_t len, uint64_t at)
{
    while (len) {
        ssize_t n = pwrite(fd, bytes, len, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        bytes += n;
        len -= (size_t)n;
        at += (uint64_t)n;
    }
    return 0;
}

int mi_letter_file_take_out(struct mi_letter_file *f, const struct mi_letter *letter, struct mi_error *err)
{
    static const uint8_t none[RUN_BYTES];
    return write_at(f->fd, none, sizeof none, letter->at) == 0 ? 0 : failed(f, "written", err);
}

int mi_letter_file_sync(struct mi_letter_file *f, struct mi_error *err)
{
    return fdatasync(f->fd) == 0 ? 0 : failed(f, "synced", err);
}

/* ---- compaction ---- */

/* Copies what stays, damage included: somebody may want to look at it. *gone: whether something did not stay.
 */
static int copy_rest(struct mi_letter_file *f, int to, uint64_t settled_below, bool *gone,
                     struct mi_error *err)
{
    struct mi_letter letter;
    uint64_t at = 0;
    int rc;
    mi_letter_file_seek(f, 0);
    while ((rc = mi_letter_file_next(f, false, &letter, err)) == 1) {
        if (letter.taken_out && letter.sequence < settled_below) {
            *gone = true;
            continue;
        }
        if (to < 0)
            continue;
        const uint8_t *bytes = load(f, letter.at, letter.bytes);
        if (!bytes || write_at(to, bytes, letter.bytes, at) != 0)
            return failed(f, "written anew", err);
        at += letter.bytes;
    }
    return rc;
}

static int replace(struct mi_letter_file *f, const char *directory, uint64_t settled_below,
                   struct mi_error *err)
{
    char path[PATH_BYTES];
    bool gone;
    snprintf(path, sizeof path, "%s/" NEW_FILE, directory);
    int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (to < 0)
        return failed(f, "written anew", err);
    int rc = copy_rest(f, to, settled_below, &gone, err);
    if (rc == 0 && (fdatasync(to) != 0 || rename(path, f->path) != 0))
        rc = failed(f, "written anew", err);
    close(to);
    if (rc != 0) {
        unlink(path);
        return -1;
    }
    int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0) {
        fsync(dir); /* without it a power loss brings the old file back: its letters are still taken out */
        close(dir);
    }
    return 1;
}

int mi_letter_file_compact(const char *directory, uint64_t settled_below, struct mi_error *err)
{
    struct mi_letter_file *f;
    bool gone = false;
    int rc = mi_letter_file_open(directory, false, &f, err);
    if (rc <= 0)
        return rc;
    rc = copy_rest(f, -1, settled_below, &gone, err);
    if (rc == 0 && gone)
        rc = replace(f, directory, settled_below, err);
    mi_letter_file_close(f);
    return rc;
}
