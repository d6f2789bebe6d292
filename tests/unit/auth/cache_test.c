/* cache: what is remembered, for how long, and that a flood of wrong logins pushes out no right one. */
#include "auth/cache.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>

static struct mi_secret_hash secret;

static const uint8_t *hash_of(unsigned n)
{
    static uint8_t hash[4][MI_SECRET_HASH_BYTES];
    static unsigned turn;
    char name[16];
    snprintf(name, sizeof name, "user%u", n);
    uint8_t *to = hash[turn++ % 4];
    CU_ASSERT_TRUE_FATAL(mi_secret_hash_pair(&secret, mi_span_of(name), mi_span_of("pw"), to));
    return to;
}

static void the_hash_keeps_pairs_apart_and_is_of_this_process(void)
{
    struct mi_secret_hash other;
    uint8_t a[MI_SECRET_HASH_BYTES], b[MI_SECRET_HASH_BYTES];
    static uint8_t long_text[65536];
    CU_ASSERT_TRUE_FATAL(mi_secret_hash_init(&secret, &mi_clock_system) &&
                         mi_secret_hash_init(&other, &mi_clock_system));
    mi_secret_hash_pair(&secret, mi_span_of("ab"), mi_span_of("c"), a);
    mi_secret_hash_pair(&secret, mi_span_of("a"), mi_span_of("bc"), b);
    CU_ASSERT_NOT_EQUAL(memcmp(a, b, sizeof a), 0);
    mi_secret_hash_pair(&secret, mi_span_of("ab"), mi_span_of("c"), b);
    CU_ASSERT_EQUAL(memcmp(a, b, sizeof a), 0);
    mi_secret_hash_pair(&other, mi_span_of("ab"), mi_span_of("c"), b);
    CU_ASSERT_NOT_EQUAL(memcmp(a, b, sizeof a), 0);
    struct mi_span whole = {long_text, sizeof long_text}, shorter = {long_text, sizeof long_text - 1};
    CU_ASSERT_TRUE(mi_secret_hash_pair(&secret, mi_span_of(NULL), whole, a));
    CU_ASSERT_TRUE(mi_secret_hash_pair(&secret, mi_span_of(NULL), shorter, b));
    CU_ASSERT_NOT_EQUAL(memcmp(a, b, sizeof a), 0);
    mi_secret_hash_fini(&other);
}

static void an_answer_is_found_with_its_age(void)
{
    struct mi_login_cache *c = mi_login_cache_new(4);
    CU_ASSERT_EQUAL(mi_login_cache_look(c, hash_of(1), 100).kind, MI_CACHED_NOT);
    mi_login_cache_put(c, hash_of(1), true, "dora", 100);
    mi_login_cache_put(c, hash_of(2), false, "", 110);
    struct mi_cached_login found = mi_login_cache_look(c, hash_of(1), 150);
    CU_ASSERT_EQUAL(found.kind, MI_CACHED_RIGHT);
    CU_ASSERT_EQUAL(found.age_ns, 50);
    CU_ASSERT_STRING_EQUAL(found.owner, "dora");
    found = mi_login_cache_look(c, hash_of(2), 150);
    CU_ASSERT_EQUAL(found.kind, MI_CACHED_REFUSED);
    CU_ASSERT_EQUAL(found.age_ns, 40);
    CU_ASSERT_STRING_EQUAL(found.owner, "");
    mi_login_cache_free(c);
}

static void the_newest_answer_counts(void)
{
    struct mi_login_cache *c = mi_login_cache_new(4);
    mi_login_cache_put(c, hash_of(1), true, "", 100);
    mi_login_cache_put(c, hash_of(1), false, "", 200);
    CU_ASSERT_EQUAL(mi_login_cache_look(c, hash_of(1), 200).kind, MI_CACHED_REFUSED);
    CU_ASSERT_EQUAL(mi_login_cache_count(c, MI_CACHED_RIGHT), 0);
    mi_login_cache_put(c, hash_of(1), true, "", 300);
    CU_ASSERT_EQUAL(mi_login_cache_look(c, hash_of(1), 300).kind, MI_CACHED_RIGHT);
    CU_ASSERT_EQUAL(mi_login_cache_count(c, MI_CACHED_REFUSED), 0);
    mi_login_cache_put(c, hash_of(1), true, "", 400);
    CU_ASSERT_EQUAL(mi_login_cache_look(c, hash_of(1), 400).age_ns, 0);
    CU_ASSERT_EQUAL(mi_login_cache_count(c, MI_CACHED_RIGHT), 1);
    mi_login_cache_free(c);
}

