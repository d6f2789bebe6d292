/* tls_identity: what tls_front and tls_identity share. */
#ifndef MI_TLS_IDENTITY_H
#define MI_TLS_IDENTITY_H

#include <openssl/x509.h>

struct identity {
    X509 *cert;
    EVP_PKEY *key;
};

#endif
