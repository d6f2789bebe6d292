/*
 * devserver_faults DEVSERVER [TEST]: every command of iggy-devserver's admin port does what its README says.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "call.h"
#include "support/process.h"
#include "support/suite.h"
#include "target.h"

static const char *stream;

/* Sends one line to the admin port and returns the answer without newline. */
static const char *admin(const char *line)
{
    static char answer[4096];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(target_admin_port())};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    size_t len = 0;
    answer[0] = '\0';
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        dprintf(fd, "%s\n", line) > 0) {
        ssize_t n;
        while ((n = read(fd, answer + len, sizeof answer - 1 - len)) > 0 &&
               !memchr(answer, '\n', len + (size_t)n))
            len += (size_t)n;
        answer[len + (n > 0 ? (size_t)n : 0)] = '\0';
        answer[strcspn(answer, "\n")] = '\0';
    }
    if (fd >= 0)
        close(fd);
    return answer;
}

static void command(const char *line)
{
    const char *answer = admin(line);
    if (strncmp(answer, "ok", 2) != 0)
        fprintf(stderr, "\n    %s: %s\n", line, answer);
    CU_ASSERT_EQUAL(strncmp(answer, "ok", 2), 0);
}

static void start(void)
{
    command("clear");
    stream = fresh_stream();
    make_topic(stream, "t", 1);
}

static struct reply *send_one(void)
{
    return produce_many(stream, "t", 0, 1, 20);
}

/* On a connection of its own: libcurl sends a request again by itself when a used connection dies without an
 * answer. */
static struct reply *send_one_fresh(void)
{
    call_forget_connections();
    return send_one();
}

static double stored(void)
{
    return number_of(callf("GET", NULL, "/streams/%s/topics/t", stream)->json, "messages_count");
}

static void bad_commands_are_errors(void)
{
    static const char *const bad[] = {"nonsense", "delay",    "delay x", "delay 5 0",   "cut sideways",
                                      "next 200", "next 504", "slow 0",  "on produce",  "refuse",
                                      "pause",    "dump a b", "fresh x", "delay 5 6 7", "expire a"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CU_ASSERT_EQUAL(strncmp(admin(bad[i]), "error ", 6), 0);
}

static void answers_without_effect(void)
{
    static const struct {
        const char *line;
        long status;
        int id;
        const char *header; /* NULL: none */
    } rows[] = {{"on produce next 401", 401, 40, NULL},
                {"on produce next 403", 403, 41, NULL},
                {"on produce next 429", 429, 429, "retry-after: 1"},
                {"on produce next 503 57", 503, 57, "retry-after: 1"},
                {"on produce next 503 58", 503, 58, "retry-after: 1"},
                {"on produce next 503 503", 503, 503, "retry-after: 1"},
                {"on produce next 400 4022", 400, 4022, NULL},
                {"on produce next 400 4023", 400, 4023, NULL},
                {"on produce next 404 20", 404, 20, NULL},
                {"on produce next 413", 413, 0, "connection: close"},
                {"on produce next 500", 500, 500, NULL},
                {"on produce next 307 http://127.0.0.1:1/", 307, 0, "location: http://127.0.0.1:1/"},
                {"on produce next 504 drop", 504, 504, NULL}};
    start();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        command(rows[i].line);
        struct reply *r = send_one();
        expect(r, rows[i].status, rows[i].id);
        if (rows[i].header)
            CU_ASSERT_PTR_NOT_NULL(strstr(r->headers, rows[i].header));
        CU_ASSERT_EQUAL(stored(), 0);
    }
    expect(send_one(), 201, 0);
}

static void counts_and_groups_bound_a_rule(void)
{
    start();
    command("on produce next 429 2");
    expect(callf("GET", NULL, "/streams/%s", stream), 200, 0);
    expect(send_one(), 429, 0);
    expect(send_one(), 429, 0);
    expect(send_one(), 201, 0);
    command("next 503 57 always");
    for (int i = 0; i < 5; i++)
        expect(call("GET", "/streams", NULL), 503, 57);
    command("clear");
    expect(call("GET", "/streams", NULL), 200, 0);
}

static void a_504_can_have_its_effect_or_have_it_late(void)
{
    start();
    command("on produce next 504 commit");
    expect(send_one(), 504, 504);
    CU_ASSERT_EQUAL(stored(), 1);
    command("on produce next 504 late 300");
    expect(send_one(), 504, 504);
    CU_ASSERT_EQUAL(stored(), 1);
    mi_sleep_ms(400);
    CU_ASSERT_EQUAL(stored(), 2);
}

