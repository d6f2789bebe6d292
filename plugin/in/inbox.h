/*
 * inbox: messages on their way from the bridge thread to the broker's main thread, bounded in count and
 * bytes.
 *
 * The bridge thread puts; the main thread takes in TICK and reports what it injected. When the inbox is full
 * the reader pauses its polling. One mutex, held for a pointer swap only.
 */
#ifndef MI_INBOX_H
#define MI_INBOX_H

#include "base/bytes.h"

/* A message of a partition, well enough to know it again after the server lost some and gave their offsets to
 * others. */
struct mi_mark {
    uint64_t offset;
    uint64_t id_hi, id_lo; /* Iggy's 128-bit message id */
    uint64_t stamp_us;     /* when Iggy appended it */
};

enum mi_inbound_kind {
    MI_INBOUND_MESSAGE,
    MI_INBOUND_OWN, /* retained, ours, read back: the broker has it, as a rule */
    /* of a rebuild (rebuild.h); their reader is 0 */
    MI_INBOUND_REBUILD_BEGIN, /* without topic */
    MI_INBOUND_REBUILT, /* the last retained value of a topic from before the reader's position; mark.id_lo:
                           the last own message of the topic there, 0: none. Empty: only that is meant */
    MI_INBOUND_REBUILD_END /* the last one came before this; without topic */
};

struct mi_inbound {
    enum mi_inbound_kind kind;
    char *topic;      /* NUL-terminated */
    uint8_t *payload; /* NULL when empty */
    uint32_t payload_len;
    uint8_t qos;
    bool retain;
    uint8_t *properties; /* MQTT property block (message/message.h), NULL when none */
    uint32_t properties_len;
    uint32_t route;  /* id, for counting */
    uint32_t reader; /* which reader it came from, and its position once it is delivered */
    struct mi_mark mark;
    struct mi_inbound *next;
};

struct mi_inbox;
struct mi_inbox *mi_inbox_new(size_t max_messages, size_t max_bytes);
void mi_inbox_free(struct mi_inbox *inbox); /* frees what is left in it */

/* Makes one message with copies of everything; NULL when memory is out. Freed by mi_inbound_free. */
struct mi_inbound *mi_inbound_new(struct mi_span topic, struct mi_span payload, struct mi_span properties);
void mi_inbound_free(struct mi_inbound *m);

/* Bridge thread. How many more messages there is room for; 0 while its bytes are used up. With room, any one
 * message fits, whatever its size. */
size_t mi_inbox_room(struct mi_inbox *inbox);
void mi_inbox_put(struct mi_inbox *inbox, struct mi_inbound *m);

/* Main thread. Cheap when empty (one atomic load: TICK fires per packet on Mosquitto 2.0). Takes at most max
 * messages as a list, oldest first; the caller owns them. */
struct mi_inbound *mi_inbox_take(struct mi_inbox *inbox, size_t max);
bool mi_inbox_empty(struct mi_inbox *inbox);

/* Main thread: the message was handed to the broker and the following TICK has come: its position may move.
 */
void mi_inbox_delivered(struct mi_inbox *inbox, uint32_t reader, const struct mi_mark *mark);
/* Bridge thread: calls each for what was reported since the last call, the newest of each reader only. */
void mi_inbox_collect(struct mi_inbox *inbox,
                      void (*each)(void *context, uint32_t reader, const struct mi_mark *mark),
                      void *context);
size_t mi_inbox_count(struct mi_inbox *inbox); /* any thread */

#endif
