/* The small parts of in: timers, the queue, budget and tokens, the position, and what a reader makes of an
 * answer. */
#include "in/pace.h"
#include "in/queue.h"
#include "in/reader.h"
#include "in/timers.h"
#include "support/suite.h"

#include "base/clock.h"

#include <stdlib.h>

/* ---- timers, queue ---- */

static void timers_come_in_order(void)
{
    enum { COUNT = 2000 };
    static struct mi_timer timer[COUNT];
    struct mi_timers t = {0};
    unsigned seed = 5, gone = 0;
    for (int i = 0; i < COUNT; i++) {
        timer[i] = (struct mi_timer){.owner = &timer[i]};
        CU_ASSERT_TRUE(mi_timers_set(&t, &timer[i], (uint64_t)rand_r(&seed) % 5000));
    }
    for (int i = 0; i < COUNT; i += 3) {
        if (i % 2) {
            mi_timers_set(&t, &timer[i], (uint64_t)rand_r(&seed) % 5000);
        } else {
            mi_timers_clear(&t, &timer[i]);
            gone++;
        }
    }
    uint64_t last = 0;
    unsigned came = 0;
    for (struct mi_timer *next; (next = mi_timers_take(&t, UINT64_MAX - 1)) != NULL; came++) {
        CU_ASSERT_TRUE(next->due_ns >= last);
        CU_ASSERT_EQUAL(next->place, 0);
        last = next->due_ns;
    }
    CU_ASSERT_EQUAL(came, COUNT - gone);
    CU_ASSERT_EQUAL(mi_timers_due(&t), UINT64_MAX);
    mi_timers_set(&t, &timer[0], 100);
    CU_ASSERT_PTR_NULL(mi_timers_take(&t, 99));
    CU_ASSERT_PTR_EQUAL(mi_timers_take(&t, 100), &timer[0]);
    mi_timers_fini(&t);
}

static void a_queue_keeps_order_and_a_link_is_in_one(void)
{
    int owner[3];
    struct mi_queue a = {0}, b = {0};
    struct mi_link link[3] = {{.owner = &owner[0]}, {.owner = &owner[1]}, {.owner = &owner[2]}};
    for (int i = 0; i < 3; i++)
        mi_queue_add(&a, &link[i]);
    mi_queue_add(&a, &link[0]); /* is there already */
    mi_queue_add(&b, &link[1]); /* moves */
    CU_ASSERT_EQUAL(a.count, 2);
    CU_ASSERT_PTR_EQUAL(mi_queue_take(&a), &owner[0]);
    CU_ASSERT_PTR_EQUAL(mi_queue_take(&a), &owner[2]);
    CU_ASSERT_PTR_NULL(mi_queue_take(&a));
    mi_queue_remove(&link[1]);
    mi_queue_remove(&link[1]);
    CU_ASSERT_EQUAL(b.count, 0);
}

/* ---- pace ---- */

static void a_budget_lets_so_many_through(void)
{
    struct mi_budget b = {0};
    mi_budget_set(&b, 100);
    unsigned spent = 0;
    for (uint64_t now = MI_NS_PER_S; now < 11 * MI_NS_PER_S; now += MI_NS_PER_MS)
        spent += mi_budget_spend(&b, now, 1);
    CU_ASSERT_TRUE(spent >= 1000 && spent <= 1006);
    uint64_t due = mi_budget_due(&b, 11 * MI_NS_PER_S);
    CU_ASSERT_TRUE(mi_budget_spend(&b, due, 5));
    CU_ASSERT_FALSE(mi_budget_spend(&b, due + 40 * MI_NS_PER_MS, 1));
    CU_ASSERT_TRUE(mi_budget_spend(&b, due + 50 * MI_NS_PER_MS, 1));
}

static void tokens_come_at_their_rate(void)
{
    struct mi_tokens t = {0};
    uint64_t now = MI_NS_PER_S, taken = 0;
    mi_tokens_set(&t, 300, now);
    for (; now < 11 * MI_NS_PER_S; now += 7 * MI_NS_PER_MS)
        taken += mi_tokens_take(&t, now, 100);
    CU_ASSERT_TRUE(taken >= 2990 && taken <= 3010);
    CU_ASSERT_TRUE(mi_tokens_due(&t, now) > now);
    CU_ASSERT_EQUAL(mi_tokens_take(&t, mi_tokens_due(&t, now), 1), 1);
    CU_ASSERT_TRUE(mi_tokens_take(&t, now + 3600 * MI_NS_PER_S, 100000) <= 30); /* little is saved up */
    mi_tokens_give_back(&t, 3);
    CU_ASSERT_EQUAL(mi_tokens_take(&t, now + 3600 * MI_NS_PER_S, 100000), 3);
    mi_tokens_set(&t, 0, now);
    CU_ASSERT_EQUAL(mi_tokens_take(&t, now, 12345), 12345);
}

