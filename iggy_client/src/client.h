/*
 * client: what one struct iggy_client is made of. Everything belongs to the client's one thread.
 */
#ifndef IGGY_CLIENT_INTERNAL_H
#define IGGY_CLIENT_INTERNAL_H

#include "base/bytes.h"

#include "iggy_client.h"
#include "session.h"
#include "transport.h"

struct request;

struct request_list {
    struct request *first, *last;
    size_t count;
};

struct iggy_client {
    struct transport *transport;
    struct session *session;
    size_t max_answer;
    size_t max_connections;
    struct request_list waiting; /* for a session or a connection, in order */
    struct request_list sent;
    struct request_list ended; /* without an exchange; their callbacks come with the next drive */
    iggy_request last_id;
    uint64_t refused; /* generation of the last token that was refused before its end */
    char trouble[240];
    void (*log)(void *context, const char *line);
    void *log_context;
};

#endif
