/* interest: who subscribed to what, and what that wants; overlap against brute force. */
#include "in/filter_index.h"
#include "in/interest.h"
#include "support/suite.h"

#include <mosquitto.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct mi_interest *t;

static void begin(size_t max_filters)
{
    t = mi_interest_new(max_filters, &mi_clock_system);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    mi_interest_set_unknown(t, false);
}

static void end(void)
{
    mi_interest_free(t);
}

static void subscribe(const char *client, const char *filter)
{
    mi_interest_subscribe(t, mi_span_of(client), mi_span_of(filter), false);
}

static void subscribe_for_good(const char *client, const char *filter)
{
    mi_interest_subscribe(t, mi_span_of(client), mi_span_of(filter), true);
}

static bool wants(const char *filter)
{
    struct mi_interest_picture *p = mi_interest_picture(t);
    bool yes = mi_interest_wants(p, filter);
    mi_interest_picture_release(p);
    return yes;
}

static void unknown_is_wanted(void)
{
    t = mi_interest_new(10, &mi_clock_system);
    CU_ASSERT_TRUE(mi_interest_wants(NULL, "a"));
    CU_ASSERT_TRUE(wants("a"));
    mi_interest_set_unknown(t, false);
    CU_ASSERT_FALSE(wants("a"));
    subscribe("c", "a");
    CU_ASSERT_TRUE(wants("a"));
    CU_ASSERT_FALSE(wants("b"));
    mi_interest_set_unknown(t, true);
    CU_ASSERT_TRUE(wants("b"));
    end();
}

static void what_changes_is_said_once(void)
{
    begin(10);
    CU_ASSERT_TRUE(mi_interest_changed(t));
    struct mi_interest_picture *first = mi_interest_picture(t);
    CU_ASSERT_FALSE(mi_interest_changed(t));
    subscribe("c1", "a");
    CU_ASSERT_TRUE(mi_interest_changed(t));
    struct mi_interest_picture *second = mi_interest_picture(t);
    subscribe("c1", "a");
    subscribe("c2", "a");
    mi_interest_unsubscribe(t, mi_span_of("c1"), mi_span_of("a"));
    mi_interest_unsubscribe(t, mi_span_of("c1"), mi_span_of("a"));
    mi_interest_unsubscribe(t, mi_span_of("c9"), mi_span_of("a"));
    mi_interest_unsubscribe(t, mi_span_of("c2"), mi_span_of("never"));
    CU_ASSERT_FALSE(mi_interest_changed(t));
    struct mi_interest_picture *third = mi_interest_picture(t);
    CU_ASSERT_PTR_EQUAL(second, third);
    mi_interest_unsubscribe(t, mi_span_of("c2"), mi_span_of("a"));
    CU_ASSERT_TRUE(mi_interest_changed(t));
    CU_ASSERT_FALSE(wants("a"));
    CU_ASSERT_FALSE(mi_interest_wants(first, "a")); /* pictures do not move */
    CU_ASSERT_TRUE(mi_interest_wants(second, "a"));
    end();
    CU_ASSERT_TRUE(mi_interest_wants(second, "a")); /* and outlive their table */
    mi_interest_picture_release(first);
    mi_interest_picture_release(second);
    mi_interest_picture_release(third);
}

static void a_shared_subscription_counts_like_its_filter(void)
{
    begin(10);
    subscribe("c1", "$share/group/rooms/+");
    CU_ASSERT_TRUE(wants("rooms/1"));
    CU_ASSERT_FALSE(wants("group/rooms/1"));
    subscribe("c1", "rooms/+");
    CU_ASSERT_EQUAL(mi_interest_filters(t), 1);
    mi_interest_unsubscribe(t, mi_span_of("c1"), mi_span_of("$share/group/rooms/+"));
    CU_ASSERT_EQUAL(mi_interest_filters(t), 0);
    end();
}

static void what_cannot_come_from_iggy_is_nobodys_interest(void)
{
    static const char *const filters[] = {
        "$iggy/2h/#", "$SYS/#", "$share/g/$iggy/first/a", "$share/x", "$share/", "$share/g/", "$", ""};
    begin(10);
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        subscribe("c", filters[i]);
    CU_ASSERT_EQUAL(mi_interest_filters(t), 0);
    CU_ASSERT_FALSE(wants("#"));
    end();
}

