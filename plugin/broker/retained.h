/*
 * retained: retained values follow the order of the log, on every broker that shares it (design section 8,
 * "Several brokers").
 *
 * Mosquitto stores a client's retained PUBLISH at once, long before it stands in the log. Two brokers that
 * each publish to one topic would therefore end with each other's value. So:
 *
 *   own retained PUBLISH journaled          the topic is "outstanding" until that message is read back
 *   foreign retained message, outstanding   delivered with retain off: the own value stands later in the log
 *   foreign retained message, else          delivered with retain on
 *   own message read back                   the broker has it already: skipped
 *
 * A topic must keep to one partition for this: its messages are then numbered and read in one order.
 *
 * Overtaken. Mosquitto 2.1 routes what TICK publishes only after it has read its sockets. A client's PUBLISH
 * that comes in between is stored first, and then replaced by the foreign value, which stands earlier in the
 * log: it is stored again when it is read back.
 *
 * After a start. A clean stop writes down what was outstanding, and the store was saved. After any other end,
 * and where the store began empty, the store is behind the log: what earlier runs published is then stored
 * again as it is read back, in the order of the log, which live subscribers may see a second time.
 *
 * Rebuilding. While values from before the readers' positions are gathered (in/rebuild.h), every topic that
 * got a newer retained value is remembered; an older one never replaces it.
 *
 * Topics are known by a seeded 64-bit hash, and their number is bounded. What is not remembered for want of
 * room is stored again when it is read back. Main thread only.
 */
#ifndef MI_RETAINED_H
#define MI_RETAINED_H

#include "base/bytes.h"
#include "base/clock.h"

struct mi_retained_options {
    size_t max_topics;
    uint64_t first_sequence; /* of this run of the journal; lower ones are of earlier runs */
    bool routes_later;       /* what TICK publishes is routed after clients were heard: Mosquitto 2.1 */
    bool store_behind;       /* of the log: the last end was not clean, or the store began empty */
    const struct mi_clock *clock;
    /* Records with a lower sequence are settled: in the log, or never to come. */
    uint64_t (*settled)(void *context);
    void *context;
};

struct mi_retained;
struct mi_retained *mi_retained_new(const struct mi_retained_options *options); /* NULL when memory is out */
void mi_retained_free(struct mi_retained *r);                                   /* NULL is allowed */

/* A client's retained PUBLISH was journaled with that sequence, and this bridge will read it back. */
void mi_retained_own(struct mi_retained *r, const char *topic, uint64_t sequence);

/* A foreign retained message is about to be published: may it keep its retain flag? False for one whose
 * topic is outstanding. A topic whose message was settled, and did not come back within a minute of the first
 * foreign one, is outstanding no more: it became a dead letter, or nobody reads that partition now. */
bool mi_retained_foreign(struct mi_retained *r, const char *topic);

/* A message with retain on was published, whatever its kind. */
void mi_retained_published(struct mi_retained *r, const char *topic);
/* A TICK begins: what was published in the one before is routed. Cheap. */
void mi_retained_tick(struct mi_retained *r);

/* What becomes of an own retained message that was read back. */
enum mi_own_back {
    MI_OWN_DONE,   /* the broker has it */
    MI_OWN_STORE,  /* subscribers have it, but it was overtaken, or forgotten: it should be stored again */
    MI_OWN_PUBLISH /* it must be published again, with retain on */
};
enum mi_own_back mi_retained_own_back(struct mi_retained *r, const char *topic, uint64_t sequence);

/* Between begin and end of a rebuild (they nest) topics with newer values are remembered. */
void mi_retained_rebuild_begin(struct mi_retained *r);
void mi_retained_rebuild_end(struct mi_retained *r);
/* The last value of a topic from before the position: may it be stored? False when a newer one came. own: the
 * sequence of the last own message of the topic there, which is not read back otherwise; 0: none. */
bool mi_retained_rebuilt(struct mi_retained *r, const char *topic, uint64_t own);

/* What is outstanding, as bytes for a clean stop, and back (into a new one, before anything else, and only
 * when the store is not behind: what is outstanding is in the store); false when they cannot be read or
 * memory is out.
 *
 *   off len
 *     0   8  seed of the hashes
 *     8   8  own messages below this sequence that are not among the entries are stored again
 *    16      entries: XXH64 of the topic (8), sequence (8; highest bit: overtaken) */
bool mi_retained_save(const struct mi_retained *r, struct mi_buf *out);
bool mi_retained_load(struct mi_retained *r, struct mi_span saved);

#endif
