/* in as a whole over a fake server: what comes is delivered once and in order, whatever the server loses,
 * makes again or answers. */
#include "support/suite.h"
#include "world.h"

#include <string.h>

#define ONE "'routes':[{'name':'r','direction':'in','stream':'s','topic':'t','mqtt_topic':'a/{partition}'}]"
#define FAST                                                                                        \
    "'routes':[{'name':'r','direction':'in','stream':'s','topic':'t','mqtt_topic':'a/{partition}'," \
    "'catch_up_rate':0}]"

static struct world w;
static uint32_t sent;

static void begin(const char *json, uint32_t partitions)
{
    sent = 0;
    world_begin(&w, json);
    fake_create("s", "t", partitions);
    world_pass(&w, 200);
}

static struct fake_topic *topic(void)
{
    return fake_find("s", "t");
}

static void append(uint32_t partition, uint32_t n)
{
    while (n-- > 0)
        fake_append(topic(), partition, sent++, 10);
}

/* Of the numbers from..to-1 each was delivered that often. */
static bool each(uint32_t from, uint32_t to, unsigned times)
{
    for (uint32_t n = from; n < to; n++)
        if (w.times[n] != times) {
            printf("\n    message %u came %u times\n", n, w.times[n]);
            return false;
        }
    return true;
}

static void what_comes_is_delivered_once_in_order(void)
{
    begin(ONE, 1);
    for (int i = 0; i < 50; i++) {
        append(0, (uint32_t)i % 7);
        world_pass(&w, (uint64_t)i % 5);
    }
    world_settle(&w, 500);
    CU_ASSERT_TRUE(each(0, sent, 1));
    for (uint32_t i = 0; i < w.delivered; i++)
        CU_ASSERT_EQUAL(w.order[i], i);
    world_end(&w);
}

static void a_restart_of_the_bridge_goes_on_where_it_was(void)
{
    begin(ONE, 3);
    append(0, 10);
    append(2, 10);
    world_settle(&w, 500);
    world_stop(&w);
    append(0, 10);
    append(1, 10);
    world_start(&w);
    world_settle(&w, 500);
    CU_ASSERT_TRUE(each(0, sent, 1));
    world_end(&w);
}

static void what_is_in_the_inbox_is_not_passed(void)
{
    begin(ONE, 1);
    append(0, 10);
    world_settle(&w, 300);
    w.broker_stands = true;
    append(0, 10);
    world_pass(&w, 500);
    world_stop(&w); /* killed: what was in the inbox is gone */
    w.broker_stands = false;
    world_start(&w);
    world_settle(&w, 500);
    CU_ASSERT_TRUE(each(0, sent, 1));
    world_end(&w);
}

static void a_lost_tail_is_noticed_and_its_offsets_are_read_again(void)
{
    begin(ONE, 1);
    append(0, 10);
    fake_save();
    append(0, 5);
    world_settle(&w, 500);
    fake_kill();
    world_settle(&w, 1000);
    CU_ASSERT_EQUAL(world_counted(&w, 0, MI_C_IN_TAIL_LOST), 1);
    CU_ASSERT_TRUE(world_said(&w, "Iggy lost messages"));
    append(0, 3);
    world_settle(&w, 500);
    CU_ASSERT_TRUE(each(0, sent, 1));
    world_end(&w);
}

/* More new messages than were lost, before anybody looked: only the id tells. */
static void offsets_given_out_again_are_noticed(void)
{
    begin(ONE, 1);
    append(0, 10);
    fake_save();
    append(0, 5);
    world_settle(&w, 500);
    fake_kill();
    append(0, 20);
    world_settle(&w, 1000);
    CU_ASSERT_EQUAL(world_counted(&w, 0, MI_C_IN_REUSED), 1);
    CU_ASSERT_TRUE(each(0, sent, 1));
    world_end(&w);
}

static void offsets_given_out_again_while_the_bridge_was_down(void)
{
    begin(ONE, 1);
    append(0, 10);
    fake_save();
    append(0, 5);
    world_settle(&w, 500);
    world_stop(&w);
    fake_kill();
    append(0, 20);
    world_start(&w);
    world_settle(&w, 1000);
    CU_ASSERT_EQUAL(world_counted(&w, 0, MI_C_IN_REUSED), 1);
    CU_ASSERT_TRUE(each(0, sent, 1));
    world_end(&w);
}

