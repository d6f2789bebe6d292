/*
 * id_set: open addressing; taken ids leave a mark, so that those behind them are still found.
 */
#include "out/id_set.h"

#include <stdlib.h>

struct mi_id_set {
    struct iggy_id *slot;
    uint8_t *used;
    size_t size, count; /* count: taken ones included */
};

enum { FREE = 0, PRESENT = 1, TAKEN = 2 };

struct mi_id_set *mi_id_set_new(void)
{
    return calloc(1, sizeof(struct mi_id_set));
}

void mi_id_set_free(struct mi_id_set *f)
{
    if (!f)
        return;
    free(f->slot);
    free(f->used);
    free(f);
}

static size_t place(const struct iggy_id *slot, const uint8_t *used, size_t size, struct iggy_id id)
{
    uint64_t h = (id.lo ^ id.hi) * 0x9e3779b97f4a7c15ull;
    size_t at = (size_t)(h >> 20) & (size - 1);
    while (used[at] && (slot[at].hi != id.hi || slot[at].lo != id.lo))
        at = (at + 1) & (size - 1);
    return at;
}

static bool grow(struct mi_id_set *f)
{
    size_t size = f->size ? f->size * 2 : 1024;
    struct iggy_id *slot = calloc(size, sizeof *slot);
    uint8_t *used = calloc(size, 1);
    if (!slot || !used || size > MI_MAX_ID_SET * 2) {
        free(slot);
        free(used);
        return false;
    }
    size_t count = 0;
    for (size_t i = 0; i < f->size; i++) {
        if (f->used[i] != PRESENT)
            continue;
        size_t at = place(slot, used, size, f->slot[i]);
        slot[at] = f->slot[i];
        used[at] = PRESENT;
        count++;
    }
    free(f->slot);
    free(f->used);
    *f = (struct mi_id_set){.slot = slot, .used = used, .size = size, .count = count};
    return true;
}

bool mi_id_set_add(struct mi_id_set *f, struct iggy_id id)
{
    if (f->count * 2 >= f->size && !grow(f))
        return false;
    size_t at = place(f->slot, f->used, f->size, id);
    if (f->used[at] == FREE)
        f->count++;
    f->slot[at] = id;
    f->used[at] = PRESENT;
    return true;
}

bool mi_id_set_take(struct mi_id_set *f, struct iggy_id id)
{
    if (f->count == 0)
        return false;
    size_t at = place(f->slot, f->used, f->size, id);
    if (f->used[at] != PRESENT)
        return false;
    f->used[at] = TAKEN;
    return true;
}
