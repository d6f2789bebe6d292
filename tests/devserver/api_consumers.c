/*
 * api_consumers: consumer offsets and consumer groups.
 */
#include <string.h>

#include "server.h"

enum { MAX_OFFSETS = 4096 };

/* Where an offset lives: *partition is NULL when stream, topic or partition do not exist. False after an
 * answer. */
static bool offset_target(struct dev_request *r, bool given, uint32_t partition_id, struct dev_stream **s,
                          struct dev_topic **t, struct dev_partition **partition)
{
    *partition = NULL;
    if (!dev_target(r, dev_need_poll, s, t))
        return false;
    bool legacy_default = r->server->store.personality == DEV_0_8;
    if (*t && (given || legacy_default) && partition_id < (*t)->partition_count)
        *partition = (*t)->partitions[partition_id];
    return true;
}

/* 0.9 has one word for all that is missing on writes, 0.8 three. */
static void offset_target_missing(struct dev_request *r, const struct dev_stream *s,
                                  const struct dev_topic *t)
{
    if (r->server->store.personality != DEV_0_8)
        dev_reply_error(r, DEV_RESOURCE_NOT_FOUND);
    else
        dev_reply_error(r, !s ? DEV_STREAM_NOT_FOUND : !t ? DEV_TOPIC_NOT_FOUND : DEV_PARTITION_NOT_FOUND);
}

void dev_get_offset(struct dev_request *r)
{
    uint32_t partition_id = 0;
    struct dev_stream *s;
    struct dev_topic *t;
    struct dev_partition *p;
    const char *consumer = dev_query(r, "consumer_id");
    if (!dev_query_u32(r, "partition_id", &partition_id) || !offset_target(r, true, partition_id, &s, &t, &p))
        return;
    if (!t && r->server->store.personality == DEV_0_8) {
        dev_reply_error(r, s ? DEV_TOPIC_NOT_FOUND : DEV_STREAM_NOT_FOUND);
        return;
    }
    struct dev_offset *stored = p ? dev_offset_find(p, dev_consumer_number(consumer ? consumer : "1")) : NULL;
    if (!stored) {
        dev_reply_error(r, DEV_NOT_FOUND);
        return;
    }
    mi_buf_addf(dev_reply_json(r, 200),
                "{\"partition_id\":%u,\"current_offset\":%llu,\"stored_offset\":%llu}", partition_id,
                (unsigned long long)dev_log_tail(&p->log), (unsigned long long)stored->offset);
}

/* "consumer_id": number or string, 1 when it is left out. */
static bool read_consumer(struct dev_request *r, const cJSON *body, uint32_t *consumer)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(body, "consumer_id");
    *consumer = 1;
    if (!item)
        return true;
    if (cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble <= UINT32_MAX) {
        *consumer = (uint32_t)item->valuedouble;
        return true;
    }
    if (cJSON_IsString(item) && item->valuestring[0] && strlen(item->valuestring) <= 255) {
        *consumer = dev_consumer_number(item->valuestring);
        return true;
    }
    dev_reply_text(r, 422, "Failed to deserialize the JSON body into the target type: Invalid identifier");
    return false;
}

static void store_offset(struct dev_request *r, struct dev_partition *p, uint32_t consumer, uint64_t offset)
{
    if (offset >= p->log.next_offset)
        dev_reply_error(r, DEV_INVALID_OFFSET);
    else if (r->server->store.personality != DEV_0_8 && p->offset_count >= MAX_OFFSETS &&
             !dev_offset_find(p, consumer))
        dev_reply_error(r, DEV_TOO_MANY_OFFSETS);
    else if (dev_offset_store(&r->server->store, p, consumer, offset))
        dev_reply_empty(r, 204);
    else
        dev_reply_error(r, DEV_SERVER_BUSY);
}

void dev_store_offset(struct dev_request *r)
{
    cJSON *body = dev_body(r);
    uint64_t partition_id = UINT64_MAX, offset;
    uint32_t consumer;
    struct dev_stream *s;
    struct dev_topic *t;
    struct dev_partition *p;
    if (body && read_consumer(r, body, &consumer) &&
        dev_member_u64(r, body, "partition_id", UINT32_MAX, false, &partition_id) &&
        dev_member_u64(r, body, "offset", UINT64_MAX, true, &offset)) {
        bool given = partition_id != UINT64_MAX;
        if (offset_target(r, given, given ? (uint32_t)partition_id : 0, &s, &t, &p)) {
            if (p)
                store_offset(r, p, consumer, offset);
            else
                offset_target_missing(r, s, t);
        }
    }
    cJSON_Delete(body);
}

