/* Producing: the request body, written straight into one buffer, and what the server confirms. */
#include "base64.h"
#include "json_reader.h"
#include "names.h"
#include "request.h"

#include <stdlib.h>
#include <string.h>

#define MAX_BODY (128u << 20) /* Iggy: 64,000,000 payload bytes at most, a third more in base64 */

static const char head[] = "{\"partitioning\":{\"kind\":\"";
static const char before_value[] = "\",\"value\":\"";
static const char before_messages[] = "\"},\"messages\":[";
static const char before_id[] = "{\"id\":";
static const char before_payload[] = ",\"payload\":\"";
static const char before_headers[] = "\",\"user_headers\":\"";
static const char after_message[] = "\"}";
static const char tail[] = "]}";

#define LENGTH(literal) (sizeof(literal) - 1)
/* The dashed form: the server reads 32 digits without dashes as a decimal number when none of them is a
 * letter. */
#define ID_LENGTH (LENGTH("\"00000000-0000-0000-0000-000000000000\""))

struct iggy_batch {
    struct mi_buf body; /* always complete: it ends with tail */
    size_t count;
    const char *fault; /* why it cannot be sent, NULL when it can */
};

#define MAX_KEY 255

static bool end_produce(struct request *r, struct answer *answer);
static struct request *describe(struct iggy_client *client, struct iggy_span stream, struct iggy_span topic,
                                const struct iggy_batch *batch, iggy_produced_fn done, void *arg);

/* ---- the body
 * ------------------------------------------------------------------------------------------------------ */

struct iggy_batch *iggy_batch_new(void)
{
    struct iggy_batch *batch = calloc(1, sizeof *batch);
    if (batch) {
        mi_buf_init(&batch->body, MAX_BODY);
        iggy_batch_start(batch, 0);
        if (batch->body.failed) {
            iggy_batch_free(batch);
            return NULL;
        }
    }
    return batch;
}

void iggy_batch_free(struct iggy_batch *batch)
{
    if (!batch)
        return;
    mi_buf_fini(&batch->body);
    free(batch);
}

static void start_batch(struct iggy_batch *batch, const char *kind, struct iggy_span value)
{
    char text[(MAX_KEY + 2) / 3 * 4];
    batch->fault = value.len > MAX_KEY ? "the partition key has more than 255 bytes" : NULL;
    size_t len = batch->fault ? 0 : base64_encode(text, value.data, value.len);
    batch->count = 0;
    mi_buf_reset(&batch->body);
    mi_buf_add_text(&batch->body, head);
    mi_buf_add_text(&batch->body, kind);
    mi_buf_add_text(&batch->body, before_value);
    mi_buf_add(&batch->body, text, len);
    mi_buf_add_text(&batch->body, before_messages);
    if (!mi_buf_add_text(&batch->body, tail))
        batch->fault = "out of memory";
}

void iggy_batch_start(struct iggy_batch *batch, uint32_t partition_id)
{
    uint8_t le[4];
    mi_put_u32le(le, partition_id);
    start_batch(batch, "partition_id", (struct iggy_span){le, sizeof le});
}

void iggy_batch_start_keyed(struct iggy_batch *batch, struct iggy_span key)
{
    start_batch(batch, key.len ? "messages_key" : "balanced", key);
}

static char *put(char *to, const char *text, size_t len)
{
    memcpy(to, text, len);
    return to + len;
}

static char *put_id(char *to, struct iggy_id id)
{
    static const char hex[] = "0123456789abcdef";
    *to++ = '"';
    for (unsigned i = 0; i < 32; i++) {
        if (i == 8 || i == 12 || i == 16 || i == 20)
            *to++ = '-';
        uint64_t half = i < 16 ? id.hi : id.lo;
        *to++ = hex[half >> (60 - 4 * (i & 15)) & 15];
    }
    *to++ = '"';
    return to;
}

size_t iggy_batch_message_bytes(size_t header_bytes, size_t payload_bytes)
{
    return LENGTH(",") + LENGTH(before_id) + ID_LENGTH + LENGTH(before_payload) +
           base64_encoded_size(payload_bytes) +
           (header_bytes ? LENGTH(before_headers) + base64_encoded_size(header_bytes) : 0) +
           LENGTH(after_message);
}

