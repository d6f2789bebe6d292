/*
 * online_ask: single questions to Iggy, each answered before the call returns.
 */
#ifndef MI_ONLINE_ASK_H
#define MI_ONLINE_ASK_H

#include "base/bytes.h"
#include "config/config.h"
#include "iggy_client.h"

struct mi_asking;

/* NULL with a sentence on stderr. */
struct mi_asking *mi_asking_new(const struct mi_config *config);
void mi_asking_free(struct mi_asking *a);

enum mi_may {
    MI_MAY,
    MI_MAY_NOT,     /* 403 */
    MI_MAY_MISSING, /* 404: it does not exist; the right does not matter to that */
    MI_MAY_UNKNOWN  /* no answer, or one that says nothing; mi_asking_why tells */
};
const char *mi_asking_why(const struct mi_asking *a);

/* Logs in and reads the account's own permissions. False: mi_asking_why. */
bool mi_ask_me(struct mi_asking *a);
/* Rights on everything: enum iggy_right. */
uint32_t mi_asking_global(const struct mi_asking *a);
/* Rights on the stream with that id alone. */
uint32_t mi_asking_on_stream(const struct mi_asking *a, uint32_t stream_id);

enum mi_may mi_ask_streams(struct mi_asking *a);
enum mi_may mi_ask_users(struct mi_asking *a);
enum mi_may mi_ask_stats(struct mi_asking *a);
enum mi_may mi_ask_stream(struct mi_asking *a, struct mi_span stream, uint32_t *id);
enum mi_may mi_ask_topic(struct mi_asking *a, struct mi_span stream, struct mi_span topic);
enum mi_may mi_ask_poll(struct mi_asking *a, struct mi_span stream, struct mi_span topic);
/* Of a topic that exists. */
enum mi_may mi_ask_send(struct mi_asking *a, struct mi_span stream, struct mi_span topic);

#endif
