/* Stored offsets of consumers. */
#include "json_reader.h"
#include "names.h"
#include "request.h"

#include <inttypes.h>
#include <string.h>

#define DEFAULT_CONSUMER "1"

static const char *consumer_or_default(const char *consumer)
{
    return consumer ? consumer : DEFAULT_CONSUMER;
}

static bool read_offset(struct answer *answer, struct iggy_offset *offset)
{
    struct json j = json_start(answer->body, answer->len);
    struct mi_span key;
    for (bool more = json_object(&j); more && json_member(&j, &key);) {
        if (json_key_is(key, "current_offset"))
            json_u64(&j, &offset->current);
        else if (json_key_is(key, "stored_offset"))
            offset->stored = json_u64(&j, &offset->offset);
        else
            json_skip(&j);
    }
    return json_end(&j) && offset->stored;
}

/* {"partition_id":0,"current_offset":18,"stored_offset":17}; 404 when nothing is stored */
static bool end_get_offset(struct request *r, struct answer *answer)
{
    struct iggy_offset offset = {0};
    if (answer && !read_offset(answer, &offset)) {
        offset = (struct iggy_offset){0};
        request_garbled(r);
    }
    if (r->result.kind == IGGY_HTTP && r->result.http_status == 404) {
        r->result.kind = IGGY_OK;
        r->result.effect = IGGY_EFFECT_DONE;
        r->result.text[0] = '\0';
    }
    ((iggy_offset_fn)r->done)(r->arg, &r->result, &offset);
    return true;
}

iggy_request iggy_get_offset(struct iggy_client *client, struct iggy_span stream, struct iggy_span topic,
                             uint32_t partition_id, const char *consumer, iggy_offset_fn done, void *arg)
{
    struct request *r = request_new(client, "GET", end_get_offset, (request_callback)done, arg);
    request_topic_path(r, stream, topic);
    request_path(r, "/consumer-offsets?partition_id=%" PRIu32 "&consumer_id=", partition_id);
    if (r)
        names_add_segment(&r->path, names_span(consumer_or_default(consumer)));
    return request_submit(r);
}

iggy_request iggy_store_offset(struct iggy_client *client, struct iggy_span stream, struct iggy_span topic,
                               uint32_t partition_id, const char *consumer, uint64_t offset, iggy_done done,
                               void *arg)
{
    struct request *r = request_new(client, "PUT", request_end_plain, (request_callback)done, arg);
    struct iggy_span who = names_span(consumer_or_default(consumer));
    request_topic_path(r, stream, topic);
    request_path(r, "/consumer-offsets");
    if (r) {
        /* In the queries above a number means a numeric consumer; here it has to be said. */
        mi_buf_add_text(&r->own_body, "{\"consumer_id\":");
        if (names_all_digits(who))
            mi_buf_add(&r->own_body, who.data, who.len);
        else
            names_add_json(&r->own_body, who);
        mi_buf_addf(&r->own_body, ",\"partition_id\":%" PRIu32 ",\"offset\":%" PRIu64 "}", partition_id,
                    offset);
    }
    return request_submit(r);
}

iggy_request iggy_delete_offset(struct iggy_client *client, struct iggy_span stream, struct iggy_span topic,
                                uint32_t partition_id, const char *consumer, iggy_done done, void *arg)
{
    struct request *r = request_new(client, "DELETE", request_end_plain, (request_callback)done, arg);
    request_topic_path(r, stream, topic);
    request_path(r, "/consumer-offsets/");
    if (r)
        names_add_segment(&r->path, names_span(consumer_or_default(consumer)));
    request_path(r, "?partition_id=%" PRIu32, partition_id);
    return request_submit(r);
}
