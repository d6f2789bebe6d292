/* properties: a list goes into a block and comes back the same; what a broker must not be given is refused.
 */
#include "broker/properties.h"
#include "message/message.h"
#include "support/suite.h"

#include <mqtt_protocol.h>
#include <stdlib.h>
#include <string.h>

static struct mi_compat compat;
static struct mi_buf block;

static void start(void)
{
    if (!compat.symbols) {
        mi_compat_init(&compat, &mi_symbols_system);
        mi_buf_init(&block, 1 << 20);
    }
    mi_buf_reset(&block);
}

static mosquitto_property *full_list(void)
{
    mosquitto_property *list = NULL;
    CU_ASSERT_EQUAL(mosquitto_property_add_byte(&list, MQTT_PROP_PAYLOAD_FORMAT_INDICATOR, 1), 0);
    CU_ASSERT_EQUAL(mosquitto_property_add_string(&list, MQTT_PROP_CONTENT_TYPE, "application/json"), 0);
    CU_ASSERT_EQUAL(mosquitto_property_add_string(&list, MQTT_PROP_RESPONSE_TOPIC, "a/b"), 0);
    CU_ASSERT_EQUAL(mosquitto_property_add_binary(&list, MQTT_PROP_CORRELATION_DATA, "\0\xff", 2), 0);
    CU_ASSERT_EQUAL(mosquitto_property_add_string_pair(&list, MQTT_PROP_USER_PROPERTY, "k", "1"), 0);
    CU_ASSERT_EQUAL(mosquitto_property_add_string_pair(&list, MQTT_PROP_USER_PROPERTY, "k", "2"), 0);
    CU_ASSERT_EQUAL(mosquitto_property_add_string_pair(&list, MQTT_PROP_USER_PROPERTY, "", ""), 0);
    return list;
}

static void check_full_block(void)
{
    struct mi_property p;
    CU_ASSERT_TRUE(mi_properties_find(mi_buf_span(&block), MI_PROP_PAYLOAD_FORMAT, mi_span_of(NULL), &p));
    CU_ASSERT_EQUAL(p.byte, 1);
    CU_ASSERT_TRUE(mi_properties_find(mi_buf_span(&block), MI_PROP_CORRELATION_DATA, mi_span_of(NULL), &p));
    CU_ASSERT_EQUAL(p.value.len, 2);
    CU_ASSERT_EQUAL(memcmp(p.value.data, "\0\xff", 2), 0);
    size_t at = 0;
    const char *pairs[][2] = {{"k", "1"}, {"k", "2"}, {"", ""}};
    int n = 0;
    while (mi_properties_next(mi_buf_span(&block), &at, &p) > 0) {
        if (p.id != MI_PROP_USER)
            continue;
        CU_ASSERT_TRUE(mi_span_equal(p.name, mi_span_of(pairs[n][0])));
        CU_ASSERT_TRUE(mi_span_equal(p.value, mi_span_of(pairs[n][1])));
        n++;
    }
    CU_ASSERT_EQUAL(n, 3);
}

static void all_five_kinds_there_and_back(void)
{
    start();
    mosquitto_property *list = full_list(), *again = NULL;
    CU_ASSERT_TRUE(mi_properties_from_list(&compat, list, &block));
    check_full_block();
    CU_ASSERT_TRUE(mi_properties_to_list(mi_buf_span(&block), &again));
    mi_buf_reset(&block);
    CU_ASSERT_TRUE(mi_properties_from_list(&compat, again, &block));
    check_full_block();
    mosquitto_property_free_all(&list);
    mosquitto_property_free_all(&again);
}

static void what_the_broker_has_dealt_with_is_left_out(void)
{
    start();
    mosquitto_property *list = NULL;
    mosquitto_property_add_int32(&list, MQTT_PROP_MESSAGE_EXPIRY_INTERVAL, 7);
    mosquitto_property_add_int16(&list, MQTT_PROP_TOPIC_ALIAS, 3);
    CU_ASSERT_TRUE(mi_properties_from_list(&compat, list, &block));
    CU_ASSERT_EQUAL(block.len, 0);
    mosquitto_property_free_all(&list);
}

static void the_largest_value_and_many_pairs(void)
{
    start();
    char *big = malloc(65536);
    memset(big, 'x', 65535);
    big[65535] = '\0';
    mosquitto_property *list = NULL, *again = NULL;
    mosquitto_property_add_binary(&list, MQTT_PROP_CORRELATION_DATA, big, 65535);
    for (int i = 0; i < 300; i++)
        mosquitto_property_add_string_pair(&list, MQTT_PROP_USER_PROPERTY, "name", "value");
    CU_ASSERT_TRUE(mi_properties_from_list(&compat, list, &block));
    CU_ASSERT_EQUAL(block.len, 1 + 2 + 65535 + 300 * (1 + 2 + 4 + 2 + 5));
    CU_ASSERT_TRUE(mi_properties_to_list(mi_buf_span(&block), &again));
    mosquitto_property_free_all(&list);
    mosquitto_property_free_all(&again);
    free(big);
}

static bool accepted(void)
{
    mosquitto_property *list = NULL;
    bool ok = mi_properties_to_list(mi_buf_span(&block), &list);
    if (!ok)
        CU_ASSERT_PTR_NULL(list);
    mosquitto_property_free_all(&list);
    mi_buf_reset(&block);
    return ok;
}

static void what_a_broker_must_not_be_given_is_refused(void)
{
    start();
    CU_ASSERT_TRUE(accepted()); /* empty */
    mi_buf_add(&block, "\x7e\x01", 2);
    CU_ASSERT_FALSE(accepted()); /* unknown property */
    mi_properties_add_bytes(&block, MI_PROP_CONTENT_TYPE, (struct mi_span){(const uint8_t *)"a\0b", 3});
    CU_ASSERT_FALSE(accepted());
    mi_properties_add_pair(&block, mi_span_of("ok"), mi_span_of("\xff"));
    CU_ASSERT_FALSE(accepted());
    mi_properties_add_bytes(&block, MI_PROP_RESPONSE_TOPIC, mi_span_of("a/#"));
    CU_ASSERT_FALSE(accepted());
    mi_properties_add_byte(&block, MI_PROP_PAYLOAD_FORMAT, 2);
    CU_ASSERT_FALSE(accepted());
    mi_properties_add_bytes(&block, MI_PROP_RESPONSE_TOPIC, mi_span_of("a/b"));
    CU_ASSERT_TRUE(accepted());
}

static CU_TestInfo tests[] = {
    {"all five kinds there and back", all_five_kinds_there_and_back},
    {"what the broker has dealt with is left out", what_the_broker_has_dealt_with_is_left_out},
    {"the largest value and many pairs", the_largest_value_and_many_pairs},
    {"what a broker must not be given is refused", what_a_broker_must_not_be_given_is_refused},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("properties", tests)
