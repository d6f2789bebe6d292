#include "auth/wait_budget.h"

enum { SHARE = 10, SHORTEST_NS = 2000000 };

uint64_t mi_wait_budget_now(struct mi_wait_budget *b, uint64_t longest_ns, uint64_t now_ns)
{
    uint64_t earned = (now_ns - b->since_ns) / SHARE;
    b->spent_ns = earned < b->spent_ns ? b->spent_ns - earned : 0;
    b->since_ns = now_ns;
    uint64_t left = b->spent_ns < longest_ns ? longest_ns - b->spent_ns : 0;
    return left < SHORTEST_NS ? 0 : left;
}

void mi_wait_budget_spend(struct mi_wait_budget *b, uint64_t took_ns)
{
    b->spent_ns += took_ns;
}