static void sessions_live_as_long_as_they_can(void)
{
    begin(10);
    subscribe("clean", "a");
    subscribe_for_good("stays", "b");
    mi_interest_disconnected(t, mi_span_of("clean"));
    mi_interest_disconnected(t, mi_span_of("stays"));
    mi_interest_disconnected(t, mi_span_of("stranger"));
    CU_ASSERT_FALSE(wants("a"));
    CU_ASSERT_TRUE(wants("b"));
    mi_interest_connected(t, mi_span_of("stays"), false); /* resumed */
    CU_ASSERT_TRUE(wants("b"));
    mi_interest_connected(t, mi_span_of("stays"), true); /* had not left: nothing new began */
    CU_ASSERT_TRUE(wants("b"));
    mi_interest_disconnected(t, mi_span_of("stays"));
    mi_interest_connected(t, mi_span_of("stays"), true);
    CU_ASSERT_FALSE(wants("b"));
    subscribe_for_good("stays", "c");
    mi_interest_session_ended(t, mi_span_of("stays"));
    CU_ASSERT_FALSE(wants("c"));
    CU_ASSERT_EQUAL(mi_interest_filters(t), 0);
    end();
}

static void a_clean_session_after_a_lasting_one_ends_with_its_connection(void)
{
    begin(10);
    subscribe_for_good("c", "a");
    mi_interest_disconnected(t, mi_span_of("c"));
    mi_interest_connected(t, mi_span_of("c"), true);
    subscribe("c", "b");
    CU_ASSERT_FALSE(wants("a"));
    CU_ASSERT_TRUE(wants("b"));
    mi_interest_disconnected(t, mi_span_of("c"));
    CU_ASSERT_FALSE(wants("b"));
    end();
}

static bool is_odd(void *context, const char *client)
{
    ++*(int *)context;
    return (client[strlen(client) - 1] - '0') % 2;
}

static void sessions_that_expired_are_swept(void)
{
    char id[32];
    int asked = 0, rounds = 1;
    begin(2000);
    for (int i = 0; i < 1000; i++) {
        snprintf(id, sizeof id, "client-%d", i);
        subscribe_for_good(id, id);
        if (i < 500)
            mi_interest_disconnected(t, mi_span_of(id));
    }
    while (!mi_interest_sweep(t, is_odd, &asked))
        rounds++;
    CU_ASSERT_TRUE(rounds > 1);
    CU_ASSERT_EQUAL(asked, 500); /* those that are away */
    CU_ASSERT_EQUAL(mi_interest_filters(t), 750);
    CU_ASSERT_FALSE(wants("client-1"));
    CU_ASSERT_TRUE(wants("client-2"));
    CU_ASSERT_TRUE(wants("client-501"));
    end();
    begin(10);
    CU_ASSERT_TRUE(mi_interest_sweep(t, is_odd, &asked)); /* nobody there */
    end();
}

static void too_many_filters_want_everything_until_there_are_fewer(void)
{
    char filter[32];
    begin(100);
    for (int i = 0; i < 100; i++) {
        snprintf(filter, sizeof filter, "t/%d", i);
        subscribe(i % 2 ? "odd" : "even", filter);
    }
    CU_ASSERT_FALSE(wants("other"));
    subscribe("more", "x");
    CU_ASSERT_TRUE(wants("other"));
    mi_interest_disconnected(t, mi_span_of("odd"));
    CU_ASSERT_FALSE(wants("other"));
    CU_ASSERT_EQUAL(mi_interest_filters(t), 51);
    CU_ASSERT_TRUE(wants("t/98"));
    CU_ASSERT_FALSE(wants("t/97"));
    end();
}

