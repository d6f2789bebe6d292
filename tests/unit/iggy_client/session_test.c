/* session: one login at a time, versions, renewal before the end, pauses after failures; with a clock of the
 * test's. */
#include "session.h"

#include "stub.h"

#include "support/process.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t fake_now_ns, fake_wall_us;

static uint64_t now(void *context)
{
    (void)context;
    return fake_now_ns;
}

static uint64_t wall(void *context)
{
    (void)context;
    return fake_wall_us;
}

static const struct mi_clock fake_clock = {now, wall, NULL, NULL};

struct fixture {
    struct stub *stub;
    struct transport *transport;
    struct session *session;
    int settled, failed;
    struct iggy_result failure; /* the last */
};

static void on_settled(void *context, const struct iggy_result *failure)
{
    struct fixture *f = context;
    f->settled++;
    if (failure) {
        f->failed++;
        f->failure = *failure;
    }
}

static void set_up(struct fixture *f, const struct stub_rule *rules, const char *user, const char *password,
                   const char *token)
{
    memset(f, 0, sizeof *f);
    fake_now_ns = 1000 * MI_NS_PER_S;
    fake_wall_us = 1700000000ull * 1000000;
    f->stub = stub_start(rules);
    const char *urls[] = {stub_url(f->stub)};
    struct iggy_options options = {.urls = urls, .url_count = 1};
    struct session_events events = {.settled = on_settled, .context = f};
    char error[200];
    f->transport = transport_new(&options, error, sizeof error);
    f->session = session_new(f->transport, &fake_clock, &events);
    CU_ASSERT_TRUE_FATAL(session_set_credentials(f->session, user, password, token));
}

static void tear_down(struct fixture *f)
{
    session_free(f->session);
    transport_free(f->transport);
    stub_stop(f->stub);
}

/* Uses the session until it is ready or has failed. */
static enum session_state settle(struct fixture *f)
{
    int settled = f->settled, failed = f->failed;
    enum session_state state = session_use(f->session);
    uint64_t end = mi_monotonic_ms() + 10000;
    while (f->settled == settled && state == SESSION_BUSY && mi_monotonic_ms() < end)
        transport_drive(f->transport, 100, NULL, 0);
    if (f->failed > failed)
        return SESSION_FAILED;
    return state == SESSION_BUSY ? session_use(f->session) : state;
}

static const char *login_answer(const char *token, uint64_t expiry)
{
    char body[200];
    snprintf(body, sizeof body, "{\"user_id\":7,\"access_token\":{\"token\":\"%s\",\"expiry\":%llu}}", token,
             (unsigned long long)expiry);
    return stub_json(200, body);
}

static void user_and_password_on_0_9(void)
{
    const struct stub_rule rules[] = {STUB_LOGIN, STUB_ME, {.request = NULL}};
    struct fixture f;
    set_up(&f, rules, "b\"ob", "se\\cret", NULL);
    CU_ASSERT_EQUAL(session_server(f.session), IGGY_SERVER_UNKNOWN);
    CU_ASSERT_EQUAL(settle(&f), SESSION_READY);
    CU_ASSERT_STRING_EQUAL(session_bearer(f.session), "t1");
    CU_ASSERT_EQUAL(session_server(f.session), IGGY_SERVER_0_9);
    CU_ASSERT_EQUAL(session_user(f.session), 7);
    CU_ASSERT_PTR_NOT_NULL(strstr(stub_request(f.stub, "POST /users/login", 0),
                                  "{\"username\":\"b\\\"ob\",\"password\":\"se\\\\cret\"}"));
    CU_ASSERT_PTR_NULL(strstr(stub_request(f.stub, "POST /users/login", 0), "Authorization"));
    CU_ASSERT_PTR_NOT_NULL(strstr(stub_request(f.stub, "GET /users/me", 0), "Authorization: Bearer t1\r\n"));
    tear_down(&f);
}

static void version_0_8_is_recognised(void)
{
    const struct stub_rule rules[] = {
        STUB_LOGIN,
        {.request = "GET /users/me ", .answer = stub_json(404, "{\"id\":404,\"code\":\"not_found\"}")},
        {.request = "GET /streams/0/topics/0/partitions/0 ", .answer = stub_empty(405)},
        {.request = NULL}};
    struct fixture f;
    set_up(&f, rules, "bob", "secret", NULL);
    CU_ASSERT_EQUAL(settle(&f), SESSION_READY);
    CU_ASSERT_EQUAL(session_server(f.session), IGGY_SERVER_0_8);
    tear_down(&f);
}

