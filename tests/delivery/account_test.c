/*
 * account: what becomes of each message is counted, and what Iggy can never take goes to the dead letters
 * once while the others go on. Numbers in names: tests/README.md.
 */
#include "stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char config[] =
    "{'iggy':{'url':'IGGY','username':'iggy','password_file':'DIR/iggy.password'},"
    "'journal':{'directory':'DIR/journal'},'status':{'listen':'STATUS'},"
    "'limits':{'retry_min':'20ms','retry_max':'500ms'},"
    "'dead_letter':{'stream':'mqtt','topic':'dead'},"
    "'routes':[{'name':'all','filter':'a/#','direction':'out','stream':'s','topic':'t'},"
    "{'name':'names','filter':'names/{device}','direction':'out','stream':'s_{device}','topic':'t'}]}";

static struct rig *rig;

/* False where there is nothing to inject faults with. */
static bool start(const char *fault)
{
    rig = rig_new(NULL, NULL);
    CU_ASSERT_TRUE_FATAL(rig_start(rig, config));
    if (!fault || mi_iggy_server_fault(&rig->iggy, fault))
        return true;
    mi_skip("needs iggy-devserver");
    rig_free(rig);
    return false;
}

static void finish(void)
{
    CU_ASSERT_TRUE(mi_broker_stop(&rig->broker, 15000));
    rig_free(rig);
}

static void assert_account(double received, double committed, double dead)
{
    struct account a = account_settled(rig, "all", received, 60000);
    CU_ASSERT_EQUAL(a.received, received);
    CU_ASSERT_EQUAL(a.committed, committed);
    CU_ASSERT_EQUAL(a.dead_lettered, dead);
    CU_ASSERT_TRUE(mi_readback_wait(rig->readback, "s", "t", (size_t)committed, 2000));
}

/* How often the file of dead letters holds that text: there goes what the dead-letter stream refuses too. */
static size_t count_filed(const char *text)
{
    char path[300];
    size_t count = 0, len = 0;
    snprintf(path, sizeof path, "%s/journal/dead-letters.log", rig->broker.dir);
    FILE *f = fopen(path, "rb");
    char *bytes = calloc(1, 1 << 20);
    len = f ? fread(bytes, 1, 1 << 20, f) : 0;
    for (const char *at = bytes; (at = memmem(at, len - (size_t)(at - bytes), text, strlen(text))) != NULL;
         at++)
        count++;
    free(bytes);
    if (f)
        fclose(f);
    return count;
}

static void field_108_a_message_too_large_between_others(void)
{
    size_t len = 1600000;
    void *payload = calloc(1, len);
    CU_ASSERT_TRUE_FATAL(start(NULL));
    say_numbers(rig, "a/b", "n", 0, 10);
    struct mi_mqtt *c = rig_client(rig, "large", MQTT_PROTOCOL_V311);
    CU_ASSERT_EQUAL(mi_mqtt_publish(c, "a/b", payload, len, 1, false, NULL), 0);
    CU_ASSERT_TRUE(mi_mqtt_connected(c));
    mi_mqtt_close(c);
    say_numbers(rig, "a/b", "n", 10, 10);
    struct account a = account_settled(rig, "all", 21, 20000);
    CU_ASSERT_EQUAL(a.received, 21);
    CU_ASSERT_EQUAL(a.committed, 20);
    CU_ASSERT_EQUAL(a.dead_lettered, 1);
    CU_ASSERT_TRUE(mi_readback_wait(rig->readback, "s", "t", 20, 2000));
    assert_numbers(rig, "n", 0, 20);
    free(payload);
    finish();
}

static void field_109_ninety_nine_good_and_one_bad(void)
{
    if (!start("reject-message BAD"))
        return;
    mi_iggy_server_fault(&rig->iggy, "on produce delay 500"); /* so that they gather to one batch */
    say_numbers(rig, "a/b", "n", 0, 60);
    struct mi_mqtt *c = rig_client(rig, "bad", MQTT_PROTOCOL_V311);
    CU_ASSERT_EQUAL(mi_mqtt_say(c, "a/b", "BAD", 1), 0);
    mi_mqtt_close(c);
    say_numbers(rig, "a/b", "n", 60, 39);
    assert_account(100, 99, 1);
    CU_ASSERT_EQUAL(count_filed("BAD"), 1);
    assert_numbers(rig, "n", 0, 99);
    finish();
}

