/* recover: what a journal directory holds, read at start: seals where there are some, records only where not.
 */
#include "journal/fault.h"
#include "journal/journal_private.h"
#include "journal/scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int load_file(struct mi_journal *j, uint64_t number, struct mi_journal_report *report,
                     struct mi_error *err);
static int recover_segment(struct mi_journal *j, size_t index, struct mi_journal_report *report,
                           struct mi_error *err);
static bool read_seal(struct mi_journal *j, int fd, uint64_t number, uint64_t size, struct mi_seal *seal,
                      uint8_t **bytes);

static int cannot_read(const struct mi_journal *j, uint64_t number, struct mi_error *err)
{
    char name[MI_SEGMENT_NAME];
    mi_segment_name(number, name);
    return mi_error_set(
        err,
        "journal %s: %s cannot be read: %s; repair the disk, or move that file away to give its "
        "messages up",
        j->directory, name, strerror(errno));
}

static bool open_segment(struct mi_journal *j, struct mi_journal_segment *s, int flags)
{
    char name[MI_SEGMENT_NAME];
    mi_segment_name(s->h.number, name);
    s->fd = j->ops->open(j->ops->context, j->dir, name, flags, 0);
    return s->fd >= 0;
}

static void close_segment(struct mi_journal *j, struct mi_journal_segment *s)
{
    if (s->fd >= 0)
        j->ops->close(j->ops->context, s->fd);
    s->fd = -1;
}

static int by_first(const void *a, const void *b)
{
    const struct mi_journal_segment *x = *(struct mi_journal_segment *const *)a;
    const struct mi_journal_segment *y = *(struct mi_journal_segment *const *)b;
    if (x->h.first != y->h.first)
        return x->h.first < y->h.first ? -1 : 1;
    return x->h.number < y->h.number ? -1 : x->h.number > y->h.number;
}

/* The quarantine file is written on where it ends. */
static void find_quarantine(struct mi_journal *j)
{
    struct stat st;
    if (fstatat(j->dir, "quarantine", &st, 0) == 0)
        j->quarantined = (uint64_t)st.st_size;
}

int mi_recover(struct mi_journal *j, struct mi_journal_report *report, struct mi_error *err)
{
    int fd = openat(j->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        int why = errno;
        if (fd >= 0)
            close(fd);
        return mi_error_set(err, "journal directory %s cannot be listed: %s", j->directory, strerror(why));
    }
    find_quarantine(j);
    int rc = 0;
    uint64_t number;
    for (struct dirent *e; rc == 0 && (e = readdir(d));)
        if (mi_segment_number(e->d_name, &number))
            rc = load_file(j, number, report, err);
    closedir(d);
    if (rc != 0)
        return -1;
    if (j->list_len)
        qsort(j->list, j->list_len, sizeof(struct mi_journal_segment *), by_first);
    for (size_t i = 0; i < j->list_len && rc == 0; i++)
        rc = recover_segment(j, i, report, err);
    for (size_t i = 0; i < j->list_len; i++)
        if (j->list[i]->next > j->write_next)
            j->write_next = j->list[i]->next;
    j->base_next = j->write_next;
    report->damaged_records = j->damaged_records;
    report->torn_bytes = j->torn_bytes;
    return rc;
}

/* ---- one file ---- */

static void set_aside(struct mi_journal *j, uint64_t number, uint64_t size, struct mi_journal_report *report)
{
    char name[MI_SEGMENT_NAME], aside[MI_SEGMENT_NAME + 16];
    mi_segment_name(number, name);
    snprintf(aside, sizeof aside, "%s.damaged", name);
    j->ops->rename(j->ops->context, j->dir, name, aside);
    report->damaged_bytes += size;
    mi_log_line(
        j->log, MI_LOG_ERROR,
        "journal %s: the header of %s is destroyed, its messages cannot be sent; the file is kept as %s",
        j->directory, name, aside);
}

/* A prepared file becomes the spare, the second one goes. */
static int take_unused(struct mi_journal *j, uint64_t number, uint64_t size, int *fd)
{
    if (j->spare || size != j->segment_size) {
        char name[MI_SEGMENT_NAME];
        mi_segment_name(number, name);
        j->ops->unlink(j->ops->context, j->dir, name);
        return 0;
    }
    j->spare = mi_segment_new(number, size);
    if (!j->spare)
        return -1;
    j->spare->fd = *fd;
    *fd = -1;
    return 0;
}

