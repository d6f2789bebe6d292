/* start: both forms of configuration, what is refused at start, and an Iggy that is away or says no. */
#include "rig.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ROUTE "{'name':'all','filter':'#','direction':'out','stream':'s','topic':'t'}"
#define GOOD RIG_CONFIG "'routes':[" ROUTE "]}"

/* Starts a broker that must refuse, and finds one line with each of the words. */
static void refuses(const char *json, const char *plugin_lines, const char *word_1, const char *word_2)
{
    struct rig *r = rig_new(NULL, plugin_lines);
    if (json)
        CU_ASSERT_TRUE(mi_broker_config(&r->broker, json, 1));
    CU_ASSERT_TRUE(mi_broker_start_and_exit(&r->broker) > 0);
    char *log = mi_read_file(r->broker.process.output);
    bool found = false;
    for (char *line = strtok(log, "\n"); line; line = strtok(NULL, "\n"))
        found = found || (strstr(line, "mosquitto_iggy:") && strstr(line, word_1) && strstr(line, word_2));
    free(log);
    if (!found) {
        log = mi_read_file(r->broker.process.output);
        printf("\nno line with \"%s\" and \"%s\" in:\n%s\n", word_1, word_2, log);
        free(log);
    }
    CU_ASSERT_TRUE(found);
    rig_free(r);
}

static void broken_configurations_stop_the_broker_with_one_clear_line(void)
{
    refuses(NULL, NULL, "iggy.json", "No such file");
    refuses("{'routes': [\n\n nonsense ]}", NULL, "iggy.json:3", "");
    refuses("{\n'iggy':{'url':'IGGY'},\n'rutes':[]}", NULL, "iggy.json:3", "rutes");
    refuses(RIG_CONFIG
            "'routes':[\n{'name':'a','filter':'a/#/b','direction':'out','stream':'s','topic':'t'}]}",
            NULL, "iggy.json:2", "filter");
    refuses(RIG_CONFIG "'limits':\n{'max_requests':100},'routes':[]}", NULL, "iggy.json:2", "max_requests");
    refuses(NULL, "plugin_opt_topic sensors/# sideways a/b\n", "plugin_opt_topic", "sideways");
    refuses(NULL, "plugin_opt_nonsense 1\n", "plugin_opt_nonsense", "unknown");
}

static void a_journal_that_cannot_be_used_stops_the_broker(void)
{
    struct rig *r = rig_new(NULL, NULL);
    CU_ASSERT_TRUE(mi_broker_config(&r->broker, GOOD, 1));
    char path[300];
    snprintf(path, sizeof path, "%s/journal", r->broker.dir);
    CU_ASSERT_TRUE(mi_write_file(path, "a file where a folder should be"));
    CU_ASSERT_TRUE(mi_broker_start_and_exit(&r->broker) > 0);
    CU_ASSERT_TRUE(mi_broker_says(&r->broker, path, 0));
    rig_free(r);
}

static void two_brokers_on_one_journal(void)
{
    struct rig *r = rig_new(NULL, NULL), *second = rig_new(NULL, NULL);
    char json[2048];
    CU_ASSERT_TRUE(rig_start(r, GOOD));
    snprintf(json, sizeof json,
             "{'iggy':{'url':'IGGY','username':'iggy','password_file':'DIR/iggy.password'},"
             "'journal':{'directory':'%s/journal'},'routes':[" ROUTE "]}",
             r->broker.dir);
    CU_ASSERT_TRUE(mi_broker_config(&second->broker, json, 1));
    CU_ASSERT_TRUE(mi_broker_start_and_exit(&second->broker) > 0);
    CU_ASSERT_TRUE(mi_broker_says(&second->broker, "journal", 0));
    CU_ASSERT_TRUE(mi_broker_stop(&r->broker, 10000));
    rig_free(second);
    rig_free(r);
}

static void the_few_lines_are_enough(void)
{
    struct rig *r = rig_new(NULL, "");
    char conf[300], lines[1024];
    snprintf(conf, sizeof conf, "%s/mosquitto.conf", r->broker.dir);
    char *before = mi_read_file(conf);
    snprintf(lines, sizeof lines,
             "%splugin_opt_url http://127.0.0.1:%u\nplugin_opt_username iggy\nplugin_opt_password_file "
             "%s/iggy.password\n"
             "plugin_opt_journal %s/journal\nplugin_opt_topic sensors/# out sensors/messages\n"
             "plugin_opt_topic other/# both others/messages\n",
             before, r->iggy.port, r->broker.dir, r->broker.dir);
    free(before);
    CU_ASSERT_TRUE(mi_write_file(conf, lines));
    CU_ASSERT_TRUE_FATAL(rig_start(r, NULL));
    struct mi_mqtt *c = rig_client(r, "c", MQTT_PROTOCOL_V311);
    CU_ASSERT_EQUAL(mi_mqtt_say(c, "sensors/1/t", "21", 1), 0);
    CU_ASSERT_EQUAL(mi_mqtt_say(c, "other/1", "22", 1), 0);
    CU_ASSERT_EQUAL(mi_mqtt_say(c, "unmatched", "23", 1), 0);
    CU_ASSERT_PTR_NOT_NULL(rig_arrived(r, "sensors", "messages", "sensors/1/t"));
    CU_ASSERT_PTR_NOT_NULL(rig_arrived(r, "others", "messages", "other/1"));
    mi_mqtt_close(c);
    CU_ASSERT_TRUE(mi_broker_reload(&r->broker));
    CU_ASSERT_TRUE(mi_broker_says(&r->broker, "in force (2 routes)", 5000));
    CU_ASSERT_TRUE(mi_broker_stop(&r->broker, 10000));
    rig_free(r);
}

