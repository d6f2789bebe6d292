#include "status/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "status/answers.h"
#include "status/guard.h"

enum {
    MAX_CONNECTIONS = 16,
    DEFAULT_SILENCE_S = 10,
    CONNECTION_BYTES = 16384, /* memory of one connection, request head included */
    LOG_INTERVAL_S = 60,
};

struct mi_listener {
    struct mi_listener_options options;
    struct mi_guard guard;
    struct MHD_Daemon *daemon;
    int socket;
    bool loopback;
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
static struct MHD_Daemon *start_daemon(struct mi_listener *l, const struct mi_listener_access *access,
                                       struct mi_error *err);
static void stop_daemon(struct MHD_Daemon *daemon);
static int start_waiting(struct mi_listener *l, struct mi_error *err);
static int watch(struct mi_listener *l, struct MHD_Daemon *daemon, struct mi_error *err);
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
    if (open_socket(l, err) != 0 || start_waiting(l, err) != 0 ||
        mi_listener_renew(l, &options->access, err) != 0) {
        mi_listener_free(l);
        return NULL;
    }
    memset(&l->options.access, 0, sizeof l->options.access);
    return l;
}

/* The socket stays, and what waits in it: the new daemon takes it over. */
int mi_listener_renew(struct mi_listener *l, const struct mi_listener_access *access, struct mi_error *err)
{
    if (!l->loopback && !access->token && !access->client_ca)
        return mi_error_set(err, "an address that is not loopback needs a token or client certificates");
    struct MHD_Daemon *daemon = start_daemon(l, access, err);
    if (!daemon)
        return -1;
    if (watch(l, daemon, err) != 0) {
        stop_daemon(daemon);
        return -1;
    }
    if (!mi_guard_set(&l->guard, access)) {
        stop_daemon(daemon);
        return mi_error_set(err, "no memory");
    }
    stop_daemon(l->daemon);
    l->daemon = daemon;
    set_timer(l);
    return 0;
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
    stop_daemon(l->daemon);
    mi_guard_clear(&l->guard);
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

static socklen_t parse_address(const struct mi_listener_options *options, union address *a, bool *loopback)
{
    memset(a, 0, sizeof *a);
    if (inet_pton(AF_INET, options->address, &a->v4.sin_addr) == 1) {
        a->v4.sin_family = AF_INET;
        a->v4.sin_port = htons(options->port);
        *loopback = ntohl(a->v4.sin_addr.s_addr) >> 24 == 127;
        return sizeof a->v4;
    }
    if (inet_pton(AF_INET6, options->address, &a->v6.sin6_addr) == 1) {
        a->v6.sin6_family = AF_INET6;
        a->v6.sin6_port = htons(options->port);
        *loopback = IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
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
    socklen_t len = parse_address(&l->options, &a, &l->loopback);
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

/* Each daemon has its own descriptor of the one socket. NULL with err. */
static struct MHD_Daemon *start_with(struct mi_listener *l, unsigned flags, const struct MHD_OptionItem *tls,
                                     struct mi_error *err)
{
    unsigned silence_s = l->options.silence_s ? l->options.silence_s : DEFAULT_SILENCE_S;
    int own = fcntl(l->socket, F_DUPFD_CLOEXEC, 0);
    if (own < 0) {
        mi_error_set(err, "no descriptor: %s", strerror(errno));
        return NULL;
    }
    /* Without an internal thread: MHD_run does all work, on the caller's thread. */
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_ERROR_LOG | flags, 0, NULL, NULL, answer, l, MHD_OPTION_EXTERNAL_LOGGER,
        log_from_daemon, l, MHD_OPTION_LISTEN_SOCKET, own, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)MAX_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, silence_s,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES, MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
    if (!daemon)
        close(own);
    return daemon;
}

static struct MHD_Daemon *start_daemon(struct mi_listener *l, const struct mi_listener_access *access,
                                       struct mi_error *err)
{
    struct MHD_OptionItem tls[4] = {{MHD_OPTION_END, 0, NULL}};
    size_t n = 0;
    if (access->client_ca && !mi_guard_is_pem(access->client_ca)) {
        mi_error_set(err, "the client CA is no PEM file of certificates");
        return NULL;
    }
    if (access->cert && MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES) {
        mi_error_set(err, "this libmicrohttpd is built without TLS");
        return NULL;
    }
    if (access->cert) {
        tls[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)access->cert};
        tls[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)access->key};
    }
    if (access->client_ca)
        tls[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_TRUST, 0, (void *)access->client_ca};
    tls[n] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    mi_error_set(
        err, access->cert
                 ? "certificate and key cannot be used: they must be PEM, the key that of the certificate "
                   "and without a pass phrase"
                 : "libmicrohttpd does not start");
    return start_with(l, access->cert ? MHD_USE_TLS : 0, tls, err);
}

