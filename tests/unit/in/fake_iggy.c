#include "fake_iggy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fake fake;

struct fake_request {
    iggy_request id;
    enum fake_kind kind;
    uint64_t effect_ns, due_ns;
    bool done_effect;
    char stream[32], topic[32];
    uint32_t partition, count;
    enum iggy_strategy strategy;
    uint64_t value;
    size_t max_bytes;
    iggy_polled_fn polled;
    iggy_topic_fn topic_done;
    iggy_stream_fn stream_done;
    iggy_streams_fn streams_done;
    void *arg;
    /* the answer */
    struct iggy_result result;
    struct iggy_polled answer;
    struct iggy_polled_message *messages;
    uint8_t *payloads;
    struct iggy_topic *topics;
    struct iggy_partition *partitions;
    struct iggy_stream *streams;
    size_t count_of;
    struct fake_request *next;
};

void fake_begin(void)
{
    fake = (struct fake){.now_ns = 1000000000, .seed = 88172645463325252ull, .slowest_us = 400};
}

static void free_request(struct fake_request *r)
{
    free(r->messages);
    free(r->payloads);
    free(r->topics);
    free(r->partitions);
    free(r->streams);
    free(r);
}

void fake_end(void)
{
    while (fake.requests) {
        struct fake_request *r = fake.requests;
        fake.requests = r->next;
        free_request(r);
    }
    while (fake.topic_count > 0)
        fake_delete(fake.topics[0].stream, fake.topics[0].name);
}

uint64_t fake_random(void)
{
    fake.seed ^= fake.seed << 13;
    fake.seed ^= fake.seed >> 7;
    fake.seed ^= fake.seed << 17;
    return fake.seed;
}

static uint64_t wall_us(void)
{
    return 1700000000000000ull + fake.now_ns / 1000;
}

/* ---- logs ---- */

struct fake_topic *fake_create(const char *stream, const char *topic, uint32_t partitions)
{
    struct fake_topic *t = &fake.topics[fake.topic_count++];
    *t = (struct fake_topic){.created_us = wall_us(), .partition_count = partitions};
    snprintf(t->stream, sizeof t->stream, "%s", stream);
    snprintf(t->name, sizeof t->name, "%s", topic);
    t->partitions = calloc(partitions, sizeof *t->partitions);
    return t;
}

struct fake_topic *fake_find(const char *stream, const char *topic)
{
    for (size_t i = 0; i < fake.topic_count; i++)
        if (strcmp(fake.topics[i].stream, stream) == 0 && strcmp(fake.topics[i].name, topic) == 0)
            return &fake.topics[i];
    return NULL;
}

void fake_delete(const char *stream, const char *topic)
{
    struct fake_topic *t = fake_find(stream, topic);
    for (uint32_t p = 0; p < t->partition_count; p++)
        free(t->partitions[p].log);
    free(t->partitions);
    *t = fake.topics[--fake.topic_count];
}

void fake_append(struct fake_topic *t, uint32_t partition, uint32_t n, uint32_t size)
{
    struct fake_partition *p = &t->partitions[partition];
    if (p->end == p->cap) {
        p->cap = p->cap ? p->cap * 2 : 64;
        p->log = realloc(p->log, p->cap * sizeof *p->log);
    }
    p->log[p->end++] =
        (struct fake_message){.n = n, .id = fake_random(), .stamp_us = wall_us(), .size = size};
}

void fake_save(void)
{
    for (size_t i = 0; i < fake.topic_count; i++)
        for (uint32_t p = 0; p < fake.topics[i].partition_count; p++)
            fake.topics[i].partitions[p].saved = fake.topics[i].partitions[p].end;
}

void fake_kill(void)
{
    fake.signs++;
    for (size_t i = 0; i < fake.topic_count; i++)
        for (uint32_t n = 0; n < fake.topics[i].partition_count; n++) {
            struct fake_partition *p = &fake.topics[i].partitions[n];
            p->end = p->saved;
            p->first = p->first < p->end ? p->first : p->end;
        }
    for (struct fake_request *r = fake.requests; r; r = r->next)
        if (!r->done_effect) {
            r->done_effect = true;
            r->result.kind = IGGY_CUT;
        }
}

