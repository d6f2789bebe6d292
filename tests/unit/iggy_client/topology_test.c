/* topology: streams, topics and partitions as real servers sent them, with what a newer one may add. */
#include "topology.h"

#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

static const char topic_json[] = "{\"id\":4,\"created_at\":1795974196475539,\"name\":\"t\\u0031/"
                                 "\\\"\",\"size\":\"0 B\",\"message_expiry\":18446744073709551615,"
                                 "\"compression_algorithm\":\"none\",\"max_topic_size\":18446744073709551615,"
                                 "\"messages_count\":12,\"partitions_count\":2,"
                                 "\"partitions\":[{\"id\":0,\"created_at\":1795974196475539,\"segments_"
                                 "count\":0,\"current_offset\":11,\"size\":\"0 B\","
                                 "\"messages_count\":12,\"context\":{\"incarnation\":1,\"owner_generation\":"
                                 "2,\"metadata_op\":3}},{\"id\":1,\"created_at\":"
                                 "1795974196475540,\"segments_count\":0,\"current_offset\":0,\"size\":\"0 "
                                 "B\",\"messages_count\":0}],\"options\":{"
                                 "\"enforce_fsync\":{\"value\":\"false\",\"explicit\":false}}}";

static const char streams_json[] = "[{\"id\":0,\"created_at\":17,\"name\":\"s1\",\"size\":\"1404.187 "
                                   "KB\",\"messages_count\":9,\"topics_count\":3,\"options\":{}},"
                                   "{\"id\":1,\"created_at\":18,\"name\":\"\xc3\xa4\",\"size\":\"0 "
                                   "B\",\"messages_count\":0,\"topics_count\":0}]";

static const char stream_json[] =
    "{\"id\":1,\"created_at\":18,\"name\":\"s1\",\"size\":\"0 "
    "B\",\"messages_count\":9,\"topics_count\":2,\"topics\":[{\"id\":0,"
    "\"created_at\":19,\"name\":\"a\",\"size\":\"0 "
    "B\",\"message_expiry\":0,\"messages_count\":9,\"partitions_count\":8},{\"id\":1,"
    "\"created_at\":20,\"name\":\"b\",\"messages_count\":0,\"partitions_count\":0}],\"options\":{}}";

static uint8_t *copy(const char *json, size_t len)
{
    uint8_t *text = malloc(len ? len : 1);
    memcpy(text, json, len);
    return text;
}

static bool is(struct iggy_span name, const char *text)
{
    return name.len == strlen(text) && memcmp(name.data, text, name.len) == 0;
}

static void topic_details(void)
{
    struct iggy_topic topic = {0};
    uint8_t *text = copy(topic_json, sizeof topic_json - 1);
    CU_ASSERT_TRUE_FATAL(topology_read_topic(text, sizeof topic_json - 1, &topic));
    CU_ASSERT_EQUAL(topic.id, 4);
    CU_ASSERT_TRUE(is(topic.name, "t1/\""));
    CU_ASSERT_EQUAL(topic.created_at, 1795974196475539);
    CU_ASSERT_EQUAL(topic.messages_count, 12);
    CU_ASSERT_EQUAL_FATAL(topic.partitions_count, 2);
    CU_ASSERT_EQUAL(topic.partitions[0].current_offset, 11);
    CU_ASSERT_EQUAL(topic.partitions[0].messages_count, 12);
    CU_ASSERT_EQUAL(topic.partitions[1].id, 1);
    CU_ASSERT_EQUAL(topic.partitions[1].created_at, 1795974196475540);
    topology_free_topic(&topic);
    free(text);
}

static void stream_details(void)
{
    struct iggy_stream stream = {0};
    uint8_t *text = copy(stream_json, sizeof stream_json - 1);
    CU_ASSERT_TRUE_FATAL(topology_read_stream(text, sizeof stream_json - 1, &stream));
    CU_ASSERT_EQUAL_FATAL(stream.topics_count, 2);
    CU_ASSERT_TRUE(is(stream.topics[0].name, "a"));
    CU_ASSERT_EQUAL(stream.topics[0].messages_count, 9);
    CU_ASSERT_EQUAL(stream.topics[0].partitions_count, 8);
    CU_ASSERT_PTR_NULL(stream.topics[0].partitions);
    CU_ASSERT_TRUE(is(stream.topics[1].name, "b"));
    topology_free_stream(&stream);
    free(text);
}

static void list_of_streams(void)
{
    struct iggy_stream *streams = NULL;
    size_t count = 0;
    uint8_t *text = copy(streams_json, sizeof streams_json - 1);
    CU_ASSERT_TRUE(topology_read_streams(text, sizeof streams_json - 1, &streams, &count));
    CU_ASSERT_EQUAL_FATAL(count, 2);
    CU_ASSERT_EQUAL(streams[0].topics_count, 3);
    CU_ASSERT_PTR_NULL(streams[0].topics);
    CU_ASSERT_TRUE(is(streams[1].name, "\xc3\xa4"));
    free(streams);
    free(text);
}

static void a_cut_answer_is_never_whole(void)
{
    for (size_t len = 0; len < sizeof topic_json - 1; len++) {
        struct iggy_topic topic = {0};
        uint8_t *text = copy(topic_json, len);
        CU_ASSERT_FALSE(topology_read_topic(text, len, &topic));
        topology_free_topic(&topic);
        free(text);
    }
    for (size_t len = 0; len < sizeof stream_json - 1; len++) {
        struct iggy_stream stream = {0};
        uint8_t *text = copy(stream_json, len);
        CU_ASSERT_FALSE(topology_read_stream(text, len, &stream));
        topology_free_stream(&stream);
        free(text);
    }
    for (size_t len = 0; len < sizeof streams_json - 1; len++) {
        struct iggy_stream *streams = NULL;
        size_t count = 0;
        uint8_t *text = copy(streams_json, len);
        CU_ASSERT_FALSE(topology_read_streams(text, len, &streams, &count));
        free(streams);
        free(text);
    }
}

/* A member that comes twice must leak nothing and not disagree with its list. */
static void repeated_members(void)
{
    static const char json[] = "{\"id\":1,\"name\":\"x\",\"topics\":[{\"id\":0,\"name\":\"a\",\"partitions\":"
                               "[{\"id\":0}],\"partitions\":[{"
                               "\"id\":0},{\"id\":1}]}],\"topics\":[],\"topics_count\":7}";
    struct iggy_stream stream = {0};
    uint8_t *text = copy(json, sizeof json - 1);
    CU_ASSERT_TRUE_FATAL(topology_read_stream(text, sizeof json - 1, &stream));
    CU_ASSERT_EQUAL(stream.topics_count, 1);
    CU_ASSERT_EQUAL(stream.topics[0].partitions_count, 2);
    topology_free_stream(&stream);
    free(text);
}

static CU_TestInfo tests[] = {
    {"topic_details", topic_details},       {"stream_details", stream_details},
    {"list_of_streams", list_of_streams},   {"a_cut_answer_is_never_whole", a_cut_answer_is_never_whole},
    {"repeated_members", repeated_members}, CU_TEST_INFO_NULL};
MI_SUITE_MAIN("topology", tests)
