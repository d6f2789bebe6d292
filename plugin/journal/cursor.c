/* cursor: the bridge thread's side of the journal: walking records in order, and reading one again. */
#include "journal/journal_private.h"
#include "journal/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct mi_cursor {
    struct mi_journal *j;
    struct mi_scan scan;
    uint64_t number; /* of the segment; 0: none yet */
    uint64_t from;   /* records below are passed over */
};

struct mi_cursor *mi_cursor_new(struct mi_journal *j, uint64_t from)
{
    struct mi_cursor *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->j = j;
    c->from = from;
    c->scan.ops = j->ops;
    c->scan.fd = -1;
    return c;
}

static void leave(struct mi_cursor *c)
{
    if (c->scan.fd >= 0)
        c->j->ops->close(c->j->ops->context, c->scan.fd);
    c->scan.fd = -1;
    mi_scan_forget(&c->scan);
    if (c->number && c->scan.due > c->from)
        c->from = c->scan.due;
    c->number = 0;
}

void mi_cursor_free(struct mi_cursor *c)
{
    if (!c)
        return;
    leave(c);
    mi_scan_fini(&c->scan);
    free(c);
}

uint64_t mi_cursor_sequence(const struct mi_cursor *c)
{
    return c->number && c->scan.due > c->from ? c->scan.due : c->from;
}

/* The segment that holds the next record, and how far it may be read. False: nothing more for now. */
static bool find_segment(struct mi_cursor *c)
{
    struct mi_journal *j = c->j;
    pthread_mutex_lock(&j->lock);
    struct mi_journal_segment *s = c->number ? mi_segment_find(j, c->number) : NULL;
    if (c->number && (!s || (c->scan.due >= s->next && s->retired))) {
        pthread_mutex_unlock(&j->lock);
        leave(c);
        pthread_mutex_lock(&j->lock);
        s = NULL;
    }
    for (size_t i = 0; i < j->list_len && !s; i++)
        if (j->list[i]->next > c->from && j->list[i]->next > j->list[i]->h.first)
            s = j->list[i];
    if (s && !c->number) {
        c->number = s->h.number;
        c->scan.run = s->h.run;
        c->scan.offset = MI_SEGMENT_HEAD;
        c->scan.due = s->h.first;
    }
    bool more = s && c->scan.due < s->next;
    if (more) {
        c->scan.end = s->end;
        c->scan.limit = s->next;
    } else {
        atomic_store(&j->reader_waits, true);
    }
    pthread_mutex_unlock(&j->lock);
    return more;
}

static bool still_there(struct mi_cursor *c)
{
    pthread_mutex_lock(&c->j->lock);
    bool there = mi_segment_find(c->j, c->number) != NULL;
    pthread_mutex_unlock(&c->j->lock);
    return there;
}

static int open_file(struct mi_journal *j, uint64_t number)
{
    char name[MI_SEGMENT_NAME];
    mi_segment_name(number, name);
    return j->ops->open(j->ops->context, j->dir, name, O_RDONLY, 0);
}

static void note_damage(struct mi_cursor *c)
{
    if (!c->scan.damage_bytes && !c->scan.damage_records)
        return;
    struct mi_damage d = {c->scan.fd, c->number, c->scan.damage_at, c->scan.damage_bytes,
                          c->scan.damage_records};
    mi_damage_found(c->j, &d);
}

static int cannot_read(struct mi_cursor *c, struct mi_error *err)
{
    char name[MI_SEGMENT_NAME];
    mi_segment_name(c->number, name);
    return mi_error_set(
        err,
        "journal %s: %s cannot be read: %s; nothing is skipped: repair the disk, or stop the broker "
        "and move that file away to give its messages up",
        c->j->directory, name, strerror(errno));
}

/* 1: record. 0: look again, in this segment or another. -1: err. */
static int step(struct mi_cursor *c, struct mi_record *record, struct mi_error *err)
{
    if (c->scan.fd < 0)
        c->scan.fd = open_file(c->j, c->number);
    int rc = c->scan.fd < 0 ? -1 : mi_scan_next(&c->scan, record);
    if (rc > 0) {
        note_damage(c);
        return record->sequence >= c->from;
    }
    int why = errno;
    /* Recycled under the reader's feet: it was released, nothing is lost. */
    if (!still_there(c))
        return 0;
    errno = why;
    if (rc < 0)
        return cannot_read(c, err);
    mi_scan_give_up(&c->scan);
    note_damage(c);
    return 0;
}

int mi_cursor_next(struct mi_cursor *c, struct mi_journal_ref *ref, struct mi_record *record,
                   struct mi_error *err)
{
    int rc = 0;
    while (rc == 0) {
        if (!find_segment(c))
            return 0;
        rc = step(c, record, err);
    }
    if (rc < 0)
        return -1;
    ref->sequence = record->sequence;
    ref->segment = c->number;
    ref->offset = (uint32_t)c->scan.at;
    ref->bytes = c->scan.bytes;
    return 1;
}

/* ---- one record again ---- */

static bool segment_run(struct mi_journal *j, uint64_t number, uint64_t *run)
{
    pthread_mutex_lock(&j->lock);
    struct mi_journal_segment *s = mi_segment_find(j, number);
    if (s)
        *run = s->h.run;
    pthread_mutex_unlock(&j->lock);
    return s != NULL;
}

static void use_file(struct mi_journal *j, uint64_t number)
{
    if (j->read_fd >= 0 && j->read_segment == number)
        return;
    if (j->read_fd >= 0)
        j->ops->close(j->ops->context, j->read_fd);
    j->read_fd = open_file(j, number);
    j->read_segment = number;
}

int mi_journal_read(struct mi_journal *j, const struct mi_journal_ref *ref, struct mi_buf *buf,
                    struct mi_record *record, struct mi_error *err)
{
    uint64_t run = 0;
    mi_buf_reset(buf);
    if (!segment_run(j, ref->segment, &run))
        return mi_error_set(err, "message %" PRIu64 " is not in the journal any more", ref->sequence);
    uint8_t *to = mi_buf_reserve(buf, ref->bytes);
    if (!to)
        return mi_error_set(err, "no memory for message %" PRIu64 " of the journal (%u bytes)", ref->sequence,
                            ref->bytes);
    use_file(j, ref->segment);
    ssize_t n = j->read_fd < 0 ? -1 : mi_read_some(j->ops, j->read_fd, to, ref->bytes, ref->offset);
    if (n < 0)
        return mi_error_set(err, "journal %s: message %" PRIu64 " cannot be read: %s", j->directory,
                            ref->sequence, strerror(errno));
    if (mi_record_decode(to, (size_t)n, record) <= 0 || record->sequence != ref->sequence ||
        record->run != (uint32_t)run)
        return mi_error_set(err, "journal %s: message %" PRIu64 " is damaged or gone", j->directory,
                            ref->sequence);
    buf->len = ref->bytes;
    record->run = run;
    return 0;
}