void dev_remove_offset(struct dev_request *r)
{
    uint32_t partition_id = 0;
    struct dev_stream *s;
    struct dev_topic *t;
    struct dev_partition *p;
    if (!dev_query_u32(r, "partition_id", &partition_id) ||
        !offset_target(r, dev_query(r, "partition_id") != NULL, partition_id, &s, &t, &p))
        return;
    if (!p)
        offset_target_missing(r, s, t);
    else if (dev_offset_delete(&r->server->store, p, dev_consumer_number(r->args[2])))
        dev_reply_empty(r, 204);
    else
        dev_reply_error(r, DEV_OFFSET_NOT_FOUND);
}

/* ---- groups ---- */

static void append_group(struct mi_buf *out, const struct dev_topic *t, const struct dev_group *g,
                         uint32_t id, bool details)
{
    mi_buf_addf(out, "{\"id\":%u,\"name\":", id);
    dev_append_string(out, g->name);
    mi_buf_addf(out, ",\"partitions_count\":%u,\"members_count\":0%s}", t->partition_count,
                details ? ",\"members\":[]" : "");
}

static bool group_target(struct dev_request *r, struct dev_need need, struct dev_topic **t)
{
    struct dev_stream *s;
    if (!dev_target(r, need, &s, t))
        return false;
    if (!*t)
        dev_reply_error(r, s ? DEV_TOPIC_NOT_FOUND : DEV_STREAM_NOT_FOUND);
    return *t != NULL;
}

void dev_list_groups(struct dev_request *r)
{
    struct dev_topic *t;
    struct dev_group *g;
    if (!group_target(r, dev_need_read_topic, &t))
        return;
    struct mi_buf *out = dev_reply_json(r, 200);
    mi_buf_add_byte(out, '[');
    for (uint32_t i = 0; (g = dev_slab_next(&t->groups, &i)); i++) {
        if (out->len > 1)
            mi_buf_add_byte(out, ',');
        append_group(out, t, g, i, false);
    }
    mi_buf_add_byte(out, ']');
}

void dev_create_group(struct dev_request *r)
{
    cJSON *body = dev_body(r);
    const char *name;
    struct dev_topic *t;
    uint32_t id;
    if (body && dev_member_string(r, body, "name", true, &name)) {
        size_t len = strlen(name);
        if (len < 1 || len > 255) {
            dev_reply_error(r, DEV_INVALID_GROUP_NAME);
        } else if (group_target(r, dev_need_read_topic, &t)) {
            bool exists = false;
            struct dev_group *g;
            for (uint32_t i = 0; (g = dev_slab_next(&t->groups, &i)); i++)
                exists |= strcmp(g->name, name) == 0;
            if (exists)
                dev_reply_error(r, DEV_GROUP_EXISTS);
            else if ((g = dev_group_create(&r->server->store, t, name, &id)))
                append_group(dev_reply_json(r, r->server->store.personality == DEV_0_8 ? 201 : 200), t, g, id,
                             true);
            else
                dev_reply_error(r, DEV_SERVER_BUSY);
        }
    }
    cJSON_Delete(body);
}

void dev_get_group(struct dev_request *r)
{
    struct dev_topic *t;
    uint32_t id;
    if (!group_target(r, dev_need_read_topic, &t))
        return;
    struct dev_group *g = dev_group_find(t, r->args[2], &id);
    if (g)
        append_group(dev_reply_json(r, 200), t, g, id, true);
    else
        dev_reply_error(r, r->server->store.personality == DEV_0_8 ? DEV_GROUP_NOT_FOUND : DEV_NOT_FOUND);
}

void dev_delete_group(struct dev_request *r)
{
    struct dev_topic *t;
    uint32_t id;
    if (!group_target(r, dev_need_read_topic, &t))
        return;
    if (dev_group_find(t, r->args[2], &id)) {
        dev_group_delete(&r->server->store, t, id);
        dev_reply_empty(r, 204);
    } else {
        dev_reply_error(r, DEV_GROUP_NOT_FOUND);
    }
}
