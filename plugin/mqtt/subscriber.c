#include "mqtt/subscriber.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    MAX_INPUT = 270 << 20, /* one packet may have 256 MB */
    MAX_OUTPUT = 16 << 20,
    READ_BYTES = 65536,
    KEPT_BYTES = 1 << 20, /* a buffer that one huge message blew up is given back */
    KEEPALIVE_S = 300,
    SESSION_EXPIRY_S = 86400,
    RECEIVE_MAXIMUM = 1000,
    PAUSE_MIN_MS = 500,
    PAUSE_MAX_MS = 15000,
    ANSWER_S = 30, /* for CONNACK and SUBACK */
    LOG_EVERY_S = 30
};

enum state { WAITING, CONNECTING, LOGGING_IN, OPEN };

struct mi_subscriber {
    struct mi_subscriber_options options;
    struct mi_filters filters;
    enum state state;
    int fd;           /* -1: none */
    uint64_t next_ns; /* WAITING: when to connect again; else when an answer or ping is due */
    uint64_t ping_ns; /* between two pings */
    unsigned pause_ms;
    uint16_t last_id;  /* of our own packets */
    size_t unanswered; /* SUBSCRIBEs without SUBACK */
    bool refused;      /* one of them was refused */
    bool held;         /* the first packet of in waits for its owner */
    bool acknowledged; /* since the last look: the broker has something of ours to read */
    struct mi_buf in, out, scratch;
    size_t in_done;     /* bytes of in that are dealt with */
    uint8_t half[8192]; /* QoS 2: packet ids between PUBREC and PUBREL */
    struct mi_log_limit limit;
    char trouble[256];
};

static void connect_now(struct mi_subscriber *s);
static void finish_connecting(struct mi_subscriber *s);
static void lose(struct mi_subscriber *s, const char *why);
static bool read_more(struct mi_subscriber *s);
static size_t handle_packets(struct mi_subscriber *s, size_t max);
static void handle(struct mi_subscriber *s, const struct mi_packet *p);
static bool publish(struct mi_subscriber *s, const struct mi_packet *p);
static void subscribe_all(struct mi_subscriber *s);
static void write_out(struct mi_subscriber *s);
static void keep_alive(struct mi_subscriber *s, uint64_t now);
static void watch(struct mi_subscriber *s);

static uint64_t now_of(const struct mi_subscriber *s)
{
    return mi_now_ns(s->options.clock);
}

/* ---- life cycle ---- */

struct mi_subscriber *mi_subscriber_new(const struct mi_subscriber_options *options)
{
    struct mi_subscriber *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->options = *options;
    s->fd = -1;
    s->pause_ms = PAUSE_MIN_MS;
    mi_buf_init(&s->in, MAX_INPUT);
    mi_buf_init(&s->out, MAX_OUTPUT);
    mi_buf_init(&s->scratch, MAX_INPUT);
    return s;
}

static void close_socket(struct mi_subscriber *s)
{
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
    s->state = WAITING;
    s->held = s->acknowledged = false;
    s->unanswered = 0;
    s->in_done = 0;
    mi_buf_reset(&s->in);
    mi_buf_reset(&s->out);
}

