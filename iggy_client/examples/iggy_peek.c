/*
 * iggy_peek: a small native Iggy client, and an example of iggy_client: shows what a server holds, reads
 * messages, sends one.
 *
 *   iggy_peek URL USER PASSWORD list
 *   iggy_peek URL USER PASSWORD poll STREAM TOPIC [COUNT]                   the newest COUNT of every
 * partition (default 3) iggy_peek URL USER PASSWORD send STREAM TOPIC PARTITION TEXT [NAME=VALUE ...]   with
 * string headers iggy_peek URL USER PASSWORD count STREAM TOPIC                          messages in all
 * partitions, a number
 */
#include "iggy_client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct call {
    struct iggy_client *client;
    bool done;
    int status; /* of the program */
    char streams[256][256];
    size_t stream_count;
    uint32_t partitions;
    uint64_t messages;
};

static struct iggy_span span(const char *text)
{
    struct iggy_span s = {(const uint8_t *)text, strlen(text)};
    return s;
}

static int wait_for(struct call *call)
{
    while (!call->done)
        iggy_client_drive(call->client, 1000, NULL, 0);
    call->done = false;
    return call->status;
}

/* Notes the end of a call; true when it went well. */
static bool ended(struct call *call, const struct iggy_result *result)
{
    call->done = true;
    if (result->kind == IGGY_OK)
        return true;
    fprintf(stderr, "iggy_peek: %s\n", result->text);
    call->status = 1;
    return false;
}

static void on_done(void *arg, const struct iggy_result *result)
{
    ended(arg, result);
}

/* ---- list ---- */

static void on_streams(void *arg, const struct iggy_result *result, const struct iggy_stream *streams,
                       size_t count)
{
    struct call *call = arg;
    if (!ended(call, result))
        return;
    for (size_t i = 0; i < count && call->stream_count < 256; i++)
        snprintf(call->streams[call->stream_count++], 256, "%.*s", (int)streams[i].name.len,
                 (const char *)streams[i].name.data);
}

struct names {
    struct call *call;
    char topics[256][256];
    size_t count;
};

static void on_stream(void *arg, const struct iggy_result *result, const struct iggy_stream *stream)
{
    struct names *names = arg;
    if (!ended(names->call, result))
        return;
    for (uint32_t i = 0; i < stream->topics_count && names->count < 256; i++)
        snprintf(names->topics[names->count++], 256, "%.*s", (int)stream->topics[i].name.len,
                 (const char *)stream->topics[i].name.data);
}

static void on_topic(void *arg, const struct iggy_result *result, const struct iggy_topic *topic)
{
    struct call *call = arg;
    if (!ended(call, result))
        return;
    call->partitions = topic->partitions_count;
    call->messages = topic->messages_count;
    for (uint32_t p = 0; p < topic->partitions_count; p++)
        printf("    partition %-3u %8" PRIu64 " messages\n", topic->partitions[p].id,
               topic->partitions[p].messages_count);
}

static int list_stream(struct call *call, const char *stream)
{
    struct names *names = calloc(1, sizeof *names);
    if (!names)
        return 1;
    names->call = call;
    iggy_get_stream(call->client, span(stream), on_stream, names);
    int status = wait_for(call);
    for (size_t t = 0; t < names->count && status == 0; t++) {
        printf("  %s / %s\n", stream, names->topics[t]);
        iggy_get_topic(call->client, span(stream), span(names->topics[t]), on_topic, call);
        status = wait_for(call);
    }
    free(names);
    return status;
}

static int list(struct call *call)
{
    iggy_get_streams(call->client, on_streams, call);
    int status = wait_for(call);
    for (size_t i = 0; i < call->stream_count && status == 0; i++)
        status = list_stream(call, call->streams[i]);
    return status;
}

/* ---- poll and count ---- */

static void on_quiet_topic(void *arg, const struct iggy_result *result, const struct iggy_topic *topic)
{
    struct call *call = arg;
    if (!ended(call, result))
        return;
    call->partitions = topic->partitions_count;
    call->messages = topic->messages_count;
}

static void print_text(struct iggy_span s)
{
    for (size_t i = 0; i < s.len && i < 100; i++)
        putchar(s.data[i] >= 0x20 && s.data[i] != 0x7f ? s.data[i] : '.');
    if (s.len > 100)
        printf("... (%zu bytes)", s.len);
}

