/* history: the engine on its two threads, against a server that answers what is written down here: what
 * answers of no use come to, cancelling, limits. */
#include "history/history.h"

#include "stub.h"
#include "support/process.h"
#include "support/suite.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WAIT_MS = 30000 };

static struct {
    char dir[256];
    struct stub *stub;
    struct mi_config *config;
    struct mi_metrics *metrics;
    struct iggy_client *client;
    struct mi_history *history;
    pthread_t thread;
    atomic_bool stop;
} rig;

static void complain(void *context, const struct mi_finding *f)
{
    (void)context;
    if (f->refused)
        printf("\n    %s: %s\n", f->key, f->sentence);
}

static void log_line(void *context, enum mi_log_level level, const char *line)
{
    (void)context, (void)level, (void)line;
}
static const struct mi_log silent = {log_line, NULL};

static void nothing(void *context)
{
    (void)context;
}

static void wake_bridge(void *context)
{
    (void)context;
    iggy_client_wake(rig.client);
}

static void *bridge_thread(void *arg)
{
    while (!atomic_load(&rig.stop)) {
        uint64_t now = mi_now_ns(&mi_clock_system), due = mi_history_step(rig.history, now);
        uint64_t wait_ms = due > now ? (due - now) / MI_NS_PER_MS + 1 : 0;
        iggy_client_drive(rig.client, wait_ms < 50 ? (uint32_t)wait_ms : 50, NULL, 0);
    }
    return arg;
}

/* The configuration, with that many further routes r/0/#, r/1/#, ... */
static void write_config(const char *path, unsigned further)
{
    FILE *f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fprintf(f,
            "{\"iggy\":{\"url\":\"%s\",\"username\":\"bob\",\"password_file\":\"%s/password\"},"
            "\"journal\":{\"directory\":\"%s\"},\"broker\":{\"acl\":\"none\"},"
            "\"history\":{\"page\":4,\"max_time\":\"20s\",\"max_requests\":3},\"routes\":["
            "{\"name\":\"n\",\"direction\":\"in\",\"stream\":\"s\",\"topic\":\"t\","
            "\"mqtt_topic\":\"out/{topic}\",\"create\":false}",
            stub_url(rig.stub), rig.dir, rig.dir);
    for (unsigned i = 0; i < further; i++)
        fprintf(f,
                ",{\"name\":\"r%u\",\"filter\":\"r/%u/#\",\"direction\":\"out\",\"stream\":\"r%u\","
                "\"topic\":\"t\",\"create\":false}",
                i, i, i);
    fputs("]}", f);
    fclose(f);
}

static void start_with(const struct stub_rule *rules, unsigned further)
{
    char path[300], password[300];
    struct mi_error err;
    rig.stub = stub_start(rules);
    CU_ASSERT_TRUE_FATAL(mi_temp_dir(rig.dir, sizeof rig.dir));
    snprintf(path, sizeof path, "%s/iggy.json", rig.dir);
    write_config(path, further);
    snprintf(password, sizeof password, "%s/password", rig.dir);
    CU_ASSERT_TRUE_FATAL(mi_write_file(password, "secret") && chmod(password, 0600) == 0);
    rig.config = mi_config_from_file(path, complain, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(rig.config);
    const char *urls[] = {stub_url(rig.stub)};
    struct iggy_options client = {.urls = urls, .url_count = 1, .username = "bob", .password = "secret"};
    rig.client = iggy_client_new(&client, NULL, 0);
    rig.metrics = mi_metrics_new();
    struct mi_history_options o = {.config = rig.config,
                                   .client = rig.client,
                                   .metrics = rig.metrics,
                                   .clock = &mi_clock_system,
                                   .log = &silent,
                                   .wake_main = nothing,
                                   .wake_bridge = wake_bridge};
    rig.history = mi_history_new(&o, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(rig.history);
    atomic_store(&rig.stop, false);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&rig.thread, NULL, bridge_thread, NULL), 0);
}

static void start(const struct stub_rule *rules)
{
    start_with(rules, 0);
}

