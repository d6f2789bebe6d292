/*
 * settle: unknown outcomes, restarts of the bridge, restarts of the server, the checkpoint between.
 */
#include "support/suite.h"
#include "world.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum fate next_fate;
static unsigned fates_left;

/* The next fates_left requests end with next_fate, then all is well. */
static enum fate some(struct model *m, const uint32_t *numbers, size_t count, size_t bytes)
{
    (void)m, (void)numbers, (void)count, (void)bytes;
    if (!fates_left)
        return FATE_STORE;
    fates_left--;
    return next_fate;
}

static void begin(struct world *w, enum fate f, unsigned times)
{
    world_begin(w);
    next_fate = f;
    fates_left = times;
    w->model.fate = some;
    model_create(&w->model, "s", "t", 1);
}

static void test_cut_and_stored_is_found_soon(void)
{
    struct world w;
    begin(&w, FATE_CUT_AFTER, 1);
    world_append(&w, 100, 0);
    CU_ASSERT_TRUE(world_run(&w, 500));
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_FOUND), 100);
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_COMMITTED), 100);
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_RESENT), 0);
    world_end(&w);
}

static void test_cut_and_absent_is_sent_again_after_settling(void)
{
    struct world w;
    begin(&w, FATE_CUT_BEFORE, 1);
    world_append(&w, 100, 0);
    CU_ASSERT_FALSE(world_run(&w, 11900));
    CU_ASSERT_EQUAL(w.model.produced, 1);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_RESENT), 100);
    world_end(&w);
}

static void test_cut_and_stored_late_is_not_sent_again(void)
{
    struct world w;
    begin(&w, FATE_CUT_LATE, 1);
    w.model.late_ns = 10 * MI_NS_PER_S;
    world_append(&w, 100, 0);
    world_append(&w, 50, 1);
    CU_ASSERT_TRUE(world_run(&w, 20000));
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_TRUE(world_in_order(&w, "s", "t", 0));
    world_end(&w);
}

static void test_unheard_of_answers_are_unknown(void)
{
    struct world w;
    begin(&w, FATE_400, 1);
    world_append(&w, 10, 0);
    CU_ASSERT_TRUE(world_run(&w, 20000));
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_TRUE(w.model.polled > 0);
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_DEAD_LETTERED), 0);
    world_end(&w);
}

static void test_foreign_messages_do_not_confuse(void)
{
    struct world w;
    begin(&w, FATE_CUT_AFTER, 1);
    struct model_topic *t = model_topic(&w.model, "s", "t");
    for (unsigned i = 0; i < 5000; i++)
        model_foreign(&w.model, t, 0);
    world_append(&w, 10, 0);
    CU_ASSERT_TRUE(world_run(&w, 500));
    for (unsigned i = 0; i < 5000; i++)
        model_foreign(&w.model, t, 0);
    fates_left = 1;
    world_append(&w, 10, 0);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_FOUND), 20);
    world_end(&w);
}

static void test_without_confirmations_as_0_8(void)
{
    struct world w;
    begin(&w, FATE_STORE_SILENTLY, 3);
    w.model.tail_unknown = true;
    w.config->max_batch_messages = 10;
    world_append(&w, 30, 0);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    next_fate = FATE_CUT_AFTER;
    fates_left = 1;
    world_append(&w, 10, 0);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    next_fate = FATE_CUT_BEFORE;
    fates_left = 1;
    world_append(&w, 10, 0);
    CU_ASSERT_TRUE(world_run(&w, 20000));
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_FOUND), 10);
    world_end(&w);
}

static void test_without_the_right_to_poll_it_says_so_once_and_sends_again(void)
{
    struct world w;
    begin(&w, FATE_CUT_BEFORE, 2);
    w.model.poll_denied = true;
    world_append(&w, 10, 0);
    CU_ASSERT_TRUE(world_run(&w, 60000));
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_RESENT), 20);
    const char *said = strstr(w.lines, "grant poll_messages");
    CU_ASSERT_PTR_NOT_NULL_FATAL(said);
    CU_ASSERT_PTR_NULL(strstr(said + 1, "grant poll_messages"));
    world_end(&w);
}

