/*
 * transport_options: what the caller chose for all exchanges, checked and copied: base URLs, TLS files, time
 * limits.
 */
#ifndef IGGY_TRANSPORT_OPTIONS_H
#define IGGY_TRANSPORT_OPTIONS_H

#include <curl/curl.h>

#include "iggy_client.h"

struct transport_options {
    char **urls; /* without a slash at the end */
    size_t url_count;
    char *ca_file, *cert_file, *key_file; /* NULL: not given */
    long connect_timeout_ms, request_timeout_ms;
    uint32_t max_connections;
};

/* NULL with a sentence in error when they cannot work. */
struct transport_options *transport_options_new(const struct iggy_options *options, char *error,
                                                size_t error_size);
void transport_options_free(struct transport_options *own);
/* Other TLS files. false with a sentence in error when they cannot work: then those before stay. */
bool transport_options_set_tls(struct transport_options *own, const char *ca_file, const char *cert_file,
                               const char *key_file, char *error, size_t error_size);
/* Sets on a handle all that does not depend on the single request. False when memory is out. */
bool transport_options_apply(const struct transport_options *own, CURL *easy);

#endif
