/*
 * api_topics: topics, partitions and segments.
 */
#include <string.h>

#include "server.h"
#include "topic_options.h"

struct topic_body {
    const char *name;
    uint64_t partitions;
    uint64_t options[DEV_OPTIONS];
    bool explicit_options[DEV_OPTIONS];
    const cJSON *extra; /* the options object; NULL: none */
};

static bool read_topic_body(struct dev_request *r, const cJSON *body, bool create, struct topic_body *out);
static bool read_compression(struct dev_request *r, const cJSON *body, bool required, struct topic_body *out);
static bool read_option_number(struct dev_request *r, const cJSON *body, const char *name, bool required,
                               enum dev_option option, struct topic_body *out);
static bool read_options_object(struct dev_request *r, const cJSON *body, struct topic_body *out);
static bool topic_valid(struct dev_request *r, struct topic_body *in);
static bool topic_free(struct dev_request *r, const struct dev_stream *stream, const struct topic_body *in,
                       const struct dev_topic *own);

void dev_append_topic(struct mi_buf *out, const struct dev_store *store, const struct dev_topic *topic,
                      enum dev_view view)
{
    mi_buf_addf(out, "{\"id\":%u,\"created_at\":%llu,\"name\":", topic->id,
                (unsigned long long)topic->created_at);
    dev_append_string(out, topic->name);
    mi_buf_add_byte(out, ',');
    dev_append_size(out, "size", dev_topic_bytes(topic));
    mi_buf_addf(out, ",\"message_expiry\":%llu,\"compression_algorithm\":\"%s\",\"max_topic_size\":%llu%s",
                (unsigned long long)topic->options[DEV_OPTION_EXPIRY],
                topic->options[DEV_OPTION_COMPRESSION] ? "gzip" : "none",
                (unsigned long long)topic->options[DEV_OPTION_MAX_SIZE],
                store->personality == DEV_0_8 ? ",\"replication_factor\":1" : "");
    mi_buf_addf(out, ",\"messages_count\":%llu,\"partitions_count\":%u",
                (unsigned long long)dev_topic_messages(topic), topic->partition_count);
    bool unborn = view == DEV_CREATED && store->personality != DEV_0_8; /* as measured */
    bool details = view != DEV_LISTED;
    if (details)
        mi_buf_add_text(out, ",\"partitions\":[");
    for (uint32_t i = 0; details && i < topic->partition_count; i++) {
        const struct dev_partition *p = topic->partitions[i];
        mi_buf_addf(out, "%s{\"id\":%u,\"created_at\":%llu,\"segments_count\":%zu,\"current_offset\":%llu,",
                    i ? "," : "", i, (unsigned long long)p->created_at,
                    unborn ? 0 : dev_log_segments(&p->log), (unsigned long long)dev_log_tail(&p->log));
        dev_append_size(out, "size", p->log.bytes);
        mi_buf_addf(out, ",\"messages_count\":%llu", (unsigned long long)dev_log_messages(&p->log));
        if (store->personality == DEV_0_10)
            mi_buf_addf(out, ",\"context\":{\"incarnation\":%llu,\"owner_generation\":1,\"metadata_op\":1}",
                        (unsigned long long)p->created_at);
        mi_buf_add_byte(out, '}');
    }
    if (details)
        mi_buf_add_byte(out, ']');
    if (store->personality != DEV_0_8) {
        mi_buf_add_text(out, ",\"options\":");
        dev_options_append(out, store, topic);
    }
    mi_buf_add_byte(out, '}');
}

void dev_list_topics(struct dev_request *r)
{
    struct dev_stream *s;
    struct dev_topic *t;
    if (!dev_target(r, dev_need_list_topics, &s, NULL))
        return;
    if (!s && r->server->store.personality == DEV_0_8) {
        dev_reply_error(r, DEV_NOT_FOUND);
        return;
    }
    struct mi_buf *out = dev_reply_json(r, 200);
    mi_buf_add_byte(out, '[');
    for (uint32_t i = 0; s && (t = dev_slab_next(&s->topics, &i)); i++) {
        if (out->len > 1)
            mi_buf_add_byte(out, ',');
        dev_append_topic(out, &r->server->store, t, DEV_LISTED);
    }
    mi_buf_add_byte(out, ']');
}

