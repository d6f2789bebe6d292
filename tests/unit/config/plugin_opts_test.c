/* The plugin_opt_ lines: the simple case, and the file beside them. */
#include "collect.h"
#include "support/process.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>

static struct collected found;
static char password[300];

/* key, value, key, value, ..., NULL */
static struct mi_config *from(const char *const *pairs)
{
    struct mi_plugin_opt opts[16];
    size_t count = 0;
    for (; *pairs; pairs += 2)
        opts[count++] = (struct mi_plugin_opt){pairs[0], pairs[1]};
    memset(&found, 0, sizeof found);
    return mi_config_from_options(opts, count, collect, &found);
}
#define FROM(...) from((const char *const[]){__VA_ARGS__, NULL})
#define LOGIN "username", "iggy", "password_file", password

static bool refuses(struct mi_config *c, const char *key, const char *part)
{
    bool refused = !c && has(&found, true, key, part);
    mi_config_release(c);
    return refused;
}

static void the_simple_case_needs_no_file(void)
{
    struct mi_config *c =
        FROM("url", "http://h:1", "url", " http://g:2 ", LOGIN, "topic", "sensors/# out sensors/messages",
             "topic", "a b/{x}  both  st_{x}/t/u\t", "topic", "cmd in c/d", "journal", "/j");
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_EQUAL(found.count, 0);
    CU_ASSERT_PTR_NULL(c->file);
    CU_ASSERT_EQUAL(c->url_count, 2);
    CU_ASSERT_STRING_EQUAL(c->urls[1], "http://g:2");
    CU_ASSERT_STRING_EQUAL(c->password, "secret");
    CU_ASSERT_STRING_EQUAL(c->journal_directory, "/j");
    CU_ASSERT_EQUAL_FATAL(c->route_count, 3);
    CU_ASSERT_STRING_EQUAL(c->routes[0].name, "sensors/#");
    CU_ASSERT_TRUE(c->routes[0].create && c->routes[0].durable && c->routes[0].create_partitions == 1);
    CU_ASSERT_STRING_EQUAL(c->rules[1].filter, "a b/{x}");
    CU_ASSERT_STRING_EQUAL(c->rules[1].stream, "st_{x}");
    CU_ASSERT_STRING_EQUAL(c->rules[1].topic, "t/u");
    CU_ASSERT_FALSE(c->routes[1].create);
    CU_ASSERT_EQUAL(c->routes[1].direction, MI_BOTH);
    CU_ASSERT_EQUAL(c->routes[2].direction, MI_IN);
    mi_config_release(c);
}

static void field_22_defaults_stand_where_nothing_is_said(void)
{
    struct mi_config *c = FROM(LOGIN, "topic", "# out s/t");
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_STRING_EQUAL(c->urls[0], "http://127.0.0.1:3000");
    CU_ASSERT_STRING_EQUAL(c->journal_directory, "/var/lib/mosquitto/iggy");
    CU_ASSERT_EQUAL(c->journal_max_size, 1000000000);
    CU_ASSERT_EQUAL(c->request_timeout_ms, 35000);
    CU_ASSERT_EQUAL(c->retry_max_ns, 10000000000); /* 22 */
    CU_ASSERT_EQUAL(c->max_batch_bytes, MI_MAX_BATCH_BYTES);
    CU_ASSERT_PTR_NULL(c->status_address);
    mi_config_release(c);
}