/* A header that is lost can be made again from the seal. */
static bool rebuild_header(struct mi_journal *j, int fd, uint64_t number, uint64_t size,
                           struct mi_segment_header *h)
{
    struct mi_seal seal;
    uint8_t bytes[MI_SEGMENT_HEAD], *totals = NULL;
    if (!read_seal(j, fd, number, size, &seal, &totals))
        return false;
    free(totals);
    memset(h, 0, sizeof *h);
    h->version = MI_SEGMENT_VERSION;
    h->run = seal.run;
    h->number = number;
    h->first = h->previous_end = seal.first;
    h->size = size;
    mi_segment_header_encode(h, bytes);
    return mi_write_bytes(j->ops, fd, bytes, sizeof bytes, 0) == 0;
}

static int take_segment(struct mi_journal *j, const struct mi_segment_header *h)
{
    struct mi_journal_segment *s = mi_segment_new(h->number, h->size);
    if (!s || !mi_segment_append(j, s)) {
        free(s);
        return -1;
    }
    s->h = *h;
    s->next = h->first;
    s->retired = true;
    s->dir_synced = true;
    return 0;
}

static int classify(struct mi_journal *j, uint64_t number, int *fd, uint64_t size,
                    struct mi_journal_report *report, struct mi_error *err)
{
    uint8_t bytes[MI_SEGMENT_HEAD];
    struct mi_segment_header h;
    ssize_t n = mi_read_some(j->ops, *fd, bytes, sizeof bytes, 0);
    if (n < 0)
        return cannot_read(j, number, err);
    enum mi_segment_kind kind = mi_segment_header_decode(bytes, (size_t)n, &h);
    if (kind == MI_SEGMENT_UNKNOWN)
        return mi_error_set(err,
                            "journal %s: segment %" PRIu64
                            " has format version %u, this version knows only %d; use "
                            "the version of mosquitto-iggy that wrote it, or name another directory with "
                            "plugin_opt_journal",
                            j->directory, number, h.version, MI_SEGMENT_VERSION);
    if (kind == MI_SEGMENT_GOOD && h.number != number)
        kind = MI_SEGMENT_BAD;
    if (kind != MI_SEGMENT_GOOD && rebuild_header(j, *fd, number, size, &h))
        kind = MI_SEGMENT_GOOD;
    int rc = 0;
    if (kind == MI_SEGMENT_GOOD)
        rc = take_segment(j, &h);
    else if (kind == MI_SEGMENT_UNUSED)
        rc = take_unused(j, number, size, fd);
    else
        set_aside(j, number, size, report);
    return rc == 0 ? 0 : mi_error_set(err, "out of memory while the journal %s is read", j->directory);
}

static int load_file(struct mi_journal *j, uint64_t number, struct mi_journal_report *report,
                     struct mi_error *err)
{
    char name[MI_SEGMENT_NAME];
    struct stat st;
    mi_segment_name(number, name);
    if (number >= j->next_number)
        j->next_number = number + 1;
    int fd = j->ops->open(j->ops->context, j->dir, name, O_RDWR, 0);
    if (fd < 0 || fstat(fd, &st) != 0) {
        int rc = cannot_read(j, number, err);
        if (fd >= 0)
            j->ops->close(j->ops->context, fd);
        return rc;
    }
    int rc = classify(j, number, &fd, (uint64_t)st.st_size, report, err);
    if (fd >= 0)
        j->ops->close(j->ops->context, fd);
    return rc;
}

/* ---- seals ---- */

static bool read_seal(struct mi_journal *j, int fd, uint64_t number, uint64_t size, struct mi_seal *seal,
                      uint8_t **bytes)
{
    uint8_t trailer[MI_SEAL_TRAILER];
    if (size < MI_SEGMENT_HEAD + MI_SEAL_TRAILER ||
        mi_read_some(j->ops, fd, trailer, sizeof trailer, size - sizeof trailer) != MI_SEAL_TRAILER ||
        !mi_seal_peek(trailer, number, size, seal))
        return false;
    size_t len = mi_seal_bytes(seal->routes);
    *bytes = malloc(len);
    if (*bytes && mi_read_some(j->ops, fd, *bytes, len, size - len) == (ssize_t)len &&
        mi_seal_check(*bytes, len))
        return true;
    free(*bytes);
    *bytes = NULL;
    return false;
}

