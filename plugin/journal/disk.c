/* disk: the disk thread's side of the journal: writes what is gathered, syncs, seals, prepares, recycles,
 * tries again. */
#include "journal/fault.h"
#include "journal/journal_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static uint64_t write_gathered(struct mi_journal *j, uint64_t now);
static uint64_t try_again(struct mi_journal *j, uint64_t now);
static uint64_t sync_active(struct mi_journal *j, uint64_t now);
static uint64_t keep_space(struct mi_journal *j, uint64_t now);

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t mi_journal_disk_step(struct mi_journal *j)
{
    uint64_t wait = write_gathered(j, mi_now_ns(j->clock));
    wait = sooner(wait, sync_active(j, mi_now_ns(j->clock)));
    mi_disk_seal_retired(j);
    wait = sooner(wait, keep_space(j, mi_now_ns(j->clock)));
    return sooner(wait, try_again(j, mi_now_ns(j->clock)));
}

static uint64_t write_gathered(struct mi_journal *j, uint64_t now)
{
    uint64_t wait = UINT64_MAX;
    pthread_mutex_lock(&j->write_lock);
    uint64_t published = j->published;
    if (j->gather_len && now - j->gather_since_ns >= MI_GATHER_NS)
        mi_append_gathered(j);
    else if (j->gather_len)
        wait = MI_GATHER_NS - (now - j->gather_since_ns);
    bool grew = j->published != published;
    j->want_disk = false; /* what the main thread would wake for is looked at right now */
    pthread_mutex_unlock(&j->write_lock);
    if (grew)
        mi_append_wake_reader(j);
    return wait;
}

/* ---- sync ---- */

/* A sync that failed says nothing about which pages are lost, and the next one would not say it again: the
 * segment takes no more and is never synced again. What stands in it stays readable as long as the system
 * keeps it. */
static void sync_failed(struct mi_journal *j, struct mi_journal_segment *s, int why)
{
    pthread_mutex_lock(&j->write_lock);
    pthread_mutex_lock(&j->lock);
    s->sync_failed = true;
    uint64_t from = s->synced_next, to = s->next;
    pthread_mutex_unlock(&j->lock);
    if (!atomic_load(&j->failed) && mi_append_gathered(j))
        mi_append_fail(j, "sync", why);
    pthread_mutex_unlock(&j->write_lock);
    mi_log_limited(j->log, &j->sync_limit, mi_now_ns(j->clock), MI_DISK_LOG_NS, MI_LOG_ERROR,
                   "journal %s: messages %" PRIu64 " to %" PRIu64
                   " could not be synced: they will be sent, but a power "
                   "loss before that may take them",
                   j->directory, from, to - 1);
}

static int sync_segment(struct mi_journal *j, struct mi_journal_segment *s)
{
    pthread_mutex_lock(&j->lock);
    uint64_t next = s->next;
    pthread_mutex_unlock(&j->lock);
    mi_fault("disk.before_sync");
    int rc = atomic_load(&s->dir_synced) ? 0 : j->ops->sync_dir(j->ops->context, j->dir);
    if (rc == 0) {
        atomic_store(&s->dir_synced, true);
        rc = j->ops->fdatasync(j->ops->context, s->fd);
    }
    mi_fault("disk.after_sync");
    if (rc != 0) {
        sync_failed(j, s, errno);
        return -1;
    }
    uint64_t now = mi_now_ns(j->clock);
    pthread_mutex_lock(&j->lock);
    s->synced_next = next;
    if (j->active == s) {
        j->dirty = s->next != next;
        j->dirty_since_ns = now;
    }
    pthread_mutex_unlock(&j->lock);
    return 0;
}

/* With MI_SYNC_ALWAYS the main thread syncs: of two syncs of one descriptor only one would hear of an error.
 */
static uint64_t sync_active(struct mi_journal *j, uint64_t now)
{
    if (j->sync == MI_SYNC_ALWAYS)
        return UINT64_MAX;
    pthread_mutex_lock(&j->lock);
    struct mi_journal_segment *s = j->dirty ? j->active : NULL;
    uint64_t age = now - j->dirty_since_ns;
    pthread_mutex_unlock(&j->lock);
    if (!s)
        return UINT64_MAX;
    if (age < j->sync_interval_ns)
        return j->sync_interval_ns - age;
    sync_segment(j, s);
    pthread_mutex_lock(&j->lock);
    bool dirty = j->dirty;
    pthread_mutex_unlock(&j->lock);
    return dirty ? j->sync_interval_ns : UINT64_MAX;
}