void fake_expire(struct fake_topic *t, uint32_t partition, uint64_t first)
{
    struct fake_partition *p = &t->partitions[partition];
    if (first > p->first)
        p->first = first < p->end ? first : p->end;
}

static uint64_t messages_in(const struct fake_topic *t)
{
    uint64_t n = 0;
    for (uint32_t p = 0; p < t->partition_count; p++)
        n += t->partitions[p].end - t->partitions[p].first;
    return n;
}

/* ---- answers ---- */

static void fail(struct fake_request *r, enum iggy_kind kind, int status)
{
    r->result = (struct iggy_result){.kind = kind, .http_status = status};
    snprintf(r->result.text, sizeof r->result.text, "fake: %d", status);
}

static struct iggy_span text(const char *s)
{
    return (struct iggy_span){(const uint8_t *)s, strlen(s)};
}

static uint64_t start_of(const struct fake_request *r, const struct fake_partition *p)
{
    uint64_t at = r->strategy == IGGY_FROM_OFFSET ? r->value : p->first;
    if (r->strategy == IGGY_FROM_LAST)
        at = p->end > r->count ? p->end - r->count : 0;
    if (at < p->first)
        at = p->first;
    if (r->strategy == IGGY_FROM_TIMESTAMP)
        while (at < p->end && p->log[at].stamp_us < r->value)
            at++;
    return at;
}

static void fill(struct fake_request *r, const struct fake_partition *p)
{
    uint64_t at = start_of(r, p);
    size_t count = at < p->end ? p->end - at : 0;
    if (count > r->count)
        count = r->count;
    r->answer = (struct iggy_polled){.partition_id = r->partition};
    r->answer.current_offset = p->end && (count || !fake.old) ? p->end - 1 : 0;
    if (fake.old && count == 0)
        r->answer.partition_id = 0;
    size_t bytes = 100;
    for (size_t i = 0; i < count; i++)
        bytes += p->log[at + i].size * 4 / 3 + 200;
    r->result.answer_bytes = bytes;
    if (r->max_bytes && bytes > r->max_bytes) {
        fail(r, IGGY_GARBLED, 200);
        r->result.too_large = true;
        return;
    }
    r->messages = calloc(count + 1, sizeof *r->messages);
    r->payloads = malloc(bytes);
    uint8_t *payload = r->payloads;
    for (size_t i = 0; i < count; i++) {
        const struct fake_message *m = &p->log[at + i];
        memset(payload, 'x', m->size);
        memcpy(payload, &m->n, 4);
        r->messages[i] =
            (struct iggy_polled_message){.id = {m->id, ~m->id},
                                         .offset = at + i,
                                         .timestamp = m->stamp_us,
                                         .headers = {(const uint8_t *)m->headers, m->headers_len},
                                         .payload = {payload, m->size}};
        payload += m->size;
    }
    r->answer.count = count;
    r->answer.messages = r->messages;
}

static void break_poll(struct fake_request *r)
{
    if (fake.fault_left == 0 || r->result.kind != IGGY_OK)
        return;
    fake.fault_left--;
    size_t count = r->answer.count;
    if (fake.fault == FAKE_GARBLED)
        fail(r, IGGY_GARBLED, 200);
    if (fake.fault == FAKE_503 || fake.fault == FAKE_504)
        fail(r, IGGY_HTTP, fake.fault == FAKE_503 ? 503 : 504);
    if (fake.fault == FAKE_OTHER_PARTITION)
        r->answer.partition_id++;
    if (fake.fault == FAKE_BACKWARDS && count > 1)
        r->messages[count - 1].offset = r->messages[0].offset;
}

static void poll_effect(struct fake_request *r)
{
    struct fake_topic *t = fake_find(r->stream, r->topic);
    if (!t || r->partition >= t->partition_count) {
        fail(r, IGGY_HTTP, 404);
        return;
    }
    fill(r, &t->partitions[r->partition]);
    break_poll(r);
}

