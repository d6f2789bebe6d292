/* real_server: the client against real Iggy servers, 0.9 (IGGY_SERVER names the program) and 0.8
 * (IGGY_SERVER_08). Each is started on loopback with a directory of its own; without the variable its tests
 * are skipped. */
#include "calls.h"

#include "support/process.h"
#include "support/suite.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct server {
    const char *variable;
    enum iggy_server version;
    struct mi_process process;
    uint16_t port, tcp_port;
    char directory[256];
    char url[64];
    bool running;
};

static struct server server_09 = {.variable = "IGGY_SERVER", .version = IGGY_SERVER_0_9};
static struct server server_08 = {.variable = "IGGY_SERVER_08", .version = IGGY_SERVER_0_8};
static struct server *const servers[] = {&server_09, &server_08};

static bool launch(struct server *server, bool fresh)
{
    char path[320], address[64], tcp[64], output[320];
    snprintf(path, sizeof path, "IGGY_SYSTEM_PATH=%s/data", server->directory);
    snprintf(address, sizeof address, "IGGY_HTTP_ADDRESS=127.0.0.1:%u", server->port);
    snprintf(tcp, sizeof tcp, "IGGY_TCP_ADDRESS=127.0.0.1:%u", server->tcp_port);
    snprintf(output, sizeof output, "%s/output", server->directory);
    char user[] = "IGGY_ROOT_USERNAME=iggy", password[] = "IGGY_ROOT_PASSWORD=iggy";
    char no_quic[] = "IGGY_QUIC_ENABLED=false", no_websocket[] = "IGGY_WEBSOCKET_ENABLED=false";
    char one_cpu[] = "IGGY_SYSTEM_SHARDING_CPU_ALLOCATION=1", wipe[] = "--fresh";
    char *env[] = {user, password, path, address, tcp, no_quic, no_websocket, one_cpu, NULL};
    char *argv[] = {getenv(server->variable), fresh ? wipe : NULL, NULL};
    return mi_process_start(&server->process, output, argv, env) && mi_wait_port(server->port, 30000);
}

static bool have(struct server *server)
{
    if (server->running)
        return true;
    if (!getenv(server->variable)) {
        mi_skip("%s names no server", server->variable);
        return false;
    }
    server->port = mi_free_port();
    server->tcp_port = mi_free_port();
    snprintf(server->url, sizeof server->url, "http://127.0.0.1:%u", server->port);
    server->running = mi_temp_dir(server->directory, sizeof server->directory) && launch(server, true);
    CU_ASSERT_TRUE(server->running);
    return server->running;
}

static void stop_servers(void)
{
    for (size_t i = 0; i < 2; i++) {
        if (!servers[i]->running)
            continue;
        mi_process_stop(&servers[i]->process, 5000);
        mi_remove_tree(servers[i]->directory);
    }
}

static void print_line(void *context, const char *line)
{
    (void)context;
    printf("    %s\n", line);
}

