/* check: what concerns more than one key, and what the keys point at: secrets, certificates, names. */
#include "base/clock.h"
#include "config/build.h"
#include "config/files.h"
#include "mapping/names.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { MAX_PEM_BYTES = 1 << 20, MIN_STATUS_TOKEN = 16 };

static void check_name(struct mi_build *b);
static void check_urls(struct mi_build *b);
static void check_login(struct mi_build *b);
static void check_auth(struct mi_build *b);
static void check_tls(struct mi_build *b);
static void check_times(struct mi_build *b);
static void check_journal(struct mi_build *b);
static void check_dead_letter(struct mi_build *b);
static void check_status(struct mi_build *b);
static void check_iggy_name(struct mi_build *b, const char *where, const char *key, const char *name);

void mi_check(struct mi_build *b)
{
    /* A file that could not be read has said so; defaults would only add noise. */
    if (b->refused && b->file && !b->text)
        return;
    check_name(b);
    check_urls(b);
    check_login(b);
    check_auth(b);
    check_tls(b);
    check_times(b);
    check_journal(b);
    check_dead_letter(b);
    check_iggy_name(b, "client_events", "stream", b->config->events_stream);
    check_iggy_name(b, "client_events", "topic", b->config->events_topic);
    check_status(b);
    b->config->wake_signal = SIGRTMIN + (int)b->config->wake_signal_offset;
    mi_check_routes(b);
    mi_check_broker(b);
    mi_check_via(b);
}

static void check_name(struct mi_build *b)
{
    char host[256] = "";
    if (b->config->name)
        return;
    if (gethostname(host, sizeof host - 1) < 0 || !*host)
        snprintf(host, sizeof host, "mosquitto");
    b->config->name = mi_build_text(b, host, strlen(host));
}

/* NULL, or what is wrong with the URL. */
static const char *url_problem(const char *url)
{
    size_t scheme = strncmp(url, "http://", 7) == 0 ? 7 : strncmp(url, "https://", 8) == 0 ? 8 : 0;
    const char *host = url + scheme;
    size_t len = strcspn(host, "/?#");
    if (scheme == 0)
        return "must begin with http:// or https://";
    if (memchr(host, '@', len))
        return "holds a user or password: those go to username and password_file";
    if (len == 0 || *host == ':')
        return "names no host: write it as http://HOST:PORT";
    if (host[len] && strcmp(host + len, "/") != 0)
        return "has something behind host and port: write it as http://HOST:PORT";
    if (strpbrk(url, " \t\r\n\"<>\\"))
        return "holds a character that no URL has";
    return NULL;
}

static void check_urls(struct mi_build *b)
{
    const struct mi_option *o = mi_option_find(MI_AT_IGGY, "url");
    if (b->config->url_count == 0 && !b->given[mi_option_index(o)])
        mi_build_set(b, o, b->config, "iggy", o->fallback);
    for (size_t i = 0; i < b->config->url_count; i++) {
        const char *problem = url_problem(b->urls[i]);
        /* A password must not get into the log with the URL that it stands in. */
        if (problem && strchr(b->urls[i], '@'))
            mi_refuse(b, "iggy", "url", "%s", problem);
        else if (problem)
            mi_refuse(b, "iggy", "url", "\"%s\" %s", b->urls[i], problem);
    }
    const char **urls = mi_build_take(b, sizeof b->urls);
    if (urls)
        memcpy(urls, b->urls, sizeof b->urls);
    b->config->urls = (const char *const *)urls;
}

static const char *read_secret(struct mi_build *b, const char *where, const char *key, const char *path)
{
    struct mi_error err;
    struct mi_buf secret;
    const char *kept = NULL;
    mi_buf_init(&secret, MI_MAX_SECRET_BYTES + 8192);
    if (mi_file_read_secret(path, &secret, &err) < 0)
        mi_refuse(b, where, key, "%s", err.text);
    else
        kept = mi_build_text(b, (const char *)secret.data, secret.len);
    if (secret.data)
        explicit_bzero(secret.data, secret.cap);
    mi_buf_fini(&secret);
    return kept;
}