static void a_cut_has_effect_before_after_or_late(void)
{
    start();
    command("on produce cut before");
    CU_ASSERT_EQUAL(send_one_fresh()->status, 0);
    CU_ASSERT_EQUAL(stored(), 0);
    command("on produce cut after");
    CU_ASSERT_EQUAL(send_one_fresh()->status, 0);
    CU_ASSERT_EQUAL(stored(), 1);
    command("on produce cut late 300");
    CU_ASSERT_EQUAL(send_one_fresh()->status, 0);
    CU_ASSERT_EQUAL(stored(), 1);
    mi_sleep_ms(400);
    CU_ASSERT_EQUAL(stored(), 2);
}

static void delays_come_before_or_after_the_effect(void)
{
    start();
    command("on produce delay 300");
    uint64_t began = mi_monotonic_ms();
    expect(send_one(), 201, 0);
    CU_ASSERT_TRUE(mi_monotonic_ms() - began >= 300);
    command("on produce delay-answer 300");
    began = mi_monotonic_ms();
    expect(send_one(), 201, 0);
    CU_ASSERT_TRUE(mi_monotonic_ms() - began >= 300);
    CU_ASSERT_EQUAL(stored(), 2);
}

static void broken_answers(void)
{
    start();
    expect(produce_many(stream, "t", 0, 50, 100), 201, 0);
    size_t whole = poll_query(stream, "t", "count=50")->len;
    command("on poll truncate");
    struct reply *r = poll_query(stream, "t", "count=50");
    CU_ASSERT_EQUAL(r->status, 0);
    CU_ASSERT_TRUE(r->len > 0 && r->len < whole);
    command("on poll garble");
    expect_text(poll_query(stream, "t", "count=50"), 200);
    command("on poll slow 30000");
    uint64_t began = mi_monotonic_ms();
    r = poll_query(stream, "t", "count=50");
    expect(r, 200, 0);
    CU_ASSERT_EQUAL(r->len, whole);
    CU_ASSERT_TRUE(mi_monotonic_ms() - began >= whole * 1000 / 30000 / 2);
}

static void members_that_a_client_must_not_need_or_know(void)
{
    start();
    command("on produce no-confirmations");
    struct reply *r = send_one();
    expect(r, 201, 0);
    CU_ASSERT_EQUAL(cJSON_GetArraySize(cJSON_GetObjectItem(r->json, "confirmations")), 0);
    command("on poll extra-members");
    CU_ASSERT_TRUE(cJSON_HasObjectItem(poll_query(stream, "t", "")->json, "devserver_extra"));
}

static void poison_is_refused(void)
{
    start();
    command("reject-message bad apple");
    char messages[200];
    snprintf(messages, sizeof messages, "[{\"payload\":\"YQ==\"},{\"payload\":\"%s\"}]",
             b64_text("a bad apple."));
    expect(produce(stream, "t", 0, messages), 400, 4022);
    CU_ASSERT_EQUAL(stored(), 0);
    expect(send_one(), 201, 0);
    command("reject-message");
    expect(produce(stream, "t", 0, messages), 201, 0);
}

static void new_partitions_can_be_slow_to_come(void)
{
    start();
    command("fresh 2");
    make_topic(stream, "new", 1);
    for (int i = 0; i < 3; i++)
        expect(callf("GET", NULL, "/streams/%s/topics/new/messages", stream), i < 2 ? 504 : 200, 0);
    command("fresh 0");
}

static void kill_loses_the_tail_and_all_logins(void)
{
    start();
    expect(produce_many(stream, "t", 0, 7, 20), 201, 0);
    double before = number_of(call("GET", "/stats", NULL)->json, "start_time");
    CU_ASSERT_STRING_EQUAL(admin("kill"), "ok lost 7");
    expect(call("GET", "/streams", NULL), 401, 0);
    CU_ASSERT_TRUE(target_login());
    CU_ASSERT_EQUAL(stored(), 0);
    CU_ASSERT_TRUE(number_of(call("GET", "/stats", NULL)->json, "start_time") > before);
    expect(produce_many(stream, "t", 0, 7, 20), 201, 0);
    command("save");
    CU_ASSERT_STRING_EQUAL(admin("kill"), "ok lost 0");
    CU_ASSERT_TRUE(target_login());
    CU_ASSERT_EQUAL(stored(), 7);
}

static void refuse_closes_the_port(void)
{
    start();
    command("refuse on");
    CU_ASSERT_EQUAL(call("GET", "/ping", NULL)->status, 0);
    command("refuse off");
    expect(call("GET", "/streams", NULL), 200, 0); /* the login still holds */
    command("refuse 200");
    CU_ASSERT_EQUAL(call("GET", "/ping", NULL)->status, 0);
    CU_ASSERT_TRUE(mi_wait_port(target_port(), 2000));
    expect(call("GET", "/ping", NULL), 200, 0);
}

