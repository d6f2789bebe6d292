/* access: who may see the pages: tokens, TLS, client certificates, and others of them after a reload. Asked
 * with libcurl, driven in turn with the listener by this one thread. */
#include "status/listener.h"
#include "support/process.h"
#include "support/suite.h"
#include "support/tls_front.h"

#include <curl/curl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE_MS = 20000 };
#define TOKEN "0123456789abcdef-token"

static struct {
    char folder[200];
    struct identity *ca, *server, *client, *other_ca, *stranger, *other_server;
} tls;

static char path[300];
static const char *file(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", tls.folder, name);
    return path;
}

static void write_identity(const struct identity *identity, const char *cert, const char *key)
{
    identity_write_cert(identity, file(cert));
    identity_write_key(identity, file(key));
}

static void make_identities(void)
{
    if (!mi_temp_dir(tls.folder, sizeof tls.folder))
        abort();
    tls.ca = identity_new(IDENTITY_CA, NULL, 30, NULL);
    tls.other_ca = identity_new(IDENTITY_CA, NULL, 30, NULL);
    tls.server = identity_new(IDENTITY_SERVER, "IP:127.0.0.1", 30, tls.ca);
    tls.other_server = identity_new(IDENTITY_SERVER, "IP:127.0.0.1", 30, tls.other_ca);
    tls.client = identity_new(IDENTITY_CLIENT, NULL, 30, tls.ca);
    tls.stranger = identity_new(IDENTITY_CLIENT, NULL, 30, tls.other_ca);
    write_identity(tls.ca, "ca", "ca.key");
    write_identity(tls.other_ca, "other_ca", "other_ca.key");
    write_identity(tls.server, "server", "server.key");
    write_identity(tls.other_server, "other_server", "other_server.key");
    write_identity(tls.client, "client", "client.key");
    write_identity(tls.stranger, "stranger", "stranger.key");
}

static const char *text_of(const char *name)
{
    enum { TEXTS = 8, SIZE = 4096 };
    static char texts[TEXTS][SIZE];
    static unsigned next;
    char *text = texts[next++ % TEXTS];
    FILE *f = fopen(file(name), "re");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    text[fread(text, 1, SIZE - 1, f)] = '\0';
    fclose(f);
    return text;
}

/* ---- asking ---- */

static bool is_ready(void *context, const char **why)
{
    *why = "the reason";
    return context != NULL;
}

static bool give_status(void *context, struct mi_buf *json)
{
    (void)context;
    return mi_buf_add_text(json, "{}");
}

static struct mi_metrics *metrics;

static struct mi_listener *start_at(const char *address, const struct mi_listener_access *access,
                                    struct mi_error *err)
{
    struct mi_listener_options o = {
        .address = address, .access = *access, .metrics = metrics, .ready = is_ready, .status = give_status};
    return mi_listener_new(&o, err);
}

static struct mi_listener *start(const struct mi_listener_access *access)
{
    struct mi_error err = {""};
    struct mi_listener *l = start_at("127.0.0.1", access, &err);
    if (!l)
        printf("%s\n", err.text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(l);
    return l;
}

struct caller {
    const char *scheme;
    const char *header; /* or NULL */
    const char *ca, *cert, *key;
};

struct reply {
    long status; /* 0: no answer */
    char body[4096];
    size_t len;
};

static size_t keep(char *data, size_t size, size_t n, void *arg)
{
    struct reply *r = arg;
    size_t room = sizeof r->body - 1 - r->len, take = n * size < room ? n * size : room;
    memcpy(r->body + r->len, data, take);
    r->len += take;
    r->body[r->len] = '\0';
    return n * size;
}

static void drive(struct mi_listener *l, CURLM *multi)
{
    int running = 1;
    uint64_t end = mi_monotonic_ms() + PATIENCE_MS;
    while (running && mi_monotonic_ms() < end) {
        struct pollfd p = {.fd = mi_listener_fd(l), .events = POLLIN};
        if (poll(&p, 1, 2) > 0)
            mi_listener_run(l);
        curl_multi_perform(multi, &running);
    }
}

static CURL *new_call(struct mi_listener *l, const char *page, const struct caller *c, struct reply *r)
{
    char url[200];
    CURL *easy = curl_easy_init();
    snprintf(url, sizeof url, "%s://127.0.0.1:%u%s", c->scheme, mi_listener_port(l), page);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, keep);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, r);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    if (c->ca)
        curl_easy_setopt(easy, CURLOPT_CAINFO, file(c->ca));
    if (c->cert) {
        curl_easy_setopt(easy, CURLOPT_SSLCERT, file(c->cert));
        curl_easy_setopt(easy, CURLOPT_SSLKEY, file(c->key));
    }
    return easy;
}

