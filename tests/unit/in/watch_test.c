/* watch: what looking costs, how it steps down, what it does without rights, and that a turn costs nothing
 * for what does not move; and feed: on_subscribe. */
#include "in/interest.h"
#include "support/suite.h"
#include "world.h"

#include <stdio.h>
#include <string.h>

#define COMMON "'direction':'in','mqtt_topic':'a/{partition}'"
#define ONE "'routes':[{'name':'r','stream':'s','topic':'t'," COMMON "}]"
#define MANY \
    "'routes':[{'name':'r','stream':'s{s}','topic':'t{t}','direction':'in','mqtt_topic':'a/{s}/{t}'}]"

static struct world w;
static uint32_t sent;

static unsigned asked(void)
{
    unsigned n = 0;
    for (int kind = 0; kind < FAKE_KINDS; kind++)
        n += fake.asked[kind];
    return n;
}

static void make_many(unsigned streams, unsigned topics, uint32_t partitions)
{
    char stream[16], topic[16];
    for (unsigned s = 0; s < streams; s++)
        for (unsigned t = 0; t < topics; t++) {
            snprintf(stream, sizeof stream, "s%c", (char)('a' + s));
            snprintf(topic, sizeof topic, "t%02ux", t);
            fake_create(stream, topic, partitions);
        }
}

static double readers(void)
{
    return (double)mi_metrics_get(w.metrics, MI_G_READERS);
}

static void a_thousand_idle_partitions_of_one_topic(void)
{
    sent = 0;
    world_begin(&w, ONE);
    fake_create("s", "t", 1000);
    world_pass(&w, 3000);
    CU_ASSERT_EQUAL(readers(), 1000);
    unsigned before = asked(), details = fake.asked[FAKE_TOPIC];
    size_t steps = w.steps;
    world_pass(&w, 10000);
    printf("\n    %u requests (%u for details) in 10 s, %zu turns\n", asked() - before,
           fake.asked[FAKE_TOPIC] - details, w.steps - steps);
    CU_ASSERT_TRUE(asked() - before < 120);
    CU_ASSERT_TRUE(fake.asked[FAKE_TOPIC] - details <= 3); /* the list of streams tells */
    CU_ASSERT_TRUE(w.steps - steps < 1000);
    for (uint32_t n = 0; n < 50; n++) {
        fake_append(fake_find("s", "t"), n * 19, sent++, 10);
        world_pass(&w, 150);
    }
    world_settle(&w, 500);
    CU_ASSERT_EQUAL(w.delivered, 50);
    world_end(&w);
}

static void a_hundred_topics_in_ten_streams(void)
{
    sent = 0;
    world_begin(&w, MANY);
    make_many(10, 10, 10);
    world_pass(&w, 5000);
    CU_ASSERT_EQUAL(readers(), 1000);
    unsigned before = asked(), details = fake.asked[FAKE_TOPIC];
    world_pass(&w, 10000);
    printf("\n    %u requests (%u for details) in 10 s\n", asked() - before,
           fake.asked[FAKE_TOPIC] - details);
    CU_ASSERT_TRUE(asked() - before < 450); /* 100 lists, 200 details of the unconditional look, discovery */
    uint64_t longest = 0;
    for (size_t i = 0; i < fake.topic_count; i += 3) {
        uint64_t at = fake.now_ns;
        size_t had = w.delivered;
        fake_append(&fake.topics[i], (uint32_t)i % 10, sent++, 10);
        while (w.delivered == had && fake.now_ns < at + MI_NS_PER_S)
            world_pass(&w, 1);
        longest = fake.now_ns - at > longest ? fake.now_ns - at : longest;
        world_pass(&w, 1000);
    }
    CU_ASSERT_EQUAL(w.delivered, sent);
    CU_ASSERT_TRUE(longest <= 120 * MI_NS_PER_MS); /* the slowest turn, and three steps */
    world_end(&w);
}

/* Reading begins at the end of what is there at the first look, but what is made later is read from its
 * beginning: also when it was made while the bridge was away. */
