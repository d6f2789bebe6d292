/* check_login: what is sent, and which answers are a refusal. */
#include "calls.h"
#include "stub.h"

#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IDENTITY(token) "{\"user_id\":9,\"access_token\":{\"token\":\"" token "\",\"expiry\":4000000000}}"
#define RECORD(status)                                                                            \
    "{\"id\":9,\"created_at\":5,\"username\":\"dora\",\"status\":\"" status "\",\"permissions\":" \
    "{\"global\":{\"read_servers\":true},\"streams\":null}}"

struct fixture {
    struct stub *stub;
    struct iggy_client *client;
    struct call call;
};

static void set_up(struct fixture *f, const struct stub_rule *rules, uint32_t timeout_ms)
{
    memset(f, 0, sizeof *f);
    f->stub = stub_start(rules);
    const char *urls[] = {stub_url(f->stub)};
    struct iggy_options options = {.urls = urls,
                                   .url_count = 1,
                                   .username = "bob",
                                   .password = "secret",
                                   .request_timeout_ms = timeout_ms};
    f->client = iggy_client_new(&options, NULL, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->client);
}

static void tear_down(struct fixture *f)
{
    call_clear(&f->call);
    iggy_client_free(f->client);
    stub_stop(f->stub);
}

static enum iggy_verdict check_password(struct fixture *f, const char *user, const char *password)
{
    call_clear(&f->call);
    CU_ASSERT_NOT_EQUAL(iggy_check_password(f->client, s(user), s(password), on_verdict, &f->call), 0);
    call_wait(f->client, &f->call);
    return f->call.verdict;
}

static enum iggy_verdict check_token(struct fixture *f, const char *token)
{
    call_clear(&f->call);
    CU_ASSERT_NOT_EQUAL(iggy_check_token(f->client, s(token), on_verdict, &f->call), 0);
    call_wait(f->client, &f->call);
    return f->call.verdict;
}

static void a_right_password_brings_the_record(void)
{
    const struct stub_rule rules[] = {
        {.request = "POST /users/login ", .answer = stub_json(200, IDENTITY("their-token"))},
        {.request = "GET /users/9 ",
         .answer = stub_json(200, RECORD("active")),
         .contains = "Authorization: Bearer their-token"},
        {.request = NULL}};
    struct fixture f;
    set_up(&f, rules, 0);
    CU_ASSERT_EQUAL(check_password(&f, "do\"ra", "pass\\word"), IGGY_VERDICT_GOOD);
    const char *sent = stub_request(f.stub, "POST /users/login ", 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(sent, "\r\n\r\n{\"username\":\"do\\\"ra\",\"password\":\"pass\\\\word\"}"));
    CU_ASSERT_PTR_NULL(strstr(sent, "Authorization"));
    CU_ASSERT_EQUAL(f.call.user.id, 9);
    CU_ASSERT_EQUAL(f.call.user.created_at, 5);
    CU_ASSERT_STRING_EQUAL(f.call.text, "dora");
    CU_ASSERT_STRING_EQUAL(f.call.permissions, "{\"global\":{\"read_servers\":true},\"streams\":null}");
    const char *record = stub_request(f.stub, "GET /users/9 ", 0);
    CU_ASSERT_PTR_NULL(strstr(record, "pass"));
    tear_down(&f);
}

static void a_token_names_its_owner(void)
{
    const struct stub_rule rules[] = {
        {.request = "POST /personal-access-tokens/login ", .answer = stub_json(200, IDENTITY("t2"))},
        {.request = "GET /users/9 ", .answer = stub_json(200, RECORD("active")), .contains = "Bearer t2"},
        {.request = NULL}};
    struct fixture f;
    set_up(&f, rules, 0);
    CU_ASSERT_EQUAL(check_token(&f, "raw-token"), IGGY_VERDICT_GOOD);
    CU_ASSERT_STRING_EQUAL(f.call.text, "dora");
    CU_ASSERT_PTR_NOT_NULL(strstr(stub_request(f.stub, "POST /personal", 0), "{\"token\":\"raw-token\"}"));
    tear_down(&f);
}

/* An answer to the login, and what it must mean for a password and for a token. */
struct row {
    int status;
    const char *body;
    enum iggy_verdict password, token;
};