/* On 0.8 "me" is a name like any other. */
static void version_0_8_with_a_user_called_me(void)
{
    const struct stub_rule rules[] = {
        STUB_LOGIN,
        {.request = "GET /users/me ",
         .answer =
             stub_json(200, "{\"id\":9,\"status\":\"active\",\"username\":\"me\",\"permissions\":null}")},
        {.request = "GET /streams/0/topics/0/partitions/0 ", .answer = stub_empty(405)},
        {.request = NULL}};
    struct fixture f;
    set_up(&f, rules, "bob", "secret", NULL);
    CU_ASSERT_EQUAL(settle(&f), SESSION_READY);
    CU_ASSERT_EQUAL(session_server(f.session), IGGY_SERVER_0_8);
    tear_down(&f);
}

static void older_servers_are_refused(void)
{
    const struct stub_rule rules[] = {
        STUB_LOGIN,
        {.request = "GET /users/me ", .answer = stub_empty(404)},
        {.request = "GET /streams/0/topics/0/partitions/0 ", .answer = stub_empty(404)},
        {.request = NULL}};
    struct fixture f;
    set_up(&f, rules, "bob", "secret", NULL);
    CU_ASSERT_EQUAL(settle(&f), SESSION_FAILED);
    CU_ASSERT_EQUAL(f.failure.kind, IGGY_TOO_OLD);
    CU_ASSERT_EQUAL(f.failure.effect, IGGY_EFFECT_NONE);
    CU_ASSERT_PTR_NOT_NULL(strstr(f.failure.text, "older than 0.8"));
    tear_down(&f);
}

static void token_is_the_bearer_on_0_9(void)
{
    const struct stub_rule rules[] = {STUB_ME, {.request = NULL}};
    struct fixture f;
    set_up(&f, rules, NULL, NULL, "pat+/=");
    CU_ASSERT_EQUAL(settle(&f), SESSION_READY);
    CU_ASSERT_STRING_EQUAL(session_bearer(f.session), "pat+/=");
    CU_ASSERT_PTR_NOT_NULL(
        strstr(stub_request(f.stub, "GET /users/me", 0), "Authorization: Bearer pat+/=\r\n"));
    CU_ASSERT_EQUAL(stub_count(f.stub, "POST"), 0);
    fake_now_ns += 365 * 86400 * MI_NS_PER_S;
    CU_ASSERT_EQUAL(session_use(f.session), SESSION_READY); /* nothing to renew */
    tear_down(&f);
}

static void token_logs_in_on_0_8(void)
{
    const struct stub_rule rules[] = {
        {.request = "GET /users/me ", .answer = stub_empty(401)},
        {.request = "POST /personal-access-tokens/login ", .answer = login_answer("jwt", 4000000000)},
        {.request = "GET /streams/0/topics/0/partitions/0 ",
         .answer = stub_empty(405),
         .contains = "Bearer jwt"},
        {.request = NULL}};
    struct fixture f;
    set_up(&f, rules, NULL, NULL, "pat");
    CU_ASSERT_EQUAL(settle(&f), SESSION_READY);
    CU_ASSERT_STRING_EQUAL(session_bearer(f.session), "jwt");
    CU_ASSERT_EQUAL(session_server(f.session), IGGY_SERVER_0_8);
    CU_ASSERT_PTR_NOT_NULL(strstr(stub_request(f.stub, "POST /personal", 0), "{\"token\":\"pat\"}"));
    tear_down(&f);
}

static void wrong_token_on_0_9(void)
{
    const struct stub_rule rules[] = {
        {.request = "GET /users/me ",
         .answer = stub_json(401, "{\"id\":40,\"code\":\"unauthenticated\",\"reason\":\"pat\"}")},
        {.request = NULL}};
    struct fixture f;
    set_up(&f, rules, NULL, NULL, "pat");
    CU_ASSERT_EQUAL(settle(&f), SESSION_FAILED);
    CU_ASSERT_EQUAL(f.failure.kind, IGGY_LOGIN);
    CU_ASSERT_EQUAL(f.failure.http_status, 401);
    CU_ASSERT_EQUAL(f.failure.code, 40);
    CU_ASSERT_PTR_NULL(strstr(f.failure.text, "pat")); /* the server's words may repeat the secret */
    tear_down(&f);
}

