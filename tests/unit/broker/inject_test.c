/* inject: order, the TICK after, what a broker cannot carry, a broker without memory. The inbox is a list
 * here. */
#include "broker/inject.h"
#include "broker/compat.h"
#include "message/message.h"
#include "stubs.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the inbox ---- */

static struct mi_inbound *inbox_list;
static int delivered_count;
static uint64_t delivered[64];

bool mi_inbox_empty(struct mi_inbox *inbox)
{
    (void)inbox;
    return !inbox_list;
}

struct mi_inbound *mi_inbox_take(struct mi_inbox *inbox, size_t max)
{
    (void)inbox;
    struct mi_inbound *first = inbox_list, **end = &inbox_list;
    while (max-- > 0 && *end)
        end = &(*end)->next;
    inbox_list = *end;
    *end = NULL;
    return first == inbox_list ? NULL : first;
}

void mi_inbox_delivered(struct mi_inbox *inbox, uint32_t reader, const struct mi_mark *mark)
{
    (void)inbox;
    CU_ASSERT_EQUAL(reader, 7);
    delivered[delivered_count++] = mark->offset;
}

void mi_inbound_free(struct mi_inbound *m)
{
    free(m->properties);
    free(m->topic);
    free(m);
}

static void put(uint64_t offset, const char *topic, struct mi_span properties)
{
    struct mi_inbound *m = calloc(1, sizeof *m), **end = &inbox_list;
    m->topic = strdup(topic);
    m->payload = (uint8_t *)"p";
    m->payload_len = 1;
    m->qos = 1;
    m->reader = 7;
    m->mark.offset = offset;
    if (properties.len) {
        m->properties = malloc(properties.len);
        memcpy(m->properties, properties.data, properties.len);
        m->properties_len = (uint32_t)properties.len;
    }
    while (*end)
        end = &(*end)->next;
    *end = m;
}

static const struct mi_span none = {NULL, 0};
static struct mi_metrics *metrics;
static struct mi_inject *inject;

static void start(void)
{
    stubs_reset();
    delivered_count = 0;
    metrics = mi_metrics_new();
    struct mi_inject_options o = {NULL, metrics, &mi_clock_system, NULL};
    inject = mi_inject_new(&o);
}

static void end(void)
{
    mi_inject_free(inject);
    mi_metrics_free(metrics);
    while (inbox_list) {
        struct mi_inbound *m = inbox_list;
        inbox_list = m->next;
        mi_inbound_free(m);
    }
}

static uint64_t counted(enum mi_route_counter which)
{
    return mi_counted(mi_metrics_route(metrics, 0, NULL), which);
}

static void published_in_order_and_delivered_a_tick_later(void)
{
    start();
    put(1, "a", none);
    put(2, "b", none);
    put(3, "c", none);
    CU_ASSERT_EQUAL(mi_inject_tick(inject, 2), 2);
    CU_ASSERT_EQUAL(stubs.publish_count, 2);
    CU_ASSERT_STRING_EQUAL(stubs.published[1].topic, "b");
    CU_ASSERT_EQUAL(stubs.published[0].qos, 1);
    CU_ASSERT_EQUAL(delivered_count, 0);
    CU_ASSERT_FALSE(mi_inject_idle(inject));
    CU_ASSERT_EQUAL(mi_inject_tick(inject, 2), 1);
    CU_ASSERT_EQUAL(delivered_count, 2);
    CU_ASSERT_EQUAL(delivered[0], 1);
    CU_ASSERT_TRUE(mi_inject_idle(inject));
    CU_ASSERT_EQUAL(mi_inject_tick(inject, 2), 0);
    CU_ASSERT_EQUAL(delivered_count, 3);
    CU_ASSERT_EQUAL(counted(MI_C_INJECTED), 3);
    end();
}

static void properties_go_along(void)
{
    start();
    struct mi_buf block;
    mi_buf_init(&block, 1000);
    mi_properties_add_bytes(&block, MI_PROP_CONTENT_TYPE, mi_span_of("text/plain"));
    put(1, "a", mi_buf_span(&block));
    mi_inject_tick(inject, 10);
    CU_ASSERT_STRING_EQUAL(stubs.published[0].content_type, "text/plain");
    mi_buf_fini(&block);
    end();
}

static void what_the_broker_cannot_carry_is_counted_and_passed(void)
{
    start();
    const char *topics[] = {
        "$SYS/broker/uptime", "$CONTROL/dynamic-security/v1", "a/#", "+", "", "a/\tb", "\xff"};
    size_t n = sizeof topics / sizeof topics[0];
    for (size_t i = 0; i < n; i++)
        put(i, topics[i], none);
    put(100, "a", (struct mi_span){(const uint8_t *)"\x7e", 1});
    put(101, "a", none);
    mi_inject_tick(inject, 100);
    CU_ASSERT_EQUAL(stubs.publish_count, 1);
    CU_ASSERT_EQUAL(counted(MI_C_IN_TOPIC), n);
    CU_ASSERT_EQUAL(counted(MI_C_IN_BROKEN), 1);
    mi_inject_tick(inject, 100);
    CU_ASSERT_EQUAL(delivered_count, (int)n + 2);
    end();
}

static void a_broker_without_memory_gets_it_later_and_in_order(void)
{
    start();
    put(1, "a", none);
    put(2, "b", none);
    stubs.publish_result = MOSQ_ERR_NOMEM;
    CU_ASSERT_EQUAL(mi_inject_tick(inject, 10), 0);
    CU_ASSERT_FALSE(mi_inject_idle(inject));
    mi_inject_tick(inject, 10);
    CU_ASSERT_EQUAL(delivered_count, 0);
    put(3, "c", none);
    stubs.publish_result = MOSQ_ERR_SUCCESS;
    mi_inject_tick(inject, 10);
    mi_inject_tick(inject, 10);
    CU_ASSERT_EQUAL(stubs.publish_count, 3);
    CU_ASSERT_STRING_EQUAL(stubs.published[0].topic, "a");
    CU_ASSERT_STRING_EQUAL(stubs.published[2].topic, "c");
    CU_ASSERT_EQUAL(delivered_count, 2);
    end();
}

static void what_was_not_routed_is_not_reported(void)
{
    start();
    put(1, "a", none);
    mi_inject_tick(inject, 10);
    end(); /* the broker stops: no TICK follows */
    CU_ASSERT_EQUAL(delivered_count, 0);
}

static CU_TestInfo tests[] = {
    {"published in order and delivered a TICK later", published_in_order_and_delivered_a_tick_later},
    {"properties go along", properties_go_along},
    {"what the broker cannot carry is counted and passed",
     what_the_broker_cannot_carry_is_counted_and_passed},
    {"a broker without memory gets it later and in order",
     a_broker_without_memory_gets_it_later_and_in_order},
    {"what was not routed is not reported", what_was_not_routed_is_not_reported},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("inject", tests)