static void the_least_recently_used_goes_first(void)
{
    struct mi_login_cache *c = mi_login_cache_new(3);
    for (unsigned i = 0; i < 3; i++)
        mi_login_cache_put(c, hash_of(i), true, i == 1 ? "owner" : "", i);
    mi_login_cache_look(c, hash_of(0), 10);
    mi_login_cache_put(c, hash_of(3), true, "", 11);
    CU_ASSERT_EQUAL(mi_login_cache_look(c, hash_of(1), 12).kind, MI_CACHED_NOT);
    CU_ASSERT_EQUAL(mi_login_cache_look(c, hash_of(0), 12).kind, MI_CACHED_RIGHT);
    CU_ASSERT_EQUAL(mi_login_cache_look(c, hash_of(2), 12).kind, MI_CACHED_RIGHT);
    CU_ASSERT_EQUAL(mi_login_cache_look(c, hash_of(3), 12).kind, MI_CACHED_RIGHT);
    CU_ASSERT_EQUAL(mi_login_cache_count(c, MI_CACHED_RIGHT), 3);
    mi_login_cache_free(c);
}

static void wrong_logins_push_out_wrong_logins_only(void)
{
    struct mi_login_cache *c = mi_login_cache_new(50);
    for (unsigned i = 0; i < 50; i++)
        mi_login_cache_put(c, hash_of(i), true, "", 1);
    for (unsigned i = 1000; i < 3000; i++)
        mi_login_cache_put(c, hash_of(i), false, "", 2);
    for (unsigned i = 0; i < 50; i++)
        CU_ASSERT_EQUAL(mi_login_cache_look(c, hash_of(i), 3).kind, MI_CACHED_RIGHT);
    CU_ASSERT_EQUAL(mi_login_cache_count(c, MI_CACHED_REFUSED), 50);
    CU_ASSERT_EQUAL(mi_login_cache_look(c, hash_of(2999), 3).kind, MI_CACHED_REFUSED);
    CU_ASSERT_EQUAL(mi_login_cache_look(c, hash_of(1000), 3).kind, MI_CACHED_NOT);
    mi_login_cache_free(c);
}

static void after_a_reload_right_ones_are_marked(void)
{
    struct mi_login_cache *c = mi_login_cache_new(4);
    mi_login_cache_put(c, hash_of(1), true, "", 100);
    mi_login_cache_put(c, hash_of(2), false, "", 100);
    mi_login_cache_outdate(c);
    struct mi_cached_login found = mi_login_cache_look(c, hash_of(1), 130);
    CU_ASSERT_EQUAL(found.kind, MI_CACHED_RIGHT);
    CU_ASSERT_TRUE(found.outdated);
    CU_ASSERT_EQUAL(found.age_ns, 30);
    CU_ASSERT_EQUAL(mi_login_cache_look(c, hash_of(2), 130).kind, MI_CACHED_NOT);
    mi_login_cache_put(c, hash_of(1), true, "", 140);
    CU_ASSERT_FALSE(mi_login_cache_look(c, hash_of(1), 150).outdated);
    mi_login_cache_free(c);
}

/* Against a plain model: the same answers for any order of puts, looks and reloads. */
static void any_order_of_use_agrees_with_a_model(void)
{
    enum { USERS = 12, ROOM = 5 };
    struct mi_login_cache *c = mi_login_cache_new(ROOM);
    enum mi_cached kind[USERS] = {0};
    uint64_t used[USERS] = {0};
    for (uint64_t turn = 1; turn < 20000; turn++) {
        uint64_t bits = mi_random(&mi_clock_system);
        unsigned u = (unsigned)(bits % USERS);
        if (bits & 1ull << 40) {
            enum mi_cached right = bits & 1ull << 41 ? MI_CACHED_RIGHT : MI_CACHED_REFUSED;
            unsigned same = 0, oldest = USERS;
            if (kind[u] != right) {
                kind[u] = MI_CACHED_NOT;
                for (unsigned i = 0; i < USERS; i++)
                    if (kind[i] == right && same++ < USERS && (oldest == USERS || used[i] < used[oldest]))
                        oldest = i;
                if (same == ROOM)
                    kind[oldest] = MI_CACHED_NOT;
                used[u] = turn;
            }
            kind[u] = right;
            mi_login_cache_put(c, hash_of(u), right == MI_CACHED_RIGHT, "", turn);
        }
        CU_ASSERT_EQUAL_FATAL(mi_login_cache_look(c, hash_of(u), turn).kind, kind[u]);
        if (kind[u])
            used[u] = turn;
    }
    mi_login_cache_free(c);
}

static CU_TestInfo tests[] = {
    {"the hash keeps pairs apart and is of this process", the_hash_keeps_pairs_apart_and_is_of_this_process},
    {"an answer is found with its age", an_answer_is_found_with_its_age},
    {"the newest answer counts", the_newest_answer_counts},
    {"the least recently used goes first", the_least_recently_used_goes_first},
    {"wrong logins push out wrong logins only", wrong_logins_push_out_wrong_logins_only},
    {"after a reload right ones are marked", after_a_reload_right_ones_are_marked},
    {"any order of use agrees with a model", any_order_of_use_agrees_with_a_model},
    CU_TEST_INFO_NULL};

int main(int argc, char **argv)
{
    int code = mi_suite_run("login cache", tests, argc, argv);
    mi_secret_hash_fini(&secret);
    return code;
}
