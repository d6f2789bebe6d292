/*
 * request: answers, query strings, bodies, and the checks that most handlers share.
 */
#include "request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server.h"

static char *copy_or_null(const char *text)
{
    return text ? strdup(text) : NULL;
}

struct dev_request *dev_request_new(struct dev_server *server, const char *method, const char *url)
{
    struct dev_request *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->server = server;
    snprintf(r->method, sizeof r->method, "%s", method);
    mi_buf_init(&r->body, DEV_MAX_BODY + 1);
    mi_buf_init(&r->out, DEV_MAX_ANSWER);
    r->path = strdup(url);
    char *question = r->path ? strchr(r->path, '?') : NULL;
    if (question) {
        *question = '\0';
        r->query = strdup(question + 1);
    }
    if (r->path && (!question || r->query))
        return r;
    dev_request_free(r);
    return NULL;
}

struct dev_request *dev_request_copy(const struct dev_request *r)
{
    struct dev_request *copy = dev_request_new(r->server, r->method, r->path);
    if (!copy)
        return NULL;
    copy->query = copy_or_null(r->query);
    copy->authorization = copy_or_null(r->authorization);
    copy->content_type = copy_or_null(r->content_type);
    mi_buf_add_span(&copy->body, mi_buf_span(&r->body));
    return copy;
}

void dev_request_free(struct dev_request *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < DEV_MAX_PATH_ARGS; i++)
        free(r->args[i]);
    for (size_t i = 0; i < r->param_count; i++) {
        free(r->params[i].name);
        free(r->params[i].value);
    }
    free(r->path);
    free(r->query);
    free(r->authorization);
    free(r->content_type);
    mi_buf_fini(&r->body);
    mi_buf_fini(&r->out);
    free(r);
}

/* ---- answers ---- */

static void start_reply(struct dev_request *r, int status, const char *type)
{
    mi_buf_reset(&r->out);
    r->status = status;
    r->out_type = type;
    r->durability = NULL;
    r->allow = NULL;
    r->location = NULL;
    r->retry_after = false;
}

void dev_reply_error(struct dev_request *r, enum dev_error_name name)
{
    const struct dev_error *e = dev_error(name);
    if (e->status == 401 && r->server->store.personality == DEV_0_8 && r->route && !r->route->open) {
        dev_reply_empty(r, 401);
        return;
    }
    struct mi_buf *out = dev_reply_json(r, e->status);
    mi_buf_addf(out, "{\"id\":%d,\"code\":\"%s\",\"reason\":\"%s\",\"field\":", e->id, e->code, e->reason);
    if (e->field)
        mi_buf_addf(out, "\"%s\"}", e->field);
    else
        mi_buf_add_text(out, "null}");
    r->retry_after = e->status == 429 || e->status == 503;
}

void dev_reply_text(struct dev_request *r, int status, const char *text)
{
    start_reply(r, status, "text/plain; charset=utf-8");
    mi_buf_add_text(&r->out, text);
}

void dev_reply_empty(struct dev_request *r, int status)
{
    start_reply(r, status, NULL);
}

struct mi_buf *dev_reply_json(struct dev_request *r, int status)
{
    start_reply(r, status, "application/json");
    return &r->out;
}

void dev_append_string(struct mi_buf *out, const char *text)
{
    mi_buf_add_byte(out, '"');
    for (const char *p = text; *p; p++) {
        if (*p == '"' || *p == '\\')
            mi_buf_addf(out, "\\%c", *p);
        else if ((uint8_t)*p < 0x20)
            mi_buf_addf(out, "\\u%04x", (uint8_t)*p);
        else
            mi_buf_add_byte(out, (uint8_t)*p);
    }
    mi_buf_add_byte(out, '"');
}

void dev_append_size(struct mi_buf *out, const char *name, uint64_t bytes)
{
    if (bytes < 1000)
        mi_buf_addf(out, "\"%s\":\"%llu B\"", name, (unsigned long long)bytes);
    else
        mi_buf_addf(out, "\"%s\":\"%llu.%03llu KB\"", name, (unsigned long long)bytes / 1000,
                    (unsigned long long)bytes % 1000);
}

