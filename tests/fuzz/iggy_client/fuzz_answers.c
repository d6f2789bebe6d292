/* Answers of a server: the first byte chooses the decoder (poll, topic, stream, list of streams,
 * permissions), the rest is the body. */
#include "poll_reader.h"
#include "topology.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t sum(struct iggy_span s)
{
    size_t total = 0;
    for (size_t i = 0; i < s.len; i++)
        total += s.data[i];
    return total;
}

/* Touches every byte that a caller might. */
static size_t read_poll(uint8_t *text, size_t len)
{
    struct poll_reader reader = {0};
    size_t total = 0;
    if (poll_read(&reader, text, len))
        for (size_t i = 0; i < reader.polled.count; i++)
            total += sum(reader.polled.messages[i].headers) + sum(reader.polled.messages[i].payload);
    poll_reader_fini(&reader);
    return total;
}

static size_t read_stream(uint8_t *text, size_t len)
{
    struct iggy_stream stream = {0};
    size_t total = 0;
    if (topology_read_stream(text, len, &stream)) {
        total = sum(stream.name);
        for (uint32_t i = 0; stream.topics && i < stream.topics_count; i++)
            total += sum(stream.topics[i].name);
    }
    topology_free_stream(&stream);
    return total;
}

static size_t read_streams(uint8_t *text, size_t len)
{
    struct iggy_stream *streams = NULL;
    size_t count = 0, total = 0;
    if (topology_read_streams(text, len, &streams, &count))
        for (size_t i = 0; i < count; i++)
            total += sum(streams[i].name);
    for (size_t i = 0; i < count; i++)
        topology_free_stream(&streams[i]);
    free(streams);
    return total;
}

static size_t read_topic(uint8_t *text, size_t len)
{
    struct iggy_topic topic = {0};
    size_t total = topology_read_topic(text, len, &topic) ? sum(topic.name) : 0;
    for (uint32_t i = 0; topic.partitions && i < topic.partitions_count; i++)
        total += topic.partitions[i].current_offset;
    topology_free_topic(&topic);
    return total;
}

static void add_grant(void *arg, const struct iggy_grant *grant)
{
    *(size_t *)arg += grant->rights + grant->stream_id % 2 + grant->topic_id % 2;
    if (grant->rights >> 10 || grant->scope > IGGY_SCOPE_TOPIC)
        abort();
}

static size_t read_permissions(uint8_t *text, size_t len)
{
    size_t total = 0;
    iggy_permissions_read((struct iggy_span){text, len}, add_grant, &total);
    return total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    size_t len = size - 1;
    uint8_t *text = malloc(len ? len : 1);
    if (!text)
        return 0;
    memcpy(text, data + 1, len);
    static size_t (*const decoders[])(uint8_t *, size_t) = {read_poll, read_topic, read_stream, read_streams,
                                                            read_permissions};
    /* The sum is always small; comparing it keeps the bytes from being left unread. */
    if (decoders[data[0] % 5](text, len) == SIZE_MAX)
        abort();
    free(text);
    return 0;
}