/* ---- segments without a seal ---- */

struct tally {
    struct mi_counts counts;
    uint64_t records;
    bool failed; /* memory */
};

static void tally_record(struct tally *t, const struct mi_record *r)
{
    struct mi_count *c = mi_counts_get(&t->counts, r->route);
    if (!c)
        t->failed = true;
    else
        c->segment++;
    t->records++;
}

static void note_damage(struct mi_journal *j, const struct mi_journal_segment *s, const struct mi_scan *scan,
                        struct mi_journal_report *report)
{
    if (!scan->damage_bytes && !scan->damage_records)
        return;
    struct mi_damage d = {s->fd, s->h.number, scan->damage_at, scan->damage_bytes, scan->damage_records};
    if (report && d.offset + d.bytes > s->damage_end)
        report->damaged_bytes += d.bytes;
    mi_damage_found(j, &d);
}

/* Walks all records from a sequence on. -1: cannot be read. */
static int walk(struct mi_journal *j, struct mi_journal_segment *s, struct mi_scan *scan, uint64_t from,
                struct tally *t, struct mi_journal_report *report)
{
    struct mi_record r;
    int rc;
    while ((rc = mi_scan_next(scan, &r)) > 0) {
        note_damage(j, s, scan, report);
        if (r.sequence >= from)
            tally_record(t, &r);
    }
    return rc;
}

static struct mi_scan scan_of(struct mi_journal *j, const struct mi_journal_segment *s, uint64_t end,
                              uint64_t limit)
{
    struct mi_scan scan = {.ops = j->ops,
                           .fd = s->fd,
                           .run = s->h.run,
                           .offset = MI_SEGMENT_HEAD,
                           .due = s->h.first,
                           .end = end,
                           .limit = limit};
    return scan;
}

/* Seals what was scanned, so that the next start need not do it again; not being able to is no harm. */
static void seal_scanned(struct mi_journal *j, struct mi_journal_segment *s, uint64_t size, struct tally *t)
{
    bool room = s->end + mi_seal_bytes(t->counts.used) <= s->h.size;
    mi_segment_take_totals(s, &t->counts);
    mi_fault("recover.before_seal");
    bool good = room && !t->failed && j->ops->fdatasync(j->ops->context, s->fd) == 0 &&
                (size >= s->h.size || j->ops->ftruncate(j->ops->context, s->fd, (off_t)s->h.size) == 0) &&
                mi_segment_write_seal(j, s) == 0 && j->ops->fdatasync(j->ops->context, s->fd) == 0;
    mi_fault("recover.after_seal");
    s->sealed = good;
    s->seal_failed = !good;
    free(s->seal);
    s->seal = NULL;
}

static int scan_segment(struct mi_journal *j, size_t index, uint64_t size, struct mi_journal_report *report)
{
    struct mi_journal_segment *s = j->list[index];
    uint64_t limit = index + 1 < j->list_len ? j->list[index + 1]->h.previous_end : UINT64_MAX;
    struct mi_scan scan = scan_of(j, s, size < s->h.size ? size : s->h.size, limit);
    struct tally t = {{NULL, 0, 0}, 0, false};
    int rc = walk(j, s, &scan, 0, &t, report);
    if (rc == 0) {
        s->end = scan.offset;
        if (limit != UINT64_MAX && scan.due < limit) {
            mi_scan_give_up(&scan);
            note_damage(j, s, &scan, report);
        } else {
            j->torn_bytes += mi_scan_torn(&scan);
        }
        s->next = scan.due;
        s->records = t.records;
        s->synced_next = s->next;
        mi_fault("recover.scanned");
        seal_scanned(j, s, size, &t);
    }
    int why = errno;
    mi_counts_fini(&t.counts);
    mi_scan_fini(&scan);
    errno = why;
    return rc;
}

