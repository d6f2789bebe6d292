/*
 * server: what all parts share, and the routes. One thread runs everything.
 */
#ifndef DEV_SERVER_H
#define DEV_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "faults.h"
#include "request.h"
#include "store.h"
#include "users.h"

struct dev_http;

struct dev_server {
    struct dev_store store;
    struct dev_users users;
    struct dev_faults faults;
    struct dev_http *http;
    uint64_t start_time; /* microseconds; a new one after "kill" */
    uint16_t http_port, admin_port;
    uint64_t requests, produced_messages, polled_messages;
};

struct dev_route {
    const char *group; /* word for fault rules: produce, poll, login, streams... */
    const char *method;
    const char *pattern; /* segments; "*" stands for one that is handed over in args */
    void (*handle)(struct dev_request *r);
    bool open;        /* needs no login */
    bool write;       /* counts against the 32 unanswered writes of a token */
    int since, until; /* personalities that have it, both inclusive */
};

/* Finds the route of a request (r->route, r->args), so that fault rules can look at it. May already set the
 * answer. */
bool dev_route_request(struct dev_request *r);
/* Counts a write against its token until dev_end_write (both do nothing for other requests). Sets
 * too_many_writes when the token has too many already. */
void dev_begin_write(struct dev_request *r);
void dev_end_write(struct dev_request *r);
/* Authenticates and runs the handler; the answer is in r. */
void dev_run_request(struct dev_request *r);

/* The version that /stats tells. */
const char *dev_version(const struct dev_server *server);

/* Handlers, by file. */
void dev_ping(struct dev_request *r);
void dev_root(struct dev_request *r);
void dev_stats(struct dev_request *r);
void dev_metrics(struct dev_request *r);
void dev_clients(struct dev_request *r);
void dev_client(struct dev_request *r);
void dev_cluster(struct dev_request *r);
void dev_options(struct dev_request *r);
void dev_snapshot(struct dev_request *r);

void dev_login(struct dev_request *r);
void dev_token_login(struct dev_request *r);
void dev_refresh(struct dev_request *r);
void dev_logout(struct dev_request *r);
void dev_list_tokens(struct dev_request *r);
void dev_create_token(struct dev_request *r);
void dev_delete_token(struct dev_request *r);

void dev_list_users(struct dev_request *r);
void dev_create_user(struct dev_request *r);
void dev_get_user(struct dev_request *r);
void dev_update_user(struct dev_request *r);
void dev_change_password(struct dev_request *r);
void dev_change_permissions(struct dev_request *r);
void dev_delete_user(struct dev_request *r);

void dev_list_streams(struct dev_request *r);
void dev_create_stream(struct dev_request *r);
void dev_get_stream(struct dev_request *r);
void dev_update_stream(struct dev_request *r);
void dev_delete_stream(struct dev_request *r);
void dev_purge_stream(struct dev_request *r);

void dev_list_topics(struct dev_request *r);
void dev_create_topic(struct dev_request *r);
void dev_get_topic(struct dev_request *r);
void dev_update_topic(struct dev_request *r);
void dev_delete_topic(struct dev_request *r);
void dev_purge_topic(struct dev_request *r);
void dev_create_partitions(struct dev_request *r);
void dev_delete_partitions(struct dev_request *r);
void dev_delete_segments(struct dev_request *r);
/* The JSON of a topic: without partitions in lists; in the answer of its creation, 0.9 has no segments yet.
 */
enum dev_view { DEV_LISTED, DEV_DETAILS, DEV_CREATED };
void dev_append_topic(struct mi_buf *out, const struct dev_store *store, const struct dev_topic *topic,
                      enum dev_view view);

void dev_produce(struct dev_request *r);
void dev_poll(struct dev_request *r);
void dev_flush(struct dev_request *r);

void dev_get_offset(struct dev_request *r);
void dev_store_offset(struct dev_request *r);
void dev_remove_offset(struct dev_request *r);

void dev_list_groups(struct dev_request *r);
void dev_create_group(struct dev_request *r);
void dev_get_group(struct dev_request *r);
void dev_delete_group(struct dev_request *r);

#endif
