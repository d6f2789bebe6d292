#include "auth/secret_hash.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <string.h>

bool mi_secret_hash_init(struct mi_secret_hash *h, const struct mi_clock *clock)
{
    uint8_t key[MI_SECRET_HASH_BYTES];
    char digest[] = "SHA256";
    OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                           OSSL_PARAM_construct_end()};
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    h->keyed = hmac ? EVP_MAC_CTX_new(hmac) : NULL;
    EVP_MAC_free(hmac);
    for (size_t i = 0; i < sizeof key; i += 8)
        mi_put_u64le(key + i, mi_random(clock));
    bool ok = h->keyed && EVP_MAC_init(h->keyed, key, sizeof key, params);
    explicit_bzero(key, sizeof key);
    return ok;
}

void mi_secret_hash_fini(struct mi_secret_hash *h)
{
    EVP_MAC_CTX_free(h->keyed);
    h->keyed = NULL;
}

static bool add(const struct mi_secret_hash *h, struct mi_span s)
{
    return s.len == 0 || EVP_MAC_update(h->keyed, s.data, s.len);
}

bool mi_secret_hash_pair(const struct mi_secret_hash *h, struct mi_span a, struct mi_span b,
                         uint8_t out[MI_SECRET_HASH_BYTES])
{
    uint8_t len[8];
    size_t written;
    mi_put_u64le(len, a.len);
    return EVP_MAC_init(h->keyed, NULL, 0, NULL) && EVP_MAC_update(h->keyed, len, sizeof len) && add(h, a) &&
           add(h, b) && EVP_MAC_final(h->keyed, out, &written, MI_SECRET_HASH_BYTES);
}
