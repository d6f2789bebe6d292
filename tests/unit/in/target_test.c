/* target: where readers start, what a topic made again or a lost tail does, how the pace moves. */
#include "in/target.h"
#include "support/suite.h"

static struct iggy_partition part(uint32_t id, uint64_t tail, uint64_t count)
{
    struct iggy_partition p = {.id = id, .current_offset = tail, .messages_count = count};
    return p;
}

static enum mi_target_change details(struct mi_target *t, uint64_t created,
                                     const struct iggy_partition *parts, uint32_t n, enum mi_start start)
{
    static uint32_t next_id = 1;
    struct iggy_topic topic = {.created_at = created, .partitions_count = n, .partitions = parts};
    return mi_target_details(t, &topic, start, &next_id);
}

static struct mi_target *fresh(void)
{
    return mi_target_new(0, 1, mi_span_of("s"), mi_span_of("t"));
}

static void latest_starts_behind_the_tail_and_earliest_at_zero(void)
{
    struct iggy_partition parts[] = {part(0, 9, 10), part(1, 0, 0)};
    struct mi_target *t = fresh();
    CU_ASSERT_EQUAL(details(t, 5, parts, 2, MI_START_LATEST), MI_TARGET_SAME);
    CU_ASSERT_EQUAL(t->readers[0].next, 10);
    CU_ASSERT_EQUAL(t->readers[1].next, 0);
    CU_ASSERT_FALSE(mi_reader_wants(t, &t->readers[0], 0));
    mi_target_free(t);
    t = fresh();
    details(t, 5, parts, 2, MI_START_EARLIEST);
    CU_ASSERT_EQUAL(t->readers[0].next, 0);
    CU_ASSERT_TRUE(mi_reader_wants(t, &t->readers[0], 0));
    CU_ASSERT_FALSE(mi_reader_wants(t, &t->readers[1], 0));
    mi_target_free(t);
}

static void what_was_missing_at_first_is_read_whole(void)
{
    struct iggy_partition parts[] = {part(0, 3, 4)};
    struct mi_target *t = fresh();
    t->was_missing = true;
    details(t, 5, parts, 1, MI_START_LATEST);
    CU_ASSERT_EQUAL(t->readers[0].next, 0);
    mi_target_free(t);
}

static void a_new_partition_is_read_from_its_beginning(void)
{
    struct iggy_partition parts[] = {part(0, 9, 10), part(1, 4, 5)};
    struct mi_target *t = fresh();
    details(t, 5, parts, 1, MI_START_LATEST);
    details(t, 5, parts, 2, MI_START_LATEST);
    CU_ASSERT_EQUAL(t->readers[0].next, 10);
    CU_ASSERT_EQUAL(t->readers[1].next, 0);
    CU_ASSERT_NOT_EQUAL(t->readers[0].id, t->readers[1].id);
    mi_target_free(t);
}

static void a_topic_made_again_starts_anew(void)
{
    struct iggy_partition before[] = {part(0, 9, 10)}, after[] = {part(0, 1, 2)};
    struct mi_target *t = fresh();
    details(t, 5, before, 1, MI_START_LATEST);
    CU_ASSERT_EQUAL(details(t, 2000006, after, 1, MI_START_LATEST), MI_TARGET_MADE_AGAIN);
    CU_ASSERT_EQUAL(t->readers[0].next, 0);
    CU_ASSERT_TRUE(mi_reader_wants(t, &t->readers[0], 0));
    mi_target_free(t);
}

static void a_stamp_that_moves_by_milliseconds_is_the_same_topic(void)
{
    struct iggy_partition parts[] = {part(0, 9, 10)};
    struct mi_target *t = fresh();
    details(t, 5000000, parts, 1, MI_START_LATEST);
    CU_ASSERT_EQUAL(details(t, 5020000, parts, 1, MI_START_LATEST), MI_TARGET_SAME);
    CU_ASSERT_EQUAL(t->readers[0].next, 10);
    CU_ASSERT_EQUAL(details(t, 6020000, parts, 1, MI_START_LATEST), MI_TARGET_MADE_AGAIN);
    mi_target_free(t);
}

static void a_lost_tail_moves_the_reader_back(void)
{
    struct iggy_partition before[] = {part(0, 99, 100)}, after[] = {part(0, 49, 50)};
    struct mi_target *t = fresh();
    details(t, 5, before, 1, MI_START_LATEST);
    CU_ASSERT_EQUAL(details(t, 5, after, 1, MI_START_LATEST), MI_TARGET_TAIL_LOST);
    CU_ASSERT_EQUAL(t->readers[0].next, 50);
    CU_ASSERT_EQUAL(t->readers[0].delivered, 50);
    mi_target_free(t);
}

static void restored_positions_go_on(void)
{
    uint32_t id = 50;
    struct iggy_partition parts[] = {part(0, 9, 10), part(1, 4, 5)};
    struct mi_target *t = fresh();
    mi_target_restore(t, 0, 5, 7, &id);
    details(t, 5, parts, 2, MI_START_LATEST);
    CU_ASSERT_EQUAL(t->readers[0].next, 7);
    CU_ASSERT_EQUAL(t->readers[1].next, 0);
    mi_target_free(t);
}

static void the_pace_slows_when_idle_and_backs_off_when_failing(void)
{
    struct mi_target *t = fresh();
    for (int i = 0; i < 200; i++)
        mi_target_pace(t, 0, false, MI_PACE_MAX_NS);
    CU_ASSERT_EQUAL(t->pace_ns, MI_PACE_MAX_NS);
    mi_target_pace(t, 1000, true, MI_PACE_MAX_NS);
    CU_ASSERT_EQUAL(t->due_ns, 1000 + MI_PACE_MIN_NS);
    for (int i = 0; i < 20; i++)
        mi_target_failed(t, 0);
    CU_ASSERT_EQUAL(t->due_ns, 6400 * 1000000ull);
    mi_target_free(t);
}

static CU_TestInfo tests[] = {
    {"latest starts behind the tail and earliest at zero",
     latest_starts_behind_the_tail_and_earliest_at_zero},
    {"what was missing at first is read whole", what_was_missing_at_first_is_read_whole},
    {"a new partition is read from its beginning", a_new_partition_is_read_from_its_beginning},
    {"a topic made again starts anew", a_topic_made_again_starts_anew},
    {"a stamp that moves by milliseconds is the same topic",
     a_stamp_that_moves_by_milliseconds_is_the_same_topic},
    {"a lost tail moves the reader back", a_lost_tail_moves_the_reader_back},
    {"restored positions go on", restored_positions_go_on},
    {"the pace slows when idle and backs off when failing",
     the_pace_slows_when_idle_and_backs_off_when_failing},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("target", tests)
