#include "in/positions.h"

enum { MAGIC = 0x3150494d, HEAD = 8, ENTRY = 28 };

bool mi_positions_begin(struct mi_buf *out, size_t *start)
{
    *start = out->len;
    uint8_t *head = mi_buf_reserve(out, HEAD);
    if (!head)
        return false;
    mi_put_u32le(head, MAGIC);
    mi_put_u32le(head + 4, 0);
    out->len += HEAD;
    return true;
}

bool mi_positions_add(struct mi_buf *out, size_t start, const struct mi_position *p)
{
    uint8_t *e = mi_buf_reserve(out, ENTRY + p->stream.len + p->topic.len);
    if (!e)
        return false;
    mi_put_u32le(e, p->route);
    mi_put_u32le(e + 4, p->partition);
    mi_put_u64le(e + 8, p->created_at);
    mi_put_u64le(e + 16, p->next);
    mi_put_u16le(e + 24, (uint16_t)p->stream.len);
    mi_put_u16le(e + 26, (uint16_t)p->topic.len);
    out->len += ENTRY;
    mi_buf_add_span(out, p->stream);
    mi_buf_add_span(out, p->topic);
    uint8_t *count = out->data + start + 4;
    mi_put_u32le(count, mi_get_u32le(count) + 1);
    return !out->failed;
}

int mi_positions_next(struct mi_span saved, size_t *at, struct mi_position *out)
{
    if (*at == 0) {
        if (saved.len < HEAD || mi_get_u32le(saved.data) != MAGIC)
            return -1;
        *at = HEAD;
    }
    if (*at == saved.len)
        return 0;
    const uint8_t *e = saved.data + *at;
    size_t left = saved.len - *at;
    if (left < ENTRY)
        return -1;
    out->route = mi_get_u32le(e);
    out->partition = mi_get_u32le(e + 4);
    out->created_at = mi_get_u64le(e + 8);
    out->next = mi_get_u64le(e + 16);
    out->stream = (struct mi_span){e + ENTRY, mi_get_u16le(e + 24)};
    out->topic = (struct mi_span){e + ENTRY + out->stream.len, mi_get_u16le(e + 26)};
    if (left - ENTRY < out->stream.len + out->topic.len)
        return -1;
    *at += ENTRY + out->stream.len + out->topic.len;
    return 1;
}
