#include "in/save_gate.h"

#include <string.h>
#include <sys/stat.h>

/* Files are stamped by a clock that ticks at most every 10 ms (CONFIG_HZ=100). */
#define STAMP_SLACK_NS (20 * MI_NS_PER_MS)
#define LOOK_EVERY_NS MI_NS_PER_S

static void identify_by_stat(void *context, const char *path, struct mi_file_identity *out)
{
    (void)context;
    struct stat st;
    memset(out, 0, sizeof *out);
    if (stat(path, &st) != 0)
        return;
    out->exists = true;
    out->device = (uint64_t)st.st_dev;
    out->inode = (uint64_t)st.st_ino;
    out->size = (uint64_t)st.st_size;
    out->modified_ns = (uint64_t)st.st_mtim.tv_sec * MI_NS_PER_S + (uint64_t)st.st_mtim.tv_nsec;
}

static bool same(const struct mi_file_identity *a, const struct mi_file_identity *b)
{
    return a->exists == b->exists && a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->modified_ns == b->modified_ns;
}

void mi_save_gate_init(struct mi_save_gate *g, const struct mi_broker_facts *facts, mi_identify identify,
                       void *context)
{
    memset(g, 0, sizeof *g);
    g->identify = identify ? identify : identify_by_stat;
    g->context = context;
    if (facts->persistence == MI_YES && facts->persistence_file &&
        strlen(facts->persistence_file) < sizeof g->path)
        memcpy(g->path, facts->persistence_file, strlen(facts->persistence_file));
    if (*g->path)
        g->identify(context, g->path, &g->seen);
    g->empty_store = facts->persistence == MI_NO || (*g->path && !g->seen.exists);
    g->waits = *g->path && facts->autosave_interval_s != 0;
}

bool mi_save_gate_waits(const struct mi_save_gate *g)
{
    return g->waits;
}

bool mi_save_gate_empty_store(const struct mi_save_gate *g)
{
    return g->empty_store;
}

bool mi_save_gate_look(struct mi_save_gate *g, uint64_t now_ns, bool *saved)
{
    if (!g->waits || now_ns < g->look_due_ns)
        return false;
    struct mi_file_identity now;
    g->identify(g->context, g->path, &now);
    /* A file that somebody removed is no save. */
    *saved = now.exists && !same(&now, &g->seen);
    g->seen = now;
    g->look_due_ns = now_ns + LOOK_EVERY_NS;
    return true;
}

uint64_t mi_save_gate_due(const struct mi_save_gate *g)
{
    return g->waits ? g->look_due_ns : UINT64_MAX;
}

bool mi_save_gate_last(const struct mi_save_gate *g, uint64_t last_tick_us)
{
    if (!*g->path)
        return true;
    struct mi_file_identity now;
    g->identify(g->context, g->path, &now);
    return now.exists && now.modified_ns + STAMP_SLACK_NS >= last_tick_us * 1000;
}

bool mi_save_gate_changed(const struct mi_save_gate *g)
{
    struct mi_file_identity now = {0};
    if (*g->path)
        g->identify(g->context, g->path, &now);
    return *g->path && !same(&now, &g->seen);
}
