/*
 * partition_log: an array of batches, an append-only file behind it.
 */
#include "partition_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/bytes.h"

enum { FILE_HEAD = 40 };
static const uint8_t magic[8] = {'i', 'g', 'g', 'y', 'd', 'e', 'v', '1'};

static bool load(struct dev_log *log, const char *path);
static bool add_batch(struct dev_log *log, const struct dev_batch *batch);
static bool write_batch(struct dev_log *log, struct dev_batch *batch);
static void drop_first(struct dev_log *log);

bool dev_log_open(struct dev_log *log, const char *path, uint64_t first_offset)
{
    *log = (struct dev_log){.fd = -1, .first_offset = first_offset};
    if (!path)
        return true;
    log->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (log->fd < 0) {
        fprintf(stderr, "iggy-devserver: cannot open %s: %s\n", path, strerror(errno));
        return false;
    }
    return load(log, path);
}

static bool load(struct dev_log *log, const char *path)
{
    uint8_t head[FILE_HEAD];
    for (;;) {
        if (pread(log->fd, head, sizeof head, (off_t)log->file_size) != (ssize_t)sizeof head ||
            memcmp(head, magic, sizeof magic) != 0)
            break;
        struct dev_batch b = {.base_offset = mi_get_u64le(head + 8),
                              .timestamp = mi_get_u64le(head + 16),
                              .count = mi_get_u32le(head + 24),
                              .bytes = mi_get_u32le(head + 28),
                              .position = log->file_size + FILE_HEAD};
        uint8_t *records = malloc(b.bytes ? b.bytes : 1);
        bool whole = records && pread(log->fd, records, b.bytes, (off_t)b.position) == (ssize_t)b.bytes &&
                     XXH3_64bits(records, b.bytes) == mi_get_u64le(head + 32);
        free(records);
        if (!whole)
            break;
        log->file_size = b.position + b.bytes;
        log->next_offset = b.base_offset + b.count;
        if (b.base_offset + b.count > log->first_offset && !add_batch(log, &b))
            return false;
    }
    log->saved = log->count;
    if (log->next_offset < log->first_offset)
        log->next_offset = log->first_offset;
    if (ftruncate(log->fd, (off_t)log->file_size) == 0)
        return true;
    fprintf(stderr, "iggy-devserver: cannot cut %s: %s\n", path, strerror(errno));
    return false;
}

void dev_log_close(struct dev_log *log)
{
    for (size_t i = log->first; i < log->count; i++)
        free(log->batches[i].records);
    free(log->batches);
    if (log->fd >= 0)
        close(log->fd);
    *log = (struct dev_log){.fd = -1};
}

static bool add_batch(struct dev_log *log, const struct dev_batch *batch)
{
    if (log->count == log->cap) {
        size_t cap = log->cap ? log->cap * 2 : 16;
        struct dev_batch *grown = realloc(log->batches, cap * sizeof *grown);
        if (!grown)
            return false;
        log->batches = grown;
        log->cap = cap;
    }
    log->batches[log->count] = *batch;
    log->batches[log->count].new_segment |= log->first == log->count;
    log->count++;
    log->bytes += batch->bytes;
    log->segment_bytes =
        log->batches[log->count - 1].new_segment ? batch->bytes : log->segment_bytes + batch->bytes;
    return true;
}

bool dev_log_append(struct dev_log *log, uint8_t *records, uint32_t bytes, uint32_t count, uint64_t timestamp,
                    uint64_t segment_size)
{
    struct dev_batch b = {.base_offset = log->next_offset,
                          .timestamp = timestamp,
                          .count = count,
                          .bytes = bytes,
                          .records = records,
                          .new_segment = log->segment_bytes >= segment_size};
    if (!add_batch(log, &b)) {
        free(records);
        return false;
    }
    log->next_offset += count;
    log->unsaved_messages += count;
    log->unsaved_bytes += bytes;
    log->memory += bytes;
    return true;
}

