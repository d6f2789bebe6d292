#include "support/iggy_admin.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

enum { MAX_BODY = 1 << 20 };

static size_t take(char *data, size_t size, size_t n, void *arg)
{
    return mi_buf_add(arg, data, size * n) ? size * n : 0;
}

static int request(uint16_t port, const char *token, const char *method, const char *path, const char *body,
                   struct mi_buf *answer)
{
    char url[1024], authorization[2048];
    long status = 0;
    CURL *curl = curl_easy_init();
    snprintf(url, sizeof url, "http://127.0.0.1:%u%s", port, path);
    snprintf(authorization, sizeof authorization, "Authorization: Bearer %s", token ? token : "");
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    if (token)
        headers = curl_slist_append(headers, authorization);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, 20000L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    if (body)
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
    if (curl_easy_perform(curl) == CURLE_OK)
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    mi_buf_add_byte(answer, 0);
    return (int)status;
}

/* What follows "name": in the text, up to a comma, brace or quote. */
static bool member(const char *text, const char *name, char *value, size_t size)
{
    char key[64];
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *at = text ? strstr(text, key) : NULL;
    if (!at)
        return false;
    at += strlen(key);
    at += *at == '"';
    snprintf(value, size, "%.*s", (int)strcspn(at, "\",}"), at);
    return true;
}

static bool log_in(uint16_t port, bool anew, char *token, size_t size)
{
    static uint16_t last_port;
    static char last[2000];
    struct mi_buf answer;
    mi_buf_init(&answer, MAX_BODY);
    if (anew || last_port != port) {
        last_port = 0;
        if (request(port, NULL, "POST", "/users/login", "{\"username\":\"iggy\",\"password\":\"iggy\"}",
                    &answer) == 200 &&
            member((char *)answer.data, "token", last, sizeof last))
            last_port = port;
    }
    mi_buf_fini(&answer);
    snprintf(token, size, "%s", last);
    return last_port == port;
}

static int ask(uint16_t port, const char *method, const char *path, const char *body, struct mi_buf *answer)
{
    char token[2000];
    char *json = body ? strdup(body) : NULL;
    for (char *c = json; c && *c; c++)
        *c = *c == '\'' ? '"' : *c;
    int status = 401;
    for (int login = 0; login < 2 && status == 401; login++) { /* again: the server was restarted since */
        mi_buf_reset(answer);
        status = log_in(port, login > 0, token, sizeof token)
                     ? request(port, token, method, path, json, answer)
                     : 0;
    }
    free(json);
    return status;
}

int mi_iggy_admin(uint16_t port, const char *method, const char *path, const char *body)
{
    struct mi_buf answer;
    mi_buf_init(&answer, MAX_BODY);
    int status = ask(port, method, path, body, &answer);
    if (status < 200 || status > 299)
        printf("%s %s: %d %.200s\n", method, path, status, answer.data ? (char *)answer.data : "");
    mi_buf_fini(&answer);
    return status;
}

long mi_iggy_admin_id(uint16_t port, const char *path)
{
    struct mi_buf answer;
    char value[32] = "";
    mi_buf_init(&answer, MAX_BODY);
    bool found = ask(port, "GET", path, NULL, &answer) == 200 &&
                 member((char *)answer.data, "id", value, sizeof value);
    mi_buf_fini(&answer);
    return found ? strtol(value, NULL, 10) : -1;
}

long mi_iggy_admin_stream(uint16_t port, const char *stream)
{
    char body[300], path[300];
    snprintf(body, sizeof body, "{'name':'%s'}", stream);
    snprintf(path, sizeof path, "/streams/%s", stream);
    return mi_iggy_admin(port, "POST", "/streams", body) / 100 == 2 ? mi_iggy_admin_id(port, path) : -1;
}

long mi_iggy_admin_topic(uint16_t port, const char *stream, const char *topic)
{
    char body[400], path[600];
    snprintf(body, sizeof body,
             "{'name':'%s','partitions_count':1,'compression_algorithm':'none','message_expiry':0,"
             "'max_topic_size':0}",
             topic);
    snprintf(path, sizeof path, "/streams/%s/topics", stream);
    if (mi_iggy_admin(port, "POST", path, body) / 100 != 2)
        return -1;
    snprintf(path, sizeof path, "/streams/%s/topics/%s", stream, topic);
    return mi_iggy_admin_id(port, path);
}

static void put_flags(struct mi_buf *out, const char *const *words, const char *given)
{
    for (; *words; words++)
        mi_buf_addf(out, "'%s':%s%s", *words, given && strcmp(given, *words) == 0 ? "true" : "false",
                    words[1] ? "," : "");
}

const char *mi_iggy_permissions(const char *global, long stream, const char *on_stream, long topic,
                                const char *on_topic)
{
    static const char *const globals[] = {"manage_servers",
                                          "read_servers",
                                          "manage_users",
                                          "read_users",
                                          "manage_streams",
                                          "read_streams",
                                          "manage_topics",
                                          "read_topics",
                                          "poll_messages",
                                          "send_messages",
                                          NULL};
    static const char *const streams[] = {
        "manage_stream", "read_stream", "manage_topics", "read_topics", "poll_messages",
        "send_messages", NULL};
    static const char *const topics[] = {"manage_topic", "read_topic", "poll_messages", "send_messages",
                                         NULL};
    static struct mi_buf out = {.max = MAX_BODY};
    mi_buf_reset(&out);
    mi_buf_add_text(&out, "{'global':{");
    put_flags(&out, globals, global);
    if (stream < 0) {
        mi_buf_add_text(&out, "},'streams':null}");
    } else {
        mi_buf_addf(&out, "},'streams':{'%ld':{", stream);
        put_flags(&out, streams, on_stream);
        if (topic < 0) {
            mi_buf_add_text(&out, ",'topics':null}}}");
        } else {
            mi_buf_addf(&out, ",'topics':{'%ld':{", topic);
            put_flags(&out, topics, on_topic);
            mi_buf_add_text(&out, "}}}}}");
        }
    }
    mi_buf_add_byte(&out, 0);
    return (const char *)out.data;
}

bool mi_iggy_admin_user(uint16_t port, const char *name, const char *permissions)
{
    char body[4000];
    snprintf(body, sizeof body, "{'username':'%s','password':'secret','status':'active','permissions':%s}",
             name, permissions);
    return mi_iggy_admin(port, "POST", "/users", body) / 100 == 2;
}

bool mi_iggy_admin_permit(uint16_t port, const char *name, const char *permissions)
{
    char body[4000], path[300];
    snprintf(body, sizeof body, "{'permissions':%s}", permissions);
    snprintf(path, sizeof path, "/users/%s/permissions", name);
    return mi_iggy_admin(port, "PUT", path, body) / 100 == 2;
}
