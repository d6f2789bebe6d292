/* history_event: what a SUBSCRIBE to $iggy/... begins, what ends it, and who is given what is found. */
#include "fake_history.h"
#include "fakes.h"
#include "stubs.h"
#include "support/suite.h"

#include "broker/history_event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct mi_history_event *events;
static struct mi_log silent;
static struct mi_metrics *metrics;
static struct mosquitto alice, bob;

static void log_nothing(void *context, enum mi_log_level level, const char *line)
{
    (void)context, (void)level, (void)line;
}

static struct mi_metrics *metrics;

static void begin(bool v2_1, enum mi_broker_acl acl)
{
    stubs_reset();
    fakes_reset();
    fake_history_reset();
    silent.write = log_nothing;
    stubs.only_client = "a";
    fakes.config.history = true;
    fakes.config.broker.acl = acl;
    alice = (struct mosquitto){.id = "a", .username = "alice"};
    bob = (struct mosquitto){.id = "b"};
    metrics = mi_metrics_new();
    struct mi_history_event_options o = {
        .v2_1 = v2_1, .config = &fakes.config, .metrics = metrics, .clock = &mi_clock_system, .log = &silent};
    events = mi_history_event_new(&o);
    CU_ASSERT_PTR_NOT_NULL_FATAL(events);
}

static void end(void)
{
    mi_history_event_free(events);
    mi_metrics_free(metrics);
    CU_ASSERT_EQUAL(fake_history.made, fake_history.freed);
    CU_ASSERT_EQUAL(fakes.holders, 0);
    fake_history_reset();
    fakes_reset();
}

static struct mi_client_event event(struct mosquitto *client, const char *filter)
{
    return (struct mi_client_event){
        .client = client, .client_id = mi_span_of(client->id), .filter = filter, .qos = 1};
}

static void subscribe(struct mosquitto *client, const char *filter)
{
    struct mi_client_event e = event(client, filter);
    mi_history_event_subscribe(events, &e);
}

static void unsubscribe(struct mosquitto *client, const char *filter)
{
    struct mi_client_event e = event(client, filter);
    mi_history_event_unsubscribe(events, &e);
}

static void a_subscribe_begins_in_the_next_tick(void)
{
    begin(false, MI_ACL_NONE);
    subscribe(&alice, "rooms/#");
    subscribe(&alice, "rooms/$iggyx/#");
    CU_ASSERT_TRUE(mi_history_event_idle(events));
    subscribe(&alice, "$iggy/2h/rooms/#");
    CU_ASSERT_FALSE(mi_history_event_idle(events));
    CU_ASSERT_EQUAL(fake_history.begun, 0);
    mi_history_event_tick(events, 10);
    CU_ASSERT_EQUAL(fake_history.begun, 1);
    CU_ASSERT_STRING_EQUAL(fake_history.filter, "$iggy/2h/rooms/#");
    CU_ASSERT_STRING_EQUAL(fake_history.client_id, "a");
    CU_ASSERT_STRING_EQUAL(fake_history.mount, "");
    CU_ASSERT_EQUAL(fake_history.qos, 1);
    CU_ASSERT_TRUE(mi_history_event_idle(events));
    end();
}

static void a_mount_point_stays_in_front(void)
{
    begin(false, MI_ACL_NONE);
    subscribe(&alice, "tenant/1/$iggy/2h/rooms/#");
    mi_history_event_tick(events, 10);
    CU_ASSERT_STRING_EQUAL(fake_history.mount, "tenant/1/");
    CU_ASSERT_STRING_EQUAL(fake_history.filter, "$iggy/2h/rooms/#");
    unsubscribe(&alice, "$iggy/2h/rooms/#"); /* without it, as brokers show it */
    CU_ASSERT_EQUAL(fake_history.cancelled, 1);
    end();
}

static void the_check_that_a_kick_makes_begins_nothing(void)
{
    begin(false, MI_ACL_NONE);
    subscribe(&alice, "$iggy/2h/rooms/#");
    mi_history_event_gone(events, &alice);
    mi_history_event_tick(events, 10);
    CU_ASSERT_EQUAL(fake_history.begun, 0);
    CU_ASSERT_EQUAL(fake_history.cancelled, 0);
    end();
}

