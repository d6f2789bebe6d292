/* message_event: what is journaled for a PUBLISH, and the answer for each QoS, protocol and broker when it
 * cannot be. */
#include "broker/message_event.h"
#include "fakes.h"
#include "stubs.h"
#include "support/suite.h"

#include <mqtt_protocol.h>
#include <stdlib.h>
#include <string.h>

enum { V3 = 4, V5 = 5 };

static struct mi_compat compat;
static struct mi_metrics *metrics;
static struct mi_hook *hook;
static struct mosquitto client;
static struct mosquitto_evt_message event;
static uint64_t now_ns;

static uint64_t fake_now(void *context)
{
    (void)context;
    return now_ns;
}

static uint64_t fake_wall(void *context)
{
    (void)context;
    return 1234567;
}

static const struct mi_clock fake_clock = {fake_now, fake_wall, NULL, NULL};

static void log_line(void *context, enum mi_log_level level, const char *line)
{
    (void)context;
    mosquitto_log_printf((int)level, "%s", line);
}

static const struct mi_log log_here = {log_line, NULL};

static void start(void)
{
    stubs_reset();
    fakes_reset();
    now_ns = 1;
    mi_compat_init(&compat, &mi_symbols_system);
    metrics = mi_metrics_new();
    struct mi_hook_options o = {&compat,     &fakes.config, metrics, (struct mi_bridge *)&client,
                                &fake_clock, &log_here,     NULL};
    hook = mi_hook_new(&o, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(hook);
    client = (struct mosquitto){.id = "device", .username = "user", .protocol = V5};
    event = (struct mosquitto_evt_message){
        .client = &client, .topic = (char *)"a/b", .payload = (void *)"21.5", .payloadlen = 4, .qos = 1};
}

static void end(void)
{
    mi_hook_free(hook);
    mi_metrics_free(metrics);
    mi_compat_fini(&compat);
    CU_ASSERT_EQUAL(fakes.holders, 0);
}

static int publish(uint8_t qos, int protocol)
{
    client.protocol = protocol;
    event.qos = qos;
    return mi_hook_message(hook, &event);
}

static uint64_t counted(enum mi_route_counter which)
{
    return mi_counted(mi_metrics_route(metrics, 100, NULL), which);
}

static void a_publish_is_journaled_whole(void)
{
    start();
    event.retain = true;
    CU_ASSERT_EQUAL(publish(2, V5), MOSQ_ERR_SUCCESS);
    CU_ASSERT_EQUAL(fakes.records, 1);
    CU_ASSERT_EQUAL(fakes.last.route, 100);
    CU_ASSERT_EQUAL(fakes.last.key_hash, 0x1234);
    CU_ASSERT_EQUAL(fakes.last.qos, 2);
    CU_ASSERT_EQUAL(fakes.last.time_us, 1234567);
    CU_ASSERT_EQUAL(fakes.last.reason, MI_REASON_NONE);
    CU_ASSERT_STRING_EQUAL(fakes.payload, "21.5");
    const struct mi_message *m = fakes_decoded(0);
    CU_ASSERT_TRUE(mi_span_equal(m->topic, mi_span_of("a/b")));
    CU_ASSERT_TRUE(mi_span_equal(m->client_id, mi_span_of("device")));
    CU_ASSERT_TRUE(mi_span_equal(m->username, mi_span_of("user")));
    CU_ASSERT_TRUE(mi_span_equal(m->origin, mi_span_of("0123456789abcdef0123456789abcdef")));
    CU_ASSERT_EQUAL(m->qos, 2);
    CU_ASSERT_TRUE(m->retain);
    CU_ASSERT_FALSE(m->maybe_dup);
    CU_ASSERT_EQUAL(m->time_us, 1234567);
    end();
}

static void what_a_client_does_not_have_may_be_null(void)
{
    start();
    client.id = client.username = NULL;
    event.payload = NULL;
    event.payloadlen = 0;
    CU_ASSERT_EQUAL(publish(0, V3), MOSQ_ERR_SUCCESS);
    CU_ASSERT_EQUAL(fakes_decoded(0)->client_id.len, 0);
    CU_ASSERT_EQUAL(fakes.last.prefix.len, 1); /* the filler byte */
    mi_hook_disconnected(hook, &client);
    mi_hook_disconnected(hook, NULL);
    end();
}

static void no_route_costs_nothing_and_is_counted(void)
{
    start();
    fakes.hit_count = 0;
    fakes.append = MI_APPEND_FULL;
    CU_ASSERT_EQUAL(publish(1, V5), MOSQ_ERR_SUCCESS);
    CU_ASSERT_EQUAL(mi_metrics_get(metrics, MI_G_UNMATCHED), 1);
    CU_ASSERT_EQUAL(mi_metrics_get(metrics, MI_G_PUBLISH_SEEN), 1);
    end();
}

static void what_the_map_gives_up_is_counted(void)
{
    start();
    publish(1, V5);
    CU_ASSERT_EQUAL(mi_metrics_get(metrics, MI_G_TOO_MANY_ROUTES), 0);
    CU_ASSERT_EQUAL(mi_metrics_get(metrics, MI_G_REGEX_LIMITS), 0);
    fakes.each_match.too_many = 1;
    publish(1, V5);
    fakes.each_match.regex_limits = 3; /* three routes' */
    publish(0, V5);
    CU_ASSERT_EQUAL(mi_metrics_get(metrics, MI_G_TOO_MANY_ROUTES), 2);
    CU_ASSERT_EQUAL(mi_metrics_get(metrics, MI_G_REGEX_LIMITS), 1);
    memset(&fakes.each_match, 0, sizeof fakes.each_match);
    publish(0, V5);
    memset(&fakes.map_counts, 0, sizeof fakes.map_counts); /* a reload begins with a new map */
    publish(0, V5);
    CU_ASSERT_EQUAL(mi_metrics_get(metrics, MI_G_TOO_MANY_ROUTES), 2);
    end();
}

static void properties_are_carried_and_templates_see_them(void)
{
    start();
    mosquitto_property_add_string(&event.properties, MQTT_PROP_CONTENT_TYPE, "text/plain");
    mosquitto_property_add_string_pair(&event.properties, MQTT_PROP_USER_PROPERTY, "site", "north");
    fakes.ask_property = true;
    CU_ASSERT_EQUAL(publish(1, V5), MOSQ_ERR_SUCCESS);
    CU_ASSERT_STRING_EQUAL(fakes.site, "north");
    struct mi_property p;
    CU_ASSERT_TRUE(
        mi_properties_find(fakes_decoded(0)->properties, MI_PROP_CONTENT_TYPE, mi_span_of(NULL), &p));
    CU_ASSERT_TRUE(mi_span_equal(p.value, mi_span_of("text/plain")));
    CU_ASSERT_EQUAL(mi_metrics_get(metrics, MI_G_PROPERTIES_LOST), 0);
    mosquitto_property *list = event.properties;
    event.properties = NULL;
    CU_ASSERT_EQUAL(publish(1, V5), MOSQ_ERR_SUCCESS); /* nothing of the last message stays */
    CU_ASSERT_EQUAL(fakes_decoded(0)->properties.len, 0);
    compat.has_readers = false;
    event.properties = list;
    CU_ASSERT_EQUAL(publish(1, V5), MOSQ_ERR_SUCCESS);
    CU_ASSERT_EQUAL(mi_metrics_get(metrics, MI_G_PROPERTIES_LOST), 1);
    mosquitto_property_free_all(&list);
    end();
}

static void each_route_hides_what_it_says_in_one_write(void)
{
    start();
    fakes.hit_count = 2;
    fakes.routes[1].send_client_id = false;
    fakes.routes[1].send_username = false;
    CU_ASSERT_EQUAL(publish(1, V5), MOSQ_ERR_SUCCESS);
    CU_ASSERT_EQUAL(fakes.appends, 1);
    CU_ASSERT_EQUAL(fakes.records, 2);
    CU_ASSERT_TRUE(mi_span_equal(fakes_decoded(0)->client_id, mi_span_of("device")));
    CU_ASSERT_EQUAL(fakes_decoded(1)->client_id.len, 0);
    CU_ASSERT_EQUAL(fakes_decoded(1)->username.len, 0);
    end();
}

static void an_unusable_name_is_journaled_as_a_dead_letter(void)
{
    start();
    fakes.hit_status = MI_HIT_STREAM_UNUSABLE;
    CU_ASSERT_EQUAL(publish(1, V3), MOSQ_ERR_SUCCESS);
    CU_ASSERT_EQUAL(fakes.last.reason, MI_REASON_STREAM_NAME);
    fakes.hit_status = MI_HIT_TOPIC_UNUSABLE;
    CU_ASSERT_EQUAL(publish(1, V3), MOSQ_ERR_SUCCESS);
    CU_ASSERT_EQUAL(fakes.last.reason, MI_REASON_TOPIC_NAME);
    end();
}

/* ---- the table of refusals ---- */

struct row {
    uint8_t qos;
    int protocol;
    bool v2_1;
    enum mi_refuse refuse;
    int answer;
    enum mi_route_counter counter;
};

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct row *r = &rows[i];
        compat.v2_1 = r->v2_1;
        fakes.routes[0].refuse = r->refuse;
        uint64_t before = counted(r->counter);
        CU_ASSERT_EQUAL(publish(r->qos, r->protocol), r->answer);
        CU_ASSERT_EQUAL(counted(r->counter), before + 1);
    }
}

