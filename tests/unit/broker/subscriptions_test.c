/* subscriptions, interest_events, acl_event: what a broker of either series tells, and what is answered. */
#include "fakes.h"
#include "stubs.h"
#include "support/process.h"
#include "support/suite.h"

#include "broker/acl_event.h"
#include "broker/interest_events.h"
#include "broker/subscriptions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct mi_plugin plugin;
static struct mi_log silent;
static struct mosquitto client;

static void log_nothing(void *context, enum mi_log_level level, const char *line)
{
    (void)context, (void)level, (void)line;
}

static void begin(bool v2_1, enum mi_broker_acl acl)
{
    stubs_reset();
    fakes_reset();
    silent.write = log_nothing;
    memset(&plugin, 0, sizeof plugin);
    plugin.compat.v2_1 = v2_1;
    plugin.log = &silent;
    plugin.config = &fakes.config;
    fakes.config.broker = (struct mi_broker_facts){.acl = acl, .persistence = MI_NO, .bridges = MI_NO};
    fakes.routes[1].direction = MI_IN;
    fakes.routes[1].feed = MI_FEED_ON_SUBSCRIBE;
    client = (struct mosquitto){.id = "c", .protocol = 4, .clean = true};
    CU_ASSERT_TRUE(mi_interest_events_follow_config(&plugin));
    mi_interest_events_start(&plugin);
    CU_ASSERT_EQUAL(mi_acl_event_register(&plugin), MOSQ_ERR_SUCCESS);
    mi_interest_events_first_tick(&plugin);
}

static void end(void)
{
    mi_acl_event_unregister(&plugin);
    CU_ASSERT_EQUAL(stubs.callback_count, 0);
    mi_interest_free(plugin.interest);
    fakes_reset();
}

static int check(int access, const char *topic)
{
    struct mosquitto_evt_acl_check e = {.client = &client, .topic = topic, .access = access, .qos = 1};
    return stubs_fire(MOSQ_EVT_ACL_CHECK, &e);
}

static void event(int which, const char *filter)
{
    struct mi_evt_subscribe e = {.client = &client, .data = {.topic_filter = (char *)filter, .options = 1}};
    mi_subscriptions_event(&plugin, which, &e);
}

static void gone(int which, int reason)
{
    struct mosquitto_evt_disconnect e = {.client = &client, .reason = reason};
    mi_subscriptions_disconnect(&plugin, which, &e);
}

static void connected(void)
{
    struct mi_evt_connect e = {.client = &client};
    mi_subscriptions_connect(&plugin, &e);
}

static bool wants(const char *filter)
{
    struct mi_interest_picture *p = mi_interest_picture(plugin.interest);
    bool yes = mi_interest_wants(p, filter);
    mi_interest_picture_release(p);
    return yes;
}

static void the_answer_is_what_the_broker_would_have_found(void)
{
    begin(false, MI_ACL_FILE);
    CU_ASSERT_EQUAL(check(MOSQ_ACL_SUBSCRIBE, "a"), MOSQ_ERR_PLUGIN_DEFER);
    CU_ASSERT_EQUAL(check(MOSQ_ACL_READ, "a"), MOSQ_ERR_PLUGIN_DEFER);
    end();
    begin(false, MI_ACL_PLUGIN);
    CU_ASSERT_EQUAL(check(MOSQ_ACL_WRITE, "a"), MOSQ_ERR_PLUGIN_DEFER);
    end();
    begin(false, MI_ACL_NONE);
    CU_ASSERT_EQUAL(check(MOSQ_ACL_SUBSCRIBE, "a"), MOSQ_ERR_SUCCESS);
    CU_ASSERT_EQUAL(check(MOSQ_ACL_WRITE, "a"), MOSQ_ERR_SUCCESS);
    end();
}

