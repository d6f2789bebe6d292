/* plugin: entry points, first TICK, reload and cleanup against a make-believe broker. */
#include "broker/login_event.h"
#include "fakes.h"
#include "stubs.h"
#include "support/process.h"
#include "support/suite.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

int mosquitto_plugin_version(int count, const int *versions);
int mosquitto_plugin_init(mosquitto_plugin_id_t *id, void **userdata, struct mosquitto_opt *options,
                          int count);
int mosquitto_plugin_cleanup(void *userdata, struct mosquitto_opt *options, int count);

static void *userdata;
static struct mosquitto_opt options[] = {{(char *)"config_file", (char *)"/etc/iggy.json"}};

static int init(void)
{
    return mosquitto_plugin_init(NULL, &userdata, options, 1);
}

static void start(void)
{
    stubs_reset();
    fakes_reset();
    CU_ASSERT_EQUAL_FATAL(init(), MOSQ_ERR_SUCCESS);
}

static void end(void)
{
    CU_ASSERT_EQUAL(mosquitto_plugin_cleanup(userdata, options, 1), MOSQ_ERR_SUCCESS);
    CU_ASSERT_EQUAL(stubs.callback_count, 0);
    CU_ASSERT_EQUAL(fakes.holders, 0);
    CU_ASSERT_EQUAL(fakes.frees, 1);
}

static void it_speaks_version_5(void)
{
    static const int all[] = {5, 4, 3, 2}, old[] = {4, 3, 2};
    CU_ASSERT_EQUAL(mosquitto_plugin_version(4, all), 5);
    CU_ASSERT_EQUAL(mosquitto_plugin_version(3, old), -1);
}

static void the_first_tick_moves_message_last_and_starts_the_threads(void)
{
    start();
    CU_ASSERT_EQUAL(stubs.event[0], MOSQ_EVT_MESSAGE);
    CU_ASSERT_EQUAL(fakes.starts, 0);
    CU_ASSERT_EQUAL(stubs_fire(MOSQ_EVT_TICK, NULL), MOSQ_ERR_SUCCESS);
    CU_ASSERT_EQUAL(fakes.starts, 1);
    CU_ASSERT_EQUAL(stubs.event[stubs.callback_count - 1], MOSQ_EVT_MESSAGE);
    int callbacks = stubs.callback_count;
    stubs_fire(MOSQ_EVT_TICK, NULL);
    CU_ASSERT_EQUAL(fakes.starts, 1);
    CU_ASSERT_EQUAL(fakes.ticks, 2);
    CU_ASSERT_EQUAL(stubs.callback_count, callbacks);
    end();
}

static void threads_that_cannot_start_leave_the_journal_working(void)
{
    start();
    fakes.start_fails = true;
    for (int i = 0; i < 10; i++)
        stubs_fire(MOSQ_EVT_TICK, NULL);
    CU_ASSERT_EQUAL(fakes.starts, 1); /* not at every turn */
    CU_ASSERT_TRUE(stubs_logged("no thread"));
    end();
}

static void a_broken_configuration_ends_init_with_one_line(void)
{
    stubs_reset();
    fakes_reset();
    fakes.config_refused = true;
    CU_ASSERT_NOT_EQUAL(init(), MOSQ_ERR_SUCCESS);
    CU_ASSERT_PTR_NULL(userdata);
    CU_ASSERT_EQUAL(stubs.log_count, 1);
    CU_ASSERT_STRING_EQUAL(stubs.log[0], "mosquitto_iggy: /etc/iggy.json:12: routes[0].filter: it is broken");
    CU_ASSERT_EQUAL(stubs.callback_count, 0);
    CU_ASSERT_EQUAL(mosquitto_plugin_cleanup(userdata, options, 1), MOSQ_ERR_SUCCESS); /* as 2.1 does */
}

