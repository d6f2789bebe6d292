/* `mosquitto_iggy dead-letters` on a stopped broker's directory and on a running one's. */
#include "letters.h"

#include "loop/control.h"
#include "out/dead_letters.h"
#include "support/process.h"
#include "support/suite.h"

#include <cjson/cJSON.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void two_and_a_hopeless_one(void)
{
    CU_ASSERT_TRUE_FATAL(letters_make());
    CU_ASSERT_TRUE_FATAL(letters_file(11, MI_REASON_TOO_LARGE, "house/power", "23.5"));
    CU_ASSERT_TRUE_FATAL(letters_file(12, MI_REASON_STREAM_NAME, "house/\x01x", "{}"));
    CU_ASSERT_TRUE_FATAL(letters_file(15, MI_REASON_REFUSED, "house/gas", "7"));
}

/* ---- looking ---- */

static void list_shows_every_letter(void)
{
    two_and_a_hopeless_one();
    CU_ASSERT_EQUAL(letters_run("dead-letters list %s", letters_dir), 0);
    CU_ASSERT_TRUE(letters_says(letters_out, "NUMBER  RECEIVED"));
    CU_ASSERT_TRUE(letters_says(letters_out,
                                "      11  2025-11-29T12:00:00.123456Z  too_large    route-1a2b3c4d"
                                "          4  house/power -> sensors/data\n"));
    CU_ASSERT_TRUE(letters_says(letters_out, "house/\\x01x -> "));
    CU_ASSERT_EQUAL(letters_run("dead-letters list %s --json", letters_dir), 0);
    cJSON *root = cJSON_Parse(letters_out);
    cJSON *list = cJSON_GetObjectItem(root, "letters");
    CU_ASSERT_EQUAL(cJSON_GetArraySize(list), 3);
    cJSON *last = cJSON_GetArrayItem(list, 2);
    CU_ASSERT_EQUAL(cJSON_GetNumberValue(cJSON_GetObjectItem(last, "number")), 15);
    CU_ASSERT_STRING_EQUAL(cJSON_GetStringValue(cJSON_GetObjectItem(last, "reason")), "refused");
    CU_ASSERT_STRING_EQUAL(cJSON_GetStringValue(cJSON_GetObjectItem(last, "mqtt_topic")), "house/gas");
    cJSON_Delete(root);
    letters_remove();
}

static void show_prints_one_whole_or_its_payload(void)
{
    two_and_a_hopeless_one();
    CU_ASSERT_EQUAL(letters_run("dead-letters show %s 11", letters_dir), 0);
    CU_ASSERT_TRUE(letters_says(letters_out, "reason      too_large\n"));
    CU_ASSERT_TRUE(letters_says(letters_out, "message id  1122334455667788000000000000000b\n"));
    CU_ASSERT_TRUE(letters_says(letters_out, "header      mqtt.client_id = meter-1 (string)\n"));
    CU_ASSERT_TRUE(letters_says(letters_out, "payload     4 bytes\n23.5\n"));
    CU_ASSERT_EQUAL(letters_run("dead-letters show %s 15 --payload", letters_dir), 0);
    CU_ASSERT_STRING_EQUAL(letters_out, "7");
    CU_ASSERT_EQUAL(letters_run("dead-letters show %s 13", letters_dir), 1);
    CU_ASSERT_TRUE(letters_says(letters_err, "there is no letter 13"));
    letters_remove();
}

static void an_empty_journal_has_none(void)
{
    CU_ASSERT_TRUE_FATAL(letters_make());
    CU_ASSERT_EQUAL(letters_run("dead-letters list %s", letters_dir), 0);
    CU_ASSERT_TRUE(letters_says(letters_out, "no dead letters"));
    CU_ASSERT_EQUAL(letters_run("dead-letters list %s --json", letters_dir), 0);
    cJSON *root = cJSON_Parse(letters_out);
    CU_ASSERT_EQUAL(cJSON_GetArraySize(cJSON_GetObjectItem(root, "letters")), 0);
    cJSON_Delete(root);
    CU_ASSERT_EQUAL(letters_run("dead-letters requeue %s all", letters_dir), 0);
    CU_ASSERT_STRING_EQUAL(letters_out, "requeued 0\n");
    CU_ASSERT_EQUAL(letters_run("dead-letters drop %s 3", letters_dir), 1);
    letters_remove();
}

