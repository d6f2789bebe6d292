#include "broker/message_event.h"

#include <stdlib.h>
#include <string.h>

#include "broker/dup_guess.h"
#include "broker/properties.h"
#include "broker/shared_log.h"
#include "history/request.h"
#include "message/envelope.h"

enum {
    LOG_EVERY_S = 10,
    MAX_DUP_CLIENTS = 4096,
    KEPT_BUFFER_BYTES = 1 << 20, /* a buffer that one huge message blew up is given back */
    ENVELOPE_FORMS = 4           /* with or without client id, with or without user name */
};

enum trouble { FULL, FAILED, TOO_LARGE, MISSING, PARKED, TROUBLES };

struct mi_hook {
    struct mi_hook_options options;
    struct mi_journal *journal;
    struct mi_route_metrics **counters; /* of each route of the configuration */
    struct mi_dup_guess *dup;
    struct mi_buf properties, topic;
    struct mi_envelope envelopes[ENVELOPE_FORMS];
    struct mi_log_limit limits[TROUBLES];
    bool stamps; /* a route has stamp: true */
};

/* One PUBLISH on its way through. */
struct publish {
    struct mi_hook *hook;
    const struct mosquitto_evt_message *event; /* NULL: it came through the plugin's own subscription */
    struct mi_message message;
    bool properties_read;
    bool encoded[ENVELOPE_FORMS];
    struct mi_hit hits[MI_MAX_HITS];
    size_t hit_count;
    uint64_t first_sequence; /* of its records, which follow each other */
};

static size_t find_routes(struct publish *p);
static void keep_own_hits(struct publish *p);
static void drop_stamped(struct publish *p);
static int keep_copy(struct publish *p);
static size_t match(struct publish *p);
static bool keep_subscribed(struct publish *p);

int mi_hook_message(struct mi_hook *h, const struct mosquitto_evt_message *event)
{
    struct publish p = {.hook = h, .event = event};
    mi_metrics_add(h->options.metrics, MI_G_PUBLISH_SEEN, 1);
    if (h->options.config->history && mi_request_begins(mi_span_of(event->topic)) != SIZE_MAX)
        return MOSQ_ERR_ACL_DENIED; /* answers to requests for history come from us alone */
    if (find_routes(&p) == 0) {
        mi_metrics_add(h->options.metrics, MI_G_UNMATCHED, 1);
        return MOSQ_ERR_SUCCESS;
    }
    keep_own_hits(&p);
    if (h->stamps)
        drop_stamped(&p);
    return p.hit_count ? keep_copy(&p) : MOSQ_ERR_SUCCESS;
}

bool mi_hook_subscribed(struct mi_hook *h, const struct mi_message *m)
{
    struct publish p = {.hook = h, .message = *m};
    match(&p);
    keep_own_hits(&p);
    if (h->stamps)
        drop_stamped(&p);
    return p.hit_count == 0 || keep_subscribed(&p);
}

void mi_hook_disconnected(struct mi_hook *h, const struct mosquitto *client)
{
    const char *id = client ? mosquitto_client_id(client) : NULL;
    if (id)
        mi_dup_guess_disconnected(h->dup, mi_span_of(id));
}

/* ---- life cycle ---- */

static struct mi_route_metrics **counters_of(struct mi_metrics *metrics, const struct mi_config *config)
{
    struct mi_route_metrics **c = calloc(config->route_count + 1, sizeof *c);
    for (size_t i = 0; c && i < config->route_count; i++)
        c[i] = mi_metrics_route(metrics, config->routes[i].id, config->routes[i].name);
    return c;
}