static void only_a_clear_no_is_a_refusal(void)
{
    static const struct row rows[] = {
        {400, "{\"id\":42,\"code\":\"invalid_credentials\",\"reason\":\"\"}", IGGY_VERDICT_REFUSED,
         IGGY_VERDICT_REFUSED},
        {400, "{\"id\":47,\"code\":\"user_inactive\",\"reason\":\"\"}", IGGY_VERDICT_REFUSED,
         IGGY_VERDICT_REFUSED},
        {400, "{\"id\":44,\"code\":\"invalid_password\",\"reason\":\"\"}", IGGY_VERDICT_REFUSED,
         IGGY_VERDICT_UNKNOWN},
        {401, "{\"id\":53,\"code\":\"invalid_personal_access_token\",\"reason\":\"\"}", IGGY_VERDICT_UNKNOWN,
         IGGY_VERDICT_REFUSED},
        {404, "{\"id\":20,\"code\":\"resource_not_found\",\"reason\":\"\"}", IGGY_VERDICT_UNKNOWN,
         IGGY_VERDICT_REFUSED},
        {404, "", IGGY_VERDICT_UNKNOWN, IGGY_VERDICT_UNKNOWN},
        {400, "{\"id\":3,\"code\":\"invalid_command\",\"reason\":\"\"}", IGGY_VERDICT_UNKNOWN,
         IGGY_VERDICT_UNKNOWN},
        {403, "{\"id\":41,\"code\":\"unauthorized\",\"reason\":\"\"}", IGGY_VERDICT_UNKNOWN,
         IGGY_VERDICT_UNKNOWN},
        {429, "{\"id\":429,\"code\":\"too_many\",\"reason\":\"\"}", IGGY_VERDICT_UNKNOWN,
         IGGY_VERDICT_UNKNOWN},
        {500, "", IGGY_VERDICT_UNKNOWN, IGGY_VERDICT_UNKNOWN},
        {503, "{\"id\":57,\"code\":\"transient_not_committed\",\"reason\":\"\"}", IGGY_VERDICT_UNKNOWN,
         IGGY_VERDICT_UNKNOWN},
        {503, "{\"id\":58,\"code\":\"transient_not_accepted\",\"reason\":\"\"}", IGGY_VERDICT_UNKNOWN,
         IGGY_VERDICT_UNKNOWN},
        {504, "{\"id\":504,\"code\":\"partition_read_timeout\",\"reason\":\"\"}", IGGY_VERDICT_UNKNOWN,
         IGGY_VERDICT_UNKNOWN},
        {200, "{\"id\":42}", IGGY_VERDICT_UNKNOWN, IGGY_VERDICT_UNKNOWN},
        {200, "no json", IGGY_VERDICT_UNKNOWN, IGGY_VERDICT_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *answer = stub_json(rows[i].status, rows[i].body);
        const struct stub_rule rules[] = {
            {.request = "POST /users/login ", .answer = answer},
            {.request = "POST /personal-access-tokens/login ", .answer = answer},
            {.request = NULL}};
        struct fixture f;
        set_up(&f, rules, 0);
        if (check_password(&f, "dora", "secret") != rows[i].password ||
            check_token(&f, "t") != rows[i].token) {
            printf("    %d %s\n", rows[i].status, rows[i].body);
            CU_FAIL("another verdict");
        }
        tear_down(&f);
    }
}

static void no_answer_is_no_refusal(void)
{
    const struct stub_rule cut[] = {{.request = "POST /users/login ", .action = STUB_CUT}, {.request = NULL}};
    const struct stub_rule hang[] = {{.request = "POST /users/login ", .action = STUB_HANG},
                                     {.request = NULL}};
    struct fixture f;
    set_up(&f, cut, 0);
    CU_ASSERT_EQUAL(check_password(&f, "dora", "secret"), IGGY_VERDICT_UNKNOWN);
    CU_ASSERT_EQUAL(f.call.result.kind, IGGY_CUT);
    tear_down(&f);
    set_up(&f, hang, 200);
    CU_ASSERT_EQUAL(check_password(&f, "dora", "secret"), IGGY_VERDICT_UNKNOWN);
    CU_ASSERT_EQUAL(f.call.result.kind, IGGY_TIMEOUT);
    tear_down(&f);
}

/* The login was right, but the record did not come: nobody may be refused, or let in, for that. */
static void a_record_that_does_not_come_decides_nothing(void)
{
    static const struct {
        int status;
        const char *body;
        enum iggy_verdict verdict;
    } rows[] = {{404, "", IGGY_VERDICT_UNKNOWN},
                {401, "{\"id\":40,\"code\":\"unauthenticated\",\"reason\":\"\"}", IGGY_VERDICT_UNKNOWN},
                {503, "{\"id\":57,\"code\":\"x\",\"reason\":\"\"}", IGGY_VERDICT_UNKNOWN},
                {200, "{}", IGGY_VERDICT_UNKNOWN},
                {200, RECORD("inactive"), IGGY_VERDICT_REFUSED}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct stub_rule rules[] = {
            {.request = "POST /users/login ", .answer = stub_json(200, IDENTITY("t"))},
            {.request = "GET /users/9 ", .answer = stub_json(rows[i].status, rows[i].body)},
            {.request = NULL}};
        struct fixture f;
        set_up(&f, rules, 0);
        CU_ASSERT_EQUAL(check_password(&f, "dora", "secret"), rows[i].verdict);
        CU_ASSERT_EQUAL(stub_count(f.stub, "POST /users/login "), 1);
        tear_down(&f);
    }
}

static void what_is_no_text_is_not_asked(void)
{
    const struct stub_rule rules[] = {{.request = NULL}};
    struct fixture f;
    set_up(&f, rules, 0);
    CU_ASSERT_EQUAL(check_password(&f, "d\xff", "secret"), IGGY_VERDICT_REFUSED);
    CU_ASSERT_EQUAL(check_password(&f, "dora", "\xc3"), IGGY_VERDICT_REFUSED);
    CU_ASSERT_EQUAL(check_token(&f, "\xed\xa0\x80"), IGGY_VERDICT_REFUSED);
    CU_ASSERT_EQUAL(stub_count(f.stub, ""), 0);
    CU_ASSERT_PTR_NULL(strstr(f.call.result.text, "secret"));
    tear_down(&f);
}

/* The client's own session is another matter: neither used, nor renewed, nor refused with the visitor. */
static void the_clients_own_session_is_left_alone(void)
{
    const struct stub_rule rules[] = {
        {.request = "POST /users/login ",
         .times = 1,
         .answer =
             stub_json(200, "{\"user_id\":7,\"access_token\":{\"token\":\"own\",\"expiry\":4000000000}}")},
        {.request = "POST /users/login ",
         .answer = stub_json(400, "{\"id\":42,\"code\":\"x\",\"reason\":\"\"}")},
        STUB_ME,
        {.request = "GET /streams ", .answer = stub_json(200, "[]"), .contains = "Bearer own"},
        {.request = NULL}};
    struct fixture f;
    struct call own = {0};
    set_up(&f, rules, 0);
    iggy_get_streams(f.client, on_streams, &own);
    call_wait(f.client, &own);
    CU_ASSERT_EQUAL(own.result.kind, IGGY_OK);
    CU_ASSERT_EQUAL(check_password(&f, "dora", "wrong"), IGGY_VERDICT_REFUSED);
    call_clear(&own);
    iggy_get_streams(f.client, on_streams, &own);
    call_wait(f.client, &own);
    CU_ASSERT_EQUAL(own.result.kind, IGGY_OK);
    CU_ASSERT_EQUAL(stub_count(f.stub, "POST /users/login "), 2);
    call_clear(&own);
    tear_down(&f);
}

static CU_TestInfo tests[] = {
    {"a right password brings the record", a_right_password_brings_the_record},
    {"a token names its owner", a_token_names_its_owner},
    {"only a clear no is a refusal", only_a_clear_no_is_a_refusal},
    {"no answer is no refusal", no_answer_is_no_refusal},
    {"a record that does not come decides nothing", a_record_that_does_not_come_decides_nothing},
    {"what is no text is not asked", what_is_no_text_is_not_asked},
    {"the client's own session is left alone", the_clients_own_session_is_left_alone},
    CU_TEST_INFO_NULL};

MI_SUITE_MAIN("check_login", tests)
