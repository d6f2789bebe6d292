#include "status/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "status/answers.h"

enum {
    MAX_CONNECTIONS = 16,
    DEFAULT_SILENCE_S = 10,
    CONNECTION_BYTES = 16384, /* memory of one connection, request head included */
    LOG_INTERVAL_S = 60,
};

struct mi_listener {
    struct mi_listener_options options;
    struct MHD_Daemon *daemon;
    int socket; /* ours until the daemon has it, then -1 */
    /* What the loop waits for: the daemon's own epoll descriptor and a timer. The timer makes connections
     * that fell silent time out even when nothing else happens: a full house would not even notice a new one.
     */
    int wait;
    int timer;
    uint16_t port;
    struct mi_log_limit limit;
};

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static int open_socket(struct mi_listener *l, struct mi_error *err);
static int start_daemon(struct mi_listener *l, struct mi_error *err);
static int start_waiting(struct mi_listener *l, struct mi_error *err);
static void set_timer(struct mi_listener *l);
static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **request);
static void log_from_daemon(void *context, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

struct mi_listener *mi_listener_new(const struct mi_listener_options *options, struct mi_error *err)
{
    struct mi_listener *l = calloc(1, sizeof *l);
    if (!l) {
        mi_error_set(err, "no memory");
        return NULL;
    }
    l->options = *options;
    l->socket = l->wait = l->timer = -1;
    if (open_socket(l, err) != 0 || start_daemon(l, err) != 0 || start_waiting(l, err) != 0) {
        mi_listener_free(l);
        return NULL;
    }
    return l;
}

static unsigned connections(const struct mi_listener *l)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(l->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    return info ? info->num_connections : 0;
}

void mi_listener_free(struct mi_listener *l)
{
    if (!l)
        return;
    if (l->daemon)
        MHD_stop_daemon(l->daemon);
    const int descriptors[] = {l->socket, l->wait, l->timer};
    for (size_t i = 0; i < sizeof descriptors / sizeof *descriptors; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
    free(l);
}

uint16_t mi_listener_port(const struct mi_listener *l)
{
    return l->port;
}

int mi_listener_fd(const struct mi_listener *l)
{
    return l->wait;
}

/* Again after each turn in which a connection ended: with a full house the daemon does not watch its
 * listening socket, and only the turn after the end of a connection takes that up again. */
void mi_listener_run(struct mi_listener *l)
{
    unsigned before;
    do {
        before = connections(l);
        MHD_run(l->daemon);
    } while (connections(l) < before);
    set_timer(l);
}

/* ---- start ---- */

static socklen_t parse_address(const struct mi_listener_options *options, union address *a)
{
    memset(a, 0, sizeof *a);
    if (inet_pton(AF_INET, options->address, &a->v4.sin_addr) == 1) {
        a->v4.sin_family = AF_INET;
        a->v4.sin_port = htons(options->port);
        return sizeof a->v4;
    }
    if (inet_pton(AF_INET6, options->address, &a->v6.sin6_addr) == 1) {
        a->v6.sin6_family = AF_INET6;
        a->v6.sin6_port = htons(options->port);
        return sizeof a->v6;
    }
    return 0;
}

static int open_socket(struct mi_listener *l, struct mi_error *err)
{
    const int on = 1;
    const char *host = l->options.address;
    unsigned port = l->options.port;
    union address a;
    socklen_t len = parse_address(&l->options, &a);
    if (len == 0)
        return mi_error_set(err, "\"%s\" is not an IP address, such as 127.0.0.1 or ::1", host);
    l->socket = socket(a.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (l->socket < 0)
        return mi_error_set(err, "no socket for %s: %s", host, strerror(errno));
    setsockopt(l->socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(l->socket, &a.any, len) != 0 || listen(l->socket, MAX_CONNECTIONS) != 0 ||
        getsockname(l->socket, &a.any, &len) != 0)
        return mi_error_set(err, "cannot listen on %s port %u: %s", host, port, strerror(errno));
    l->port = ntohs(a.any.sa_family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
    return 0;
}

/* Without an internal thread: MHD_run does all work, on the caller's thread. */
static int start_daemon(struct mi_listener *l, struct mi_error *err)
{
    unsigned silence_s = l->options.silence_s ? l->options.silence_s : DEFAULT_SILENCE_S;
    l->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_ERROR_LOG, 0, NULL, NULL, answer, l,
                                 MHD_OPTION_EXTERNAL_LOGGER, log_from_daemon, l, MHD_OPTION_LISTEN_SOCKET,
                                 l->socket, MHD_OPTION_CONNECTION_LIMIT, (unsigned)MAX_CONNECTIONS,
                                 MHD_OPTION_CONNECTION_TIMEOUT, silence_s, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                                 (size_t)CONNECTION_BYTES, MHD_OPTION_END);
    if (!l->daemon)
        return mi_error_set(err, "libmicrohttpd does not start");
    l->socket = -1;
    return 0;
}

static int start_waiting(struct mi_listener *l, struct mi_error *err)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(l->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    l->wait = epoll_create1(EPOLL_CLOEXEC);
    l->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    if (!info || l->wait < 0 || l->timer < 0 ||
        epoll_ctl(l->wait, EPOLL_CTL_ADD, info->epoll_fd, &event) != 0 ||
        epoll_ctl(l->wait, EPOLL_CTL_ADD, l->timer, &event) != 0)
        return mi_error_set(err, "cannot wait for connections: %s", strerror(errno));
    set_timer(l);
    return 0;
}

/* Setting it also takes back that it has run out. */
static void set_timer(struct mi_listener *l)
{
    MHD_UNSIGNED_LONG_LONG ms;
    struct itimerspec when = {0};
    if (MHD_get_timeout(l->daemon, &ms) == MHD_YES) {
        when.it_value.tv_sec = (time_t)(ms / 1000);
        /* Never 0, which would stop the timer: work that is left comes right after this turn of the loop. */
        when.it_value.tv_nsec = (long)(ms % 1000) * 1000000 + 1;
    }
    timerfd_settime(l->timer, 0, &when, NULL);
}

/* ---- requests ---- */

static enum MHD_Result queue(struct MHD_Connection *connection, struct mi_answer *a, const char *allow)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(a->body.len, a->body.data, MHD_RESPMEM_MUST_FREE);
    if (!response) {
        mi_buf_fini(&a->body);
        return MHD_NO;
    }
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, a->type);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    if (allow)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, allow);
    enum MHD_Result result = MHD_queue_response(connection, a->status, response);
    MHD_destroy_response(response);
    return result;
}

