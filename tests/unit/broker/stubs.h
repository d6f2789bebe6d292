/*
 * stubs: the functions of the broker that the plugin calls, recording what they were asked. Property
 * functions and topic checks are libmosquitto's own.
 */
#ifndef STUBS_H
#define STUBS_H

#include "broker/compat.h"

#include <pthread.h>

struct mosquitto {
    const char *id, *username;
    char given_name[256]; /* by mosquitto_set_username */
    int protocol;
    bool clean;
    int subscriptions;
    const char *address;
    bool websockets;
};

enum { STUB_MAX = 600 };

struct stub_publish {
    char topic[256];
    char payload[256];
    int payload_len, qos;
    bool retain;
    char content_type[64]; /* of its properties */
};

struct stubs {
    /* log */
    int log_count;
    int log_level[STUB_MAX];
    char log[STUB_MAX][1024];
    pthread_t log_thread[STUB_MAX];
    /* publish */
    int publish_count;
    int publish_result;      /* what the next calls return */
    const char *only_client; /* the one they must be for; NULL: everybody */
    struct stub_publish published[STUB_MAX];
    /* callbacks: what is registered, in order */
    int callback_count;
    int event[16];
    MOSQ_FUNC_generic_callback callback[16];
    void *userdata[16];
    int refuse_event; /* that event is not taken */
};
extern struct stubs stubs;

void stubs_reset(void);
/* Does one of the logged lines hold that text? */
bool stubs_logged(const char *text);
/* Calls the registered callback of an event; -1000 when there is none. */
int stubs_fire(int event, void *data);

#endif
