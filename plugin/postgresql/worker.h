/*
 * worker: a PostgreSQL database as the one who knows users (backend.h): the table mqtt_user with bcrypt
 * hashes, as comqtt's documentation describes it.
 *
 * One thread with all signals blocked asks one after the other, over one connection. What waits is bounded in
 * number and time. A connection that was lost is made again at once, once; when that fails the database
 * counts as away, and the next check after a pause (100 ms, doubling to 10 s) tries again.
 */
#ifndef MI_PG_WORKER_H
#define MI_PG_WORKER_H

#include "auth/backend_module.h"

/* The functions behind struct mi_backend_module. */
void *mi_pg_worker_open(const struct mi_backend_module_options *options, struct mi_error *err);
void mi_pg_worker_set_connection(void *self, const char *connection);
void mi_pg_worker_close(void *self);
extern const struct mi_backend_functions mi_pg_worker_functions;

#endif
