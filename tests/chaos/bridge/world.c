#include "world.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "iggy_client.h"
#include "support/iggy_admin.h"

#define USER "bridge" /* in the world with a forbidden stream */

static bool write_config(struct mi_world *w)
{
    char json[4096];
    snprintf(json, sizeof json,
             "{'name':'chaos','iggy':{'url':'IGGY',%s},"
             "'journal':{'directory':'DIR/journal','max_size':'2GB','keep':'512MB','sync':'%s'},"
             "'limits':{'park_after':'%s'},"
             "'routes':[{'name':'chaos','filter':'chaos/{topic_number}','direction':'out','stream':'chaos',"
             "'topic':'messages','create':{'partitions':4,'durable':%s},'when_journal_full':'disconnect'},"
             "{'name':'held','filter':'held/{topic_number}','direction':'out','stream':'held',"
             "'topic':'messages','create':false,'when_journal_full':'disconnect'}],"
             "'status':{'listen':'STATUS'}}",
             w->token       ? "'token_file':'DIR/token'"
             : w->forbidden ? "'username':'" USER "','password_file':'DIR/iggy.password'"
                            : "'username':'iggy','password_file':'DIR/iggy.password'",
             w->sync, w->forbidden ? "1s" : "30s", w->durable ? "true" : "false");
    return mi_broker_config(&w->broker, json, w->iggy.port) &&
           mi_broker_password(&w->broker, w->forbidden ? "secret" : "iggy");
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
    snprintf(url, sizeof url, "http://127.0.0.1:%u", w->iggy.port);
    snprintf(path, sizeof path, "%s/token", w->broker.dir);
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

/* Both streams with their topics, and a user that may do everything with the first and nothing with the
 * second. */
static bool make_user(struct mi_world *w)
{
    uint16_t port = w->iggy.port;
    long chaos = mi_iggy_admin_stream(port, "chaos");
    return chaos >= 0 && mi_iggy_admin_topic(port, "chaos", "messages") >= 0 &&
           mi_iggy_admin_stream(port, "held") >= 0 && mi_iggy_admin_topic(port, "held", "messages") >= 0 &&
           mi_iggy_admin_user(port, USER, "null") && mi_world_permit(w, false);
}

bool mi_world_start(struct mi_world *w)
{
    static const char quiet[] = "plugin_opt_config_file DIR/iggy.json\n"
                                "log_type none\nlog_type error\nlog_type warning\nlog_type notice\n";
    return mi_broker_prepare(&w->broker, NULL, quiet) && mi_iggy_server_prepare(&w->iggy) &&
           mi_iggy_server_start(&w->iggy) && write_config(w) && (!w->token || make_token(w)) &&
           (!w->forbidden || make_user(w)) && mi_broker_start(&w->broker);
}

void mi_world_stop(struct mi_world *w)
{
    mi_process_signal(&w->broker.process, SIGCONT);
    mi_process_signal(&w->iggy.process, SIGCONT);
    mi_process_stop(&w->broker.process, 20000);
    mi_iggy_server_stop(&w->iggy);
}

void mi_world_remove(struct mi_world *w)
{
    mi_broker_remove(&w->broker);
    mi_iggy_server_remove(&w->iggy);
}

/* Reading back is allowed everywhere: what may not be read back is sent again after an uncertain answer. */
bool mi_world_permit(struct mi_world *w, bool permitted)
{
    char rights[1000];
    long chaos = mi_iggy_admin_id(w->iggy.port, "/streams/chaos");
    snprintf(rights, sizeof rights,
             "{'global':{'manage_servers':false,'read_servers':true,'manage_users':false,'read_users':false,"
             "'manage_streams':false,'read_streams':true,'manage_topics':false,'read_topics':true,"
             "'poll_messages':true,'send_messages':%s},"
             "'streams':{'%ld':{'manage_stream':false,'read_stream':true,'manage_topics':false,"
             "'read_topics':true,'poll_messages':true,'send_messages':true,'topics':null}}}",
             permitted ? "true" : "false", chaos);
    return chaos >= 0 && mi_iggy_admin_permit(w->iggy.port, USER, rights);
}

char *mi_world_status(struct mi_world *w, const char *path)
{
    return mi_http_get(w->broker.status_port, path, NULL);
}
