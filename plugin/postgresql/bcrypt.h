/*
 * bcrypt: is that the password of this hash? Slow by design (0.1 s at cost 11): for a worker. Any thread.
 */
#ifndef MI_BCRYPT_H
#define MI_BCRYPT_H

#include <stdbool.h>

/* More than this would keep the worker busy for seconds: such a hash fits no password. */
enum { MI_BCRYPT_MAX_COST = 15, MI_BCRYPT_MAX_PASSWORD = 72 };

/* A hash as bcrypt writes them: $2a$, $2b$ or $2y$, a cost from 4 to MI_BCRYPT_MAX_COST, salt and hash. */
bool mi_bcrypt_usable(const char *hash);
/* False too when the hash is not usable, the password is longer than bcrypt looks at, or memory is out. */
bool mi_bcrypt_verify(const char *password, const char *hash);
/* Takes as long as a real one does, and fits nothing: so that a stranger cannot tell by the time who exists.
 */
void mi_bcrypt_pretend(const char *password);

#endif
