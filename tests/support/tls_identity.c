/* tls_identity: certificates for tls_front, on P-256. */
#include "support/tls_front.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/tls_identity.h"

static void extend(struct identity *identity, const struct identity *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer->cert, identity->cert, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    if (!extension || !X509_add_ext(identity->cert, extension, -1))
        abort();
    X509_EXTENSION_free(extension);
}

static void describe(struct identity *identity, enum identity_use use, const char *names,
                     const struct identity *issuer)
{
    static const char *const common_names[] = {"test CA", "test server", "test client"};
    static long serial = 1000;
    char name[64];
    snprintf(name, sizeof name, "%s %ld", common_names[use], ++serial);
    X509_set_version(identity->cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(identity->cert), serial);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(identity->cert), "CN", MBSTRING_UTF8,
                               (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(identity->cert, X509_get_subject_name(issuer->cert));
    X509_set_pubkey(identity->cert, identity->key);
    extend(identity, issuer, NID_subject_key_identifier, "hash");
    if (use == IDENTITY_CA) {
        extend(identity, issuer, NID_basic_constraints, "critical,CA:TRUE");
        extend(identity, issuer, NID_key_usage, "critical,keyCertSign,cRLSign");
    } else {
        extend(identity, issuer, NID_authority_key_identifier, "keyid");
        extend(identity, issuer, NID_ext_key_usage, use == IDENTITY_SERVER ? "serverAuth" : "clientAuth");
    }
    if (names)
        extend(identity, issuer, NID_subject_alt_name, names);
}

struct identity *identity_new(enum identity_use use, const char *names, int days,
                              const struct identity *issuer)
{
    struct identity *identity = calloc(1, sizeof *identity);
    if (!identity || !(identity->key = EVP_EC_gen("P-256")) || !(identity->cert = X509_new()))
        abort();
    long end = days * 86400L;
    X509_gmtime_adj(X509_getm_notBefore(identity->cert), end < 0 ? end - 86400 : -86400);
    X509_gmtime_adj(X509_getm_notAfter(identity->cert), end);
    describe(identity, use, names, issuer ? issuer : identity);
    if (!X509_sign(identity->cert, issuer ? issuer->key : identity->key, EVP_sha256()))
        abort();
    return identity;
}

void identity_free(struct identity *identity)
{
    X509_free(identity->cert);
    EVP_PKEY_free(identity->key);
    free(identity);
}

void identity_write_cert(const struct identity *identity, const char *path)
{
    FILE *file = fopen(path, "we");
    if (!file || !PEM_write_X509(file, identity->cert) || fclose(file) != 0)
        abort();
}

void identity_write_key(const struct identity *identity, const char *path)
{
    FILE *file = fopen(path, "we");
    if (!file || !PEM_write_PrivateKey(file, identity->key, NULL, NULL, 0, NULL, NULL) || fclose(file) != 0)
        abort();
}

void identity_write_locked_key(const struct identity *identity, const char *path)
{
    static char phrase[] = "open sesame";
    FILE *file = fopen(path, "we");
    if (!file ||
        !PEM_write_PrivateKey(file, identity->key, EVP_aes_128_cbc(), (unsigned char *)phrase,
                              sizeof phrase - 1, NULL, NULL) ||
        fclose(file) != 0)
        abort();
}
