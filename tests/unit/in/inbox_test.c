/* inbox: order, bounds, reports, and two threads at once (TSan build). */
#include "in/inbox.h"
#include "support/suite.h"

#include <pthread.h>
#include <string.h>

static struct mi_inbound *message(const char *topic, uint64_t offset)
{
    struct mi_inbound *m = mi_inbound_new(mi_span_of(topic), mi_span_of("payload"), mi_span_of(""));
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    m->mark.offset = offset;
    return m;
}

static void messages_come_out_in_order_and_bounded(void)
{
    struct mi_inbox *inbox = mi_inbox_new(3, 1 << 20);
    CU_ASSERT_TRUE(mi_inbox_empty(inbox));
    for (uint64_t i = 0; i < 3; i++)
        mi_inbox_put(inbox, message("a/b", i));
    CU_ASSERT_EQUAL(mi_inbox_room(inbox), 0);
    struct mi_inbound *two = mi_inbox_take(inbox, 2);
    CU_ASSERT_EQUAL(two->mark.offset, 0);
    CU_ASSERT_EQUAL(two->next->mark.offset, 1);
    CU_ASSERT_PTR_NULL(two->next->next);
    CU_ASSERT_EQUAL(mi_inbox_count(inbox), 1);
    CU_ASSERT_EQUAL(mi_inbox_room(inbox), 2);
    mi_inbound_free(two->next);
    mi_inbound_free(two);
    mi_inbox_put(inbox, message("a/b", 3));
    struct mi_inbound *rest = mi_inbox_take(inbox, 10);
    CU_ASSERT_EQUAL(rest->mark.offset, 2);
    CU_ASSERT_EQUAL(rest->next->mark.offset, 3);
    mi_inbound_free(rest->next);
    mi_inbound_free(rest);
    CU_ASSERT_PTR_NULL(mi_inbox_take(inbox, 1));
    mi_inbox_free(inbox);
}

static void bytes_bound_it_too(void)
{
    struct mi_inbox *inbox = mi_inbox_new(1000, 50);
    mi_inbox_put(inbox, message("a", 0));
    CU_ASSERT_EQUAL(mi_inbox_room(inbox), 0);
    mi_inbox_free(inbox);
}

static void keep_last(void *context, uint32_t reader, const struct mi_mark *mark)
{
    uint64_t *last = context;
    last[reader] = mark->offset;
    last[9]++;
}

static void reports_of_a_reader_become_one(void)
{
    struct mi_inbox *inbox = mi_inbox_new(10, 1000);
    uint64_t last[10] = {0};
    mi_inbox_delivered(inbox, 1, &(struct mi_mark){.offset = 5});
    mi_inbox_delivered(inbox, 2, &(struct mi_mark){.offset = 7});
    mi_inbox_delivered(inbox, 1, &(struct mi_mark){.offset = 6});
    mi_inbox_collect(inbox, keep_last, last);
    CU_ASSERT_EQUAL(last[1], 6);
    CU_ASSERT_EQUAL(last[2], 7);
    CU_ASSERT_EQUAL(last[9], 2);
    mi_inbox_collect(inbox, keep_last, last);
    CU_ASSERT_EQUAL(last[9], 2);
    mi_inbox_free(inbox);
}

enum { MANY = 20000 };

static void *put_many(void *arg)
{
    for (uint64_t i = 0; i < MANY;) {
        if (!mi_inbox_room(arg))
            continue;
        mi_inbox_put(arg, message("t", i++));
    }
    return NULL;
}

static void two_threads_lose_nothing(void)
{
    struct mi_inbox *inbox = mi_inbox_new(64, 1 << 20);
    pthread_t putter;
    pthread_create(&putter, NULL, put_many, inbox);
    uint64_t expected = 0;
    while (expected < MANY) {
        for (struct mi_inbound *m = mi_inbox_take(inbox, 16), *next; m; m = next) {
            next = m->next;
            CU_ASSERT_EQUAL(m->mark.offset, expected);
            expected++;
            mi_inbox_delivered(inbox, 1, &m->mark);
            mi_inbound_free(m);
        }
    }
    pthread_join(putter, NULL);
    CU_ASSERT_TRUE(mi_inbox_empty(inbox));
    mi_inbox_free(inbox);
}

static CU_TestInfo tests[] = {
    {"messages come out in order and bounded", messages_come_out_in_order_and_bounded},
    {"bytes bound it too", bytes_bound_it_too},
    {"reports of a reader become one", reports_of_a_reader_become_one},
    {"two threads lose nothing", two_threads_lose_nothing},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("inbox", tests)