static void a_stream_that_is_made_later_is_read_from_its_beginning(void)
{
    sent = 0;
    world_begin(&w, MANY);
    make_many(1, 1, 1);
    fake_append(&fake.topics[0], 0, sent++, 10); /* was there */
    world_pass(&w, 5000);
    CU_ASSERT_EQUAL(w.delivered, 0);
    fake_create("sz", "t00x", 2);
    fake_append(fake_find("sz", "t00x"), 0, sent++, 10);
    fake_append(fake_find("sz", "t00x"), 1, sent++, 10);
    world_settle(&w, 5000);
    CU_ASSERT_EQUAL(w.delivered, 2);
    world_stop(&w);
    fake_create("sy", "t00x", 1);
    fake_append(fake_find("sy", "t00x"), 0, sent++, 10);
    world_start(&w);
    world_settle(&w, 5000);
    CU_ASSERT_EQUAL(w.delivered, 3);
    world_end(&w);
}

/* Retention takes as many as come: the counts stand still. */
static void counts_that_stand_still_hide_nothing_for_long(void)
{
    sent = 0;
    world_begin(&w, MANY);
    make_many(4, 5, 2);
    for (int i = 0; i < 10; i++)
        fake_append(&fake.topics[7], 0, sent++, 10);
    world_pass(&w, 5000);
    size_t had = w.delivered;
    fake_append(&fake.topics[7], 0, sent++, 10);
    fake_expire(&fake.topics[7], 0, 1);
    world_pass(&w, 6000);
    CU_ASSERT_EQUAL(w.delivered, had + 1);
    world_end(&w);
}

static void without_rights_it_falls_back_level_by_level(void)
{
    for (int level = 0; level < 3; level++) {
        sent = 0;
        world_begin(&w, "'routes':[{'name':'a','stream':'sa','topic':'t00x'," COMMON
                        "},{'name':'b','stream':'sa','topic':'t01x'," COMMON
                        "},{'name':'c','stream':'sa','topic':'t02x'," COMMON
                        "},{'name':'d','stream':'sb','topic':'t00x'," COMMON
                        "},{'name':'e','stream':'sb','topic':'t01x'," COMMON "}]");
        make_many(2, 3, 1);
        fake.no_list = true;
        fake.no_streams = level > 0;
        for (size_t i = 0; i < fake.topic_count; i++)
            fake.topics[i].no_details = level > 1;
        world_pass(&w, 3000);
        for (uint32_t n = 0; n < 20; n++) {
            fake_append(&fake.topics[n % 5], 0, sent++, 10);
            world_pass(&w, 300);
        }
        world_settle(&w, 3000);
        CU_ASSERT_EQUAL(w.delivered, 20);
        unsigned before = asked(), streams = fake.asked[FAKE_STREAM], topics = fake.asked[FAKE_TOPIC],
                 polls = fake.asked[FAKE_POLL];
        world_pass(&w, 10000);
        printf("\n    level %d: %u streams, %u topics, %u polls in 10 s", level,
               fake.asked[FAKE_STREAM] - streams, fake.asked[FAKE_TOPIC] - topics,
               fake.asked[FAKE_POLL] - polls);
        CU_ASSERT_TRUE(asked() - before < 700);
        if (level == 2)
            CU_ASSERT_EQUAL(fake.asked[FAKE_TOPIC] - topics, 0);
        CU_ASSERT_TRUE(level == 0 || fake.asked[FAKE_STREAM] - streams <= 5);
        world_end(&w);
    }
    printf("\n");
}

/* Lists that nobody can read, and such that never end, are no reason to stop: with time all is found. */
static void answers_about_topics_that_cannot_be_read(void)
{
    for (int large = 0; large < 2; large++) {
        sent = 0;
        world_begin(&w, MANY);
        make_many(3, 5, 2);
        world_pass(&w, 5000);
        CU_ASSERT_EQUAL(readers(), 30);
        fake.look_fault = large ? FAKE_TOO_LARGE : FAKE_GARBLED;
        unsigned before = asked();
        for (int i = 0; i < 20; i++) {
            fake_append(&fake.topics[i % 15], 0, sent++, 10);
            world_pass(&w, 500);
        }
        CU_ASSERT_TRUE(asked() - before < 2200);
        if (large) /* as without rights: partitions are polled */
            CU_ASSERT_TRUE(w.delivered >= 15);
        fake.look_fault = FAKE_FINE;
        world_settle(&w, 12000);
        CU_ASSERT_EQUAL(w.delivered, sent);
        world_end(&w);
    }
}

