/*
 * login: who may connect (design section 10): the decision for one CONNECT from the cache, the limits and a
 * back end that checks off the main thread. Knows nothing of Mosquitto.
 *
 *   main thread          mi_login_ask -> at once, or later through mi_login_take
 *   worker or bridge     the back end (backend.h)
 *
 * The same credentials asked for twice at a time share one check. No secret is logged or kept: what is
 * remembered is a keyed hash.
 */
#ifndef MI_LOGIN_H
#define MI_LOGIN_H

#include "auth/backend.h"
#include "auth/cache.h"
#include "base/clock.h"
#include "config/config.h"
#include "metrics/metrics.h"

enum mi_login_answer {
    MI_LOGIN_ALLOWED,
    MI_LOGIN_REFUSED,     /* wrong user or password */
    MI_LOGIN_UNAVAILABLE, /* nobody could be asked; the client may try again */
    MI_LOGIN_NEXT,        /* somebody else decides */
    MI_LOGIN_LIMITED,     /* too many wrong tries of this user or address */
    MI_LOGIN_LATER        /* under way: mi_login_take says */
};

/* What a reload may change. */
struct mi_login_rules {
    uint64_t cache_age_ns, refused_age_ns; /* how long an answer counts */
    uint64_t stale_age_ns;                 /* with MI_AWAY_CACHED: while nobody can be asked */
    enum mi_on_unavailable on_unavailable;
    bool refused_goes_next;                     /* else a refusal is final */
    uint32_t tries_per_user, tries_per_address; /* a minute (limits.h) */
};

struct mi_login_options {
    struct mi_login_rules rules;
    size_t cache_entries; /* of right logins, and as many of refused ones */
    uint32_t max_pending; /* clients that wait for an answer, at most 65535 */
    struct mi_metrics *metrics;
    const struct mi_clock *clock;
    /* An answer waits for mi_login_take; any thread. */
    void (*wake_main)(void *context);
    void *context;
};

struct mi_login_outcome {
    enum mi_login_answer answer;
    uint64_t ticket; /* names the answer to come when it is MI_LOGIN_LATER; in mi_login_take: which */
    /* With MI_LOGIN_ALLOWED, when no user name was given: the one that the client gets; else "". */
    char owner[MI_MAX_OWNER + 1];
};

struct mi_login;
/* NULL when memory is out. */
struct mi_login *mi_login_new(const struct mi_login_options *options);
/* After the back end has stopped answering. */
void mi_login_free(struct mi_login *l);
/* Before the first ask: where the back end answers to, and whom to ask (copied). */
struct mi_backend_sink mi_login_sink(struct mi_login *l);
void mi_login_set_backend(struct mi_login *l, struct mi_backend backend);

/* ---- main thread ---- */

/* username may be empty (a token alone), address too. */
void mi_login_ask(struct mi_login *l, struct mi_span username, struct mi_span password,
                  struct mi_span address, struct mi_login_outcome *outcome);
/* The next answer that came; false when there is none. One load when nothing came. */
bool mi_login_take(struct mi_login *l, struct mi_login_outcome *outcome);
/* Is there one to take? */
bool mi_login_has_answers(struct mi_login *l);
/* Mosquitto 2.0: waits for that answer, at most timeout_ns (0: not at all). What does not come in time counts
 * as if nobody could be asked; it goes into the cache when it comes. */
void mi_login_wait(struct mi_login *l, uint64_t ticket, uint64_t timeout_ns,
                   struct mi_login_outcome *outcome);
/* Is the back end there, as far as is known? Else waiting makes no sense. */
bool mi_login_reachable(struct mi_login *l);
/* A reload makes the broker look at every connected client again: allowed when these credentials were right
 * before, however long ago, else MI_LOGIN_REFUSED or MI_LOGIN_NEXT. Asks nobody. */
void mi_login_again(struct mi_login *l, struct mi_span username, struct mi_span password,
                    struct mi_login_outcome *outcome);
/* A reload: what is remembered does not count for the next CONNECT. */
void mi_login_set_rules(struct mi_login *l, const struct mi_login_rules *rules);

#endif
