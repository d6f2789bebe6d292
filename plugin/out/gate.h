/*
 * gate: the one retry timer of the whole out side, for failures that no lane can help: no connection, no
 * login. Pure. While it is closed one request at a time goes through as a probe, after a back-off.
 */
#ifndef MI_GATE_H
#define MI_GATE_H

#include <stdbool.h>
#include <stdint.h>

struct mi_gate {
    bool closed;
    bool probing; /* the probe is under way */
    uint32_t failures;
    uint64_t due_ns; /* closed: the next probe */
};

/* May a request be made now? */
bool mi_gate_lets(const struct mi_gate *g, uint64_t now_ns);
/* One is made. */
void mi_gate_took(struct mi_gate *g);
/* One ended and reached the server. True when the gate was closed before. */
bool mi_gate_opened(struct mi_gate *g);
/* One ended without. Requests that were under way together count as one failure. */
void mi_gate_failed(struct mi_gate *g, uint64_t now_ns, uint64_t min_ns, uint64_t max_ns, uint64_t after_ns,
                    uint64_t random);

#endif
