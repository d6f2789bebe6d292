/* The server itself, users and personal access tokens. */
#include "json_reader.h"
#include "names.h"
#include "request.h"
#include "users.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct iggy_span span(struct mi_span s)
{
    return (struct iggy_span){s.data, s.len};
}

/* ---- server
 * ----------------------------------------------------------------------------------------------------------
 */

static bool end_ping(struct request *r, struct answer *answer)
{
    if (answer && (answer->len < 4 || memcmp(answer->body, "pong", 4) != 0))
        request_garbled(r);
    ((iggy_done)r->done)(r->arg, &r->result);
    return true;
}

iggy_request iggy_ping(struct iggy_client *client, iggy_done done, void *arg)
{
    struct request *r = request_new(client, "GET", end_ping, (request_callback)done, arg);
    request_path(r, "/ping");
    if (r)
        r->open = true;
    return request_submit(r);
}

static bool read_stats(struct answer *answer, struct iggy_stats *stats)
{
    struct json j = json_start(answer->body, answer->len);
    struct mi_span key, version;
    bool start = false;
    for (bool more = json_object(&j); more && json_member(&j, &key);) {
        if (json_key_is(key, "start_time")) {
            start = json_u64(&j, &stats->start_time);
        } else if (json_key_is(key, "iggy_server_version") && json_peek(&j) == JSON_STRING) {
            if (json_string(&j, &version))
                stats->version = span(version);
        } else {
            json_skip(&j);
        }
    }
    return json_end(&j) && start;
}

static bool end_stats(struct request *r, struct answer *answer)
{
    struct iggy_stats stats = {0}, none = {0};
    if (answer && !read_stats(answer, &stats))
        request_garbled(r);
    ((iggy_stats_fn)r->done)(r->arg, &r->result, r->result.kind == IGGY_OK ? &stats : &none);
    return true;
}

iggy_request iggy_get_stats(struct iggy_client *client, iggy_stats_fn done, void *arg)
{
    struct request *r = request_new(client, "GET", end_stats, (request_callback)done, arg);
    request_path(r, "/stats");
    return request_submit(r);
}

/* ---- users
 * -------------------------------------------------------------------------------------------------------------
 */

static bool read_user(struct json *j, struct iggy_user *user)
{
    struct mi_span key, text;
    bool id = false;
    user->permissions = names_span("null");
    for (bool more = json_object(j); more && json_member(j, &key);) {
        if (json_key_is(key, "id")) {
            id = json_u32(j, &user->id);
        } else if (json_key_is(key, "created_at")) {
            json_u64(j, &user->created_at);
        } else if (json_key_is(key, "username")) {
            if (json_string(j, &text))
                user->username = span(text);
        } else if (json_key_is(key, "status")) {
            if (json_string(j, &text))
                user->active = json_key_is(text, "active");
        } else if (json_key_is(key, "permissions")) {
            if (json_raw(j, &text))
                user->permissions = span(text);
        } else {
            json_skip(j);
        }
    }
    return (id && user->username.data) || json_fail(j);
}

bool users_read(struct answer *answer, struct iggy_user *user)
{
    struct json j = json_start(answer->body, answer->len);
    return read_user(&j, user) && json_end(&j);
}

static bool read_users(struct answer *answer, struct iggy_user **users, size_t *count)
{
    struct json j = json_start(answer->body, answer->len);
    size_t room = 0;
    for (bool more = json_array(&j); more && json_item(&j); ++*count) {
        if (*count == room) {
            struct iggy_user *wider = realloc(*users, (room = room * 2 + 16) * sizeof *wider);
            if (!wider)
                return json_fail(&j);
            *users = wider;
        }
        (*users)[*count] = (struct iggy_user){0};
        if (!read_user(&j, &(*users)[*count]))
            return false;
    }
    return json_end(&j);
}

static bool end_users(struct request *r, struct answer *answer)
{
    struct iggy_user *users = NULL;
    size_t count = 0;
    if (answer && !read_users(answer, &users, &count))
        request_garbled(r);
    bool ok = r->result.kind == IGGY_OK;
    ((iggy_users_fn)r->done)(r->arg, &r->result, ok ? users : NULL, ok ? count : 0);
    free(users);
    return true;
}

iggy_request iggy_get_users(struct iggy_client *client, iggy_users_fn done, void *arg)
{
    struct request *r = request_new(client, "GET", end_users, (request_callback)done, arg);
    request_path(r, "/users");
    return request_submit(r);
}