static void test_a_failing_read_back_waits(void)
{
    struct world w;
    begin(&w, FATE_CUT_AFTER, 1);
    w.model.polls_fail = true;
    world_append(&w, 10, 0);
    CU_ASSERT_FALSE(world_run(&w, 60000));
    CU_ASSERT_EQUAL(w.model.produced, 1);
    w.model.polls_fail = false;
    CU_ASSERT_TRUE(world_run(&w, 20000));
    CU_ASSERT_TRUE(world_each_once(&w));
    world_end(&w);
}

static void test_a_restarted_server_settles_at_once(void)
{
    struct world w;
    begin(&w, FATE_CUT_BEFORE, 1);
    world_append(&w, 10, 0);
    world_pass(&w, 1000);
    w.model.start_time++;
    w.model.new_connection = true;
    CU_ASSERT_TRUE(world_run(&w, 6000));
    CU_ASSERT_TRUE(world_each_once(&w));
    world_end(&w);
}

static void test_bridge_killed_after_the_server_stored(void)
{
    struct world w;
    begin(&w, FATE_STORE, 0);
    world_append(&w, 100, 0);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    world_checkpoint(&w);
    world_append(&w, 100, 0);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    world_append(&w, 50, 0);
    world_restart(&w);
    world_append(&w, 50, 0);
    CU_ASSERT_FALSE(world_run(&w, 11000));
    CU_ASSERT_TRUE(world_run(&w, 5000));
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_TRUE(world_in_order(&w, "s", "t", 0));
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_COMMITTED), 300);
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_FOUND), 100);
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_JOURNALED), 300);
    world_end(&w);
}

static void test_new_lanes_flow_while_old_ones_settle(void)
{
    struct world w;
    begin(&w, FATE_STORE, 0);
    model_create(&w.model, "s", "other", 1);
    w.model.down = true;
    world_append(&w, 10, 0);
    world_pass(&w, 100);
    world_restart(&w);
    w.model.down = false;
    world_append_to(&w, 10, "s", "other", 0);
    world_pass(&w, 1000);
    CU_ASSERT_EQUAL(model_topic(&w.model, "s", "other")->partition[0].count, 10);
    CU_ASSERT_EQUAL(model_topic(&w.model, "s", "t")->partition[0].count, 0);
    CU_ASSERT_TRUE(world_run(&w, 20000));
    CU_ASSERT_TRUE(world_each_once(&w));
    world_end(&w);
}

static void test_without_any_checkpoint_all_is_looked_for(void)
{
    struct world w;
    begin(&w, FATE_STORE, 0);
    world_append(&w, 3000, 0);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    mi_buf_reset(&w.checkpoint);
    world_append(&w, 10, 0);
    world_restart(&w);
    CU_ASSERT_TRUE(world_run(&w, 20000));
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_TRUE(world_in_order(&w, "s", "t", 0));
    world_end(&w);
}

static void test_more_than_a_window_of_old_messages(void)
{
    struct world w;
    begin(&w, FATE_STORE, 0);
    world_append(&w, 70000, 0);
    CU_ASSERT_TRUE(world_run(&w, 10000));
    world_append(&w, 100000, 0);
    world_restart(&w);
    CU_ASSERT_TRUE(world_run(&w, 60000));
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_TRUE(world_in_order(&w, "s", "t", 0));
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_FOUND), 70000);
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_COMMITTED), 170000);
    world_end(&w);
}

static void test_a_damaged_checkpoint_counts_as_none(void)
{
    struct world w;
    begin(&w, FATE_STORE, 0);
    world_append(&w, 100, 0);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    world_checkpoint(&w);
    w.checkpoint.len -= 3;
    world_restart(&w);
    CU_ASSERT_TRUE(world_said(&w, "checkpoint"));
    CU_ASSERT_TRUE(world_run(&w, 20000));
    CU_ASSERT_TRUE(world_each_once(&w));
    world_end(&w);
}

static void test_a_clean_restart_sends_nothing_again(void)
{
    struct world w;
    begin(&w, FATE_STORE, 0);
    world_append(&w, 100, 0);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    world_checkpoint(&w);
    CU_ASSERT_FALSE(mi_out_changed(w.out));
    CU_ASSERT_EQUAL(w.release, 101);
    world_restart(&w);
    CU_ASSERT_TRUE(world_run(&w, 100));
    unsigned before = w.model.produced;
    world_append(&w, 5, 0);
    CU_ASSERT_TRUE(world_run(&w, 100));
    CU_ASSERT_EQUAL(w.model.produced, before + 1);
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_COMMITTED), 105);
    world_end(&w);
}

