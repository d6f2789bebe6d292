#include "support/accounts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "iggy_client.h"
#include "support/process.h"

enum { ANSWER_MS = 10000 };

struct answer {
    bool came;
    enum iggy_kind kind;
    char text[512];
};

static struct iggy_span span(const char *text)
{
    return (struct iggy_span){(const uint8_t *)text, strlen(text)};
}

static struct iggy_client *client_of(uint16_t port, const char *username, const char *password)
{
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%u", port);
    const char *urls[] = {url};
    struct iggy_options o = {.urls = urls, .url_count = 1, .username = username, .password = password};
    return iggy_client_new(&o, NULL, 0);
}

static void done(void *arg, const struct iggy_result *result)
{
    struct answer *a = arg;
    a->came = true;
    a->kind = result->kind;
    snprintf(a->text, sizeof a->text, "%s", result->text);
}

static void token_done(void *arg, const struct iggy_result *result, const char *token)
{
    struct answer *a = arg;
    done(arg, result);
    if (result->kind == IGGY_OK)
        snprintf(a->text, sizeof a->text, "%s", token);
}

static bool finish(struct iggy_client *c, struct answer *a)
{
    for (uint64_t end = mi_monotonic_ms() + ANSWER_MS; !a->came && mi_monotonic_ms() < end;)
        iggy_client_drive(c, 100, NULL, 0);
    iggy_client_free(c);
    if (a->came && a->kind == IGGY_OK)
        return true;
    fprintf(stderr, "account: %s\n", a->came ? a->text : "no answer");
    return false;
}

bool mi_account_create(uint16_t port, const char *username, const char *password, const char *permissions)
{
    struct answer a = {0};
    char *json = strdup(permissions ? permissions : "");
    for (char *at = json; at && (at = strchr(at, '\'')) != NULL;)
        *at = '"';
    struct iggy_client *c = client_of(port, "iggy", "iggy");
    iggy_create_user(c, username, password, true, span(json), done, &a);
    bool ok = finish(c, &a);
    free(json);
    return ok;
}

bool mi_account_delete(uint16_t port, const char *username)
{
    struct answer a = {0};
    struct iggy_client *c = client_of(port, "iggy", "iggy");
    iggy_delete_user(c, span(username), done, &a);
    return finish(c, &a);
}

bool mi_account_token(uint16_t port, const char *username, const char *password, char *token, size_t size)
{
    struct answer a = {0};
    struct iggy_client *c = client_of(port, username, password);
    iggy_create_token(c, "test", 0, token_done, &a);
    bool ok = finish(c, &a);
    snprintf(token, size, "%s", ok ? a.text : "");
    return ok;
}
