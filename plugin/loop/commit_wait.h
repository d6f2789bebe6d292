/*
 * commit_wait: the main thread waits, within a bound, until the bridge thread has seen a run of records
 * settled (routes[].wait_for_iggy). The one place where an MQTT client can feel Iggy, and only where an
 * operator asked for it.
 */
#ifndef MI_COMMIT_WAIT_H
#define MI_COMMIT_WAIT_H

#include <stdbool.h>
#include <stdint.h>

struct mi_commit_wait;
struct mi_commit_wait *mi_commit_wait_new(void);
void mi_commit_wait_free(struct mi_commit_wait *w);

/* Main thread. Waits until the records first..last are settled; false after timeout_ns, or at once while Iggy
 * is known to be away. wake makes the bridge thread turn. */
bool mi_commit_wait_for(struct mi_commit_wait *w, uint64_t first, uint64_t last, uint64_t timeout_ns,
                        void (*wake)(void *context), void *context);

/* Bridge thread, once a turn: is what the main thread waits for settled now? Cheap when nobody waits. away:
 * Iggy is known not to answer; whoever waits goes on, and nobody starts to. */
void mi_commit_wait_look(struct mi_commit_wait *w, bool away,
                         bool (*settled)(void *context, uint64_t first, uint64_t last), void *context);

#endif
