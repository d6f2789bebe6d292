/* subscriber: a scripted broker on a Unix socket, driven in turn by this one thread. */
#include "mqtt/subscriber.h"
#include "support/process.h"
#include "support/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct {
    char dir[200], path[250];
    int listener, fd, watch;
    struct mi_subscriber *s;
    struct mi_subscriber_options options;
    uint64_t now_ns;
    /* what was taken */
    char topics[64][32];
    bool dup[64];
    size_t taken;
    bool full;
    /* what it said */
    uint8_t got[8192];
    size_t got_len;
    char log[4000];
} t;

static uint64_t fake_now(void *context)
{
    (void)context;
    return t.now_ns;
}
static const struct mi_clock fake_clock = {fake_now, fake_now, NULL, NULL};

static void log_line(void *context, enum mi_log_level level, const char *line)
{
    (void)context, (void)level;
    size_t len = strlen(t.log);
    snprintf(t.log + len, sizeof t.log - len, "%s\n", line);
}
static const struct mi_log log_here = {log_line, NULL};

static bool take(void *context, const struct mi_packet *p)
{
    (void)context;
    if (t.full)
        return false;
    snprintf(t.topics[t.taken], sizeof t.topics[0], "%.*s", (int)p->topic.len, (const char *)p->topic.data);
    t.dup[t.taken++] = p->dup;
    return true;
}

static void listen_here(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path, sizeof a.sun_path, "%.100s", t.path);
    t.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    unlink(t.path);
    CU_ASSERT_EQUAL_FATAL(bind(t.listener, (struct sockaddr *)&a, sizeof a), 0);
    CU_ASSERT_EQUAL_FATAL(listen(t.listener, 8), 0);
}

static void follow(const char *one, const char *two)
{
    struct mi_filters f = {0};
    if (one)
        mi_filters_add(&f, one);
    if (two)
        mi_filters_add(&f, two);
    mi_subscriber_follow(t.s, &t.options, &f);
}

static void start(void)
{
    memset(&t, 0, sizeof t);
    CU_ASSERT_TRUE_FATAL(mi_temp_dir(t.dir, sizeof t.dir));
    snprintf(t.path, sizeof t.path, "%s/s", t.dir);
    t.fd = t.listener = -1;
    t.now_ns = 1000000000;
    t.watch = epoll_create1(EPOLL_CLOEXEC);
    t.options = (struct mi_subscriber_options){.host = t.path,
                                               .client_id = "me",
                                               .clock = &fake_clock,
                                               .log = &log_here,
                                               .watch = t.watch,
                                               .take = take};
    t.s = mi_subscriber_new(&t.options);
}

static void end(void)
{
    mi_subscriber_free(t.s);
    close(t.watch);
    if (t.fd >= 0)
        close(t.fd);
    if (t.listener >= 0)
        close(t.listener);
    mi_remove_tree(t.dir);
}

