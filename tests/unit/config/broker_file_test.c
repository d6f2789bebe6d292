/* broker_file: mosquitto.conf as the broker reads it; broker_facts: what is stated beside what it says. */
#include "collect.h"
#include "support/process.h"
#include "support/suite.h"

#include "config/broker_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct mi_broker_file file;
static struct mi_error err;
static struct collected found;

static void write(const char *name, const char *text)
{
    CU_ASSERT_TRUE(mi_write_file(path_of(name), text));
}

static bool read_file(const char *text)
{
    mi_broker_file_free(&file);
    write("mosquitto.conf", text);
    return mi_broker_file_read(&file, path_of("mosquitto.conf"), &err) == 0;
}

static bool is(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool has_opt(size_t i, const char *key, const char *value, unsigned line)
{
    return i < file.count && is(file.opts[i].key, key) && is(file.opts[i].value, value) &&
           file.lines[i] == line;
}

static void an_empty_file_is_the_broker_s_defaults(void)
{
    CU_ASSERT_TRUE(read_file("# nothing\n\n\r\n"));
    CU_ASSERT_FALSE(file.persistence || file.bridges || file.per_listener || file.ours);
    CU_ASSERT_EQUAL(file.autosave_interval_s, 1800);
    CU_ASSERT_EQUAL(file.max_queued_messages, 1000);
    CU_ASSERT_EQUAL(file.section_count, 1);
    CU_ASSERT_PTR_NULL(file.sections[0].acl_file);
}

static void lines_are_read_as_the_broker_reads_them(void)
{
    CU_ASSERT_TRUE(read_file("persistence true\r\n"
                             "  autosave_interval  30 # ignored\n"
                             "#max_queued_messages 7\n"
                             "max_queued_messages -1\n"
                             "persistence_location  /var/lib/my place  \n"
                             "persistence_file my#.db\n"
                             "max_queued_bytes 5\tx\n"
                             "autosave_on_changes\n"
                             "acl_file /etc/acl # all\n"
                             "connection to there\n"
                             "something new"));
    CU_ASSERT_TRUE(file.persistence);
    CU_ASSERT_EQUAL(file.autosave_interval_s, 30);
    CU_ASSERT_EQUAL(file.max_queued_messages, 0);
    CU_ASSERT_EQUAL(file.max_queued_bytes, 5);
    CU_ASSERT_TRUE(is(file.persistence_location, "/var/lib/my place"));
    CU_ASSERT_TRUE(is(file.persistence_file, "my#.db"));
    CU_ASSERT_TRUE(is(file.sections[0].acl_file, "/etc/acl # all"));
    CU_ASSERT_TRUE(file.bridges);
}

static void opts_belong_to_the_plugin_above(void)
{
    CU_ASSERT_TRUE(read_file("plugin_opt_early 1\n"
                             "plugin /usr/lib/mosquitto_iggy.so\n"
                             "plugin_opt_topic  a b/# out s/t \n"
                             "auth_opt_url http://a # b\n"
                             "plugin_opt_empty\n"
                             "plugin /usr/lib/mosquitto_dynamic_security.so\n"
                             "plugin_opt_config_file /other\n"
                             "global_plugin /x/mosquitto_iggy.so\n"
                             "plugin_opt_url http://b"));
    CU_ASSERT_EQUAL(file.count, 3);
    CU_ASSERT_TRUE(has_opt(0, "topic", "a b/# out s/t ", 3));
    CU_ASSERT_TRUE(has_opt(1, "url", "http://a # b", 4));
    CU_ASSERT_TRUE(has_opt(2, "url", "http://b", 9));
    CU_ASSERT_TRUE(file.ours && file.sections[0].other_plugins);
    CU_ASSERT_TRUE(is(file.sections[0].plugin, "/usr/lib/mosquitto_dynamic_security.so"));
    CU_ASSERT_PTR_NOT_NULL(strstr(file.sections[0].plugin_where, "mosquitto.conf:6"));
}

static void named_plugins_are_seen(void)
{
    CU_ASSERT_TRUE(read_file("plugin_load iggy /x/mosquitto_iggy.so\n"
                             "plugin_opt_url http://a\n"
                             "plugin_load other /x/mosquitto_acl_file.so\n"
                             "plugin_opt_url http://b\n"));
    CU_ASSERT_TRUE(file.ours);
    CU_ASSERT_EQUAL(file.count, 1);
    CU_ASSERT_TRUE(is(file.sections[0].plugin, "/x/mosquitto_acl_file.so"));
}

static void listeners_have_sections(void)
{
    CU_ASSERT_TRUE(read_file("port 1883\nbind_address 127.0.0.1\nacl_file /one\n"
                             "listener 1884 ::1\nmount_point mp/\nacl_file /two\n"
                             "listener 0 /run/socket\n"
                             "listener 1885 # all\n"));
    CU_ASSERT_EQUAL(file.section_count, 4);
    CU_ASSERT_EQUAL(file.sections[0].port, 1883);
    CU_ASSERT_TRUE(is(file.sections[0].address, "127.0.0.1"));
    CU_ASSERT_TRUE(is(file.sections[0].acl_file, "/two")); /* without per_listener_settings: for all */
    CU_ASSERT_EQUAL(file.sections[1].port, 1884);
    CU_ASSERT_TRUE(is(file.sections[1].address, "::1"));
    CU_ASSERT_TRUE(is(file.sections[1].mount_point, "mp/"));
    CU_ASSERT_PTR_NULL(file.sections[1].acl_file);
    CU_ASSERT_TRUE(is(file.sections[2].address, "/run/socket"));
    CU_ASSERT_EQUAL(file.sections[3].port, 1885);
    CU_ASSERT_PTR_NULL(file.sections[3].address);
    CU_ASSERT_TRUE(read_file("per_listener_settings true\n"
                             "listener 1883\nacl_file /one\n"
                             "listener 1884\nacl_file /two\nplugin /x/mosquitto_iggy.so\n"
                             "listener 1885\nplugin /x/go-auth.so\n"));
    CU_ASSERT_TRUE(is(file.sections[1].acl_file, "/one"));
    CU_ASSERT_TRUE(is(file.sections[2].acl_file, "/two"));
    CU_ASSERT_PTR_EQUAL(mi_broker_file_section(&file), &file.sections[2]);
    CU_ASSERT_FALSE(file.sections[2].other_plugins);
    CU_ASSERT_TRUE(is(file.sections[3].plugin, "/x/go-auth.so"));
}

static void who_hears_all_listeners(void)
{
#define TWO(between) "listener 1\n" between "listener 2\n"
#define PLUGIN "plugin /x/mosquitto_iggy.so\n"
    static const struct {
        const char *text;
        bool all;
    } cases[] = {
        {TWO("") PLUGIN, true},
        {"per_listener_settings true\nlistener 1\n" PLUGIN, true},
        {"per_listener_settings true\n" TWO(PLUGIN), false},
        {"per_listener_settings true\n" TWO("") PLUGIN, false},
        {"per_listener_settings true\n" PLUGIN TWO(""), false},
        {"per_listener_settings true\nglobal_plugin /x/mosquitto_iggy.so\n" TWO(""), true},
        {"plugin_load iggy /x/mosquitto_iggy.so\n" TWO("plugin_use iggy\n"), false},
        {"plugin_load iggy /x/mosquitto_iggy.so\n" TWO("plugin_use iggy\n") "plugin_use iggy\n", true},
        {"plugin_load iggy /x/mosquitto_iggy.so\n" TWO("plugin_use iggy\n") "plugin_use other\n", false},
        {"port 1883\nper_listener_settings true\nlistener 2\n" PLUGIN, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CU_ASSERT_TRUE(read_file(cases[i].text));
        CU_ASSERT_EQUAL(mi_broker_file_hears_all(&file), cases[i].all);
    }
    CU_ASSERT_TRUE(
        read_file("plugin_load iggy /x/mosquitto_iggy.so\nlistener 1\nplugin_use iggy\nplugin_opt_url x\n"));
    CU_ASSERT_TRUE(has_opt(0, "url", "x", 4));
}

static void included_files_come_in_the_broker_s_order(void)
{
    char text[500];
    mkdir(path_of("conf.d"), 0700);
    write("conf.d/B.conf", "max_queued_messages 2\nplugin_opt_b B\n");
    write("conf.d/a.conf",
          "max_queued_messages 1\nplugin_opt_a 1\nplugin /x/mosquitto_iggy.so\nplugin_opt_c 3\n");
    write("conf.d/b.conf", "max_queued_messages 3\ninclude_dir /nowhere\n");
    write("conf.d/c.txt", "max_queued_messages 4\n");
    write("conf.d/.conf", "max_queued_messages 5\n");
    snprintf(text, sizeof text, "plugin /x/mosquitto_iggy.so\ninclude_dir %s\nplugin_opt_d 4\n",
             path_of("conf.d"));
    CU_ASSERT_TRUE(read_file(text));
    CU_ASSERT_EQUAL(file.max_queued_messages, 3);
    CU_ASSERT_EQUAL(file.count,
                    2); /* a file begins without a plugin, and the main one goes on with its own */
    CU_ASSERT_TRUE(has_opt(0, "c", "3", 4));
    CU_ASSERT_PTR_NOT_NULL(strstr(file.files[0], "conf.d/a.conf"));
    CU_ASSERT_TRUE(has_opt(1, "d", "4", 3));
}

static void what_cannot_be_read_is_said(void)
{
    mi_broker_file_free(&file);
    CU_ASSERT_EQUAL(mi_broker_file_read(&file, path_of("gone.conf"), &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "gone.conf"));
    CU_ASSERT_FALSE(read_file("include_dir /nowhere/at/all\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/nowhere/at/all"));
    mi_broker_file_free(&file);
    CU_ASSERT_EQUAL(mi_broker_file_read_own(&file, &err), -1); /* a test has no -c */
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "without -c"));
}