/* ---- the position ---- */

static struct mi_mark mark(uint64_t offset)
{
    return (struct mi_mark){offset, offset + 1, offset + 2, offset + 3};
}

static void read_one(struct mi_track *t, uint64_t offset, bool put)
{
    struct mi_mark m = mark(offset);
    if (put)
        mi_track_put(t, offset);
    mi_track_read(t, &m);
}

static void deliver_one(struct mi_track *t, uint64_t offset, bool former)
{
    struct mi_mark m = mark(offset);
    mi_track_delivered(t, &m, former);
}

static void skipped_messages_move_it_only_in_order(void)
{
    struct mi_track t = {0};
    mi_track_place(&t, 10, NULL);
    read_one(&t, 10, false);
    read_one(&t, 11, false);
    CU_ASSERT_EQUAL(t.next, 12); /* nothing is on its way */
    CU_ASSERT_EQUAL(t.mark.id_hi, 12);
    read_one(&t, 12, true);
    read_one(&t, 13, false);
    read_one(&t, 14, true);
    read_one(&t, 15, false);
    read_one(&t, 16, false);
    CU_ASSERT_EQUAL(t.next, 12);
    deliver_one(&t, 12, false);
    CU_ASSERT_EQUAL(t.next, 13);
    deliver_one(&t, 14, false);
    CU_ASSERT_EQUAL(t.next, 17); /* and what was skipped behind it */
    CU_ASSERT_EQUAL(t.mark.offset, 16);
}

static void a_former_life_is_told_apart(void)
{
    struct mi_track t = {0};
    mi_track_place(&t, 90, NULL);
    for (uint64_t o = 90; o < 100; o++)
        read_one(&t, o, true);
    CU_ASSERT_TRUE(mi_track_place(&t, 95, NULL)); /* a lost tail: 90..94 are still the log's */
    CU_ASSERT_EQUAL(t.next, 90);
    read_one(&t, 95, true);
    deliver_one(&t, 94, true);
    CU_ASSERT_EQUAL(t.next, 90);
    deliver_one(&t, 99, true);
    CU_ASSERT_EQUAL(t.next, 90);
    deliver_one(&t, 95, false);
    CU_ASSERT_EQUAL(t.next, 96);
    CU_ASSERT_FALSE(mi_track_out(&t));
    /* made again, with nothing new: what was on its way ends, and the place is the position */
    read_one(&t, 96, true);
    CU_ASSERT_TRUE(mi_track_place(&t, 0, NULL));
    CU_ASSERT_EQUAL(t.next, 0);
    deliver_one(&t, 96, true);
    CU_ASSERT_EQUAL(t.next, 0);
    CU_ASSERT_FALSE(mi_track_out(&t));
    read_one(&t, 0, false);
    CU_ASSERT_EQUAL(t.next, 1);
}

/* ---- a reader ---- */

static struct iggy_polled_message messages[4];

static struct mi_judgement judge(struct mi_reader *r, enum mi_ask ask, size_t count, uint64_t first,
                                 uint64_t tail)
{
    struct iggy_poll poll = {0};
    for (size_t i = 0; i < count; i++)
        messages[i] = (struct iggy_polled_message){
            .id = {first + i + 1, first + i + 2}, .offset = first + i, .timestamp = 1000 + first + i};
    struct iggy_polled answer = {
        .partition_id = r->partition, .current_offset = tail, .count = count, .messages = messages};
    mi_reader_question(r, ask, 100, 1 << 20, &poll);
    CU_ASSERT_EQUAL(poll.strategy, ask == MI_ASK_SINCE  ? IGGY_FROM_TIMESTAMP
                                   : ask == MI_ASK_TAIL ? IGGY_FROM_LAST
                                                        : IGGY_FROM_OFFSET);
    return mi_reader_judge(r, &answer);
}

static struct mi_reader reader_at(uint64_t at)
{
    struct mi_reader r = {.partition = 3};
    struct mi_mark before = {at - 1, at, at + 1, 999 + at};
    mi_reader_place(&r, at, &before);
    mi_reader_doubt(&r);
    r.unseen = false; /* details have shown its topic */
    return r;
}

