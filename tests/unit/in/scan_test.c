/* scan: the last retained values from before a reader's place are gathered beside the live reading. */
#include "message/headers.h"
#include "support/suite.h"
#include "world.h"

#include <stdio.h>
#include <string.h>

#define ROUTE(more)                                                                                \
    "'routes':[{'name':'values','direction':'in','stream':'s','topic':'t','retain':'always'," more \
    "'mqtt_topic':'v/{header:d}'}]"

enum { TOPICS = 7 };

static struct world w;
static uint32_t sent;
static uint32_t last[TOPICS];    /* number of the newest message of each MQTT topic */
static char headers[TOPICS][64]; /* outlive the fake server's log */
static size_t header_len[TOPICS];

static void make_headers(void)
{
    for (size_t t = 0; t < TOPICS; t++) {
        struct mi_buf b;
        char value[2] = {(char)('a' + t), 0};
        mi_buf_init(&b, sizeof headers[t]);
        CU_ASSERT_TRUE_FATAL(mi_headers_add(&b, mi_span_of("d"), MI_HEADER_STRING, mi_span_of(value)));
        memcpy(headers[t], b.data, b.len);
        header_len[t] = b.len;
        mi_buf_fini(&b);
    }
}

/* MQTT topic t keeps to one partition. */
static void append(struct fake_topic *topic, size_t t)
{
    uint32_t partition = (uint32_t)t % topic->partition_count;
    struct fake_partition *p = &topic->partitions[partition];
    fake_append(topic, partition, sent, 10);
    p->log[p->end - 1].headers = headers[t];
    p->log[p->end - 1].headers_len = header_len[t];
    last[t] = sent++;
}

static void append_some(struct fake_topic *topic, int count, size_t topics)
{
    for (int i = 0; i < count; i++)
        append(topic, fake_random() % topics);
}

static struct fake_topic *begin(const char *routes, uint32_t partitions)
{
    sent = 0;
    memset(last, 0xff, sizeof last);
    make_headers();
    world_begin(&w, routes);
    return fake_create("s", "t", partitions);
}

/* Did each topic get the value of before, and no other? */
static void rebuilt_is(const uint32_t *before, size_t topics)
{
    CU_ASSERT_EQUAL(w.rebuilt_count, topics);
    for (size_t i = 0; i < w.rebuilt_count; i++)
        CU_ASSERT_EQUAL(w.rebuilt[i].n, before[w.rebuilt[i].topic[2] - 'a']);
    CU_ASSERT_EQUAL(w.rebuilds_begun, w.rebuilds_ended);
}

static void a_reader_that_is_new_to_a_log_takes_its_values_over(void)
{
    struct fake_topic *t = begin(ROUTE(""), 3);
    uint32_t before[TOPICS];
    append_some(t, 5000, TOPICS);
    memcpy(before, last, sizeof last);
    while (w.rebuilds_begun < 3)
        world_pass(&w, 1);
    CU_ASSERT_TRUE(mi_metrics_get(w.metrics, MI_G_SCANS) > 0);
    for (int i = 0; i < 50; i++) { /* live messages are not held up */
        append(t, fake_random() % TOPICS);
        world_pass(&w, 2);
    }
    world_settle(&w, 5000);
    CU_ASSERT_EQUAL(w.delivered, 50);
    CU_ASSERT_EQUAL(w.rebuilds_ended, 3);
    CU_ASSERT_EQUAL(mi_metrics_get(w.metrics, MI_G_SCANS), 0);
    rebuilt_is(before, TOPICS);
    world_end(&w);
}

static void one_that_comes_back_does_so_only_for_an_empty_store(void)
{
    struct fake_topic *t = begin(ROUTE("'start':'earliest',"), 2);
    uint32_t before[TOPICS];
    append_some(t, 500, TOPICS);
    world_settle(&w, 5000);
    CU_ASSERT_EQUAL(w.delivered, 500);
    memcpy(before, last, sizeof last);
    world_stop(&w);
    world_start(&w);
    world_settle(&w, 5000);
    CU_ASSERT_EQUAL(w.rebuilds_begun, 0);
    world_stop(&w);
    append_some(t, 100, 3); /* behind the positions: these come live */
    w.rebuild = true;
    world_start(&w);
    world_settle(&w, 5000);
    CU_ASSERT_EQUAL(w.delivered, 600);
    rebuilt_is(before, TOPICS);
    world_end(&w);
}

