/*
 * request: one request and its answer, without the HTTP library: what handlers see.
 */
#ifndef DEV_REQUEST_H
#define DEV_REQUEST_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "errors.h"
#include "permissions.h"
#include "store.h"
#include "users.h"

struct dev_server;
struct dev_route;

enum { DEV_MAX_BODY = 2000000, DEV_MAX_PATH_ARGS = 3, DEV_MAX_QUERY = 16, DEV_MAX_ANSWER = 1 << 30 };

struct dev_pair {
    char *name, *value;
};

struct dev_request {
    struct dev_server *server;
    /* Set by http.c. */
    char method[8];
    char *path;  /* as it came, percent-encoded */
    char *query; /* as it came, behind the question mark; may be NULL */
    char *authorization;
    char *content_type;
    struct mi_buf body;
    /* Set by dev_dispatch. */
    const struct dev_route *route; /* NULL: none fits */
    char *args[DEV_MAX_PATH_ARGS]; /* decoded path segments that the route leaves open */
    struct dev_pair params[DEV_MAX_QUERY];
    size_t param_count;
    struct dev_user *user;
    struct dev_session *session;
    struct dev_session *counted; /* the session whose unanswered write this is; NULL: none */
    bool too_many_writes;        /* the token has 32 unanswered ones already */
    /* The answer. */
    int status;
    struct mi_buf out;
    const char *out_type;   /* NULL: no body */
    const char *durability; /* Iggy-Durability; NULL: none */
    const char *allow;      /* Allow; NULL: none */
    const char *location;   /* Location; NULL: none */
    bool retry_after;       /* Retry-After: 1 */
    bool close;             /* Connection: close */
};

struct dev_request *dev_request_new(struct dev_server *server, const char *method, const char *url);
/* What is needed to run it again without a connection. */
struct dev_request *dev_request_copy(const struct dev_request *r);
void dev_request_free(struct dev_request *r);

/* Answers. Each replaces what was set before. */
void dev_reply_error(struct dev_request *r, enum dev_error_name name);
void dev_reply_text(struct dev_request *r, int status, const char *text);
void dev_reply_empty(struct dev_request *r, int status);
/* Starts a JSON answer; the caller appends to r->out. */
struct mi_buf *dev_reply_json(struct dev_request *r, int status);
void dev_append_string(struct mi_buf *out, const char *text);
/* Iggy's way to write sizes: a string. */
void dev_append_size(struct mi_buf *out, const char *name, uint64_t bytes);

/* Query. Each returns false after answering 400. A missing value leaves *value. */
bool dev_query_parse(struct dev_request *r);
const char *dev_query(const struct dev_request *r, const char *name);
bool dev_query_u32(struct dev_request *r, const char *name, uint32_t *value);
bool dev_query_u64(struct dev_request *r, const char *name, uint64_t *value);
bool dev_query_bool(struct dev_request *r, const char *name, bool *value);
/* Percent-decodes in place (plus: also '+' to space); false when the result is not UTF-8. */
bool dev_percent_decode(char *text, bool plus);
bool dev_utf8_valid(const char *text, size_t len);

/* Bodies. The tree belongs to the caller; NULL after answering 400, 415 or 422. */
bool dev_body_is_json(struct dev_request *r);
cJSON *dev_body(struct dev_request *r);
/* Members; false after answering 422 when a required one is missing or the type is wrong. Optional ones leave
 * *value. */
bool dev_member_string(struct dev_request *r, const cJSON *body, const char *name, bool required,
                       const char **value);
bool dev_member_u64(struct dev_request *r, const cJSON *body, const char *name, uint64_t max, bool required,
                    uint64_t *value);

/* Permission and resolution. Iggy asks for the right first but lets what does not exist pass: so both in one.
 */
bool dev_allowed(struct dev_request *r, struct dev_need need, const struct dev_stream *stream,
                 const struct dev_topic *topic);
/* Checks the form of a path identifier: 1-255 bytes; answers 400. */
bool dev_identifier_valid(struct dev_request *r, const char *identifier);
/* The stream and topic that args[0] and args[1] name, or NULL; false after answering 400 or 403. */
bool dev_target(struct dev_request *r, struct dev_need need, struct dev_stream **stream,
                struct dev_topic **topic);

#endif
