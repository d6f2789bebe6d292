/*
 * security_table: each row of the tables in docs/security.md: who decides a login, and who decides about a
 * topic, in every company that this plugin may be in.
 *
 * MOSQUITTO_DYNSEC names the dynamic-security plugin of the broker that MOSQUITTO names.
 */
#include "acl_clients.h"
#include "rig.h"

#include "support/iggy_admin.h"
#include "support/raw_login.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TOPICS = 5 };

/* For ann: Iggy is for it, or not, or the topic is not mapped; and so is the other one who decides. */
static char *topics[TOPICS] = {(char *)"a/both", (char *)"a/iggy", (char *)"b/other", (char *)"free/other",
                               (char *)"free/none"};
#define ROUTES                                                                          \
    "'routes':[{'name':'a','filter':'a/#','direction':'out','stream':'a','topic':'t'}," \
    "{'name':'b','filter':'b/#','direction':'out','stream':'b','topic':'t'}]}"
#define IN_ROUTES                        \
    "'routes':[{'name':'a','filter':'a/" \
    "#','direction':'in','feed':'on_subscribe','stream':'a','topic':'t'}]}"
#define ACL(who) "'broker':{'acl':'" who "'},"
#define LOGIN(more) "'auth':{'login':'iggy','rate_per_address':0" more "},"
#define AUTHORIZE(more) LOGIN(",'authorize':'iggy','refresh':'200ms'" more)

static struct mi_iggy_server iggy;

static const char *dynsec(void)
{
    static const char *const places[] = {"/usr/lib/x86_64-linux-gnu/mosquitto_dynamic_security.so",
                                         "/usr/lib/aarch64-linux-gnu/mosquitto_dynamic_security.so",
                                         "/usr/lib/mosquitto_dynamic_security.so"};
    const char *named = getenv("MOSQUITTO_DYNSEC"), *other = getenv("MOSQUITTO");
    if (named && *named)
        return named;
    for (size_t i = 0; (!other || !*other) && i < sizeof places / sizeof *places; i++)
        if (access(places[i], R_OK) == 0)
            return places[i];
    return NULL;
}

static void start_iggy(void)
{
    if (iggy.port)
        return;
    CU_ASSERT_TRUE_FATAL(mi_iggy_server_prepare(&iggy) && mi_iggy_server_start(&iggy));
    long a = mi_iggy_admin_stream(iggy.port, "a");
    CU_ASSERT_TRUE_FATAL(mi_iggy_admin_topic(iggy.port, "a", "t") >= 0 &&
                         mi_iggy_admin_stream(iggy.port, "b") >= 0 &&
                         mi_iggy_admin_topic(iggy.port, "b", "t") >= 0);
    CU_ASSERT_TRUE(
        mi_iggy_admin_user(iggy.port, "ann", mi_iggy_permissions(NULL, a, "manage_topics", -1, NULL)));
    CU_ASSERT_TRUE(mi_iggy_admin_user(iggy.port, "bob", "null"));
}

/* ---- files of the broker ---- */

static void write_file(const struct mi_broker *b, const char *name, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", b->dir, name);
    CU_ASSERT_TRUE(mi_write_file(path, text));
}

/* pat, and bob with another password than in Iggy. */
static void write_passwords(const struct mi_broker *b)
{
    char command[1000];
    write_file(b, "passwords", "pat:local\nbob:local\n");
    snprintf(command, sizeof command, "mosquitto_passwd -U %s/passwords", b->dir);
    CU_ASSERT_EQUAL(system(command), 0);
}

static void add_rule(cJSON *rules, const char *type, const char *topic)
{
    cJSON *rule = cJSON_CreateObject();
    cJSON_AddStringToObject(rule, "acltype", type);
    cJSON_AddStringToObject(rule, "topic", topic);
    cJSON_AddNumberToObject(rule, "priority", 0);
    cJSON_AddBoolToObject(rule, "allow", true);
    cJSON_AddItemToArray(rules, rule);
}

