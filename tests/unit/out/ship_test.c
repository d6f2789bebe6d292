/*
 * ship: order, batches, lanes in parallel, refusals, targets, dead letters.
 */
#include "support/process.h"
#include "support/suite.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum fate some_503(struct model *m, const uint32_t *numbers, size_t count, size_t bytes)
{
    (void)numbers, (void)count, (void)bytes;
    return model_random(m) % 20 == 0 ? FATE_503 : FATE_STORE;
}

static void test_ships_all_in_order(void)
{
    struct world w;
    world_begin(&w);
    model_create(&w.model, "s", "t", 1);
    world_append(&w, 5000, 0);
    CU_ASSERT_TRUE(world_run(&w, 60000));
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_TRUE(world_in_order(&w, "s", "t", 0));
    CU_ASSERT_TRUE(w.model.produced <= 8);
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_COMMITTED), 5000);
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_RESENT), 0);
    world_end(&w);
}

static void test_field_114_order_holds_with_5_percent_503(void)
{
    struct world w;
    world_begin(&w);
    w.model.fate = some_503;
    model_create(&w.model, "s", "t", 4);
    w.config->max_batch_messages = 5;
    for (unsigned i = 0; i < 1000; i++) {
        world_append(&w, 1, i % 4);
        if (i % 10 == 0)
            world_pass(&w, 2);
    }
    CU_ASSERT_TRUE(world_run(&w, 600000));
    CU_ASSERT_TRUE(world_each_once(&w));
    for (uint32_t p = 0; p < 4; p++)
        CU_ASSERT_TRUE(world_in_order(&w, "s", "t", p));
    CU_ASSERT_TRUE(world_counted(&w, MI_C_RESENT) > 0);
    CU_ASSERT_EQUAL(w.model.polled, 0);
    world_end(&w);
}

static void test_field_115_lanes_go_in_parallel_within_the_limit(void)
{
    struct world w;
    world_begin(&w);
    char topic[16];
    for (unsigned i = 0; i < 12; i++) {
        snprintf(topic, sizeof topic, "t%u", i);
        model_create(&w.model, "s", topic, 8);
    }
    w.config->max_requests = 10;
    for (unsigned i = 0; i < 3000; i++) {
        snprintf(topic, sizeof topic, "t%u", i % 12);
        world_append_to(&w, 1, "s", topic, i / 12);
    }
    CU_ASSERT_TRUE(world_run(&w, 60000));
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_EQUAL(w.model.most_in_flight, 10);
    world_end(&w);
}

static enum fate poison_7(struct model *m, const uint32_t *numbers, size_t count, size_t bytes)
{
    (void)m, (void)bytes;
    for (size_t i = 0; i < count; i++)
        if (numbers[i] == 7)
            return FATE_422;
    return FATE_STORE;
}

static void test_field_109_one_bad_among_99_good(void)
{
    struct world w;
    world_begin(&w);
    w.model.fate = poison_7;
    struct model_topic *t = model_create(&w.model, "s", "t", 1);
    world_append(&w, 100, 0);
    CU_ASSERT_TRUE(world_run(&w, 60000));
    CU_ASSERT_EQUAL(t->partition[0].count, 99);
    CU_ASSERT_EQUAL(model_count(&w.model, 7), 0);
    CU_ASSERT_TRUE(world_in_order(&w, "s", "t", 0));
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_COMMITTED), 99);
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_DEAD_LETTERED), 1);
    char path[400];
    snprintf(path, sizeof path, "%s/journal/" MI_DEAD_LETTER_FILE, w.dir);
    char *file = mi_read_file(path);
    CU_ASSERT_PTR_NOT_NULL(file);
    free(file);
    world_end(&w);
}