static void an_unusable_name_goes_to_the_dead_letter_stream(void)
{
    char topic[400];
    CU_ASSERT_TRUE_FATAL(start(NULL));
    snprintf(topic, sizeof topic, "names/%0300d", 7);
    say_numbers(rig, topic, "n", 0, 3);
    CU_ASSERT_TRUE(mi_readback_wait(rig->readback, "mqtt", "dead", 3, 10000));
    assert_numbers(rig, "n", 0, 3);
    CU_ASSERT_EQUAL(account_settled(rig, "names", 3, 5000).dead_lettered, 3);
    finish();
}

static void field_129_half_of_them_are_refused(void)
{
    if (!start("reject-message BAD"))
        return;
    struct mi_mqtt *c = rig_client(rig, "c", MQTT_PROTOCOL_V311);
    for (int i = 0; i < 40; i++) {
        char text[16];
        snprintf(text, sizeof text, "n%d", i);
        CU_ASSERT_EQUAL(mi_mqtt_say(c, "a/b", "BAD", 1), 0);
        CU_ASSERT_EQUAL(mi_mqtt_say(c, "a/b", text, 1), 0);
    }
    mi_mqtt_close(c);
    assert_account(80, 40, 40);
    CU_ASSERT_EQUAL(count_filed("BAD"), 40);
    assert_numbers(rig, "n", 0, 40);
    finish();
}

/* 130: what was delivered in the end is not counted as failed; 131: each counter moves. */
static void field_130_131_resent_and_found_are_told_apart(void)
{
    if (!start(NULL) || !mi_iggy_server_fault(&rig->iggy, "on produce next 503"))
        return;
    say_numbers(rig, "a/b", "n", 0, 1);
    struct account a = account_settled(rig, "all", 1, 10000);
    CU_ASSERT_EQUAL(a.committed, 1);
    CU_ASSERT_EQUAL(a.resent, 1);
    CU_ASSERT_EQUAL(a.found, 0);
    mi_iggy_server_fault(&rig->iggy, "on produce cut after");
    say_numbers(rig, "a/b", "n", 1, 1);
    a = account_settled(rig, "all", 2, 20000);
    CU_ASSERT_EQUAL(a.committed, 2);
    CU_ASSERT_EQUAL(a.resent, 1);
    CU_ASSERT_EQUAL(a.found, 1);
    CU_ASSERT_EQUAL(a.dropped + a.dead_lettered + a.rejected, 0);
    assert_account(2, 2, 0);
    finish();
}

/* 133: gauges come from the journal; 134: counters go on after a kill -9, whatever waited. */
static void field_133_134_the_account_goes_on_after_kill_9(void)
{
    CU_ASSERT_TRUE_FATAL(start(NULL));
    say_numbers(rig, "a/b", "n", 0, 50);
    account_settled(rig, "all", 50, 10000);
    mi_iggy_server_stop(&rig->iggy);
    say_numbers(rig, "a/b", "n", 50, 30);
    CU_ASSERT_EQUAL(rig_metric(rig, "mosquitto_iggy_pending{route=\"all\"}", 30, 5000), 30);
    mi_broker_kill(&rig->broker);
    CU_ASSERT_TRUE_FATAL(mi_broker_start(&rig->broker));
    rig_metric(rig, "mosquitto_iggy_received_total{route=\"all\"}", 80, 5000);
    struct account a = account_of(rig, "all");
    CU_ASSERT_EQUAL(a.received, 80);
    CU_ASSERT_EQUAL(a.committed + a.pending, 80);
    CU_ASSERT_TRUE(mi_iggy_server_start(&rig->iggy));
    assert_account(80, 80, 0);
    assert_numbers(rig, "n", 0, 80);
    finish();
}

static CU_TestInfo tests[] = {
    {"field 108: a message too large, between others", field_108_a_message_too_large_between_others},
    {"field 109: 99 good and 1 bad", field_109_ninety_nine_good_and_one_bad},
    {"an unusable name goes to the dead-letter stream", an_unusable_name_goes_to_the_dead_letter_stream},
    {"field 129: half of them are refused", field_129_half_of_them_are_refused},
    {"field 130 131: resent and found are told apart", field_130_131_resent_and_found_are_told_apart},
    {"field 133 134: the account goes on after kill -9", field_133_134_the_account_goes_on_after_kill_9},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("account", tests)