static void test_field_36_dead_letters_come_once_through_a_crash(void)
{
    struct world w;
    begin(&w, FATE_STORE, 0);
    w.config->dead_letter_stream = "mqtt";
    w.config->dead_letter_topic = "dead";
    struct model_topic *dead = model_create(&w.model, "mqtt", "dead", 1);
    struct mi_record born = {
        .stream = mi_span_of("1"), .topic = mi_span_of("t"), .reason = MI_REASON_STREAM_NAME};
    struct mi_record again = born;
    world_append_record(&w, &born);
    world_append(&w, 5, 0);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    CU_ASSERT_EQUAL(dead->partition[0].count, 1);
    again.payload = (struct mi_span){0};
    world_append_record(&w, &again);
    world_restart(&w);
    CU_ASSERT_TRUE(world_run(&w, 60000));
    CU_ASSERT_EQUAL(dead->partition[0].count, 2);
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_DEAD_LETTERED), 2);
    world_end(&w);
}

static void test_field_36_filed_dead_letters_come_once_through_a_crash(void)
{
    struct world w;
    char path[400];
    begin(&w, FATE_STORE, 0);
    struct mi_record born = {
        .stream = mi_span_of("1"), .topic = mi_span_of("t"), .reason = MI_REASON_STREAM_NAME};
    world_append_record(&w, &born);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    snprintf(path, sizeof path, "%s/journal/" MI_DEAD_LETTER_FILE, w.dir);
    FILE *f = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fseek(f, 0, SEEK_END);
    long before = ftell(f);
    fclose(f);
    CU_ASSERT_TRUE(before > 0);
    world_restart(&w);
    CU_ASSERT_TRUE(world_run(&w, 60000));
    f = fopen(path, "r");
    fseek(f, 0, SEEK_END);
    CU_ASSERT_EQUAL(ftell(f), before);
    fclose(f);
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_DEAD_LETTERED), 1);
    world_end(&w);
}

/* ---- what the server lost ---- */

static void test_a_lost_tail_is_sent_again_before_anything_newer(void)
{
    struct world w;
    begin(&w, FATE_STORE, 0);
    w.config->max_batch_messages = 10;
    world_append(&w, 100, 0);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    model_save(&w.model);
    world_append(&w, 100, 0);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    model_kill(&w.model);
    world_append(&w, 100, 0);
    world_pass(&w, 10000);
    CU_ASSERT_TRUE(world_run(&w, 20000));
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_COMMITTED), 300);
    CU_ASSERT_TRUE(world_counted(&w, MI_C_LOST_RESENT) >= 100);
    world_end(&w);
}

static void test_an_idle_bridge_notices_a_lost_tail(void)
{
    struct world w;
    begin(&w, FATE_STORE, 0);
    world_append(&w, 100, 0);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    model_kill(&w.model);
    CU_ASSERT_EQUAL(model_count(&w.model, 50), 0);
    world_pass(&w, 10000);
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_TRUE(world_in_order(&w, "s", "t", 0));
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_LOST_RESENT), 100);
    CU_ASSERT_TRUE(world_said(&w, "no longer has messages that it had confirmed"));
    world_end(&w);
}

static void test_a_lost_tail_filled_up_by_others(void)
{
    struct world w;
    begin(&w, FATE_STORE, 0);
    struct model_topic *t = model_topic(&w.model, "s", "t");
    world_append(&w, 50, 0);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    model_save(&w.model);
    world_append(&w, 50, 0);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    model_kill(&w.model);
    for (unsigned i = 0; i < 200; i++)
        model_foreign(&w.model, t, 0);
    world_pass(&w, 10000);
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_TRUE(world_in_order(&w, "s", "t", 0));
    world_end(&w);
}

static void test_both_sides_crash(void)
{
    struct world w;
    begin(&w, FATE_STORE, 0);
    world_append(&w, 50, 0);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    model_save(&w.model);
    world_append(&w, 50, 0);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    world_checkpoint(&w);
    world_append(&w, 50, 0);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    model_kill(&w.model);
    world_restart(&w);
    world_pass(&w, 20000);
    CU_ASSERT_TRUE(world_run(&w, 20000));
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_TRUE(world_in_order(&w, "s", "t", 0));
    world_end(&w);
}

