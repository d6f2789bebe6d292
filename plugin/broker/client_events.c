#include "broker/client_events.h"

#include <inttypes.h>
#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/json_out.h"
#include "base/utf8.h"
#include "journal/journal.h"
#include "message/headers.h"

enum {
    MAX_TEXT_BYTES = 4096,
    /* Four texts, six bytes for one at most. */
    MAX_PAYLOAD_BYTES = 128 << 10,
    MAX_HEADER_BYTES = 1024,
    KEPT_BYTES = 1 << 16,
    LOG_EVERY_S = 10
};

struct mi_client_events {
    struct mi_buf payload, headers;
    struct mi_log_limit limit;
};

/* One event while it is being written. */
struct writing {
    struct mi_plugin *plugin;
    struct mi_buf *out;
    bool replaced; /* a text was not UTF-8 */
    bool cut;      /* a text was too long */
    uint64_t time_us;
};

static void begin(struct writing *w, struct mi_plugin *p, const char *event);
static void add_span(struct writing *w, const char *key, struct mi_span text);
static void add_client(struct writing *w, const struct mosquitto *client, struct mi_span client_id,
                       const char *username);
static void add_text(struct writing *w, const char *key, const char *text);
static void keep(struct writing *w, const char *event, struct mi_span client_id);

struct mi_client_events *mi_client_events_new(void)
{
    struct mi_client_events *e = calloc(1, sizeof *e);
    if (e) {
        mi_buf_init(&e->payload, MAX_PAYLOAD_BYTES);
        mi_buf_init(&e->headers, MAX_HEADER_BYTES);
    }
    return e;
}

void mi_client_events_free(struct mi_client_events *e)
{
    if (!e)
        return;
    mi_buf_fini(&e->payload);
    mi_buf_fini(&e->headers);
    free(e);
}

bool mi_client_events_wanted(const struct mi_plugin *p)
{
    return p->config->events;
}

bool mi_client_events_need_subscriptions(const struct mi_plugin *p)
{
    return mi_client_events_wanted(p) && (p->config->events_subscribe || p->config->events_unsubscribe);
}

static bool included(const struct mi_config *c, enum mi_client_event_kind kind)
{
    switch (kind) {
    case MI_CLIENT_CONNECT:
        return c->events_connect;
    case MI_CLIENT_SUBSCRIBE:
        return c->events_subscribe;
    case MI_CLIENT_UNSUBSCRIBE:
        return c->events_unsubscribe;
    default:
        return c->events_disconnect;
    }
}

static const char *name_of(enum mi_client_event_kind kind)
{
    switch (kind) {
    case MI_CLIENT_CONNECT:
        return "connect";
    case MI_CLIENT_SUBSCRIBE:
        return "subscribe";
    case MI_CLIENT_UNSUBSCRIBE:
        return "unsubscribe";
    default:
        return "disconnect";
    }
}

/* 2.0 does not say whether the session stays, and shows a subscription before anybody decided about it. */
static void add_details(struct writing *w, const struct mi_client_event *e)
{
    bool tells = w->plugin->compat.v2_1;
    switch (e->kind) {
    case MI_CLIENT_CONNECT:
        mi_buf_addf(w->out, ",\"clean_session\":%s,\"keepalive\":%d",
                    mosquitto_client_clean_session(e->client) ? "true" : "false",
                    mosquitto_client_keepalive(e->client));
        break;
    case MI_CLIENT_DISCONNECT:
    case MI_CLIENT_OFFLINE:
        mi_buf_addf(w->out, ",\"reason\":%d", e->reason);
        if (tells)
            mi_buf_addf(w->out, ",\"session\":\"%s\"", e->kind == MI_CLIENT_OFFLINE ? "kept" : "ended");
        break;
    case MI_CLIENT_SUBSCRIBE:
        add_text(w, "filter", e->filter);
        mi_buf_addf(w->out, ",\"qos\":%u%s", (unsigned)e->qos, tells ? ",\"granted\":true" : "");
        break;
    case MI_CLIENT_UNSUBSCRIBE:
        add_text(w, "filter", e->filter);
        break;
    }
}

void mi_client_events_heard(struct mi_plugin *p, const struct mi_client_event *e)
{
    struct writing w;
    if (!included(p->config, e->kind))
        return;
    begin(&w, p, name_of(e->kind));
    add_client(&w, e->client, e->client_id, mosquitto_client_username(e->client));
    add_details(&w, e);
    keep(&w, name_of(e->kind), e->client_id);
}

void mi_client_events_refused(struct mi_plugin *p, const struct mi_refused_login *login)
{
    struct writing w;
    if (!mi_client_events_wanted(p) || !p->config->events_refused)
        return;
    struct mi_span id = mi_span_of(login->client_id);
    begin(&w, p, "refused");
    if (login->client) {
        add_client(&w, login->client, id, login->username);
    } else {
        add_span(&w, "client_id", id);
        add_text(&w, "username", login->username);
        add_text(&w, "address", login->address);
    }
    add_text(&w, "why", login->why);
    keep(&w, "refused", id);
}

