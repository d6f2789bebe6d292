/* login: from the credentials of a CONNECT to an answer, with a back end that the test plays. */
#include "auth/login.h"
#include "support/suite.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S MI_NS_PER_S
enum { PENDING = 8 };

struct fixture {
    struct mi_login *login;
    struct mi_metrics *metrics;
    struct mi_backend_sink sink;
    uint64_t now;
    bool takes, there;
    unsigned asked;
    uint64_t ticket; /* the last one asked */
    char username[64], password[64];
    atomic_int woken;
    struct mi_login_outcome outcome;
};

static struct fixture *current; /* the clock has no other way */

static uint64_t now_ns(void *context)
{
    (void)context;
    return current->now;
}

static uint64_t random_bits(void *context)
{
    (void)context;
    return mi_random(&mi_clock_system);
}

static const struct mi_clock test_clock = {.now_ns = now_ns, .random = random_bits};

static bool possible(struct mi_span username, struct mi_span password)
{
    (void)username;
    return password.len > 2;
}

static void copy(char to[64], struct mi_span s)
{
    snprintf(to, 64, "%.*s", (int)s.len, (const char *)s.data);
}

static bool check(void *self, uint64_t ticket, struct mi_span username, struct mi_span password)
{
    struct fixture *f = self;
    if (!f->takes)
        return false;
    f->asked++;
    f->ticket = ticket;
    copy(f->username, username);
    copy(f->password, password);
    return true;
}

static bool reachable(void *self)
{
    const struct fixture *f = self;
    return f->there;
}

static void wake(void *context)
{
    struct fixture *f = context;
    atomic_fetch_add(&f->woken, 1);
}

static void set_up(struct fixture *f, const struct mi_login_rules *rules)
{
    static const struct mi_backend_functions functions = {
        .name = "test", .possible = possible, .check = check, .reachable = reachable};
    memset(f, 0, sizeof *f);
    current = f;
    f->now = 1000 * S;
    f->takes = f->there = true;
    f->metrics = mi_metrics_new();
    struct mi_login_options options = {.rules = *rules,
                                       .cache_entries = 16,
                                       .max_pending = PENDING,
                                       .metrics = f->metrics,
                                       .clock = &test_clock,
                                       .wake_main = wake,
                                       .context = f};
    f->login = mi_login_new(&options);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->login);
    mi_login_set_backend(f->login, (struct mi_backend){&functions, f});
    f->sink = mi_login_sink(f->login);
}

static void tear_down(struct fixture *f)
{
    mi_login_free(f->login);
    mi_metrics_free(f->metrics);
}

static const struct mi_login_rules usual = {
    .cache_age_ns = 300 * S, .refused_age_ns = 10 * S, .stale_age_ns = 3600 * S};

static enum mi_login_answer ask(struct fixture *f, const char *username, const char *password)
{
    mi_login_ask(f->login, mi_span_of(username), mi_span_of(password), mi_span_of("10.0.0.1"), &f->outcome);
    return f->outcome.answer;
}

static void answer(struct fixture *f, uint64_t ticket, enum mi_backend_answer what, const char *owner)
{
    struct mi_backend_reply reply = {what, owner};
    f->sink.answer(f->sink.context, ticket, &reply);
}

static enum mi_login_answer take(struct fixture *f)
{
    CU_ASSERT_TRUE_FATAL(mi_login_take(f->login, &f->outcome));
    return f->outcome.answer;
}

static uint64_t counted(struct fixture *f, enum mi_global_counter which)
{
    return mi_metrics_get(f->metrics, which);
}

