#include "stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double value(const char *page, const char *route, const char *name, const char *reason)
{
    char line[256];
    snprintf(line, sizeof line, "mosquitto_iggy_%s{route=\"%s\"%s%s%s}", name, route,
             reason ? ",reason=\"" : "", reason ? reason : "", reason ? "\"" : "");
    double found = mi_prometheus_value(page, line);
    return found < 0 ? 0 : found;
}

struct account account_of(struct rig *r, const char *route)
{
    struct account a = {0};
    char *page = mi_http_get(r->broker.status_port, "/metrics", NULL);
    CU_ASSERT_PTR_NOT_NULL(page);
    if (!page)
        return a;
    a.received = value(page, route, "received_total", NULL);
    a.committed = value(page, route, "committed_total", NULL);
    a.dead_lettered = value(page, route, "dead_lettered_total", NULL);
    a.dropped = value(page, route, "dropped_total", "qos0") +
                value(page, route, "dropped_total", "without_copy") +
                value(page, route, "dropped_total", "damaged");
    a.pending = value(page, route, "pending", NULL);
    a.rejected = value(page, route, "rejected_total", "journal_full") +
                 value(page, route, "rejected_total", "journal_failed") +
                 value(page, route, "rejected_total", "target_missing");
    a.resent = value(page, route, "resent_total", NULL);
    a.found = value(page, route, "found_total", NULL);
    free(page);
    CU_ASSERT_EQUAL(a.received, a.committed + a.dead_lettered + a.dropped + a.pending);
    return a;
}

struct account account_settled(struct rig *r, const char *route, double received, unsigned timeout_ms)
{
    struct account a = account_of(r, route);
    for (uint64_t end = mi_monotonic_ms() + timeout_ms;
         (a.pending > 0 || a.received < received) && mi_monotonic_ms() < end; mi_sleep_ms(20))
        a = account_of(r, route);
    CU_ASSERT_EQUAL(a.pending, 0);
    return a;
}

void say_numbers(struct rig *r, const char *topic, const char *prefix, unsigned from, unsigned count)
{
    struct mi_mqtt *c = rig_client(r, NULL, MQTT_PROTOCOL_V5);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    for (unsigned i = from; i < from + count; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s%u", prefix, i);
        int answer = mi_mqtt_say(c, topic, text, 1);
        CU_ASSERT_TRUE(answer >= 0 && answer < 0x80);
    }
    mi_mqtt_close(c);
}

void assert_numbers(struct rig *r, const char *prefix, unsigned from, unsigned count)
{
    CU_ASSERT_EQUAL(mi_readback_count(r->readback), count);
    for (unsigned i = 0; i < count && i < mi_readback_count(r->readback); i++) {
        char text[64];
        int len = snprintf(text, sizeof text, "%s%u", prefix, from + i);
        CU_ASSERT_TRUE(rig_payload_is(mi_readback_at(r->readback, i), text, (size_t)len));
    }
}

static void orders_file(struct rig *r, char *path, size_t size)
{
    snprintf(path, size, "%s/disk.orders", r->broker.dir);
}

static void set_preload(struct rig *r)
{
    char dir[300], orders[300];
    snprintf(dir, sizeof dir, "%s/journal", r->broker.dir);
    orders_file(r, orders, sizeof orders);
    setenv("FAULTY_DIR", dir, 1);
    setenv("FAULTY_ORDERS", orders, 1);
    setenv("LD_PRELOAD", FAULTY_DISK_FILE, 1);
}

bool start_on_faulty_disk(struct rig *r)
{
    set_preload(r);
    bool ok = mi_broker_start(&r->broker);
    unsetenv("LD_PRELOAD");
    return ok;
}

bool start_and_exit_on_faulty_disk(struct rig *r)
{
    set_preload(r);
    int status = mi_broker_start_and_exit(&r->broker);
    unsetenv("LD_PRELOAD");
    return status > 0;
}

void break_disk(struct rig *r, const char *orders)
{
    char path[300], whole[310];
    orders_file(r, path, sizeof path);
    snprintf(whole, sizeof whole, "%s.new", path);
    if (!orders)
        unlink(path);
    else
        CU_ASSERT_TRUE(mi_write_file(whole, orders) && rename(whole, path) == 0);
}