static void a_right_that_comes_later_is_used(void)
{
    sent = 0;
    world_begin(&w, ONE);
    fake_create("s", "t", 1)->no_details = true;
    fake.no_list = true;
    world_pass(&w, 5000);
    fake.topics[0].no_details = fake.no_list = false;
    world_pass(&w, 61000);
    unsigned polls = fake.asked[FAKE_POLL];
    world_pass(&w, 5000);
    CU_ASSERT_TRUE(fake.asked[FAKE_POLL] - polls <= 1);
    world_end(&w);
}

static void the_budget_holds(void)
{
    sent = 0;
    world_begin(&w, "'limits':{'watch_requests':50}," MANY);
    make_many(10, 10, 3);
    world_pass(&w, 10000);                 /* they are found */
    fake.no_list = fake.no_streams = true; /* the dearest way */
    world_pass(&w, 5000);
    unsigned before = fake.asked[FAKE_TOPIC];
    for (int i = 0; i < 1000; i++) {
        fake_append(&fake.topics[fake_random() % 100], (uint32_t)(fake_random() % 3), sent++, 10);
        world_pass(&w, 10);
    }
    CU_ASSERT_TRUE(fake.asked[FAKE_TOPIC] - before <= 520);
    world_settle(&w, 10000);
    CU_ASSERT_EQUAL(w.delivered, sent);
    world_end(&w);
}

static void an_active_partition_is_polled_directly(void)
{
    sent = 0;
    world_begin(&w, ONE);
    fake_create("s", "t", 1);
    world_pass(&w, 2000);
    uint64_t longest = 0;
    unsigned details = 0;
    for (int i = 0; i < 400; i++) {
        uint64_t at = fake.now_ns;
        size_t had = w.delivered;
        fake_append(&fake.topics[0], 0, sent++, 10);
        while (w.delivered == had && fake.now_ns < at + MI_NS_PER_S)
            world_pass(&w, 1);
        if (i == 100)
            details = fake.asked[FAKE_TOPIC];
        if (i > 0)
            longest = fake.now_ns - at > longest ? fake.now_ns - at : longest;
        world_pass(&w, 7);
    }
    printf("\n    longest: %.1f ms\n", (double)longest / 1e6);
    CU_ASSERT_TRUE(longest <= 8 * MI_NS_PER_MS);
    CU_ASSERT_TRUE(fake.asked[FAKE_TOPIC] - details <= 2);
    unsigned polls = fake.asked[FAKE_POLL];
    world_pass(&w, 5000);
    CU_ASSERT_TRUE(fake.asked[FAKE_POLL] - polls <= 30); /* quiet again: not polled any more */
    world_end(&w);
}

/* Looking at the others must not take the requests that one with traffic needs. */
static void an_active_partition_among_idle_topics(void)
{
    sent = 0;
    world_begin(&w, "'limits':{'watch_requests':50},'routes':[{'name':'a','stream':'s','topic':'a'," COMMON
                    "},{'name':'b','stream':'s','topic':'b'," COMMON
                    "},{'name':'c','stream':'s','topic':'c'," COMMON "}]");
    fake_create("s", "a", 1);
    fake_create("s", "b", 20);
    fake_create("s", "c", 1);
    world_pass(&w, 3000);
    uint64_t longest = 0;
    for (int i = 0; i < 400; i++) {
        uint64_t at = fake.now_ns;
        size_t had = w.delivered;
        fake_append(&fake.topics[0], 0, sent++, 10);
        while (w.delivered == had && fake.now_ns < at + MI_NS_PER_S)
            world_pass(&w, 1);
        if (i > 0)
            longest = fake.now_ns - at > longest ? fake.now_ns - at : longest;
        world_pass(&w, 1 + fake_random() % 25);
    }
    CU_ASSERT_TRUE(longest <= 20 * MI_NS_PER_MS);
    world_end(&w);
}

/* ---- feed: on_subscribe ---- */

static struct mi_interest *table;

static void subscribe(const char *filter, bool on)
{
    if (on)
        mi_interest_subscribe(table, mi_span_of("c"), mi_span_of(filter), false);
    else
        mi_interest_unsubscribe(table, mi_span_of("c"), mi_span_of(filter));
    struct mi_interest_picture *picture = mi_interest_picture(table);
    mi_in_set_interest(w.in, picture);
    mi_interest_picture_release(picture);
}

