/* append: the main thread's side of the journal, and the one way in which records reach a segment file. */
#include "journal/fault.h"
#include "journal/journal_private.h"

#include <errno.h>
#include <string.h>

enum { IOV_MAX_APPEND = 2 + MI_MAX_HITS * 5 };

static const uint8_t zeros[MI_RECORD_ALIGN];

/* One write under way: gathered records and new ones, in one list of pieces. */
struct batch {
    struct mi_record *records;
    size_t count;
    uint64_t bytes; /* of the new records */
    bool durable;   /* some of them need more than QoS 0 */
};

static enum mi_append append_locked(struct mi_journal *j, struct batch *b);
static enum mi_append make_room(struct mi_journal *j, uint64_t bytes, size_t routes);
static enum mi_append gather(struct mi_journal *j, const struct batch *b);
static bool write_out(struct mi_journal *j, const struct batch *b);

static bool measure(struct batch *b)
{
    for (size_t i = 0; i < b->count; i++) {
        size_t bytes = mi_record_bytes(&b->records[i]);
        if (bytes == 0 || bytes > INT32_MAX)
            return false;
        b->bytes += bytes;
        b->durable |= b->records[i].qos > 0;
    }
    return b->count > 0 && b->count <= MI_MAX_HITS && b->bytes <= MI_MAX_APPEND_BYTES;
}

enum mi_append mi_journal_append(struct mi_journal *j, struct mi_record *records, size_t count)
{
    struct batch b = {records, count, 0, false};
    if (!measure(&b))
        return MI_APPEND_TOO_LARGE;
    pthread_mutex_lock(&j->write_lock);
    uint64_t published = j->published;
    enum mi_append rc = append_locked(j, &b);
    bool grew = j->published != published, want_disk = j->want_disk;
    j->want_disk = false;
    pthread_mutex_unlock(&j->write_lock);
    if (want_disk && j->wake_disk)
        j->wake_disk(j->wake_context);
    if (grew)
        mi_append_wake_reader(j);
    return rc;
}

void mi_append_wake_reader(struct mi_journal *j)
{
    if (atomic_load_explicit(&j->reader_waits, memory_order_relaxed) &&
        atomic_exchange(&j->reader_waits, false) && j->wake_readable)
        j->wake_readable(j->wake_context);
}

static bool fits(const struct mi_journal *j, uint64_t bytes, size_t routes)
{
    return j->active &&
           j->active->end + j->gather_len + bytes + mi_segment_reserve(j, routes + j->gather_count) <=
               j->active->h.size;
}

static enum mi_append append_locked(struct mi_journal *j, struct batch *b)
{
    if (atomic_load(&j->failed))
        return MI_APPEND_FAILED;
    if (b->bytes + MI_SEGMENT_HEAD + mi_segment_reserve(j, b->count) > j->max_size)
        return MI_APPEND_TOO_LARGE;
    if (!fits(j, b->bytes, b->count)) {
        enum mi_append rc = make_room(j, b->bytes, b->count);
        if (rc != MI_APPEND_OK)
            return rc;
    }
    for (size_t i = 0; i < b->count; i++) {
        b->records[i].run = j->run;
        b->records[i].sequence = j->write_next + i;
    }
    if (!b->durable && b->bytes <= MI_QOS0_GATHER_BYTES)
        return gather(j, b);
    return write_out(j, b) ? MI_APPEND_OK : MI_APPEND_FAILED;
}

/* ---- QoS 0: memory first ---- */

/* Writes a whole record to memory; returns its bytes. */
static size_t copy_record(const struct mi_record *r, uint8_t *to)
{
    uint8_t *at = to + mi_record_encode_head(r, to);
    const struct mi_span parts[] = {r->headers, r->prefix, r->payload};
    for (size_t i = 0; i < 3; i++)
        if (parts[i].len) {
            memcpy(at, parts[i].data, parts[i].len);
            at += parts[i].len;
        }
    size_t bytes = mi_record_bytes(r);
    memset(at, 0, (size_t)(to + bytes - at));
    return bytes;
}

