#include "support/process.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void run_child(const char *output, char *const argv[], char *const env[])
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int fd = open(output, O_WRONLY | O_CREAT | O_APPEND, 0644);
    int null = open("/dev/null", O_RDONLY);
    if (fd < 0 || null < 0)
        _exit(126);
    dup2(null, 0);
    dup2(fd, 1);
    dup2(fd, 2);
    for (char *const *e = env; e && *e; e++)
        putenv(*e);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(argv[0], argv);
    fprintf(stderr, "cannot start %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

bool mi_process_start(struct mi_process *p, const char *output, char *const argv[], char *const env[])
{
    snprintf(p->output, sizeof p->output, "%s", output);
    fflush(NULL);
    p->pid = fork();
    if (p->pid == 0)
        run_child(output, argv, env);
    if (p->pid < 0) {
        p->pid = 0;
        perror("fork");
        return false;
    }
    return true;
}

bool mi_process_signal(struct mi_process *p, int signal)
{
    return p->pid > 0 && kill(p->pid, signal) == 0;
}

bool mi_process_wait(struct mi_process *p, unsigned timeout_ms, int *status)
{
    int ignored;
    if (!status)
        status = &ignored;
    if (p->pid <= 0)
        return true;
    for (uint64_t end = mi_monotonic_ms() + timeout_ms;; mi_sleep_ms(2)) {
        if (waitpid(p->pid, status, WNOHANG) == p->pid) {
            p->pid = 0;
            return true;
        }
        if (mi_monotonic_ms() >= end)
            return false;
    }
}

int mi_process_stop(struct mi_process *p, unsigned timeout_ms)
{
    int status = 0;
    mi_process_signal(p, SIGTERM);
    if (!mi_process_wait(p, timeout_ms, &status)) {
        mi_process_signal(p, SIGKILL);
        mi_process_wait(p, 10000, &status);
    }
    return status;
}

void mi_process_kill(struct mi_process *p)
{
    mi_process_signal(p, SIGKILL);
    mi_process_wait(p, 10000, NULL);
}

bool mi_process_alive(struct mi_process *p)
{
    return !mi_process_wait(p, 0, NULL) && p->pid > 0;
}

bool mi_process_says(const struct mi_process *p, const char *text, unsigned timeout_ms)
{
    for (uint64_t end = mi_monotonic_ms() + timeout_ms;; mi_sleep_ms(5)) {
        char *content = mi_read_file(p->output);
        bool found = content && strstr(content, text);
        free(content);
        if (found)
            return true;
        if (mi_monotonic_ms() >= end)
            return false;
    }
}

static struct sockaddr_in loopback(uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

static bool can_bind(uint16_t port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in a = loopback(port);
    bool free_now = fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0;
    if (fd >= 0)
        close(fd);
    return free_now;
}

uint16_t mi_free_port(void)
{
    /* Below the range that the kernel gives to outgoing connections: a server that is killed and started
     * again on its port must not find it taken by one of those. */
    enum { FIRST = 10240, COUNT = 22000 };
    for (int tries = 0; tries < 1000; tries++) {
        uint16_t port = (uint16_t)(FIRST + mi_random(&mi_clock_system) % COUNT);
        if (can_bind(port))
            return port;
    }
    return 0;
}

bool mi_wait_port(uint16_t port, unsigned timeout_ms)
{
    for (uint64_t end = mi_monotonic_ms() + timeout_ms;; mi_sleep_ms(5)) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        struct sockaddr_in a = loopback(port);
        bool open = fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0;
        if (fd >= 0)
            close(fd);
        if (open)
            return true;
        if (mi_monotonic_ms() >= end)
            return false;
    }
}

bool mi_temp_dir(char *dir, size_t size)
{
    const char *base = getenv("TMPDIR");
    snprintf(dir, size, "%s/mosquitto-iggy-test-XXXXXX", base && *base ? base : "/tmp");
    return mkdtemp(dir) != NULL;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

void mi_remove_tree(const char *dir)
{
    if (dir && strstr(dir, "mosquitto-iggy-test-"))
        nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

char *mi_read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    char *text = NULL;
    size_t len = 0, got;
    char chunk[8192];
    do {
        got = fread(chunk, 1, sizeof chunk, f);
        char *more = realloc(text, len + got + 1);
        if (!more)
            break;
        text = more;
        memcpy(text + len, chunk, got);
        len += got;
        text[len] = '\0';
    } while (got == sizeof chunk);
    fclose(f);
    return text;
}

bool mi_write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "wb");
    if (!f)
        return false;
    bool ok = fputs(text, f) >= 0;
    return fclose(f) == 0 && ok;
}

void mi_sleep_ms(unsigned ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    while (nanosleep(&t, &t) != 0 && errno == EINTR)
        continue;
}

uint64_t mi_monotonic_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}