/* Started at the tail: not one message was read when the server lost some. */
static void offsets_given_out_again_behind_a_tail_that_was_never_read(void)
{
    sent = 0;
    world_begin(&w, ONE);
    fake_create("s", "t", 1);
    append(0, 10);
    fake_save();
    append(0, 5);
    world_settle(&w, 1000);
    CU_ASSERT_EQUAL(w.delivered, 0);
    fake_kill();
    append(0, 20);
    world_settle(&w, 1000);
    CU_ASSERT_TRUE(each(15, sent, 1));
    world_end(&w);
}

static void a_topic_made_again_is_read_from_its_beginning(void)
{
    begin(ONE, 2);
    append(0, 10);
    append(1, 10);
    world_settle(&w, 500);
    fake_delete("s", "t");
    world_pass(&w, 2000);
    fake_create("s", "t", 2);
    append(1, 30);
    world_settle(&w, 2000);
    CU_ASSERT_EQUAL(world_counted(&w, 0, MI_C_IN_MADE_AGAIN), 1);
    CU_ASSERT_TRUE(each(0, sent, 1));
    world_end(&w);
}

static void what_retention_took_is_counted(void)
{
    begin(ONE, 1);
    append(0, 10);
    world_settle(&w, 500);
    w.broker_stands = true;
    world_stop(&w);
    append(0, 10);
    fake_expire(topic(), 0, 14);
    w.broker_stands = false;
    world_start(&w);
    world_settle(&w, 1000);
    CU_ASSERT_EQUAL(world_counted(&w, 0, MI_C_IN_EXPIRED), 4);
    CU_ASSERT_TRUE(each(0, 10, 1) && each(10, 14, 0) && each(14, sent, 1));
    world_end(&w);
}

/* Retention took everything to the end: no message tells where it goes on. */
static void a_log_that_retention_emptied_goes_on(void)
{
    for (int old = 0; old < 2; old++) {
        begin(ONE, 1);
        fake.old = old;
        append(0, 10);
        world_settle(&w, 500);
        world_stop(&w);
        append(0, 10);
        fake_expire(topic(), 0, 20);
        world_start(&w);
        world_settle(&w, 6000);
        CU_ASSERT_EQUAL(world_counted(&w, 0, MI_C_IN_EXPIRED), 10);
        CU_ASSERT_EQUAL(world_counted(&w, 0, MI_C_IN_TAIL_LOST), 0);
        append(0, 10);
        world_settle(&w, 500);
        CU_ASSERT_TRUE(each(10, 20, 0) && each(20, sent, 1));
        unsigned polls = fake.asked[FAKE_POLL];
        world_pass(&w, 5000);
        CU_ASSERT_TRUE(fake.asked[FAKE_POLL] - polls < 40); /* the riddle is solved */
        world_end(&w);
    }
}

/* ---- bad answers ---- */

static void what_cannot_be_read_is_asked_again(void)
{
    static const enum fake_fault faults[] = {FAKE_GARBLED, FAKE_503, FAKE_504, FAKE_OTHER_PARTITION,
                                             FAKE_BACKWARDS};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        begin(ONE, 1);
        fake.fault = faults[i];
        fake.fault_left = 4;
        append(0, 20);
        world_settle(&w, 4000);
        CU_ASSERT_TRUE(each(0, sent, 1));
        CU_ASSERT_EQUAL(fake.fault_left, 0);
        CU_ASSERT_EQUAL(world_counted(&w, 0, MI_C_IN_TOO_LARGE), 0);
        CU_ASSERT_EQUAL(world_said(&w, "cannot poll"), faults[i] != FAKE_504);
        world_end(&w);
    }
}

static void an_answer_that_never_can_be_read_is_not_skipped(void)
{
    begin(ONE, 1);
    fake.fault = FAKE_GARBLED;
    fake.fault_left = UINT32_MAX;
    append(0, 5);
    world_pass(&w, 60000);
    CU_ASSERT_EQUAL(w.delivered, 0);
    CU_ASSERT_TRUE(fake.asked[FAKE_POLL] < 100); /* it backs off */
    fake.fault_left = 0;
    world_settle(&w, 10000);
    CU_ASSERT_TRUE(each(0, sent, 1));
    world_end(&w);
}

static void a_message_that_is_too_large_is_skipped_alone(void)
{
    begin(FAST, 1);
    for (int i = 0; i < 300; i++) {
        fake_append(topic(), 0, sent++, i == 137 ? 60000000 : i % 10 == 0 ? 1000000 : 100);
        if (i % 50 == 0)
            world_pass(&w, 50);
    }
    world_settle(&w, 3000);
    CU_ASSERT_EQUAL(world_counted(&w, 0, MI_C_IN_TOO_LARGE), 1);
    CU_ASSERT_TRUE(each(0, 137, 1) && each(137, 138, 0) && each(138, sent, 1));
    world_end(&w);
}

