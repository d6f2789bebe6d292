/* listener: real HTTP over loopback, client and listener driven in turn by this one thread; the listener runs
 * only when its descriptor says so. */
#include "status/listener.h"
#include "support/process.h"
#include "support/suite.h"

#include <arpa/inet.h>
#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_MAX = 8 << 20, PATIENCE_MS = 10000 };

static const char *not_ready; /* NULL: ready */

static int refreshed;

static void refresh(void *context)
{
    (void)context;
    refreshed++;
}

static bool is_ready(void *context, const char **why)
{
    (void)context;
    *why = not_ready;
    return !not_ready;
}

static bool give_status(void *context, struct mi_buf *json)
{
    return mi_buf_add_text(json, context);
}

struct rig {
    struct mi_metrics *metrics;
    struct mi_listener *listener;
    char *answer; /* NUL-terminated */
    size_t answer_len;
};

static void rig_start(struct rig *r, unsigned silence_s)
{
    static char status[] = "{\"bridge\":\"b1\"}";
    not_ready = NULL;
    r->metrics = mi_metrics_new();
    mi_count(mi_metrics_route(r->metrics, 1, "rooms"), MI_C_COMMITTED, 42);
    struct mi_listener_options o = {.address = "127.0.0.1",
                                    .silence_s = silence_s,
                                    .metrics = r->metrics,
                                    .refresh = refresh,
                                    .ready = is_ready,
                                    .status = give_status,
                                    .context = status};
    struct mi_error err;
    r->listener = mi_listener_new(&o, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(r->listener);
    r->answer = malloc(ANSWER_MAX + 1);
    r->answer_len = 0;
}

static void rig_stop(struct rig *r)
{
    mi_listener_free(r->listener);
    mi_metrics_free(r->metrics);
    free(r->answer);
}

static int connect_to(uint16_t port)
{
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CU_ASSERT_EQUAL_FATAL(connect(fd, (struct sockaddr *)&a, sizeof a), 0); /* the backlog takes it at once */
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

/* Lets the listener work while it wants to, at least once for wait_ms. */
static void turn(struct rig *r, int wait_ms)
{
    struct pollfd p = {.fd = mi_listener_fd(r->listener), .events = POLLIN};
    if (poll(&p, 1, wait_ms) > 0)
        mi_listener_run(r->listener);
}

static void send_text(int fd, const char *text)
{
    CU_ASSERT_EQUAL(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* Reads on; true once the other side has closed. */
static bool read_some(struct rig *r, int fd)
{
    ssize_t n = recv(fd, r->answer + r->answer_len, ANSWER_MAX - r->answer_len, 0);
    if (n > 0)
        r->answer_len += (size_t)n;
    r->answer[r->answer_len] = '\0';
    return n == 0 || (n < 0 && errno != EAGAIN);
}

static bool read_to_end(struct rig *r, int fd)
{
    r->answer_len = 0;
    for (uint64_t end = mi_monotonic_ms() + PATIENCE_MS; mi_monotonic_ms() < end; turn(r, 1))
        if (read_some(r, fd))
            return true;
    return false;
}

/* One request on its own connection; the answer is in r->answer. Returns the status. */
static int ask(struct rig *r, const char *method, const char *path)
{
    char request[256];
    int fd = connect_to(mi_listener_port(r->listener)), status = -1;
    snprintf(request, sizeof request, "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", method, path);
    send_text(fd, request);
    CU_ASSERT_TRUE(read_to_end(r, fd));
    sscanf(r->answer, "HTTP/1.1 %d", &status);
    close(fd);
    return status;
}

static bool says(const struct rig *r, const char *text)
{
    return strcasestr(r->answer, text) != NULL;
}

static const char *body(const struct rig *r)
{
    const char *end = strstr(r->answer, "\r\n\r\n");
    return end ? end + 4 : "";
}

/* ---- answers ---- */

static void each_path_has_its_answer(void)
{
    struct rig r;
    rig_start(&r, 0);
    refreshed = 0;
    CU_ASSERT_EQUAL(ask(&r, "GET", "/metrics"), 200);
    CU_ASSERT_EQUAL(refreshed, 1);
    CU_ASSERT_TRUE(says(&r, "content-type: text/plain; version=0.0.4; charset=utf-8\r\n"));
    CU_ASSERT_TRUE(says(&r, "\nmosquitto_iggy_committed_total{route=\"rooms\"} 42\n"));
    CU_ASSERT_EQUAL(ask(&r, "GET", "/health"), 200);
    CU_ASSERT_STRING_EQUAL(body(&r), "ok\n");
    CU_ASSERT_EQUAL(ask(&r, "GET", "/ready?verbose=1"), 200);
    CU_ASSERT_STRING_EQUAL(body(&r), "ready\n");
    CU_ASSERT_EQUAL(ask(&r, "GET", "/status.json"), 200);
    CU_ASSERT_TRUE(says(&r, "content-type: application/json\r\n"));
    cJSON *root = cJSON_Parse(body(&r));
    CU_ASSERT_PTR_NOT_NULL_FATAL(root);
    CU_ASSERT_TRUE(cJSON_IsTrue(cJSON_GetObjectItem(root, "ready")));
    CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(cJSON_GetObjectItem(root, "status"), "bridge")->valuestring,
                           "b1");
    const cJSON *routes = cJSON_GetObjectItem(cJSON_GetObjectItem(root, "metrics"), "routes");
    CU_ASSERT_EQUAL(cJSON_GetObjectItem(routes->child, "committed")->valueint, 42);
    cJSON_Delete(root);
    rig_stop(&r);
}

static void not_ready_is_503_with_the_reason(void)
{
    struct rig r;
    rig_start(&r, 0);
    not_ready = "the journal is not writable";
    CU_ASSERT_EQUAL(ask(&r, "GET", "/ready"), 503);
    CU_ASSERT_STRING_EQUAL(body(&r), "not ready: the journal is not writable\n");
    CU_ASSERT_EQUAL(ask(&r, "GET", "/health"), 200);
    CU_ASSERT_EQUAL(ask(&r, "GET", "/status.json"), 200);
    CU_ASSERT_TRUE(says(&r, "\"ready\":false"));
    rig_stop(&r);
}

static void other_paths_are_404_and_other_methods_405(void)
{
    static const char *const methods[] = {"POST", "PUT", "DELETE", "OPTIONS", "BREW"};
    struct rig r;
    rig_start(&r, 0);
    CU_ASSERT_EQUAL(ask(&r, "GET", "/"), 404);
    CU_ASSERT_EQUAL(ask(&r, "GET", "/metrics/"), 404);
    CU_ASSERT_EQUAL(ask(&r, "HEAD", "/nothing"), 404);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        CU_ASSERT_EQUAL(ask(&r, methods[i], "/metrics"), 405);
        CU_ASSERT_TRUE(says(&r, "allow: GET, HEAD\r\n"));
    }
    rig_stop(&r);
}

static void head_is_get_without_the_body(void)
{
    struct rig r;
    rig_start(&r, 0);
    CU_ASSERT_EQUAL(ask(&r, "HEAD", "/ready"), 200);
    CU_ASSERT_TRUE(says(&r, "content-length: 6\r\n"));
    CU_ASSERT_STRING_EQUAL(body(&r), "");
    rig_stop(&r);
}

/* ---- connections ---- */

static void a_request_in_pieces_and_two_on_one_connection(void)
{
    struct rig r;
    rig_start(&r, 0);
    int fd = connect_to(mi_listener_port(r.listener));
    const char request[] = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n";
    for (const char *p = request; *p; p++) {
        char one[] = {*p, '\0'};
        send_text(fd, one);
        turn(&r, 50);
    }
    r.answer_len = 0;
    for (int i = 0; i < 100 && !says(&r, "\r\n\r\nok\n"); i++) {
        CU_ASSERT_FALSE(read_some(&r, fd));
        turn(&r, 10);
    }
    CU_ASSERT_TRUE(says(&r, "\r\n\r\nok\n"));
    send_text(fd, "GET /ready HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    CU_ASSERT_TRUE(read_to_end(&r, fd));
    CU_ASSERT_STRING_EQUAL(body(&r), "ready\n");
    close(fd);
    rig_stop(&r);
}

static void garbage_closes_only_its_own_connection(void)
{
    static const char *const garbage[] = {"\r\n\r\n\r\n", "GET\r\n\r\n",
                                          "\x16\x03\x01\x02\x01\x01\xfc\r\n\r\n",
                                          "GET /metrics HTTP/9.9\r\n\r\n"};
    struct rig r;
    rig_start(&r, 1);
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        int fd = connect_to(mi_listener_port(r.listener));
        send_text(fd, garbage[i]);
        CU_ASSERT_TRUE(read_to_end(&r, fd)); /* refused, or silent for a second */
        CU_ASSERT_FALSE(says(&r, "200 OK"));
        close(fd);
    }
    int fd = connect_to(mi_listener_port(r.listener));
    send_text(fd, "GET /metrics HTTP/1.1\r\nX: ");
    char long_value[20001];
    memset(long_value, 'a', sizeof long_value - 1);
    long_value[sizeof long_value - 1] = '\0';
    send_text(fd, long_value);
    CU_ASSERT_TRUE(read_to_end(&r, fd));
    CU_ASSERT_FALSE(says(&r, "200 OK"));
    close(fd);
    CU_ASSERT_EQUAL(ask(&r, "GET", "/health"), 200);
    rig_stop(&r);
}

static void silent_connections_make_room_for_others(void)
{
    enum { SILENT = 16 };
    int silent[SILENT];
    struct rig r;
    rig_start(&r, 1);
    for (int i = 0; i < SILENT; i++) {
        silent[i] = connect_to(mi_listener_port(r.listener));
        turn(&r, 50);
    }
    int fd = connect_to(mi_listener_port(r.listener));
    send_text(fd, "GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    for (int i = 0; i < 10; i++)
        turn(&r, 10);
    r.answer_len = 0;
    CU_ASSERT_FALSE(read_some(&r, fd));
    CU_ASSERT_EQUAL(r.answer_len, 0); /* the house is full */
    CU_ASSERT_TRUE(read_to_end(&r, fd));
    CU_ASSERT_STRING_EQUAL(body(&r), "ok\n");
    for (int i = 0; i < SILENT; i++)
        close(silent[i]);
    close(fd);
    rig_stop(&r);
}

static void fill(struct rig *r)
{
    for (uint32_t i = 0; i < 3000; i++)
        mi_metrics_route(r->metrics, 1000 + i, NULL);
}

static void a_large_page_arrives_whole(void)
{
    struct rig r;
    rig_start(&r, 0);
    fill(&r);
    CU_ASSERT_EQUAL(ask(&r, "GET", "/metrics"), 200);
    size_t promised = 0;
    const char *head = strcasestr(r.answer, "content-length: ");
    CU_ASSERT_PTR_NOT_NULL_FATAL(head);
    sscanf(head + 16, "%zu", &promised);
    CU_ASSERT_TRUE(promised > 3000 * 20 * 40);
    CU_ASSERT_EQUAL(strlen(body(&r)), promised);
    CU_ASSERT_TRUE(says(&r, "{route=\"route-00000f9f\"} 0\n"));
    rig_stop(&r);
}

static void a_reader_that_goes_away_sends_no_signal(void)
{
    struct sigaction before, after;
    sigaction(SIGPIPE, NULL, &before);
    CU_ASSERT_PTR_EQUAL_FATAL(before.sa_handler, SIG_DFL); /* else this test proves nothing */
    struct rig r;
    rig_start(&r, 0);
    fill(&r);
    for (int i = 0; i < 20; i++) {
        int fd = connect_to(mi_listener_port(r.listener));
        send_text(fd, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        for (int k = 0; k < 3 + i % 3; k++)
            turn(&r, 10);
        struct linger reset = {1, 0};
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        close(fd);
        turn(&r, 10);
    }
    CU_ASSERT_EQUAL(ask(&r, "GET", "/health"), 200);
    sigaction(SIGPIPE, NULL, &after);
    CU_ASSERT_PTR_EQUAL(before.sa_handler, after.sa_handler);
    rig_stop(&r);
}

static size_t threads(void)
{
    size_t count = 0;
    DIR *d = opendir("/proc/self/task");
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
        count += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return count;
}

static void it_has_no_thread_and_rests_when_nobody_asks(void)
{
    size_t before = threads();
    struct rig r;
    rig_start(&r, 0);
    CU_ASSERT_EQUAL(ask(&r, "GET", "/health"), 200);
    CU_ASSERT_EQUAL(threads(), before);
    for (int i = 0; i < 20; i++)
        turn(&r, 5);
    struct pollfd p = {.fd = mi_listener_fd(r.listener), .events = POLLIN};
    CU_ASSERT_EQUAL(poll(&p, 1, 200), 0);
    rig_stop(&r);
}

/* ---- start ---- */

static void a_port_in_use_and_a_wrong_address_are_named(void)
{
    struct rig r;
    rig_start(&r, 0);
    struct mi_listener_options o = {.address = "127.0.0.1",
                                    .port = mi_listener_port(r.listener),
                                    .metrics = r.metrics,
                                    .ready = is_ready,
                                    .status = give_status};
    struct mi_error err;
    char expected[128];
    CU_ASSERT_PTR_NULL(mi_listener_new(&o, &err));
    snprintf(expected, sizeof expected, "cannot listen on 127.0.0.1 port %u: Address already in use", o.port);
    CU_ASSERT_STRING_EQUAL(err.text, expected);
    o.address = "localhost.example";
    CU_ASSERT_PTR_NULL(mi_listener_new(&o, &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "\"localhost.example\" is not an IP address"));
    rig_stop(&r);
}

static void ipv6_works_where_there_is_any(void)
{
    struct rig r;
    rig_start(&r, 0);
    struct mi_listener_options o = {
        .address = "::1", .metrics = r.metrics, .ready = is_ready, .status = give_status};
    struct mi_error err;
    struct mi_listener *first = r.listener, *l = mi_listener_new(&o, &err);
    if (!l) {
        mi_skip("no IPv6 loopback: %s", err.text);
        rig_stop(&r);
        return;
    }
    struct sockaddr_in6 a = {
        .sin6_family = AF_INET6, .sin6_port = htons(mi_listener_port(l)), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CU_ASSERT_EQUAL(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    send_text(fd, "GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    r.listener = l;
    CU_ASSERT_TRUE(read_to_end(&r, fd));
    CU_ASSERT_STRING_EQUAL(body(&r), "ok\n");
    close(fd);
    mi_listener_free(l);
    r.listener = first;
    rig_stop(&r);
}

static CU_TestInfo tests[] = {
    {"each path has its answer", each_path_has_its_answer},
    {"not ready is 503 with the reason", not_ready_is_503_with_the_reason},
    {"other paths are 404 and other methods 405", other_paths_are_404_and_other_methods_405},
    {"HEAD is GET without the body", head_is_get_without_the_body},
    {"a request in pieces, and two on one connection", a_request_in_pieces_and_two_on_one_connection},
    {"garbage closes only its own connection", garbage_closes_only_its_own_connection},
    {"silent connections make room for others", silent_connections_make_room_for_others},
    {"a large page arrives whole", a_large_page_arrives_whole},
    {"a reader that goes away sends no signal", a_reader_that_goes_away_sends_no_signal},
    {"it has no thread and rests when nobody asks", it_has_no_thread_and_rests_when_nobody_asks},
    {"a port in use and a wrong address are named", a_port_in_use_and_a_wrong_address_are_named},
    {"IPv6 works where there is any", ipv6_works_where_there_is_any},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("listener", tests)
