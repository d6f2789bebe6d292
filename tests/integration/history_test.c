/* history: a client asks for the past of a topic with an ordinary SUBSCRIBE, page by page. */
#include "pages.h"
#include "rig.h"

#include "message/headers.h"

#include <mqtt_protocol.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROOMS = 7, PER_ROOM = 40, ALL = ROOMS * PER_ROOM, PAGE = 50, NEWEST = 20 };

static const char config[] =
    RIG_CONFIG "'broker':{'acl':'none'},'history':{'page':50},'routes':["
               "{'name':'rooms','filter':'rooms/#','direction':'out','stream':'rooms','topic':'messages',"
               " 'create':{'partitions':3}},"
               "{'name':'houses','filter':'house/{house}/#','direction':'both','stream':'house_{house}',"
               " 'topic':'all','create':{'partitions':2,'max_targets':10}},"
               "{'name':'commands','direction':'in','stream':'commands','topic':'devices',"
               " 'mqtt_topic':'devices/{header:device}/command','qos':1}]}";

static struct rig *rig;
static struct mi_mqtt *publisher;

static void start(void)
{
    if (rig)
        return;
    rig = rig_new(NULL, NULL);
    CU_ASSERT_TRUE_FATAL(rig_start(rig, config));
    publisher = rig_client(rig, "publisher", MQTT_PROTOCOL_V5);
    CU_ASSERT_PTR_NOT_NULL_FATAL(publisher);
    char topic[32], text[32];
    for (int i = 0; i < ALL; i++) {
        snprintf(topic, sizeof topic, "rooms/%d/temp", i % ROOMS);
        snprintf(text, sizeof text, "%d", i);
        /* One QoS per topic, as devices do: MQTT keeps the order of a topic per QoS only. */
        CU_ASSERT_EQUAL(mi_mqtt_say(publisher, topic, text, i % ROOMS % 3) & 0x80, 0);
        /* The last ones are appended after all others, in whichever partition. */
        if (i == ALL - NEWEST - 1)
            CU_ASSERT_TRUE_FATAL(mi_readback_wait(rig->readback, "rooms", "messages", ALL - NEWEST, 20000));
    }
    CU_ASSERT_TRUE_FATAL(mi_readback_wait(rig->readback, "rooms", "messages", ALL, 20000));
}

static struct mi_mqtt *client(const char *id, int protocol)
{
    start();
    struct mi_mqtt *c = rig_client(rig, id, protocol);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    return c;
}

/* Per topic each message is newer than the one before. */
struct order {
    int last[ROOMS], seen[ROOMS];
    int lowest;
    bool ok;
};

static void in_order(void *context, const char *topic, const struct mi_mqtt_message *m)
{
    struct order *o = context;
    int room = -1, value = atoi((const char *)m->payload);
    if (sscanf(topic, "rooms/%d/temp", &room) != 1 || room < 0 || room >= ROOMS || value % ROOMS != room ||
        (o->seen[room] && value <= o->last[room]) || m->retain) {
        o->ok = false;
        return;
    }
    o->last[room] = value;
    o->seen[room]++;
    o->lowest = value < o->lowest ? value : o->lowest;
}

/* ---- what can be asked ---- */

static void the_whole_log(int protocol, int qos)
{
    struct mi_mqtt *c = client("reader", protocol);
    struct order order = {.ok = true};
    CU_ASSERT_EQUAL(page_all(c, "first", "rooms/#", qos, 20, in_order, &order), ALL);
    CU_ASSERT_TRUE(order.ok);
    for (int i = 0; i < ROOMS; i++)
        CU_ASSERT_EQUAL(order.seen[i], PER_ROOM);
    mi_mqtt_close(c);
}

static void page_by_page_is_the_whole_log_in_order(void)
{
    the_whole_log(MQTT_PROTOCOL_V311, 1);
    the_whole_log(MQTT_PROTOCOL_V5, 2);
    the_whole_log(MQTT_PROTOCOL_V5, 0);
    the_whole_log(MQTT_PROTOCOL_V311, 2);
}

