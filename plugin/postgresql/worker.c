#include "postgresql/worker.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "postgresql/bcrypt.h"
#include "postgresql/connection.h"

enum { QUEUE = 256, MAX_NAME = 255, STACK_BYTES = 1024 * 1024, LOG_S = 10 };
enum { SHORTEST_PAUSE_MS = 100, LONGEST_PAUSE_MS = 10000 };

struct ask {
    struct ask *next;
    uint64_t ticket, deadline_ns;
    size_t size;          /* of text */
    const char *password; /* NULL: only the rights are asked for */
    char text[];          /* name, NUL, password, NUL */
};

struct worker {
    /* constant after open */
    struct mi_backend_module_options options;
    pthread_t thread;
    int stop_fd;
    /* under lock */
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct ask *first, *last;
    size_t queued;
    char *connection;
    bool renew; /* connection is another one */
    bool stopping;
    /* any thread */
    atomic_bool away;
    _Atomic uint64_t try_ns; /* while away: when the next check may try */
    /* the thread */
    struct mi_pg_connection *database;
    uint64_t pause_ms;
    struct mi_log_limit limit, row_limit;
};

static void *run(void *arg);

/* ---- life ---- */

static void free_secret(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

static void free_ask(struct ask *a)
{
    explicit_bzero(a->text, a->size);
    free(a);
}

static void free_worker(struct worker *w)
{
    for (struct ask *a = w->first, *next; a; a = next) {
        next = a->next;
        free_ask(a);
    }
    mi_pg_connection_free(w->database);
    free_secret(w->connection);
    if (w->stop_fd >= 0)
        close(w->stop_fd);
    pthread_cond_destroy(&w->work);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

/* All signals are blocked in it, so that the broker's reach the broker. */
static int start_thread(struct worker *w)
{
    pthread_attr_t attr;
    sigset_t all, before;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&w->thread, &attr, run, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return rc;
}

void *mi_pg_worker_open(const struct mi_backend_module_options *options, struct mi_error *err)
{
    struct worker *w = calloc(1, sizeof *w);
    if (!w) {
        mi_error_set(err, "out of memory");
        return NULL;
    }
    w->options = *options;
    w->pause_ms = SHORTEST_PAUSE_MS;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->work, NULL);
    w->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    w->connection = strdup(options->connection);
    w->database = w->stop_fd >= 0 ? mi_pg_connection_new(w->stop_fd) : NULL;
    if (!w->connection || !w->database || start_thread(w) != 0) {
        mi_error_set(err, "the thread of the database cannot be started");
        free_worker(w);
        return NULL;
    }
    return w;
}

void mi_pg_worker_set_connection(void *self, const char *connection)
{
    struct worker *w = self;
    char *copy = strdup(connection);
    if (!copy)
        return;
    pthread_mutex_lock(&w->lock);
    char *before = w->connection;
    w->renew = strcmp(before, copy) != 0;
    w->connection = copy;
    pthread_mutex_unlock(&w->lock);
    free_secret(before);
    atomic_store(&w->try_ns, 0);
}

void mi_pg_worker_close(void *self)
{
    struct worker *w = self;
    static const uint64_t one = 1;
    pthread_mutex_lock(&w->lock);
    w->stopping = true;
    pthread_cond_signal(&w->work);
    pthread_mutex_unlock(&w->lock);
    if (write(w->stop_fd, &one, sizeof one) != sizeof one)
        mi_log_line(w->options.log, MI_LOG_WARNING, "logins: the database's thread ends late");
    pthread_join(w->thread, NULL);
    free_worker(w);
}

/* ---- main thread ---- */

static bool is_plain(struct mi_span s)
{
    return s.len > 0 && memchr(s.data, 0, s.len) == NULL;
}

static bool possible(struct mi_span username, struct mi_span password)
{
    return is_plain(username) && username.len <= MAX_NAME && mi_utf8_valid(username) && is_plain(password) &&
           password.len <= MI_BCRYPT_MAX_PASSWORD;
}

static bool reachable(void *self)
{
    struct worker *w = self;
    return !atomic_load(&w->away);
}

static bool enqueue(struct worker *w, struct ask *a)
{
    pthread_mutex_lock(&w->lock);
    bool room = w->queued < QUEUE;
    if (room) {
        *(w->last ? &w->last->next : &w->first) = a;
        w->last = a;
        w->queued++;
        pthread_cond_signal(&w->work);
    }
    pthread_mutex_unlock(&w->lock);
    return room;
}

static bool enqueue_ask(struct worker *w, uint64_t ticket, struct mi_span username, struct mi_span password)
{
    uint64_t now = mi_now_ns(&mi_clock_system);
    if (!reachable(w) && now < atomic_load(&w->try_ns))
        return false;
    size_t size = username.len + password.len + 2;
    struct ask *a = calloc(1, sizeof *a + size);
    if (!a)
        return false;
    a->ticket = ticket;
    a->deadline_ns = now + w->options.timeout_ns;
    a->size = size;
    memcpy(a->text, username.data, username.len);
    if (password.len) {
        a->password = a->text + username.len + 1;
        memcpy(a->text + username.len + 1, password.data, password.len);
    }
    if (enqueue(w, a))
        return true;
    free_ask(a);
    return false;
}

static bool check(void *self, uint64_t ticket, struct mi_span username, struct mi_span password)
{
    return enqueue_ask(self, ticket, username, password);
}

static bool rights(void *self, struct mi_span username)
{
    bool plain = is_plain(username) && username.len <= MAX_NAME && mi_utf8_valid(username);
    return !plain || enqueue_ask(self, 0, username, mi_span_of(""));
}

const struct mi_backend_functions mi_pg_worker_functions = {
    .name = "postgresql", .possible = possible, .check = check, .rights = rights, .reachable = reachable};

/* ---- the thread ---- */

/* Waits for the next one; NULL at the end. */
static struct ask *next_ask(struct worker *w)
{
    pthread_mutex_lock(&w->lock);
    while (!w->first && !w->stopping)
        pthread_cond_wait(&w->work, &w->lock);
    struct ask *a = w->stopping ? NULL : w->first;
    if (a) {
        w->first = a->next;
        if (!w->first)
            w->last = NULL;
        w->queued--;
    }
    pthread_mutex_unlock(&w->lock);
    return a;
}

static char *take_connection(struct worker *w, bool *renew)
{
    pthread_mutex_lock(&w->lock);
    char *copy = strdup(w->connection);
    *renew = w->renew;
    w->renew = false;
    pthread_mutex_unlock(&w->lock);
    return copy;
}

static int connect_database(struct worker *w, struct mi_error *err)
{
    bool renew;
    char *connection = take_connection(w, &renew);
    if (!connection)
        return mi_error_set(err, "out of memory");
    int rc = 0;
    if (renew || !mi_pg_connection_open(w->database))
        rc = mi_pg_connect(w->database, connection, w->options.rights != NULL, w->options.timeout_ns, err);
    free_secret(connection);
    return rc;
}

/* What the database says of one user. */
struct found {
    struct mi_pg_user user;
    struct mi_buf lines; /* the rights, where they are wanted */
    size_t skipped;
};

static int look(struct worker *w, const char *username, struct found *f, struct mi_error *err)
{
    uint64_t timeout_ns = w->options.timeout_ns;
    mi_buf_reset(&f->lines);
    f->skipped = 0;
    if (mi_pg_find_user(w->database, username, timeout_ns, &f->user, err) != 0)
        return -1;
    if (!w->options.rights || !f->user.allowed)
        return 0;
    return mi_pg_find_rights(w->database, username, timeout_ns, &f->lines, &f->skipped, err);
}

/* With one more try on a new connection: the one that was there may have been dead for hours. */
static int find(struct worker *w, const char *username, struct found *f, struct mi_error *err)
{
    bool fresh = !mi_pg_connection_open(w->database);
    for (;;) {
        if (connect_database(w, err) != 0)
            return -1;
        if (look(w, username, f, err) == 0)
            return 0;
        if (fresh)
            return -1;
        fresh = true;
    }
}

static void note_failure(struct worker *w, const struct mi_error *err)
{
    uint64_t now = mi_now_ns(&mi_clock_system);
    atomic_store(&w->try_ns, now + w->pause_ms * MI_NS_PER_MS);
    atomic_store(&w->away, true);
    w->pause_ms = w->pause_ms * 2 < LONGEST_PAUSE_MS ? w->pause_ms * 2 : LONGEST_PAUSE_MS;
    mi_log_limited(w->options.log, &w->limit, now, LOG_S * MI_NS_PER_S, MI_LOG_WARNING,
                   "logins: the database cannot be asked: %s", err->text);
}

static void note_success(struct worker *w)
{
    w->pause_ms = SHORTEST_PAUSE_MS;
    if (atomic_exchange(&w->away, false))
        mi_log_line(w->options.log, MI_LOG_NOTICE, "logins: the database answers again");
}

static enum mi_backend_answer judge(struct worker *w, const struct ask *a, const struct mi_pg_user *user)
{
    if (user->found && !mi_bcrypt_usable(user->hash))
        mi_log_limited(
            w->options.log, &w->limit, mi_now_ns(&mi_clock_system), LOG_S * MI_NS_PER_S, MI_LOG_WARNING,
            "logins: mqtt_user holds a password that is no bcrypt hash ($2a$, $2b$ or $2y$, cost at "
            "most %d); it lets nobody in",
            MI_BCRYPT_MAX_COST);
    if (!user->found || !mi_bcrypt_usable(user->hash)) {
        mi_bcrypt_pretend(a->password);
        return MI_BACKEND_NO;
    }
    return mi_bcrypt_verify(a->password, user->hash) && user->allowed ? MI_BACKEND_YES : MI_BACKEND_NO;
}

static void tell_rights(struct worker *w, const struct ask *a, struct found *f)
{
    if (!w->options.rights)
        return;
    if (f->skipped)
        mi_log_limited(
            w->options.log, &w->row_limit, mi_now_ns(&mi_clock_system), LOG_S * MI_NS_PER_S, MI_LOG_WARNING,
            "auth.authorize: mqtt_acl holds rows that give nothing: a topic that is no MQTT filter, or "
            "an access that is not 1, 2 or 3");
    bool whole = mi_buf_add_byte(&f->lines, 0);
    const char *text = whole ? (const char *)f->lines.data : "";
    w->options.rights(w->options.rights_context, mi_span_of(a->text), f->user.allowed ? text : NULL);
}

static enum mi_backend_answer serve(struct worker *w, const struct ask *a)
{
    struct mi_error err = {""};
    struct found f = {0};
    uint64_t now = mi_now_ns(&mi_clock_system);
    if (now >= a->deadline_ns || (atomic_load(&w->away) && now < atomic_load(&w->try_ns)))
        return MI_BACKEND_UNAVAILABLE;
    mi_buf_init(&f.lines, MI_PG_MAX_RIGHTS_BYTES);
    enum mi_backend_answer answer = MI_BACKEND_UNAVAILABLE;
    if (find(w, a->text, &f, &err) != 0) {
        note_failure(w, &err);
    } else {
        note_success(w);
        answer = a->password ? judge(w, a, &f.user) : f.user.allowed ? MI_BACKEND_YES : MI_BACKEND_NO;
        if (answer == MI_BACKEND_YES || !a->password)
            tell_rights(w, a, &f);
    }
    mi_buf_fini(&f.lines);
    explicit_bzero(&f.user, sizeof f.user);
    return answer;
}

static void *run(void *arg)
{
    struct worker *w = arg;
    for (struct ask *a; (a = next_ask(w)) != NULL;) {
        struct mi_backend_reply reply = {.answer = serve(w, a), .owner = ""};
        if (a->password)
            w->options.sink.answer(w->options.sink.context, a->ticket, &reply);
        free_ask(a);
    }
    return NULL;
}
