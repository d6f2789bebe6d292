/* tls: what a client believes of a server behind TLS, what it shows, and what it says when that fails. */
#include "calls.h"
#include "stub.h"
#include "support/tls_front.h"

#include "support/suite.h"

#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGES "POST /streams/s/topics/t/messages "
#define PASSWORD "hush-hush"

static const char stored[] =
    "HTTP/1.1 201 Created\r\nIggy-Durability: replicated-memory\r\nContent-Length: 82\r\n\r\n"
    "{\"confirmations\":[{\"stream_id\":0,\"topic_id\":0,\"partition_id\":2,\"base_offset\":17}]}";

/* One CA for all, one that nobody trusts, and files in a directory of the test's own. */
static struct {
    char dir[256], ca[300], other_ca[300], cert[300], key[300], text[300], log[2000];
    struct identity *authority, *other_authority, *server, *client;
    struct stub_rule rules[8];
    struct stub *stub;
    struct tls_front *front;
    struct iggy_client *connection;
} t;

static void name_file(char *to, size_t size, const char *name)
{
    snprintf(to, size, "%.250s/%s", t.dir, name);
}

static void write_files(void)
{
    name_file(t.ca, sizeof t.ca, "ca.pem");
    name_file(t.other_ca, sizeof t.other_ca, "other-ca.pem");
    name_file(t.cert, sizeof t.cert, "client.pem");
    name_file(t.key, sizeof t.key, "client.key");
    name_file(t.text, sizeof t.text, "text.pem");
    identity_write_cert(t.authority, t.ca);
    identity_write_cert(t.other_authority, t.other_ca);
    identity_write_cert(t.client, t.cert);
    identity_write_key(t.client, t.key);
    mi_write_file(t.text, "these are not the bytes you look for\n");
}

static void start(void)
{
    const struct stub_rule rules[] = {
        STUB_LOGIN,
        STUB_ME,
        {.request = MESSAGES, .answer = stored},
        {.request = "GET /streams/s/topics/t/messages?",
         .answer = stub_json(200, "{\"partition_id\":2,\"current_offset\":17,\"count\":1,\"messages\":[{"
                                  "\"header\":{\"checksum\":1,\"id\":5,\"offset\":17,\"timestamp\":1,"
                                  "\"origin_timestamp\":1,\"user_headers_length\":0,\"payload_length\":5},"
                                  "\"payload\":\"aGVsbG8=\",\"user_headers\":null}]}")},
        {.request = "GET /stats ",
         .answer = stub_json(200, "{\"start_time\":1795974174000000,\"iggy_server_version\":\"0.9.0\"}")},
        {.request = "DELETE ", .answer = stub_empty(204)},
        {.request = NULL}};
    memset(&t, 0, sizeof t);
    memcpy(t.rules, rules, sizeof rules);
    CU_ASSERT_TRUE_FATAL(mi_temp_dir(t.dir, sizeof t.dir));
    t.authority = identity_new(IDENTITY_CA, NULL, 2, NULL);
    t.other_authority = identity_new(IDENTITY_CA, NULL, 2, NULL);
    t.server = identity_new(IDENTITY_SERVER, "IP:127.0.0.1,DNS:localhost", 2, t.authority);
    t.client = identity_new(IDENTITY_CLIENT, NULL, 2, t.authority);
    write_files();
    t.stub = stub_start(t.rules);
    t.front = tls_front_start(stub_url(t.stub), t.server);
}

static void end(void)
{
    iggy_client_free(t.connection);
    tls_front_stop(t.front);
    stub_stop(t.stub);
    identity_free(t.authority);
    identity_free(t.other_authority);
    identity_free(t.server);
    identity_free(t.client);
    mi_remove_tree(t.dir);
}

static void on_log(void *context, const char *line)
{
    (void)context;
    size_t len = strlen(t.log);
    snprintf(t.log + len, sizeof t.log - len, "%s\n", line);
}

/* A client for scheme://host:port with these files. */
static void connect_to(const char *scheme, const char *host, unsigned port, struct iggy_options options)
{
    char url[100], error[300] = "";
    snprintf(url, sizeof url, "%s://%s:%u", scheme, host, port);
    const char *urls[] = {url};
    options.urls = urls;
    options.url_count = 1;
    options.username = "bob";
    options.password = PASSWORD;
    options.request_timeout_ms = 3000;
    options.log = on_log;
    iggy_client_free(t.connection);
    t.connection = iggy_client_new(&options, error, sizeof error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t.connection);
    CU_ASSERT_STRING_EQUAL(error, "");
}

