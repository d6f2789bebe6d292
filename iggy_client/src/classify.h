/*
 * classify: the one place that turns how a request ended into what it means: kind, effect, retry. Pure.
 *
 * Sources: Iggy's statuses and numbers (API reference 2.1), measured on 0.8 and 0.9.
 */
#ifndef IGGY_CLASSIFY_H
#define IGGY_CLASSIFY_H

#include "iggy_client.h"

/* How the exchange ended, as the transport saw it. */
enum exchange_end {
    EXCHANGE_ANSWERED,   /* a whole answer is there */
    EXCHANGE_NO_CONNECT, /* the connection could not be made; no byte of the request left */
    EXCHANGE_HELD,       /* guarded, and a sign came first: no byte of the request left */
    EXCHANGE_CUT,        /* the connection ended before a whole answer came */
    EXCHANGE_TIMEOUT,    /* the time was over */
    EXCHANGE_TOO_LARGE   /* the answer passed its bound */
};

struct exchange_facts {
    enum exchange_end end;
    bool whole_sent; /* all of the request was given to the system; without that a server cannot have acted on
                        it */
    bool write;      /* the request changes something on the server */
    int status;      /* HTTP, 0 without an answer */
    uint32_t code;   /* Iggy's number from the error body, 0 without one */
};

struct outcome {
    enum iggy_kind kind;
    enum iggy_effect effect;
    enum iggy_retry retry;
};

struct outcome classify(const struct exchange_facts *facts);

/* For a 2xx answer that cannot be read: a write may have happened, or a stranger answered. */
struct outcome classify_garbled(bool write);

/* Iggy's numbers that this client acts on. */
enum {
    IGGY_CODE_NOT_COMMITTED = 57,
    IGGY_CODE_NOT_ACCEPTED = 58,
    IGGY_CODE_REQUEST_TOO_OLD = 85,
    IGGY_CODE_STREAM_EXISTS = 1012,
    IGGY_CODE_TOPIC_EXISTS = 2013
};

#endif
