#include "proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_PAIRS = 100, TURN_MS = 5, CHUNK = 65536 };

struct pair {
    int client, server; /* -1: free */
    bool answered;      /* garbage: the head is out */
};

struct proxy {
    int listener;
    uint16_t port, to_port;
    pthread_t thread;
    atomic_int mode;
    atomic_uint produces, allowed; /* allowed 0: all */
    atomic_bool stop, cut;
    struct pair pairs[MAX_PAIRS];
    char chunk[CHUNK];
};

static void *run(void *arg);

static int bound_socket(uint16_t *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t len = sizeof a;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) != 0 || listen(fd, 64) != 0 ||
        getsockname(fd, (struct sockaddr *)&a, &len) != 0)
        return -1;
    *port = ntohs(a.sin_port);
    return fd;
}

struct proxy *proxy_new(uint16_t to_port)
{
    struct proxy *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->to_port = to_port;
    for (size_t i = 0; i < MAX_PAIRS; i++)
        p->pairs[i].client = p->pairs[i].server = -1;
    p->listener = bound_socket(&p->port);
    if (p->listener < 0 || pthread_create(&p->thread, NULL, run, p) != 0) {
        free(p);
        return NULL;
    }
    return p;
}

void proxy_free(struct proxy *p)
{
    if (!p)
        return;
    atomic_store(&p->stop, true);
    pthread_join(p->thread, NULL);
    close(p->listener);
    free(p);
}

uint16_t proxy_port(const struct proxy *p)
{
    return p->port;
}

void proxy_set(struct proxy *p, enum proxy_mode mode)
{
    atomic_store(&p->allowed, 0);
    atomic_store(&p->mode, (int)mode);
}

void proxy_swallow_after(struct proxy *p, unsigned produces)
{
    atomic_store(&p->allowed, atomic_load(&p->produces) + produces);
}

void proxy_cut(struct proxy *p)
{
    atomic_store(&p->cut, true);
    while (atomic_load(&p->cut))
        usleep(1000);
}

unsigned proxy_produces(struct proxy *p)
{
    return atomic_load(&p->produces);
}

/* ---- the thread ---- */

static void close_pair(struct pair *pair)
{
    if (pair->client >= 0)
        close(pair->client);
    if (pair->server >= 0)
        close(pair->server);
    *pair = (struct pair){-1, -1, false};
}

static int connect_to(uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static void take_connection(struct proxy *p)
{
    int fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
    size_t i = 0;
    while (i < MAX_PAIRS && p->pairs[i].client >= 0)
        i++;
    if (fd < 0 || i == MAX_PAIRS) {
        close(fd);
        return;
    }
    p->pairs[i] = (struct pair){fd, connect_to(p->to_port), false};
    if (p->pairs[i].server < 0)
        close_pair(&p->pairs[i]);
}

/* False when the connection is over. What does not fit the peer's buffer waits for it. */
static bool pass_on(int fd, const char *bytes, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = send(fd, bytes + done, len - done, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

static bool is_produce(const char *bytes, size_t len)
{
    const char *end = memmem(bytes, len, " HTTP/", 6);
    return len > 5 && memcmp(bytes, "POST ", 5) == 0 && end && end - bytes > 9 &&
           memcmp(end - 9, "/messages", 9) == 0;
}

static void from_client(struct proxy *p, struct pair *pair)
{
    ssize_t n = recv(pair->client, p->chunk, sizeof p->chunk, 0);
    if (n <= 0) {
        close_pair(pair);
        return;
    }
    if (is_produce(p->chunk, (size_t)n)) {
        unsigned seen = atomic_fetch_add(&p->produces, 1) + 1, allowed = atomic_load(&p->allowed);
        if (allowed && seen > allowed)
            atomic_store(&p->mode, PROXY_SWALLOW);
    }
    if (atomic_load(&p->mode) == PROXY_FORWARD && !pass_on(pair->server, p->chunk, (size_t)n))
        close_pair(pair);
}

static void from_server(struct proxy *p, struct pair *pair)
{
    ssize_t n = recv(pair->server, p->chunk, sizeof p->chunk, 0);
    if (n <= 0 || (atomic_load(&p->mode) == PROXY_FORWARD && !pass_on(pair->client, p->chunk, (size_t)n)))
        close_pair(pair);
}

static void fill(struct proxy *p, enum proxy_mode mode)
{
    static const char endless[] = "X-Endless: and one more line of it\r\n";
    for (size_t i = 0; i < sizeof p->chunk; i++)
        p->chunk[i] = mode == PROXY_NOISE     ? (char)random()
                      : mode == PROXY_HEADERS ? endless[i % (sizeof endless - 1)]
                                              : ' ';
}

/* Writes what fits now, never waiting. */
static void answer_garbage(struct proxy *p, struct pair *pair, enum proxy_mode mode)
{
    static const char *const heads[PROXY_MODES] = {
        [PROXY_NOISE] = "",
        [PROXY_HEADERS] = "HTTP/1.1 200 OK\r\n",
        [PROXY_HUGE] =
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000000\r\n\r\n"};
    if (!pair->answered && !pass_on(pair->client, heads[mode], strlen(heads[mode]))) {
        close_pair(pair);
        return;
    }
    pair->answered = true;
    fill(p, mode);
    if (send(pair->client, p->chunk, sizeof p->chunk, MSG_NOSIGNAL | MSG_DONTWAIT) == 0)
        close_pair(pair);
}

static void serve(struct proxy *p, struct pair *pair, short client_events, short server_events)
{
    enum proxy_mode mode = (enum proxy_mode)atomic_load(&p->mode);
    if (mode == PROXY_STALL)
        return;
    if (client_events & (POLLIN | POLLHUP | POLLERR))
        from_client(p, pair);
    if (pair->client >= 0 && server_events & (POLLIN | POLLHUP | POLLERR))
        from_server(p, pair);
    if (pair->client >= 0 && mode >= PROXY_NOISE && (pair->answered || client_events & POLLIN))
        answer_garbage(p, pair, mode);
}

static void *run(void *arg)
{
    struct proxy *p = arg;
    while (!atomic_load(&p->stop)) {
        struct pollfd fds[1 + 2 * MAX_PAIRS] = {{p->listener, POLLIN, 0}};
        bool stalled = atomic_load(&p->mode) == PROXY_STALL;
        for (size_t i = 0; i < MAX_PAIRS; i++) {
            fds[1 + 2 * i] = (struct pollfd){stalled ? -1 : p->pairs[i].client, POLLIN, 0};
            fds[2 + 2 * i] = (struct pollfd){stalled ? -1 : p->pairs[i].server, POLLIN, 0};
        }
        poll(fds, 1 + 2 * MAX_PAIRS, TURN_MS);
        if (atomic_exchange(&p->cut, false))
            for (size_t i = 0; i < MAX_PAIRS; i++)
                close_pair(&p->pairs[i]);
        else
            for (size_t i = 0; i < MAX_PAIRS; i++)
                if (p->pairs[i].client >= 0)
                    serve(p, &p->pairs[i], fds[1 + 2 * i].revents, fds[2 + 2 * i].revents);
        if (fds[0].revents & POLLIN)
            take_connection(p);
    }
    for (size_t i = 0; i < MAX_PAIRS; i++)
        close_pair(&p->pairs[i]);
    return NULL;
}