static void end(void)
{
    atomic_store(&rig.stop, true);
    iggy_client_wake(rig.client);
    pthread_join(rig.thread, NULL);
    mi_history_free(rig.history);
    iggy_client_free(rig.client);
    mi_metrics_free(rig.metrics);
    mi_config_release(rig.config);
    stub_stop(rig.stub);
    mi_remove_tree(rig.dir);
}

static mi_history_id ask_as(const char *client_id, const char *filter, const char **why)
{
    struct mi_history_ask ask = {.client_id = mi_span_of(client_id), .filter = mi_span_of(filter), .qos = 1};
    return mi_history_begin(rig.history, &ask, why);
}

static mi_history_id ask(const char *filter)
{
    const char *why;
    mi_history_id id = ask_as("c", filter, &why);
    CU_ASSERT_NOT_EQUAL(id, 0);
    return id;
}

/* All that comes for a request: payloads in a row, then the marker's JSON. Static. */
static const char *answer_of(mi_history_id id)
{
    static char text[4096];
    text[0] = '\0';
    for (uint64_t end_ms = mi_monotonic_ms() + WAIT_MS; mi_monotonic_ms() < end_ms;) {
        struct mi_history_item *item = mi_history_take(rig.history, 1);
        if (!item) {
            mi_sleep_ms(1);
            continue;
        }
        bool last = item->last && item->id == id;
        if (item->id == id)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%.*s ", (int)item->payload_len,
                     (const char *)item->payload);
        mi_history_item_free(item);
        if (last)
            return text;
    }
    return "no answer";
}

static void expect(mi_history_id id, const char *text)
{
    const char *got = answer_of(id);
    CU_ASSERT_STRING_EQUAL(got, text);
    if (strcmp(got, text) != 0)
        printf("\n    got:    %s\n    wanted: %s\n", got, text);
}

/* ---- what the server says ---- */

#define TOPIC(created, end)                                                                              \
    stub_json(200, "{\"id\":1,\"created_at\":" created ",\"name\":\"t\",\"size\":\"1 KB\","              \
                   "\"message_expiry\":0,\"compression_algorithm\":\"none\",\"max_topic_size\":0,"       \
                   "\"messages_count\":3,\"partitions_count\":1,\"partitions\":[{\"id\":0,"              \
                   "\"created_at\":1,\"segments_count\":1,\"current_offset\":" end ",\"size\":\"1 KB\"," \
                   "\"messages_count\":3}]}")
/* A native message whose payload is one digit of base64 text "MA==" (0), "MQ==" (1), "Mg==" (2). */
#define MESSAGE(offset, payload)                                                                 \
    "{\"header\":{\"checksum\":1,\"id\":7,\"offset\":" offset ",\"timestamp\":1785510001000000," \
    "\"origin_timestamp\":1785510000999000,\"user_headers_length\":0,\"payload_length\":1,"      \
    "\"reserved\":0},\"payload\":\"" payload "\",\"user_headers\":[]}"
#define POLLED(partition, messages)               \
    stub_json(200, "{\"partition_id\":" partition \
                   ",\"current_offset\":2,\"count\":3,\"messages\":[" messages "]}")
#define THREE MESSAGE("0", "MA==") "," MESSAGE("1", "MQ==") "," MESSAGE("2", "Mg==")
#define DETAILS                                                              \
    {                                                                        \
        "GET /streams/s/topics/t ", 0, STUB_ANSWER, TOPIC("5", "2"), 0, NULL \
    }
#define POLL "GET /streams/s/topics/t/messages"
#define POLL_AT(offset) POLL "?consumer_id=1&partition_id=0&kind=offset&value=" offset "&"
#define ALL "0 1 2 {\"messages\":3,\"skipped\":0,\"complete\":true} "

