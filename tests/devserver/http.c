/*
 * http: libmicrohttpd in external epoll mode; one struct exchange per request, stepped from fault to fault.
 */
#include "http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server.h"

enum { CONNECTION_MEMORY = 256 * 1024, MAX_CONNECTIONS = 4096 };

enum phase {
    READING, /* the body is coming in */
    WAITING, /* delayed before the effect */
    RAN,     /* the answer is ready, perhaps delayed */
    SENDING,
    DROPPED /* the connection shall be closed without an answer */
};

/* One request on a connection, or (connection NULL) one whose effect comes late. */
struct exchange {
    struct dev_http *http;
    struct MHD_Connection *connection;
    struct dev_request *request;
    struct dev_plan plan;
    enum phase phase;
    bool too_large, suspended;
    uint64_t due_ms;     /* with suspended, or without connection: when it goes on */
    uint64_t started_ms; /* of a slow body */
    struct mi_buf body;  /* of a slow or truncated answer */
    struct exchange *next, *previous;
};

struct dev_http {
    struct dev_server *server;
    struct MHD_Daemon *daemon;
    int fd;
    struct exchange *exchanges;
    bool closing, forget;
};

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *data_size, void **context);
static void on_completed(void *cls, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code);
static size_t keep_escaped(void *cls, struct MHD_Connection *connection, char *text);
static void *keep_uri(void *cls, const char *uri, struct MHD_Connection *connection);
static enum MHD_Result start(struct exchange *x, const char *method);
static enum MHD_Result step(struct exchange *x);
static void run(struct exchange *x);
static void run_late(struct exchange *x, uint64_t delay_ms);
static enum MHD_Result suspend(struct exchange *x, uint64_t ms);
static enum MHD_Result respond(struct exchange *x);
static ssize_t read_body(void *cls, uint64_t position, char *buffer, size_t max);
static struct exchange *exchange_new(struct dev_http *http);
static void exchange_free(struct exchange *x);

uint64_t dev_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- the listener ---- */

struct dev_http *dev_http_new(struct dev_server *server, uint16_t port)
{
    struct dev_http *http = calloc(1, sizeof *http);
    if (!http)
        return NULL;
    http->server = server;
    server->http_port = port;
    if (dev_http_open(http))
        return http;
    free(http);
    return NULL;
}

bool dev_http_open(struct dev_http *http)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(http->server->http_port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    http->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_TURBO | MHD_ALLOW_SUSPEND_RESUME, http->server->http_port, NULL, NULL,
        on_request, http, MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_LISTENING_ADDRESS_REUSE, 1u,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)MAX_CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_MEMORY, MHD_OPTION_NOTIFY_COMPLETED, on_completed, http,
        MHD_OPTION_UNESCAPE_CALLBACK, keep_escaped, NULL, MHD_OPTION_URI_LOG_CALLBACK, keep_uri, http,
        MHD_OPTION_LISTEN_BACKLOG_SIZE, 1024u, MHD_OPTION_END);
    if (!http->daemon) {
        fprintf(stderr, "iggy-devserver: cannot listen on 127.0.0.1:%u: %s\n", http->server->http_port,
                strerror(errno));
        return false;
    }
    http->server->http_port = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
    http->fd = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    return true;
}

void dev_http_close(struct dev_http *http, bool forget)
{
    if (!http->daemon)
        return;
    http->closing = true;
    http->forget = forget;
    struct exchange *next;
    for (struct exchange *x = http->exchanges; x; x = next) {
        next = x->next;
        if (!x->connection) {
            if (forget)
                exchange_free(x);
            continue;
        }
        if (!x->suspended)
            continue;
        if (x->phase == WAITING && !forget)
            run_late(x, x->due_ms > dev_now_ms() ? x->due_ms - dev_now_ms() : 0);
        x->phase = DROPPED;
        x->suspended = false;
        MHD_resume_connection(x->connection);
    }
    MHD_run(http->daemon);
    MHD_stop_daemon(http->daemon);
    http->daemon = NULL;
    http->closing = false;
}

void dev_http_free(struct dev_http *http)
{
    dev_http_close(http, true);
    while (http->exchanges)
        exchange_free(http->exchanges);
    free(http);
}

bool dev_http_is_open(const struct dev_http *http)
{
    return http->daemon != NULL;
}

int dev_http_fd(const struct dev_http *http)
{
    return http->daemon ? http->fd : -1;
}

unsigned dev_http_connections(const struct dev_http *http)
{
    return http->daemon
               ? MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS)->num_connections
               : 0;
}