static void a_right_login_is_asked_once_and_remembered(void)
{
    struct fixture f;
    set_up(&f, &usual);
    CU_ASSERT_EQUAL(ask(&f, "alice", "secret"), MI_LOGIN_LATER);
    uint64_t ticket = f.outcome.ticket;
    CU_ASSERT_STRING_EQUAL(f.username, "alice");
    CU_ASSERT_STRING_EQUAL(f.password, "secret");
    CU_ASSERT_FALSE(mi_login_has_answers(f.login));
    CU_ASSERT_FALSE(mi_login_take(f.login, &f.outcome));
    answer(&f, f.ticket, MI_BACKEND_YES, "");
    CU_ASSERT_EQUAL(atomic_load(&f.woken), 1);
    CU_ASSERT_TRUE(mi_login_has_answers(f.login));
    CU_ASSERT_EQUAL(take(&f), MI_LOGIN_ALLOWED);
    CU_ASSERT_EQUAL(f.outcome.ticket, ticket);
    CU_ASSERT_FALSE(mi_login_take(f.login, &f.outcome));
    f.now += 299 * S;
    CU_ASSERT_EQUAL(ask(&f, "alice", "secret"), MI_LOGIN_ALLOWED);
    CU_ASSERT_EQUAL(f.asked, 1);
    f.now += 2 * S;
    CU_ASSERT_EQUAL(ask(&f, "alice", "secret"), MI_LOGIN_LATER);
    CU_ASSERT_EQUAL(counted(&f, MI_G_LOGINS_ALLOWED), 2);
    CU_ASSERT_EQUAL(counted(&f, MI_G_LOGINS_CACHED), 1);
    CU_ASSERT_EQUAL(counted(&f, MI_G_LOGINS_ASKED), 2);
    tear_down(&f);
}

static void a_refusal_is_remembered_briefly(void)
{
    struct fixture f;
    set_up(&f, &usual);
    ask(&f, "alice", "wrong");
    answer(&f, f.ticket, MI_BACKEND_NO, "");
    CU_ASSERT_EQUAL(take(&f), MI_LOGIN_REFUSED);
    CU_ASSERT_EQUAL(ask(&f, "alice", "wrong"), MI_LOGIN_REFUSED);
    CU_ASSERT_EQUAL(f.asked, 1);
    CU_ASSERT_EQUAL(ask(&f, "alice", "right"), MI_LOGIN_LATER);
    f.now += 11 * S;
    CU_ASSERT_EQUAL(ask(&f, "alice", "wrong"), MI_LOGIN_LATER);
    CU_ASSERT_EQUAL(counted(&f, MI_G_LOGINS_REFUSED), 2);
    tear_down(&f);
}

static void field_124_an_error_is_never_remembered(void)
{
    struct fixture f;
    set_up(&f, &usual);
    ask(&f, "alice", "secret");
    answer(&f, f.ticket, MI_BACKEND_UNAVAILABLE, "");
    CU_ASSERT_EQUAL(take(&f), MI_LOGIN_UNAVAILABLE);
    CU_ASSERT_EQUAL(ask(&f, "alice", "secret"), MI_LOGIN_LATER);
    answer(&f, f.ticket, MI_BACKEND_YES, "");
    CU_ASSERT_EQUAL(take(&f), MI_LOGIN_ALLOWED);
    CU_ASSERT_EQUAL(counted(&f, MI_G_LOGINS_UNAVAILABLE), 1);
    tear_down(&f);
}

/* A login that was right, then nobody can be asked, then it is refused: nothing old lets it in. */
static void a_refusal_ends_what_was_right(void)
{
    struct fixture f;
    struct mi_login_rules rules = usual;
    rules.on_unavailable = MI_AWAY_CACHED;
    set_up(&f, &rules);
    ask(&f, "alice", "secret");
    answer(&f, f.ticket, MI_BACKEND_YES, "");
    take(&f);
    f.now += 301 * S;
    ask(&f, "alice", "secret");
    answer(&f, f.ticket, MI_BACKEND_NO, "");
    CU_ASSERT_EQUAL(take(&f), MI_LOGIN_REFUSED);
    f.now += 20 * S;
    f.takes = false;
    CU_ASSERT_EQUAL(ask(&f, "alice", "secret"), MI_LOGIN_UNAVAILABLE);
    tear_down(&f);
}

