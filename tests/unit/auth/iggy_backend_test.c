/* iggy_backend: what it asks Iggy, how much of it at a time, and what it makes of silence. */
#include "auth/iggy_backend.h"
#include "stub.h"
#include "support/process.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>

#define TOKEN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/abc="
#define IDENTITY "{\"user_id\":9,\"access_token\":{\"token\":\"t\",\"expiry\":4000000000}}"
#define RECORD "{\"id\":9,\"created_at\":5,\"username\":\"dora\",\"status\":\"active\",\"permissions\":null}"
#define NO "{\"id\":42,\"code\":\"invalid_credentials\",\"reason\":\"\"}"
#define NO_TOKEN "{\"id\":53,\"code\":\"invalid_personal_access_token\",\"reason\":\"\"}"

struct got {
    uint64_t ticket;
    enum mi_backend_answer answer;
    char owner[64];
};

struct fixture {
    struct stub *stub;
    struct iggy_client *client;
    struct mi_iggy_backend *backend;
    struct mi_backend ask;
    struct got got[1024];
    unsigned count, woken;
    uint64_t ahead; /* of the clock */
};

static struct fixture *current;

static uint64_t now_ns(void *context)
{
    (void)context;
    return mi_now_ns(&mi_clock_system) + current->ahead;
}

static const struct mi_clock test_clock = {.now_ns = now_ns};

static void on_answer(void *context, uint64_t ticket, const struct mi_backend_reply *reply)
{
    struct fixture *f = context;
    struct got *g = &f->got[f->count++ % 1024];
    g->ticket = ticket;
    g->answer = reply->answer;
    snprintf(g->owner, sizeof g->owner, "%s", reply->owner);
}

static void wake(void *context)
{
    struct fixture *f = context;
    f->woken++;
}

static void set_up(struct fixture *f, const struct stub_rule *rules, uint32_t per_second)
{
    memset(f, 0, sizeof *f);
    current = f;
    f->stub = stub_start(rules);
    const char *urls[] = {stub_url(f->stub)};
    struct iggy_options client = {.urls = urls, .url_count = 1, .username = "own", .password = "own"};
    f->client = iggy_client_new(&client, NULL, 0);
    struct mi_iggy_backend_options options = {
        .logins_per_second = per_second, .clock = &test_clock, .wake_bridge = wake, .context = f};
    f->backend = mi_iggy_backend_new(&options);
    CU_ASSERT_TRUE_FATAL(f->client && f->backend);
    f->ask = mi_iggy_backend_interface(f->backend);
    mi_iggy_backend_set_sink(f->backend, (struct mi_backend_sink){on_answer, f});
}

static void tear_down(struct fixture *f)
{
    iggy_client_free(f->client);
    mi_iggy_backend_free(f->backend);
    stub_stop(f->stub);
}

static bool check(struct fixture *f, uint64_t ticket, const char *username, const char *password)
{
    return f->ask.f->check(f->ask.self, ticket, mi_span_of(username), mi_span_of(password));
}

/* One turn of the bridge's loop. */
static void turn(struct fixture *f, uint32_t ms)
{
    uint64_t now = mi_now_ns(&test_clock), due = mi_iggy_backend_step(f->backend, f->client, now);
    uint64_t wait = due <= now ? 0 : (due - now) / MI_NS_PER_MS + 1;
    iggy_client_drive(f->client, (uint32_t)(wait < ms ? wait : ms), NULL, 0);
}

static const struct got *wait_for(struct fixture *f, unsigned count)
{
    for (uint64_t end = mi_monotonic_ms() + 20000; f->count < count && mi_monotonic_ms() < end;)
        turn(f, 50);
    CU_ASSERT_EQUAL_FATAL(f->count, count);
    return &f->got[count - 1];
}

