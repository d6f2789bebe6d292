/* database: MQTT clients log in as users of a PostgreSQL table; the server away, slow, and back again. */
#include "rig.h"

#include "support/postgres.h"
#include "support/raw_login.h"

#include <mqtt_protocol.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* bcrypt of "correct horse", cost 4, by another program, under its three names. */
#define REST "abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e"
#define ROUTES "'routes':[{'name':'safe','filter':'safe/#','direction':'out','stream':'s','topic':'t'}]}"
#define AUTH(more)                                                                                   \
    RIG_CONFIG "'auth':{'login':'postgresql','connection_file':'DIR/database','rate_per_address':0," \
               "'database_timeout':'2s'" more "}," ROUTES
/* With the rows of mqtt_acl as the only rights. */
#define RIGHTS AUTH(",'authorize':'postgresql','refresh':'1s'},'broker':{'acl':'none'")

static const char tables[] =
    "CREATE TABLE mqtt_user (id serial PRIMARY KEY, username text NOT NULL UNIQUE, password text NOT NULL,"
    " allow smallint NOT NULL DEFAULT 1);"
    "INSERT INTO mqtt_user (username, password, allow) VALUES ('anna', '$2a$04$" REST "', 1),"
    "('bert', '$2b$04$" REST "', 1), ('carl', '$2y$04$" REST "', 1), ('dick', '$2b$04$" REST "', 0),"
    "('plain', 'correct horse', 1), ('o''neil', '$2b$04$" REST "', 1), ('long', repeat('x', 1000), 1)";

static struct rig *rig;
static struct mi_postgres postgres;
static bool missing;

static void remove_postgres(void)
{
    mi_postgres_remove(&postgres);
}

static bool write_connection(const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/database", rig->broker.dir);
    return mi_write_file(path, text) && chmod(path, 0600) == 0;
}

static bool start(void)
{
    if (!rig && !missing) {
        missing = !mi_postgres_prepare(&postgres);
        if (missing)
            return false;
        atexit(remove_postgres);
        rig = rig_new(NULL, NULL);
        CU_ASSERT_TRUE_FATAL(mi_postgres_start(&postgres) && mi_postgres_run(&postgres, tables) &&
                             mi_iggy_server_start(&rig->iggy));
        CU_ASSERT_TRUE_FATAL(write_connection(mi_postgres_connection(&postgres)) &&
                             mi_broker_config(&rig->broker, AUTH(""), rig->iggy.port) &&
                             mi_broker_start(&rig->broker));
    }
    if (missing)
        mi_skip("PostgreSQL is not installed");
    return !missing;
}

static int try(const char *username, const char *password, int protocol)
{
    struct mi_raw_login l = {
        .port = rig->broker.port, .protocol = protocol, .username = username, .password = password};
    int code = MI_LOGIN_SILENT;
    for (unsigned i = 0; i < 100; i++) {
        code = mi_raw_login(&l);
        if (code != MI_LOGIN_CLOSED && code != 136)
            return code;
        mi_sleep_ms(50);
    }
    return code;
}

static void reload(const char *json)
{
    size_t before = mi_broker_count(&rig->broker, "the new configuration is in force");
    CU_ASSERT_TRUE_FATAL(mi_broker_config(&rig->broker, json, rig->iggy.port) &&
                         mi_broker_reload(&rig->broker));
    for (uint64_t end = mi_monotonic_ms() + 10000; mi_monotonic_ms() < end; mi_sleep_ms(10))
        if (mi_broker_count(&rig->broker, "the new configuration is in force") > before)
            return;
    CU_FAIL_FATAL("no reload");
}

static double asked(void)
{
    return rig_metric(rig, "mosquitto_iggy_client_logins_asked_total", 0, 1000);
}

enum { REFUSED_311 = 5, REFUSED_5 = 0x87 };

