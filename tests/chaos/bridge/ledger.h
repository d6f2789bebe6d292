/*
 * ledger: what was published, what was acknowledged, what arrived: the truth that a chaos run is judged by.
 */
#ifndef MI_LEDGER_H
#define MI_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mi_ledger;
struct mi_ledger *mi_ledger_new(uint32_t messages);
void mi_ledger_free(struct mi_ledger *l);

/* Notes a PUBLISH about to be sent; returns its number (0, 1, ...), or UINT32_MAX when all have been sent. */
uint32_t mi_ledger_send(struct mi_ledger *l, int qos, uint32_t topic);
void mi_ledger_acknowledge(struct mi_ledger *l, uint32_t number);

/* Notes a message found in Iggy, in order of partition and offset. */
void mi_ledger_found(struct mi_ledger *l, uint32_t number, uint32_t topic);

struct mi_verdict {
    uint32_t sent, acknowledged, found;
    uint32_t lost;                 /* acknowledged at QoS 1 or 2 and not in Iggy */
    uint32_t duplicated;           /* in Iggy more than once */
    uint32_t disordered;           /* behind a later one of its topic */
    uint32_t foreign;              /* never sent */
    uint32_t unacknowledged_found; /* sent, not acknowledged, in Iggy all the same: allowed */
};
/* Judges; prints the first few offenders to stdout. */
struct mi_verdict mi_ledger_judge(const struct mi_ledger *l);
uint32_t mi_ledger_sent(const struct mi_ledger *l);
/* Acknowledged at QoS 1 or 2 and not found yet. Forgets what was found when reset is set (before reading
 * again). */
void mi_ledger_forget_found(struct mi_ledger *l);

#endif
