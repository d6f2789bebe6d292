#include "tool/online_ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_GRANTS = 4096 };
/* No topic has so many; 0.8 looks at the lowest 20 bits only, which is no partition either. */
#define NO_PARTITION 0xfffffffeu

struct mi_asking {
    struct iggy_client *client;
    bool done;
    struct iggy_result result;
    uint32_t id; /* of a stream */
    uint32_t global;
    struct iggy_grant grants[MAX_GRANTS];
    size_t grant_count;
};

struct mi_asking *mi_asking_new(const struct mi_config *c)
{
    struct mi_asking *a = calloc(1, sizeof *a);
    char error[512] = "memory is out";
    const struct iggy_options options = {
        .urls = c->urls,
        .url_count = c->url_count,
        .username = c->username,
        .password = c->password,
        .token = c->token,
        .ca_file = c->ca_file,
        .client_cert_file = c->client_cert_file,
        .client_key_file = c->client_key_file,
        .connect_timeout_ms = c->connect_timeout_ms,
        .request_timeout_ms = c->request_timeout_ms,
    };
    if (a && (a->client = iggy_client_new(&options, error, sizeof error)) != NULL)
        return a;
    fprintf(stderr, "%s\n", error);
    free(a);
    return NULL;
}

void mi_asking_free(struct mi_asking *a)
{
    if (a)
        iggy_client_free(a->client);
    free(a);
}

const char *mi_asking_why(const struct mi_asking *a)
{
    return a->result.text;
}

/* ---- answers ---- */

static struct mi_asking *answered(void *arg, const struct iggy_result *result)
{
    struct mi_asking *a = arg;
    a->result = *result;
    a->done = true;
    return a;
}

static void on_grant(void *arg, const struct iggy_grant *grant)
{
    struct mi_asking *a = arg;
    if (grant->scope == IGGY_SCOPE_ALL)
        a->global = grant->rights;
    else if (a->grant_count < MAX_GRANTS)
        a->grants[a->grant_count++] = *grant;
}

static void on_me(void *arg, const struct iggy_result *result, const struct iggy_user *user)
{
    iggy_permissions_read(user->permissions, on_grant, answered(arg, result));
}

static void on_streams(void *arg, const struct iggy_result *result, const struct iggy_stream *streams,
                       size_t count)
{
    (void)streams;
    (void)count;
    answered(arg, result);
}

static void on_users(void *arg, const struct iggy_result *result, const struct iggy_user *users, size_t count)
{
    (void)users;
    (void)count;
    answered(arg, result);
}

static void on_stats(void *arg, const struct iggy_result *result, const struct iggy_stats *stats)
{
    (void)stats;
    answered(arg, result);
}

static void on_stream(void *arg, const struct iggy_result *result, const struct iggy_stream *stream)
{
    answered(arg, result)->id = stream->id;
}

static void on_topic(void *arg, const struct iggy_result *result, const struct iggy_topic *topic)
{
    (void)topic;
    answered(arg, result);
}

static void on_polled(void *arg, const struct iggy_result *result, const struct iggy_polled *polled)
{
    (void)polled;
    answered(arg, result);
}

static void on_produced(void *arg, const struct iggy_result *result, const struct iggy_produced *produced)
{
    (void)produced;
    answered(arg, result);
}

/* ---- questions ---- */

static bool wait_for(struct mi_asking *a, iggy_request request)
{
    if (request == 0) {
        a->result = (struct iggy_result){.kind = IGGY_LOCAL, .text = "memory is out"};
        return false;
    }
    while (!a->done)
        iggy_client_drive(a->client, 1000, NULL, 0);
    return a->result.kind == IGGY_OK;
}

static enum mi_may may(struct mi_asking *a, iggy_request request)
{
    if (wait_for(a, request))
        return MI_MAY;
    return a->result.http_status == 403   ? MI_MAY_NOT
           : a->result.http_status == 404 ? MI_MAY_MISSING
                                          : MI_MAY_UNKNOWN;
}

static struct iggy_client *ask(struct mi_asking *a)
{
    a->done = false;
    return a->client;
}

static struct iggy_span span(struct mi_span s)
{
    return (struct iggy_span){s.data, s.len};
}

bool mi_ask_me(struct mi_asking *a)
{
    return wait_for(a, iggy_get_me(ask(a), on_me, a));
}

uint32_t mi_asking_global(const struct mi_asking *a)
{
    return a->global;
}

uint32_t mi_asking_on_stream(const struct mi_asking *a, uint32_t stream_id)
{
    for (size_t i = 0; i < a->grant_count; i++)
        if (a->grants[i].scope == IGGY_SCOPE_STREAM && a->grants[i].stream_id == stream_id)
            return a->grants[i].rights;
    return 0;
}

enum mi_may mi_ask_streams(struct mi_asking *a)
{
    return may(a, iggy_get_streams(ask(a), on_streams, a));
}

enum mi_may mi_ask_users(struct mi_asking *a)
{
    return may(a, iggy_get_users(ask(a), on_users, a));
}

enum mi_may mi_ask_stats(struct mi_asking *a)
{
    return may(a, iggy_get_stats(ask(a), on_stats, a));
}

enum mi_may mi_ask_stream(struct mi_asking *a, struct mi_span stream, uint32_t *id)
{
    enum mi_may answer = may(a, iggy_get_stream(ask(a), span(stream), on_stream, a));
    *id = a->id;
    return answer;
}

enum mi_may mi_ask_topic(struct mi_asking *a, struct mi_span stream, struct mi_span topic)
{
    return may(a, iggy_get_topic(ask(a), span(stream), span(topic), on_topic, a));
}

enum mi_may mi_ask_poll(struct mi_asking *a, struct mi_span stream, struct mi_span topic)
{
    const struct iggy_poll poll = {
        .stream = span(stream), .topic = span(topic), .strategy = IGGY_FROM_LAST, .count = 1};
    return may(a, iggy_poll(ask(a), &poll, on_polled, a));
}

/* The right is looked at before the partition: 403, or 404 where there is the right. */
enum mi_may mi_ask_send(struct mi_asking *a, struct mi_span stream, struct mi_span topic)
{
    struct iggy_batch *batch = iggy_batch_new();
    enum mi_may answer = MI_MAY_UNKNOWN;
    if (batch) {
        iggy_batch_start(batch, NO_PARTITION);
        iggy_batch_add(batch, (struct iggy_id){0, 1}, (struct iggy_span){NULL, 0},
                       (struct iggy_span){(const uint8_t *)"x", 1}, (struct iggy_span){NULL, 0});
        answer = may(a, iggy_produce(ask(a), span(stream), span(topic), batch, on_produced, a));
        iggy_batch_free(batch);
    }
    return answer == MI_MAY_MISSING ? MI_MAY : answer == MI_MAY ? MI_MAY_UNKNOWN : answer;
}
