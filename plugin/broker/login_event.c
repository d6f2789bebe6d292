#include "broker/login_event.h"

#include <stdlib.h>
#include <string.h>

#include "auth/backend_module.h"
#include "auth/iggy_backend.h"
#include "auth/wait_budget.h"
#include "broker/client_events.h"
#include "broker/via.h"

enum { MAX_PENDING = 1024, LOG_S = 10 };

/* A delayed client. */
struct pending {
    uint64_t ticket;                      /* 0: unused */
    char *client_id, *username, *address; /* username and address may be NULL */
};

struct mi_login_events {
    struct mi_login *login;
    struct mi_loaded_module *module; /* of the database; NULL: Iggy knows the users */
    void *database;
    struct mi_wait_budget budget;
    struct pending pending[MAX_PENDING];
    size_t used; /* places from there on were never used */
    bool registered;
    bool reloading; /* 2.0: until the next TICK the broker asks for clients that are connected */
    /* while mi_compat's complete_basic_auth runs */
    const char *completing, *owner;
    struct mi_log_limit limited;
};

static int decide(struct mi_plugin *p, const struct mosquitto_evt_basic_auth *e);

static void forget(struct pending *q)
{
    free(q->client_id);
    free(q->username);
    free(q->address);
    *q = (struct pending){0};
}

static int on_basic_auth(int event, void *data, void *userdata)
{
    (void)event;
    return decide(userdata, data);
}

/* ---- life ---- */

static struct mi_login_rules rules_of(const struct mi_auth_config *a)
{
    return (struct mi_login_rules){
        .cache_age_ns = a->cache_age_ns,
        .refused_age_ns = a->refused_age_ns,
        .stale_age_ns = a->stale_age_ns,
        .on_unavailable = a->on_unavailable,
        .refused_goes_next = a->otherwise == MI_OTHERWISE_NEXT,
        .tries_per_user = a->rate_per_user,
        .tries_per_address = a->rate_per_address,
    };
}

static void wake_main(void *context)
{
    mi_wakeup_call(context);
}

static int use_iggy(struct mi_plugin *p)
{
    struct mi_iggy_backend *iggy = mi_bridge_logins(p->bridge);
    mi_login_set_backend(p->logins->login, mi_iggy_backend_interface(iggy));
    mi_iggy_backend_set_sink(iggy, mi_login_sink(p->logins->login));
    return 0;
}

static bool ask_rights(void *context, struct mi_span username)
{
    const struct mi_plugin *p = context;
    const struct mi_login_events *l = p->logins;
    return mi_loaded_module_of(l->module)->functions->rights(l->database, username);
}

static void tell_rights(void *context, struct mi_span username, const char *text)
{
    struct mi_plugin *p = context;
    mi_user_rules_tell(p->user_rules, username, text);
    mi_wakeup_call(p->wakeup);
}

static int make_user_rules(struct mi_plugin *p, struct mi_error *err)
{
    struct mi_user_rules_options options = {
        .max_users = p->config->auth.cache_size, /* who is remembered as logged in is known here, too */
        .refresh_ns = p->config->auth.refresh_ns,
        .clock = &mi_clock_system,
        .log = p->log,
        .ask = ask_rights,
        .context = p,
    };
    p->user_rules = mi_user_rules_new(&options);
    return p->user_rules ? 0 : mi_error_set(err, "out of memory");
}

static int use_database(struct mi_plugin *p, struct mi_error *err)
{
    struct mi_login_events *l = p->logins;
    bool rights = p->config->auth.authorize == MI_AUTHORIZE_BY_POSTGRESQL;
    if (rights && make_user_rules(p, err) != 0)
        return -1;
    struct mi_backend_module_options options = {
        .connection = p->config->auth.connection,
        .timeout_ns = p->config->auth.database_timeout_ns,
        .log = p->log,
        .sink = mi_login_sink(l->login),
        .rights = rights ? tell_rights : NULL,
        .rights_context = p,
    };
    l->module = mi_loaded_module_open("mosquitto_iggy_postgresql.so", err);
    if (!l->module)
        return -1;
    const struct mi_backend_module *module = mi_loaded_module_of(l->module);
    l->database = module->open(&options, err);
    if (!l->database)
        return -1;
    mi_login_set_backend(l->login, (struct mi_backend){module->functions, l->database});
    return 0;
}

int mi_login_event_make(struct mi_plugin *p, struct mi_error *err)
{
    if (p->config->auth.login == MI_LOGIN_FROM_NOBODY)
        return 0;
    p->logins = calloc(1, sizeof *p->logins);
    if (!p->logins)
        return mi_error_set(err, "out of memory");
    struct mi_login_options options = {
        .rules = rules_of(&p->config->auth),
        .cache_entries = p->config->auth.cache_size,
        .max_pending = MAX_PENDING,
        .metrics = p->metrics,
        .clock = &mi_clock_system,
        .wake_main = wake_main,
        .context = p->wakeup,
    };
    p->logins->login = mi_login_new(&options);
    if (!p->logins->login)
        return mi_error_set(err, "out of memory");
    return p->config->auth.login == MI_LOGIN_FROM_IGGY ? use_iggy(p) : use_database(p, err);
}