static void connect_with(struct iggy_options options)
{
    connect_to("https", "127.0.0.1", tls_front_port(t.front), options);
}

static void produce(struct call *call)
{
    struct iggy_batch *batch = iggy_batch_new();
    iggy_batch_add(batch, (struct iggy_id){0, 1}, s(""), s("hello"), s(""));
    call_clear(call);
    iggy_produce(t.connection, s("s"), s("t"), batch, on_produced, call);
    call_wait(t.connection, call);
    iggy_batch_free(batch);
    CU_ASSERT_PTR_NULL(strstr(call->result.text, PASSWORD));
    CU_ASSERT_PTR_NULL(strstr(t.log, PASSWORD));
    CU_ASSERT_PTR_NULL(strstr(call->result.text, "t1"));
}

static void produces(void)
{
    struct call call = {0};
    produce(&call);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_OK);
    if (call.result.kind != IGGY_OK)
        printf("    %s\n", call.result.text);
}

/* A produce fails before the stub has seen anything, with a text that names the endpoint and the cause. */
static void fails_with(enum iggy_kind kind, const char *cause)
{
    struct call call = {0};
    char host[40];
    int seen = stub_count(t.stub, "");
    produce(&call);
    snprintf(host, sizeof host, ":%u", tls_front_port(t.front));
    CU_ASSERT_EQUAL(call.result.kind, kind);
    CU_ASSERT_EQUAL(call.result.effect, IGGY_EFFECT_NONE);
    CU_ASSERT_EQUAL(call.result.retry, IGGY_RETRY_LATER);
    CU_ASSERT_EQUAL(stub_count(t.stub, ""), seen);
    CU_ASSERT_PTR_NOT_NULL(strstr(call.result.text, host));
    CU_ASSERT_PTR_NOT_NULL(strstr(call.result.text, cause));
    if (call.result.kind != kind || !strstr(call.result.text, cause))
        printf("    %s: %s\n", iggy_kind_name(call.result.kind), call.result.text);
}

static void requests_work_over_one_connection(void)
{
    struct call call = {0};
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    static const char *const hosts[] = {"127.0.0.1", "localhost"};
    for (int i = 0; i < 2; i++) {
        start();
        tls_front_use(t.front, t.server, NULL, versions[i]);
        connect_to("https", hosts[i], tls_front_port(t.front), (struct iggy_options){.ca_file = t.ca});
        iggy_get_stats(t.connection, on_stats, &call);
        call_wait(t.connection, &call);
        CU_ASSERT_EQUAL(call.result.kind, IGGY_OK);
        CU_ASSERT_STRING_EQUAL(call.text, "0.9.0");
        CU_ASSERT_TRUE(call.result.new_connection);
        produce(&call);
        CU_ASSERT_EQUAL(call.result.kind, IGGY_OK);
        CU_ASSERT_EQUAL(call.produced.base_offset, 17);
        CU_ASSERT_FALSE(call.result.new_connection);
        struct iggy_poll poll = {.stream = s("s"), .topic = s("t"), .partition_id = 2, .count = 1};
        call_clear(&call);
        iggy_poll(t.connection, &poll, on_polled, &call);
        call_wait(t.connection, &call);
        CU_ASSERT_EQUAL(call.result.kind, IGGY_OK);
        CU_ASSERT_TRUE_FATAL(call.polled.count == 1);
        CU_ASSERT_EQUAL(memcmp(call.messages[0].payload.data, "hello", 5), 0);
        CU_ASSERT_EQUAL(tls_front_handshakes(t.front), 1);
        call_clear(&call);
        end();
    }
}

static void a_ca_that_is_not_trusted(void)
{
    start();
    connect_with((struct iggy_options){.ca_file = t.other_ca});
    fails_with(IGGY_CONNECT, "certificate");
    connect_with((struct iggy_options){.ca_file = NULL}); /* the system's do not know it either */
    fails_with(IGGY_CONNECT, "certificate");
    end();
}

static void a_name_that_does_not_match(void)
{
    static const char *const names[] = {"DNS:elsewhere.example", "IP:127.0.0.2,DNS:localhost", NULL};
    start();
    for (int i = 0; i < 3; i++) {
        struct identity *other = identity_new(IDENTITY_SERVER, names[i], 2, t.authority);
        tls_front_use(t.front, other, NULL, TLS1_3_VERSION);
        connect_with((struct iggy_options){.ca_file = t.ca});
        fails_with(IGGY_CONNECT, "name");
        identity_free(other);
    }
    end();
}