static struct reply ask(struct mi_listener *l, const char *page, const struct caller *c)
{
    struct reply r = {0};
    CURLM *multi = curl_multi_init();
    CURL *easy = new_call(l, page, c, &r);
    struct curl_slist *headers = c->header ? curl_slist_append(NULL, c->header) : NULL;
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl_multi_add_handle(multi, easy);
    drive(l, multi);
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &r.status);
    curl_multi_remove_handle(multi, easy);
    curl_easy_cleanup(easy);
    curl_multi_cleanup(multi);
    curl_slist_free_all(headers);
    return r;
}

static long status_of(struct mi_listener *l, const char *page, const struct caller *c)
{
    return ask(l, page, c).status;
}

/* ---- tests ---- */

static void a_token_is_asked_for(void)
{
    static const char *const wrong[] = {
        "Authorization: Bearer",
        "Authorization: Bearer ",
        "Authorization: Bearer x",
        "Authorization: Bearer " TOKEN "x",
        "Authorization: Bearer 0123456789abcdef-toke",
        "Authorization: Bearer " TOKEN TOKEN,
        "Authorization: Basic " TOKEN,
        "Authorization: " TOKEN,
        "Cookie: " TOKEN,
        "Accept: */*",
    };
    struct mi_listener *l = start(&(struct mi_listener_access){.token = TOKEN});
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct caller c = {.scheme = "http", .header = wrong[i]};
        CU_ASSERT_EQUAL(status_of(l, "/metrics", &c), 401);
        CU_ASSERT_EQUAL(status_of(l, "/status.json", &c), 401);
        CU_ASSERT_EQUAL(status_of(l, "/nothing", &c), 401);
    }
    struct caller right = {.scheme = "http", .header = "Authorization: Bearer " TOKEN};
    CU_ASSERT_EQUAL(status_of(l, "/metrics", &right), 200);
    CU_ASSERT_EQUAL(status_of(l, "/status.json", &right), 200);
    CU_ASSERT_EQUAL(status_of(l, "/nothing", &right), 404);
    right.header = "authorization: bearer   " TOKEN;
    CU_ASSERT_EQUAL(status_of(l, "/metrics", &right), 200);
    mi_listener_free(l);
}

static void probes_get_a_status_without_details(void)
{
    struct mi_listener *l = start(&(struct mi_listener_access){.token = TOKEN});
    struct caller nobody = {.scheme = "http"},
                  right = {.scheme = "http", .header = "Authorization: Bearer " TOKEN};
    struct reply r = ask(l, "/ready", &nobody);
    CU_ASSERT_EQUAL(r.status, 503);
    CU_ASSERT_STRING_EQUAL(r.body, "not ready\n");
    r = ask(l, "/ready", &right);
    CU_ASSERT_EQUAL(r.status, 503);
    CU_ASSERT_STRING_EQUAL(r.body, "not ready: the reason\n");
    r = ask(l, "/health", &nobody);
    CU_ASSERT_EQUAL(r.status, 200);
    CU_ASSERT_STRING_EQUAL(r.body, "ok\n");
    mi_listener_free(l);
}

static struct mi_listener_access access_of(const char *server, const char *key, const char *client_ca)
{
    return (struct mi_listener_access){
        .cert = text_of(server), .key = text_of(key), .client_ca = client_ca ? text_of(client_ca) : NULL};
}

