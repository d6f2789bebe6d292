/*
 * target: one server process at a time.
 */
#include "target.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "support/process.h"

enum { START_MS = 20000 };

static struct {
    bool is_08, real;
    const char *binary;
    char dir[256], output[300], data[300];
    uint16_t port, other_port;
    struct mi_process process;
    char token[2048];
} target;

static bool launch(bool fresh);
static bool wait_for_login(void);

static const char *find_on_path(const char *name)
{
    static char found[4096];
    const char *path = getenv("PATH");
    for (const char *at = path; at && *at;) {
        size_t len = strcspn(at, ":");
        snprintf(found, sizeof found, "%.*s/%s", (int)len, at, name);
        if (len && access(found, X_OK) == 0)
            return found;
        at += len + (at[len] == ':');
    }
    return NULL;
}

bool target_choose(const char *kind, const char *version, const char *devserver)
{
    target.is_08 = strcmp(version, "0.8") == 0;
    target.real = strcmp(kind, "real") == 0;
    if (!target.real)
        target.binary = devserver;
    else if (target.is_08)
        target.binary = getenv("IGGY_SERVER_08");
    else
        target.binary = getenv("IGGY_SERVER") ? getenv("IGGY_SERVER") : find_on_path("iggy-server");
    return target.binary && *target.binary;
}

bool target_start(void)
{
    if (!mi_temp_dir(target.dir, sizeof target.dir))
        return false;
    snprintf(target.output, sizeof target.output, "%s/output", target.dir);
    snprintf(target.data, sizeof target.data, "%s/data", target.dir);
    target.port = mi_free_port();
    target.other_port = mi_free_port();
    return launch(true);
}

static bool launch(bool fresh)
{
    char port[16], other[16], data[400], data_new[400], http[64], tcp[64];
    snprintf(port, sizeof port, "%u", target.port);
    snprintf(other, sizeof other, "%u", target.other_port);
    const char *dev_argv[] = {target.binary,
                              "--port",
                              port,
                              "--admin-port",
                              other,
                              "--data",
                              target.data,
                              "--personality",
                              target.is_08 ? "0.8" : "0.9",
                              NULL};
    const char *real_argv[] = {target.binary, fresh ? "--fresh" : NULL, NULL};
    snprintf(data, sizeof data, "IGGY_SYSTEM_PATH=%s", target.data);
    snprintf(data_new, sizeof data_new, "IGGY_PATH=%s", target.data);
    snprintf(http, sizeof http, "IGGY_HTTP_ADDRESS=127.0.0.1:%u", target.port);
    snprintf(tcp, sizeof tcp, "IGGY_TCP_ADDRESS=127.0.0.1:%u", target.other_port);
    const char *env[] = {"IGGY_ROOT_USERNAME=iggy",
                         "IGGY_ROOT_PASSWORD=iggy",
                         data,
                         data_new, /* its name since 0.9.0 */
                         http,
                         tcp,
                         "IGGY_QUIC_ENABLED=false",
                         "IGGY_WEBSOCKET_ENABLED=false",
                         "IGGY_SYSTEM_SHARDING_CPU_ALLOCATION=1",
                         "IGGY_SHARDING_CPU_ALLOCATION=1",
                         NULL};
    if (!mi_process_start(&target.process, target.output, (char *const *)(target.real ? real_argv : dev_argv),
                          (char *const *)env))
        return false;
    if (wait_for_login())
        return true;
    char *said = mi_read_file(target.output);
    fprintf(stderr, "the server does not come up; it says:\n%s\n", said ? said : "nothing");
    free(said);
    return false;
}

/* A restarted server refuses logins for a while: it is still reading its log. */
static bool wait_for_login(void)
{
    uint64_t end = mi_monotonic_ms() + START_MS;
    while (mi_monotonic_ms() < end && mi_process_alive(&target.process)) {
        if (target_login())
            return true;
        mi_sleep_ms(20);
    }
    return false;
}

bool target_login(void)
{
    struct reply *r = call_as(NULL, "POST", "/users/login", "{\"username\":\"iggy\",\"password\":\"iggy\"}");
    const char *token = text_of(cJSON_GetObjectItem(r->json, "access_token"), "token");
    snprintf(target.token, sizeof target.token, "%s", token);
    return r->status == 200 && token[0];
}

bool target_restart(bool graceful)
{
    if (graceful && mi_process_stop(&target.process, START_MS) != 0)
        return false;
    if (!graceful)
        mi_process_kill(&target.process);
    call_forget_connections();
    return launch(false);
}

bool target_end(void)
{
    bool clean = mi_process_stop(&target.process, START_MS) == 0;
    char *said = clean ? NULL : mi_read_file(target.output);
    if (said)
        fprintf(stderr, "the server did not end cleanly; it says:\n%s\n", said);
    free(said);
    mi_remove_tree(target.dir);
    return clean;
}

bool target_is_08(void)
{
    return target.is_08;
}

bool target_is_real(void)
{
    return target.real;
}

uint16_t target_port(void)
{
    return target.port;
}

uint16_t target_admin_port(void)
{
    return target.other_port;
}

const char *target_token(void)
{
    return target.token;
}
