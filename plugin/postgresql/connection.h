/*
 * connection: one connection to PostgreSQL and its two prepared statements, without ever waiting longer than
 * a deadline or beyond the end. For one thread.
 */
#ifndef MI_PG_CONNECTION_H
#define MI_PG_CONNECTION_H

#include "base/bytes.h"
#include "base/error.h"

/* Bounds of what one user's answer may hold. */
enum { MI_PG_MAX_HASH = 255, MI_PG_MAX_RIGHTS_BYTES = 1 << 20 };

struct mi_pg_connection;
/* stop_fd becomes readable when everything is to end. NULL when memory is out. */
struct mi_pg_connection *mi_pg_connection_new(int stop_fd);
void mi_pg_connection_free(struct mi_pg_connection *c);
void mi_pg_connection_close(struct mi_pg_connection *c);
bool mi_pg_connection_open(const struct mi_pg_connection *c);

/* Connects with that text (libpq's key=value pairs or URI) and prepares, with rights also the query of
 * mqtt_acl. -1 with err. */
int mi_pg_connect(struct mi_pg_connection *c, const char *connection, bool rights, uint64_t timeout_ns,
                  struct mi_error *err);

struct mi_pg_user {
    bool found, allowed;
    char hash[MI_PG_MAX_HASH + 1]; /* "" when it is longer */
};
/* -1 with err: the connection is closed then. */
int mi_pg_find_user(struct mi_pg_connection *c, const char *username, uint64_t timeout_ns,
                    struct mi_pg_user *user, struct mi_error *err);

/* Appends the user's rows of mqtt_acl as lines of an acl_file; *skipped counts rows that cannot be such
 * lines. -1 with err, as above. */
int mi_pg_find_rights(struct mi_pg_connection *c, const char *username, uint64_t timeout_ns,
                      struct mi_buf *lines, size_t *skipped, struct mi_error *err);

/* Pure: one row as a line; false when it cannot be one. access: 1 read, 2 write, 3 both. */
bool mi_pg_rights_line(struct mi_buf *lines, const char *topic, const char *access);

#endif
