/*
 * users: accounts in a slab, sessions in a list.
 */
#include "users.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base64.h"
#include "store.h"

static void random_token(const char *prefix, size_t bytes, char token[DEV_TOKEN_SIZE]);
static void user_free(struct dev_user *user);

struct dev_user *dev_user_create(struct dev_users *users, const char *name, const char *password, bool active)
{
    struct dev_user *u = calloc(1, sizeof *u);
    if (!u || !dev_set_name(&u->name, name) || !dev_set_name(&u->password, password) ||
        !dev_slab_add(&users->users, u, false, &u->id)) {
        if (u)
            user_free(u);
        return NULL;
    }
    u->created_at = dev_now_us();
    u->active = active;
    *users->dirty = true;
    return u;
}

void dev_user_delete(struct dev_users *users, struct dev_user *user)
{
    dev_slab_remove(&users->users, user->id);
    user_free(user);
    *users->dirty = true;
}

static void user_free(struct dev_user *user)
{
    for (size_t i = 0; i < user->token_count; i++) {
        free(user->tokens[i]->name);
        free(user->tokens[i]);
    }
    free(user->tokens);
    dev_permissions_fini(&user->permissions);
    free(user->name);
    free(user->password);
    free(user);
}

struct dev_user *dev_user_find(const struct dev_users *users, const char *identifier)
{
    uint32_t id;
    return dev_numeric_id(identifier, &id) ? dev_slab_get(&users->users, id)
                                           : dev_user_named(users, identifier);
}

struct dev_user *dev_user_named(const struct dev_users *users, const char *name)
{
    struct dev_user *u;
    for (uint32_t i = 0; (u = dev_slab_next(&users->users, &i)); i++)
        if (strcmp(u->name, name) == 0)
            return u;
    return NULL;
}

/* base64 of random bytes behind a prefix that tells a reader of a log what it is. */
static void random_token(const char *prefix, size_t bytes, char token[DEV_TOKEN_SIZE])
{
    uint8_t random[56];
    for (size_t i = 0; i < sizeof random; i += 8)
        mi_put_u64le(random + i, mi_random(&mi_clock_system));
    struct mi_buf text;
    mi_buf_init(&text, DEV_TOKEN_SIZE);
    dev_base64_append(&text, random, bytes);
    snprintf(token, DEV_TOKEN_SIZE, "%s%.*s", prefix, (int)text.len, (const char *)text.data);
    mi_buf_fini(&text);
}

struct dev_session *dev_session_create(struct dev_users *users, const struct dev_user *user)
{
    struct dev_session *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    random_token("eyJ", 36, s->token);
    s->user_id = user->id;
    s->expiry = dev_now_us() / 1000000 + users->token_lifetime_s;
    s->next = users->sessions;
    users->sessions = s;
    return s;
}

struct dev_session *dev_session_find(const struct dev_users *users, const char *token)
{
    for (struct dev_session *s = users->sessions; s; s = s->next)
        if (!s->of_access_token && strcmp(s->token, token) == 0)
            return s->revoked || s->expiry <= dev_now_us() / 1000000 ? NULL : s;
    return NULL;
}

struct dev_session *dev_session_of_access_token(struct dev_users *users, const char *token,
                                                const struct dev_user *user)
{
    for (struct dev_session *s = users->sessions; s; s = s->next)
        if (s->of_access_token && strcmp(s->token, token) == 0)
            return s;
    struct dev_session *s = dev_session_create(users, user);
    if (s) {
        s->of_access_token = true;
        snprintf(s->token, sizeof s->token, "%s", token);
    }
    return s;
}

/* Requests under way may still point at their session: it is taken out of use here and freed at the end. */
void dev_sessions_forget(struct dev_users *users)
{
    for (struct dev_session *s = users->sessions; s; s = s->next)
        s->revoked = true;
}

struct dev_access_token *dev_access_token_create(struct dev_users *users, struct dev_user *user,
                                                 const char *name, uint64_t lifetime_us)
{
    char token[DEV_TOKEN_SIZE];
    random_token("", 50, token);
    bool for_ever = lifetime_us == 0 || lifetime_us == UINT64_MAX;
    *users->dirty = true;
    return dev_access_token_add(user, name, token, for_ever ? 0 : dev_now_us() + lifetime_us);
}

struct dev_access_token *dev_access_token_add(struct dev_user *user, const char *name, const char *token,
                                              uint64_t expiry)
{
    struct dev_access_token **grown = realloc(user->tokens, (user->token_count + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    user->tokens = grown;
    struct dev_access_token *t = calloc(1, sizeof *t);
    if (!t || !dev_set_name(&t->name, name)) {
        free(t);
        return NULL;
    }
    snprintf(t->token, sizeof t->token, "%s", token);
    t->expiry = expiry;
    user->tokens[user->token_count++] = t;
    return t;
}

struct dev_access_token *dev_access_token_named(const struct dev_user *user, const char *name)
{
    for (size_t i = 0; i < user->token_count; i++)
        if (strcmp(user->tokens[i]->name, name) == 0)
            return user->tokens[i];
    return NULL;
}

bool dev_access_token_delete(struct dev_users *users, struct dev_user *user, const char *name)
{
    for (size_t i = 0; i < user->token_count; i++)
        if (strcmp(user->tokens[i]->name, name) == 0) {
            free(user->tokens[i]->name);
            free(user->tokens[i]);
            user->tokens[i] = user->tokens[--user->token_count];
            *users->dirty = true;
            return true;
        }
    return false;
}

struct dev_access_token *dev_access_token_find(const struct dev_users *users, const char *token,
                                               struct dev_user **user)
{
    struct dev_user *u;
    for (uint32_t i = 0; (u = dev_slab_next(&users->users, &i)); i++)
        for (size_t k = 0; k < u->token_count; k++)
            if (strcmp(u->tokens[k]->token, token) == 0) {
                *user = u;
                return u->tokens[k]->expiry && u->tokens[k]->expiry <= dev_now_us() ? NULL : u->tokens[k];
            }
    return NULL;
}

void dev_users_free(struct dev_users *users)
{
    struct dev_user *u;
    for (uint32_t i = 0; (u = dev_slab_next(&users->users, &i)); i++)
        user_free(u);
    dev_slab_fini(&users->users);
    while (users->sessions) {
        struct dev_session *s = users->sessions;
        users->sessions = s->next;
        free(s);
    }
}
