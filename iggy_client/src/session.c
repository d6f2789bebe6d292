#include "session.h"

#include "identity.h"
#include "json_reader.h"
#include "names.h"
#include "result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAUSE_MS 1000u /* after a failed login */
#define RENEW_BEFORE_NS \
    (60 * MI_NS_PER_S)     /* a token is renewed that long before its end, or a tenth of its life */
#define SHORTEST_LIFE_S 60 /* with clocks that disagree a token looks expired from the start */
#define LONGEST_LIFE_S 31536000
#define MAX_ANSWER 262144 /* a user's permissions are the longest of these answers */

/* What is being asked. Each step names the next ones. */
enum step {
    STEP_NONE,
    STEP_LOGIN,       /* user and password -> STEP_ME, or ready when the version is known */
    STEP_ME,          /* -> ready, STEP_TOKEN_LOGIN (token on an old server), STEP_OLD_ROUTE */
    STEP_TOKEN_LOGIN, /* token for a JWT -> STEP_OLD_ROUTE, or ready when the version is known */
    STEP_OLD_ROUTE,   /* -> ready, or the server is too old */
};

struct session {
    struct transport *transport;
    const struct mi_clock *clock;
    struct session_events events;
    char *username, *password, *token;

    enum step step;
    struct exchange *exchange; /* of step */
    struct mi_buf body;        /* of exchange */
    bool restart;              /* credentials changed or reset: what comes back is not for us any more */
    bool new_connection;       /* since the first step */

    bool valid;
    char *bearer;
    uint64_t generation;
    uint32_t user;                       /* id, from a login; 0 without one */
    uint64_t renew_at_ns, expires_at_ns; /* monotonic; UINT64_MAX: never */
    size_t url;                          /* the base URL that all of this is about */
    bool probed;                         /* server is known for url */
    enum iggy_server server;

    struct iggy_result failure;
    uint64_t paused_until_ns;
};

static bool begin(struct session *s);
static bool ask(struct session *s, enum step step);
static void answered(void *arg, struct answer *answer);
static void login_answered(struct session *s, struct answer *answer, struct iggy_result *result);
static void me_answered(struct session *s, struct answer *answer, struct iggy_result *result);
static void old_route_answered(struct session *s, struct answer *answer, struct iggy_result *result);
static void settle(struct session *s);
static void fail(struct session *s, const struct iggy_result *result);
static void log_line(const struct session *s, const char *line);

/* ---- life
 * ------------------------------------------------------------------------------------------------------ */

struct session *session_new(struct transport *transport, const struct mi_clock *clock,
                            const struct session_events *events)
{
    struct session *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->transport = transport;
    s->clock = clock;
    s->events = *events;
    mi_buf_init(&s->body, 65536);
    return s;
}

static void free_secret(char *secret)
{
    if (secret)
        explicit_bzero(secret, strlen(secret));
    free(secret);
}

void session_free(struct session *s)
{
    if (!s)
        return;
    if (s->exchange)
        transport_stop(s->transport, s->exchange);
    if (s->body.data)
        explicit_bzero(s->body.data, s->body.cap);
    mi_buf_fini(&s->body);
    free_secret(s->bearer);
    free(s->username);
    free_secret(s->password);
    free_secret(s->token);
    free(s);
}

static bool copy(char **to, const char *from)
{
    *to = from ? strdup(from) : NULL;
    return !from || *to;
}

bool session_set_credentials(struct session *s, const char *username, const char *password, const char *token)
{
    char *u = NULL, *p = NULL, *t = NULL;
    if (!copy(&u, username) || !copy(&p, password) || !copy(&t, token)) {
        free(u);
        free_secret(p);
        free_secret(t);
        return false;
    }
    free(s->username);
    free_secret(s->password);
    free_secret(s->token);
    s->username = u;
    s->password = p;
    s->token = t;
    session_reset(s);
    return true;
}

void session_reset(struct session *s)
{
    s->valid = false;
    s->probed = false;
    s->paused_until_ns = 0;
    s->restart = s->exchange != NULL;
}

/* ---- use
 * ---------------------------------------------------------------------------------------------------------
 */

enum session_state session_use(struct session *s)
{
    if (s->exchange)
        return SESSION_BUSY;
    uint64_t now = mi_now_ns(s->clock);
    if (now < s->paused_until_ns)
        return SESSION_FAILED;
    if (s->url != transport_url(s->transport)) {
        s->url = transport_url(s->transport);
        s->valid = false;
        s->probed = false;
    }
    if (s->valid && now < s->renew_at_ns)
        return SESSION_READY;
    if (!s->token && !s->username) {
        result_set(&s->failure, IGGY_LOCAL, IGGY_RETRY_LATER, "neither a user nor a token is given for %s",
                   transport_url_text(s->transport, s->url));
        return SESSION_FAILED;
    }
    s->new_connection = false;
    if (!begin(s)) {
        result_set(&s->failure, IGGY_LOCAL, IGGY_RETRY_LATER, "out of memory");
        return SESSION_FAILED;
    }
    return s->exchange ? SESSION_BUSY : SESSION_READY;
}

