#include "journal/inspect.h"

#include "journal/identity.h"
#include "journal/scan.h"
#include "journal/segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct entry {
    struct mi_inspect_segment info;
    struct mi_segment_header h;
};

struct mi_inspect {
    char *directory;
    int dir;
    struct mi_identity identity;
    struct entry *list;
    size_t len, cap;
    /* the walk */
    size_t index;
    struct mi_scan scan;
    struct mi_record pending; /* the record behind the damage that was told */
    bool has_pending, at_end;
    uint64_t records;
};

static int list_segments(struct mi_inspect *i, struct mi_error *err);

struct mi_inspect *mi_inspect_open(const char *directory, struct mi_error *err)
{
    struct mi_inspect *i = calloc(1, sizeof *i);
    if (!i || !(i->directory = strdup(directory))) {
        free(i);
        mi_error_set(err, "out of memory while %s is read", directory);
        return NULL;
    }
    i->scan.fd = -1;
    i->dir = mi_directory_open(directory, false, err);
    if (i->dir < 0 || mi_identity_read(&mi_file_ops_system, i->dir, directory, &i->identity, err) < 0 ||
        list_segments(i, err) != 0) {
        mi_inspect_close(i);
        return NULL;
    }
    if (i->identity.created && i->len == 0) {
        mi_error_set(err, "%s holds no journal", directory);
        mi_inspect_close(i);
        return NULL;
    }
    return i;
}

static void end_walk(struct mi_inspect *i)
{
    if (i->scan.fd >= 0)
        close(i->scan.fd);
    i->scan.fd = -1;
    mi_scan_forget(&i->scan);
}

void mi_inspect_close(struct mi_inspect *i)
{
    if (!i)
        return;
    end_walk(i);
    mi_scan_fini(&i->scan);
    if (i->dir >= 0)
        close(i->dir);
    free(i->list);
    free(i->directory);
    free(i);
}

const char *mi_inspect_identity(const struct mi_inspect *i)
{
    return i->identity.id;
}

size_t mi_inspect_former(const struct mi_inspect *i)
{
    return i->identity.former_count;
}

const char *mi_inspect_former_identity(const struct mi_inspect *i, size_t index)
{
    return index < i->identity.former_count ? i->identity.former[index] : NULL;
}

long mi_inspect_holder(const struct mi_inspect *i)
{
    return mi_directory_holder(i->dir);
}

const struct mi_inspect_segment *mi_inspect_segment(const struct mi_inspect *i, size_t index)
{
    return index < i->len ? &i->list[index].info : NULL;
}

/* ---- the list ---- */

static int by_first(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->h.first != y->h.first)
        return x->h.first < y->h.first ? -1 : 1;
    return x->h.number < y->h.number ? -1 : x->h.number > y->h.number;
}

static struct entry *add_entry(struct mi_inspect *i)
{
    if (i->len == i->cap) {
        size_t cap = i->cap ? i->cap * 2 : 32;
        struct entry *list = realloc(i->list, cap * sizeof *list);
        if (!list)
            return NULL;
        i->list = list;
        i->cap = cap;
    }
    struct entry *e = &i->list[i->len++];
    memset(e, 0, sizeof *e);
    return e;
}

static void read_seal(struct entry *e, int fd)
{
    uint8_t trailer[MI_SEAL_TRAILER];
    struct mi_seal seal;
    if (e->info.bytes < e->h.size ||
        pread(fd, trailer, sizeof trailer, (off_t)(e->h.size - sizeof trailer)) != (ssize_t)sizeof trailer ||
        !mi_seal_peek(trailer, e->h.number, e->h.size, &seal) || seal.run != e->h.run)
        return;
    size_t len = mi_seal_bytes(seal.routes);
    uint8_t *bytes = malloc(len);
    e->info.sealed = bytes &&
                     mi_read_some(&mi_file_ops_system, fd, bytes, len, e->h.size - len) == (ssize_t)len &&
                     mi_seal_check(bytes, len);
    free(bytes);
    if (!e->info.sealed)
        return;
    e->info.next_sequence = seal.next;
    e->info.records = seal.records;
    e->info.end = seal.end;
}

