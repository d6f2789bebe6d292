/*
 * routes: the table of all endpoints, the match, and the login that most of them need.
 */
#include "server.h"

#include <stdlib.h>
#include <string.h>

#include "state.h"

#define ALL DEV_0_8, DEV_0_10
#define OLD DEV_0_8, DEV_0_8
#define NEW DEV_0_9, DEV_0_10
#define TO_0_9 DEV_0_8, DEV_0_9

static const struct dev_route routes[] = {
    {"produce", "POST", "streams/*/topics/*/messages", dev_produce, false, true, ALL},
    {"poll", "GET", "streams/*/topics/*/messages", dev_poll, false, false, ALL},
    {"flush", "GET", "streams/*/topics/*/messages/flush/*/true", dev_flush, false, false, OLD},
    {"flush", "GET", "streams/*/topics/*/messages/flush/*/false", dev_flush, false, false, OLD},
    {"offsets", "GET", "streams/*/topics/*/consumer-offsets", dev_get_offset, false, false, ALL},
    {"offsets", "PUT", "streams/*/topics/*/consumer-offsets", dev_store_offset, false, true, ALL},
    {"offsets", "DELETE", "streams/*/topics/*/consumer-offsets/*", dev_remove_offset, false, true, ALL},
    {"groups", "GET", "streams/*/topics/*/consumer-groups", dev_list_groups, false, false, ALL},
    {"groups", "POST", "streams/*/topics/*/consumer-groups", dev_create_group, false, true, ALL},
    {"groups", "GET", "streams/*/topics/*/consumer-groups/*", dev_get_group, false, false, ALL},
    {"groups", "DELETE", "streams/*/topics/*/consumer-groups/*", dev_delete_group, false, true, ALL},
    {"topics", "POST", "streams/*/topics/*/partitions", dev_create_partitions, false, true, ALL},
    {"topics", "DELETE", "streams/*/topics/*/partitions", dev_delete_partitions, false, true, ALL},
    {"topics", "DELETE", "streams/*/topics/*/partitions/*", dev_delete_segments, false, true, ALL},
    {"topics", "GET", "streams/*/topics", dev_list_topics, false, false, ALL},
    {"topics", "POST", "streams/*/topics", dev_create_topic, false, true, ALL},
    {"topics", "GET", "streams/*/topics/*", dev_get_topic, false, false, ALL},
    {"topics", "PUT", "streams/*/topics/*", dev_update_topic, false, true, ALL},
    {"topics", "DELETE", "streams/*/topics/*", dev_delete_topic, false, true, ALL},
    {"topics", "DELETE", "streams/*/topics/*/purge", dev_purge_topic, false, true, TO_0_9},
    {"streams", "GET", "streams", dev_list_streams, false, false, ALL},
    {"streams", "POST", "streams", dev_create_stream, false, true, ALL},
    {"streams", "GET", "streams/*", dev_get_stream, false, false, ALL},
    {"streams", "PUT", "streams/*", dev_update_stream, false, true, ALL},
    {"streams", "DELETE", "streams/*", dev_delete_stream, false, true, ALL},
    {"streams", "DELETE", "streams/*/purge", dev_purge_stream, false, true, TO_0_9},
    {"login", "POST", "users/login", dev_login, true, false, ALL},
    {"login", "POST", "users/refresh-token", dev_refresh, true, false, ALL},
    {"login", "POST", "personal-access-tokens/login", dev_token_login, true, false, ALL},
    {"login", "DELETE", "users/logout", dev_logout, false, false, ALL},
    {"users", "GET", "personal-access-tokens", dev_list_tokens, false, false, ALL},
    {"users", "POST", "personal-access-tokens", dev_create_token, false, true, ALL},
    {"users", "DELETE", "personal-access-tokens/*", dev_delete_token, false, true, ALL},
    {"users", "GET", "users", dev_list_users, false, false, ALL},
    {"users", "POST", "users", dev_create_user, false, true, ALL},
    {"users", "GET", "users/*", dev_get_user, false, false, ALL},
    {"users", "PUT", "users/*", dev_update_user, false, true, ALL},
    {"users", "PUT", "users/*/password", dev_change_password, false, true, ALL},
    {"users", "PUT", "users/*/permissions", dev_change_permissions, false, true, ALL},
    {"users", "DELETE", "users/*", dev_delete_user, false, true, ALL},
    {"stats", "GET", "stats", dev_stats, false, false, ALL},
    {"metrics", "GET", "metrics", dev_metrics, true, false, OLD},
    {"metrics", "GET", "metrics", dev_metrics, false, false, NEW},
    {"clients", "GET", "clients", dev_clients, false, false, ALL},
    {"clients", "GET", "clients/*", dev_client, false, false, ALL},
    {"cluster", "GET", "cluster/metadata", dev_cluster, false, false, ALL},
    {"options", "GET", "options/*", dev_options, false, false, NEW},
    {"snapshot", "POST", "snapshot", dev_snapshot, false, false, ALL},
    {"ping", "GET", "ping", dev_ping, true, false, ALL},
    {"root", "GET", "", dev_root, true, false, OLD},
    {NULL, NULL, NULL, NULL, false, false, ALL}};

