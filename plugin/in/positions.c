#include "in/positions.h"

#include <string.h>

enum {
    MAGIC_1 = 0x3150494d,
    MAGIC_2 = 0x3250494d,
    HEAD = 8,
    FIXED = 24, /* what both begin with */
    MARK = 28,
    NAMES = 4,
    FLAG_MARKED = 1,
    FLAG_RESTS = 2,
    FLAG_REBUILD = 4
};

bool mi_positions_begin(struct mi_buf *out, size_t *start)
{
    *start = out->len;
    uint8_t *head = mi_buf_reserve(out, HEAD);
    if (!head)
        return false;
    mi_put_u32le(head, MAGIC_2);
    mi_put_u32le(head + 4, 0);
    out->len += HEAD;
    return true;
}

bool mi_positions_add(struct mi_buf *out, size_t start, const struct mi_position *p)
{
    uint8_t *e = mi_buf_reserve(out, FIXED + MARK + NAMES + p->stream.len + p->topic.len);
    if (!e)
        return false;
    mi_put_u32le(e, p->route);
    mi_put_u32le(e + 4, p->partition);
    mi_put_u64le(e + 8, p->created_at);
    mi_put_u64le(e + 16, p->next);
    mi_put_u64le(e + 24, p->marked ? p->mark.id_lo : 0);
    mi_put_u64le(e + 32, p->marked ? p->mark.id_hi : 0);
    mi_put_u64le(e + 40, p->marked ? p->mark.stamp_us : 0);
    mi_put_u32le(e + 48, (p->marked ? FLAG_MARKED : 0u) | (p->rests ? FLAG_RESTS : 0u) |
                             (p->rebuild ? FLAG_REBUILD : 0u));
    mi_put_u16le(e + 52, (uint16_t)p->stream.len);
    mi_put_u16le(e + 54, (uint16_t)p->topic.len);
    out->len += FIXED + MARK + NAMES;
    mi_buf_add_span(out, p->stream);
    mi_buf_add_span(out, p->topic);
    uint8_t *count = out->data + start + 4;
    mi_put_u32le(count, mi_get_u32le(count) + 1);
    return !out->failed;
}

static void read_mark(const uint8_t *e, struct mi_position *out)
{
    uint32_t flags = mi_get_u32le(e + 24);
    out->marked = (flags & FLAG_MARKED) && out->next > 0;
    out->rests = flags & FLAG_RESTS;
    out->rebuild = flags & FLAG_REBUILD;
    if (out->marked)
        out->mark = (struct mi_mark){.offset = out->next - 1,
                                     .id_lo = mi_get_u64le(e),
                                     .id_hi = mi_get_u64le(e + 8),
                                     .stamp_us = mi_get_u64le(e + 16)};
}

int mi_positions_next(struct mi_span saved, size_t *at, struct mi_position *out)
{
    if (saved.len < HEAD)
        return -1;
    uint32_t magic = mi_get_u32le(saved.data);
    if (magic != MAGIC_1 && magic != MAGIC_2)
        return -1;
    if (*at == 0)
        *at = HEAD;
    if (*at == saved.len)
        return 0;
    const uint8_t *e = saved.data + *at;
    size_t left = saved.len - *at, fixed = FIXED + NAMES + (magic == MAGIC_2 ? MARK : 0);
    if (left < fixed)
        return -1;
    memset(out, 0, sizeof *out);
    out->route = mi_get_u32le(e);
    out->partition = mi_get_u32le(e + 4);
    out->created_at = mi_get_u64le(e + 8);
    out->next = mi_get_u64le(e + 16);
    if (magic == MAGIC_2)
        read_mark(e + FIXED, out);
    const uint8_t *names = e + fixed;
    out->stream = (struct mi_span){names, mi_get_u16le(names - 4)};
    out->topic = (struct mi_span){names + out->stream.len, mi_get_u16le(names - 2)};
    if (left - fixed < out->stream.len + out->topic.len)
        return -1;
    *at += fixed + out->stream.len + out->topic.len;
    return 1;
}
