#include "auth/secret_hash.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>

enum { ON_STACK = 512 };

void mi_secret_hash_init(struct mi_secret_hash *h, const struct mi_clock *clock)
{
    for (size_t i = 0; i < sizeof h->key; i += 8)
        mi_put_u64le(h->key + i, mi_random(clock));
}

void mi_secret_hash_fini(struct mi_secret_hash *h)
{
    explicit_bzero(h->key, sizeof h->key);
}

static void put(uint8_t **at, struct mi_span s)
{
    if (s.len)
        memcpy(*at, s.data, s.len);
    *at += s.len;
}

bool mi_secret_hash_pair(const struct mi_secret_hash *h, struct mi_span a, struct mi_span b,
                         uint8_t out[MI_SECRET_HASH_BYTES])
{
    uint8_t stack[ON_STACK], *at;
    size_t len = 8 + a.len + b.len;
    uint8_t *text = len <= sizeof stack ? stack : malloc(len);
    if (!text)
        return false;
    mi_put_u64le(text, a.len);
    at = text + 8;
    put(&at, a);
    put(&at, b);
    bool ok = HMAC(EVP_sha256(), h->key, sizeof h->key, text, len, out, NULL) != NULL;
    explicit_bzero(text, len);
    if (text != stack)
        free(text);
    return ok;
}