/* Quiesced first: else it would shut the socket down, which is not its own. */
static void stop_daemon(struct MHD_Daemon *daemon)
{
    if (!daemon)
        return;
    int own = MHD_quiesce_daemon(daemon);
    MHD_stop_daemon(daemon);
    if (own >= 0)
        close(own);
}

static int start_waiting(struct mi_listener *l, struct mi_error *err)
{
    l->wait = epoll_create1(EPOLL_CLOEXEC);
    l->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    if (l->wait < 0 || l->timer < 0 || epoll_ctl(l->wait, EPOLL_CTL_ADD, l->timer, &event) != 0)
        return mi_error_set(err, "cannot wait for connections: %s", strerror(errno));
    return 0;
}

/* Ends by itself when the daemon closes its descriptor. */
static int watch(struct mi_listener *l, struct MHD_Daemon *daemon, struct mi_error *err)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    struct epoll_event event = {.events = EPOLLIN};
    if (!info || epoll_ctl(l->wait, EPOLL_CTL_ADD, info->epoll_fd, &event) != 0)
        return mi_error_set(err, "cannot wait for connections: %s", strerror(errno));
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

static enum MHD_Result queue(struct MHD_Connection *connection, struct mi_answer *a, const char *header,
                             const char *value)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(a->body.len, a->body.data, MHD_RESPMEM_MUST_FREE);
    if (!response) {
        mi_buf_fini(&a->body);
        return MHD_NO;
    }
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, a->type);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    if (header)
        MHD_add_response_header(response, header, value);
    enum MHD_Result result = MHD_queue_response(connection, a->status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result queue_line(struct MHD_Connection *connection, unsigned status, const char *line,
                                  const char *header, const char *value)
{
    struct mi_answer a = {.status = status, .type = "text/plain; charset=utf-8"};
    mi_buf_init(&a.body, 100);
    mi_buf_add_text(&a.body, line);
    return queue(connection, &a, header, value);
}

static enum MHD_Result queue_page(struct mi_listener *l, struct MHD_Connection *connection, const char *path)
{
    struct mi_answer a;
    unsigned allowed = mi_guard_check(&l->guard, connection);
    if (allowed != MHD_HTTP_OK && mi_answer_is_probe(path))
        mi_answer_make_bare(&l->options, path, &a);
    else if (allowed == MHD_HTTP_UNAUTHORIZED)
        return queue_line(connection, allowed, "a bearer token is needed: Authorization: Bearer ...\n",
                          MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
    else if (allowed != MHD_HTTP_OK)
        return queue_line(connection, allowed, "a client certificate is needed\n", NULL, NULL);
    else
        mi_answer_make(&l->options, path, &a);
    return queue(connection, &a, NULL, NULL);
}

/* Called once per request with its head, and (for a request that we answer) once more at its end. HEAD's
 * missing body is the library's work. */
static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **request)
{
    static char seen;
    (void)version, (void)upload;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return queue_line(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n",
                          MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    if (!*request) {
        *request = &seen;
        return MHD_YES;
    }
    if (*upload_size > 0) { /* a body that nobody asked for */
        *upload_size = 0;
        return MHD_YES;
    }
    return queue_page(context, connection, path);
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
