#include "config/files.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_SIZE = 64 };

static int open_regular(const char *path, struct stat *st, struct mi_error *err);
static int read_all(int fd, const char *path, size_t max, struct mi_buf *out, struct mi_error *err);
static int check_others(const char *path, const struct stat *st, struct mi_error *err);
static int cannot_open(const char *path, int error, struct mi_error *err);

int mi_file_read(const char *path, size_t max, struct mi_buf *out, struct mi_error *err)
{
    struct stat st;
    int fd = open_regular(path, &st, err);
    if (fd < 0)
        return -1;
    int rc = read_all(fd, path, max, out, err);
    close(fd);
    return rc;
}

int mi_file_read_secret(const char *path, struct mi_buf *out, struct mi_error *err)
{
    struct stat st;
    int fd = open_regular(path, &st, err);
    if (fd < 0)
        return -1;
    int rc = check_others(path, &st, err);
    if (rc == 0)
        rc = read_all(fd, path, MI_MAX_SECRET_BYTES, out, err);
    close(fd);
    if (rc < 0)
        return -1;
    while (out->len > 0 && (out->data[out->len - 1] == '\n' || out->data[out->len - 1] == '\r'))
        out->len--;
    if (out->len == 0)
        return mi_error_set(err, "%s is empty: write the secret into it", path);
    if (memchr(out->data, 0, out->len))
        return mi_error_set(err, "%s holds a NUL byte: it must be plain text", path);
    if (!mi_buf_add_byte(out, 0))
        return mi_error_set(err, "memory is out");
    out->len--;
    return 0;
}

int mi_file_check(const char *path, bool private_key, struct mi_error *err)
{
    struct stat st;
    int fd = open_regular(path, &st, err);
    if (fd < 0)
        return -1;
    close(fd);
    return private_key ? check_others(path, &st, err) : 0;
}

static void user_name(uid_t uid, char name[NAME_SIZE])
{
    struct passwd entry, *found = NULL;
    char buffer[4096];
    if (getpwuid_r(uid, &entry, buffer, sizeof buffer, &found) == 0 && found)
        snprintf(name, NAME_SIZE, "%s", entry.pw_name);
    else
        snprintf(name, NAME_SIZE, "uid %u", (unsigned)uid);
}

/* O_NONBLOCK: a named pipe must not hold up the broker's start. */
static int open_regular(const char *path, struct stat *st, struct mi_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return cannot_open(path, errno, err);
    if (fstat(fd, st) == 0 && S_ISREG(st->st_mode))
        return fd;
    close(fd);
    return mi_error_set(err, "%s is not a regular file", path);
}

static int cannot_open(const char *path, int error, struct mi_error *err)
{
    char user[NAME_SIZE], owner[NAME_SIZE];
    struct stat st;
    user_name(geteuid(), user);
    if (error != EACCES)
        return mi_error_set(err, "%s cannot be opened by user %s: %s", path, user, strerror(error));
    if (stat(path, &st) < 0)
        return mi_error_set(err, "user %s may not look into the folder of %s", user, path);
    user_name(st.st_uid, owner);
    return mi_error_set(
        err, "user %s may not read %s (owner %s, mode %04o): give it to that user's group with mode 0640",
        user, path, owner, (unsigned)(st.st_mode & 07777));
}

static int check_others(const char *path, const struct stat *st, struct mi_error *err)
{
    char owner[NAME_SIZE];
    if ((st->st_mode & 0006) == 0)
        return 0;
    user_name(st->st_uid, owner);
    return mi_error_set(err,
                        "every user of this machine can %s %s (owner %s, mode %04o): chmod 0640 or 0600 it",
                        st->st_mode & 0002 ? "change" : "read", path, owner, (unsigned)(st->st_mode & 07777));
}

static int read_all(int fd, const char *path, size_t max, struct mi_buf *out, struct mi_error *err)
{
    for (;;) {
        uint8_t *to = mi_buf_reserve(out, 4096);
        if (!to)
            return mi_error_set(err, "%s: memory is out", path);
        ssize_t n = read(fd, to, 4096);
        if (n == 0)
            return 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return mi_error_set(err, "%s cannot be read: %s", path, strerror(errno));
        out->len += (size_t)n;
        if (out->len > max)
            return mi_error_set(err, "%s is larger than %zu bytes: that is not the file meant here", path,
                                max);
    }
}