static void damage_is_said_and_the_rest_shown(void)
{
    two_and_a_hopeless_one();
    CU_ASSERT_TRUE(letters_flip(100));
    CU_ASSERT_EQUAL(letters_run("dead-letters list %s", letters_dir), 1);
    CU_ASSERT_TRUE(letters_says(letters_err, "damaged in 1 places, first at offset 0"));
    CU_ASSERT_TRUE(letters_says(letters_out, "house/gas"));
    CU_ASSERT_EQUAL(letters_run("dead-letters drop %s all", letters_dir), 0);
    CU_ASSERT_STRING_EQUAL(letters_out, "dropped 2; passed over 1 damaged places\n");
    letters_remove();
}

static void bad_arguments_and_directories(void)
{
    CU_ASSERT_TRUE_FATAL(letters_make());
    CU_ASSERT_EQUAL(letters_run("dead-letters"), 2);
    CU_ASSERT_EQUAL(letters_run("dead-letters eat %s", letters_dir), 2);
    CU_ASSERT_EQUAL(letters_run("dead-letters list"), 2);
    CU_ASSERT_EQUAL(letters_run("dead-letters show %s", letters_dir), 2);
    CU_ASSERT_EQUAL(letters_run("dead-letters show %s all", letters_dir), 2);
    CU_ASSERT_EQUAL(letters_run("dead-letters drop %s 1x", letters_dir), 2);
    CU_ASSERT_TRUE(letters_says(letters_err, "\"1x\" is no number of a letter"));
    CU_ASSERT_EQUAL(letters_run("dead-letters drop %s all --json", letters_dir), 2);
    CU_ASSERT_EQUAL(letters_run("dead-letters list %s/gone", letters_dir), 1);
    CU_ASSERT_TRUE(letters_says(letters_err, "gone: No such file or directory"));
    mkdir(letters_path("foreign"), 0700);
    CU_ASSERT_EQUAL(letters_run("dead-letters drop %s all", letters_path("foreign")), 1);
    CU_ASSERT_TRUE(letters_says(letters_err, "foreign holds no journal"));
    letters_remove();
}

/* ---- a stopped broker ---- */

static void drop_forgets_on_a_stopped_broker(void)
{
    two_and_a_hopeless_one();
    CU_ASSERT_EQUAL(letters_run("dead-letters drop %s 12", letters_dir), 0);
    CU_ASSERT_STRING_EQUAL(letters_out, "dropped 1\n");
    CU_ASSERT_EQUAL(letters_count(), 2);
    CU_ASSERT_EQUAL(letters_run("dead-letters drop %s 12", letters_dir), 1);
    CU_ASSERT_TRUE(letters_says(letters_err, "there is no letter 12"));
    CU_ASSERT_TRUE(letters_bytes() > 0); /* nothing says that these messages are settled */
    CU_ASSERT_TRUE(letters_settled_below(100));
    CU_ASSERT_EQUAL(letters_run("dead-letters drop %s all", letters_dir), 0);
    CU_ASSERT_EQUAL(letters_count(), 0);
    CU_ASSERT_EQUAL(letters_bytes(), 0);
    struct letters_record none;
    CU_ASSERT_EQUAL(letters_journaled(&none, 1), 0);
    letters_remove();
}

static void check_requeued(const struct letters_record *r, const char *topic, const char *payload)
{
    CU_ASSERT_STRING_EQUAL(r->mqtt_topic, topic);
    CU_ASSERT_STRING_EQUAL(r->payload, payload);
    CU_ASSERT_STRING_EQUAL(r->stream, "sensors");
    CU_ASSERT_EQUAL(r->route, 0x1a2b3c4d);
    CU_ASSERT_EQUAL(r->key_hash, 77);
    CU_ASSERT_EQUAL(r->reason, MI_REASON_NONE);
    CU_ASSERT_EQUAL(r->time_us, 1764417600123456);
}

static void requeue_goes_to_the_journal_of_a_stopped_broker(void)
{
    struct letters_record found[3];
    two_and_a_hopeless_one();
    CU_ASSERT_EQUAL(letters_run("dead-letters requeue %s 12", letters_dir), 1);
    CU_ASSERT_TRUE(letters_says(letters_err, "letter 12 names a stream or topic that Iggy cannot address"));
    CU_ASSERT_EQUAL(letters_run("dead-letters requeue %s 15", letters_dir), 0);
    CU_ASSERT_EQUAL(letters_run("dead-letters requeue %s all", letters_dir), 0);
    CU_ASSERT_STRING_EQUAL(letters_out,
                           "requeued 1; left 1 whose stream or topic name Iggy cannot address\n");
    CU_ASSERT_EQUAL(letters_count(), 1);
    CU_ASSERT_EQUAL_FATAL(letters_journaled(found, 3), 2);
    check_requeued(&found[0], "house/gas", "7");
    check_requeued(&found[1], "house/power", "23.5");
    letters_remove();
}