void dev_get_topic(struct dev_request *r)
{
    struct dev_stream *s;
    struct dev_topic *t;
    if (!dev_target(r, dev_need_read_topic, &s, &t))
        return;
    if (t)
        dev_append_topic(dev_reply_json(r, 200), &r->server->store, t, DEV_DETAILS);
    else
        dev_reply_error(r, DEV_NOT_FOUND);
}

void dev_create_topic(struct dev_request *r)
{
    cJSON *body = dev_body(r);
    struct topic_body in;
    struct dev_stream *s;
    if (body && read_topic_body(r, body, true, &in) && topic_valid(r, &in) &&
        dev_target(r, dev_need_create_topic, &s, NULL)) {
        if (!topic_free(r, s, &in, NULL)) {
            /* answered */
        } else if (!s) {
            dev_reply_error(r,
                            r->server->store.personality == DEV_0_8 ? DEV_NOT_FOUND : DEV_STREAM_NOT_FOUND);
        } else {
            struct dev_topic *t = dev_topic_create(&r->server->store, s, in.name, (uint32_t)in.partitions,
                                                   in.options, in.explicit_options);
            if (t)
                dev_append_topic(dev_reply_json(r, 200), &r->server->store, t, DEV_CREATED);
            else
                dev_reply_error(r, DEV_SERVER_BUSY);
        }
    }
    cJSON_Delete(body);
}

static bool read_topic_body(struct dev_request *r, const cJSON *body, bool create, struct topic_body *out)
{
    bool required = create || r->server->store.personality == DEV_0_8;
    *out = (struct topic_body){0};
    dev_option_defaults(out->options);
    return dev_member_string(r, body, "name", true, &out->name) &&
           dev_member_u64(r, body, "partitions_count", UINT32_MAX, create, &out->partitions) &&
           read_compression(r, body, required, out) &&
           read_option_number(r, body, "message_expiry", required, DEV_OPTION_EXPIRY, out) &&
           read_option_number(r, body, "max_topic_size", required, DEV_OPTION_MAX_SIZE, out) &&
           read_options_object(r, body, out);
}

static bool read_compression(struct dev_request *r, const cJSON *body, bool required, struct topic_body *out)
{
    const char *word = "none";
    if (!dev_member_string(r, body, "compression_algorithm", required, &word))
        return false;
    out->options[DEV_OPTION_COMPRESSION] = strcmp(word, "gzip") == 0;
    if (strcmp(word, "gzip") == 0 || strcmp(word, "none") == 0)
        return true;
    dev_reply_text(r, 422,
                   "Failed to deserialize the JSON body into the target type: Unknown compression type");
    return false;
}

/* 0 stands for the server's default. */
static bool read_option_number(struct dev_request *r, const cJSON *body, const char *name, bool required,
                               enum dev_option option, struct topic_body *out)
{
    uint64_t value = 0;
    if (!dev_member_u64(r, body, name, UINT64_MAX, required, &value))
        return false;
    if (value) {
        out->options[option] = value;
        out->explicit_options[option] = true;
    }
    return true;
}

static bool read_options_object(struct dev_request *r, const cJSON *body, struct topic_body *out)
{
    const cJSON *object = cJSON_GetObjectItemCaseSensitive(body, "options"), *item;
    if (!object || r->server->store.personality == DEV_0_8)
        return true;
    bool fits = cJSON_IsObject(object);
    cJSON_ArrayForEach(item, object)
    {
        fits = fits && cJSON_IsString(item);
    }
    if (!fits)
        dev_reply_text(r, 422, "Failed to deserialize the JSON body into the target type: options");
    out->extra = object;
    return fits;
}

/* Iggy checks the fields before it asks for the right. */
static bool topic_valid(struct dev_request *r, struct topic_body *in)
{
    size_t len = strlen(in->name);
    if (len < 1 || len > 255)
        dev_reply_error(r, DEV_INVALID_TOPIC_NAME);
    else if (in->partitions > 1000)
        dev_reply_error(r, DEV_TOO_MANY_PARTITIONS);
    else if (in->extra && !dev_options_read(r, in->extra, in->options, in->explicit_options))
        return false;
    else if (in->options[DEV_OPTION_MAX_SIZE] < in->options[DEV_OPTION_SEGMENT_SIZE])
        dev_reply_error(r, DEV_INVALID_TOPIC_SIZE);
    else
        return true;
    return false;
}