static enum mi_append gather(struct mi_journal *j, const struct batch *b)
{
    bool crowded =
        j->gather_len + b->bytes > MI_QOS0_GATHER_BYTES || j->gather_count + b->count > MI_GATHER_RECORDS;
    if (crowded && !mi_append_gathered(j))
        return MI_APPEND_FAILED;
    if (j->gather_len == 0) {
        j->gather_since_ns = mi_now_ns(j->clock);
        j->want_disk = true;
    }
    for (size_t i = 0; i < b->count; i++) {
        j->gather_len += copy_record(&b->records[i], j->gather + j->gather_len);
        j->gather_routes[j->gather_count++] = b->records[i].route;
    }
    j->write_next += b->count;
    return MI_APPEND_OK;
}

bool mi_append_gathered(struct mi_journal *j)
{
    const struct batch none = {NULL, 0, 0, false};
    return j->gather_len == 0 || write_out(j, &none);
}

/* ---- the write ---- */

static int add(struct iovec *v, int n, const void *data, size_t len)
{
    if (len == 0)
        return n;
    v[n].iov_base = (void *)(uintptr_t)data;
    v[n].iov_len = len;
    return n + 1;
}

/* Heads, names and small records go to scratch memory, all else is written from where it stands. */
static int add_record(struct mi_journal *j, struct iovec *v, int n, const struct mi_record *r)
{
    uint8_t *head = j->heads.data + j->heads.len;
    if (mi_record_bytes(r) <= MI_SMALL_RECORD) {
        size_t bytes = copy_record(r, head);
        j->heads.len += bytes;
        return add(v, n, head, bytes);
    }
    size_t len = mi_record_encode_head(r, head);
    j->heads.len += len;
    n = add(v, n, head, len);
    n = add(v, n, r->headers.data, r->headers.len);
    n = add(v, n, r->prefix.data, r->prefix.len);
    n = add(v, n, r->payload.data, r->payload.len);
    len += r->headers.len + r->prefix.len + r->payload.len;
    return add(v, n, zeros, mi_record_bytes(r) - len);
}

static bool reserve_memory(struct mi_journal *j, const struct batch *b)
{
    size_t heads = 0;
    for (size_t i = 0; i < b->count; i++)
        heads += MI_SMALL_RECORD + b->records[i].stream.len + b->records[i].topic.len;
    mi_buf_reset(&j->heads);
    if (!mi_buf_reserve(&j->heads, heads))
        return false;
    pthread_mutex_lock(&j->lock);
    bool good = mi_counts_reserve(&j->counts, b->count + j->gather_count);
    pthread_mutex_unlock(&j->lock);
    return good;
}

static void count_route(struct mi_journal *j, uint32_t route)
{
    struct mi_count *c = mi_counts_get(&j->counts, route); /* reserved: cannot fail */
    c->total++;
    c->segment++;
}

/* From here on the bridge thread sees the records. */
static void publish(struct mi_journal *j, const struct batch *b, uint64_t end)
{
    struct mi_journal_segment *s = j->active;
    pthread_mutex_lock(&j->lock);
    for (size_t i = 0; i < j->gather_count; i++)
        count_route(j, j->gather_routes[i]);
    for (size_t i = 0; i < b->count; i++)
        count_route(j, b->records[i].route);
    s->end = end;
    s->next = j->write_next + b->count;
    s->records += j->gather_count + b->count;
    if (j->sync == MI_SYNC_ALWAYS && b->durable) {
        s->synced_next = s->next;
        j->dirty = false;
    } else if (!j->dirty) {
        j->dirty = true;
        j->dirty_since_ns = mi_now_ns(j->clock);
        j->want_disk = true;
    }
    pthread_mutex_unlock(&j->lock);
    j->write_next += b->count;
    j->published++;
    j->gather_len = j->gather_count = 0;
    j->header_pending = false;
}