struct mi_hook *mi_hook_new(const struct mi_hook_options *options, struct mi_error *err)
{
    struct mi_hook *h = calloc(1, sizeof *h);
    if (!h) {
        mi_error_set(err, "out of memory");
        return NULL;
    }
    h->options = *options;
    mi_config_hold(h->options.config);
    h->journal = mi_bridge_journal(options->bridge);
    h->stamps = mi_shared_log_has_stamp(options->config);
    mi_buf_init(&h->properties, MI_MAX_OVERFLOW_BYTES);
    mi_buf_init(&h->topic, MI_MAX_MQTT_STRING + 1);
    for (size_t i = 0; i < ENVELOPE_FORMS; i++)
        mi_envelope_init(&h->envelopes[i]);
    h->counters = counters_of(options->metrics, options->config);
    h->dup = mi_dup_guess_new(MAX_DUP_CLIENTS);
    if (!h->counters || !h->dup) {
        mi_error_set(err, "out of memory");
        mi_hook_free(h);
        return NULL;
    }
    return h;
}

void mi_hook_free(struct mi_hook *h)
{
    if (!h)
        return;
    mi_dup_guess_free(h->dup);
    free(h->counters);
    for (size_t i = 0; i < ENVELOPE_FORMS; i++)
        mi_envelope_fini(&h->envelopes[i]);
    mi_buf_fini(&h->properties);
    mi_buf_fini(&h->topic);
    mi_config_release(h->options.config);
    free(h);
}

int mi_hook_set_config(struct mi_hook *h, struct mi_config *config, struct mi_error *err)
{
    struct mi_route_metrics **counters = counters_of(h->options.metrics, config);
    if (!counters)
        return mi_error_set(err, "out of memory");
    free(h->counters);
    h->counters = counters;
    mi_config_hold(config);
    mi_config_release(h->options.config);
    h->options.config = config;
    h->stamps = mi_shared_log_has_stamp(config);
    return 0;
}

/* ---- routes ---- */

/* Reads the properties once, at the first need: a template that asks for one, or a route that takes the
 * message. */
static struct mi_span properties_of(struct publish *p)
{
    struct mi_hook *h = p->hook;
    if (!p->event)
        return p->message.properties;
    if (p->properties_read)
        return mi_buf_span(&h->properties);
    p->properties_read = true;
    mi_buf_reset(&h->properties);
    if (p->event->properties &&
        (!h->options.compat->has_readers ||
         !mi_properties_from_list(h->options.compat, p->event->properties, &h->properties)))
        mi_metrics_add(h->options.metrics, MI_G_PROPERTIES_LOST, 1);
    return mi_buf_span(&h->properties);
}

static bool user_property(void *context, struct mi_span name, struct mi_span *value)
{
    struct mi_property found;
    if (!mi_properties_find(properties_of(context), MI_PROP_USER, name, &found))
        return false;
    *value = found.value;
    return true;
}

static size_t find_routes(struct publish *p)
{
    const struct mosquitto_evt_message *e = p->event;
    p->message.topic = mi_span_of(e->topic);
    p->message.client_id = mi_span_of(e->client ? mosquitto_client_id(e->client) : NULL);
    p->message.username = mi_span_of(e->client ? mosquitto_client_username(e->client) : NULL);
    return match(p);
}

static size_t match(struct publish *p)
{
    struct mi_map_input input = {
        .topic = p->message.topic,
        .client_id = p->message.client_id,
        .username = p->message.username,
        .property = user_property,
        .property_context = p,
    };
    struct mi_map *map = p->hook->options.config->map;
    struct mi_map_counts before, after;
    mi_map_get_counts(map, &before);
    p->hit_count = mi_map_match(map, &input, p->hits);
    mi_map_get_counts(map, &after);
    if (after.too_many != before.too_many)
        mi_metrics_add(p->hook->options.metrics, MI_G_TOO_MANY_ROUTES, 1);
    if (after.regex_limits != before.regex_limits)
        mi_metrics_add(p->hook->options.metrics, MI_G_REGEX_LIMITS, 1);
    return p->hit_count;
}

static const struct mi_route *route_of(const struct publish *p, size_t hit)
{
    return &p->hook->options.config->routes[p->hits[hit].rule];
}

static void count_hits(struct publish *p, enum mi_route_counter which)
{
    for (size_t i = 0; i < p->hit_count; i++)
        mi_count(p->hook->counters[p->hits[i].rule], which, 1);
}

