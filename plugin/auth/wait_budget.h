/*
 * wait_budget: how long the broker's main thread may wait for logins where it cannot be told later (Mosquitto
 * 2.0). Every client waits meanwhile, so in any stretch of time all waits together take at most a tenth of
 * it, and one wait's length on top. Pure.
 */
#ifndef MI_WAIT_BUDGET_H
#define MI_WAIT_BUDGET_H

#include <stdint.h>

struct mi_wait_budget {
    uint64_t spent_ns; /* not earned yet */
    uint64_t since_ns;
};

/* How long a wait that begins now may take, at most longest_ns; 0: none, since what is left is too short to
 * be of use. */
uint64_t mi_wait_budget_now(struct mi_wait_budget *b, uint64_t longest_ns, uint64_t now_ns);
/* It took so long. */
void mi_wait_budget_spend(struct mi_wait_budget *b, uint64_t took_ns);

#endif