static void a_password_and_its_refusal(void)
{
    const struct stub_rule rules[] = {
        {.request = "POST /users/login ", .times = 1, .answer = stub_json(200, IDENTITY)},
        {.request = "GET /users/9 ", .answer = stub_json(200, RECORD)},
        {.request = "POST /users/login ", .answer = stub_json(400, NO)},
        {.request = NULL}};
    struct fixture f;
    set_up(&f, rules, 1000);
    CU_ASSERT_TRUE(check(&f, 5, "dora", "secret"));
    CU_ASSERT_EQUAL(f.woken, 1);
    const struct got *g = wait_for(&f, 1);
    CU_ASSERT_EQUAL(g->ticket, 5);
    CU_ASSERT_EQUAL(g->answer, MI_BACKEND_YES);
    CU_ASSERT_STRING_EQUAL(g->owner, "");
    CU_ASSERT_TRUE(check(&f, 6, "dora", "wrong"));
    CU_ASSERT_EQUAL(wait_for(&f, 2)->answer, MI_BACKEND_NO);
    CU_ASSERT_TRUE(f.ask.f->reachable(f.ask.self));
    CU_ASSERT_EQUAL(stub_count(f.stub, "POST /personal"), 0);
    tear_down(&f);
}

static void a_token_with_and_without_its_owners_name(void)
{
    const struct stub_rule rules[] = {
        {.request = "POST /personal-access-tokens/login ", .answer = stub_json(200, IDENTITY)},
        {.request = "GET /users/9 ", .answer = stub_json(200, RECORD)},
        {.request = NULL}};
    struct fixture f;
    set_up(&f, rules, 1000);
    CU_ASSERT_TRUE(check(&f, 1, "", TOKEN));
    const struct got *g = wait_for(&f, 1);
    CU_ASSERT_EQUAL(g->answer, MI_BACKEND_YES);
    CU_ASSERT_STRING_EQUAL(g->owner, "dora");
    CU_ASSERT_TRUE(check(&f, 2, "dora", TOKEN));
    CU_ASSERT_EQUAL(wait_for(&f, 2)->answer, MI_BACKEND_YES);
    CU_ASSERT_TRUE(check(&f, 3, "emil", TOKEN));
    CU_ASSERT_EQUAL(wait_for(&f, 3)->answer, MI_BACKEND_NO);
    CU_ASSERT_EQUAL(stub_count(f.stub, "POST /users/login "), 0);
    tear_down(&f);
}

static void what_looks_like_a_token_may_be_a_password(void)
{
    const struct stub_rule rules[] = {
        {.request = "POST /personal-access-tokens/login ", .answer = stub_json(401, NO_TOKEN)},
        {.request = "POST /users/login ", .answer = stub_json(200, IDENTITY)},
        {.request = "GET /users/9 ", .answer = stub_json(200, RECORD)},
        {.request = NULL}};
    struct fixture f;
    set_up(&f, rules, 1000);
    CU_ASSERT_TRUE(check(&f, 1, "dora", TOKEN));
    CU_ASSERT_EQUAL(wait_for(&f, 1)->answer, MI_BACKEND_YES);
    CU_ASSERT_TRUE(check(&f, 2, "", TOKEN));
    CU_ASSERT_EQUAL(wait_for(&f, 2)->answer, MI_BACKEND_NO);
    CU_ASSERT_EQUAL(stub_count(f.stub, "POST /users/login "), 1);
    tear_down(&f);
}