static bool end_user(struct request *r, struct answer *answer)
{
    struct iggy_user user = {0}, none = {.permissions = {(const uint8_t *)"null", 4}};
    if (answer && !users_read(answer, &user))
        request_garbled(r);
    ((iggy_user_fn)r->done)(r->arg, &r->result, r->result.kind == IGGY_OK ? &user : &none);
    return true;
}

/* 0.8 knows no "me" (or a user of that name): there the login's own user id is asked for. */
static bool end_me(struct request *r, struct answer *answer)
{
    bool asked = r->result.http_status != 0 && r->result.kind != IGGY_LOGIN;
    if (!asked || session_server(r->client->session) != IGGY_SERVER_0_8)
        return end_user(r, answer);
    r->end = end_user;
    mi_buf_reset(&r->path);
    request_path(r, "/users/%" PRIu32, session_user(r->client->session));
    request_again(r);
    return false;
}

iggy_request iggy_get_me(struct iggy_client *client, iggy_user_fn done, void *arg)
{
    struct request *r = request_new(client, "GET", end_me, (request_callback)done, arg);
    request_path(r, "/users/me");
    return request_submit(r);
}

static void user_path(struct request *r, struct iggy_span name)
{
    request_path(r, "/users/");
    request_name(r, "user", name);
    if (!names_user_usable(name))
        request_refuse(r, "the name of this user is a word of the API; use another one");
}

iggy_request iggy_get_user(struct iggy_client *client, struct iggy_span name, iggy_user_fn done, void *arg)
{
    struct request *r = request_new(client, "GET", end_user, (request_callback)done, arg);
    user_path(r, name);
    return request_submit(r);
}

iggy_request iggy_create_user(struct iggy_client *client, const char *username, const char *password,
                              bool active, struct iggy_span permissions, iggy_done done, void *arg)
{
    struct request *r = request_new(client, "POST", request_end_plain, (request_callback)done, arg);
    request_path(r, "/users");
    if (r) {
        mi_buf_add_text(&r->own_body, "{\"username\":");
        names_add_json(&r->own_body, names_span(username));
        mi_buf_add_text(&r->own_body, ",\"password\":");
        names_add_json(&r->own_body, names_span(password));
        mi_buf_addf(&r->own_body, ",\"status\":\"%s\",\"permissions\":", active ? "active" : "inactive");
        if (permissions.len)
            mi_buf_add(&r->own_body, permissions.data, permissions.len);
        else
            mi_buf_add_text(&r->own_body, "null");
        mi_buf_add_text(&r->own_body, "}");
    }
    return request_submit(r);
}

iggy_request iggy_delete_user(struct iggy_client *client, struct iggy_span name, iggy_done done, void *arg)
{
    struct request *r = request_new(client, "DELETE", request_end_plain, (request_callback)done, arg);
    user_path(r, name);
    return request_submit(r);
}

/* ---- personal access tokens
 * ----------------------------------------------------------------------------------------------- */

static char *read_token(struct answer *answer)
{
    struct json j = json_start(answer->body, answer->len);
    struct mi_span key, token = {0};
    for (bool more = json_object(&j); more && json_member(&j, &key);) {
        if (json_key_is(key, "token"))
            json_string(&j, &token);
        else
            json_skip(&j);
    }
    return json_end(&j) && token.len > 0 ? strndup((const char *)token.data, token.len) : NULL;
}

static bool end_token(struct request *r, struct answer *answer)
{
    char *token = answer ? read_token(answer) : NULL;
    if (answer && !token)
        request_garbled(r);
    ((iggy_token_fn)r->done)(r->arg, &r->result, token ? token : "");
    if (token)
        explicit_bzero(token, strlen(token));
    free(token);
    return true;
}

iggy_request iggy_create_token(struct iggy_client *client, const char *name, uint64_t expiry_us,
                               iggy_token_fn done, void *arg)
{
    struct request *r = request_new(client, "POST", end_token, (request_callback)done, arg);
    request_path(r, "/personal-access-tokens");
    if (r) {
        mi_buf_add_text(&r->own_body, "{\"name\":");
        names_add_json(&r->own_body, names_span(name));
        mi_buf_addf(&r->own_body, ",\"expiry\":%" PRIu64 "}", expiry_us);
    }
    return request_submit(r);
}

iggy_request iggy_delete_token(struct iggy_client *client, const char *name, iggy_done done, void *arg)
{
    struct request *r = request_new(client, "DELETE", request_end_plain, (request_callback)done, arg);
    request_path(r, "/personal-access-tokens/");
    if (r)
        names_add_segment(&r->path, names_span(name));
    return request_submit(r);
}