static uint32_t u32le(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Prints the headers of kind string: kind, length, key, kind, length, value. */
static void print_headers(struct iggy_span block)
{
    for (size_t at = 0; at + 10 <= block.len;) {
        uint32_t key_len = u32le(block.data + at + 1);
        const uint8_t *key = block.data + at + 5;
        if (key_len > block.len - at - 10)
            return;
        uint8_t kind = key[key_len];
        uint32_t value_len = u32le(key + key_len + 1);
        if (value_len > block.len - at - 10 - key_len)
            return;
        if (kind == 2)
            printf(" %.*s=%.*s", (int)key_len, (const char *)key, (int)value_len,
                   (const char *)key + key_len + 5);
        at += 10 + key_len + value_len;
    }
}

static void on_polled(void *arg, const struct iggy_result *result, const struct iggy_polled *polled)
{
    if (!ended(arg, result))
        return;
    for (size_t i = 0; i < polled->count; i++) {
        const struct iggy_polled_message *m = &polled->messages[i];
        printf("    partition %u offset %" PRIu64 ":", polled->partition_id, m->offset);
        print_headers(m->headers);
        printf("\n      ");
        print_text(m->payload);
        printf("\n");
    }
}

static int poll_topic(struct call *call, const char *stream, const char *topic, uint32_t count)
{
    iggy_get_topic(call->client, span(stream), span(topic), on_quiet_topic, call);
    int status = wait_for(call);
    for (uint32_t p = 0; p < call->partitions && status == 0; p++) {
        struct iggy_poll poll = {.stream = span(stream),
                                 .topic = span(topic),
                                 .partition_id = p,
                                 .strategy = IGGY_FROM_LAST,
                                 .count = count};
        iggy_poll(call->client, &poll, on_polled, call);
        status = wait_for(call);
    }
    return status;
}

static int count_topic(struct call *call, const char *stream, const char *topic)
{
    iggy_get_topic(call->client, span(stream), span(topic), on_quiet_topic, call);
    int status = wait_for(call);
    if (status == 0)
        printf("%" PRIu64 "\n", call->messages);
    return status;
}

/* ---- send ---- */

static void on_produced(void *arg, const struct iggy_result *result, const struct iggy_produced *produced)
{
    (void)produced;
    ended(arg, result);
}

static size_t put_field(uint8_t *to, uint8_t kind, const char *bytes, size_t len)
{
    to[0] = kind;
    for (int i = 0; i < 4; i++)
        to[1 + i] = (uint8_t)(len >> (8 * i));
    memcpy(to + 5, bytes, len);
    return 5 + len;
}

static struct iggy_span encode_headers(uint8_t *block, size_t cap, char *const *pairs, int count)
{
    size_t len = 0;
    for (int i = 0; i < count; i++) {
        const char *eq = strchr(pairs[i], '=');
        if (!eq || eq == pairs[i] || !eq[1] || len + strlen(pairs[i]) + 10 > cap)
            continue;
        len += put_field(block + len, 2, pairs[i], (size_t)(eq - pairs[i]));
        len += put_field(block + len, 2, eq + 1, strlen(eq + 1));
    }
    return (struct iggy_span){block, len};
}

static int send_one(struct call *call, const char *stream, const char *topic, uint32_t partition,
                    const char *text, char *const *headers, int header_count)
{
    uint8_t block[4096];
    iggy_create_stream(call->client, span(stream), on_done, call);
    if (wait_for(call) != 0)
        return 1;
    struct iggy_topic_options options = {.partitions = partition + 1};
    iggy_create_topic(call->client, span(stream), span(topic), &options, on_done, call);
    if (wait_for(call) != 0)
        return 1;
    struct iggy_batch *batch = iggy_batch_new();
    if (!batch)
        return 1;
    iggy_batch_start(batch, partition);
    struct iggy_id id = {0, 0}; /* zero: the server makes one */
    int status = 1;
    if (iggy_batch_add(batch, id, encode_headers(block, sizeof block, headers, header_count), span(text),
                       span(""))) {
        iggy_produce(call->client, span(stream), span(topic), batch, on_produced, call);
        status = wait_for(call);
    }
    iggy_batch_free(batch);
    return status;
}

static int run(struct call *call, int argc, char **argv)
{
    const char *verb = argv[4];
    if (strcmp(verb, "list") == 0 && argc == 5)
        return list(call);
    if (strcmp(verb, "poll") == 0 && argc >= 7)
        return poll_topic(call, argv[5], argv[6], argc > 7 ? (uint32_t)strtoul(argv[7], NULL, 10) : 3);
    if (strcmp(verb, "count") == 0 && argc == 7)
        return count_topic(call, argv[5], argv[6]);
    if (strcmp(verb, "send") == 0 && argc >= 9)
        return send_one(call, argv[5], argv[6], (uint32_t)strtoul(argv[7], NULL, 10), argv[8], argv + 9,
                        argc - 9);
    fprintf(stderr, "iggy_peek: unknown command %s\n", verb);
    return 2;
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: iggy_peek URL USER PASSWORD list|poll|count|send ...\n");
        return 2;
    }
    char error[256] = "";
    const char *urls[] = {argv[1]};
    struct iggy_options options = {.urls = urls, .url_count = 1, .username = argv[2], .password = argv[3]};
    struct call *call = calloc(1, sizeof *call);
    if (!call)
        return 1;
    call->client = iggy_client_new(&options, error, sizeof error);
    if (!call->client) {
        fprintf(stderr, "iggy_peek: %s\n", error);
        free(call);
        return 1;
    }
    int status = run(call, argc, argv);
    iggy_client_free(call->client);
    free(call);
    return status;
}
