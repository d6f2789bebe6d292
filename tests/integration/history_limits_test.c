/* history: rights by acl_file, what ends a request early, too many of them, answers of Iggy that are of no
 * use, and topics that are larger than any memory. */
#include "pages.h"
#include "rig.h"

#include <inttypes.h>
#include <mqtt_protocol.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOMS = 4, PER_ROOM = 30, MAX_REQUESTS = 3 };

static const char config[] = RIG_CONFIG
    "'broker':{'acl':'acl_file','acl_file':'DIR/acl'},"
    "'history':{'page':100,'max_scan':'4MB','max_time':'4s','max_requests':3},"
    "'limits':{'max_poll_bytes':'256KB'},'routes':["
    "{'name':'rooms','filter':'rooms/#','direction':'out','stream':'rooms','topic':'messages',"
    " 'create':{'partitions':2}},"
    "{'name':'made','filter':'made/#','direction':'both','stream':'made','topic':'huge',"
    " 'start':'latest','create':false},"
    "{'name':'native','direction':'in','stream':'native','topic':'large','mqtt_topic':'native/{topic}',"
    " 'create':false}]}";
static const char acl[] = "topic readwrite live\ntopic write rooms/#\ntopic read made/#\ntopic read $iggy/#\n"
                          "pattern read rooms/%c/#\nuser all\ntopic readwrite #\n";

static struct rig *rig;
static struct mi_mqtt *publisher;

static bool write_acl(const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/acl", rig->broker.dir);
    return mi_write_file(path, text);
}

static void start(void)
{
    if (rig)
        return;
    rig = rig_new("acl_file DIR/acl\n", NULL);
    CU_ASSERT_TRUE_FATAL(write_acl(acl) && rig_start(rig, config));
    publisher = rig_client(rig, "publisher", MQTT_PROTOCOL_V5);
    CU_ASSERT_PTR_NOT_NULL_FATAL(publisher);
    char topic[32], text[32];
    for (int i = 0; i < ROOMS * PER_ROOM; i++) {
        snprintf(topic, sizeof topic, "rooms/%d/temp", i % ROOMS);
        snprintf(text, sizeof text, "%d", i);
        CU_ASSERT_EQUAL(mi_mqtt_say(publisher, topic, text, 1) & 0x80, 0);
    }
    CU_ASSERT_TRUE_FATAL(mi_readback_wait(rig->readback, "rooms", "messages", ROOMS * PER_ROOM, 20000));
}

static struct mi_mqtt *client(const char *id, const char *username)
{
    start();
    struct mi_mqtt_options o = {
        .port = rig->broker.port, .client_id = id, .username = username, .protocol = MQTT_PROTOCOL_V311};
    struct mi_mqtt *c = mi_mqtt_connect(&o);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    return c;
}

static bool fault(const char *line)
{
    return mi_iggy_server_fault(&rig->iggy, line);
}

/* ---- rights ---- */

static void the_acl_file_decides_per_message(void)
{
    struct mi_mqtt *three = client("3", NULL), *nobody = client("nobody", NULL), *all = client("all", "all");
    struct page p;
    CU_ASSERT_EQUAL(page_all(three, "first", "rooms/#", 1, 5, NULL, NULL), PER_ROOM);
    for (size_t i = 0; i < mi_mqtt_count(three); i++)
        CU_ASSERT_TRUE(strstr(mi_mqtt_message(three, i)->topic, "/rooms/3/") ||
                       strstr(mi_mqtt_message(three, i)->topic, "$end"));
    CU_ASSERT_EQUAL(page_all(nobody, "first", "rooms/#", 1, 5, NULL, NULL), 0);
    CU_ASSERT_TRUE(page_ask(nobody, "last-5", "rooms/3/temp", 1, &p) && p.messages == 0);
    CU_ASSERT_EQUAL(page_all(all, "first", "rooms/#", 1, 5, NULL, NULL), ROOMS * PER_ROOM);
    double denied = rig_metric(rig, "mosquitto_iggy_history_denied_total", 1, 3000);
    CU_ASSERT_EQUAL(denied, (ROOMS - 1) * PER_ROOM + ROOMS * PER_ROOM + 5);
    mi_mqtt_close(three);
    mi_mqtt_close(nobody);
    mi_mqtt_close(all);
}