static void https_serves_a_certificate(void)
{
    struct mi_listener_access access = access_of("server", "server.key", NULL);
    struct mi_listener *l = start(&access);
    CU_ASSERT_EQUAL(status_of(l, "/metrics", &(struct caller){.scheme = "https", .ca = "ca"}), 200);
    CU_ASSERT_EQUAL(status_of(l, "/metrics", &(struct caller){.scheme = "https", .ca = "other_ca"}), 0);
    CU_ASSERT_EQUAL(status_of(l, "/metrics", &(struct caller){.scheme = "http"}), 0);
    CU_ASSERT_EQUAL(status_of(l, "/metrics", &(struct caller){.scheme = "https", .ca = "ca"}), 200);
    mi_listener_free(l);
}

static void a_client_certificate_is_asked_for(void)
{
    struct mi_listener_access access = access_of("server", "server.key", "ca");
    struct mi_listener *l = start(&access);
    CU_ASSERT_EQUAL(status_of(l, "/metrics", &(struct caller){"https", NULL, "ca", "client", "client.key"}),
                    200);
    CU_ASSERT_EQUAL(status_of(l, "/metrics", &(struct caller){.scheme = "https", .ca = "ca"}), 403);
    CU_ASSERT_EQUAL(status_of(l, "/status.json", &(struct caller){.scheme = "https", .ca = "ca"}), 403);
    CU_ASSERT_EQUAL(status_of(l, "/health", &(struct caller){.scheme = "https", .ca = "ca"}), 200);
    CU_ASSERT_EQUAL(
        status_of(l, "/metrics", &(struct caller){"https", NULL, "ca", "stranger", "stranger.key"}), 403);
    /* A server's certificate is none of a client, though the same CA signed it. */
    CU_ASSERT_EQUAL(status_of(l, "/metrics", &(struct caller){"https", NULL, "ca", "server", "server.key"}),
                    403);
    mi_listener_free(l);
}

static void with_both_both_are_asked_for(void)
{
    static const char bearer[] = "Authorization: Bearer " TOKEN;
    struct mi_listener_access access = access_of("server", "server.key", "ca");
    access.token = TOKEN;
    struct mi_listener *l = start(&access);
    struct caller c = {"https", bearer, "ca", "client", "client.key"};
    CU_ASSERT_EQUAL(status_of(l, "/metrics", &c), 200);
    c.header = NULL;
    CU_ASSERT_EQUAL(status_of(l, "/metrics", &c), 401);
    c = (struct caller){"https", bearer, "ca", NULL, NULL};
    CU_ASSERT_EQUAL(status_of(l, "/metrics", &c), 403);
    mi_listener_free(l);
}

static void renewed_access_counts_at_once(void)
{
    struct mi_listener_access access = {.token = TOKEN}, none = {0};
    struct mi_error err;
    struct mi_listener *l = start(&access);
    uint16_t port = mi_listener_port(l);
    access.token = "another-token-0123456789";
    CU_ASSERT_EQUAL(mi_listener_renew(l, &access, &err), 0);
    CU_ASSERT_EQUAL(mi_listener_port(l), port);
    CU_ASSERT_EQUAL(status_of(l, "/metrics",
                              &(struct caller){.scheme = "http", .header = "Authorization: Bearer " TOKEN}),
                    401);
    CU_ASSERT_EQUAL(status_of(l, "/metrics",
                              &(struct caller){.scheme = "http",
                                               .header = "Authorization: Bearer another-token-0123456789"}),
                    200);
    access = access_of("other_server", "other_server.key", NULL);
    CU_ASSERT_EQUAL(mi_listener_renew(l, &access, &err), 0);
    CU_ASSERT_EQUAL(status_of(l, "/metrics", &(struct caller){.scheme = "https", .ca = "ca"}), 0);
    CU_ASSERT_EQUAL(status_of(l, "/metrics", &(struct caller){.scheme = "https", .ca = "other_ca"}), 200);
    CU_ASSERT_EQUAL(mi_listener_renew(l, &none, &err), 0);
    CU_ASSERT_EQUAL(status_of(l, "/metrics", &(struct caller){.scheme = "http"}), 200);
    mi_listener_free(l);
}