static void filters_choose(void)
{
    struct mi_mqtt *c = client("reader", MQTT_PROTOCOL_V311);
    struct order order = {.ok = true};
    struct page p;
    CU_ASSERT_EQUAL(page_all(c, "first", "rooms/3/temp", 1, 5, in_order, &order), PER_ROOM);
    CU_ASSERT_TRUE(order.ok && order.seen[3] == PER_ROOM);
    CU_ASSERT_EQUAL(page_all(c, "first", "rooms/+/temp", 1, 20, NULL, NULL), ALL);
    CU_ASSERT_EQUAL(page_all(c, "first", "rooms/3/#", 1, 20, NULL, NULL), PER_ROOM);
    CU_ASSERT_EQUAL(page_all(c, "first", "+/5/+", 1, 20, NULL, NULL), PER_ROOM);
    CU_ASSERT_EQUAL(page_all(c, "first", "rooms/+", 1, 20, NULL, NULL), 0);
    CU_ASSERT_TRUE(page_ask(c, "first", "rooms/99/temp", 1, &p) && p.complete && p.count == 0);
    mi_mqtt_close(c);
}

static void the_newest(void)
{
    struct mi_mqtt *c = client("reader", MQTT_PROTOCOL_V5);
    struct order order = {.ok = true, .lowest = ALL};
    struct page p;
    CU_ASSERT_TRUE(page_ask(c, "last-5", "rooms/2/temp", 1, &p) && p.complete && p.count == 5);
    for (size_t i = 0; i < p.count; i++)
        in_order(&order, page_topic(mi_mqtt_message(c, p.first + i), "last-5"),
                 mi_mqtt_message(c, p.first + i));
    CU_ASSERT_TRUE(order.ok && order.last[2] == ALL - ROOMS + 2 && order.lowest == ALL - 5 * ROOMS + 2);
    CU_ASSERT_TRUE(page_ask(c, "last-1000", "rooms/2/temp", 1, &p) && p.complete && p.count == PER_ROOM);
    mi_mqtt_close(c);
}

static void count_each(void *context, const char *topic, const struct mi_mqtt_message *m)
{
    int *seen = context;
    (void)topic;
    seen[atoi((const char *)m->payload) % ALL]++;
}

/* More than a page: page after page goes back in time, by the time of the append. */
static void the_newest_of_more_than_a_page(void)
{
    struct mi_mqtt *c = client("reader", MQTT_PROTOCOL_V311);
    int seen[ALL] = {0};
    CU_ASSERT_EQUAL(page_all(c, "last-120", "rooms/#", 1, 5, count_each, seen), 120);
    for (int i = 0; i < ALL; i++)
        CU_ASSERT_TRUE(seen[i] <= 1);
    for (int i = 0; i < ALL - ROOMS; i++)
        CU_ASSERT_TRUE(seen[i] <= seen[i + ROOMS]);
    for (int i = ALL - NEWEST; i < ALL; i++)
        CU_ASSERT_EQUAL(seen[i], 1);
    memset(seen, 0, sizeof seen);
    CU_ASSERT_EQUAL(page_all(c, "last-9999", "rooms/#", 1, 10, count_each, seen), ALL);
    for (int i = 0; i < ALL; i++)
        CU_ASSERT_EQUAL(seen[i], 1);
    mi_mqtt_close(c);
}

/* As another bridge would have written it, at that time. */
static bool foreign(const char *stream, const char *topic, uint32_t partition, const char *mqtt_topic,
                    const char *payload, uint64_t time_us)
{
    struct mi_envelope e;
    struct mi_message m = {.topic = mi_span_of(mqtt_topic),
                           .payload = mi_span_of(payload),
                           .qos = 1,
                           .retain = true,
                           .origin = mi_span_of("ffffffffffffffffffffffffffffffff"),
                           .time_us = time_us};
    mi_envelope_init(&e);
    bool ok = mi_envelope_encode(&e, &m) &&
              mi_readback_produce(rig->readback, stream, topic, partition, mi_buf_span(&e.headers), payload);
    mi_envelope_fini(&e);
    return ok;
}

static void times_choose(void)
{
    struct mi_mqtt *c = client("reader", MQTT_PROTOCOL_V311);
    struct page p;
    const uint64_t s = 1000000, y2020 = 1577836800 * s, y2021 = 1609459200 * s;
    uint64_t now = (uint64_t)time(NULL) * s;
    CU_ASSERT_TRUE(mi_readback_create(rig->readback, "house_a", "all", 2));
    CU_ASSERT_TRUE(foreign("house_a", "all", 0, "house/a/x", "2020", y2020));
    CU_ASSERT_TRUE(foreign("house_a", "all", 1, "house/a/y", "2021", y2021));
    CU_ASSERT_TRUE(foreign("house_a", "all", 0, "house/a/x", "hours", now - 5 * 3600 * s));
    CU_ASSERT_TRUE(foreign("house_a", "all", 1, "house/a/y", "minutes", now - 5 * 60 * s));
    static const struct {
        const char *from;
        size_t count;
    } asks[] = {{"1970-01-01T00:00:00Z", 4},
                {"2020-06-01T00:00:00-05:00", 3},
                {"2021-01-01T00:00:00Z", 3},
                {"2021-01-01T00:00:01Z", 2},
                {"6h", 2},
                {"1h", 1},
                {"2w", 2},
                {"60s", 0},
                {"first", 4}};
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
        CU_ASSERT_TRUE(page_ask(c, asks[i].from, "house/a/#", 1, &p));
        CU_ASSERT_TRUE(p.complete && p.count == asks[i].count);
        if (p.count != asks[i].count)
            printf("\n    %s: %zu messages, %s %s\n", asks[i].from, p.count, p.reason, p.text);
    }
    mi_mqtt_close(c);
}

