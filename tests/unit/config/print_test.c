/* What is printed can be loaded again and says the same; no secret is in it; the reference names every key.
 */
#include "collect.h"
#include "config/options.h"
#include "support/process.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>

static struct collected found;

static void print(const struct mi_config *c, struct mi_buf *out)
{
    mi_buf_init(out, 1u << 20);
    CU_ASSERT_TRUE(mi_config_print(c, out));
    CU_ASSERT_TRUE(mi_buf_add_byte(out, 0));
}

static void same_after_loading(struct mi_config *c)
{
    struct mi_buf first, second;
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    print(c, &first);
    CU_ASSERT_PTR_NULL(strstr((char *)first.data, "secret"));
    struct mi_config *again = load((const char *)first.data, &found);
    CU_ASSERT_PTR_NOT_NULL(again);
    if (again) {
        CU_ASSERT_EQUAL(found.count, 0);
        print(again, &second);
        CU_ASSERT_STRING_EQUAL((char *)first.data, (char *)second.data);
        CU_ASSERT_EQUAL(again->route_count, c->route_count);
        mi_buf_fini(&second);
    } else {
        has(&found, true, "", "none at all");
    }
    mi_buf_fini(&first);
    mi_config_release(again);
    mi_config_release(c);
}

static void what_is_printed_says_the_same_when_it_is_loaded(void)
{
    same_after_loading(
        load_with("\"status\": { \"listen\": \"localhost:9465\" }, \"name\": \"a\\\"\\\\b\\t\"", &found));
    same_after_loading(
        load_with("\"unmatched\": { \"stream\": \"s\", \"topic\": \"u\", \"balanced\": true }", &found));
    same_after_loading(load_routes(
        "[ {\"name\":\"b\",\"filter\":\"b/{x}\",\"direction\":\"out\",\"stream\":\"s_{x}\",\"topic\":\"t\","
        "\"create\":{\"message_expiry\":\"never\",\"partitions\":3}},\n"
        "{\"name\":\"c\",\"regex\":\"c/"
        "(\\\\d+)\",\"direction\":\"out\",\"stream\":\"s_{1}\",\"topic\":\"t\",\"continue\":true},\n"
        "{\"name\":\"d\",\"direction\":\"in\",\"stream\":\"s\",\"topic\":\"t\",\"mqtt_topic\":\"d/"
        "{header:x}\","
        "\"max_age\":\"90s\",\"retain\":\"never\",\"create\":false} ],\n"
        "\"dead_letter\": {\"stream\":\"d\",\"topic\":\"e\"}, \"broker\": {\"wake_signal\": 9}",
        &found));
}

static void lines_of_the_broker_print_as_a_file(void)
{
    char password[300];
    snprintf(password, sizeof password, "%s", path_of("password"));
    const struct mi_plugin_opt opts[] = {{"username", "iggy"},
                                         {"password_file", password},
                                         {"url", "http://a:1"},
                                         {"url", "http://b:2"},
                                         {"topic", "a/# both s/t"}};
    same_after_loading(mi_config_from_options(opts, 5, collect, &found));
}

static void the_reference_names_every_key(void)
{
    struct mi_buf out;
    mi_buf_init(&out, 1u << 20);
    CU_ASSERT_TRUE(mi_config_reference(&out));
    CU_ASSERT_TRUE(mi_buf_add_byte(&out, 0));
    for (size_t i = 0; i < mi_option_count; i++) {
        char cell[80];
        snprintf(cell, sizeof cell, "| `%s` | ", mi_options[i].key);
        CU_ASSERT_PTR_NOT_NULL(strstr((char *)out.data, cell));
        CU_ASSERT_PTR_NOT_NULL(mi_options[i].help);
    }
    mi_buf_fini(&out);
}

static CU_TestInfo tests[] = {
    {"what is printed says the same when loaded", what_is_printed_says_the_same_when_it_is_loaded},
    {"lines of the broker print as a file", lines_of_the_broker_print_as_a_file},
    {"the reference names every key", the_reference_names_every_key},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("config print", tests)