static void acl_check_is_registered_only_where_it_is_needed(void)
{
    begin(true, MI_ACL_FILE);
    CU_ASSERT_EQUAL(stubs.callback_count, 0);
    end();
    begin(false, MI_ACL_FILE);
    CU_ASSERT_EQUAL(stubs.callback_count, 1);
    fakes.routes[1].feed = MI_FEED_ALWAYS; /* a reload */
    CU_ASSERT_TRUE(mi_interest_events_follow_config(&plugin));
    CU_ASSERT_EQUAL(mi_acl_event_register(&plugin), MOSQ_ERR_SUCCESS);
    CU_ASSERT_EQUAL(stubs.callback_count, 0);
    fakes.routes[1].feed = MI_FEED_ON_SUBSCRIBE;
    CU_ASSERT_TRUE(mi_interest_events_follow_config(&plugin));
    CU_ASSERT_EQUAL(mi_acl_event_register(&plugin), MOSQ_ERR_SUCCESS);
    CU_ASSERT_EQUAL(stubs.callback_count, 1);
    CU_ASSERT_TRUE(wants("whatever was subscribed before the reload"));
    end();
}

/* A reload gave the broker an acl_file, while we say that there is none: it decides. */
static void an_acl_that_appears_is_not_passed_over(void)
{
    begin(false, MI_ACL_NONE);
    plugin.somebody_decides = true;
    CU_ASSERT_EQUAL(check(MOSQ_ACL_WRITE, "a"), MOSQ_ERR_PLUGIN_DEFER);
    end();
}

static void on_2_0_checks_tell(void)
{
    begin(false, MI_ACL_FILE);
    CU_ASSERT_FALSE(wants("a"));
    check(MOSQ_ACL_READ, "a");
    check(MOSQ_ACL_WRITE, "a");
    CU_ASSERT_FALSE(wants("a"));
    check(MOSQ_ACL_SUBSCRIBE, "a");
    CU_ASSERT_TRUE(wants("a"));
    check(MOSQ_ACL_UNSUBSCRIBE, "a");
    CU_ASSERT_FALSE(wants("a"));
    check(MOSQ_ACL_SUBSCRIBE, "a");
    gone(MOSQ_EVT_DISCONNECT, -1);
    CU_ASSERT_FALSE(wants("a"));
    end();
}

/* Another plugin may deny an UNSUBSCRIBE after we saw it. */
static void on_2_0_a_plugin_may_deny_an_unsubscribe(void)
{
    begin(false, MI_ACL_PLUGIN);
    check(MOSQ_ACL_SUBSCRIBE, "a");
    check(MOSQ_ACL_UNSUBSCRIBE, "a");
    CU_ASSERT_TRUE(wants("a"));
    end();
}

static void on_2_0_lasting_sessions_stay(void)
{
    begin(false, MI_ACL_FILE);
    client.clean = false;
    check(MOSQ_ACL_SUBSCRIBE, "a");
    gone(MOSQ_EVT_DISCONNECT, -1);
    CU_ASSERT_TRUE(wants("a"));
    client.clean = true; /* the broker makes the former context clean when the client comes back */
    gone(MOSQ_EVT_DISCONNECT, -1);
    CU_ASSERT_TRUE(wants("a"));
    client.clean = false;
    check(MOSQ_ACL_SUBSCRIBE, "b");
    CU_ASSERT_TRUE(wants("a"));
    gone(MOSQ_EVT_DISCONNECT, -1);
    client.clean = true; /* and now it begins anew */
    check(MOSQ_ACL_SUBSCRIBE, "c");
    CU_ASSERT_FALSE(wants("a"));
    CU_ASSERT_TRUE(wants("c"));
    gone(MOSQ_EVT_DISCONNECT, -1);
    CU_ASSERT_FALSE(wants("c"));
    end();
}

/* Its session expiry decides, and nobody tells. */
static void on_2_0_mqtt_5_may_last(void)
{
    begin(false, MI_ACL_FILE);
    client.protocol = 5;
    check(MOSQ_ACL_SUBSCRIBE, "a");
    gone(MOSQ_EVT_DISCONNECT, -1);
    CU_ASSERT_TRUE(wants("a"));
    end();
}

