/*
 * readback: what an Iggy server holds, read as a native consumer would and decoded; and a native producer.
 * Synchronous, for tests.
 */
#ifndef MI_TEST_READBACK_H
#define MI_TEST_READBACK_H

#include "iggy_client.h"
#include "message/envelope.h"

struct mi_stored {
    struct iggy_id id;
    uint32_t partition;
    uint64_t offset;
    struct mi_buf headers, body; /* as Iggy holds them */
    struct mi_buf scratch;
    enum mi_decoded kind;
    struct mi_message message; /* spans into the buffers above */
};

struct mi_readback;
/* Logs in as iggy/iggy at 127.0.0.1:port at the first use. */
struct mi_readback *mi_readback_new(uint16_t port);
void mi_readback_free(struct mi_readback *r);

/* Reads a whole topic, partition after partition; false when it does not exist or cannot be read. What was
 * read before is dropped. */
bool mi_readback_read(struct mi_readback *r, const char *stream, const char *topic);
size_t mi_readback_count(const struct mi_readback *r);
const struct mi_stored *mi_readback_at(const struct mi_readback *r, size_t index);
/* Reads again and again until the topic holds at least count messages; true when it holds exactly that many.
 */
bool mi_readback_wait(struct mi_readback *r, const char *stream, const char *topic, size_t count,
                      unsigned timeout_ms);

/* The one message with that MQTT topic, NULL when there is none or more than one. */
const struct mi_stored *mi_readback_of(const struct mi_readback *r, const char *mqtt_topic);

/* A native producer: makes stream and topic if need be. */
bool mi_readback_create(struct mi_readback *r, const char *stream, const char *topic, uint32_t partitions);
bool mi_readback_produce(struct mi_readback *r, const char *stream, const char *topic, uint32_t partition,
                         struct mi_span headers, const char *payload);
/* The same with bytes. */
bool mi_readback_produce_bytes(struct mi_readback *r, const char *stream, const char *topic,
                               uint32_t partition, struct mi_span headers, struct mi_span payload);
/* The offset that a consumer stored for a partition; false when it stored none. */
bool mi_readback_consumer(struct mi_readback *r, const char *stream, const char *topic, uint32_t partition,
                          const char *consumer, uint64_t *offset);
bool mi_readback_delete(struct mi_readback *r, const char *stream, const char *topic);
/* How many partitions the topic has; 0 when it does not exist. */
uint32_t mi_readback_partitions(struct mi_readback *r, const char *stream, const char *topic);

#endif
