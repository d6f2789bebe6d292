/* reload: SIGHUP under load, with a good and with a broken file (field 137); Iggy and the broker come
 * and go. */
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUTES(stream)                                                                         \
    RIG_CONFIG "'routes':[{'name':'all','filter':'load/#','direction':'out','stream':'" stream \
               "','topic':'t','partition_key':'k'}]}"

static int next_number;

/* Publishes count numbered messages with QoS 1, all in flight at once as far as the client lets it, and waits
 * until each is acknowledged. */
static void load(struct mi_mqtt *c, int count, void (*in_the_middle)(struct rig *), struct rig *rig)
{
    char text[32];
    size_t before = mi_mqtt_acknowledged(c);
    for (int i = 0; i < count; i++) {
        snprintf(text, sizeof text, "%d", next_number++);
        mi_mqtt_send(c, "load/x", text, 1);
        if (i % 10 == 0)
            mi_mqtt_run(c, 1);
        if (i == count / 2 && in_the_middle)
            in_the_middle(rig);
    }
    for (uint64_t end = mi_monotonic_ms() + 10000;
         mi_mqtt_acknowledged(c) - before < (size_t)count && mi_monotonic_ms() < end && mi_mqtt_connected(c);)
        mi_mqtt_run(c, 5);
    CU_ASSERT_EQUAL(mi_mqtt_acknowledged(c) - before, (size_t)count);
}

/* The stored numbers are from, from + 1, ... in order, each once. */
static void in_order(struct rig *rig, const char *stream, int from, size_t count)
{
    CU_ASSERT_TRUE(mi_readback_wait(rig->readback, stream, "t", count, 20000));
    for (size_t i = 0; i < mi_readback_count(rig->readback); i++) {
        const struct mi_stored *s = mi_readback_at(rig->readback, i);
        char text[32];
        snprintf(text, sizeof text, "%d", from + (int)i);
        if (!rig_payload_is(s, text, strlen(text))) {
            CU_FAIL("out of order, lost or twice");
            printf("\n%s: at %zu stands %.*s, not %s\n", stream, i, (int)s->message.payload.len,
                   (const char *)s->message.payload.data, text);
            return;
        }
    }
}

static void reload_broken(struct rig *rig)
{
    CU_ASSERT_TRUE(
        mi_broker_config(&rig->broker, RIG_CONFIG "\n'routes':[{'name':'all','filter':", rig->iggy.port));
    CU_ASSERT_TRUE(mi_broker_reload(&rig->broker));
}

static void reload_good(struct rig *rig)
{
    CU_ASSERT_TRUE(mi_broker_config(&rig->broker, ROUTES("second"), rig->iggy.port));
    CU_ASSERT_TRUE(mi_broker_reload(&rig->broker));
}

static void field_137_a_broken_file_under_load_keeps_the_old_one(void)
{
    struct rig *rig = rig_new(NULL, NULL);
    CU_ASSERT_TRUE_FATAL(rig_start(rig, ROUTES("first")));
    struct mi_mqtt *c = rig_client(rig, "c", MQTT_PROTOCOL_V311);
    next_number = 0;
    load(c, 2000, reload_broken, rig);
    CU_ASSERT_TRUE(mi_broker_says(&rig->broker, "iggy.json:2", 2000));
    CU_ASSERT_TRUE(mi_broker_says(&rig->broker, "stays in force", 2000));
    load(c, 100, NULL, rig);
    in_order(rig, "first", 0, 2100);
    char *status = mi_http_get(rig->broker.status_port, "/status.json", NULL);
    CU_ASSERT_TRUE(status && strstr(status, "iggy.json:2"));
    free(status);
    load(c, 2000, reload_good, rig);
    CU_ASSERT_TRUE(mi_broker_says(&rig->broker, "in force (1 routes)", 2000));
    mi_sleep_ms(100);
    int moved = next_number;
    load(c, 100, NULL, rig);
    size_t total = 0;
    for (int i = 0; i < 200 && total < (size_t)next_number; i++, mi_sleep_ms(20)) {
        mi_readback_read(rig->readback, "first", "t");
        total = mi_readback_count(rig->readback);
        CU_ASSERT_TRUE(total <= (size_t)moved);
        mi_readback_read(rig->readback, "second", "t");
        total += mi_readback_count(rig->readback);
    }
    CU_ASSERT_TRUE(mi_readback_count(rig->readback) >= 100);
    CU_ASSERT_EQUAL(total, (size_t)next_number);
    CU_ASSERT_TRUE(mi_mqtt_connected(c)); /* nobody was disconnected */
    mi_mqtt_close(c);
    CU_ASSERT_TRUE(mi_broker_stop(&rig->broker, 10000));
    rig_free(rig);
}