/* A route is fed by the event or by the subscription, never by both. */
static void keep_own_hits(struct publish *p)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->hit_count; i++)
        if (route_of(p, i)->subscription == !p->event)
            p->hits[kept++] = p->hits[i];
    p->hit_count = kept;
}

/* What a bridge published out of a log, and an MQTT bridge brought here, is not written into that log again.
 */
static void drop_stamped(struct publish *p)
{
    struct mi_span origin;
    size_t kept = 0;
    if (!user_property(p, mi_span_of(MI_STAMP_NAME), &origin))
        return;
    for (size_t i = 0; i < p->hit_count; i++) {
        if (mi_shared_log_stamps(p->hook->options.config, &p->hits[i]))
            mi_count(p->hook->counters[p->hits[i].rule], MI_C_STAMPED, 1);
        else
            p->hits[kept++] = p->hits[i];
    }
    p->hit_count = kept;
}

/* ---- the copy ---- */

static void fill_message(struct publish *p)
{
    const struct mosquitto_evt_message *e = p->event;
    if (e) {
        p->message.payload = (struct mi_span){e->payload, e->payload ? e->payloadlen : 0};
        p->message.qos = e->qos;
        p->message.retain = e->retain;
    }
    p->message.origin = mi_span_of(mi_journal_identity(p->hook->journal));
    p->message.time_us = mi_wall_us(p->hook->options.clock);
    p->message.properties = properties_of(p);
}

/* Routes that hide the same things share an encoding. NULL when memory is out. */
static const struct mi_envelope *envelope_for(struct publish *p, const struct mi_route *route)
{
    size_t form = (route->send_client_id ? 1u : 0u) | (route->send_username ? 2u : 0u);
    struct mi_envelope *envelope = &p->hook->envelopes[form];
    if (p->encoded[form])
        return envelope;
    struct mi_message m = p->message;
    if (!route->send_client_id)
        m.client_id = mi_span_of(NULL);
    if (!route->send_username)
        m.username = mi_span_of(NULL);
    p->encoded[form] = mi_envelope_encode(envelope, &m);
    return p->encoded[form] ? envelope : NULL;
}

static enum mi_reason reason_of(enum mi_hit_status status)
{
    switch (status) {
    case MI_HIT_STREAM_UNUSABLE:
        return MI_REASON_STREAM_NAME;
    case MI_HIT_TOPIC_UNUSABLE:
        return MI_REASON_TOPIC_NAME;
    default:
        return MI_REASON_NONE;
    }
}

/* A name that is longer than the record can hold is unusable anyway; its dead letter shows the beginning. */
static struct mi_span cut_name(struct mi_span name)
{
    return (struct mi_span){name.data, name.len < UINT16_MAX ? name.len : UINT16_MAX};
}

static bool make_record(struct publish *p, size_t i, struct mi_record *out)
{
    const struct mi_hit *hit = &p->hits[i];
    const struct mi_envelope *envelope = envelope_for(p, route_of(p, i));
    if (!envelope)
        return false;
    *out = (struct mi_record){
        .time_us = p->message.time_us,
        .route = route_of(p, i)->id,
        .key_hash = hit->key_hash,
        .qos = p->message.qos,
        .balanced = hit->balanced,
        .reason = (uint8_t)reason_of(hit->status),
        .stream = cut_name(hit->stream),
        .topic = cut_name(hit->topic),
        .headers = mi_buf_span(&envelope->headers),
        .prefix = mi_buf_span(&envelope->prefix),
        .payload = p->message.payload,
    };
    return true;
}

static enum mi_append append(struct publish *p)
{
    struct mi_record records[MI_MAX_HITS];
    for (size_t i = 0; i < p->hit_count; i++)
        if (!make_record(p, i, &records[i]))
            return MI_APPEND_FAILED;
    enum mi_append result = mi_journal_append(p->hook->journal, records, p->hit_count);
    p->first_sequence = records[0].sequence;
    return result;
}

/* NULL when memory is out. */
static const char *topic_text(struct publish *p)
{
    struct mi_buf *text = &p->hook->topic;
    if (p->event)
        return p->event->topic;
    mi_buf_reset(text);
    mi_buf_add_span(text, p->message.topic);
    return mi_buf_add_byte(text, 0) ? (const char *)text->data : NULL;
}

