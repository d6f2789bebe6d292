/*
 * save_gate: has the broker saved what it was given? A position may move only then (design section 8).
 *
 * A broker with persistence keeps sessions and retained messages in memory and saves all of them to
 * mosquitto.db now and then: every autosave_interval, at SIGUSR1, and at its end. It does so in one go on its
 * main thread: writes mosquitto.db.new, renames it (persist_write.c of 2.0.11, mosquitto_write_file of 2.1).
 * So a save lies wholly between two TICKs, and whatever a TICK reported before the bridge looked at the file
 * is in every save that the file shows later:
 *
 *   look: the file's identity is A; delivered so far: up to d      d is what was captured
 *   look: the file's identity is B                                 d was saved
 *
 * A save that fails renames nothing. (2.0 does not check its last writes: on a full disk it may put a cut
 * file in place, which no plugin can tell.)
 *
 * Looking is one stat(2). The bridge thread does it itself: the broker's main thread writes that very file,
 * so a file system that hangs has stopped the broker already. Bridge thread, but for mi_save_gate_last.
 */
#ifndef MI_SAVE_GATE_H
#define MI_SAVE_GATE_H

#include "base/clock.h"
#include "config/config.h"

/* What tells one save from the next. */
struct mi_file_identity {
    bool exists;
    uint64_t device, inode, size;
    uint64_t modified_ns; /* since 1970 UTC */
};
typedef void (*mi_identify)(void *context, const char *path, struct mi_file_identity *out);

struct mi_save_gate {
    char path[4096]; /* of mosquitto.db; "": none or not known */
    bool waits;
    mi_identify identify;
    void *context;
    struct mi_file_identity seen;
    uint64_t look_due_ns;
    bool empty_store; /* see mi_save_gate_empty_store */
};

/* identify NULL: stat(2). Looks once. Main thread, before the broker runs: it has read its mosquitto.db by
 * then, and not yet written it. */
void mi_save_gate_init(struct mi_save_gate *g, const struct mi_broker_facts *facts, mi_identify identify,
                       void *context);

/* Is there a save to wait for? Without persistence, with autosave_interval 0 (it saves at its end only), and
 * while the file is not known, a position moves as soon as the broker took the message. */
bool mi_save_gate_waits(const struct mi_save_gate *g);

/* The broker began with nothing: it has no persistence, or no mosquitto.db was there. False when not known.
 */
bool mi_save_gate_empty_store(const struct mi_save_gate *g);

/* Looks at most once a second; true when it looked, and then *saved says whether the file was written since
 * the look before: what the caller captured then is safe, and what is delivered now may be captured anew. */
bool mi_save_gate_look(struct mi_save_gate *g, uint64_t now_ns, bool *saved);
/* When the next look is due. */
uint64_t mi_save_gate_due(const struct mi_save_gate *g);

/* Was the file written, or removed, since the look before? */
bool mi_save_gate_changed(const struct mi_save_gate *g);

/* At the end, when the broker will not run again: did it save after its last TICK, which was at
 * last_tick_us of the wall clock? True also where there is nothing to wait for. Main thread, after the bridge
 * thread has ended. */
bool mi_save_gate_last(const struct mi_save_gate *g, uint64_t last_tick_us);

#endif
