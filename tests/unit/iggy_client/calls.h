/*
 * calls: the client's calls as a test wants them: make one, drive until it has ended, look at what came.
 * Callbacks copy into one struct call; a call that does not end within ten seconds fails the test.
 */
#ifndef MI_CALLS_H
#define MI_CALLS_H

#include <stdbool.h>

#include "iggy_client.h"

#define CALL_TEXT 512

struct call {
    int ended; /* times that the callback came: must be 1 */
    struct iggy_result result;
    /* what came with it, as far as it fits */
    struct iggy_produced produced;
    struct iggy_polled polled; /* without messages */
    struct iggy_polled_message *messages;
    uint8_t *bytes; /* headers and payloads of messages */
    struct iggy_topic topic;
    struct iggy_partition partitions[16];
    struct iggy_stream stream;
    size_t streams;
    struct iggy_offset offset;
    struct iggy_user user;
    struct iggy_stats stats;
    enum iggy_verdict verdict;
    char text[CALL_TEXT]; /* a name, token or version */
    char permissions[2048];
};

/* Frees what a call holds and empties it. */
void call_clear(struct call *call);
/* Drives until the call has ended. */
bool call_wait(struct iggy_client *client, struct call *call);

struct iggy_span s(const char *text);

void on_done(void *arg, const struct iggy_result *result);
void on_produced(void *arg, const struct iggy_result *result, const struct iggy_produced *produced);
void on_polled(void *arg, const struct iggy_result *result, const struct iggy_polled *polled);
void on_topic(void *arg, const struct iggy_result *result, const struct iggy_topic *topic);
void on_stream(void *arg, const struct iggy_result *result, const struct iggy_stream *stream);
void on_streams(void *arg, const struct iggy_result *result, const struct iggy_stream *streams, size_t count);
void on_offset(void *arg, const struct iggy_result *result, const struct iggy_offset *offset);
void on_user(void *arg, const struct iggy_result *result, const struct iggy_user *user);
void on_verdict(void *arg, const struct iggy_result *result, enum iggy_verdict verdict,
                const struct iggy_user *user);
void on_stats(void *arg, const struct iggy_result *result, const struct iggy_stats *stats);
void on_token(void *arg, const struct iggy_result *result, const char *token);

#endif