static void unusable_certificates_change_nothing(void)
{
    struct mi_listener_access access = access_of("server", "server.key", NULL), bad;
    struct mi_error err;
    struct mi_listener *l = start(&access);
    bad = access_of("server", "client.key", NULL); /* another certificate's key */
    CU_ASSERT_EQUAL(mi_listener_renew(l, &bad, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "cannot be used"));
    bad = (struct mi_listener_access){.cert = "nonsense", .key = "nonsense"};
    CU_ASSERT_EQUAL(mi_listener_renew(l, &bad, &err), -1);
    bad = access_of("server", "server.key", NULL);
    bad.client_ca = "nonsense";
    CU_ASSERT_EQUAL(mi_listener_renew(l, &bad, &err), -1);
    CU_ASSERT_EQUAL(status_of(l, "/metrics", &(struct caller){.scheme = "https", .ca = "ca"}), 200);
    mi_listener_free(l);
    CU_ASSERT_PTR_NULL(start_at("127.0.0.1", &bad, &err));
}

static void other_addresses_than_loopback_need_somebody_to_ask(void)
{
    struct mi_listener_access none = {0}, token = {.token = TOKEN}, tls_only;
    struct mi_error err;
    CU_ASSERT_PTR_NULL(start_at("0.0.0.0", &none, &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "needs a token or client certificates"));
    CU_ASSERT_PTR_NULL(start_at("::", &none, &err));
    tls_only = access_of("server", "server.key", NULL);
    CU_ASSERT_PTR_NULL(start_at("0.0.0.0", &tls_only, &err));
    struct mi_listener *l = start_at("0.0.0.0", &token, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(l);
    CU_ASSERT_EQUAL(mi_listener_renew(l, &none, &err), -1);
    CU_ASSERT_EQUAL(status_of(l, "/metrics", &(struct caller){.scheme = "http"}), 401);
    mi_listener_free(l);
}

/* Two at a time, so that data that TLS holds back already decrypted is not forgotten. */
static void a_large_page_arrives_whole_over_tls(void)
{
    struct mi_listener_access access = access_of("server", "server.key", NULL);
    struct mi_listener *l = start(&access);
    for (uint32_t i = 0; i < 2000; i++)
        mi_metrics_route(metrics, 1000 + i, NULL);
    struct caller c = {.scheme = "https", .ca = "ca"};
    struct reply r[2] = {{0}};
    CURLM *multi = curl_multi_init();
    CURL *easy[2];
    curl_off_t bytes = 0;
    for (int i = 0; i < 2; i++)
        curl_multi_add_handle(multi, easy[i] = new_call(l, "/metrics", &c, &r[i]));
    drive(l, multi);
    for (int i = 0; i < 2; i++) {
        curl_easy_getinfo(easy[i], CURLINFO_RESPONSE_CODE, &r[i].status);
        curl_easy_getinfo(easy[i], CURLINFO_SIZE_DOWNLOAD_T, &bytes);
        CU_ASSERT_EQUAL(r[i].status, 200);
        CU_ASSERT_TRUE(bytes > 2000 * 20 * 40);
        curl_multi_remove_handle(multi, easy[i]);
        curl_easy_cleanup(easy[i]);
    }
    curl_multi_cleanup(multi);
    mi_listener_free(l);
}

static CU_TestInfo tests[] = {
    {"a token is asked for", a_token_is_asked_for},
    {"probes get a status without details", probes_get_a_status_without_details},
    {"https serves a certificate", https_serves_a_certificate},
    {"a client certificate is asked for", a_client_certificate_is_asked_for},
    {"with both, both are asked for", with_both_both_are_asked_for},
    {"renewed access counts at once", renewed_access_counts_at_once},
    {"unusable certificates change nothing", unusable_certificates_change_nothing},
    {"other addresses than loopback need somebody to ask",
     other_addresses_than_loopback_need_somebody_to_ask},
    {"a large page arrives whole over TLS", a_large_page_arrives_whole_over_tls},
    CU_TEST_INFO_NULL,
};

int main(int argc, char **argv)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
    metrics = mi_metrics_new();
    make_identities();
    int rc = mi_suite_run("status access", tests, argc, argv);
    mi_remove_tree(tls.folder);
    struct identity *all[] = {tls.client, tls.stranger, tls.server, tls.other_server, tls.ca, tls.other_ca};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        identity_free(all[i]);
    mi_metrics_free(metrics);
    curl_global_cleanup();
    return rc;
}
