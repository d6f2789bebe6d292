#include "ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOPICS = 4096, SHOWN = 10 };

struct entry {
    uint8_t qos, acknowledged, found;
    uint16_t topic;
};

struct mi_ledger {
    struct entry *entries;
    uint32_t capacity, sent;
    uint32_t foreign, disordered;
    int64_t last[TOPICS]; /* highest number found per topic */
};

struct mi_ledger *mi_ledger_new(uint32_t messages)
{
    struct mi_ledger *l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->entries = calloc(messages, sizeof *l->entries);
    l->capacity = messages;
    mi_ledger_forget_found(l);
    return l;
}

void mi_ledger_free(struct mi_ledger *l)
{
    if (l)
        free(l->entries);
    free(l);
}

uint32_t mi_ledger_send(struct mi_ledger *l, int qos, uint32_t topic)
{
    if (l->sent == l->capacity)
        return UINT32_MAX;
    l->entries[l->sent].qos = (uint8_t)qos;
    l->entries[l->sent].topic = (uint16_t)topic;
    return l->sent++;
}

void mi_ledger_acknowledge(struct mi_ledger *l, uint32_t number)
{
    if (number < l->sent)
        l->entries[number].acknowledged = 1;
}

void mi_ledger_found(struct mi_ledger *l, uint32_t number, uint32_t topic)
{
    if (number >= l->sent || l->entries[number].topic != topic || topic >= TOPICS) {
        l->foreign++;
        return;
    }
    struct entry *e = &l->entries[number];
    if (e->found < 255)
        e->found++;
    if (e->found == 1 && number < l->last[topic]) {
        l->disordered++;
        if (l->disordered <= SHOWN)
            printf("disordered: message %u of topic %u came behind %lld\n", number, topic,
                   (long long)l->last[topic]);
    }
    if (number > l->last[topic])
        l->last[topic] = number;
}

void mi_ledger_forget_found(struct mi_ledger *l)
{
    for (uint32_t i = 0; i < l->sent; i++)
        l->entries[i].found = 0;
    for (int i = 0; i < TOPICS; i++)
        l->last[i] = -1;
    l->foreign = l->disordered = 0;
}

uint32_t mi_ledger_sent(const struct mi_ledger *l)
{
    return l->sent;
}

static void show(uint32_t *shown, const char *what, uint32_t number, const struct entry *e)
{
    if ((*shown)++ < SHOWN)
        printf("%s: message %u (QoS %u, topic %u, found %u times)\n", what, number, e->qos, e->topic,
               e->found);
}

struct mi_verdict mi_ledger_judge(const struct mi_ledger *l)
{
    struct mi_verdict v = {.sent = l->sent, .foreign = l->foreign, .disordered = l->disordered};
    uint32_t shown_lost = 0, shown_twice = 0;
    for (uint32_t i = 0; i < l->sent; i++) {
        const struct entry *e = &l->entries[i];
        v.acknowledged += e->acknowledged;
        v.found += e->found > 0;
        v.unacknowledged_found += e->found > 0 && !e->acknowledged;
        if (e->found > 1) {
            v.duplicated++;
            show(&shown_twice, "twice", i, e);
        }
        if (e->acknowledged && e->qos > 0 && e->found == 0) {
            v.lost++;
            show(&shown_lost, "lost", i, e);
        }
    }
    return v;
}
