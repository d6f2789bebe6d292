#include "postgresql/connection.h"

#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auth/acl_match.h"
#include "base/clock.h"

static const char find_user[] = "SELECT password, allow FROM mqtt_user WHERE username = $1";
static const char find_rights[] = "SELECT topic, access FROM mqtt_acl WHERE username = $1 LIMIT 10000";

struct mi_pg_connection {
    PGconn *conn;
    int stop_fd;
};

struct mi_pg_connection *mi_pg_connection_new(int stop_fd)
{
    struct mi_pg_connection *c = calloc(1, sizeof *c);
    if (c)
        c->stop_fd = stop_fd;
    return c;
}

void mi_pg_connection_free(struct mi_pg_connection *c)
{
    if (c)
        mi_pg_connection_close(c);
    free(c);
}

void mi_pg_connection_close(struct mi_pg_connection *c)
{
    if (c->conn)
        PQfinish(c->conn);
    c->conn = NULL;
}

bool mi_pg_connection_open(const struct mi_pg_connection *c)
{
    return c->conn != NULL;
}

/* One line of libpq's words. */
static int failed(struct mi_pg_connection *c, const char *what, struct mi_error *err)
{
    const char *why = c->conn ? PQerrorMessage(c->conn) : "out of memory";
    int len = (int)strcspn(why, "\n");
    mi_error_set(err, "%s: %.*s", what, len ? len : 12, len ? why : "no answer");
    mi_pg_connection_close(c);
    return -1;
}

/* Waits until the socket is ready; false at the deadline and when all is to end. */
static bool ready(const struct mi_pg_connection *c, short events, uint64_t deadline_ns)
{
    struct pollfd fds[2] = {{.fd = PQsocket(c->conn), .events = events},
                            {.fd = c->stop_fd, .events = POLLIN}};
    for (;;) {
        uint64_t now = mi_now_ns(&mi_clock_system);
        if (now >= deadline_ns)
            return false;
        int n = poll(fds, 2, (int)((deadline_ns - now) / MI_NS_PER_MS) + 1);
        if (n > 0)
            return !fds[1].revents;
    }
}

static bool is_connected(struct mi_pg_connection *c, uint64_t deadline_ns)
{
    /* libpq wants to hear of "writable" first. */
    for (PostgresPollingStatusType state = PGRES_POLLING_WRITING; state != PGRES_POLLING_OK;
         state = PQconnectPoll(c->conn))
        if (state == PGRES_POLLING_FAILED ||
            !ready(c, state == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline_ns))
            return false;
    return true;
}

/* The last result of what was sent; NULL when it does not come. */
static PGresult *result(struct mi_pg_connection *c, uint64_t deadline_ns)
{
    PGresult *last = NULL;
    for (int left; (left = PQflush(c->conn)) != 0;)
        if (left < 0 || !ready(c, POLLOUT, deadline_ns))
            return NULL;
    for (;;) {
        while (PQisBusy(c->conn))
            if (!ready(c, POLLIN, deadline_ns) || !PQconsumeInput(c->conn)) {
                PQclear(last);
                return NULL;
            }
        PGresult *next = PQgetResult(c->conn);
        if (!next)
            return last;
        PQclear(last);
        last = next;
    }
}

static bool command(struct mi_pg_connection *c, int sent, uint64_t deadline_ns)
{
    PGresult *r = sent ? result(c, deadline_ns) : NULL;
    bool ok = r && PQresultStatus(r) == PGRES_COMMAND_OK;
    PQclear(r);
    return ok;
}

/* What it writes would go to the broker's stderr. */
static void ignore_notice(void *arg, const PGresult *r)
{
    (void)arg;
    (void)r;
}