void mi_subscriber_free(struct mi_subscriber *s)
{
    if (!s)
        return;
    close_socket(s);
    mi_buf_fini(&s->in);
    mi_buf_fini(&s->out);
    mi_buf_fini(&s->scratch);
    mi_filters_clear(&s->filters);
    free(s);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static uint16_t next_id(struct mi_subscriber *s)
{
    if (++s->last_id == 0)
        s->last_id = 1;
    return s->last_id;
}

/* What the session has and what it should have. */
static void change_filters(struct mi_subscriber *s, const struct mi_filters *wanted)
{
    for (size_t i = 0; i < s->filters.count; i++)
        if (!mi_filters_has(wanted, s->filters.text[i]))
            mi_packet_unsubscribe(&s->out, next_id(s), s->filters.text[i]);
    for (size_t i = 0; i < wanted->count; i++)
        if (!mi_filters_has(&s->filters, wanted->text[i])) {
            mi_packet_subscribe(&s->out, next_id(s), wanted->text[i]);
            s->unanswered++;
        }
}

void mi_subscriber_follow(struct mi_subscriber *s, const struct mi_subscriber_options *options,
                          struct mi_filters *filters)
{
    const struct mi_subscriber_options *o = &s->options;
    bool same = same_text(o->host, options->host) && o->port == options->port &&
                same_text(o->username, options->username) && same_text(o->password, options->password);
    if (s->state == OPEN && filters->count == 0) {
        mi_packet_goodbye(&s->out);
        write_out(s);
    } else if (s->state == OPEN && same) {
        change_filters(s, filters);
        write_out(s);
    }
    if (filters->count == 0 || !same)
        close_socket(s);
    s->options = *options;
    mi_filters_clear(&s->filters);
    s->filters = *filters;
    *filters = (struct mi_filters){0};
    s->pause_ms = PAUSE_MIN_MS;
    if (s->state == WAITING)
        s->next_ns = 0;
}

bool mi_subscriber_ready(const struct mi_subscriber *s)
{
    return s->state == OPEN && s->unanswered == 0 && !s->refused;
}

const char *mi_subscriber_trouble(const struct mi_subscriber *s)
{
    return s->trouble;
}

/* ---- a step ---- */

bool mi_subscriber_step(struct mi_subscriber *s, size_t max)
{
    uint64_t now = now_of(s);
    if (s->filters.count == 0)
        return false;
    if (s->state == WAITING && now >= s->next_ns)
        connect_now(s);
    if (s->state == CONNECTING)
        finish_connecting(s);
    if (s->state == WAITING || s->state == CONNECTING)
        return false;
    size_t handled = 0;
    do
        handled += handle_packets(s, max - handled);
    while (handled < max && !s->held && s->fd >= 0 && read_more(s));
    write_out(s);
    keep_alive(s, now);
    watch(s);
    return handled == max;
}

static void say(struct mi_subscriber *s, const char *what)
{
    char port[16] = "";
    snprintf(s->trouble, sizeof s->trouble, "%s", what);
    if (s->options.host[0] != '/')
        snprintf(port, sizeof port, " port %u", s->options.port);
    mi_log_limited(s->options.log, &s->limit, now_of(s), LOG_EVERY_S * MI_NS_PER_S, MI_LOG_ERROR,
                   "routes with \"via\": \"subscription\" get nothing: %s%s: %s", s->options.host, port,
                   what);
}

static void lose(struct mi_subscriber *s, const char *why)
{
    close_socket(s);
    s->next_ns = now_of(s) + s->pause_ms * MI_NS_PER_MS;
    s->pause_ms = s->pause_ms * 2 < PAUSE_MAX_MS ? s->pause_ms * 2 : PAUSE_MAX_MS;
    say(s, why);
}

/* ---- connecting ---- */

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un local;
};

static socklen_t address_of(const struct mi_subscriber_options *o, union address *a)
{
    memset(a, 0, sizeof *a);
    if (o->host[0] == '/') {
        a->local.sun_family = AF_UNIX;
        snprintf(a->local.sun_path, sizeof a->local.sun_path, "%s", o->host);
        return sizeof a->local;
    }
    if (inet_pton(AF_INET, o->host, &a->v4.sin_addr) == 1) {
        a->v4.sin_family = AF_INET;
        a->v4.sin_port = htons(o->port);
        return sizeof a->v4;
    }
    inet_pton(AF_INET6, o->host, &a->v6.sin6_addr);
    a->v6.sin6_family = AF_INET6;
    a->v6.sin6_port = htons(o->port);
    return sizeof a->v6;
}

