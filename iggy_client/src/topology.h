/*
 * topology: decoders of streams, topics and partitions, apart from the requests so that tests and fuzzers
 * reach them. Names are unescaped in place in the answer and point into it.
 */
#ifndef IGGY_TOPOLOGY_H
#define IGGY_TOPOLOGY_H

#include "iggy_client.h"
#include "json_reader.h"

/* What was read owns its lists: free them with the function of its type, also after a failure. */
bool topology_read_streams(uint8_t *text, size_t len, struct iggy_stream **streams, size_t *count);
bool topology_read_stream(uint8_t *text, size_t len, struct iggy_stream *stream);
bool topology_read_topic(uint8_t *text, size_t len, struct iggy_topic *topic);
void topology_free_stream(struct iggy_stream *stream);
void topology_free_topic(struct iggy_topic *topic);

#endif
