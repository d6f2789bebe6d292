/* raw packets of mqtt.h: a socket and bytes. */
#include "support/mqtt.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_MS = 5000 };

static size_t put_length(uint8_t *to, size_t len)
{
    size_t n = 0;
    do {
        to[n] = (uint8_t)(len % 128);
        len /= 128;
        if (len)
            to[n] |= 0x80;
        n++;
    } while (len);
    return n;
}

static size_t put_string(uint8_t *to, const void *text, size_t len)
{
    to[0] = (uint8_t)(len >> 8);
    to[1] = (uint8_t)len;
    memcpy(to + 2, text, len);
    return len + 2;
}

bool mi_raw_send(int fd, const void *bytes, size_t len)
{
    for (const uint8_t *at = bytes; len > 0;) {
        ssize_t sent = send(fd, at, len, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        at += sent;
        len -= (size_t)sent;
    }
    return true;
}

static bool send_connect(int fd, const char *client_id, int protocol, bool clean)
{
    uint8_t body[300], packet[310] = {0x10};
    size_t n = put_string(body, "MQTT", 4);
    body[n++] = (uint8_t)protocol;
    body[n++] = clean ? 0x02 : 0x00;
    body[n++] = 0;
    body[n++] = 60;
    if (protocol == 5)
        body[n++] = 0;
    n += put_string(body + n, client_id, strlen(client_id));
    size_t head = 1 + put_length(packet + 1, n);
    memcpy(packet + head, body, n);
    return mi_raw_send(fd, packet, head + n);
}

int mi_raw_connect(uint16_t port, const char *client_id, int protocol, bool clean)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0 &&
        send_connect(fd, client_id, protocol, clean) && mi_raw_receive(fd, NULL, ANSWER_MS) == 0x20)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

bool mi_raw_publish(int fd, int protocol, const void *topic, size_t topic_len, const void *payload,
                    size_t len, int qos, bool retain, bool dup, uint16_t mid)
{
    uint8_t *packet = malloc(topic_len + len + 16);
    if (!packet)
        return false;
    size_t body = 2 + topic_len + (qos ? 2 : 0) + (protocol == 5 ? 1 : 0) + len;
    packet[0] = (uint8_t)(0x30 | (dup ? 8 : 0) | qos << 1 | (retain ? 1 : 0));
    size_t n = 1 + put_length(packet + 1, body);
    n += put_string(packet + n, topic, topic_len);
    if (qos) {
        packet[n++] = (uint8_t)(mid >> 8);
        packet[n++] = (uint8_t)mid;
    }
    if (protocol == 5)
        packet[n++] = 0;
    if (len)
        memcpy(packet + n, payload, len);
    bool ok = mi_raw_send(fd, packet, n + len);
    free(packet);
    return ok;
}

static int read_byte(int fd, unsigned timeout_ms)
{
    struct pollfd p = {fd, POLLIN, 0};
    uint8_t byte;
    if (poll(&p, 1, (int)timeout_ms) <= 0)
        return -1;
    return recv(fd, &byte, 1, 0) == 1 ? byte : -2;
}

int mi_raw_receive(int fd, int *reason, unsigned timeout_ms)
{
    int first = read_byte(fd, timeout_ms);
    if (first < 0)
        return first == -2 ? 0 : -1;
    size_t len = 0;
    int byte, shift = 0;
    do {
        byte = read_byte(fd, ANSWER_MS);
        len |= (size_t)(byte & 127) << shift;
        shift += 7;
    } while (byte > 0 && (byte & 128));
    int code = 0;
    for (size_t i = 0; i < len; i++) {
        byte = read_byte(fd, ANSWER_MS);
        if (byte < 0)
            return 0;
        if (i == 2)
            code = byte;
    }
    if (reason)
        *reason = code;
    return first;
}