static void answers_of_no_use_are_asked_again(void)
{
    const struct stub_rule rules[] = {STUB_LOGIN,
                                      STUB_ME,
                                      DETAILS,
                                      {POLL, 1, STUB_ANSWER, POLLED("5", THREE), 0, NULL},
                                      {POLL, 1, STUB_ANSWER, stub_json(200, "{\"partition_id\":0,"), 0, NULL},
                                      {POLL, 1, STUB_CUT, NULL, 0, NULL},
                                      {POLL, 1, STUB_ANSWER, stub_json(504, "{}"), 0, NULL},
                                      {POLL, 0, STUB_ANSWER, POLLED("0", THREE), 0, NULL},
                                      {.request = NULL}};
    start(rules);
    expect(ask("$iggy/first/out/t"), ALL);
    expect(ask("$iggy/last-3/out/#"), ALL);
    expect(ask("$iggy/last-2/out/#"), "1 2 {\"messages\":2,\"skipped\":0,\"complete\":true} ");
    end();
}

static void a_server_that_never_makes_sense_ends_with_a_reason(void)
{
    const struct stub_rule rules[] = {
        STUB_LOGIN, STUB_ME, DETAILS, {POLL, 0, STUB_ANSWER, POLLED("5", THREE), 0, NULL}, {.request = NULL}};
    start(rules);
    const char *got = answer_of(ask("$iggy/first/out/t"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(got, "\"reason\":\"iggy\",\"text\":\"Iggy answers for another partition\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(got, "\"next\":\"c_"));
    end();
}

/* The same three messages, whatever is asked for. */
static void a_server_that_does_not_move_on_ends_with_a_reason(void)
{
    const struct stub_rule rules[] = {STUB_LOGIN,
                                      STUB_ME,
                                      {"GET /streams/s/topics/t ", 0, STUB_ANSWER, TOPIC("5", "99"), 0, NULL},
                                      {POLL, 0, STUB_ANSWER, POLLED("0", THREE), 0, NULL},
                                      {.request = NULL}};
    start(rules);
    CU_ASSERT_PTR_NOT_NULL(strstr(answer_of(ask("$iggy/first/out/t")), "other messages"));
    CU_ASSERT_PTR_NOT_NULL(strstr(answer_of(ask("$iggy/last-3/out/t")), "other messages"));
    CU_ASSERT_TRUE(stub_count(rig.stub, POLL) < 20);
    end();
}

/* The past ends where the tail was, whatever came meanwhile. */
static void the_tail_is_the_end(void)
{
    const struct stub_rule rules[] = {STUB_LOGIN,
                                      STUB_ME,
                                      {"GET /streams/s/topics/t ", 0, STUB_ANSWER, TOPIC("5", "1"), 0, NULL},
                                      {POLL, 0, STUB_ANSWER, POLLED("0", THREE), 0, NULL},
                                      {.request = NULL}};
    start(rules);
    expect(ask("$iggy/first/out/t"), "0 1 {\"messages\":2,\"skipped\":0,\"complete\":true} ");
    expect(ask("$iggy/last-5/out/t"), "0 1 {\"messages\":2,\"skipped\":0,\"complete\":true} ");
    end();
}

static void who_may_not_read_is_told(void)
{
    const struct stub_rule rules[] = {STUB_LOGIN,
                                      STUB_ME,
                                      DETAILS,
                                      {POLL, 0, STUB_ANSWER, stub_json(403, "{}"), 0, NULL},
                                      {.request = NULL}};
    start(rules);
    CU_ASSERT_PTR_NOT_NULL(strstr(answer_of(ask("$iggy/first/out/t")), "may not read this topic"));
    end();
}

/* The user may poll and nothing else: as many partitions as the route says, their tails are asked for. */
static void without_the_right_to_see_details(void)
{
    const struct stub_rule rules[] = {
        STUB_LOGIN,
        STUB_ME,
        {"GET /streams/s/topics/t ", 0, STUB_ANSWER, stub_json(403, "{}"), 0, NULL},
        {POLL "?consumer_id=1&partition_id=0&kind=last", 0, STUB_ANSWER, POLLED("0", MESSAGE("2", "Mg==")), 0,
         NULL},
        {POLL "?consumer_id=1&partition_id=0", 0, STUB_ANSWER, POLLED("0", THREE), 0, NULL},
        {POLL, 0, STUB_ANSWER, stub_json(404, "{}"), 0, NULL},
        {.request = NULL}};
    start(rules);
    expect(ask("$iggy/first/out/t"), ALL);
    end();
}

static void a_topic_that_is_not_there_is_an_empty_past(void)
{
    const struct stub_rule rules[] = {STUB_LOGIN, STUB_ME, {.request = NULL}}; /* 404 for all else */
    start(rules);
    expect(ask("$iggy/first/out/t"), "{\"messages\":0,\"skipped\":0,\"complete\":true} ");
    expect(ask("$iggy/last-5/out/t"), "{\"messages\":0,\"skipped\":0,\"complete\":true} ");
    end();
}

/* The page holds four: the fifth is behind the cursor, which no longer fits when the topic was made again. */
static void a_cursor_of_a_topic_that_was_made_again(void)
{
    const struct stub_rule rules[] = {
        STUB_LOGIN,
        STUB_ME,
        {"GET /streams/s/topics/t ", 2, STUB_ANSWER, TOPIC("5000000", "9"), 0, NULL},
        {"GET /streams/s/topics/t ", 0, STUB_ANSWER, TOPIC("9000000", "9"), 0, NULL},
        {POLL_AT("0"), 0, STUB_ANSWER, POLLED("0", THREE "," MESSAGE("3", "MQ==") "," MESSAGE("4", "Mg==")),
         0, NULL},
        {POLL_AT("4"), 0, STUB_ANSWER, POLLED("0", MESSAGE("4", "Mg==")), 0, NULL},
        {POLL, 0, STUB_ANSWER, POLLED("0", ""), 0, NULL},
        {.request = NULL}};
    char filter[1200], *found;
    start(rules);
    snprintf(filter, sizeof filter, "%s", answer_of(ask("$iggy/first/out/t")));
    CU_ASSERT_EQUAL(strncmp(filter, "0 1 2 1 {\"messages\":4,", 22), 0);
    found = strstr(filter, "\"next\":\"");
    CU_ASSERT_PTR_NOT_NULL_FATAL(found);
    found += 8;
    *strchr(found, '"') = '\0';
    char again[1300];
    snprintf(again, sizeof again, "$iggy/%s/out/t", found);
    CU_ASSERT_EQUAL(strncmp(answer_of(ask(again)), "2 {\"messages\":1,", 16), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(answer_of(ask(again)), "made again"));
    end();
}

static void cancelled_requests_answer_nothing_and_make_room(void)
{
    const struct stub_rule rules[] = {STUB_LOGIN,
                                      STUB_ME,
                                      DETAILS,
                                      {POLL, 0, STUB_ANSWER, POLLED("0", THREE), 300, NULL},
                                      {.request = NULL}};
    const char *why;
    start(rules);
    mi_history_id ids[3];
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 3; i++)
            ids[i] = ask("$iggy/first/out/t");
        CU_ASSERT_EQUAL(ask_as("d", "$iggy/first/out/t", &why), 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(why, "too many"));
        if (round % 2)
            mi_sleep_ms(5); /* the bridge thread may have begun */
        for (int i = 0; i < 3; i++)
            mi_history_cancel(rig.history, ids[i]);
        mi_history_cancel(rig.history, 12345);
    }
    expect(ask("$iggy/first/out/t"), ALL);
    CU_ASSERT_PTR_NULL(mi_history_take(rig.history, 10));
    CU_ASSERT_EQUAL(mi_metrics_get(rig.metrics, MI_G_HISTORY_CANCELLED), 60);
    end();
}