int dev_http_timeout(struct dev_http *http, int limit)
{
    MHD_UNSIGNED_LONG_LONG wait;
    uint64_t now = dev_now_ms();
    if (http->daemon && MHD_get_timeout(http->daemon, &wait) == MHD_YES && wait < (unsigned)limit)
        limit = (int)wait;
    for (const struct exchange *x = http->exchanges; x; x = x->next)
        if (x->suspended || !x->connection) {
            int left = x->due_ms <= now                    ? 0
                       : x->due_ms - now > (unsigned)limit ? limit
                                                           : (int)(x->due_ms - now);
            limit = left < limit ? left : limit;
        }
    return limit;
}

void dev_http_run(struct dev_http *http)
{
    uint64_t now = dev_now_ms();
    struct exchange *next;
    for (struct exchange *x = http->exchanges; x; x = next) {
        next = x->next;
        if (x->due_ms > now || (x->connection && !x->suspended))
            continue;
        if (x->connection) {
            x->suspended = false;
            MHD_resume_connection(x->connection);
        } else {
            run(x);
            exchange_free(x);
        }
    }
    if (http->daemon)
        MHD_run(http->daemon);
}

/* ---- one request ---- */

static size_t keep_escaped(void *cls, struct MHD_Connection *connection, char *text)
{
    (void)cls;
    (void)connection;
    return strlen(text);
}

/* The first thing that is heard of a request: its target as it was sent, with the query. */
static void *keep_uri(void *cls, const char *uri, struct MHD_Connection *connection)
{
    struct exchange *x = exchange_new(cls);
    if (!x)
        return NULL;
    x->connection = connection;
    x->request = dev_request_new(x->http->server, "", uri);
    return x;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *data_size, void **context)
{
    (void)cls;
    (void)connection;
    (void)url;
    (void)version;
    struct exchange *x = *context;
    if (!x || !x->request || x->http->closing)
        return MHD_NO;
    if (!x->request->method[0])
        return start(x, method);
    if (*data_size) {
        if (x->request->body.len + *data_size > DEV_MAX_BODY)
            x->too_large = true;
        if (!x->too_large)
            mi_buf_add(&x->request->body, data, *data_size);
        *data_size = 0;
        return MHD_YES;
    }
    return step(x);
}

static char *header(struct exchange *x, const char *name)
{
    const char *value = MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
    return value ? strdup(value) : NULL;
}

static void answer_too_large(struct exchange *x)
{
    dev_reply_text(x->request, 413, "Failed to buffer the request body: length limit exceeded");
    x->request->close = true;
    x->phase = RAN;
}

static enum MHD_Result start(struct exchange *x, const char *method)
{
    struct dev_request *r = x->request;
    snprintf(r->method, sizeof r->method, "%s", strcmp(method, "HEAD") == 0 ? "GET" : method);
    r->authorization = header(x, "Authorization");
    r->content_type = header(x, "Content-Type");
    char *length = header(x, "Content-Length");
    unsigned long long bytes = length ? strtoull(length, NULL, 10) : 0;
    free(length);
    if (bytes > DEV_MAX_BODY) {
        answer_too_large(x);
        return respond(x);
    }
    if (bytes)
        mi_buf_reserve(&r->body, bytes + 1);
    return MHD_YES;
}

/* Goes on where the exchange stands: called when the body is complete and after each pause. */
static enum MHD_Result step(struct exchange *x)
{
    struct dev_request *r = x->request;
    struct dev_plan *plan = &x->plan;
    if (x->phase == READING) {
        x->http->server->requests++;
        x->phase = WAITING;
        if (x->too_large) {
            answer_too_large(x);
        } else if (!dev_route_request(r)) {
            x->phase = RAN;
        } else {
            dev_fault_take(&x->http->server->faults, r->route->group, plan);
            dev_begin_write(r);
            if (plan->active[DEV_DELAY])
                return suspend(x, plan->rules[DEV_DELAY].value);
        }
    }
    if (x->phase == WAITING) {
        if (plan->active[DEV_CUT] && plan->rules[DEV_CUT].value != DEV_EFFECT) {
            if (plan->rules[DEV_CUT].value == DEV_LATE_EFFECT)
                run_late(x, plan->rules[DEV_CUT].late_ms);
            return MHD_NO;
        }
        run(x);
        x->phase = RAN;
        if (plan->active[DEV_DELAY_ANSWER])
            return suspend(x, plan->rules[DEV_DELAY_ANSWER].value);
    }
    if (x->phase == DROPPED || plan->active[DEV_CUT])
        return MHD_NO;
    return respond(x);
}

/* The effect, and the answer that goes with it. */
static void run(struct exchange *x)
{
    struct dev_request *r = x->request;
    struct dev_faults *faults = &x->http->server->faults;
    const struct dev_rule *timeout = &x->plan.rules[DEV_ANSWER_504];
    if (x->connection && x->plan.active[DEV_ANSWER]) {
        dev_fault_answer(r, &x->plan.rules[DEV_ANSWER]);
        return;
    }
    bool timed_out = x->connection && x->plan.active[DEV_ANSWER_504];
    if (timed_out && timeout->value == DEV_LATE_EFFECT)
        run_late(x, timeout->late_ms);
    if (!timed_out || timeout->value == DEV_EFFECT) {
        faults->plan = x->plan;
        dev_run_request(r);
        faults->plan = (struct dev_plan){0};
    }
    if (timed_out)
        dev_fault_answer(r, timeout);
}

