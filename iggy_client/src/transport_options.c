#include "transport_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONNECT_TIMEOUT_MS 5000u
#define REQUEST_TIMEOUT_MS 35000u
#define MAX_CONNECTIONS 24u
#define MAX_URL 2048u

static bool check_url(const char *url, char *error, size_t error_size);
static char *copy_url(const char *url);
static bool copy_files(struct transport_options *own, const struct iggy_options *options, char *error,
                       size_t error_size);

struct transport_options *transport_options_new(const struct iggy_options *options, char *error,
                                                size_t error_size)
{
    if (options->url_count == 0) {
        snprintf(error, error_size, "no URL of an Iggy server is given");
        return NULL;
    }
    struct transport_options *own = calloc(1, sizeof *own);
    bool ok = own && (own->urls = calloc(options->url_count, sizeof *own->urls)) != NULL;
    if (!ok)
        snprintf(error, error_size, "out of memory");
    for (size_t i = 0; ok && i < options->url_count; i++) {
        ok = check_url(options->urls[i], error, error_size);
        if (ok && !(own->urls[own->url_count++] = copy_url(options->urls[i]))) {
            snprintf(error, error_size, "out of memory");
            ok = false;
        }
    }
    if (!ok || !copy_files(own, options, error, error_size)) {
        transport_options_free(own);
        return NULL;
    }
    own->connect_timeout_ms = options->connect_timeout_ms ? options->connect_timeout_ms : CONNECT_TIMEOUT_MS;
    own->request_timeout_ms = options->request_timeout_ms ? options->request_timeout_ms : REQUEST_TIMEOUT_MS;
    own->max_connections = options->max_connections ? options->max_connections : MAX_CONNECTIONS;
    return own;
}

static void free_files(struct transport_options *own)
{
    free(own->ca_file);
    free(own->cert_file);
    free(own->key_file);
}

bool transport_options_set_tls(struct transport_options *own, const char *ca_file, const char *cert_file,
                               const char *key_file, char *error, size_t error_size)
{
    struct iggy_options files = {
        .ca_file = ca_file, .client_cert_file = cert_file, .client_key_file = key_file};
    struct transport_options fresh = {0};
    bool ok = copy_files(&fresh, &files, error, error_size);
    free_files(ok ? own : &fresh);
    if (ok) {
        own->ca_file = fresh.ca_file;
        own->cert_file = fresh.cert_file;
        own->key_file = fresh.key_file;
    }
    return ok;
}

void transport_options_free(struct transport_options *own)
{
    if (!own)
        return;
    for (size_t i = 0; i < own->url_count; i++)
        free(own->urls[i]);
    free(own->urls);
    free_files(own);
    free(own);
}

/* The reason why a URL cannot be a base URL, NULL when it can. */
static const char *url_fault(CURLU *parsed, const char *url)
{
    char *part = NULL;
    if (strlen(url) > MAX_URL)
        return "it is too long";
    if (curl_url_set(parsed, CURLUPART_URL, url, 0) != CURLUE_OK)
        return "it is no URL; write http://host:port or https://host:port";
    if (curl_url_get(parsed, CURLUPART_USER, &part, 0) == CURLUE_OK) {
        curl_free(part);
        return "user and password do not belong into it";
    }
    if (curl_url_get(parsed, CURLUPART_QUERY, &part, 0) == CURLUE_OK ||
        curl_url_get(parsed, CURLUPART_FRAGMENT, &part, 0) == CURLUE_OK) {
        curl_free(part);
        return "it must end with the host, the port or a path";
    }
    bool usable = false;
    if (curl_url_get(parsed, CURLUPART_SCHEME, &part, 0) == CURLUE_OK) {
        usable = strcmp(part, "http") == 0 || strcmp(part, "https") == 0;
        curl_free(part);
    }
    return usable ? NULL : "it must begin with http:// or https://";
}

static bool check_url(const char *url, char *error, size_t error_size)
{
    CURLU *parsed = curl_url();
    const char *fault = !url ? "it is missing" : !parsed ? "out of memory" : url_fault(parsed, url);
    curl_url_cleanup(parsed);
    /* A URL with a password in it must not reach a log. */
    if (fault && url && !strchr(url, '@'))
        snprintf(error, error_size, "the URL \"%.200s\" cannot be used: %s", url, fault);
    else if (fault)
        snprintf(error, error_size, "the URL cannot be used: %s", fault);
    return fault == NULL;
}

static char *copy_url(const char *url)
{
    size_t len = strlen(url);
    while (len > 0 && url[len - 1] == '/')
        len--;
    return strndup(url, len);
}