static void an_unusable_journal_ends_init_with_one_line(void)
{
    stubs_reset();
    fakes_reset();
    fakes.bridge_refused = true;
    CU_ASSERT_NOT_EQUAL(init(), MOSQ_ERR_SUCCESS);
    CU_ASSERT_PTR_NULL(userdata);
    CU_ASSERT_EQUAL(stubs.log_count, 1);
    CU_ASSERT_TRUE(stubs_logged("/journal: Permission denied"));
    CU_ASSERT_EQUAL(fakes.holders, 0);
}

static void a_broker_that_takes_no_message_callback_ends_init(void)
{
    stubs_reset();
    fakes_reset();
    stubs.refuse_event = MOSQ_EVT_RELOAD;
    CU_ASSERT_NOT_EQUAL(init(), MOSQ_ERR_SUCCESS);
    CU_ASSERT_EQUAL(stubs.callback_count, 0);
    CU_ASSERT_EQUAL(fakes.frees, 1);
}

static void a_2_0_broker_does_not_know_client_offline(void)
{
    stubs_reset();
    fakes_reset();
    stubs.refuse_event = 28;
    CU_ASSERT_EQUAL_FATAL(init(), MOSQ_ERR_SUCCESS);
    end();
}

static void reload_swaps_and_answers_defer_on_2_0(void)
{
    start();
    CU_ASSERT_EQUAL(stubs_fire(MOSQ_EVT_RELOAD, NULL), MOSQ_ERR_PLUGIN_DEFER);
    CU_ASSERT_EQUAL(fakes.configs_made, 2);
    CU_ASSERT_EQUAL(fakes.configs_set, 1);
    CU_ASSERT_STRING_EQUAL(fakes.reload_note, "ok");
    CU_ASSERT_TRUE(stubs_logged("journal.directory: needs a restart"));
    CU_ASSERT_TRUE(stubs_logged("is in force"));
    end();
}

static void field_137_a_broken_reload_keeps_the_old_configuration(void)
{
    start();
    fakes.config_refused = true;
    CU_ASSERT_EQUAL(stubs_fire(MOSQ_EVT_RELOAD, NULL), MOSQ_ERR_PLUGIN_DEFER);
    CU_ASSERT_EQUAL(fakes.configs_set, 0);
    CU_ASSERT_TRUE(stubs_logged("/etc/iggy.json:12: routes[0].filter: it is broken"));
    CU_ASSERT_TRUE(stubs_logged("stays in force"));
    CU_ASSERT_STRING_EQUAL(fakes.reload_note, "/etc/iggy.json:12: routes[0].filter: it is broken");
    fakes.config_refused = false;
    end();
}

static struct mi_inbound *inbound(void)
{
    struct mi_inbound *m = calloc(1, sizeof *m);
    m->topic = strdup("a");
    return m;
}

static void the_wake_up_ends_when_the_inbox_is_empty(void)
{
    start();
    fakes.inbox = inbound();
    fakes.wake_main(fakes.wake_context);
    CU_ASSERT_EQUAL(poll(NULL, 0, 3000), -1);
    CU_ASSERT_EQUAL(poll(NULL, 0, 3000), -1);
    stubs_fire(MOSQ_EVT_TICK, NULL);
    CU_ASSERT_EQUAL(stubs.publish_count, 1);
    CU_ASSERT_EQUAL(poll(NULL, 0, 30), 0);
    end();
}

static void a_publish_goes_through_to_the_journal(void)
{
    start();
    struct mosquitto client = {.id = "c", .protocol = 4};
    struct mosquitto_evt_message e = {.client = &client, .topic = (char *)"t", .qos = 1};
    CU_ASSERT_EQUAL(stubs_fire(MOSQ_EVT_MESSAGE, &e), MOSQ_ERR_SUCCESS);
    CU_ASSERT_EQUAL(fakes.records, 1);
    struct mosquitto_evt_disconnect d = {.client = &client};
    CU_ASSERT_EQUAL(stubs_fire(MOSQ_EVT_DISCONNECT, &d), MOSQ_ERR_SUCCESS);
    CU_ASSERT_EQUAL(stubs_fire(MOSQ_EVT_MESSAGE, &e), MOSQ_ERR_SUCCESS);
    CU_ASSERT_TRUE(fakes_decoded(0)->maybe_dup);
    end();
}

