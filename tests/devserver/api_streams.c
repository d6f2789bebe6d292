/*
 * api_streams: /streams.
 */
#include <string.h>

#include "server.h"

static void append_stream(struct mi_buf *out, const struct dev_store *store, const struct dev_stream *stream,
                          bool details)
{
    uint64_t messages = 0, bytes = 0;
    struct dev_topic *t;
    for (uint32_t i = 0; (t = dev_slab_next(&stream->topics, &i)); i++) {
        messages += dev_topic_messages(t);
        bytes += dev_topic_bytes(t);
    }
    mi_buf_addf(out, "{\"id\":%u,\"created_at\":%llu,\"name\":", stream->id,
                (unsigned long long)stream->created_at);
    dev_append_string(out, stream->name);
    mi_buf_add_byte(out, ',');
    dev_append_size(out, "size", bytes);
    mi_buf_addf(out, ",\"messages_count\":%llu,\"topics_count\":%u", (unsigned long long)messages,
                stream->topics.count);
    if (details) {
        mi_buf_add_text(out, ",\"topics\":[");
        bool first = true;
        for (uint32_t i = 0; (t = dev_slab_next(&stream->topics, &i)); i++) {
            if (!first)
                mi_buf_add_byte(out, ',');
            first = false;
            dev_append_topic(out, store, t, DEV_LISTED);
        }
        mi_buf_add_byte(out, ']');
    }
    mi_buf_add_text(out, store->personality == DEV_0_8 ? "}" : ",\"options\":{}}");
}

void dev_list_streams(struct dev_request *r)
{
    if (!dev_allowed(r, dev_need_list_streams, NULL, NULL))
        return;
    struct mi_buf *out = dev_reply_json(r, 200);
    struct dev_stream *s;
    mi_buf_add_byte(out, '[');
    for (uint32_t i = 0; (s = dev_slab_next(&r->server->store.streams, &i)); i++) {
        if (out->len > 1)
            mi_buf_add_byte(out, ',');
        append_stream(out, &r->server->store, s, false);
    }
    mi_buf_add_byte(out, ']');
}

/* Reads {"name":...} and checks it; false after an answer. */
static bool read_name(struct dev_request *r, cJSON **body, const char **name)
{
    *body = dev_body(r);
    return *body && dev_member_string(r, *body, "name", true, name);
}

/* Iggy checks the length before it asks for the right. */
static bool name_valid(struct dev_request *r, const char *name)
{
    size_t len = strlen(name);
    if (len >= 1 && len <= 255)
        return true;
    dev_reply_error(r, DEV_INVALID_STREAM_NAME);
    return false;
}

static bool name_free(struct dev_request *r, const char *name, const struct dev_stream *own)
{
    const struct dev_stream *other = dev_stream_named(&r->server->store, name);
    if (!other || other == own)
        return true;
    dev_reply_error(r, DEV_STREAM_EXISTS);
    return false;
}

void dev_create_stream(struct dev_request *r)
{
    cJSON *body;
    const char *name;
    if (read_name(r, &body, &name) && name_valid(r, name) &&
        dev_allowed(r, dev_need_create_stream, NULL, NULL) && name_free(r, name, NULL)) {
        struct dev_stream *s = dev_stream_create(&r->server->store, name);
        if (s)
            append_stream(dev_reply_json(r, 200), &r->server->store, s, true);
        else
            dev_reply_error(r, DEV_SERVER_BUSY);
    }
    cJSON_Delete(body);
}

void dev_get_stream(struct dev_request *r)
{
    struct dev_stream *s;
    if (!dev_target(r, dev_need_read_stream, &s, NULL))
        return;
    if (s)
        append_stream(dev_reply_json(r, 200), &r->server->store, s, true);
    else
        dev_reply_error(r, DEV_NOT_FOUND);
}

void dev_update_stream(struct dev_request *r)
{
    cJSON *body;
    const char *name;
    struct dev_stream *s;
    if (read_name(r, &body, &name) && name_valid(r, name) &&
        dev_target(r, dev_need_manage_stream, &s, NULL)) {
        if (!s)
            dev_reply_error(r, DEV_STREAM_NOT_FOUND);
        else if (name_free(r, name, s) && dev_set_name(&s->name, name)) {
            r->server->store.dirty = true;
            dev_reply_empty(r, 204);
        }
    }
    cJSON_Delete(body);
}

void dev_delete_stream(struct dev_request *r)
{
    struct dev_stream *s;
    if (!dev_target(r, dev_need_manage_stream, &s, NULL))
        return;
    if (!s) {
        dev_reply_error(r, DEV_STREAM_NOT_FOUND);
        return;
    }
    dev_stream_delete(&r->server->store, s);
    dev_reply_empty(r, 204);
}

void dev_purge_stream(struct dev_request *r)
{
    struct dev_stream *s;
    struct dev_topic *t;
    if (!dev_target(r, dev_need_manage_stream, &s, NULL))
        return;
    if (!s) {
        dev_reply_error(r, DEV_STREAM_NOT_FOUND);
        return;
    }
    for (uint32_t i = 0; (t = dev_slab_next(&s->topics, &i)); i++)
        dev_topic_purge(&r->server->store, t);
    dev_reply_empty(r, 204);
}