static void topic_lines_that_cannot_be_read_are_shown(void)
{
    static const char *const bad[] = {"", "a", "a out", "out s/t", "a out s", "a out /t", "a out s/"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CU_ASSERT_TRUE(
            refuses(FROM(LOGIN, "topic", bad[i]), "plugin_opt_topic", "must be FILTER out|in|both"));
    CU_ASSERT_TRUE(
        refuses(FROM(LOGIN, "topic", "a sideways s/t"), "plugin_opt_topic", "\"sideways\" is none"));
    CU_ASSERT_TRUE(
        refuses(FROM(LOGIN, "topic", "a/#/b out s/t"), "plugin_opt_topic", "\"a/#/b out s/t\": filter: "));
    CU_ASSERT_TRUE(refuses(FROM(LOGIN, "topic", "a out 5/t"), "plugin_opt_topic", "numeric id"));
    CU_ASSERT_TRUE(refuses(FROM(LOGIN, "topic", "a out s/t", "topic", "a out s/t", "topic", "a out s/t"),
                           "plugin_opt_topic", "names must differ"));
}

static void one_filter_may_have_two_directions(void)
{
    struct mi_config *c = FROM(LOGIN, "topic", "a out s/t", "topic", "a in s/u");
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_STRING_EQUAL(c->routes[1].name, "a in s/u");
    mi_config_release(c);
}

static void unknown_and_repeated_lines_are_refused(void)
{
    CU_ASSERT_TRUE(refuses(FROM(LOGIN, "colour", "red"), "plugin_opt_colour", "is unknown: there are url"));
    CU_ASSERT_TRUE(refuses(FROM("username", "u", "password", "hunter2"), "plugin_opt_password",
                           "plugin_opt_password_file"));
    CU_ASSERT_TRUE(refuses(FROM(LOGIN, "username", "again"), "plugin_opt_username", "a second time"));
    CU_ASSERT_TRUE(refuses(FROM("topic", "a out s/t"), "plugin_opt_username", "nobody is named"));
    CU_ASSERT_TRUE(
        refuses(FROM(LOGIN, "url", "host:1", "topic", "a out s/t"), "plugin_opt_url", "must begin with"));
    CU_ASSERT_TRUE(refuses(FROM("username", "u", "password_file", "/nowhere/x"), "plugin_opt_password_file",
                           "No such file"));
}

static void a_file_stands_alone_but_for_the_journal(void)
{
    char file[300];
    mi_config_release(load_with("\"journal\": { \"directory\": \"/a\" }", &found));
    snprintf(file, sizeof file, "%s", path_of("iggy.json"));
    struct mi_config *c = FROM("config_file", file, "journal", "/a");
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_STRING_EQUAL(c->journal_directory, "/a");
    CU_ASSERT_STRING_EQUAL(c->file, file);
    mi_config_release(c);
    CU_ASSERT_TRUE(refuses(FROM("config_file", file, "journal", "/b"), "journal.directory",
                           "contradicts plugin_opt_journal"));
    CU_ASSERT_EQUAL(found.line[0], 4);
    CU_ASSERT_TRUE(refuses(FROM("config_file", file, "username", "u"), "plugin_opt_username", "contradicts"));
    CU_ASSERT_TRUE(
        refuses(FROM("topic", "a out s/t", "config_file", file), "plugin_opt_topic", "contradicts"));
    CU_ASSERT_TRUE(
        refuses(FROM("config_file", file, "config_file", file), "plugin_opt_config_file", "a second time"));
    CU_ASSERT_TRUE(refuses(FROM("config_file", ""), "plugin_opt_config_file", "is empty"));
    CU_ASSERT_TRUE(refuses(FROM("config_file", "/nowhere/iggy.json"), "", "No such file"));
    CU_ASSERT_EQUAL(found.count, 1);
}

static void a_file_takes_the_journal_that_it_does_not_name_itself(void)
{
    char file[300];
    mi_config_release(load_with("\"name\": \"n\"", &found));
    snprintf(file, sizeof file, "%s", path_of("iggy.json"));
    struct mi_config *c = FROM("config_file", file, "journal", "/b");
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_STRING_EQUAL(c->journal_directory, "/b");
    mi_config_release(c);
}

static void prepare(void)
{
    snprintf(password, sizeof password, "%s", path_of("password"));
}

static CU_TestInfo tests[] = {
    {"the simple case needs no file", the_simple_case_needs_no_file},
    {"field 22: defaults stand where nothing is said", field_22_defaults_stand_where_nothing_is_said},
    {"topic lines that cannot be read are shown", topic_lines_that_cannot_be_read_are_shown},
    {"one filter may have two directions", one_filter_may_have_two_directions},
    {"unknown and repeated lines are refused", unknown_and_repeated_lines_are_refused},
    {"a file stands alone but for the journal", a_file_stands_alone_but_for_the_journal},
    {"a file takes the journal it does not name", a_file_takes_the_journal_that_it_does_not_name_itself},
    CU_TEST_INFO_NULL,
};

int main(int argc, char **argv)
{
    prepare();
    return mi_suite_run("plugin_opt lines", tests, argc, argv);
}