static void a_reload_reads_the_acl_file_again(void)
{
    struct mi_mqtt *three = client("3", NULL);
    CU_ASSERT_TRUE(write_acl("topic readwrite live\ntopic write rooms/#\ntopic read rooms/1/#\n"));
    size_t before = mi_broker_count(&rig->broker, "reload: the new configuration is in force");
    CU_ASSERT_TRUE(mi_broker_reload(&rig->broker));
    for (uint64_t end = mi_monotonic_ms() + 5000; mi_monotonic_ms() < end; mi_sleep_ms(20))
        if (mi_broker_count(&rig->broker, "reload: the new configuration is in force") > before)
            break;
    CU_ASSERT_EQUAL(page_all(three, "first", "rooms/3/temp", 1, 5, NULL, NULL), 0);
    CU_ASSERT_EQUAL(page_all(three, "first", "rooms/1/temp", 1, 5, NULL, NULL), PER_ROOM);
    CU_ASSERT_TRUE(write_acl(acl) && mi_broker_reload(&rig->broker));
    for (uint64_t end = mi_monotonic_ms() + 5000; mi_monotonic_ms() < end; mi_sleep_ms(20))
        if (mi_broker_count(&rig->broker, "reload: the new configuration is in force") > before + 1)
            break;
    CU_ASSERT_EQUAL(page_all(three, "first", "rooms/3/temp", 1, 5, NULL, NULL), PER_ROOM);
    mi_mqtt_close(three);
}

/* ---- ended by the client ---- */

static const char cancelled[] = "mosquitto_iggy_history_cancelled_total";

static void what_the_client_does_ends_it(void)
{
    struct mi_mqtt *c = client("walker", "all"), *again;
    if (rig->iggy.real)
        return;
    double before = rig_metric(rig, cancelled, 0, 1000);
    CU_ASSERT_TRUE(fault("on poll delay 1000 always"));
    CU_ASSERT_TRUE(mi_mqtt_subscribe(c, "$iggy/first/rooms/#", 1));
    mi_mqtt_run(c, 100);
    CU_ASSERT_TRUE(mi_mqtt_unsubscribe(c, "$iggy/first/rooms/#"));
    CU_ASSERT_EQUAL(rig_metric(rig, cancelled, before + 1, 3000), before + 1);
    mi_mqtt_run(c, 1500);
    CU_ASSERT_EQUAL(mi_mqtt_count(c), 0);
    /* Taken over by the same client id, then gone. */
    CU_ASSERT_TRUE(mi_mqtt_subscribe(c, "$iggy/first/rooms/#", 1));
    mi_mqtt_run(c, 100);
    again = client("walker", "all");
    CU_ASSERT_EQUAL(rig_metric(rig, cancelled, before + 2, 3000), before + 2);
    mi_mqtt_run(again, 1500);
    CU_ASSERT_EQUAL(mi_mqtt_count(again), 0);
    CU_ASSERT_TRUE(mi_mqtt_subscribe(again, "$iggy/first/rooms/#", 1));
    mi_mqtt_run(again, 100);
    mi_mqtt_cut(again);
    CU_ASSERT_EQUAL(rig_metric(rig, cancelled, before + 3, 3000), before + 3);
    /* Asked again by the same connection: begins anew, and answers once. */
    struct mi_mqtt *twice = client("twice", "all");
    CU_ASSERT_TRUE(mi_mqtt_subscribe(twice, "$iggy/first/rooms/1/temp", 1));
    mi_mqtt_run(twice, 100);
    CU_ASSERT_TRUE(fault("clear"));
    struct page p;
    CU_ASSERT_TRUE(page_ask(twice, "first", "rooms/1/temp", 1, &p) && p.complete && p.count == PER_ROOM);
    mi_mqtt_run(twice, 300);
    CU_ASSERT_EQUAL(mi_mqtt_count(twice), PER_ROOM + 1);
    mi_mqtt_close(c);
    mi_mqtt_close(twice);
}

