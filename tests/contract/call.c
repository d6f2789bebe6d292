/*
 * call: a ring of replies, so that tests need not free anything.
 */
#include "call.h"

#include <ctype.h>
#include <curl/curl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "support/process.h"
#include "support/suite.h"
#include "target.h"

enum { RING = 32 };

static struct reply ring[RING];
static unsigned next_reply;
static CURL *curl;

static size_t take(char *data, size_t size, size_t n, void *arg)
{
    struct mi_buf *buf = arg;
    return mi_buf_add(buf, data, size * n) ? size * n : 0;
}

static struct reply *fresh_reply(void)
{
    struct reply *r = &ring[next_reply++ % RING];
    free(r->body);
    free(r->headers);
    cJSON_Delete(r->json);
    *r = (struct reply){0};
    return r;
}

static char *as_text(struct mi_buf *buf)
{
    mi_buf_add_byte(buf, 0);
    return (char *)buf->data;
}

static struct curl_slist *header_list(const char *content_type, const char *authorization)
{
    char line[4096];
    struct curl_slist *list = curl_slist_append(NULL, "Expect:");
    snprintf(line, sizeof line, content_type ? "Content-Type: %s" : "Content-Type:%s",
             content_type ? content_type : "");
    list = curl_slist_append(list, line);
    if (!authorization)
        return list;
    snprintf(line, sizeof line, "Authorization: %s", authorization);
    return curl_slist_append(list, line);
}

struct reply *call_raw(const char *method, const char *path, const char *body, size_t len,
                       const char *content_type, const char *authorization)
{
    struct reply *r = fresh_reply();
    struct mi_buf in, headers;
    char url[8192];
    mi_buf_init(&in, 64 << 20);
    mi_buf_init(&headers, 1 << 20);
    snprintf(url, sizeof url, "http://127.0.0.1:%u%s", target_port(), path);
    if (!curl)
        curl = curl_easy_init();
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, 40000L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    if (body) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
    }
    struct curl_slist *list = header_list(content_type, authorization);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &in);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &headers);
    if (curl_easy_perform(curl) == CURLE_OK)
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &r->status);
    curl_slist_free_all(list);
    r->len = in.len;
    r->body = as_text(&in);
    r->headers = as_text(&headers);
    for (char *c = r->headers; c && *c; c++)
        *c = (char)tolower((unsigned char)*c);
    r->json = cJSON_Parse(r->body);
    return r;
}

struct reply *call_as(const char *token, const char *method, const char *path, const char *body)
{
    char authorization[2100];
    snprintf(authorization, sizeof authorization, "Bearer %s", token ? token : "");
    return call_raw(method, path, body, body ? strlen(body) : 0, body ? "application/json" : NULL,
                    token ? authorization : NULL);
}

struct reply *call(const char *method, const char *path, const char *body)
{
    return call_as(target_token(), method, path, body);
}

struct reply *callf(const char *method, const char *body, const char *path_format, ...)
{
    char path[4096];
    va_list args;
    va_start(args, path_format);
    vsnprintf(path, sizeof path, path_format, args);
    va_end(args);
    return call(method, path, body);
}

void call_forget_connections(void)
{
    if (curl)
        curl_easy_cleanup(curl);
    curl = NULL;
}

double number_of(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItem(object, name);
    return cJSON_IsNumber(item) ? item->valuedouble : -1;
}

const char *text_of(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItem(object, name);
    return cJSON_IsString(item) ? item->valuestring : "";
}

int error_id(const struct reply *r)
{
    double id = number_of(r->json, "id");
    return text_of(r->json, "code")[0] && id > 0 ? (int)id : 0;
}

bool expect(struct reply *r, long status, int id)
{
    bool good = r->status == status && (id == 0 || error_id(r) == id);
    if (!good)
        fprintf(stderr, "\n    wanted %ld id %d, got %ld: %.300s\n", status, id, r->status,
                r->body ? r->body : "");
    CU_ASSERT_TRUE(good);
    return good;
}

bool expect_text(struct reply *r, long status)
{
    bool good = expect(r, status, 0);
    CU_ASSERT_PTR_NULL(r->json);
    return good && !r->json;
}

/* ---- streams, topics, messages ---- */