static void while_nobody_can_be_asked(void)
{
    static const struct {
        enum mi_on_unavailable rule;
        enum mi_login_answer known, stranger, forgotten;
    } rows[] = {{MI_AWAY_DENY, MI_LOGIN_UNAVAILABLE, MI_LOGIN_UNAVAILABLE, MI_LOGIN_UNAVAILABLE},
                {MI_AWAY_CACHED, MI_LOGIN_ALLOWED, MI_LOGIN_UNAVAILABLE, MI_LOGIN_UNAVAILABLE},
                {MI_AWAY_NEXT, MI_LOGIN_NEXT, MI_LOGIN_NEXT, MI_LOGIN_NEXT}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fixture f;
        struct mi_login_rules rules = usual;
        rules.on_unavailable = rows[i].rule;
        set_up(&f, &rules);
        ask(&f, "", "token");
        answer(&f, f.ticket, MI_BACKEND_YES, "dora");
        CU_ASSERT_EQUAL(take(&f), MI_LOGIN_ALLOWED);
        CU_ASSERT_STRING_EQUAL(f.outcome.owner, "dora");
        f.takes = false;
        CU_ASSERT_EQUAL(ask(&f, "", "token"), MI_LOGIN_ALLOWED); /* still fresh */
        f.now += 400 * S;
        CU_ASSERT_EQUAL(ask(&f, "", "token"), rows[i].known);
        CU_ASSERT_STRING_EQUAL(f.outcome.owner, rows[i].known == MI_LOGIN_ALLOWED ? "dora" : "");
        CU_ASSERT_EQUAL(ask(&f, "bob", "secret"), rows[i].stranger);
        f.takes = true; /* asked, but no answer comes of it: the same */
        CU_ASSERT_EQUAL(ask(&f, "", "token"), MI_LOGIN_LATER);
        answer(&f, f.ticket, MI_BACKEND_UNAVAILABLE, "");
        CU_ASSERT_EQUAL(take(&f), rows[i].known);
        f.takes = false;
        f.now += 3600 * S;
        CU_ASSERT_EQUAL(ask(&f, "", "token"), rows[i].forgotten);
        tear_down(&f);
    }
}

static void a_refusal_may_go_to_the_next(void)
{
    struct fixture f;
    struct mi_login_rules rules = usual;
    rules.refused_goes_next = true;
    set_up(&f, &rules);
    ask(&f, "alice", "secret");
    answer(&f, f.ticket, MI_BACKEND_NO, "");
    CU_ASSERT_EQUAL(take(&f), MI_LOGIN_NEXT);
    CU_ASSERT_EQUAL(ask(&f, "alice", "secret"), MI_LOGIN_NEXT);
    CU_ASSERT_EQUAL(ask(&f, "alice", "x"), MI_LOGIN_NEXT);
    CU_ASSERT_EQUAL(f.asked, 1);
    tear_down(&f);
}

static void the_same_credentials_share_one_check(void)
{
    struct fixture f;
    uint64_t tickets[3];
    unsigned seen = 0;
    set_up(&f, &usual);
    for (unsigned i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(ask(&f, "alice", "secret"), MI_LOGIN_LATER);
        tickets[i] = f.outcome.ticket;
    }
    uint64_t alice = f.ticket;
    CU_ASSERT_EQUAL(ask(&f, "alice", "other"), MI_LOGIN_LATER);
    uint64_t other = f.ticket, other_ticket = f.outcome.ticket;
    CU_ASSERT_EQUAL(f.asked, 2);
    answer(&f, alice, MI_BACKEND_YES, "");
    for (unsigned i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(take(&f), MI_LOGIN_ALLOWED);
        for (unsigned k = 0; k < 3; k++)
            seen |= f.outcome.ticket == tickets[k] ? 1u << k : 0;
    }
    CU_ASSERT_EQUAL(seen, 7);
    CU_ASSERT_FALSE(mi_login_take(f.login, &f.outcome));
    answer(&f, other, MI_BACKEND_NO, "");
    CU_ASSERT_EQUAL(take(&f), MI_LOGIN_REFUSED);
    CU_ASSERT_EQUAL(f.outcome.ticket, other_ticket);
    tear_down(&f);
}

