/*
 * item: makes what travels from the bridge thread to the main thread: messages and end markers. Each is one
 * piece of memory. Pure.
 */
#ifndef MI_HISTORY_ITEM_H
#define MI_HISTORY_ITEM_H

#include "history/history.h"

struct mi_item_text {
    struct mi_span mount, from; /* from: "2h" */
    struct mi_span topic;       /* the message's own, with mount point */
};
/* Copies everything; NULL when memory is out or the topic to publish on would be longer than MQTT allows. */
struct mi_history_item *mi_item_new(const struct mi_item_text *text, struct mi_span payload,
                                    struct mi_span properties, uint8_t qos);
/* What it weighs in the outbox, bytes. */
size_t mi_item_bytes(const struct mi_history_item *item);

/* Why an answer ended where it did; the word in the marker's "reason". */
enum mi_end_reason {
    MI_END_COMPLETE,
    MI_END_PAGE,     /* the page is full */
    MI_END_MAX_SCAN, /* history.max_scan was read */
    MI_END_MAX_TIME,
    MI_END_ERROR, /* Iggy could not be read */
    MI_END_REFUSED
};
struct mi_end_facts {
    enum mi_end_reason reason;
    uint64_t messages; /* put before it */
    uint64_t skipped;  /* that were too large or unreadable */
    const char *text;  /* a sentence for a person (static); NULL: none */
    const char *next;  /* cursor; NULL: none */
};
/* The end marker of filter ("$iggy/2h/rooms/#", without mount point): "$end" stands in place of each
 * wildcard, or is added as a last level. NULL when memory is out. */
struct mi_history_item *mi_item_new_end(struct mi_span mount, struct mi_span filter, uint8_t qos,
                                        const struct mi_end_facts *facts);
/* Writes the marker's JSON once it is known how many of the messages were not delivered after all:
 * {"messages":500,"skipped":0,"complete":false,"reason":"page","next":"c_..."}. False when memory is out. */
bool mi_item_write_end(struct mi_history_item *item, uint64_t denied);

#endif