static void a_full_journal_refuses_by_the_table(void)
{
    static const struct row rows[] = {
        {0, V3, false, MI_REFUSE_REASON, MOSQ_ERR_SUCCESS, MI_C_DROPPED_QOS0},
        {0, V5, false, MI_REFUSE_DISCONNECT, MOSQ_ERR_SUCCESS, MI_C_DROPPED_QOS0},
        {0, V5, true, MI_REFUSE_REASON, MOSQ_ERR_SUCCESS, MI_C_DROPPED_QOS0},
        {1, V5, false, MI_REFUSE_REASON, MOSQ_ERR_ACL_DENIED, MI_C_REJECTED_FULL},
        {2, V5, false, MI_REFUSE_REASON, MOSQ_ERR_ACL_DENIED, MI_C_REJECTED_FULL},
        {1, V5, true, MI_REFUSE_REASON, MI_ERR_QUOTA_EXCEEDED, MI_C_REJECTED_FULL},
        {2, V5, true, MI_REFUSE_DISCONNECT, MOSQ_ERR_UNKNOWN, MI_C_REJECTED_FULL},
        {1, V3, false, MI_REFUSE_REASON, MOSQ_ERR_UNKNOWN, MI_C_REJECTED_FULL},
        {2, V3, true, MI_REFUSE_REASON, MOSQ_ERR_UNKNOWN, MI_C_REJECTED_FULL},
        {1, 3, false, MI_REFUSE_REASON, MOSQ_ERR_UNKNOWN, MI_C_REJECTED_FULL},
    };
    start();
    fakes.append = MI_APPEND_FULL;
    check_rows(rows, sizeof rows / sizeof rows[0]);
    end();
}