static void a_check_compares_ids(void)
{
    struct mi_reader r = reader_at(10);
    CU_ASSERT_EQUAL(mi_reader_wants(&r, false, false), MI_ASK_CHECK);
    struct mi_judgement j = judge(&r, MI_ASK_CHECK, 1, 9, 20);
    CU_ASSERT_TRUE(!j.unfit && j.found == MI_FOUND_NOTHING && !r.check && !r.since);
    r = reader_at(10);
    r.track.read_mark.id_lo++;
    j = judge(&r, MI_ASK_CHECK, 1, 9, 20);
    CU_ASSERT_TRUE(j.found == MI_FOUND_REUSED && r.since);
    r = reader_at(10);
    j = judge(&r, MI_ASK_CHECK, 1, 14, 20); /* retention */
    CU_ASSERT_TRUE(j.found == MI_FOUND_NOTHING && !r.check && !r.since);
    r = reader_at(10);
    CU_ASSERT_TRUE(judge(&r, MI_ASK_CHECK, 1, 5, 20).unfit);
    r = reader_at(10);
    j = judge(&r, MI_ASK_CHECK, 0, 0, 4);
    CU_ASSERT_TRUE(r.lost && j.need_details);
    CU_ASSERT_EQUAL(mi_reader_wants(&r, false, true), MI_ASK_NOTHING);
    CU_ASSERT_EQUAL(mi_reader_wants(&r, true, true), MI_ASK_TAIL);
    r = reader_at(10);
    judge(&r, MI_ASK_CHECK, 0, 0, 30); /* emptied by retention */
    CU_ASSERT_TRUE(!r.lost && !r.check);
}

static void by_time_takes_what_is_newer(void)
{
    struct mi_reader r = reader_at(10); /* its last message: stamp 1009 */
    r.since = true;
    r.check = false;
    struct mi_judgement j = judge(&r, MI_ASK_SINCE, 4, 7, 10);
    CU_ASSERT_TRUE(j.take && j.found == MI_FOUND_TAIL_LOST);
    CU_ASSERT_EQUAL(r.track.read_next, 7);
    CU_ASSERT_FALSE(mi_reader_fresh(&r, &messages[0])); /* stamps 1007 to 1009: a server that is not exact */
    CU_ASSERT_FALSE(mi_reader_fresh(&r, &messages[2]));
    CU_ASSERT_TRUE(mi_reader_fresh(&r, &messages[3]));
    CU_ASSERT_EQUAL(r.skip_until_us, 0);
}

/* Nothing newer was found; then details that were asked later overtook that answer: what they show at the end
 * is new, and to go on there would pass it over. */
static void a_lost_tail_goes_on_at_the_end_that_was_known_before(void)
{
    struct mi_reader r = reader_at(10);
    struct iggy_poll poll;
    struct iggy_polled answer = {.partition_id = 3};
    r.check = false;
    r.since = true;
    mi_reader_saw_end(&r, 4, 1, false);
    mi_reader_question(&r, MI_ASK_SINCE, 100, 1 << 20, &poll);
    mi_reader_saw_end(&r, 7, 1, false);
    struct mi_judgement j = mi_reader_judge(&r, &answer);
    CU_ASSERT_EQUAL(j.found, MI_FOUND_TAIL_LOST);
    CU_ASSERT_EQUAL(r.track.read_next, 4);
}

static void a_poll_that_overlaps_is_a_check_too(void)
{
    struct mi_reader r = reader_at(10);
    r.check = false;
    r.overlap = true;
    struct mi_judgement j = judge(&r, MI_ASK_MESSAGES, 3, 9, 20);
    CU_ASSERT_EQUAL(r.asked_count, 33);
    CU_ASSERT_TRUE(!j.unfit && j.take && j.found == MI_FOUND_NOTHING);
    CU_ASSERT_FALSE(mi_reader_fresh(&r, &messages[0]));
    CU_ASSERT_TRUE(mi_reader_fresh(&r, &messages[1]));
    j = judge(&r, MI_ASK_MESSAGES, 1, 9, 9);
    CU_ASSERT_TRUE(!j.unfit && !j.take && !r.since);
    j = judge(&r, MI_ASK_MESSAGES, 2, 14, 20);
    CU_ASSERT_TRUE(j.take); /* retention took the one before */
    j = judge(&r, MI_ASK_MESSAGES, 0, 0, 4);
    CU_ASSERT_TRUE(r.lost && !j.take);
    r.lost = false;
    r.track.read_mark.id_hi++;
    j = judge(&r, MI_ASK_MESSAGES, 3, 9, 20);
    CU_ASSERT_TRUE(j.found == MI_FOUND_REUSED && r.since && !j.take);
    r.message_bytes = 1 << 20;
    struct iggy_poll poll;
    mi_reader_question(&r, MI_ASK_MESSAGES, 100, 1 << 20, &poll);
    CU_ASSERT_TRUE(poll.count == 2 && poll.value == 9);
    CU_ASSERT_TRUE(mi_reader_too_large(&r, 1 << 20)); /* together */
    mi_reader_question(&r, MI_ASK_MESSAGES, 100, 1 << 20, &poll);
    CU_ASSERT_TRUE(poll.count == 1 && poll.value == 10);
}