static void an_expired_certificate_and_then_a_mended_one(void)
{
    start();
    struct identity *expired = identity_new(IDENTITY_SERVER, "IP:127.0.0.1", -1, t.authority);
    tls_front_use(t.front, expired, NULL, TLS1_3_VERSION);
    connect_with((struct iggy_options){.ca_file = t.ca});
    fails_with(IGGY_CONNECT, "expired");
    tls_front_use(t.front, t.server, NULL, TLS1_3_VERSION);
    iggy_client_reset(t.connection);
    produces();
    identity_free(expired);
    end();
}

static void a_server_that_demands_a_client_certificate(void)
{
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    for (int i = 0; i < 2; i++) {
        start();
        tls_front_use(t.front, t.server, t.authority, versions[i]);
        connect_with((struct iggy_options){.ca_file = t.ca});
        fails_with(IGGY_CONNECT, i == 0 ? "handshake failure" : "client certificate");
        connect_with(
            (struct iggy_options){.ca_file = t.ca, .client_cert_file = t.cert, .client_key_file = t.key});
        produces();
        tls_front_use(t.front, t.server, t.other_authority, versions[i]);
        iggy_client_reset(t.connection);
        fails_with(IGGY_CONNECT, "client certificate");
        CU_ASSERT_PTR_NULL(strstr(t.log, "PRIVATE"));
        end();
    }
}

/* The demand comes while the client is at work: a produce over a new connection has had no effect. */
static void a_demand_that_comes_later(void)
{
    start();
    connect_with((struct iggy_options){.ca_file = t.ca});
    produces();
    tls_front_use(t.front, t.server, t.authority, TLS1_3_VERSION);
    /* With the kept connection taken by a slow request, the produce needs a new one. */
    t.rules[4].delay_ms = 700;
    struct call slow = {0};
    iggy_get_stats(t.connection, on_stats, &slow);
    iggy_client_drive(t.connection, 50, NULL, 0);
    fails_with(IGGY_CONNECT, "client certificate");
    CU_ASSERT_EQUAL(stub_count(t.stub, MESSAGES), 1);
    call_wait(t.connection, &slow);
    CU_ASSERT_EQUAL(slow.result.kind, IGGY_OK);
    call_clear(&slow);
    end();
}

static void a_key_that_does_not_fit_its_certificate(void)
{
    start();
    tls_front_use(t.front, t.server, t.authority, TLS1_3_VERSION);
    identity_write_key(t.server, t.key);
    connect_with(
        (struct iggy_options){.ca_file = t.ca, .client_cert_file = t.cert, .client_key_file = t.key});
    fails_with(IGGY_CONNECT, "key");
    end();
}

static void files_that_cannot_work(void)
{
    start();
    const char *gone = "/nowhere/file.pem";
    char locked[300];
    name_file(locked, sizeof locked, "locked.key");
    identity_write_locked_key(t.client, locked);
    const struct {
        struct iggy_options options;
        const char *file, *says;
    } rows[] = {
        {{.client_key_file = t.key}, t.key, "without a client certificate"},
        {{.ca_file = gone}, gone, "cannot be read"},
        {{.client_cert_file = gone, .client_key_file = t.key}, gone, "cannot be read"},
        {{.client_cert_file = t.cert, .client_key_file = gone}, gone, "cannot be read"},
        {{.ca_file = t.dir}, t.dir, "cannot be read"},
        {{.ca_file = t.text}, t.text, "PEM"},
        {{.client_cert_file = t.text, .client_key_file = t.key}, t.text, "PEM"},
        {{.client_cert_file = t.cert, .client_key_file = t.text}, t.text, "PEM"},
        {{.ca_file = t.key}, t.key, "certificate"},
        {{.client_cert_file = t.key, .client_key_file = t.key}, t.key, "certificate"},
        {{.client_cert_file = t.cert, .client_key_file = t.cert}, t.cert, "key"},
        {{.client_cert_file = t.cert}, t.cert, "key"},
        {{.client_cert_file = t.cert, .client_key_file = locked}, locked, "pass phrase"},
    };
    char error[400];
    const char *urls[] = {"https://127.0.0.1:1"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct iggy_options options = rows[i].options;
        options.urls = urls;
        options.url_count = 1;
        error[0] = '\0';
        struct iggy_client *client = iggy_client_new(&options, error, sizeof error);
        CU_ASSERT_PTR_NULL(client);
        CU_ASSERT_PTR_NOT_NULL(strstr(error, rows[i].file));
        CU_ASSERT_PTR_NOT_NULL(strstr(error, rows[i].says));
        if (client || !strstr(error, rows[i].file) || !strstr(error, rows[i].says))
            printf("    row %zu: %s\n", i, error);
        iggy_client_free(client);
    }
    end();
}