static void ten_thousand_subscribers_of_one_topic_are_one_filter(void)
{
    char id[32];
    begin(10);
    for (int i = 0; i < 10000; i++) {
        snprintf(id, sizeof id, "client-%d", i);
        subscribe(id, "news");
    }
    CU_ASSERT_EQUAL(mi_interest_filters(t), 1);
    for (int i = 0; i < 9999; i++) {
        snprintf(id, sizeof id, "client-%d", i);
        mi_interest_disconnected(t, mi_span_of(id));
    }
    CU_ASSERT_TRUE(wants("news"));
    mi_interest_disconnected(t, mi_span_of("client-9999"));
    CU_ASSERT_FALSE(wants("news"));
    end();
}

/* ---- overlap ---- */

static const char *const levels[] = {"a", "b", "+", "", "$a", "a-b", "ab"};

/* A filter of up to four levels; topic: without wildcards. */
static void random_filter(char *out, bool topic)
{
    for (;;) {
        int count = 1 + rand() % 4;
        char *at = out;
        for (int i = 0; i < count; i++) {
            const char *level = levels[(size_t)rand() % (sizeof levels / sizeof *levels)];
            if (topic && *level == '+')
                level = "b";
            at += sprintf(at, "%s%s", i ? "/" : "", level);
        }
        if (!topic && rand() % 4 == 0)
            sprintf(at, "/#");
        if (!topic && rand() % 40 == 0)
            strcpy(out, "#");
        if (*out)
            return;
    }
}

enum { TOPICS = 2400 }; /* all of one to four levels, out of six */
static char topics[TOPICS][40];
static size_t topic_count;

static void all_topics(void)
{
    static const char *const words[] = {"a", "b", "", "$a", "a-b", "ab"};
    topic_count = 0;
    for (size_t depth = 1, of = 6; depth <= 4; depth++, of *= 6)
        for (size_t n = 0; n < of; n++) {
            char *at = topics[topic_count];
            size_t rest = n;
            for (size_t i = 0; i < depth; i++, rest /= 6)
                at += sprintf(at, "%s%s", i ? "/" : "", words[rest % 6]);
            if (topics[topic_count][0])
                topic_count++;
        }
}

/* 4.7.2: a wildcard does not reach what begins with $; libmosquitto's own rule. */
static bool matches(const char *filter, const char *topic)
{
    bool result = false;
    mosquitto_topic_matches_sub(filter, topic, &result);
    return result;
}

static bool overlap_by_force(const char *a, const char *b)
{
    for (size_t i = 0; i < topic_count; i++)
        if (matches(a, topics[i]) && matches(b, topics[i]))
            return true;
    return false;
}

/* "/#" matches its parent, the topic of no bytes; as "+" would, if there were such a topic. */
static bool at_nothing(const char *a, const char *b)
{
    return (strcmp(a, "/#") == 0 && strcmp(b, "+") == 0) || (strcmp(a, "+") == 0 && strcmp(b, "/#") == 0);
}

/* Filters deeper than the topics could overlap only below them. */
static bool fits(const char *filter)
{
    int depth = 1;
    for (; *filter; filter++)
        depth += *filter == '/';
    return depth <= 4;
}

static void overlap_is_what_brute_force_finds(void)
{
    char a[64], b[64];
    int both[2] = {0, 0};
    all_topics();
    srand(20261129);
    for (int i = 0; i < 6000; i++) {
        random_filter(a, false);
        random_filter(b, false);
        if (!fits(a) || !fits(b) || at_nothing(a, b))
            continue;
        bool expected = overlap_by_force(a, b), is = mi_filters_overlap(a, b);
        both[expected]++;
        if (is != expected || mi_filters_overlap(b, a) != expected) {
            printf("%s and %s: %d instead of %d\n", a, b, is, expected);
            CU_FAIL("overlap");
        }
    }
    CU_ASSERT_TRUE(both[0] > 1000 && both[1] > 500);
}

