/*
 * api_system: what the server tells about itself.
 */
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "server.h"
#include "topic_options.h"

const char *dev_version(const struct dev_server *server)
{
    static const char *const versions[] = {
        [DEV_0_8] = "0.8.0", [DEV_0_9] = "0.9.0-edge.5", [DEV_0_10] = "0.10.0"};
    return versions[server->store.personality];
}

void dev_ping(struct dev_request *r)
{
    dev_reply_text(r, 200, "pong");
}

void dev_root(struct dev_request *r)
{
    dev_reply_text(r, 200, "Iggy API");
}

void dev_stats(struct dev_request *r)
{
    static const int semvers[] = {[DEV_0_8] = 8000, [DEV_0_9] = 9000, [DEV_0_10] = 10000};
    if (!dev_allowed(r, dev_need_read_servers, NULL, NULL))
        return;
    struct dev_server *server = r->server;
    struct dev_totals totals = dev_store_totals(&server->store);
    struct utsname os;
    struct sysinfo memory;
    struct statvfs disk = {0};
    uname(&os);
    sysinfo(&memory);
    statvfs(server->store.data_dir ? server->store.data_dir : ".", &disk);
    uint64_t start = server->start_time / 1000000 * 1000000; /* whole seconds, as the real one: measured */
    struct mi_buf *out = dev_reply_json(r, 200);
    mi_buf_addf(out,
                "{\"process_id\":%d,\"cpu_usage\":0.0,\"total_cpu_usage\":0.0,\"memory_usage\":\"%llu KiB\",",
                (int)getpid(), (unsigned long long)totals.memory / 1024);
    mi_buf_addf(out,
                "\"total_memory\":\"%llu KiB\",\"available_memory\":\"%llu KiB\",\"run_time\":%llu,"
                "\"start_time\":%llu,\"read_bytes\":\"0 B\",\"written_bytes\":\"0 B\",",
                (unsigned long long)memory.totalram * memory.mem_unit / 1024,
                (unsigned long long)memory.freeram * memory.mem_unit / 1024,
                (unsigned long long)(dev_now_us() - start) / 1000000 * 1000000, (unsigned long long)start);
    dev_append_size(out, "messages_size_bytes", totals.bytes);
    mi_buf_addf(out,
                ",\"streams_count\":%llu,\"topics_count\":%llu,\"partitions_count\":%llu,"
                "\"segments_count\":%llu,\"messages_count\":%llu,\"clients_count\":0,"
                "\"consumer_groups_count\":%llu,",
                (unsigned long long)totals.streams, (unsigned long long)totals.topics,
                (unsigned long long)totals.partitions, (unsigned long long)totals.segments,
                (unsigned long long)totals.messages, (unsigned long long)totals.groups);
    mi_buf_addf(out,
                "\"hostname\":\"%s\",\"os_name\":\"%s\",\"os_version\":\"%s\",\"kernel_version\":\"%s\",",
                os.nodename, os.sysname, os.machine, os.release);
    mi_buf_addf(out,
                "\"iggy_server_version\":\"%s\",\"iggy_server_semver\":%d,\"cache_metrics\":{},"
                "\"threads_count\":1,\"free_disk_space\":\"%llu KiB\",\"total_disk_space\":\"%llu KiB\"}",
                dev_version(server), semvers[server->store.personality],
                (unsigned long long)disk.f_bavail * disk.f_frsize / 1024,
                (unsigned long long)disk.f_blocks * disk.f_frsize / 1024);
}

static void gauge(struct mi_buf *out, const char *name, uint64_t value)
{
    mi_buf_addf(out, "# HELP %s total count of %s.\n# TYPE %s gauge\n%s %llu\n", name, name, name, name,
                (unsigned long long)value);
}

void dev_metrics(struct dev_request *r)
{
    struct dev_totals totals = dev_store_totals(&r->server->store);
    dev_reply_text(r, 200,
                   "# HELP http_requests total count of http_requests.\n# TYPE http_requests counter\n");
    mi_buf_addf(&r->out, "http_requests_total %llu\n", (unsigned long long)r->server->requests);
    gauge(&r->out, "streams", totals.streams);
    gauge(&r->out, "topics", totals.topics);
    gauge(&r->out, "partitions", totals.partitions);
    gauge(&r->out, "segments", totals.segments);
    gauge(&r->out, "messages", totals.messages);
    gauge(&r->out, "users", r->server->users.users.count);
    gauge(&r->out, "clients", 0);
    mi_buf_add_text(&r->out, "# EOF\n");
}

void dev_clients(struct dev_request *r)
{
    if (dev_allowed(r, dev_need_read_servers, NULL, NULL))
        mi_buf_add_text(dev_reply_json(r, 200), "[]");
}

void dev_client(struct dev_request *r)
{
    if (dev_allowed(r, dev_need_read_servers, NULL, NULL))
        dev_reply_error(r, DEV_NOT_FOUND);
}

void dev_cluster(struct dev_request *r)
{
    mi_buf_addf(
        dev_reply_json(r, 200),
        "{\"name\":\"single-node\",\"nodes\":[{\"name\":\"iggy-node\",\"ip\":\"127.0.0.1\",\"endpoints\":"
        "{\"tcp\":0,\"quic\":0,\"http\":%u,\"websocket\":0},\"role\":\"leader\",\"status\":\"healthy\"}]}",
        r->server->http_port);
}

void dev_options(struct dev_request *r)
{
    const char *scope = r->args[0];
    if (strcmp(scope, "topic") == 0)
        dev_options_describe(dev_reply_json(r, 200), r->server->store.personality);
    else if (strcmp(scope, "stream") == 0 || strcmp(scope, "user") == 0)
        mi_buf_add_text(dev_reply_json(r, 200), "[]");
    else
        dev_reply_error(r, DEV_INVALID_COMMAND);
}

void dev_snapshot(struct dev_request *r)
{
    static const uint8_t empty_zip[22] = {'P', 'K', 5, 6};
    cJSON *body = dev_body(r);
    bool open = r->server->store.personality == DEV_0_8; /* it asks for no right: measured */
    if (body && (open || dev_allowed(r, dev_need_read_servers, NULL, NULL))) {
        mi_buf_add(dev_reply_json(r, 200), empty_zip, sizeof empty_zip);
        r->out_type = "application/zip";
    }
    cJSON_Delete(body);
}
