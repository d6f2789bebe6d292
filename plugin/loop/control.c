#include "loop/control.h"

#include "loop/orders.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { CLIENTS = 4, LINE_BYTES = 64, LINE_TIME_S = 10, LISTENER = CLIENTS };

struct client {
    int fd; /* -1: free */
    char line[LINE_BYTES];
    size_t len;
    bool asked;           /* its line is whole */
    uint64_t deadline_ns; /* until then */
    uint64_t turn;        /* who asked first is first */
};

struct mi_control {
    struct mi_control_options options;
    int dir, listener, epoll;
    struct client clients[CLIENTS];
    struct client *served; /* whose order is being carried out; NULL: none */
    uint64_t turns;
    struct mi_orders *orders;
};

static int listen_in(struct mi_control *c, struct mi_error *err);
static void take_events(struct mi_control *c, uint64_t now);
static uint64_t serve(struct mi_control *c, uint64_t now);
static uint64_t drop_silent(struct mi_control *c, uint64_t now);
static void hang_up(struct client *client);

struct mi_control *mi_control_new(const struct mi_control_options *options, struct mi_error *err)
{
    struct mi_control *c = calloc(1, sizeof *c);
    if (!c) {
        mi_error_set(err, "memory is out");
        return NULL;
    }
    c->options = *options;
    c->dir = c->listener = c->epoll = -1;
    for (int i = 0; i < CLIENTS; i++)
        c->clients[i].fd = -1;
    c->orders = mi_orders_new(options->directory, options->journal, options->settled_at_start, options->clock,
                              options->wake_bridge, options->context);
    if (!c->orders)
        mi_error_set(err, "memory is out");
    if (!c->orders || listen_in(c, err) != 0) {
        mi_control_free(c);
        return NULL;
    }
    return c;
}

void mi_control_free(struct mi_control *c)
{
    if (!c)
        return;
    for (int i = 0; i < CLIENTS; i++)
        hang_up(&c->clients[i]);
    if (c->listener >= 0) {
        close(c->listener);
        unlinkat(c->dir, MI_CONTROL_SOCKET, 0);
    }
    if (c->epoll >= 0)
        close(c->epoll);
    if (c->dir >= 0)
        close(c->dir);
    mi_orders_free(c->orders);
    free(c);
}

int mi_control_fd(const struct mi_control *c)
{
    return c->epoll;
}

uint64_t mi_control_step(struct mi_control *c, uint64_t now_ns)
{
    take_events(c, now_ns);
    uint64_t due = serve(c, now_ns), silent = drop_silent(c, now_ns);
    return due < silent ? due : silent;
}

bool mi_control_waits_for_main(const struct mi_control *c)
{
    return mi_orders_waits_for_main(c->orders);
}

void mi_control_tick(struct mi_control *c)
{
    if (c)
        mi_orders_tick(c->orders);
}

/* ---- listening ---- */

/* Only what is a socket is in the way by right: whatever else has that name was put there by somebody. */
static int clear_way(struct mi_control *c, struct mi_error *err)
{
    struct stat st;
    if (fstatat(c->dir, MI_CONTROL_SOCKET, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return 0;
    if (!S_ISSOCK(st.st_mode))
        return mi_error_set(err, "%s/" MI_CONTROL_SOCKET " is no socket: move it out of the way",
                            c->options.directory);
    unlinkat(c->dir, MI_CONTROL_SOCKET, 0);
    return 0;
}

static int watch(struct mi_control *c, int fd, uint32_t who)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = who};
    return epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &event);
}

