#include "broker/history_event.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "auth/acl_file.h"
#include "broker/properties.h"
#include "history/request.h"

enum {
    MAX_ASKED = 1000,              /* known at a time; history.max_requests is the bound of those at work */
    MAX_ASKED_BYTES = 1024 * 1024, /* of their texts */
    BEGIN_AT_ONCE = 64,
    LOG_EVERY_S = 10
};

/* One SUBSCRIBE to $iggy/... of a connection. */
struct asked {
    struct mosquitto *client; /* alive until its DISCONNECT, which ends this */
    mi_history_id id;         /* 0: not begun */
    size_t mount;             /* bytes of filter before "$iggy" */
    size_t size;              /* of text */
    const char *refused;      /* why it will not begin; NULL: it may */
    uint8_t qos;
    char *filter, *client_id, *username; /* filter without $share/GROUP/; username "": none */
    struct asked *next;
    char text[];
};

struct mi_history_event {
    struct mi_history_event_options o;
    struct mi_acl_file *acl;                  /* NULL: none could be read, or none is needed */
    struct asked *asked;                      /* oldest first */
    size_t asked_count, asked_bytes, waiting; /* waiting: not begun */
    struct mi_history_item *items;            /* taken, not yet published */
    struct mi_log_limit limit;
};

static void read_acl(struct mi_history_event *h);
static void begin_waiting(struct mi_history_event *h);
static bool deliver(struct mi_history_event *h, const struct mi_history_item *item);
static void forget(struct mi_history_event *h, struct asked **at);

struct mi_history_event *mi_history_event_new(const struct mi_history_event_options *options)
{
    struct mi_history_event *h = calloc(1, sizeof *h);
    if (!h)
        return NULL;
    h->o = *options;
    mi_config_hold(h->o.config);
    read_acl(h);
    return h;
}

static void free_asked(struct mi_history_event *h, struct asked **at)
{
    struct asked *a = *at;
    *at = a->next;
    h->asked_count--;
    h->asked_bytes -= a->size;
    h->waiting -= a->id == 0;
    free(a);
}

void mi_history_event_free(struct mi_history_event *h)
{
    if (!h)
        return;
    while (h->asked)
        free_asked(h, &h->asked);
    while (h->items) {
        struct mi_history_item *item = h->items;
        h->items = item->next;
        mi_history_item_free(item);
    }
    mi_acl_file_free(h->acl);
    mi_config_release(h->o.config);
    free(h);
}

/* ---- rights ---- */

static void read_acl(struct mi_history_event *h)
{
    const struct mi_config *c = h->o.config;
    struct mi_error err = {"broker.acl_file is not known: state it"};
    mi_acl_file_free(h->acl);
    h->acl = NULL;
    if (!c->history || c->broker.acl != MI_ACL_FILE)
        return;
    if (c->broker.acl_file)
        h->acl = mi_acl_file_read(c->broker.acl_file, h->o.v2_1 ? MI_ACL_RULES_2_1 : MI_ACL_RULES_2_0, &err);
    if (!h->acl)
        mi_log_line(h->o.log, MI_LOG_ERROR, "history: %s; nobody is given history until that is mended",
                    err.text);
}

/* NULL: whoever may ask may ask. */
static const char *refused_to_all(const struct mi_history_event *h)
{
    const struct mi_config *c = h->o.config;
    if (h->o.v2_1 && c->history_rights == MI_HISTORY_BY_SUBSCRIBE)
        return NULL;
    switch (c->broker.acl) {
    case MI_ACL_NONE:
        return NULL;
    case MI_ACL_FILE:
        return h->acl ? NULL : "the broker's acl_file cannot be read, so nobody is given history";
    case MI_ACL_PLUGIN:
        return "another plugin decides the rights on this broker, and it cannot be asked about the past";
    default:
        return "the configuration does not state who decides the rights on this broker (broker.acl)";
    }
}

static bool may_read(const struct mi_history_event *h, const struct asked *a, const char *topic)
{
    const struct mi_authorize_client who = {mi_span_of(a->username), mi_span_of(a->client_id)};
    if (h->o.authorize && !mi_authorize_read(h->o.authorize, &who, mi_span_of(topic)))
        return false;
    struct mi_acl_client client = {mi_span_of(a->username), mi_span_of(a->client_id)};
    if (h->o.rules && !mi_user_rules_allow(h->o.rules, &client, mi_span_of(topic), MI_ACL_READ))
        return false;
    if (!h->acl || (h->o.v2_1 && h->o.config->history_rights == MI_HISTORY_BY_SUBSCRIBE))
        return true; /* refused_to_all let it begin */
    return mi_acl_file_allows(h->acl, &client, mi_span_of(topic), MI_ACL_READ);
}