static void connect_now(struct mi_subscriber *s)
{
    const int on = 1;
    union address a;
    socklen_t len = address_of(&s->options, &a);
    s->fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct epoll_event none = {0};
    if (s->fd < 0 || epoll_ctl(s->options.watch, EPOLL_CTL_ADD, s->fd, &none) != 0) {
        lose(s, strerror(errno));
        return;
    }
    if (a.any.sa_family != AF_UNIX)
        setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(s->fd, &a.any, len) == 0 || errno == EINPROGRESS) {
        s->state = CONNECTING;
        s->next_ns = now_of(s) + ANSWER_S * MI_NS_PER_S;
    } else {
        lose(s, strerror(errno));
    }
}

static void finish_connecting(struct mi_subscriber *s)
{
    const struct mi_subscriber_options *o = &s->options;
    int error = 0;
    socklen_t len = sizeof error;
    union address peer;
    socklen_t peer_len = sizeof peer;
    getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &error, &len);
    if (error) {
        lose(s, strerror(error));
        return;
    }
    if (getpeername(s->fd, &peer.any, &peer_len) != 0) { /* still on its way */
        if (now_of(s) >= s->next_ns)
            lose(s, "no connection in time");
        return;
    }
    struct mi_packet_login login = {.client_id = o->client_id,
                                    .username = o->username,
                                    .password = o->password,
                                    .keepalive_s = KEEPALIVE_S,
                                    .session_expiry_s = SESSION_EXPIRY_S,
                                    .receive_maximum = RECEIVE_MAXIMUM};
    mi_packet_connect(&s->out, &login);
    s->state = LOGGING_IN;
    s->ping_ns = KEEPALIVE_S / 3 * MI_NS_PER_S;
    s->next_ns = now_of(s) + ANSWER_S * MI_NS_PER_S;
}

/* Repeating them is harmless: nothing that was retained before comes with it. */
static void subscribe_all(struct mi_subscriber *s)
{
    s->refused = false;
    s->unanswered = s->filters.count;
    for (size_t i = 0; i < s->filters.count; i++)
        mi_packet_subscribe(&s->out, next_id(s), s->filters.text[i]);
    s->next_ns = now_of(s) + ANSWER_S * MI_NS_PER_S;
}

/* ---- packets ---- */

/* True when something came. */
static bool read_more(struct mi_subscriber *s)
{
    if (s->in_done == s->in.len) {
        if (s->in.cap > KEPT_BYTES)
            mi_buf_fini(&s->in);
        mi_buf_reset(&s->in);
        s->in_done = 0;
    } else if (s->in_done >= READ_BYTES && s->in_done >= s->in.len / 2) {
        memmove(s->in.data, s->in.data + s->in_done, s->in.len - s->in_done);
        s->in.len -= s->in_done;
        s->in_done = 0;
    }
    uint8_t *to = mi_buf_reserve(&s->in, READ_BYTES);
    if (!to) {
        lose(s, "no memory for a message");
        return false;
    }
    ssize_t n = recv(s->fd, to, READ_BYTES, MSG_DONTWAIT);
    if (n > 0) {
        s->in.len += (size_t)n;
        return true;
    }
    if (n == 0)
        lose(s, "the broker closed the connection");
    else if (errno != EAGAIN && errno != EINTR)
        lose(s, strerror(errno));
    return false;
}

static size_t handle_packets(struct mi_subscriber *s, size_t max)
{
    size_t handled = 0;
    struct mi_packet p;
    for (s->held = false; handled < max && s->fd >= 0; handled++) {
        struct mi_span rest = {s->in.data + s->in_done, s->in.len - s->in_done};
        int64_t bytes = rest.len ? mi_packet_read(rest, &p, &s->scratch) : 0;
        if (bytes == 0)
            break;
        if (bytes < 0) {
            lose(s, "the broker sent what is no MQTT packet");
            break;
        }
        if (p.type == MI_PUBLISH && !publish(s, &p)) {
            s->held = true;
            break;
        }
        if (p.type != MI_PUBLISH)
            handle(s, &p);
        if (s->fd < 0) /* it ended the connection, and nothing is left of it */
            break;
        s->in_done += (size_t)bytes;
    }
    return handled;
}

