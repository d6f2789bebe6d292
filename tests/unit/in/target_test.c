/* target: where readers start, what a topic made again does, how failures back off; and the set: names, ids.
 */
#include "in/target_set.h"
#include "support/suite.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

static struct iggy_partition part(uint32_t id, uint64_t tail, uint64_t count)
{
    struct iggy_partition p = {.id = id, .current_offset = tail, .messages_count = count};
    return p;
}

static enum mi_finding_in found;

static void note(void *context, struct mi_reader *r, const struct mi_judgement *j)
{
    (void)context;
    (void)r;
    if (j->found != MI_FOUND_NOTHING)
        found = j->found;
}

static void details(struct mi_target *t, uint64_t created, const struct iggy_partition *parts, uint32_t n,
                    enum mi_start start)
{
    struct iggy_topic topic = {.created_at = created, .partitions_count = n, .partitions = parts};
    CU_ASSERT_TRUE_FATAL(mi_target_grow(t, n));
    mi_target_details(t, &topic, start, 1, note, NULL);
}

static struct mi_target *fresh(void)
{
    found = MI_FOUND_NOTHING;
    return mi_target_new(0, 1, mi_span_of("s"), mi_span_of("t"));
}

static uint64_t next_of(const struct mi_target *t, uint32_t partition)
{
    return t->readers[partition]->track.read_next;
}

static bool wants_messages(const struct mi_target *t, uint32_t partition)
{
    return mi_reader_wants(t->readers[partition], false, false) == MI_ASK_MESSAGES;
}

static void latest_starts_behind_the_tail_and_earliest_at_zero(void)
{
    struct iggy_partition parts[] = {part(0, 9, 10), part(1, 0, 0)};
    struct mi_target *t = fresh();
    details(t, 5, parts, 2, MI_START_LATEST);
    CU_ASSERT_EQUAL(next_of(t, 0), 10);
    CU_ASSERT_EQUAL(next_of(t, 1), 0);
    CU_ASSERT_FALSE(wants_messages(t, 0));
    mi_target_free(t);
    t = fresh();
    details(t, 5, parts, 2, MI_START_EARLIEST);
    CU_ASSERT_EQUAL(next_of(t, 0), 0);
    CU_ASSERT_TRUE(wants_messages(t, 0));
    CU_ASSERT_FALSE(wants_messages(t, 1));
    CU_ASSERT_EQUAL(t->readers[0]->live, 0); /* a backlog */
    mi_target_free(t);
}

static void what_was_missing_at_first_is_read_whole_and_live(void)
{
    struct iggy_partition parts[] = {part(0, 3, 4)};
    struct mi_target *t = fresh();
    t->was_missing = true;
    details(t, 5, parts, 1, MI_START_LATEST);
    CU_ASSERT_EQUAL(next_of(t, 0), 0);
    CU_ASSERT_EQUAL(t->readers[0]->live, 4);
    mi_target_free(t);
}

static void a_new_partition_is_read_from_its_beginning(void)
{
    struct iggy_partition parts[] = {part(0, 9, 10), part(1, 4, 5)};
    struct mi_target *t = fresh();
    details(t, 5, parts, 1, MI_START_LATEST);
    details(t, 5, parts, 2, MI_START_LATEST);
    CU_ASSERT_EQUAL(next_of(t, 0), 10);
    CU_ASSERT_EQUAL(next_of(t, 1), 0);
    mi_target_free(t);
}

static void a_topic_made_again_starts_anew(void)
{
    struct iggy_partition before[] = {part(0, 9, 10)}, after[] = {part(0, 1, 2)};
    struct mi_target *t = fresh();
    details(t, 5, before, 1, MI_START_LATEST);
    struct iggy_topic again = {.created_at = 2000006};
    CU_ASSERT_TRUE(mi_target_made_again(t, &again));
    details(t, 2000006, after, 1, MI_START_LATEST);
    CU_ASSERT_EQUAL(next_of(t, 0), 0);
    CU_ASSERT_EQUAL(t->readers[0]->live, 2);
    CU_ASSERT_TRUE(wants_messages(t, 0));
    mi_target_free(t);
}

static void a_stamp_that_moves_by_milliseconds_is_the_same_topic(void)
{
    struct iggy_partition parts[] = {part(0, 9, 10)};
    struct mi_target *t = fresh();
    details(t, 5000000, parts, 1, MI_START_LATEST);
    details(t, 5020000, parts, 1, MI_START_LATEST);
    CU_ASSERT_EQUAL(next_of(t, 0), 10);
    details(t, 6020000, parts, 1, MI_START_LATEST);
    CU_ASSERT_EQUAL(next_of(t, 0), 0);
    mi_target_free(t);
}

static void one_that_rested_goes_on_at_the_tail(void)
{
    struct iggy_partition before[] = {part(0, 9, 10)}, after[] = {part(0, 19, 20)};
    struct mi_target *t = fresh();
    details(t, 5, before, 1, MI_START_EARLIEST);
    t->at_tail = true;
    details(t, 5, after, 1, MI_START_EARLIEST);
    CU_ASSERT_EQUAL(next_of(t, 0), 20);
    CU_ASSERT_FALSE(t->at_tail);
    mi_target_free(t);
}