static void who_waits_is_bounded(void)
{
    struct fixture f;
    char name[16];
    set_up(&f, &usual);
    for (unsigned i = 0; i < PENDING; i++) {
        snprintf(name, sizeof name, "user%u", i);
        CU_ASSERT_EQUAL(ask(&f, name, "secret"), MI_LOGIN_LATER);
    }
    CU_ASSERT_EQUAL(ask(&f, "one more", "secret"), MI_LOGIN_UNAVAILABLE);
    CU_ASSERT_EQUAL(ask(&f, "user1", "secret"), MI_LOGIN_UNAVAILABLE);
    CU_ASSERT_EQUAL(f.asked, PENDING);
    answer(&f, f.ticket, MI_BACKEND_YES, "");
    CU_ASSERT_EQUAL(take(&f), MI_LOGIN_ALLOWED);
    CU_ASSERT_EQUAL(ask(&f, "one more", "secret"), MI_LOGIN_LATER);
    tear_down(&f);
}

static void a_stale_or_strange_answer_is_nothing(void)
{
    struct fixture f;
    set_up(&f, &usual);
    ask(&f, "alice", "secret");
    uint64_t old = f.ticket;
    answer(&f, old, MI_BACKEND_NO, "");
    take(&f);
    ask(&f, "bob", "secret");
    answer(&f, old, MI_BACKEND_YES, "");
    answer(&f, 0, MI_BACKEND_YES, "");
    answer(&f, UINT64_MAX, MI_BACKEND_YES, "");
    CU_ASSERT_FALSE(mi_login_take(f.login, &f.outcome));
    answer(&f, f.ticket, MI_BACKEND_NO, "");
    CU_ASSERT_EQUAL(take(&f), MI_LOGIN_REFUSED);
    tear_down(&f);
}

static void wrong_tries_are_limited_and_right_ones_are_not(void)
{
    struct fixture f;
    struct mi_login_rules rules = usual;
    char password[16];
    rules.tries_per_user = 30;
    rules.tries_per_address = 6000;
    set_up(&f, &rules);
    ask(&f, "alice", "right");
    answer(&f, f.ticket, MI_BACKEND_YES, "");
    take(&f);
    for (unsigned i = 0; i < 10; i++) {
        snprintf(password, sizeof password, "wrong%u", i);
        CU_ASSERT_EQUAL(ask(&f, "alice", password), MI_LOGIN_LATER);
        answer(&f, f.ticket, MI_BACKEND_NO, "");
        take(&f);
    }
    CU_ASSERT_EQUAL(ask(&f, "alice", "wrong again"), MI_LOGIN_LIMITED);
    CU_ASSERT_EQUAL(ask(&f, "alice", "right"), MI_LOGIN_ALLOWED);
    f.now += 301 * S; /* old now, and must be asked again */
    for (unsigned i = 0; i < 10; i++) {
        snprintf(password, sizeof password, "more%u", i);
        ask(&f, "alice", password);
        answer(&f, f.ticket, MI_BACKEND_NO, "");
        take(&f);
    }
    CU_ASSERT_EQUAL(ask(&f, "alice", "wrong again"), MI_LOGIN_LIMITED);
    CU_ASSERT_EQUAL(ask(&f, "alice", "right"), MI_LOGIN_LATER);
    CU_ASSERT_EQUAL(counted(&f, MI_G_LOGINS_LIMITED), 2);
    tear_down(&f);
}