static void check_login(struct mi_build *b)
{
    struct mi_config *c = b->config;
    if (c->token_file && (c->username || c->password_file))
        mi_refuse(b, "iggy", "token_file", "contradicts username and password_file: keep one kind of login");
    else if (!c->token_file && !c->username && !c->password_file)
        mi_refuse(b, "iggy", b->file ? NULL : "username",
                  "nobody is named who logs in to Iggy: give username and password_file, or token_file");
    else if (c->username && !c->password_file)
        mi_refuse(b, "iggy", "username", "has no password: name its file in password_file");
    else if (c->password_file && !c->username)
        mi_refuse(b, "iggy", "password_file", "has no user: give username as well");
    if (c->password_file)
        c->password = read_secret(b, "iggy", "password_file", c->password_file);
    if (c->self_password_file)
        c->self_password = read_secret(b, "broker", "password_file", c->self_password_file);
    if (c->token_file)
        c->token = read_secret(b, "iggy", "token_file", c->token_file);
}

static void check_auth(struct mi_build *b)
{
    struct mi_auth_config *a = &b->config->auth;
    if (a->login == MI_LOGIN_FROM_POSTGRESQL && !a->connection_file)
        mi_refuse(b, "auth", "login", "\"postgresql\" needs connection_file: how to reach the database");
    if (a->authorize == MI_AUTHORIZE_BY_POSTGRESQL && a->login != MI_LOGIN_FROM_POSTGRESQL)
        mi_refuse(b, "auth", "authorize", "\"postgresql\" needs \"login\": \"postgresql\"");
    if (a->connection_file)
        a->connection = read_secret(b, "auth", "connection_file", a->connection_file);
}

static void check_pem(struct mi_build *b, const char *key, const char *path, bool private_key)
{
    struct mi_error err;
    if (path && mi_file_check(path, private_key, &err) < 0)
        mi_refuse(b, "iggy", key, "%s", err.text);
}

static void check_tls(struct mi_build *b)
{
    struct mi_config *c = b->config;
    bool https = false;
    for (size_t i = 0; i < c->url_count; i++)
        https = https || strncasecmp(b->urls[i], "https:", 6) == 0;
    check_pem(b, "ca_file", c->ca_file, false);
    check_pem(b, "client_cert_file", c->client_cert_file, false);
    check_pem(b, "client_key_file", c->client_key_file, true);
    if (c->client_cert_file && !c->client_key_file)
        mi_refuse(b, "iggy", "client_cert_file", "has no key: name its file in client_key_file");
    if (c->client_key_file && !c->client_cert_file)
        mi_refuse(b, "iggy", "client_key_file", "has no certificate: name its file in client_cert_file");
    if (!https && (c->ca_file || c->client_cert_file || c->client_key_file))
        mi_refuse(b, "iggy",
                  c->ca_file            ? "ca_file"
                  : c->client_cert_file ? "client_cert_file"
                                        : "client_key_file",
                  "no url begins with https://, so nothing would be encrypted: use https, or leave this out");
}

static void check_times(struct mi_build *b)
{
    struct mi_config *c = b->config;
    if (c->connect_timeout_ms > c->request_timeout_ms)
        mi_refuse(b, "iggy", "connect_timeout",
                  "%u ms is longer than request_timeout (%u ms), which includes it: make it shorter",
                  c->connect_timeout_ms, c->request_timeout_ms);
    if (c->request_timeout_ms <= 10000)
        mi_warn(b, "iggy", "request_timeout",
                "%u ms is not longer than the 10 s after which Iggy itself answers a produce: a slow "
                "server's messages "
                "will have to be looked up again; 35s is the default",
                c->request_timeout_ms);
    if (c->retry_min_ns > c->retry_max_ns)
        mi_refuse(b, "limits", "retry_min", "is longer than retry_max: make it shorter");
}

static void check_journal(struct mi_build *b)
{
    struct mi_config *c = b->config;
    if (c->journal_keep >= c->journal_max_size)
        mi_refuse(b, "journal", mi_is_given(b->given, MI_AT_JOURNAL, "keep") ? "keep" : "max_size",
                  "keep must be smaller than max_size, which includes it: nothing would be left for waiting "
                  "messages");
    if (c->journal_sync_always && mi_is_given(b->given, MI_AT_JOURNAL, "sync_interval"))
        mi_warn(b, "journal", "sync_interval", "has no effect with \"sync\": \"always\"");
}

