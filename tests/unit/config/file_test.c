/* The configuration file: what is read from it, and what is refused, each with line, key and the mend. */
#include "collect.h"
#include "support/process.h"
#include "support/suite.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct collected found;

static void refused_with(struct mi_config *c, const char *key, const char *part)
{
    CU_ASSERT_PTR_NULL(c);
    CU_ASSERT_TRUE(has(&found, true, key, part));
    mi_config_release(c);
}

static void a_whole_file_is_read(void)
{
    struct mi_config *c =
        load("{ // all of it\n"
             "  \"name\": \"edge-1\",\n"
             "  \"iggy\": { \"url\": [\"http://a:1\", \"https://b:2/\"], \"username\": \"u\", "
             "\"password_file\": \"password\",\n"
             "    \"request_timeout\": \"20s\", \"connect_timeout\": \"500ms\" },\n"
             "  \"journal\": { \"directory\": \"/x/y\", \"max_size\": \"2GB\", \"keep\": \"64MiB\", "
             "\"sync\": \"always\" },\n"
             "  \"routes\": [\n"
             "    { \"name\": \"rooms\", \"filter\": \"building/{building}/#\", \"direction\": \"both\",\n"
             "      \"stream\": \"building_{building}\", \"topic\": \"telemetry\", \"partition_key\": "
             "\"k_{building}\",\n"
             "      \"create\": { \"partitions\": 4, \"durable\": false, \"max_targets\": 7, "
             "\"message_expiry\": \"30d\" },\n"
             "      \"when_journal_full\": \"deliver_without_copy\", \"on_missing\": \"refuse\", \"refuse\": "
             "\"disconnect\",\n"
             "      \"send_client_id\": false, \"qos\": 2, \"retain\": \"always\", \"max_age\": \"1h\", "
             "\"start\": \"earliest\" },\n"
             "    { \"name\": \"commands\", \"direction\": \"in\", \"stream\": \"commands\", \"topic\": "
             "\"devices\",\n"
             "      \"mqtt_topic\": \"devices/{header:device}/command\" } ],\n"
             "  \"unmatched\": { \"stream\": \"rest\", \"topic\": \"of_it\", \"create\": false },\n"
             "  \"dead_letter\": { \"stream\": \"mqtt\", \"topic\": \"dead\", \"max_file_size\": \"1MB\" },\n"
             "  \"status\": { \"listen\": \"127.0.0.1:9465\" },\n"
             "  \"broker\": { \"wake_signal\": 7 },\n"
             "  \"limits\": { \"max_requests\": 3, \"retry_min\": \"5ms\", \"max_batch_bytes\": \"100KB\" }\n"
             "}\n",
             &found);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_EQUAL(found.count, 0);
    CU_ASSERT_STRING_EQUAL(c->name, "edge-1");
    CU_ASSERT_STRING_EQUAL(c->file, path_of("iggy.json"));
    CU_ASSERT_EQUAL(c->url_count, 2);
    CU_ASSERT_STRING_EQUAL(c->urls[1], "https://b:2/");
    CU_ASSERT_STRING_EQUAL(c->username, "u");
    CU_ASSERT_STRING_EQUAL(c->password, "secret");
    CU_ASSERT_PTR_NULL(c->token);
    CU_ASSERT_EQUAL(c->request_timeout_ms, 20000);
    CU_ASSERT_EQUAL(c->connect_timeout_ms, 500);
    CU_ASSERT_STRING_EQUAL(c->journal_directory, "/x/y");
    CU_ASSERT_EQUAL(c->journal_max_size, 2000000000ull);
    CU_ASSERT_EQUAL(c->journal_keep, 64ull << 20);
    CU_ASSERT_TRUE(c->journal_sync_always);
    CU_ASSERT_STRING_EQUAL(c->dead_letter_stream, "mqtt");
    CU_ASSERT_EQUAL(c->dead_letter_file_max, 1000000);
    CU_ASSERT_STRING_EQUAL(c->status_address, "127.0.0.1");
    CU_ASSERT_EQUAL(c->status_port, 9465);
    CU_ASSERT_EQUAL(c->wake_signal, SIGRTMIN + 7);
    CU_ASSERT_EQUAL(c->max_requests, 3);
    CU_ASSERT_EQUAL(c->retry_min_ns, 5000000);
    CU_ASSERT_EQUAL(c->max_batch_bytes, 100000);
    mi_config_release(c);
}

