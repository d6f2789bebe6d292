/*
 * users: accounts, personal access tokens, and the sessions that logins make.
 *
 * Sessions die with the process, or with "kill"; tokens of the other kind survive. Passwords are kept as they
 * are: this is a server for tests.
 */
#ifndef DEV_USERS_H
#define DEV_USERS_H

#include <stdbool.h>
#include <stdint.h>

#include "permissions.h"
#include "slab.h"

enum { DEV_MAX_UNANSWERED = 32, DEV_MAX_ACCESS_TOKENS = 100, DEV_TOKEN_SIZE = 80 };

struct dev_access_token {
    char *name;
    char token[DEV_TOKEN_SIZE];
    uint64_t expiry; /* microseconds since 1970; 0: never */
};

struct dev_user {
    uint32_t id;
    uint64_t created_at;
    char *name;
    char *password;
    bool active;
    struct dev_permissions permissions;
    struct dev_access_token **tokens;
    size_t token_count;
};

struct dev_session {
    char token[DEV_TOKEN_SIZE];
    uint32_t user_id;
    uint64_t expiry; /* seconds since 1970 */
    uint32_t unanswered_writes;
    bool of_access_token; /* not made by a login: only counts for a token that is used as bearer */
    bool revoked;
    struct dev_session *next;
};

struct dev_users {
    struct dev_slab users; /* struct dev_user */
    struct dev_session *sessions;
    uint64_t token_lifetime_s; /* of new sessions; 3600 */
    bool *dirty;
};

struct dev_user *dev_user_create(struct dev_users *users, const char *name, const char *password,
                                 bool active);
void dev_user_delete(struct dev_users *users, struct dev_user *user);
/* By id or name, as in a path. */
struct dev_user *dev_user_find(const struct dev_users *users, const char *identifier);
struct dev_user *dev_user_named(const struct dev_users *users, const char *name);

struct dev_session *dev_session_create(struct dev_users *users, const struct dev_user *user);
/* Finds the live session of a token. */
struct dev_session *dev_session_find(const struct dev_users *users, const char *token);
/* Finds or makes the session that stands for an access token as bearer. */
struct dev_session *dev_session_of_access_token(struct dev_users *users, const char *token,
                                                const struct dev_user *user);
void dev_sessions_forget(struct dev_users *users);

struct dev_access_token *dev_access_token_create(struct dev_users *users, struct dev_user *user,
                                                 const char *name, uint64_t lifetime_us);
struct dev_access_token *dev_access_token_named(const struct dev_user *user, const char *name);
bool dev_access_token_delete(struct dev_users *users, struct dev_user *user, const char *name);
/* Finds a token that has not expired, and its user. */
struct dev_access_token *dev_access_token_find(const struct dev_users *users, const char *token,
                                               struct dev_user **user);
/* Adds a token that state.h read back. */
struct dev_access_token *dev_access_token_add(struct dev_user *user, const char *name, const char *token,
                                              uint64_t expiry);
void dev_users_free(struct dev_users *users);

#endif