static int recover_open(struct mi_journal *j, size_t index, struct mi_journal_report *report)
{
    struct mi_journal_segment *s = j->list[index];
    struct mi_seal seal;
    struct stat st;
    uint8_t *totals = NULL;
    if (fstat(s->fd, &st) != 0)
        return -1;
    uint64_t size = (uint64_t)st.st_size;
    bool found = size >= s->h.size && read_seal(j, s->fd, s->h.number, s->h.size, &seal, &totals);
    free(totals);
    if (!found || seal.run != s->h.run)
        return scan_segment(j, index, size, report);
    s->sealed = true;
    s->next = s->synced_next = seal.next;
    s->end = seal.end;
    s->records = seal.records;
    s->routes = seal.routes;
    s->damage_end = seal.damage_end;
    return 0;
}

/* Every start begins a segment. What the one before did not fill would else use up the journal's maximum and
 * what it keeps, with nothing. */
static void give_back_rest(struct mi_journal *j, struct mi_journal_segment *s)
{
    enum { BLOCK = 4096, WORTH_IT = 64 * 1024 };
    uint64_t seal = mi_seal_bytes(s->routes);
    uint64_t from = (s->end + BLOCK - 1) / BLOCK * BLOCK;
    uint64_t to = s->h.size > seal ? (s->h.size - seal) / BLOCK * BLOCK : 0;
    if (s->sealed && to > from + WORTH_IT &&
        j->ops->punch(j->ops->context, s->fd, (off_t)from, (off_t)(to - from)) == 0)
        s->room = s->h.size - (to - from);
}

static int recover_segment(struct mi_journal *j, size_t index, struct mi_journal_report *report,
                           struct mi_error *err)
{
    struct mi_journal_segment *s = j->list[index];
    int rc = open_segment(j, s, O_RDWR) ? recover_open(j, index, report) : -1;
    if (rc != 0)
        rc = cannot_read(j, s->h.number, err);
    else
        give_back_rest(j, s);
    close_segment(j, s);
    report->records += s->records;
    return rc;
}

/* ---- counts ---- */

static bool add_totals(struct mi_counts *counts, const uint8_t *totals, uint32_t routes)
{
    for (uint32_t i = 0; i < routes; i++) {
        struct mi_count *c = mi_counts_get(counts, mi_get_u32le(totals + (size_t)MI_SEAL_ROUTE * i));
        if (!c)
            return false;
        c->total += mi_get_u64le(totals + (size_t)MI_SEAL_ROUTE * i + 4);
    }
    return true;
}

/* -1: errno. The segment is not being written. */
static int count_segment(struct mi_journal *j, struct mi_journal_segment *s, uint64_t from,
                         struct mi_counts *into)
{
    struct mi_seal seal;
    uint8_t *totals = NULL;
    if (s->sealed && s->h.first >= from && read_seal(j, s->fd, s->h.number, s->h.size, &seal, &totals)) {
        bool good = add_totals(into, totals, seal.routes);
        free(totals);
        errno = ENOMEM;
        return good ? 0 : -1;
    }
    struct mi_scan scan = scan_of(j, s, s->end, s->next);
    struct tally t = {{NULL, 0, 0}, 0, false};
    int rc = walk(j, s, &scan, from, &t, NULL);
    for (size_t i = 0; rc == 0 && i < t.counts.size; i++)
        if (t.counts.slots[i].used) {
            struct mi_count *c = mi_counts_get(into, t.counts.slots[i].route);
            if (c)
                c->total += t.counts.slots[i].segment;
            t.failed |= !c;
        }
    if (t.failed) {
        errno = ENOMEM;
        rc = -1;
    }
    int why = errno;
    mi_counts_fini(&t.counts);
    mi_scan_fini(&scan);
    errno = why;
    return rc;
}

int mi_recover_counts(struct mi_journal *j, uint64_t from, struct mi_error *err)
{
    for (size_t i = 0; i < j->list_len; i++) {
        struct mi_journal_segment *s = j->list[i];
        if (s->next <= from || s->next == s->h.first)
            continue;
        int rc = open_segment(j, s, O_RDONLY) ? count_segment(j, s, from, &j->counts) : -1;
        if (rc != 0)
            rc = cannot_read(j, s->h.number, err);
        close_segment(j, s);
        if (rc != 0)
            return -1;
    }
    return 0;
}