static int read_entry(struct mi_inspect *i, const char *name, struct mi_error *err)
{
    uint8_t head[MI_SEGMENT_HEAD];
    struct mi_segment_header h;
    struct stat st;
    int fd = openat(i->dir, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return 0; /* recycled since the listing */
    ssize_t n =
        fd < 0 || fstat(fd, &st) != 0 ? -1 : mi_read_some(&mi_file_ops_system, fd, head, sizeof head, 0);
    if (n < 0) {
        mi_error_set(err, "%s/%s cannot be read: %s", i->directory, name, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    int rc = 0;
    enum mi_segment_kind kind = mi_segment_header_decode(head, (size_t)n, &h);
    if (kind == MI_SEGMENT_UNKNOWN)
        rc = mi_error_set(err, "%s/%s has format version %u, this version knows only %d", i->directory, name,
                          h.version, MI_SEGMENT_VERSION);
    struct entry *e = kind == MI_SEGMENT_GOOD ? add_entry(i) : NULL;
    if (kind == MI_SEGMENT_GOOD && !e)
        rc = mi_error_set(err, "out of memory while %s is read", i->directory);
    if (e) {
        e->h = h;
        e->info.number = h.number;
        e->info.run = h.run;
        e->info.first_sequence = h.first;
        e->info.time_us = h.time_us;
        e->info.bytes = (uint64_t)st.st_size;
        read_seal(e, fd);
    }
    close(fd);
    return rc;
}

static int list_segments(struct mi_inspect *i, struct mi_error *err)
{
    int fd = openat(i->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        int why = errno;
        if (fd >= 0)
            close(fd);
        return mi_error_set(err, "%s cannot be listed: %s", i->directory, strerror(why));
    }
    int rc = 0;
    uint64_t number;
    for (struct dirent *e; rc == 0 && (e = readdir(d));)
        if (mi_segment_number(e->d_name, &number))
            rc = read_entry(i, e->d_name, err);
    closedir(d);
    if (i->len)
        qsort(i->list, i->len, sizeof *i->list, by_first);
    return rc;
}

/* ---- the walk ---- */

void mi_inspect_begin(struct mi_inspect *i, size_t index)
{
    end_walk(i);
    i->index = index;
    i->has_pending = i->at_end = false;
    i->records = 0;
    if (index >= i->len) {
        i->at_end = true;
        return;
    }
    const struct entry *e = &i->list[index];
    uint64_t limit = index + 1 < i->len ? i->list[index + 1].h.previous_end : UINT64_MAX;
    i->scan.ops = &mi_file_ops_system;
    i->scan.run = e->h.run;
    i->scan.offset = MI_SEGMENT_HEAD;
    i->scan.due = e->h.first;
    i->scan.end = e->info.sealed ? e->info.end : e->info.bytes < e->h.size ? e->info.bytes : e->h.size;
    i->scan.limit = e->info.sealed ? e->info.next_sequence : limit;
    char name[MI_SEGMENT_NAME];
    mi_segment_name(e->h.number, name);
    i->scan.fd = openat(i->dir, name, O_RDONLY | O_CLOEXEC);
    i->at_end = i->scan.fd < 0 && errno == ENOENT;
}

static enum mi_inspect_found damage(const struct mi_inspect *i, uint64_t due, struct mi_journal_ref *ref,
                                    uint64_t *lost)
{
    ref->sequence = due;
    ref->offset = (uint32_t)i->scan.damage_at;
    ref->bytes = (uint32_t)i->scan.damage_bytes;
    *lost = i->scan.damage_records;
    return MI_INSPECT_DAMAGE;
}

static enum mi_inspect_found tell(struct mi_inspect *i, const struct mi_record *r, struct mi_journal_ref *ref,
                                  struct mi_record *record)
{
    ref->sequence = r->sequence;
    ref->offset = (uint32_t)i->scan.at;
    ref->bytes = i->scan.bytes;
    *record = *r;
    i->records++;
    return MI_INSPECT_RECORD;
}

/* Nothing more fits: the end, or damage up to it, or a torn record. */
static enum mi_inspect_found finish(struct mi_inspect *i, uint64_t due, struct mi_journal_ref *ref,
                                    uint64_t *lost)
{
    struct entry *e = &i->list[i->index];
    i->at_end = true;
    if (!e->info.sealed) {
        e->info.end = i->scan.offset;
        e->info.next_sequence = i->scan.due;
        e->info.records = i->records;
    }
    if (i->scan.limit != UINT64_MAX && i->scan.due < i->scan.limit) {
        mi_scan_give_up(&i->scan);
        return damage(i, due, ref, lost);
    }
    uint64_t torn = e->info.sealed ? 0 : mi_scan_torn(&i->scan);
    if (!torn)
        return MI_INSPECT_END;
    ref->sequence = i->scan.due;
    ref->offset = (uint32_t)i->scan.offset;
    ref->bytes = (uint32_t)torn;
    return MI_INSPECT_TORN;
}

enum mi_inspect_found mi_inspect_next(struct mi_inspect *i, struct mi_journal_ref *ref,
                                      struct mi_record *record, uint64_t *lost, struct mi_error *err)
{
    memset(ref, 0, sizeof *ref);
    *lost = 0;
    if (i->at_end)
        return MI_INSPECT_END;
    ref->segment = i->list[i->index].h.number;
    if (i->has_pending) {
        i->has_pending = false;
        return tell(i, &i->pending, ref, record);
    }
    uint64_t due = i->scan.due;
    int rc = i->scan.fd < 0 ? -1 : mi_scan_next(&i->scan, &i->pending);
    if (rc < 0) {
        mi_error_set(err, "%s: segment %llu cannot be read: %s", i->directory,
                     (unsigned long long)ref->segment, strerror(errno));
        i->at_end = true;
        return MI_INSPECT_ERROR;
    }
    if (rc == 0)
        return finish(i, due, ref, lost);
    i->has_pending = i->scan.damage_bytes > 0;
    return i->has_pending ? damage(i, due, ref, lost) : tell(i, &i->pending, ref, record);
}
