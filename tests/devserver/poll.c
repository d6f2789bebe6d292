/*
 * poll: GET .../messages, and 0.8's flush.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base64.h"
#include "header_block.h"
#include "server.h"

struct poll {
    char kind; /* o, t, f, l, n */
    uint32_t partition_id, count;
    uint64_t value;
    bool auto_commit;
    uint32_t consumer;
};

struct answer {
    struct mi_buf *out;
    uint64_t count, last_offset;
};

static bool read_query(struct dev_request *r, struct poll *p);
static void answer_poll(struct dev_request *r, struct dev_partition *partition, const struct poll *p);
static uint64_t start_offset(struct dev_partition *partition, const struct poll *p);
static bool append_message(void *arg, const struct dev_message *m);

void dev_poll(struct dev_request *r)
{
    struct poll p;
    struct dev_stream *s;
    struct dev_topic *t;
    bool old = r->server->store.personality == DEV_0_8;
    if (!read_query(r, &p) || !dev_target(r, dev_need_poll, &s, &t))
        return;
    if (!t)
        dev_reply_error(r, !old ? DEV_NOT_FOUND : s ? DEV_TOPIC_NOT_FOUND : DEV_STREAM_NOT_FOUND);
    else if (p.partition_id >= t->partition_count)
        dev_reply_error(r, DEV_PARTITION_NOT_FOUND);
    else if (dev_fault_fresh(&r->server->faults, t->partitions[p.partition_id]))
        dev_reply_error(r, DEV_READ_TIMEOUT);
    else
        answer_poll(r, t->partitions[p.partition_id], &p);
}

static bool bad(struct dev_request *r, const char *text)
{
    dev_reply_text(r, 400, text);
    return false;
}

static bool read_kind(struct dev_request *r, char *kind)
{
    static const char *const words[] = {"offset", "timestamp", "first", "last", "next"};
    const char *word = dev_query(r, "kind");
    *kind = 'o';
    if (!word)
        return true;
    for (size_t i = 0; i < 5; i++)
        if (strcmp(word, words[i]) == 0 || (word[0] == words[i][0] && !word[1])) {
            *kind = words[i][0];
            return true;
        }
    return bad(r, "Failed to deserialize query string: Invalid command");
}

static bool read_query(struct dev_request *r, struct poll *p)
{
    *p = (struct poll){.count = 10, .consumer = 1};
    const char *consistency = dev_query(r, "consistency"), *consumer = dev_query(r, "consumer_id");
    if (!read_kind(r, &p->kind) || !dev_query_u32(r, "partition_id", &p->partition_id) ||
        !dev_query_u32(r, "count", &p->count) || !dev_query_u64(r, "value", &p->value) ||
        !dev_query_bool(r, "auto_commit", &p->auto_commit))
        return false;
    if (consumer && (!*consumer || strlen(consumer) > 255))
        return bad(r, "Failed to deserialize query string: Invalid identifier");
    if (consumer)
        p->consumer = dev_consumer_number(consumer);
    if (consistency && r->server->store.personality != DEV_0_8 && strcmp(consistency, "serializable") != 0 &&
        strcmp(consistency, "linearizable") != 0)
        return bad(r, "Failed to deserialize query string: consistency: unknown variant");
    return true;
}

static void answer_poll(struct dev_request *r, struct dev_partition *partition, const struct poll *p)
{
    struct mi_buf *out = dev_reply_json(r, 200);
    struct mi_buf messages;
    struct answer a = {.out = &messages};
    mi_buf_init(&messages, DEV_MAX_ANSWER);
    if (!dev_log_read(&partition->log, start_offset(partition, p), p->count, append_message, &a) ||
        messages.failed) {
        mi_buf_fini(&messages);
        dev_reply_error(r, DEV_SERVER_BUSY);
        return;
    }
    /* 0.8 answers 0 and 0 when it returns nothing, whatever was asked: measured. */
    bool blank = r->server->store.personality == DEV_0_8 && a.count == 0;
    mi_buf_addf(out,
                "{\"partition_id\":%u,\"current_offset\":%" PRIu64 ",\"count\":%" PRIu64 ",\"messages\":[",
                blank ? 0 : p->partition_id, blank ? 0 : dev_log_tail(&partition->log), a.count);
    mi_buf_add_span(out, mi_buf_span(&messages));
    mi_buf_add_text(out,
                    r->server->faults.plan.extra_members ? "],\"devserver_extra\":{\"a\":[1,null]}}" : "]}");
    mi_buf_fini(&messages);
    r->server->polled_messages += a.count;
    if (!p->auto_commit || a.count == 0)
        return;
    struct dev_offset *stored = dev_offset_find(partition, p->consumer);
    bool back = r->server->store.personality == DEV_0_8; /* there it may also move back: measured */
    if (!stored || back || stored->offset < a.last_offset)
        dev_offset_store(&r->server->store, partition, p->consumer, a.last_offset);
}

static uint64_t start_offset(struct dev_partition *partition, const struct poll *p)
{
    const struct dev_log *log = &partition->log;
    struct dev_offset *stored;
    switch (p->kind) {
    case 'o':
        return p->value;
    case 't':
        return dev_log_offset_at(log, p->value);
    case 'l':
        return log->next_offset - log->first_offset > p->count ? log->next_offset - p->count
                                                               : log->first_offset;
    case 'n':
        stored = dev_offset_find(partition, p->consumer);
        return stored ? stored->offset + 1 : 0;
    default:
        return 0;
    }
}

static void append_id(struct mi_buf *out, uint64_t hi, uint64_t lo)
{
    unsigned __int128 id = (unsigned __int128)hi << 64 | lo;
    char digits[40];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + (unsigned)(id % 10));
        id /= 10;
    } while (id);
    mi_buf_add(out, digits + at, sizeof digits - at);
}

static bool append_message(void *arg, const struct dev_message *m)
{
    struct answer *a = arg;
    struct mi_buf *out = a->out;
    mi_buf_addf(out, "%s{\"header\":{\"checksum\":%" PRIu64 ",\"id\":", a->count ? "," : "", m->checksum);
    append_id(out, m->id_hi, m->id_lo);
    mi_buf_addf(out,
                ",\"offset\":%" PRIu64 ",\"timestamp\":%" PRIu64 ",\"origin_timestamp\":%" PRIu64
                ",\"user_headers_length\":%u,\"payload_length\":%u,\"reserved\":0},\"payload\":\"",
                m->offset, m->timestamp, m->origin_timestamp, m->headers_len, m->payload_len);
    dev_base64_append(out, m->payload, m->payload_len);
    mi_buf_add_text(out, "\",\"user_headers\":");
    dev_headers_append(out, m->headers, m->headers_len);
    mi_buf_add_byte(out, '}');
    a->count++;
    a->last_offset = m->offset;
    return !out->failed;
}

void dev_flush(struct dev_request *r)
{
    struct dev_stream *s;
    struct dev_topic *t;
    uint32_t partition;
    if (!dev_numeric_id(r->args[2], &partition)) {
        dev_reply_text(r, 400, "Invalid URL: Cannot parse `partition_id`");
        return;
    }
    if (!dev_target(r, dev_need_send, &s, &t))
        return;
    if (!t)
        dev_reply_error(r, s ? DEV_TOPIC_NOT_FOUND : DEV_STREAM_NOT_FOUND);
    else if (partition >= t->partition_count)
        dev_reply_error(r, DEV_PARTITION_NOT_FOUND);
    else if (dev_log_save(&t->partitions[partition]->log))
        dev_reply_empty(r, 200);
    else
        dev_reply_error(r, DEV_SERVER_BUSY);
}
