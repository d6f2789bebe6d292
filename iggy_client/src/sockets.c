#include "sockets.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct socket_entry {
    curl_socket_t fd;
    size_t url;
    const void *owner; /* NULL: used */
};

void sockets_fini(struct sockets *s)
{
    free(s->list);
    *s = (struct sockets){0};
}

curl_socket_t sockets_open(struct sockets *s, const void *owner, size_t url,
                           const struct curl_sockaddr *address)
{
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (fd < 0)
        return CURL_SOCKET_BAD;
    if (s->count == s->size) {
        size_t size = s->size ? s->size * 2 : 32;
        struct socket_entry *list = realloc(s->list, size * sizeof *list);
        if (!list) {
            close(fd);
            return CURL_SOCKET_BAD;
        }
        s->list = list;
        s->size = size;
    }
    s->list[s->count++] = (struct socket_entry){fd, url, owner};
    return fd;
}

int sockets_close(struct sockets *s, curl_socket_t fd)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->list[i].fd == fd) {
            s->list[i] = s->list[--s->count];
            break;
        }
    }
    return close(fd);
}

void sockets_use(struct sockets *s, const void *owner)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i].owner == owner)
            s->list[i].owner = NULL;
}

bool sockets_alive(const struct sockets *s, size_t url)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->list[i].owner || s->list[i].url != url)
            continue;
        struct pollfd p = {.fd = s->list[i].fd, .events = POLLRDHUP};
        if (poll(&p, 1, 0) == 0)
            return true;
    }
    return false;
}