static void files_are_read_again_after_a_reset(void)
{
    start();
    connect_with((struct iggy_options){.ca_file = t.ca});
    produces();
    struct identity *renewed =
        identity_new(IDENTITY_SERVER, "IP:127.0.0.1,DNS:localhost", 2, t.other_authority);
    tls_front_use(t.front, renewed, NULL, TLS1_3_VERSION);
    produces(); /* the kept connection goes on */
    iggy_client_reset(t.connection);
    fails_with(IGGY_CONNECT, "certificate");
    identity_write_cert(t.other_authority, t.ca);
    iggy_client_reset(t.connection);
    produces();
    identity_free(renewed);
    end();
}

/* A CA that was taken out of the file is not trusted any more after a reset: neither from memory nor by a
 * resumed session. */
/* field 127: nobody reloads; the next try finds the renewed file. */
static void files_are_read_again_after_a_failed_handshake(void)
{
    start();
    connect_with((struct iggy_options){.ca_file = t.ca});
    produces();
    struct identity *renewed =
        identity_new(IDENTITY_SERVER, "IP:127.0.0.1,DNS:localhost", 2, t.other_authority);
    tls_front_use(t.front, renewed, NULL, TLS1_3_VERSION);
    iggy_client_reset(t.connection); /* the kept connection ends */
    fails_with(IGGY_CONNECT, "certificate");
    CU_ASSERT_PTR_NOT_NULL(strstr(iggy_client_trouble(t.connection), "certificate"));
    fails_with(IGGY_CONNECT, "certificate");
    identity_write_cert(t.other_authority, t.ca);
    produces();
    CU_ASSERT_STRING_EQUAL(iggy_client_trouble(t.connection), "");
    identity_free(renewed);
    end();
}

static void other_files_can_be_given(void)
{
    char error[300], missing[300];
    start();
    struct identity *renewed =
        identity_new(IDENTITY_SERVER, "IP:127.0.0.1,DNS:localhost", 2, t.other_authority);
    name_file(missing, sizeof missing, "other_ca.pem");
    identity_write_cert(t.other_authority, missing);
    connect_with((struct iggy_options){.ca_file = t.ca});
    produces();
    CU_ASSERT_EQUAL(iggy_client_set_tls(t.connection, "/nowhere", NULL, NULL, error, sizeof error), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(error, "/nowhere cannot be read"));
    produces(); /* with the file before */
    tls_front_use(t.front, renewed, NULL, TLS1_3_VERSION);
    CU_ASSERT_EQUAL(iggy_client_set_tls(t.connection, missing, NULL, NULL, error, sizeof error), 0);
    produces();
    identity_free(renewed);
    end();
}

static void a_withdrawn_ca_is_not_trusted(void)
{
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    for (int i = 0; i < 2; i++) {
        start();
        tls_front_use(t.front, t.server, NULL, versions[i]);
        connect_with((struct iggy_options){.ca_file = t.ca});
        produces();
        identity_write_cert(t.other_authority, t.ca);
        iggy_client_reset(t.connection);
        fails_with(IGGY_CONNECT, "certificate");
        end();
    }
}

/* As before while another request is under way, so that the old connections are still in use. */
static void files_are_read_again_while_busy(void)
{
    start();
    connect_with((struct iggy_options){.ca_file = t.ca});
    produces();
    t.rules[4].delay_ms = 700;
    struct call slow = {0};
    iggy_get_stats(t.connection, on_stats, &slow);
    iggy_client_drive(t.connection, 50, NULL, 0);
    identity_write_cert(t.other_authority, t.ca);
    iggy_client_reset(t.connection);
    fails_with(IGGY_CONNECT, "certificate");
    CU_ASSERT_EQUAL(slow.ended, 0);
    call_wait(t.connection, &slow);
    CU_ASSERT_EQUAL(slow.result.kind, IGGY_OK);
    call_clear(&slow);
    end();
}

