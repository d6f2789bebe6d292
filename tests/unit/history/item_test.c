/* item: where messages and end markers are published, and what a marker says. */
#include "history/item.h"
#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

#define S(text) mi_span_of(text)

static void a_message(void)
{
    struct mi_item_text text = {S(""), S("2h"), S("rooms/1")};
    struct mi_history_item *item = mi_item_new(&text, S("hello"), S("\x01\x01"), 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(item);
    CU_ASSERT_STRING_EQUAL(item->topic, "$iggy/2h/rooms/1");
    CU_ASSERT_STRING_EQUAL(item->inner, "rooms/1");
    CU_ASSERT_TRUE(item->payload_len == 5 && memcmp(item->payload, "hello", 5) == 0);
    CU_ASSERT_TRUE(item->properties_len == 2 && item->properties[1] == 1);
    CU_ASSERT_TRUE(item->qos == 1 && !item->last);
    mi_history_item_free(item);
    item = mi_item_new(&text, S(""), S(""), 0);
    CU_ASSERT_TRUE(item && !item->payload && !item->properties);
    mi_history_item_free(item);
}

static void with_a_mount_point(void)
{
    struct mi_item_text text = {S("tenant/"), S("first"), S("tenant/rooms/1")};
    struct mi_history_item *item = mi_item_new(&text, S("x"), S(""), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(item);
    CU_ASSERT_STRING_EQUAL(item->topic, "tenant/$iggy/first/rooms/1");
    CU_ASSERT_STRING_EQUAL(item->inner, "tenant/rooms/1");
    mi_history_item_free(item);
}

static void a_topic_longer_than_mqtt_allows(void)
{
    static uint8_t topic[65535];
    memset(topic, 'a', sizeof topic);
    struct mi_item_text text = {S(""), S("first"), {topic, 65535 - 12}};
    struct mi_history_item *item = mi_item_new(&text, S("x"), S(""), 0);
    CU_ASSERT_TRUE(item && strlen(item->topic) == 65535);
    mi_history_item_free(item);
    text.topic.len++;
    CU_ASSERT_PTR_NULL(mi_item_new(&text, S("x"), S(""), 0));
}

static void marker(const char *mount, const char *filter, const char *topic)
{
    struct mi_end_facts facts = {.reason = MI_END_COMPLETE};
    struct mi_history_item *item = mi_item_new_end(S(mount), S(filter), 1, &facts);
    CU_ASSERT_PTR_NOT_NULL_FATAL(item);
    CU_ASSERT_STRING_EQUAL(item->topic, topic);
    CU_ASSERT_TRUE(item->last);
    mi_history_item_free(item);
}

static void where_markers_go(void)
{
    marker("", "$iggy/2h/rooms/#", "$iggy/2h/rooms/$end");
    marker("", "$iggy/2h/#", "$iggy/2h/$end");
    marker("", "$iggy/2h/+/temp/#", "$iggy/2h/$end/temp/$end");
    marker("", "$iggy/2h/rooms/+", "$iggy/2h/rooms/$end");
    marker("", "$iggy/first/rooms", "$iggy/first/rooms/$end");
    marker("", "$iggy/first/a+b/c#", "$iggy/first/a+b/c#/$end");
    marker("", "$iggy/#", "$iggy/$end");
    marker("", "$iggy/first//", "$iggy/first///$end");
    marker("tenant/", "$iggy/first/#", "tenant/$iggy/first/$end");
}

static void says(const struct mi_end_facts *facts, uint64_t denied, const char *json)
{
    struct mi_history_item *item = mi_item_new_end(S(""), S("$iggy/first/#"), 1, facts);
    CU_ASSERT_PTR_NOT_NULL_FATAL(item);
    CU_ASSERT_TRUE(mi_item_write_end(item, denied));
    CU_ASSERT_TRUE(mi_span_equal((struct mi_span){item->payload, item->payload_len}, S(json)));
    mi_history_item_free(item);
}

static void what_markers_say(void)
{
    says(&(struct mi_end_facts){.reason = MI_END_COMPLETE, .messages = 7}, 0,
         "{\"messages\":7,\"skipped\":0,\"complete\":true}");
    says(&(struct mi_end_facts){.reason = MI_END_PAGE, .messages = 500, .skipped = 2, .next = "c_x"}, 100,
         "{\"messages\":400,\"skipped\":2,\"complete\":false,\"reason\":\"page\",\"next\":\"c_x\"}");
    says(&(struct mi_end_facts){.reason = MI_END_ERROR, .text = "Iggy is away"}, 3,
         "{\"messages\":0,\"skipped\":0,\"complete\":false,\"reason\":\"iggy\",\"text\":\"Iggy is away\"}");
    says(&(struct mi_end_facts){.reason = MI_END_MAX_SCAN}, 0,
         "{\"messages\":0,\"skipped\":0,\"complete\":false,\"reason\":\"max_scan\"}");
}

static CU_TestInfo tests[] = {
    {"a message", a_message},
    {"with a mount point", with_a_mount_point},
    {"a topic longer than MQTT allows", a_topic_longer_than_mqtt_allows},
    {"where markers go", where_markers_go},
    {"what markers say", what_markers_say},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("history_item", tests)