/* ---- query ---- */

static bool bad_query(struct dev_request *r, const char *why)
{
    char text[256];
    snprintf(text, sizeof text, "Failed to deserialize query string: %s", why);
    dev_reply_text(r, 400, text);
    return false;
}

bool dev_query_parse(struct dev_request *r)
{
    char *at = r->query;
    while (at && *at) {
        char *end = strchr(at, '&');
        size_t len = end ? (size_t)(end - at) : strlen(at);
        char *item = strndup(at, len);
        at = end ? end + 1 : NULL;
        if (!item || len == 0 || r->param_count == DEV_MAX_QUERY) {
            free(item);
            continue;
        }
        char *equals = strchr(item, '=');
        struct dev_pair *p = &r->params[r->param_count++];
        p->value = strdup(equals ? equals + 1 : "");
        if (equals)
            *equals = '\0';
        p->name = item;
        if (!p->value || !dev_percent_decode(p->name, true) || !dev_percent_decode(p->value, true))
            return bad_query(r, "invalid encoding");
        for (struct dev_pair *other = r->params; other < p; other++)
            if (strcmp(other->name, p->name) == 0)
                return bad_query(r, "duplicate field");
    }
    return true;
}

const char *dev_query(const struct dev_request *r, const char *name)
{
    for (size_t i = 0; i < r->param_count; i++)
        if (strcmp(r->params[i].name, name) == 0)
            return r->params[i].value;
    return NULL;
}

static bool parse_u64(const char *text, uint64_t max, uint64_t *value)
{
    char *end;
    errno = 0;
    if (*text < '0' || *text > '9')
        return false;
    unsigned long long v = strtoull(text, &end, 10);
    if (errno || *end || v > max)
        return false;
    *value = v;
    return true;
}

bool dev_query_u64(struct dev_request *r, const char *name, uint64_t *value)
{
    const char *text = dev_query(r, name);
    return !text || parse_u64(text, UINT64_MAX, value) || bad_query(r, "invalid digit found in string");
}

bool dev_query_u32(struct dev_request *r, const char *name, uint32_t *value)
{
    const char *text = dev_query(r, name);
    uint64_t wide;
    if (!text)
        return true;
    if (!parse_u64(text, UINT32_MAX, &wide))
        return bad_query(r, "invalid digit found in string");
    *value = (uint32_t)wide;
    return true;
}

