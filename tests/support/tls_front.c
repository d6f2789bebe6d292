#include "support/tls_front.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/tls_identity.h"

#define MAX_CONNECTIONS 512

struct tls_link {
    struct tls_front *front;
    int fd, plain;
    SSL *ssl;
    pthread_t thread;
};

struct tls_front {
    int listener, stop[2];
    unsigned port;
    in_port_t plain_port;
    pthread_t thread;
    pthread_mutex_t lock;
    SSL_CTX *context;
    struct tls_link links[MAX_CONNECTIONS];
    int count, handshakes;
};

static SSL_CTX *new_context(const struct identity *server, const struct identity *client_ca, int version);
static void *accept_all(void *arg);
static void *serve(void *arg);
static bool handshake(struct tls_link *link);
static void drain(struct tls_link *link);
static void hand_on(struct tls_link *link);

static struct sockaddr_in loopback(in_port_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

struct tls_front *tls_front_start(const char *plain_url, const struct identity *server)
{
    struct tls_front *front = calloc(1, sizeof *front);
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    if (!front)
        abort();
    signal(SIGPIPE, SIG_IGN); /* OpenSSL writes without MSG_NOSIGNAL */
    front->plain_port = htons((uint16_t)atoi(strrchr(plain_url, ':') + 1));
    front->context = new_context(server, NULL, TLS1_3_VERSION);
    front->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pthread_mutex_init(&front->lock, NULL);
    if (pipe2(front->stop, O_CLOEXEC) != 0 ||
        bind(front->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(front->listener, 64) != 0 ||
        getsockname(front->listener, (struct sockaddr *)&address, &size) != 0 ||
        pthread_create(&front->thread, NULL, accept_all, front) != 0)
        abort();
    front->port = ntohs(address.sin_port);
    return front;
}

void tls_front_stop(struct tls_front *front)
{
    close(front->stop[1]);
    pthread_join(front->thread, NULL);
    for (int i = 0; i < front->count; i++)
        pthread_join(front->links[i].thread, NULL);
    SSL_CTX_free(front->context);
    close(front->listener);
    close(front->stop[0]);
    pthread_mutex_destroy(&front->lock);
    free(front);
}

unsigned tls_front_port(const struct tls_front *front)
{
    return front->port;
}

/* ---- what it shows and demands
 * ---------------------------------------------------------------------------------- */

void tls_front_use(struct tls_front *front, const struct identity *server, const struct identity *client_ca,
                   int version)
{
    SSL_CTX *context = new_context(server, client_ca, version);
    pthread_mutex_lock(&front->lock);
    SSL_CTX_free(front->context);
    front->context = context;
    pthread_mutex_unlock(&front->lock);
}

/* One key for the tickets of all contexts: as a server that was reloaded or stands behind a balancer has it,
 * and a client that resumed a session would not see the new certificate. */
static void share_tickets(SSL_CTX *context)
{
    unsigned char keys[80];
    memset(keys, 7, sizeof keys);
    if (!SSL_CTX_set_tlsext_ticket_keys(context, keys, sizeof keys) ||
        !SSL_CTX_set_session_id_context(context, (const unsigned char *)"t", 1))
        abort();
}

static SSL_CTX *new_context(const struct identity *server, const struct identity *client_ca, int version)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (!context || !SSL_CTX_use_certificate(context, server->cert) ||
        !SSL_CTX_use_PrivateKey(context, server->key) || !SSL_CTX_set_max_proto_version(context, version))
        abort();
    share_tickets(context);
    if (client_ca) {
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
        X509_STORE_add_cert(SSL_CTX_get_cert_store(context), client_ca->cert);
    }
    return context;
}

int tls_front_connections(struct tls_front *front)
{
    pthread_mutex_lock(&front->lock);
    int count = front->count;
    pthread_mutex_unlock(&front->lock);
    return count;
}

int tls_front_handshakes(struct tls_front *front)
{
    pthread_mutex_lock(&front->lock);
    int count = front->handshakes;
    pthread_mutex_unlock(&front->lock);
    return count;
}

/* ---- serving
 * ------------------------------------------------------------------------------------------------------ */

/* Waits until one of both is readable (plain may be -1); false when the front ends. */
static bool readable(struct tls_front *front, int fd, int plain)
{
    struct pollfd fds[] = {{.fd = front->stop[0], .events = POLLIN},
                           {.fd = fd, .events = POLLIN},
                           {.fd = plain, .events = POLLIN}};
    return poll(fds, 3, -1) > 0 && !fds[0].revents;
}

static void *accept_all(void *arg)
{
    struct tls_front *front = arg;
    while (readable(front, front->listener, -1)) {
        int fd = accept4(front->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 || front->count == MAX_CONNECTIONS)
            break;
        pthread_mutex_lock(&front->lock);
        struct tls_link *link = &front->links[front->count++];
        *link = (struct tls_link){.front = front, .fd = fd, .plain = -1, .ssl = SSL_new(front->context)};
        pthread_mutex_unlock(&front->lock);
        if (!link->ssl || !SSL_set_fd(link->ssl, fd) || pthread_create(&link->thread, NULL, serve, link) != 0)
            abort();
    }
    return NULL;
}

static void *serve(void *arg)
{
    struct tls_link *link = arg;
    struct sockaddr_in address = loopback(link->front->plain_port);
    if (handshake(link)) {
        link->plain = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(link->plain, (struct sockaddr *)&address, sizeof address) == 0)
            hand_on(link);
        close(link->plain);
    } else {
        drain(link);
    }
    SSL_free(link->ssl);
    close(link->fd);
    return NULL;
}

static bool handshake(struct tls_link *link)
{
    int rc;
    while ((rc = SSL_accept(link->ssl)) <= 0)
        if (SSL_get_error(link->ssl, rc) != SSL_ERROR_WANT_READ || !readable(link->front, link->fd, -1))
            return false;
    pthread_mutex_lock(&link->front->lock);
    link->front->handshakes++;
    pthread_mutex_unlock(&link->front->lock);
    return true;
}

/* Reads what a refused client has still sent: closing before would reset the connection and lose the alert.
 */
static void drain(struct tls_link *link)
{
    char bytes[4096];
    shutdown(link->fd, SHUT_WR);
    while (readable(link->front, link->fd, -1) && read(link->fd, bytes, sizeof bytes) > 0)
        continue;
}

static bool send_all(int fd, const char *bytes, size_t len)
{
    for (ssize_t n; len > 0; bytes += n, len -= (size_t)n)
        if ((n = send(fd, bytes, len, MSG_NOSIGNAL)) <= 0)
            return false;
    return true;
}

/* To the stub: all that has come. */
static bool hand_in(struct tls_link *link, char *bytes, int size)
{
    int n;
    while ((n = SSL_read(link->ssl, bytes, size)) > 0)
        if (!send_all(link->plain, bytes, (size_t)n))
            return false;
    return SSL_get_error(link->ssl, n) == SSL_ERROR_WANT_READ;
}

/* Back to the client: answers of the tests fit the socket's buffer. */
static bool hand_out(struct tls_link *link, char *bytes, size_t size)
{
    ssize_t n = recv(link->plain, bytes, size, MSG_DONTWAIT);
    return n < 0 || (n > 0 && SSL_write(link->ssl, bytes, (int)n) == n);
}

static void hand_on(struct tls_link *link)
{
    char bytes[16384];
    while (hand_in(link, bytes, sizeof bytes) && hand_out(link, bytes, sizeof bytes) &&
           readable(link->front, link->fd, link->plain))
        continue;
    SSL_shutdown(link->ssl);
}
