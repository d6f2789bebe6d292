#include "in/deliver.h"

#include <string.h>

#include "message/envelope.h"
#include "message/headers.h"

static const char *native_topic(const struct mi_delivery *d, struct mi_buf *topic)
{
    const char *why = "no topic";
    struct mi_header_lookup lookup = {.block = d->headers};
    struct mi_native_input input = {d->stream, d->topic, d->partition, mi_header_lookup, &lookup};
    return mi_map_native_topic(d->config->map, d->route, &input, topic, &why) ? NULL : why;
}

/* Leaves the MQTT topic in topic; returns why not. */
static const char *choose_topic(const struct mi_delivery *d, enum mi_decoded form, const struct mi_message *m,
                                struct mi_buf *topic)
{
    mi_buf_reset(topic);
    if (form == MI_DECODED_NATIVE || !mi_map_has_filter(d->config->map, d->route))
        return native_topic(d, topic);
    if (!mi_map_maps_back(d->config->map, d->route, m->topic, d->stream, d->topic))
        return "this route would not send its mqtt.topic there";
    mi_buf_add_span(topic, m->topic);
    return NULL;
}

static bool injectable(struct mi_span topic)
{
    return topic.len > 0 && topic.len <= 65535 && topic.data[0] != '$' && !memchr(topic.data, 0, topic.len) &&
           !memchr(topic.data, '+', topic.len) && !memchr(topic.data, '#', topic.len);
}

static bool too_old(const struct mi_delivery *d, const struct mi_message *m)
{
    uint64_t max_age = d->config->routes[d->route].max_age_us;
    uint64_t time = m->time_us ? m->time_us : d->appended_us;
    return max_age && time < d->now_us && d->now_us - time > max_age;
}

static bool retain_flag(enum mi_retain_in how, bool sent)
{
    return how == MI_RETAIN_ALWAYS || (how == MI_RETAIN_KEEP && sent);
}

/* As mi_inbound_new, with the user property by which a bridge of the same log knows what we published. */
static struct mi_inbound *stamped(const struct mi_delivery *d, const struct mi_message *m,
                                  struct mi_span topic)
{
    struct mi_buf block;
    struct mi_inbound *inbound = NULL;
    mi_buf_init(&block, m->properties.len + sizeof MI_STAMP_NAME + d->identity.len + 16);
    if (mi_buf_add_span(&block, m->properties) &&
        mi_properties_add_pair(&block, mi_span_of(MI_STAMP_NAME), d->identity))
        inbound = mi_inbound_new(topic, m->payload, mi_buf_span(&block));
    mi_buf_fini(&block);
    return inbound;
}

static struct mi_inbound *make(const struct mi_delivery *d, enum mi_decoded form, const struct mi_message *m,
                               struct mi_span topic)
{
    const struct mi_route *route = &d->config->routes[d->route];
    struct mi_inbound *inbound =
        route->stamp ? stamped(d, m, topic) : mi_inbound_new(topic, m->payload, m->properties);
    if (!inbound)
        return NULL;
    inbound->qos = form == MI_DECODED_MQTT ? m->qos : route->in_qos;
    inbound->retain = retain_flag(route->retain, m->retain);
    inbound->route = route->id;
    return inbound;
}

struct mi_inbound *mi_deliver(const struct mi_delivery *d, struct mi_buf *scratch, struct mi_buf *topic,
                              enum mi_route_counter *skipped, const char **why)
{
    struct mi_message m;
    memset(&m, 0, sizeof m);
    *why = "headers cannot be read";
    *skipped = MI_C_IN_BROKEN;
    enum mi_decoded form = mi_envelope_decode(d->headers, d->payload, &m, scratch, why);
    if (form == MI_DECODED_UNKNOWN)
        *why = "an envelope version that this bridge does not know";
    if (form == MI_DECODED_UNKNOWN || form == MI_DECODED_BROKEN)
        return NULL;
    bool own = form == MI_DECODED_MQTT && d->is_own(d->context, m.origin);
    if (d->retained_only && !retain_flag(d->config->routes[d->route].retain, m.retain)) {
        *skipped = MI_C_IN_OWN;
        return NULL;
    }
    if (own && !(m.retain && d->config->routes[d->route].retain != MI_RETAIN_NEVER)) {
        *skipped = MI_C_IN_OWN;
        *why = NULL;
        return NULL;
    }
    *skipped = MI_C_IN_TOPIC;
    *why = choose_topic(d, form, &m, topic);
    if (*why)
        return NULL;
    if (!injectable(mi_buf_span(topic))) {
        *why = "its topic may not be published to";
        return NULL;
    }
    if (too_old(d, &m) && !own) {
        *skipped = MI_C_IN_AGE;
        *why = NULL;
        return NULL;
    }
    *skipped = MI_C_ROUTE_COUNTERS;
    *why = "out of memory";
    struct mi_inbound *inbound = make(d, form, &m, mi_buf_span(topic));
    if (inbound && own) {
        inbound->kind = MI_INBOUND_OWN;
        inbound->retain = !too_old(d, &m);
    }
    return inbound;
}
