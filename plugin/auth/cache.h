/*
 * cache: logins that were answered before, by the hash of user and password (secret_hash.h).
 *
 * Right ones and refused ones are kept apart, each in a bounded table whose least recently used entry goes
 * first: a flood of wrong passwords pushes out other wrong passwords, never a right one. Errors are never
 * kept. What an entry's age means is its reader's business: a right one stays until it is pushed out, refused
 * or forgotten, so that it can still count while nobody can be asked. Main thread.
 */
#ifndef MI_LOGIN_CACHE_H
#define MI_LOGIN_CACHE_H

#include "auth/secret_hash.h"

enum { MI_MAX_OWNER = 255 };

enum mi_cached { MI_CACHED_NOT, MI_CACHED_RIGHT, MI_CACHED_REFUSED };

struct mi_cached_login {
    enum mi_cached kind;
    uint64_t age_ns; /* since it was answered */
    bool outdated;   /* mi_login_cache_outdate was called since */
    const char
        *owner; /* whose token it is, where the client gave no user name, else ""; until the next put */
};

struct mi_login_cache;

/* entries: of each kind, at least 1. NULL when memory is out. */
struct mi_login_cache *mi_login_cache_new(size_t entries);
void mi_login_cache_free(struct mi_login_cache *c);

/* Looks, and counts as a use of what it finds. */
struct mi_cached_login mi_login_cache_look(struct mi_login_cache *c, const uint8_t hash[MI_SECRET_HASH_BYTES],
                                           uint64_t now_ns);
/* Keeps an answer; the other answer that there was for the same hash goes. owner may be "". */
void mi_login_cache_put(struct mi_login_cache *c, const uint8_t hash[MI_SECRET_HASH_BYTES], bool right,
                        const char *owner, uint64_t now_ns);
/* After a reload: refused ones are forgotten, right ones are marked. */
void mi_login_cache_outdate(struct mi_login_cache *c);
size_t mi_login_cache_count(const struct mi_login_cache *c, enum mi_cached kind);

#endif