/* Takes a write that was not finished off the file again, so that no start ever takes what was refused. */
static void undo(struct mi_journal *j)
{
    struct mi_journal_segment *s = j->active;
    mi_fault("undo");
    if (mi_write_bytes(j->ops, s->fd, zeros, sizeof zeros, s->end) != 0)
        j->ops->ftruncate(j->ops->context, s->fd, (off_t)s->end);
}

static bool refuse(struct mi_journal *j, const struct batch *b, const char *what)
{
    int why = errno;
    undo(j);
    j->write_next += b->count; /* what was refused may stand on the disk: its sequences are used up */
    mi_append_fail(j, what, why);
    return false;
}

static int sync_now(struct mi_journal *j)
{
    struct mi_journal_segment *s = j->active;
    mi_fault("append.before_sync");
    int rc = s->dir_synced ? 0 : j->ops->sync_dir(j->ops->context, j->dir);
    if (rc == 0) {
        s->dir_synced = true;
        rc = j->ops->fdatasync(j->ops->context, s->fd);
    }
    if (rc != 0) {
        pthread_mutex_lock(&j->lock);
        s->sync_failed = true;
        pthread_mutex_unlock(&j->lock);
    }
    return rc;
}

static bool write_out(struct mi_journal *j, const struct batch *b)
{
    struct mi_journal_segment *s = j->active;
    struct iovec v[IOV_MAX_APPEND];
    uint8_t header[MI_SEGMENT_HEAD];
    int n = 0;
    if (!reserve_memory(j, b))
        return false;
    if (j->header_pending) {
        mi_segment_header_encode(&s->h, header);
        n = add(v, n, header, sizeof header);
    }
    n = add(v, n, j->gather, j->gather_len);
    for (size_t i = 0; i < b->count; i++)
        n = add_record(j, v, n, &b->records[i]);
    uint64_t at = j->header_pending ? 0 : s->end, end = s->end + j->gather_len + b->bytes;
    mi_fault("append.before_write");
    if (mi_fault_next("append.half")) {
        n = n / 2 + 1;
        v[n - 1].iov_len /= 2;
        mi_write_all(j->ops, s->fd, v, n, at);
        mi_fault("append.half");
    }
    if (mi_write_all(j->ops, s->fd, v, n, at) != 0)
        return refuse(j, b, "write");
    mi_fault("append.after_write");
    if (j->sync == MI_SYNC_ALWAYS && b->durable && sync_now(j) != 0)
        return refuse(j, b, "sync");
    publish(j, b, end);
    return true;
}

void mi_append_fail(struct mi_journal *j, const char *what, int why)
{
    uint64_t now = mi_now_ns(j->clock);
    pthread_mutex_lock(&j->lock);
    if (j->active)
        mi_segment_retire(j, j->active);
    j->dirty = false;
    j->active = NULL;
    j->gathered_lost += j->gather_count;
    j->gather_len = j->gather_count = 0;
    atomic_store(&j->failed, true);
    pthread_mutex_unlock(&j->lock);
    j->want_disk = true;
    mi_log_limited(
        j->log, &j->failed_limit, now, MI_DISK_LOG_NS, MI_LOG_ERROR,
        "journal %s: %s failed: %s; messages are refused as when_journal_full says until the disk can be "
        "written again: %s",
        j->directory, what, strerror(why),
        why == ENOSPC || why == EDQUOT ? "free space on its file system"
        : why == EROFS ? "its file system is read-only, check the kernel log and mount it again"
                       : "check the disk and the kernel log");
}

/* ---- the next segment ---- */

static uint64_t page_aligned(uint64_t bytes)
{
    return (bytes + MI_PAGE - 1) / MI_PAGE * MI_PAGE;
}

static uint64_t segment_bytes_for(const struct mi_journal *j, uint64_t bytes, size_t routes)
{
    uint64_t need = page_aligned(MI_SEGMENT_HEAD + bytes + mi_segment_reserve(j, routes));
    return need > j->segment_size ? need : j->segment_size;
}