static void run_late(struct exchange *x, uint64_t delay_ms)
{
    struct exchange *late = exchange_new(x->http);
    if (!late)
        return;
    late->request = dev_request_copy(x->request);
    late->due_ms = dev_now_ms() + delay_ms;
    if (!late->request || !dev_route_request(late->request))
        exchange_free(late);
}

static enum MHD_Result suspend(struct exchange *x, uint64_t ms)
{
    x->suspended = true;
    x->due_ms = dev_now_ms() + ms;
    MHD_suspend_connection(x->connection);
    return MHD_YES;
}

static struct MHD_Response *make_response(struct exchange *x)
{
    struct mi_buf *out = &x->request->out;
    if (x->plan.active[DEV_GARBLE]) {
        dev_reply_text(x->request, 200, "<html>this is not what you asked for");
        x->request->out_type = "application/json";
    }
    if (x->plan.active[DEV_TRUNCATE] || x->plan.active[DEV_SLOW]) {
        x->body = *out;
        mi_buf_init(out, DEV_MAX_ANSWER);
        x->started_ms = dev_now_ms();
        return MHD_create_response_from_callback(x->body.len, 16384, read_body, x, NULL);
    }
    struct MHD_Response *response =
        MHD_create_response_from_buffer(out->len, out->data, MHD_RESPMEM_MUST_FREE);
    if (response)
        mi_buf_init(out, DEV_MAX_ANSWER);
    return response;
}

static void add_headers(struct MHD_Response *response, const struct dev_request *r)
{
    if (r->out_type)
        MHD_add_response_header(response, "content-type", r->out_type);
    if (r->durability)
        MHD_add_response_header(response, "iggy-durability", r->durability);
    if (r->allow)
        MHD_add_response_header(response, "allow", r->allow);
    if (r->location)
        MHD_add_response_header(response, "location", r->location);
    if (r->retry_after)
        MHD_add_response_header(response, "retry-after", "1");
    if (r->close)
        MHD_add_response_header(response, "connection", "close");
    if (r->server->store.personality != DEV_0_8 && r->status < 400 && r->user)
        MHD_add_response_header(response, "iggy-view", "0");
}

static enum MHD_Result respond(struct exchange *x)
{
    if (x->http->closing)
        return MHD_NO;
    x->phase = SENDING;
    struct MHD_Response *response = make_response(x);
    if (!response)
        return MHD_NO;
    add_headers(response, x->request);
    enum MHD_Result result = MHD_queue_response(x->connection, (unsigned)x->request->status, response);
    MHD_destroy_response(response);
    dev_end_write(x->request);
    return result;
}

/* Hands out a body that is slow, or that ends in the middle. */
static ssize_t read_body(void *cls, uint64_t position, char *buffer, size_t max)
{
    struct exchange *x = cls;
    uint64_t end = x->body.len;
    if (x->phase == DROPPED)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (x->plan.active[DEV_TRUNCATE] && position >= end / 2)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (x->plan.active[DEV_TRUNCATE])
        end = end / 2;
    uint64_t rate = x->plan.active[DEV_SLOW] ? x->plan.rules[DEV_SLOW].value : UINT32_MAX;
    uint64_t allowed = 1 + rate * (dev_now_ms() - x->started_ms) / 1000;
    if (allowed < end)
        end = allowed;
    if (position >= end) {
        suspend(x, 1 + 1000 / (rate ? rate : 1));
        return 0;
    }
    size_t n = end - position < max ? (size_t)(end - position) : max;
    memcpy(buffer, x->body.data + position, n);
    return (ssize_t)n;
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code)
{
    (void)cls;
    (void)connection;
    (void)code;
    struct exchange *x = *context;
    *context = NULL;
    if (x)
        exchange_free(x);
}

static struct exchange *exchange_new(struct dev_http *http)
{
    struct exchange *x = calloc(1, sizeof *x);
    if (!x)
        return NULL;
    x->http = http;
    mi_buf_init(&x->body, DEV_MAX_ANSWER);
    x->next = http->exchanges;
    if (x->next)
        x->next->previous = x;
    http->exchanges = x;
    return x;
}

static void exchange_free(struct exchange *x)
{
    if (x->request)
        dev_end_write(x->request);
    if (x->previous)
        x->previous->next = x->next;
    else
        x->http->exchanges = x->next;
    if (x->next)
        x->next->previous = x->previous;
    mi_buf_fini(&x->body);
    dev_request_free(x->request);
    free(x);
}
