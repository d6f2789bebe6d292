#include "world.h"

#include "support/iggy_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "iggy_client.h"

static bool write_config(const struct mi_world *w)
{
    char path[512], text[4096], login[512];
    snprintf(path, sizeof path, "%s/iggy.json", w->dir);
    snprintf(login, sizeof login,
             w->token ? "\"token_file\": \"%s/token\""
                      : "\"username\": \"iggy\", \"password_file\": \"%s/password\"",
             w->dir);
    snprintf(text, sizeof text,
             "{ \"name\": \"chaos\",\n"
             "  \"iggy\": { \"url\": \"http://127.0.0.1:%u\", %s },\n"
             "  \"journal\": { \"directory\": \"%s/journal\", \"max_size\": \"2GB\", \"keep\": \"512MB\", "
             "\"sync\": \"%s\" },\n"
             "  \"routes\": [ { \"name\": \"chaos\", \"filter\": \"chaos/{topic_number}\", \"direction\": "
             "\"out\",\n"
             "    \"stream\": \"chaos\", \"topic\": \"messages\", \"create\": { \"partitions\": 4, "
             "\"durable\": %s },\n"
             "    \"when_journal_full\": \"disconnect\" } ],\n"
             "  \"status\": { \"listen\": \"127.0.0.1:%u\" } }\n",
             w->iggy_port, login, w->dir, w->sync, w->durable ? "true" : "false", w->status_port);
    if (!mi_write_file(path, text))
        return false;
    snprintf(path, sizeof path, "%s/mosquitto.conf", w->dir);
    snprintf(
        text, sizeof text,
        "listener %u 127.0.0.1\nallow_anonymous true\n%splugin %s\nplugin_opt_config_file %s/iggy.json\n",
        w->mqtt_port, geteuid() == 0 ? "user root\n" : "", w->plugin, w->dir);
    if (!mi_write_file(path, text))
        return false;
    snprintf(path, sizeof path, "%s/password", w->dir);
    return mi_write_file(path, "iggy\n") && chmod(path, 0600) == 0;
}

struct token_call {
    const char *path;
    bool done, ok;
};

static void take_token(void *arg, const struct iggy_result *result, const char *token)
{
    struct token_call *call = arg;
    call->done = true;
    call->ok = result->kind == IGGY_OK && mi_write_file(call->path, token) && chmod(call->path, 0600) == 0;
    if (!call->ok)
        printf("access token: %s\n", result->text);
}

static bool make_token(struct mi_world *w)
{
    char url[64], path[512];
    snprintf(url, sizeof url, "http://127.0.0.1:%u", w->iggy_port);
    snprintf(path, sizeof path, "%s/token", w->dir);
    const char *urls[] = {url};
    struct iggy_options options = {.urls = urls, .url_count = 1, .username = "iggy", .password = "iggy"};
    struct iggy_client *client = iggy_client_new(&options, NULL, 0);
    struct token_call call = {.path = path};
    if (!client)
        return false;
    iggy_create_token(client, "chaos", 0, take_token, &call);
    for (uint64_t end = mi_monotonic_ms() + 10000; !call.done && mi_monotonic_ms() < end;)
        iggy_client_drive(client, 50, NULL, 0);
    iggy_client_free(client);
    return call.ok;
}

bool mi_world_start(struct mi_world *w)
{
    if (!mi_temp_dir(w->dir, sizeof w->dir))
        return false;
    w->mqtt_port = mi_free_port();
    w->iggy_port = mi_free_port();
    w->admin_port = mi_free_port();
    w->status_port = mi_free_port();
    return write_config(w) && mi_world_start_iggy(w) && (!w->token || make_token(w)) &&
           mi_world_start_broker(w);
}

void mi_world_stop(struct mi_world *w)
{
    mi_process_signal(&w->broker, SIGCONT);
    mi_process_signal(&w->iggy, SIGCONT);
    mi_process_stop(&w->broker, 20000);
    mi_process_stop(&w->iggy, 20000);
}

bool mi_world_start_broker(struct mi_world *w)
{
    char output[512], config[512];
    snprintf(output, sizeof output, "%s/mosquitto.log", w->dir);
    snprintf(config, sizeof config, "%s/mosquitto.conf", w->dir);
    const char *argv[] = {w->mosquitto, "-c", config, NULL};
    w->broker_starts++;
    return mi_process_start(&w->broker, output, (char *const *)argv, NULL) &&
           mi_wait_port(w->mqtt_port, 20000);
}

static bool start_real(struct mi_world *w, const char *output)
{
    char http[64], tcp[64], path[512], path_8[512];
    snprintf(http, sizeof http, "IGGY_HTTP_ADDRESS=127.0.0.1:%u", w->iggy_port);
    snprintf(tcp, sizeof tcp, "IGGY_TCP_ADDRESS=127.0.0.1:%u", w->admin_port);
    snprintf(path, sizeof path, "IGGY_PATH=%s/iggy", w->dir);
    snprintf(path_8, sizeof path_8, "IGGY_SYSTEM_PATH=%s/iggy", w->dir);
    const char *env[] = {"IGGY_ROOT_USERNAME=iggy",
                         "IGGY_ROOT_PASSWORD=iggy",
                         http,
                         tcp,
                         path,
                         path_8,
                         "IGGY_QUIC_ENABLED=false",
                         "IGGY_WEBSOCKET_ENABLED=false",
                         "IGGY_SHARDING_CPU_ALLOCATION=1",
                         "IGGY_SYSTEM_SHARDING_CPU_ALLOCATION=1",
                         NULL};
    const char *argv[] = {w->iggy_binary, NULL};
    return mi_process_start(&w->iggy, output, (char *const *)argv, (char *const *)env);
}

static bool start_devserver(struct mi_world *w, const char *output)
{
    char port[16], admin[16], data[512];
    snprintf(port, sizeof port, "%u", w->iggy_port);
    snprintf(admin, sizeof admin, "%u", w->admin_port);
    snprintf(data, sizeof data, "%s/iggy", w->dir);
    const char *argv[] = {w->iggy_binary, "--port", port, "--admin-port", admin, "--data", data, NULL};
    return mi_process_start(&w->iggy, output, (char *const *)argv, NULL);
}

bool mi_world_start_iggy(struct mi_world *w)
{
    char output[512];
    snprintf(output, sizeof output, "%s/iggy.log", w->dir);
    w->iggy_starts++;
    if (!(w->real ? start_real(w, output) : start_devserver(w, output)))
        return false;
    return mi_wait_port(w->iggy_port, 60000);
}

static int connect_to(uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct timeval patience = {5, 0};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0) {
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

bool mi_world_admin(struct mi_world *w, const char *command)
{
    char line[256], answer[256] = "";
    int fd = w->real ? -1 : connect_to(w->admin_port);
    if (fd < 0)
        return false;
    int n = snprintf(line, sizeof line, "%s\n", command);
    bool ok = send(fd, line, (size_t)n, MSG_NOSIGNAL) == n && recv(fd, answer, sizeof answer - 1, 0) > 0 &&
              strncmp(answer, "ok", 2) == 0;
    close(fd);
    return ok;
}

char *mi_world_status(struct mi_world *w, const char *path)
{
    return mi_http_get(w->status_port, path, NULL);
}
