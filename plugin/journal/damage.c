/* damage: bytes in a segment that are no record any more: counted, told, and kept for a person to look at. */
#include "journal/journal_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char file_name[] = "quarantine";

enum { MAX_PIECE = 1 << 20, MAX_LINE = 128 }; /* bytes kept of one place */

/* One entry: a text line that says where the bytes were, the bytes, a newline. */
static void keep_bytes(struct mi_journal *j, const struct mi_damage *d, uint64_t at, uint64_t bytes)
{
    int fd = j->ops->open(j->ops->context, j->dir, file_name, O_WRONLY | O_CREAT, 0600);
    if (fd < 0)
        return;
    char line[MAX_LINE];
    int len = snprintf(line, sizeof line, "segment %" PRIu64 " offset %" PRIu64 " bytes %" PRIu64 "\n",
                       d->number, d->offset, bytes);
    bool good = mi_write_bytes(j->ops, fd, line, (size_t)len, at) == 0;
    uint8_t chunk[MI_PAGE];
    at += (uint64_t)len;
    for (uint64_t done = 0; good && done < bytes;) {
        size_t want = bytes - done < sizeof chunk ? (size_t)(bytes - done) : sizeof chunk;
        ssize_t n = mi_read_some(j->ops, d->fd, chunk, want, d->offset + done);
        good = n > 0 && mi_write_bytes(j->ops, fd, chunk, (size_t)n, at + done) == 0;
        done += n > 0 ? (uint64_t)n : 0;
    }
    if (good)
        mi_write_bytes(j->ops, fd, "\n", 1, at + bytes);
    j->ops->close(j->ops->context, fd);
}

void mi_damage_found(struct mi_journal *j, const struct mi_damage *d)
{
    uint64_t now = mi_now_ns(j->clock), bytes = d->bytes < MAX_PIECE ? d->bytes : MAX_PIECE, at = 0;
    pthread_mutex_lock(&j->lock);
    struct mi_journal_segment *s = mi_segment_find(j, d->number);
    bool known = s && d->offset + d->bytes <= s->damage_end;
    bool keep = !known && j->quarantined + bytes + MAX_LINE <= MI_QUARANTINE_BYTES;
    if (!known) {
        j->damaged_records += d->records;
        if (s)
            s->damage_end = d->offset + d->bytes;
    }
    if (keep) {
        at = j->quarantined;
        j->quarantined += bytes + MAX_LINE;
    }
    pthread_mutex_unlock(&j->lock);
    if (known)
        return;
    if (keep)
        keep_bytes(j, d, at, bytes);
    mi_log_limited(
        j->log, &j->damage_limit, now, MI_DISK_LOG_NS, MI_LOG_ERROR,
        "journal %s: damage in segment %" PRIu64 " at offset %" PRIu64 ": %" PRIu64 " bytes, %" PRIu64
        " messages lost; the other messages are intact, the damaged bytes are %s; check the disk",
        j->directory, d->number, d->offset, d->bytes, d->records,
        keep ? "kept in the file quarantine beside it" : "not kept, because the quarantine file is full");
}
