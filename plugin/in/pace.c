#include "in/pace.h"

#include "base/clock.h"

#define SAVED_NS (50 * MI_NS_PER_MS) /* so much of the budget may be spent at once */
#define TOKENS_SAVED_MS 100          /* so much of catch_up_rate may go at once */

void mi_budget_set(struct mi_budget *b, uint32_t per_second)
{
    b->per_request_ns = MI_NS_PER_S / (per_second ? per_second : 1);
}

bool mi_budget_spend(struct mi_budget *b, uint64_t now_ns, uint32_t weight)
{
    if (mi_budget_due(b, now_ns) > now_ns)
        return false;
    if (b->spent_until_ns < now_ns)
        b->spent_until_ns = now_ns;
    b->spent_until_ns += b->per_request_ns * weight;
    return true;
}

uint64_t mi_budget_due(const struct mi_budget *b, uint64_t now_ns)
{
    return b->spent_until_ns <= now_ns + SAVED_NS ? now_ns : b->spent_until_ns - SAVED_NS;
}

void mi_tokens_set(struct mi_tokens *t, uint32_t per_second, uint64_t now_ns)
{
    if (t->since_ns == 0)
        t->since_ns = now_ns;
    t->per_second = per_second;
}

static uint64_t most(const struct mi_tokens *t)
{
    uint64_t saved = (uint64_t)t->per_second * TOKENS_SAVED_MS / 1000;
    return saved ? saved : 1;
}

static void refill(struct mi_tokens *t, uint64_t now_ns)
{
    uint64_t elapsed = now_ns > t->since_ns ? now_ns - t->since_ns : 0;
    if (elapsed > MI_NS_PER_S) { /* no product below overflows */
        t->since_ns = now_ns - MI_NS_PER_S;
        elapsed = MI_NS_PER_S;
    }
    uint64_t came = elapsed * t->per_second / MI_NS_PER_S;
    if (came == 0)
        return;
    t->since_ns += came * MI_NS_PER_S / t->per_second;
    t->left += came;
    if (t->left > most(t))
        t->left = most(t);
}

uint64_t mi_tokens_take(struct mi_tokens *t, uint64_t now_ns, uint64_t wanted)
{
    if (t->per_second == 0)
        return wanted;
    refill(t, now_ns);
    uint64_t taken = wanted < t->left ? wanted : t->left;
    t->left -= taken;
    return taken;
}

void mi_tokens_give_back(struct mi_tokens *t, uint64_t unused)
{
    if (t->per_second)
        t->left += unused;
}

uint64_t mi_tokens_due(const struct mi_tokens *t, uint64_t now_ns)
{
    if (t->per_second == 0 || t->left > 0)
        return now_ns;
    uint64_t due = t->since_ns + MI_NS_PER_S / t->per_second + 1;
    return due > now_ns ? due : now_ns + 1;
}