static void faults_and_a_full_inbox_hold_it_up_only(void)
{
    static const enum fake_fault faults[] = {FAKE_GARBLED, FAKE_503, FAKE_504, FAKE_FINE};
    for (size_t i = 0; i < 4; i++) {
        struct fake_topic *t = begin("'limits':{'inbox_messages':2}," ROUTE(""), 1);
        append_some(t, 3000, TOPICS);
        fake.fault = faults[i];
        fake.fault_left = i < 3 ? 3 : 0;
        w.broker_stands = true;
        world_pass(&w, 10000);
        CU_ASSERT_TRUE(mi_metrics_get(w.metrics, MI_G_SCANS) > 0);
        w.broker_stands = false;
        world_settle(&w, 10000);
        rebuilt_is(last, TOPICS);
        world_end(&w);
    }
}

static void what_is_gone_is_no_value(void)
{
    struct fake_topic *t = begin(ROUTE(""), 1);
    append_some(t, 100, TOPICS);
    fake_expire(t, 0, 100); /* all of them */
    world_settle(&w, 10000);
    CU_ASSERT_EQUAL(w.rebuilt_count, 0);
    CU_ASSERT_EQUAL(w.rebuilds_begun, w.rebuilds_ended);
    CU_ASSERT_EQUAL(mi_metrics_get(w.metrics, MI_G_SCANS), 0);
    world_end(&w);
}

static void it_is_not_done_where_nothing_is_retained_or_there_is_no_room(void)
{
    static const char *const routes[] = {
        "'limits':{'rebuild_size':'0B'}," ROUTE(""),
        "'routes':[{'name':'v','direction':'in','stream':'s','topic':'t','retain':'never',"
        "'mqtt_topic':'v/{header:d}'}]"};
    for (size_t i = 0; i < 2; i++) {
        struct fake_topic *t = begin(routes[i], 1);
        append_some(t, 100, TOPICS);
        world_settle(&w, 10000);
        CU_ASSERT_EQUAL(w.rebuilds_begun, 0);
        world_end(&w);
    }
}

static void one_that_was_not_finished_begins_again(void)
{
    struct fake_topic *t = begin(ROUTE(""), 1);
    append_some(t, 20000, TOPICS);
    while (w.rebuilds_begun == 0)
        world_pass(&w, 1);
    world_stop(&w);
    CU_ASSERT_EQUAL(w.rebuilds_ended, 0);
    w.rebuilds_begun = 0;
    world_start(&w); /* the positions say so */
    world_settle(&w, 10000);
    rebuilt_is(last, TOPICS);
    world_stop(&w);
    world_start(&w);
    world_settle(&w, 10000);
    CU_ASSERT_EQUAL(w.rebuilds_begun, 1);
    world_end(&w);
}

static void one_that_never_came_to_begin_does_so_later(void)
{
    struct fake_topic *t = begin(ROUTE("'start':'earliest',"), 2);
    append_some(t, 100, TOPICS);
    world_settle(&w, 5000);
    world_stop(&w);
    w.rebuild = true;
    fake.away = true; /* a start without Iggy, and without a store */
    world_start(&w);
    world_pass(&w, 5000);
    world_stop(&w);
    w.rebuild = fake.away = false;
    world_start(&w);
    world_settle(&w, 20000);
    rebuilt_is(last, TOPICS);
    world_end(&w);
}

static CU_TestInfo tests[] = {
    {"a reader that is new to a log takes its values over",
     a_reader_that_is_new_to_a_log_takes_its_values_over},
    {"one that comes back does so only for an empty store",
     one_that_comes_back_does_so_only_for_an_empty_store},
    {"faults and a full inbox hold it up only", faults_and_a_full_inbox_hold_it_up_only},
    {"what is gone is no value", what_is_gone_is_no_value},
    {"it is not done where nothing is retained or there is no room",
     it_is_not_done_where_nothing_is_retained_or_there_is_no_room},
    {"one that was not finished begins again", one_that_was_not_finished_begins_again},
    {"one that never came to begin does so later", one_that_never_came_to_begin_does_so_later},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("scan", tests)
