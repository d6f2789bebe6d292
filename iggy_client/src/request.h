/*
 * request: one logical request from the caller's call to its callback: refused locally, waiting for a session
 * or a free connection, sent, repeated once after a 401, ended. The modules of the API (produce, poll,
 * topology, ...) describe their requests with this and read the answers.
 *
 * All describing functions accept NULL (memory was out) and remember failures until request_submit.
 */
#ifndef IGGY_REQUEST_H
#define IGGY_REQUEST_H

#include "base/bytes.h"

#include "client.h"
#include "iggy_client.h"
#include "transport.h"

struct request;

/* Ends a request: reads the answer (NULL: there is none to read) into what the callback gets, corrects
 * r->result where the answer says more, and calls the callback. Returns false instead when it has sent the
 * request on its way again with request_again. */
typedef bool (*request_end)(struct request *r, struct answer *answer);

/* Any of the public callback types; called through its true type. */
typedef void (*request_callback)(void);

enum request_state { REQUEST_NEW, REQUEST_WAITING, REQUEST_SENT, REQUEST_ENDED };

struct request {
    struct request *next, *previous; /* in the client's list of its state */
    struct iggy_client *client;
    iggy_request id;
    enum request_state state;
    /* what to send */
    const char *method;
    struct mi_buf path;
    struct mi_buf own_body;
    struct mi_span body; /* own_body, or the caller's */
    bool write;          /* changes something on the server */
    bool open;           /* needs no session */
    char *bearer;        /* with open: a token of its own, wiped with the request; NULL: none */
    bool guarded;        /* held back once iggy_client_signs is another than signs */
    uint64_t signs;
    size_t max_answer;
    /* under way */
    struct exchange *exchange;
    uint64_t session; /* generation of the token that was sent */
    bool repeated;
    bool new_connection, logged_in_again; /* kept over repetitions */
    /* the end */
    struct iggy_result result;
    request_end end;
    request_callback done;
    void *arg;
    void *extra; /* the module's own, freed with the request */
};

struct request *request_new(struct iggy_client *client, const char *method, request_end end,
                            request_callback done, void *arg);
/* Path so far + text as it is. */
void request_path(struct request *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Path so far + one percent-encoded segment; unusable names refuse the request. what: "stream", "topic". */
void request_name(struct request *r, const char *what, struct iggy_span name);
/* "/streams/S" and "/streams/S/topics/T". */
void request_stream_path(struct request *r, struct iggy_span stream);
void request_topic_path(struct request *r, struct iggy_span stream, struct iggy_span topic);
/* Makes it IGGY_LOCAL: nothing is sent. The first reason counts. */
void request_refuse(struct request *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Hands it over. Returns its id, 0 when memory was out (the request is freed). */
iggy_request request_submit(struct request *r);

/* From within end: sends it again with what is described now. */
void request_again(struct request *r);
/* From within end, before request_again: the body was a secret, and what follows has none. */
void request_wipe_body(struct request *r);
/* From within end: an answer that cannot be read. */
void request_garbled(struct request *r);
/* The end of a request that has nothing but a result; a body, if any, must be JSON. */
bool request_end_plain(struct request *r, struct answer *answer);

/* ---- the client's side
 * ---------------------------------------------------------------------------------------- */

/* Sends what can be sent, fails what waits for a session that failed. Calls no callback. */
void requests_start(struct iggy_client *client);
/* Calls the callbacks of requests that ended without an exchange. Returns whether there was one. */
bool requests_deliver(struct iggy_client *client);
/* Fails all that wait for a session. */
void requests_fail_waiting(struct iggy_client *client, const struct iggy_result *failure);
/* Frees all of a list without callbacks. */
void requests_drop(struct iggy_client *client, struct request_list *list);

#endif