static void show(struct iggy_topic *to, const struct fake_topic *t)
{
    *to = (struct iggy_topic){.name = text(t->name),
                              .created_at = t->created_us,
                              .messages_count = messages_in(t),
                              .partitions_count = t->partition_count};
}

static void topic_effect(struct fake_request *r)
{
    struct fake_topic *t = fake_find(r->stream, r->topic);
    if (!t || t->no_details) {
        fail(r, IGGY_HTTP, t ? 403 : 404);
        return;
    }
    r->topics = calloc(1, sizeof *r->topics);
    r->partitions = calloc(t->partition_count, sizeof *r->partitions);
    show(r->topics, t);
    for (uint32_t i = 0; i < t->partition_count; i++)
        r->partitions[i] =
            (struct iggy_partition){.id = i,
                                    .current_offset = t->partitions[i].end ? t->partitions[i].end - 1 : 0,
                                    .messages_count = t->partitions[i].end - t->partitions[i].first};
    r->topics->partitions = r->partitions;
    r->topics->name = text(r->topic);
}

static void stream_effect(struct fake_request *r)
{
    if (fake.no_streams) {
        fail(r, IGGY_HTTP, 403);
        return;
    }
    r->topics = calloc(fake.topic_count + 1, sizeof *r->topics);
    r->streams = calloc(1, sizeof *r->streams);
    for (size_t i = 0; i < fake.topic_count; i++)
        if (strcmp(fake.topics[i].stream, r->stream) == 0)
            show(&r->topics[r->count_of++], &fake.topics[i]);
    if (r->count_of == 0)
        fail(r, IGGY_HTTP, 404);
    *r->streams = (struct iggy_stream){
        .name = text(r->stream), .topics_count = (uint32_t)r->count_of, .topics = r->topics};
}

static void streams_effect(struct fake_request *r)
{
    if (fake.no_list) {
        fail(r, IGGY_HTTP, 403);
        return;
    }
    r->streams = calloc(fake.topic_count + 1, sizeof *r->streams);
    for (size_t i = 0; i < fake.topic_count; i++) {
        size_t s = 0;
        while (s < r->count_of &&
               strncmp((const char *)r->streams[s].name.data, fake.topics[i].stream, 32) != 0)
            s++;
        if (s == r->count_of)
            r->streams[r->count_of++].name = text(fake.topics[i].stream);
        r->streams[s].messages_count += messages_in(&fake.topics[i]);
    }
}

static void have_effect(struct fake_request *r)
{
    r->done_effect = true;
    fake.signs += fake.no_keep_alive;
    if (fake.away) {
        fail(r, IGGY_CONNECT, 0);
        return;
    }
    if (r->kind == FAKE_POLL)
        poll_effect(r);
    else if (r->kind == FAKE_TOPIC)
        topic_effect(r);
    else if (r->kind == FAKE_STREAM)
        stream_effect(r);
    else
        streams_effect(r);
    if (r->kind != FAKE_POLL && fake.look_fault != FAKE_FINE) {
        fail(r, IGGY_GARBLED, 200);
        r->result.too_large = fake.look_fault == FAKE_TOO_LARGE;
    }
}

static void finish(struct fake_request *r)
{
    static const struct iggy_polled no_poll;
    static const struct iggy_topic no_topic;
    static const struct iggy_stream no_stream;
    bool ok = r->result.kind == IGGY_OK;
    fake.under_way[r->kind]--;
    if (r->kind == FAKE_POLL)
        r->polled(r->arg, &r->result, ok ? &r->answer : &no_poll);
    else if (r->kind == FAKE_TOPIC)
        r->topic_done(r->arg, &r->result, ok ? r->topics : &no_topic);
    else if (r->kind == FAKE_STREAM)
        r->stream_done(r->arg, &r->result, ok ? r->streams : &no_stream);
    else
        r->streams_done(r->arg, &r->result, r->streams, ok ? r->count_of : 0);
    free_request(r);
}

