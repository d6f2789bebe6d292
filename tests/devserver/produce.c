/*
 * produce: POST .../messages: the body, the partition, the append.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/clock.h"
#include "base64.h"
#include "header_block.h"
#include "json_scan.h"
#include "server.h"

enum partitioning { NONE, BALANCED, PARTITION_ID, MESSAGES_KEY };

struct produce {
    enum partitioning kind;
    uint8_t value[300];
    size_t value_len; /* 256 and more: too long */
    bool have_messages;
    uint32_t count;
    uint64_t now;
    struct mi_buf records;
    struct mi_buf headers; /* of the message that is being read */
};

struct message_id {
    uint64_t lo, hi;
};

static bool read_body(struct dev_json *j, struct produce *p);
static bool read_partitioning(struct dev_json *j, struct produce *p);
static bool read_messages(struct dev_json *j, struct produce *p);
static bool read_message(struct dev_json *j, struct produce *p);
static bool read_payload(struct dev_json *j, struct mi_buf *records, size_t *len);
static bool read_id(struct dev_json *j, struct message_id *id);
static bool check_value(struct dev_request *r, const struct produce *p);
static void append(struct dev_request *r, struct produce *p, bool acknowledged);
static struct dev_partition *choose(struct dev_topic *topic, const struct produce *p, uint32_t *id);

/* ?ack=none answers before anything can fail. False after an answer. */
static bool read_ack(struct dev_request *r, bool *acknowledged)
{
    const char *ack = dev_query(r, "ack");
    *acknowledged = true;
    if (!ack || r->server->store.personality == DEV_0_8 || strcmp(ack, "replicated") == 0)
        return true;
    *acknowledged = false;
    if (strcmp(ack, "none") == 0)
        return true;
    dev_reply_text(
        r, 400, "Failed to deserialize query string: ack: unknown variant, expected `replicated` or `none`");
    return false;
}

void dev_produce(struct dev_request *r)
{
    struct produce p = {.now = dev_now_us()};
    struct dev_json j;
    bool acknowledged;
    if (!read_ack(r, &acknowledged) || !dev_body_is_json(r))
        return;
    mi_buf_init(&p.records, 2 * DEV_MAX_BODY + (size_t)DEV_MAX_BODY / 4 * DEV_RECORD_HEAD);
    mi_buf_init(&p.headers, 2 * DEV_MAX_BODY);
    dev_json_start(&j, (char *)r->body.data, r->body.len);
    if (read_body(&j, &p)) {
        if (check_value(r, &p))
            append(r, &p, acknowledged);
    } else if (j.syntax_error) {
        dev_reply_text(r, 400, "Failed to parse the request body as JSON");
    } else {
        dev_reply_text(r, 422, "Failed to deserialize the JSON body into the target type");
    }
    mi_buf_fini(&p.headers);
    mi_buf_fini(&p.records);
}

static bool read_body(struct dev_json *j, struct produce *p)
{
    struct dev_text key;
    bool first = true;
    if (dev_json_peek(j) != DEV_JSON_OBJECT) {
        dev_json_skip(j);
        return false;
    }
    dev_json_open(j);
    while (dev_json_next_key(j, &first, &key)) {
        bool ok = false;
        if (dev_text_is(key, "partitioning"))
            ok = p->kind == NONE && read_partitioning(j, p);
        else if (dev_text_is(key, "messages"))
            ok = !p->have_messages && read_messages(j, p);
        if (!ok)
            return false;
    }
    return !j->syntax_error && dev_json_finish(j) && p->kind != NONE && p->have_messages;
}

static bool read_partitioning(struct dev_json *j, struct produce *p)
{
    static const char *const words[] = {
        [BALANCED] = "balanced", [PARTITION_ID] = "partition_id", [MESSAGES_KEY] = "messages_key"};
    struct dev_text key, text;
    bool first = true, have_value = false;
    if (dev_json_peek(j) != DEV_JSON_OBJECT || !dev_json_open(j))
        return false;
    while (dev_json_next_key(j, &first, &key)) {
        bool kind = dev_text_is(key, "kind");
        if (!kind && !dev_text_is(key, "value")) {
            if (!dev_json_skip(j))
                return false;
            continue;
        }
        if (dev_json_peek(j) != DEV_JSON_STRING || !dev_json_string(j, &text))
            return false;
        if (kind) {
            p->kind = MESSAGES_KEY;
            while (p->kind > NONE && !dev_text_is(text, words[p->kind]))
                p->kind--;
            if (p->kind == NONE)
                return false;
        } else {
            have_value = true;
            p->value_len = 256;
            if (text.len < 360 && !dev_base64_decode(text.data, text.len, true, p->value, &p->value_len))
                return false;
        }
    }
    return !j->syntax_error && p->kind != NONE && have_value;
}

