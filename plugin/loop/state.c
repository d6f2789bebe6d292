#include "loop/state.h"

#include <string.h>

enum { MAGIC = 0x3153494d, HEAD = 12, STORE_HEAD = 12, CLEAN = 1 };

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

bool mi_state_add_store(struct mi_buf *out, const struct mi_state_store *store)
{
    uint8_t head[STORE_HEAD];
    mi_put_u32le(head, store->clean ? CLEAN : 0);
    mi_put_u64le(head + 4, store->next_sequence);
    return mi_buf_add(out, head, sizeof head) && mi_buf_add_span(out, store->outstanding);
}

static void split_store(struct mi_span rest, struct mi_state_store *store)
{
    memset(store, 0, sizeof *store);
    if (rest.len < STORE_HEAD)
        return;
    store->clean = mi_get_u32le(rest.data) & CLEAN;
    store->next_sequence = mi_get_u64le(rest.data + 4);
    store->outstanding = (struct mi_span){rest.data + STORE_HEAD, rest.len - STORE_HEAD};
}

bool mi_state_split(struct mi_span state, struct mi_span *checkpoint, struct mi_span *positions,
                    struct mi_state_store *store)
{
    if (state.len < HEAD || mi_get_u32le(state.data) != MAGIC)
        return false;
    checkpoint->len = mi_get_u32le(state.data + 4);
    positions->len = mi_get_u32le(state.data + 8);
    if (checkpoint->len > state.len - HEAD || positions->len > state.len - HEAD - checkpoint->len)
        return false;
    checkpoint->data = state.data + HEAD;
    positions->data = checkpoint->data + checkpoint->len;
    size_t read = HEAD + checkpoint->len + positions->len;
    split_store((struct mi_span){state.data + read, state.len - read}, store);
    return true;
}