bool dev_log_save(struct dev_log *log)
{
    for (; log->saved < log->count; log->saved++) {
        struct dev_batch *b = &log->batches[log->saved];
        if (log->fd >= 0 && !write_batch(log, b))
            return false;
    }
    log->unsaved_messages = 0;
    log->unsaved_bytes = 0;
    return true;
}

static bool write_batch(struct dev_log *log, struct dev_batch *batch)
{
    uint8_t head[FILE_HEAD];
    memcpy(head, magic, sizeof magic);
    mi_put_u64le(head + 8, batch->base_offset);
    mi_put_u64le(head + 16, batch->timestamp);
    mi_put_u32le(head + 24, batch->count);
    mi_put_u32le(head + 28, batch->bytes);
    mi_put_u64le(head + 32, XXH3_64bits(batch->records, batch->bytes));
    struct iovec parts[2] = {{head, sizeof head}, {batch->records, batch->bytes}};
    if (pwritev(log->fd, parts, 2, (off_t)log->file_size) != (ssize_t)(sizeof head + batch->bytes)) {
        fprintf(stderr, "iggy-devserver: cannot write a partition: %s\n", strerror(errno));
        return false;
    }
    batch->position = log->file_size + FILE_HEAD;
    log->file_size = batch->position + batch->bytes;
    log->memory -= batch->bytes;
    free(batch->records);
    batch->records = NULL;
    return true;
}

void dev_log_lose_unsaved(struct dev_log *log)
{
    while (log->count > log->saved) {
        struct dev_batch *b = &log->batches[--log->count];
        log->next_offset = b->base_offset;
        log->bytes -= b->bytes;
        log->memory -= b->bytes;
        free(b->records);
    }
    log->segment_bytes = 0;
    for (size_t i = log->count; i > log->first; i--) {
        log->segment_bytes += log->batches[i - 1].bytes;
        if (log->batches[i - 1].new_segment)
            break;
    }
    log->unsaved_messages = 0;
    log->unsaved_bytes = 0;
}

void dev_log_purge(struct dev_log *log)
{
    int fd = log->fd;
    log->fd = -1;
    dev_log_close(log);
    log->fd = fd;
    if (fd >= 0 && ftruncate(fd, 0) < 0)
        fprintf(stderr, "iggy-devserver: cannot empty a partition: %s\n", strerror(errno));
}

static void drop_first(struct dev_log *log)
{
    struct dev_batch *b = &log->batches[log->first++];
    if (b->base_offset + b->count > log->first_offset)
        log->first_offset = b->base_offset + b->count;
    log->bytes -= b->bytes;
    if (b->records)
        log->memory -= b->bytes;
    free(b->records);
    b->records = NULL;
    if (log->first > log->saved) {
        log->saved = log->first;
        log->unsaved_messages -= b->count;
        log->unsaved_bytes -= b->bytes;
    }
    if (log->first == log->count)
        log->segment_bytes = 0;
    else
        log->batches[log->first].new_segment = true;
}

void dev_log_drop_below(struct dev_log *log, uint64_t offset)
{
    while (log->first < log->count &&
           log->batches[log->first].base_offset + log->batches[log->first].count <= offset)
        drop_first(log);
    if (offset > log->first_offset)
        log->first_offset = offset < log->next_offset ? offset : log->next_offset;
}

/* Index behind the oldest segment. */
static size_t first_segment_end(const struct dev_log *log)
{
    size_t end = log->first + 1;
    while (end < log->count && !log->batches[end].new_segment)
        end++;
    return end;
}

void dev_log_drop_segments(struct dev_log *log, uint32_t n)
{
    for (; n > 0 && log->first < log->count; n--) {
        size_t end = first_segment_end(log);
        if (end >= log->count)
            return;
        while (log->first < end)
            drop_first(log);
    }
}