/* Bytes of segments that will hold unreleased records when the active one takes no more. Lock held. */
static uint64_t used_without(const struct mi_journal *j, const struct mi_journal_segment *active,
                             struct mi_usage usage)
{
    return active && j->gather_len == 0 && active->next <= j->released ? usage.used - active->h.size
                                                                       : usage.used;
}

static bool may_start(struct mi_journal *j, uint64_t size)
{
    pthread_mutex_lock(&j->lock);
    bool good = used_without(j, j->active, mi_segment_usage(j)) + size <= j->max_size;
    pthread_mutex_unlock(&j->lock);
    return good;
}

/* Takes the prepared segment when it fits. */
static struct mi_journal_segment *take_spare(struct mi_journal *j, uint64_t size)
{
    struct mi_journal_segment *s = NULL;
    pthread_mutex_lock(&j->lock);
    if (j->spare && j->spare->h.size >= size) {
        s = j->spare;
        j->spare = NULL;
    }
    pthread_mutex_unlock(&j->lock);
    return s;
}

/* The disk thread is behind: drops kept segments here, so that the journal never passes its maximum. */
static void drop_kept(struct mi_journal *j, uint64_t size)
{
    for (;;) {
        pthread_mutex_lock(&j->lock);
        struct mi_journal_segment *s =
            mi_segment_usage(j).total + size > j->max_size ? mi_segment_oldest_kept(j) : NULL;
        if (s)
            mi_segment_remove(j, s);
        pthread_mutex_unlock(&j->lock);
        if (!s)
            return;
        char name[MI_SEGMENT_NAME];
        mi_segment_name(s->h.number, name);
        j->ops->unlink(j->ops->context, j->dir, name);
        mi_segment_free(j, s);
    }
}

/* Where the newest segment with records ends. Lock held. */
static uint64_t end_before(const struct mi_journal *j, const struct mi_journal_segment *s)
{
    const struct mi_journal_segment *last = j->list_len ? j->list[j->list_len - 1] : NULL;
    if (!last)
        return s->h.first;
    return last->next > last->h.first ? last->next : last->h.previous_end;
}

/* Makes s the active segment. */
static bool start(struct mi_journal *j, struct mi_journal_segment *s)
{
    s->h.run = j->run;
    s->h.first = j->write_next;
    s->h.time_us = mi_wall_us(j->clock);
    pthread_mutex_lock(&j->lock);
    s->h.previous_end = end_before(j, s);
    s->next = s->synced_next = s->h.first;
    if (j->active)
        mi_segment_retire(j, j->active);
    bool good = mi_segment_append(j, s);
    j->active = good ? s : NULL;
    j->dirty = false;
    pthread_mutex_unlock(&j->lock);
    j->header_pending = true;
    j->want_disk = true;
    if (!good)
        mi_segment_free(j, s);
    return good;
}

static enum mi_append make_room(struct mi_journal *j, uint64_t bytes, size_t routes)
{
    uint64_t size = segment_bytes_for(j, bytes, routes);
    if (!may_start(j, size))
        return MI_APPEND_FULL;
    if (!mi_append_gathered(j))
        return MI_APPEND_FAILED;
    mi_fault("roll");
    struct mi_journal_segment *s = take_spare(j, size);
    if (!s) {
        drop_kept(j, size);
        s = mi_segment_create(j, size);
    }
    if (!s) {
        mi_append_fail(j, "making a new segment", errno);
        return MI_APPEND_FAILED;
    }
    return start(j, s) ? MI_APPEND_OK : MI_APPEND_FAILED;
}

bool mi_journal_has_room(struct mi_journal *j, uint64_t bytes)
{
    pthread_mutex_lock(&j->write_lock);
    bool good = !atomic_load(&j->failed);
    if (good && !fits(j, bytes, MI_MAX_HITS))
        good = may_start(j, segment_bytes_for(j, bytes, MI_MAX_HITS));
    pthread_mutex_unlock(&j->write_lock);
    return good;
}
