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
static struct mi_retained *retained;

static uint64_t nothing_settled(void *context)
{
    (void)context;
    return 0;
}

/* A broker of the running process: 2.1 when it exports what is looked for. */
static void start_on(const struct mi_symbols *symbols, bool store_behind)
{
    static struct mi_compat compat;
    stubs_reset();
    delivered_count = 0;
    metrics = mi_metrics_new();
    mi_compat_init(&compat, symbols);
    struct mi_retained_options r = {100, 100, compat.v2_1, store_behind, &mi_clock_system, nothing_settled,
                                    NULL};
    retained = mi_retained_new(&r);
    struct mi_inject_options o = {NULL, metrics, &mi_clock_system, NULL, retained, &compat};
    inject = mi_inject_new(&o);
}

static void start(void)
{
    start_on(&mi_symbols_system, false);
}

static void end(void)
{
    mi_inject_free(inject);
    mi_retained_free(retained);
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

/* ---- retained messages ---- */

static void put_retained(enum mi_inbound_kind kind, const char *topic, uint64_t sequence)
{
    struct mi_inbound *last;
    put(sequence, topic, none);
    for (last = inbox_list; last->next; last = last->next)
        continue;
    last->kind = kind;
    last->mark.id_lo = sequence;
    last->retain = true;
}

/* What the first to the nth published messages were: "a" with retain off, "A" with retain on. */
static bool published(const char *expected)
{
    bool same = (size_t)stubs.publish_count == strlen(expected);
    for (int i = 0; same && i < stubs.publish_count; i++) {
        char topic = stubs.published[i].topic[0];
        same = expected[i] == (stubs.published[i].retain ? topic - 'a' + 'A' : topic);
    }
    if (!same)
        for (int i = 0; i < stubs.publish_count; i++)
            printf(" %s%d", stubs.published[i].topic, stubs.published[i].retain);
    return same;
}

static void foreign_values_wait_for_the_own_one(void)
{
    start();
    mi_retained_own(retained, "a", 100);
    put_retained(MI_INBOUND_MESSAGE, "a", 1);
    put_retained(MI_INBOUND_MESSAGE, "b", 1);
    put_retained(MI_INBOUND_OWN, "a", 100);
    put_retained(MI_INBOUND_MESSAGE, "a", 2);
    mi_inject_tick(inject, 10);
    CU_ASSERT_TRUE(published("aBA"));
    CU_ASSERT_EQUAL(counted(MI_C_INJECTED), 3);
    CU_ASSERT_EQUAL(counted(MI_C_IN_OWN), 1);
    mi_inject_tick(inject, 10);
    CU_ASSERT_EQUAL(delivered_count, 4);
    end();
}

static void a_decision_is_made_once(void)
{
    start();
    mi_retained_own(retained, "a", 100);
    put_retained(MI_INBOUND_MESSAGE, "a", 1);
    stubs.publish_result = MOSQ_ERR_NOMEM;
    mi_inject_tick(inject, 10);
    mi_retained_own_back(retained, "a", 100);
    stubs.publish_result = MOSQ_ERR_SUCCESS;
    mi_inject_tick(inject, 10);
    CU_ASSERT_TRUE(published("a"));
    end();
}

static void what_earlier_runs_published_is_published_again_where_the_store_is_behind(void)
{
    start_on(&mi_symbols_system, true);
    put_retained(MI_INBOUND_OWN, "a", 99);
    put_retained(MI_INBOUND_OWN, "b", 98);
    inbox_list->next->retain = false; /* older than max_age: not again in any case */
    mi_inject_tick(inject, 10);
    CU_ASSERT_TRUE(published("A"));
    CU_ASSERT_EQUAL(counted(MI_C_IN_OWN), 1);
    end();
}

static void rebuilt_values_give_way_to_newer_ones(void)
{
    start();
    mi_retained_rebuild_begin(retained);
    put_retained(MI_INBOUND_MESSAGE, "a", 1);
    put_retained(MI_INBOUND_REBUILT, "a", 0);
    put_retained(MI_INBOUND_REBUILT, "b", 0);
    put_retained(MI_INBOUND_REBUILD_END, "", 0);
    mi_inject_tick(inject, 10);
    CU_ASSERT_TRUE(published("AB"));
    CU_ASSERT_TRUE(mi_retained_rebuilt(retained, "a", 0)); /* it is over */
    end();
}

static int add_result, added, set;
static uint64_t added_id;
static char added_payload[32], removed[32];

static int add(void *message)
{
    /* store id, expiry, topic, payload: as mosquitto/broker.h of 2.1 begins */
    struct head {
        uint64_t id;
        int64_t expiry;
        char *topic, *payload;
    } *head = message;
    added++;
    added_id = head->id;
    snprintf(added_payload, sizeof added_payload, "%s", head->payload);
    mosquitto_free(head->topic);
    mosquitto_free(head->payload);
    return add_result;
}

static int set_retained(const char *topic, uint64_t id)
{
    CU_ASSERT_STRING_EQUAL(topic, "a");
    CU_ASSERT_EQUAL(id, added_id);
    set++;
    return MOSQ_ERR_SUCCESS;
}

static int remove_retained(const char *topic)
{
    snprintf(removed, sizeof removed, "%s", topic);
    return MOSQ_ERR_SUCCESS;
}

static void *find_2_1(void *library, const char *name)
{
    static const struct {
        const char *name;
        void *address;
    } known[] = {{"mosquitto_plugin_set_info", (void *)&add},
                 {"mosquitto_persist_base_msg_add", (void *)&add},
                 {"mosquitto_persist_retain_msg_set", (void *)&set_retained},
                 {"mosquitto_persist_retain_msg_delete", (void *)&remove_retained}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(name, known[i].name) == 0)
            return known[i].address;
    return mi_symbols_system.find(library, name);
}

static void *no_library(const char *name)
{
    (void)name;
    return NULL;
}

/* The next TICK after one that published a foreign value, while a client published to the same topic. */
static void overtake(uint64_t sequence)
{
    put_retained(MI_INBOUND_MESSAGE, "a", 1);
    mi_inject_tick(inject, 10);
    mi_retained_own(retained, "a", sequence);
    stubs.publish_count = 0;
    put_retained(MI_INBOUND_OWN, "a", sequence);
}

static void on_2_1_an_overtaken_value_is_stored_and_not_published(void)
{
    static const struct mi_symbols broker_2_1 = {no_library, find_2_1, NULL};
    start_on(&broker_2_1, false);
    overtake(100);
    mi_inject_tick(inject, 10);
    CU_ASSERT_TRUE(published(""));
    CU_ASSERT_EQUAL(added, 1);
    CU_ASSERT_EQUAL(set, 1);
    CU_ASSERT_STRING_EQUAL(added_payload, "p");
    CU_ASSERT_EQUAL(counted(MI_C_IN_OWN), 1);
    overtake(101);
    inbox_list->payload_len = 0;
    mi_inject_tick(inject, 10);
    CU_ASSERT_STRING_EQUAL(removed, "a");
    CU_ASSERT_TRUE(published(""));
    overtake(102);
    add_result = MOSQ_ERR_NOMEM;
    mi_inject_tick(inject, 10);
    CU_ASSERT_TRUE(published("A")); /* a second time is better than never */
    end();
}

static CU_TestInfo tests[] = {
    {"published in order and delivered a TICK later", published_in_order_and_delivered_a_tick_later},
    {"properties go along", properties_go_along},
    {"what the broker cannot carry is counted and passed",
     what_the_broker_cannot_carry_is_counted_and_passed},
    {"a broker without memory gets it later and in order",
     a_broker_without_memory_gets_it_later_and_in_order},
    {"what was not routed is not reported", what_was_not_routed_is_not_reported},
    {"foreign values wait for the own one", foreign_values_wait_for_the_own_one},
    {"a decision is made once", a_decision_is_made_once},
    {"what earlier runs published is published again where the store is behind",
     what_earlier_runs_published_is_published_again_where_the_store_is_behind},
    {"rebuilt values give way to newer ones", rebuilt_values_give_way_to_newer_ones},
    {"on 2.1 an overtaken value is stored and not published",
     on_2_1_an_overtaken_value_is_stored_and_not_published},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("inject", tests)
