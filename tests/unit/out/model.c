/*
 * model: the server. Batches are looked into by wrapping iggy_batch_start and iggy_batch_add (see
 * CMakeLists.txt).
 */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message/headers.h"

/* ---- what a batch holds ---- */

struct content {
    const struct iggy_batch *batch;
    struct content *next;
    uint32_t partition;
    size_t count, cap;
    struct stored *list;
};
static struct content *contents;

static struct content *content_of(const struct iggy_batch *batch)
{
    struct content *c = contents;
    while (c && c->batch != batch)
        c = c->next;
    if (!c) {
        c = calloc(1, sizeof *c);
        c->batch = batch;
        c->next = contents;
        contents = c;
    }
    return c;
}

void __real_iggy_batch_start(struct iggy_batch *batch, uint32_t partition_id);
void __wrap_iggy_batch_start(struct iggy_batch *batch, uint32_t partition_id);
bool __real_iggy_batch_add(struct iggy_batch *batch, struct iggy_id id, struct iggy_span headers,
                           struct iggy_span payload_1, struct iggy_span payload_2);
bool __wrap_iggy_batch_add(struct iggy_batch *batch, struct iggy_id id, struct iggy_span headers,
                           struct iggy_span payload_1, struct iggy_span payload_2);
void __real_iggy_batch_free(struct iggy_batch *batch);
void __wrap_iggy_batch_free(struct iggy_batch *batch);

void __wrap_iggy_batch_start(struct iggy_batch *batch, uint32_t partition_id)
{
    struct content *c = content_of(batch);
    c->count = 0;
    c->partition = partition_id;
    __real_iggy_batch_start(batch, partition_id);
}

bool __wrap_iggy_batch_add(struct iggy_batch *batch, struct iggy_id id, struct iggy_span headers,
                           struct iggy_span payload_1, struct iggy_span payload_2)
{
    struct content *c = content_of(batch);
    struct mi_header h;
    if (!__real_iggy_batch_add(batch, id, headers, payload_1, payload_2))
        return false;
    if (c->count == c->cap) {
        c->cap = c->cap ? c->cap * 2 : 64;
        c->list = realloc(c->list, c->cap * sizeof *c->list);
    }
    struct stored *s = &c->list[c->count++];
    *s = (struct stored){.id = id, .number = UINT32_MAX};
    if (payload_2.len >= 4)
        memcpy(&s->number, payload_2.data, 4);
    s->dead =
        mi_headers_find((struct mi_span){headers.data, headers.len}, mi_span_of("mqtt.dead_reason"), &h);
    return true;
}

void __wrap_iggy_batch_free(struct iggy_batch *batch)
{
    for (struct content **c = &contents; *c; c = &(*c)->next) {
        if ((*c)->batch != batch)
            continue;
        struct content *gone = *c;
        *c = gone->next;
        free(gone->list);
        free(gone);
        break;
    }
    __real_iggy_batch_free(batch);
}

/* ---- requests ---- */

enum kind { PRODUCE, POLL, TOPIC, CREATE_STREAM, CREATE_TOPIC, STATS };

struct op {
    struct op *next;
    enum kind kind;
    iggy_request request;
    uint64_t due_ns;
    struct model_topic *topic;
    uint32_t partition, count, partitions;
    enum iggy_strategy strategy;
    uint64_t value, signs;
    struct stored *list;
    size_t bytes;
    void *done, *arg;
};

struct late {
    struct late *next;
    uint64_t due_ns;
    struct model_topic *topic;
    uint32_t partition;
    size_t count;
    struct stored *list;
};

uint64_t model_random(struct model *m)
{
    m->random ^= m->random << 13;
    m->random ^= m->random >> 7;
    m->random ^= m->random << 17;
    return m->random;
}