static uint64_t resent_after_loss(struct world *w)
{
    return world_counted(w, MI_C_LOST_RESENT);
}

static void test_a_lost_tail_without_confirmations(void)
{
    struct world w;
    begin(&w, FATE_STORE_SILENTLY, UINT_MAX);
    w.model.tail_unknown = true;
    world_append(&w, 50, 0);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    model_save(&w.model);
    world_append(&w, 50, 0);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    model_kill(&w.model);
    world_pass(&w, 10000); /* without new traffic */
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_TRUE(world_in_order(&w, "s", "t", 0));
    CU_ASSERT_EQUAL(resent_after_loss(&w), 50);
    world_end(&w);
}

static void test_all_is_lost_without_confirmations(void)
{
    struct world w;
    begin(&w, FATE_STORE_SILENTLY, UINT_MAX);
    world_append(&w, 50, 0);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    model_kill(&w.model);
    world_pass(&w, 10000);
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_EQUAL(resent_after_loss(&w), 50);
    world_end(&w);
}

static void test_without_confirmations_others_may_write_behind_us(void)
{
    struct world w;
    begin(&w, FATE_STORE_SILENTLY, UINT_MAX);
    struct model_topic *t = model_topic(&w.model, "s", "t");
    world_append(&w, 50, 0);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    for (unsigned i = 0; i < 5000; i++)
        model_foreign(&w.model, t, 0);
    model_save(&w.model);
    model_kill(&w.model);
    world_pass(&w, 10000);
    CU_ASSERT_EQUAL(resent_after_loss(&w), 0);
    CU_ASSERT_FALSE(world_said(&w, "no longer has"));
    world_end(&w);
}

static void test_without_confirmations_over_a_restart_of_both(void)
{
    struct world w;
    begin(&w, FATE_STORE_SILENTLY, UINT_MAX);
    world_append(&w, 50, 0);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    model_save(&w.model);
    world_append(&w, 50, 0);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    world_checkpoint(&w);
    model_kill(&w.model);
    world_restart(&w);
    world_append(&w, 10, 0);
    world_pass(&w, 20000);
    CU_ASSERT_TRUE(world_run(&w, 20000));
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_TRUE(world_in_order(&w, "s", "t", 0));
    world_end(&w);
}

static void test_without_confirmations_a_restart_of_the_bridge_alone(void)
{
    struct world w;
    begin(&w, FATE_STORE_SILENTLY, UINT_MAX);
    world_append(&w, 10, 0);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    for (unsigned i = 0; i < 5; i++)
        model_foreign(&w.model, model_topic(&w.model, "s", "t"), 0);
    world_append(&w, 10, 0);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    world_checkpoint(&w);
    world_restart(&w);
    world_pass(&w, 20000);
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_EQUAL(resent_after_loss(&w), 0);
    CU_ASSERT_FALSE(world_said(&w, "another offset"));
    world_end(&w);
}

static void test_a_stamp_that_moves_by_milliseconds_hides_no_loss(void)
{
    struct world w;
    begin(&w, FATE_STORE, 0);
    world_append(&w, 50, 0);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    model_topic(&w.model, "s", "t")->created_at += 20000;
    world_pass(&w, 61000); /* until the details are asked for again */
    model_kill(&w.model);
    world_pass(&w, 10000);
    CU_ASSERT_EQUAL(resent_after_loss(&w), 50);
    CU_ASSERT_TRUE(world_each_once(&w));
    world_end(&w);
}

static void test_a_start_within_the_same_second_hides_no_loss(void)
{
    struct world w;
    begin(&w, FATE_STORE, 0);
    world_append(&w, 50, 0);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    model_kill(&w.model);
    w.model.start_time--;
    world_pass(&w, 10000);
    CU_ASSERT_EQUAL(resent_after_loss(&w), 50);
    CU_ASSERT_TRUE(world_each_once(&w));
    world_end(&w);
}

/* The first request after the restart is a POST: it may not overtake what was lost. */
static void test_nothing_new_goes_before_the_check(void)
{
    struct world w;
    begin(&w, FATE_STORE, 0);
    world_append(&w, 50, 0);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    world_pass(&w, 1000);
    model_kill(&w.model);
    world_append(&w, 10, 0);
    world_pass(&w, 10000);
    CU_ASSERT_TRUE(w.model.held > 0);
    CU_ASSERT_EQUAL(resent_after_loss(&w), 50);
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_TRUE(world_in_order(&w, "s", "t", 0));
    world_end(&w);
}