static void doubt_begins_again_from_the_first_question(void)
{
    struct mi_reader r = reader_at(10);
    r.check = false;
    r.lost = r.since = r.polling = true;
    mi_reader_doubt(&r);
    CU_ASSERT_TRUE(r.discard);
    CU_ASSERT_EQUAL(mi_reader_wants(&r, false, false), MI_ASK_NOTHING); /* is it the same topic? */
    mi_reader_saw_end(&r, 12, 1, false);
    CU_ASSERT_EQUAL(mi_reader_wants(&r, false, false), MI_ASK_CHECK);
}

static void answers_that_do_not_fit_are_refused(void)
{
    struct mi_reader r = reader_at(10);
    r.check = false;
    struct iggy_poll poll;
    struct iggy_polled answer = {.partition_id = 2, .count = 1, .messages = messages};
    messages[0].offset = 10;
    mi_reader_question(&r, MI_ASK_MESSAGES, 100, 1 << 20, &poll);
    CU_ASSERT_TRUE(mi_reader_judge(&r, &answer).unfit); /* another partition */
    answer.count = 0;
    CU_ASSERT_FALSE(mi_reader_judge(&r, &answer).unfit); /* 0.8 tells none when there is nothing */
    CU_ASSERT_TRUE(judge(&r, MI_ASK_MESSAGES, 3, 2, 20).unfit);
    CU_ASSERT_TRUE(judge(&r, MI_ASK_MESSAGES, 1, UINT64_MAX, 20).unfit);
    CU_ASSERT_FALSE(judge(&r, MI_ASK_MESSAGES, 3, 9, 20).unfit);
}

static void counts_shrink_and_grow_with_the_size_of_messages(void)
{
    struct mi_reader r = reader_at(10);
    struct iggy_poll poll;
    mi_reader_question(&r, MI_ASK_MESSAGES, 10000, 1000000, &poll);
    CU_ASSERT_EQUAL(poll.count, 32);
    mi_reader_sized(&r, 3200, 32);
    mi_reader_question(&r, MI_ASK_MESSAGES, 10000, 1000000, &poll);
    CU_ASSERT_EQUAL(poll.count, 1000);
    CU_ASSERT_TRUE(mi_reader_too_large(&r, 1000000));
    mi_reader_question(&r, MI_ASK_MESSAGES, 10000, 1000000, &poll);
    CU_ASSERT_TRUE(poll.count >= 200 && poll.count <= 250);
    for (int i = 0; i < 4; i++) {
        CU_ASSERT_TRUE(mi_reader_too_large(&r, 1000000));
        mi_reader_question(&r, MI_ASK_MESSAGES, 10000, 1000000, &poll);
    }
    CU_ASSERT_EQUAL(poll.count, 1);
    CU_ASSERT_FALSE(mi_reader_too_large(&r, 1000000));
    for (int i = 0; i < 60; i++)
        mi_reader_sized(&r, 300, 1);
    mi_reader_question(&r, MI_ASK_MESSAGES, 77, 1000000, &poll);
    CU_ASSERT_EQUAL(poll.count, 77); /* the room */
}

static CU_TestInfo tests[] = {
    {"timers come in order", timers_come_in_order},
    {"a queue keeps order and a link is in one", a_queue_keeps_order_and_a_link_is_in_one},
    {"a budget lets so many through", a_budget_lets_so_many_through},
    {"tokens come at their rate", tokens_come_at_their_rate},
    {"skipped messages move it only in order", skipped_messages_move_it_only_in_order},
    {"a former life is told apart", a_former_life_is_told_apart},
    {"a check compares ids", a_check_compares_ids},
    {"by time takes what is newer", by_time_takes_what_is_newer},
    {"a lost tail goes on at the end that was known before",
     a_lost_tail_goes_on_at_the_end_that_was_known_before},
    {"a poll that overlaps is a check, too", a_poll_that_overlaps_is_a_check_too},
    {"doubt begins again from the first question", doubt_begins_again_from_the_first_question},
    {"answers that do not fit are refused", answers_that_do_not_fit_are_refused},
    {"counts shrink and grow with the size of messages", counts_shrink_and_grow_with_the_size_of_messages},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("in parts", tests)