static void on_2_1_events_tell(void)
{
    begin(true, MI_ACL_NOT_STATED);
    client.protocol = 5;
    event(MI_EVT_SUBSCRIBE, "$share/g/a");
    CU_ASSERT_TRUE(wants("a"));
    event(MI_EVT_UNSUBSCRIBE, "$share/g/a");
    CU_ASSERT_FALSE(wants("a"));
    event(MI_EVT_SUBSCRIBE, "a");
    gone(MI_EVT_CLIENT_OFFLINE, 0);
    CU_ASSERT_TRUE(wants("a"));
    gone(MOSQ_EVT_DISCONNECT, MI_REASON_TAKEN_OVER);
    client.clean = false;
    connected();
    CU_ASSERT_TRUE(wants("a"));
    gone(MOSQ_EVT_DISCONNECT, 0); /* not taken over: the session ends */
    CU_ASSERT_FALSE(wants("a"));
    end();
}

static void on_2_1_a_clean_start_takes_the_place(void)
{
    begin(true, MI_ACL_NOT_STATED);
    client.protocol = 5;
    client.clean = false;
    event(MI_EVT_SUBSCRIBE, "a");
    gone(MOSQ_EVT_DISCONNECT, MI_REASON_TAKEN_OVER);
    client.clean = true;
    connected();
    CU_ASSERT_FALSE(wants("a"));
    end();
}

static void nobody_is_nobody(void)
{
    begin(true, MI_ACL_NOT_STATED);
    client.id = NULL;
    event(MI_EVT_SUBSCRIBE, "a");
    gone(MOSQ_EVT_DISCONNECT, 7);
    connected();
    client.id = "";
    event(MI_EVT_SUBSCRIBE, "a");
    client.id = "c";
    event(MI_EVT_SUBSCRIBE, NULL);
    struct mi_evt_connect nobody = {.client = NULL};
    mi_subscriptions_connect(&plugin, &nobody);
    CU_ASSERT_FALSE(wants("#"));
    end();
}

static void the_bridge_gets_a_picture_when_something_changed(void)
{
    begin(true, MI_ACL_NOT_STATED);
    mi_interest_events_tick(&plugin);
    CU_ASSERT_EQUAL(fakes.pictures_set, 1);
    mi_interest_events_tick(&plugin);
    CU_ASSERT_EQUAL(fakes.pictures_set, 1);
    CU_ASSERT_FALSE(mi_interest_wants(fakes.picture, "a"));
    event(MI_EVT_SUBSCRIBE, "a");
    CU_ASSERT_TRUE(mi_interest_events_waiting(&plugin));
    plugin.interest_due_ns = 0;
    mi_interest_events_tick(&plugin);
    CU_ASSERT_EQUAL(fakes.pictures_set, 2);
    CU_ASSERT_TRUE(mi_interest_wants(fakes.picture, "a"));
    CU_ASSERT_FALSE(mi_interest_events_waiting(&plugin));
    CU_ASSERT_TRUE(plugin.interest_due_ns > 0);
    end();
}

