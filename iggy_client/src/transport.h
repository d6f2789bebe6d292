/*
 * transport: single HTTP exchanges over libcurl's multi interface. One attempt each, no retry (not even
 * libcurl's own silent one for a request that may have had an effect), no redirect, no proxy, no judgement.
 * Knows the base URLs and which of them is current, connections and time limits; nothing of sessions or of
 * Iggy.
 *
 * Thread: all functions are for the client's one thread, but transport_wake, which is for any.
 */
#ifndef IGGY_TRANSPORT_H
#define IGGY_TRANSPORT_H

#include "base/bytes.h"

#include "classify.h"
#include "iggy_client.h"

struct transport;
struct exchange;

struct exchange_request {
    const char *method;
    const char *path;    /* begins with '/', already encoded */
    struct mi_span body; /* lives until the end of the exchange; empty: none is sent */
    const char *bearer;  /* NULL: no Authorization header */
    size_t max_answer;   /* bytes of the answer's body */
    bool write;          /* changes something on the server */
    bool guarded;        /* not sent once transport_signs is another than this: EXCHANGE_HELD */
    uint64_t signs;
};

struct answer {
    struct exchange_facts facts; /* code is 0 here: the body is not read */
    size_t url;                  /* index of the base URL that was used */
    bool new_connection;
    bool persisted;          /* header Iggy-Durability: persisted */
    bool durability;         /* a header Iggy-Durability at all */
    uint32_t retry_after_ms; /* from Retry-After */
    uint8_t *body;           /* writable, lives until the callback returns */
    size_t len;
    const char *why; /* libcurl's words when there was no answer, else "" */
};

typedef void (*exchange_done)(void *arg, struct answer *answer);

/* NULL with a sentence in error when the options cannot work. The options are copied. */
struct transport *transport_new(const struct iggy_options *options, char *error, size_t error_size);
/* Ends all exchanges without their callbacks. */
void transport_free(struct transport *t);

/* Starts one; NULL when memory is out. done is called from transport_drive. */
struct exchange *transport_start(struct transport *t, const struct exchange_request *request,
                                 exchange_done done, void *arg);
/* Ends one without its callback. Returns whether all of its request had been sent. */
bool transport_stop(struct transport *t, struct exchange *exchange);

/* As iggy_client_drive. Returns whether any exchange ended. */
bool transport_drive(struct transport *t, uint32_t timeout_ms, struct iggy_wait *extra, size_t extra_count);
void transport_wake(struct transport *t);

/* Counts signs that the server may be another process than before: a connection had to be opened while none
 * of those used before was alive, or the caller's own, noted with transport_sign. */
uint64_t transport_signs(const struct transport *t);
void transport_sign(struct transport *t);

/* Exchanges under way. */
size_t transport_active(const struct transport *t);
/* Index and text of the base URL that the next exchange will use. */
size_t transport_url(const struct transport *t);
const char *transport_url_text(const struct transport *t, size_t url);
/* Goes on to the next base URL if that one is still current. */
void transport_leave_url(struct transport *t, size_t url);
/* Other TLS files, as in struct iggy_options. false with a sentence in error: those before stay. */
bool transport_set_tls(struct transport *t, const char *ca_file, const char *cert_file, const char *key_file,
                       char *error, size_t error_size);
/* No connection made until now is used by a later exchange; resolved names and certificates are read again.
 */
void transport_reset(struct transport *t);

#endif