static void a_failed_disk_refuses_too_and_is_counted_apart(void)
{
    static const struct row rows[] = {
        {0, V5, false, MI_REFUSE_REASON, MOSQ_ERR_SUCCESS, MI_C_DROPPED_QOS0},
        {1, V5, false, MI_REFUSE_REASON, MOSQ_ERR_ACL_DENIED, MI_C_REJECTED_FAILED},
        {1, V3, false, MI_REFUSE_REASON, MOSQ_ERR_UNKNOWN, MI_C_REJECTED_FAILED},
    };
    start();
    fakes.append = MI_APPEND_FAILED;
    check_rows(rows, sizeof rows / sizeof rows[0]);
    end();
}

static void what_never_fits_disconnects_nobody(void)
{
    static const struct row rows[] = {
        {0, V3, false, MI_REFUSE_REASON, MOSQ_ERR_SUCCESS, MI_C_DROPPED_QOS0},
        {1, V3, false, MI_REFUSE_DISCONNECT, MOSQ_ERR_SUCCESS, MI_C_DROPPED_WITHOUT_COPY},
        {1, V5, false, MI_REFUSE_DISCONNECT, MOSQ_ERR_ACL_DENIED, MI_C_REJECTED_FULL},
        {2, V5, true, MI_REFUSE_REASON, MI_ERR_QUOTA_EXCEEDED, MI_C_REJECTED_FULL},
    };
    start();
    fakes.append = MI_APPEND_TOO_LARGE;
    check_rows(rows, sizeof rows / sizeof rows[0]);
    end();
}