/* ---- seal ---- */

static struct mi_journal_segment *next_to_seal(struct mi_journal *j)
{
    struct mi_journal_segment *found = NULL;
    pthread_mutex_lock(&j->lock);
    for (size_t i = j->list_len; i > 0 && !found; i--) {
        struct mi_journal_segment *s = j->list[i - 1];
        if (s->retired && !mi_segment_settled(s))
            found = s;
    }
    pthread_mutex_unlock(&j->lock);
    return found;
}

/* Records first, then the seal that vouches for them. A segment without a seal is scanned at the next start.
 */
static void seal(struct mi_journal *j, struct mi_journal_segment *s)
{
    if (sync_segment(j, s) != 0)
        return;
    mi_fault("seal.before");
    bool good = mi_segment_write_seal(j, s) == 0 && j->ops->fdatasync(j->ops->context, s->fd) == 0;
    mi_fault("seal.after");
    pthread_mutex_lock(&j->lock);
    s->sealed = good;
    s->seal_failed = !good;
    pthread_mutex_unlock(&j->lock);
}

/* Closes the file of one segment that needs none any more. */
static bool close_one(struct mi_journal *j)
{
    int fd = -1;
    uint8_t *totals = NULL;
    pthread_mutex_lock(&j->lock);
    for (size_t i = 0; i < j->list_len && fd < 0; i++) {
        struct mi_journal_segment *s = j->list[i];
        if (s->fd < 0 || !mi_segment_settled(s)) /* one may have been retired since the last was sealed */
            continue;
        fd = s->fd;
        totals = s->seal;
        s->fd = -1;
        s->seal = NULL;
    }
    pthread_mutex_unlock(&j->lock);
    free(totals);
    if (fd >= 0)
        j->ops->close(j->ops->context, fd);
    return fd >= 0;
}

void mi_disk_seal_retired(struct mi_journal *j)
{
    struct mi_journal_segment *s;
    while ((s = next_to_seal(j)))
        seal(j, s);
    while (close_one(j))
        continue;
}

/* ---- space ---- */

static void set_spare(struct mi_journal *j, struct mi_journal_segment *s)
{
    pthread_mutex_lock(&j->lock);
    j->spare = s;
    pthread_mutex_unlock(&j->lock);
}

/* Turns a released segment into a prepared one: its header goes first, so that no start takes its records for
 * current, then it gets a new name. NULL: the file was given up. */
static struct mi_journal_segment *recycle(struct mi_journal *j, struct mi_journal_segment *old)
{
    static const uint8_t zeros[MI_SEGMENT_HEAD];
    char from[MI_SEGMENT_NAME], to[MI_SEGMENT_NAME];
    pthread_mutex_lock(&j->lock);
    uint64_t number = j->next_number++;
    pthread_mutex_unlock(&j->lock);
    mi_segment_name(old->h.number, from);
    mi_segment_name(number, to);
    struct mi_journal_segment *s = mi_segment_new(number, old->h.size);
    int fd = s ? j->ops->open(j->ops->context, j->dir, from, O_RDWR, 0) : -1;
    bool good = fd >= 0 && mi_write_bytes(j->ops, fd, zeros, sizeof zeros, 0) == 0 &&
                j->ops->fdatasync(j->ops->context, fd) == 0;
    mi_fault("recycle.cleared");
    good = good && j->ops->rename(j->ops->context, j->dir, from, to) == 0;
    mi_fault("recycle.renamed");
    if (good) {
        s->fd = fd;
        atomic_store(&s->dir_synced, j->ops->sync_dir(j->ops->context, j->dir) == 0);
        return s;
    }
    j->ops->unlink(j->ops->context, j->dir, from);
    if (fd >= 0)
        j->ops->close(j->ops->context, fd);
    mi_segment_free(j, s);
    return NULL;
}

/* Takes the oldest kept segment out of the list when more than keep bytes are kept, or the whole is over most
 * bytes. */
static struct mi_journal_segment *take_kept(struct mi_journal *j, uint64_t keep, uint64_t most)
{
    pthread_mutex_lock(&j->lock);
    struct mi_usage u = mi_segment_usage(j);
    struct mi_journal_segment *s = u.kept > keep || u.total > most ? mi_segment_oldest_kept(j) : NULL;
    if (s)
        mi_segment_remove(j, s);
    pthread_mutex_unlock(&j->lock);
    return s;
}

