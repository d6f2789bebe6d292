#include "journal/journal.h"

#include "journal/fault.h"
#include "journal/journal_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int open_directory(struct mi_journal *j, struct mi_journal_report *report, struct mi_error *err);
static int prepare_first(struct mi_journal *j, struct mi_error *err);

int mi_journal_open(const struct mi_journal_options *options, struct mi_journal **out,
                    struct mi_journal_report *report, struct mi_error *err)
{
    return mi_journal_open_with(options, &mi_file_ops_system, out, report, err);
}

/* At least four segments in the whole, so that one can be given back while others wait. */
static uint64_t segment_size(const struct mi_journal_options *o)
{
    uint64_t size = o->segment_size ? o->segment_size : MI_SEGMENT_BYTES;
    if (size > o->max_size / 4)
        size = o->max_size / 4;
    size = size / MI_PAGE * MI_PAGE;
    return size < MI_PAGE ? MI_PAGE : size;
}

static struct mi_journal *new_journal(const struct mi_journal_options *o, const struct mi_file_ops *ops)
{
    struct mi_journal *j = calloc(1, sizeof *j);
    if (!j)
        return NULL;
    pthread_mutex_init(&j->write_lock, NULL);
    pthread_mutex_init(&j->lock, NULL);
    j->ops = ops;
    j->clock = o->clock;
    j->log = o->log;
    j->max_size = o->max_size;
    j->keep = o->keep;
    j->segment_size = segment_size(o);
    j->sync = o->sync;
    j->sync_interval_ns = o->sync_interval_ns;
    j->dir = j->lock_fd = j->read_fd = -1;
    j->next_number = j->write_next = j->base_next = 1;
    atomic_init(&j->reader_waits, true);
    mi_buf_init(&j->heads, MI_MAX_HITS * (MI_SMALL_RECORD + 2 * (size_t)UINT16_MAX));
    j->directory = strdup(o->directory);
    j->gather = malloc(MI_QOS0_GATHER_BYTES);
    if (j->directory && j->gather)
        return j;
    mi_journal_close(j);
    return NULL;
}

int mi_journal_open_with(const struct mi_journal_options *options, const struct mi_file_ops *ops,
                         struct mi_journal **out, struct mi_journal_report *report, struct mi_error *err)
{
    struct mi_journal_report own;
    report = report ? report : &own;
    memset(report, 0, sizeof *report);
    *out = NULL;
    struct mi_journal *j = new_journal(options, ops);
    if (!j)
        return mi_error_set(err, "out of memory while the journal %s is opened", options->directory);
    if (open_directory(j, report, err) != 0) {
        mi_journal_close(j);
        return -1;
    }
    j->opened = true;
    *out = j;
    return 0;
}

static int open_directory(struct mi_journal *j, struct mi_journal_report *report, struct mi_error *err)
{
    j->dir = mi_directory_open(j->directory, true, err);
    if (j->dir < 0)
        return -1;
    j->lock_fd = mi_directory_lock(j->ops, j->dir, j->directory, err);
    if (j->lock_fd < 0)
        return -1;
    mi_fault("open.locked");
    if (mi_identity_load(j->ops, j->dir, j->directory, j->clock, &j->identity, err) != 0)
        return -1;
    j->run = mi_random(j->clock);
    if (mi_recover(j, report, err) != 0)
        return -1;
    mi_fault("open.recovered");
    report->created = j->identity.created && j->list_len == 0;
    report->identity_changed = j->identity.changed || (j->identity.created && j->list_len > 0);
    return prepare_first(j, err);
}

/* A full disk must not keep the broker from sending what waits: only appends are refused then. */
static int prepare_first(struct mi_journal *j, struct mi_error *err)
{
    mi_journal_disk_step(j);
    pthread_mutex_lock(&j->lock);
    bool ready = j->spare != NULL, waiting = j->list_len > 0;
    bool full = mi_segment_usage(j).total + j->segment_size > j->max_size;
    pthread_mutex_unlock(&j->lock);
    if (ready || full || waiting)
        return 0;
    return mi_error_set(
        err,
        "journal %s: no space for a segment of %llu bytes: %s; free space on its file system, or make "
        "the journal smaller (journal.max_size)",
        j->directory, (unsigned long long)j->segment_size,
        j->space_errno ? strerror(j->space_errno) : "unknown");
}

/* Gathered records and seal reach the disk; then everything goes. */
static void finish(struct mi_journal *j)
{
    pthread_mutex_lock(&j->write_lock);
    mi_append_gathered(j);
    pthread_mutex_lock(&j->lock);
    if (j->active)
        mi_segment_retire(j, j->active);
    j->active = NULL;
    pthread_mutex_unlock(&j->lock);
    pthread_mutex_unlock(&j->write_lock);
    mi_disk_seal_retired(j);
}