static void away_until_one_gets_through(void)
{
    const struct stub_rule rules[] = {
        {.request = "POST /users/login ",
         .times = 2,
         .answer = stub_json(503, "{\"id\":57,\"code\":\"transient_not_committed\",\"reason\":\"\"}")},
        {.request = "POST /users/login ", .answer = stub_json(400, NO)},
        {.request = NULL}};
    struct fixture f;
    set_up(&f, rules, 1000);
    CU_ASSERT_TRUE(check(&f, 1, "dora", "secret"));
    CU_ASSERT_EQUAL(wait_for(&f, 1)->answer, MI_BACKEND_UNAVAILABLE);
    CU_ASSERT_FALSE(f.ask.f->reachable(f.ask.self));
    CU_ASSERT_FALSE(check(&f, 2, "dora", "secret"));
    f.ahead += 1100 * MI_NS_PER_MS;
    CU_ASSERT_TRUE(check(&f, 3, "dora", "secret")); /* one to find out */
    CU_ASSERT_FALSE(check(&f, 4, "dora", "secret"));
    CU_ASSERT_EQUAL(wait_for(&f, 2)->answer, MI_BACKEND_UNAVAILABLE);
    f.ahead += 1100 * MI_NS_PER_MS;
    CU_ASSERT_TRUE(check(&f, 5, "dora", "secret"));
    CU_ASSERT_EQUAL(wait_for(&f, 3)->answer, MI_BACKEND_NO); /* a refusal is an answer */
    CU_ASSERT_TRUE(f.ask.f->reachable(f.ask.self));
    CU_ASSERT_TRUE(check(&f, 6, "dora", "secret"));
    wait_for(&f, 4);
    tear_down(&f);
}

static void a_storm_is_two_at_a_time_and_bounded(void)
{
    const struct stub_rule rules[] = {
        {.request = "POST /users/login ", .answer = stub_json(400, NO), .delay_ms = 5}, {.request = NULL}};
    struct fixture f;
    set_up(&f, rules, 200);
    unsigned taken = 0;
    for (unsigned i = 0; i < 1000; i++)
        taken += check(&f, i + 1, "dora", "wrong");
    CU_ASSERT_EQUAL(taken, 256);
    uint64_t start = mi_monotonic_ms();
    while (f.count < 110)
        turn(&f, 50);
    /* Ten at once, then 200 a second. */
    CU_ASSERT_TRUE(mi_monotonic_ms() - start >= 480);
    CU_ASSERT_TRUE(stub_most_at_once(f.stub) <= 2);
    for (unsigned i = 0; i < 100; i++)
        CU_ASSERT_EQUAL(f.got[i].answer, MI_BACKEND_NO);
    f.ahead += 6000 * MI_NS_PER_MS; /* who waited longer than five seconds hears that there is nobody */
    wait_for(&f, 256);
    CU_ASSERT_EQUAL(f.got[255].answer, MI_BACKEND_UNAVAILABLE);
    tear_down(&f);
}