bool iggy_batch_add(struct iggy_batch *batch, struct iggy_id id, struct iggy_span headers,
                    struct iggy_span payload_1, struct iggy_span payload_2)
{
    size_t payload_len = payload_1.len + payload_2.len;
    if (payload_len == 0 || payload_len > MAX_BODY || headers.len > MAX_BODY || batch->fault)
        return false;
    size_t most = iggy_batch_message_bytes(headers.len, payload_len);
    if (!mi_buf_reserve(&batch->body, most)) {
        batch->body.failed = false; /* as it was; a smaller message may still fit */
        return false;
    }
    char *start = (char *)batch->body.data + batch->body.len - LENGTH(tail), *to = start;
    if (batch->count > 0)
        *to++ = ',';
    to = put(to, before_id, LENGTH(before_id));
    if (id.hi == 0 && id.lo == 0)
        *to++ = '0';
    else
        to = put_id(to, id);
    to = put(to, before_payload, LENGTH(before_payload));
    to += base64_encode_two(to, payload_1.data, payload_1.len, payload_2.data, payload_2.len);
    if (headers.len > 0) {
        to = put(to, before_headers, LENGTH(before_headers));
        to += base64_encode(to, headers.data, headers.len);
    }
    to = put(to, after_message, LENGTH(after_message));
    batch->body.len += (size_t)(to - start);
    put(to, tail, LENGTH(tail));
    batch->count++;
    return true;
}

size_t iggy_batch_count(const struct iggy_batch *batch)
{
    return batch->count;
}

size_t iggy_batch_bytes(const struct iggy_batch *batch)
{
    return batch->body.len;
}

/* ---- sending
 * ---------------------------------------------------------------------------------------------------------
 */

iggy_request iggy_produce(struct iggy_client *client, struct iggy_span stream, struct iggy_span topic,
                          const struct iggy_batch *batch, iggy_produced_fn done, void *arg)
{
    return request_submit(describe(client, stream, topic, batch, done, arg));
}

iggy_request iggy_produce_unless_signs(struct iggy_client *client, uint64_t signs, struct iggy_span stream,
                                       struct iggy_span topic, const struct iggy_batch *batch,
                                       iggy_produced_fn done, void *arg)
{
    struct request *r = describe(client, stream, topic, batch, done, arg);
    if (r) {
        r->guarded = true;
        r->signs = signs;
    }
    return request_submit(r);
}

static struct request *describe(struct iggy_client *client, struct iggy_span stream, struct iggy_span topic,
                                const struct iggy_batch *batch, iggy_produced_fn done, void *arg)
{
    struct request *r = request_new(client, "POST", end_produce, (request_callback)done, arg);
    request_topic_path(r, stream, topic);
    request_path(r, "/messages");
    if (batch->fault || batch->count == 0)
        request_refuse(r, "the batch cannot be sent: %s", batch->fault ? batch->fault : "it is empty");
    if (r)
        r->body = mi_buf_span(&batch->body);
    return r;
}

static void read_confirmation(struct json *j, struct iggy_produced *produced)
{
    struct mi_span key;
    bool partition = false, offset = false;
    for (bool more = json_object(j); more && json_member(j, &key);) {
        if (json_key_is(key, "partition_id"))
            partition = json_u32(j, &produced->partition_id);
        else if (json_key_is(key, "base_offset"))
            offset = json_u64(j, &produced->base_offset);
        else
            json_skip(j);
    }
    produced->confirmed = partition && offset;
}

/* 0.9: {"confirmations":[{"stream_id":0,"topic_id":0,"partition_id":2,"base_offset":17}]}, perhaps an empty
 * list. 0.8: nothing. */
static bool read_confirmations(struct answer *answer, struct iggy_produced *produced)
{
    if (answer->len == 0)
        return true;
    struct json j = json_start(answer->body, answer->len);
    struct mi_span key;
    for (bool more = json_object(&j); more && json_member(&j, &key);) {
        if (!json_key_is(key, "confirmations") || json_peek(&j) != JSON_ARRAY) {
            json_skip(&j);
            continue;
        }
        for (bool items = json_array(&j); items && json_item(&j);)
            if (produced->confirmed)
                json_skip(&j);
            else
                read_confirmation(&j, produced);
    }
    return json_end(&j);
}

/* Only a 201 that reads well is believed: a stranger's "200 OK" must not pass for a stored message. */
static bool end_produce(struct request *r, struct answer *answer)
{
    struct iggy_produced produced = {0};
    if (answer) {
        produced.persisted = answer->persisted;
        if (r->result.http_status != 201 || !read_confirmations(answer, &produced)) {
            produced = (struct iggy_produced){0};
            request_garbled(r);
        }
    }
    ((iggy_produced_fn)r->done)(r->arg, &r->result, &produced);
    return true;
}
