/*
 * slots: two files, each:
 *
 *   off len
 *     0   4  magic "MISL"
 *     4   4  format version, 1
 *     8   8  generation
 *    16   8  bytes of the content
 *    24   4  0
 *    28   4  CRC-32C of bytes 0 to 27 and the content
 *    32      content; what a longer one left behind it does not count
 */
#include "journal/slots.h"

#include "journal/fault.h"
#include "journal/file_ops.h"
#include "journal/identity.h"
#include "journal/record.h"
#include "journal/slots_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD = 32, VERSION = 1, NAME = 128 };
static const uint64_t max_content = 1ull << 30;

enum state { EMPTY, GOOD, DAMAGED };

struct mi_slots {
    const struct mi_file_ops *ops;
    int dir;
    char *directory, name[NAME];
    int fd[2];
    enum state state[2];
    uint64_t generation[2], bytes[2];
};

static void inspect(struct mi_slots *s, int slot);

struct mi_slots *mi_slots_open(const char *directory, const char *name, struct mi_error *err)
{
    return mi_slots_open_with(directory, name, &mi_file_ops_system, err);
}

static int open_slot(struct mi_slots *s, int slot, struct mi_error *err)
{
    char file[NAME + 4];
    snprintf(file, sizeof file, "%s.%d", s->name, slot);
    s->fd[slot] = s->ops->open(s->ops->context, s->dir, file, O_RDWR | O_CREAT, 0600);
    if (s->fd[slot] < 0)
        return mi_error_set(err,
                            "%s/%s cannot be opened: %s; make it writable for the user that runs mosquitto",
                            s->directory, file, strerror(errno));
    inspect(s, slot);
    return 0;
}

struct mi_slots *mi_slots_open_with(const char *directory, const char *name, const struct mi_file_ops *ops,
                                    struct mi_error *err)
{
    struct mi_slots *s = calloc(1, sizeof *s);
    if (!s || !(s->directory = strdup(directory)) || strlen(name) >= NAME) {
        free(s);
        mi_error_set(err, "out of memory while %s/%s is opened", directory, name);
        return NULL;
    }
    s->ops = ops;
    s->fd[0] = s->fd[1] = -1;
    memcpy(s->name, name, strlen(name) + 1);
    s->dir = mi_directory_open(directory, false, err);
    if (s->dir < 0 || open_slot(s, 0, err) != 0 || open_slot(s, 1, err) != 0) {
        mi_slots_close(s);
        return NULL;
    }
    s->ops->sync_dir(s->ops->context, s->dir);
    return s;
}

void mi_slots_close(struct mi_slots *s)
{
    if (!s)
        return;
    for (int i = 0; i < 2; i++)
        if (s->fd[i] >= 0)
            s->ops->close(s->ops->context, s->fd[i]);
    if (s->dir >= 0)
        close(s->dir);
    free(s->directory);
    free(s);
}

/* ---- reading ---- */

/* Reads a slot whole, head included, into memory of malloc. NULL: damaged. */
static uint8_t *load(struct mi_slots *s, int slot, uint64_t *len)
{
    uint8_t head[HEAD];
    if (mi_read_some(s->ops, s->fd[slot], head, HEAD, 0) != HEAD || memcmp(head, "MISL", 4) != 0 ||
        mi_get_u32le(head + 4) != VERSION)
        return NULL;
    struct stat st;
    *len = mi_get_u64le(head + 16);
    if (*len > max_content || fstat(s->fd[slot], &st) != 0 || (uint64_t)st.st_size < HEAD + *len)
        return NULL;
    uint8_t *bytes = malloc(HEAD + (size_t)*len);
    if (bytes && mi_read_some(s->ops, s->fd[slot], bytes, HEAD + (size_t)*len, 0) == (ssize_t)(HEAD + *len) &&
        mi_get_u32le(bytes + 28) == mi_crc32c(mi_crc32c(0, bytes, 28), bytes + HEAD, (size_t)*len))
        return bytes;
    free(bytes);
    return NULL;
}

static void inspect(struct mi_slots *s, int slot)
{
    struct stat st;
    if (fstat(s->fd[slot], &st) == 0 && st.st_size == 0) {
        s->state[slot] = EMPTY;
        return;
    }
    uint64_t len = 0;
    uint8_t *bytes = load(s, slot, &len);
    s->state[slot] = bytes ? GOOD : DAMAGED;
    if (bytes) {
        s->generation[slot] = mi_get_u64le(bytes + 8);
        s->bytes[slot] = len;
    }
    free(bytes);
}

/* The slot with the newest good copy; -1: none. */
static int newest(const struct mi_slots *s)
{
    int best = -1;
    for (int i = 0; i < 2; i++)
        if (s->state[i] == GOOD && (best < 0 || s->generation[i] > s->generation[best]))
            best = i;
    return best;
}

int mi_slots_read(struct mi_slots *s, struct mi_buf *out, struct mi_error *err)
{
    mi_buf_reset(out);
    for (int slot; (slot = newest(s)) >= 0;) {
        uint64_t len = 0;
        uint8_t *bytes = load(s, slot, &len);
        if (!bytes) {
            s->state[slot] = DAMAGED;
            continue;
        }
        bool fits = mi_buf_add(out, bytes + HEAD, (size_t)len);
        free(bytes);
        return fits ? 1
                    : mi_error_set(err, "%s/%s.%d holds %" PRIu64 " bytes, more than is allowed",
                                   s->directory, s->name, slot, len);
    }
    if (s->state[0] == EMPTY && s->state[1] == EMPTY)
        return 0;
    return mi_error_set(err, "%s/%s.0 and .1 are both damaged; what they said is taken as unknown",
                        s->directory, s->name);
}

/* ---- writing ---- */

static int write_slot(struct mi_slots *s, int slot, uint64_t generation, struct mi_span content)
{
    uint8_t head[HEAD] = "MISL";
    mi_put_u32le(head + 4, VERSION);
    mi_put_u64le(head + 8, generation);
    mi_put_u64le(head + 16, content.len);
    mi_put_u32le(head + 28, mi_crc32c(mi_crc32c(0, head, 28), content.data, content.len));
    struct iovec v[2] = {{head, HEAD}, {(void *)(uintptr_t)content.data, content.len}};
    mi_fault("slots.before");
    if (mi_fault_next("slots.half")) {
        v[1].iov_len /= 2;
        mi_write_all(s->ops, s->fd[slot], v, 2, 0);
        mi_fault("slots.half");
    }
    if (mi_write_all(s->ops, s->fd[slot], v, content.len ? 2 : 1, 0) != 0)
        return -1;
    mi_fault("slots.written");
    int rc = s->ops->fdatasync(s->ops->context, s->fd[slot]);
    mi_fault("slots.synced");
    return rc;
}

int mi_slots_write(struct mi_slots *s, struct mi_span content, struct mi_error *err)
{
    int good = newest(s), slot = good == 0;
    uint64_t generation = good < 0 ? 1 : s->generation[good] + 1;
    s->state[slot] = DAMAGED;
    if (content.len > max_content || write_slot(s, slot, generation, content) != 0)
        return mi_error_set(err, "%s/%s.%d cannot be written: %s", s->directory, s->name, slot,
                            content.len > max_content ? "too large" : strerror(errno));
    s->state[slot] = GOOD;
    s->generation[slot] = generation;
    s->bytes[slot] = content.len;
    return 0;
}