static void many_listeners_are_bounded(void)
{
    char *text = malloc(300 * 20), *at = text;
    for (int i = 0; i < 300; i++)
        at += sprintf(at, "listener %d\n", 2000 + i);
    CU_ASSERT_TRUE(read_file(text));
    CU_ASSERT_EQUAL(file.section_count, MI_MAX_LISTENERS);
    free(text);
}

static const char *from_arguments(const char *arguments, size_t len)
{
    return mi_broker_file_of_arguments(arguments, len);
}
#define ARGUMENTS(text) from_arguments(text, sizeof(text))

static void the_argument_names_the_file(void)
{
    CU_ASSERT_TRUE(is(ARGUMENTS("mosquitto\0-c\0/etc/a.conf\0-v"), "/etc/a.conf"));
    CU_ASSERT_TRUE(is(ARGUMENTS("ld.so\0--library-path\0x\0mosquitto\0-d\0--config-file\0b.conf"), "b.conf"));
    CU_ASSERT_TRUE(is(ARGUMENTS("mosquitto\0-c\0a\0-c\0b"), "b"));
    CU_ASSERT_PTR_NULL(ARGUMENTS("mosquitto\0-p\0001883"));
    CU_ASSERT_PTR_NULL(ARGUMENTS("mosquitto\0-c"));
    CU_ASSERT_PTR_NULL(from_arguments("mosquitto\0-c\0x", 13)); /* cut off */
    CU_ASSERT_PTR_NULL(from_arguments("", 0));
}