static struct iggy_client *connect_as(struct server *server, const char *user, const char *password,
                                      const char *token)
{
    const char *urls[] = {server->url};
    struct iggy_options options = {.urls = urls,
                                   .url_count = 1,
                                   .username = user,
                                   .password = password,
                                   .token = token,
                                   .log = print_line};
    char error[256] = "";
    struct iggy_client *client = iggy_client_new(&options, error, sizeof error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(client);
    return client;
}

#define CALL(call, expression)              \
    do {                                    \
        call_clear(call);                   \
        CU_ASSERT_NOT_EQUAL(expression, 0); \
        call_wait(client, call);            \
    } while (0)

#define ASSERT_OK(call)                                                                       \
    do {                                                                                      \
        if ((call)->result.kind != IGGY_OK)                                                   \
            printf("    %s: %s\n", iggy_kind_name((call)->result.kind), (call)->result.text); \
        CU_ASSERT_EQUAL((call)->result.kind, IGGY_OK);                                        \
    } while (0)

static void create(struct iggy_client *client, const char *stream, const char *topic, uint32_t partitions)
{
    struct call call = {0};
    struct iggy_topic_options options = {.partitions = partitions};
    CALL(&call, iggy_create_stream(client, s(stream), on_done, &call));
    ASSERT_OK(&call);
    CALL(&call, iggy_create_topic(client, s(stream), s(topic), &options, on_done, &call));
    ASSERT_OK(&call);
    call_clear(&call);
}

/* A 504 on the first poll after the creation is an ordinary answer of 0.9. */
static void poll_until_ok(struct iggy_client *client, struct call *call, const struct iggy_poll *poll)
{
    for (int tries = 0; tries < 50; tries++) {
        CALL(call, iggy_poll(client, poll, on_polled, call));
        if (call->result.kind == IGGY_OK || call->result.retry == IGGY_RETRY_NEVER)
            break;
        mi_sleep_ms(10);
    }
    ASSERT_OK(call);
}

static struct iggy_poll from_start(const char *stream, const char *topic, uint32_t count)
{
    return (struct iggy_poll){
        .stream = s(stream), .topic = s(topic), .strategy = IGGY_FROM_OFFSET, .count = count};
}

/* ---- the tests
 * ---------------------------------------------------------------------------------------------------- */

static void version_is_found(struct server *server)
{
    struct iggy_client *client = connect_as(server, "iggy", "iggy", NULL);
    struct call call = {0};
    CALL(&call, iggy_ping(client, on_done, &call));
    ASSERT_OK(&call);
    CU_ASSERT_EQUAL(iggy_client_server(client), IGGY_SERVER_UNKNOWN);
    CALL(&call, iggy_get_me(client, on_user, &call));
    ASSERT_OK(&call);
    CU_ASSERT_STRING_EQUAL(call.text, "iggy");
    CU_ASSERT_TRUE(call.user.active);
    CU_ASSERT_PTR_NOT_NULL(strstr(call.permissions, "\"manage_servers\":true"));
    CU_ASSERT_EQUAL(iggy_client_server(client), server->version);
    CALL(&call, iggy_get_stats(client, on_stats, &call));
    ASSERT_OK(&call);
    CU_ASSERT_TRUE(call.stats.start_time > 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(call.text, server->version == IGGY_SERVER_0_9 ? "0.9" : "0.8"));
    call_clear(&call);
    iggy_client_free(client);
}

/* The third id has no letter among its digits: without dashes the server would read a decimal number. */
static const struct iggy_id ids[] = {{0xfedcba9876543210, 0x0123456789abcdef},
                                     {0, 1},
                                     {0x1234567890123456, 0x7890123456789012},
                                     {UINT64_MAX, UINT64_MAX}};

static const uint8_t block[] = {2,   3, 0, 0, 0, 'k', 'e', 'y', 1,   4,   0, 0, 0, 0, 255, 10,
                                '"', 2, 4, 0, 0, 0,   'z', 'e', 'r', 'o', 9, 1, 0, 0, 0,   0};

static void messages_come_back_exact(struct server *server)
{
    struct iggy_client *client = connect_as(server, "iggy", "iggy", NULL);
    struct call call = {0};
    create(client, "exact", "messages", 2);
    struct iggy_batch *batch = iggy_batch_new();
    iggy_batch_start(batch, 1);
    for (size_t i = 0; i < 4; i++)
        CU_ASSERT_TRUE(iggy_batch_add(batch, ids[i], i == 1 ? s("") : (struct iggy_span){block, sizeof block},
                                      s("pay"),
                                      (struct iggy_span){(const uint8_t *)&"\0\xff\"load"[i], 7 - i}));
    CALL(&call, iggy_produce(client, s("exact"), s("messages"), batch, on_produced, &call));
    ASSERT_OK(&call);
    CU_ASSERT_EQUAL(call.result.http_status, 201);
    CU_ASSERT_EQUAL(call.produced.confirmed, server->version == IGGY_SERVER_0_9);
    CU_ASSERT_EQUAL(call.produced.partition_id, server->version == IGGY_SERVER_0_9 ? 1 : 0);
    CU_ASSERT_EQUAL(call.produced.base_offset, 0);
    struct iggy_poll poll = from_start("exact", "messages", 10);
    poll.partition_id = 1;
    poll_until_ok(client, &call, &poll);
    CU_ASSERT_EQUAL_FATAL(call.polled.count, 4);
    CU_ASSERT_EQUAL(call.polled.partition_id, 1);
    CU_ASSERT_EQUAL(call.polled.current_offset, 3);
    for (size_t i = 0; i < 4; i++) {
        const struct iggy_polled_message *m = &call.messages[i];
        CU_ASSERT_EQUAL(m->offset, i);
        CU_ASSERT_EQUAL(m->id.hi, ids[i].hi);
        CU_ASSERT_EQUAL(m->id.lo, ids[i].lo);
        CU_ASSERT_EQUAL(m->payload.len, 10 - i);
        CU_ASSERT_EQUAL(memcmp(m->payload.data, "pay", 3), 0);
        CU_ASSERT_EQUAL(memcmp(m->payload.data + 3, &"\0\xff\"load"[i], 7 - i), 0);
        CU_ASSERT_EQUAL(m->headers.len, i == 1 ? 0 : sizeof block);
        CU_ASSERT_TRUE(m->timestamp > 1700000000000000 && m->origin_timestamp > 1700000000000000);
        if (i != 1)
            CU_ASSERT_EQUAL(memcmp(m->headers.data, block, sizeof block), 0);
    }
    CALL(&call, iggy_get_topic(client, s("exact"), s("messages"), on_topic, &call));
    ASSERT_OK(&call);
    CU_ASSERT_STRING_EQUAL(call.text, "messages");
    CU_ASSERT_EQUAL(call.topic.partitions_count, 2);
    CU_ASSERT_EQUAL(call.partitions[1].messages_count, 4);
    CU_ASSERT_EQUAL(call.partitions[1].current_offset, 3);
    iggy_batch_free(batch);
    call_clear(&call);
    iggy_client_free(client);
}

/* Iggy stores a block that it can never decode; it then comes back as a string. Polling must live with that.
 */
static void undecodable_block_comes_back(struct server *server)
{
    static const uint8_t bad[] = {2, 1, 0, 0, 0, 'k', 2, 0, 0, 0, 0};
    struct iggy_client *client = connect_as(server, "iggy", "iggy", NULL);
    struct call call = {0};
    create(client, "undecodable", "t", 1);
    struct iggy_batch *batch = iggy_batch_new();
    iggy_batch_add(batch, (struct iggy_id){0, 7}, (struct iggy_span){bad, sizeof bad}, s("x"), s(""));
    CALL(&call, iggy_produce(client, s("undecodable"), s("t"), batch, on_produced, &call));
    ASSERT_OK(&call);
    struct iggy_poll poll = from_start("undecodable", "t", 10);
    poll_until_ok(client, &call, &poll);
    CU_ASSERT_EQUAL_FATAL(call.polled.count, 1);
    CU_ASSERT_EQUAL_FATAL(call.messages[0].headers.len, sizeof bad);
    CU_ASSERT_EQUAL(memcmp(call.messages[0].headers.data, bad, sizeof bad), 0);
    iggy_batch_free(batch);
    call_clear(&call);
    iggy_client_free(client);
}

static void every_name_can_be_used(struct server *server)
{
    static const char *const names[] = {
        "a/b", "..",           ".",   "a%2Fb", "x?y#z", "with space", "h\xc3\xa4ngt + 1", "1e5",
        "-1",  "\"quoted\\\"", "0x10"};
    struct iggy_client *client = connect_as(server, "iggy", "iggy", NULL);
    struct call call = {0};
    struct iggy_batch *batch = iggy_batch_new();
    iggy_batch_add(batch, (struct iggy_id){0, 1}, s(""), s("x"), s(""));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        create(client, names[i], names[i], 1);
        CALL(&call, iggy_produce(client, s(names[i]), s(names[i]), batch, on_produced, &call));
        ASSERT_OK(&call);
        CALL(&call, iggy_get_topic(client, s(names[i]), s(names[i]), on_topic, &call));
        ASSERT_OK(&call);
        CU_ASSERT_STRING_EQUAL(call.text, names[i]);
        CU_ASSERT_EQUAL(call.topic.messages_count, 1);
        CALL(&call, iggy_get_stream(client, s(names[i]), on_stream, &call));
        ASSERT_OK(&call);
        CU_ASSERT_EQUAL(call.stream.topics_count, 1);
        CU_ASSERT_EQUAL(call.topic.partitions_count, 1);
        CALL(&call, iggy_delete_stream(client, s(names[i]), on_done, &call));
        ASSERT_OK(&call);
    }
    iggy_batch_free(batch);
    call_clear(&call);
    iggy_client_free(client);
}

