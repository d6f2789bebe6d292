/* save: positions and the broker's own saves: after kill -9 what may be lost comes again, after a save it
 * does not, and after a clean stop nothing comes twice. */
#include "rig.h"

#include <mqtt_protocol.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUTE(more)                                                                                    \
    "'routes':[{'name':'news','direction':'in','filter':'news/today','stream':'news','topic':'today'," \
    "'qos':1," more "'start':'earliest'}]}"
static const char conf[] = "persistence true\npersistence_location DIR/\nautosave_interval 1800\n";
static const char injected[] = "mosquitto_iggy_injected_total{route=\"news\"}";

enum { MANY = 30, LOOKS = 60, LOOK_MS = 250 };

static struct mi_mqtt *durable_client(struct rig *r)
{
    struct mi_mqtt_options o = {
        .port = r->broker.port, .client_id = "durable", .protocol = MQTT_PROTOCOL_V311, .keep_session = true};
    struct mi_mqtt *m = mi_mqtt_connect(&o);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    return m;
}

/* SIGUSR1: the broker saves. */
static void save(struct rig *r)
{
    size_t before = mi_broker_count(&r->broker, "Saving in-memory database");
    CU_ASSERT_TRUE(mi_process_signal(&r->broker.process, SIGUSR1));
    for (int n = 0; n < LOOKS && mi_broker_count(&r->broker, "Saving in-memory database") == before; n++)
        mi_sleep_ms(20);
    mi_sleep_ms(50); /* it has begun: a small store is written by then */
}

static struct rig *start(const char *broker_conf, const char *json)
{
    struct rig *r = rig_new(broker_conf, NULL);
    CU_ASSERT_TRUE_FATAL(rig_start(r, json) && mi_readback_create(r->readback, "news", "today", 1));
    struct mi_mqtt *m = durable_client(r);
    CU_ASSERT_TRUE(mi_mqtt_subscribe(m, "news/today", 1));
    mi_mqtt_close(m);
    if (broker_conf)
        save(r); /* the session itself */
    return r;
}

/* Some messages from a native producer while the subscriber is away; returns once the broker has them. */
static void produce(struct rig *r, int first)
{
    char text[16];
    double before = rig_metric(r, injected, 0, 0);
    for (int i = first; i < first + MANY; i++) {
        snprintf(text, sizeof text, "%d", i);
        CU_ASSERT_TRUE(mi_readback_produce(r->readback, "news", "today", 0, mi_span_of(NULL), text));
    }
    CU_ASSERT_EQUAL(rig_metric(r, injected, before + MANY, 10000), before + MANY);
}

/* The position as Iggy shows it: offset of the last message, -1 none. */
static int64_t shown(struct rig *r)
{
    uint64_t offset = 0;
    char consumer[32];
    char *identity = NULL, path[300];
    snprintf(path, sizeof path, "%s/journal/identity", r->broker.dir);
    identity = mi_read_file(path);
    const char *line = identity ? strstr(identity, "\nidentity ") : NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    snprintf(consumer, sizeof consumer, "mqtt-%.8s", line + strlen("\nidentity "));
    bool found = mi_readback_consumer(r->readback, "news", "today", 0, consumer, &offset);
    free(identity);
    return found ? (int64_t)offset : -1;
}

static bool shows(struct rig *r, int64_t offset)
{
    for (int n = 0; n < LOOKS && shown(r) != offset; n++)
        mi_sleep_ms(LOOK_MS);
    return shown(r) == offset;
}

static void kill_and_start(struct rig *r)
{
    mi_broker_kill(&r->broker);
    CU_ASSERT_TRUE_FATAL(mi_broker_start(&r->broker));
    CU_ASSERT_EQUAL(rig_metric(r, "mosquitto_iggy_readers", 1, 10000), 1);
}

/* What the subscriber finds when it comes back: how often each message is there, at least and at most. */
static void collect(struct rig *r, int count, size_t expected, int *least, int *most)
{
    struct mi_mqtt *m = durable_client(r);
    mi_mqtt_wait(m, expected, 10000);
    mi_mqtt_run(m, 300);
    *least = 1000, *most = 0;
    for (int i = 0; i < count; i++) {
        int times = 0;
        for (size_t k = 0; k < mi_mqtt_count(m); k++)
            times += atoi((const char *)mi_mqtt_message(m, k)->payload) == i;
        *least = times < *least ? times : *least;
        *most = times > *most ? times : *most;
    }
    mi_mqtt_close(m);
}