static void outstanding_retained_topics_go_from_one_run_to_the_next(void)
{
    struct mosquitto client = {.id = "device", .protocol = 4};
    struct mosquitto_evt_message m = {.client = &client, .topic = (char *)"a", .retain = true, .qos = 1};
    start();
    fakes.routes[0].direction = MI_BOTH;
    CU_ASSERT_EQUAL(stubs_fire(MOSQ_EVT_MESSAGE, &m), MOSQ_ERR_SUCCESS);
    for (int run = 0; run < 3; run++) {
        CU_ASSERT_EQUAL(mosquitto_plugin_cleanup(userdata, options, 1), MOSQ_ERR_SUCCESS);
        CU_ASSERT_EQUAL(fakes.outstanding.len, 32);
        if (run == 2)
            fakes.outstanding.len = 20;
        CU_ASSERT_EQUAL_FATAL(init(), MOSQ_ERR_SUCCESS);
    }
    stubs_fire(MOSQ_EVT_TICK, NULL);
    CU_ASSERT_TRUE(stubs_logged("list of retained topics cannot be read"));
    CU_ASSERT_EQUAL(mosquitto_plugin_cleanup(userdata, options, 1), MOSQ_ERR_SUCCESS);
    CU_ASSERT_EQUAL(fakes.outstanding.len, 16);
}

static void wake_nobody(void *context)
{
    (void)context;
}

static int log_in(const char *username, const char *password)
{
    struct mosquitto client = {.id = "c", .protocol = 4, .clean = true, .username = username};
    struct mosquitto_evt_basic_auth e = {
        .client = &client, .username = (char *)username, .password = (char *)password};
    return stubs_fire(MOSQ_EVT_BASIC_AUTH, &e);
}

static void logins_are_looked_at_only_where_that_is_configured(void)
{
    start();
    CU_ASSERT_EQUAL(log_in("alice", "secret"), -1000);
    end();
    stubs_reset();
    fakes_reset();
    struct mi_iggy_backend_options o = {
        .logins_per_second = 10, .clock = &mi_clock_system, .wake_bridge = wake_nobody};
    fakes.config.auth = (struct mi_auth_config){.login = MI_LOGIN_FROM_IGGY, .cache_size = 16};
    fakes.logins = mi_iggy_backend_new(&o);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fakes.logins);
    CU_ASSERT_EQUAL_FATAL(init(), MOSQ_ERR_SUCCESS);
    CU_ASSERT_EQUAL(log_in(NULL, NULL), MOSQ_ERR_PLUGIN_DEFER);
    CU_ASSERT_EQUAL(log_in("", ""), MOSQ_ERR_PLUGIN_DEFER);
    CU_ASSERT_EQUAL(log_in("al", "secret"), MOSQ_ERR_AUTH); /* nobody at Iggy is called that */
    CU_ASSERT_EQUAL(log_in("alice", NULL), MOSQ_ERR_AUTH);
    CU_ASSERT_EQUAL(log_in("alice", "secret"), MOSQ_ERR_UNKNOWN); /* 2.0, and no thread answers yet */
    struct mi_iggy_backend *logins = fakes.logins;
    end();
    mi_iggy_backend_free(logins);
}

