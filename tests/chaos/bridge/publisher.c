#include "publisher.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "support/process.h"

enum { WINDOW = 16, NONE = 0xffffffff, OUT_BYTES = 64 * 1024, MAX_FILLER = 600 };

struct mi_publisher {
    struct mi_ledger *ledger;
    uint16_t port;
    int qos, fd;
    const char *prefix;
    uint32_t first_topic, topics, turn;
    bool connected;
    uint64_t retry_ms;
    uint16_t next_mid;
    uint32_t numbers[WINDOW]; /* by mid % WINDOW; NONE: free */
    uint32_t unacknowledged;
    uint8_t out[OUT_BYTES];
    size_t out_len;
    uint8_t in[1024];
    size_t in_len;
};

struct mi_publisher *mi_publisher_new(struct mi_ledger *ledger, uint16_t port, int qos, const char *prefix,
                                      uint32_t first_topic, uint32_t topics)
{
    struct mi_publisher *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->ledger = ledger;
    p->port = port;
    p->qos = qos;
    p->prefix = prefix;
    p->first_topic = first_topic;
    p->topics = topics;
    p->fd = -1;
    return p;
}

static void drop(struct mi_publisher *p)
{
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
    p->connected = false;
    p->out_len = p->in_len = 0;
    p->unacknowledged = 0;
    for (int i = 0; i < WINDOW; i++)
        p->numbers[i] = NONE;
    p->retry_ms = mi_monotonic_ms() + 20;
}

void mi_publisher_free(struct mi_publisher *p)
{
    if (!p)
        return;
    drop(p);
    free(p);
}

static void put(struct mi_publisher *p, const void *data, size_t len)
{
    memcpy(p->out + p->out_len, data, len);
    p->out_len += len;
}

static void start(struct mi_publisher *p)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(p->port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    drop(p);
    p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int one = 1;
    if (p->fd < 0 || connect(p->fd, (struct sockaddr *)&a, sizeof a) != 0) {
        drop(p);
        return;
    }
    setsockopt(p->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(p->fd, F_SETFL, O_NONBLOCK);
    char id[16];
    int n = snprintf(id, sizeof id, "chaos%u", p->first_topic);
    uint8_t head[] = {0x10, (uint8_t)(12 + n), 0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 0, 0, (uint8_t)n};
    put(p, head, sizeof head);
    put(p, id, (size_t)n);
}

static bool put_publish(struct mi_publisher *p)
{
    uint32_t topic = p->first_topic + p->turn++ % p->topics;
    uint32_t number = mi_ledger_send(p->ledger, p->qos, topic);
    if (number == UINT32_MAX)
        return false;
    char name[128];
    uint8_t be[2], body[8 + MAX_FILLER];
    size_t name_len = (size_t)snprintf(name, sizeof name, "%s/%u", p->prefix, topic);
    size_t body_len = 8 + (number * 2654435761u >> 8) % MAX_FILLER;
    memset(body, (int)(number & 0xff), sizeof body);
    mi_put_u32le(body, number);
    mi_put_u32le(body + 4, topic);
    size_t remaining = 2 + name_len + (p->qos ? 2 : 0) + body_len;
    uint8_t head[3] = {(uint8_t)(0x30 | p->qos << 1), (uint8_t)((remaining & 0x7f) | 0x80),
                       (uint8_t)(remaining >> 7)};
    put(p, head, 3);
    mi_put_u16be(be, (uint16_t)name_len);
    put(p, be, 2);
    put(p, name, name_len);
    if (p->qos) {
        p->next_mid = (uint16_t)(p->next_mid % 60000 + 1);
        p->numbers[p->next_mid % WINDOW] = number;
        p->unacknowledged++;
        mi_put_u16be(be, p->next_mid);
        put(p, be, 2);
    }
    put(p, body, body_len);
    return true;
}

static void acknowledge(struct mi_publisher *p, uint16_t mid)
{
    uint32_t *slot = &p->numbers[mid % WINDOW];
    if (*slot != NONE)
        mi_ledger_acknowledge(p->ledger, *slot);
    if (p->qos == 1) {
        *slot = NONE;
        p->unacknowledged--;
    }
}

static void take_packet(struct mi_publisher *p, const uint8_t *packet)
{
    uint16_t mid = mi_get_u16be(packet + 2);
    uint8_t pubrel[4] = {0x62, 2, packet[2], packet[3]};
    switch (packet[0] >> 4) {
    case 2:
        p->connected = true;
        break;
    case 4:
        acknowledge(p, mid);
        break;
    case 5: /* PUBREC: the broker has it */
        acknowledge(p, mid);
        put(p, pubrel, 4);
        break;
    case 7:
        p->numbers[mid % WINDOW] = NONE;
        p->unacknowledged--;
        break;
    default:
        break;
    }
}

static bool receive(struct mi_publisher *p)
{
    ssize_t n = recv(p->fd, p->in + p->in_len, sizeof p->in - p->in_len, 0);
    if (n == 0 || (n < 0 && errno != EAGAIN))
        return false;
    p->in_len += n > 0 ? (size_t)n : 0;
    size_t at = 0;
    for (; p->in_len - at >= 4; at += 4)
        take_packet(p, p->in + at);
    memmove(p->in, p->in + at, p->in_len - at);
    p->in_len -= at;
    return true;
}

static bool transmit(struct mi_publisher *p)
{
    if (p->out_len == 0)
        return true;
    ssize_t n = send(p->fd, p->out, p->out_len, MSG_NOSIGNAL);
    if (n < 0)
        return errno == EAGAIN;
    memmove(p->out, p->out + n, p->out_len - (size_t)n);
    p->out_len -= (size_t)n;
    return true;
}

uint32_t mi_publisher_turn(struct mi_publisher *p, uint32_t budget)
{
    uint32_t sent = 0;
    if (p->fd < 0 && mi_monotonic_ms() >= p->retry_ms)
        start(p);
    if (p->fd < 0)
        return 0;
    while (p->connected && sent < budget && p->out_len + 2048 < OUT_BYTES &&
           (p->qos == 0 ||
            (p->unacknowledged < WINDOW && p->numbers[(p->next_mid % 60000 + 1) % WINDOW] == NONE)) &&
           put_publish(p))
        sent++;
    if (!transmit(p) || !receive(p))
        drop(p);
    return sent;
}

bool mi_publisher_idle(const struct mi_publisher *p)
{
    return p->unacknowledged == 0 && p->out_len == 0;
}

bool mi_publisher_connected(const struct mi_publisher *p)
{
    return p->connected;
}
