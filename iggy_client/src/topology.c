/* Requests about streams, topics and partitions. */
#include "topology.h"

#include "names.h"
#include "request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading
 * ------------------------------------------------------------------------------------------------------ */

static bool end_streams(struct request *r, struct answer *answer)
{
    struct iggy_stream *streams = NULL;
    size_t count = 0;
    if (answer && !topology_read_streams(answer->body, answer->len, &streams, &count))
        request_garbled(r);
    ((iggy_streams_fn)r->done)(r->arg, &r->result, streams, r->result.kind == IGGY_OK ? count : 0);
    for (size_t i = 0; i < count; i++)
        topology_free_stream(&streams[i]);
    free(streams);
    return true;
}

iggy_request iggy_get_streams(struct iggy_client *client, iggy_streams_fn done, void *arg)
{
    struct request *r = request_new(client, "GET", end_streams, (request_callback)done, arg);
    request_path(r, "/streams");
    return request_submit(r);
}

static bool end_stream(struct request *r, struct answer *answer)
{
    struct iggy_stream stream = {0}, none = {0};
    if (answer && !topology_read_stream(answer->body, answer->len, &stream))
        request_garbled(r);
    ((iggy_stream_fn)r->done)(r->arg, &r->result, r->result.kind == IGGY_OK ? &stream : &none);
    topology_free_stream(&stream);
    return true;
}

iggy_request iggy_get_stream(struct iggy_client *client, struct iggy_span stream, iggy_stream_fn done,
                             void *arg)
{
    struct request *r = request_new(client, "GET", end_stream, (request_callback)done, arg);
    request_stream_path(r, stream);
    return request_submit(r);
}

static bool end_topic(struct request *r, struct answer *answer)
{
    struct iggy_topic topic = {0}, none = {0};
    if (answer && !topology_read_topic(answer->body, answer->len, &topic))
        request_garbled(r);
    ((iggy_topic_fn)r->done)(r->arg, &r->result, r->result.kind == IGGY_OK ? &topic : &none);
    topology_free_topic(&topic);
    return true;
}

iggy_request iggy_get_topic(struct iggy_client *client, struct iggy_span stream, struct iggy_span topic,
                            iggy_topic_fn done, void *arg)
{
    struct request *r = request_new(client, "GET", end_topic, (request_callback)done, arg);
    request_topic_path(r, stream, topic);
    return request_submit(r);
}

/* ---- creating
 * ------------------------------------------------------------------------------------------------------ */

/* "Exists already" is what was wanted. */
static void accept_existing(struct request *r)
{
    bool exists = r->result.code == IGGY_CODE_STREAM_EXISTS || r->result.code == IGGY_CODE_TOPIC_EXISTS;
    if (r->result.kind == IGGY_HTTP && exists) {
        r->result.kind = IGGY_OK;
        r->result.effect = IGGY_EFFECT_DONE;
        r->result.text[0] = '\0';
    }
}

static bool end_create(struct request *r, struct answer *answer)
{
    accept_existing(r);
    return request_end_plain(r, answer);
}

static void check_new_name(struct request *r, const char *what, struct iggy_span name)
{
    if (!iggy_name_usable(name))
        request_refuse(r,
                       "the %s name \"%.*s\" cannot be used: it must have 1 to 255 bytes and not be a number",
                       what, (int)(name.len < 60 ? name.len : 60), name.data ? (const char *)name.data : "");
}

iggy_request iggy_create_stream(struct iggy_client *client, struct iggy_span name, iggy_done done, void *arg)
{
    struct request *r = request_new(client, "POST", end_create, (request_callback)done, arg);
    request_path(r, "/streams");
    check_new_name(r, "stream", name);
    if (r) {
        mi_buf_add_text(&r->own_body, "{\"name\":");
        names_add_json(&r->own_body, name);
        mi_buf_add_text(&r->own_body, "}");
    }
    return request_submit(r);
}

/* What a topic's creation is about, while the server is asked how it calls durability. */
struct creation {
    struct iggy_topic_options options;
    size_t stream_len, name_len;
    uint8_t names[]; /* stream, name */
};

enum durability { DURABILITY_NONE, DURABILITY_PERSISTED, DURABILITY_FSYNC };

static struct iggy_span name_of(const struct creation *creation)
{
    return (struct iggy_span){creation->names + creation->stream_len, creation->name_len};
}

static void describe_creation(struct request *r, const struct creation *creation, enum durability durability)
{
    const struct iggy_topic_options *o = &creation->options;
    struct mi_buf *body = &r->own_body;
    r->method = "POST";
    r->write = true;
    mi_buf_reset(&r->path);
    request_stream_path(r, (struct iggy_span){creation->names, creation->stream_len});
    request_path(r, "/topics");
    mi_buf_reset(body);
    mi_buf_add_text(body, "{\"name\":");
    names_add_json(body, name_of(creation));
    mi_buf_addf(body,
                ",\"partitions_count\":%" PRIu32
                ",\"compression_algorithm\":\"none\",\"message_expiry\":%" PRIu64
                ",\"max_topic_size\":%" PRIu64,
                o->partitions, o->message_expiry_us, o->max_bytes);
    if (durability == DURABILITY_PERSISTED)
        mi_buf_add_text(body, ",\"options\":{\"durability\":\"persisted\"}");
    if (durability == DURABILITY_FSYNC)
        mi_buf_add_text(body,
                        ",\"options\":{\"enforce_fsync\":\"true\",\"messages_required_to_save\":\"1\"}");
    mi_buf_add_text(body, "}");
}

