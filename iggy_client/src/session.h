/*
 * session: who the client is to the server that it talks to now: the bearer token, and the server's version.
 *
 * One login at a time. A failed login is remembered for a moment (or as long as the server asked), in which
 * nobody tries again, so that many requests never become many logins. A session belongs to one base URL.
 *
 * The version is found by probes that change nothing and need no right (API reference 4, measured on 0.8 and
 * 0.9): GET /users/me             200: 0.9 or newer. 404: older (200 there too when a user is called "me").
 *                             With a personal access token as bearer, 401 without a body: older.
 *   GET /streams/0/topics/0/partitions/0
 *                             405: 0.8, which knows the path for DELETE only. 404: older than 0.8, which has
 * no such path. Asked only when the first probe said "older than 0.9".
 */
#ifndef IGGY_SESSION_H
#define IGGY_SESSION_H

#include "base/clock.h"

#include "iggy_client.h"
#include "transport.h"

struct session;

enum session_state {
    SESSION_READY,  /* session_bearer may be used */
    SESSION_BUSY,   /* a login is under way; on_settled will be called */
    SESSION_FAILED, /* session_failure says why; ask again later */
};

struct session_events {
    /* A login ended; failure is NULL when it went well. Called from transport_drive. */
    void (*settled)(void *context, const struct iggy_result *failure);
    void (*log)(void *context, const char *line);
    void *context;
};

/* NULL when memory is out. transport and clock outlive it. */
struct session *session_new(struct transport *transport, const struct mi_clock *clock,
                            const struct session_events *events);
void session_free(struct session *s);

/* Copies. False, with nothing changed, when memory is out. */
bool session_set_credentials(struct session *s, const char *username, const char *password,
                             const char *token);
/* Forgets token, version and failures. */
void session_reset(struct session *s);

/* State now; starts a login when one is needed. */
enum session_state session_use(struct session *s);
const char *session_bearer(const struct session *s);
/* Counts up with every new bearer. */
uint64_t session_generation(const struct session *s);
/* Why it failed, with what is left of the pause in retry_after_ms. */
struct iggy_result session_failure(const struct session *s);
/* The login that made this bearer opened a connection. */
bool session_new_connection(const struct session *s);
/* A request that was sent with that generation got a 401. Returns whether its token had not expired. */
bool session_refused(struct session *s, uint64_t generation);
/* A request got a 401 again with a new token: nobody tries for a moment. */
void session_pause(struct session *s, const struct iggy_result *why);

enum iggy_server session_server(const struct session *s);
/* Numeric id of the user, as the login said; not known (0) where no login was needed. */
uint32_t session_user(const struct session *s);

#endif
