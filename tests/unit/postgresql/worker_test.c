/* worker: what is asked and answered while no database is there, and an end that waits for nothing (TSan
 * build). With a real one: tests/integration/database_test.c. */
#include "postgresql/worker.h"
#include "support/process.h"
#include "support/suite.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

struct fixture {
    void *worker;
    pthread_mutex_t lock;
    unsigned answers, told;
    enum mi_backend_answer last;
    uint64_t ticket;
};

static void on_answer(void *context, uint64_t ticket, const struct mi_backend_reply *reply)
{
    struct fixture *f = context;
    pthread_mutex_lock(&f->lock);
    f->answers++;
    f->last = reply->answer;
    f->ticket = ticket;
    pthread_mutex_unlock(&f->lock);
}

static void on_rights(void *context, struct mi_span username, const char *text)
{
    struct fixture *f = context;
    (void)username;
    (void)text;
    pthread_mutex_lock(&f->lock);
    f->told++;
    pthread_mutex_unlock(&f->lock);
}

static void set_up(struct fixture *f, const char *connection, uint64_t timeout_ns)
{
    struct mi_error err;
    memset(f, 0, sizeof *f);
    pthread_mutex_init(&f->lock, NULL);
    struct mi_backend_module_options o = {.connection = connection,
                                          .timeout_ns = timeout_ns,
                                          .sink = {on_answer, f},
                                          .rights = on_rights,
                                          .rights_context = f};
    f->worker = mi_pg_worker_open(&o, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->worker);
}

static void tear_down(struct fixture *f)
{
    mi_pg_worker_close(f->worker);
    pthread_mutex_destroy(&f->lock);
}

static unsigned answers(struct fixture *f, unsigned at_least)
{
    unsigned n = 0;
    for (uint64_t end = mi_monotonic_ms() + 20000; mi_monotonic_ms() < end; mi_sleep_ms(2)) {
        pthread_mutex_lock(&f->lock);
        n = f->answers;
        pthread_mutex_unlock(&f->lock);
        if (n >= at_least)
            break;
    }
    return n;
}

static bool check(struct fixture *f, uint64_t ticket)
{
    return mi_pg_worker_functions.check(f->worker, ticket, mi_span_of("anna"), mi_span_of("secret"));
}

static void without_a_database_nobody_is_refused(void)
{
    struct fixture f;
    set_up(&f, "host=/nowhere/at/all dbname=x", 2 * MI_NS_PER_S);
    CU_ASSERT_TRUE(mi_pg_worker_functions.reachable(f.worker));
    CU_ASSERT_TRUE(check(&f, 7));
    CU_ASSERT_EQUAL(answers(&f, 1), 1);
    CU_ASSERT_EQUAL(f.last, MI_BACKEND_UNAVAILABLE);
    CU_ASSERT_EQUAL(f.ticket, 7);
    CU_ASSERT_FALSE(mi_pg_worker_functions.reachable(f.worker));
    CU_ASSERT_TRUE(mi_pg_worker_functions.rights(f.worker, mi_span_of("a\xff"))); /* nobody is called that */
    uint64_t start = mi_monotonic_ms();
    while (!check(&f, 8) && mi_monotonic_ms() - start < 20000)
        mi_sleep_ms(5); /* until the pause is over */
    CU_ASSERT_EQUAL(answers(&f, 2), 2);
    CU_ASSERT_EQUAL(f.last, MI_BACKEND_UNAVAILABLE);
    CU_ASSERT_EQUAL(f.told, 0);
    tear_down(&f);
}

/* Something listens there, and says nothing. */
static int silent_listener(char *connection, size_t size)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t len = sizeof a;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CU_ASSERT_TRUE_FATAL(fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0 && listen(fd, 16) == 0 &&
                         getsockname(fd, (struct sockaddr *)&a, &len) == 0);
    snprintf(connection, size, "host=127.0.0.1 port=%u user=x dbname=x sslmode=disable", ntohs(a.sin_port));
    return fd;
}

static void the_end_waits_for_nobody(void)
{
    struct fixture f;
    char connection[100];
    int fd = silent_listener(connection, sizeof connection);
    set_up(&f, connection, 3600 * MI_NS_PER_S);
    for (uint64_t i = 1; i <= 256; i++)
        CU_ASSERT_TRUE(check(&f, i));
    mi_sleep_ms(50);
    bool more = check(&f, 257); /* one is under way, so that one more fits */
    CU_ASSERT_FALSE(more && check(&f, 258));
    uint64_t start = mi_monotonic_ms();
    tear_down(&f);
    CU_ASSERT_TRUE(mi_monotonic_ms() - start < 10000);
    CU_ASSERT_TRUE(f.answers <= 1);
    close(fd);
}

static void a_connection_that_hangs_is_given_up(void)
{
    struct fixture f;
    char connection[100];
    int fd = silent_listener(connection, sizeof connection);
    set_up(&f, connection, 200 * MI_NS_PER_MS);
    CU_ASSERT_TRUE(check(&f, 1));
    CU_ASSERT_EQUAL(answers(&f, 1), 1);
    CU_ASSERT_EQUAL(f.last, MI_BACKEND_UNAVAILABLE);
    mi_pg_worker_set_connection(f.worker, "host=/nowhere/at/all dbname=x");
    CU_ASSERT_TRUE(check(&f, 2)); /* another connection is tried at once */
    CU_ASSERT_EQUAL(answers(&f, 2), 2);
    tear_down(&f);
    close(fd);
}

static void what_nobody_can_have(void)
{
    char long_name[300], long_password[100];
    memset(long_name, 'n', sizeof long_name);
    memset(long_password, 'p', sizeof long_password);
    long_name[256] = long_password[73] = 0;
    const struct {
        const char *name, *password;
        bool possible;
    } rows[] = {{"anna", "secret", true},          {"", "secret", false},      {"anna", "", false},
                {long_name, "secret", false},      {long_name + 1, "x", true}, {"anna", long_password, false},
                {"anna", long_password + 1, true}, {"a\xff", "secret", false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        CU_ASSERT_EQUAL(
            mi_pg_worker_functions.possible(mi_span_of(rows[i].name), mi_span_of(rows[i].password)),
            rows[i].possible);
}

static CU_TestInfo tests[] = {{"without a database nobody is refused", without_a_database_nobody_is_refused},
                              {"the end waits for nobody", the_end_waits_for_nobody},
                              {"a connection that hangs is given up", a_connection_that_hangs_is_given_up},
                              {"what nobody can have", what_nobody_can_have},
                              CU_TEST_INFO_NULL};

MI_SUITE_MAIN("worker of the database", tests)
