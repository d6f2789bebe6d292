/*
 * http: the listener, on libmicrohttpd without threads of its own; carries out fault plans.
 */
#ifndef DEV_HTTP_H
#define DEV_HTTP_H

#include <stdbool.h>
#include <stdint.h>

struct dev_server;
struct dev_http;

/* Listens on 127.0.0.1:port (0: any, then server->http_port tells). NULL with a line on stderr. */
struct dev_http *dev_http_new(struct dev_server *server, uint16_t port);
void dev_http_free(struct dev_http *http);

/* What the main loop waits for; -1 while refusing. */
int dev_http_fd(const struct dev_http *http);
/* Milliseconds until dev_http_run must be called, at most limit. */
int dev_http_timeout(struct dev_http *http, int limit);
/* Does all that can be done now. */
void dev_http_run(struct dev_http *http);

/* Closes the listener and all connections; requests that wait are run (effect, no answer) or, with forget,
 * dropped. */
void dev_http_close(struct dev_http *http, bool forget);
/* Listens again on the same port. */
bool dev_http_open(struct dev_http *http);
bool dev_http_is_open(const struct dev_http *http);
unsigned dev_http_connections(const struct dev_http *http);

uint64_t dev_now_ms(void);

#endif
