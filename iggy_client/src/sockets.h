/*
 * sockets: the TCP connections of one transport, to tell a connection that was merely added from one that had
 * to be opened because all others died: the sign of a restarted server.
 */
#ifndef IGGY_SOCKETS_H
#define IGGY_SOCKETS_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

struct sockets {
    struct socket_entry *list;
    size_t count, size;
};

void sockets_fini(struct sockets *s);
/* Opens one for owner, towards the base URL of that index. */
curl_socket_t sockets_open(struct sockets *s, const void *owner, size_t url,
                           const struct curl_sockaddr *address);
int sockets_close(struct sockets *s, curl_socket_t fd);
/* What owner opened is used now; the pointer may be given to another from here on. */
void sockets_use(struct sockets *s, const void *owner);
/* Does a used one to that URL still stand, with no end or reset from the other side? */
bool sockets_alive(const struct sockets *s, size_t url);

#endif
