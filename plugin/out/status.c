/*
 * status: lanes as JSON for /status.json.
 */
#include "out/out_private.h"
#include "out/parked.h"

static void quoted(struct mi_buf *b, struct mi_span s)
{
    mi_buf_add_byte(b, '"');
    for (size_t i = 0; i < s.len; i++) {
        uint8_t c = s.data[i];
        if (c == '"' || c == '\\')
            mi_buf_addf(b, "\\%c", c);
        else if (c < 0x20)
            mi_buf_addf(b, "\\u%04x", c);
        else
            mi_buf_add_byte(b, c);
    }
    mi_buf_add_byte(b, '"');
}

static void lane(struct mi_buf *b, const struct mi_lane *l)
{
    mi_buf_add_text(b, "{\"stream\":");
    quoted(b, l->target->stream);
    mi_buf_add_text(b, ",\"topic\":");
    quoted(b, l->target->topic);
    mi_buf_addf(b, ",\"partition\":%u,\"state\":\"%s\",\"waiting\":%u,\"again\":%u,\"failures\":%u",
                l->partition, mi_lane_state_name(l->machine.state), l->queue.count, l->again.count,
                l->machine.failures);
    if (l->parked)
        mi_buf_add_text(b, ",\"parked\":true");
    if (l->confirmed)
        mi_buf_addf(b, ",\"offset\":%llu", (unsigned long long)l->confirmed_offset);
    mi_buf_add_byte(b, '}');
}

bool mi_out_status(struct mi_out *out, struct mi_buf *json)
{
    enum { MOST = 1000 };
    uint32_t shown = out->lane_count < MOST ? out->lane_count : MOST;
    struct mi_parked_totals parked;
    mi_parked_total(out, &parked);
    mi_buf_addf(json,
                "{\"parked\":{\"messages\":%llu,\"bytes\":%llu,\"topics\":%llu},\"connected\":%s,\"window\":%"
                "llu,\"waiting_for_dead_letters\":%u,\"lane_count\":%u,\"lanes\":[",
                (unsigned long long)parked.records, (unsigned long long)parked.bytes,
                (unsigned long long)parked.targets, out->gate.closed ? "false" : "true",
                (unsigned long long)mi_window_pending(&out->window), out->dead_waiting.count,
                out->lane_count);
    for (uint32_t i = 0; i < shown; i++) {
        if (i)
            mi_buf_add_byte(json, ',');
        lane(json, out->lanes[i]);
    }
    return mi_buf_add_text(json, "]}");
}
