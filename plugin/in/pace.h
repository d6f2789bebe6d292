/*
 * pace: how often the server is asked, and how fast a backlog goes into the broker. Pure.
 */
#ifndef MI_PACE_H
#define MI_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* ---- requests that only look whether there is something ---- */

/* At most so many a second, for everything together, with a little saved up. */
struct mi_budget {
    uint64_t per_request_ns;
    uint64_t spent_until_ns; /* what was spent is paid back at this time */
};

void mi_budget_set(struct mi_budget *b, uint32_t per_second);
/* Spends weight requests' worth and returns true, or returns false. */
bool mi_budget_spend(struct mi_budget *b, uint64_t now_ns, uint32_t weight);
/* When there is something to spend again; now_ns when there is. */
uint64_t mi_budget_due(const struct mi_budget *b, uint64_t now_ns);

/* ---- backlog ---- */

/*
 * Which messages are live and which are backlog (design section 8, "Pace"): what was seen to arrive while the
 * partition was being watched is live, however much it is, and goes through at once: each arrival is a credit
 * of its reader. All else is backlog: what was there when the reader was placed, and what came while Iggy
 * could not be asked. A backlog message needs a token of its route, and those come at catch_up_rate a second.
 * So while a backlog is read, new messages do not slow it down: it shrinks by catch_up_rate a second. Only
 * messages that go into the broker cost anything; skipped ones do not.
 */
struct mi_tokens {
    uint32_t per_second; /* 0: no bound */
    uint64_t left;
    uint64_t since_ns; /* up to when time has been turned into tokens */
};

void mi_tokens_set(struct mi_tokens *t, uint32_t per_second, uint64_t now_ns);
/* Takes up to that many; returns how many. */
uint64_t mi_tokens_take(struct mi_tokens *t, uint64_t now_ns, uint64_t wanted);
void mi_tokens_give_back(struct mi_tokens *t, uint64_t unused);
/* When there is one again, at the earliest. */
uint64_t mi_tokens_due(const struct mi_tokens *t, uint64_t now_ns);

#endif