static void renewed_before_it_expires(void)
{
    const struct stub_rule rules[] = {
        {.request = "POST /users/login ", .times = 1, .answer = login_answer("one", 1700000000 + 3600)},
        {.request = "POST /users/login ", .times = 1, .answer = login_answer("two", 1700000000 + 7200)},
        STUB_ME,
        {.request = NULL}};
    struct fixture f;
    set_up(&f, rules, "bob", "secret", NULL);
    CU_ASSERT_EQUAL(settle(&f), SESSION_READY);
    fake_now_ns += 3539 * MI_NS_PER_S;
    CU_ASSERT_EQUAL(session_use(f.session), SESSION_READY);
    CU_ASSERT_STRING_EQUAL(session_bearer(f.session), "one");
    fake_now_ns += 2 * MI_NS_PER_S; /* a minute is left */
    CU_ASSERT_EQUAL(settle(&f), SESSION_READY);
    CU_ASSERT_STRING_EQUAL(session_bearer(f.session), "two");
    CU_ASSERT_EQUAL(stub_count(f.stub, "GET /users/me"), 1); /* the version is known */
    tear_down(&f);
}

/* A server whose clock is behind ours sends tokens that look expired: they are used, and not asked for all
 * the time. */
static void clocks_that_disagree(void)
{
    const struct stub_rule rules[] = {
        {.request = "POST /users/login ", .answer = login_answer("old", 1600000000)},
        STUB_ME,
        {.request = NULL}};
    struct fixture f;
    set_up(&f, rules, "bob", "secret", NULL);
    CU_ASSERT_EQUAL(settle(&f), SESSION_READY);
    fake_now_ns += 50 * MI_NS_PER_S;
    CU_ASSERT_EQUAL(session_use(f.session), SESSION_READY);
    CU_ASSERT_EQUAL(stub_count(f.stub, "POST /users/login"), 1);
    tear_down(&f);
}

static void a_failed_login_makes_a_pause(void)
{
    const struct stub_rule rules[] = {
        {.request = "POST /users/login ",
         .times = 1,
         .answer = stub_json(400, "{\"id\":42,\"code\":\"invalid_credentials\"}")},
        STUB_LOGIN,
        STUB_ME,
        {.request = NULL}};
    struct fixture f;
    set_up(&f, rules, "bob", "wrong", NULL);
    CU_ASSERT_EQUAL(settle(&f), SESSION_FAILED);
    CU_ASSERT_EQUAL(f.failure.kind, IGGY_LOGIN);
    CU_ASSERT_EQUAL(f.failure.code, 42);
    for (int i = 0; i < 100; i++)
        CU_ASSERT_EQUAL(session_use(f.session), SESSION_FAILED);
    uint32_t left = session_failure(f.session).retry_after_ms;
    CU_ASSERT_TRUE(left > 900 && left <= 1001);
    CU_ASSERT_EQUAL(stub_count(f.stub, "POST /users/login"), 1);
    fake_now_ns += 1000 * MI_NS_PER_MS;
    CU_ASSERT_EQUAL(settle(&f), SESSION_READY);
    tear_down(&f);
}

static void the_server_says_how_long(void)
{
    const struct stub_rule rules[] = {
        {.request = "POST /users/login ",
         .times = 1,
         .answer = "HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n"},
        STUB_LOGIN,
        STUB_ME,
        {.request = NULL}};
    struct fixture f;
    set_up(&f, rules, "bob", "secret", NULL);
    CU_ASSERT_EQUAL(settle(&f), SESSION_FAILED);
    CU_ASSERT_EQUAL(f.failure.http_status, 503);
    CU_ASSERT_TRUE(f.failure.retry_after_ms >= 7000);
    fake_now_ns += 6900 * MI_NS_PER_MS;
    CU_ASSERT_EQUAL(session_use(f.session), SESSION_FAILED);
    fake_now_ns += 200 * MI_NS_PER_MS;
    CU_ASSERT_EQUAL(settle(&f), SESSION_READY);
    tear_down(&f);
}