/* What is there and cannot be read may have held sessions; so may what nobody knows of. */
static void what_may_have_been_restored_wants_everything(void)
{
    static const struct {
        enum mi_yes_no persistence, bridges;
        const char *file;
        bool everything;
    } cases[] = {
        {MI_NO, MI_NO, NULL, false},        {MI_NO, MI_NO, "/proc/self/exe", false},
        {MI_YES, MI_NO, "/nowhere", false}, {MI_YES, MI_NO, "/proc/self/exe", true},
        {MI_YES, MI_NO, NULL, true},        {MI_NOT_STATED, MI_NO, NULL, true},
        {MI_NO, MI_YES, NULL, true},        {MI_NO, MI_NOT_STATED, NULL, true},
        {MI_YES, MI_YES, "/nowhere", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(false, MI_ACL_FILE);
        fakes.config.broker.persistence = cases[i].persistence;
        fakes.config.broker.persistence_file = cases[i].file;
        fakes.config.broker.bridges = cases[i].bridges;
        mi_interest_events_start(&plugin);
        mi_interest_events_first_tick(&plugin);
        CU_ASSERT_EQUAL(wants("a"), cases[i].everything);
        end();
    }
}

static int some_sessions(int (*each)(const struct mosquitto *, void *), void *context)
{
    return each(&client, context);
}

/* One subscription: client "c", filter "a/b". */
static const char database[] = "\0\xb5\0mosquitto db\0\0\0\0\0\0\0\6"
                               "\0\0\0\5\0\0\0\20"
                               "\0\0\0\0\0\1\0\3\1\0\0\0"
                               "ca/b";

static void restored_sessions_are_read_from_the_database(void)
{
    char dir[200], path[300];
    CU_ASSERT_TRUE_FATAL(mi_temp_dir(dir, sizeof dir));
    snprintf(path, sizeof path, "%s/mosquitto.db", dir);
    FILE *f = fopen(path, "wb");
    CU_ASSERT_EQUAL_FATAL(fwrite(database, 1, sizeof database - 1, f), sizeof database - 1);
    fclose(f);
    for (int v2_1 = 0; v2_1 < 2; v2_1++) {
        begin(v2_1, MI_ACL_FILE);
        fakes.config.broker.persistence = MI_YES;
        fakes.config.broker.persistence_file = path;
        plugin.compat.for_all_clients = v2_1 ? some_sessions : NULL;
        client.subscriptions = 1;
        client.clean = false;
        mi_interest_events_start(&plugin);
        mi_interest_events_first_tick(&plugin);
        CU_ASSERT_TRUE(wants("a/+"));
        CU_ASSERT_FALSE(wants("other"));
        if (!v2_1) {
            gone(MOSQ_EVT_DISCONNECT, -1); /* the restored one, when the client comes back */
            check(MOSQ_ACL_SUBSCRIBE, "more");
        } else {
            gone(MOSQ_EVT_DISCONNECT, MI_REASON_TAKEN_OVER);
            connected();
        }
        CU_ASSERT_TRUE(wants("a/b"));
        client.clean = true;
        gone(MOSQ_EVT_DISCONNECT, MI_REASON_TAKEN_OVER);
        v2_1 ? connected() : (void)check(MOSQ_ACL_SUBSCRIBE, "anew");
        CU_ASSERT_FALSE(wants("a/b"));
        end();
    }
    mi_remove_tree(dir);
}

/* Such as those of a persistence plugin. */
static void on_2_1_the_sessions_themselves_are_asked(void)
{
    begin(true, MI_ACL_NOT_STATED);
    plugin.compat.for_all_clients = some_sessions;
    plugin.restored = true; /* a database that could not be read */
    mi_interest_events_first_tick(&plugin);
    CU_ASSERT_FALSE(wants("a")); /* whose sessions have no subscriptions */
    client.subscriptions = 2;
    mi_interest_events_first_tick(&plugin);
    CU_ASSERT_TRUE(wants("a"));
    end();
}

/* What Iggy's rights deny is denied in any company; what they do not is left to the others, by the word that
 * the version and the company need. */
static void what_the_broker_is_told_of_rights(void)
{
    static const struct {
        bool v2_1;
        enum mi_broker_acl acl;
        bool somebody; /* the broker's own file shows that somebody decides */
        int allowed;
    } rows[] = {
        {false, MI_ACL_NONE, false, MOSQ_ERR_SUCCESS},
        {false, MI_ACL_NONE, true, MOSQ_ERR_PLUGIN_DEFER},
        {false, MI_ACL_FILE, false, MOSQ_ERR_PLUGIN_DEFER},
        {false, MI_ACL_PLUGIN, false, MOSQ_ERR_PLUGIN_DEFER},
        {true, MI_ACL_NONE, false, MI_ERR_PLUGIN_IGNORE},
        {true, MI_ACL_NONE, true, MOSQ_ERR_PLUGIN_DEFER},
        {true, MI_ACL_FILE, false, MOSQ_ERR_PLUGIN_DEFER},
        {true, MI_ACL_PLUGIN, false, MOSQ_ERR_PLUGIN_DEFER},
    };
    static const int accesses[] = {MOSQ_ACL_READ, MOSQ_ACL_WRITE, MOSQ_ACL_SUBSCRIBE};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin(rows[i].v2_1, rows[i].acl);
        plugin.authorize = (struct mi_authorize *)&plugin; /* fake_authorize.c does not look */
        plugin.somebody_decides = rows[i].somebody;
        CU_ASSERT_EQUAL(mi_acl_event_register(&plugin), MOSQ_ERR_SUCCESS);
        for (int k = 0; k < 3; k++) {
            CU_ASSERT_EQUAL(check(accesses[k], "allowed/x"), rows[i].allowed);
            CU_ASSERT_EQUAL(check(accesses[k], "other/x"), MOSQ_ERR_ACL_DENIED);
        }
        CU_ASSERT_EQUAL(check(MOSQ_ACL_UNSUBSCRIBE, "other/x"), rows[i].allowed);
        plugin.authorize = NULL;
        end();
    }
}

