#include "support/iggy_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { START_MS = 60000, PATIENCE_S = 10, MAX_PAGE = 4 << 20 };

bool mi_iggy_server_prepare(struct mi_iggy_server *s)
{
    memset(s, 0, sizeof *s);
    const char *named = getenv("IGGY_SERVER");
    s->real = named && *named;
    s->port = mi_free_port();
    s->admin_port = mi_free_port();
    return mi_temp_dir(s->dir, sizeof s->dir);
}

static bool start_real(struct mi_iggy_server *s, const char *log)
{
    char http[64], tcp[64], path[300], system_path[300];
    snprintf(http, sizeof http, "IGGY_HTTP_ADDRESS=127.0.0.1:%u", s->port);
    snprintf(tcp, sizeof tcp, "IGGY_TCP_ADDRESS=127.0.0.1:%u", s->admin_port);
    snprintf(path, sizeof path, "IGGY_PATH=%s/data", s->dir);
    snprintf(system_path, sizeof system_path, "IGGY_SYSTEM_PATH=%s/data", s->dir);
    /* 0.9 has dropped "SYSTEM_" from the names */
    char *env[] = {http,
                   tcp,
                   path,
                   system_path,
                   (char *)"IGGY_ROOT_USERNAME=iggy",
                   (char *)"IGGY_ROOT_PASSWORD=iggy",
                   (char *)"IGGY_QUIC_ENABLED=false",
                   (char *)"IGGY_WEBSOCKET_ENABLED=false",
                   (char *)"IGGY_SHARDING_CPU_ALLOCATION=1",
                   (char *)"IGGY_SYSTEM_SHARDING_CPU_ALLOCATION=1",
                   NULL};
    char *argv[] = {getenv("IGGY_SERVER"), NULL};
    return mi_process_start(&s->process, log, argv, env);
}

static bool start_devserver(struct mi_iggy_server *s, const char *log)
{
    char port[16], admin[16], data[300];
    snprintf(port, sizeof port, "%u", s->port);
    snprintf(admin, sizeof admin, "%u", s->admin_port);
    snprintf(data, sizeof data, "%s/data", s->dir);
    char *argv[] = {(char *)MI_DEVSERVER_FILE,
                    (char *)"--port",
                    port,
                    (char *)"--admin-port",
                    admin,
                    (char *)"--data",
                    data,
                    NULL};
    return mi_process_start(&s->process, log, argv, NULL);
}

bool mi_iggy_server_start(struct mi_iggy_server *s)
{
    char log[300];
    snprintf(log, sizeof log, "%s/iggy.log", s->dir);
    if (!(s->real ? start_real(s, log) : start_devserver(s, log)))
        return false;
    for (uint64_t end = mi_monotonic_ms() + START_MS;
         mi_monotonic_ms() < end && mi_process_alive(&s->process);)
        if (mi_wait_port(s->port, 100))
            return true;
    char *said = mi_read_file(log);
    printf("the Iggy server does not start:\n%s\n", said ? said : "");
    free(said);
    return false;
}

void mi_iggy_server_stop(struct mi_iggy_server *s)
{
    mi_process_stop(&s->process, 20000);
}

void mi_iggy_server_kill(struct mi_iggy_server *s)
{
    mi_process_kill(&s->process);
}

void mi_iggy_server_remove(struct mi_iggy_server *s)
{
    if (mi_process_alive(&s->process))
        mi_process_kill(&s->process);
    if (!getenv("KEEP_TEST_DIRS"))
        mi_remove_tree(s->dir);
}

/* ---- one question, one answer ---- */

static int connect_to(uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct timeval patience = {PATIENCE_S, 0};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0) {
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

bool mi_iggy_server_fault(struct mi_iggy_server *s, const char *line)
{
    char text[256], answer[256] = "";
    int fd = s->real ? -1 : connect_to(s->admin_port);
    if (fd < 0)
        return false;
    int n = snprintf(text, sizeof text, "%s\n", line);
    bool ok = send(fd, text, (size_t)n, MSG_NOSIGNAL) == n && recv(fd, answer, sizeof answer - 1, 0) > 0 &&
              strncmp(answer, "ok", 2) == 0;
    if (!ok)
        printf("\ndevserver, \"%s\": %s\n", line, answer);
    close(fd);
    return ok;
}

char *mi_http_get(uint16_t port, const char *path, int *status)
{
    char request[256];
    int fd = connect_to(port);
    char *text = fd >= 0 ? calloc(1, MAX_PAGE + 1) : NULL;
    size_t len = 0;
    int n =
        snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path);
    ssize_t got = text && send(fd, request, (size_t)n, MSG_NOSIGNAL) == n ? 1 : 0;
    while (got > 0 && len < MAX_PAGE) {
        got = recv(fd, text + len, MAX_PAGE - len, 0);
        len += got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0)
        close(fd);
    char *body = text ? strstr(text, "\r\n\r\n") : NULL;
    if (status)
        *status = body ? atoi(text + strlen("HTTP/1.1 ")) : 0;
    if (!body) {
        free(text);
        return NULL;
    }
    memmove(text, body + 4, strlen(body + 4) + 1);
    return text;
}

double mi_prometheus_value(const char *page, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = page; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        if (strncmp(at, name, len) == 0 && at[len] == ' ')
            return atof(at + len);
    return -1;
}
