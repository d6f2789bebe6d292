/*
 * api_login: logins, their tokens, and personal access tokens.
 */
#include <string.h>

#include "server.h"

static void reply_identity(struct dev_request *r, const struct dev_user *user)
{
    struct dev_session *s = dev_session_create(&r->server->users, user);
    if (!s) {
        dev_reply_error(r, DEV_SERVER_BUSY);
        return;
    }
    mi_buf_addf(dev_reply_json(r, 200),
                "{\"user_id\":%u,\"access_token\":{\"token\":\"%s\",\"expiry\":%llu}}", user->id, s->token,
                (unsigned long long)s->expiry);
}

void dev_login(struct dev_request *r)
{
    cJSON *body = dev_body(r);
    const char *name, *password, *unused;
    if (body && dev_member_string(r, body, "username", true, &name) &&
        dev_member_string(r, body, "password", true, &password) &&
        dev_member_string(r, body, "version", false, &unused) &&
        dev_member_string(r, body, "context", false, &unused)) {
        struct dev_user *user = dev_user_named(&r->server->users, name);
        if (user && user->active && strcmp(user->password, password) == 0)
            reply_identity(r, user);
        else if (user && !user->active && r->server->store.personality == DEV_0_8)
            dev_reply_error(r, DEV_USER_INACTIVE);
        else
            dev_reply_error(r, DEV_INVALID_CREDENTIALS);
    }
    cJSON_Delete(body);
}

void dev_token_login(struct dev_request *r)
{
    cJSON *body = dev_body(r);
    const char *token;
    struct dev_user *user;
    if (body && dev_member_string(r, body, "token", true, &token)) {
        if (dev_access_token_find(&r->server->users, token, &user))
            reply_identity(r, user);
        else
            dev_reply_error(r, r->server->store.personality == DEV_0_8 ? DEV_RESOURCE_NOT_FOUND
                                                                       : DEV_INVALID_PERSONAL_TOKEN);
    }
    cJSON_Delete(body);
}

void dev_refresh(struct dev_request *r)
{
    cJSON *body = dev_body(r);
    const char *token;
    bool old = r->server->store.personality == DEV_0_8;
    if (body && dev_member_string(r, body, "token", true, &token)) {
        struct dev_session *s = dev_session_find(&r->server->users, token);
        struct dev_user *user = s ? dev_slab_get(&r->server->users.users, s->user_id) : NULL;
        if (user) {
            s->revoked = old;
            reply_identity(r, user);
        } else {
            dev_reply_error(r, old ? DEV_INVALID_ACCESS_TOKEN : DEV_UNAUTHENTICATED);
        }
    }
    cJSON_Delete(body);
}

void dev_logout(struct dev_request *r)
{
    if (r->server->store.personality == DEV_0_8)
        r->session->revoked = true;
    dev_reply_empty(r, 204);
}

void dev_list_tokens(struct dev_request *r)
{
    struct mi_buf *out = dev_reply_json(r, 200);
    mi_buf_add_byte(out, '[');
    for (size_t i = 0; i < r->user->token_count; i++) {
        const struct dev_access_token *t = r->user->tokens[i];
        mi_buf_add_text(out, i ? ",{\"name\":" : "{\"name\":");
        dev_append_string(out, t->name);
        if (t->expiry)
            mi_buf_addf(out, ",\"expiry_at\":%llu}", (unsigned long long)t->expiry);
        else
            mi_buf_add_text(out, ",\"expiry_at\":null}");
    }
    mi_buf_add_byte(out, ']');
}

void dev_create_token(struct dev_request *r)
{
    cJSON *body = dev_body(r);
    const char *name;
    uint64_t expiry;
    if (body && dev_member_string(r, body, "name", true, &name) &&
        dev_member_u64(r, body, "expiry", UINT64_MAX, true, &expiry)) {
        size_t len = strlen(name);
        if (len < 3 || len > 30) {
            dev_reply_error(r, DEV_INVALID_TOKEN_NAME);
        } else if (dev_access_token_named(r->user, name)) {
            dev_reply_error(r, DEV_TOKEN_ALREADY_EXISTS);
        } else if (r->user->token_count >= DEV_MAX_ACCESS_TOKENS) {
            dev_reply_error(r, DEV_TOO_MANY_TOKENS);
        } else {
            struct dev_access_token *t = dev_access_token_create(&r->server->users, r->user, name, expiry);
            if (t)
                mi_buf_addf(dev_reply_json(r, 200), "{\"token\":\"%s\"}", t->token);
            else
                dev_reply_error(r, DEV_SERVER_BUSY);
        }
    }
    cJSON_Delete(body);
}

void dev_delete_token(struct dev_request *r)
{
    if (dev_access_token_delete(&r->server->users, r->user, r->args[0]))
        dev_reply_empty(r, 204);
    else
        dev_reply_error(r, DEV_RESOURCE_NOT_FOUND);
}
