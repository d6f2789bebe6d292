/* user_rules: who may do what by what a database told, who is asked for when, and two threads. */
#include "auth/user_rules.h"
#include "support/suite.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define S MI_NS_PER_S

struct fixture {
    struct mi_user_rules *rules;
    uint64_t now;
    bool deaf; /* the back end takes no question */
    unsigned asked;
    char last[64];
    unsigned gone;
    char gone_name[64];
};

static struct fixture *current;

static uint64_t now_ns(void *context)
{
    (void)context;
    return current->now;
}

static const struct mi_clock test_clock = {.now_ns = now_ns};

static bool ask(void *context, struct mi_span username)
{
    struct fixture *f = context;
    if (f->deaf)
        return false;
    f->asked++;
    snprintf(f->last, sizeof f->last, "%.*s", (int)username.len, (const char *)username.data);
    return true;
}

static void on_gone(void *context, const char *username)
{
    struct fixture *f = context;
    f->gone++;
    snprintf(f->gone_name, sizeof f->gone_name, "%s", username);
}

static void set_up(struct fixture *f, size_t max_users)
{
    memset(f, 0, sizeof *f);
    current = f;
    f->now = 1000 * S;
    struct mi_user_rules_options options = {
        .max_users = max_users, .refresh_ns = 30 * S, .clock = &test_clock, .ask = ask, .context = f};
    f->rules = mi_user_rules_new(&options);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->rules);
}

static void tell(struct fixture *f, const char *user, const char *text)
{
    mi_user_rules_tell(f->rules, mi_span_of(user), text);
}

static bool may(struct fixture *f, const char *user, const char *id, const char *topic,
                enum mi_acl_access access)
{
    const struct mi_acl_client client = {mi_span_of(user), mi_span_of(id)};
    return mi_user_rules_allow(f->rules, &client, mi_span_of(topic), access);
}

static void tick(struct fixture *f)
{
    mi_user_rules_tick(f->rules, on_gone, f);
}

static void what_was_told_counts_and_nothing_else(void)
{
    struct fixture f;
    set_up(&f, 10);
    tell(&f, "anna", "pattern read news/#\npattern write devices/%c/state\npattern readwrite own/%u/#\n");
    tell(&f, "bert", "");
    CU_ASSERT_TRUE(may(&f, "anna", "d1", "news/today", MI_ACL_READ));
    CU_ASSERT_FALSE(may(&f, "anna", "d1", "news/today", MI_ACL_WRITE));
    CU_ASSERT_TRUE(may(&f, "anna", "d1", "devices/d1/state", MI_ACL_WRITE));
    CU_ASSERT_FALSE(may(&f, "anna", "d1", "devices/d2/state", MI_ACL_WRITE));
    CU_ASSERT_FALSE(may(&f, "anna", "d1/x", "devices/d1/x/state", MI_ACL_WRITE));
    CU_ASSERT_FALSE(may(&f, "anna", "+", "devices/d2/state", MI_ACL_WRITE));
    CU_ASSERT_TRUE(may(&f, "anna", "d1", "own/anna/x", MI_ACL_WRITE));
    CU_ASSERT_FALSE(may(&f, "anna", "d1", "own/bert/x", MI_ACL_READ));
    CU_ASSERT_FALSE(may(&f, "bert", "d1", "news/today", MI_ACL_READ));
    CU_ASSERT_FALSE(may(&f, "", "d1", "news/today", MI_ACL_READ));
    CU_ASSERT_FALSE(may(&f, "ann", "d1", "news/today", MI_ACL_READ));
    tell(&f, "anna", "pattern write news/#\n");
    CU_ASSERT_FALSE(may(&f, "anna", "d1", "news/today", MI_ACL_READ));
    tell(&f, "anna", "no such line\n"); /* cannot be used: nothing is allowed */
    CU_ASSERT_FALSE(may(&f, "anna", "d1", "news/today", MI_ACL_WRITE));
    mi_user_rules_free(f.rules);
}

