/*
 * id_map: which streams and topics the ids of Iggy mean now. Bridge thread; knows no I/O.
 */
#ifndef MI_ID_MAP_H
#define MI_ID_MAP_H

#include "base/bytes.h"
#include "iggy_client.h"

struct mi_id_topic {
    uint32_t id;
    uint64_t created_at; /* microseconds */
    struct mi_span name;
};

struct mi_id_stream {
    uint32_t id;
    uint64_t created_at;
    struct mi_span name;
    uint32_t topics_round;      /* of the round that read its topics; 0: none did */
    uint32_t wanted_round;      /* of the last mi_id_map_want */
    struct mi_id_topic *topics; /* ascending ids */
    size_t topic_count;
};

struct mi_id_map;

struct mi_id_map *mi_id_map_new(void);
void mi_id_map_free(struct mi_id_map *m);

/* The list of all streams, read in that round (from 1, growing). What is known of the topics stays for
 * streams that are the same. False when memory is out; the map is as it was. */
bool mi_id_map_set_streams(struct mi_id_map *m, const struct iggy_stream *streams, size_t count,
                           uint32_t round);
/* The details of one of them. One that is not in the list is ignored. */
bool mi_id_map_set_topics(struct mi_id_map *m, const struct iggy_stream *stream, uint32_t round);

/* The round of the list; 0: none yet. */
uint32_t mi_id_map_round(const struct mi_id_map *m);
/* Grows whenever an id, a name or a created_at changed. */
uint64_t mi_id_map_version(const struct mi_id_map *m);

/* NULL: there is none. Valid until the next mi_id_map_set_.. */
const struct mi_id_stream *mi_id_map_stream(const struct mi_id_map *m, uint32_t id);
const struct mi_id_topic *mi_id_map_topic(const struct mi_id_stream *s, uint32_t id);

/* The stream, the first time that it is wanted in this round; NULL: not the first time, or there is none. */
const struct mi_id_stream *mi_id_map_want(struct mi_id_map *m, uint32_t id, uint32_t round);

/* Who somebody is over time. Iggy 0.8 moves created_at by milliseconds at its first restart: so less than a
 * second is no difference where the name is the same, too. */
struct mi_identity {
    uint64_t created_at; /* 0: nobody */
    uint64_t name_hash;
};
struct mi_identity mi_identity_of(uint64_t created_at, struct mi_span name);
bool mi_identity_same(struct mi_identity a, struct mi_identity b);

#endif