static void add_client(cJSON *config, const char *name, const char *const *allowed)
{
    cJSON *client = cJSON_CreateObject(), *roles = cJSON_AddArrayToObject(client, "roles");
    cJSON *use = cJSON_CreateObject(), *role = cJSON_CreateObject();
    cJSON *clients = cJSON_GetObjectItem(config, "clients");
    static const char *const secret[] = {"password", "salt", "iterations"};
    cJSON_AddStringToObject(client, "username", name);
    for (int i = 0; i < 3; i++) /* the administrator's */
        cJSON_AddItemToObject(
            client, secret[i],
            cJSON_Duplicate(cJSON_GetObjectItem(cJSON_GetArrayItem(clients, 0), secret[i]), true));
    cJSON_AddStringToObject(use, "rolename", name);
    cJSON_AddItemToArray(roles, use);
    cJSON_AddItemToArray(clients, client);
    cJSON_AddStringToObject(role, "rolename", name);
    cJSON *rules = cJSON_AddArrayToObject(role, "acls");
    for (; *allowed; allowed++) {
        add_rule(rules, "publishClientSend", *allowed);
        add_rule(rules, "publishClientReceive", *allowed);
    }
    cJSON_AddItemToArray(cJSON_GetObjectItem(config, "roles"), role);
}

