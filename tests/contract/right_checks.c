/*
 * right_checks: who may do what: the table of docs/iggy-compatibility.md, row by row.
 */
#include <stdio.h>
#include <string.h>

#include "call.h"
#include "checks.h"
#include "rights.h"
#include "support/suite.h"
#include "target.h"

/* What one user is tried for, in this order; in a row '+' is allowed, '-' is 403. */
enum {
    SEND_A,
    SEND_B,
    POLL_A,
    POLL_B,
    OFFSET_A,
    TOPIC_A,
    TOPICS,
    STREAM,
    STREAMS,
    NEW_TOPIC,
    NEW_STREAM,
    STATS,
    USERS,
    TRIES
};

struct row {
    const char *global, *stream, *topic; /* the one right that is given */
    const char *want;
};

static const struct row rows[] = {
    {NULL, NULL, NULL, "-------------"},
    {NULL, NULL, "send_messages", "+------------"},
    {NULL, NULL, "poll_messages", "--+-+--------"},
    {NULL, NULL, "read_topic", "--+-++-------"},
    {NULL, NULL, "manage_topic", "+-+-++-------"},
    {NULL, "send_messages", NULL, "++-----------"},
    {NULL, "poll_messages", NULL, "--+++--------"},
    {NULL, "read_topics", NULL, "--+++++------"},
    {NULL, "manage_topics", NULL, "+++++++--+---"},
    {NULL, "read_stream", NULL, "--++++++-----"},
    {NULL, "manage_stream", NULL, "++++++++-+---"},
    {"send_messages", NULL, NULL, "++-----------"},
    {"poll_messages", NULL, NULL, "--+++--------"},
    {"read_topics", NULL, NULL, "--+++++------"},
    {"manage_topics", NULL, NULL, "+++++++--+---"},
    {"read_streams", NULL, NULL, "--+++++++----"},
    {"manage_streams", NULL, NULL, "+++++++++++--"},
    {"read_servers", NULL, NULL, "-----------+-"},
    {"manage_servers", NULL, NULL, "-----------+-"},
    {"read_users", NULL, NULL, "------------+"},
    {"manage_users", NULL, NULL, "------------+"},
};

static struct reply *try(const char *token, const char *stream, int what)
{
    static const char send[] =
        "{\"partitioning\":{\"kind\":\"balanced\",\"value\":\"\"},\"messages\":[{\"payload\":\"YQ==\"}]}";
    static const char topic[] =
        "{\"name\":\"made\",\"partitions_count\":1,\"compression_algorithm\":\"none\","
        "\"message_expiry\":0,\"max_topic_size\":0}";
    static const struct {
        const char *method, *path, *body; /* %s: the stream */
    } tries[TRIES] = {[SEND_A] = {"POST", "/streams/%s/topics/a/messages", send},
                      [SEND_B] = {"POST", "/streams/%s/topics/b/messages", send},
                      [POLL_A] = {"GET", "/streams/%s/topics/a/messages", NULL},
                      [POLL_B] = {"GET", "/streams/%s/topics/b/messages", NULL},
                      [OFFSET_A] = {"PUT", "/streams/%s/topics/a/consumer-offsets",
                                    "{\"consumer_id\":1,\"partition_id\":0,\"offset\":0}"},
                      [TOPIC_A] = {"GET", "/streams/%s/topics/a", NULL},
                      [TOPICS] = {"GET", "/streams/%s/topics", NULL},
                      [STREAM] = {"GET", "/streams/%s", NULL},
                      [STREAMS] = {"GET", "/streams", NULL},
                      [NEW_TOPIC] = {"POST", "/streams/%s/topics", topic},
                      [NEW_STREAM] = {"POST", "/streams", "{\"name\":\"made\"}"},
                      [STATS] = {"GET", "/stats", NULL},
                      [USERS] = {"GET", "/users", NULL}};
    char path[200];
    const char *format = tries[what].path, *at = strstr(format, "%s");
    if (at)
        snprintf(path, sizeof path, "%.*s%s%s", (int)(at - format), format, stream, at + 2);
    else
        snprintf(path, sizeof path, "%s", format);
    return call_as(token, tries[what].method, path, tries[what].body);
}

