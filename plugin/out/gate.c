/*
 * gate: see gate.h.
 */
#include "out/gate.h"

#include "out/lane.h"

bool mi_gate_lets(const struct mi_gate *g, uint64_t now_ns)
{
    return !g->closed || (!g->probing && now_ns >= g->due_ns);
}

void mi_gate_took(struct mi_gate *g)
{
    if (g->closed)
        g->probing = true;
}

bool mi_gate_opened(struct mi_gate *g)
{
    bool was_closed = g->closed;
    *g = (struct mi_gate){0};
    return was_closed;
}

void mi_gate_failed(struct mi_gate *g, uint64_t now_ns, uint64_t min_ns, uint64_t max_ns, uint64_t after_ns,
                    uint64_t random)
{
    if (g->closed && !g->probing)
        return;
    g->closed = true;
    g->probing = false;
    g->failures++;
    g->due_ns = now_ns + mi_backoff_ns(g->failures, min_ns, max_ns, after_ns, random);
}