static void who_is_not_known_is_asked_for_once(void)
{
    struct fixture f;
    set_up(&f, 10);
    f.deaf = true;
    for (int i = 0; i < 3; i++)
        CU_ASSERT_FALSE(may(&f, "carl", "d1", "a", MI_ACL_READ));
    tick(&f);
    CU_ASSERT_EQUAL(f.asked, 0);
    f.deaf = false;
    tick(&f);
    CU_ASSERT_EQUAL(f.asked, 0);
    f.now += 2 * S;
    tick(&f);
    tick(&f);
    CU_ASSERT_EQUAL(f.asked, 1);
    CU_ASSERT_STRING_EQUAL(f.last, "carl");
    tell(&f, "carl", "pattern read a\n");
    CU_ASSERT_TRUE(may(&f, "carl", "d1", "a", MI_ACL_READ));
    mi_user_rules_free(f.rules);
}

static void who_is_gone_is_told_once(void)
{
    struct fixture f;
    set_up(&f, 10);
    tell(&f, "nobody", NULL);
    tick(&f);
    CU_ASSERT_EQUAL(f.gone, 0);
    tell(&f, "anna", "pattern read a\n");
    tick(&f);
    tell(&f, "anna", NULL);
    CU_ASSERT_FALSE(may(&f, "anna", "d1", "a", MI_ACL_READ));
    tick(&f);
    tick(&f);
    CU_ASSERT_EQUAL(f.gone, 1);
    CU_ASSERT_STRING_EQUAL(f.gone_name, "anna");
    CU_ASSERT_EQUAL(mi_user_rules_count(f.rules), 0);
    mi_user_rules_free(f.rules);
}

static void all_are_asked_for_again_within_the_time(void)
{
    struct fixture f;
    char name[16];
    set_up(&f, 100);
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "user%d", i);
        tell(&f, name, "pattern read a\n");
    }
    tick(&f);
    for (int i = 0; i < 300; i++, f.now += S / 10) {
        unsigned before = f.asked;
        tick(&f);
        CU_ASSERT_TRUE(f.asked <= before + 1);
    }
    CU_ASSERT_TRUE(f.asked >= 19);
    CU_ASSERT_TRUE(f.asked <= 25);
    mi_user_rules_free(f.rules);
}

static void so_many_are_known(void)
{
    struct fixture f;
    set_up(&f, 3);
    tell(&f, "a", "pattern read x\n");
    tell(&f, "b", "pattern read x\n");
    tell(&f, "c", "pattern read x\n");
    tell(&f, "a", "pattern read x\n");
    tell(&f, "d", "pattern read x\n");
    tick(&f);
    CU_ASSERT_EQUAL(mi_user_rules_count(f.rules), 3);
    CU_ASSERT_FALSE(may(&f, "b", "i", "x", MI_ACL_READ));
    CU_ASSERT_TRUE(may(&f, "a", "i", "x", MI_ACL_READ) && may(&f, "c", "i", "x", MI_ACL_READ) &&
                   may(&f, "d", "i", "x", MI_ACL_READ));
    mi_user_rules_free(f.rules);
}

static void *teller(void *arg)
{
    struct fixture *f = arg;
    for (int i = 0; i < 2000; i++)
        tell(f, i & 1 ? "anna" : "bert", i % 100 == 99 ? NULL : "pattern read a\n");
    tell(f, "anna", "pattern read a\n");
    return NULL;
}

static void two_threads(void)
{
    struct fixture f;
    pthread_t thread;
    set_up(&f, 10);
    pthread_create(&thread, NULL, teller, &f);
    for (int i = 0; i < 2000; i++) {
        may(&f, "anna", "i", "a", MI_ACL_READ);
        tick(&f);
    }
    pthread_join(thread, NULL);
    CU_ASSERT_TRUE(may(&f, "anna", "i", "a", MI_ACL_READ));
    mi_user_rules_free(f.rules);
}

static CU_TestInfo tests[] = {
    {"what was told counts and nothing else", what_was_told_counts_and_nothing_else},
    {"who is not known is asked for once", who_is_not_known_is_asked_for_once},
    {"who is gone is told once", who_is_gone_is_told_once},
    {"all are asked for again within the time", all_are_asked_for_again_within_the_time},
    {"so many are known", so_many_are_known},
    {"two threads", two_threads},
    CU_TEST_INFO_NULL};

MI_SUITE_MAIN("user rules", tests)