static void too_many_are_refused_and_live_goes_on(void)
{
    struct mi_mqtt *c = client("many", "all"), *other = client("other", "all"), *live = client("live", NULL);
    struct page p;
    char filter[64];
    if (rig->iggy.real)
        return;
    CU_ASSERT_TRUE(fault("on poll delay 2500 always"));
    for (int i = 0; i < MAX_REQUESTS; i++) {
        snprintf(filter, sizeof filter, "$iggy/first/rooms/%d/temp", i);
        CU_ASSERT_TRUE(mi_mqtt_subscribe(c, filter, 1));
    }
    CU_ASSERT_TRUE(page_ask(other, "first", "rooms/#", 1, &p));
    CU_ASSERT_STRING_EQUAL(p.reason, "refused");
    CU_ASSERT_PTR_NOT_NULL(strstr(p.text, "too many"));
    CU_ASSERT_TRUE(mi_mqtt_subscribe(live, "live", 1));
    CU_ASSERT_TRUE(mi_mqtt_say(publisher, "live", "now", 1) < 0x80);
    CU_ASSERT_TRUE(mi_mqtt_wait(live, 1, 10000)); /* no poll is answered meanwhile */
    CU_ASSERT_TRUE(fault("clear"));
    mi_mqtt_close(c);
    mi_mqtt_close(other);
    mi_mqtt_close(live);
}

/* ---- Iggy ---- */

static void broken_answers_end_with_a_reason(void)
{
    static const char *const faults[] = {"on poll garble always", "on poll truncate always",
                                         "on poll next 500 always", "on poll cut before always",
                                         "on topics next 500 always"};
    struct mi_mqtt *c = client("reader", "all");
    struct page p;
    if (rig->iggy.real)
        return;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        CU_ASSERT_TRUE(fault(faults[i]));
        CU_ASSERT_TRUE(page_ask(c, "first", "rooms/#", 1, &p));
        CU_ASSERT_FALSE(p.complete);
        CU_ASSERT_TRUE(strcmp(p.reason, "iggy") == 0 || strcmp(p.reason, "max_time") == 0);
        printf("\n    %s: %s %s", faults[i], p.reason, p.text);
        CU_ASSERT_TRUE(fault("clear"));
        /* Where it ended it goes on, and nothing is missing. */
        CU_ASSERT_EQUAL(page_all(c, p.next, "rooms/#", 1, 5, NULL, NULL), ROOMS * PER_ROOM);
    }
    CU_ASSERT_TRUE(fault("on poll slow 2000 always"));
    CU_ASSERT_TRUE(page_ask(c, "last-50", "rooms/#", 1, &p));
    CU_ASSERT_STRING_EQUAL(p.reason, "max_time");
    CU_ASSERT_TRUE(fault("clear"));
    CU_ASSERT_TRUE(fault("on poll next 504 drop 2"));
    CU_ASSERT_EQUAL(page_all(c, "first", "rooms/#", 1, 5, NULL, NULL), ROOMS * PER_ROOM);
    mi_mqtt_close(c);
}

static void a_message_too_large_to_be_read_is_left_out(void)
{
    struct mi_mqtt *c = client("reader", "all");
    struct page p;
    char *large = malloc(300001);
    CU_ASSERT_PTR_NOT_NULL_FATAL(large);
    memset(large, 'x', 300000);
    large[300000] = '\0';
    CU_ASSERT_TRUE(mi_readback_create(rig->readback, "native", "large", 1));
    for (int i = 0; i < 40; i++)
        CU_ASSERT_TRUE(mi_readback_produce(rig->readback, "native", "large", 0, mi_span_of(NULL),
                                           i == 17 || i == 18 ? large : "small"));
    free(large);
    CU_ASSERT_TRUE(page_ask(c, "first", "native/large", 1, &p) && p.complete);
    CU_ASSERT_TRUE(p.count == 38 && p.messages == 38 && p.skipped == 2);
    CU_ASSERT_TRUE(page_ask(c, "last-100", "native/large", 1, &p) && p.complete);
    CU_ASSERT_TRUE(p.count == 38 && p.messages == 38 && p.skipped == 2);
    mi_mqtt_close(c);
}

