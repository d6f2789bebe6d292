/*
 * secret_hash: what is remembered of a password instead of it: HMAC-SHA-256 with a key that is drawn anew in
 * each process and never leaves it. Who reads the memory can still guess one password at a time; what he
 * finds is worth nothing elsewhere. The same function spreads names and addresses over tables of a fixed
 * size, where nobody outside may know which ones share a place.
 *
 * One thread.
 */
#ifndef MI_SECRET_HASH_H
#define MI_SECRET_HASH_H

#include "base/bytes.h"
#include "base/clock.h"

enum { MI_SECRET_HASH_BYTES = 32 };

struct evp_mac_ctx_st;

struct mi_secret_hash {
    struct evp_mac_ctx_st *keyed; /* ready to be used again: keying it anew takes four times as long */
};

/* Draws the key from the clock's random bits; false when OpenSSL or memory fails. */
bool mi_secret_hash_init(struct mi_secret_hash *h, const struct mi_clock *clock);
/* Wipes the key. */
void mi_secret_hash_fini(struct mi_secret_hash *h);
/* The hash of the pair: ("ab", "c") and ("a", "bc") have different ones. False when OpenSSL fails. */
bool mi_secret_hash_pair(const struct mi_secret_hash *h, struct mi_span a, struct mi_span b,
                         uint8_t out[MI_SECRET_HASH_BYTES]);

#endif
