/*
 * mqtt_load: publishes as fast as a broker takes it, over raw sockets, and says how fast that was.
 *
 *   mqtt_load --port N [--qos 0|1|2] [--count N] [--size BYTES] [--connections N] [--window N] [--topics N]
 *             [--prefix TEXT] [--pid PID]
 *
 * Every connection publishes count/connections messages to PREFIX/<number below topics>; at QoS 1 and 2 at
 * most window are unacknowledged per connection; at QoS 0 a last QoS 1 message shows that all before it were
 * taken. The first eight payload bytes are the message's number. With --pid, the CPU time of that process's
 * main thread per message is printed too. One line: "RATE msgs/s, CPU us/msg main thread, CPU us/msg
 * process".
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"

enum { MAX_CONNECTIONS = 64, OUT_ROOM = 256 * 1024 };

struct options {
    uint16_t port;
    int qos;
    unsigned count, size, connections, window, topics;
    const char *prefix;
    long pid;
};

struct connection {
    int fd;
    unsigned to_send, sent, acknowledged, number;
    uint8_t *out;
    size_t out_len, out_at;
    uint8_t in[65536];
    size_t in_len;
    bool connected, fence_sent, done;
};

static void fail(const char *what)
{
    fprintf(stderr, "mqtt_load: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void put(struct connection *c, const void *data, size_t len)
{
    memcpy(c->out + c->out_len, data, len);
    c->out_len += len;
}

static void put_remaining(struct connection *c, size_t n)
{
    do {
        uint8_t b = n & 0x7f;
        n >>= 7;
        if (n)
            b |= 0x80;
        put(c, &b, 1);
    } while (n);
}

static void put_publish(struct connection *c, const struct options *o, int qos, uint16_t mid)
{
    char topic[256];
    uint8_t head = (uint8_t)(0x30 | qos << 1), be[2], number[8];
    static uint8_t filler[65536];
    size_t topic_len = (size_t)snprintf(topic, sizeof topic, "%s/%u", o->prefix, c->number % o->topics);
    put(c, &head, 1);
    put_remaining(c, 2 + topic_len + (qos ? 2 : 0) + o->size);
    mi_put_u16be(be, (uint16_t)topic_len);
    put(c, be, 2);
    put(c, topic, topic_len);
    if (qos) {
        mi_put_u16be(be, mid);
        put(c, be, 2);
    }
    mi_put_u64le(number, c->number++);
    size_t n = o->size < 8 ? o->size : 8;
    put(c, number, n);
    put(c, filler, o->size - n);
}

static void open_connection(struct connection *c, const struct options *o, unsigned index)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(o->port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    int one = 1;
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&a, sizeof a) != 0)
        fail("connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    c->out = malloc(OUT_ROOM + 70000);
    if (!c->out)
        fail("memory");
    char id[32];
    size_t id_len = (size_t)snprintf(id, sizeof id, "load-%ld-%u", (long)getpid(), index);
    const uint8_t fixed[] = {0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 0, 0, (uint8_t)id_len};
    put(c, "\x10", 1);
    put_remaining(c, sizeof fixed + id_len);
    put(c, fixed, sizeof fixed);
    put(c, id, id_len);
    c->to_send = o->count / o->connections;
}

static bool has_more(const struct connection *c, const struct options *o)
{
    return c->connected && c->sent < c->to_send && (o->qos == 0 || c->sent - c->acknowledged < o->window);
}

static void fill(struct connection *c, const struct options *o)
{
    if (!c->connected)
        return;
    while (has_more(c, o) && c->out_len - c->out_at + o->size < OUT_ROOM)
        put_publish(c, o, o->qos, (uint16_t)(c->sent++ % 65535 + 1));
    if (c->sent == c->to_send && o->qos == 0 && !c->fence_sent) {
        put_publish(c, o, 1, 1);
        c->fence_sent = true;
    }
}

static void take_packet(struct connection *c, const struct options *o, const uint8_t *packet)
{
    uint8_t pubrel[4] = {0x62, 2, packet[2], packet[3]};
    switch (packet[0] >> 4) {
    case 2:
        c->connected = packet[3] == 0;
        break;
    case 4:
        c->done = o->qos == 0;
        c->acknowledged++;
        break;
    case 5:
        put(c, pubrel, 4);
        break;
    case 7:
        c->acknowledged++;
        break;
    default:
        fail("unexpected packet");
    }
    c->done = c->done || (o->qos > 0 && c->acknowledged == c->to_send);
}

static void receive(struct connection *c, const struct options *o)
{
    ssize_t n = recv(c->fd, c->in + c->in_len, sizeof c->in - c->in_len, 0);
    if (n == 0 || (n < 0 && errno != EAGAIN))
        fail("the broker closed the connection");
    if (n > 0)
        c->in_len += (size_t)n;
    size_t at = 0;
    for (; c->in_len - at >= 4; at += 4) /* every packet that comes here has four bytes */
        take_packet(c, o, c->in + at);
    memmove(c->in, c->in + at, c->in_len - at);
    c->in_len -= at;
}