static void streams_of_templates_are_found(void)
{
    struct mi_mqtt *c = client("reader", MQTT_PROTOCOL_V5);
    struct page p;
    CU_ASSERT_TRUE(mi_mqtt_say(publisher, "house/b/door", "open", 1) < 0x80);
    CU_ASSERT_TRUE(mi_mqtt_say(publisher, "house/c/door", "shut", 1) < 0x80);
    CU_ASSERT_TRUE(mi_readback_wait(rig->readback, "house_b", "all", 1, 10000));
    CU_ASSERT_TRUE(mi_readback_wait(rig->readback, "house_c", "all", 1, 10000));
    CU_ASSERT_TRUE(page_ask(c, "first", "house/+/door", 1, &p) && p.complete && p.count == 2);
    CU_ASSERT_TRUE(page_ask(c, "last-10", "house/+/door", 1, &p) && p.complete && p.count == 2);
    CU_ASSERT_TRUE(page_ask(c, "first", "house/c/#", 1, &p) && p.complete && p.count == 1);
    CU_ASSERT_STRING_EQUAL(mi_mqtt_message(c, p.first)->topic, "$iggy/first/house/c/door");
    CU_ASSERT_TRUE(page_ask(c, "first", "house/none/#", 1, &p) && p.complete && p.count == 0);
    mi_mqtt_close(c);
}

static void native_messages_come_on_the_route_s_topic(void)
{
    struct mi_mqtt *c = client("reader", MQTT_PROTOCOL_V311);
    struct mi_buf block;
    struct page p;
    mi_buf_init(&block, 1000);
    CU_ASSERT_TRUE(mi_headers_add(&block, mi_span_of("device"), MI_HEADER_STRING, mi_span_of("lamp7")));
    CU_ASSERT_TRUE(mi_readback_create(rig->readback, "commands", "devices", 1));
    CU_ASSERT_TRUE(mi_readback_produce(rig->readback, "commands", "devices", 0, mi_buf_span(&block), "on"));
    CU_ASSERT_TRUE(
        mi_readback_produce(rig->readback, "commands", "devices", 0, mi_span_of(NULL), "no device"));
    CU_ASSERT_TRUE(foreign("commands", "devices", 0, "admin/cmd", "somebody else's topic", 1));
    CU_ASSERT_TRUE(page_ask(c, "1h", "devices/+/command", 1, &p) && p.complete && p.count == 1);
    CU_ASSERT_STRING_EQUAL(mi_mqtt_message(c, p.first)->topic, "$iggy/1h/devices/lamp7/command");
    CU_ASSERT_EQUAL(mi_mqtt_message(c, p.first)->qos, 1);
    CU_ASSERT_TRUE(page_ask(c, "1h", "devices/lamp8/command", 1, &p) && p.complete && p.count == 0);
    mi_buf_fini(&block);
    mi_mqtt_close(c);
}

/* Only what the route itself would have sent there is shown (promise 11). */
static void what_somebody_put_into_a_stream_is_not_shown_elsewhere(void)
{
    struct mi_mqtt *c = client("reader", MQTT_PROTOCOL_V311);
    struct page p;
    CU_ASSERT_TRUE(mi_readback_create(rig->readback, "house_d", "all", 1));
    CU_ASSERT_TRUE(foreign("house_d", "all", 0, "house/e/x", "forged", 1));
    CU_ASSERT_TRUE(foreign("house_d", "all", 0, "rooms/1/temp", "forged", 1));
    CU_ASSERT_TRUE(foreign("house_d", "all", 0, "$SYS/broker/x", "forged", 1));
    CU_ASSERT_TRUE(foreign("house_d", "all", 0, "house/d/x", "true", 1));
    CU_ASSERT_TRUE(page_ask(c, "first", "house/d/#", 1, &p) && p.complete && p.count == 1);
    CU_ASSERT_TRUE(page_ask(c, "first", "house/e/#", 1, &p) && p.complete && p.count == 0);
    CU_ASSERT_TRUE(page_ask(c, "first", "house/+/x", 1, &p) && p.complete && p.count == 3);
    for (size_t i = 0; i < p.count; i++)
        CU_ASSERT_STRING_NOT_EQUAL(page_topic(mi_mqtt_message(c, p.first + i), "first"), "house/e/x");
    mi_mqtt_close(c);
}

