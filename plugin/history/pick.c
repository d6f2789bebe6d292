#include "history/pick.h"

#include <string.h>

#include "message/envelope.h"
#include "message/headers.h"

/* The MQTT topic that this route gives the message, in p->topic; false when it is none of this route's. */
static bool topic_by_route(const struct mi_pick *p, size_t route, bool native, const struct mi_message *m,
                           struct mi_span headers)
{
    const struct mi_map *map = p->config->map;
    struct mi_span stream = mi_span_of(p->place->stream), topic = mi_span_of(p->place->topic);
    mi_buf_reset(p->topic);
    if (!native && mi_map_has_filter(map, route))
        return mi_map_maps_back(map, route, m->topic, stream, topic) && mi_buf_add_span(p->topic, m->topic);
    struct mi_header_lookup lookup = {.block = headers};
    struct mi_native_input input = {stream, topic, p->partition, mi_header_lookup, &lookup};
    const char *why;
    return mi_map_native_topic(map, route, &input, p->topic, &why);
}

static bool wanted_topic(const struct mi_pick *p)
{
    struct mi_span topic = mi_buf_span(p->topic);
    return topic.len > 0 && topic.data[0] != '$' && !memchr(topic.data, 0, topic.len) &&
           !memchr(topic.data, '+', topic.len) && !memchr(topic.data, '#', topic.len) &&
           mi_filter_match(p->filter, topic, NULL);
}

enum mi_picked mi_pick(const struct mi_pick *p, const struct iggy_polled_message *m,
                       struct mi_history_item **item)
{
    struct mi_message message;
    struct mi_span headers = {m->headers.data, m->headers.len};
    struct mi_span payload = {m->payload.data, m->payload.len};
    const char *why;
    memset(&message, 0, sizeof message);
    enum mi_decoded form = mi_envelope_decode(headers, payload, &message, p->scratch, &why);
    if (form == MI_DECODED_BROKEN || form == MI_DECODED_UNKNOWN)
        return MI_PICK_UNREADABLE;
    bool native = form == MI_DECODED_NATIVE;
    /* The cheap question first: most messages of a large topic are not wanted. */
    if (!native && p->place->route_count == 1 && mi_map_has_filter(p->config->map, p->place->routes[0]) &&
        !mi_filter_match(p->filter, message.topic, NULL))
        return MI_PICK_NOT_WANTED;
    uint64_t stamp = message.time_us ? message.time_us : m->timestamp;
    if (stamp < p->since_us)
        return MI_PICK_NOT_WANTED;
    for (size_t i = 0; i < p->place->route_count; i++) {
        size_t route = p->place->routes[i];
        if (!topic_by_route(p, route, native, &message, headers))
            continue;
        if (!wanted_topic(p))
            return MI_PICK_NOT_WANTED;
        uint8_t qos = native ? p->config->routes[route].in_qos : message.qos;
        struct mi_item_text text = {p->mount, p->from, mi_buf_span(p->topic)};
        *item = mi_item_new(&text, message.payload, message.properties, qos < p->max_qos ? qos : p->max_qos);
        return *item ? MI_PICKED : MI_PICK_UNREADABLE;
    }
    return MI_PICK_NOT_WANTED;
}
