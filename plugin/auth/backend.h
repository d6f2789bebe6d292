/*
 * backend: the interface of whoever knows users: Iggy, PostgreSQL, a third is one file.
 *
 * A back end is asked from the main thread and answers from its own (the bridge thread for Iggy, a worker for
 * a database) through the function it was given. It never blocks its caller.
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

/* What a back end knows of a user's topic rights; made by it, freed by it, immutable, any thread. */
struct mi_rights;

struct mi_backend_functions {
    const char *name; /* "iggy", "postgresql" */
    /* Main thread. Starts a check; the spans are copied, the copy of the password is wiped after use. false:
     * too many under way or memory is out. */
    bool (*check)(void *self, uint64_t ticket, struct mi_span username, struct mi_span password);
    /* Any thread: may it be reached, as far as is known now? */
    bool (*reachable)(void *self);
    void (*free)(void *self);
};

struct mi_backend {
    const struct mi_backend_functions *f;
    void *self;
};

/* How a back end answers; any thread, once per ticket. rights may be NULL; taken over. */
struct mi_backend_sink {
    void (*answer)(void *context, uint64_t ticket, enum mi_backend_answer answer, struct mi_rights *rights);
    void *context;
};

#endif
