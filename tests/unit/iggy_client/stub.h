/*
 * stub: an HTTP server of the tests that answers what a test wrote down, byte for byte. Each request takes
 * the first rule that fits and still has times left; one without a rule gets a 404 without a body. A thread
 * per connection.
 */
#ifndef MI_STUB_H
#define MI_STUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum stub_action {
    STUB_ANSWER,     /* the bytes of answer, connection kept */
    STUB_ANSWER_CUT, /* the bytes of answer, then the connection is closed */
    STUB_CUT,        /* closed without an answer, after the whole request */
    STUB_CUT_EARLY,  /* closed after the request's header, its body unread */
    STUB_HANG        /* never answers */
};

struct stub_rule {
    const char *request; /* what the request line begins with, such as "GET /streams " */
    int times;           /* 0: always */
    enum stub_action action;
    const char *answer;   /* whole answer: status line, header, body */
    unsigned delay_ms;    /* before it */
    const char *contains; /* text that must occur in the request's header, such as "Bearer abc"; NULL: any */
};

struct stub;

/* Starts on a free port of 127.0.0.1; rules end with one whose request is NULL and outlive it. */
struct stub *stub_start(const struct stub_rule *rules);
void stub_stop(struct stub *stub);
const char *stub_url(const struct stub *stub);

/* Requests whose line began like that, and all. */
int stub_count(struct stub *stub, const char *request);
/* Connections that were accepted, and the most requests that were under way at once. */
int stub_connections(struct stub *stub);
int stub_most_at_once(struct stub *stub);
/* Whole text (header and body) of the n-th request that began like that, from 0; "" when there was none.
 * Lives until stub_stop. */
const char *stub_request(struct stub *stub, const char *request, int n);

/* Puts an answer together in a buffer that lives until the program ends. */
const char *stub_json(int status, const char *body);
const char *stub_empty(int status);
/* The usual server: login with token "t1", GET /users/me as 0.9. */
#define STUB_LOGIN                                                                                          \
    {                                                                                                       \
        "POST /users/login ", 0, STUB_ANSWER,                                                               \
            stub_json(200, "{\"user_id\":7,\"access_token\":{\"token\":\"t1\",\"expiry\":4000000000}}"), 0, \
            NULL                                                                                            \
    }
#define STUB_ME                                                                                         \
    {                                                                                                   \
        "GET /users/me ", 0, STUB_ANSWER,                                                               \
            stub_json(200, "{\"id\":7,\"username\":\"bob\",\"status\":\"active\",\"permissions\":null," \
                           "\"options\":{}}"),                                                          \
            0, NULL                                                                                     \
    }

#endif