void mi_login_event_free(struct mi_plugin *p)
{
    if (!p->logins)
        return;
    for (size_t i = 0; i < p->logins->used; i++)
        forget(&p->logins->pending[i]);
    if (p->logins->database)
        mi_loaded_module_of(p->logins->module)->close(p->logins->database);
    mi_loaded_module_close(p->logins->module);
    mi_user_rules_free(p->user_rules);
    p->user_rules = NULL;
    mi_login_free(p->logins->login);
    free(p->logins);
    p->logins = NULL;
}

int mi_login_event_register(struct mi_plugin *p)
{
    if (!p->logins)
        return MOSQ_ERR_SUCCESS;
    int result = mosquitto_callback_register(p->id, MOSQ_EVT_BASIC_AUTH, on_basic_auth, NULL, p);
    p->logins->registered = result == MOSQ_ERR_SUCCESS;
    if (!p->logins->registered)
        mi_log_line(p->log, MI_LOG_ERROR, "the broker does not take the callback for logins (error %d)",
                    result);
    return result;
}

void mi_login_event_unregister(struct mi_plugin *p)
{
    if (p->logins && p->logins->registered)
        mosquitto_callback_unregister(p->id, MOSQ_EVT_BASIC_AUTH, on_basic_auth, NULL);
}

void mi_login_event_reloading(struct mi_plugin *p)
{
    if (p->logins)
        p->logins->reloading = !p->compat.v2_1;
}

void mi_login_event_follow_config(struct mi_plugin *p)
{
    struct mi_login_rules rules = rules_of(&p->config->auth);
    if (!p->logins)
        return;
    mi_login_set_rules(p->logins->login, &rules);
    if (p->user_rules)
        mi_user_rules_set_refresh(p->user_rules, p->config->auth.refresh_ns);
    if (p->logins->database && p->config->auth.connection)
        mi_loaded_module_of(p->logins->module)
            ->set_connection(p->logins->database, p->config->auth.connection);
}

/* ---- a CONNECT ---- */

int mi_login_code(enum mi_login_answer answer, bool v2_1, int protocol_version)
{
    enum { SERVER_UNAVAILABLE = 136, CONNECTION_RATE_EXCEEDED = 159 }; /* MOSQ_ERR_ of the 2.1 headers */
    bool reasons = v2_1 && protocol_version == 5;
    switch (answer) {
    case MI_LOGIN_ALLOWED:
        return MOSQ_ERR_SUCCESS;
    case MI_LOGIN_REFUSED:
        return MOSQ_ERR_AUTH;
    case MI_LOGIN_LIMITED:
        return reasons ? CONNECTION_RATE_EXCEEDED : MOSQ_ERR_AUTH;
    case MI_LOGIN_NEXT:
        return MOSQ_ERR_PLUGIN_DEFER;
    case MI_LOGIN_UNAVAILABLE:
    case MI_LOGIN_LATER:
        break;
    }
    return reasons ? SERVER_UNAVAILABLE : MOSQ_ERR_UNKNOWN;
}

/* Does the broker ask for a client that is connected already? */
static bool is_again(const struct mi_plugin *p, const struct mosquitto *client, const char *id)
{
    if (p->compat.client_of_id)
        return id && p->compat.client_of_id(id) == client;
    return p->logins->reloading;
}

static bool can_delay(const struct mi_plugin *p, const struct mosquitto_evt_basic_auth *e, const char *id)
{
    bool named = e->username && *e->username;
    return p->compat.complete_basic_auth && id && p->config->auth.otherwise == MI_OTHERWISE_DENY &&
           (named || mosquitto_client_clean_session(e->client));
}

/* The client's place, of an earlier CONNECT or a new one; NULL: out of memory or too many. */
static struct pending *place_of(struct mi_login_events *l, const char *id)
{
    struct pending *unused = NULL;
    for (size_t i = 0; i < l->used; i++) {
        struct pending *q = &l->pending[i];
        if (q->ticket && strcmp(q->client_id, id) == 0)
            return q;
        if (!q->ticket)
            unused = q;
    }
    if (!unused && l->used < MAX_PENDING)
        unused = &l->pending[l->used++];
    if (!unused)
        return NULL;
    forget(unused);
    unused->client_id = strdup(id);
    return unused->client_id ? unused : NULL;
}

static void keep_text(char **kept, const char *text)
{
    free(*kept);
    *kept = text ? strdup(text) : NULL;
}

