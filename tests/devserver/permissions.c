/*
 * permissions: JSON in and out, and the look-up.
 */
#include "permissions.h"

#include <stdlib.h>
#include <string.h>

#include "store.h"

struct right {
    const char *name;
    uint32_t bit;
};

static const struct right global_rights[] = {{"manage_servers", DEV_MANAGE_SERVERS},
                                             {"read_servers", DEV_READ_SERVERS},
                                             {"manage_users", DEV_MANAGE_USERS},
                                             {"read_users", DEV_READ_USERS},
                                             {"manage_streams", DEV_MANAGE_STREAM},
                                             {"read_streams", DEV_READ_STREAM},
                                             {"manage_topics", DEV_MANAGE_TOPIC},
                                             {"read_topics", DEV_READ_TOPIC},
                                             {"poll_messages", DEV_POLL},
                                             {"send_messages", DEV_SEND},
                                             {NULL, 0}};
static const struct right stream_rights[] = {{"manage_stream", DEV_MANAGE_STREAM},
                                             {"read_stream", DEV_READ_STREAM},
                                             {"manage_topics", DEV_MANAGE_TOPIC},
                                             {"read_topics", DEV_READ_TOPIC},
                                             {"poll_messages", DEV_POLL},
                                             {"send_messages", DEV_SEND},
                                             {NULL, 0}};
static const struct right topic_rights[] = {{"manage_topic", DEV_MANAGE_TOPIC},
                                            {"read_topic", DEV_READ_TOPIC},
                                            {"poll_messages", DEV_POLL},
                                            {"send_messages", DEV_SEND},
                                            {NULL, 0}};

enum {
    ANY_STREAM = DEV_MANAGE_STREAM | DEV_READ_STREAM,
    ANY_TOPIC = DEV_MANAGE_TOPIC | DEV_READ_TOPIC,
};

const struct dev_need dev_need_send = {DEV_SEND | DEV_MANAGE_TOPIC | DEV_MANAGE_STREAM,
                                       DEV_SEND | DEV_MANAGE_TOPIC | DEV_MANAGE_STREAM,
                                       DEV_SEND | DEV_MANAGE_TOPIC};
const struct dev_need dev_need_poll = {DEV_POLL | ANY_TOPIC | ANY_STREAM, DEV_POLL | ANY_TOPIC | ANY_STREAM,
                                       DEV_POLL | ANY_TOPIC};
const struct dev_need dev_need_read_topic = {ANY_TOPIC | ANY_STREAM, ANY_TOPIC | ANY_STREAM, ANY_TOPIC};
const struct dev_need dev_need_manage_topic = {DEV_MANAGE_TOPIC | DEV_MANAGE_STREAM,
                                               DEV_MANAGE_TOPIC | DEV_MANAGE_STREAM, DEV_MANAGE_TOPIC};
const struct dev_need dev_need_list_streams = {ANY_STREAM, 0, 0};
const struct dev_need dev_need_read_stream = {ANY_STREAM, ANY_STREAM, 0};
const struct dev_need dev_need_create_stream = {DEV_MANAGE_STREAM, 0, 0};
const struct dev_need dev_need_manage_stream = {DEV_MANAGE_STREAM, DEV_MANAGE_STREAM, 0};
const struct dev_need dev_need_create_topic = {DEV_MANAGE_TOPIC | DEV_MANAGE_STREAM,
                                               DEV_MANAGE_TOPIC | DEV_MANAGE_STREAM, 0};
const struct dev_need dev_need_list_topics = {ANY_TOPIC | ANY_STREAM, ANY_TOPIC | ANY_STREAM, 0};
const struct dev_need dev_need_read_servers = {DEV_READ_SERVERS | DEV_MANAGE_SERVERS, 0, 0};
const struct dev_need dev_need_read_users = {DEV_READ_USERS | DEV_MANAGE_USERS, 0, 0};
const struct dev_need dev_need_manage_users = {DEV_MANAGE_USERS, 0, 0};

static bool parse_bits(const cJSON *json, const struct right *rights, uint32_t *bits);
static bool parse_streams(const cJSON *json, struct dev_permissions *out);
static bool parse_topics(const cJSON *json, struct dev_stream_rights *out);

bool dev_permissions_parse(const cJSON *json, struct dev_permissions *out)
{
    *out = (struct dev_permissions){0};
    if (!json || cJSON_IsNull(json))
        return true;
    out->present = true;
    if (parse_bits(cJSON_GetObjectItemCaseSensitive(json, "global"), global_rights, &out->global) &&
        parse_streams(cJSON_GetObjectItemCaseSensitive(json, "streams"), out))
        return true;
    dev_permissions_fini(out);
    return false;
}