/* ---- facts ---- */

/* Loads iggy.json with an "in" route and that, beside the broker's file (NULL: unreadable). */
static struct mi_config *load_beside(enum mi_series series, const char *conf, const char *extra)
{
    char text[2000], path[400], password[400];
    snprintf(password, sizeof password, "%s", path_of("password"));
    snprintf(text, sizeof text,
             "{ \"iggy\": { \"username\": \"u\", \"password_file\": \"%s\" },\n"
             "\"routes\": [ { \"name\": \"r\", \"filter\": \"a/#\", \"direction\": \"in\", \"stream\": \"s\","
             "\"topic\": \"t\" %s",
             password, extra);
    write("iggy.json", text);
    snprintf(path, sizeof path, "%s", path_of("iggy.json"));
    const struct mi_plugin_opt opts[] = {{"config_file", path}};
    memset(&found, 0, sizeof found);
    struct mi_broker_view view = {.series = series, .why = "no right to read it"};
    if (conf && read_file(conf))
        view.file = &file;
    return mi_config_from_broker(opts, 1, &view, collect, &found);
}

static bool refuses(enum mi_series series, const char *conf, const char *extra, const char *key,
                    const char *part)
{
    struct mi_config *c = load_beside(series, conf, extra);
    bool refused = !c && has(&found, true, key, part);
    mi_config_release(c);
    return refused;
}