/* ---- who gets it ---- */

/* How many of the messages from first on are answers to history, and whether "live" is among them. */
static size_t answers(struct mi_mqtt *c, size_t first, bool *live)
{
    size_t count = 0;
    for (size_t i = first; i < mi_mqtt_count(c); i++) {
        count += strncmp(mi_mqtt_message(c, i)->topic, "$iggy/", 6) == 0;
        *live = *live || strcmp(mi_mqtt_message(c, i)->topic, "live") == 0;
    }
    return count;
}

static void nobody_else_gets_it_and_live_goes_on(void)
{
    struct mi_mqtt *everything = client("everything", MQTT_PROTOCOL_V311);
    struct mi_mqtt *c = client("reader", MQTT_PROTOCOL_V311);
    struct page p;
    bool live = false;
    /* Messages of the houses may come live at any time: their streams are found one after the other. */
    CU_ASSERT_TRUE(mi_mqtt_subscribe(everything, "#", 1));
    CU_ASSERT_TRUE(page_ask(everything, "last-1", "rooms/0/temp", 1, &p) && p.messages == 1);
    CU_ASSERT_EQUAL(answers(everything, 0, &live), 2); /* its own, and the marker */
    CU_ASSERT_TRUE(page_ask(c, "last-1", "rooms/0/temp", 1, &p) && p.count == 1);
    CU_ASSERT_TRUE(page_ask(c, "last-20", "rooms/#", 1, &p) && p.count == 20);
    CU_ASSERT_TRUE(mi_mqtt_say(publisher, "live", "now", 1) < 0x80);
    for (uint64_t end = mi_monotonic_ms() + 10000; !live && mi_monotonic_ms() < end;) {
        mi_mqtt_run(everything, 20);
        answers(everything, 0, &live);
    }
    CU_ASSERT_TRUE(live);
    CU_ASSERT_EQUAL(answers(everything, 0, &live), 2);
    mi_mqtt_close(everything);
    mi_mqtt_close(c);
}

static void nobody_may_publish_answers(void)
{
    struct mi_mqtt *c = client("forger", MQTT_PROTOCOL_V5);
    CU_ASSERT_EQUAL(mi_mqtt_say(c, "$iggy/first/rooms/0/temp", "forged", 1), 0x87);
    mi_mqtt_close(c);
}

/* ---- what is refused ---- */

static void refusal(struct mi_mqtt *c, const char *from, const char *filter, const char *why)
{
    struct page p;
    CU_ASSERT_TRUE(page_ask(c, from, filter, 1, &p));
    CU_ASSERT_FALSE(p.complete);
    CU_ASSERT_EQUAL(p.count, 0);
    CU_ASSERT_STRING_EQUAL(p.reason, "refused");
    CU_ASSERT_PTR_NOT_NULL(strstr(p.text, why));
    if (!strstr(p.text, why))
        printf("\n    %s/%s: %s\n", from, filter, p.text);
}

static void what_is_refused_is_said(void)
{
    struct mi_mqtt *c = client("reader", MQTT_PROTOCOL_V311);
    struct page p;
    refusal(c, "bogus", "rooms/#", "FROM must be");
    refusal(c, "last-0", "rooms/#", "last-N");
    refusal(c, "15y", "rooms/#", "age");
    refusal(c, "2026-02-30T00:00:00Z", "rooms/#", "time");
    refusal(c, "first", "garden/#", "no route");
    refusal(c, "first", "$SYS/#", "no route");
    refusal(c, "c_AAAA", "rooms/#", "cursor");
    CU_ASSERT_TRUE(page_ask(c, "first", "rooms/#", 1, &p) && p.next[0]);
    refusal(c, p.next, "rooms/1/temp", "cursor");
    p.next[12] = p.next[12] == 'A' ? 'B' : 'A';
    refusal(c, p.next, "rooms/#", "cursor");
    size_t before = mi_mqtt_count(c);
    CU_ASSERT_TRUE(mi_mqtt_subscribe(c, "$share/g/$iggy/first/rooms/#", 1));
    CU_ASSERT_TRUE(mi_mqtt_wait(c, before + 1, 5000));
    CU_ASSERT_STRING_EQUAL(mi_mqtt_message(c, before)->topic, "$iggy/first/rooms/$end");
    CU_ASSERT_PTR_NOT_NULL(strstr((const char *)mi_mqtt_message(c, before)->payload, "shared"));
    mi_mqtt_close(c);
}

