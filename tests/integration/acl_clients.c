/* acl_clients: packets by hand, written in one piece and read from a buffer. */
#include "acl_clients.h"

#include "support/mqtt.h"
#include "support/process.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_MS = 20000, OUT_MAX = 200000 };

struct out {
    uint8_t bytes[OUT_MAX];
    size_t len;
};

static void put(struct out *o, const void *bytes, size_t len)
{
    if (len && o->len + len <= sizeof o->bytes) {
        memcpy(o->bytes + o->len, bytes, len);
        o->len += len;
    }
}

static void put_byte(struct out *o, unsigned byte)
{
    put(o, &(uint8_t){(uint8_t)byte}, 1);
}

static void put_string(struct out *o, const char *text)
{
    put_byte(o, (unsigned)strlen(text) >> 8);
    put_byte(o, (unsigned)strlen(text) & 255);
    put(o, text, strlen(text));
}

static void put_packet(struct out *o, unsigned first, const struct out *body)
{
    size_t left = body->len;
    put_byte(o, first);
    do {
        put_byte(o, (unsigned)(left % 128) | (left >= 128 ? 128 : 0));
        left /= 128;
    } while (left);
    put(o, body->bytes, body->len);
}

struct packet {
    uint8_t first;
    const uint8_t *body;
    size_t len;
};

/* One whole packet; its body stays until the next call. */
static bool next_packet(struct acl_client *c, struct packet *p)
{
    for (;;) {
        size_t have = c->len - c->at, len = 0, head = 1;
        bool whole = false;
        for (unsigned shift = 0; head < have && head < 5; shift += 7) {
            len |= (size_t)(c->in[c->at + head] & 127) << shift;
            if (!(c->in[c->at + head++] & 128)) {
                whole = true;
                break;
            }
        }
        if (whole && have >= head + len) {
            *p = (struct packet){c->in[c->at], c->in + c->at + head, len};
            c->at += head + len;
            return true;
        }
        memmove(c->in, c->in + c->at, have);
        c->len = have;
        c->at = 0;
        struct pollfd fd = {c->fd, POLLIN, 0};
        if (poll(&fd, 1, ANSWER_MS) <= 0)
            return false;
        ssize_t got = recv(c->fd, c->in + c->len, sizeof c->in - c->len, 0);
        if (got <= 0)
            return false;
        c->len += (size_t)got;
    }
}

static bool log_in(struct acl_client *c, uint16_t port, const char *username, const char *password,
                   const char *client_id, const char *will);

bool acl_client_connect(struct acl_client *c, uint16_t port, const char *username, const char *client_id)
{
    return log_in(c, port, username, NULL, client_id, NULL);
}

bool acl_client_log_in(struct acl_client *c, uint16_t port, const char *username, const char *password,
                       const char *client_id, const char *will)
{
    for (uint64_t end = mi_monotonic_ms() + ANSWER_MS;; mi_sleep_ms(50)) {
        if (log_in(c, port, username, password, client_id, will))
            return true;
        if (c->refused || mi_monotonic_ms() >= end)
            return false;
    }
}

static bool log_in(struct acl_client *c, uint16_t port, const char *username, const char *password,
                   const char *client_id, const char *will)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct out *o = calloc(2, sizeof *o);
    c->username = username;
    c->client_id = client_id;
    c->len = c->at = 0;
    c->refused = false;
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    bool ok = o && connect(c->fd, (struct sockaddr *)&a, sizeof a) == 0;
    if (ok) {
        put_string(o, "MQTT");
        put_byte(o, 5);
        put_byte(o, 0x02u | (username ? 0x80u : 0) | (password ? 0x40u : 0) | (will ? 0x04u : 0));
        put(o, "\0\0\0", 3); /* no keepalive, no properties */
        put_string(o, client_id);
        if (will) {
            put_byte(o, 0);
            put_string(o, will);
            put(o, "\0\1\xfa", 3);
        }
        if (username)
            put_string(o, username);
        if (password)
            put_string(o, password);
        put_packet(&o[1], 0x10, o);
        struct packet p;
        ok = mi_raw_send(c->fd, o[1].bytes, o[1].len) && next_packet(c, &p) && p.first == 0x20 && p.len > 1;
        c->refused = ok && p.body[1] >= 0x80 && p.body[1] != 0x88; /* "unavailable" is worth another try */
        ok = ok && p.body[1] == 0;
    }
    free(o);
    if (!ok)
        close(c->fd);
    return ok;
}

void acl_client_close(struct acl_client *c)
{
    close(c->fd);
}

bool acl_client_write(struct acl_client *c, char *const *topics, size_t count, bool *allowed)
{
    struct out *o = calloc(2, sizeof *o);
    bool ok = o != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        o[1].len = 0;
        put_string(&o[1], topics[i]);
        put(&o[1], &(uint8_t[]){0, (uint8_t)(i + 1), 0, (uint8_t)i}, 4); /* packet id, properties, payload */
        put_packet(o, 0x32, &o[1]);
        allowed[i] = false;
    }
    ok = ok && mi_raw_send(c->fd, o->bytes, o->len);
    for (size_t left = count; ok && left > 0;) {
        struct packet p;
        ok = next_packet(c, &p);
        if (!ok || p.first != 0x40)
            continue;
        ok = p.len >= 2 && p.body[0] == 0 && p.body[1] >= 1 && p.body[1] <= count;
        if (ok)
            allowed[p.body[1] - 1] = p.len == 2 || p.body[2] < 0x80;
        left--;
    }
    free(o);
    return ok;
}

bool acl_client_subscribe(struct acl_client *c, const char *const *filters, size_t count, bool on)
{
    return acl_client_subscribe_codes(c, filters, count, on, NULL);
}

bool acl_client_subscribe_codes(struct acl_client *c, const char *const *filters, size_t count, bool on,
                                uint8_t *codes)
{
    struct out *o = calloc(2, sizeof *o);
    struct packet p = {0};
    bool ok = o != NULL;
    if (ok) {
        put(o, "\0\1\0", 3); /* packet id, no properties */
        for (size_t i = 0; i < count; i++) {
            put_string(o, filters[i]);
            if (on)
                put_byte(o, 0);
        }
        put_packet(&o[1], on ? 0x82 : 0xa2, o);
        ok = mi_raw_send(c->fd, o[1].bytes, o[1].len);
    }
    while (ok && p.first != (on ? 0x90 : 0xb0))
        ok = next_packet(c, &p);
    /* Packet id, no properties, codes. */
    ok = ok && (!codes || (p.len == 3 + count && p.body[2] == 0));
    if (ok && codes)
        memcpy(codes, p.body + 3, count);
    free(o);
    return ok;
}

bool acl_client_is_cut(struct acl_client *c, unsigned timeout_ms)
{
    struct pollfd fd = {c->fd, POLLIN, 0};
    for (uint64_t end = mi_monotonic_ms() + timeout_ms; mi_monotonic_ms() < end;) {
        uint8_t bytes[256];
        if (poll(&fd, 1, 50) > 0 && recv(c->fd, bytes, sizeof bytes, 0) <= 0)
            return true;
    }
    return false;
}

bool acl_client_read(struct acl_client *c, bool *seen, size_t count)
{
    memset(seen, 0, count * sizeof *seen);
    bool ok = mi_raw_send(c->fd, "\xc0\0", 2);
    for (struct packet p; ok && (ok = next_packet(c, &p)) && p.first != 0xd0;) {
        if (p.first >> 4 == 3 && p.len > 0 && p.body[p.len - 1] < count)
            seen[p.body[p.len - 1]] = true;
    }
    return ok;
}