/* Why "+0" is refused locally: the server takes it for the id 0. Asked here with a stream of that number. */
static void numbers_are_refused_locally(struct server *server)
{
    struct iggy_client *client = connect_as(server, "iggy", "iggy", NULL);
    struct call call = {0};
    static const char *const names[] = {"0", "123", "+0", "99999999999999999999", ""};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        CALL(&call, iggy_get_stream(client, s(names[i]), on_stream, &call));
        CU_ASSERT_EQUAL(call.result.kind, IGGY_LOCAL);
        CU_ASSERT_EQUAL(call.result.effect, IGGY_EFFECT_NONE);
        CALL(&call, iggy_create_stream(client, s(names[i]), on_done, &call));
        CU_ASSERT_EQUAL(call.result.kind, IGGY_LOCAL);
    }
    CALL(&call, iggy_get_streams(client, on_streams, &call));
    ASSERT_OK(&call);
    call_clear(&call);
    iggy_client_free(client);
}

static void token_works(struct server *server)
{
    struct iggy_client *client = connect_as(server, "iggy", "iggy", NULL);
    struct call call = {0};
    CALL(&call, iggy_create_token(client, "bridge", 0, on_token, &call));
    ASSERT_OK(&call);
    CU_ASSERT_TRUE_FATAL(strlen(call.text) > 20);
    struct iggy_client *owner = client;
    client = connect_as(server, NULL, NULL, call.text);
    CALL(&call, iggy_get_me(client, on_user, &call));
    ASSERT_OK(&call);
    CU_ASSERT_STRING_EQUAL(call.text, "iggy");
    CU_ASSERT_EQUAL(iggy_client_server(client), server->version);
    iggy_client_free(client);
    client = owner;
    CALL(&call, iggy_delete_token(client, "bridge", on_done, &call));
    ASSERT_OK(&call);
    iggy_client_free(client);
    client = connect_as(server, NULL, NULL, "bm90IGEgdG9rZW4=");
    CALL(&call, iggy_get_streams(client, on_streams, &call));
    CU_ASSERT_EQUAL(call.result.kind, IGGY_LOGIN);
    CU_ASSERT_EQUAL(call.result.http_status, server->version == IGGY_SERVER_0_9 ? 401 : 404);
    CU_ASSERT_PTR_NULL(strstr(call.result.text, "bm90"));
    call_clear(&call);
    iggy_client_free(client);
}

