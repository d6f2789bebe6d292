/* history: a client asks for the past of a topic with an ordinary SUBSCRIBE, page by page. */
#include "pages.h"
#include "rig.h"

#include <mqtt_protocol.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROOMS = 7, PER_ROOM = 40, ALL = ROOMS * PER_ROOM };

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
        CU_ASSERT_EQUAL(mi_mqtt_say(publisher, topic, text, i % ROOMS % 3) & 0x80, 0);
    }
    CU_ASSERT_TRUE_FATAL(mi_readback_wait(rig->readback, "rooms", "messages", ALL, 20000));
}

/* Per topic each message is newer than the one before. */
struct order {
    int last[ROOMS], seen[ROOMS];
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
}

static void the_whole_log(int protocol, int qos)
{
    start();
    struct mi_mqtt *c = rig_client(rig, "reader", protocol);
    struct order order = {.ok = true};
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
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
}

static CU_TestInfo tests[] = {
    {"page by page is the whole log, in order", page_by_page_is_the_whole_log_in_order},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("history", tests)
