/*
 * iggy-devserver: an HTTP server that speaks Iggy, for tests and demos. README.md has the options.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "admin.h"
#include "http.h"
#include "server.h"
#include "state.h"

struct options {
    uint16_t port, admin_port;
    const char *root; /* user:password */
};

static bool read_options(int argc, char **argv, struct dev_server *server, struct options *options);
static bool prepare(struct dev_server *server, const struct options *options);
static bool create_root(struct dev_server *server, const char *root);
static void loop(struct dev_server *server, struct dev_admin *admin, int signals);
static int block_signals(void);

int main(int argc, char **argv)
{
    static struct dev_server server;
    struct options options = {.port = 3000, .root = "iggy:iggy"};
    int signals = block_signals();
    if (!read_options(argc, argv, &server, &options))
        return 2;
    if (signals < 0 || !prepare(&server, &options))
        return 1;
    struct dev_admin *admin = dev_admin_new(&server, options.admin_port);
    server.http = admin ? dev_http_new(&server, options.port) : NULL;
    bool listening = server.http != NULL, saved = true;
    if (listening) {
        printf("listening http 127.0.0.1:%u admin 127.0.0.1:%u\n", server.http_port, server.admin_port);
        fflush(stdout);
        loop(&server, admin, signals);
        dev_http_free(server.http);
        saved = dev_store_save(&server.store) && dev_state_save(&server);
    }
    if (admin)
        dev_admin_free(admin);
    dev_store_free(&server.store);
    dev_users_free(&server.users);
    return listening && saved ? 0 : 1;
}

static int usage(void)
{
    fprintf(stderr,
            "usage: iggy-devserver [--port N] [--admin-port N] [--personality 0.8|0.9|0.10] [--data DIR]\n"
            "                      [--memory-limit BYTES] [--root USER:PASSWORD]\n");
    return 0;
}

static bool read_port(const char *text, uint16_t *port)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    *port = (uint16_t)value;
    return *text && !*end && value <= 65535;
}

static bool read_personality(const char *text, enum dev_personality *personality)
{
    static const char *const words[] = {[DEV_0_8] = "0.8", [DEV_0_9] = "0.9", [DEV_0_10] = "0.10"};
    for (int i = DEV_0_8; i <= DEV_0_10; i++)
        if (strcmp(text, words[i]) == 0) {
            *personality = (enum dev_personality)i;
            return true;
        }
    return false;
}

static bool read_options(int argc, char **argv, struct dev_server *server, struct options *options)
{
    static const struct option longs[] = {{"port", required_argument, NULL, 'p'},
                                          {"admin-port", required_argument, NULL, 'a'},
                                          {"personality", required_argument, NULL, 'v'},
                                          {"data", required_argument, NULL, 'd'},
                                          {"memory-limit", required_argument, NULL, 'm'},
                                          {"root", required_argument, NULL, 'r'},
                                          {NULL, 0, NULL, 0}};
    bool good = true;
    char *end;
    server->store.personality = DEV_0_9;
    for (int c; (c = getopt_long(argc, argv, "", longs, NULL)) != -1 && good;) {
        if (c == 'p') {
            good = read_port(optarg, &options->port);
        } else if (c == 'a') {
            good = read_port(optarg, &options->admin_port);
        } else if (c == 'v') {
            good = read_personality(optarg, &server->store.personality);
        } else if (c == 'd') {
            server->store.data_dir = optarg;
        } else if (c == 'm') {
            server->store.memory_limit = strtoull(optarg, &end, 10);
            good = *optarg && !*end;
        } else if (c == 'r') {
            options->root = optarg;
            good = strchr(optarg, ':') != NULL;
        } else {
            good = false;
        }
    }
    return (good && optind == argc) || usage();
}

static bool prepare(struct dev_server *server, const struct options *options)
{
    bool found = false;
    server->users.dirty = &server->store.dirty;
    server->users.token_lifetime_s = 3600;
    server->start_time = dev_now_us();
    const char *dir = server->store.data_dir;
    if (dir && mkdir(dir, 0700) < 0 && errno != EEXIST) {
        fprintf(stderr, "iggy-devserver: cannot make %s: %s\n", dir, strerror(errno));
        return false;
    }
    if (dir && !dev_state_load(server, &found))
        return false;
    return found || create_root(server, options->root);
}

static bool create_root(struct dev_server *server, const char *root)
{
    char name[64];
    const char *colon = strchr(root, ':');
    snprintf(name, sizeof name, "%.*s", (int)(colon - root), root);
    struct dev_user *user = dev_user_create(&server->users, name, colon + 1, true);
    if (!user)
        return false;
    user->permissions.present = true;
    user->permissions.global = DEV_ALL_RIGHTS;
    return dev_state_save(server);
}

static int block_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

static void loop(struct dev_server *server, struct dev_admin *admin, int signals)
{
    enum { EXPIRY_MS = 1000 };
    uint64_t next_expiry = dev_now_ms() + EXPIRY_MS;
    for (;;) {
        struct pollfd fds[DEV_ADMIN_CLIENTS + 3];
        size_t count = dev_admin_poll(admin, fds);
        size_t admin_count = count;
        bool paused = dev_admin_paused_ms(admin) > 0;
        fds[count++] = (struct pollfd){.fd = signals, .events = POLLIN};
        if (!paused && dev_http_fd(server->http) >= 0)
            fds[count++] = (struct pollfd){.fd = dev_http_fd(server->http), .events = POLLIN};
        int timeout = dev_admin_timeout(admin, EXPIRY_MS);
        if (!paused)
            timeout = dev_http_timeout(server->http, timeout);
        if (poll(fds, count, timeout) < 0 && errno != EINTR)
            return;
        if (fds[admin_count].revents)
            return;
        dev_admin_handle(admin, fds, admin_count);
        dev_admin_tick(admin);
        if (!dev_admin_paused_ms(admin))
            dev_http_run(server->http);
        if (dev_now_ms() >= next_expiry) {
            dev_store_expire(&server->store);
            next_expiry = dev_now_ms() + EXPIRY_MS;
        }
        dev_state_save(server);
    }
}