static bool read_option(struct json *j, bool *durability, bool *fsync, bool *save)
{
    struct mi_span key, name;
    for (bool more = json_object(j); more && json_member(j, &key);) {
        if (!json_key_is(key, "key") || json_peek(j) != JSON_STRING) {
            json_skip(j);
        } else if (json_string(j, &name)) {
            *durability |= json_key_is(name, "durability");
            *fsync |= json_key_is(name, "enforce_fsync");
            *save |= json_key_is(name, "messages_required_to_save");
        }
    }
    return !j->failed;
}

/* [{"key":"enforce_fsync","kind":"bool",...}, ...] */
static bool read_options(struct answer *answer, enum durability *found)
{
    struct json j = json_start(answer->body, answer->len);
    bool durability = false, fsync = false, save = false;
    for (bool more = json_array(&j); more && json_item(&j);)
        read_option(&j, &durability, &fsync, &save);
    *found = durability ? DURABILITY_PERSISTED : fsync && save ? DURABILITY_FSYNC : DURABILITY_NONE;
    return json_end(&j);
}

static bool end_create_not_durable(struct request *r, struct answer *answer)
{
    accept_existing(r);
    if (r->result.kind == IGGY_OK)
        snprintf(r->result.text, sizeof r->result.text, "%s",
                 "this server cannot keep a topic's messages on disk before it answers; the topic is created "
                 "without");
    return request_end_plain(r, answer);
}

static bool end_create_durable(struct request *r, struct answer *answer)
{
    enum durability found = DURABILITY_NONE;
    if (answer && !read_options(answer, &found))
        request_garbled(r);
    bool asked = r->result.kind == IGGY_OK || r->result.http_status == 404; /* 0.8 knows no such question */
    if (!asked || r->result.kind == IGGY_GARBLED) {
        ((iggy_done)r->done)(r->arg, &r->result);
        return true;
    }
    describe_creation(r, r->extra, found);
    r->end = found == DURABILITY_NONE ? end_create_not_durable : end_create;
    request_again(r);
    return false;
}

static struct creation *creation_new(struct iggy_span stream, struct iggy_span name,
                                     const struct iggy_topic_options *options)
{
    struct creation *creation = calloc(1, sizeof *creation + stream.len + name.len);
    if (creation) {
        creation->options = *options;
        creation->stream_len = stream.len;
        creation->name_len = name.len;
        if (stream.len)
            memcpy(creation->names, stream.data, stream.len);
        if (name.len)
            memcpy(creation->names + stream.len, name.data, name.len);
    }
    return creation;
}

iggy_request iggy_create_topic(struct iggy_client *client, struct iggy_span stream, struct iggy_span name,
                               const struct iggy_topic_options *options, iggy_done done, void *arg)
{
    struct creation *creation = creation_new(stream, name, options);
    struct request *r =
        creation ? request_new(client, "POST", end_create, (request_callback)done, arg) : NULL;
    if (!r) {
        free(creation);
        return 0;
    }
    r->extra = creation;
    check_new_name(r, "topic", name);
    if (options->partitions < 1 || options->partitions > 1000)
        request_refuse(r, "a topic is created with 1 to 1000 partitions, not %" PRIu32, options->partitions);
    describe_creation(r, creation, DURABILITY_NONE);
    if (options->durable) {
        r->method = "GET";
        r->write = false;
        r->end = end_create_durable;
        mi_buf_reset(&r->path);
        mi_buf_reset(&r->own_body);
        request_path(r, "/options/topic");
    }
    return request_submit(r);
}

/* ---- deleting, partitions
 * --------------------------------------------------------------------------------------------- */

iggy_request iggy_delete_stream(struct iggy_client *client, struct iggy_span stream, iggy_done done,
                                void *arg)
{
    struct request *r = request_new(client, "DELETE", request_end_plain, (request_callback)done, arg);
    request_stream_path(r, stream);
    return request_submit(r);
}

iggy_request iggy_delete_topic(struct iggy_client *client, struct iggy_span stream, struct iggy_span topic,
                               iggy_done done, void *arg)
{
    struct request *r = request_new(client, "DELETE", request_end_plain, (request_callback)done, arg);
    request_topic_path(r, stream, topic);
    return request_submit(r);
}

iggy_request iggy_create_partitions(struct iggy_client *client, struct iggy_span stream,
                                    struct iggy_span topic, uint32_t count, iggy_done done, void *arg)
{
    struct request *r = request_new(client, "POST", request_end_plain, (request_callback)done, arg);
    request_topic_path(r, stream, topic);
    request_path(r, "/partitions");
    if (r)
        mi_buf_addf(&r->own_body, "{\"partitions_count\":%" PRIu32 "}", count);
    return request_submit(r);
}

iggy_request iggy_delete_partitions(struct iggy_client *client, struct iggy_span stream,
                                    struct iggy_span topic, uint32_t count, iggy_done done, void *arg)
{
    struct request *r = request_new(client, "DELETE", request_end_plain, (request_callback)done, arg);
    request_topic_path(r, stream, topic);
    request_path(r, "/partitions?partitions_count=%" PRIu32, count);
    return request_submit(r);
}
