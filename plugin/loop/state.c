#include "loop/state.h"

enum { MAGIC = 0x3153494d, HEAD = 12 };

bool mi_state_begin(struct mi_buf *out)
{
    mi_buf_reset(out);
    uint8_t *head = mi_buf_reserve(out, HEAD);
    if (!head)
        return false;
    mi_put_u32le(head, MAGIC);
    mi_put_u32le(head + 4, 0);
    mi_put_u32le(head + 8, 0);
    out->len = HEAD;
    return true;
}

bool mi_state_between(struct mi_buf *out)
{
    if (out->failed || out->len < HEAD)
        return false;
    mi_put_u32le(out->data + 4, (uint32_t)(out->len - HEAD));
    return true;
}

bool mi_state_end(struct mi_buf *out)
{
    if (out->failed || out->len < HEAD)
        return false;
    mi_put_u32le(out->data + 8, (uint32_t)(out->len - HEAD - mi_get_u32le(out->data + 4)));
    return true;
}

bool mi_state_split(struct mi_span state, struct mi_span *checkpoint, struct mi_span *positions)
{
    if (state.len < HEAD || mi_get_u32le(state.data) != MAGIC)
        return false;
    checkpoint->len = mi_get_u32le(state.data + 4);
    positions->len = mi_get_u32le(state.data + 8);
    if (checkpoint->len > state.len - HEAD || positions->len != state.len - HEAD - checkpoint->len)
        return false;
    checkpoint->data = state.data + HEAD;
    positions->data = state.data + HEAD + checkpoint->len;
    return true;
}