static void users_of_the_table(void)
{
    if (!start())
        return;
    CU_ASSERT_EQUAL(try("anna", "correct horse", 4), 0);
    CU_ASSERT_EQUAL(try("bert", "correct horse", 5), 0);
    CU_ASSERT_EQUAL(try("carl", "correct horse", 5), 0);
    CU_ASSERT_EQUAL(try("o'neil", "correct horse", 4), 0);
    CU_ASSERT_EQUAL(try("anna", "wrong horse", 4), REFUSED_311);
    CU_ASSERT_EQUAL(try("nobody", "correct horse", 5), REFUSED_5);
    CU_ASSERT_EQUAL(try("dick", "correct horse", 5), REFUSED_5); /* allow is 0 */
    double before = asked();
    CU_ASSERT_EQUAL(try("anna", "correct horse", 5), 0);
    CU_ASSERT_EQUAL(asked(), before);
    CU_ASSERT_EQUAL(try(NULL, NULL, 4), 0); /* allow_anonymous true */
}

static void what_is_no_hash_lets_nobody_in(void)
{
    if (!start())
        return;
    CU_ASSERT_EQUAL(try("plain", "correct horse", 4), REFUSED_311);
    CU_ASSERT_EQUAL(try("long", "correct horse", 4), REFUSED_311);
    CU_ASSERT_TRUE(mi_broker_says(&rig->broker, "no bcrypt hash", 5000));
}

static void names_are_names_and_not_sql(void)
{
    if (!start())
        return;
    static char huge[65536];
    memset(huge, 'x', sizeof huge - 1);
    CU_ASSERT_EQUAL(try("x' OR '1'='1", "correct horse", 4), REFUSED_311);
    CU_ASSERT_EQUAL(try("'; DROP TABLE mqtt_user; --", "correct horse", 4), REFUSED_311);
    double before = asked();
    CU_ASSERT_EQUAL(try(huge, "correct horse", 4), REFUSED_311);
    CU_ASSERT_EQUAL(try("anna", huge, 4), REFUSED_311);
    CU_ASSERT_EQUAL(try("", "correct horse", 4), REFUSED_311);
    CU_ASSERT_EQUAL(asked(), before);
    CU_ASSERT_EQUAL(try("anna", "correct horse", 4), 0);
}

/* Tries until the answer is that nobody can be asked. */
static bool becomes_unavailable(void)
{
    char name[32];
    for (unsigned i = 0; i < 200; i++, mi_sleep_ms(20)) {
        snprintf(name, sizeof name, "seeker%u", i);
        struct mi_raw_login l = {
            .port = rig->broker.port, .protocol = 4, .username = name, .password = "correct horse"};
        if (mi_raw_login(&l) == MI_LOGIN_CLOSED)
            return true;
    }
    return false;
}

static void while_the_database_is_away(void)
{
    if (!start())
        return;
    CU_ASSERT_EQUAL(try("anna", "correct horse", 4), 0);
    mi_postgres_stop(&postgres);
    CU_ASSERT_TRUE(becomes_unavailable());
    CU_ASSERT_EQUAL(try("anna", "correct horse", 4), 0);
    reload(AUTH(",'on_unavailable':'cached'"));
    CU_ASSERT_EQUAL(try("anna", "correct horse", 4), 0);
    CU_ASSERT_TRUE_FATAL(mi_postgres_start(&postgres));
    CU_ASSERT_EQUAL(try("bert", "wrong horse", 4), REFUSED_311);
    CU_ASSERT_EQUAL(try("bert", "correct horse", 4), 0);
    CU_ASSERT_TRUE(mi_broker_says(&rig->broker, "the database answers again", 5000));
    reload(AUTH(""));
}

