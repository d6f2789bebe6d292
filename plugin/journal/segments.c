/* segments: the journal's list of segment files, and what it takes to make, retire and seal one. */
#include "journal/fault.h"
#include "journal/journal_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

struct mi_journal_segment *mi_segment_new(uint64_t number, uint64_t size)
{
    struct mi_journal_segment *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->fd = -1;
    s->h.version = MI_SEGMENT_VERSION;
    s->h.number = number;
    s->h.size = s->room = size;
    s->end = MI_SEGMENT_HEAD;
    return s;
}

void mi_segment_free(struct mi_journal *j, struct mi_journal_segment *s)
{
    if (!s)
        return;
    if (s->fd >= 0)
        j->ops->close(j->ops->context, s->fd);
    free(s->seal);
    free(s);
}

bool mi_segment_append(struct mi_journal *j, struct mi_journal_segment *s)
{
    if (j->list_len == j->list_cap) {
        size_t cap = j->list_cap ? j->list_cap * 2 : 32;
        struct mi_journal_segment **list = realloc(j->list, cap * sizeof *list);
        if (!list)
            return false;
        j->list = list;
        j->list_cap = cap;
    }
    j->list[j->list_len++] = s;
    return true;
}

void mi_segment_remove(struct mi_journal *j, struct mi_journal_segment *s)
{
    for (size_t i = 0; i < j->list_len; i++)
        if (j->list[i] == s) {
            memmove(&j->list[i], &j->list[i + 1],
                    (j->list_len - i - 1) * sizeof(struct mi_journal_segment *));
            j->list_len--;
            return;
        }
}

struct mi_journal_segment *mi_segment_find(struct mi_journal *j, uint64_t number)
{
    for (size_t i = j->list_len; i > 0; i--)
        if (j->list[i - 1]->h.number == number)
            return j->list[i - 1];
    return NULL;
}

static bool is_released(const struct mi_journal *j, const struct mi_journal_segment *s)
{
    return s->next <= j->released;
}

struct mi_usage mi_segment_usage(struct mi_journal *j)
{
    struct mi_usage u = {0, 0, j->spare ? j->spare->h.size : 0};
    for (size_t i = 0; i < j->list_len; i++) {
        const struct mi_journal_segment *s = j->list[i];
        u.total += s->room;
        if (s->retired && is_released(j, s))
            u.kept += s->room;
        else
            u.used += s->room;
    }
    return u;
}

bool mi_segment_settled(const struct mi_journal_segment *s)
{
    return s->retired && (s->sealed || s->sync_failed || s->seal_failed);
}

/* The newest segment stays, since it carries the next sequence over a restart. */
struct mi_journal_segment *mi_segment_oldest_kept(struct mi_journal *j)
{
    struct mi_journal_segment *s = j->list_len > 1 ? j->list[0] : NULL;
    return s && mi_segment_settled(s) && is_released(j, s) ? s : NULL;
}

struct mi_journal_segment *mi_segment_create(struct mi_journal *j, uint64_t size)
{
    pthread_mutex_lock(&j->lock);
    uint64_t number = j->next_number++;
    pthread_mutex_unlock(&j->lock);
    struct mi_journal_segment *s = mi_segment_new(number, size);
    if (!s) {
        errno = ENOMEM;
        return NULL;
    }
    char name[MI_SEGMENT_NAME];
    mi_segment_name(number, name);
    s->fd = j->ops->open(j->ops->context, j->dir, name, O_RDWR | O_CREAT | O_EXCL, 0600);
    mi_fault("segment.created");
    int rc = s->fd < 0 ? -1 : j->ops->fallocate(j->ops->context, s->fd, (off_t)size);
    /* A file system without fallocate finds out that it is full at the write, which is handled too. */
    if (rc != 0 && s->fd >= 0 && (errno == EOPNOTSUPP || errno == ENOSYS))
        rc = j->ops->ftruncate(j->ops->context, s->fd, (off_t)size);
    if (rc == 0)
        return s;
    int why = errno;
    if (s->fd >= 0)
        j->ops->unlink(j->ops->context, j->dir, name);
    mi_segment_free(j, s);
    errno = why;
    return NULL;
}

uint64_t mi_segment_reserve(const struct mi_journal *j, size_t more)
{
    return mi_seal_bytes(j->counts.used + more);
}

void mi_segment_take_totals(struct mi_journal_segment *s, struct mi_counts *counts)
{
    s->seal = malloc(mi_seal_bytes(counts->used));
    s->routes = 0;
    for (size_t i = 0; i < counts->size; i++) {
        struct mi_count *c = &counts->slots[i];
        if (!c->segment)
            continue;
        if (s->seal) {
            mi_put_u32le(s->seal + (size_t)MI_SEAL_ROUTE * s->routes, c->route);
            mi_put_u64le(s->seal + (size_t)MI_SEAL_ROUTE * s->routes + 4, c->segment);
            s->routes++;
        }
        c->segment = 0;
    }
}

void mi_segment_retire(struct mi_journal *j, struct mi_journal_segment *s)
{
    s->retired = true;
    mi_segment_take_totals(s, &j->counts);
}

int mi_segment_write_seal(struct mi_journal *j, struct mi_journal_segment *s)
{
    if (!s->seal) {
        errno = ENOMEM;
        return -1;
    }
    pthread_mutex_lock(&j->lock);
    struct mi_seal seal = {s->routes, s->h.run,   s->h.number, s->h.first,
                           s->next,   s->records, s->end,      s->damage_end};
    pthread_mutex_unlock(&j->lock);
    size_t len = mi_seal_bytes(s->routes);
    mi_seal_encode(&seal, s->seal);
    if (mi_fault_next("seal.half")) {
        mi_write_bytes(j->ops, s->fd, s->seal, len / 2, s->h.size - len);
        mi_fault("seal.half");
    }
    return mi_write_bytes(j->ops, s->fd, s->seal, len, s->h.size - len);
}