/* ---- the object ---- */

static void begin(struct writing *w, struct mi_plugin *p, const char *event)
{
    *w = (struct writing){.plugin = p, .out = &p->events->payload, .time_us = mi_wall_us(&mi_clock_system)};
    mi_buf_reset(w->out);
    mi_buf_addf(w->out, "{\"version\":1,\"event\":\"%s\",\"time\":%" PRIu64, event, w->time_us);
}

static void add_span(struct writing *w, const char *key, struct mi_span text)
{
    mi_buf_addf(w->out, ",\"%s\":", key);
    if (text.len > MAX_TEXT_BYTES) {
        text.len = mi_utf8_valid(text) ? mi_utf8_cut(text, MAX_TEXT_BYTES) : MAX_TEXT_BYTES;
        w->cut = true;
    }
    mi_json_add_string(w->out, text, &w->replaced);
}

static void add_text(struct writing *w, const char *key, const char *text)
{
    if (text)
        add_span(w, key, mi_span_of(text));
}

static const char *protocol_of(const struct mosquitto *client)
{
    switch (mosquitto_client_protocol_version(client)) {
    case 3:
        return "3.1";
    case 4:
        return "3.1.1";
    case 5:
        return "5";
    default:
        return NULL;
    }
}

static void add_client(struct writing *w, const struct mosquitto *client, struct mi_span client_id,
                       const char *username)
{
    add_span(w, "client_id", client_id);
    add_text(w, "username", username);
    add_text(w, "address", mosquitto_client_address(client));
    add_text(w, "protocol", protocol_of(client));
    if (mosquitto_client_protocol(client) == mp_websockets)
        add_text(w, "transport", "websockets");
}

/* ---- the record ---- */

/* Headers as a native producer would set them: "mqtt_topic": "events/{header:mqtt.event}" brings it back to
 * MQTT. */
static bool make_headers(struct writing *w, struct mi_buf *headers, const char *event)
{
    uint8_t time[8];
    mi_put_u64le(time, w->time_us);
    mi_buf_reset(headers);
    return mi_headers_add(headers, mi_span_of("mqtt.event"), MI_HEADER_STRING, mi_span_of(event)) &&
           mi_headers_add(headers, mi_span_of("mqtt.time"), MI_HEADER_UINT64,
                          (struct mi_span){time, sizeof time}) &&
           mi_headers_add(headers, mi_span_of("mqtt.origin"), MI_HEADER_STRING,
                          mi_span_of(mi_journal_identity(mi_bridge_journal(w->plugin->bridge))));
}

/* QoS 0: a sync for each would slow the broker down with "sync": "always". */
static enum mi_append append(struct writing *w, const struct mi_route *route, struct mi_span client_id)
{
    const struct mi_plugin *p = w->plugin;
    struct mi_record record = {
        .time_us = w->time_us,
        .route = route->id,
        .key_hash = XXH32(client_id.data, client_id.len, 0),
        .stream = mi_span_of(p->config->events_stream),
        .topic = mi_span_of(p->config->events_topic),
        .headers = mi_buf_span(&p->events->headers),
        .payload = mi_buf_span(w->out),
    };
    struct mi_journal *journal = mi_bridge_journal(p->bridge);
    /* Whoever makes events, such as by wrong logins, must not use up what is there for messages. */
    if (mi_bridge_route_full(p->bridge, route->id) ||
        !mi_journal_has_room(journal, p->config->journal_max_size / 2))
        return MI_APPEND_FULL;
    return mi_journal_append(journal, &record, 1);
}

static void keep(struct writing *w, const char *event, struct mi_span client_id)
{
    struct mi_plugin *p = w->plugin;
    struct mi_client_events *e = p->events;
    const struct mi_route *route = &p->config->routes[p->config->events_route];
    mi_buf_addf(w->out, "%s%s}", w->replaced ? ",\"replaced\":true" : "", w->cut ? ",\"cut\":true" : "");
    if (w->out->failed || !make_headers(w, &e->headers, event) ||
        append(w, route, client_id) != MI_APPEND_OK) {
        mi_count(mi_metrics_route(p->metrics, route->id, route->name), MI_C_DROPPED_QOS0, 1);
        mi_log_limited(p->log, &e->limit, mi_now_ns(&mi_clock_system), LOG_EVERY_S * MI_NS_PER_S,
                       MI_LOG_WARNING,
                       "client_events: the journal does not take an event; it is dropped and counted");
    }
    if (e->payload.cap > KEPT_BYTES)
        mi_buf_fini(&e->payload);
}