static void offsets_are_kept(struct server *server)
{
    struct iggy_client *client = connect_as(server, "iggy", "iggy", NULL);
    struct call call = {0};
    static const char *const consumers[] = {NULL, "7", "mqtt.edge-1/\xc3\xa4"};
    create(client, "offsets", "t", 1);
    struct iggy_batch *batch = iggy_batch_new();
    for (uint64_t i = 1; i <= 5; i++)
        iggy_batch_add(batch, (struct iggy_id){0, i}, s(""), s("x"), s(""));
    CALL(&call, iggy_produce(client, s("offsets"), s("t"), batch, on_produced, &call));
    ASSERT_OK(&call);
    for (size_t i = 0; i < 3; i++) {
        CALL(&call, iggy_get_offset(client, s("offsets"), s("t"), 0, consumers[i], on_offset, &call));
        ASSERT_OK(&call);
        CU_ASSERT_FALSE(call.offset.stored);
        CALL(&call, iggy_store_offset(client, s("offsets"), s("t"), 0, consumers[i], i + 1, on_done, &call));
        ASSERT_OK(&call);
        CALL(&call, iggy_get_offset(client, s("offsets"), s("t"), 0, consumers[i], on_offset, &call));
        ASSERT_OK(&call);
        CU_ASSERT_TRUE(call.offset.stored);
        CU_ASSERT_EQUAL(call.offset.offset, i + 1);
        CU_ASSERT_EQUAL(call.offset.current, 4);
        struct iggy_poll poll = from_start("offsets", "t", 1);
        poll.strategy = IGGY_FROM_NEXT;
        poll.consumer = consumers[i];
        poll_until_ok(client, &call, &poll);
        CU_ASSERT_EQUAL_FATAL(call.polled.count, 1);
        CU_ASSERT_EQUAL(call.messages[0].offset, i + 2);
        CALL(&call, iggy_delete_offset(client, s("offsets"), s("t"), 0, consumers[i], on_done, &call));
        ASSERT_OK(&call);
    }
    iggy_batch_free(batch);
    call_clear(&call);
    iggy_client_free(client);
}

