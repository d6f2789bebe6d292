/*
 * limits: how often one user, and one address, may be asked about at the back end. Pure.
 *
 * Token buckets in two tables of a fixed size; a user's or an address's place is a keyed hash, so nobody can
 * choose whom to share one with, nothing is ever evicted, and a flood of names costs no memory. Who shares a
 * place by chance shares its bucket.
 *
 * Only wrong tries count in the end: a token is taken when the back end is asked and given back when the
 * login was right or nobody could be asked. So a fleet behind one address is not held back by being many.
 *
 * A stranger can empty the bucket of a user whose name he knows. He does not lock the user out by that: who
 * gives credentials that were right before (they are still in the cache, however old) takes from the
 * address's bucket only. What stays is that this user cannot log in with a new password, or from a broker
 * that has just started, as long as the stranger goes on; the bucket fills by the minute when he stops.
 */
#ifndef MI_LOGIN_LIMITS_H
#define MI_LOGIN_LIMITS_H

#include "auth/secret_hash.h"

struct mi_login_limits;

/* Tries a minute; 0: no bound. At once may come a sixth of that, at least ten. */
struct mi_login_limits *mi_login_limits_new(uint32_t per_user, uint32_t per_address,
                                            const struct mi_secret_hash *hash);
void mi_login_limits_free(struct mi_login_limits *l);
void mi_login_limits_set(struct mi_login_limits *l, uint32_t per_user, uint32_t per_address);

/* Takes one try; false when there is none left (nothing is taken then). known: these credentials were right
 * before. An empty user or address has no bucket. */
bool mi_login_limits_take(struct mi_login_limits *l, struct mi_span user, struct mi_span address, bool known,
                          uint64_t now_ns);
/* It was no wrong try. The same arguments as when it was taken. */
void mi_login_limits_give_back(struct mi_login_limits *l, struct mi_span user, struct mi_span address,
                               bool known);

#endif
