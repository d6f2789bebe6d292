/*
 * postgres: a PostgreSQL server of the test's own, from Debian's packages, in a temporary folder and on a
 * unix socket there. It refuses to run as root: then it runs as nobody. Everybody on the socket is let in.
 */
#ifndef MI_TEST_POSTGRES_H
#define MI_TEST_POSTGRES_H

#include "support/process.h"

struct mi_postgres {
    struct mi_process process;
    char dir[256]; /* holds data/ and the socket */
    char bin[256];
};

/* Makes the cluster; false when PostgreSQL is not installed, or with a line on stderr. */
bool mi_postgres_prepare(struct mi_postgres *p);
bool mi_postgres_start(struct mi_postgres *p);
void mi_postgres_stop(struct mi_postgres *p); /* at once, as after a crash */
void mi_postgres_remove(struct mi_postgres *p);
/* Runs SQL as the superuser "mqtt" in the database "postgres". */
bool mi_postgres_run(struct mi_postgres *p, const char *sql);
/* What connects to it, in libpq's words. */
const char *mi_postgres_connection(const struct mi_postgres *p);

#endif