void dev_log_expire(struct dev_log *log, uint64_t before)
{
    while (log->first < log->count) {
        size_t end = first_segment_end(log);
        if (end >= log->count || log->batches[end - 1].timestamp >= before)
            return;
        while (log->first < end)
            drop_first(log);
    }
}

void dev_log_begin_synthetic(struct dev_log *log, const struct dev_synthetic *synthetic)
{
    log->synthetic = *synthetic;
    log->next_offset = synthetic->count;
}

uint64_t dev_log_messages(const struct dev_log *log)
{
    return log->next_offset - log->first_offset;
}

size_t dev_log_segments(const struct dev_log *log)
{
    size_t n = 0;
    for (size_t i = log->first; i < log->count; i++)
        n += log->batches[i].new_segment;
    return n ? n : 1;
}

uint64_t dev_log_tail(const struct dev_log *log)
{
    return log->next_offset ? log->next_offset - 1 : 0;
}

/* First batch that ends behind offset; log->count when there is none. */
static size_t find_batch(const struct dev_log *log, uint64_t offset)
{
    size_t low = log->first, high = log->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (log->batches[middle].base_offset + log->batches[middle].count <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t dev_log_offset_at(const struct dev_log *log, uint64_t timestamp)
{
    uint64_t made = dev_synthetic_offset_at(&log->synthetic, timestamp);
    if (made < log->synthetic.count)
        return made > log->first_offset ? made : log->first_offset;
    for (size_t i = log->first; i < log->count; i++)
        if (log->batches[i].timestamp >= timestamp)
            return log->batches[i].base_offset;
    return log->next_offset;
}

static void parse_record(const uint8_t *p, struct dev_message *m)
{
    m->id_lo = mi_get_u64le(p);
    m->id_hi = mi_get_u64le(p + 8);
    m->origin_timestamp = mi_get_u64le(p + 16);
    m->headers_len = mi_get_u32le(p + 24);
    m->payload_len = mi_get_u32le(p + 28);
    m->headers = p + DEV_RECORD_HEAD;
    m->payload = m->headers + m->headers_len;
}

/* Hands out the messages of one batch from offset on. Returns how many, and clears *more when each wants no
 * more. */
static uint32_t read_batch(const struct dev_batch *b, const uint8_t *records, uint64_t offset, uint32_t count,
                           bool (*each)(void *arg, const struct dev_message *message), void *arg, bool *more)
{
    struct dev_message m = {.timestamp = b->timestamp};
    uint32_t given = 0;
    for (uint32_t i = 0; i < b->count && given < count && *more; i++) {
        parse_record(records, &m);
        size_t len = (size_t)DEV_RECORD_HEAD + m.headers_len + m.payload_len;
        m.offset = b->base_offset + i;
        if (m.offset >= offset) {
            m.checksum = XXH3_64bits(records, len);
            *more = each(arg, &m);
            given++;
        }
        records += len;
    }
    return given;
}

bool dev_log_read(struct dev_log *log, uint64_t offset, uint32_t count,
                  bool (*each)(void *arg, const struct dev_message *message), void *arg)
{
    if (offset < log->first_offset)
        offset = log->first_offset;
    bool more = true;
    uint32_t made = dev_synthetic_read(&log->synthetic, offset, count, each, arg, &more);
    offset += made;
    count -= made;
    for (size_t i = find_batch(log, offset); i < log->count && count > 0 && more; i++) {
        struct dev_batch *b = &log->batches[i];
        uint8_t *loaded = NULL;
        if (!b->records) {
            loaded = malloc(b->bytes);
            if (!loaded || pread(log->fd, loaded, b->bytes, (off_t)b->position) != (ssize_t)b->bytes) {
                free(loaded);
                return false;
            }
        }
        count -= read_batch(b, b->records ? b->records : loaded, offset, count, each, arg, &more);
        free(loaded);
    }
    return true;
}