static bool delay(struct mi_plugin *p, const struct mosquitto_evt_basic_auth *e, const char *id,
                  uint64_t ticket)
{
    struct pending *q = place_of(p->logins, id);
    if (!q)
        return false;
    q->ticket = ticket;
    if (p->config->events) { /* for the event of a refusal */
        keep_text(&q->username, e->username);
        keep_text(&q->address, mosquitto_client_address(e->client));
    }
    return true;
}

static void tell_refused(struct mi_plugin *p, enum mi_login_answer answer, struct mi_refused_login *login)
{
    switch (answer) {
    case MI_LOGIN_REFUSED:
        login->why = "credentials";
        break;
    case MI_LOGIN_LIMITED:
        login->why = "limited";
        break;
    case MI_LOGIN_UNAVAILABLE:
    case MI_LOGIN_LATER:
        login->why = "unavailable";
        break;
    default:
        return;
    }
    mi_client_events_refused(p, login);
}

/* Every client of the broker waits meanwhile. */
static void wait_for(struct mi_plugin *p, struct mi_login_outcome *outcome)
{
    struct mi_login_events *l = p->logins;
    uint64_t start = mi_now_ns(&mi_clock_system), longest = p->config->auth.login_wait_ns;
    uint64_t may =
        p->started && mi_login_reachable(l->login) ? mi_wait_budget_now(&l->budget, longest, start) : 0;
    mi_login_wait(l->login, outcome->ticket, may, outcome);
    if (may)
        mi_wait_budget_spend(&l->budget, mi_now_ns(&mi_clock_system) - start);
}

static void note(struct mi_plugin *p, const struct mi_login_outcome *outcome, const char *address)
{
    if (outcome->answer == MI_LOGIN_LIMITED)
        mi_log_limited(p->log, &p->logins->limited, mi_now_ns(&mi_clock_system), LOG_S * MI_NS_PER_S,
                       MI_LOG_WARNING,
                       "logins: too many wrong tries for one user or from one address (now: %s)",
                       address ? address : "unknown");
}

static int decide(struct mi_plugin *p, const struct mosquitto_evt_basic_auth *e)
{
    struct mi_login_outcome outcome;
    const char *id = mosquitto_client_id(e->client), *address = mosquitto_client_address(e->client);
    struct mi_span username = mi_span_of(e->username), password = mi_span_of(e->password);
    if (username.len == 0 && password.len == 0)
        return MOSQ_ERR_PLUGIN_DEFER;
    if (mi_via_knows(p->via, e->username, e->password))
        return MOSQ_ERR_SUCCESS;
    if (is_again(p, e->client, id))
        mi_login_again(p->logins->login, username, password, &outcome);
    else
        mi_login_ask(p->logins->login, username, password, mi_span_of(address), &outcome);
    if (outcome.answer == MI_LOGIN_LATER) {
        if (can_delay(p, e, id) && delay(p, e, id, outcome.ticket))
            return MI_ERR_AUTH_DELAYED;
        wait_for(p, &outcome);
    }
    note(p, &outcome, address);
    tell_refused(p, outcome.answer,
                 &(struct mi_refused_login){.client = e->client, .client_id = id, .username = e->username});
    if (*outcome.owner && mosquitto_set_username(e->client, outcome.owner) != MOSQ_ERR_SUCCESS)
        outcome.answer = MI_LOGIN_UNAVAILABLE;
    return mi_login_code(outcome.answer, p->compat.v2_1, mosquitto_client_protocol_version(e->client));
}

/* ---- later ---- */

static void complete(struct mi_plugin *p, const struct mi_login_outcome *outcome)
{
    struct mi_login_events *l = p->logins;
    for (size_t i = 0; i < l->used; i++) {
        struct pending *q = &l->pending[i];
        if (q->ticket != outcome->ticket)
            continue;
        struct pending done = *q;
        *q = (struct pending){0};
        l->completing = done.client_id;
        l->owner = outcome->owner;
        p->compat.complete_basic_auth(done.client_id,
                                      outcome->answer == MI_LOGIN_ALLOWED ? MOSQ_ERR_SUCCESS : MOSQ_ERR_AUTH);
        l->completing = l->owner = NULL;
        tell_refused(p, outcome->answer,
                     &(struct mi_refused_login){
                         .client_id = done.client_id, .username = done.username, .address = done.address});
        forget(&done);
        return;
    }
}

void mi_login_event_tick(struct mi_plugin *p)
{
    struct mi_login_outcome outcome;
    if (!p->logins)
        return;
    p->logins->reloading = false;
    while (mi_login_take(p->logins->login, &outcome))
        complete(p, &outcome);
}

bool mi_login_event_waiting(const struct mi_plugin *p)
{
    return p->logins && mi_login_has_answers(p->logins->login);
}

void mi_login_event_connected(struct mi_plugin *p, struct mosquitto *client)
{
    const struct mi_login_events *l = p->logins;
    const char *id = mosquitto_client_id(client);
    if (l && l->completing && *l->owner && id && strcmp(id, l->completing) == 0)
        mosquitto_set_username(client, l->owner);
}