static void a_token_gives_its_owners_name(void)
{
    struct fixture f;
    set_up(&f, &usual);
    ask(&f, NULL, "the-token");
    CU_ASSERT_STRING_EQUAL(f.username, "");
    answer(&f, f.ticket, MI_BACKEND_YES, "dora");
    CU_ASSERT_EQUAL(take(&f), MI_LOGIN_ALLOWED);
    CU_ASSERT_STRING_EQUAL(f.outcome.owner, "dora");
    CU_ASSERT_EQUAL(ask(&f, "", "the-token"), MI_LOGIN_ALLOWED);
    CU_ASSERT_STRING_EQUAL(f.outcome.owner, "dora");
    CU_ASSERT_EQUAL(ask(&f, "dora", "the-token"), MI_LOGIN_ALLOWED);
    CU_ASSERT_STRING_EQUAL(f.outcome.owner, "");
    CU_ASSERT_EQUAL(ask(&f, "emil", "the-token"), MI_LOGIN_LATER);
    tear_down(&f);
}

static enum mi_login_answer again(struct fixture *f, const char *username, const char *password)
{
    mi_login_again(f->login, mi_span_of(username), mi_span_of(password), &f->outcome);
    return f->outcome.answer;
}

static void after_a_reload_clients_stay_and_connects_are_asked(void)
{
    struct fixture f;
    struct mi_login_rules rules = usual;
    set_up(&f, &usual);
    ask(&f, "alice", "secret");
    answer(&f, f.ticket, MI_BACKEND_YES, "");
    take(&f);
    ask(&f, "bob", "wrong");
    answer(&f, f.ticket, MI_BACKEND_NO, "");
    take(&f);
    CU_ASSERT_EQUAL(again(&f, "bob", "wrong"), MI_LOGIN_REFUSED);
    rules.cache_age_ns = 1000 * S;
    mi_login_set_rules(f.login, &rules);
    CU_ASSERT_EQUAL(again(&f, "alice", "secret"), MI_LOGIN_ALLOWED);
    CU_ASSERT_EQUAL(again(&f, "alice", "other"), MI_LOGIN_NEXT);
    CU_ASSERT_EQUAL(again(&f, "bob", "wrong"), MI_LOGIN_NEXT);
    CU_ASSERT_EQUAL(f.asked, 2);
    CU_ASSERT_EQUAL(ask(&f, "alice", "secret"), MI_LOGIN_LATER);
    answer(&f, f.ticket, MI_BACKEND_YES, "");
    take(&f);
    f.now += 900 * S;
    CU_ASSERT_EQUAL(ask(&f, "alice", "secret"), MI_LOGIN_ALLOWED);
    f.now += 90000 * S;
    CU_ASSERT_EQUAL(again(&f, "alice", "secret"), MI_LOGIN_ALLOWED);
    tear_down(&f);
}

/* ---- waiting ---- */

struct later {
    struct fixture *f;
    uint64_t ticket;
    atomic_bool go;
};

static void *answer_later(void *arg)
{
    struct later *l = arg;
    struct timespec pause = {0, 20 * 1000 * 1000};
    nanosleep(&pause, NULL);
    answer(l->f, l->ticket, MI_BACKEND_YES, "");
    return NULL;
}

static void a_wait_ends_with_the_answer(void)
{
    struct fixture f;
    pthread_t thread;
    set_up(&f, &usual);
    ask(&f, "bob", "secret");
    uint64_t bob = f.ticket;
    ask(&f, "alice", "secret");
    answer(&f, bob, MI_BACKEND_NO, ""); /* somebody else's */
    struct later l = {.f = &f, .ticket = f.ticket};
    uint64_t ticket = f.outcome.ticket;
    pthread_create(&thread, NULL, answer_later, &l);
    mi_login_wait(f.login, ticket, 60 * S, &f.outcome);
    CU_ASSERT_EQUAL(f.outcome.answer, MI_LOGIN_ALLOWED);
    pthread_join(thread, NULL);
    CU_ASSERT_EQUAL(take(&f), MI_LOGIN_REFUSED);
    CU_ASSERT_FALSE(mi_login_take(f.login, &f.outcome));
    tear_down(&f);
}

