/*
 * report: what /ready and /status.json say about the bridge as a whole.
 */
#include <inttypes.h>
#include <string.h>

#include "base/json_out.h"
#include "loop/bridge_private.h"

/* A broker that is alive ticks every 100 ms, or at least every second since the bridge thread wakes it. */
enum { TICK_ALIVE_S = 30 };

bool mi_bridge_ready(void *bridge, const char **why)
{
    struct mi_bridge *b = bridge;
    struct mi_journal_stats stats;
    mi_journal_stats(b->journal, &stats);
    if (stats.failed) {
        *why = "the journal's disk refuses writes";
        return false;
    }
    if (mi_now_ns(b->options.clock) - atomic_load(&b->last_tick_ns) > TICK_ALIVE_S * MI_NS_PER_S) {
        *why = "the broker's loop does not turn";
        return false;
    }
    return true;
}

static bool add_string(struct mi_buf *json, const char *text)
{
    return mi_json_add_string(json, mi_span_of(text), NULL);
}

static void add_error(struct mi_buf *json, const char *text)
{
    if (text[0])
        add_string(json, text);
    else
        mi_buf_add_text(json, "null");
}

static const char *server_text(const struct iggy_client *client)
{
    switch (iggy_client_server(client)) {
    case IGGY_SERVER_0_8:
        return "0.8";
    case IGGY_SERVER_0_9:
        return "0.9 or newer";
    case IGGY_SERVER_UNKNOWN:
        break;
    }
    return "not reached yet";
}

bool mi_bridge_status(void *bridge, struct mi_buf *json)
{
    struct mi_bridge *b = bridge;
    struct mi_journal_stats s;
    char reload[sizeof b->reload_error], subscription[sizeof b->subscription_error];
    mi_journal_stats(b->journal, &s);
    pthread_mutex_lock(&b->lock);
    memcpy(reload, b->reload_error, sizeof reload);
    memcpy(subscription, b->subscription_error, sizeof subscription);
    pthread_mutex_unlock(&b->lock);
    mi_buf_add_text(json, "{\"name\":");
    add_string(json, b->config->name ? b->config->name : "");
    mi_buf_addf(json, ",\"identity\":\"%s\",\"iggy\":\"%s\",\"iggy_error\":", mi_journal_identity(b->journal),
                server_text(b->client));
    add_error(json, iggy_client_trouble(b->client));
    mi_buf_add_text(json, ",\"reload_error\":");
    add_error(json, reload);
    mi_buf_add_text(json, ",\"subscription_error\":");
    add_error(json, subscription);
    mi_buf_addf(json,
                ",\"journal\":{\"bytes\":%" PRIu64 ",\"max_bytes\":%" PRIu64 ",\"segments\":%" PRIu64
                ",\"first_sequence\":%" PRIu64 ",\"released_sequence\":%" PRIu64 ",\"next_sequence\":%" PRIu64
                ",\"durable_sequence\":%" PRIu64 ",\"failed\":%s},\"lanes\":",
                s.bytes, s.max_bytes, s.segments, s.first_sequence, s.released_sequence, s.next_sequence,
                s.durable_sequence, s.failed ? "true" : "false");
    return mi_out_status(b->out, json) && mi_buf_add_byte(json, '}');
}
