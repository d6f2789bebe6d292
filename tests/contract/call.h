/*
 * call: one HTTP request to the server under test, with libcurl's easy interface and nothing of the product.
 */
#ifndef CONTRACT_CALL_H
#define CONTRACT_CALL_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reply {
    long status; /* 0: no answer came */
    char *body;  /* NUL-terminated */
    size_t len;
    char *headers; /* as received, lines in lower case */
    cJSON *json;   /* NULL when the body is no JSON */
};

/* A reply lives until 32 further calls have been made. body: JSON text or NULL. */
struct reply *call(const char *method, const char *path, const char *body); /* as root */
struct reply *call_as(const char *token, const char *method, const char *path, const char *body);
/* content_type and authorization go out as they are; NULL: without. */
struct reply *call_raw(const char *method, const char *path, const char *body, size_t len,
                       const char *content_type, const char *authorization);
/* As call with a path and a body that are made by printf rules; the first %-format is the path's. */
struct reply *callf(const char *method, const char *body, const char *path_format, ...)
    __attribute__((format(printf, 3, 4)));
/* The server was restarted: no connection is good any more. */
void call_forget_connections(void);

/* Iggy's number in an error answer; 0: none. */
int error_id(const struct reply *r);
/* A number member of the answer; -1 when it is missing. */
double number_of(const cJSON *object, const char *name);
const char *text_of(const cJSON *object, const char *name);

/* Checks the status (and the error number unless id is 0) and says what came instead. */
bool expect(struct reply *r, long status, int id);
/* Status 400 or 422 and so on with a text that is no JSON. */
bool expect_text(struct reply *r, long status);

/* A stream of its own for the calling test, deleted by the next call; its name. */
const char *fresh_stream(void);
/* Creates a topic in it with default options. */
bool make_topic(const char *stream, const char *topic, unsigned partitions);
/* options: a JSON object, or NULL. */
struct reply *create_topic(const char *stream, const char *topic, unsigned partitions, const char *options);

/* Appends messages that are given as JSON text ("[{...}]"). */
struct reply *produce(const char *stream, const char *topic, unsigned partition, const char *messages);
/* Appends count messages of size bytes with payload p0, p1... in front. */
struct reply *produce_many(const char *stream, const char *topic, unsigned partition, unsigned count,
                           size_t size);
/* Polls with a query ("kind=first&count=3"). A new partition may be answered 504 for a moment: tries again.
 */
struct reply *poll_query(const char *stream, const char *topic, const char *query);
/* header or user_headers of the n-th message. */
const cJSON *message_at(const struct reply *r, int n);
double offset_at(const struct reply *r, int n);

/* base64 of text; lives until 32 further calls. */
const char *b64(const void *data, size_t len);
const char *b64_text(const char *text);
/* base64 of a u32 in little-endian, as partition ids go. */
const char *b64_u32(uint32_t value);

#endif