static struct fake_request *take_due(void)
{
    struct fake_request **best = NULL;
    for (struct fake_request **at = &fake.requests; *at; at = &(*at)->next)
        if ((*at)->due_ns <= fake.now_ns && (!best || (*at)->due_ns < (*best)->due_ns))
            best = at;
    struct fake_request *r = best ? *best : NULL;
    if (r)
        *best = r->next;
    return r;
}

void fake_answer(void)
{
    for (struct fake_request *r = fake.requests; r; r = r->next)
        if (!r->done_effect && r->effect_ns <= fake.now_ns)
            have_effect(r);
    for (struct fake_request *r; (r = take_due()) != NULL;)
        finish(r);
}

uint64_t fake_due(void)
{
    uint64_t due = UINT64_MAX;
    for (struct fake_request *r = fake.requests; r; r = r->next) {
        uint64_t next = r->done_effect ? r->due_ns : r->effect_ns;
        due = next < due ? next : due;
    }
    return due;
}

/* ---- what in calls ---- */

static struct fake_request *ask(enum fake_kind kind, void *arg)
{
    struct fake_request *r = calloc(1, sizeof *r);
    r->kind = kind;
    r->id = ++fake.last_id;
    r->arg = arg;
    r->effect_ns = fake.now_ns + 50000 + fake_random() % (fake.slowest_us * 500);
    r->due_ns = r->effect_ns + 50000 + fake_random() % (fake.slowest_us * 500);
    r->next = fake.requests;
    fake.requests = r;
    fake.asked[kind]++;
    fake.under_way[kind]++;
    return r;
}

static void copy(char *to, struct iggy_span name)
{
    snprintf(to, 32, "%.*s", (int)name.len, (const char *)name.data);
}

iggy_request iggy_poll(struct iggy_client *client, const struct iggy_poll *poll, iggy_polled_fn done,
                       void *arg)
{
    (void)client;
    struct fake_request *r = ask(FAKE_POLL, arg);
    copy(r->stream, poll->stream);
    copy(r->topic, poll->topic);
    r->partition = poll->partition_id;
    r->count = poll->count;
    r->strategy = poll->strategy;
    r->value = poll->value;
    r->max_bytes = poll->max_bytes;
    r->polled = done;
    return r->id;
}

iggy_request iggy_get_topic(struct iggy_client *client, struct iggy_span stream, struct iggy_span topic,
                            iggy_topic_fn done, void *arg)
{
    (void)client;
    struct fake_request *r = ask(FAKE_TOPIC, arg);
    copy(r->stream, stream);
    copy(r->topic, topic);
    r->topic_done = done;
    return r->id;
}

iggy_request iggy_get_stream(struct iggy_client *client, struct iggy_span stream, iggy_stream_fn done,
                             void *arg)
{
    (void)client;
    struct fake_request *r = ask(FAKE_STREAM, arg);
    copy(r->stream, stream);
    r->stream_done = done;
    return r->id;
}

iggy_request iggy_get_streams(struct iggy_client *client, iggy_streams_fn done, void *arg)
{
    (void)client;
    struct fake_request *r = ask(FAKE_STREAMS, arg);
    r->streams_done = done;
    return r->id;
}

/* Positions are shown to nobody here. */
iggy_request iggy_store_offset(struct iggy_client *client, struct iggy_span stream, struct iggy_span topic,
                               uint32_t partition_id, const char *consumer, uint64_t offset, iggy_done done,
                               void *arg)
{
    (void)client, (void)stream, (void)topic, (void)partition_id, (void)consumer, (void)offset;
    (void)done, (void)arg;
    return 0;
}

void iggy_client_cancel(struct iggy_client *client, iggy_request id)
{
    (void)client;
    for (struct fake_request **at = &fake.requests; *at; at = &(*at)->next) {
        struct fake_request *r = *at;
        if (r->id != id)
            continue;
        *at = r->next;
        fail(r, IGGY_CANCELLED, 0);
        finish(r);
        return;
    }
}

uint64_t iggy_client_signs(const struct iggy_client *client)
{
    (void)client;
    return fake.signs;
}