static struct model_topic *find(struct model *m, struct iggy_span stream, struct iggy_span topic)
{
    for (size_t i = 0; i < MODEL_TARGETS; i++) {
        struct model_topic *t = &m->topics[i];
        if (t->stream[0] && strlen(t->stream) == stream.len && !memcmp(t->stream, stream.data, stream.len) &&
            strlen(t->topic) == topic.len && !memcmp(t->topic, topic.data, topic.len))
            return t;
    }
    for (size_t i = 0; i < MODEL_TARGETS; i++) {
        struct model_topic *t = &m->topics[i];
        if (!t->stream[0]) {
            memcpy(t->stream, stream.data, stream.len);
            memcpy(t->topic, topic.data, topic.len);
            return t;
        }
    }
    abort();
}

static struct iggy_span text(const char *s)
{
    return (struct iggy_span){(const uint8_t *)s, strlen(s)};
}

struct model_topic *model_topic(struct model *m, const char *stream, const char *topic)
{
    return find(m, text(stream), text(topic));
}

static void make_topic(struct model *m, struct model_topic *t, uint32_t partitions)
{
    if (t->exists)
        return;
    t->exists = true;
    t->partitions = partitions;
    t->created_at = m->now_ns / 1000 + 1;
    for (uint32_t i = 0; i < MODEL_PARTITIONS; i++)
        t->partition[i].count = t->partition[i].saved = 0;
}

struct model_topic *model_create(struct model *m, const char *stream, const char *topic, uint32_t partitions)
{
    struct model_topic *t = model_topic(m, stream, topic);
    make_topic(m, t, partitions);
    return t;
}

static struct op *begin(struct model *m, enum kind kind, void *done, void *arg)
{
    struct op *op = calloc(1, sizeof *op);
    op->kind = kind;
    op->request = ++m->next_request;
    op->due_ns = m->now_ns + m->latency_ns + (m->latency_ns ? model_random(m) % m->latency_ns : 0);
    op->done = done;
    op->arg = arg;
    struct op **end = &m->ops;
    while (*end)
        end = &(*end)->next;
    *end = op;
    if (++m->in_flight > m->most_in_flight)
        m->most_in_flight = m->in_flight;
    m->connects += m->down;
    return op;
}

static uint64_t signs(void *context)
{
    return ((struct model *)context)->signs;
}

static iggy_request produce(void *context, uint64_t seen, struct iggy_span stream, struct iggy_span topic,
                            const struct iggy_batch *batch, iggy_produced_fn done, void *arg)
{
    struct model *m = context;
    struct content *c = content_of(batch);
    struct op *op = begin(m, PRODUCE, (void *)done, arg);
    op->signs = seen;
    op->topic = find(m, stream, topic);
    op->partition = c->partition;
    op->count = (uint32_t)c->count;
    op->list = malloc(c->count * sizeof *op->list);
    memcpy(op->list, c->list, c->count * sizeof *op->list);
    op->bytes = iggy_batch_bytes(batch);
    m->produced++;
    return op->request;
}

static iggy_request poll_messages(void *context, const struct iggy_poll *poll, iggy_polled_fn done, void *arg)
{
    struct model *m = context;
    struct op *op = begin(m, POLL, (void *)done, arg);
    op->topic = find(m, poll->stream, poll->topic);
    op->partition = poll->partition_id;
    op->strategy = poll->strategy;
    op->value = poll->value;
    op->count = poll->count;
    m->polled++;
    return op->request;
}

static iggy_request get_topic(void *context, struct iggy_span stream, struct iggy_span topic,
                              iggy_topic_fn done, void *arg)
{
    struct model *m = context;
    struct op *op = begin(m, TOPIC, (void *)done, arg);
    op->topic = find(m, stream, topic);
    m->asked++;
    return op->request;
}

static iggy_request create_stream(void *context, struct iggy_span name, iggy_done done, void *arg)
{
    (void)name;
    return begin(context, CREATE_STREAM, (void *)done, arg)->request;
}

static iggy_request create_topic(void *context, struct iggy_span stream, struct iggy_span name,
                                 const struct iggy_topic_options *options, iggy_done done, void *arg)
{
    struct model *m = context;
    struct op *op = begin(m, CREATE_TOPIC, (void *)done, arg);
    op->topic = find(m, stream, name);
    op->partitions = options->partitions;
    return op->request;
}