static void pause_stands_still(void)
{
    start();
    command("pause 300");
    uint64_t began = mi_monotonic_ms();
    expect(call("GET", "/ping", NULL), 200, 0);
    CU_ASSERT_TRUE(mi_monotonic_ms() - began >= 250);
}

static void logins_expire(void)
{
    start();
    command("expire-tokens");
    expect(call("GET", "/streams", NULL), 401, 0);
    command("token-lifetime 1");
    CU_ASSERT_TRUE(target_login());
    mi_sleep_ms(1100);
    expect(call("GET", "/streams", NULL), 401, 0);
    command("token-lifetime 3600");
    CU_ASSERT_TRUE(target_login());
    expect(call("GET", "/streams", NULL), 200, 0);
}

static void dump_and_expire(void)
{
    char line[100];
    start();
    expect(produce_many(stream, "t", 0, 10, 20), 201, 0);
    snprintf(line, sizeof line, "dump %s t", stream);
    CU_ASSERT_STRING_EQUAL(admin(line), "ok messages=10 0=10");
    snprintf(line, sizeof line, "expire %s t 0 4", stream);
    command(line);
    CU_ASSERT_EQUAL(stored(), 6);
    CU_ASSERT_EQUAL(offset_at(poll_query(stream, "t", "kind=offset&value=0"), 0), 4);
    CU_ASSERT_PTR_NOT_NULL(strstr(admin("stats"), " messages="));
}

/* The 33rd unanswered write of a token is refused: here 40 connections wait for one slow answer each. */
static void too_many_unanswered_writes_are_429(void)
{
    enum { CONNECTIONS = 40 };
    int fds[CONNECTIONS], refused = 0;
    char request[4096];
    static const char body[] =
        "{\"partitioning\":{\"kind\":\"balanced\",\"value\":\"\"},\"messages\":[{\"payload\":\"YQ==\"}]}";
    start();
    command("on produce delay 400 always");
    int len = snprintf(
        request, sizeof request,
        "POST /streams/%s/topics/t/messages HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        "Connection: close\r\nAuthorization: Bearer %s\r\nContent-Length: %zu\r\n\r\n%s",
        stream, target_token(), sizeof body - 1, body);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(target_port())};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int i = 0; i < CONNECTIONS; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM, 0);
        CU_ASSERT_EQUAL(connect(fds[i], (struct sockaddr *)&address, sizeof address), 0);
        CU_ASSERT_EQUAL(write(fds[i], request, (size_t)len), len);
    }
    for (int i = 0; i < CONNECTIONS; i++) {
        char answer[1024] = "";
        CU_ASSERT_TRUE(read(fds[i], answer, sizeof answer - 1) > 0);
        refused += strncmp(answer, "HTTP/1.1 429", 12) == 0;
        close(fds[i]);
    }
    command("clear");
    CU_ASSERT_EQUAL(refused, CONNECTIONS - 32);
    CU_ASSERT_EQUAL(stored(), 32);
}

static CU_TestInfo tests[] = {
    {"bad commands are errors", bad_commands_are_errors},
    {"answers without effect", answers_without_effect},
    {"counts and groups bound a rule", counts_and_groups_bound_a_rule},
    {"a 504 can have its effect, or have it late", a_504_can_have_its_effect_or_have_it_late},
    {"a cut has effect before, after or late", a_cut_has_effect_before_after_or_late},
    {"delays come before or after the effect", delays_come_before_or_after_the_effect},
    {"broken answers", broken_answers},
    {"members not to need or know", members_that_a_client_must_not_need_or_know},
    {"poison is refused", poison_is_refused},
    {"new partitions can be slow to come", new_partitions_can_be_slow_to_come},
    {"kill loses the tail and all logins", kill_loses_the_tail_and_all_logins},
    {"refuse closes the port", refuse_closes_the_port},
    {"pause stands still", pause_stands_still},
    {"logins expire", logins_expire},
    {"dump and expire", dump_and_expire},
    {"too many unanswered writes are 429", too_many_unanswered_writes_are_429},
    CU_TEST_INFO_NULL};

int main(int argc, char **argv)
{
    if (argc < 2 || !target_choose("devserver", "0.9", argv[1]) || !target_start())
        return 2;
    int rc = mi_suite_run("devserver faults", tests, argc - 1, argv + 1);
    return target_end() ? rc : 1;
}