/* The broker serves, the journal takes, and a few lines say why nothing is shipped. */
static void serves_without_iggy(struct rig *r)
{
    struct mi_mqtt *c = rig_client(r, "c", MQTT_PROTOCOL_V5);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_TRUE(mi_mqtt_subscribe(c, "a/#", 1));
    for (int i = 0; i < 20; i++)
        CU_ASSERT_EQUAL(mi_mqtt_say(c, "a/b", "x", 1), 0);
    CU_ASSERT_TRUE(mi_mqtt_wait(c, 20, 2000));
    CU_ASSERT_EQUAL(rig_metric(r, "mosquitto_iggy_pending{route=\"all\"}", 20, 2000), 20);
    mi_mqtt_run(c, 1500);
    CU_ASSERT_TRUE(mi_mqtt_connected(c));
    mi_mqtt_close(c);
    int status = 0;
    free(mi_http_get(r->broker.status_port, "/ready", &status));
    CU_ASSERT_EQUAL(status, 200); /* an outage of Iggy must not take the broker out of service */
    size_t lines = mi_broker_count(&r->broker, "mosquitto_iggy:");
    CU_ASSERT_TRUE(lines >= 1);
    CU_ASSERT_TRUE(lines <= 8);
}

static void field_3_18_48_iggy_is_down_at_the_start_and_comes_later(void)
{
    struct rig *r = rig_new(NULL, NULL);
    CU_ASSERT_TRUE(mi_broker_config(&r->broker, GOOD, r->iggy.port));
    CU_ASSERT_TRUE_FATAL(mi_broker_start(&r->broker));
    serves_without_iggy(r);
    CU_ASSERT_TRUE(mi_broker_says(&r->broker, "127.0.0.1", 0));
    CU_ASSERT_TRUE(mi_iggy_server_start(&r->iggy));
    CU_ASSERT_TRUE(mi_readback_wait(r->readback, "s", "t", 20, 20000)); /* 3: without new traffic */
    CU_ASSERT_TRUE(mi_broker_stop(&r->broker, 10000));
    rig_free(r);
}

static void field_125_a_wrong_password_is_said_and_mended_by_a_reload(void)
{
    struct rig *r = rig_new(NULL, NULL);
    CU_ASSERT_TRUE(mi_broker_password(&r->broker, "wrong-secret"));
    CU_ASSERT_TRUE_FATAL(rig_start(r, GOOD));
    serves_without_iggy(r);
    CU_ASSERT_EQUAL(mi_broker_count(&r->broker, "wrong-secret"), 0);
    CU_ASSERT_TRUE(mi_broker_password(&r->broker, "iggy"));
    CU_ASSERT_TRUE(mi_broker_reload(&r->broker));
    CU_ASSERT_TRUE(mi_readback_wait(r->readback, "s", "t", 20, 20000));
    CU_ASSERT_TRUE(mi_broker_stop(&r->broker, 10000));
    rig_free(r);
}

static void a_wrong_url_is_no_iggy(void)
{
    struct rig *r = rig_new(NULL, NULL), *other = rig_new(NULL, NULL);
    CU_ASSERT_TRUE(rig_start(other, GOOD)); /* its status listener is a web server, but no Iggy */
    CU_ASSERT_TRUE(mi_broker_config(&r->broker, GOOD, other->broker.status_port));
    CU_ASSERT_TRUE_FATAL(mi_broker_start(&r->broker));
    serves_without_iggy(r);
    CU_ASSERT_TRUE(mi_broker_stop(&r->broker, 15000));
    rig_free(r);
    rig_free(other);
}