static void field_35_killed_before_a_save_all_comes_again(void)
{
    int least, most;
    struct rig *r = start(conf, RIG_CONFIG ROUTE(""));
    produce(r, 0);
    mi_sleep_ms(1500); /* long enough for a position that would not wait */
    CU_ASSERT_EQUAL(shown(r), -1);
    double before = rig_metric(r, injected, 0, 0);
    kill_and_start(r);
    CU_ASSERT_TRUE(rig_metric(r, injected, MANY, 10000) >= MANY);
    printf("\n    %g delivered before, %g after\n", before, rig_metric(r, injected, 0, 0));
    collect(r, MANY, MANY, &least, &most);
    CU_ASSERT_EQUAL(least, 1); /* the session lost its messages with the broker, and got them again */
    CU_ASSERT_EQUAL(most, 1);
    rig_free(r);
}

static void killed_after_a_save_nothing_comes_again(void)
{
    int least, most;
    struct rig *r = start(conf, RIG_CONFIG ROUTE(""));
    produce(r, 0);
    /* A save counts for what was delivered before the look before it: at most one more is needed. */
    for (int n = 0; n < LOOKS && shown(r) != MANY - 1; n++) {
        save(r);
        mi_sleep_ms(LOOK_MS);
    }
    CU_ASSERT_EQUAL(shown(r), MANY - 1);
    mi_sleep_ms(400); /* the state file is at most 200 ms behind */
    kill_and_start(r);
    produce(r, MANY);
    collect(r, 2 * MANY, 2 * MANY, &least, &most);
    CU_ASSERT_EQUAL(least, 1);
    CU_ASSERT_EQUAL(most, 1);
    rig_free(r);
}

static void after_a_clean_stop_each_is_there_once(void)
{
    int least, most;
    struct rig *r = start(conf, RIG_CONFIG ROUTE(""));
    for (int stop = 0; stop < 3; stop++) {
        produce(r, stop * MANY);
        CU_ASSERT_TRUE(mi_broker_stop(&r->broker, 10000));
        CU_ASSERT_TRUE_FATAL(mi_broker_start(&r->broker));
        CU_ASSERT_EQUAL(rig_metric(r, "mosquitto_iggy_readers", 1, 10000), 1);
    }
    produce(r, 3 * MANY); /* what would come again comes before these */
    collect(r, 4 * MANY, 4 * MANY, &least, &most);
    CU_ASSERT_EQUAL(least, 1);
    CU_ASSERT_EQUAL(most, 1);
    rig_free(r);
}

/* A directory in the way: the last save cannot rename its file. */
static void after_a_stop_whose_save_failed_all_comes_again(void)
{
    int least, most;
    char path[600];
    struct rig *r = start(conf, RIG_CONFIG ROUTE(""));
    produce(r, 0);
    snprintf(path, sizeof path, "rm -f %s/mosquitto.db.new; mkdir -p %s/mosquitto.db.new/x", r->broker.dir,
             r->broker.dir);
    CU_ASSERT_EQUAL(system(path), 0);
    mi_broker_stop(&r->broker, 10000);
    snprintf(path, sizeof path, "rm -rf %s/mosquitto.db.new", r->broker.dir);
    CU_ASSERT_EQUAL(system(path), 0);
    CU_ASSERT_TRUE_FATAL(mi_broker_start(&r->broker));
    collect(r, MANY, MANY, &least, &most);
    CU_ASSERT_EQUAL(least, 1);
    CU_ASSERT_EQUAL(most, 1);
    rig_free(r);
}

static void without_a_save_to_wait_for_positions_move_at_once(void)
{
    static const char *const jsons[] = {RIG_CONFIG ROUTE(""), RIG_CONFIG ROUTE("'position':'taken',")};
    for (int i = 0; i < 2; i++) {
        struct rig *r = start(i == 0 ? NULL : conf, jsons[i]);
        produce(r, 0);
        CU_ASSERT_TRUE(shows(r, MANY - 1));
        rig_free(r);
    }
}

static CU_TestInfo tests[] = {
    {"field 35: killed before a save: all comes again", field_35_killed_before_a_save_all_comes_again},
    {"killed after a save: nothing comes again", killed_after_a_save_nothing_comes_again},
    {"after a clean stop each is there once", after_a_clean_stop_each_is_there_once},
    {"after a stop whose save failed all comes again", after_a_stop_whose_save_failed_all_comes_again},
    {"without a save to wait for positions move at once", without_a_save_to_wait_for_positions_move_at_once},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("save", tests)