void mi_history_event_reload(struct mi_history_event *h, struct mi_config *config)
{
    mi_config_hold(config);
    mi_config_release(h->o.config);
    h->o.config = config;
    read_acl(h);
    /* Without history no event is heard any more, the end of a connection neither. */
    while (!config->history && h->asked)
        forget(h, &h->asked);
}

/* ---- what clients do ---- */

static void forget(struct mi_history_event *h, struct asked **at)
{
    if ((*at)->id)
        mi_history_cancel(h->o.history, (*at)->id);
    free_asked(h, at);
}

static char *put_text(char **to, const char *text)
{
    char *start = *to;
    size_t len = text ? strlen(text) : 0;
    if (len)
        memcpy(start, text, len);
    start[len] = '\0';
    *to += len + 1;
    return start;
}

static struct asked *new_asked(const struct mi_client_event *e, const char *filter)
{
    const char *id = mosquitto_client_id(e->client), *username = mosquitto_client_username(e->client);
    size_t size = strlen(filter) + strlen(id) + (username ? strlen(username) : 0) + 3;
    struct asked *a = calloc(1, sizeof *a + size);
    if (!a)
        return NULL;
    char *to = a->text;
    a->client = e->client;
    a->qos = e->qos;
    a->size = size;
    a->filter = put_text(&to, filter);
    a->client_id = put_text(&to, id);
    a->username = put_text(&to, username);
    return a;
}

void mi_history_event_subscribe(struct mi_history_event *h, const struct mi_client_event *e)
{
    size_t shared_at = 0;
    bool shared = mi_request_is_shared(mi_span_of(e->filter), &shared_at);
    const char *filter = e->filter + shared_at;
    size_t mount = mi_request_begins(mi_span_of(filter));
    if (mount == SIZE_MAX)
        return;
    struct asked **at = &h->asked;
    while (*at) {
        if ((*at)->client == e->client && strcmp((*at)->filter, filter) == 0)
            forget(h, at); /* it begins anew */
        else
            at = &(*at)->next;
    }
    bool room = h->asked_count < MAX_ASKED && h->asked_bytes < MAX_ASKED_BYTES;
    struct asked *a = room ? new_asked(e, filter) : NULL;
    if (!a) {
        mi_metrics_add(h->o.metrics, MI_G_HISTORY_REFUSED, 1);
        mi_log_limited(h->o.log, &h->limit, mi_now_ns(h->o.clock), LOG_EVERY_S * MI_NS_PER_S, MI_LOG_WARNING,
                       "history: client %.*s asks for more than can be noted; it gets no answer",
                       (int)e->client_id.len, (const char *)e->client_id.data);
        return;
    }
    a->mount = mount;
    a->refused = shared ? "history cannot be shared: subscribe without $share" : refused_to_all(h);
    *at = a;
    h->asked_count++;
    h->asked_bytes += a->size;
    h->waiting++;
}

/* The mount point is not in front of the filter of an UNSUBSCRIBE. */
void mi_history_event_unsubscribe(struct mi_history_event *h, const struct mi_client_event *e)
{
    size_t shared_at = 0;
    mi_request_is_shared(mi_span_of(e->filter), &shared_at);
    for (struct asked **at = &h->asked; *at;) {
        const struct asked *a = *at;
        if (a->client == e->client && (strcmp(a->filter, e->filter + shared_at) == 0 ||
                                       strcmp(a->filter + a->mount, e->filter + shared_at) == 0))
            forget(h, at);
        else
            at = &(*at)->next;
    }
}

void mi_history_event_gone(struct mi_history_event *h, const struct mosquitto *client)
{
    for (struct asked **at = &h->asked; *at;) {
        if ((*at)->client == client)
            forget(h, at);
        else
            at = &(*at)->next;
    }
}

bool mi_history_event_wanted(const struct mi_plugin *p)
{
    return p->config->history;
}

