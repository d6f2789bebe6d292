#include "request.h"

#include "json_reader.h"
#include "names.h"
#include "result.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PATH 8192
#define MAX_OWN_BODY 4194304

static void answered(void *arg, struct answer *answer);
static void end_request(struct request *r, struct answer *answer);
static void label_of(const struct request *r, char *label, size_t size);

/* ---- lists
 * ------------------------------------------------------------------------------------------------------ */

static struct request_list *list_of(struct request *r)
{
    switch (r->state) {
    case REQUEST_WAITING:
        return &r->client->waiting;
    case REQUEST_SENT:
        return &r->client->sent;
    case REQUEST_ENDED:
        return &r->client->ended;
    case REQUEST_NEW:
        break;
    }
    return NULL;
}

static void unlink_request(struct request *r)
{
    struct request_list *list = list_of(r);
    if (!list)
        return;
    *(r->previous ? &r->previous->next : &list->first) = r->next;
    *(r->next ? &r->next->previous : &list->last) = r->previous;
    list->count--;
    r->next = r->previous = NULL;
    r->state = REQUEST_NEW;
}

static void move_to(struct request *r, enum request_state state)
{
    unlink_request(r);
    r->state = state;
    struct request_list *list = list_of(r);
    r->previous = list->last;
    *(list->last ? &list->last->next : &list->first) = r;
    list->last = r;
    list->count++;
}

static void move_to_front(struct request *r)
{
    unlink_request(r);
    r->state = REQUEST_WAITING;
    struct request_list *list = list_of(r);
    r->next = list->first;
    *(list->first ? &list->first->previous : &list->last) = r;
    list->first = r;
    list->count++;
}

static void free_request(struct request *r)
{
    unlink_request(r);
    mi_buf_fini(&r->path);
    request_wipe_body(r);
    if (r->bearer)
        explicit_bzero(r->bearer, strlen(r->bearer));
    free(r->bearer);
    free(r->extra);
    free(r);
}

void request_wipe_body(struct request *r)
{
    if (r->own_body.data)
        explicit_bzero(r->own_body.data, r->own_body.cap); /* it may hold a password */
    mi_buf_fini(&r->own_body);
    r->body = (struct mi_span){0};
}

void requests_drop(struct iggy_client *client, struct request_list *list)
{
    while (list->first) {
        if (list->first->exchange)
            transport_stop(client->transport, list->first->exchange);
        free_request(list->first);
    }
}

/* ---- describing
 * ------------------------------------------------------------------------------------------------- */

struct request *request_new(struct iggy_client *client, const char *method, request_end end,
                            request_callback done, void *arg)
{
    struct request *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->client = client;
    r->id = ++client->last_id;
    r->method = method;
    r->write = strcmp(method, "GET") != 0;
    r->max_answer = client->max_answer;
    r->end = end;
    r->done = done;
    r->arg = arg;
    mi_buf_init(&r->path, MAX_PATH);
    mi_buf_init(&r->own_body, MAX_OWN_BODY);
    return r;
}

void request_path(struct request *r, const char *format, ...)
{
    if (!r)
        return;
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    mi_buf_add_text(&r->path, text);
}

void request_name(struct request *r, const char *what, struct iggy_span name)
{
    if (!r)
        return;
    if (iggy_name_usable(name))
        names_add_segment(&r->path, name);
    else
        request_refuse(r,
                       "the %s name \"%.*s\" cannot be used: it must have 1 to 255 bytes and not be a number",
                       what, (int)(name.len < 60 ? name.len : 60), name.data ? (const char *)name.data : "");
}

void request_stream_path(struct request *r, struct iggy_span stream)
{
    request_path(r, "/streams/");
    request_name(r, "stream", stream);
}

void request_topic_path(struct request *r, struct iggy_span stream, struct iggy_span topic)
{
    request_stream_path(r, stream);
    request_path(r, "/topics/");
    request_name(r, "topic", topic);
}