/* Its administrator, ann and iggy, all with the password "local". */
static void write_dynsec(const struct mi_broker *b)
{
    static const char *const anns[] = {"a/both", "b/other", "free/other", NULL}, *const all[] = {"#", NULL};
    char command[700], path[300];
    snprintf(path, sizeof path, "%s/dynsec.json", b->dir);
    snprintf(command, sizeof command, "mosquitto_ctrl dynsec init %s admin local >/dev/null", path);
    CU_ASSERT_EQUAL_FATAL(system(command), 0);
    char *text = mi_read_file(path);
    cJSON *config = cJSON_Parse(text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(config);
    cJSON *access = cJSON_GetObjectItem(config, "defaultACLAccess");
    cJSON_ReplaceItemInObject(access, "publishClientReceive", cJSON_CreateBool(false));
    cJSON_ReplaceItemInObject(access, "subscribe", cJSON_CreateBool(true));
    add_client(config, "ann", anns);
    add_client(config, "iggy", all);
    char *changed = cJSON_Print(config);
    CU_ASSERT_TRUE(mi_write_file(path, changed));
    free(changed);
    cJSON_Delete(config);
    free(text);
}

/* ---- one broker ---- */

enum {
    FILE_ACL = 1,
    DYNSEC_BEFORE = 2,
    DYNSEC_BEHIND = 4,
    PASSWORDS = 8,
    NO_ANONYMOUS = 16,
    WIDER_FILE = 32
};

static bool start_broker(struct mi_broker *b, unsigned company, const char *json)
{
    static const char opt[] = "plugin_opt_config_file DIR/iggy.json\n";
    char before[600] = "", behind[600], plugin[400];
    snprintf(plugin, sizeof plugin, "plugin %s\nplugin_opt_config_file DIR/dynsec.json\n",
             dynsec() ? dynsec() : "");
    snprintf(before, sizeof before, "%s%s%s", company & FILE_ACL ? "acl_file DIR/acl\n" : "",
             company & PASSWORDS ? "password_file DIR/passwords\n" : "",
             company & DYNSEC_BEFORE ? plugin : "");
    snprintf(behind, sizeof behind, "%s%s%s", opt, company & DYNSEC_BEHIND ? plugin : "",
             company & NO_ANONYMOUS ? "allow_anonymous false\n" : "");
    if (!mi_broker_prepare(b, before, behind))
        return false;
    write_file(b, "acl",
               company & WIDER_FILE ? "user iggy\ntopic #\nuser ann\ntopic free/none\n"
                                    : "user iggy\ntopic #\nuser ann\ntopic a/both\ntopic "
                                      "b/other\ntopic free/other\n");
    if (company & PASSWORDS)
        write_passwords(b);
    if (company & (DYNSEC_BEFORE | DYNSEC_BEHIND))
        write_dynsec(b);
    return mi_broker_config(b, json, iggy.port) && mi_broker_start(b);
}

/* ---- topics ---- */

static void text_of(const bool *allowed, char text[TOPICS + 1])
{
    for (int i = 0; i < TOPICS; i++)
        text[i] = allowed[i] ? 'Y' : 'n';
    text[TOPICS] = '\0';
}

/* What ann may write, and what she gets of what root writes; unmapped topics that are denied are denied to
 * root too. */
static void verdicts(const struct mi_broker *b, const char *secret, const char *root_secret,
                     char writes[TOPICS + 1], char reads[TOPICS + 1])
{
    static const char *const everything[] = {"#"};
    struct acl_client ann, root;
    bool allowed[TOPICS], sent[TOPICS];
    CU_ASSERT_TRUE_FATAL(acl_client_log_in(&ann, b->port, "ann", secret, "ann", NULL) &&
                         acl_client_log_in(&root, b->port, "iggy", root_secret, "root", NULL));
    CU_ASSERT_TRUE_FATAL(acl_client_write(&ann, topics, TOPICS, allowed));
    text_of(allowed, writes);
    CU_ASSERT_TRUE_FATAL(acl_client_subscribe(&ann, everything, 1, true));
    CU_ASSERT_TRUE_FATAL(acl_client_write(&root, topics, TOPICS, sent));
    CU_ASSERT_TRUE(sent[0] && sent[1] && sent[2]);
    CU_ASSERT_TRUE_FATAL(acl_client_read(&ann, allowed, TOPICS));
    text_of(allowed, reads);
    acl_client_close(&ann);
    acl_client_close(&root);
}

struct topic_row {
    const char *name;
    unsigned company;
    const char *json;
    const char *want;
};

static const struct topic_row topic_rows[] = {
    /* Iggy's rights do not count: as without the plugin. */
    {"nobody", 0, RIG_CONFIG ROUTES, "YYYYY"},
    {"acl_file", FILE_ACL, RIG_CONFIG ROUTES, "YnYYn"},
    {"acl_file, login iggy", FILE_ACL, RIG_CONFIG LOGIN("") ROUTES, "YnYYn"},
    {"dynsec before", DYNSEC_BEFORE, RIG_CONFIG LOGIN("") ROUTES, "YnYYn"},
    {"dynsec behind", DYNSEC_BEHIND, RIG_CONFIG LOGIN("") ROUTES, "YnYYn"},
    {"acl_file, on_subscribe", FILE_ACL, RIG_CONFIG ACL("acl_file") IN_ROUTES, "YnYYn"},
    {"dynsec before, on_subscribe", DYNSEC_BEFORE, RIG_CONFIG ACL("plugin") LOGIN("") IN_ROUTES, "YnYYn"},
    {"dynsec behind, on_subscribe", DYNSEC_BEHIND, RIG_CONFIG ACL("plugin") LOGIN("") IN_ROUTES, "YnYYn"},
    {"nobody, on_subscribe", 0, RIG_CONFIG ACL("none") IN_ROUTES, "YYYYY"},
    /* Iggy's rights count. */
    {"authorize, nobody", 0, RIG_CONFIG ACL("none") AUTHORIZE("") ROUTES, "YYnYY"},
    {"authorize, nobody, unmapped deny", 0, RIG_CONFIG ACL("none") AUTHORIZE(",'unmapped':'deny'") ROUTES,
     "YYnnn"},
    {"authorize, acl_file", FILE_ACL, RIG_CONFIG ACL("acl_file") AUTHORIZE("") ROUTES, "YnnYn"},
    {"authorize, acl_file, unmapped next", FILE_ACL,
     RIG_CONFIG ACL("acl_file") AUTHORIZE(",'unmapped':'next'") ROUTES, "YnnYn"},
    {"authorize, acl_file, unmapped deny", FILE_ACL,
     RIG_CONFIG ACL("acl_file") AUTHORIZE(",'unmapped':'deny'") ROUTES, "Ynnnn"},
    {"authorize, dynsec behind", DYNSEC_BEHIND, RIG_CONFIG ACL("plugin") AUTHORIZE("") ROUTES, "YnnYn"},
    {"authorize, dynsec behind, acl_file", DYNSEC_BEHIND | FILE_ACL | WIDER_FILE,
     RIG_CONFIG ACL("plugin") AUTHORIZE("") ROUTES, "YnnYY"},
    /* What a plugin before this one grants, Iggy is not asked about. */
    {"authorize, dynsec before", DYNSEC_BEFORE, RIG_CONFIG ACL("plugin") AUTHORIZE("") ROUTES, "YnYYn"},
};

static void who_decides_about_a_topic(void)
{
    start_iggy();
    for (size_t i = 0; i < sizeof topic_rows / sizeof *topic_rows; i++) {
        const struct topic_row *row = &topic_rows[i];
        struct mi_broker b;
        char writes[TOPICS + 1] = "", reads[TOPICS + 1] = "";
        if (row->company & (DYNSEC_BEFORE | DYNSEC_BEHIND) && !dynsec()) {
            mi_skip("%s: MOSQUITTO_DYNSEC is not set", row->name);
            continue;
        }
        CU_ASSERT_TRUE_FATAL(start_broker(&b, row->company, row->json));
        /* Whom dynamic-security knows it decides about, when it is asked first. */
        bool by_iggy = strstr(row->json, "'login'") && !(row->company & DYNSEC_BEFORE);
        const char *local = row->company & DYNSEC_BEFORE ? "local" : NULL;
        verdicts(&b, by_iggy ? "secret" : local, by_iggy ? "iggy" : local, writes, reads);
        if (strcmp(writes, row->want) != 0 || strcmp(reads, row->want) != 0)
            printf("%s: writes %s, reads %s, not %s\n", row->name, writes, reads, row->want);
        CU_ASSERT_STRING_EQUAL(writes, row->want);
        CU_ASSERT_STRING_EQUAL(reads, row->want);
        mi_broker_remove(&b);
    }
}

/* ---- logins ---- */

/* Tries again while it is only "not now". */
static bool logs_in(const struct mi_broker *b, const char *user, const char *password)
{
    struct mi_raw_login l = {.port = b->port, .protocol = 5, .username = user, .password = password};
    for (unsigned i = 0; i < 40; i++) {
        int code = mi_raw_login(&l);
        if (code != MI_LOGIN_CLOSED && code != 136)
            return code == 0;
        mi_sleep_ms(50);
    }
    return false;
}

static const struct {
    const char *name;
    unsigned company;
    const char *json;
    bool away;        /* Iggy is */
    const char *want; /* ann by Iggy, pat by the file, bob by Iggy, bob by the file, dynsec's admin, nobody */
} login_rows[] = {
    {"nobody", 0, RIG_CONFIG ROUTES, false, "YYYYYY"},
    {"nobody, no anonymous", NO_ANONYMOUS, RIG_CONFIG ROUTES, false, "nnnnnn"},
    {"password_file", PASSWORDS, RIG_CONFIG ROUTES, false, "nYnYnY"},
    {"dynsec", DYNSEC_BEHIND | NO_ANONYMOUS, RIG_CONFIG ROUTES, false, "nnnnYn"},
    {"iggy", 0, RIG_CONFIG LOGIN("") ROUTES, false, "YnYnnY"},
    {"iggy, no anonymous", NO_ANONYMOUS, RIG_CONFIG LOGIN("") ROUTES, false, "YnYnnn"},
    {"iggy, password_file", PASSWORDS, RIG_CONFIG LOGIN("") ROUTES, false, "YnYnnY"},
    {"iggy, dynsec", DYNSEC_BEHIND | NO_ANONYMOUS, RIG_CONFIG LOGIN("") ROUTES, false, "YnYnnn"},
    {"iggy, else password_file", PASSWORDS, RIG_CONFIG LOGIN(",'otherwise':'next'") ROUTES, false, "YYYYnY"},
    {"iggy, else dynsec", DYNSEC_BEHIND | NO_ANONYMOUS, RIG_CONFIG LOGIN(",'otherwise':'next'") ROUTES, false,
     "YnYnYn"},
    {"iggy away", PASSWORDS, RIG_CONFIG LOGIN("") ROUTES, true, "nnnnnY"},
    {"iggy away, else password_file", PASSWORDS, RIG_CONFIG LOGIN(",'on_unavailable':'next'") ROUTES, true,
     "nYnYnY"},
    {"iggy, authorize", PASSWORDS, RIG_CONFIG ACL("none") AUTHORIZE("") ROUTES, false, "YnYnnY"},
};

static void who_decides_about_a_login(void)
{
    static const char *const tries[][2] = {{"ann", "secret"}, {"pat", "local"},   {"bob", "secret"},
                                           {"bob", "local"},  {"admin", "local"}, {NULL, NULL}};
    start_iggy();
    for (size_t i = 0; i < sizeof login_rows / sizeof *login_rows; i++) {
        struct mi_broker b;
        char got[7] = "";
        if (login_rows[i].company & DYNSEC_BEHIND && !dynsec()) {
            mi_skip("%s: MOSQUITTO_DYNSEC is not set", login_rows[i].name);
            continue;
        }
        if (login_rows[i].away)
            mi_iggy_server_stop(&iggy);
        CU_ASSERT_TRUE_FATAL(start_broker(&b, login_rows[i].company, login_rows[i].json));
        for (int k = 0; k < 6; k++)
            got[k] = logs_in(&b, tries[k][0], tries[k][1]) ? 'Y' : 'n';
        if (strcmp(got, login_rows[i].want) != 0)
            printf("%s: %s, not %s\n", login_rows[i].name, got, login_rows[i].want);
        CU_ASSERT_STRING_EQUAL(got, login_rows[i].want);
        mi_broker_remove(&b);
        if (login_rows[i].away)
            CU_ASSERT_TRUE_FATAL(mi_iggy_server_start(&iggy));
    }
    mi_iggy_server_remove(&iggy);
}

static CU_TestInfo tests[] = {
    {"who_decides_about_a_topic", who_decides_about_a_topic},
    {"who_decides_about_a_login", who_decides_about_a_login},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("security_table", tests)