/* The connection died while nobody used it: the first login makes another one. */
static void a_connection_that_died_unnoticed(void)
{
    if (!start())
        return;
    CU_ASSERT_EQUAL(try("anna", "correct horse", 4), 0);
    CU_ASSERT_TRUE(mi_postgres_run(
        &postgres,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'mosquitto-iggy'"));
    size_t before = mi_broker_count(&rig->broker, "cannot be asked");
    CU_ASSERT_EQUAL(try("carl", "wrong", 4), REFUSED_311);
    CU_ASSERT_EQUAL(mi_broker_count(&rig->broker, "cannot be asked"), before);
}

/* A query that hangs on a lock: the others of the broker do not. */
static void a_query_that_hangs(void)
{
    if (!start())
        return;
    struct mi_postgres locker = postgres;
    struct mi_mqtt *other = rig_client(rig, "other", MQTT_PROTOCOL_V311);
    CU_ASSERT_PTR_NOT_NULL_FATAL(other);
    char program[400], output[400];
    snprintf(program, sizeof program, "%s/psql", postgres.bin);
    snprintf(output, sizeof output, "%s/lock.log", rig->broker.dir);
    char *argv[] = {program,      (char *)"-X",
                    (char *)"-h", postgres.dir,
                    (char *)"-U", (char *)"mqtt",
                    (char *)"-d", (char *)"postgres",
                    (char *)"-c", (char *)"BEGIN; LOCK TABLE mqtt_user; SELECT pg_sleep(4); COMMIT",
                    NULL};
    CU_ASSERT_TRUE_FATAL(mi_process_start(&locker.process, output, argv, NULL));
    mi_sleep_ms(500);
    struct mi_raw_login l = {
        .port = rig->broker.port, .protocol = 4, .username = "bert", .password = "a new guess"};
    int fd = mi_raw_login_send(&l);
    uint64_t slowest = 0;
    for (unsigned i = 0; i < 50; i++) {
        uint64_t start_ms = mi_monotonic_ms();
        CU_ASSERT_EQUAL(mi_mqtt_say(other, "elsewhere", "x", 1), 0);
        uint64_t took = mi_monotonic_ms() - start_ms;
        slowest = took > slowest ? took : slowest;
    }
    printf("\n    slowest of 50 publishes while a query hangs: %lu ms\n", (unsigned long)slowest);
    CU_ASSERT_TRUE(slowest < 2000);
    int code = mi_raw_login_answer(fd, 20000);
    CU_ASSERT_TRUE(code == MI_LOGIN_CLOSED || code == REFUSED_311);
    close(fd);
    int status;
    mi_process_wait(&locker.process, 20000, &status);
    mi_mqtt_close(other);
    CU_ASSERT_EQUAL(try("bert", "correct horse", 4), 0);
}

static void another_database_at_a_reload(void)
{
    if (!start())
        return;
    CU_ASSERT_TRUE(mi_postgres_run(&postgres, "CREATE DATABASE other"));
    char text[400];
    snprintf(text, sizeof text, "host=%s user=mqtt dbname=other password=never-shown", postgres.dir);
    CU_ASSERT_TRUE(write_connection(text));
    reload(AUTH(""));
    struct mi_raw_login l = {
        .port = rig->broker.port, .protocol = 4, .username = "anna", .password = "correct horse"};
    CU_ASSERT_NOT_EQUAL(mi_raw_login(&l), 0); /* there is no mqtt_user there */
    CU_ASSERT_TRUE(mi_broker_says(&rig->broker, "mqtt_user", 5000));
    CU_ASSERT_TRUE(write_connection(mi_postgres_connection(&postgres)));
    reload(AUTH(""));
    CU_ASSERT_EQUAL(try("anna", "correct horse", 4), 0);
    CU_ASSERT_EQUAL(mi_broker_count(&rig->broker, "never-shown"), 0);
    CU_ASSERT_EQUAL(mi_broker_count(&rig->broker, "correct horse"), 0);
    CU_ASSERT_EQUAL(mi_broker_count(&rig->broker, REST), 0);
}

/* ---- rights ---- */

static struct mi_mqtt *connect_as(const char *username, const char *client_id)
{
    struct mi_mqtt_options o = {.port = rig->broker.port,
                                .client_id = client_id,
                                .username = username,
                                .password = "correct horse",
                                .protocol = MQTT_PROTOCOL_V5};
    struct mi_mqtt *m = NULL;
    for (unsigned i = 0; !m && i < 100; i++) {
        mi_sleep_ms(i ? 50 : 0);
        m = mi_mqtt_connect(&o);
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    return m;
}

enum { DENIED = 0x87, NOBODY_LISTENS = 0x10 };

static bool may_publish(struct mi_mqtt *m, const char *topic)
{
    int reason = mi_mqtt_say(m, topic, "x", 1);
    CU_ASSERT_TRUE(reason == 0 || reason == NOBODY_LISTENS || reason == DENIED);
    return reason != DENIED;
}

/* Waits until it may, or may not, any more. */
static bool comes_to(struct mi_mqtt *m, const char *topic, bool allowed)
{
    for (uint64_t end = mi_monotonic_ms() + 15000; mi_monotonic_ms() < end && mi_mqtt_connected(m);
         mi_mqtt_run(m, 50))
        if (may_publish(m, topic) == allowed)
            return true;
    return false;
}

static const char rights[] =
    "CREATE TABLE mqtt_acl (id serial PRIMARY KEY, username text NOT NULL, topic text NOT NULL,"
    " access smallint NOT NULL DEFAULT 3);"
    "INSERT INTO mqtt_acl (username, topic, access) VALUES ('anna', 'news/#', 1), ('anna', "
    "'devices/%c/state', 2),"
    "('anna', 'own/%u/#', 3), ('bert', 'news/#', 3), ('bert', 'broken/#/x', 3), ('bert', 'secret', 0)";

static void rows_of_mqtt_acl_are_rights(void)
{
    if (!start())
        return;
    CU_ASSERT_TRUE(mi_postgres_run(&postgres, rights));
    CU_ASSERT_TRUE_FATAL(mi_broker_stop(&rig->broker, 20000));
    CU_ASSERT_TRUE_FATAL(mi_broker_config(&rig->broker, RIGHTS, rig->iggy.port) &&
                         mi_broker_start(&rig->broker));
    struct mi_mqtt *anna = connect_as("anna", "d1"), *bert = connect_as("bert", "d2");
    CU_ASSERT_TRUE(may_publish(anna, "devices/d1/state"));
    CU_ASSERT_FALSE(may_publish(anna, "devices/d2/state"));
    CU_ASSERT_TRUE(may_publish(anna, "own/anna/x"));
    CU_ASSERT_FALSE(may_publish(anna, "own/bert/x"));
    CU_ASSERT_FALSE(may_publish(anna, "news/today"));
    CU_ASSERT_FALSE(may_publish(bert, "secret"));
    CU_ASSERT_FALSE(may_publish(bert, "broken/1/x"));
    CU_ASSERT_TRUE(mi_mqtt_subscribe(anna, "#", 1)); /* what it brings is checked one by one */
    CU_ASSERT_TRUE(may_publish(bert, "news/today"));
    CU_ASSERT_TRUE(mi_mqtt_wait(anna, 1, 5000));
    CU_ASSERT_TRUE(mi_postgres_run(
        &postgres, "INSERT INTO mqtt_acl (username, topic, access) VALUES ('bert', 'private', 2)"));
    CU_ASSERT_TRUE(comes_to(bert, "private", true)); /* and anna does not see it */
    CU_ASSERT_TRUE(may_publish(bert, "news/later"));
    CU_ASSERT_TRUE_FATAL(mi_mqtt_wait(anna, 2, 5000));
    CU_ASSERT_STRING_EQUAL(mi_mqtt_message(anna, 1)->topic, "news/later");
    struct mi_mqtt *nobody = rig_client(rig, "nobody", MQTT_PROTOCOL_V5);
    CU_ASSERT_PTR_NOT_NULL_FATAL(nobody);
    CU_ASSERT_FALSE(may_publish(nobody, "news/today"));
    CU_ASSERT_TRUE(mi_broker_says(&rig->broker, "rows that give nothing", 1000));
    mi_mqtt_close(anna);
    mi_mqtt_close(bert);
    mi_mqtt_close(nobody);
}

static void rights_that_are_taken_away(void)
{
    if (!start())
        return;
    struct mi_mqtt *bert = connect_as("bert", "d2"), *anna = connect_as("anna", "d1");
    CU_ASSERT_TRUE(may_publish(bert, "news/today"));
    CU_ASSERT_TRUE(
        mi_postgres_run(&postgres, "DELETE FROM mqtt_acl WHERE username = 'bert' AND topic = 'news/#'"));
    CU_ASSERT_TRUE(comes_to(bert, "news/today", false));
    CU_ASSERT_TRUE(mi_postgres_run(&postgres, "UPDATE mqtt_user SET allow = 0 WHERE username = 'bert'"));
    for (uint64_t end = mi_monotonic_ms() + 15000; mi_monotonic_ms() < end && mi_mqtt_connected(bert);)
        mi_mqtt_run(bert, 50);
    CU_ASSERT_FALSE(mi_mqtt_connected(bert)); /* a user who may not log in any more is disconnected */
    CU_ASSERT_TRUE(mi_mqtt_connected(anna));
    CU_ASSERT_TRUE(may_publish(anna, "own/anna/x"));
    CU_ASSERT_EQUAL(try("bert", "correct horse", 4), REFUSED_311);
    CU_ASSERT_TRUE(mi_postgres_run(&postgres, "UPDATE mqtt_user SET allow = 1 WHERE username = 'bert'"));
    mi_mqtt_close(bert);
    mi_mqtt_close(anna);
}

static void the_end_does_not_wait_for_the_database(void)
{
    if (!start())
        return;
    CU_ASSERT_TRUE(mi_process_signal(&postgres.process, SIGSTOP));
    struct mi_raw_login l = {
        .port = rig->broker.port, .protocol = 5, .username = "bert", .password = "another guess"};
    int fd = mi_raw_login_send(&l);
    mi_sleep_ms(200);
    uint64_t start_ms = mi_monotonic_ms();
    CU_ASSERT_TRUE(mi_broker_stop(&rig->broker, 20000));
    printf("\n    the broker ended after %lu ms\n", (unsigned long)(mi_monotonic_ms() - start_ms));
    CU_ASSERT_TRUE(mi_process_signal(&postgres.process, SIGCONT));
    close(fd);
}

static void others_must_not_read_the_file(void)
{
    if (!start())
        return;
    char path[300];
    snprintf(path, sizeof path, "%s/database", rig->broker.dir);
    CU_ASSERT_EQUAL(chmod(path, 0644), 0);
    CU_ASSERT_TRUE(mi_broker_start_and_exit(&rig->broker) > 0);
    CU_ASSERT_TRUE(mi_broker_says(&rig->broker, "every user of this machine can read", 1000));
}

/* Copies a file. */
static bool copy(const char *from, const char *to)
{
    char *argv[] = {(char *)"cp", (char *)from, (char *)to, NULL};
    struct mi_process cp;
    char output[300];
    int status = -1;
    snprintf(output, sizeof output, "%s/cp.log", rig->broker.dir);
    return mi_process_start(&cp, output, argv, NULL) && mi_process_wait(&cp, 10000, &status) && status == 0;
}

static void without_the_module_the_broker_does_not_start(void)
{
    if (!start())
        return;
    char alone[300];
    const char *named = getenv("MOSQUITTO_IGGY_PLUGIN");
    snprintf(alone, sizeof alone, "%s/alone.so", rig->broker.dir);
    CU_ASSERT_TRUE_FATAL(copy(named && *named ? named : PLUGIN, alone));
    setenv("MOSQUITTO_IGGY_PLUGIN", alone, 1);
    struct rig *first = rig;
    rig = rig_new(NULL, NULL);
    CU_ASSERT_TRUE_FATAL(write_connection(mi_postgres_connection(&postgres)) &&
                         mi_broker_config(&rig->broker, AUTH(""), rig->iggy.port));
    CU_ASSERT_TRUE(mi_broker_start_and_exit(&rig->broker) > 0);
    CU_ASSERT_TRUE(mi_broker_says(&rig->broker, "mosquitto_iggy_postgresql.so", 1000));
    rig_free(rig);
    rig = first;
    if (named)
        setenv("MOSQUITTO_IGGY_PLUGIN", named, 1);
    else
        unsetenv("MOSQUITTO_IGGY_PLUGIN");
}

static CU_TestInfo tests[] = {
    {"users of the table", users_of_the_table},
    {"what is no hash lets nobody in", what_is_no_hash_lets_nobody_in},
    {"names are names and not SQL", names_are_names_and_not_sql},
    {"while the database is away", while_the_database_is_away},
    {"a connection that died unnoticed", a_connection_that_died_unnoticed},
    {"a query that hangs", a_query_that_hangs},
    {"another database at a reload", another_database_at_a_reload},
    {"rows of mqtt_acl are rights", rows_of_mqtt_acl_are_rights},
    {"rights that are taken away", rights_that_are_taken_away},
    {"without the module the broker does not start", without_the_module_the_broker_does_not_start},
    {"the end does not wait for the database", the_end_does_not_wait_for_the_database},
    {"others must not read the file", others_must_not_read_the_file},
    CU_TEST_INFO_NULL};

MI_SUITE_MAIN("database", tests)