static void durable_topic_survives_a_kill(struct server *server)
{
    struct iggy_client *client = connect_as(server, "iggy", "iggy", NULL);
    struct call call = {0};
    struct iggy_topic_options options = {.partitions = 1, .durable = true};
    CALL(&call, iggy_create_stream(client, s("durable"), on_done, &call));
    for (int times = 0; times < 2; times++) {
        CALL(&call, iggy_create_topic(client, s("durable"), s("t"), &options, on_done, &call));
        ASSERT_OK(&call);
        CU_ASSERT_EQUAL(call.result.text[0] != '\0', server->version == IGGY_SERVER_0_8);
    }
    struct iggy_batch *batch = iggy_batch_new();
    for (int i = 0; i < 10; i++) {
        iggy_batch_start(batch, 0);
        iggy_batch_add(batch, (struct iggy_id){1, (uint64_t)i + 1}, s(""), s("kept"), s(""));
        CALL(&call, iggy_produce(client, s("durable"), s("t"), batch, on_produced, &call));
        ASSERT_OK(&call);
    }
    mi_process_kill(&server->process);
    CALL(&call, iggy_produce(client, s("durable"), s("t"), batch, on_produced, &call));
    CU_ASSERT_TRUE(call.result.kind == IGGY_CONNECT || call.result.kind == IGGY_CUT);
    CU_ASSERT_TRUE_FATAL(launch(server, false));
    /* The old token is refused, and the new login is the client's own business. */
    for (int tries = 0; tries < 300; tries++) {
        CALL(&call, iggy_get_topic(client, s("durable"), s("t"), on_topic, &call));
        if (call.result.kind == IGGY_OK)
            break;
        mi_sleep_ms(100);
    }
    ASSERT_OK(&call);
    CU_ASSERT_TRUE(call.result.new_connection || call.result.logged_in_again);
    if (server->version == IGGY_SERVER_0_9) {
        struct iggy_poll poll = from_start("durable", "t", 100);
        poll_until_ok(client, &call, &poll);
        CU_ASSERT_EQUAL(call.polled.count, 10);
    }
    iggy_batch_free(batch);
    call_clear(&call);
    iggy_client_free(client);
}

static void errors_are_told_apart(struct server *server)
{
    struct iggy_client *client = connect_as(server, "iggy", "iggy", NULL);
    struct call call = {0};
    struct iggy_batch *batch = iggy_batch_new();
    iggy_batch_add(batch, (struct iggy_id){0, 1}, s(""), s("x"), s(""));
    CALL(&call, iggy_produce(client, s("nowhere"), s("t"), batch, on_produced, &call));
    CU_ASSERT_EQUAL(call.result.kind, IGGY_HTTP);
    CU_ASSERT_EQUAL(call.result.http_status, 404);
    CU_ASSERT_EQUAL(call.result.effect, IGGY_EFFECT_NONE);
    create(client, "errors", "t", 1);
    iggy_batch_start(batch, 9);
    iggy_batch_add(batch, (struct iggy_id){0, 1}, s(""), s("x"), s(""));
    CALL(&call, iggy_produce(client, s("errors"), s("t"), batch, on_produced, &call));
    CU_ASSERT_EQUAL(call.result.http_status, 404);
    char *large = calloc(1, 2200000);
    iggy_batch_start(batch, 0);
    iggy_batch_add(batch, (struct iggy_id){0, 1}, s(""), (struct iggy_span){(uint8_t *)large, 2200000},
                   s(""));
    CALL(&call, iggy_produce(client, s("errors"), s("t"), batch, on_produced, &call));
    printf("    too large: %s: %s\n", iggy_kind_name(call.result.kind), call.result.text);
    CU_ASSERT_TRUE(call.result.http_status == 413 || call.result.kind == IGGY_CUT);
    free(large);
    iggy_client_free(client);
    client = connect_as(server, "iggy", "wrong", NULL);
    CALL(&call, iggy_get_streams(client, on_streams, &call));
    CU_ASSERT_EQUAL(call.result.kind, IGGY_LOGIN);
    CU_ASSERT_EQUAL(call.result.http_status, 400);
    CU_ASSERT_EQUAL(call.result.code, 42);
    CU_ASSERT_PTR_NULL(strstr(call.result.text, "wrong"));
    iggy_batch_free(batch);
    call_clear(&call);
    iggy_client_free(client);
}