static void what_a_reload_cannot_change_says_so(void)
{
    struct rig *rig = rig_new(NULL, NULL);
    CU_ASSERT_TRUE_FATAL(rig_start(rig, ROUTES("first")));
    CU_ASSERT_TRUE(
        mi_broker_config(&rig->broker,
                         "{'iggy':{'url':'IGGY','username':'iggy','password_file':'DIR/iggy.password'},"
                         "'journal':{'directory':'DIR/elsewhere'},'status':{'listen':'STATUS'},'routes':[]}",
                         rig->iggy.port));
    CU_ASSERT_TRUE(mi_broker_reload(&rig->broker));
    CU_ASSERT_TRUE(mi_broker_says(&rig->broker, "journal.directory", 3000));
    CU_ASSERT_TRUE(mi_broker_says(&rig->broker, "in force (0 routes)", 3000));
    CU_ASSERT_TRUE(mi_broker_stop(&rig->broker, 10000));
    rig_free(rig);
}

/* Other plugins and the broker's own acl_file go on as before: the answer to RELOAD differs between 2.0
 * and 2.1. */
static void acl_file_is_enforced_after_a_broken_reload(void)
{
    struct rig *rig = rig_new("acl_file DIR/acl\n", NULL);
    char path[300];
    snprintf(path, sizeof path, "%s/acl", rig->broker.dir);
    CU_ASSERT_TRUE(mi_write_file(path, "topic readwrite load/#\n"));
    CU_ASSERT_TRUE_FATAL(rig_start(rig, ROUTES("first")));
    struct mi_mqtt *c = rig_client(rig, "c", MQTT_PROTOCOL_V5);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(mi_mqtt_say(c, "forbidden", "x", 1), 0x87);
        CU_ASSERT_TRUE(mi_mqtt_say(c, "load/x", "x", 1) < 0x80);
        reload_broken(rig);
        mi_mqtt_run(c, 300);
    }
    CU_ASSERT_TRUE(mi_broker_says(&rig->broker, "stays in force", 1000));
    mi_mqtt_close(c);
    CU_ASSERT_TRUE(mi_broker_stop(&rig->broker, 10000));
    rig_free(rig);
}

static void kill_broker(struct rig *rig)
{
    mi_broker_kill(&rig->broker);
}

/* Publishes until the broker is killed in the middle; the numbers that were acknowledged. */
static int until_killed(struct rig *rig, bool *acknowledged, int count)
{
    struct mi_mqtt *c = rig_client(rig, "c", MQTT_PROTOCOL_V311);
    char text[32];
    int *mids = calloc((size_t)count, sizeof *mids), sent = 0;
    for (; sent < count && mi_mqtt_connected(c); sent++) {
        snprintf(text, sizeof text, "%d", sent);
        mids[sent] = mi_mqtt_send(c, "load/x", text, 1);
        if (sent % 10 == 0)
            mi_mqtt_run(c, 1);
        if (sent == count / 2)
            kill_broker(rig);
    }
    mi_mqtt_run(c, 200);
    int got = 0;
    for (int i = 0; i < sent; i++) {
        acknowledged[i] = mi_mqtt_was_acknowledged(c, mids[i]);
        got += acknowledged[i];
    }
    free(mids);
    mi_mqtt_close(c);
    return got;
}

static void check_after_kill(struct rig *rig, const bool *acknowledged, int count, int got)
{
    CU_ASSERT_TRUE(got > 100);
    /* What was pending at the start may have been sent before it: that is settled for 12 s first. */
    for (uint64_t end = mi_monotonic_ms() + 40000;
         mi_readback_count(rig->readback) < (size_t)got && mi_monotonic_ms() < end; mi_sleep_ms(20))
        mi_readback_read(rig->readback, "first", "t");
    mi_sleep_ms(500);
    mi_readback_read(rig->readback, "first", "t");
    int *times = calloc((size_t)count, sizeof *times), last = -1, missing = 0, twice = 0;
    bool ordered = true;
    for (size_t i = 0; i < mi_readback_count(rig->readback); i++) {
        const struct mi_span p = mi_readback_at(rig->readback, i)->message.payload;
        char text[16] = "";
        memcpy(text, p.data, p.len < 15 ? p.len : 15);
        int n = atoi(text);
        ordered = ordered && n > last;
        last = n;
        if (n >= 0 && n < count)
            twice += ++times[n] == 2;
    }
    for (int i = 0; i < count; i++)
        missing += acknowledged[i] && times[i] == 0;
    CU_ASSERT_EQUAL(missing, 0);
    CU_ASSERT_EQUAL(twice, 0);
    CU_ASSERT_TRUE(ordered);
    free(times);
}

static void kill_9_of_the_broker(bool iggy_away)
{
    enum { COUNT = 3000 };
    static bool acknowledged[COUNT];
    struct rig *rig = rig_new(NULL, NULL);
    CU_ASSERT_TRUE_FATAL(rig_start(rig, ROUTES("first")));
    CU_ASSERT_TRUE(mi_readback_create(rig->readback, "first", "t", 1));
    if (iggy_away)
        mi_iggy_server_stop(&rig->iggy);
    memset(acknowledged, 0, sizeof acknowledged);
    int got = until_killed(rig, acknowledged, COUNT);
    if (iggy_away)
        CU_ASSERT_TRUE_FATAL(mi_iggy_server_start(&rig->iggy));
    CU_ASSERT_TRUE_FATAL(mi_broker_start(&rig->broker));
    check_after_kill(rig, acknowledged, COUNT, got);
    CU_ASSERT_TRUE(mi_broker_stop(&rig->broker, 10000));
    rig_free(rig);
}