static void test_dead_letters_go_to_their_stream_with_reason(void)
{
    struct world w;
    world_begin(&w);
    w.config->dead_letter_stream = "mqtt";
    w.config->dead_letter_topic = "dead";
    w.model.fate = poison_7;
    model_create(&w.model, "s", "t", 1);
    world_append(&w, 20, 0);
    struct mi_record born = {
        .stream = mi_span_of("123"), .topic = mi_span_of("t"), .reason = MI_REASON_STREAM_NAME};
    world_append_record(&w, &born);
    w.model.fate = NULL;
    struct model_topic *dead = model_topic(&w.model, "mqtt", "dead");
    CU_ASSERT_TRUE(world_run(&w, 60000));
    CU_ASSERT_TRUE(dead->exists);
    CU_ASSERT_EQUAL(dead->partition[0].count, 1);
    CU_ASSERT_TRUE(dead->partition[0].list[0].dead);
    CU_ASSERT_EQUAL(dead->partition[0].list[0].number, 20);
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_DEAD_LETTERED), 1);
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_COMMITTED), 20);
    world_end(&w);
}

static enum fate poison_two_neighbours(struct model *m, const uint32_t *numbers, size_t count, size_t bytes)
{
    (void)m, (void)bytes;
    for (size_t i = 0; i < count; i++)
        if (numbers[i] <= 1)
            return FATE_422;
    return FATE_STORE;
}

static void test_two_bad_at_the_head_are_both_found(void)
{
    struct world w;
    world_begin(&w);
    w.model.fate = poison_two_neighbours;
    struct model_topic *t = model_create(&w.model, "s", "t", 1);
    world_append(&w, 10, 0);
    CU_ASSERT_TRUE(world_run(&w, 600000));
    CU_ASSERT_EQUAL(t->partition[0].count, 8);
    CU_ASSERT_TRUE(world_in_order(&w, "s", "t", 0));
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_DEAD_LETTERED), 2);
    world_end(&w);
}

static enum fate all_422(struct model *m, const uint32_t *numbers, size_t count, size_t bytes)
{
    (void)m, (void)numbers, (void)count, (void)bytes;
    return FATE_422;
}

static void test_a_server_that_refuses_everything_condemns_nothing(void)
{
    struct world w;
    world_begin(&w);
    w.model.fate = all_422;
    model_create(&w.model, "s", "t", 1);
    world_append(&w, 50, 0);
    CU_ASSERT_FALSE(world_run(&w, 300000));
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_DEAD_LETTERED), 0);
    CU_ASSERT_TRUE(world_said(&w, "every message tried is refused"));
    CU_ASSERT_TRUE(w.model.produced < 500);
    w.model.fate = NULL;
    CU_ASSERT_TRUE(world_run(&w, 60000));
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_TRUE(world_in_order(&w, "s", "t", 0));
    world_end(&w);
}

static enum fate over_100k(struct model *m, const uint32_t *numbers, size_t count, size_t bytes)
{
    (void)m, (void)numbers, (void)count;
    return bytes > 100000 ? FATE_413 : FATE_STORE;
}

static void test_field_108_413_makes_batches_smaller(void)
{
    struct world w;
    world_begin(&w);
    w.model.fate = over_100k;
    model_create(&w.model, "s", "t", 1);
    w.padding = 3000;
    world_append(&w, 500, 0);
    CU_ASSERT_TRUE(world_run(&w, 60000));
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_TRUE(world_in_order(&w, "s", "t", 0));
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_DEAD_LETTERED), 0);
    unsigned before = w.model.produced;
    world_append(&w, 240, 0);
    CU_ASSERT_TRUE(world_run(&w, 60000));
    CU_ASSERT_TRUE(w.model.produced - before <= 15);
    world_end(&w);
}

static void test_field_108_too_large_for_a_request(void)
{
    struct world w;
    world_begin(&w);
    model_create(&w.model, "s", "t", 1);
    w.config->max_batch_bytes = 20000;
    world_append(&w, 3, 0);
    w.padding = 60000;
    world_append(&w, 1, 0);
    w.padding = 0;
    world_append(&w, 3, 0);
    CU_ASSERT_TRUE(world_run(&w, 60000));
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_COMMITTED), 6);
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_DEAD_LETTERED), 1);
    world_end(&w);
}