static bool is_half(const struct mi_subscriber *s, uint16_t id)
{
    return s->half[id / 8] >> id % 8 & 1;
}

/* Acknowledged once its owner has it. With QoS 2 the broker may send it again until it has our PUBREC. */
static bool publish(struct mi_subscriber *s, const struct mi_packet *p)
{
    bool seen = p->qos == 2 && is_half(s, p->id);
    if (!seen && !s->options.take(s->options.context, p))
        return false;
    if (p->qos == 2)
        s->half[p->id / 8] |= (uint8_t)(1u << p->id % 8);
    if (p->qos > 0)
        s->acknowledged = mi_packet_acknowledge(&s->out, p->qos == 1 ? MI_PUBACK : MI_PUBREC, p->id);
    return true;
}

static void handle(struct mi_subscriber *s, const struct mi_packet *p)
{
    char text[200];
    switch (p->type) {
    case MI_CONNACK:
        if (p->reason) {
            snprintf(text, sizeof text, "the broker refuses the login (reason 0x%02x: %s)", p->reason,
                     mi_packet_reason(p->reason));
            lose(s, text);
            return;
        }
        if (!p->session_present)
            memset(s->half, 0, sizeof s->half);
        if (p->server_keepalive)
            s->ping_ns = p->server_keepalive * MI_NS_PER_S / 3;
        s->state = OPEN;
        subscribe_all(s);
        break;
    case MI_SUBACK:
        s->unanswered -= s->unanswered > 0;
        if (p->reason >= 0x80) {
            s->refused = true;
            snprintf(text, sizeof text, "the broker refuses a subscription (reason 0x%02x: %s)", p->reason,
                     mi_packet_reason(p->reason));
            lose(s, text);
        } else if (s->unanswered == 0) {
            s->pause_ms = PAUSE_MIN_MS;
            s->trouble[0] = '\0';
        }
        break;
    case MI_PUBREL:
        s->half[p->id / 8] &= (uint8_t) ~(1u << p->id % 8);
        s->acknowledged = mi_packet_acknowledge(&s->out, MI_PUBCOMP, p->id);
        break;
    case MI_DISCONNECT:
        snprintf(text, sizeof text, "the broker ended the connection (reason 0x%02x: %s)", p->reason,
                 mi_packet_reason(p->reason));
        lose(s, text);
        break;
    default:
        break;
    }
}

static void write_out(struct mi_subscriber *s)
{
    if (s->fd < 0 || s->out.len == 0)
        return;
    if (s->out.failed) {
        lose(s, "no memory for acknowledgements");
        return;
    }
    ssize_t n = send(s->fd, s->out.data, s->out.len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0) {
        memmove(s->out.data, s->out.data + n, s->out.len - (size_t)n);
        s->out.len -= (size_t)n;
    } else if (n < 0 && errno != EAGAIN && errno != EINTR) {
        lose(s, strerror(errno));
    }
}

static void keep_alive(struct mi_subscriber *s, uint64_t now)
{
    if (s->fd < 0 || now < s->next_ns)
        return;
    if (s->state == LOGGING_IN || s->unanswered > 0) {
        lose(s, "the broker does not answer");
        return;
    }
    mi_packet_ping(&s->out);
    write_out(s);
    s->next_ns = now + s->ping_ns;
}

/* Asks to be woken, unless the broker wakes up anyway for what we sent. */
static void watch(struct mi_subscriber *s)
{
    if (s->fd < 0 || s->held)
        return;
    bool busy = s->acknowledged;
    s->acknowledged = false;
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT};
    if (s->out.len > 0)
        event.events |= EPOLLOUT;
    if (!busy)
        epoll_ctl(s->options.watch, EPOLL_CTL_MOD, s->fd, &event);
}