static iggy_request get_stats(void *context, iggy_stats_fn done, void *arg)
{
    return begin(context, STATS, (void *)done, arg)->request;
}

static void free_op(struct op *op)
{
    free(op->list);
    free(op);
}

static void cancel(void *context, iggy_request request)
{
    struct model *m = context;
    struct iggy_result result = {.kind = IGGY_CANCELLED, .effect = IGGY_EFFECT_UNKNOWN};
    for (struct op **link = &m->ops; *link; link = &(*link)->next) {
        struct op *op = *link;
        if (op->request != request)
            continue;
        *link = op->next;
        m->in_flight--;
        if (op->kind == PRODUCE)
            ((iggy_produced_fn)op->done)(op->arg, &result, NULL);
        else if (op->kind == POLL)
            ((iggy_polled_fn)op->done)(op->arg, &result, NULL);
        else if (op->kind == TOPIC)
            ((iggy_topic_fn)op->done)(op->arg, &result, NULL);
        else if (op->kind == STATS)
            ((iggy_stats_fn)op->done)(op->arg, &result, NULL);
        else
            ((iggy_done)op->done)(op->arg, &result);
        free_op(op);
        return;
    }
}

struct mi_transport model_transport(struct model *m)
{
    return (struct mi_transport){signs,        produce,   poll_messages, get_topic, create_stream,
                                 create_topic, get_stats, cancel,        m};
}

void model_init(struct model *m)
{
    *m = (struct model){
        .now_ns = 1000000000, .latency_ns = 1000000, .random = 88172645463325252ull, .start_time = 1};
}

void model_fini(struct model *m)
{
    while (m->ops) {
        struct op *op = m->ops;
        m->ops = op->next;
        free_op(op);
    }
    while (m->late) {
        struct late *l = m->late;
        m->late = l->next;
        free(l->list);
        free(l);
    }
    for (size_t i = 0; i < MODEL_TARGETS; i++)
        for (size_t p = 0; p < MODEL_PARTITIONS; p++)
            free(m->topics[i].partition[p].list);
}

/* ---- storing ---- */

static uint64_t store(struct partition *p, const struct stored *list, size_t count)
{
    uint64_t base = p->count;
    while (p->count + count > p->cap) {
        p->cap = p->cap ? p->cap * 2 : 256;
        p->list = realloc(p->list, p->cap * sizeof *p->list);
    }
    for (size_t i = 0; i < count; i++) {
        p->list[p->count] = list[i];
        p->list[p->count].offset = p->count;
        p->count++;
    }
    return base;
}

void model_foreign(struct model *m, struct model_topic *t, uint32_t partition)
{
    struct stored s = {.id = {model_random(m), model_random(m)}, .number = UINT32_MAX};
    store(&t->partition[partition], &s, 1);
}

void model_save(struct model *m)
{
    for (size_t i = 0; i < MODEL_TARGETS; i++)
        for (size_t p = 0; p < MODEL_PARTITIONS; p++)
            m->topics[i].partition[p].saved = m->topics[i].partition[p].count;
}

unsigned model_count(const struct model *m, uint32_t number)
{
    unsigned n = 0;
    for (size_t i = 0; i < MODEL_TARGETS; i++)
        for (size_t p = 0; p < MODEL_PARTITIONS; p++)
            for (size_t k = 0; k < m->topics[i].partition[p].count; k++)
                n += m->topics[i].partition[p].list[k].number == number;
    return n;
}

/* ---- answering ---- */

static struct iggy_result http(int status, uint32_t code)
{
    struct iggy_result r = {.kind = status < 300 ? IGGY_OK : IGGY_HTTP, .http_status = status, .code = code};
    r.effect = status < 300 ? IGGY_EFFECT_DONE : IGGY_EFFECT_NONE;
    snprintf(r.text, sizeof r.text, "http://model: status %d", status);
    return r;
}

static struct iggy_result broken(enum iggy_kind kind, enum iggy_effect effect)
{
    struct iggy_result r = {.kind = kind, .effect = effect};
    snprintf(r.text, sizeof r.text, "http://model: %s", iggy_kind_name(kind));
    return r;
}