static void an_index_finds_what_the_pairs_say(void)
{
    char texts[60][64], question[64];
    struct mi_span spans[60];
    int both[2] = {0, 0};
    srand(7);
    for (int round = 0; round < 3000; round++) {
        size_t count = (size_t)(rand() % 60);
        bool expected = false;
        for (size_t i = 0; i < count; i++) {
            random_filter(texts[i], rand() % 2);
            spans[i] = mi_span_of(texts[i]);
        }
        struct mi_filter_index *x = mi_filter_index_new(spans, count);
        CU_ASSERT_PTR_NOT_NULL_FATAL(x);
        for (int q = 0; q < 20; q++) {
            random_filter(question, rand() % 2);
            expected = false;
            for (size_t i = 0; i < count; i++)
                expected = expected || mi_filters_overlap(question, texts[i]);
            both[expected]++;
            CU_ASSERT_EQUAL(mi_filter_index_overlaps(x, mi_span_of(question)), expected);
        }
        mi_filter_index_free(x);
    }
    CU_ASSERT_TRUE(both[0] > 5000 && both[1] > 5000);
}

static void ten_thousand_filters_answer_ten_thousand_questions(void)
{
    char text[64];
    size_t yes = 0;
    begin(20000);
    for (int i = 0; i < 10000; i++) {
        snprintf(text, sizeof text, "building/%d/room/+/#", i * 2);
        subscribe("c", text);
    }
    struct mi_interest_picture *p = mi_interest_picture(t);
    for (int i = 0; i < 10000; i++) {
        snprintf(text, sizeof text, "building/%d/room/7", i);
        yes += mi_interest_wants(p, text);
        snprintf(text, sizeof text, "+/%d/#", i);
        yes += mi_interest_wants(p, text);
    }
    CU_ASSERT_EQUAL(yes, 10000);
    mi_interest_picture_release(p);
    end();
}

static void field_65_deep_filters_need_no_deep_stack(void)
{
    static char deep[40001];
    begin(10);
    for (size_t i = 0; i + 1 < sizeof deep; i++)
        deep[i] = i % 2 ? '/' : '+';
    deep[sizeof deep - 1] = 0;
    subscribe("c", deep);
    CU_ASSERT_TRUE(wants(deep));
    CU_ASSERT_FALSE(wants("+/+"));
    end();
}

/* ---- any thread ---- */

static void *asker(void *arg)
{
    struct mi_interest_picture *p = arg;
    bool good = true;
    for (int i = 0; i < 500; i++) {
        char text[32];
        snprintf(text, sizeof text, "t/%d", i);
        good = good && mi_interest_wants(p, text) == (i % 2 == 0);
    }
    mi_interest_picture_release(p);
    return good ? p : NULL;
}

static void a_picture_is_asked_by_any_thread(void)
{
    pthread_t threads[4];
    char text[32];
    begin(10000);
    for (int i = 0; i < 500; i += 2) {
        snprintf(text, sizeof text, "t/%d", i);
        subscribe("c", text);
    }
    for (int i = 0; i < 4; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, asker, mi_interest_picture(t)), 0);
    mi_interest_session_ended(t, mi_span_of("c"));
    for (int i = 0; i < 4; i++) {
        void *good = NULL;
        pthread_join(threads[i], &good);
        CU_ASSERT_PTR_NOT_NULL(good);
    }
    end();
}

static CU_TestInfo tests[] = {
    {"unknown is wanted", unknown_is_wanted},
    {"what changes is said once", what_changes_is_said_once},
    {"a shared subscription counts like its filter", a_shared_subscription_counts_like_its_filter},
    {"what cannot come from Iggy is nobody's interest", what_cannot_come_from_iggy_is_nobodys_interest},
    {"sessions live as long as they can", sessions_live_as_long_as_they_can},
    {"a clean session after a lasting one ends with its connection",
     a_clean_session_after_a_lasting_one_ends_with_its_connection},
    {"sessions that expired are swept", sessions_that_expired_are_swept},
    {"too many filters want everything until there are fewer",
     too_many_filters_want_everything_until_there_are_fewer},
    {"ten thousand subscribers of one topic are one filter",
     ten_thousand_subscribers_of_one_topic_are_one_filter},
    {"overlap is what brute force finds", overlap_is_what_brute_force_finds},
    {"an index finds what the pairs say", an_index_finds_what_the_pairs_say},
    {"ten thousand filters answer ten thousand questions",
     ten_thousand_filters_answer_ten_thousand_questions},
    {"field 65: deep filters need no deep stack", field_65_deep_filters_need_no_deep_stack},
    {"a picture is asked by any thread", a_picture_is_asked_by_any_thread},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("interest", tests)
