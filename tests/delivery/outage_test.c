/*
 * outage: the network and Iggy go away in every way, and all that was acknowledged arrives, once and in
 * order. Numbers in names: tests/README.md.
 */
#include "stage.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONFIG(iggy, journal, limits)                                                       \
    "{'iggy':{'url':'IGGY','username':'iggy','password_file':'DIR/iggy.password'" iggy "}," \
    "'journal':{'directory':'DIR/journal'" journal "},'status':{'listen':'STATUS'},"        \
    "'limits':{'retry_min':'20ms','retry_max':'500ms'" limits "},"                          \
    "'routes':[{'name':'all','filter':'a/#','direction':'out','stream':'s','topic':'t'}]}"
#define IMPATIENT ",'connect_timeout':'500ms','request_timeout':'1s'"

static struct rig *start_at(const char *json, uint16_t port)
{
    struct rig *r = rig_new(NULL, NULL);
    CU_ASSERT_TRUE_FATAL(mi_iggy_server_start(&r->iggy));
    CU_ASSERT_TRUE_FATAL(mi_broker_config(&r->broker, json, port ? port : r->iggy.port) &&
                         mi_broker_start(&r->broker));
    return r;
}

static struct rig *start_behind(const char *json, struct proxy **proxy)
{
    struct rig *r = rig_new(NULL, NULL);
    CU_ASSERT_TRUE_FATAL(mi_iggy_server_start(&r->iggy));
    *proxy = proxy_new(r->iggy.port);
    CU_ASSERT_PTR_NOT_NULL_FATAL(*proxy);
    CU_ASSERT_TRUE_FATAL(mi_broker_config(&r->broker, json, proxy_port(*proxy)) &&
                         mi_broker_start(&r->broker));
    return r;
}

static void finish(struct rig *r, unsigned count)
{
    CU_ASSERT_TRUE(mi_readback_wait(r->readback, "s", "t", count, 40000));
    assert_numbers(r, "n", 0, count);
    struct account a = account_settled(r, "all", count, 15000);
    CU_ASSERT_EQUAL(a.received, count);
    CU_ASSERT_EQUAL(a.committed, count);
    CU_ASSERT_TRUE(mi_broker_stop(&r->broker, 15000));
    rig_free(r);
}

static void field_1_packets_are_dropped(void)
{
    struct proxy *proxy;
    struct rig *r = start_behind(CONFIG(IMPATIENT, "", ""), &proxy);
    say_numbers(r, "a/b", "n", 0, 10);
    CU_ASSERT_TRUE(mi_readback_wait(r->readback, "s", "t", 10, 10000));
    proxy_set(proxy, PROXY_SWALLOW);
    say_numbers(r, "a/b", "n", 10, 10);
    mi_sleep_ms(1500);
    proxy_set(proxy, PROXY_FORWARD);
    finish(r, 20);
    proxy_free(proxy);
}

static void field_2_a_silent_cut_while_the_backlog_drains(void)
{
    struct proxy *proxy;
    struct rig *r = start_behind(CONFIG(IMPATIENT, "", ",'max_batch_messages':1"), &proxy);
    say_numbers(r, "a/b", "n", 0, 1); /* logged in, target made */
    CU_ASSERT_TRUE(mi_readback_wait(r->readback, "s", "t", 1, 10000));
    proxy_swallow_after(proxy, 2);
    say_numbers(r, "a/b", "n", 1, 12);
    mi_sleep_ms(1500);
    CU_ASSERT_TRUE(mi_readback_read(r->readback, "s", "t") && mi_readback_count(r->readback) == 3);
    CU_ASSERT_EQUAL(account_of(r, "all").pending, 10);
    proxy_set(proxy, PROXY_FORWARD);
    finish(r, 13);
    proxy_free(proxy);
}

/* A listener that nobody accepts from, its queue full: a SYN gets no answer, as from an address without a
 * host. */
static int deaf_listener(uint16_t *port, int *fillers, size_t count)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t len = sizeof a;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CU_ASSERT_TRUE_FATAL(bind(fd, (struct sockaddr *)&a, sizeof a) == 0 && listen(fd, 0) == 0 &&
                         getsockname(fd, (struct sockaddr *)&a, &len) == 0);
    *port = ntohs(a.sin_port);
    for (size_t i = 0; i < count; i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        connect(fillers[i], (struct sockaddr *)&a, sizeof a);
    }
    return fd;
}

static long resident_kb(const struct rig *r)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)r->broker.process.pid);
    char *text = mi_read_file(path), *at = text ? strstr(text, "VmRSS:") : NULL;
    long kb = at ? atol(at + 6) : -1;
    free(text);
    return kb;
}

static long journal_bytes(const struct rig *r)
{
    char dir[300], path[600];
    long sum = 0;
    struct stat st;
    snprintf(dir, sizeof dir, "%s/journal", r->broker.dir);
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
            sum += st.st_size;
    }
    if (d)
        closedir(d);
    return sum;
}

