#include "journal/identity.h"

#include "journal/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FORMAT = 1, MAX_FILE = 8192, MAX_MACHINE = 64 };

static const char file_name[] = "identity", new_name[] = "identity.new", title[] = "mosquitto-iggy journal ";

/* ---- directory and lock ---- */

static int explain_directory(const char *directory, struct mi_error *err)
{
    int why = errno;
    if (why == ENOENT)
        return mi_error_set(
            err,
            "journal directory %s: its parent directory does not exist; create it, or name another "
            "directory with plugin_opt_journal",
            directory);
    if (why == EACCES || why == EPERM || why == EROFS)
        return mi_error_set(
            err,
            "journal directory %s: %s; make it writable for the user that runs mosquitto (chown), "
            "or name another directory with plugin_opt_journal",
            directory, strerror(why));
    return mi_error_set(err, "journal directory %s: %s; check the path given with plugin_opt_journal",
                        directory, strerror(why));
}

int mi_directory_open(const char *directory, bool create, struct mi_error *err)
{
    if (create && mkdir(directory, 0700) != 0 && errno != EEXIST)
        return explain_directory(directory, err);
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return explain_directory(directory, err);
    return fd;
}

static long read_pid(int fd)
{
    char text[32] = "";
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    return n > 0 ? strtol(text, NULL, 10) : 0;
}

int mi_directory_lock(const struct mi_file_ops *ops, int dir, const char *directory, struct mi_error *err)
{
    int fd = ops->open(ops->context, dir, "lock", O_RDWR | O_CREAT, 0600);
    if (fd < 0)
        return explain_directory(directory, err);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        long pid = errno == EWOULDBLOCK ? read_pid(fd) : 0;
        if (pid > 0)
            mi_error_set(
                err,
                "journal directory %s is in use by process %ld; give each broker its own directory with "
                "plugin_opt_journal, or stop the other one",
                directory, pid);
        else
            mi_error_set(err, "journal directory %s cannot be locked: %s; is another broker using it?",
                         directory, strerror(errno));
        ops->close(ops->context, fd);
        return -1;
    }
    char text[32];
    int len = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    /* The pid is only for the message; the lock itself needs no space on the disk. */
    if (mi_write_bytes(ops, fd, text, (size_t)len, 0) == 0)
        ops->ftruncate(ops->context, fd, len);
    return fd;
}