static void test_a_full_dead_letter_file_drops_nothing(void)
{
    struct world w;
    world_begin(&w);
    model_create(&w.model, "s", "t", 1);
    mi_dead_letters_set_max(w.out->dead, 50);
    struct mi_record born = {
        .stream = mi_span_of("123"), .topic = mi_span_of("t"), .reason = MI_REASON_STREAM_NAME};
    world_append_record(&w, &born);
    world_append(&w, 5, 0);
    CU_ASSERT_FALSE(world_run(&w, 5000));
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_COMMITTED), 5);
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_DEAD_LETTERED), 0);
    CU_ASSERT_TRUE(world_said(&w, "is full"));
    mi_dead_letters_set_max(w.out->dead, 1 << 20);
    CU_ASSERT_TRUE(world_run(&w, 5000));
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_DEAD_LETTERED), 1);
    world_end(&w);
}

static enum fate poison_7_and_no_right_for_the_dead(struct model *m, const uint32_t *numbers, size_t count,
                                                    size_t bytes)
{
    return count == 1 && numbers[0] == 7 && m->produced > 12 ? FATE_403 : poison_7(m, numbers, count, bytes);
}

static void test_a_dead_letter_stream_that_refuses_gives_way_to_the_file(void)
{
    struct world w;
    char path[400];
    world_begin(&w);
    w.config->dead_letter_stream = "mqtt";
    w.config->dead_letter_topic = "dead";
    w.model.fate = poison_7_and_no_right_for_the_dead;
    struct model_topic *t = model_create(&w.model, "s", "t", 1);
    world_append(&w, 20, 0);
    CU_ASSERT_TRUE(world_run(&w, 60000));
    CU_ASSERT_EQUAL(t->partition[0].count, 19);
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_DEAD_LETTERED), 1);
    snprintf(path, sizeof path, "%s/journal/" MI_DEAD_LETTER_FILE, w.dir);
    CU_ASSERT_EQUAL(access(path, F_OK), 0);
    world_end(&w);
}

static void test_creates_what_is_missing(void)
{
    struct world w;
    world_begin(&w);
    world_append(&w, 10, 0);
    CU_ASSERT_TRUE(world_run(&w, 60000));
    CU_ASSERT_EQUAL(w.model.created, 1);
    CU_ASSERT_TRUE(world_each_once(&w));
    world_end(&w);
}

static void test_field_52_a_missing_target_holds_only_its_own(void)
{
    struct world w;
    world_begin(&w);
    w.config->routes[0].create = false;
    model_create(&w.model, "s", "there", 1);
    world_append_to(&w, 10, "s", "gone", 0);
    world_append_to(&w, 10, "s", "there", 0);
    CU_ASSERT_FALSE(world_run(&w, 30000));
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_COMMITTED), 10);
    CU_ASSERT_TRUE(mi_out_target_missing(w.out, mi_span_of("s"), mi_span_of("gone")));
    CU_ASSERT_FALSE(mi_out_target_missing(w.out, mi_span_of("s"), mi_span_of("there")));
    CU_ASSERT_TRUE(world_said(&w, "stream s topic gone is missing"));
    model_create(&w.model, "s", "gone", 1);
    CU_ASSERT_TRUE(world_run(&w, 30000));
    CU_ASSERT_FALSE(mi_out_target_missing(w.out, mi_span_of("s"), mi_span_of("gone")));
    CU_ASSERT_TRUE(world_each_once(&w));
    world_end(&w);
}

static void test_a_deleted_topic_is_made_again(void)
{
    struct world w;
    world_begin(&w);
    struct model_topic *t = model_create(&w.model, "s", "t", 1);
    world_append(&w, 10, 0);
    CU_ASSERT_TRUE(world_run(&w, 30000));
    t->exists = false;
    world_append(&w, 10, 0);
    CU_ASSERT_TRUE(world_run(&w, 30000));
    CU_ASSERT_EQUAL(t->partition[0].count, 10);
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_COMMITTED), 20);
    world_end(&w);
}

static void test_without_the_right_to_details_the_rule_counts(void)
{
    struct world w;
    world_begin(&w);
    w.model.details_denied = true;
    w.config->routes[0].create_partitions = 3;
    model_create(&w.model, "s", "t", 3);
    for (uint32_t i = 0; i < 9; i++)
        world_append(&w, 1, i);
    CU_ASSERT_TRUE(world_run(&w, 30000));
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_EQUAL(model_topic(&w.model, "s", "t")->partition[2].count, 3);
    world_end(&w);
}