static void test_killed_again_while_it_sends_again(void)
{
    for (unsigned pause = 0; pause < 40; pause++) {
        struct world w;
        begin(&w, FATE_STORE, 0);
        w.config->max_batch_messages = 10;
        world_append(&w, 200, 0);
        CU_ASSERT_TRUE(world_run(&w, 1000));
        model_kill(&w.model);
        world_pass(&w, 5000 + pause);
        model_save(&w.model);
        world_pass(&w, pause % 7);
        model_kill(&w.model);
        world_append(&w, 10, 0);
        world_pass(&w, 20000);
        CU_ASSERT_TRUE(world_each_once(&w));
        CU_ASSERT_TRUE(world_in_order(&w, "s", "t", 0));
        world_end(&w);
    }
}

static bool all_refused;

static enum fate first_never(struct model *m, const uint32_t *numbers, size_t count, size_t bytes)
{
    (void)m, (void)bytes;
    for (size_t i = 0; i < count; i++)
        if (numbers[i] == 0)
            return FATE_503;
    return all_refused ? FATE_503 : FATE_STORE;
}

/* The window begins with an older message of another partition, and the bridge is restarted before anything
 * of what was lost was sent again. */
static void test_lost_and_the_bridge_restarted_behind_a_waiting_message(void)
{
    struct world w;
    begin(&w, FATE_STORE, 0);
    model_topic(&w.model, "s", "t")->partitions = 2;
    w.model.fate = first_never;
    all_refused = false;
    world_append(&w, 1, 1);
    world_append(&w, 100, 0);
    world_pass(&w, 1000);
    model_kill(&w.model);
    all_refused = true;
    world_pass(&w, 10000);
    world_checkpoint(&w);
    world_restart(&w);
    w.model.fate = NULL;
    CU_ASSERT_TRUE(world_run(&w, 60000));
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_TRUE(world_in_order(&w, "s", "t", 0));
    CU_ASSERT_FALSE(world_said(&w, "not in the journal any more"));
    world_end(&w);
}

/* Behind something that closes the connection after each answer, every request shows a sign. */
static void test_connections_that_do_not_last_stop_nothing(void)
{
    struct world w;
    begin(&w, FATE_STORE, 0);
    w.model.no_connection_lasts = true;
    for (unsigned i = 0; i < 5; i++) {
        world_append(&w, 10, 0);
        world_pass(&w, 20000);
    }
    CU_ASSERT_TRUE(world_run(&w, 20000));
    CU_ASSERT_TRUE(world_each_once(&w));
    world_end(&w);
}

static void test_a_restart_without_loss_sends_nothing(void)
{
    struct world w;
    begin(&w, FATE_STORE, 0);
    world_append(&w, 100, 0);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    model_save(&w.model);
    model_kill(&w.model);
    world_pass(&w, 10000);
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_EQUAL(w.model.produced, 1);
    CU_ASSERT_EQUAL(mi_metrics_get(w.metrics, MI_G_SERVER_RESTARTS), 1);
    world_end(&w);
}

static void test_a_topic_made_again_is_not_a_loss(void)
{
    struct world w;
    begin(&w, FATE_STORE, 0);
    struct model_topic *t = model_topic(&w.model, "s", "t");
    world_append(&w, 100, 0);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    world_pass(&w, 2000);
    t->exists = false;
    model_create(&w.model, "s", "t", 1);
    world_pass(&w, 61000);
    world_append(&w, 1, 0);
    CU_ASSERT_TRUE(world_run(&w, 1000));
    world_pass(&w, 61000);
    model_save(&w.model);
    model_kill(&w.model);
    world_pass(&w, 10000);
    CU_ASSERT_EQUAL(t->partition[0].count, 1);
    CU_ASSERT_TRUE(world_said(&w, "made again"));
    world_end(&w);
}

static void test_a_large_loss_comes_in_parts(void)
{
    struct world w;
    begin(&w, FATE_STORE, 0);
    world_append(&w, 40000, 0);
    CU_ASSERT_TRUE(world_run(&w, 10000));
    model_kill(&w.model);
    world_append(&w, 100, 0);
    world_pass(&w, 30000);
    CU_ASSERT_TRUE(world_run(&w, 20000));
    CU_ASSERT_TRUE(world_each_once(&w));
    world_end(&w);
}