static void drop(struct mi_journal *j, struct mi_journal_segment *s)
{
    char name[MI_SEGMENT_NAME];
    mi_segment_name(s->h.number, name);
    mi_fault("unlink.before");
    j->ops->unlink(j->ops->context, j->dir, name);
    mi_fault("unlink.after");
    mi_segment_free(j, s);
}

/* A segment to come: a recycled one where one may go, else a new file. NULL: no room, or errno. */
static struct mi_journal_segment *prepare(struct mi_journal *j)
{
    struct mi_journal_segment *old, *s = NULL;
    while (!s && (old = take_kept(j, j->keep, j->max_size - j->segment_size))) {
        if (old->room != j->segment_size || old->sync_failed) {
            drop(j, old);
            continue;
        }
        s = recycle(j, old);
        mi_segment_free(j, old);
    }
    if (s)
        return s;
    pthread_mutex_lock(&j->lock);
    bool room = mi_segment_usage(j).total + j->segment_size <= j->max_size;
    pthread_mutex_unlock(&j->lock);
    errno = 0;
    s = room ? mi_segment_create(j, j->segment_size) : NULL;
    if (!s && errno == ENOSPC && (old = take_kept(j, 0, 0))) {
        drop(j, old);
        s = mi_segment_create(j, j->segment_size);
    }
    if (s)
        atomic_store(&s->dir_synced, j->ops->sync_dir(j->ops->context, j->dir) == 0);
    return s;
}

static uint64_t keep_space(struct mi_journal *j, uint64_t now)
{
    uint64_t wait = UINT64_MAX;
    pthread_mutex_lock(&j->lock);
    bool wanted = !j->spare && !atomic_load(&j->failed);
    pthread_mutex_unlock(&j->lock);
    if (wanted) {
        struct mi_journal_segment *s = prepare(j);
        mi_fault("spare.ready");
        if (s) {
            set_spare(j, s);
        } else if (errno) {
            j->space_errno = errno;
            mi_log_limited(
                j->log, &j->space_limit, now, MI_DISK_LOG_NS, MI_LOG_WARNING,
                "journal %s: no space for the next segment: %s; messages are still taken into the current "
                "one; free space on its file system",
                j->directory, strerror(errno));
            wait = MI_DISK_RETRY_NS;
        }
    }
    struct mi_journal_segment *old;
    uint64_t pool = MI_RECYCLE_POOL * j->segment_size;
    while ((old = take_kept(j, j->keep + pool, j->max_size)))
        drop(j, old);
    return wait;
}

/* ---- after a failure ---- */

/* Proves that a new segment can be written and synced before messages are taken again. */
static int probe(struct mi_journal *j, struct mi_journal_segment *s)
{
    static const uint8_t zeros[MI_SEGMENT_HEAD];
    if (mi_write_bytes(j->ops, s->fd, zeros, sizeof zeros, 0) != 0 ||
        j->ops->fdatasync(j->ops->context, s->fd) != 0)
        return -1;
    int rc = j->ops->sync_dir(j->ops->context, j->dir);
    atomic_store(&s->dir_synced, rc == 0);
    return rc;
}

static uint64_t try_again(struct mi_journal *j, uint64_t now)
{
    if (!atomic_load(&j->failed)) {
        j->retry_ns = 0;
        return UINT64_MAX;
    }
    if (j->retry_ns == 0)
        j->retry_ns = now + MI_DISK_RETRY_NS;
    if (now < j->retry_ns)
        return j->retry_ns - now;
    j->retry_ns = now + MI_DISK_RETRY_NS;
    pthread_mutex_lock(&j->lock);
    struct mi_journal_segment *s = j->spare;
    j->spare = NULL;
    pthread_mutex_unlock(&j->lock);
    if (!s)
        s = prepare(j);
    if (s && probe(j, s) != 0) {
        drop(j, s);
        s = NULL;
    }
    if (!s)
        return MI_DISK_RETRY_NS;
    set_spare(j, s);
    j->retry_ns = 0;
    pthread_mutex_lock(&j->write_lock);
    atomic_store(&j->failed, false);
    pthread_mutex_unlock(&j->write_lock);
    mi_log_line(j->log, MI_LOG_NOTICE, "journal %s: the disk can be written again; messages are taken",
                j->directory);
    return UINT64_MAX;
}