static void users_and_partitions(struct server *server)
{
    struct iggy_client *client = connect_as(server, "iggy", "iggy", NULL);
    struct call call = {0};
    CALL(&call, iggy_create_user(client, "al\"ice", "secret/1", true, s(""), on_done, &call));
    ASSERT_OK(&call);
    CALL(&call, iggy_get_user(client, s("al\"ice"), on_user, &call));
    ASSERT_OK(&call);
    CU_ASSERT_STRING_EQUAL(call.text, "al\"ice");
    CU_ASSERT_STRING_EQUAL(call.permissions, "null");
    struct iggy_client *root = client;
    client = connect_as(server, "al\"ice", "secret/1", NULL);
    CALL(&call, iggy_get_streams(client, on_streams, &call));
    CU_ASSERT_EQUAL(call.result.http_status, 403);
    CU_ASSERT_EQUAL(call.result.code, 41);
    CALL(&call, iggy_get_me(client, on_user, &call));
    ASSERT_OK(&call);
    CU_ASSERT_STRING_EQUAL(call.text, "al\"ice");
    iggy_client_free(client);
    client = root;
    CALL(&call, iggy_get_user(client, s("me"), on_user, &call));
    CU_ASSERT_EQUAL(call.result.kind, IGGY_LOCAL);
    CALL(&call, iggy_delete_user(client, s("al\"ice"), on_done, &call));
    ASSERT_OK(&call);
    create(client, "parts", "t", 1);
    CALL(&call, iggy_create_partitions(client, s("parts"), s("t"), 3, on_done, &call));
    ASSERT_OK(&call);
    CALL(&call, iggy_delete_partitions(client, s("parts"), s("t"), 1, on_done, &call));
    ASSERT_OK(&call);
    CALL(&call, iggy_get_topic(client, s("parts"), s("t"), on_topic, &call));
    CU_ASSERT_EQUAL(call.topic.partitions_count, 3);
    CALL(&call, iggy_delete_topic(client, s("parts"), s("t"), on_done, &call));
    ASSERT_OK(&call);
    call_clear(&call);
    iggy_client_free(client);
}

/* The server chooses by key as iggy_partition_of_key says. */
static void keys_choose_partitions(struct server *server)
{
    struct iggy_client *client = connect_as(server, "iggy", "iggy", NULL);
    struct call call = {0};
    create(client, "keyed", "t", 5);
    struct iggy_batch *batch = iggy_batch_new();
    uint64_t expected[5] = {0};
    for (int i = 0; i < 20; i++) {
        char key[32];
        snprintf(key, sizeof key, "sensors/%d/\xc3\xa4", i * i);
        iggy_batch_start_keyed(batch, s(key));
        iggy_batch_add(batch, (struct iggy_id){0, (uint64_t)i + 1}, s(""), s("x"), s(""));
        CALL(&call, iggy_produce(client, s("keyed"), s("t"), batch, on_produced, &call));
        ASSERT_OK(&call);
        expected[iggy_partition_of_key(s(key), 5)]++;
    }
    CALL(&call, iggy_get_topic(client, s("keyed"), s("t"), on_topic, &call));
    for (int i = 0; i < 5; i++)
        CU_ASSERT_EQUAL(call.partitions[i].messages_count, expected[i]);
    iggy_batch_free(batch);
    call_clear(&call);
    iggy_client_free(client);
}