/* More letters than one round holds, so that rounds follow each other. */
static void requeue_takes_many(void)
{
    enum { MANY = 600 };
    struct letters_record *found = calloc(MANY, sizeof *found);
    CU_ASSERT_TRUE_FATAL(letters_make());
    for (uint64_t i = 1; i <= MANY; i++) {
        char payload[20];
        snprintf(payload, sizeof payload, "%d", (int)i);
        letters_file(i, MI_REASON_REFUSED, "t", payload);
    }
    CU_ASSERT_EQUAL(letters_run("dead-letters requeue %s all", letters_dir), 0);
    CU_ASSERT_STRING_EQUAL(letters_out, "requeued 600\n");
    CU_ASSERT_EQUAL_FATAL(letters_journaled(found, MANY), MANY);
    for (int i = 0; i < MANY; i++)
        CU_ASSERT_EQUAL(atoi(found[i].payload), i + 1);
    CU_ASSERT_EQUAL(letters_count(), 0);
    free(found);
    letters_remove();
}

/* ---- a running one: the bridge's part of it ---- */

struct bridge {
    struct mi_journal *journal;
    struct mi_control *control;
    bool woken;
    atomic_bool stopping;
    unsigned ticks;
};

static void wake(void *context)
{
    ((struct bridge *)context)->woken = true;
}

static struct bridge start_bridge(struct bridge *b, uint64_t max_size)
{
    struct mi_error err = {{0}};
    *b = (struct bridge){.journal = letters_journal(max_size)};
    const struct mi_control_options options = {.directory = letters_dir,
                                               .settled_at_start = 15,
                                               .journal = b->journal,
                                               .clock = &mi_clock_system,
                                               .wake_bridge = wake,
                                               .context = b};
    b->control = mi_control_new(&options, &err);
    if (!b->control)
        printf("\n  %s\n", err.text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(b->control);
    return *b;
}

static void stop_bridge(struct bridge *b)
{
    mi_control_free(b->control);
    mi_journal_close(b->journal);
}

/* One turn of the bridge thread, and the main thread's TICK if it is asked for. */
static void turn(void *context)
{
    struct bridge *b = context;
    mi_control_step(b->control, mi_now_ns(&mi_clock_system));
    if (mi_control_waits_for_main(b->control)) {
        mi_control_tick(b->control);
        b->ticks++;
    }
    mi_journal_disk_step(b->journal);
    usleep(200);
}

static void a_running_broker_requeues_and_drops(void)
{
    struct bridge b;
    struct letters_record found[3];
    two_and_a_hopeless_one();
    uint64_t before = letters_bytes();
    start_bridge(&b, 64 << 20);
    /* The letters' messages were once in this journal: what comes from here on is newer than they are. */
    CU_ASSERT_EQUAL(mi_journal_set_counts(b.journal, 100, NULL, 0, NULL), 0);
    CU_ASSERT_EQUAL(letters_run_beside(turn, &b, "dead-letters list %s", letters_dir), 0);
    CU_ASSERT_TRUE(letters_says(letters_out, "house/gas"));
    CU_ASSERT_EQUAL(letters_run_beside(turn, &b, "dead-letters requeue %s 15", letters_dir), 0);
    CU_ASSERT_STRING_EQUAL(letters_out, "requeued 1\n");
    CU_ASSERT_TRUE(b.woken);
    CU_ASSERT_EQUAL(letters_run_beside(turn, &b, "dead-letters requeue %s 15", letters_dir), 1);
    CU_ASSERT_TRUE(letters_says(letters_err, "there is no letter 15"));
    CU_ASSERT_EQUAL(letters_run_beside(turn, &b, "dead-letters requeue %s 12", letters_dir), 1);
    CU_ASSERT_TRUE(letters_says(letters_err, "letter 12 names a stream or topic"));
    CU_ASSERT_EQUAL(letters_run_beside(turn, &b, "dead-letters requeue %s all", letters_dir), 0);
    CU_ASSERT_STRING_EQUAL(letters_out,
                           "requeued 1; left 1 whose stream or topic name Iggy cannot address\n");
    CU_ASSERT_EQUAL(letters_run_beside(turn, &b, "dead-letters drop %s all", letters_dir), 0);
    CU_ASSERT_STRING_EQUAL(letters_out, "dropped 1\n");
    CU_ASSERT_EQUAL(letters_count(), 0);
    CU_ASSERT_TRUE(letters_bytes() > 0 &&
                   letters_bytes() <
                       before / 2); /* 15 may still be filed once more after a crash, and must be known */
    stop_bridge(&b);
    CU_ASSERT_EQUAL(access(letters_path(MI_CONTROL_SOCKET), F_OK), -1);
    CU_ASSERT_EQUAL_FATAL(letters_journaled(found, 3), 2);
    check_requeued(&found[0], "house/gas", "7");
    check_requeued(&found[1], "house/power", "23.5");
    letters_remove();
}

static void *bridge_thread(void *context)
{
    struct bridge *b = context;
    while (!atomic_load(&b->stopping)) {
        mi_control_step(b->control, mi_now_ns(&mi_clock_system));
        usleep(100);
    }
    return NULL;
}

static void tick(void *context)
{
    struct bridge *b = context;
    bool asked = mi_control_waits_for_main(b->control);
    mi_control_tick(b->control);
    b->ticks += asked;
    mi_journal_disk_step(b->journal);
    usleep(200);
}

static void a_running_broker_requeues_many_in_small_steps(void)
{
    enum { MANY = 600 };
    struct bridge b;
    pthread_t thread;
    CU_ASSERT_TRUE_FATAL(letters_make());
    for (uint64_t i = 1; i <= MANY; i++)
        letters_file(i, MI_REASON_REFUSED, "t", "x");
    start_bridge(&b, 64 << 20);
    struct mi_record r = {.qos = 1, .sequence = 0, .headers = mi_span_of("h"), .payload = mi_span_of("p")};
    for (int i = 0; i < MANY; i++) /* the letters' messages were once in this journal */
        CU_ASSERT_EQUAL_FATAL(mi_journal_append(b.journal, &r, 1), MI_APPEND_OK);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, bridge_thread, &b), 0);
    CU_ASSERT_EQUAL(letters_run_beside(tick, &b, "dead-letters requeue %s all", letters_dir), 0);
    atomic_store(&b.stopping, true);
    pthread_join(thread, NULL);
    CU_ASSERT_STRING_EQUAL(letters_out, "requeued 600\n");
    CU_ASSERT_TRUE(b.ticks >= MANY / 64);
    struct mi_route_count counts[4];
    uint64_t next;
    CU_ASSERT_EQUAL(mi_journal_counts(b.journal, counts, 4, &next), 2);
    CU_ASSERT_EQUAL(next, 1 + 2 * MANY); /* each requeued letter is a new receipt */
    CU_ASSERT_EQUAL(letters_count(), 0);
    stop_bridge(&b);
    letters_remove();
}

