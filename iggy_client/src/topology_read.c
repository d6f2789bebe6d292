#include "topology.h"

#include <stdlib.h>
#include <string.h>

static bool read_stream(struct json *j, struct iggy_stream *stream);
static bool read_topic(struct json *j, struct iggy_topic *topic);

bool topology_read_stream(uint8_t *text, size_t len, struct iggy_stream *stream)
{
    struct json j = json_start(text, len);
    return read_stream(&j, stream) && json_end(&j);
}

bool topology_read_topic(uint8_t *text, size_t len, struct iggy_topic *topic)
{
    struct json j = json_start(text, len);
    return read_topic(&j, topic) && json_end(&j);
}

/* A list of items of one size that doubles when it is full; the new item is zeroed. NULL when memory is out.
 */
static void *add_item(void **items, size_t count, size_t size)
{
    if ((count & (count - 1)) == 0) {
        void *more = realloc(*items, (count ? count * 2 : 1) * size);
        if (!more)
            return NULL;
        *items = more;
    }
    char *item = (char *)*items + count * size;
    memset(item, 0, size);
    return item;
}

bool topology_read_streams(uint8_t *text, size_t len, struct iggy_stream **streams, size_t *count)
{
    struct json j = json_start(text, len);
    void *items = NULL;
    *count = 0;
    for (bool more = json_array(&j); more && json_item(&j);) {
        struct iggy_stream *stream = add_item(&items, *count, sizeof *stream);
        if (!stream) {
            json_fail(&j);
            break;
        }
        ++*count;
        read_stream(&j, stream);
    }
    *streams = items;
    return json_end(&j);
}

static struct iggy_span span(struct mi_span s)
{
    return (struct iggy_span){s.data, s.len};
}

static bool read_partition(struct json *j, struct iggy_partition *partition)
{
    struct mi_span key;
    bool id = false;
    for (bool more = json_object(j); more && json_member(j, &key);) {
        if (json_key_is(key, "id"))
            id = json_u32(j, &partition->id);
        else if (json_key_is(key, "created_at"))
            json_u64(j, &partition->created_at);
        else if (json_key_is(key, "current_offset"))
            json_u64(j, &partition->current_offset);
        else if (json_key_is(key, "messages_count"))
            json_u64(j, &partition->messages_count);
        else
            json_skip(j);
    }
    return id || json_fail(j);
}

static bool read_partitions(struct json *j, struct iggy_topic *topic)
{
    void *items = NULL;
    size_t count = 0;
    for (bool more = json_array(j); more && json_item(j);) {
        struct iggy_partition *partition = add_item(&items, count, sizeof *partition);
        if (!partition) {
            json_fail(j);
            break;
        }
        count++;
        read_partition(j, partition);
    }
    free((void *)topic->partitions);
    topic->partitions = items;
    topic->partitions_count = (uint32_t)count;
    return !j->failed;
}

/* The "partitions" of details decide how many there are; lists have only the count. */
static bool read_topic(struct json *j, struct iggy_topic *topic)
{
    struct mi_span key, name;
    bool id = false, listed = false;
    uint32_t count = 0;
    for (bool more = json_object(j); more && json_member(j, &key);) {
        if (json_key_is(key, "id")) {
            id = json_u32(j, &topic->id);
        } else if (json_key_is(key, "name")) {
            if (json_string(j, &name))
                topic->name = span(name);
        } else if (json_key_is(key, "created_at")) {
            json_u64(j, &topic->created_at);
        } else if (json_key_is(key, "messages_count")) {
            json_u64(j, &topic->messages_count);
        } else if (json_key_is(key, "partitions_count")) {
            json_u32(j, &count);
        } else if (json_key_is(key, "partitions") && json_peek(j) == JSON_ARRAY) {
            listed = read_partitions(j, topic);
        } else {
            json_skip(j);
        }
    }
    if (!listed)
        topic->partitions_count = count;
    return (id && topic->name.data) || json_fail(j);
}

static bool read_topics(struct json *j, struct iggy_stream *stream)
{
    void *items = (void *)stream->topics;
    for (bool more = json_array(j); more && json_item(j);) {
        struct iggy_topic *topic = add_item(&items, stream->topics_count, sizeof *topic);
        if (!topic) {
            json_fail(j);
            break;
        }
        stream->topics = items;
        stream->topics_count++;
        read_topic(j, topic);
    }
    return !j->failed;
}

static bool read_stream(struct json *j, struct iggy_stream *stream)
{
    struct mi_span key, name;
    bool id = false, listed = false;
    uint32_t count = 0;
    for (bool more = json_object(j); more && json_member(j, &key);) {
        if (json_key_is(key, "id")) {
            id = json_u32(j, &stream->id);
        } else if (json_key_is(key, "name")) {
            if (json_string(j, &name))
                stream->name = span(name);
        } else if (json_key_is(key, "created_at")) {
            json_u64(j, &stream->created_at);
        } else if (json_key_is(key, "messages_count")) {
            json_u64(j, &stream->messages_count);
        } else if (json_key_is(key, "topics_count")) {
            json_u32(j, &count);
        } else if (json_key_is(key, "topics") && json_peek(j) == JSON_ARRAY && !listed) {
            listed = read_topics(j, stream);
        } else {
            json_skip(j);
        }
    }
    if (!listed && !stream->topics)
        stream->topics_count = count;
    return (id && stream->name.data) || json_fail(j);
}

void topology_free_topic(struct iggy_topic *topic)
{
    free((void *)topic->partitions);
    topic->partitions = NULL;
}

void topology_free_stream(struct iggy_stream *stream)
{
    for (uint32_t i = 0; stream->topics && i < stream->topics_count; i++)
        topology_free_topic((struct iggy_topic *)&stream->topics[i]);
    free((void *)stream->topics);
    stream->topics = NULL;
}
