/*
 * fake_history: the engine of history as the tests of the events need it: it notes what was begun and
 * cancelled, and hands out what the test puts.
 */
#ifndef FAKE_HISTORY_H
#define FAKE_HISTORY_H

#include "history/history.h"

struct fake_history {
    int begun, cancelled, denied, refused;
    mi_history_id last, last_cancelled;
    char client_id[64], mount[64], filter[256]; /* of the last ask, begun or refused */
    char why[256];                              /* of the last refusal */
    uint8_t qos;
    const char *refuse; /* the next is refused for that reason */
    struct mi_history_item *items;
    int made, freed; /* items */
};
extern struct fake_history fake_history;

void fake_history_reset(void);
/* Puts a message (inner: its topic) or, with inner NULL, an end marker. */
void fake_history_put(mi_history_id id, const char *topic, const char *inner, const char *payload);

#endif