void request_refuse(struct request *r, const char *format, ...)
{
    if (!r || r->result.kind != IGGY_OK)
        return;
    char text[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    result_set(&r->result, IGGY_LOCAL, IGGY_RETRY_NEVER, "%s", text);
}

/* The body of our own, unless the module has set the caller's; false when memory was out. */
static bool complete(struct request *r)
{
    if (r->body.len == 0)
        r->body = mi_buf_span(&r->own_body);
    return mi_buf_add_byte(&r->path, 0) && !r->own_body.failed;
}

iggy_request request_submit(struct request *r)
{
    if (!r)
        return 0;
    if (!complete(r)) {
        free_request(r);
        return 0;
    }
    move_to(r, r->result.kind == IGGY_OK ? REQUEST_WAITING : REQUEST_ENDED);
    return r->id;
}

void request_again(struct request *r)
{
    r->repeated = false;
    if (complete(r)) {
        move_to_front(r);
        return;
    }
    result_set(&r->result, IGGY_LOCAL, IGGY_RETRY_LATER, "out of memory");
    move_to(r, REQUEST_ENDED);
}

/* ---- sending
 * ---------------------------------------------------------------------------------------------------- */

static void start(struct request *r)
{
    struct iggy_client *c = r->client;
    struct exchange_request request = {
        .method = r->method,
        .path = (const char *)r->path.data,
        .body = r->body,
        .bearer = r->open ? r->bearer : session_bearer(c->session),
        .max_answer = r->max_answer,
        .write = r->write,
        .guarded = r->guarded,
        .signs = r->signs,
    };
    r->session = session_generation(c->session);
    r->exchange = transport_start(c->transport, &request, answered, r);
    if (r->exchange) {
        move_to(r, REQUEST_SENT);
        return;
    }
    result_set(&r->result, IGGY_LOCAL, IGGY_RETRY_LATER, "out of memory");
    move_to(r, REQUEST_ENDED);
}

/* A login that fails fails all that wait for it; those come later may try again. */
static void fail_request(struct request *r, const struct iggy_result *failure)
{
    r->result = *failure;
    move_to(r, REQUEST_ENDED);
}

void requests_fail_waiting(struct iggy_client *client, const struct iggy_result *failure)
{
    for (struct request *r = client->waiting.first, *next; r; r = next) {
        next = r->next;
        if (!r->open)
            fail_request(r, failure);
    }
}

static void hold_back(struct request *r)
{
    result_set(&r->result, IGGY_HELD_BACK, IGGY_RETRY_LATER,
               "not sent: the server may have been restarted since the caller looked");
    move_to(r, REQUEST_ENDED);
}

void requests_start(struct iggy_client *client)
{
    for (struct request *r = client->waiting.first, *next; r; r = next) {
        next = r->next;
        if (transport_active(client->transport) >= client->max_connections)
            return;
        if (r->guarded && r->signs != transport_signs(client->transport)) {
            hold_back(r);
            continue;
        }
        enum session_state state = r->open ? SESSION_READY : session_use(client->session);
        if (state == SESSION_READY) {
            start(r);
        } else if (state == SESSION_FAILED) {
            struct iggy_result failure = session_failure(client->session);
            fail_request(r, &failure);
        }
    }
}

/* ---- ending
 * ------------------------------------------------------------------------------------------------------ */

/* A 401 for the first time: a new login, and once more. True when the request goes on. */
static bool log_in_again(struct request *r, const struct answer *answer)
{
    if (r->open || answer->facts.end != EXCHANGE_ANSWERED || answer->facts.status != 401 || r->repeated)
        return false;
    r->repeated = true;
    bool alive = session_refused(r->client->session, r->session);
    r->logged_in_again |= alive;
    if (alive && r->client->refused != r->session) {
        r->client->refused = r->session;
        transport_sign(r->client->transport);
    }
    move_to_front(r);
    return true;
}

static void answered(void *arg, struct answer *answer)
{
    struct request *r = arg;
    struct iggy_client *c = r->client;
    r->exchange = NULL;
    r->new_connection |= answer->new_connection;
    if (log_in_again(r, answer))
        return;
    char label[160];
    label_of(r, label, sizeof label);
    unlink_request(r);
    result_of_answer(&r->result, answer, label, transport_url_text(c->transport, answer->url), false);
    if (r->result.http_status == 401 && !r->open)
        session_pause(c->session, &r->result);
    if (r->result.http_status == 503 && r->result.code == IGGY_CODE_NOT_ACCEPTED)
        transport_leave_url(c->transport, answer->url);
    end_request(r, r->result.kind == IGGY_OK ? answer : NULL);
}

static void label_of(const struct request *r, char *label, size_t size)
{
    const char *path = r->path.data ? (const char *)r->path.data : "";
    snprintf(label, size, "%s %.140s", r->method, path);
}

/* A login that is checked for somebody else says nothing about our own. */
static void note_trouble(const struct request *r)
{
    char *trouble = r->client->trouble;
    switch (r->result.kind) {
    case IGGY_OK:
    case IGGY_HTTP:
    case IGGY_GARBLED:
        trouble[0] = '\0';
        break;
    case IGGY_CONNECT:
    case IGGY_CUT:
    case IGGY_TIMEOUT:
    case IGGY_TOO_OLD:
    case IGGY_LOGIN:
        snprintf(trouble, sizeof r->client->trouble, "%s", r->result.text);
        break;
    case IGGY_LOCAL:
    case IGGY_CANCELLED:
    case IGGY_HELD_BACK:
        break;
    }
}

static void end_request(struct request *r, struct answer *answer)
{
    if (!r->open)
        note_trouble(r);
    r->result.new_connection |= r->new_connection;
    r->result.logged_in_again |= r->logged_in_again;
    if (r->end(r, answer))
        free_request(r);
}

bool requests_deliver(struct iggy_client *client)
{
    bool any = false;
    /* Only what is there now: a callback that fails and asks again must not keep us here. */
    iggy_request newest = client->last_id;
    for (struct request *r; (r = client->ended.first) != NULL && r->id <= newest;) {
        unlink_request(r);
        end_request(r, NULL);
        any = true;
    }
    return any;
}

void request_garbled(struct request *r)
{
    result_garbled(&r->result, r->write);
}

bool request_end_plain(struct request *r, struct answer *answer)
{
    if (answer && answer->len > 0) {
        struct json j = json_start(answer->body, answer->len);
        json_skip(&j);
        if (!json_end(&j))
            request_garbled(r);
    }
    ((iggy_done)r->done)(r->arg, &r->result);
    return true;
}

/* ---- cancelling
 * ---------------------------------------------------------------------------------------------------- */

static struct request *find(const struct request_list *list, iggy_request id)
{
    struct request *r = list->first;
    while (r && r->id != id)
        r = r->next;
    return r;
}

void iggy_client_cancel(struct iggy_client *client, iggy_request id)
{
    struct request *r = find(&client->sent, id);
    if (!r)
        r = find(&client->waiting, id);
    if (!r)
        r = find(&client->ended, id);
    if (!r)
        return;
    bool sent = r->exchange && transport_stop(client->transport, r->exchange);
    r->exchange = NULL;
    unlink_request(r);
    result_set(&r->result, IGGY_CANCELLED, IGGY_RETRY_LATER, "%s: cancelled", r->method);
    if (r->write && sent)
        r->result.effect = IGGY_EFFECT_UNKNOWN;
    r->end(r, NULL);
    free_request(r);
}
