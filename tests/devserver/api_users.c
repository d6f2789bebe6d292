/*
 * api_users: /users.
 */
#include <string.h>

#include "server.h"

static void append_user(struct mi_buf *out, const struct dev_request *r, const struct dev_user *u,
                        bool details)
{
    mi_buf_addf(out, "{\"id\":%u,\"created_at\":%llu,\"status\":\"%s\",\"username\":", u->id,
                (unsigned long long)u->created_at, u->active ? "active" : "inactive");
    dev_append_string(out, u->name);
    if (details) {
        mi_buf_add_text(out, ",\"permissions\":");
        dev_permissions_append(&u->permissions, out);
    }
    mi_buf_add_text(out, r->server->store.personality == DEV_0_8 ? "}" : ",\"options\":{}}");
}

/* The user that args[0] names; NULL when there is none. */
static struct dev_user *named_user(const struct dev_request *r)
{
    if (r->server->store.personality != DEV_0_8 && strcmp(r->args[0], "me") == 0 &&
        strcmp(r->method, "GET") == 0)
        return r->user;
    return dev_user_find(&r->server->users, r->args[0]);
}

void dev_list_users(struct dev_request *r)
{
    struct dev_user *u;
    if (!dev_allowed(r, dev_need_read_users, NULL, NULL))
        return;
    struct mi_buf *out = dev_reply_json(r, 200);
    mi_buf_add_byte(out, '[');
    for (uint32_t i = 0; (u = dev_slab_next(&r->server->users.users, &i)); i++) {
        if (out->len > 1)
            mi_buf_add_byte(out, ',');
        append_user(out, r, u, false);
    }
    mi_buf_add_byte(out, ']');
}

static bool bad_body(struct dev_request *r, const char *name)
{
    dev_reply_text(r, 422, "Failed to deserialize the JSON body into the target type: ");
    mi_buf_add_text(&r->out, name);
    return false;
}

static bool read_status(struct dev_request *r, const cJSON *body, bool required, bool *active)
{
    const char *word = *active ? "active" : "inactive";
    if (!dev_member_string(r, body, "status", required, &word))
        return false;
    *active = strcmp(word, "active") == 0;
    return *active || strcmp(word, "inactive") == 0 || bad_body(r, "status");
}

static bool password_usable(struct dev_request *r, const char *password)
{
    size_t len = strlen(password);
    if (len >= 3 && len <= 100)
        return true;
    dev_reply_error(r, DEV_INVALID_PASSWORD);
    return false;
}

/* Iggy checks lengths before it asks for the right. */
static bool name_valid(struct dev_request *r, const char *name)
{
    size_t len = strlen(name);
    if (len >= 3 && len <= 50)
        return true;
    dev_reply_error(r, DEV_INVALID_USERNAME);
    return false;
}

static bool name_free(struct dev_request *r, const char *name, const struct dev_user *own)
{
    const struct dev_user *other = dev_user_named(&r->server->users, name);
    if (!other || other == own)
        return true;
    dev_reply_error(r, DEV_USER_ALREADY_EXISTS);
    return false;
}

void dev_create_user(struct dev_request *r)
{
    cJSON *body = dev_body(r);
    const char *name, *password;
    bool active = true;
    struct dev_permissions permissions = {0};
    if (body && dev_member_string(r, body, "username", true, &name) &&
        dev_member_string(r, body, "password", true, &password) && read_status(r, body, true, &active)) {
        if (!dev_permissions_parse(cJSON_GetObjectItemCaseSensitive(body, "permissions"), &permissions)) {
            bad_body(r, "permissions");
        } else if (name_valid(r, name) && password_usable(r, password) &&
                   dev_allowed(r, dev_need_manage_users, NULL, NULL) && name_free(r, name, NULL)) {
            struct dev_user *u = dev_user_create(&r->server->users, name, password, active);
            if (u) {
                u->permissions = permissions;
                permissions = (struct dev_permissions){0};
                append_user(dev_reply_json(r, 200), r, u, true);
            } else {
                dev_reply_error(r, DEV_SERVER_BUSY);
            }
        }
    }
    dev_permissions_fini(&permissions);
    cJSON_Delete(body);
}

void dev_get_user(struct dev_request *r)
{
    if (!dev_identifier_valid(r, r->args[0]))
        return;
    struct dev_user *u = named_user(r);
    bool hidden = u || r->server->store.personality != DEV_0_8; /* 0.8 says 404 even without the right */
    if (hidden && u != r->user && !dev_allowed(r, dev_need_read_users, NULL, NULL))
        return;
    if (u)
        append_user(dev_reply_json(r, 200), r, u, true);
    else
        dev_reply_error(r, DEV_NOT_FOUND);
}

/* The user to change, or NULL after an answer. */
static struct dev_user *user_to_change(struct dev_request *r, bool own_allowed)
{
    if (!dev_identifier_valid(r, r->args[0]))
        return NULL;
    struct dev_user *u = named_user(r);
    if (!(own_allowed && u == r->user) && !dev_allowed(r, dev_need_manage_users, NULL, NULL))
        return NULL;
    if (!u)
        dev_reply_error(r, DEV_RESOURCE_NOT_FOUND);
    return u;
}

void dev_update_user(struct dev_request *r)
{
    cJSON *body = dev_body(r);
    const char *name = NULL;
    struct dev_user *u = body ? user_to_change(r, false) : NULL;
    if (u) {
        bool active = u->active;
        if (dev_member_string(r, body, "username", false, &name) && read_status(r, body, false, &active) &&
            (!name || (name_valid(r, name) && name_free(r, name, u) && dev_set_name(&u->name, name)))) {
            u->active = active;
            r->server->store.dirty = true;
            dev_reply_empty(r, 204);
        }
    }
    cJSON_Delete(body);
}

void dev_change_password(struct dev_request *r)
{
    cJSON *body = dev_body(r);
    const char *current, *new_password;
    if (body && dev_member_string(r, body, "current_password", true, &current) &&
        dev_member_string(r, body, "new_password", true, &new_password)) {
        struct dev_user *u = user_to_change(r, true);
        if (u && strcmp(u->password, current) != 0)
            dev_reply_error(r, DEV_INVALID_CREDENTIALS);
        else if (u && password_usable(r, new_password) && dev_set_name(&u->password, new_password)) {
            r->server->store.dirty = true;
            dev_reply_empty(r, 204);
        }
    }
    cJSON_Delete(body);
}

void dev_change_permissions(struct dev_request *r)
{
    cJSON *body = dev_body(r);
    struct dev_permissions permissions = {0};
    if (body && !dev_permissions_parse(cJSON_GetObjectItemCaseSensitive(body, "permissions"), &permissions)) {
        bad_body(r, "permissions");
    } else if (body) {
        struct dev_user *u = user_to_change(r, false);
        if (u && u->id == 0) {
            dev_reply_error(r, DEV_CANNOT_CHANGE_PERMISSIONS);
        } else if (u) {
            struct dev_permissions old = u->permissions;
            u->permissions = permissions;
            permissions = old;
            r->server->store.dirty = true;
            dev_reply_empty(r, 204);
        }
    }
    dev_permissions_fini(&permissions);
    cJSON_Delete(body);
}

void dev_delete_user(struct dev_request *r)
{
    struct dev_user *u = user_to_change(r, false);
    if (!u)
        return;
    if (u->id == 0) {
        dev_reply_error(r, DEV_CANNOT_DELETE_USER);
        return;
    }
    dev_user_delete(&r->server->users, u);
    r->user = NULL;
    dev_reply_empty(r, 204);
}