static void routes_are_read(void)
{
    struct mi_config *c =
        load_with("\"unmatched\": { \"stream\": \"rest\", \"topic\": \"of_it\", \"create\": false }", &found);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_EQUAL(c->route_count, 2);
    const struct mi_route *r = &c->routes[0];
    CU_ASSERT_STRING_EQUAL(r->name, "r");
    CU_ASSERT_EQUAL(r->direction, MI_BOTH);
    CU_ASSERT_TRUE(r->create && r->durable && r->create_partitions == 1 && r->max_targets == 100);
    CU_ASSERT_EQUAL(r->message_expiry_us, 0);
    CU_ASSERT_EQUAL(r->when_full, MI_FULL_DISCONNECT);
    CU_ASSERT_TRUE(r->send_client_id && r->send_username && r->in_qos == 1 && r->max_age_us == 0);
    CU_ASSERT_STRING_EQUAL(c->rules[0].filter, "a/#");
    CU_ASSERT_STRING_EQUAL(c->routes[1].name, "unmatched");
    CU_ASSERT_STRING_EQUAL(c->rules[1].filter, "#");
    CU_ASSERT_EQUAL(c->routes[1].direction, MI_OUT);
    CU_ASSERT_FALSE(c->routes[1].create);
    CU_ASSERT_NOT_EQUAL(c->routes[0].id, c->routes[1].id);
    struct mi_hit hits[MI_MAX_HITS];
    struct mi_map_input input = {.topic = mi_span_of("b/c")};
    CU_ASSERT_EQUAL(mi_map_match(c->map, &input, hits), 1);
    CU_ASSERT_EQUAL(hits[0].rule, 1);
    mi_config_release(c);
}

static void creation_follows_from_the_names_unless_it_is_said(void)
{
    struct mi_config *c = load_routes(
        "[ {\"name\":\"a\",\"filter\":\"a/{x}\",\"direction\":\"out\",\"stream\":\"s\",\"topic\":\"t\"},\n"
        "{\"name\":\"b\",\"filter\":\"b/{x}\",\"direction\":\"out\",\"stream\":\"s_{x}\",\"topic\":\"t\"},\n"
        "{\"name\":\"c\",\"filter\":\"c/"
        "{x}\",\"direction\":\"out\",\"stream\":\"s_{x}\",\"topic\":\"t\",\"create\":true},\n"
        "{\"name\":\"d\",\"filter\":\"d/{x}\",\"direction\":\"out\",\"stream\":\"s_{x}\",\"topic\":\"t\","
        "\"create\":{\"message_expiry\":\"never\"}} ]",
        &found);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_TRUE(c->routes[0].create);
    CU_ASSERT_FALSE(c->routes[1].create);
    CU_ASSERT_TRUE(c->routes[2].create);
    CU_ASSERT_TRUE(c->routes[3].create);
    CU_ASSERT_EQUAL(c->routes[3].message_expiry_us, UINT64_MAX);
    mi_config_release(c);
}

static void files_that_cannot_be_read_are_refused(void)
{
    memset(&found, 0, sizeof found);
    refused_with(mi_config_from_file(path_of("none.json"), collect, &found), "", "No such file");
    CU_ASSERT_EQUAL(found.count, 1);
    CU_ASSERT_STRING_EQUAL(found.file, path_of("none.json"));
    memset(&found, 0, sizeof found);
    refused_with(mi_config_from_file(folder(), collect, &found), "", "not a regular file");
    refused_with(load("{\n \"iggy\": {\n", &found), "", "ends too early");
    CU_ASSERT_EQUAL(found.line[0], 3);
    refused_with(load("[]", &found), "", "one JSON object");
    refused_with(load("", &found), "", "empty");
}

