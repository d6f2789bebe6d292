/* The tool as a user runs it: output, error lines, exit codes. */
#include "base/bytes.h"
#include "support/process.h"
#include "support/suite.h"

#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* XXH32("room_12_", 0), computed apart from this code. */
#define KEY_HASH 3999634860u

static char dir[200];
static char *out, *err; /* of the last run */

/* Runs the tool in the folder; returns its exit code. */
static int run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int run(const char *format, ...)
{
    char arguments[1000], command[1800], path[300];
    va_list args;
    va_start(args, format);
    vsnprintf(arguments, sizeof arguments, format, args);
    va_end(args);
    snprintf(command, sizeof command, "cd '%s' && '%s' %s >out 2>err", dir, TOOL, arguments);
    int status = system(command);
    free(out);
    free(err);
    snprintf(path, sizeof path, "%s/out", dir);
    out = mi_read_file(path);
    snprintf(path, sizeof path, "%s/err", dir);
    err = mi_read_file(path);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void file(const char *name, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    mi_write_file(path, text);
    chmod(path, 0600);
}

static bool says(const char *text, const char *part)
{
    if (text && strstr(text, part))
        return true;
    printf("\n  wanted: %s\n  out: %s\n  err: %s\n", part, out ? out : "", err ? err : "");
    return false;
}

#define LOGIN "\"iggy\": { \"username\": \"u\", \"password_file\": \"password\" }"

static const char good[] =
    "{ " LOGIN ",\n \"routes\": [\n"
    "  { \"name\": \"first\", \"filter\": \"x/#\", \"direction\": \"out\", \"stream\": \"s\", \"topic\": "
    "\"t\" },\n"
    "  { \"name\": \"rooms\", \"filter\": \"b/{building}/r/{room}/#\", \"direction\": \"both\", \"stream\": "
    "\"b_{building}\",\n"
    "    \"topic\": \"telemetry\", \"partition_key\": \"room_{room}_{property:unit}\", \"continue\": true,\n"
    "    \"create\": { \"partitions\": 4 }, \"retain\": \"never\" },\n"
    "  { \"name\": \"cmd\", \"direction\": \"in\", \"stream\": \"c\", \"topic\": \"d\", \"mqtt_topic\": "
    "\"e/{header:x}\" },\n"
    "  { \"name\": \"all\", \"filter\": \"b/#\", \"direction\": \"out\", \"stream\": \"s\", \"topic\": "
    "\"u\", \"balanced\": true } ] }";

static void check_tells_good_from_bad(void)
{
    file("good.json", good);
    CU_ASSERT_EQUAL(run("check good.json"), 0);
    CU_ASSERT_TRUE(says(out, "good.json: good: 4 routes, 0 warnings"));
    file("bad.json",
         "{ " LOGIN ",\n \"journal\": { \"max_sice\": \"1GB\" },\n \"routes\": [],\n \"name\": 5 }");
    CU_ASSERT_EQUAL(run("check bad.json"), 1);
    CU_ASSERT_TRUE(says(err, "bad.json:2: error: journal.max_sice: is unknown: did you mean \"max_size\"?"));
    CU_ASSERT_TRUE(says(err, "bad.json:4: error: name: must be"));
    CU_ASSERT_TRUE(says(err, "refused: 2 errors"));
    CU_ASSERT_EQUAL(run("check gone.json"), 1);
    CU_ASSERT_TRUE(says(err, "gone.json: error: gone.json cannot be opened"));
}

static void check_lists_warnings_and_still_says_good(void)
{
    file("warn.json",
         "{ \"iggy\": { \"token_file\": \"password\",\n  \"request_timeout\": \"9s\" }, \"routes\": [] }");
    CU_ASSERT_EQUAL(run("check warn.json"), 0);
    CU_ASSERT_TRUE(says(err, "warn.json:2: warning: iggy.request_timeout: "));
    CU_ASSERT_TRUE(says(out, "2 warnings"));
}

static void check_prints_what_can_be_checked_again(void)
{
    CU_ASSERT_EQUAL(run("check good.json --print"), 0);
    CU_ASSERT_TRUE(says(out, "\"stop_timeout\": \"5s\""));
    CU_ASSERT_PTR_NULL(strstr(out, "hunter2"));
    file("again.json", out);
    CU_ASSERT_EQUAL(run("check again.json"), 0);
    CU_ASSERT_TRUE(says(out, "4 routes, 0 warnings"));
}

static void check_reads_the_brokers_own_file(void)
{
    file("b.conf", "listener 1883\nplugin /x/other.so\nplugin_opt_topic not for us\n"
                   "plugin /x/mosquitto_iggy.so\nplugin_opt_username u\n# plugin_opt_url ftp://no\n"
                   "plugin_opt_password_file password\nplugin_opt_topic a b/# out s/t  \n"
                   "plugin /x/third.so\nplugin_opt_what ever\n");
    CU_ASSERT_EQUAL(run("check b.conf"), 0);
    CU_ASSERT_TRUE(says(out, "1 route,"));
    file("c.conf", "plugin /x/mosquitto_iggy.so\nplugin_opt_username u\nplugin_opt_password_file password\n"
                   "plugin_opt_url host:3000\nplugin_opt_topic a out s/t\n");
    CU_ASSERT_EQUAL(run("check c.conf"), 1);
    CU_ASSERT_TRUE(says(err, "c.conf:4: error: plugin_opt_url: \"host:3000\" must begin with http://"));
    file("d.conf", "listener 1883\n");
    CU_ASSERT_EQUAL(run("check d.conf"), 1);
    CU_ASSERT_TRUE(says(err, "no line \"plugin"));
    file("e.conf", "plugin /x/mosquitto_iggy.so\nplugin_opt_config_file bad.json\n");
    CU_ASSERT_EQUAL(run("check e.conf"), 1);
    CU_ASSERT_TRUE(says(err, "bad.json:2: error: journal.max_sice"));
}

static void explain_says_who_takes_it_and_why_others_do_not(void)
{
    file("payload", "12345");
    CU_ASSERT_EQUAL(
        run("explain good.json b/7/r/12/temp --property unit=C --payload-file payload --client-id dev1"), 0);
    CU_ASSERT_TRUE(says(out, "1 \"first\": does not take it: "));
    CU_ASSERT_TRUE(says(out, "2 \"rooms\": takes it: "));
    CU_ASSERT_TRUE(says(out, "building = 7"));
    CU_ASSERT_TRUE(says(out, "room = 12"));
    CU_ASSERT_TRUE(says(out, "stream     b_7"));
    CU_ASSERT_TRUE(says(out, "key        room_12_C"));
    CU_ASSERT_TRUE(says(out, "of 4, if the topic has"));
    CU_ASSERT_TRUE(says(out, "mqtt.client_id = dev1 (string)"));
    CU_ASSERT_TRUE(says(out, "mqtt.qos = 1 (uint8)"));
    CU_ASSERT_TRUE(says(out, "payload    5 bytes"));
    CU_ASSERT_TRUE(says(out, "3 \"cmd\": does not take it: "));
    CU_ASSERT_TRUE(says(out, "4 \"all\": takes it: "));
    CU_ASSERT_TRUE(says(out, "in turn (balanced)"));
    CU_ASSERT_EQUAL(run("explain good.json q"), 0);
    CU_ASSERT_TRUE(says(out, "No route takes it"));
}

static const cJSON *header(const cJSON *route, const char *key)
{
    const cJSON *item;
    cJSON_ArrayForEach(
        item, cJSON_GetObjectItem(route, "headers")) if (strcmp(cJSON_GetObjectItem(item, "key")->valuestring,
                                                                key) == 0) return item;
    return NULL;
}

static double number(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItem(object, key);
    return item ? item->valuedouble : -1;
}

/* The partition is the one that an SDK of Iggy chooses. */
static void explain_says_who_feeds_a_route(void)
{
    file("via.json", "{ \"iggy\": { \"username\": \"u\", \"password_file\": \"password\" }, "
                     "\"client_events\": { \"stream\": "
                     "\"e\", \"topic\": \"e\" }, \"routes\": [ { \"name\": \"w\", \"filter\": \"w/#\", "
                     "\"direction\": \"out\", "
                     "\"via\": \"subscription\", \"stream\": \"s\", \"topic\": \"t\" } ] }");
    CU_ASSERT_EQUAL(run("explain via.json w/1"), 0);
    CU_ASSERT_TRUE(says(out, "1 \"w\": takes it: "));
    CU_ASSERT_TRUE(says(out, "fed by     the plugin's own subscription"));
    CU_ASSERT_TRUE(says(out, "2 \"client_events\": does not take it: it takes no PUBLISH"));
}

static void explain_says_the_same_as_json(void)
{
    CU_ASSERT_EQUAL(run("explain good.json b/7/r/12/x --json --retain --qos 2 --partitions 7 --username me "
                        "--payload-file payload"),
                    0);
    cJSON *root = cJSON_Parse(out);
    CU_ASSERT_PTR_NOT_NULL_FATAL(root);
    const cJSON *routes = cJSON_GetObjectItem(root, "routes");
    CU_ASSERT_EQUAL(cJSON_GetArraySize(routes), 4);
    const cJSON *rooms = cJSON_GetArrayItem(routes, 1);
    CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(rooms, "verdict")->valuestring, "taken_goes_on");
    CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(rooms, "partition_key")->valuestring, "room_12_");
    CU_ASSERT_EQUAL(number(rooms, "key_hash"), KEY_HASH);
    CU_ASSERT_EQUAL(number(rooms, "partition"), KEY_HASH % 7);
    CU_ASSERT_EQUAL(number(rooms, "partitions"), 7);
    CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(header(rooms, "mqtt.qos"), "value")->valuestring, "2");
    CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(header(rooms, "mqtt.retain"), "value")->valuestring, "true");
    CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(header(rooms, "mqtt.username"), "value")->valuestring, "me");
    CU_ASSERT_PTR_NULL(header(rooms, "mqtt.client_id"));
    CU_ASSERT_EQUAL(number(rooms, "payload_bytes"), 5);
    CU_ASSERT_TRUE(number(rooms, "request_bytes") > number(rooms, "header_bytes") * 4 / 3);
    CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(cJSON_GetArrayItem(routes, 2), "verdict")->valuestring,
                           "direction");
    CU_ASSERT_TRUE(cJSON_IsTrue(cJSON_GetObjectItem(cJSON_GetArrayItem(routes, 3), "balanced")));
    cJSON_Delete(root);
}