/* ---- restarts, mount points ---- */

static void field_75_a_cursor_survives_a_restart_of_the_broker(void)
{
    struct mi_mqtt *c = client("reader", MQTT_PROTOCOL_V311);
    struct page p;
    CU_ASSERT_TRUE(page_ask(c, "first", "rooms/#", 1, &p) && p.next[0] && p.count == PAGE);
    mi_mqtt_close(c);
    mi_mqtt_close(publisher);
    CU_ASSERT_TRUE_FATAL(mi_broker_stop(&rig->broker, 10000) && mi_broker_start(&rig->broker));
    publisher = rig_client(rig, "publisher", MQTT_PROTOCOL_V5);
    c = client("reader", MQTT_PROTOCOL_V311);
    CU_ASSERT_EQUAL(page_all(c, p.next, "rooms/#", 1, 20, NULL, NULL), ALL - PAGE);
    mi_mqtt_close(c);
}

/* 2.0.11 does not take the mount point off again, from no message at all; later ones do. */
static const char *without_mount(const struct mi_mqtt_message *m)
{
    return strncmp(m->topic, "tenant/", 7) == 0 ? m->topic + 7 : m->topic;
}

static void a_mount_point_is_kept_in_front(void)
{
    static const char mounted[] =
        RIG_CONFIG "'broker':{'acl':'none'},'history':{},'routes':["
                   "{'name':'all','filter':'#','direction':'out','stream':'all','topic':'messages'}]}";
    struct rig *r = rig_new(NULL, "plugin_opt_config_file DIR/iggy.json\nmount_point tenant/\n");
    CU_ASSERT_TRUE_FATAL(rig_start(r, mounted));
    struct mi_mqtt *c = rig_client(r, "mounted", MQTT_PROTOCOL_V311);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_TRUE(mi_mqtt_say(c, "rooms/1", "inside", 1) < 0x80);
    struct mi_mqtt *forger = rig_client(r, "forger", MQTT_PROTOCOL_V5);
    CU_ASSERT_EQUAL(mi_mqtt_say(forger, "$iggy/first/rooms/1", "forged", 1), 0x87);
    mi_mqtt_close(forger);
    CU_ASSERT_PTR_NOT_NULL(rig_arrived(r, "all", "messages", "tenant/rooms/1"));
    struct mi_envelope e;
    struct mi_message m = {.topic = mi_span_of("other/rooms/1"), .payload = mi_span_of("outside")};
    mi_envelope_init(&e);
    CU_ASSERT_TRUE(mi_envelope_encode(&e, &m) && mi_readback_produce(r->readback, "all", "messages", 0,
                                                                     mi_buf_span(&e.headers), "outside"));
    mi_envelope_fini(&e);
    CU_ASSERT_TRUE(mi_mqtt_subscribe(c, "$iggy/first/#", 1) && mi_mqtt_wait(c, 2, 10000));
    CU_ASSERT_EQUAL(mi_mqtt_count(c), 2);
    CU_ASSERT_STRING_EQUAL(without_mount(mi_mqtt_message(c, 0)), "$iggy/first/rooms/1");
    CU_ASSERT_STRING_EQUAL((const char *)mi_mqtt_message(c, 0)->payload, "inside");
    CU_ASSERT_STRING_EQUAL(without_mount(mi_mqtt_message(c, 1)), "$iggy/first/$end");
    mi_mqtt_close(c);
    rig_free(r);
}

static CU_TestInfo tests[] = {
    {"page by page is the whole log, in order", page_by_page_is_the_whole_log_in_order},
    {"filters choose", filters_choose},
    {"the newest", the_newest},
    {"the newest of more than a page", the_newest_of_more_than_a_page},
    {"times choose", times_choose},
    {"streams of templates are found", streams_of_templates_are_found},
    {"native messages come on the route's topic", native_messages_come_on_the_route_s_topic},
    {"what somebody put into a stream is not shown elsewhere",
     what_somebody_put_into_a_stream_is_not_shown_elsewhere},
    {"nobody else gets it, and live goes on", nobody_else_gets_it_and_live_goes_on},
    {"nobody may publish answers", nobody_may_publish_answers},
    {"what is refused is said", what_is_refused_is_said},
    {"field 75: a cursor survives a restart of the broker",
     field_75_a_cursor_survives_a_restart_of_the_broker},
    {"a mount point is kept in front", a_mount_point_is_kept_in_front},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("history", tests)