/* Resident memory of the broker in KB. */
static long resident_kb(void)
{
    char path[64], line[256];
    long kb = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)rig->broker.process.pid);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmRSS: %ld", &kb) == 1)
            break;
    if (f)
        fclose(f);
    return kb;
}

static void a_topic_of_100_gb(void)
{
    struct mi_mqtt *c = client("reader", "all");
    struct page p;
    if (rig->iggy.real)
        return;
    /* Two partitions of 250 million messages of 200 bytes, one every 800 ms from 2020 on. */
    CU_ASSERT_TRUE(mi_readback_create(rig->readback, "made", "huge", 2));
    CU_ASSERT_TRUE(fault("synthetic made huge 250000000 200 1577836800000000 800000 made"));
    CU_ASSERT_TRUE(page_ask(c, "last-1", "made/#", 1, &p));
    long before = resident_kb();
    uint64_t began = mi_monotonic_ms();
    CU_ASSERT_TRUE(page_ask(c, "1970-01-01T00:00:00Z", "made/#", 1, &p) && p.count == 100);
    CU_ASSERT_TRUE(strcmp(p.reason, "page") == 0 && p.next[0]);
    CU_ASSERT_EQUAL(strncmp((const char *)mi_mqtt_message(c, p.first)->payload, "0 ", 2), 0);
    CU_ASSERT_TRUE(page_ask(c, "2023-01-01T00:00:00Z", "made/7", 1, &p) && p.count == 100);
    /* 94694400 s after 2020: message 118368000 is the first of that time, 118368007 that of made/7. */
    CU_ASSERT_EQUAL(strncmp((const char *)mi_mqtt_message(c, p.first)->payload, "118368007", 9), 0);
    CU_ASSERT_TRUE(page_ask(c, "last-100", "made/#", 1, &p) && p.complete && p.count == 100);
    CU_ASSERT_TRUE(page_ask(c, "last-100", "made/3", 1, &p) && p.complete && p.count == 100);
    CU_ASSERT_EQUAL(strncmp((const char *)mi_mqtt_message(c, p.first + 99)->payload, "249999993", 9), 0);
    printf("\n    1970, 2023, last-100 twice: %" PRIu64 " ms", mi_monotonic_ms() - began);
    /* Nothing matches: cut by what was read, and the cursor goes on from there, forward and backward. */
    static const char *const froms[] = {"first", "last-100"};
    for (size_t i = 0; i < 2; i++) {
        char next[1100];
        snprintf(next, sizeof next, "%s", froms[i]);
        for (int page = 0; page < 3; page++) {
            CU_ASSERT_TRUE(page_ask(c, next, "made/none", 1, &p) && p.count == 0 && !p.complete);
            CU_ASSERT_STRING_EQUAL(p.reason, "max_scan");
            CU_ASSERT_TRUE_FATAL(p.next[0] && strcmp(p.next, next) != 0);
            snprintf(next, sizeof next, "%s", p.next);
        }
    }
    /* Longer than memory would be a test of hours; what stays after 100 pages is what was there after 1. */
    char next[1100] = "first";
    for (int page = 0; page < 100; page++) {
        CU_ASSERT_TRUE_FATAL(page_ask(c, next, "made/#", 0, &p) && p.count == 100 && p.next[0]);
        snprintf(next, sizeof next, "%s", p.next);
    }
    printf("\n    resident: %ld KB before, %ld KB after\n", before, resident_kb());
    CU_ASSERT_TRUE(resident_kb() < before + 24 * 1024);
    mi_mqtt_close(c);
}

static CU_TestInfo tests[] = {
    {"the acl_file decides per message", the_acl_file_decides_per_message},
    {"a reload reads the acl_file again", a_reload_reads_the_acl_file_again},
    {"what the client does ends it", what_the_client_does_ends_it},
    {"too many are refused, and live goes on", too_many_are_refused_and_live_goes_on},
    {"broken answers end with a reason", broken_answers_end_with_a_reason},
    {"a message too large to be read is left out", a_message_too_large_to_be_read_is_left_out},
    {"a topic of 100 GB", a_topic_of_100_gb},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("history_limits", tests)