static void counts_follow_the_size_of_messages(void)
{
    begin(FAST, 1);
    for (int i = 0; i < 2000; i++)
        fake_append(topic(), 0, sent++, 100000);
    unsigned before = fake.asked[FAKE_POLL];
    world_settle(&w, 3000);
    CU_ASSERT_TRUE(each(0, sent, 1));
    /* 4 MB hold 30 of them, so half of it 15: 134 answers */
    CU_ASSERT_TRUE(fake.asked[FAKE_POLL] - before < 200);
    world_end(&w);
}

static void a_server_that_was_away_is_found_again(void)
{
    begin(ONE, 2);
    fake.away = true;
    world_pass(&w, 30000);
    append(0, 100);
    append(1, 100);
    fake.away = false;
    world_settle(&w, 10000);
    CU_ASSERT_TRUE(each(0, sent, 1));
    world_end(&w);
}

static void connections_that_do_not_stay_open_do_not_stop_it(void)
{
    begin(ONE, 3);
    fake.no_keep_alive = true;
    append(0, 5);
    world_pass(&w, 5000);
    CU_ASSERT_TRUE(each(0, sent, 1));
    for (int i = 0; i < 3000; i++) {
        append((uint32_t)i % 3, 1);
        world_pass(&w, 20);
    }
    world_settle(&w, 1000);
    CU_ASSERT_TRUE(each(0, sent, 1));
    CU_ASSERT_TRUE(world_said(&w, "do not stay open"));
    for (int lost = 1; lost < 30; lost += 7) { /* a loss is noticed all the same */
        fake_save();
        append(1, 10);
        world_settle(&w, 200);
        fake_kill();
        append(1, (uint32_t)lost);
        world_settle(&w, 2000);
        CU_ASSERT_TRUE(each(0, sent, 1));
    }
    world_end(&w);
}

/* ---- pace ---- */

static void a_backlog_goes_at_its_rate_and_live_traffic_at_once(void)
{
    sent = 0;
    world_begin(&w, "'routes':[{'name':'r','direction':'in','stream':'s','topic':'t','start':'earliest',"
                    "'mqtt_topic':'a/{partition}','catch_up_rate':500}]");
    fake_create("s", "t", 2);
    for (int i = 0; i < 5000; i++)
        append((uint32_t)i % 2, 1);
    world_pass(&w, 4000);
    CU_ASSERT_TRUE(w.delivered > 1500 && w.delivered < 2300);
    size_t before = w.delivered;
    uint32_t first_live = sent;
    for (int i = 0; i < 1000; i++) { /* 2,000 a second: more than the rate */
        append(0, 2);
        world_pass(&w, 1);
    }
    CU_ASSERT_TRUE(w.delivered - before > 2200 && w.delivered - before < 2700);
    world_settle(&w, 2000);
    CU_ASSERT_TRUE(each(0, sent, 1));
    before = w.delivered;
    append(0, 3000); /* live, at once */
    world_pass(&w, 300);
    CU_ASSERT_EQUAL(w.delivered - before, 3000);
    CU_ASSERT_TRUE(first_live < sent);
    world_end(&w);
}

static void what_came_during_an_outage_is_backlog(void)
{
    begin("'routes':[{'name':'r','direction':'in','stream':'s','topic':'t',"
          "'mqtt_topic':'a/{partition}','catch_up_rate':500}]",
          1);
    append(0, 10);
    world_settle(&w, 500);
    fake.away = true;
    world_pass(&w, 10000);
    append(0, 3000);
    fake.away = false;
    world_pass(&w, 4000);
    CU_ASSERT_TRUE(w.delivered < 2500);
    world_settle(&w, 5000);
    CU_ASSERT_TRUE(each(0, sent, 1));
    world_end(&w);
}

static void a_broker_that_stands_bounds_what_is_fetched(void)
{
    begin("'limits':{'inbox_messages':500}," FAST, 4);
    w.broker_stands = true;
    for (uint32_t p = 0; p < 4; p++)
        append(p, 5000);
    world_pass(&w, 3000);
    CU_ASSERT_TRUE(mi_inbox_count(w.inbox) <= 500);
    unsigned polls = fake.asked[FAKE_POLL];
    world_pass(&w, 3000);
    CU_ASSERT_TRUE(fake.asked[FAKE_POLL] == polls); /* polling pauses */
    w.broker_stands = false;
    world_settle(&w, 3000);
    CU_ASSERT_TRUE(each(0, sent, 1));
    world_end(&w);
}