void mi_journal_close(struct mi_journal *j)
{
    if (!j)
        return;
    if (j->opened)
        finish(j);
    for (size_t i = 0; i < j->list_len; i++)
        mi_segment_free(j, j->list[i]);
    mi_segment_free(j, j->spare);
    free(j->list);
    if (j->read_fd >= 0)
        j->ops->close(j->ops->context, j->read_fd);
    if (j->lock_fd >= 0)
        j->ops->close(j->ops->context, j->lock_fd);
    if (j->dir >= 0)
        close(j->dir);
    mi_counts_fini(&j->counts);
    mi_buf_fini(&j->heads);
    free(j->gather);
    free(j->directory);
    pthread_mutex_destroy(&j->lock);
    pthread_mutex_destroy(&j->write_lock);
    free(j);
}

const char *mi_journal_identity(const struct mi_journal *j)
{
    return j->identity.id;
}

bool mi_journal_is_own(const struct mi_journal *j, struct mi_span identity)
{
    return mi_identity_is_own(&j->identity, identity);
}

void mi_journal_set_wakers(struct mi_journal *j, void (*disk)(void *), void (*readable)(void *),
                           void *context)
{
    j->wake_context = context;
    j->wake_disk = disk;
    j->wake_readable = readable;
}

void mi_journal_release(struct mi_journal *j, uint64_t sequence)
{
    pthread_mutex_lock(&j->lock);
    uint64_t most = j->list_len ? j->list[j->list_len - 1]->next : 0;
    if (most < j->base_next)
        most = j->base_next;
    if (sequence > most)
        sequence = most;
    if (sequence > j->released)
        j->released = sequence;
    bool space = mi_segment_oldest_kept(j) != NULL;
    pthread_mutex_unlock(&j->lock);
    if (space && j->wake_disk)
        j->wake_disk(j->wake_context);
}

/* ---- any thread ---- */

void mi_journal_stats(struct mi_journal *j, struct mi_journal_stats *out)
{
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&j->lock);
    struct mi_journal_segment *last = j->list_len ? j->list[j->list_len - 1] : NULL;
    out->next_sequence = last && last->next > j->base_next ? last->next : j->base_next;
    out->first_sequence = j->list_len ? j->list[0]->h.first : out->next_sequence;
    out->released_sequence = j->released;
    out->durable_sequence = out->next_sequence;
    for (size_t i = j->list_len; i > 0; i--)
        if (j->list[i - 1]->synced_next < j->list[i - 1]->next)
            out->durable_sequence = j->list[i - 1]->synced_next;
    out->bytes = mi_segment_usage(j).total;
    out->max_bytes = j->max_size;
    out->segments = j->list_len;
    out->damaged_records = j->damaged_records;
    out->torn_bytes = j->torn_bytes;
    out->gathered_lost = j->gathered_lost;
    pthread_mutex_unlock(&j->lock);
    out->failed = atomic_load(&j->failed);
}

size_t mi_journal_counts(struct mi_journal *j, struct mi_route_count *out, size_t cap, uint64_t *next)
{
    size_t n = 0;
    pthread_mutex_lock(&j->lock);
    for (size_t i = 0; i < j->counts.size; i++) {
        const struct mi_count *c = &j->counts.slots[i];
        if (!c->used)
            continue;
        if (n < cap) {
            out[n].route = c->route;
            out[n].records = c->total;
        }
        n++;
    }
    *next = j->list_len && j->list[j->list_len - 1]->next > j->base_next ? j->list[j->list_len - 1]->next
                                                                         : j->base_next;
    pthread_mutex_unlock(&j->lock);
    return n;
}

int mi_journal_set_counts(struct mi_journal *j, uint64_t sequence, const struct mi_route_count *counts,
                          size_t count, struct mi_error *err)
{
    for (size_t i = 0; i < count; i++) {
        struct mi_count *c = mi_counts_get(&j->counts, counts[i].route);
        if (!c)
            return mi_error_set(err, "out of memory while the counts of the journal %s are set",
                                j->directory);
        c->total += counts[i].records;
    }
    pthread_mutex_lock(&j->write_lock);
    pthread_mutex_lock(&j->lock);
    /* The checkpoint may know sequences that a power loss took from here: they are used up. */
    if (sequence > j->write_next)
        j->write_next = j->base_next = sequence;
    pthread_mutex_unlock(&j->lock);
    pthread_mutex_unlock(&j->write_lock);
    return mi_recover_counts(j, sequence, err);
}