bool dev_query_bool(struct dev_request *r, const char *name, bool *value)
{
    const char *text = dev_query(r, name);
    if (!text)
        return true;
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return bad_query(r, "provided string was not `true` or `false`");
    *value = text[0] == 't';
    return true;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool dev_percent_decode(char *text, bool plus)
{
    char *out = text;
    for (const char *in = text; *in; in++) {
        int high, low;
        if (*in == '%' && (high = hex_value(in[1])) >= 0 && (low = hex_value(in[2])) >= 0) {
            *out++ = (char)(high << 4 | low);
            in += 2;
        } else {
            *out++ = plus && *in == '+' ? ' ' : *in;
        }
    }
    *out = '\0';
    return dev_utf8_valid(text, (size_t)(out - text));
}

bool dev_utf8_valid(const char *text, size_t len)
{
    const uint8_t *p = (const uint8_t *)text, *end = p + len;
    while (p < end) {
        uint8_t c = *p++;
        if (c < 0x80)
            continue;
        int more = c >= 0xc2 && c <= 0xdf ? 1 : (c & 0xf0) == 0xe0 ? 2 : c >= 0xf0 && c <= 0xf4 ? 3 : 0;
        if (more == 0 || end - p < more)
            return false;
        if ((c == 0xe0 && *p < 0xa0) || (c == 0xed && *p > 0x9f) || (c == 0xf0 && *p < 0x90) ||
            (c == 0xf4 && *p > 0x8f))
            return false;
        for (; more > 0; more--)
            if ((*p++ & 0xc0) != 0x80)
                return false;
    }
    return true;
}

/* ---- bodies ---- */

bool dev_body_is_json(struct dev_request *r)
{
    static const char json[] = "application/json";
    size_t len = sizeof json - 1;
    const char *type = r->content_type;
    if (type && strncasecmp(type, json, len) == 0 &&
        (type[len] == '\0' || type[len] == ';' || type[len] == ' '))
        return true;
    dev_reply_text(r, 415, "Expected request with `Content-Type: application/json`");
    return false;
}

cJSON *dev_body(struct dev_request *r)
{
    if (!dev_body_is_json(r))
        return NULL;
    const char *end;
    cJSON *body = NULL;
    if (mi_buf_add_byte(&r->body, 0) && dev_utf8_valid((const char *)r->body.data, r->body.len - 1))
        body = cJSON_ParseWithLengthOpts((const char *)r->body.data, r->body.len, &end, true);
    if (!body)
        dev_reply_text(r, 400, "Failed to parse the request body as JSON");
    else if (!cJSON_IsObject(body)) {
        dev_reply_text(r, 422, "Failed to deserialize the JSON body into the target type");
        cJSON_Delete(body);
        body = NULL;
    }
    return body;
}

static bool bad_member(struct dev_request *r, const char *name, bool missing)
{
    char text[256];
    snprintf(text, sizeof text, "Failed to deserialize the JSON body into the target type: %s `%s`",
             missing ? "missing field" : "invalid type or value of", name);
    dev_reply_text(r, 422, text);
    return false;
}

bool dev_member_string(struct dev_request *r, const cJSON *body, const char *name, bool required,
                       const char **value)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(body, name);
    if (!item || (cJSON_IsNull(item) && !required))
        return !required || bad_member(r, name, true);
    if (!cJSON_IsString(item))
        return bad_member(r, name, false);
    *value = item->valuestring;
    return true;
}

bool dev_member_u64(struct dev_request *r, const cJSON *body, const char *name, uint64_t max, bool required,
                    uint64_t *value)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(body, name);
    if (!item || (cJSON_IsNull(item) && !required))
        return !required || bad_member(r, name, true);
    double v = item->valuedouble;
    if (!cJSON_IsNumber(item) || v < 0 || (v < 1e18 && v != (double)(uint64_t)v))
        return bad_member(r, name, false);
    uint64_t whole = v >= 18446744073709551615.0 ? UINT64_MAX : (uint64_t)v;
    if (whole > max)
        return bad_member(r, name, false);
    *value = whole;
    return true;
}

/* ---- permission and resolution ---- */

bool dev_allowed(struct dev_request *r, struct dev_need need, const struct dev_stream *stream,
                 const struct dev_topic *topic)
{
    if (dev_permitted(&r->user->permissions, need, stream ? stream->id : UINT32_MAX,
                      topic ? topic->id : UINT32_MAX))
        return true;
    dev_reply_error(r, DEV_UNAUTHORIZED);
    return false;
}

bool dev_identifier_valid(struct dev_request *r, const char *identifier)
{
    size_t len = strlen(identifier);
    if (len >= 1 && len <= 255)
        return true;
    dev_reply_error(r, DEV_INVALID_IDENTIFIER);
    return false;
}

bool dev_target(struct dev_request *r, struct dev_need need, struct dev_stream **stream,
                struct dev_topic **topic)
{
    *stream = NULL;
    if (topic)
        *topic = NULL;
    if (!dev_identifier_valid(r, r->args[0]) || (topic && !dev_identifier_valid(r, r->args[1])))
        return false;
    *stream = dev_stream_find(&r->server->store, r->args[0]);
    if (*stream && topic)
        *topic = dev_topic_find(*stream, r->args[1]);
    bool missing = !*stream || (topic && !*topic);
    return missing || dev_allowed(r, need, *stream, topic ? *topic : NULL);
}