static bool read_messages(struct dev_json *j, struct produce *p)
{
    bool first = true;
    p->have_messages = true;
    if (dev_json_peek(j) != DEV_JSON_ARRAY || !dev_json_open(j))
        return false;
    while (dev_json_next_item(j, &first)) {
        if (!read_message(j, p))
            return false;
        p->count++;
    }
    return !j->syntax_error;
}

static bool read_message(struct dev_json *j, struct produce *p)
{
    struct dev_text key;
    struct message_id id = {0, 0};
    bool first = true, ok = true;
    size_t start = p->records.len, payload_len = 0;
    uint8_t head[DEV_RECORD_HEAD] = {0};
    mi_buf_reset(&p->headers);
    if (dev_json_peek(j) != DEV_JSON_OBJECT || !dev_json_open(j) ||
        !mi_buf_add(&p->records, head, sizeof head))
        return false;
    while (ok && dev_json_next_key(j, &first, &key)) {
        if (dev_text_is(key, "payload")) {
            p->records.len = start + DEV_RECORD_HEAD;
            ok = read_payload(j, &p->records, &payload_len);
        } else if (dev_text_is(key, "user_headers")) {
            mi_buf_reset(&p->headers);
            ok = dev_headers_read(j, &p->headers);
        } else if (dev_text_is(key, "id")) {
            ok = read_id(j, &id);
        } else {
            ok = dev_json_skip(j);
        }
    }
    if (!ok || j->syntax_error || payload_len == 0)
        return false;
    if (!id.lo && !id.hi) {
        id.lo = mi_random(&mi_clock_system);
        id.hi = mi_random(&mi_clock_system);
    }
    if (p->headers.len) {
        if (!mi_buf_reserve(&p->records, p->headers.len))
            return false;
        uint8_t *body = p->records.data + start + DEV_RECORD_HEAD;
        memmove(body + p->headers.len, body, payload_len);
        memcpy(body, p->headers.data, p->headers.len);
        p->records.len += p->headers.len;
    }
    uint8_t *out = p->records.data + start;
    mi_put_u64le(out, id.lo);
    mi_put_u64le(out + 8, id.hi);
    mi_put_u64le(out + 16, p->now);
    mi_put_u32le(out + 24, (uint32_t)p->headers.len);
    mi_put_u32le(out + 28, (uint32_t)payload_len);
    return true;
}

static bool read_payload(struct dev_json *j, struct mi_buf *records, size_t *len)
{
    struct dev_text text;
    if (dev_json_peek(j) != DEV_JSON_STRING || !dev_json_string(j, &text))
        return false;
    uint8_t *room = mi_buf_reserve(records, dev_base64_decoded_max(text.len));
    if (!room || !dev_base64_decode(text.data, text.len, false, room, len))
        return false;
    records->len += *len;
    return true;
}