/* ---- TLS files
 * ------------------------------------------------------------------------------------------------ */

/* What a PEM file holds. */
struct pem {
    bool certificate, key, locked;
};

static bool copy_pem(char **to, const char *path, const char *what, struct pem *pem, char *error,
                     size_t error_size);

/* Says why a file cannot serve as what it is given for. */
static bool refuse(char *error, size_t error_size, const char *what, const char *path, const char *why)
{
    snprintf(error, error_size, "the %s %.200s %s", what, path, why);
    return false;
}

static bool copy_files(struct transport_options *own, const struct iggy_options *options, char *error,
                       size_t error_size)
{
    static const char client_cert[] = "client certificate", client_key[] = "client key";
    const char *ca = options->ca_file, *cert = options->client_cert_file, *key = options->client_key_file;
    struct pem in_ca, in_cert, in_key;
    if (key && !cert)
        return refuse(error, error_size, client_key, key, "is given without a client certificate");
    if (!copy_pem(&own->ca_file, ca, "CA file", &in_ca, error, error_size) ||
        !copy_pem(&own->cert_file, cert, client_cert, &in_cert, error, error_size) ||
        !copy_pem(&own->key_file, key, client_key, &in_key, error, error_size))
        return false;
    if (ca && !in_ca.certificate)
        return refuse(error, error_size, "CA file", ca, "holds no certificate");
    if (cert && !in_cert.certificate)
        return refuse(error, error_size, client_cert, cert, "holds no certificate");
    if (cert && !key && !in_cert.key)
        return refuse(error, error_size, client_cert, cert, "holds no private key, and no key file is given");
    if (key && !in_key.key)
        return refuse(error, error_size, client_key, key, "holds no private key");
    if (key ? in_key.locked : cert && in_cert.locked)
        return refuse(error, error_size, client_key, key ? key : cert,
                      "is locked with a pass phrase: store it without one");
    return true;
}

static void note_line(struct pem *pem, const char *line)
{
    bool begin = strstr(line, "-----BEGIN ") != NULL;
    pem->certificate |= begin && strstr(line, " CERTIFICATE-----");
    pem->key |= begin && strstr(line, " PRIVATE KEY-----");
    pem->locked |= (begin && strstr(line, " ENCRYPTED PRIVATE KEY-----")) || strstr(line, "4,ENCRYPTED");
}

/* Read here once only to say early what is wrong; libcurl reads it again. */
static bool copy_pem(char **to, const char *path, const char *what, struct pem *pem, char *error,
                     size_t error_size)
{
    *pem = (struct pem){0};
    if (!path)
        return true;
    FILE *file = fopen(path, "re");
    char line[256];
    while (file && fgets(line, sizeof line, file))
        note_line(pem, line);
    bool failed = !file || ferror(file);
    if (failed)
        snprintf(error, error_size, "the %s %.200s cannot be read: %s", what, path, strerror(errno));
    explicit_bzero(line, sizeof line);
    if (file)
        fclose(file);
    if (failed)
        return false;
    if (!pem->certificate && !pem->key)
        return refuse(error, error_size, what, path, "holds no certificate or key as PEM");
    *to = strdup(path);
    if (!*to)
        snprintf(error, error_size, "out of memory");
    return *to != NULL;
}

bool transport_options_apply(const struct transport_options *own, CURL *easy)
{
    bool ok = curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
              curl_easy_setopt(easy, CURLOPT_PROXY, "") == CURLE_OK &&
              /* With a file of its own, the system's directory of CAs must not be trusted beside it; without
               * one, a NULL would take away the system's store. */
              (!own->ca_file || curl_easy_setopt(easy, CURLOPT_CAPATH, NULL) == CURLE_OK) &&
              (!own->ca_file || curl_easy_setopt(easy, CURLOPT_CAINFO, own->ca_file) == CURLE_OK) &&
              curl_easy_setopt(easy, CURLOPT_SSLCERT, own->cert_file) == CURLE_OK &&
              curl_easy_setopt(easy, CURLOPT_SSLKEY, own->key_file) == CURLE_OK;
    /* Never asks a terminal for a pass phrase. */
    curl_easy_setopt(easy, CURLOPT_KEYPASSWD, "");
    /* Each connection proves the server's certificate: a resumed session does not, and would outlive a CA
     * that was withdrawn. */
    curl_easy_setopt(easy, CURLOPT_SSL_SESSIONID_CACHE, 0L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, own->connect_timeout_ms);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, own->request_timeout_ms);
    return ok;
}