void mi_history_event_heard(struct mi_plugin *p, const struct mi_client_event *e)
{
    switch (e->kind) {
    case MI_CLIENT_SUBSCRIBE:
        mi_history_event_subscribe(p->history, e);
        break;
    case MI_CLIENT_UNSUBSCRIBE:
        mi_history_event_unsubscribe(p->history, e);
        break;
    case MI_CLIENT_DISCONNECT:
    case MI_CLIENT_OFFLINE:
        mi_history_event_gone(p->history, e->client);
        break;
    default:
        break;
    }
}

/* ---- the turn ---- */

bool mi_history_event_idle(const struct mi_history_event *h)
{
    return h->waiting == 0 && !h->items && mi_history_idle(h->o.history);
}

static struct asked **find(struct mi_history_event *h, mi_history_id id)
{
    struct asked **at = &h->asked;
    while (*at && (*at)->id != id)
        at = &(*at)->next;
    return at;
}

size_t mi_history_event_tick(struct mi_history_event *h, size_t max)
{
    size_t count = 0;
    if (mi_history_event_idle(h))
        return 0;
    if (h->waiting) {
        begin_waiting(h);
        count++;
    }
    while (count < max) {
        if (!h->items)
            h->items = mi_history_take(h->o.history, max - count);
        struct mi_history_item *item = h->items;
        if (!item || !deliver(h, item))
            break;
        h->items = item->next;
        mi_history_item_free(item);
        count++;
    }
    return count;
}

/* False when the broker has no memory for it now. */
static bool publish(struct mi_history_event *h, const struct asked *a, const struct mi_history_item *item)
{
    mosquitto_property *properties = NULL;
    struct mi_span block = {item->properties, item->properties_len};
    if (item->payload_len > INT_MAX || strlen(item->topic) > MI_MAX_MQTT_STRING ||
        mosquitto_validate_utf8(item->topic, (int)strlen(item->topic)) != MOSQ_ERR_SUCCESS)
        return true;
    /* Malformed properties do not keep the message itself back. */
    mi_properties_to_list(block, &properties);
    int result = mosquitto_broker_publish_copy(a->client_id, item->topic, (int)item->payload_len,
                                               item->payload, item->qos, false, properties);
    if (result != MOSQ_ERR_SUCCESS)
        mosquitto_property_free_all(&properties);
    if (result == MOSQ_ERR_SUCCESS && !item->last)
        mi_metrics_add(h->o.metrics, MI_G_HISTORY_MESSAGES, 1);
    return result != MOSQ_ERR_NOMEM;
}

static bool same_user(const struct asked *a)
{
    const char *now = mosquitto_client_username(a->client);
    return strcmp(now ? now : "", a->username) == 0;
}

/* False when it must be tried again in the next TICK. */
static bool deliver(struct mi_history_event *h, const struct mi_history_item *item)
{
    struct asked **at = find(h, item->id);
    struct asked *a = *at;
    if (!a)
        return true; /* the client has gone meanwhile */
    if (!same_user(a)) {
        forget(h, at);
        return true;
    }
    if (!item->last && !may_read(h, a, item->inner)) {
        mi_history_note_denied(h->o.history, item->id);
        return true;
    }
    if (!publish(h, a, item))
        return false;
    if (item->last)
        free_asked(h, at);
    return true;
}

static void refuse(struct mi_history_event *h, struct asked **at, const struct mi_history_ask *ask,
                   const char *why)
{
    struct mi_history_item *item = mi_history_refusal(h->o.history, ask, why);
    if (item)
        publish(h, *at, item);
    mi_history_item_free(item);
    free_asked(h, at);
}

static void begin_waiting(struct mi_history_event *h)
{
    unsigned begun = 0;
    for (struct asked **at = &h->asked; *at && begun < BEGIN_AT_ONCE;) {
        struct asked *a = *at;
        if (a->id) {
            at = &a->next;
            continue;
        }
        begun++;
        struct mi_history_ask ask = {.client_id = mi_span_of(a->client_id),
                                     .mount = {(const uint8_t *)a->filter, a->mount},
                                     .filter = mi_span_of(a->filter + a->mount),
                                     .qos = a->qos};
        const char *why = a->refused;
        if (!why) {
            a->id = mi_history_begin(h->o.history, &ask, &why);
            h->waiting -= a->id != 0;
        }
        if (a->id)
            at = &a->next;
        else
            refuse(h, at, &ask, why);
    }
}
