/*
 * admin: the second port. One command per line, one answer line each: "ok ..." or "error ...". README.md
 * lists them.
 */
#ifndef DEV_ADMIN_H
#define DEV_ADMIN_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dev_server;
struct dev_admin;

enum { DEV_ADMIN_CLIENTS = 16 };

/* Listens on 127.0.0.1:port (0: any, then server->admin_port tells). NULL with a line on stderr. */
struct dev_admin *dev_admin_new(struct dev_server *server, uint16_t port);
void dev_admin_free(struct dev_admin *admin);

/* Fills in what to wait for (at most DEV_ADMIN_CLIENTS + 1) and later handles it. */
size_t dev_admin_poll(const struct dev_admin *admin, struct pollfd *fds);
void dev_admin_handle(struct dev_admin *admin, const struct pollfd *fds, size_t count);

/* Milliseconds for which the HTTP side shall stand still, or be closed, from now on; 0: not. */
uint64_t dev_admin_paused_ms(const struct dev_admin *admin);
/* Opens the listener again when its time is over. */
void dev_admin_tick(struct dev_admin *admin);
/* Milliseconds until dev_admin_tick or the end of a pause, at most limit. */
int dev_admin_timeout(const struct dev_admin *admin, int limit);

#endif