static void later(struct model *m, const struct op *op)
{
    struct late *l = calloc(1, sizeof *l);
    l->due_ns = m->now_ns + m->late_ns;
    l->topic = op->topic;
    l->partition = op->partition;
    l->count = op->count;
    l->list = malloc(op->count * sizeof *l->list);
    memcpy(l->list, op->list, op->count * sizeof *l->list);
    l->next = m->late;
    m->late = l;
}

static enum fate fate_of(struct model *m, const struct op *op)
{
    uint32_t *numbers = malloc((op->count + 1) * sizeof *numbers);
    for (uint32_t i = 0; i < op->count; i++)
        numbers[i] = op->list[i].number;
    enum fate f = m->fate ? m->fate(m, numbers, op->count, op->bytes) : FATE_STORE;
    free(numbers);
    return f;
}

static struct iggy_result answer_produce(struct model *m, const struct op *op, struct iggy_produced *produced)
{
    struct partition *p = &op->topic->partition[op->partition % MODEL_PARTITIONS];
    enum fate f = fate_of(m, op);
    if (f == FATE_REFUSED)
        return broken(IGGY_CONNECT, IGGY_EFFECT_NONE);
    if (f == FATE_LOGIN)
        return broken(IGGY_LOGIN, IGGY_EFFECT_NONE);
    if (!op->topic->exists || op->partition >= op->topic->partitions)
        return http(404, 20);
    if (f == FATE_STORE || f == FATE_STORE_SILENTLY || f == FATE_CUT_AFTER)
        produced->base_offset = store(p, op->list, op->count);
    if (f == FATE_CUT_LATE || f == FATE_504_LATE)
        later(m, op);
    produced->confirmed = f == FATE_STORE;
    produced->partition_id = op->partition;
    switch (f) {
    case FATE_STORE:
    case FATE_STORE_SILENTLY:
        return http(201, 0);
    case FATE_503:
        return http(503, 58);
    case FATE_429:
        return http(429, 0);
    case FATE_504_LATE:
        return http(504, 0);
    case FATE_403:
        return http(403, 41);
    case FATE_422:
        return http(422, 0);
    case FATE_413:
        return http(413, 0);
    case FATE_400:
        return http(400, 9999);
    default:
        return broken(IGGY_CUT, IGGY_EFFECT_UNKNOWN);
    }
}

static void answer_poll(struct model *m, const struct op *op, iggy_polled_fn done, struct iggy_result *r)
{
    struct partition *p = &op->topic->partition[op->partition % MODEL_PARTITIONS];
    if (r->kind == IGGY_OK && m->poll_denied)
        *r = http(403, 41);
    else if (r->kind == IGGY_OK && m->polls_fail)
        *r = http(500, 0);
    else if (r->kind == IGGY_OK && (!op->topic->exists || op->partition >= op->topic->partitions))
        *r = http(404, 20);
    if (r->kind != IGGY_OK) {
        done(op->arg, r, NULL);
        return;
    }
    uint64_t from = op->value;
    if (op->strategy == IGGY_FROM_LAST)
        from = p->count > op->count ? p->count - op->count : 0;
    size_t n = from < p->count ? p->count - from : 0;
    if (n > op->count)
        n = op->count;
    struct iggy_polled_message *list = calloc(n + 1, sizeof *list);
    for (size_t i = 0; i < n; i++) {
        list[i].id = p->list[from + i].id;
        list[i].offset = p->list[from + i].offset;
    }
    uint64_t tail = p->count && (n || !m->tail_unknown) ? p->count - 1 : 0;
    struct iggy_polled polled = {op->partition, tail, n, list};
    done(op->arg, r, &polled);
    free(list);
}

