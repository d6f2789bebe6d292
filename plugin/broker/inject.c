#include "broker/inject.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "broker/compat.h"
#include "broker/properties.h"
#include "broker/store_retained.h"

enum { LOG_EVERY_S = 10 };

struct mi_inject {
    struct mi_inject_options options;
    struct mi_inbound
        *waiting; /* taken from the inbox, oldest first; the broker had no memory for the first */
    struct mi_inbound *published; /* in the last TICK; not yet reported */
    bool decided, publishes;      /* about the first that waits */
    struct mi_store_retained store;
    struct mi_log_limit limit;
};

static void report_delivered(struct mi_inject *in);
static bool take(struct mi_inject *in, struct mi_inbound *m);
static bool publish(struct mi_inject *in, const struct mi_inbound *m);

struct mi_inject *mi_inject_new(const struct mi_inject_options *options)
{
    struct mi_inject *in = calloc(1, sizeof *in);
    if (!in)
        return NULL;
    in->options = *options;
    mi_store_retained_init(&in->store, options->compat, options->clock);
    return in;
}

static void free_list(struct mi_inbound *list)
{
    while (list) {
        struct mi_inbound *m = list;
        list = m->next;
        mi_inbound_free(m);
    }
}

void mi_inject_free(struct mi_inject *in)
{
    if (!in)
        return;
    free_list(in->waiting);
    free_list(in->published);
    free(in);
}

bool mi_inject_idle(const struct mi_inject *in)
{
    return !in->waiting && mi_inbox_empty(in->options.inbox);
}

size_t mi_inject_tick(struct mi_inject *in, size_t max)
{
    mi_retained_tick(in->options.retained);
    if (in->published)
        report_delivered(in);
    if (mi_inject_idle(in))
        return 0;
    if (!in->waiting)
        in->waiting = mi_inbox_take(in->options.inbox, max);
    size_t count = 0;
    for (struct mi_inbound **end = &in->published; in->waiting && take(in, in->waiting); count++) {
        *end = in->waiting;
        in->waiting = in->waiting->next;
        (*end)->next = NULL;
        end = &(*end)->next;
    }
    return count;
}

static void report_delivered(struct mi_inject *in)
{
    for (const struct mi_inbound *m = in->published; m; m = m->next)
        mi_inbox_delivered(in->options.inbox, m->reader, &m->mark);
    free_list(in->published);
    in->published = NULL;
}

/* Is our own message, which was read back, to be published again? */
static bool own_wanted(struct mi_inject *in, const struct mi_inbound *m)
{
    enum mi_own_back back = mi_retained_own_back(in->options.retained, m->topic, m->mark.id_lo);
    bool publish_it =
        m->retain && (back == MI_OWN_PUBLISH || (back == MI_OWN_STORE && !mi_store_retained(&in->store, m)));
    if (!publish_it)
        mi_count(mi_metrics_route(in->options.metrics, m->route, NULL), MI_C_IN_OWN, 1);
    return publish_it;
}

/* Is it to be published, and with retain on? Asked once per message: what waits for memory has its answer. */
static bool wanted(struct mi_inject *in, struct mi_inbound *m)
{
    switch (m->kind) {
    case MI_INBOUND_OWN:
        return own_wanted(in, m);
    case MI_INBOUND_REBUILT:
        return mi_retained_rebuilt(in->options.retained, m->topic, m->mark.id_lo) && m->payload_len > 0;
    case MI_INBOUND_REBUILD_BEGIN:
        mi_retained_rebuild_begin(in->options.retained);
        return false;
    case MI_INBOUND_REBUILD_END:
        mi_retained_rebuild_end(in->options.retained);
        return false;
    default:
        m->retain = m->retain && mi_retained_foreign(in->options.retained, m->topic);
        return true;
    }
}

/* False when it must be tried again. */
static bool take(struct mi_inject *in, struct mi_inbound *m)
{
    if (!in->decided) {
        in->decided = true;
        in->publishes = wanted(in, m);
    }
    if (in->publishes && !publish(in, m))
        return false;
    in->decided = false;
    return true;
}

static void skip(struct mi_inject *in, const struct mi_inbound *m, enum mi_route_counter which,
                 const char *why)
{
    mi_count(mi_metrics_route(in->options.metrics, m->route, NULL), which, 1);
    mi_log_limited(in->options.log, &in->limit, mi_now_ns(in->options.clock), LOG_EVERY_S * MI_NS_PER_S,
                   MI_LOG_WARNING, "a message from Iggy (offset %llu) is not published: %s",
                   (unsigned long long)m->mark.offset, why);
}

static bool topic_allowed(const char *topic)
{
    return topic[0] != '\0' && topic[0] != '$' && mosquitto_pub_topic_check(topic) == MOSQ_ERR_SUCCESS &&
           mosquitto_validate_utf8(topic, (int)strlen(topic)) == MOSQ_ERR_SUCCESS;
}

/* False when the broker has no memory for it now; a message that it will never take is skipped, which is
 * true. */
static bool publish(struct mi_inject *in, const struct mi_inbound *m)
{
    mosquitto_property *properties = NULL;
    if (!topic_allowed(m->topic)) {
        skip(in, m, MI_C_IN_TOPIC, "its MQTT topic is none that may be published");
        return true;
    }
    struct mi_span block = {m->properties, m->properties_len};
    if (m->payload_len > INT_MAX || !mi_properties_to_list(block, &properties)) {
        skip(in, m, MI_C_IN_BROKEN, "its MQTT properties are malformed");
        return true;
    }
    int result = mosquitto_broker_publish_copy(NULL, m->topic, (int)m->payload_len, m->payload, m->qos,
                                               m->retain, properties);
    if (result == MOSQ_ERR_SUCCESS) {
        mi_count(mi_metrics_route(in->options.metrics, m->route, NULL), MI_C_INJECTED, 1);
        if (m->retain)
            mi_retained_published(in->options.retained, m->topic);
        return true;
    }
    mosquitto_property_free_all(&properties);
    if (result == MOSQ_ERR_NOMEM)
        return false;
    skip(in, m, MI_C_IN_BROKEN, "the broker refused it");
    return true;
}