static bool parse_bits(const cJSON *json, const struct right *rights, uint32_t *bits)
{
    *bits = 0;
    if (!cJSON_IsObject(json))
        return false;
    for (; rights->name; rights++) {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(json, rights->name);
        if (!cJSON_IsBool(value))
            return false;
        if (cJSON_IsTrue(value))
            *bits |= rights->bit;
    }
    return true;
}

static bool parse_streams(const cJSON *json, struct dev_permissions *out)
{
    if (!json || cJSON_IsNull(json))
        return true;
    if (!cJSON_IsObject(json))
        return false;
    out->has_streams = true;
    out->streams = calloc((size_t)cJSON_GetArraySize(json) + 1, sizeof *out->streams);
    const cJSON *item;
    cJSON_ArrayForEach(item, json)
    {
        if (!out->streams)
            return false;
        struct dev_stream_rights *s = &out->streams[out->stream_count++];
        if (!dev_numeric_id(item->string, &s->stream_id) || !parse_bits(item, stream_rights, &s->bits) ||
            !parse_topics(cJSON_GetObjectItemCaseSensitive(item, "topics"), s))
            return false;
    }
    return true;
}

static bool parse_topics(const cJSON *json, struct dev_stream_rights *out)
{
    if (!json || cJSON_IsNull(json))
        return true;
    if (!cJSON_IsObject(json))
        return false;
    out->has_topics = true;
    out->topics = calloc((size_t)cJSON_GetArraySize(json) + 1, sizeof *out->topics);
    const cJSON *item;
    cJSON_ArrayForEach(item, json)
    {
        if (!out->topics)
            return false;
        struct dev_topic_rights *t = &out->topics[out->topic_count++];
        if (!dev_numeric_id(item->string, &t->topic_id) || !parse_bits(item, topic_rights, &t->bits))
            return false;
    }
    return true;
}

static void append_bits(struct mi_buf *out, const struct right *rights, uint32_t bits)
{
    for (const struct right *r = rights; r->name; r++)
        mi_buf_addf(out, "%s\"%s\":%s", r == rights ? "" : ",", r->name, bits & r->bit ? "true" : "false");
}

static void append_stream(struct mi_buf *out, const struct dev_stream_rights *s)
{
    mi_buf_addf(out, "\"%u\":{", s->stream_id);
    append_bits(out, stream_rights, s->bits);
    mi_buf_add_text(out, s->has_topics ? ",\"topics\":{" : ",\"topics\":null}");
    if (!s->has_topics)
        return;
    for (size_t i = 0; i < s->topic_count; i++) {
        mi_buf_addf(out, "%s\"%u\":{", i ? "," : "", s->topics[i].topic_id);
        append_bits(out, topic_rights, s->topics[i].bits);
        mi_buf_add_byte(out, '}');
    }
    mi_buf_add_text(out, "}}");
}

void dev_permissions_append(const struct dev_permissions *permissions, struct mi_buf *out)
{
    if (!permissions->present) {
        mi_buf_add_text(out, "null");
        return;
    }
    mi_buf_add_text(out, "{\"global\":{");
    append_bits(out, global_rights, permissions->global);
    mi_buf_add_text(out, permissions->has_streams ? "},\"streams\":{" : "},\"streams\":null}");
    if (!permissions->has_streams)
        return;
    for (size_t i = 0; i < permissions->stream_count; i++) {
        if (i)
            mi_buf_add_byte(out, ',');
        append_stream(out, &permissions->streams[i]);
    }
    mi_buf_add_text(out, "}}");
}

void dev_permissions_fini(struct dev_permissions *permissions)
{
    for (size_t i = 0; i < permissions->stream_count; i++)
        free(permissions->streams[i].topics);
    free(permissions->streams);
    *permissions = (struct dev_permissions){0};
}

bool dev_permitted(const struct dev_permissions *permissions, struct dev_need need, uint32_t stream,
                   uint32_t topic)
{
    if (permissions->global & need.global)
        return true;
    for (size_t i = 0; i < permissions->stream_count; i++) {
        const struct dev_stream_rights *s = &permissions->streams[i];
        if (s->stream_id != stream)
            continue;
        if (s->bits & need.stream)
            return true;
        for (size_t j = 0; j < s->topic_count; j++)
            if (s->topics[j].topic_id == topic && s->topics[j].bits & need.topic)
                return true;
    }
    return false;
}