long mi_directory_holder(int dir)
{
    int fd = openat(dir, "lock", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    long pid = 0;
    if (flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        pid = read_pid(fd);
    close(fd);
    return pid;
}

/* ---- where this is ---- */

struct place {
    char machine[MAX_MACHINE]; /* empty: unknown, as in many containers */
    uint64_t inode;
};

static void find_place(int dir, struct place *p)
{
    memset(p, 0, sizeof *p);
    struct stat st;
    if (fstat(dir, &st) == 0)
        p->inode = (uint64_t)st.st_ino;
    int fd = open("/etc/machine-id", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t n = read(fd, p->machine, sizeof p->machine - 1);
    p->machine[n > 0 ? n : 0] = '\0';
    p->machine[strcspn(p->machine, " \r\n")] = '\0';
    close(fd);
}

/* ---- the file ---- */

static bool is_hex(const char *text)
{
    return strlen(text) == MI_IDENTITY_HEX && strspn(text, "0123456789abcdef") == MI_IDENTITY_HEX;
}

static void add_former(struct mi_identity *id, const char *hex)
{
    if (id->former_count < MI_MAX_FORMER)
        memcpy(id->former[id->former_count++], hex, MI_IDENTITY_HEX + 1);
}

static void take_line(struct mi_identity *id, struct place *p, const char *line)
{
    char key[16] = "", value[MAX_MACHINE] = "";
    if (sscanf(line, "%15s %63s", key, value) < 1)
        return;
    if (strcmp(key, "identity") == 0 && is_hex(value))
        memcpy(id->id, value, sizeof id->id);
    else if (strcmp(key, "former") == 0 && is_hex(value))
        add_former(id, value);
    else if (strcmp(key, "machine") == 0)
        memcpy(p->machine, value, sizeof p->machine);
    else if (strcmp(key, "inode") == 0)
        p->inode = strtoull(value, NULL, 10);
}

/* 1: parsed. 0: damaged. -1: another format. */
static int parse(char *text, const char *directory, struct mi_identity *id, struct place *p,
                 struct mi_error *err)
{
    if (strncmp(text, title, sizeof title - 1) != 0)
        return 0;
    char *rest = NULL;
    unsigned long format = strtoul(text + sizeof title - 1, &rest, 10);
    if (*rest != '\n')
        return 0;
    if (format != FORMAT)
        return mi_error_set(
            err,
            "journal directory %s has format %lu, this version knows only format %d; use the version "
            "of mosquitto-iggy that wrote it, or name another directory with plugin_opt_journal",
            directory, format, FORMAT);
    for (char *save = NULL, *line = strtok_r(rest, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        take_line(id, p, line);
    return id->id[0] != '\0';
}

static int read_file(const struct mi_file_ops *ops, int dir, const char *directory, struct mi_identity *id,
                     struct place *p, struct mi_error *err)
{
    memset(id, 0, sizeof *id);
    memset(p, 0, sizeof *p);
    int fd = ops->open(ops->context, dir, file_name, O_RDONLY, 0);
    if (fd < 0 && errno == ENOENT) {
        id->created = true;
        return 0;
    }
    char text[MAX_FILE];
    ssize_t n = fd < 0 ? -1 : mi_read_some(ops, fd, text, sizeof text - 1, 0);
    int why = errno;
    if (fd >= 0)
        ops->close(ops->context, fd);
    if (n < 0)
        return mi_error_set(err, "%s/%s cannot be read: %s", directory, file_name, strerror(why));
    text[n] = '\0';
    return parse(text, directory, id, p, err);
}

int mi_identity_read(const struct mi_file_ops *ops, int dir, const char *directory, struct mi_identity *out,
                     struct mi_error *err)
{
    struct place p;
    return read_file(ops, dir, directory, out, &p, err);
}

static void draw(const struct mi_clock *clock, struct mi_identity *id)
{
    char old[sizeof id->id];
    memcpy(old, id->id, sizeof old);
    snprintf(id->id, sizeof id->id, "%016" PRIx64 "%016" PRIx64, mi_random(clock), mi_random(clock));
    if (!old[0])
        return;
    size_t keep = id->former_count < MI_MAX_FORMER ? id->former_count : MI_MAX_FORMER - 1;
    memmove(id->former[1], id->former[0], keep * sizeof id->former[0]);
    memcpy(id->former[0], old, sizeof old);
    id->former_count = keep + 1;
}

static size_t print(const struct mi_identity *id, const struct place *p, char *text, size_t size)
{
    size_t at = (size_t)snprintf(text, size, "%s%d\nidentity %s\ninode %" PRIu64 "\n", title, FORMAT, id->id,
                                 p->inode);
    if (p->machine[0])
        at += (size_t)snprintf(text + at, size - at, "machine %s\n", p->machine);
    for (size_t i = 0; i < id->former_count; i++)
        at += (size_t)snprintf(text + at, size - at, "former %s\n", id->former[i]);
    return at;
}

/* A new file beside the old one, synced, then renamed over it. */
static int write_file(const struct mi_file_ops *ops, int dir, const struct mi_identity *id,
                      const struct place *p)
{
    char text[MAX_FILE];
    size_t len = print(id, p, text, sizeof text);
    int fd = ops->open(ops->context, dir, new_name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0)
        return -1;
    bool good = mi_write_bytes(ops, fd, text, len, 0) == 0 && ops->fdatasync(ops->context, fd) == 0;
    int why = errno;
    ops->close(ops->context, fd);
    errno = why;
    if (!good)
        return -1;
    mi_fault("identity.written");
    if (ops->rename(ops->context, dir, new_name, file_name) != 0)
        return -1;
    mi_fault("identity.renamed");
    return ops->sync_dir(ops->context, dir);
}

int mi_identity_load(const struct mi_file_ops *ops, int dir, const char *directory,
                     const struct mi_clock *clock, struct mi_identity *out, struct mi_error *err)
{
    struct place here, there;
    find_place(dir, &here);
    int rc = read_file(ops, dir, directory, out, &there, err);
    if (rc < 0)
        return -1;
    bool moved = here.inode != there.inode ||
                 (here.machine[0] && there.machine[0] && strcmp(here.machine, there.machine) != 0);
    if (rc > 0 && !moved)
        return 0;
    out->changed = !out->created;
    draw(clock, out);
    if (write_file(ops, dir, out, &here) != 0)
        return mi_error_set(err, "%s/%s cannot be written: %s; free space or make the directory writable",
                            directory, new_name, strerror(errno));
    return 0;
}

bool mi_identity_is_own(const struct mi_identity *id, struct mi_span identity)
{
    if (mi_span_equal(identity, mi_span_of(id->id)))
        return true;
    for (size_t i = 0; i < id->former_count; i++)
        if (mi_span_equal(identity, mi_span_of(id->former[i])))
            return true;
    return false;
}