static void what_the_broker_is_told(void)
{
    static const struct {
        enum mi_login_answer answer;
        int on_2_0, on_2_1_v3, on_2_1_v5;
    } rows[] = {{MI_LOGIN_ALLOWED, 0, 0, 0},
                {MI_LOGIN_REFUSED, MOSQ_ERR_AUTH, MOSQ_ERR_AUTH, MOSQ_ERR_AUTH},
                {MI_LOGIN_UNAVAILABLE, MOSQ_ERR_UNKNOWN, MOSQ_ERR_UNKNOWN, 136},
                {MI_LOGIN_LIMITED, MOSQ_ERR_AUTH, MOSQ_ERR_AUTH, 159},
                {MI_LOGIN_NEXT, MOSQ_ERR_PLUGIN_DEFER, MOSQ_ERR_PLUGIN_DEFER, MOSQ_ERR_PLUGIN_DEFER}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CU_ASSERT_EQUAL(mi_login_code(rows[i].answer, false, 4), rows[i].on_2_0);
        CU_ASSERT_EQUAL(mi_login_code(rows[i].answer, false, 5), rows[i].on_2_0);
        CU_ASSERT_EQUAL(mi_login_code(rows[i].answer, true, 4), rows[i].on_2_1_v3);
        CU_ASSERT_EQUAL(mi_login_code(rows[i].answer, true, 3), rows[i].on_2_1_v3);
        CU_ASSERT_EQUAL(mi_login_code(rows[i].answer, true, 5), rows[i].on_2_1_v5);
    }
}

static void nobody_but_us_writes_below_iggy(void)
{
    start();
    struct mosquitto client = {.id = "c", .protocol = 4};
    struct mosquitto_evt_message e = {.client = &client, .topic = (char *)"$iggy/first/a", .qos = 1};
    CU_ASSERT_EQUAL(stubs_fire(MOSQ_EVT_MESSAGE, &e), MOSQ_ERR_SUCCESS);
    fakes.config.history = true;
    CU_ASSERT_EQUAL(stubs_fire(MOSQ_EVT_MESSAGE, &e), MOSQ_ERR_ACL_DENIED);
    e.topic = (char *)"$iggyx/first/a";
    CU_ASSERT_EQUAL(stubs_fire(MOSQ_EVT_MESSAGE, &e), MOSQ_ERR_SUCCESS);
    end();
}

static void a_broker_without_tick_is_told_off(void)
{
    start();
    mi_sleep_ms(5200);
    struct mosquitto client = {.id = "c", .protocol = 4};
    struct mosquitto_evt_message e = {.client = &client, .topic = (char *)"t"};
    CU_ASSERT_EQUAL(stubs_fire(MOSQ_EVT_MESSAGE, &e), MOSQ_ERR_SUCCESS);
    CU_ASSERT_TRUE(stubs_logged("does not call this plugin's TICK"));
    end();
}

static CU_TestInfo tests[] = {
    {"it speaks version 5", it_speaks_version_5},
    {"the first TICK moves MESSAGE last and starts the threads",
     the_first_tick_moves_message_last_and_starts_the_threads},
    {"outstanding retained topics go from one run to the next",
     outstanding_retained_topics_go_from_one_run_to_the_next},
    {"threads that cannot start leave the journal working",
     threads_that_cannot_start_leave_the_journal_working},
    {"a broken configuration ends init with one line", a_broken_configuration_ends_init_with_one_line},
    {"an unusable journal ends init with one line", an_unusable_journal_ends_init_with_one_line},
    {"a broker that takes no callback ends init", a_broker_that_takes_no_message_callback_ends_init},
    {"a 2.0 broker does not know CLIENT_OFFLINE", a_2_0_broker_does_not_know_client_offline},
    {"reload swaps and answers DEFER on 2.0", reload_swaps_and_answers_defer_on_2_0},
    {"field 137: a broken reload keeps the old configuration",
     field_137_a_broken_reload_keeps_the_old_configuration},
    {"the wake-up ends when the inbox is empty", the_wake_up_ends_when_the_inbox_is_empty},
    {"a PUBLISH goes through to the journal", a_publish_goes_through_to_the_journal},
    {"logins are looked at only where that is configured",
     logins_are_looked_at_only_where_that_is_configured},
    {"what the broker is told", what_the_broker_is_told},
    {"nobody but us writes below $iggy/", nobody_but_us_writes_below_iggy},
    {"a broker without TICK is told off", a_broker_without_tick_is_told_off},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("plugin", tests)