static void explain_finds_unusable_names_and_large_messages(void)
{
    char long_level[300];
    memset(long_level, 'x', 280);
    long_level[280] = 0;
    CU_ASSERT_EQUAL(run("explain good.json b/%s/r/1", long_level), 0);
    CU_ASSERT_TRUE(says(out, "unusable   "));
    CU_ASSERT_TRUE(says(out, "dead letters"));
    CU_ASSERT_EQUAL(run("explain good.json x/y --payload-file payload"), 0);
    CU_ASSERT_PTR_NULL(strstr(out, "too large"));
    char path[300];
    snprintf(path, sizeof path, "%s/payload", dir);
    CU_ASSERT_EQUAL(truncate(path, 1500000), 0);
    CU_ASSERT_EQUAL(run("explain good.json x/y --payload-file payload"), 0);
    CU_ASSERT_TRUE(says(out, "too large"));
}

static void wrong_arguments_give_2_and_the_usage(void)
{
    static const char *const bad[] = {
        "",
        "chekc good.json",
        "check",
        "check a b",
        "check --what good.json",
        "explain good.json",
        "explain good.json a/#",
        "explain good.json a --qos 3",
        "explain good.json a --partitions 0",
        "explain good.json a --property x",
        "explain good.json a --payload-file gone",
        "explain good.json a --nope",
        "explain good.json \"\"",
        "reference x",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CU_ASSERT_EQUAL(run("%s", bad[i]), 2);
        CU_ASSERT_TRUE(says(err, "mosquitto_iggy"));
    }
    CU_ASSERT_EQUAL(run("explain bad.json a"), 1);
}