/* A step, and what it wrote. */
static void step(void)
{
    mi_subscriber_step(t.s, 100);
    if (t.fd < 0 && t.listener >= 0)
        t.fd = accept4(t.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    t.got_len = 0;
    for (ssize_t n; t.fd >= 0 && (n = read(t.fd, t.got + t.got_len, sizeof t.got - t.got_len)) > 0;)
        t.got_len += (size_t)n;
}

static bool said(const void *bytes, size_t len)
{
    return memmem(t.got, t.got_len, bytes, len) != NULL;
}
#define SAID(text) said(text, sizeof text - 1)

static void say_bytes(const void *bytes, size_t len)
{
    CU_ASSERT_EQUAL(write(t.fd, bytes, len), (ssize_t)len);
}
#define SAY(text) say_bytes(text, sizeof text - 1)

static void log_in(const char *connack, size_t len)
{
    step();
    CU_ASSERT_TRUE(t.fd >= 0 && t.got_len > 2 && t.got[0] == 0x10);
    say_bytes(connack, len);
    step();
    CU_ASSERT_TRUE(SAID("\0\3a/#\x2e"));
    SAY("\x90\4\0\1\0\2");
    step();
    CU_ASSERT_TRUE(mi_subscriber_ready(t.s));
}
#define NEW_SESSION "\x20\3\0\0\0", 5
#define OLD_SESSION "\x20\3\1\0\0", 5

static void open_it(void)
{
    start();
    listen_here();
    follow("a/#", NULL);
    log_in(NEW_SESSION);
}

static void lose_it(void)
{
    close(t.fd);
    t.fd = -1;
    step();
    CU_ASSERT_FALSE(mi_subscriber_ready(t.s));
    t.now_ns += 20 * 1000000000ull;
}

#define QOS1(id) "\x32\x08\0\3a/1\0" id "\0"
#define QOS2(id) "\x34\x08\0\3a/2\0" id "\0"
#define QOS2_AGAIN(id) "\x3c\x08\0\3a/2\0" id "\0"

static void each_qos_is_acknowledged_as_it_is_taken(void)
{
    open_it();
    SAY("\x30\6\0\3a/0\0" QOS1("\1") QOS2("\2"));
    step();
    CU_ASSERT_EQUAL(t.taken, 3);
    CU_ASSERT_TRUE(SAID("\x40\2\0\1") && SAID("\x50\2\0\2"));
    SAY("\x62\2\0\2");
    step();
    CU_ASSERT_TRUE(SAID("\x70\2\0\2"));
    CU_ASSERT_EQUAL(t.taken, 3);
    end();
}

static void what_is_not_taken_is_not_acknowledged(void)
{
    open_it();
    t.full = true;
    SAY(QOS1("\1") QOS1("\2"));
    step();
    step();
    CU_ASSERT_EQUAL(t.got_len, 0);
    t.full = false;
    step();
    CU_ASSERT_EQUAL(t.taken, 2);
    CU_ASSERT_TRUE(SAID("\x40\2\0\1\x40\2\0\2"));
    end();
}

static void a_step_takes_no_more_than_it_may(void)
{
    open_it();
    for (int i = 0; i < 10; i++)
        SAY(QOS1("\1"));
    CU_ASSERT_TRUE(mi_subscriber_step(t.s, 4));
    CU_ASSERT_EQUAL(t.taken, 4);
    CU_ASSERT_TRUE(mi_subscriber_step(t.s, 4));
    CU_ASSERT_FALSE(mi_subscriber_step(t.s, 4));
    CU_ASSERT_EQUAL(t.taken, 10);
    end();
}

/* The broker did not get our PUBREC: the message is the same one, and comes only once. */
static void qos_2_comes_once_over_a_lost_connection(void)
{
    open_it();
    SAY(QOS2("\2"));
    step();
    CU_ASSERT_EQUAL(t.taken, 1);
    lose_it();
    log_in(OLD_SESSION);
    SAY(QOS2_AGAIN("\2"));
    step();
    CU_ASSERT_EQUAL(t.taken, 1);
    CU_ASSERT_TRUE(SAID("\x50\2\0\2"));
    SAY("\x62\2\0\2" QOS2("\2"));
    step();
    CU_ASSERT_EQUAL(t.taken, 2); /* the id is free again: another message */
    lose_it();
    log_in(NEW_SESSION);
    SAY(QOS2("\2"));
    step();
    CU_ASSERT_EQUAL(t.taken, 3); /* the session is another: so is the message */
    end();
}

/* The acknowledgement may have been lost: nobody can tell. */
static void qos_1_that_comes_again_is_marked(void)
{
    open_it();
    SAY(QOS1("\1"));
    step();
    lose_it();
    log_in(OLD_SESSION);
    SAY("\x3a\x08\0\3a/1\0\1\0");
    step();
    CU_ASSERT_EQUAL(t.taken, 2);
    CU_ASSERT_TRUE(!t.dup[0] && t.dup[1]);
    end();
}

static void nobody_there_is_tried_again_with_pauses(void)
{
    start();
    follow("a/#", NULL);
    for (int i = 0; i < 200; i++) {
        step();
        t.now_ns += 100000000; /* 20 s in all */
    }
    CU_ASSERT_PTR_NOT_NULL(strstr(t.log, "No such file"));
    CU_ASSERT_PTR_NOT_NULL(strstr(mi_subscriber_trouble(t.s), "No such file"));
    size_t lines = 0;
    for (const char *p = t.log; (p = strchr(p, '\n')) != NULL; p++)
        lines++;
    CU_ASSERT_EQUAL(lines, 1); /* one line in 30 s */
    listen_here();
    t.now_ns += 20 * 1000000000ull;
    log_in(NEW_SESSION);
    CU_ASSERT_STRING_EQUAL(mi_subscriber_trouble(t.s), "");
    end();
}

static void refusals_are_told_and_tried_again(void)
{
    start();
    listen_here();
    follow("a/#", NULL);
    step();
    SAY("\x20\3\0\x86\0");
    step();
    CU_ASSERT_PTR_NOT_NULL(strstr(t.log, "user name or password is wrong"));
    close(t.fd);
    t.fd = -1;
    t.now_ns += 60 * 1000000000ull;
    step();
    SAY("\x20\3\0\0\0");
    step();
    SAY("\x90\4\0\1\0\x87");
    step();
    CU_ASSERT_FALSE(mi_subscriber_ready(t.s));
    CU_ASSERT_PTR_NOT_NULL(strstr(t.log, "refuses a subscription (reason 0x87"));
    end();
}

static void garbage_and_silence_end_the_connection(void)
{
    open_it();
    SAY("\x10\0");
    step();
    CU_ASSERT_FALSE(mi_subscriber_ready(t.s));
    CU_ASSERT_PTR_NOT_NULL(strstr(mi_subscriber_trouble(t.s), "no MQTT packet"));
    close(t.fd);
    t.fd = -1;
    t.now_ns += 60 * 1000000000ull;
    step();
    CU_ASSERT_TRUE(t.fd >= 0);
    t.now_ns += 31 * 1000000000ull; /* no CONNACK */
    step();
    CU_ASSERT_PTR_NOT_NULL(strstr(mi_subscriber_trouble(t.s), "does not answer"));
    end();
}

static void it_shows_that_it_lives(void)
{
    open_it();
    t.now_ns += 101 * 1000000000ull;
    step();
    CU_ASSERT_TRUE(t.got_len == 2 && SAID("\xc0\0"));
    SAY("\xd0\0");
    step();
    CU_ASSERT_EQUAL(t.got_len, 0);
    CU_ASSERT_TRUE(mi_subscriber_ready(t.s));
    end();
}

static void other_filters_and_none(void)
{
    open_it();
    follow("b", NULL);
    step();
    CU_ASSERT_TRUE(SAID("\0\3a/#") && SAID("\0\1b\x2e"));
    CU_ASSERT_FALSE(mi_subscriber_ready(t.s));
    SAY("\xb0\4\0\2\0\0\x90\4\0\3\0\2");
    step();
    CU_ASSERT_TRUE(mi_subscriber_ready(t.s));
    follow(NULL, NULL);
    step();
    CU_ASSERT_TRUE(SAID("\xe0\7\0\5\x11\0\0\0\0")); /* the session ends */
    CU_ASSERT_FALSE(mi_subscriber_ready(t.s));
    t.now_ns += 60 * 1000000000ull;
    step();
    char rest;
    CU_ASSERT_EQUAL(read(t.fd, &rest, 1), 0);
    end();
}

static bool watched(void)
{
    struct epoll_event e;
    return epoll_wait(t.watch, &e, 1, 0) == 1;
}

static void somebody_can_wait_for_it(void)
{
    open_it();
    step();
    watched();
    step();
    CU_ASSERT_FALSE(watched());
    SAY("\x30\6\0\3a/0\0");
    CU_ASSERT_TRUE(watched());
    CU_ASSERT_FALSE(watched()); /* one shot */
    step();
    CU_ASSERT_EQUAL(t.taken, 1);
    SAY("\x30\6\0\3a/0\0");
    CU_ASSERT_TRUE(watched());
    end();
}

static CU_TestInfo tests[] = {
    {"each QoS is acknowledged as it is taken", each_qos_is_acknowledged_as_it_is_taken},
    {"what is not taken is not acknowledged", what_is_not_taken_is_not_acknowledged},
    {"a step takes no more than it may", a_step_takes_no_more_than_it_may},
    {"QoS 2 comes once over a lost connection", qos_2_comes_once_over_a_lost_connection},
    {"QoS 1 that comes again is marked", qos_1_that_comes_again_is_marked},
    {"nobody there is tried again with pauses", nobody_there_is_tried_again_with_pauses},
    {"refusals are told and tried again", refusals_are_told_and_tried_again},
    {"garbage and silence end the connection", garbage_and_silence_end_the_connection},
    {"it shows that it lives", it_shows_that_it_lives},
    {"other filters, and none", other_filters_and_none},
    {"somebody can wait for it", somebody_can_wait_for_it},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("subscriber", tests)