static void logins_are_checked(struct server *server)
{
    struct iggy_client *client = connect_as(server, "iggy", "iggy", NULL);
    struct call call = {0};
    char token[CALL_TEXT];
    CALL(&call, iggy_create_user(client, "checked", "secret", true, s(""), on_done, &call));
    ASSERT_OK(&call);
    CALL(&call, iggy_check_password(client, s("checked"), s("secret"), on_verdict, &call));
    CU_ASSERT_EQUAL(call.verdict, IGGY_VERDICT_GOOD);
    CU_ASSERT_STRING_EQUAL(call.text, "checked");
    CU_ASSERT_STRING_EQUAL(call.permissions, "null");
    CU_ASSERT_TRUE(call.user.created_at > 0);
    CALL(&call, iggy_check_password(client, s("checked"), s("wrong"), on_verdict, &call));
    CU_ASSERT_EQUAL(call.verdict, IGGY_VERDICT_REFUSED);
    CALL(&call, iggy_check_password(client, s("nobody"), s("secret"), on_verdict, &call));
    CU_ASSERT_EQUAL(call.verdict, IGGY_VERDICT_REFUSED);
    CALL(&call, iggy_create_token(client, "checked", 0, on_token, &call));
    ASSERT_OK(&call);
    snprintf(token, sizeof token, "%s", call.text);
    CALL(&call, iggy_check_token(client, s(token), on_verdict, &call));
    CU_ASSERT_EQUAL(call.verdict, IGGY_VERDICT_GOOD);
    CU_ASSERT_STRING_EQUAL(call.text, "iggy");
    CALL(&call, iggy_check_token(client, s("nonsense"), on_verdict, &call));
    CU_ASSERT_EQUAL(call.verdict, IGGY_VERDICT_REFUSED);
    CALL(&call, iggy_delete_token(client, "checked", on_done, &call));
    CALL(&call, iggy_check_token(client, s(token), on_verdict, &call));
    CU_ASSERT_EQUAL(call.verdict, IGGY_VERDICT_REFUSED);
    CALL(&call, iggy_delete_user(client, s("checked"), on_done, &call));
    CALL(&call, iggy_check_password(client, s("checked"), s("secret"), on_verdict, &call));
    CU_ASSERT_EQUAL(call.verdict, IGGY_VERDICT_REFUSED);
    CALL(&call, iggy_get_me(client, on_user, &call));
    CU_ASSERT_STRING_EQUAL(call.text, "iggy");
    call_clear(&call);
    iggy_client_free(client);
}

#define ON_BOTH(test)           \
    static void test##_09(void) \
    {                           \
        if (have(&server_09))   \
            test(&server_09);   \
    }                           \
    static void test##_08(void) \
    {                           \
        if (have(&server_08))   \
            test(&server_08);   \
    }
#define ROWS(test)             \
    {#test "_09", test##_09},  \
    {                          \
#test "_08", test##_08 \
    }

ON_BOTH(version_is_found)
ON_BOTH(messages_come_back_exact)
ON_BOTH(undecodable_block_comes_back)
ON_BOTH(every_name_can_be_used)
ON_BOTH(numbers_are_refused_locally)
ON_BOTH(token_works)
ON_BOTH(offsets_are_kept)
ON_BOTH(errors_are_told_apart)
ON_BOTH(users_and_partitions)
ON_BOTH(logins_are_checked)
ON_BOTH(keys_choose_partitions)
ON_BOTH(durable_topic_survives_a_kill)

static CU_TestInfo tests[] = {ROWS(version_is_found),
                              ROWS(messages_come_back_exact),
                              ROWS(undecodable_block_comes_back),
                              ROWS(every_name_can_be_used),
                              ROWS(numbers_are_refused_locally),
                              ROWS(token_works),
                              ROWS(offsets_are_kept),
                              ROWS(errors_are_told_apart),
                              ROWS(users_and_partitions),
                              ROWS(keys_choose_partitions),
                              ROWS(durable_topic_survives_a_kill),
                              ROWS(logins_are_checked),
                              CU_TEST_INFO_NULL};

int main(int argc, char **argv)
{
    int code = mi_suite_run("real_server", tests, argc, argv);
    stop_servers();
    return code;
}
