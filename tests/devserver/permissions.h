/*
 * permissions: what an Iggy user may do, by numeric ids, and the table that grants an operation.
 */
#ifndef DEV_PERMISSIONS_H
#define DEV_PERMISSIONS_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/* Bits of the global rights; a stream's rights are those from DEV_MANAGE_STREAM on, a topic's those from
 * DEV_MANAGE_TOPIC on (there manage_topic, read_topic). */
enum {
    DEV_MANAGE_SERVERS = 1 << 0,
    DEV_READ_SERVERS = 1 << 1,
    DEV_MANAGE_USERS = 1 << 2,
    DEV_READ_USERS = 1 << 3,
    DEV_MANAGE_STREAM = 1 << 4,
    DEV_READ_STREAM = 1 << 5,
    DEV_MANAGE_TOPIC = 1 << 6,
    DEV_READ_TOPIC = 1 << 7,
    DEV_POLL = 1 << 8,
    DEV_SEND = 1 << 9,
    DEV_ALL_RIGHTS = (1 << 10) - 1
};

struct dev_topic_rights {
    uint32_t topic_id;
    uint32_t bits;
};

struct dev_stream_rights {
    uint32_t stream_id;
    uint32_t bits;
    bool has_topics; /* false: JSON null */
    struct dev_topic_rights *topics;
    size_t topic_count;
};

struct dev_permissions {
    bool present; /* false: JSON null, no rights at all */
    uint32_t global;
    bool has_streams;
    struct dev_stream_rights *streams;
    size_t stream_count;
};

/* Reads the JSON form (NULL and null: none). False: it does not fit; *out is then empty. */
bool dev_permissions_parse(const cJSON *json, struct dev_permissions *out);
void dev_permissions_append(const struct dev_permissions *permissions, struct mi_buf *out);
void dev_permissions_fini(struct dev_permissions *permissions);

/* Does any of these bits hold: globally, for the stream, for the topic? UINT32_MAX as stream or topic: none.
 */
struct dev_need {
    uint32_t global, stream, topic;
};
bool dev_permitted(const struct dev_permissions *permissions, struct dev_need need, uint32_t stream,
                   uint32_t topic);

/* Reference section 6. */
extern const struct dev_need dev_need_send, dev_need_poll, dev_need_read_topic, dev_need_manage_topic,
    dev_need_list_streams, dev_need_read_stream, dev_need_manage_stream, dev_need_create_topic,
    dev_need_list_topics, dev_need_read_servers, dev_need_read_users, dev_need_manage_users,
    dev_need_create_stream;

#endif