static struct mosquitto *nobody_is_there(const char *id)
{
    CU_ASSERT_STRING_EQUAL(id, "c");
    return NULL;
}

static void on_2_1_expired_sessions_are_noticed(void)
{
    begin(true, MI_ACL_NOT_STATED);
    client.protocol = 5;
    event(MI_EVT_SUBSCRIBE, "a");
    plugin.compat.client_of_id = nobody_is_there;
    mi_interest_events_tick(&plugin);
    CU_ASSERT_TRUE(wants("a")); /* it did not leave */
    gone(MI_EVT_CLIENT_OFFLINE, 0);
    CU_ASSERT_TRUE(wants("a"));
    plugin.interest_sweep_ns = plugin.interest_due_ns = 0;
    mi_interest_events_tick(&plugin);
    CU_ASSERT_FALSE(wants("a"));
    end();
}

static CU_TestInfo tests[] = {
    {"the answer is what the broker would have found", the_answer_is_what_the_broker_would_have_found},
    {"ACL_CHECK is registered only where it is needed", acl_check_is_registered_only_where_it_is_needed},
    {"an ACL that appears is not passed over", an_acl_that_appears_is_not_passed_over},
    {"on 2.0 checks tell", on_2_0_checks_tell},
    {"on 2.0 a plugin may deny an UNSUBSCRIBE", on_2_0_a_plugin_may_deny_an_unsubscribe},
    {"on 2.0 lasting sessions stay", on_2_0_lasting_sessions_stay},
    {"on 2.0 MQTT 5 may last", on_2_0_mqtt_5_may_last},
    {"on 2.1 events tell", on_2_1_events_tell},
    {"on 2.1 a clean start takes the place", on_2_1_a_clean_start_takes_the_place},
    {"nobody is nobody", nobody_is_nobody},
    {"on 2.1 expired sessions are noticed", on_2_1_expired_sessions_are_noticed},
    {"the bridge gets a picture when something changed", the_bridge_gets_a_picture_when_something_changed},
    {"what may have been restored wants everything", what_may_have_been_restored_wants_everything},
    {"restored sessions are read from the database", restored_sessions_are_read_from_the_database},
    {"on 2.1 the sessions themselves are asked", on_2_1_the_sessions_themselves_are_asked},
    {"what_the_broker_is_told_of_rights", what_the_broker_is_told_of_rights},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("subscriptions", tests)