const char *fresh_stream(void)
{
    static char name[32], path[64], body[64];
    static unsigned number;
    if (number)
        call("DELETE", path, NULL);
    snprintf(name, sizeof name, "contract_%u", ++number);
    snprintf(path, sizeof path, "/streams/%s", name);
    snprintf(body, sizeof body, "{\"name\":\"%s\"}", name);
    expect(call("POST", "/streams", body), 200, 0);
    return name;
}

struct reply *create_topic(const char *stream, const char *topic, unsigned partitions, const char *options)
{
    char body[1024];
    snprintf(
        body, sizeof body,
        "{\"name\":\"%s\",\"partitions_count\":%u,\"compression_algorithm\":\"none\",\"message_expiry\":0,"
        "\"max_topic_size\":0%s%s}",
        topic, partitions, options ? ",\"options\":" : "", options ? options : "");
    return callf("POST", body, "/streams/%s/topics", stream);
}

bool make_topic(const char *stream, const char *topic, unsigned partitions)
{
    return expect(create_topic(stream, topic, partitions, NULL), 200, 0);
}

struct reply *produce(const char *stream, const char *topic, unsigned partition, const char *messages)
{
    struct mi_buf body;
    mi_buf_init(&body, 8 << 20);
    mi_buf_addf(&body, "{\"partitioning\":{\"kind\":\"partition_id\",\"value\":\"%s\"},\"messages\":",
                b64_u32(partition));
    mi_buf_add_text(&body, messages);
    mi_buf_add_text(&body, "}");
    mi_buf_add_byte(&body, 0);
    struct reply *r = callf("POST", (char *)body.data, "/streams/%s/topics/%s/messages", stream, topic);
    mi_buf_fini(&body);
    return r;
}

struct reply *produce_many(const char *stream, const char *topic, unsigned partition, unsigned count,
                           size_t size)
{
    struct mi_buf messages;
    char payload[2048];
    mi_buf_init(&messages, 8 << 20);
    for (unsigned i = 0; i < count; i++) {
        memset(payload, 'x', sizeof payload);
        snprintf(payload, sizeof payload, "p%u", i);
        payload[strlen(payload)] = ' ';
        mi_buf_addf(&messages, "%s{\"payload\":\"%s\"}", i ? "," : "[", b64(payload, size));
    }
    mi_buf_add_text(&messages, "]");
    mi_buf_add_byte(&messages, 0);
    struct reply *r = produce(stream, topic, partition, (char *)messages.data);
    mi_buf_fini(&messages);
    return r;
}

struct reply *poll_query(const char *stream, const char *topic, const char *query)
{
    for (unsigned tries = 0;; tries++) {
        struct reply *r = callf("GET", NULL, "/streams/%s/topics/%s/messages?%s", stream, topic, query);
        if (r->status != 504 || tries == 100)
            return r;
        mi_sleep_ms(10);
    }
}

const cJSON *message_at(const struct reply *r, int n)
{
    return cJSON_GetArrayItem(cJSON_GetObjectItem(r->json, "messages"), n);
}

double offset_at(const struct reply *r, int n)
{
    return number_of(cJSON_GetObjectItem(message_at(r, n), "header"), "offset");
}

/* ---- base64, by hand: the product's own is not to be trusted here ---- */

const char *b64(const void *data, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static char *texts[RING];
    static unsigned next;
    const uint8_t *in = data;
    char **slot = &texts[next++ % RING];
    char *out = realloc(*slot, (len + 2) / 3 * 4 + 1);
    if (!out)
        abort();
    *slot = out;
    for (size_t i = 0; i < len; i += 3) {
        uint32_t v = (uint32_t)in[i] << 16 | (i + 1 < len ? (uint32_t)in[i + 1] << 8 : 0) |
                     (i + 2 < len ? in[i + 2] : 0);
        *out++ = digits[v >> 18];
        *out++ = digits[v >> 12 & 63];
        *out++ = i + 1 < len ? digits[v >> 6 & 63] : '=';
        *out++ = i + 2 < len ? digits[v & 63] : '=';
    }
    *out = '\0';
    return *slot;
}

const char *b64_text(const char *text)
{
    return b64(text, strlen(text));
}

const char *b64_u32(uint32_t value)
{
    uint8_t bytes[4];
    mi_put_u32le(bytes, value);
    return b64(bytes, 4);
}