static const char bearer[] = "Bearer ";

static bool match(const char *pattern, const char *path, struct dev_request *r);
static void no_route(struct dev_request *r, bool other_method);
static bool authenticate(struct dev_request *r);
static bool find_session(struct dev_request *r);
static bool decode_args(struct dev_request *r);

bool dev_route_request(struct dev_request *r)
{
    int personality = r->server->store.personality;
    bool other_method = false;
    for (const struct dev_route *route = routes; route->pattern; route++) {
        if (personality < route->since || personality > route->until || !match(route->pattern, r->path, NULL))
            continue;
        if (strcmp(route->method, r->method) != 0) {
            other_method = true;
            continue;
        }
        r->route = route;
        return match(route->pattern, r->path, r);
    }
    no_route(r, other_method);
    return false;
}

/* Compares segment by segment; with r it also takes what the stars stand for. False then: memory is out. */
static bool match(const char *pattern, const char *path, struct dev_request *r)
{
    size_t args = 0;
    if (*path != '/')
        return false;
    for (path++;;) {
        size_t want = strcspn(pattern, "/"), have = strcspn(path, "/");
        bool star = want == 1 && *pattern == '*';
        if (star ? have == 0 : want != have || memcmp(pattern, path, want) != 0)
            return false;
        if (star && r && !(r->args[args++] = strndup(path, have)))
            return false;
        pattern += want;
        path += have;
        if (!*pattern || !*path)
            return !*pattern && !*path;
        pattern++;
        path++;
    }
}

static void no_route(struct dev_request *r, bool other_method)
{
    if (r->server->store.personality == DEV_0_8 && !authenticate(r)) {
        dev_reply_empty(r, 401);
        return;
    }
    dev_reply_empty(r, other_method ? 405 : 404);
    r->allow = other_method ? "GET,HEAD,POST,PUT,DELETE" : NULL;
}

void dev_run_request(struct dev_request *r)
{
    if (!r->route->open && !authenticate(r))
        return;
    if (!decode_args(r) || !dev_query_parse(r))
        return;
    if (r->too_many_writes)
        dev_reply_error(r, DEV_TOO_MANY_WRITES);
    else
        r->route->handle(r);
    if (!dev_state_save(r->server)) /* before the answer: it must survive a kill that comes right after */
        dev_reply_error(r, DEV_SERVER_BUSY);
}

void dev_begin_write(struct dev_request *r)
{
    if (!r->route->write || !find_session(r))
        return;
    r->counted = r->session;
    r->too_many_writes =
        r->server->store.personality != DEV_0_8 && r->counted->unanswered_writes >= DEV_MAX_UNANSWERED;
    r->counted->unanswered_writes++;
}

void dev_end_write(struct dev_request *r)
{
    if (r->counted)
        r->counted->unanswered_writes--;
    r->counted = NULL;
}

/* Sets r->user and r->session, or answers 401. */
static bool authenticate(struct dev_request *r)
{
    if (find_session(r))
        return true;
    dev_reply_error(r, r->authorization && strncmp(r->authorization, bearer, sizeof bearer - 1) == 0
                           ? DEV_UNAUTHENTICATED
                           : DEV_ACCESS_TOKEN_MISSING);
    return false;
}

static bool find_session(struct dev_request *r)
{
    struct dev_users *users = &r->server->users;
    if (!r->authorization || strncmp(r->authorization, bearer, sizeof bearer - 1) != 0)
        return false;
    const char *token = r->authorization + sizeof bearer - 1;
    r->session = dev_session_find(users, token);
    if (r->session)
        r->user = dev_slab_get(&users->users, r->session->user_id);
    else if (r->server->store.personality != DEV_0_8 && dev_access_token_find(users, token, &r->user))
        r->session = dev_session_of_access_token(users, token, r->user);
    return r->session && r->user;
}

static bool decode_args(struct dev_request *r)
{
    for (size_t i = 0; i < DEV_MAX_PATH_ARGS && r->args[i]; i++)
        if (!dev_percent_decode(r->args[i], false)) {
            dev_reply_text(r, 400, "Invalid URL: Invalid UTF-8");
            return false;
        }
    return true;
}
