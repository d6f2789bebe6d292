#include "support/broker.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { START_MS = 10000 };

static const char *program(const struct mi_broker *b)
{
    const char *named = b->program && *b->program ? b->program : getenv("MOSQUITTO");
    if (named && *named)
        return named;
    return access("/usr/sbin/mosquitto", X_OK) == 0 ? "/usr/sbin/mosquitto" : "mosquitto";
}

static const char *plugin(void)
{
    const char *named = getenv("MOSQUITTO_IGGY_PLUGIN");
    return named && *named ? named : MI_PLUGIN_FILE;
}

static void path_of(const struct mi_broker *b, const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/%s", b->dir, name);
}

/* Replaces words while copying; out is malloc'd. */
static char *expand(const struct mi_broker *b, const char *text, uint16_t iggy_port)
{
    char *out = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&out, &size);
    if (!f)
        return NULL;
    while (*text) {
        if (strncmp(text, "DIR", 3) == 0) {
            fputs(b->dir, f);
            text += 3;
        } else if (strncmp(text, "IGGY", 4) == 0) {
            fprintf(f, "http://127.0.0.1:%u", iggy_port);
            text += 4;
        } else if (strncmp(text, "STATUS", 6) == 0) {
            fprintf(f, "127.0.0.1:%u", b->status_port);
            text += 6;
        } else if (strncmp(text, "BROKER", 6) == 0) {
            fprintf(f, "127.0.0.1:%u", b->port);
            text += 6;
        } else {
            fputc(*text == '\'' ? '"' : *text, f);
            text++;
        }
    }
    fclose(f);
    return out;
}

static bool write_expanded(const struct mi_broker *b, const char *name, const char *text, uint16_t iggy_port)
{
    char path[300];
    path_of(b, name, path, sizeof path);
    char *expanded = expand(b, text, iggy_port);
    bool ok = expanded && mi_write_file(path, expanded);
    free(expanded);
    return ok;
}

bool mi_broker_prepare(struct mi_broker *b, const char *extra, const char *plugin_lines)
{
    memset(b, 0, sizeof *b);
    if (!mi_temp_dir(b->dir, sizeof b->dir))
        return false;
    b->port = mi_free_port();
    b->status_port = mi_free_port();
    char conf[8192];
    snprintf(conf, sizeof conf,
             "%slistener %u 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\nsys_interval 0\n"
             "max_queued_messages 100000\nlog_dest stderr\nlog_type all\n%splugin %s\n%s",
             geteuid() == 0 ? "user root\n" : "", b->port, extra ? extra : "", plugin(),
             plugin_lines ? plugin_lines : "plugin_opt_config_file DIR/iggy.json\n");
    return write_expanded(b, "mosquitto.conf", conf, 0) && mi_broker_password(b, "iggy");
}

bool mi_broker_config(struct mi_broker *b, const char *json, uint16_t iggy_port)
{
    return write_expanded(b, "iggy.json", json, iggy_port);
}

bool mi_broker_password(struct mi_broker *b, const char *password)
{
    char path[300];
    path_of(b, "iggy.password", path, sizeof path);
    return mi_write_file(path, password) && chmod(path, 0600) == 0;
}

static bool start_process(struct mi_broker *b)
{
    char conf[300], log[300];
    path_of(b, "mosquitto.conf", conf, sizeof conf);
    path_of(b, "broker.log", log, sizeof log);
    char *argv[] = {(char *)program(b), (char *)"-c", conf, NULL};
    return mi_process_start(&b->process, log, argv, NULL);
}

static void show_log(const struct mi_broker *b)
{
    char *log = mi_read_file(b->process.output);
    size_t len = log ? strlen(log) : 0;
    printf("---- %s\n%s----\n", b->process.output, len > 4000 ? log + len - 4000 : log ? log : "");
    free(log);
}

/* The port is open some milliseconds before the broker minds signals: a SIGTERM in between is lost, or kills.
 * What is no MQTT it hangs up on, from its loop. */
static void wait_for_loop(const struct mi_broker *b)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(b->port)};
    struct timeval patience = {START_MS / 1000, 0};
    char byte;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0 && send(fd, "\0", 2, MSG_NOSIGNAL) == 2)
        (void)!recv(fd, &byte, 1, 0);
    close(fd);
}

bool mi_broker_start(struct mi_broker *b)
{
    if (!start_process(b))
        return false;
    for (uint64_t end = mi_monotonic_ms() + START_MS; mi_monotonic_ms() < end;) {
        if (mi_wait_port(b->port, 50)) {
            wait_for_loop(b);
            return true;
        }
        if (!mi_process_alive(&b->process))
            break;
    }
    show_log(b);
    mi_process_kill(&b->process);
    return false;
}

int mi_broker_start_and_exit(struct mi_broker *b)
{
    int status = 0;
    if (!start_process(b))
        return -1;
    if (mi_process_wait(&b->process, START_MS, &status))
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    mi_process_kill(&b->process);
    return -1;
}

bool mi_broker_reload(struct mi_broker *b)
{
    return mi_process_signal(&b->process, SIGHUP);
}

bool mi_broker_stop(struct mi_broker *b, unsigned timeout_ms)
{
    int status = mi_process_stop(&b->process, timeout_ms);
    bool clean = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!clean)
        show_log(b);
    return clean;
}

void mi_broker_kill(struct mi_broker *b)
{
    mi_process_kill(&b->process);
}

void mi_broker_remove(struct mi_broker *b)
{
    if (mi_process_alive(&b->process))
        mi_process_stop(&b->process, 10000);
    if (!getenv("KEEP_TEST_DIRS"))
        mi_remove_tree(b->dir);
}

bool mi_broker_says(const struct mi_broker *b, const char *text, unsigned timeout_ms)
{
    return mi_process_says(&b->process, text, timeout_ms);
}

size_t mi_broker_count(const struct mi_broker *b, const char *text)
{
    size_t count = 0;
    char *log = mi_read_file(b->process.output);
    for (const char *at = log; at && (at = strstr(at, text)) != NULL; at += strlen(text))
        count++;
    free(log);
    return count;
}

const char *mi_broker_version(const struct mi_broker *b)
{
    static char version[32];
    char *log = mi_read_file(b->process.output);
    const char *at = log ? strstr(log, "mosquitto version ") : NULL;
    version[0] = '\0';
    if (at)
        sscanf(at, "mosquitto version %31s", version);
    free(log);
    return version;
}

bool mi_broker_is_2_1(const struct mi_broker *b)
{
    return strncmp(mi_broker_version(b), "2.0.", 4) != 0;
}
