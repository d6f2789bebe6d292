#include "calls.h"

#include "support/process.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void call_clear(struct call *call)
{
    free(call->messages);
    free(call->bytes);
    memset(call, 0, sizeof *call);
}

bool call_wait(struct iggy_client *client, struct call *call)
{
    uint64_t end = mi_monotonic_ms() + 10000;
    while (!call->ended && mi_monotonic_ms() < end)
        iggy_client_drive(client, 100, NULL, 0);
    if (!call->ended)
        CU_FAIL("a call did not end");
    CU_ASSERT_TRUE(call->ended <= 1);
    return call->ended == 1;
}

struct iggy_span s(const char *text)
{
    return (struct iggy_span){(const uint8_t *)text, strlen(text)};
}

static struct call *note(void *arg, const struct iggy_result *result)
{
    struct call *call = arg;
    call_clear(call);
    call->ended++;
    call->result = *result;
    return call;
}

static void keep_text(char *to, size_t size, struct iggy_span text)
{
    snprintf(to, size, "%.*s", (int)text.len, text.data ? (const char *)text.data : "");
}

void on_done(void *arg, const struct iggy_result *result)
{
    note(arg, result);
}

void on_produced(void *arg, const struct iggy_result *result, const struct iggy_produced *produced)
{
    note(arg, result)->produced = *produced;
}

static struct iggy_span keep_bytes(uint8_t **to, struct iggy_span from)
{
    struct iggy_span kept = {*to, from.len};
    if (from.len)
        memcpy(*to, from.data, from.len);
    *to += from.len;
    return kept;
}

void on_polled(void *arg, const struct iggy_result *result, const struct iggy_polled *polled)
{
    struct call *call = note(arg, result);
    call->polled = *polled;
    call->polled.messages = NULL;
    size_t size = 1;
    for (size_t i = 0; i < polled->count; i++)
        size += polled->messages[i].headers.len + polled->messages[i].payload.len;
    call->bytes = malloc(size);
    call->messages = calloc(polled->count + 1, sizeof *call->messages);
    uint8_t *to = call->bytes;
    for (size_t i = 0; i < polled->count; i++) {
        call->messages[i] = polled->messages[i];
        call->messages[i].headers = keep_bytes(&to, polled->messages[i].headers);
        call->messages[i].payload = keep_bytes(&to, polled->messages[i].payload);
    }
}

void on_topic(void *arg, const struct iggy_result *result, const struct iggy_topic *topic)
{
    struct call *call = note(arg, result);
    call->topic = *topic;
    keep_text(call->text, sizeof call->text, topic->name);
    for (uint32_t i = 0; topic->partitions && i < topic->partitions_count && i < 16; i++)
        call->partitions[i] = topic->partitions[i];
}

void on_stream(void *arg, const struct iggy_result *result, const struct iggy_stream *stream)
{
    struct call *call = note(arg, result);
    call->stream = *stream;
    keep_text(call->text, sizeof call->text, stream->name);
    if (stream->topics && stream->topics_count)
        call->topic = stream->topics[0];
}

void on_streams(void *arg, const struct iggy_result *result, const struct iggy_stream *streams, size_t count)
{
    struct call *call = note(arg, result);
    call->streams = count;
    if (count) {
        call->stream = streams[0];
        keep_text(call->text, sizeof call->text, streams[0].name);
    }
}

void on_offset(void *arg, const struct iggy_result *result, const struct iggy_offset *offset)
{
    note(arg, result)->offset = *offset;
}

void on_user(void *arg, const struct iggy_result *result, const struct iggy_user *user)
{
    struct call *call = note(arg, result);
    call->user = *user;
    keep_text(call->text, sizeof call->text, user->username);
    keep_text(call->permissions, sizeof call->permissions, user->permissions);
}

void on_verdict(void *arg, const struct iggy_result *result, enum iggy_verdict verdict,
                const struct iggy_user *user)
{
    struct call *call = arg;
    on_user(arg, result, user);
    call->verdict = verdict;
}

void on_stats(void *arg, const struct iggy_result *result, const struct iggy_stats *stats)
{
    struct call *call = note(arg, result);
    call->stats = *stats;
    keep_text(call->text, sizeof call->text, stats->version);
}

void on_token(void *arg, const struct iggy_result *result, const char *token)
{
    struct call *call = note(arg, result);
    snprintf(call->text, sizeof call->text, "%s", token);
}