/* One of its copies will be read back, and stands for all of them: their order is the same. */
static void note_retained(struct publish *p)
{
    struct mi_hook *h = p->hook;
    for (size_t i = 0; i < p->hit_count; i++)
        if (p->hits[i].status == MI_HIT_OK &&
            mi_shared_log_follows(h->options.config, &p->hits[i], p->message.topic)) {
            const char *topic = topic_text(p);
            if (topic)
                mi_retained_own(h->options.retained, topic, p->first_sequence + i);
            return;
        }
}

/* wait_for_iggy: the longest wait that one of its routes asks for. */
static void wait_for_iggy(struct publish *p)
{
    uint64_t longest = 0;
    for (size_t i = 0; i < p->hit_count; i++)
        if (route_of(p, i)->wait_for_iggy_ns > longest)
            longest = route_of(p, i)->wait_for_iggy_ns;
    if (longest && !mi_bridge_wait_settled(p->hook->options.bridge, p->first_sequence,
                                           p->first_sequence + p->hit_count - 1, longest))
        count_hits(p, MI_C_LATE);
}

static void shrink(struct mi_buf *b)
{
    if (b->cap > KEPT_BUFFER_BYTES)
        mi_buf_fini(b);
}

static void give_back(struct mi_hook *h)
{
    shrink(&h->properties);
    for (size_t i = 0; i < ENVELOPE_FORMS; i++) {
        shrink(&h->envelopes[i].headers);
        shrink(&h->envelopes[i].prefix);
    }
}

static bool target_missing(const struct publish *p)
{
    for (size_t i = 0; i < p->hit_count; i++)
        if (route_of(p, i)->on_missing == MI_MISSING_REFUSE && p->hits[i].status == MI_HIT_OK &&
            mi_bridge_target_missing(p->hook->options.bridge, p->hits[i].stream, p->hits[i].topic))
            return true;
    return false;
}

static bool route_full(const struct publish *p)
{
    for (size_t i = 0; i < p->hit_count; i++)
        if (mi_bridge_route_full(p->hook->options.bridge, route_of(p, i)->id))
            return true;
    return false;
}

static int not_kept(struct publish *p, enum trouble trouble);

static int keep_copy(struct publish *p)
{
    struct mi_hook *h = p->hook;
    bool acknowledged = p->event->qos > 0;
    if (acknowledged && target_missing(p))
        return not_kept(p, MISSING);
    if (route_full(p))
        return not_kept(p, PARKED);
    fill_message(p);
    uint64_t print = 0;
    if (acknowledged) {
        print = mi_dup_guess_print(p->message.topic, p->message.payload, p->message.qos, p->message.retain);
        p->message.maybe_dup = mi_dup_guess_check(h->dup, p->message.client_id, print);
    }
    enum mi_append result = append(p);
    give_back(h);
    switch (result) {
    case MI_APPEND_OK:
        if (p->event->retain && h->options.retained)
            note_retained(p);
        if (acknowledged) {
            mi_dup_guess_keep(h->dup, p->message.client_id, print);
            wait_for_iggy(p);
        }
        return MOSQ_ERR_SUCCESS;
    case MI_APPEND_FULL:
        return not_kept(p, FULL);
    case MI_APPEND_TOO_LARGE:
        return not_kept(p, TOO_LARGE);
    default:
        return not_kept(p, FAILED);
    }
}

/* ---- refusing ---- */

static void tell(struct publish *p, enum trouble trouble, const char *consequence)
{
    static const char *const texts[TROUBLES] = {
        [FULL] = "the journal is full (journal.max_size); Iggy is away or too slow, or the limit too small",
        [FAILED] =
            "the journal cannot be written: see the journal's own message, and free or repair its disk",
        [TOO_LARGE] = "the message is larger than the whole journal may be (journal.max_size)",
        [PARKED] = "parked_max_size is reached: the route's targets do not take their messages, see the log",
        [MISSING] = "the target does not exist in Iggy and the route says on_missing: refuse",
    };
    struct mi_hook *h = p->hook;
    mi_log_limited(h->options.log, &h->limits[trouble], mi_now_ns(h->options.clock),
                   LOG_EVERY_S * MI_NS_PER_S, trouble == FAILED ? MI_LOG_ERROR : MI_LOG_WARNING,
                   "route %s, journal %s: %s; %s", route_of(p, 0)->name, h->options.config->journal_directory,
                   texts[trouble], consequence);
}

