/*
 * iggy_backend: Iggy as the one who knows users (backend.h). Asked from the main thread, driven on the bridge
 * thread with the bridge's own client.
 *
 * A login costs Iggy about 15 ms of the thread that serves all of its HTTP. So logins have a small share of
 * their own: two at a time, and so many a second; what comes faster waits in a bounded queue, at most five
 * seconds, and is answered "unavailable" then. A login that takes Iggy longer than five seconds is given up.
 * After one that did not go through, Iggy counts as away until one does, and one a second is let through to
 * find out.
 *
 * Both a user's password and a personal access token are taken as the password. One that looks like a token
 * is tried as a token first, which costs Iggy nothing. A token must belong to the user name that came with
 * it; with an empty one its owner's name is answered.
 */
#ifndef MI_IGGY_BACKEND_H
#define MI_IGGY_BACKEND_H

#include "auth/backend.h"
#include "base/clock.h"
#include "base/log.h"
#include "iggy_client.h"

struct mi_iggy_backend_options {
    uint32_t logins_per_second;
    const struct mi_clock *clock;
    const struct mi_log *log;           /* thread-safe */
    void (*wake_bridge)(void *context); /* something waits for mi_iggy_backend_step; any thread */
    void *context;
};

/* Told of each login that was right, with the user's own record; the client is let in when done is called,
 * once, at once or later. Bridge thread. */
typedef void (*mi_admit_fn)(void *context, const struct iggy_user *record, void (*done)(void *arg),
                            void *arg);

struct mi_iggy_backend;
/* NULL when memory is out. */
struct mi_iggy_backend *mi_iggy_backend_new(const struct mi_iggy_backend_options *options);
/* After the client was freed. What was asked and not answered stays so. */
void mi_iggy_backend_free(struct mi_iggy_backend *b);

/* Main thread, before the first check: where answers go. */
void mi_iggy_backend_set_sink(struct mi_iggy_backend *b, struct mi_backend_sink sink);
/* Before the first check; without it who is right is let in at once. */
void mi_iggy_backend_set_admit(struct mi_iggy_backend *b, mi_admit_fn admit, void *context);
struct mi_backend mi_iggy_backend_interface(struct mi_iggy_backend *b);
/* Any thread. */
void mi_iggy_backend_set_rate(struct mi_iggy_backend *b, uint32_t logins_per_second);

/* Bridge thread: starts what may be started, gives up what takes too long. Returns when it must be called
 * again, UINT64_MAX: when it is woken or a request ends. */
uint64_t mi_iggy_backend_step(struct mi_iggy_backend *b, struct iggy_client *client, uint64_t now_ns);

/* Pure: does that text have the form of a personal access token? */
bool mi_looks_like_token(struct mi_span text);

#endif
