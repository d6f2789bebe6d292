/*
 * pages: asks for history as an ordinary client does, a page at a time.
 */
#ifndef PAGES_H
#define PAGES_H

#include "support/mqtt.h"

struct page {
    size_t first, count; /* messages of the client: [first, first + count), the marker not among them */
    long messages, skipped;
    bool complete;
    char reason[16], text[200], next[1100]; /* empty: the marker has none */
};

/* Subscribes to $iggy/FROM/FILTER and waits for the end marker; false when it does not come in time. */
bool page_ask(struct mi_mqtt *c, const char *from, const char *filter, int qos, struct page *out);
/* The marker's topic of $iggy/FROM/FILTER. */
void page_marker(const char *from, const char *filter, char *to, size_t size);
/* The topic of a message without "$iggy/FROM/"; NULL when it does not begin so. */
const char *page_topic(const struct mi_mqtt_message *m, const char *from);

/* Asks page after page until complete, at most max pages; how many messages came in all, -1 on trouble. each
 * (may be NULL) gets every message with its topic. */
long page_all(struct mi_mqtt *c, const char *from, const char *filter, int qos, unsigned max,
              void (*each)(void *context, const char *topic, const struct mi_mqtt_message *m), void *context);

#endif