static void a_missing_target_is_refused_where_the_route_says_so(void)
{
    static const struct row rows[] = {
        {1, V5, false, MI_REFUSE_REASON, MOSQ_ERR_ACL_DENIED, MI_C_REJECTED_MISSING},
        {1, V3, true, MI_REFUSE_REASON, MOSQ_ERR_UNKNOWN, MI_C_REJECTED_MISSING},
    };
    start();
    fakes.missing = true;
    CU_ASSERT_EQUAL(publish(1, V5), MOSQ_ERR_SUCCESS); /* on_missing: hold */
    fakes.routes[0].on_missing = MI_MISSING_REFUSE;
    fakes.routes[0].when_full = MI_FULL_DELIVER_WITHOUT_COPY; /* says nothing about missing targets */
    check_rows(rows, sizeof rows / sizeof rows[0]);
    CU_ASSERT_EQUAL(publish(0, V5), MOSQ_ERR_SUCCESS);
    CU_ASSERT_EQUAL(fakes.appends, 2);
    fakes.missing = false;
    CU_ASSERT_EQUAL(publish(1, V5), MOSQ_ERR_SUCCESS);
    end();
}

static void deliver_without_copy_needs_all_routes(void)
{
    start();
    fakes.append = MI_APPEND_FULL;
    fakes.hit_count = 2;
    fakes.routes[0].when_full = MI_FULL_DELIVER_WITHOUT_COPY;
    CU_ASSERT_EQUAL(publish(1, V3), MOSQ_ERR_UNKNOWN);
    CU_ASSERT_EQUAL(counted(MI_C_REJECTED_FULL), 1);
    fakes.routes[1].when_full = MI_FULL_DELIVER_WITHOUT_COPY;
    CU_ASSERT_EQUAL(publish(1, V3), MOSQ_ERR_SUCCESS);
    CU_ASSERT_EQUAL(counted(MI_C_DROPPED_WITHOUT_COPY), 1);
    CU_ASSERT_EQUAL(mi_counted(mi_metrics_route(metrics, 101, NULL), MI_C_DROPPED_WITHOUT_COPY), 1);
    end();
}

static void field_26_the_log_names_route_limit_and_consequence_once_in_ten_seconds(void)
{
    start();
    fakes.append = MI_APPEND_FULL;
    for (int i = 0; i < 50; i++)
        publish(1, V5);
    CU_ASSERT_EQUAL(stubs.log_count, 1);
    CU_ASSERT_TRUE(stubs_logged("first"));
    CU_ASSERT_TRUE(stubs_logged("journal.max_size"));
    CU_ASSERT_TRUE(stubs_logged("refused by reason code"));
    now_ns += 11 * MI_NS_PER_S;
    publish(1, V5);
    CU_ASSERT_EQUAL(stubs.log_count, 2);
    CU_ASSERT_TRUE(stubs_logged("49 such lines held back"));
    end();
}

/* Nothing is dropped on suspicion. */
static void field_27_28_what_a_reconnect_repeats_is_marked(void)
{
    start();
    CU_ASSERT_EQUAL(publish(2, V3), MOSQ_ERR_SUCCESS);
    CU_ASSERT_EQUAL(publish(2, V3), MOSQ_ERR_SUCCESS);
    CU_ASSERT_FALSE(fakes_decoded(0)->maybe_dup);
    mi_hook_disconnected(hook, &client);
    CU_ASSERT_EQUAL(publish(2, V3), MOSQ_ERR_SUCCESS);
    CU_ASSERT_TRUE(fakes_decoded(0)->maybe_dup);
    CU_ASSERT_EQUAL(fakes.records, 3);
    end();
}