static bool set_bearer(struct session *s, struct mi_span token, uint64_t expires_at_ns, uint64_t renew_at_ns)
{
    char *bearer = strndup((const char *)token.data, token.len);
    if (!bearer)
        return false;
    free_secret(s->bearer);
    s->bearer = bearer;
    s->generation++;
    s->expires_at_ns = expires_at_ns;
    s->renew_at_ns = renew_at_ns;
    return true;
}

/* The first step that is needed. */
static bool begin(struct session *s)
{
    s->valid = false;
    if (!s->token)
        return ask(s, STEP_LOGIN);
    if (s->probed && s->server == IGGY_SERVER_0_8)
        return ask(s, STEP_TOKEN_LOGIN);
    return set_bearer(s, mi_span_of(s->token), UINT64_MAX, UINT64_MAX) && ask(s, STEP_ME);
}

const char *session_bearer(const struct session *s)
{
    return s->bearer;
}

uint64_t session_generation(const struct session *s)
{
    return s->generation;
}

bool session_new_connection(const struct session *s)
{
    return s->new_connection;
}

enum iggy_server session_server(const struct session *s)
{
    return s->server;
}

uint32_t session_user(const struct session *s)
{
    return s->user;
}

struct iggy_result session_failure(const struct session *s)
{
    struct iggy_result failure = s->failure;
    uint64_t now = mi_now_ns(s->clock);
    if (now < s->paused_until_ns)
        failure.retry_after_ms = (uint32_t)((s->paused_until_ns - now) / MI_NS_PER_MS) + 1;
    return failure;
}

bool session_refused(struct session *s, uint64_t generation)
{
    if (generation != s->generation)
        return true; /* somebody else noticed first, and for the same reason */
    bool alive = mi_now_ns(s->clock) < s->expires_at_ns;
    if (s->valid)
        log_line(s,
                 alive ? "the server refuses a token that has not expired: it was restarted; logging in again"
                       : "the token has expired; logging in again");
    s->valid = false;
    s->probed = false; /* it may have been restarted as another version */
    return alive;
}

void session_pause(struct session *s, const struct iggy_result *why)
{
    s->valid = false;
    s->failure = *why;
    s->failure.kind = IGGY_LOGIN;
    s->failure.effect = IGGY_EFFECT_NONE;
    s->failure.retry = IGGY_RETRY_LATER;
    uint32_t pause_ms = why->retry_after_ms > PAUSE_MS ? why->retry_after_ms : PAUSE_MS;
    s->paused_until_ns = mi_now_ns(s->clock) + pause_ms * MI_NS_PER_MS;
}

/* ---- asking
 * ------------------------------------------------------------------------------------------------------ */

static const char *path_of(enum step step)
{
    switch (step) {
    case STEP_LOGIN:
        return IDENTITY_LOGIN_PATH;
    case STEP_ME:
        return "/users/me";
    case STEP_TOKEN_LOGIN:
        return IDENTITY_TOKEN_PATH;
    case STEP_OLD_ROUTE:
        return "/streams/0/topics/0/partitions/0";
    case STEP_NONE:
        break;
    }
    return "/";
}

static bool ask(struct session *s, enum step step)
{
    bool login = step == STEP_LOGIN || step == STEP_TOKEN_LOGIN;
    mi_buf_reset(&s->body);
    if (step == STEP_LOGIN)
        identity_write_login(&s->body, names_span(s->username), names_span(s->password));
    if (step == STEP_TOKEN_LOGIN)
        identity_write_token(&s->body, names_span(s->token));
    if (s->body.failed)
        return false;
    struct exchange_request request = {
        .method = login ? "POST" : "GET",
        .path = path_of(step),
        .body = mi_buf_span(&s->body),
        .bearer = login ? NULL : s->bearer,
        .max_answer = MAX_ANSWER,
        .write = false,
    };
    s->step = step;
    s->exchange = transport_start(s->transport, &request, answered, s);
    return s->exchange != NULL;
}

static void answered(void *arg, struct answer *answer)
{
    struct session *s = arg;
    s->exchange = NULL;
    s->new_connection |= answer->new_connection;
    if (s->restart) {
        s->restart = false;
        s->events.settled(s->events.context, NULL); /* the waiting requests ask again */
        return;
    }
    bool empty_401 = answer->facts.status == 401 && answer->len == 0;
    struct iggy_result result;
    char label[80];
    snprintf(label, sizeof label, "login (%s)", path_of(s->step));
    result_of_answer(&result, answer, label, transport_url_text(s->transport, answer->url), true);
    if (result.http_status == 503 && result.code == IGGY_CODE_NOT_ACCEPTED)
        transport_leave_url(s->transport, answer->url);
    if (s->step == STEP_ME && s->token && empty_401) {
        if (!ask(s, STEP_TOKEN_LOGIN))
            fail(s, &result);
    } else if (s->step == STEP_ME) {
        me_answered(s, answer, &result);
    } else if (s->step == STEP_OLD_ROUTE) {
        old_route_answered(s, answer, &result);
    } else {
        login_answered(s, answer, &result);
    }
}