int mi_pg_connect(struct mi_pg_connection *c, const char *connection, bool rights, uint64_t timeout_ns,
                  struct mi_error *err)
{
    static const char *const keys[] = {"dbname", "fallback_application_name", NULL};
    const char *const values[] = {connection, "mosquitto-iggy", NULL};
    char limit[64];
    uint64_t deadline_ns = mi_now_ns(&mi_clock_system) + timeout_ns;
    mi_pg_connection_close(c);
    c->conn = PQconnectStartParams(keys, values, 1);
    if (!c->conn || PQstatus(c->conn) == CONNECTION_BAD || !is_connected(c, deadline_ns))
        return failed(c, "connecting", err);
    PQsetNoticeReceiver(c->conn, ignore_notice, NULL);
    if (PQsetnonblocking(c->conn, 1) != 0)
        return failed(c, "connecting", err);
    snprintf(limit, sizeof limit, "SET statement_timeout = %llu",
             (unsigned long long)(timeout_ns / MI_NS_PER_MS));
    if (!command(c, PQsendQuery(c->conn, limit), deadline_ns) ||
        !command(c, PQsendPrepare(c->conn, "mi_user", find_user, 1, NULL), deadline_ns))
        return failed(c, "preparing the query of mqtt_user", err);
    if (rights && !command(c, PQsendPrepare(c->conn, "mi_rights", find_rights, 1, NULL), deadline_ns))
        return failed(c, "preparing the query of mqtt_acl", err);
    return 0;
}

/* smallint or boolean. */
static bool is_true(const char *value)
{
    return strcmp(value, "1") == 0 || strcmp(value, "t") == 0;
}

static void read_user(const PGresult *r, struct mi_pg_user *user)
{
    memset(user, 0, sizeof *user);
    user->found = PQntuples(r) == 1 && PQnfields(r) == 2 && !PQgetisnull(r, 0, 0);
    if (!user->found)
        return;
    const char *hash = PQgetvalue(r, 0, 0);
    user->allowed = !PQgetisnull(r, 0, 1) && is_true(PQgetvalue(r, 0, 1));
    if (strlen(hash) <= MI_PG_MAX_HASH)
        memcpy(user->hash, hash, strlen(hash) + 1);
}

/* Rows, or NULL. */
static PGresult *ask(struct mi_pg_connection *c, const char *statement, const char *username,
                     uint64_t timeout_ns)
{
    const char *const values[] = {username};
    uint64_t deadline_ns = mi_now_ns(&mi_clock_system) + timeout_ns;
    bool sent = PQsendQueryPrepared(c->conn, statement, 1, values, NULL, NULL, 0);
    PGresult *r = sent ? result(c, deadline_ns) : NULL;
    if (r && PQresultStatus(r) == PGRES_TUPLES_OK)
        return r;
    PQclear(r);
    return NULL;
}

int mi_pg_find_user(struct mi_pg_connection *c, const char *username, uint64_t timeout_ns,
                    struct mi_pg_user *user, struct mi_error *err)
{
    PGresult *r = ask(c, "mi_user", username, timeout_ns);
    if (!r)
        return failed(c, "asking mqtt_user", err);
    read_user(r, user);
    PQclear(r);
    return 0;
}

/* As "pattern" lines, the only ones that know %u and %c: there they stand for a whole level each. */
bool mi_pg_rights_line(struct mi_buf *lines, const char *topic, const char *access)
{
    static const char *const words[] = {"read", "write", "readwrite"};
    size_t len = strlen(topic);
    bool known = access[0] >= '1' && access[0] <= '3' && access[1] == '\0';
    if (!known || len == 0 || topic[0] == ' ' || topic[len - 1] == ' ' || strpbrk(topic, "\r\n\t") ||
        mi_acl_filter_check(mi_span_of(topic)) != NULL)
        return false;
    return mi_buf_addf(lines, "pattern %s ", words[access[0] - '1']) && mi_buf_add_text(lines, topic) &&
           mi_buf_add_byte(lines, '\n');
}

int mi_pg_find_rights(struct mi_pg_connection *c, const char *username, uint64_t timeout_ns,
                      struct mi_buf *lines, size_t *skipped, struct mi_error *err)
{
    PGresult *r = ask(c, "mi_rights", username, timeout_ns);
    if (!r)
        return failed(c, "asking mqtt_acl", err);
    for (int i = 0; i < PQntuples(r); i++)
        if (PQgetisnull(r, i, 0) || PQgetisnull(r, i, 1) ||
            !mi_pg_rights_line(lines, PQgetvalue(r, i, 0), PQgetvalue(r, i, 1)))
            (*skipped)++;
    PQclear(r);
    return 0;
}