static void what_was_refused_is_no_repetition(void)
{
    start();
    fakes.append = MI_APPEND_FULL;
    publish(1, V3);
    mi_hook_disconnected(hook, &client);
    fakes.append = MI_APPEND_OK;
    CU_ASSERT_EQUAL(publish(1, V3), MOSQ_ERR_SUCCESS);
    CU_ASSERT_FALSE(fakes_decoded(0)->maybe_dup);
    end();
}

static void waits_for_iggy_only_where_asked(void)
{
    start();
    CU_ASSERT_EQUAL(publish(1, V5), MOSQ_ERR_SUCCESS);
    CU_ASSERT_EQUAL(fakes.waited_for, 0);
    fakes.routes[0].wait_for_iggy_ns = 50000000;
    fakes.settled = true;
    CU_ASSERT_EQUAL(publish(0, V5), MOSQ_ERR_SUCCESS); /* QoS 0 waits for nothing */
    CU_ASSERT_EQUAL(fakes.waited_for, 0);
    CU_ASSERT_EQUAL(publish(1, V5), MOSQ_ERR_SUCCESS);
    CU_ASSERT_EQUAL(fakes.waited_for, 1);
    CU_ASSERT_EQUAL(fakes.waited_ns, 50000000);
    CU_ASSERT_EQUAL(counted(MI_C_LATE), 0);
    fakes.settled = false;
    CU_ASSERT_EQUAL(publish(2, V3), MOSQ_ERR_SUCCESS); /* acknowledged from the journal all the same */
    CU_ASSERT_EQUAL(counted(MI_C_LATE), 1);
    fakes.append = MI_APPEND_FULL;
    fakes.waited_for = 0;
    publish(1, V5);
    CU_ASSERT_EQUAL(fakes.waited_for, 0);
    end();
}

static void end_of(struct mi_retained *retained)
{
    end();
    mi_retained_free(retained);
}

static uint64_t random_bits(void *context)
{
    (void)context;
    return 1;
}

static uint64_t nothing_settled(void *context)
{
    (void)context;
    return 0;
}

static const struct mi_clock retained_clock = {fake_now, fake_wall, random_bits, NULL};

/* Starts again with a list of outstanding retained topics, and a second route that reads the first one's
 * stream. */