/* The token's end on our monotonic clock. The server's wall clock and ours may disagree. */
static bool keep_token(struct session *s, struct mi_span token, uint64_t expiry_s)
{
    uint64_t wall_s = mi_wall_us(s->clock) / 1000000;
    uint64_t life_s = expiry_s > wall_s ? expiry_s - wall_s : 0;
    if (life_s < SHORTEST_LIFE_S)
        life_s = SHORTEST_LIFE_S;
    if (life_s > LONGEST_LIFE_S)
        life_s = LONGEST_LIFE_S;
    uint64_t life_ns = life_s * MI_NS_PER_S, now = mi_now_ns(s->clock);
    uint64_t margin = life_ns / 10 < RENEW_BEFORE_NS ? life_ns / 10 : RENEW_BEFORE_NS;
    return set_bearer(s, token, now + life_ns, now + life_ns - margin);
}

static void login_answered(struct session *s, struct answer *answer, struct iggy_result *result)
{
    struct identity identity = {0};
    if (result->kind == IGGY_OK && !identity_read(answer, &identity))
        result_garbled(result, false);
    if (result->kind != IGGY_OK) {
        fail(s, result);
        return;
    }
    s->user = identity.user;
    bool ok = keep_token(s, identity.token, identity.expiry_s);
    if (ok && s->probed)
        settle(s);
    else if (!ok || !ask(s, s->step == STEP_TOKEN_LOGIN ? STEP_OLD_ROUTE : STEP_ME))
        fail(s, result);
}

/* Is this the answer of 0.8 for a user whose name is "me"? 0.9 sends "options" with every user, and the
 * caller here. */
static bool is_user_called_me(struct answer *answer, bool *readable)
{
    struct json j = json_start(answer->body, answer->len);
    struct mi_span key, name = {0};
    bool options = false;
    for (bool more = json_object(&j); more && json_member(&j, &key);) {
        options |= json_key_is(key, "options");
        if (json_key_is(key, "username"))
            json_string(&j, &name);
        else
            json_skip(&j);
    }
    *readable = json_end(&j) && name.len > 0;
    return json_key_is(name, "me") && !options;
}

static void me_answered(struct session *s, struct answer *answer, struct iggy_result *result)
{
    bool old = result->http_status == 404, readable = true;
    if (result->kind == IGGY_OK)
        old = is_user_called_me(answer, &readable);
    if (!readable)
        result_garbled(result, false);
    if (old) {
        if (!ask(s, STEP_OLD_ROUTE))
            fail(s, result);
    } else if (result->kind != IGGY_OK) {
        fail(s, result);
    } else {
        s->server = IGGY_SERVER_0_9;
        settle(s);
    }
}

static void old_route_answered(struct session *s, struct answer *answer, struct iggy_result *result)
{
    if (result->http_status == 405) {
        s->server = IGGY_SERVER_0_8;
        settle(s);
    } else if (result->http_status == 404) {
        result->kind = IGGY_TOO_OLD;
        result->retry = IGGY_RETRY_LATER;
        snprintf(result->text, sizeof result->text,
                 "the Iggy server at %.100s is older than 0.8: 0.8 or newer is needed",
                 transport_url_text(s->transport, answer->url));
        fail(s, result);
    } else {
        fail(s, result);
    }
}

/* ---- the end of a login
 * ------------------------------------------------------------------------------------------- */

static void settle(struct session *s)
{
    bool first = !s->probed;
    s->step = STEP_NONE;
    s->valid = true;
    s->probed = true;
    if (first) {
        char line[200];
        snprintf(line, sizeof line, "logged in at %.100s, an Iggy server %s",
                 transport_url_text(s->transport, s->url),
                 s->server == IGGY_SERVER_0_8 ? "0.8" : "0.9 or newer");
        log_line(s, line);
    }
    s->events.settled(s->events.context, NULL);
}

static void fail(struct session *s, const struct iggy_result *result)
{
    s->step = STEP_NONE;
    session_pause(s, result);
    /* Another base URL may be tried at once, and a refused connection costs a server nothing. */
    if (result->kind == IGGY_CONNECT || result->kind == IGGY_TOO_OLD)
        s->failure.kind = result->kind;
    if (result->kind == IGGY_CONNECT)
        s->paused_until_ns = 0;
    if (result->kind == IGGY_OK)
        snprintf(s->failure.text, sizeof s->failure.text, "out of memory while logging in");
    if (result->kind != IGGY_CONNECT)
        log_line(s, s->failure.text);
    struct iggy_result failure = session_failure(s);
    s->events.settled(s->events.context, &failure);
}

static void log_line(const struct session *s, const char *line)
{
    if (s->events.log)
        s->events.log(s->events.context, line);
}