static void field_8_a_host_that_never_answers_and_a_flood(void)
{
    static char payload[10000];
    int fillers[4];
    uint16_t port;
    int deaf = deaf_listener(&port, fillers, 4);
    struct rig *r = start_at(CONFIG(",'connect_timeout':'500ms'", ",'max_size':'8MB','keep':'0B'", ""), port);
    long before = resident_kb(r);
    unsigned kept = 0, refused = 0;
    struct mi_mqtt *c = rig_client(r, "flood", MQTT_PROTOCOL_V5);
    for (unsigned i = 0; i < 4000; i++) /* 40 MB */
        if (mi_mqtt_publish(c, "a/flood", payload, sizeof payload, 1, false, NULL) < 0x80)
            kept++;
        else
            refused++;
    mi_mqtt_close(c);
    CU_ASSERT_TRUE(kept > 500 && refused > 3000);
    CU_ASSERT_TRUE(journal_bytes(r) <= 9000000); /* the journal and its small files */
    CU_ASSERT_TRUE(resident_kb(r) - before < 16384);
    rig_metric(r, "mosquitto_iggy_pending{route=\"all\"}", kept, 5000);
    struct account a = account_of(r, "all");
    CU_ASSERT_EQUAL(a.pending, kept);
    CU_ASSERT_EQUAL(a.rejected, refused);
    CU_ASSERT_TRUE(mi_broker_stop(&r->broker, 15000));
    rig_free(r);
    for (size_t i = 0; i < 4; i++)
        close(fillers[i]);
    close(deaf);
}

static void field_15_timeouts_that_contradict_and_an_outage_longer_than_any(void)
{
    struct rig *bad = rig_new(NULL, NULL);
    CU_ASSERT_TRUE(
        mi_broker_config(&bad->broker, CONFIG(",'connect_timeout':'5s','request_timeout':'1s'", "", ""), 1));
    CU_ASSERT_TRUE(mi_broker_start_and_exit(&bad->broker) > 0);
    CU_ASSERT_TRUE(mi_broker_says(&bad->broker, "connect_timeout", 0));
    rig_free(bad);
    struct rig *r = start_at(CONFIG(IMPATIENT, "", ""), 0);
    CU_ASSERT_TRUE(
        mi_broker_says(&r->broker, "request_timeout", 0)); /* the warning: shorter than Iggy's own */
    mi_iggy_server_stop(&r->iggy);
    say_numbers(r, "a/b", "n", 0, 100);
    mi_sleep_ms(3000);
    CU_ASSERT_EQUAL(account_of(r, "all").pending, 100);
    CU_ASSERT_TRUE(mi_iggy_server_start(&r->iggy));
    finish(r, 100);
}

static void field_17_kill_9_of_iggy_in_the_middle_of_a_batch(void)
{
    struct rig *r = start_at(CONFIG("", "", ",'max_batch_messages':10"), 0);
    if (!mi_iggy_server_fault(&r->iggy, "on produce delay-answer 200 always")) {
        mi_skip("needs iggy-devserver");
        rig_free(r);
        return;
    }
    say_numbers(r, "a/b", "n", 0, 100);
    mi_sleep_ms(500);
    mi_iggy_server_kill(&r->iggy);
    CU_ASSERT_TRUE(mi_iggy_server_start(&r->iggy));
    finish(r, 100);
}

/* 200 requests of 5 messages at least; 10 of them are answered 503. */
static void field_114_order_under_5_percent_of_503(void)
{
    struct rig *r = start_at(CONFIG("", "", ",'max_batch_messages':5"), 0);
    for (unsigned i = 0; i < 10; i++) {
        if (!mi_iggy_server_fault(&r->iggy, "on produce next 503")) {
            mi_skip("needs iggy-devserver");
            rig_free(r);
            return;
        }
        say_numbers(r, "a/b", "n", i * 100, 100);
        double committed =
            rig_metric(r, "mosquitto_iggy_committed_total{route=\"all\"}", i * 100 + 100, 10000);
        CU_ASSERT_EQUAL(committed, i * 100 + 100);
    }
    CU_ASSERT_EQUAL(rig_metric(r, "mosquitto_iggy_requests_failed_total", 10, 1000), 10);
    struct account a = account_of(r, "all");
    CU_ASSERT_TRUE(a.resent >= 10 && a.resent <= 50);
    CU_ASSERT_EQUAL(a.found, 0);
    finish(r, 1000);
}

static CU_TestInfo tests[] = {
    {"field 1: packets are dropped", field_1_packets_are_dropped},
    {"field 2: a silent cut while the backlog drains", field_2_a_silent_cut_while_the_backlog_drains},
    {"field 8: a host that never answers, and a flood", field_8_a_host_that_never_answers_and_a_flood},
    {"field 15: timeouts that contradict, and an outage longer than any",
     field_15_timeouts_that_contradict_and_an_outage_longer_than_any},
    {"field 17: kill -9 of Iggy in the middle of a batch", field_17_kill_9_of_iggy_in_the_middle_of_a_batch},
    {"field 114: order under 5 % of 503", field_114_order_under_5_percent_of_503},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("outage", tests)
