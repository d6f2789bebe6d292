/* Polling: the question, and the streaming decoder of the answer. */
#include "poll_reader.h"

#include "base64.h"
#include "json_reader.h"
#include "names.h"
#include "request.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool end_poll(struct request *r, struct answer *answer);
static bool read_message(struct json *j, struct poll_reader *reader);

/* ---- asking
 * ------------------------------------------------------------------------------------------------------ */

static const char *kind_of(enum iggy_strategy strategy)
{
    switch (strategy) {
    case IGGY_FROM_OFFSET:
        return "offset";
    case IGGY_FROM_TIMESTAMP:
        return "timestamp";
    case IGGY_FROM_FIRST:
        return "first";
    case IGGY_FROM_LAST:
        return "last";
    case IGGY_FROM_NEXT:
        return "next";
    }
    return NULL;
}

iggy_request iggy_poll(struct iggy_client *client, const struct iggy_poll *poll, iggy_polled_fn done,
                       void *arg)
{
    struct request *r = request_new(client, "GET", end_poll, (request_callback)done, arg);
    const char *kind = kind_of(poll->strategy);
    if (!kind)
        request_refuse(r, "unknown polling strategy %d", (int)poll->strategy);
    request_topic_path(r, poll->stream, poll->topic);
    request_path(r, "/messages?consumer_id=");
    if (r)
        names_add_segment(&r->path, names_span(poll->consumer ? poll->consumer : "1"));
    request_path(r, "&partition_id=%" PRIu32 "&kind=%s&value=%" PRIu64 "&count=%" PRIu32 "&auto_commit=%s",
                 poll->partition_id, kind ? kind : "", poll->value, poll->count,
                 poll->auto_commit ? "true" : "false");
    if (r) {
        r->write = poll->auto_commit;
        if (poll->max_bytes)
            r->max_answer = poll->max_bytes;
    }
    return request_submit(r);
}

static bool end_poll(struct request *r, struct answer *answer)
{
    struct poll_reader reader = {0};
    if (answer && (r->result.http_status != 200 || !poll_read(&reader, answer->body, answer->len)))
        request_garbled(r);
    if (r->result.kind != IGGY_OK)
        reader.polled = (struct iggy_polled){0};
    ((iggy_polled_fn)r->done)(r->arg, &r->result, &reader.polled);
    poll_reader_fini(&reader);
    return true;
}

/* ---- reading
 * ------------------------------------------------------------------------------------------------------ */

void poll_reader_fini(struct poll_reader *reader)
{
    free(reader->messages);
    mi_buf_fini(&reader->blocks);
}

/* Room for one more message; sized for what the answer can still hold, so that it seldom grows. */
static struct iggy_polled_message *add_message(struct poll_reader *reader)
{
    if (reader->polled.count == reader->capacity) {
        size_t capacity = reader->capacity ? reader->capacity * 2 : 64;
        struct iggy_polled_message *more = realloc(reader->messages, capacity * sizeof *more);
        if (!more)
            return NULL;
        reader->messages = more;
        reader->capacity = capacity;
    }
    struct iggy_polled_message *m = &reader->messages[reader->polled.count++];
    memset(m, 0, sizeof *m);
    return m;
}

/* {"partition_id":2,"current_offset":18,"count":1,"messages":[...]} */
bool poll_read(struct poll_reader *reader, uint8_t *text, size_t len)
{
    /* Header blocks that are made here are always shorter than the JSON that they come from: one reservation,
     * and no block ever moves. */
    mi_buf_init(&reader->blocks, len);
    struct json j = json_start(text, len);
    struct mi_span key;
    bool messages = false;
    for (bool more = json_object(&j); more && json_member(&j, &key);) {
        if (json_key_is(key, "partition_id")) {
            json_u32(&j, &reader->polled.partition_id);
        } else if (json_key_is(key, "current_offset")) {
            json_u64(&j, &reader->polled.current_offset);
        } else if (json_key_is(key, "messages") && !messages) {
            messages = true;
            for (bool items = json_array(&j); items && json_item(&j);)
                read_message(&j, reader);
        } else {
            json_skip(&j);
        }
    }
    reader->polled.messages = reader->messages;
    return json_end(&j) && messages;
}

static struct iggy_span span(struct mi_span s)
{
    return (struct iggy_span){s.data, s.len};
}

static bool read_header(struct json *j, struct iggy_polled_message *m)
{
    struct mi_span key;
    bool id = false, offset = false;
    for (bool more = json_object(j); more && json_member(j, &key);) {
        if (json_key_is(key, "id"))
            id = json_u128(j, &m->id);
        else if (json_key_is(key, "offset"))
            offset = json_u64(j, &m->offset);
        else if (json_key_is(key, "timestamp"))
            json_u64(j, &m->timestamp);
        else if (json_key_is(key, "origin_timestamp"))
            json_u64(j, &m->origin_timestamp);
        else
            json_skip(j);
    }
    return (id && offset) || json_fail(j);
}

static bool read_message(struct json *j, struct poll_reader *reader)
{
    struct iggy_polled_message *m = add_message(reader);
    if (!m)
        return json_fail(j);
    struct mi_span key, bytes;
    bool header = false, payload = false;
    for (bool more = json_object(j); more && json_member(j, &key);) {
        if (json_key_is(key, "header")) {
            header = read_header(j, m);
        } else if (json_key_is(key, "payload")) {
            payload = json_base64(j, &bytes);
            m->payload = payload ? span(bytes) : m->payload;
        } else if (json_key_is(key, "user_headers")) {
            if (user_headers_read(j, &reader->blocks, &bytes))
                m->headers = span(bytes);
        } else {
            json_skip(j);
        }
    }
    return (header && payload) || json_fail(j);
}