static void a_rule_that_cannot_work_stops_nothing_else(void)
{
    struct rig *r = rig_new(NULL, NULL);
    CU_ASSERT_TRUE_FATAL(rig_start(
        r, RIG_CONFIG "'routes':[{'name':'nowhere','filter':'nowhere/"
                      "#','direction':'out','stream':'missing','topic':'t','create':false}," ROUTE "]}"));
    struct mi_mqtt *c = rig_client(r, "c", MQTT_PROTOCOL_V311);
    for (int i = 0; i < 5; i++) {
        CU_ASSERT_EQUAL(mi_mqtt_say(c, "nowhere/a", "x", 1), 0);
        CU_ASSERT_EQUAL(mi_mqtt_say(c, "a", "x", 1), 0);
    }
    CU_ASSERT_TRUE(mi_readback_wait(r->readback, "s", "t", 5, 10000));
    CU_ASSERT_TRUE(mi_broker_says(&r->broker, "missing", 5000));
    CU_ASSERT_EQUAL(rig_metric(r, "mosquitto_iggy_pending{route=\"nowhere\"}", 5, 2000), 5);
    CU_ASSERT_TRUE(mi_readback_create(r->readback, "missing", "t", 1));
    CU_ASSERT_TRUE(mi_readback_wait(r->readback, "missing", "t", 5, 20000));
    mi_mqtt_close(c);
    CU_ASSERT_TRUE(mi_broker_stop(&r->broker, 10000));
    rig_free(r);
}

/* On 2.0.11 to 2.0.14 a plugin of a listener never hears TICK. */
static void a_broker_that_never_ticks_is_loud(void)
{
    struct rig *r = rig_new("per_listener_settings true\n", NULL);
    char conf[300];
    snprintf(conf, sizeof conf, "%s/mosquitto.conf", r->broker.dir);
    char *text = mi_read_file(conf), *moved = NULL;
    char *line = strstr(text, "per_listener_settings true\n");
    size_t len = strlen("per_listener_settings true\n");
    CU_ASSERT_TRUE(line && asprintf(&moved, "per_listener_settings true\n%.*s%s", (int)(line - text), text,
                                    line + len) > 0);
    CU_ASSERT_TRUE(mi_write_file(conf, moved));
    free(text);
    free(moved);
    CU_ASSERT_TRUE_FATAL(rig_start(r, GOOD));
    bool loud = mi_broker_says(&r->broker, "does not call this plugin's TICK", 6500);
    int patch = 99;
    sscanf(mi_broker_version(&r->broker), "2.0.%d", &patch);
    CU_ASSERT_EQUAL(loud, patch < 15);
    CU_ASSERT_TRUE(mi_broker_stop(&r->broker, 10000));
    rig_free(r);
}

/* How often the broker's main thread went to sleep. */
static long sleeps(const struct rig *r)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)r->broker.process.pid);
    char *text = mi_read_file(path), *at = text ? strstr(text, "\nvoluntary_ctxt_switches:") : NULL;
    long n = at ? strtol(strchr(at, ':') + 1, NULL, 10) : -1;
    free(text);
    return n;
}

/* Mosquitto 2.1 with no client and nothing to do sleeps for up to a day, and misses a SIGTERM or SIGHUP that
 * comes just before it does. */
static void an_idle_brokers_loop_keeps_turning(void)
{
    struct rig *r = rig_new(NULL, NULL);
    CU_ASSERT_TRUE_FATAL(rig_start(r, GOOD));
    CU_ASSERT_TRUE(mi_broker_says(&r->broker, "logged in at", 10000));
    mi_sleep_ms(1500); /* what the start brings with it is over */
    long before = sleeps(r), turned = 0;
    CU_ASSERT_TRUE(before > 0);
    for (uint64_t end = mi_monotonic_ms() + 10000; turned < 3 && mi_monotonic_ms() < end; mi_sleep_ms(50))
        turned = sleeps(r) - before;
    CU_ASSERT_TRUE(turned >= 3);
    CU_ASSERT_TRUE(mi_broker_stop(&r->broker, 10000));
    rig_free(r);
}

static CU_TestInfo tests[] = {
    {"broken configurations stop the broker with one clear line",
     broken_configurations_stop_the_broker_with_one_clear_line},
    {"a journal that cannot be used stops the broker", a_journal_that_cannot_be_used_stops_the_broker},
    {"two brokers on one journal", two_brokers_on_one_journal},
    {"the few plugin_opt_ lines are enough", the_few_lines_are_enough},
    {"field 3 18 48: Iggy is down at the start and comes later",
     field_3_18_48_iggy_is_down_at_the_start_and_comes_later},
    {"field 125: a wrong password is said, and mended by a reload",
     field_125_a_wrong_password_is_said_and_mended_by_a_reload},
    {"a wrong URL is no Iggy", a_wrong_url_is_no_iggy},
    {"a rule that cannot work stops nothing else", a_rule_that_cannot_work_stops_nothing_else},
    {"a broker that never ticks is loud", a_broker_that_never_ticks_is_loud},
    {"an idle broker's loop keeps turning", an_idle_brokers_loop_keeps_turning},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("start", tests)