static struct mi_retained *start_with_retained(void)
{
    start();
    struct mi_retained_options r = {10, 1, false, false, &retained_clock, nothing_settled, NULL};
    struct mi_retained *retained = mi_retained_new(&r);
    struct mi_hook_options o = {&compat,     &fakes.config, metrics, (struct mi_bridge *)&client,
                                &fake_clock, &log_here,     retained};
    mi_hook_free(hook);
    fakes.routes[1].direction = MI_IN;
    fakes.read_back = true;
    hook = mi_hook_new(&o, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(hook);
    return retained;
}

static void an_own_retained_message_is_noted_once_it_is_journaled(void)
{
    struct mi_retained *retained = start_with_retained();
    CU_ASSERT_EQUAL(publish(1, V5), MOSQ_ERR_SUCCESS);
    CU_ASSERT_TRUE(mi_retained_foreign(retained, "a/b")); /* it was not retained */
    event.retain = true;
    fakes.append = MI_APPEND_FULL;
    publish(1, V5);
    CU_ASSERT_TRUE(mi_retained_foreign(retained, "a/b")); /* it was not journaled */
    fakes.append = MI_APPEND_OK;
    fakes.hit_status = MI_HIT_TOPIC_UNUSABLE;
    CU_ASSERT_EQUAL(publish(1, V5), MOSQ_ERR_SUCCESS);
    CU_ASSERT_TRUE(mi_retained_foreign(retained, "a/b")); /* it will not come back */
    fakes.hit_status = MI_HIT_OK;
    fakes.read_back = false;
    CU_ASSERT_EQUAL(publish(1, V5), MOSQ_ERR_SUCCESS);
    CU_ASSERT_TRUE(mi_retained_foreign(retained, "a/b")); /* nor this one */
    fakes.read_back = true;
    CU_ASSERT_EQUAL(publish(1, V5), MOSQ_ERR_SUCCESS);
    CU_ASSERT_FALSE(mi_retained_foreign(retained, "a/b"));
    CU_ASSERT_EQUAL(MI_OWN_DONE, mi_retained_own_back(retained, "a/b", fakes.last.sequence));
    CU_ASSERT_EQUAL(publish(0, V3), MOSQ_ERR_SUCCESS);
    mi_retained_rebuild_begin(retained);
    CU_ASSERT_FALSE(mi_retained_rebuilt(retained, "a/b", 0));
    end_of(retained);
}

static void what_a_bridge_of_the_same_log_stamped_is_not_copied(void)
{
    struct mi_retained *retained = start_with_retained();
    mosquitto_property_add_string_pair(&event.properties, MQTT_PROP_USER_PROPERTY, "mosquitto-iggy-origin",
                                       "ffffffffffffffffffffffffffffffff");
    CU_ASSERT_EQUAL(publish(1, V5), MOSQ_ERR_SUCCESS);
    CU_ASSERT_EQUAL(fakes.records, 1); /* no route asks for stamps */
    fakes.routes[1].stamp = true;
    CU_ASSERT_EQUAL(mi_hook_set_config(hook, &fakes.config, NULL), 0);
    CU_ASSERT_EQUAL(publish(1, V5), MOSQ_ERR_SUCCESS);
    CU_ASSERT_EQUAL(fakes.records, 1);
    CU_ASSERT_EQUAL(counted(MI_C_STAMPED), 1);
    fakes.read_back = false; /* the route with stamp reads another stream */
    CU_ASSERT_EQUAL(publish(1, V5), MOSQ_ERR_SUCCESS);
    CU_ASSERT_EQUAL(fakes.records, 2);
    fakes.read_back = true;
    mosquitto_property_free_all(&event.properties);
    CU_ASSERT_EQUAL(publish(1, V5), MOSQ_ERR_SUCCESS);
    CU_ASSERT_EQUAL(fakes.records, 3);
    CU_ASSERT_EQUAL(counted(MI_C_STAMPED), 1);
    end_of(retained);
}

static const struct mi_message brought = {.topic = {(const uint8_t *)"a/b", 3},
                                          .payload = {(const uint8_t *)"gone", 4},
                                          .qos = 1,
                                          .maybe_dup = true,
                                          .properties = {(const uint8_t *)"\x01\x01", 2}};

static void a_route_is_fed_by_the_event_or_by_the_subscription(void)
{
    start();
    fakes.hit_count = 2;
    fakes.routes[1].subscription = true;
    CU_ASSERT_EQUAL(publish(1, V5), MOSQ_ERR_SUCCESS);
    CU_ASSERT_EQUAL(fakes.records, 1);
    CU_ASSERT_EQUAL(fakes.last.route, 100);
    CU_ASSERT_TRUE(mi_hook_subscribed(hook, &brought));
    CU_ASSERT_EQUAL(fakes.records, 2);
    CU_ASSERT_EQUAL(fakes.last.route, 101);
    const struct mi_message *m = fakes_decoded(0);
    CU_ASSERT_TRUE(mi_span_equal(m->topic, mi_span_of("a/b")));
    CU_ASSERT_TRUE(m->qos == 1 && m->maybe_dup && !m->retain && m->client_id.len == 0 &&
                   m->username.len == 0);
    CU_ASSERT_TRUE(m->time_us == 1234567 && m->origin.len == 32 && m->properties.len == 2);
    fakes.routes[0].subscription = true;
    CU_ASSERT_EQUAL(publish(2, V5), MOSQ_ERR_SUCCESS);
    CU_ASSERT_EQUAL(fakes.records, 2);
    fakes.routes[0].subscription = fakes.routes[1].subscription = false;
    CU_ASSERT_TRUE(mi_hook_subscribed(hook, &brought));
    CU_ASSERT_EQUAL(fakes.records, 2);
    end();
}

static void what_a_subscription_brings_waits_for_room(void)
{
    struct mi_message m = brought;
    start();
    fakes.routes[0].subscription = true;
    fakes.append = MI_APPEND_FULL;
    CU_ASSERT_FALSE(mi_hook_subscribed(hook, &m));
    fakes.append = MI_APPEND_FAILED;
    CU_ASSERT_FALSE(mi_hook_subscribed(hook, &m));
    CU_ASSERT_EQUAL(counted(MI_C_DROPPED_WITHOUT_COPY) + counted(MI_C_DROPPED_QOS0), 0);
    CU_ASSERT_EQUAL(counted(MI_C_REJECTED_FULL) + counted(MI_C_REJECTED_FAILED), 0);
    m.qos = 0; /* the broker does not keep it */
    CU_ASSERT_TRUE(mi_hook_subscribed(hook, &m));
    CU_ASSERT_EQUAL(counted(MI_C_DROPPED_QOS0), 1);
    m.qos = 2;
    fakes.routes[0].when_full = MI_FULL_DELIVER_WITHOUT_COPY;
    CU_ASSERT_TRUE(mi_hook_subscribed(hook, &m));
    fakes.routes[0].when_full = MI_FULL_DISCONNECT;
    fakes.append = MI_APPEND_TOO_LARGE; /* it would wait for ever */
    CU_ASSERT_TRUE(mi_hook_subscribed(hook, &m));
    CU_ASSERT_EQUAL(counted(MI_C_DROPPED_WITHOUT_COPY), 2);
    fakes.append = MI_APPEND_OK;
    CU_ASSERT_TRUE(mi_hook_subscribed(hook, &m));
    CU_ASSERT_EQUAL(fakes.records, 1);
    end();
}

static CU_TestInfo tests[] = {
    {"a PUBLISH is journaled whole", a_publish_is_journaled_whole},
    {"what a client does not have may be NULL", what_a_client_does_not_have_may_be_null},
    {"no route costs nothing and is counted", no_route_costs_nothing_and_is_counted},
    {"what the map gives up is counted", what_the_map_gives_up_is_counted},
    {"properties are carried and templates see them", properties_are_carried_and_templates_see_them},
    {"each route hides what it says, in one write", each_route_hides_what_it_says_in_one_write},
    {"an unusable name is journaled as a dead letter", an_unusable_name_is_journaled_as_a_dead_letter},
    {"a full journal refuses by the table", a_full_journal_refuses_by_the_table},
    {"a failed disk refuses too and is counted apart", a_failed_disk_refuses_too_and_is_counted_apart},
    {"what never fits disconnects nobody", what_never_fits_disconnects_nobody},
    {"a missing target is refused where the route says so",
     a_missing_target_is_refused_where_the_route_says_so},
    {"deliver_without_copy needs all routes", deliver_without_copy_needs_all_routes},
    {"field 26: the log names route, limit and consequence once in ten seconds",
     field_26_the_log_names_route_limit_and_consequence_once_in_ten_seconds},
    {"field 27 28: what a reconnect repeats is marked", field_27_28_what_a_reconnect_repeats_is_marked},
    {"what was refused is no repetition", what_was_refused_is_no_repetition},
    {"waits for Iggy only where asked", waits_for_iggy_only_where_asked},
    {"an own retained message is noted once it is journaled",
     an_own_retained_message_is_noted_once_it_is_journaled},
    {"what a bridge of the same log stamped is not copied",
     what_a_bridge_of_the_same_log_stamped_is_not_copied},
    {"a route is fed by the event or by the subscription",
     a_route_is_fed_by_the_event_or_by_the_subscription},
    {"what a subscription brings waits for room", what_a_subscription_brings_waits_for_room},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("message_event", tests)
