#include "support/raw_login.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/mqtt.h"
#include "support/process.h"

enum { ANSWER_MS = 20000 };

static size_t put(uint8_t *to, const char *text, size_t len)
{
    to[0] = (uint8_t)(len >> 8);
    to[1] = (uint8_t)len;
    if (len)
        memcpy(to + 2, text, len);
    return len + 2;
}

static size_t length_of(const char *text, size_t len)
{
    return len || !text ? len : strlen(text);
}

static bool send_connect(int fd, const struct mi_raw_login *l)
{
    const char *id = l->client_id ? l->client_id : "";
    size_t user_len = length_of(l->username, l->username_len);
    size_t password_len = length_of(l->password, l->password_len), n = 5;
    uint8_t *packet = malloc(64 + strlen(id) + user_len + password_len);
    if (!packet)
        return false;
    n += put(packet + n, "MQTT", 4);
    packet[n++] = (uint8_t)l->protocol;
    packet[n++] = (uint8_t)((l->username ? 0x80 : 0) | (l->password ? 0x40 : 0) | (l->keep_session ? 0 : 2));
    packet[n++] = 0;
    packet[n++] = 60;
    if (l->protocol == 5)
        packet[n++] = 0;
    n += put(packet + n, id, strlen(id));
    if (l->username)
        n += put(packet + n, l->username, user_len);
    if (l->password)
        n += put(packet + n, l->password, password_len);
    size_t body = n - 5; /* as four bytes, which the protocol allows */
    packet[0] = 0x10;
    packet[1] = (uint8_t)(0x80 | (body & 127));
    packet[2] = (uint8_t)(0x80 | (body >> 7 & 127));
    packet[3] = (uint8_t)(0x80 | (body >> 14 & 127));
    packet[4] = (uint8_t)(body >> 21);
    bool ok = mi_raw_send(fd, packet, n);
    free(packet);
    return ok;
}

int mi_raw_login_send(const struct mi_raw_login *l)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(l->port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0 && send_connect(fd, l))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

int mi_raw_login_answer(int fd, unsigned timeout_ms)
{
    uint8_t packet[130];
    size_t got = 0;
    for (uint64_t end = mi_monotonic_ms() + timeout_ms; got < 4 || got < 2u + packet[1];) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        uint64_t now = mi_monotonic_ms();
        if (now >= end || poll(&p, 1, (int)(end - now)) <= 0)
            return MI_LOGIN_SILENT;
        ssize_t n = recv(fd, packet + got, got < 4 ? 4 - got : 2u + packet[1] - got, 0);
        if (n <= 0)
            return MI_LOGIN_CLOSED;
        got += (size_t)n;
    }
    return packet[0] == 0x20 ? packet[3] : MI_LOGIN_CLOSED;
}

int mi_raw_login(const struct mi_raw_login *l)
{
    int fd = mi_raw_login_send(l);
    int code = fd < 0 ? MI_LOGIN_CLOSED : mi_raw_login_answer(fd, ANSWER_MS);
    if (fd >= 0)
        close(fd);
    return code;
}
