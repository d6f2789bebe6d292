/*
 * backend: the interface of whoever knows users: Iggy, PostgreSQL, a third is one file.
 *
 * A back end is asked from the main thread and answers from its own (the bridge thread for Iggy, a worker for
 * a database) through the sink it was given. It never blocks its caller.
 */
#ifndef MI_AUTH_BACKEND_H
#define MI_AUTH_BACKEND_H

#include "base/bytes.h"
#include "base/error.h"

enum mi_backend_answer {
    MI_BACKEND_YES,
    MI_BACKEND_NO,         /* the user is unknown, or not with this password, or disabled */
    MI_BACKEND_UNAVAILABLE /* could not be asked: never a denial, never cached */
};

struct mi_backend_reply {
    enum mi_backend_answer answer;
    const char *owner; /* with YES, where no user name was given: whose token it is; else "". Copied */
};

struct mi_backend_functions {
    const char *name; /* "iggy", "postgresql" */
    /* Main thread: may anybody have such a name and such a password? Where not, it is refused without asking.
     * An empty user name stands for "whoever this token belongs to". */
    bool (*possible)(struct mi_span username, struct mi_span password);
    /* Main thread. Starts a check; the spans are copied, the copy of the password is wiped after use. false:
     * too many under way, memory is out, or it is known to be away (one check a second goes through then, to
     * find out). */
    bool (*check)(void *self, uint64_t ticket, struct mi_span username, struct mi_span password);
    /* Main thread. Asks for a user's topic rights, where it knows any (else NULL): told through the function
     * that the back end was given for that. false: not now. */
    bool (*rights)(void *self, struct mi_span username);
    /* Any thread: is it there, as far as is known now? */
    bool (*reachable)(void *self);
};

struct mi_backend {
    const struct mi_backend_functions *f;
    void *self;
};

/* How a back end answers; any thread, exactly once per ticket. */
struct mi_backend_sink {
    void (*answer)(void *context, uint64_t ticket, const struct mi_backend_reply *reply);
    void *context;
};

#endif