static void check_iggy_name(struct mi_build *b, const char *where, const char *key, const char *name)
{
    if (!name)
        return;
    enum mi_name_fault fault = mi_name_check(mi_span_of(name));
    if (fault == MI_NAME_NUMBER)
        mi_refuse(b, where, key, "\"%s\" would be read as Iggy's numeric id: put a letter into the name",
                  name);
    else if (fault != MI_NAME_GOOD)
        mi_refuse(b, where, key, "is no name for Iggy: use 1 to %d bytes of UTF-8", MI_MAX_IGGY_NAME);
    else if (strpbrk(name, "{}"))
        mi_refuse(b, where, key, "\"%s\" is a template: here stands one constant stream and topic", name);
}

static void check_dead_letter(struct mi_build *b)
{
    struct mi_config *c = b->config;
    if (!c->dead_letter_stream != !c->dead_letter_topic)
        mi_refuse(b, "dead_letter", c->dead_letter_stream ? "stream" : "topic",
                  "stands alone: give both stream and topic, or neither for a file beside the journal");
    check_iggy_name(b, "dead_letter", "stream", c->dead_letter_stream);
    check_iggy_name(b, "dead_letter", "topic", c->dead_letter_topic);
}

/* ---- the status listener ---- */

static bool is_loopback(const char *host)
{
    struct in_addr four;
    struct in6_addr six;
    if (inet_pton(AF_INET, host, &four) == 1)
        return ntohl(four.s_addr) >> 24 == 127;
    return inet_pton(AF_INET6, host, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

static const char *read_pem(struct mi_build *b, const char *key, const char *path)
{
    struct mi_error err;
    struct mi_buf text;
    const char *kept = NULL;
    mi_buf_init(&text, MAX_PEM_BYTES + 8192);
    if (mi_file_read(path, MAX_PEM_BYTES, &text, &err) < 0)
        mi_refuse(b, "status", key, "%s", err.text);
    else
        kept = mi_build_text(b, (const char *)text.data, text.len);
    mi_buf_fini(&text);
    return kept;
}

/* A token is compared with a header's value: what no header can carry would never match. */
static void check_status_token(struct mi_build *b)
{
    struct mi_config *c = b->config;
    if (!c->status_token_file ||
        !(c->status_token = read_secret(b, "status", "token_file", c->status_token_file)))
        return;
    size_t len = strlen(c->status_token);
    for (size_t i = 0; i < len; i++)
        if (c->status_token[i] <= ' ' || c->status_token[i] > '~') {
            mi_refuse(b, "status", "token_file",
                      "%s holds something else than one line of visible ASCII characters: write the token, "
                      "such as 'openssl rand -hex 32' makes one, and nothing else into it",
                      c->status_token_file);
            return;
        }
    if (len < MIN_STATUS_TOKEN)
        mi_refuse(
            b, "status", "token_file",
            "the token is %zu characters long, which can be guessed: use at least %d, such as 'openssl rand "
            "-hex 32' makes them",
            len, MIN_STATUS_TOKEN);
}

static void check_status_tls(struct mi_build *b)
{
    struct mi_config *c = b->config;
    if (c->status_cert_file && !c->status_key_file)
        mi_refuse(b, "status", "cert_file", "has no key: name its file in key_file");
    if (c->status_key_file && !c->status_cert_file)
        mi_refuse(b, "status", "key_file", "has no certificate: name its file in cert_file");
    if (c->status_client_ca_file && !c->status_cert_file)
        mi_refuse(b, "status", "client_ca_file",
                  "client certificates need https: give cert_file and key_file as well");
    if (c->status_cert_file)
        c->status_cert = read_pem(b, "cert_file", c->status_cert_file);
    if (c->status_key_file)
        c->status_key = read_secret(b, "status", "key_file", c->status_key_file);
    if (c->status_client_ca_file)
        c->status_client_ca = read_pem(b, "client_ca_file", c->status_client_ca_file);
}

static void check_status(struct mi_build *b)
{
    struct mi_config *c = b->config;
    check_status_token(b);
    check_status_tls(b);
    if (!c->status_address || is_loopback(c->status_address))
        return;
    if (!c->status_token_file && !c->status_client_ca_file)
        mi_refuse(
            b, "status", "listen",
            "\"%s\" is not a loopback address, and nobody would be asked who he is: give token_file, or "
            "cert_file, key_file and client_ca_file, or listen on 127.0.0.1",
            c->status_address);
    else if (!c->status_cert_file)
        mi_warn(b, "status", "listen",
                "the token travels in the clear to \"%s\": give cert_file and key_file as well",
                c->status_address);
}
