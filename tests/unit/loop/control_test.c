/* The control socket's manners: who is answered, who is hung up on, what lies in its way. */
#include "loop/control.h"
#include "support/process.h"
#include "support/suite.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char dir[300];
static struct mi_journal *journal;
static struct mi_control *control;

static void wake(void *context)
{
    (void)context;
}

static struct mi_control *make(struct mi_error *err)
{
    const struct mi_control_options options = {
        .directory = dir, .journal = journal, .clock = &mi_clock_system, .wake_bridge = wake};
    return mi_control_new(&options, err);
}

static void start(void)
{
    struct mi_error err = {{0}};
    CU_ASSERT_TRUE_FATAL(mi_temp_dir(dir, 200));
    const struct mi_journal_options options = {
        .directory = dir, .max_size = 1 << 20, .segment_size = 65536, .clock = &mi_clock_system};
    CU_ASSERT_EQUAL_FATAL(mi_journal_open(&options, &journal, NULL, &err), 0);
    control = make(&err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(control);
}

static void stop(void)
{
    mi_control_free(control);
    mi_journal_close(journal);
    control = NULL;
    mi_remove_tree(dir);
}

static const char *path(void)
{
    static char text[400];
    snprintf(text, sizeof text, "%s/" MI_CONTROL_SOCKET, dir);
    return text;
}

static int dial(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(a.sun_path, sizeof a.sun_path, "%.100s", path());
    CU_ASSERT_EQUAL_FATAL(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    CU_ASSERT_EQUAL(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static void work(uint64_t now_ns)
{
    for (int i = 0; i < 10; i++)
        mi_control_step(control, now_ns);
}

/* What has come so far; "" at the end of the connection, "-" when nothing has. */
static const char *heard(int fd)
{
    static char text[500];
    ssize_t n = recv(fd, text, sizeof text - 1, MSG_DONTWAIT);
    text[n > 0 ? n : 0] = '\0';
    return n < 0 ? "-" : text;
}

static bool ready(void)
{
    struct pollfd p = {.fd = mi_control_fd(control), .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

static void an_order_in_pieces_is_answered_once(void)
{
    start();
    CU_ASSERT_FALSE(ready());
    int fd = dial();
    CU_ASSERT_TRUE(ready());
    work(1);
    CU_ASSERT_FALSE(ready());
    say(fd, "drop ");
    CU_ASSERT_TRUE(ready());
    work(1);
    CU_ASSERT_STRING_EQUAL(heard(fd), "-");
    say(fd, "all\n");
    work(1);
    CU_ASSERT_STRING_EQUAL(heard(fd), "ok dropped 0\n");
    CU_ASSERT_STRING_EQUAL(heard(fd), "");
    close(fd);
    CU_ASSERT_FALSE(ready());
    stop();
}

static void nonsense_is_refused(void)
{
    start();
    static const char *const lines[] = {"eat all\n", "\n", "drop\n", "drop 0\n", "requeue 1;\n"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        int fd = dial();
        say(fd, lines[i]);
        work(1);
        CU_ASSERT_EQUAL(strncmp(heard(fd), "error no such order", 19), 0);
        close(fd);
    }
    int fd = dial();
    say(fd, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
    work(1);
    CU_ASSERT_STRING_EQUAL(heard(fd), "error the line is too long\n");
    close(fd);
    stop();
}

static void silent_clients_do_not_keep_others_out(void)
{
    int fd[5];
    start();
    for (int i = 0; i < 4; i++)
        fd[i] = dial();
    work(1);
    fd[4] = dial();
    work(1);
    CU_ASSERT_EQUAL(strncmp(heard(fd[4]), "error busy", 10), 0);
    close(fd[4]);
    uint64_t due = mi_control_step(control, 2);
    CU_ASSERT_EQUAL(due, 1 + 10 * MI_NS_PER_S);
    CU_ASSERT_STRING_EQUAL(heard(fd[0]), "-");
    work(due);
    CU_ASSERT_STRING_EQUAL(heard(fd[0]), "");
    fd[4] = dial();
    say(fd[4], "drop 5\n");
    work(due);
    CU_ASSERT_STRING_EQUAL(heard(fd[4]), "error there is no letter 5\n");
    for (int i = 0; i < 5; i++)
        close(fd[i]);
    stop();
}

static void who_hangs_up_early_does_no_harm(void)
{
    start();
    int fd = dial();
    say(fd, "drop all\n");
    close(fd);
    work(1);
    fd = dial();
    say(fd, "drop all\n");
    work(1);
    CU_ASSERT_STRING_EQUAL(heard(fd), "ok dropped 0\n");
    close(fd);
    stop();
}

static void the_socket_is_the_owners_and_goes_with_us(void)
{
    struct stat st;
    struct mi_error err;
    start();
    CU_ASSERT_EQUAL(stat(path(), &st), 0);
    CU_ASSERT_TRUE(S_ISSOCK(st.st_mode));
    CU_ASSERT_EQUAL(st.st_mode & 0777, 0600);
    struct mi_control *again = make(&err); /* as after kill -9: the old socket still lies there */
    CU_ASSERT_PTR_NOT_NULL(again);
    mi_control_free(again);
    CU_ASSERT_NOT_EQUAL(stat(path(), &st), 0);
    CU_ASSERT_TRUE(mi_write_file(path(), "mine"));
    CU_ASSERT_PTR_NULL(make(&err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "is no socket"));
    CU_ASSERT_EQUAL(stat(path(), &st), 0);
    stop();
}

/* A socket's address has room for 107 bytes only. */
static void a_long_directory_works(void)
{
    struct mi_error err = {{0}};
    char base[300];
    start();
    memcpy(base, dir, sizeof base);
    snprintf(dir + strlen(dir), 100, "/%090d", 0);
    CU_ASSERT_EQUAL(mkdir(dir, 0700), 0);
    struct mi_control *c = make(&err);
    CU_ASSERT_PTR_NOT_NULL(c);
    CU_ASSERT_EQUAL(access(path(), F_OK), 0);
    mi_control_free(c);
    memcpy(dir, base, sizeof base);
    stop();
}

static CU_TestInfo tests[] = {
    {"an order in pieces is answered once", an_order_in_pieces_is_answered_once},
    {"nonsense is refused", nonsense_is_refused},
    {"silent clients do not keep others out", silent_clients_do_not_keep_others_out},
    {"who hangs up early does no harm", who_hangs_up_early_does_no_harm},
    {"the socket is the owner's and goes with us", the_socket_is_the_owners_and_goes_with_us},
    {"a long directory works", a_long_directory_works},
    CU_TEST_INFO_NULL,
};

MI_SUITE_MAIN("control", tests)
