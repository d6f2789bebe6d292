/*
 * store: what the server holds: streams, topics, partitions, consumer offsets and groups; users are in
 * users.h.
 *
 * One thread. Nothing here knows HTTP. Every change of what must survive a restart sets dirty; state.h writes
 * it.
 */
#ifndef DEV_STORE_H
#define DEV_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "partition_log.h"
#include "slab.h"

enum dev_personality { DEV_0_8, DEV_0_9, DEV_0_10 };

struct dev_offset {
    uint32_t consumer; /* number, or XXH32 of the name: one space, as in Iggy */
    uint64_t offset;
};

struct dev_partition {
    uint64_t created_at;
    struct dev_log log;
    struct dev_offset *offsets;
    size_t offset_count, offset_cap;
    uint32_t fresh_polls; /* polls already refused because the partition is new; see faults.h */
};

struct dev_group {
    char *name;
};

/* The options of a topic, in the order in which Iggy lists them. */
enum dev_option {
    DEV_OPTION_COMPRESSION,
    DEV_OPTION_FSYNC, /* enforce_fsync; in 0.10 durability=persisted */
    DEV_OPTION_MAX_SIZE,
    DEV_OPTION_EXPIRY,
    DEV_OPTION_MESSAGES_TO_SAVE,
    DEV_OPTION_PREALLOCATE,
    DEV_OPTION_SEGMENT_SIZE,
    DEV_OPTION_BYTES_TO_SAVE,
    DEV_OPTIONS
};

struct dev_topic {
    uint32_t id;
    uint64_t created_at;
    uint64_t logged_at; /* what created_at is after a restart: in 0.8 some milliseconds later, as measured */
    char *name;
    uint64_t options[DEV_OPTIONS];
    bool explicit_options[DEV_OPTIONS];
    struct dev_partition **partitions;
    uint32_t partition_count;
    uint32_t next_balanced;
    struct dev_slab groups; /* struct dev_group */
};

struct dev_stream {
    uint32_t id;
    uint64_t created_at;
    uint64_t logged_at; /* as in struct dev_topic */
    char *name;
    struct dev_slab topics; /* struct dev_topic */
};

struct dev_store {
    enum dev_personality personality;
    const char *data_dir;  /* NULL: in memory */
    uint64_t memory_limit; /* bytes of messages in memory; 0: none */
    bool dirty;
    struct dev_slab streams; /* struct dev_stream */
};

uint64_t dev_now_us(void);

/* The defaults of a topic's options. */
void dev_option_defaults(uint64_t options[DEV_OPTIONS]);

/* Each returns NULL when memory is out or, for a partition, when its file cannot be made. */
struct dev_stream *dev_stream_create(struct dev_store *store, const char *name);
struct dev_topic *dev_topic_create(struct dev_store *store, struct dev_stream *stream, const char *name,
                                   uint32_t partitions, const uint64_t options[DEV_OPTIONS],
                                   const bool explicit_options[DEV_OPTIONS]);
bool dev_partitions_add(struct dev_store *store, struct dev_stream *stream, struct dev_topic *topic,
                        uint32_t count);
/* Removes the last ones; count must not be more than there are. */
void dev_partitions_remove(struct dev_store *store, struct dev_stream *stream, struct dev_topic *topic,
                           uint32_t count);
void dev_stream_delete(struct dev_store *store, struct dev_stream *stream);
void dev_topic_delete(struct dev_store *store, struct dev_stream *stream, struct dev_topic *topic);
void dev_topic_purge(struct dev_store *store, struct dev_topic *topic);

/* By Iggy's rule for path identifiers: what reads as an unsigned 32-bit number is an id, all else a name. */
struct dev_stream *dev_stream_find(const struct dev_store *store, const char *identifier);
struct dev_topic *dev_topic_find(const struct dev_stream *stream, const char *identifier);
struct dev_group *dev_group_find(const struct dev_topic *topic, const char *identifier, uint32_t *id);
struct dev_stream *dev_stream_named(const struct dev_store *store, const char *name);
struct dev_topic *dev_topic_named(const struct dev_stream *stream, const char *name);
/* True, and the number, when text is an unsigned 32-bit decimal number. */
bool dev_numeric_id(const char *text, uint32_t *id);
bool dev_set_name(char **name, const char *value);

struct dev_group *dev_group_create(struct dev_store *store, struct dev_topic *topic, const char *name,
                                   uint32_t *id);
void dev_group_delete(struct dev_store *store, struct dev_topic *topic, uint32_t id);

/* The number of a consumer: itself, or XXH32 of a name. */
uint32_t dev_consumer_number(const char *identifier);
struct dev_offset *dev_offset_find(struct dev_partition *partition, uint32_t consumer);
bool dev_offset_store(struct dev_store *store, struct dev_partition *partition, uint32_t consumer,
                      uint64_t offset);
bool dev_offset_delete(struct dev_store *store, struct dev_partition *partition, uint32_t consumer);

/* After a loss: offsets beyond the tail become the tail, and 0 in an empty partition, as measured. */
void dev_offsets_clamp(struct dev_partition *partition);

struct dev_totals {
    uint64_t streams, topics, partitions, segments, messages, bytes, memory, groups;
};
struct dev_totals dev_store_totals(const struct dev_store *store);
uint64_t dev_topic_messages(const struct dev_topic *topic);
uint64_t dev_topic_bytes(const struct dev_topic *topic);
/* Bytes of messages now in memory. */
uint64_t dev_store_memory(const struct dev_store *store);

/* Applies message_expiry to closed segments. */
void dev_store_expire(struct dev_store *store);
/* What kill -9 loses (and a restart changes), or a graceful stop saves. */
void dev_store_lose_unsaved(struct dev_store *store);
bool dev_store_save(struct dev_store *store);
void dev_store_free(struct dev_store *store);

/* Opens the file of a partition that state.h read back. */
struct dev_partition *dev_partition_open(struct dev_store *store, struct dev_stream *stream,
                                         struct dev_topic *topic, uint32_t id, uint64_t created_at,
                                         uint64_t first_offset);

#endif
