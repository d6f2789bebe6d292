/* limits: how many wrong tries, what fills up again, and that a stranger locks nobody out for good. */
#include "auth/limits.h"
#include "support/suite.h"

#include <stdio.h>

#define S MI_NS_PER_S

static struct mi_secret_hash secret;

static struct mi_login_limits *limits(uint32_t per_user, uint32_t per_address)
{
    CU_ASSERT_TRUE_FATAL(mi_secret_hash_init(&secret, &mi_clock_system));
    struct mi_login_limits *l = mi_login_limits_new(per_user, per_address, &secret);
    CU_ASSERT_PTR_NOT_NULL_FATAL(l);
    return l;
}

static void end(struct mi_login_limits *l)
{
    mi_login_limits_free(l);
    mi_secret_hash_fini(&secret);
}

static bool take(struct mi_login_limits *l, const char *user, const char *address, uint64_t now)
{
    return mi_login_limits_take(l, mi_span_of(user), mi_span_of(address), false, now);
}

static unsigned take_all(struct mi_login_limits *l, const char *user, const char *address, uint64_t now)
{
    unsigned n = 0;
    while (n < 1000 && take(l, user, address, now))
        n++;
    return n;
}

static void ten_at_once_then_by_the_minute(void)
{
    struct mi_login_limits *l = limits(30, 0);
    CU_ASSERT_EQUAL(take_all(l, "alice", "10.0.0.1", 1000 * S), 10);
    CU_ASSERT_EQUAL(take_all(l, "alice", "10.0.0.2", 1001 * S), 0);
    CU_ASSERT_EQUAL(take_all(l, "alice", "10.0.0.2", 1002 * S), 1);
    CU_ASSERT_EQUAL(take_all(l, "alice", "10.0.0.2", 1012 * S), 5);
    CU_ASSERT_EQUAL(take_all(l, "alice", "10.0.0.2", 90000 * S), 10);
    end(l);
}

static void one_address_with_many_names(void)
{
    struct mi_login_limits *l = limits(30, 120);
    char name[16];
    unsigned n = 0;
    for (unsigned i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "user%u", i);
        n += take(l, name, "10.0.0.1", 5 * S);
    }
    CU_ASSERT_EQUAL(n, 20);
    CU_ASSERT_TRUE(take(l, "user400", "10.0.0.2", 5 * S));
    end(l);
}

static void right_tries_do_not_count(void)
{
    struct mi_login_limits *l = limits(30, 120);
    for (unsigned i = 0; i < 1000; i++) {
        CU_ASSERT_TRUE_FATAL(take(l, "alice", "10.0.0.1", 5 * S));
        mi_login_limits_give_back(l, mi_span_of("alice"), mi_span_of("10.0.0.1"), false);
    }
    CU_ASSERT_EQUAL(take_all(l, "alice", "10.0.0.1", 5 * S), 10);
    end(l);
}

/* More is never given back than there was. */
static void giving_back_fills_no_more_than_full(void)
{
    struct mi_login_limits *l = limits(30, 0);
    for (unsigned i = 0; i < 100; i++)
        mi_login_limits_give_back(l, mi_span_of("alice"), mi_span_of("a"), false);
    CU_ASSERT_EQUAL(take_all(l, "alice", "a", 5 * S), 10);
    end(l);
}

static void a_stranger_does_not_lock_out_who_was_right_before(void)
{
    struct mi_login_limits *l = limits(30, 600);
    take_all(l, "alice", "6.6.6.6", 5 * S);
    CU_ASSERT_FALSE(take(l, "alice", "10.0.0.1", 5 * S));
    CU_ASSERT_TRUE(mi_login_limits_take(l, mi_span_of("alice"), mi_span_of("10.0.0.1"), true, 5 * S));
    mi_login_limits_give_back(l, mi_span_of("alice"), mi_span_of("10.0.0.1"), true);
    CU_ASSERT_FALSE(take(l, "alice", "10.0.0.1", 5 * S));
    end(l);
}

/* A million names from many addresses: the others go on unless chance makes them share a place. */
static void a_flood_of_names_takes_no_place_of_others(void)
{
    struct mi_login_limits *l = limits(30, 0);
    char name[16];
    for (unsigned i = 0; i < 400; i++) {
        snprintf(name, sizeof name, "flood%u", i);
        take_all(l, name, "6.6.6.6", 5 * S);
    }
    unsigned free = 0;
    for (unsigned i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "user%u", i);
        free += take(l, name, "10.0.0.1", 5 * S);
    }
    CU_ASSERT_TRUE(free > 70);
    end(l);
}

static void without_bounds_and_without_names(void)
{
    struct mi_login_limits *l = limits(0, 0);
    CU_ASSERT_EQUAL(take_all(l, "alice", "10.0.0.1", 5 * S), 1000);
    mi_login_limits_set(l, 30, 0);
    CU_ASSERT_EQUAL(take_all(l, "", "10.0.0.1", 5 * S), 1000);
    CU_ASSERT_EQUAL(take_all(l, "alice", "", 5 * S), 10);
    end(l);
}

static CU_TestInfo tests[] = {
    {"ten at once, then by the minute", ten_at_once_then_by_the_minute},
    {"one address with many names", one_address_with_many_names},
    {"right tries do not count", right_tries_do_not_count},
    {"giving back fills no more than full", giving_back_fills_no_more_than_full},
    {"a stranger does not lock out who was right before", a_stranger_does_not_lock_out_who_was_right_before},
    {"a flood of names takes no place of others", a_flood_of_names_takes_no_place_of_others},
    {"without bounds and without names", without_bounds_and_without_names},
    CU_TEST_INFO_NULL};

MI_SUITE_MAIN("login limits", tests)