static int deliver_only(struct publish *p, enum trouble trouble, enum mi_route_counter which)
{
    count_hits(p, which);
    tell(p, trouble, "the PUBLISH is delivered to subscribers without a copy in Iggy");
    return MOSQ_ERR_SUCCESS;
}

static bool all_deliver_without_copy(const struct publish *p)
{
    for (size_t i = 0; i < p->hit_count; i++)
        if (route_of(p, i)->when_full != MI_FULL_DELIVER_WITHOUT_COPY)
            return false;
    return true;
}

static bool has_reason_codes(const struct publish *p)
{
    return p->event->client && mosquitto_client_protocol_version(p->event->client) >= 5;
}

static bool wants_disconnect(const struct publish *p)
{
    for (size_t i = 0; i < p->hit_count; i++)
        if (route_of(p, i)->refuse == MI_REFUSE_DISCONNECT)
            return true;
    return false;
}

static int refuse(struct publish *p, enum trouble trouble)
{
    static const enum mi_route_counter counters[TROUBLES] = {
        [FULL] = MI_C_REJECTED_FULL,       [FAILED] = MI_C_REJECTED_FAILED, [TOO_LARGE] = MI_C_REJECTED_FULL,
        [MISSING] = MI_C_REJECTED_MISSING, [PARKED] = MI_C_REJECTED_FULL,
    };
    count_hits(p, counters[trouble]);
    if (has_reason_codes(p) && (trouble == TOO_LARGE || !wants_disconnect(p))) {
        tell(p, trouble, "the PUBLISH is refused by reason code");
        return p->hook->options.compat->v2_1 ? (int)MI_ERR_QUOTA_EXCEEDED : (int)MOSQ_ERR_ACL_DENIED;
    }
    tell(p, trouble, "the PUBLISH is refused and its client disconnected");
    return MOSQ_ERR_UNKNOWN;
}

static int not_kept(struct publish *p, enum trouble trouble)
{
    if (p->event->qos == 0)
        return deliver_only(p, trouble, MI_C_DROPPED_QOS0);
    if (trouble == TOO_LARGE && !has_reason_codes(p))
        return deliver_only(p, trouble, MI_C_DROPPED_WITHOUT_COPY);
    if (trouble != MISSING && all_deliver_without_copy(p))
        return deliver_only(p, trouble, MI_C_DROPPED_WITHOUT_COPY);
    return refuse(p, trouble);
}

/* ---- through the plugin's own subscription ---- */

/* Nobody waits for an answer: what is not kept stays in the broker's queue, unacknowledged, until it is. */
static bool keep_subscribed(struct publish *p)
{
    struct mi_hook *h = p->hook;
    fill_message(p);
    enum mi_append result = route_full(p) ? MI_APPEND_FULL : append(p);
    give_back(h);
    if (result == MI_APPEND_OK) {
        if (p->message.retain && h->options.retained)
            note_retained(p);
        return true;
    }
    enum trouble trouble = result == MI_APPEND_FULL        ? FULL
                           : result == MI_APPEND_TOO_LARGE ? TOO_LARGE
                                                           : FAILED;
    if (p->message.qos > 0 && trouble != TOO_LARGE && !all_deliver_without_copy(p)) {
        tell(p, trouble, "what its subscription brings waits in the broker");
        return false;
    }
    count_hits(p, p->message.qos > 0 ? MI_C_DROPPED_WITHOUT_COPY : MI_C_DROPPED_QOS0);
    tell(p, trouble, "a message that its subscription brought has no copy in Iggy");
    return true;
}