static void test_a_crash_in_the_middle_of_sending_again(void)
{
    struct world w;
    begin(&w, FATE_STORE, 0);
    w.config->max_batch_messages = 10;
    w.model.latency_ns = 10 * MI_NS_PER_MS;
    world_append(&w, 200, 0);
    CU_ASSERT_TRUE(world_run(&w, 10000));
    world_checkpoint(&w);
    model_kill(&w.model);
    while (model_count(&w.model, 100) == 0)
        world_pass(&w, 5);
    world_checkpoint(&w);
    world_pass(&w, 30);
    world_restart(&w);
    world_pass(&w, 30000);
    CU_ASSERT_TRUE(world_each_once(&w));
    CU_ASSERT_TRUE(world_in_order(&w, "s", "t", 0));
    world_end(&w);
}

static CU_TestInfo tests[] = {
    {"cut and stored is found soon", test_cut_and_stored_is_found_soon},
    {"cut and absent is sent again after settling", test_cut_and_absent_is_sent_again_after_settling},
    {"cut and stored late is not sent again", test_cut_and_stored_late_is_not_sent_again},
    {"unheard-of answers are unknown", test_unheard_of_answers_are_unknown},
    {"foreign messages do not confuse", test_foreign_messages_do_not_confuse},
    {"without confirmations as 0.8", test_without_confirmations_as_0_8},
    {"without the right to poll", test_without_the_right_to_poll_it_says_so_once_and_sends_again},
    {"a failing read-back waits", test_a_failing_read_back_waits},
    {"a lost tail without confirmations", test_a_lost_tail_without_confirmations},
    {"all is lost without confirmations", test_all_is_lost_without_confirmations},
    {"without confirmations others may write behind us",
     test_without_confirmations_others_may_write_behind_us},
    {"without confirmations over a restart of both", test_without_confirmations_over_a_restart_of_both},
    {"without confirmations a restart of the bridge alone",
     test_without_confirmations_a_restart_of_the_bridge_alone},
    {"a stamp that moves by milliseconds hides no loss",
     test_a_stamp_that_moves_by_milliseconds_hides_no_loss},
    {"a start within the same second hides no loss", test_a_start_within_the_same_second_hides_no_loss},
    {"nothing new goes before the check", test_nothing_new_goes_before_the_check},
    {"killed again while it sends again", test_killed_again_while_it_sends_again},
    {"lost, and the bridge restarted behind a waiting message",
     test_lost_and_the_bridge_restarted_behind_a_waiting_message},
    {"connections that do not last stop nothing", test_connections_that_do_not_last_stop_nothing},
    {"a restarted server settles at once", test_a_restarted_server_settles_at_once},
    {"bridge killed after the server stored", test_bridge_killed_after_the_server_stored},
    {"new lanes flow while old ones settle", test_new_lanes_flow_while_old_ones_settle},
    {"without any checkpoint", test_without_any_checkpoint_all_is_looked_for},
    {"more than a window of old messages", test_more_than_a_window_of_old_messages},
    {"a damaged checkpoint counts as none", test_a_damaged_checkpoint_counts_as_none},
    {"a clean restart sends nothing again", test_a_clean_restart_sends_nothing_again},
    {"field 36: dead letters come once through a crash",
     test_field_36_dead_letters_come_once_through_a_crash},
    {"field 36: filed dead letters come once", test_field_36_filed_dead_letters_come_once_through_a_crash},
    {"a lost tail is sent again", test_a_lost_tail_is_sent_again_before_anything_newer},
    {"an idle bridge notices a lost tail", test_an_idle_bridge_notices_a_lost_tail},
    {"a lost tail filled up by others", test_a_lost_tail_filled_up_by_others},
    {"both sides crash", test_both_sides_crash},
    {"a restart without loss sends nothing", test_a_restart_without_loss_sends_nothing},
    {"a topic made again is not a loss", test_a_topic_made_again_is_not_a_loss},
    {"a large loss comes in parts", test_a_large_loss_comes_in_parts},
    {"a crash in the middle of sending again", test_a_crash_in_the_middle_of_sending_again},
    CU_TEST_INFO_NULL,
};

MI_SUITE_MAIN("out settle", tests)