static void failures_back_off(void)
{
    struct mi_target *t = fresh();
    uint64_t last = 0;
    for (int i = 0; i < 20; i++)
        last = mi_target_backoff(t, false);
    CU_ASSERT_EQUAL(last, 5 * MI_NS_PER_S);
    CU_ASSERT_EQUAL(mi_target_backoff(t, true), MI_NS_PER_S);
    t->failures = 0;
    CU_ASSERT_EQUAL(mi_target_backoff(t, true), 100 * MI_NS_PER_MS);
    mi_target_free(t);
}

/* ---- the set ---- */

static void targets_are_found_by_name(void)
{
    struct mi_target_set *set = mi_target_set_new();
    char stream[16], topic[16];
    for (uint32_t i = 0; i < 3000; i++) {
        snprintf(stream, sizeof stream, "s%u", i / 100);
        snprintf(topic, sizeof topic, "t%u", i);
        CU_ASSERT_PTR_NOT_NULL_FATAL(mi_target_set_add(set, 0, 1, mi_span_of(stream), mi_span_of(topic)));
    }
    CU_ASSERT_EQUAL(mi_target_set_stream_count(set), 30);
    CU_ASSERT_EQUAL(mi_target_set_stream(set, mi_span_of("s7"))->targets.count, 100);
    struct mi_target *t = mi_target_set_find(set, 1, mi_span_of("s29"), mi_span_of("t2999"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    CU_ASSERT_PTR_NULL(mi_target_set_find(set, 2, mi_span_of("s29"), mi_span_of("t2999")));
    struct mi_target *same = mi_target_set_add(set, 1, 2, mi_span_of("s29"), mi_span_of("t2999"));
    struct mi_target *one = mi_target_set_named(set, mi_span_of("s29"), mi_span_of("t2999"), NULL);
    struct mi_target *two = mi_target_set_named(set, mi_span_of("s29"), mi_span_of("t2999"), one);
    CU_ASSERT_TRUE((one == t && two == same) || (one == same && two == t));
    CU_ASSERT_PTR_NULL(mi_target_set_named(set, mi_span_of("s29"), mi_span_of("t2999"), two));
    for (uint32_t i = 700; i < 800; i++) {
        snprintf(topic, sizeof topic, "t%u", i);
        mi_target_set_drop(set, mi_target_set_find(set, 1, mi_span_of("s7"), mi_span_of(topic)));
    }
    CU_ASSERT_PTR_NULL(mi_target_set_stream(set, mi_span_of("s7")));
    CU_ASSERT_EQUAL(mi_target_set_count(set), 2901);
    for (size_t i = 0; i < mi_target_set_count(set); i++)
        CU_ASSERT_EQUAL(mi_target_set_at(set, i)->place, i);
    mi_target_set_free(set);
}

static void an_id_is_one_reader_for_good(void)
{
    struct mi_target_set *set = mi_target_set_new();
    struct mi_target *t = mi_target_set_add(set, 0, 1, mi_span_of("s"), mi_span_of("t"));
    mi_target_grow(t, 2);
    CU_ASSERT_TRUE(mi_target_set_new_id(set, t->readers[0], false));
    CU_ASSERT_TRUE(mi_target_set_new_id(set, t->readers[1], false));
    uint32_t first = t->readers[0]->id, other = t->readers[1]->id;
    CU_ASSERT_TRUE(first != 0 && other != 0 && first != other);
    CU_ASSERT_TRUE(mi_target_set_new_id(set, t->readers[0], true));
    CU_ASSERT_EQUAL(t->readers[0]->former_id, first);
    CU_ASSERT_PTR_EQUAL(mi_target_set_reader(set, first), t->readers[0]);
    CU_ASSERT_PTR_EQUAL(mi_target_set_reader(set, t->readers[0]->id), t->readers[0]);
    CU_ASSERT_TRUE(mi_target_set_new_id(set, t->readers[0], true));
    CU_ASSERT_PTR_NULL(mi_target_set_reader(set, first));
    CU_ASSERT_EQUAL(mi_target_set_reader_count(set), 2);
    for (int i = 0; i < 5000; i++) { /* slots are given out again, ids are not */
        CU_ASSERT_TRUE(mi_target_set_new_id(set, t->readers[0], true));
        CU_ASSERT_NOT_EQUAL(t->readers[0]->id, t->readers[0]->former_id);
    }
    CU_ASSERT_PTR_EQUAL(mi_target_set_reader(set, other), t->readers[1]);
    uint32_t last = t->readers[0]->id;
    mi_target_set_drop(set, t);
    CU_ASSERT_PTR_NULL(mi_target_set_reader(set, last));
    CU_ASSERT_PTR_NULL(mi_target_set_reader(set, 0));
    CU_ASSERT_EQUAL(mi_target_set_reader_count(set), 0);
    mi_target_set_free(set);
}

static CU_TestInfo tests[] = {
    {"latest starts behind the tail and earliest at zero",
     latest_starts_behind_the_tail_and_earliest_at_zero},
    {"what was missing at first is read whole, and live", what_was_missing_at_first_is_read_whole_and_live},
    {"a new partition is read from its beginning", a_new_partition_is_read_from_its_beginning},
    {"a topic made again starts anew", a_topic_made_again_starts_anew},
    {"a stamp that moves by milliseconds is the same topic",
     a_stamp_that_moves_by_milliseconds_is_the_same_topic},
    {"one that rested goes on at the tail", one_that_rested_goes_on_at_the_tail},
    {"failures back off", failures_back_off},
    {"targets are found by name", targets_are_found_by_name},
    {"an id is one reader for good", an_id_is_one_reader_for_good},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("target", tests)