static void who_does_not_answer_is_given_up(void)
{
    const struct stub_rule rules[] = {{.request = "POST /users/login ", .action = STUB_HANG},
                                      {.request = NULL}};
    struct fixture f;
    set_up(&f, rules, 1000);
    CU_ASSERT_TRUE(check(&f, 1, "dora", "secret") && check(&f, 2, "emil", "secret") &&
                   check(&f, 3, "fred", "secret"));
    for (unsigned i = 0; i < 5; i++)
        turn(&f, 20);
    CU_ASSERT_EQUAL(f.count, 0);
    f.ahead += 5100 * MI_NS_PER_MS;
    turn(&f, 0);
    CU_ASSERT_EQUAL(f.count, 3);
    for (unsigned i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(f.got[i].answer, MI_BACKEND_UNAVAILABLE);
    CU_ASSERT_FALSE(f.ask.f->reachable(f.ask.self));
    tear_down(&f);
}

static void (*let_in)(void *);
static void *let_in_arg;

static void on_admit(void *context, const struct iggy_user *record, void (*done)(void *), void *arg)
{
    struct fixture *f = context;
    CU_ASSERT_EQUAL(f->count, 0);
    CU_ASSERT_EQUAL(record->id, 9);
    let_in = done;
    let_in_arg = arg;
}

static void who_is_right_is_let_in_when_his_rights_are_there(void)
{
    const struct stub_rule rules[] = {
        {.request = "POST /personal-access-tokens/login ", .answer = stub_json(200, IDENTITY)},
        {.request = "GET /users/9 ", .answer = stub_json(200, RECORD)},
        {.request = NULL}};
    struct fixture f;
    set_up(&f, rules, 1000);
    mi_iggy_backend_set_admit(f.backend, on_admit, &f);
    let_in = NULL;
    CU_ASSERT_TRUE(check(&f, 1, "", TOKEN));
    for (uint64_t end = mi_monotonic_ms() + 20000; !let_in && mi_monotonic_ms() < end;)
        turn(&f, 50);
    CU_ASSERT_PTR_NOT_NULL_FATAL(let_in);
    CU_ASSERT_EQUAL(f.count, 0);
    let_in(let_in_arg);
    CU_ASSERT_EQUAL(f.count, 1);
    CU_ASSERT_EQUAL(f.got[0].answer, MI_BACKEND_YES);
    CU_ASSERT_STRING_EQUAL(f.got[0].owner, "dora");
    let_in = NULL;
    CU_ASSERT_TRUE(check(&f, 2, "", TOKEN)); /* and one that the end finds waiting */
    f.count = 0;
    for (uint64_t end = mi_monotonic_ms() + 20000; !let_in && mi_monotonic_ms() < end;)
        turn(&f, 50);
    tear_down(&f);
}

/* What is under way when the bridge stops is freed with it (the sanitizer looks). */
static void the_end_in_the_middle(void)
{
    const struct stub_rule rules[] = {{.request = "POST /users/login ", .action = STUB_HANG},
                                      {.request = NULL}};
    struct fixture f;
    set_up(&f, rules, 1000);
    for (uint64_t i = 1; i < 10; i++)
        CU_ASSERT_TRUE(check(&f, i, "dora", "secret"));
    turn(&f, 20);
    CU_ASSERT_EQUAL(f.count, 0);
    tear_down(&f);
}

static void what_nobody_can_have_is_known_without_asking(void)
{
    char name[52], secret[102];
    memset(name, 'n', sizeof name);
    memset(secret, 's', sizeof secret);
    name[51] = secret[101] = 0;
    struct fixture f;
    const struct stub_rule rules[] = {{.request = NULL}};
    set_up(&f, rules, 10);
    const struct {
        const char *name, *secret;
        bool possible;
    } rows[] = {{"dora", "secret", true}, {"", TOKEN, true},
                {"do", "secret", false},  {"dora", "se", false},
                {"dora", "", false},      {"", "", false},
                {name, "secret", false},  {name + 1, secret + 1, true},
                {"dora", secret, false},  {"d\xff\xff", "secret", false},
                {"dora", "s\xc3(", false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        CU_ASSERT_EQUAL(f.ask.f->possible(mi_span_of(rows[i].name), mi_span_of(rows[i].secret)),
                        rows[i].possible);
    CU_ASSERT_TRUE(mi_looks_like_token(mi_span_of(TOKEN)));
    CU_ASSERT_FALSE(mi_looks_like_token(mi_span_of("correct horse battery staple, correct horse battery")));
    CU_ASSERT_FALSE(mi_looks_like_token(mi_span_of("secret")));
    tear_down(&f);
}

static CU_TestInfo tests[] = {
    {"a password and its refusal", a_password_and_its_refusal},
    {"a token with and without its owner's name", a_token_with_and_without_its_owners_name},
    {"what looks like a token may be a password", what_looks_like_a_token_may_be_a_password},
    {"away until one gets through", away_until_one_gets_through},
    {"a storm is two at a time and bounded", a_storm_is_two_at_a_time_and_bounded},
    {"who does not answer is given up", who_does_not_answer_is_given_up},
    {"who is right is let in when his rights are there", who_is_right_is_let_in_when_his_rights_are_there},
    {"the end in the middle", the_end_in_the_middle},
    {"what nobody can have is known without asking", what_nobody_can_have_is_known_without_asking},
    CU_TEST_INFO_NULL};

MI_SUITE_MAIN("iggy backend", tests)