static bool warns(enum mi_series series, const char *conf, const char *extra, const char *key,
                  const char *part)
{
    struct mi_config *c = load_beside(series, conf, extra);
    bool warned = c && has(&found, false, key, part);
    mi_config_release(c);
    return warned;
}

static bool takes(enum mi_series series, const char *conf, const char *extra)
{
    struct mi_config *c = load_beside(series, conf, extra);
    bool good = c && found.count == 0;
    if (!good)
        has(&found, true, "", "nothing at all");
    mi_config_release(c);
    return good;
}

#define OURS "plugin /x/mosquitto_iggy.so\n"
#define ON_SUBSCRIBE ", \"feed\": \"on_subscribe\", \"retain\": \"never\" } ]"
#define ACL(who) ", \"broker\": { \"acl\": \"" who "\" } }"

static void facts_come_from_the_file(void)
{
    struct mi_config *c = load_beside(MI_SERIES_2_0,
                                      OURS "persistence true\npersistence_location /p/\nautosave_interval 5\n"
                                           "max_queued_messages 2000\nacl_file /acl\nconnection x\n",
                                      "} ] }");
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_EQUAL(c->broker.acl, MI_ACL_NOT_STATED); /* never guessed */
    CU_ASSERT_TRUE(is(c->broker.acl_file, "/acl"));
    CU_ASSERT_EQUAL(c->broker.persistence, MI_YES);
    CU_ASSERT_TRUE(is(c->broker.persistence_file, "/p/mosquitto.db"));
    CU_ASSERT_EQUAL(c->broker.autosave_interval_s, 5);
    CU_ASSERT_EQUAL(c->broker.max_queued_messages, 2000);
    CU_ASSERT_EQUAL(c->broker.bridges, MI_YES);
    CU_ASSERT_FALSE(c->history);
    mi_config_release(c);
    c = load_beside(MI_SERIES_2_0, OURS "persistence true\nautosave_on_changes true\n", "} ] }");
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_TRUE(is(c->broker.persistence_file, "mosquitto.db"));
    CU_ASSERT_EQUAL(c->broker.autosave_interval_s, UINT64_MAX); /* it counts changes */
    mi_config_release(c);
    setenv("MOSQUITTO_PERSISTENCE_LOCATION", "/env", 1);
    c = load_beside(MI_SERIES_2_1, OURS "persistence true\npersistence_location /p\n", "} ] }");
    CU_ASSERT_TRUE(c && is(c->broker.persistence_file, "/env/mosquitto.db"));
    mi_config_release(c);
    unsetenv("MOSQUITTO_PERSISTENCE_LOCATION");
    c = load_beside(MI_SERIES_2_1, OURS "global_plugin /usr/lib/mosquitto_persist_sqlite.so\n", "} ] }");
    CU_ASSERT_TRUE(c && c->broker.persistence == MI_NOT_STATED); /* it keeps a store all the same */
    mi_config_release(c);
    c = load_beside(MI_SERIES_2_1, OURS "persistence_location /persist/\n", "} ] }");
    CU_ASSERT_TRUE(c && c->broker.persistence == MI_NO);
    mi_config_release(c);
}

static void an_unreadable_file_is_a_warning(void)
{
    struct mi_config *c = load_beside(MI_SERIES_2_0, NULL, "} ] }");
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_TRUE(has(&found, false, "broker", "no right to read it"));
    CU_ASSERT_EQUAL(c->broker.persistence, MI_NOT_STATED);
    CU_ASSERT_EQUAL(c->broker.bridges, MI_NOT_STATED);
    CU_ASSERT_EQUAL(c->broker.autosave_interval_s, UINT64_MAX);
    CU_ASSERT_EQUAL(c->broker.max_queued_messages, UINT64_MAX);
    mi_config_release(c);
}