/* A plain server that answers whatever comes with these bytes and closes; the request is driven meanwhile. */
static void ask_a_server_that_says(const char *scheme, const char *bytes, struct call *call)
{
    uint64_t end_ms = mi_monotonic_ms() + 5000;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), fd = -1;
    CU_ASSERT_TRUE_FATAL(bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 4) == 0 &&
                         getsockname(listener, (struct sockaddr *)&address, &size) == 0);
    connect_to(scheme, "127.0.0.1", ntohs(address.sin_port), (struct iggy_options){.ca_file = t.ca});
    call_clear(call);
    iggy_delete_partitions(t.connection, s("s"), s("t"), 1, on_done, call);
    while (!call->ended && mi_monotonic_ms() < end_ms) {
        char request[4096];
        iggy_client_drive(t.connection, 10, NULL, 0);
        if (fd < 0 && (fd = accept(listener, NULL, NULL)) < 0)
            continue;
        if (recv(fd, request, sizeof request, MSG_DONTWAIT) > 0) {
            send(fd, bytes, strlen(bytes), MSG_NOSIGNAL);
            shutdown(fd, SHUT_WR);
        }
    }
    CU_ASSERT_EQUAL(call->ended, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(call->result.text, "127.0.0.1"));
    CU_ASSERT_PTR_NULL(strstr(call->result.text, PASSWORD));
    close(fd);
    close(listener);
}

static void https_where_http_is_spoken(void)
{
    struct call call = {0};
    start();
    ask_a_server_that_says("https", "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", &call);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_CONNECT);
    CU_ASSERT_EQUAL(call.result.effect, IGGY_EFFECT_NONE);
    CU_ASSERT_PTR_NOT_NULL(strstr(call.result.text, "is it http:// there?"));
    call_clear(&call);
    end();
}

/* Some TLS servers answer with an alert, some close. */
static void http_where_tls_is_spoken(void)
{
    struct call call = {0};
    start();
    connect_to("http", "127.0.0.1", tls_front_port(t.front), (struct iggy_options){0});
    fails_with(IGGY_LOGIN, "is it https:// there?");
    CU_ASSERT_EQUAL(tls_front_handshakes(t.front), 0);
    ask_a_server_that_says("http", "\x15\x03\x03\x01\x02\x02\x46", &call);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_LOGIN);
    CU_ASSERT_EQUAL(call.result.effect, IGGY_EFFECT_NONE);
    CU_ASSERT_PTR_NOT_NULL(strstr(call.result.text, "is it https:// there?"));
    if (!strstr(call.result.text, "https"))
        printf("    %s\n", call.result.text);
    call_clear(&call);
    end();
}

/* A server that stops speaking HTTP after the login: the produce has gone out, and may have had its effect.
 */
static void an_answer_that_is_no_http(void)
{
    struct call call = {0};
    start();
    t.rules[2].answer = "\x15\x03\x03\x01\x02\x02\x46";
    t.rules[2].action = STUB_ANSWER_CUT;
    connect_with((struct iggy_options){.ca_file = t.ca});
    produce(&call);
    CU_ASSERT_EQUAL(call.result.kind, IGGY_CUT);
    CU_ASSERT_EQUAL(call.result.effect, IGGY_EFFECT_UNKNOWN);
    CU_ASSERT_EQUAL(stub_count(t.stub, MESSAGES), 1);
    call_clear(&call);
    end();
}

static CU_TestInfo tests[] = {
    {"requests_work_over_one_connection", requests_work_over_one_connection},
    {"a_ca_that_is_not_trusted", a_ca_that_is_not_trusted},
    {"a_name_that_does_not_match", a_name_that_does_not_match},
    {"an_expired_certificate_and_then_a_mended_one", an_expired_certificate_and_then_a_mended_one},
    {"a_server_that_demands_a_client_certificate", a_server_that_demands_a_client_certificate},
    {"a_demand_that_comes_later", a_demand_that_comes_later},
    {"a_key_that_does_not_fit_its_certificate", a_key_that_does_not_fit_its_certificate},
    {"files_that_cannot_work", files_that_cannot_work},
    {"files_are_read_again_after_a_reset", files_are_read_again_after_a_reset},
    {"files_are_read_again_after_a_failed_handshake", files_are_read_again_after_a_failed_handshake},
    {"other_files_can_be_given", other_files_can_be_given},
    {"a_withdrawn_ca_is_not_trusted", a_withdrawn_ca_is_not_trusted},
    {"files_are_read_again_while_busy", files_are_read_again_while_busy},
    {"https_where_http_is_spoken", https_where_http_is_spoken},
    {"http_where_tls_is_spoken", http_where_tls_is_spoken},
    {"an_answer_that_is_no_http", an_answer_that_is_no_http},
    CU_TEST_INFO_NULL};
MI_SUITE_MAIN("tls", tests)