static void answer_topic(struct model *m, const struct op *op, iggy_topic_fn done, struct iggy_result *r)
{
    struct iggy_partition list[MODEL_PARTITIONS] = {{0}};
    if (r->kind == IGGY_OK && m->details_denied)
        *r = http(403, 41);
    else if (r->kind == IGGY_OK && !op->topic->exists)
        *r = http(404, 404);
    if (r->kind != IGGY_OK) {
        done(op->arg, r, NULL);
        return;
    }
    for (uint32_t i = 0; i < op->topic->partitions; i++) {
        size_t n = op->topic->partition[i].count;
        list[i] = (struct iggy_partition){.id = i, .current_offset = n ? n - 1 : 0, .messages_count = n};
    }
    struct iggy_topic topic = {
        .created_at = op->topic->created_at, .partitions_count = op->topic->partitions, .partitions = list};
    done(op->arg, r, &topic);
}

static void answer_stats(struct model *m, const struct op *op, iggy_stats_fn done, struct iggy_result *r)
{
    if (r->kind == IGGY_OK && m->stats_denied)
        *r = http(403, 41);
    struct iggy_stats stats = {.start_time = m->start_time};
    done(op->arg, r, r->kind == IGGY_OK ? &stats : NULL);
}

static void answer(struct model *m, struct op *op)
{
    struct iggy_produced produced = {0};
    struct iggy_result r = m->down ? broken(IGGY_CONNECT, IGGY_EFFECT_NONE) : http(200, 0);
    m->in_flight--;
    if (!m->down)
        m->signs += m->new_connection || m->relogin || m->no_connection_lasts;
    bool held = op->kind == PRODUCE && !m->down && op->signs != MI_ANY_SIGNS && op->signs != m->signs;
    m->held += held;
    if (held)
        r = broken(IGGY_HELD_BACK, IGGY_EFFECT_NONE);
    else if (op->kind == PRODUCE && !m->down)
        r = answer_produce(m, op, &produced);
    if (!m->down) {
        r.new_connection = m->new_connection;
        r.logged_in_again = m->relogin;
        m->new_connection = m->relogin = false;
    }
    if (op->kind == PRODUCE)
        ((iggy_produced_fn)op->done)(op->arg, &r, &produced);
    else if (op->kind == POLL)
        answer_poll(m, op, (iggy_polled_fn)op->done, &r);
    else if (op->kind == TOPIC)
        answer_topic(m, op, (iggy_topic_fn)op->done, &r);
    else if (op->kind == STATS)
        answer_stats(m, op, (iggy_stats_fn)op->done, &r);
    else {
        if (op->kind == CREATE_TOPIC && r.kind == IGGY_OK) {
            make_topic(m, op->topic, op->partitions);
            m->created++;
        }
        r.text[0] = r.kind == IGGY_OK ? '\0' : r.text[0];
        ((iggy_done)op->done)(op->arg, &r);
    }
    free_op(op);
}

uint64_t model_next(const struct model *m)
{
    uint64_t due = UINT64_MAX;
    for (const struct op *op = m->ops; op; op = op->next)
        due = op->due_ns < due ? op->due_ns : due;
    for (const struct late *l = m->late; l; l = l->next)
        due = l->due_ns < due ? l->due_ns : due;
    return due;
}

static bool run_late(struct model *m)
{
    for (struct late **link = &m->late; *link; link = &(*link)->next) {
        struct late *l = *link;
        if (l->due_ns > m->now_ns)
            continue;
        *link = l->next;
        if (l->topic->exists)
            store(&l->topic->partition[l->partition], l->list, l->count);
        free(l->list);
        free(l);
        return true;
    }
    return false;
}

static bool run_op(struct model *m)
{
    for (struct op **link = &m->ops; *link; link = &(*link)->next) {
        struct op *op = *link;
        if (op->due_ns > m->now_ns)
            continue;
        *link = op->next;
        answer(m, op);
        return true;
    }
    return false;
}

void model_run(struct model *m)
{
    while (run_late(m))
        ;
    while (run_op(m))
        ;
}

void model_kill(struct model *m)
{
    while (m->late) {
        struct late *l = m->late;
        m->late = l->next;
        free(l->list);
        free(l);
    }
    for (size_t i = 0; i < MODEL_TARGETS; i++)
        for (size_t p = 0; p < MODEL_PARTITIONS; p++)
            m->topics[i].partition[p].count = m->topics[i].partition[p].saved;
    m->start_time++;
    m->new_connection = m->relogin = true;
}