static void help_and_version_are_there(void)
{
    CU_ASSERT_EQUAL(run("--help"), 0);
    CU_ASSERT_TRUE(says(out, "mosquitto_iggy check FILE [--print | --online]"));
    CU_ASSERT_EQUAL(run("explain --help"), 0);
    CU_ASSERT_TRUE(says(out, "mosquitto_iggy explain FILE TOPIC"));
    CU_ASSERT_EQUAL(run("--version"), 0);
    CU_ASSERT_TRUE(says(out, "mosquitto_iggy 0"));
    CU_ASSERT_EQUAL(run("reference"), 0);
    CU_ASSERT_TRUE(says(out, "# Configuration"));
}

static CU_TestInfo tests[] = {
    {"check tells good from bad", check_tells_good_from_bad},
    {"check lists warnings and still says good", check_lists_warnings_and_still_says_good},
    {"check prints what can be checked again", check_prints_what_can_be_checked_again},
    {"check reads the broker's own file", check_reads_the_brokers_own_file},
    {"explain says who takes it and why others do not", explain_says_who_takes_it_and_why_others_do_not},
    {"explain says the same as JSON", explain_says_the_same_as_json},
    {"explain says who feeds a route", explain_says_who_feeds_a_route},
    {"explain finds unusable names and large messages", explain_finds_unusable_names_and_large_messages},
    {"wrong arguments give 2 and the usage", wrong_arguments_give_2_and_the_usage},
    {"help and version are there", help_and_version_are_there},
    CU_TEST_INFO_NULL,
};

int main(int argc, char **argv)
{
    if (!mi_temp_dir(dir, sizeof dir))
        return 2;
    file("password", "hunter2\n");
    file("good.json", good);
    file("payload", "12345");
    int rc = mi_suite_run("tool", tests, argc, argv);
    mi_remove_tree(dir);
    free(out);
    free(err);
    return rc;
}