static void what_waits_for_a_cancelled_request_is_dropped(void)
{
    const struct stub_rule rules[] = {
        STUB_LOGIN, STUB_ME, DETAILS, {POLL, 0, STUB_ANSWER, POLLED("0", THREE), 0, NULL}, {.request = NULL}};
    start(rules);
    mi_history_id id = ask("$iggy/first/out/t");
    for (uint64_t end_ms = mi_monotonic_ms() + WAIT_MS;
         mi_history_idle(rig.history) && mi_monotonic_ms() < end_ms;)
        mi_sleep_ms(1);
    CU_ASSERT_FALSE(mi_history_idle(rig.history));
    mi_sleep_ms(100); /* the marker is there too */
    mi_history_cancel(rig.history, id);
    CU_ASSERT_TRUE(mi_history_idle(rig.history));
    end();
}

static void what_is_denied_is_not_counted(void)
{
    const struct stub_rule rules[] = {
        STUB_LOGIN, STUB_ME, DETAILS, {POLL, 0, STUB_ANSWER, POLLED("0", THREE), 0, NULL}, {.request = NULL}};
    start(rules);
    mi_history_id id = ask("$iggy/first/out/t");
    struct mi_history_item *item = NULL;
    for (uint64_t end_ms = mi_monotonic_ms() + WAIT_MS; !item && mi_monotonic_ms() < end_ms;)
        item = mi_history_take(rig.history, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(item);
    mi_history_item_free(item);
    mi_history_note_denied(rig.history, id);
    expect(id, "1 2 {\"messages\":2,\"skipped\":0,\"complete\":true} ");
    end();
}

/* 10,000 routes less the one of the other tests. */
static void a_filter_that_reaches_ten_thousand_routes(void)
{
    const struct stub_rule rules[] = {STUB_LOGIN, STUB_ME, {.request = NULL}};
    start_with(rules, 9999);
    CU_ASSERT_PTR_NOT_NULL(strstr(answer_of(ask("$iggy/first/r/#")), "too many topics"));
    CU_ASSERT_PTR_NOT_NULL(strstr(answer_of(ask("$iggy/last-9/#")), "too many topics"));
    CU_ASSERT_PTR_NOT_NULL(strstr(answer_of(ask("$iggy/first/elsewhere/#")), "no route"));
    expect(ask("$iggy/first/r/777/x"), "{\"messages\":0,\"skipped\":0,\"complete\":true} ");
    CU_ASSERT_EQUAL(stub_count(rig.stub, "GET /streams/r777/"), 1);
    CU_ASSERT_EQUAL(mi_metrics_get(rig.metrics, MI_G_HISTORY_REFUSED), 3);
    end();
}

static void a_reload_meanwhile(void)
{
    const struct stub_rule rules[] = {STUB_LOGIN,
                                      STUB_ME,
                                      DETAILS,
                                      {POLL, 0, STUB_ANSWER, POLLED("0", THREE), 20, NULL},
                                      {.request = NULL}};
    start(rules);
    for (int i = 0; i < 20; i++) {
        mi_history_id id = ask("$iggy/first/out/t");
        mi_history_set_config(rig.history, rig.config);
        expect(id, ALL);
    }
    end();
}

static CU_TestInfo tests[] = {
    {"answers of no use are asked again", answers_of_no_use_are_asked_again},
    {"a server that never makes sense ends with a reason",
     a_server_that_never_makes_sense_ends_with_a_reason},
    {"a server that does not move on ends with a reason", a_server_that_does_not_move_on_ends_with_a_reason},
    {"the tail is the end", the_tail_is_the_end},
    {"who may not read is told", who_may_not_read_is_told},
    {"without the right to see details", without_the_right_to_see_details},
    {"a topic that is not there is an empty past", a_topic_that_is_not_there_is_an_empty_past},
    {"a cursor of a topic that was made again", a_cursor_of_a_topic_that_was_made_again},
    {"cancelled requests answer nothing and make room", cancelled_requests_answer_nothing_and_make_room},
    {"what waits for a cancelled request is dropped", what_waits_for_a_cancelled_request_is_dropped},
    {"what is denied is not counted", what_is_denied_is_not_counted},
    {"a filter that reaches ten thousand routes", a_filter_that_reaches_ten_thousand_routes},
    {"a reload meanwhile", a_reload_meanwhile},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("history_engine", tests)