static void test_more_partitions_keep_the_order_of_a_key(void)
{
    struct world w;
    world_begin(&w);
    struct model_topic *t = model_create(&w.model, "s", "t", 1);
    world_append(&w, 100, 5);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    t->partitions = 4;
    for (unsigned i = 0; i < 100; i++) {
        world_append(&w, 1, 5);
        world_pass(&w, 1000);
    }
    CU_ASSERT_TRUE(world_run(&w, 30000));
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_TRUE(t->partition[0].count < 200);
    CU_ASSERT_TRUE(t->partition[1].count > 0);
    CU_ASSERT_TRUE(t->partition[1].list[0].number > t->partition[0].list[t->partition[0].count - 1].number);
    world_end(&w);
}

static void test_fewer_partitions(void)
{
    struct world w;
    world_begin(&w);
    struct model_topic *t = model_create(&w.model, "s", "t", 4);
    for (uint32_t i = 0; i < 40; i++)
        world_append(&w, 1, i);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    t->partitions = 2;
    for (uint32_t i = 0; i < 40; i++)
        world_append(&w, 1, i);
    CU_ASSERT_TRUE(world_run(&w, 30000));
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_EQUAL(t->partition[3].count, 10);
    world_end(&w);
}

static void test_balanced_spreads_and_is_found_again(void)
{
    struct world w;
    world_begin(&w);
    struct model_topic *t = model_create(&w.model, "s", "t", 2);
    for (unsigned i = 0; i < 512; i++) {
        struct mi_record r = {.stream = mi_span_of("s"), .topic = mi_span_of("t"), .balanced = true};
        world_append_record(&w, &r);
    }
    CU_ASSERT_TRUE(world_run(&w, 30000));
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_EQUAL(t->partition[0].count + t->partition[1].count, 512);
    CU_ASSERT_TRUE(t->partition[0].count >= 200 && t->partition[1].count >= 200);
    world_end(&w);
}

static void test_one_probe_while_nothing_answers(void)
{
    struct world w;
    world_begin(&w);
    w.model.down = true;
    char topic[16];
    for (unsigned i = 0; i < 14; i++) {
        snprintf(topic, sizeof topic, "t%u", i);
        world_append_to(&w, 20, "s", topic, 0);
    }
    world_pass(&w, 60000);
    CU_ASSERT_TRUE(w.model.connects < 14 + 30);
    CU_ASSERT_TRUE(world_said(&w, "nothing is shipped"));
    CU_ASSERT_TRUE(strlen(w.lines) < 4000);
    w.model.down = false;
    CU_ASSERT_TRUE(world_run(&w, 30000));
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_DEAD_LETTERED), 0);
    world_end(&w);
}

static void test_a_window_full_of_one_lane_ships(void)
{
    struct world w;
    world_begin(&w);
    model_create(&w.model, "s", "t", 1);
    world_append(&w, 200000, 0);
    CU_ASSERT_TRUE(world_run(&w, 600000));
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_TRUE(world_in_order(&w, "s", "t", 0));
    CU_ASSERT_TRUE(w.model.produced <= 205);
    world_end(&w);
}

static enum fate nothing_403(struct model *m, const uint32_t *numbers, size_t count, size_t bytes)
{
    (void)m, (void)numbers, (void)count, (void)bytes;
    return FATE_403;
}

static void test_a_missing_right_holds_and_says_so(void)
{
    struct world w;
    world_begin(&w);
    w.model.fate = nothing_403;
    model_create(&w.model, "s", "t", 1);
    world_append(&w, 10, 0);
    CU_ASSERT_FALSE(world_run(&w, 120000));
    CU_ASSERT_TRUE(w.model.produced < 60);
    CU_ASSERT_TRUE(world_said(&w, "stream s topic t partition 0: its messages wait"));
    w.model.fate = NULL;
    CU_ASSERT_TRUE(world_run(&w, 20000));
    CU_ASSERT_TRUE(world_each_once(&w));
    world_end(&w);
}

static void test_stop_starts_nothing_new(void)
{
    struct world w;
    world_begin(&w);
    model_create(&w.model, "s", "t", 1);
    world_append(&w, 10, 0);
    mi_out_stop(w.out);
    world_pass(&w, 1000);
    CU_ASSERT_TRUE(mi_out_quiet(w.out));
    CU_ASSERT_FALSE(mi_out_idle(w.out));
    CU_ASSERT_EQUAL(w.model.produced, 0);
    world_end(&w);
}