static void transmit(struct connection *c)
{
    if (c->out_at == c->out_len)
        return;
    ssize_t n = send(c->fd, c->out + c->out_at, c->out_len - c->out_at, MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN)
        fail("send");
    if (n > 0)
        c->out_at += (size_t)n;
    memmove(c->out, c->out + c->out_at, c->out_len - c->out_at);
    c->out_len -= c->out_at;
    c->out_at = 0;
}

static bool turn(struct connection *all, const struct options *o)
{
    struct pollfd p[MAX_CONNECTIONS];
    bool more = false;
    for (unsigned i = 0; i < o->connections; i++) {
        struct connection *c = &all[i];
        if (!c->done) {
            fill(c, o);
            transmit(c);
        }
        p[i].fd = c->done ? -1 : c->fd;
        p[i].events = (short)(POLLIN | (c->out_len || has_more(c, o) ? POLLOUT : 0));
        more = more || !c->done;
    }
    if (!more)
        return false;
    if (poll(p, o->connections, 30000) <= 0)
        fail("nothing happens");
    for (unsigned i = 0; i < o->connections; i++)
        if (p[i].fd >= 0 && (p[i].revents & (POLLIN | POLLERR | POLLHUP)))
            receive(&all[i], o);
    return true;
}

/* CPU seconds of the main thread (task) or the whole process. */
static double cpu_of(long pid, bool task)
{
    char path[64], text[1024];
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, task ? "/proc/%ld/task/%ld/stat" : "/proc/%ld/stat", pid, pid);
    FILE *f = fopen(path, "r");
    if (!f)
        return 0;
    size_t n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    fclose(f);
    char *p = strrchr(text, ')');
    if (p)
        sscanf(p + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static void read_options(struct options *o, int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *name = argv[i], *value = argv[i + 1];
        unsigned n = (unsigned)strtoul(value, NULL, 10);
        if (!strcmp(name, "--port"))
            o->port = (uint16_t)n;
        else if (!strcmp(name, "--qos"))
            o->qos = (int)n;
        else if (!strcmp(name, "--count"))
            o->count = n;
        else if (!strcmp(name, "--size"))
            o->size = n;
        else if (!strcmp(name, "--connections"))
            o->connections = n;
        else if (!strcmp(name, "--window"))
            o->window = n;
        else if (!strcmp(name, "--topics"))
            o->topics = n;
        else if (!strcmp(name, "--prefix"))
            o->prefix = value;
        else if (!strcmp(name, "--pid"))
            o->pid = strtol(value, NULL, 10);
    }
    if (o->qos == 2 && o->window > 20)
        o->window = 20; /* the broker takes max_inflight_messages at a time */
    if (o->connections == 0 || o->connections > MAX_CONNECTIONS || o->size > 65536 || o->topics == 0)
        fail("options");
}

int main(int argc, char **argv)
{
    struct options o = {.qos = 1,
                        .count = 100000,
                        .size = 256,
                        .connections = 4,
                        .window = 100,
                        .topics = 1000,
                        .prefix = "bench"};
    static struct connection all[MAX_CONNECTIONS];
    read_options(&o, argc, argv);
    for (unsigned i = 0; i < o.connections; i++)
        open_connection(&all[i], &o, i);
    double task = cpu_of(o.pid, true), process = cpu_of(o.pid, false);
    uint64_t start = mi_now_ns(&mi_clock_system);
    while (turn(all, &o))
        continue;
    double seconds = (double)(mi_now_ns(&mi_clock_system) - start) / 1e9;
    double per = 1e6 / (double)(o.count / o.connections * o.connections);
    printf("%.0f msgs/s, %.3f us/msg main thread, %.3f us/msg process\n", 1e6 / per / seconds,
           (cpu_of(o.pid, true) - task) * per, (cpu_of(o.pid, false) - process) * per);
    return 0;
}