static void what_nobody_wants_is_not_read(void)
{
    sent = 0;
    world_begin(&w, "'broker':{'acl':'none'},'routes':[{'name':'r','stream':'s{s}','topic':'t{t}',"
                    "'direction':'in','mqtt_topic':'a/{s}/{t}','feed':'on_subscribe'}]");
    table = mi_interest_new(1000, &w.clock);
    mi_interest_set_unknown(table, false);
    subscribe("other/#", true);
    make_many(2, 2, 2);
    world_pass(&w, 3000);
    CU_ASSERT_EQUAL(readers(), 0);
    CU_ASSERT_EQUAL(fake.asked[FAKE_TOPIC] + fake.asked[FAKE_POLL], 0);
    subscribe("a/b/+", true); /* stream sb */
    world_pass(&w, 1000);
    CU_ASSERT_EQUAL(readers(), 4);
    for (size_t i = 0; i < 4; i++)
        fake_append(&fake.topics[i], 1, sent++, 10);
    world_settle(&w, 500);
    CU_ASSERT_EQUAL(w.delivered, 2);
    subscribe("a/b/+", false);
    world_pass(&w, 1000);
    CU_ASSERT_EQUAL(readers(), 0);
    for (size_t i = 0; i < 4; i++)
        fake_append(&fake.topics[i], 1, sent++, 10);
    world_settle(&w, 500);
    CU_ASSERT_EQUAL(w.delivered, 2);
    subscribe("a/b/00x", true);
    world_pass(&w, 1000);
    CU_ASSERT_EQUAL(w.delivered, 2); /* at the tail */
    for (size_t i = 0; i < 4; i++)
        fake_append(&fake.topics[i], 1, sent++, 10);
    world_settle(&w, 500);
    CU_ASSERT_EQUAL(w.delivered, 3);
    CU_ASSERT_EQUAL(readers(), 2);
    world_end(&w);
    mi_interest_free(table);
}

/* It stopped while nobody wanted it: the next run does not deliver what came meanwhile. */
static void one_that_rests_begins_at_the_tail_after_a_restart(void)
{
    sent = 0;
    world_begin(&w, "'broker':{'acl':'none'},'routes':[{'name':'r','stream':'s','topic':'t',"
                    "'direction':'in','mqtt_topic':'a','feed':'on_subscribe','start':'earliest'}]");
    table = mi_interest_new(1000, &w.clock);
    mi_interest_set_unknown(table, false);
    fake_create("s", "t", 1);
    subscribe("a", true);
    fake_append(&fake.topics[0], 0, sent++, 10);
    world_settle(&w, 500);
    CU_ASSERT_EQUAL(w.delivered, 1);
    subscribe("a", false);
    world_pass(&w, 500);
    fake_append(&fake.topics[0], 0, sent++, 10);
    world_stop(&w);
    world_start(&w);
    world_settle(&w, 1000);
    CU_ASSERT_EQUAL(w.delivered, 1);
    fake_append(&fake.topics[0], 0, sent++, 10);
    world_settle(&w, 1000);
    CU_ASSERT_EQUAL(w.delivered, 2);
    world_end(&w);
    mi_interest_free(table);
}

static CU_TestInfo tests[] = {
    {"a thousand idle partitions of one topic", a_thousand_idle_partitions_of_one_topic},
    {"a hundred topics in ten streams", a_hundred_topics_in_ten_streams},
    {"counts that stand still hide nothing for long", counts_that_stand_still_hide_nothing_for_long},
    {"a stream that is made later is read from its beginning",
     a_stream_that_is_made_later_is_read_from_its_beginning},
    {"without rights it falls back level by level", without_rights_it_falls_back_level_by_level},
    {"answers about topics that cannot be read", answers_about_topics_that_cannot_be_read},
    {"a right that comes later is used", a_right_that_comes_later_is_used},
    {"the budget holds", the_budget_holds},
    {"an active partition is polled directly", an_active_partition_is_polled_directly},
    {"an active partition among idle topics", an_active_partition_among_idle_topics},
    {"what nobody wants is not read", what_nobody_wants_is_not_read},
    {"one that rests begins at the tail after a restart", one_that_rests_begins_at_the_tail_after_a_restart},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("watch", tests)