/* Called once per request with its head, and (for a request that we answer) once more at its end. HEAD's
 * missing body is the library's work. */
static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **request)
{
    static char seen;
    struct mi_listener *l = context;
    struct mi_answer a;
    (void)version, (void)upload;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
        a = (struct mi_answer){.status = MHD_HTTP_METHOD_NOT_ALLOWED, .type = "text/plain; charset=utf-8"};
        mi_buf_init(&a.body, 100);
        mi_buf_add_text(&a.body, "only GET and HEAD\n");
        return queue(connection, &a, "GET, HEAD");
    }
    if (!*request) {
        *request = &seen;
        return MHD_YES;
    }
    if (*upload_size > 0) { /* a body that nobody asked for */
        *upload_size = 0;
        return MHD_YES;
    }
    mi_answer_make(&l->options, path, &a);
    return queue(connection, &a, NULL);
}

static void log_from_daemon(void *context, const char *format, va_list args)
{
    struct mi_listener *l = context;
    char line[300];
    vsnprintf(line, sizeof line, format, args);
    line[strcspn(line, "\n")] = '\0';
    mi_log_limited(l->options.log, &l->limit, mi_now_ns(&mi_clock_system), LOG_INTERVAL_S * MI_NS_PER_S,
                   MI_LOG_WARNING, "status listener: %s", line);
}
