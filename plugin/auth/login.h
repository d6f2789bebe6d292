/*
 * login: who may connect (design section 10): the decision for one CONNECT from the cache, the rate limits
 * and a back end that checks off the main thread. Knows nothing of Mosquitto.
 *
 *   main thread          mi_login_ask -> at once, or later through mi_login_take
 *   worker or bridge     the back end (backend.h)
 */
#ifndef MI_LOGIN_H
#define MI_LOGIN_H

#include "auth/backend.h"
#include "base/clock.h"
#include "base/log.h"
#include "metrics/metrics.h"

enum mi_login_answer {
    MI_LOGIN_ALLOWED,
    MI_LOGIN_REFUSED,     /* wrong user or password */
    MI_LOGIN_UNAVAILABLE, /* nobody could be asked; the client may try again */
    MI_LOGIN_NEXT,        /* somebody else decides: on_unavailable: next */
    MI_LOGIN_LIMITED,     /* too many tries of this user or address */
    MI_LOGIN_LATER        /* under way: mi_login_take says */
};

struct mi_login_options {
    struct mi_backend *backend; /* borrowed */
    size_t cache_entries;
    uint64_t cache_age_ns, refused_age_ns,
        stale_age_ns; /* how long an answer counts; while nobody can be asked */
    enum { MI_AWAY_DENY, MI_AWAY_CACHED, MI_AWAY_NEXT } on_unavailable;
    uint32_t tries_per_user, tries_per_address; /* per minute that miss the cache; 0: no bound */
    uint32_t max_pending;
    struct mi_metrics *metrics;
    const struct mi_clock *clock;
    const struct mi_log *log;
};

struct mi_login;
struct mi_login *mi_login_new(const struct mi_login_options *options, struct mi_error *err);
void mi_login_free(struct mi_login *l);

/* Main thread. address may be empty. *ticket names the answer to come when it is MI_LOGIN_LATER. */
enum mi_login_answer mi_login_ask(struct mi_login *l, struct mi_span username, struct mi_span password,
                                  struct mi_span client_id, struct mi_span address, uint64_t *ticket);
/* Main thread: the next answer that came; false when there is none. One load when nothing came. */
bool mi_login_take(struct mi_login *l, uint64_t *ticket, enum mi_login_answer *answer);
/* Main thread, 2.0: waits for that answer, at most timeout_ns; MI_LOGIN_UNAVAILABLE when it did not come in
 * time (it goes into the cache all the same). */
enum mi_login_answer mi_login_wait(struct mi_login *l, uint64_t ticket, uint64_t timeout_ns);
/* Everything that is remembered is forgotten: a reload. */
void mi_login_forget(struct mi_login *l);

#endif
