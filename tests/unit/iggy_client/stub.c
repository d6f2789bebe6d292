#include "stub.h"

#include "support/process.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_CONNECTIONS 128
#define MAX_REQUESTS 512
#define MAX_REQUEST (4u << 20)

struct connection {
    struct stub *stub;
    int fd;
    pthread_t thread;
};

struct stub {
    const struct stub_rule *rules;
    int listener;
    char url[64];
    pthread_t thread;
    int stop[2]; /* readable when it ends */
    pthread_mutex_t lock;
    struct connection connections[MAX_CONNECTIONS];
    int connection_count;
    int used[64]; /* times that each rule was taken */
    char *requests[MAX_REQUESTS];
    int request_count;
    int at_once, most_at_once;
};

static void *accept_all(void *arg);
static void *serve(void *arg);

struct stub *stub_start(const struct stub_rule *rules)
{
    struct stub *stub = calloc(1, sizeof *stub);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    if (!stub)
        abort();
    stub->rules = rules;
    stub->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pthread_mutex_init(&stub->lock, NULL);
    if (pipe(stub->stop) != 0 || bind(stub->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(stub->listener, 64) != 0 ||
        getsockname(stub->listener, (struct sockaddr *)&address, &size) != 0 ||
        pthread_create(&stub->thread, NULL, accept_all, stub) != 0)
        abort();
    snprintf(stub->url, sizeof stub->url, "http://127.0.0.1:%u", ntohs(address.sin_port));
    return stub;
}

void stub_stop(struct stub *stub)
{
    close(stub->stop[1]);
    pthread_join(stub->thread, NULL);
    for (int i = 0; i < stub->connection_count; i++)
        pthread_join(stub->connections[i].thread, NULL);
    for (int i = 0; i < stub->request_count; i++)
        free(stub->requests[i]);
    close(stub->listener);
    close(stub->stop[0]);
    pthread_mutex_destroy(&stub->lock);
    free(stub);
}

const char *stub_url(const struct stub *stub)
{
    return stub->url;
}

/* ---- serving
 * ------------------------------------------------------------------------------------------------------ */

/* Waits until fd is readable; false when the stub ends. */
static bool readable(struct stub *stub, int fd, int timeout_ms)
{
    struct pollfd fds[2] = {{.fd = stub->stop[0], .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    while (poll(fds, fd < 0 ? 1 : 2, timeout_ms) < 0 && errno == EINTR)
        continue;
    return !fds[0].revents;
}

static void *accept_all(void *arg)
{
    struct stub *stub = arg;
    while (readable(stub, stub->listener, -1)) {
        int fd = accept(stub->listener, NULL, NULL);
        if (fd < 0 || stub->connection_count == MAX_CONNECTIONS)
            break;
        pthread_mutex_lock(&stub->lock);
        struct connection *c = &stub->connections[stub->connection_count++];
        *c = (struct connection){.stub = stub, .fd = fd};
        pthread_mutex_unlock(&stub->lock);
        pthread_create(&c->thread, NULL, serve, c);
    }
    return NULL;
}

static size_t content_length(const char *header)
{
    const char *field = strcasestr(header, "\r\ncontent-length:");
    return field ? strtoul(field + 17, NULL, 10) : 0;
}

/* Reads one request as text; NULL at the end of the connection. early: stops behind the header. */
static char *read_request(struct connection *c, bool header_only, char *text, size_t len)
{
    if (!text)
        text = calloc(1, MAX_REQUEST);
    for (;;) {
        char *end = len ? strstr(text, "\r\n\r\n") : NULL;
        if (end && (header_only || len >= (size_t)(end + 4 - text) + content_length(text)))
            return text;
        if (!text || !readable(c->stub, c->fd, -1))
            break;
        ssize_t n = read(c->fd, text + len, MAX_REQUEST - 1 - len);
        if (n <= 0)
            break;
        len += (size_t)n;
        text[len] = '\0';
    }
    free(text);
    return NULL;
}

static const struct stub_rule *rule_for(struct stub *stub, const char *text)
{
    const struct stub_rule *found = NULL;
    pthread_mutex_lock(&stub->lock);
    for (int i = 0; stub->rules[i].request && !found; i++) {
        const struct stub_rule *rule = &stub->rules[i];
        bool fits = strncmp(text, rule->request, strlen(rule->request)) == 0 &&
                    (!rule->contains || strstr(text, rule->contains)) &&
                    (!rule->times || stub->used[i] < rule->times);
        if (fits) {
            stub->used[i]++;
            found = rule;
        }
    }
    if (++stub->at_once > stub->most_at_once)
        stub->most_at_once = stub->at_once;
    pthread_mutex_unlock(&stub->lock);
    return found;
}

static void keep_request(struct stub *stub, char *text)
{
    pthread_mutex_lock(&stub->lock);
    if (stub->request_count < MAX_REQUESTS)
        stub->requests[stub->request_count++] = strdup(text);
    stub->at_once--;
    pthread_mutex_unlock(&stub->lock);
}

static bool send_all(int fd, const char *text)
{
    for (size_t len = strlen(text), sent = 0; sent < len;) {
        ssize_t n = send(fd, text + sent, len - sent, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        sent += (size_t)n;
    }
    return true;
}

/* Returns whether the connection goes on. */
static bool answer_one(struct connection *c)
{
    static const struct stub_rule none = {.action = STUB_ANSWER};
    char *text = read_request(c, true, NULL, 0);
    if (!text)
        return false;
    const struct stub_rule *rule = rule_for(c->stub, text);
    if (!rule)
        rule = &none;
    if (rule->action != STUB_CUT_EARLY)
        text = read_request(c, false, text, strlen(text));
    if (text)
        keep_request(c->stub, text);
    free(text);
    if (!text || !readable(c->stub, -1, rule->action == STUB_HANG ? -1 : (int)rule->delay_ms))
        return false;
    bool answers = rule->action == STUB_ANSWER || rule->action == STUB_ANSWER_CUT;
    if (answers &&
        !send_all(c->fd, rule->answer ? rule->answer : "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"))
        return false;
    return rule->action == STUB_ANSWER;
}

static void *serve(void *arg)
{
    struct connection *c = arg;
    while (answer_one(c))
        continue;
    shutdown(c->fd, SHUT_RDWR);
    close(c->fd);
    return NULL;
}

/* ---- looking
 * ------------------------------------------------------------------------------------------------------ */

int stub_count(struct stub *stub, const char *request)
{
    int count = 0;
    pthread_mutex_lock(&stub->lock);
    for (int i = 0; i < stub->request_count; i++)
        count += strncmp(stub->requests[i], request, strlen(request)) == 0;
    pthread_mutex_unlock(&stub->lock);
    return count;
}

const char *stub_request(struct stub *stub, const char *request, int n)
{
    const char *found = "";
    pthread_mutex_lock(&stub->lock);
    for (int i = 0; i < stub->request_count && !*found; i++)
        if (strncmp(stub->requests[i], request, strlen(request)) == 0 && n-- == 0)
            found = stub->requests[i];
    pthread_mutex_unlock(&stub->lock);
    return found;
}

int stub_connections(struct stub *stub)
{
    pthread_mutex_lock(&stub->lock);
    int count = stub->connection_count;
    pthread_mutex_unlock(&stub->lock);
    return count;
}

int stub_most_at_once(struct stub *stub)
{
    pthread_mutex_lock(&stub->lock);
    int most = stub->most_at_once;
    pthread_mutex_unlock(&stub->lock);
    return most;
}

/* ---- answers
 * ------------------------------------------------------------------------------------------------------- */

const char *stub_json(int status, const char *body)
{
    static char texts[64][2048];
    static int next;
    char *text = texts[next++ % 64];
    snprintf(text, sizeof texts[0],
             "HTTP/1.1 %d Whatever\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
             status, strlen(body), body);
    return text;
}

const char *stub_empty(int status)
{
    return stub_json(status, "");
}