static bool topic_free(struct dev_request *r, const struct dev_stream *stream, const struct topic_body *in,
                       const struct dev_topic *own)
{
    const struct dev_topic *other = stream ? dev_topic_named(stream, in->name) : NULL;
    if (!other || other == own)
        return true;
    dev_reply_error(r, DEV_TOPIC_EXISTS);
    return false;
}

void dev_update_topic(struct dev_request *r)
{
    cJSON *body = dev_body(r);
    struct topic_body in;
    struct dev_stream *s;
    struct dev_topic *t;
    if (body && read_topic_body(r, body, false, &in) && topic_valid(r, &in) &&
        dev_target(r, dev_need_manage_topic, &s, &t)) {
        if (!t)
            dev_reply_error(r, DEV_TOPIC_NOT_FOUND);
        else if (topic_free(r, s, &in, t) && dev_set_name(&t->name, in.name)) {
            for (int i = 0; i < DEV_OPTIONS; i++)
                if (in.explicit_options[i])
                    t->options[i] = in.options[i];
            r->server->store.dirty = true;
            dev_reply_empty(r, 204);
        }
    }
    cJSON_Delete(body);
}

/* Stream and topic for a change; false after an answer. 0.8 looks for the topic first in its words. */
static bool change_target(struct dev_request *r, struct dev_stream **s, struct dev_topic **t)
{
    if (!dev_target(r, dev_need_manage_topic, s, t))
        return false;
    if (*t)
        return true;
    dev_reply_error(r, *s ? DEV_TOPIC_NOT_FOUND : DEV_STREAM_NOT_FOUND);
    return false;
}

void dev_delete_topic(struct dev_request *r)
{
    struct dev_stream *s;
    struct dev_topic *t;
    if (!change_target(r, &s, &t))
        return;
    dev_topic_delete(&r->server->store, s, t);
    dev_reply_empty(r, 204);
}

void dev_purge_topic(struct dev_request *r)
{
    struct dev_stream *s;
    struct dev_topic *t;
    if (!change_target(r, &s, &t))
        return;
    dev_topic_purge(&r->server->store, t);
    dev_reply_empty(r, 204);
}

void dev_create_partitions(struct dev_request *r)
{
    cJSON *body = dev_body(r);
    uint64_t count;
    struct dev_stream *s;
    struct dev_topic *t;
    if (body && dev_member_u64(r, body, "partitions_count", UINT32_MAX, true, &count)) {
        if (count < 1 || count > 1000)
            dev_reply_error(r, DEV_TOO_MANY_PARTITIONS);
        else if (change_target(r, &s, &t)) {
            if (dev_partitions_add(&r->server->store, s, t, (uint32_t)count))
                dev_reply_empty(r, r->server->store.personality == DEV_0_8 ? 201 : 200);
            else
                dev_reply_error(r, DEV_SERVER_BUSY);
        }
    }
    cJSON_Delete(body);
}

/* Answers 400 when a required query value is missing. */
static bool required_u32(struct dev_request *r, const char *name, uint32_t *value)
{
    if (!dev_query(r, name)) {
        dev_reply_text(r, 400, "Failed to deserialize query string: missing field");
        return false;
    }
    return dev_query_u32(r, name, value);
}

void dev_delete_partitions(struct dev_request *r)
{
    uint32_t count;
    struct dev_stream *s;
    struct dev_topic *t;
    if (!required_u32(r, "partitions_count", &count))
        return;
    if (count < 1 || count > 1000) {
        dev_reply_error(r, DEV_TOO_MANY_PARTITIONS);
        return;
    }
    if (!change_target(r, &s, &t))
        return;
    if (count > t->partition_count) {
        dev_reply_error(r, DEV_INVALID_PARTITIONS_COUNT);
        return;
    }
    dev_partitions_remove(&r->server->store, s, t, count);
    dev_reply_empty(r, 204);
}

void dev_delete_segments(struct dev_request *r)
{
    uint32_t count, partition;
    struct dev_stream *s;
    struct dev_topic *t;
    if (!required_u32(r, "segments_count", &count))
        return;
    if (!dev_numeric_id(r->args[2], &partition)) {
        dev_reply_text(r, 400, "Invalid URL: Cannot parse `partition_id`");
        return;
    }
    if (!change_target(r, &s, &t))
        return;
    if (partition >= t->partition_count) {
        dev_reply_error(r, DEV_PARTITION_NOT_FOUND);
        return;
    }
    dev_log_drop_segments(&t->partitions[partition]->log, count);
    r->server->store.dirty = true;
    dev_reply_empty(r, 204);
}
