#include "journal/scan.h"

#include "journal/segment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int load(struct mi_scan *s, uint64_t at, size_t need);
static int record_at(struct mi_scan *s, uint64_t at, struct mi_record *out);
static int search(struct mi_scan *s, struct mi_record *out);

void mi_scan_fini(struct mi_scan *s)
{
    free(s->data);
    s->data = NULL;
    s->cap = s->len = 0;
}

void mi_scan_forget(struct mi_scan *s)
{
    s->len = 0;
}

static void move_behind(struct mi_scan *s, uint64_t at, const struct mi_record *r, uint32_t bytes)
{
    s->at = at;
    s->bytes = bytes;
    s->offset = at + bytes;
    s->due = r->sequence + 1;
}

int mi_scan_next(struct mi_scan *s, struct mi_record *out)
{
    s->damage_bytes = s->damage_records = 0;
    if (s->due >= s->limit || s->offset >= s->end)
        return 0;
    int rc = record_at(s, s->offset, out);
    if (rc < 0)
        return -1;
    if (rc > 0 && out->sequence == s->due) {
        move_behind(s, s->offset, out, s->bytes);
        return 1;
    }
    return search(s, out);
}

/* A record behind damage may be as many sequences further as the damaged bytes could hold records. */
static int search(struct mi_scan *s, struct mi_record *out)
{
    for (uint64_t at = s->offset + MI_RECORD_ALIGN; at + MI_RECORD_HEAD <= s->end; at += MI_RECORD_ALIGN) {
        int rc = record_at(s, at, out);
        if (rc < 0)
            return -1;
        if (rc == 0 || out->sequence < s->due || out->sequence - s->due > (at - s->offset) / MI_RECORD_HEAD)
            continue;
        s->damage_at = s->offset;
        s->damage_bytes = at - s->offset;
        s->damage_records = out->sequence - s->due;
        move_behind(s, at, out, s->bytes);
        return 1;
    }
    return 0;
}

void mi_scan_give_up(struct mi_scan *s)
{
    s->damage_at = s->offset;
    s->damage_bytes = s->end - s->offset;
    s->damage_records = s->limit - s->due;
    s->offset = s->end;
    s->due = s->limit;
}

uint64_t mi_scan_torn(struct mi_scan *s)
{
    if (load(s, s->offset, MI_RECORD_HEAD) < MI_RECORD_HEAD)
        return 0;
    const uint8_t *p = s->data + (s->offset - s->data_at);
    bool ours = memcmp(p, "MIR1", 4) == 0 && mi_get_u32le(p + 52) == (uint32_t)s->run &&
                mi_get_u64le(p + 16) == s->due && s->due < s->limit;
    uint64_t bytes = mi_get_u32le(p + 4), left = s->end - s->offset;
    return !ours ? 0 : bytes < left ? bytes : left;
}

/* 1: a valid record of this segment's run below the limit, at any sequence; s->bytes is set. 0: none. -1:
 * errno. */
static int record_at(struct mi_scan *s, uint64_t at, struct mi_record *out)
{
    int have = load(s, at, MI_RECORD_HEAD);
    if (have < 0)
        return -1;
    const uint8_t *p = s->data + (at - s->data_at);
    if (have < MI_RECORD_HEAD || mi_get_u32le(p + 52) != (uint32_t)s->run || memcmp(p, "MIR1", 4) != 0)
        return 0;
    uint64_t bytes = mi_get_u32le(p + 4);
    if (bytes > s->end - at || bytes < MI_RECORD_HEAD || bytes > INT32_MAX)
        return 0;
    have = load(s, at, (size_t)bytes);
    if (have < 0)
        return -1;
    int64_t n = mi_record_decode(s->data + (at - s->data_at), (size_t)have, out);
    if (n <= 0 || out->sequence >= s->limit)
        return 0;
    s->bytes = (uint32_t)n;
    out->run = s->run;
    return 1;
}

static bool grow(struct mi_scan *s, size_t need)
{
    if (need <= s->cap)
        return true;
    uint8_t *data = malloc(need);
    if (!data)
        return false;
    free(s->data);
    s->data = data;
    s->cap = need;
    s->len = 0;
    return true;
}

/* Makes the bytes from at on available; fewer than need only at end of segment or file. -1: errno. */
static int load(struct mi_scan *s, uint64_t at, size_t need)
{
    if (need > s->end - at)
        need = (size_t)(s->end - at);
    if (at < s->data_at || at + need > s->data_at + s->len) {
        size_t want = need > MI_SCAN_CHUNK ? need : MI_SCAN_CHUNK;
        if (!grow(s, want)) {
            errno = ENOMEM;
            return -1;
        }
        s->len = 0;
        if (want > s->end - at)
            want = (size_t)(s->end - at);
        ssize_t n = mi_read_some(s->ops, s->fd, s->data, want, at);
        if (n < 0)
            return -1;
        s->data_at = at;
        s->len = (size_t)n;
    }
    size_t have = (size_t)(s->data_at + s->len - at);
    return (int)(have < need ? have : need);
}