/* A stopping broker waits until out is idle. */
/* ASan sees what is not freed on this way. */
static void test_field_58_one_message_and_a_stop_while_iggy_is_down(void)
{
    struct world w;
    world_begin(&w);
    w.model.down = true;
    world_append(&w, 1, 0);
    world_pass(&w, 30000);
    mi_out_stop(w.out);
    world_pass(&w, 1000);
    CU_ASSERT_TRUE(mi_out_quiet(w.out));
    CU_ASSERT_FALSE(mi_out_idle(w.out));
    world_checkpoint(&w);
    world_restart(&w);
    w.model.down = false;
    CU_ASSERT_TRUE(world_run(&w, 30000));
    CU_ASSERT_TRUE(world_each_once(&w));
    world_end(&w);
}

static void test_a_new_journal_is_idle(void)
{
    struct world w;
    world_begin(&w);
    CU_ASSERT_TRUE(mi_out_idle(w.out));
    world_restart(&w);
    CU_ASSERT_TRUE(mi_out_idle(w.out));
    world_end(&w);
}

static void test_status_is_json(void)
{
    struct world w;
    struct mi_buf json;
    world_begin(&w);
    model_create(&w.model, "s", "t", 1);
    world_append(&w, 10, 0);
    CU_ASSERT_TRUE(world_run(&w, 10000));
    mi_buf_init(&json, 10000);
    CU_ASSERT_TRUE(mi_out_status(w.out, &json));
    mi_buf_add_byte(&json, 0);
    CU_ASSERT_PTR_NOT_NULL(
        strstr((char *)json.data, "{\"stream\":\"s\",\"topic\":\"t\",\"partition\":0,\"state\":\"idle\""));
    CU_ASSERT_PTR_NOT_NULL(strstr((char *)json.data, "\"offset\":9}"));
    mi_buf_fini(&json);
    world_end(&w);
}

static CU_TestInfo tests[] = {
    {"ships all in order", test_ships_all_in_order},
    {"field 114: order holds with 5 percent 503", test_field_114_order_holds_with_5_percent_503},
    {"field 115: lanes go in parallel within the limit",
     test_field_115_lanes_go_in_parallel_within_the_limit},
    {"field 109: one bad among 99 good", test_field_109_one_bad_among_99_good},
    {"dead letters go to their stream", test_dead_letters_go_to_their_stream_with_reason},
    {"two bad at the head", test_two_bad_at_the_head_are_both_found},
    {"a server that refuses everything", test_a_server_that_refuses_everything_condemns_nothing},
    {"field 108: 413 makes batches smaller", test_field_108_413_makes_batches_smaller},
    {"field 108: too large for a request", test_field_108_too_large_for_a_request},
    {"a full dead letter file drops nothing", test_a_full_dead_letter_file_drops_nothing},
    {"a dead-letter stream that refuses", test_a_dead_letter_stream_that_refuses_gives_way_to_the_file},
    {"creates what is missing", test_creates_what_is_missing},
    {"field 52: a missing target holds only its own", test_field_52_a_missing_target_holds_only_its_own},
    {"a deleted topic is made again", test_a_deleted_topic_is_made_again},
    {"without the right to details", test_without_the_right_to_details_the_rule_counts},
    {"more partitions keep the order of a key", test_more_partitions_keep_the_order_of_a_key},
    {"fewer partitions", test_fewer_partitions},
    {"balanced spreads", test_balanced_spreads_and_is_found_again},
    {"one probe while nothing answers", test_one_probe_while_nothing_answers},
    {"a window full of one lane", test_a_window_full_of_one_lane_ships},
    {"a missing right holds", test_a_missing_right_holds_and_says_so},
    {"stop starts nothing new", test_stop_starts_nothing_new},
    {"field 58: one message and a stop while Iggy is down",
     test_field_58_one_message_and_a_stop_while_iggy_is_down},
    {"a new journal is idle", test_a_new_journal_is_idle},
    {"status is JSON", test_status_is_json},
    CU_TEST_INFO_NULL,
};

MI_SUITE_MAIN("out ship", tests)