static void what_a_full_journal_does_not_take_stays(void)
{
    struct bridge b;
    struct letters_record none;
    two_and_a_hopeless_one();
    start_bridge(&b, 256 * 1024);
    struct mi_record r = {
        .qos = 1, .headers = mi_span_of("h"), .payload = {(const uint8_t *)letters_dir, 150}};
    while (mi_journal_append(b.journal, &r, 1) == MI_APPEND_OK)
        mi_journal_disk_step(b.journal);
    CU_ASSERT_EQUAL(letters_run_beside(turn, &b, "dead-letters requeue %s all", letters_dir), 1);
    CU_ASSERT_TRUE(letters_says(letters_err, "the journal is full"));
    CU_ASSERT_EQUAL(letters_count(), 3);
    stop_bridge(&b);
    (void)none;
    letters_remove();
}

static void a_holder_without_socket_is_named(void)
{
    two_and_a_hopeless_one();
    struct mi_journal *j = letters_journal(64 << 20);
    char wanted[80];
    snprintf(wanted, sizeof wanted, "process %d has the journal open", (int)getpid());
    CU_ASSERT_EQUAL(letters_run("dead-letters drop %s all", letters_dir), 1);
    CU_ASSERT_TRUE(letters_says(letters_err, wanted));
    CU_ASSERT_EQUAL(letters_count(), 3);
    mi_journal_close(j);
    letters_remove();
}

static CU_TestInfo tests[] = {
    {"list shows every letter", list_shows_every_letter},
    {"show prints one whole or its payload", show_prints_one_whole_or_its_payload},
    {"an empty journal has none", an_empty_journal_has_none},
    {"damage is said and the rest shown", damage_is_said_and_the_rest_shown},
    {"bad arguments and directories", bad_arguments_and_directories},
    {"drop forgets on a stopped broker", drop_forgets_on_a_stopped_broker},
    {"requeue goes to the journal of a stopped broker", requeue_goes_to_the_journal_of_a_stopped_broker},
    {"requeue takes many", requeue_takes_many},
    {"a running broker requeues and drops", a_running_broker_requeues_and_drops},
    {"a running broker requeues many in small steps", a_running_broker_requeues_many_in_small_steps},
    {"what a full journal does not take stays", what_a_full_journal_does_not_take_stays},
    {"a holder without socket is named", a_holder_without_socket_is_named},
    CU_TEST_INFO_NULL,
};

MI_SUITE_MAIN("dead-letters", tests)