/* ---- everything at random ---- */

static void act_at_random(uint32_t partitions, bool *away)
{
    uint64_t dice = fake_random() % 1000;
    if (dice < 600 && !*away)
        append((uint32_t)(fake_random() % partitions), (uint32_t)(fake_random() % 20));
    else if (dice < 650)
        fake_save();
    else if (dice < 670 && !w.broker_stands)
        fake_kill();
    else if (dice < 685) {
        world_stop(&w);
        world_start(&w);
    } else if (dice < 690) {
        fake.away = *away = !*away;
        fake.signs += !*away;
    } else if (dice < 710) {
        fake.fault = (enum fake_fault)(fake_random() % 6);
        fake.fault_left = (unsigned)(fake_random() % 5);
    } else if (dice < 720) {
        w.broker_stands = !w.broker_stands;
    } else if (dice < 735) {
        uint32_t p = (uint32_t)(fake_random() % partitions);
        fake_expire(topic(), p, fake_random() % (topic()->partitions[p].end + 1));
    } else if (dice < 738 && !topic()->no_details) { /* without details nobody can tell two topics apart */
        fake_delete("s", "t");
        world_pass(&w, 1100);
        fake_create("s", "t", partitions);
    }
}

static void nothing_comes_twice_and_nothing_is_passed_over(void)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        uint32_t partitions = 1 + (uint32_t)(seed % 4);
        bool away = false;
        begin(seed % 2 ? ONE : FAST, partitions);
        fake.seed ^= seed << 32;
        fake.old = seed % 4 == 0;
        fake.slowest_us = seed % 3 == 0 ? 400 : seed % 3 == 1 ? 5000 : 20000;
        topic()->no_details = seed % 7 == 0;
        fake.no_keep_alive = seed % 11 == 0;
        for (int i = 0; i < 300; i++) {
            act_at_random(partitions, &away);
            world_pass(&w, fake_random() % 30);
        }
        fake.away = false;
        fake.fault_left = 0;
        w.broker_stands = false;
        world_settle(&w, 12000);
        for (uint32_t p = 0; p < partitions; p++) {
            const struct fake_partition *log = &topic()->partitions[p];
            for (uint64_t at = log->first; at < log->end; at++)
                CU_ASSERT_TRUE(each(log->log[at].n, log->log[at].n + 1, 1));
        }
        for (uint32_t n = 0; n < sent; n++)
            CU_ASSERT_TRUE(w.times[n] <= 1);
        world_end(&w);
    }
}

static CU_TestInfo tests[] = {
    {"what comes is delivered once, in order", what_comes_is_delivered_once_in_order},
    {"a restart of the bridge goes on where it was", a_restart_of_the_bridge_goes_on_where_it_was},
    {"what is in the inbox is not passed", what_is_in_the_inbox_is_not_passed},
    {"a lost tail is noticed and its offsets are read again",
     a_lost_tail_is_noticed_and_its_offsets_are_read_again},
    {"offsets given out again are noticed", offsets_given_out_again_are_noticed},
    {"offsets given out again while the bridge was down", offsets_given_out_again_while_the_bridge_was_down},
    {"offsets given out again behind a tail that was never read",
     offsets_given_out_again_behind_a_tail_that_was_never_read},
    {"a topic made again is read from its beginning", a_topic_made_again_is_read_from_its_beginning},
    {"what retention took is counted", what_retention_took_is_counted},
    {"a log that retention emptied goes on", a_log_that_retention_emptied_goes_on},
    {"what cannot be read is asked again", what_cannot_be_read_is_asked_again},
    {"an answer that never can be read is not skipped", an_answer_that_never_can_be_read_is_not_skipped},
    {"a message that is too large is skipped alone", a_message_that_is_too_large_is_skipped_alone},
    {"counts follow the size of messages", counts_follow_the_size_of_messages},
    {"a server that was away is found again", a_server_that_was_away_is_found_again},
    {"connections that do not stay open do not stop it", connections_that_do_not_stay_open_do_not_stop_it},
    {"a backlog goes at its rate and live traffic at once",
     a_backlog_goes_at_its_rate_and_live_traffic_at_once},
    {"what came during an outage is backlog", what_came_during_an_outage_is_backlog},
    {"a broker that stands bounds what is fetched", a_broker_that_stands_bounds_what_is_fetched},
    {"nothing comes twice and nothing is passed over", nothing_comes_twice_and_nothing_is_passed_over},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("recover", tests)