static void what_comes_after_the_wait_goes_into_the_cache(void)
{
    struct fixture f;
    set_up(&f, &usual);
    ask(&f, "alice", "secret");
    uint64_t ticket = f.outcome.ticket;
    mi_login_wait(f.login, ticket, 1000000, &f.outcome);
    CU_ASSERT_EQUAL(f.outcome.answer, MI_LOGIN_UNAVAILABLE);
    CU_ASSERT_EQUAL(ask(&f, "alice", "secret"),
                    MI_LOGIN_LATER); /* shares the check that is still under way */
    CU_ASSERT_EQUAL(f.asked, 1);
    mi_login_wait(f.login, f.outcome.ticket, 0, &f.outcome);
    CU_ASSERT_EQUAL(f.outcome.answer, MI_LOGIN_UNAVAILABLE);
    answer(&f, f.ticket, MI_BACKEND_YES, "");
    CU_ASSERT_EQUAL(ask(&f, "alice", "secret"), MI_LOGIN_ALLOWED);
    CU_ASSERT_FALSE(mi_login_take(f.login, &f.outcome));
    tear_down(&f);
}

/* Two threads for the sanitizer: one asks and takes, the other answers. */
static void *answer_all(void *arg)
{
    struct later *l = arg;
    for (uint64_t last = 0; !atomic_load(&l->go);) {
        uint64_t ticket = atomic_load((_Atomic uint64_t *)&l->ticket);
        if (ticket != last)
            answer(l->f, ticket, ticket & 1 ? MI_BACKEND_YES : MI_BACKEND_NO, "");
        last = ticket;
    }
    return NULL;
}

static void two_threads(void)
{
    struct fixture f;
    pthread_t thread;
    char name[16];
    unsigned answers = 0;
    set_up(&f, &usual);
    struct later l = {.f = &f};
    pthread_create(&thread, NULL, answer_all, &l);
    for (unsigned i = 0; i < 2000; i++) {
        snprintf(name, sizeof name, "user%u", i);
        CU_ASSERT_EQUAL_FATAL(ask(&f, name, "secret"), MI_LOGIN_LATER);
        atomic_store((_Atomic uint64_t *)&l.ticket, f.ticket);
        if (i & 1) {
            mi_login_wait(f.login, f.outcome.ticket, 60 * S, &f.outcome);
            answers++;
        } else {
            while (!mi_login_take(f.login, &f.outcome))
                continue;
            answers++;
        }
        CU_ASSERT_TRUE(f.outcome.answer == MI_LOGIN_ALLOWED || f.outcome.answer == MI_LOGIN_REFUSED);
    }
    atomic_store(&l.go, true);
    pthread_join(thread, NULL);
    CU_ASSERT_EQUAL(answers, 2000);
    tear_down(&f);
}

static CU_TestInfo tests[] = {
    {"a right login is asked once and remembered", a_right_login_is_asked_once_and_remembered},
    {"a refusal is remembered briefly", a_refusal_is_remembered_briefly},
    {"field 124: an error is never remembered", field_124_an_error_is_never_remembered},
    {"a refusal ends what was right", a_refusal_ends_what_was_right},
    {"while nobody can be asked", while_nobody_can_be_asked},
    {"a refusal may go to the next", a_refusal_may_go_to_the_next},
    {"the same credentials share one check", the_same_credentials_share_one_check},
    {"who waits is bounded", who_waits_is_bounded},
    {"a stale or strange answer is nothing", a_stale_or_strange_answer_is_nothing},
    {"wrong tries are limited and right ones are not", wrong_tries_are_limited_and_right_ones_are_not},
    {"a token gives its owner's name", a_token_gives_its_owners_name},
    {"after a reload clients stay and connects are asked",
     after_a_reload_clients_stay_and_connects_are_asked},
    {"a wait ends with the answer", a_wait_ends_with_the_answer},
    {"what comes after the wait goes into the cache", what_comes_after_the_wait_goes_into_the_cache},
    {"two threads", two_threads},
    CU_TEST_INFO_NULL};

MI_SUITE_MAIN("login", tests)