static void answers_that_are_no_login(void)
{
    const char *const bad[] = {stub_json(200, "<html>Welcome</html>"),
                               stub_json(200, ""),
                               stub_json(200, "{\"user_id\":0}"),
                               stub_json(200, "{\"access_token\":{\"token\":\"\",\"expiry\":1}}"),
                               stub_json(200, "{\"access_token\":{\"token\":\"a\\r\\nX: y\",\"expiry\":1}}"),
                               stub_json(200, "{\"access_token\":{\"token\":\"t\",\"expiry\":1}"),
                               "garbage\r\n\r\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const struct stub_rule rules[] = {
            {.request = "POST /users/login ", .action = STUB_ANSWER_CUT, .answer = bad[i]},
            STUB_ME,
            {.request = NULL}};
        struct fixture f;
        set_up(&f, rules, "bob", "secret", NULL);
        CU_ASSERT_EQUAL(settle(&f), SESSION_FAILED);
        CU_ASSERT_EQUAL(f.failure.kind, IGGY_LOGIN);
        CU_ASSERT_EQUAL(f.failure.effect, IGGY_EFFECT_NONE);
        tear_down(&f);
    }
}

static void new_credentials_during_a_login(void)
{
    const struct stub_rule rules[] = {
        {.request = "POST /users/login ",
         .times = 1,
         .answer = login_answer("old", 4000000000),
         .delay_ms = 50},
        {.request = "POST /users/login ", .answer = login_answer("new", 4000000000)},
        STUB_ME,
        {.request = NULL}};
    struct fixture f;
    set_up(&f, rules, "bob", "secret", NULL);
    CU_ASSERT_EQUAL(session_use(f.session), SESSION_BUSY);
    CU_ASSERT_TRUE(session_set_credentials(f.session, "alice", "other", NULL));
    CU_ASSERT_EQUAL(settle(&f), SESSION_BUSY); /* the old login came back and was thrown away */
    CU_ASSERT_EQUAL(settle(&f), SESSION_READY);
    CU_ASSERT_STRING_EQUAL(session_bearer(f.session), "new");
    CU_ASSERT_PTR_NOT_NULL(strstr(stub_request(f.stub, "POST /users/login", 1), "alice"));
    tear_down(&f);
}

static void a_refused_token_is_used_no_more(void)
{
    const struct stub_rule rules[] = {
        {.request = "POST /users/login ", .times = 1, .answer = login_answer("one", 1700000000 + 3600)},
        {.request = "POST /users/login ", .answer = login_answer("two", 1700000000 + 3600)},
        STUB_ME,
        {.request = NULL}};
    struct fixture f;
    set_up(&f, rules, "bob", "secret", NULL);
    CU_ASSERT_EQUAL(settle(&f), SESSION_READY);
    uint64_t first = session_generation(f.session);
    CU_ASSERT_TRUE(session_refused(f.session, first)); /* it had not expired: the server was restarted */
    CU_ASSERT_EQUAL(settle(&f), SESSION_READY);
    CU_ASSERT_STRING_EQUAL(session_bearer(f.session), "two");
    /* What was sent with the old one and comes late is no reason for a third login. */
    CU_ASSERT_TRUE(session_refused(f.session, first));
    CU_ASSERT_EQUAL(session_use(f.session), SESSION_READY);
    fake_now_ns += 3601 * MI_NS_PER_S;
    CU_ASSERT_FALSE(session_refused(f.session, session_generation(f.session))); /* that one had */
    tear_down(&f);
}

static CU_TestInfo tests[] = {{"user_and_password_on_0_9", user_and_password_on_0_9},
                              {"version_0_8_is_recognised", version_0_8_is_recognised},
                              {"version_0_8_with_a_user_called_me", version_0_8_with_a_user_called_me},
                              {"older_servers_are_refused", older_servers_are_refused},
                              {"token_is_the_bearer_on_0_9", token_is_the_bearer_on_0_9},
                              {"token_logs_in_on_0_8", token_logs_in_on_0_8},
                              {"wrong_token_on_0_9", wrong_token_on_0_9},
                              {"renewed_before_it_expires", renewed_before_it_expires},
                              {"clocks_that_disagree", clocks_that_disagree},
                              {"a_failed_login_makes_a_pause", a_failed_login_makes_a_pause},
                              {"the_server_says_how_long", the_server_says_how_long},
                              {"answers_that_are_no_login", answers_that_are_no_login},
                              {"new_credentials_during_a_login", new_credentials_during_a_login},
                              {"a_refused_token_is_used_no_more", a_refused_token_is_used_no_more},
                              CU_TEST_INFO_NULL};
MI_SUITE_MAIN("session", tests)