static void what_ends_a_request(void)
{
    begin(true, MI_ACL_NONE);
    subscribe(&alice, "$iggy/first/a");
    subscribe(&bob, "$iggy/first/a");
    subscribe(&alice, "$iggy/first/b");
    mi_history_event_tick(events, 10);
    CU_ASSERT_EQUAL(fake_history.begun, 3);
    unsubscribe(&alice, "$iggy/first/c");
    CU_ASSERT_EQUAL(fake_history.cancelled, 0);
    unsubscribe(&alice, "$iggy/first/a");
    CU_ASSERT_EQUAL(fake_history.cancelled, 1);
    CU_ASSERT_EQUAL(fake_history.last_cancelled, 1);
    subscribe(&alice, "$iggy/first/b"); /* anew */
    CU_ASSERT_EQUAL(fake_history.last_cancelled, 3);
    mi_history_event_tick(events, 10);
    CU_ASSERT_EQUAL(fake_history.begun, 4);
    struct mosquitto other = {.id = "b"}; /* same client id, not the connection that asked */
    mi_history_event_gone(events, &other);
    CU_ASSERT_EQUAL(fake_history.cancelled, 2);
    mi_history_event_gone(events, &bob);
    CU_ASSERT_EQUAL(fake_history.last_cancelled, 2);
    fake_history_put(2, "$iggy/first/a", "a", "late");
    fake_history_put(4, "$iggy/first/b", "b", "1");
    mi_history_event_tick(events, 10);
    CU_ASSERT_EQUAL(stubs.publish_count, 1);
    CU_ASSERT_STRING_EQUAL(stubs.published[0].topic, "$iggy/first/b");
    alice.username = "mallory"; /* somebody gave the connection another user name */
    fake_history_put(4, "$iggy/first/b", "b", "2");
    mi_history_event_tick(events, 10);
    CU_ASSERT_EQUAL(stubs.publish_count, 1);
    CU_ASSERT_EQUAL(fake_history.last_cancelled, 4);
    end();
}

static void messages_and_the_marker_go_to_that_client(void)
{
    begin(false, MI_ACL_NONE);
    subscribe(&alice, "$iggy/first/#");
    mi_history_event_tick(events, 10);
    for (int i = 0; i < 5; i++)
        fake_history_put(1, "$iggy/first/a", "a", "x");
    fake_history_put(1, "$iggy/first/$end", NULL, "{}");
    CU_ASSERT_EQUAL(mi_history_event_tick(events, 3), 3);
    CU_ASSERT_EQUAL(stubs.publish_count, 3);
    stubs.publish_result = MOSQ_ERR_NOMEM;
    CU_ASSERT_EQUAL(mi_history_event_tick(events, 10), 0);
    stubs.publish_result = MOSQ_ERR_SUCCESS;
    int before = stubs.publish_count;
    mi_history_event_tick(events, 10);
    CU_ASSERT_EQUAL(stubs.publish_count, before + 3);
    CU_ASSERT_FALSE(stubs.published[0].retain);
    CU_ASSERT_TRUE(mi_history_event_idle(events));
    mi_history_event_gone(events, &alice); /* the request was over */
    CU_ASSERT_EQUAL(fake_history.cancelled, 0);
    end();
}

static void refused(bool v2_1, enum mi_broker_acl acl, const char *filter, const char *why)
{
    begin(v2_1, acl);
    subscribe(&alice, filter);
    mi_history_event_tick(events, 10);
    CU_ASSERT_EQUAL(fake_history.begun, 0);
    CU_ASSERT_EQUAL(fake_history.refused, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(fake_history.why, why));
    CU_ASSERT_EQUAL(stubs.publish_count, 1);
    CU_ASSERT_TRUE(mi_history_event_idle(events));
    end();
}

static void who_is_refused_is_told_by_a_marker(void)
{
    refused(false, MI_ACL_NOT_STATED, "$iggy/first/a", "broker.acl");
    refused(true, MI_ACL_PLUGIN, "$iggy/first/a", "another plugin");
    refused(true, MI_ACL_FILE, "$iggy/first/a", "acl_file");
    refused(true, MI_ACL_NONE, "$share/g/$iggy/first/a", "shared");
}

