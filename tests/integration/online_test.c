/* check --online: what the configured account lacks, said before the broker runs into it. */
#include "support/iggy_admin.h"
#include "support/iggy_server.h"
#include "support/readback.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct mi_iggy_server server;
static char output[20000];

static void start(void)
{
    if (server.port)
        return;
    CU_ASSERT_TRUE_FATAL(mi_iggy_server_prepare(&server) && mi_iggy_server_start(&server));
    CU_ASSERT_TRUE_FATAL(mi_iggy_admin_stream(server.port, "s") >= 0 &&
                         mi_iggy_admin_topic(server.port, "s", "t") >= 0);
}

/* Runs the tool with that account; the exit code, the lines in output. */
static int check(const char *user, const char *more)
{
    char path[300], secret[300], command[900], json[4000];
    snprintf(path, sizeof path, "%s/iggy.json", server.dir);
    snprintf(secret, sizeof secret, "%s/password", server.dir);
    snprintf(json, sizeof json,
             "{\"iggy\":{\"url\":\"http://127.0.0.1:%u\",\"username\":\"%s\",\"password_file\":\"%s\"},"
             "\"journal\":{\"directory\":\"%s/journal\"},%s}",
             server.port, user, secret, server.dir, more);
    CU_ASSERT_TRUE_FATAL(mi_write_file(path, json) &&
                         mi_write_file(secret, strcmp(user, "iggy") == 0 ? "iggy" : "secret") &&
                         chmod(secret, 0600) == 0);
    snprintf(command, sizeof command, "%s check %s --online 2>&1", TOOL, path);
    FILE *f = popen(command, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    size_t n = fread(output, 1, sizeof output - 1, f);
    output[n] = '\0';
    int status = pclose(f);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool says(const char *text)
{
    if (strstr(output, text))
        return true;
    printf("not said: %s\n%s", text, output);
    return false;
}

static bool user(const char *name, const char *global, const char *on_stream, const char *on_topic)
{
    return mi_iggy_admin_user(server.port, name,
                              mi_iggy_permissions(global, 0, on_stream, on_topic ? 0 : -1, on_topic));
}

#define OUT                                       \
    "\"routes\":[{\"name\":\"r\",\"filter\":\"a/" \
    "#\",\"direction\":\"out\",\"stream\":\"s\",\"topic\":\"t\"}]"
#define IN \
    "\"routes\":[{\"name\":\"r\",\"filter\":\"a/#\",\"direction\":\"in\",\"stream\":\"s\",\"topic\":\"t\"}]"
#define OTHER                                     \
    "\"routes\":[{\"name\":\"r\",\"filter\":\"a/" \
    "#\",\"direction\":\"out\",\"stream\":\"new\",\"topic\":\"t\"}]"
#define TEMPLATES                                 \
    "\"routes\":[{\"name\":\"r\",\"filter\":\"a/" \
    "{b}\",\"direction\":\"both\",\"stream\":\"s_{b}\",\"topic\":\"t\"}]"

static void root_may_everything(void)
{
    start();
    CU_ASSERT_EQUAL(check("iggy", OUT), 0);
    CU_ASSERT_TRUE(says("ok       connect and log in") && says("ok       send to s/t (r)") &&
                   says("ok       read details of s/t (r)") && says("ok       read the server's start time"));
    CU_ASSERT_EQUAL(check("iggy", TEMPLATES), 0);
    CU_ASSERT_TRUE(says("ok       send to every stream that a template names") &&
                   says("ok       list streams"));
    CU_ASSERT_EQUAL(check("iggy", OTHER), 0);
    CU_ASSERT_TRUE(says("ok       make new/t, which does not exist (r)"));
    CU_ASSERT_EQUAL(mi_iggy_admin_id(server.port, "/streams/new"), -1); /* and made nothing */
}

static void who_may_only_send(void)
{
    start();
    CU_ASSERT_TRUE(user("sender", NULL, NULL, "send_messages"));
    CU_ASSERT_EQUAL(check("sender", OUT), 0);
    CU_ASSERT_TRUE(says("ok       send to s/t (r)") && says("without  poll s/t (r)") &&
                   says("without  read details of s/t (r)") && says("without  read the server's start time"));
    CU_ASSERT_EQUAL(check("sender", IN), 1);
    CU_ASSERT_TRUE(says("MISSING  poll s/t (r): give the account poll_messages"));
    CU_ASSERT_EQUAL(check("sender", OTHER), 1);
    CU_ASSERT_TRUE(says("MISSING  make new/t, which does not exist (r)"));
    CU_ASSERT_EQUAL(check("sender", TEMPLATES), 1);
    CU_ASSERT_TRUE(says("MISSING  list streams") && says("?        send to the streams that templates name"));
}

static void who_may_only_poll(void)
{
    start();
    CU_ASSERT_TRUE(user("reader", NULL, "poll_messages", NULL));
    CU_ASSERT_EQUAL(check("reader", IN), 0);
    CU_ASSERT_TRUE(says("ok       poll s/t (r)"));
    CU_ASSERT_EQUAL(check("reader", OUT), 1);
    CU_ASSERT_TRUE(says("MISSING  send to s/t (r): give the account send_messages"));
}

static void what_authorize_needs(void)
{
    start();
    static const char with[] =
        OUT ",\"broker\":{\"acl\":\"none\"},\"auth\":{\"login\":\"iggy\",\"authorize\":\"iggy\"}";
    CU_ASSERT_EQUAL(check("iggy", with), 0);
    CU_ASSERT_TRUE(says("ok       read users (auth.authorize)"));
    CU_ASSERT_TRUE(user("streams", "manage_streams", NULL, NULL));
    CU_ASSERT_EQUAL(check("streams", with), 1);
    CU_ASSERT_TRUE(says("MISSING  read users (auth.authorize)") &&
                   says("ok       list streams (auth.authorize)"));
    CU_ASSERT_TRUE(user("users", "read_users", "send_messages", NULL));
    CU_ASSERT_EQUAL(check("users", with), 1);
    CU_ASSERT_TRUE(says("ok       read users (auth.authorize)") &&
                   says("MISSING  list streams (auth.authorize)"));
}

/* After all of these checks. */
static void nothing_is_appended(void)
{
    start();
    struct mi_readback *readback = mi_readback_new(server.port);
    CU_ASSERT_TRUE(mi_readback_read(readback, "s", "t"));
    CU_ASSERT_EQUAL(mi_readback_count(readback), 0);
    mi_readback_free(readback);
}

static void wrong_passwords_and_servers_that_are_away(void)
{
    start();
    CU_ASSERT_EQUAL(check("stranger", OUT), 1);
    CU_ASSERT_TRUE(says("MISSING  connect and log in"));
    mi_iggy_server_stop(&server);
    CU_ASSERT_EQUAL(check("iggy", OUT), 1);
    CU_ASSERT_TRUE(says("MISSING  connect and log in"));
    mi_iggy_server_remove(&server);
}

static CU_TestInfo tests[] = {
    {"root_may_everything", root_may_everything},
    {"who_may_only_send", who_may_only_send},
    {"who_may_only_poll", who_may_only_poll},
    {"what_authorize_needs", what_authorize_needs},
    {"nothing_is_appended", nothing_is_appended},
    {"wrong_passwords_and_servers_that_are_away", wrong_passwords_and_servers_that_are_away},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("online", tests)