static void a_contradiction_is_refused(void)
{
    static const struct {
        const char *conf, *broker, *key, *part;
    } cases[] = {
        {OURS, "\"persistence\": true", "broker.persistence", "contradicts"},
        {OURS "persistence true\n", "\"persistence\": false", "broker.persistence", "contradicts"},
        {OURS "persistence true\n", "\"persistence_file\": \"/x.db\"", "broker.persistence_file",
         "mosquitto.db"},
        {OURS "persistence true\n", "\"autosave_interval\": \"5s\"", "broker.autosave_interval", "1800"},
        {OURS, "\"max_queued_messages\": 5", "broker.max_queued_messages", "1000"},
        {OURS "connection x\n", "\"bridges\": false", "broker.bridges", "contradicts"},
        {OURS "acl_file /a\n", "\"acl_file\": \"/b\"", "broker.acl_file", "/a"},
        {OURS "acl_file /a\n", "\"acl\": \"none\"", "broker.acl", "say acl_file"},
        {OURS "plugin /x/dynsec.so\n", "\"acl\": \"none\"", "broker.acl", "say plugin"},
        {OURS, "\"acl\": \"acl_file\"", "broker.acl", "would be denied"},
        {OURS, "\"acl\": \"plugin\"", "broker.acl", "would be denied"},
        {OURS "acl_file /a\nplugin /x/mosquitto_dynamic_security.so\n", "\"acl\": \"acl_file\"", "broker.acl",
         "say plugin"},
        {"per_listener_settings true\nlistener 1\nacl_file /a\nlistener 2\n" OURS, "\"acl\": \"acl_file\"",
         "broker.acl", "would be denied"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char extra[300];
        snprintf(extra, sizeof extra, "} ], \"broker\": { %s } }", cases[i].broker);
        CU_ASSERT_TRUE(refuses(MI_SERIES_2_0, cases[i].conf, extra, cases[i].key, cases[i].part));
    }
}

static void what_agrees_is_taken(void)
{
    CU_ASSERT_TRUE(takes(MI_SERIES_2_0, OURS "acl_file /a\n", ON_SUBSCRIBE ACL("acl_file")));
    CU_ASSERT_TRUE(
        takes(MI_SERIES_2_1, OURS "plugin /x/mosquitto_acl_file.so\n", ON_SUBSCRIBE ACL("acl_file")));
    CU_ASSERT_TRUE(takes(MI_SERIES_2_0, OURS "plugin /x/dynsec.so\n", ON_SUBSCRIBE ACL("plugin")));
    CU_ASSERT_TRUE(takes(MI_SERIES_2_0, OURS "plugin /x/anything.so\n", ON_SUBSCRIBE ACL("plugin")));
    CU_ASSERT_TRUE(takes(MI_SERIES_2_0, OURS, ON_SUBSCRIBE ACL("none")));
    CU_ASSERT_TRUE(
        takes(MI_SERIES_2_0,
              OURS "persistence true\npersistence_location /p\nconnection x\nmax_queued_messages 2000\n",
              "} ], \"broker\": { \"persistence\": true, \"persistence_file\": \"/p/mosquitto.db\","
              "\"autosave_interval\": \"1800s\", \"max_queued_messages\": 2000, \"bridges\": true } }"));
    CU_ASSERT_TRUE(warns(MI_SERIES_2_0, OURS "plugin /x/anything.so\n", ON_SUBSCRIBE ACL("none"),
                         "broker.acl", "other plugins"));
}

static void acl_is_stated_where_it_matters(void)
{
    CU_ASSERT_TRUE(refuses(MI_SERIES_2_0, OURS, ON_SUBSCRIBE " }", "broker.acl", "on_subscribe"));
    CU_ASSERT_TRUE(takes(MI_SERIES_2_1, OURS, ON_SUBSCRIBE " }"));
    CU_ASSERT_TRUE(warns(MI_SERIES_NOT_KNOWN, OURS, ON_SUBSCRIBE " }", "broker.acl", "on Mosquitto 2.0"));
    CU_ASSERT_TRUE(refuses(MI_SERIES_2_0, OURS, "} ], \"history\": {} }", "broker.acl", "history"));
    CU_ASSERT_TRUE(refuses(MI_SERIES_2_1, OURS, "} ], \"history\": {} }", "broker.acl", "history"));
    CU_ASSERT_TRUE(takes(MI_SERIES_2_1, OURS, "} ], \"history\": {}" ACL("none")));
    CU_ASSERT_TRUE(takes(MI_SERIES_2_0, OURS, "} ] }"));
}

static void one_listener_of_several_is_a_warning(void)
{
    CU_ASSERT_TRUE(warns(MI_SERIES_2_0, "per_listener_settings true\nlistener 1\n" OURS "listener 2\n",
                         ON_SUBSCRIBE ACL("none"), "routes[0].feed", "works as \"always\""));
}

static void retained_values_need_a_reader(void)
{
    CU_ASSERT_TRUE(warns(MI_SERIES_2_1, OURS, ", \"feed\": \"on_subscribe\" } ] }", "routes[0].feed",
                         "\"retain\": \"never\""));
}

static void history_knows_whose_rights_it_can_ask(void)
{
#define DYNSEC "plugin /x/dynsec.so\n"
#define BY_SUBSCRIBE "} ], \"history\": { \"rights\": \"subscribe\" }"
    CU_ASSERT_TRUE(refuses(MI_SERIES_2_1, OURS DYNSEC, "} ], \"history\": {}" ACL("plugin"), "history.rights",
                           "subscribe"));
    CU_ASSERT_TRUE(takes(MI_SERIES_2_1, OURS DYNSEC, BY_SUBSCRIBE ACL("plugin")));
    CU_ASSERT_TRUE(refuses(MI_SERIES_2_0, OURS DYNSEC, BY_SUBSCRIBE ACL("plugin"), "history.rights", "2.1"));
    CU_ASSERT_TRUE(
        refuses(MI_SERIES_2_0, NULL, "} ], \"history\": {}" ACL("acl_file"), "broker.acl_file", "not known"));
    struct mi_config *c =
        load_beside(MI_SERIES_2_0, OURS "acl_file /a\n", "} ], \"history\": {}" ACL("acl_file"));
    CU_ASSERT_TRUE(c && c->history);
    mi_config_release(c);
}

static void limits_that_do_not_fit_are_warnings(void)
{
    CU_ASSERT_TRUE(warns(MI_SERIES_2_0, OURS "max_queued_messages 100\n", "} ] }", "routes[0].catch_up_rate",
                         "max_queued_messages 100"));
    CU_ASSERT_TRUE(
        warns(MI_SERIES_2_0, OURS, ", \"catch_up_rate\": 0 } ] }", "routes[0].catch_up_rate", "no bound"));
    CU_ASSERT_TRUE(warns(MI_SERIES_2_0, OURS, "} ], \"history\": { \"page\": 501 }" ACL("none"),
                         "history.page", "at most 500"));
    CU_ASSERT_TRUE(warns(MI_SERIES_2_0, OURS "max_queued_messages 0\n", "} ] }", "broker.max_queued_messages",
                         "bounds nothing"));
    CU_ASSERT_TRUE(takes(MI_SERIES_2_0, OURS "max_queued_messages 0\nmax_queued_bytes 1000000\n", "} ] }"));
}

static CU_TestInfo tests[] = {
    {"an empty file is the broker's defaults", an_empty_file_is_the_broker_s_defaults},
    {"lines are read as the broker reads them", lines_are_read_as_the_broker_reads_them},
    {"opts belong to the plugin above", opts_belong_to_the_plugin_above},
    {"named plugins are seen", named_plugins_are_seen},
    {"listeners have sections", listeners_have_sections},
    {"who hears all listeners", who_hears_all_listeners},
    {"included files come in the broker's order", included_files_come_in_the_broker_s_order},
    {"what cannot be read is said", what_cannot_be_read_is_said},
    {"many listeners are bounded", many_listeners_are_bounded},
    {"the argument names the file", the_argument_names_the_file},
    {"facts come from the file", facts_come_from_the_file},
    {"an unreadable file is a warning", an_unreadable_file_is_a_warning},
    {"a contradiction is refused", a_contradiction_is_refused},
    {"what agrees is taken", what_agrees_is_taken},
    {"acl is stated where it matters", acl_is_stated_where_it_matters},
    {"one listener of several is a warning", one_listener_of_several_is_a_warning},
    {"retained values need a reader", retained_values_need_a_reader},
    {"history knows whose rights it can ask", history_knows_whose_rights_it_can_ask},
    {"limits that do not fit are warnings", limits_that_do_not_fit_are_warnings},
    CU_TEST_INFO_NULL,
};

int main(int argc, char **argv)
{
    int result = mi_suite_run("broker file", tests, argc, argv);
    mi_broker_file_free(&file);
    return result;
}