static void the_right_to_subscribe_is_enough_on_2_1_where_it_is_said(void)
{
    for (int v2_1 = 0; v2_1 < 2; v2_1++) {
        begin(v2_1, MI_ACL_PLUGIN);
        fakes.config.history_rights = MI_HISTORY_BY_SUBSCRIBE;
        subscribe(&alice, "$iggy/first/a");
        mi_history_event_tick(events, 10);
        CU_ASSERT_EQUAL(fake_history.begun, v2_1);
        CU_ASSERT_EQUAL(fake_history.refused, !v2_1);
        end();
    }
}

static void an_acl_file_decides_per_message_and_is_read_again(void)
{
    char path[] = "/tmp/mi-history-acl-XXXXXX";
    int fd = mkstemp(path);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fputs("user alice\ntopic read rooms/1\npattern read own/%c\n", f);
    fclose(f);
    begin(false, MI_ACL_NONE);
    fakes.config.broker.acl = MI_ACL_FILE;
    fakes.config.broker.acl_file = path;
    mi_history_event_reload(events, &fakes.config);
    subscribe(&alice, "$iggy/first/#");
    mi_history_event_tick(events, 10);
    fake_history_put(1, "$iggy/first/rooms/1", "rooms/1", "yes");
    fake_history_put(1, "$iggy/first/rooms/2", "rooms/2", "no");
    fake_history_put(1, "$iggy/first/own/a", "own/a", "yes");
    fake_history_put(1, "$iggy/first/own/b", "own/b", "no");
    mi_history_event_tick(events, 10);
    CU_ASSERT_EQUAL(stubs.publish_count, 2);
    CU_ASSERT_EQUAL(fake_history.denied, 2);
    for (int i = 0; i < stubs.publish_count; i++)
        CU_ASSERT_STRING_EQUAL(stubs.published[i].payload, "yes");
    f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fputs("user alice\ntopic read rooms/2\n", f);
    fclose(f);
    mi_history_event_reload(events, &fakes.config);
    fake_history_put(1, "$iggy/first/rooms/1", "rooms/1", "no");
    fake_history_put(1, "$iggy/first/rooms/2", "rooms/2", "yes");
    mi_history_event_tick(events, 10);
    CU_ASSERT_EQUAL(stubs.publish_count, 3);
    CU_ASSERT_STRING_EQUAL(stubs.published[2].payload, "yes");
    unlink(path);
    end();
}

static void without_history_nothing_is_kept(void)
{
    begin(false, MI_ACL_NONE);
    subscribe(&alice, "$iggy/first/a");
    mi_history_event_tick(events, 10);
    subscribe(&alice, "$iggy/first/b");
    fakes.config.history = false; /* a reload; the end of the connection is not heard any more */
    mi_history_event_reload(events, &fakes.config);
    CU_ASSERT_EQUAL(fake_history.cancelled, 1);
    CU_ASSERT_TRUE(mi_history_event_idle(events));
    fake_history_put(1, "$iggy/first/a", "a", "late");
    mi_history_event_tick(events, 10);
    CU_ASSERT_EQUAL(stubs.publish_count, 0);
    end();
}

static void what_is_noted_is_bounded(void)
{
    begin(false, MI_ACL_NONE);
    char filter[64];
    for (int i = 0; i < 3000; i++) {
        snprintf(filter, sizeof filter, "$iggy/first/%d", i);
        subscribe(&alice, filter);
    }
    for (int i = 0; i < 100; i++)
        mi_history_event_tick(events, 10);
    CU_ASSERT_EQUAL(fake_history.begun, 1000);
    end();
}

static CU_TestInfo tests[] = {
    {"a SUBSCRIBE begins in the next TICK", a_subscribe_begins_in_the_next_tick},
    {"a mount point stays in front", a_mount_point_stays_in_front},
    {"the check that a kick makes begins nothing", the_check_that_a_kick_makes_begins_nothing},
    {"what ends a request", what_ends_a_request},
    {"messages and the marker go to that client", messages_and_the_marker_go_to_that_client},
    {"who is refused is told by a marker", who_is_refused_is_told_by_a_marker},
    {"the right to subscribe is enough on 2.1 where it is said",
     the_right_to_subscribe_is_enough_on_2_1_where_it_is_said},
    {"an acl_file decides per message and is read again", an_acl_file_decides_per_message_and_is_read_again},
    {"without history nothing is kept", without_history_nothing_is_kept},
    {"what is noted is bounded", what_is_noted_is_bounded},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("history_event", tests)