static void kill_9_loses_and_repeats_nothing(void)
{
    kill_9_of_the_broker(false);
}

static void kill_9_with_iggy_away_loses_and_repeats_nothing(void)
{
    kill_9_of_the_broker(true);
}

static void restart_iggy(struct rig *rig)
{
    mi_iggy_server_stop(&rig->iggy);
    CU_ASSERT_TRUE(mi_iggy_server_start(&rig->iggy));
}

static void field_17_118_128_iggy_restarts_under_load(void)
{
    struct rig *rig = rig_new(NULL, NULL);
    CU_ASSERT_TRUE_FATAL(rig_start(rig, ROUTES("first")));
    struct mi_mqtt *c = rig_client(rig, "c", MQTT_PROTOCOL_V311);
    next_number = 0;
    load(c, 2000, restart_iggy, rig);
    load(c, 200, NULL, rig);
    in_order(rig, "first", 0, 2200);
    mi_mqtt_close(c);
    CU_ASSERT_TRUE(mi_broker_stop(&rig->broker, 10000));
    rig_free(rig);
}

static void a_clean_stop_flushes(void)
{
    struct rig *rig = rig_new(NULL, NULL);
    CU_ASSERT_TRUE_FATAL(rig_start(rig, ROUTES("first")));
    struct mi_mqtt *c = rig_client(rig, "c", MQTT_PROTOCOL_V311);
    next_number = 0;
    load(c, 1000, NULL, rig);
    mi_mqtt_close(c);
    CU_ASSERT_TRUE(mi_broker_stop(&rig->broker, 10000));
    CU_ASSERT_TRUE(mi_readback_read(rig->readback, "first", "t"));
    CU_ASSERT_EQUAL(mi_readback_count(rig->readback),
                    1000); /* at once: nothing was left for the next start */
    CU_ASSERT_TRUE_FATAL(mi_broker_start(&rig->broker));
    mi_sleep_ms(500);
    in_order(rig, "first", 0, 1000);
    CU_ASSERT_TRUE(mi_broker_stop(&rig->broker, 10000));
    rig_free(rig);
}

static void field_38_a_slow_iggy_slows_no_client(void)
{
    struct rig *rig = rig_new(NULL, NULL);
    CU_ASSERT_TRUE_FATAL(rig_start(rig, ROUTES("first")));
    struct mi_mqtt *c = rig_client(rig, "c", MQTT_PROTOCOL_V311),
                   *s = rig_client(rig, "s", MQTT_PROTOCOL_V311);
    CU_ASSERT_TRUE(mi_mqtt_subscribe(s, "load/#", 1));
    if (!mi_iggy_server_fault(&rig->iggy, "on produce delay 10000 always")) {
        mi_skip("needs iggy-devserver");
    } else {
        uint64_t longest = 0;
        for (size_t i = 0; i < 300; i++) {
            uint64_t before = mi_monotonic_ms();
            CU_ASSERT_EQUAL(mi_mqtt_say(c, "load/x", "x", 1), 0);
            CU_ASSERT_TRUE(mi_mqtt_wait(s, i + 1, 5000));
            uint64_t took = mi_monotonic_ms() - before;
            longest = took > longest ? took : longest;
        }
        printf("\n    publish to subscriber, Iggy taking 10 s per request: at most %lu ms\n",
               (unsigned long)longest);
        CU_ASSERT_TRUE(longest < 500);
        mi_iggy_server_fault(&rig->iggy, "clear");
    }
    mi_mqtt_close(c);
    mi_mqtt_close(s);
    CU_ASSERT_TRUE(mi_broker_stop(&rig->broker, 20000));
    rig_free(rig);
}

static CU_TestInfo tests[] = {
    {"field 137: a broken file under load keeps the old one",
     field_137_a_broken_file_under_load_keeps_the_old_one},
    {"what a reload cannot change says so", what_a_reload_cannot_change_says_so},
    {"acl_file is enforced after a broken reload", acl_file_is_enforced_after_a_broken_reload},
    {"kill -9 of the broker loses and repeats nothing", kill_9_loses_and_repeats_nothing},
    {"kill -9 with Iggy away loses and repeats nothing", kill_9_with_iggy_away_loses_and_repeats_nothing},
    {"field 17 118 128: Iggy restarts under load", field_17_118_128_iggy_restarts_under_load},
    {"a clean stop flushes", a_clean_stop_flushes},
    {"field 38: a slow Iggy slows no client", field_38_a_slow_iggy_slows_no_client},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("reload and restart", tests)