static bool parse_decimal(struct dev_text text, unsigned __int128 max, struct message_id *id)
{
    unsigned __int128 value = 0;
    if (text.len == 0)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        unsigned digit = (unsigned)(text.data[i] - '0');
        if (value > (max - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *id = (struct message_id){(uint64_t)value, (uint64_t)(value >> 64)};
    return true;
}

/* As Rust's number parser: one plus sign may stand before the digits. */
static bool parse_signed(struct dev_text text, unsigned __int128 max, struct message_id *id)
{
    if (text.len > 0 && text.data[0] == '+')
        text = (struct dev_text){text.data + 1, text.len - 1};
    return parse_decimal(text, max, id);
}

static bool parse_hex(struct dev_text text, struct message_id *id)
{
    unsigned __int128 value = 0;
    size_t digits = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (c == '-')
            continue;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
                                                : 16;
        if (digit > 15 || ++digits > 32)
            return false;
        value = value << 4 | digit;
    }
    *id = (struct message_id){(uint64_t)value, (uint64_t)(value >> 64)};
    return digits == 32;
}

static bool read_id(struct dev_json *j, struct message_id *id)
{
    struct dev_text text;
    switch (dev_json_peek(j)) {
    case DEV_JSON_NUMBER:
        return dev_json_number(j, &text) && parse_decimal(text, UINT64_MAX, id);
    case DEV_JSON_STRING:
        return dev_json_string(j, &text) &&
               (parse_signed(text, ~(unsigned __int128)0, id) || parse_hex(text, id));
    default:
        return false;
    }
}

static bool check_value(struct dev_request *r, const struct produce *p)
{
    if (p->kind != BALANCED && (p->value_len < 1 || p->value_len > 255))
        dev_reply_error(r, DEV_INVALID_KEY_LENGTH);
    else if (p->kind == PARTITION_ID && p->value_len < 4)
        dev_reply_error(r, DEV_INVALID_COMMAND);
    else
        return true;
    return false;
}

/* The three ways in which a target can be missing; 0.8 tells them apart. */
static void target_missing(struct dev_request *r, const struct dev_stream *s, const struct dev_topic *t)
{
    if (r->server->store.personality != DEV_0_8)
        dev_reply_error(r, DEV_RESOURCE_NOT_FOUND);
    else
        dev_reply_error(r, !s                              ? DEV_STREAM_NOT_FOUND
                           : !t || t->partition_count == 0 ? DEV_TOPIC_NOT_FOUND
                                                           : DEV_PARTITION_NOT_FOUND);
}

static bool store_batch(struct dev_request *r, struct dev_topic *t, struct dev_partition *partition,
                        struct produce *p)
{
    struct dev_store *store = &r->server->store;
    struct dev_log *log = &partition->log;
    if (store->memory_limit && dev_store_memory(store) + p->records.len > store->memory_limit)
        return false;
    uint8_t *records = realloc(p->records.data, p->records.len);
    if (!records)
        records = p->records.data;
    uint32_t bytes = (uint32_t)p->records.len;
    p->records.data = NULL;
    p->records.len = p->records.cap = 0;
    if (!dev_log_append(log, records, bytes, p->count, dev_now_us(), t->options[DEV_OPTION_SEGMENT_SIZE]))
        return false;
    r->server->produced_messages += p->count;
    bool persisted = store->personality == DEV_0_10 && t->options[DEV_OPTION_FSYNC];
    if (persisted || log->unsaved_messages >= t->options[DEV_OPTION_MESSAGES_TO_SAVE] ||
        log->unsaved_bytes >= t->options[DEV_OPTION_BYTES_TO_SAVE])
        return dev_log_save(log);
    return true;
}

static void reply_produced(struct dev_request *r, const struct dev_stream *s, const struct dev_topic *t,
                           uint32_t partition, uint64_t base_offset)
{
    if (r->server->store.personality == DEV_0_8) {
        dev_reply_empty(r, 201);
        return;
    }
    struct mi_buf *out = dev_reply_json(r, 201);
    bool persisted = r->server->store.personality == DEV_0_10 && t->options[DEV_OPTION_FSYNC];
    r->durability = persisted                                  ? "persisted"
                    : r->server->store.personality == DEV_0_10 ? "replicated"
                                                               : "replicated-memory";
    if (r->server->faults.plan.no_confirmations)
        mi_buf_add_text(out, "{\"confirmations\":[]}");
    else
        mi_buf_addf(out,
                    "{\"confirmations\":[{\"stream_id\":%u,\"topic_id\":%u,\"partition_id\":%u,"
                    "\"base_offset\":%llu}]}",
                    s->id, t->id, partition, (unsigned long long)base_offset);
}

static void append(struct dev_request *r, struct produce *p, bool acknowledged)
{
    struct dev_stream *s;
    struct dev_topic *t;
    uint32_t id;
    if (!dev_target(r, dev_need_send, &s, &t))
        return;
    if (p->count == 0) {
        dev_reply_error(r, DEV_INVALID_MESSAGES_COUNT);
        return;
    }
    struct dev_partition *partition = t ? choose(t, p, &id) : NULL;
    const char *poison = r->server->faults.reject_text;
    if (!partition) {
        target_missing(r, s, t);
    } else if (poison[0] && p->records.len &&
               memmem(p->records.data, p->records.len, poison, strlen(poison))) {
        dev_fault_count_poison(&r->server->faults);
        dev_reply_error(r, DEV_TOO_BIG_PAYLOAD);
    } else {
        uint64_t base_offset = partition->log.next_offset;
        if (store_batch(r, t, partition, p))
            reply_produced(r, s, t, id, base_offset);
        else
            dev_reply_error(r, DEV_SERVER_BUSY);
    }
    if (!acknowledged) {
        dev_reply_empty(r, 202);
        r->durability = "none";
    }
}

static struct dev_partition *choose(struct dev_topic *topic, const struct produce *p, uint32_t *id)
{
    if (topic->partition_count == 0)
        return NULL;
    if (p->kind == PARTITION_ID)
        *id = mi_get_u32le(p->value);
    else if (p->kind == MESSAGES_KEY)
        *id = XXH32(p->value, p->value_len, 0) % topic->partition_count;
    else
        *id = topic->next_balanced++ % topic->partition_count;
    return *id < topic->partition_count ? topic->partitions[*id] : NULL;
}