static void a_huge_file_is_refused_before_it_is_parsed(void)
{
    FILE *f = fopen(path_of("huge.json"), "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_EQUAL(ftruncate(fileno(f), 9 << 20), 0);
    fclose(f);
    memset(&found, 0, sizeof found);
    refused_with(mi_config_from_file(path_of("huge.json"), collect, &found), "", "larger than");
}

static void unknown_keys_come_with_a_suggestion(void)
{
    refused_with(load_with("\"limit\": {}", &found), "limit", "did you mean \"limits\"?");
    CU_ASSERT_EQUAL(line_of_key(&found, "limit"), 4);
    refused_with(load_with("\"max_size\": \"1GB\"", &found), "max_size", "belongs into journal");
    refused_with(load_with("\"journal\": { \"sync_intervall\": \"1s\" }", &found), "journal.sync_intervall",
                 "did you mean \"sync_interval\"?");
    refused_with(load_with("\"status\": { \"color\": 1 }", &found), "status.color", "known here are listen");
    refused_with(load("{ \"iggy\": { \"username\": \"u\", \"password\": \"hunter2\" } }", &found),
                 "iggy.password", "in \"password_file\"");
    for (size_t i = 0; i < found.count; i++)
        CU_ASSERT_PTR_NULL(strstr(found.sentence[i], "hunter2"));
}

static void wrong_types_and_values_are_refused(void)
{
    static const struct {
        const char *text, *key, *part;
    } bad[] = {
        {"\"name\": 5", "name", "a text in quotes, not a number"},
        {"\"name\": \"\"", "name", "is empty"},
        {"\"name\": null", "name", "leave the key out"},
        {"\"journal\": []", "journal", "an object"},
        {"\"journal\": { \"max_size\": 1000000000 }", "journal.max_size", "size in quotes"},
        {"\"journal\": { \"max_size\": \"1\" }", "journal.max_size", "not a size"},
        {"\"journal\": { \"max_size\": \"1KB\" }", "journal.max_size", "out of range"},
        {"\"journal\": { \"sync\": \"sometimes\" }", "journal.sync", "interval|always"},
        {"\"journal\": { \"sync_interval\": \"2 weeks\" }", "journal.sync_interval", "not a time"},
        {"\"journal\": { \"sync_interval\": \"1h\" }", "journal.sync_interval", "1ms to 1m"},
        {"\"limits\": { \"max_requests\": 25 }", "limits.max_requests", "1 to 24"},
        {"\"limits\": { \"max_requests\": 0 }", "limits.max_requests", "1 to 24"},
        {"\"limits\": { \"max_requests\": 1.5 }", "limits.max_requests", "whole number"},
        {"\"limits\": { \"max_requests\": -1 }", "limits.max_requests", "whole number"},
        {"\"limits\": { \"max_requests\": \"5\" }", "limits.max_requests", "without quotes"},
        {"\"limits\": { \"topic_cache\": 1e300 }", "limits.topic_cache", "whole number"},
        {"\"status\": { \"listen\": \"0.0.0.0:9465\" }", "status.listen", "not a loopback address"},
        {"\"status\": { \"listen\": \"192.168.1.1:9465\" }", "status.listen", "not a loopback address"},
        {"\"status\": { \"listen\": \"broker.example:9465\" }", "status.listen", "not an IP address"},
        {"\"status\": { \"listen\": \"[2001:db8::1]:9465\" }", "status.listen", "not a loopback address"},
        {"\"status\": { \"listen\": \"127.0.0.1\" }", "status.listen", "with a port"},
        {"\"status\": { \"listen\": \"127.0.0.1:70000\" }", "status.listen", "with a port"},
        {"\"status\": { \"listen\": \":9465\" }", "status.listen", "not an IP address"},
        {"\"unmatched\": { \"stream\": \"s\" }", "unmatched", "\"topic\" is missing"},
        {"\"unmatched\": { \"stream\": \"s\", \"topic\": \"t\", \"filter\": \"#\" }", "unmatched.filter",
         "unknown"},
        {"\"dead_letter\": { \"stream\": \"s\" }", "dead_letter.stream", "stands alone"},
        {"\"dead_letter\": { \"stream\": \"1\", \"topic\": \"t\" }", "dead_letter.stream", "numeric id"},
        {"\"dead_letter\": { \"stream\": \"{x}\", \"topic\": \"t\" }", "dead_letter.stream", "template"},
        {"\"name\": \"a\", \"name\": \"b\"", "name", "a second time"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused_with(load_with(bad[i].text, &found), bad[i].key, bad[i].part);
}

static void the_second_of_two_keys_is_pointed_at(void)
{
    refused_with(load_with("\"name\": \"a\",\n \"journal\": {},\n \"name\": \"b\"", &found), "name",
                 "a second time");
    CU_ASSERT_EQUAL(line_of_key(&found, "name"), 6);
}

static void all_findings_are_reported_not_only_the_first(void)
{
    struct mi_config *c = load_with(
        "\"name\": 1,\n\"journal\": { \"keep\": \"x\" },\n\"limits\": { \"nope\": 1 },\n\"what\": 2", &found);
    CU_ASSERT_PTR_NULL(c);
    CU_ASSERT_EQUAL(found.count, 4);
    CU_ASSERT_EQUAL(line_of_key(&found, "name"), 4);
    CU_ASSERT_EQUAL(line_of_key(&found, "journal.keep"), 5);
    CU_ASSERT_EQUAL(line_of_key(&found, "limits.nope"), 6);
    CU_ASSERT_EQUAL(line_of_key(&found, "what"), 7);
}

static CU_TestInfo tests[] = {
    {"a whole file is read", a_whole_file_is_read},
    {"routes are read", routes_are_read},
    {"creation follows from the names unless it is said", creation_follows_from_the_names_unless_it_is_said},
    {"files that cannot be read are refused", files_that_cannot_be_read_are_refused},
    {"a huge file is refused before it is parsed", a_huge_file_is_refused_before_it_is_parsed},
    {"unknown keys come with a suggestion", unknown_keys_come_with_a_suggestion},
    {"wrong types and values are refused", wrong_types_and_values_are_refused},
    {"the second of two keys is pointed at", the_second_of_two_keys_is_pointed_at},
    {"all findings are reported", all_findings_are_reported_not_only_the_first},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("config file", tests)