static int listen_in(struct mi_control *c, struct mi_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    c->dir = open(c->options.directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    c->epoll = epoll_create1(EPOLL_CLOEXEC);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->dir < 0 || c->epoll < 0 || fd < 0) {
        mi_error_set(err, "%s: %s", c->options.directory, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    if (clear_way(c, err) != 0) {
        close(fd);
        return -1;
    }
    /* Through /proc, because a socket's address has room for 107 bytes only; the mode is that of the
     * descriptor. */
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/" MI_CONTROL_SOCKET, c->dir);
    if (fchmod(fd, 0600) != 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(fd, CLIENTS) != 0 || watch(c, fd, LISTENER) != 0) {
        mi_error_set(err, "%s/" MI_CONTROL_SOCKET ": %s", c->options.directory, strerror(errno));
        close(fd);
        return -1;
    }
    c->listener = fd;
    return 0;
}

/* ---- connections ---- */

static void hang_up(struct client *client)
{
    if (client->fd >= 0)
        close(client->fd);
    *client = (struct client){.fd = -1};
}

/* An answer is short and the socket's buffer empty: it goes out whole, or the other side is gone. */
static void answer(struct client *client, const char *text)
{
    char line[MI_ORDER_ANSWER + 2];
    int n = snprintf(line, sizeof line, "%s\n", text);
    if (client->fd >= 0 && send(client->fd, line, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) < n)
        shutdown(client->fd, SHUT_RDWR);
    hang_up(client);
}

static void accept_one(struct mi_control *c, uint64_t now)
{
    int fd = accept4(c->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return;
    struct client extra = {.fd = fd}, *client = NULL;
    for (uint32_t i = 0; i < CLIENTS && !client; i++)
        if (c->clients[i].fd < 0 && watch(c, fd, i) == 0)
            client = &c->clients[i];
    if (client)
        *client = (struct client){.fd = fd, .deadline_ns = now + LINE_TIME_S * MI_NS_PER_S};
    else
        answer(&extra, "error busy: other orders are being carried out, try again");
}

static void read_line(struct mi_control *c, struct client *client)
{
    ssize_t n = recv(client->fd, client->line + client->len, LINE_BYTES - client->len, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        hang_up(client);
        return;
    }
    client->len += (size_t)n;
    char *end = memchr(client->line, '\n', client->len);
    if (end) {
        *end = '\0';
        client->asked = true;
        client->turn = c->turns++;
        epoll_ctl(c->epoll, EPOLL_CTL_DEL, client->fd,
                  NULL); /* it may hang up now; the order is carried out */
    } else if (client->len == LINE_BYTES)
        answer(client, "error the line is too long");
}

static void take_events(struct mi_control *c, uint64_t now)
{
    struct epoll_event events[CLIENTS + 1];
    int n = epoll_wait(c->epoll, events, CLIENTS + 1, 0);
    for (int i = 0; i < n; i++) {
        struct client *client = events[i].data.u32 < CLIENTS ? &c->clients[events[i].data.u32] : NULL;
        if (client && client->fd >= 0 && !client->asked)
            read_line(c, client);
        else if (!client)
            accept_one(c, now);
    }
}

static uint64_t drop_silent(struct mi_control *c, uint64_t now)
{
    uint64_t due = UINT64_MAX;
    for (int i = 0; i < CLIENTS; i++) {
        struct client *client = &c->clients[i];
        if (client->fd < 0 || client->asked)
            continue;
        if (now >= client->deadline_ns)
            hang_up(client);
        else if (client->deadline_ns < due)
            due = client->deadline_ns;
    }
    return due;
}

/* ---- orders ---- */

static struct client *next_in_turn(struct mi_control *c)
{
    struct client *first = NULL;
    for (int i = 0; i < CLIENTS; i++)
        if (c->clients[i].asked && (!first || c->clients[i].turn < first->turn))
            first = &c->clients[i];
    return first;
}

static uint64_t serve(struct mi_control *c, uint64_t now)
{
    char text[MI_ORDER_ANSWER];
    uint64_t due = UINT64_MAX;
    if (!c->served) {
        c->served = next_in_turn(c);
        if (!c->served)
            return UINT64_MAX;
        mi_orders_begin(c->orders, c->served->line);
    }
    if (!mi_orders_step(c->orders, now, text, &due))
        return due;
    answer(c->served, text);
    c->served = NULL;
    return next_in_turn(c) ? now : UINT64_MAX;
}