/* Stream with topics a (number 0) and b that hold a message each; *id is the stream's number. */
static const char *start(int *id)
{
    const char *stream = fresh_stream();
    make_topic(stream, "a", 1);
    make_topic(stream, "b", 1);
    expect(produce_many(stream, "a", 0, 1, 20), 201, 0);
    expect(produce_many(stream, "b", 0, 1, 20), 201, 0);
    expect(poll_query(stream, "a", ""), 200, 0);
    expect(poll_query(stream, "b", ""), 200, 0);
    *id = (int)number_of(callf("GET", NULL, "/streams/%s", stream)->json, "id");
    return stream;
}

static void the_table_of_rights(void)
{
    int id;
    const char *stream = start(&id);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *row = &rows[i];
        char got[TRIES + 1] = "";
        const char *token = user_token("mallory", rights_json(row->global, id, row->stream, row->topic));
        for (int what = 0; what < TRIES; what++) {
            long status = try(token, stream, what)->status;
            got[what] = status == 403 ? '-' : status >= 200 && status < 300 ? '+' : '?';
        }
        if (strcmp(got, row->want) != 0)
            fprintf(stderr, "\n    global %s stream %s topic %s: wanted %s got %s\n", row->global,
                    row->stream, row->topic, row->want, got);
        CU_ASSERT_STRING_EQUAL(got, row->want);
        callf("DELETE", NULL, "/streams/%s/topics/made", stream);
        call("DELETE", "/streams/made", NULL);
    }
    expect(call("DELETE", "/users/mallory", NULL), 204, 0);
}

/* 404 for what is missing, even without any right: so a 403 tells that it exists. */
static void what_is_missing_is_404_for_all(void)
{
    int id;
    const char *stream = start(&id);
    char path[100];
    const char *token = user_token("trent", "null");
    static const char send[] =
        "{\"partitioning\":{\"kind\":\"balanced\",\"value\":\"\"},\"messages\":[{\"payload\":\"YQ==\"}]}";
    expect(call_as(token, "GET", "/streams/missing", NULL), 404, 0);
    snprintf(path, sizeof path, "/streams/%s/topics/missing", stream);
    expect(call_as(token, "GET", path, NULL), 404, 0);
    snprintf(path, sizeof path, "/streams/%s/topics/missing/messages", stream);
    expect(call_as(token, "POST", path, send), 404, 0);
    snprintf(path, sizeof path, "/streams/%s/topics/a/messages?partition_id=9", stream);
    expect(call_as(token, "GET", path, NULL), 403, 41); /* a partition does not count */
    expect(call("DELETE", "/users/trent", NULL), 204, 0);
}

/* The reference says that the right is asked for first: it is not. */
static void fields_are_checked_before_rights(void)
{
    const char *token = user_token("peggy", "null");
    expect(call_as(token, "POST", "/streams", "{\"name\":\"\"}"), 400, 1013);
    expect(call_as(token, "POST", "/streams", "{\"name\":\"peggys\"}"), 403, 41);
    expect(call("DELETE", "/users/peggy", NULL), 204, 0);
}

static void everybody_may_read_himself(void)
{
    const char *token = user_token("victor", "null");
    expect(call_as(token, "GET", "/users/victor", NULL), 200, 0);
    expect(call_as(token, "GET", "/users/iggy", NULL), 403, 41);
    if (!target_is_08())
        CU_ASSERT_STRING_EQUAL(text_of(call_as(token, "GET", "/users/me", NULL)->json, "username"), "victor");
    expect(call("DELETE", "/users/victor", NULL), 204, 0);
}

CU_TestInfo right_checks[] = {{"the table of rights", the_table_of_rights},
                              {"what is missing is 404 for all", what_is_missing_is_404_for_all},
                              {"fields are checked before rights", fields_are_checked_before_rights},
                              {"everybody may read himself", everybody_may_read_himself},
                              CU_TEST_INFO_NULL};
