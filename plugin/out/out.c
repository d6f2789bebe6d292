/*
 * out: its life, one step, and its face to the loop.
 */
#include "out/out.h"

#include <stdlib.h>

#include "out/id_set.h"
#include "out/memory.h"
#include "out/out_private.h"
#include "out/parked.h"

enum { GAUGES_MS = 250, MAX_RECORD = 128 << 20 };

static bool build(struct mi_out *out, const struct mi_out_options *options, struct mi_error *err);
static void gauges(struct mi_out *out, uint64_t now);

struct mi_out *mi_out_new(const struct mi_out_options *options, struct mi_error *err)
{
    struct mi_transport transport = mi_transport_of(options->client);
    return mi_out_new_over(options, &transport, err);
}

struct mi_out *mi_out_new_over(const struct mi_out_options *options, const struct mi_transport *transport,
                               struct mi_error *err)
{
    struct mi_out *out = calloc(1, sizeof *out);
    if (!out) {
        mi_error_set(err, "out of memory");
        return NULL;
    }
    out->config = mi_config_hold(options->config);
    out->transport = *transport;
    out->journal = options->journal;
    out->metrics = options->metrics;
    out->clock = options->clock;
    out->log = options->log;
    out->start_ns = mi_now_ns(out->clock);
    out->ready_end = &out->ready;
    out->timed_due_ns = UINT64_MAX;
    mi_queue_init(&out->dead_waiting);
    mi_queue_init(&out->homeless);
    mi_buf_init(&out->scratch, MAX_RECORD);
    mi_buf_init(&out->dead_headers, MI_MAX_HEADER_BLOCK);
    mi_buf_init(&out->parked_bytes, MAX_RECORD);
    mi_parked_files_init(&out->parked_files, out->config->journal_directory);
    mi_missing_init(&out->missing, mi_random(out->clock));
    mi_missing_init(&out->full_routes, mi_random(out->clock));
    mi_out_routes_init(&out->routes, out->metrics);
    if (!build(out, options, err)) {
        mi_out_free(out);
        return NULL;
    }
    return out;
}

static bool build(struct mi_out *out, const struct mi_out_options *options, struct mi_error *err)
{
    struct mi_targets_options targets = {
        .transport = &out->transport,
        .clock = out->clock,
        .log = out->log,
        .gate = &out->gate,
        .missing = &out->missing,
        .routes = &out->routes,
        .in_flight = &out->in_flight,
        .ready = mi_out_target_ready,
        .context = out,
    };
    struct mi_journal_stats stats;
    uint64_t start = 0;
    mi_journal_stats(out->journal, &stats);
    out->start_sequence = stats.next_sequence;
    out->targets = mi_targets_new(&targets);
    out->found_ahead = mi_id_set_new();
    if (!out->targets || !out->found_ahead || !mi_window_init(&out->window, 0) ||
        !mi_out_routes_set(&out->routes, out->config)) {
        mi_error_set(err, "out of memory");
        return false;
    }
    mi_targets_set_config(out->targets, out->config);
    if (mi_out_restore(out, options->checkpoint, &start, err) != 0)
        return false;
    out->window.next_sequence = start > stats.first_sequence ? start : stats.first_sequence;
    out->cursor = mi_cursor_new(out->journal, out->window.next_sequence);
    out->dead = mi_dead_letters_new(out->config->journal_directory, out->config->dead_letter_file_max,
                                    out->parked_count ? 0 : start);
    if (!out->cursor || !out->dead)
        mi_error_set(err, "out of memory");
    return out->cursor && out->dead;
}

void mi_out_free(struct mi_out *out)
{
    if (!out)
        return;
    out->freeing = true;
    if (out->restart.request)
        out->transport.cancel(out->transport.context, out->restart.request);
    for (uint32_t i = 0; i < out->lane_count; i++)
        mi_out_lane_free(out->lanes[i]);
    free(out->lanes);
    for (uint32_t i = 0; i < out->spare_count; i++)
        iggy_batch_free(out->spare[i]);
    mi_parked_fini(out);
    mi_targets_free(out->targets);
    mi_dead_letters_free(out->dead);
    mi_id_set_free(out->found_ahead);
    mi_done_runs_fini(&out->done_before);
    mi_cursor_free(out->cursor);
    mi_cursor_free(out->lost_cursor);
    mi_window_fini(&out->window);
    mi_out_routes_fini(&out->routes);
    mi_buf_fini(&out->scratch);
    mi_buf_fini(&out->dead_headers);
    mi_config_release(out->config);
    free(out);
}

void mi_out_set_config(struct mi_out *out, struct mi_config *config)
{
    if (!mi_out_routes_set(&out->routes, config)) {
        mi_log_line(out->log, MI_LOG_ERROR, "out of memory: shipping goes on with the former configuration");
        mi_out_routes_set(&out->routes, out->config);
        return;
    }
    struct mi_config *former = out->config;
    out->config = mi_config_hold(config);
    mi_targets_set_config(out->targets, config);
    mi_dead_letters_set_max(out->dead, config->dead_letter_file_max);
    for (uint32_t i = 0; i < out->lane_count; i++)
        out->lanes[i]->byte_limit = config->max_batch_bytes;
    mi_config_release(former);
}

static uint32_t request_limit(const struct mi_out *out)
{
    if (out->stopping)
        return 0;
    return out->config->max_requests < MI_MAX_REQUESTS ? out->config->max_requests : MI_MAX_REQUESTS;
}

uint64_t mi_out_step(struct mi_out *out, uint64_t now)
{
    uint64_t due = mi_out_restart_step(out, now);
    due = mi_earlier(due, mi_targets_step(out->targets, now, request_limit(out)));
    due = mi_earlier(due, mi_out_timers(out, now));
    bool more = mi_out_resend_step(out);
    more |= mi_out_read_on(out, now);
    uint64_t parked_due = mi_parked_step(out, now);
    more |= parked_due == 0;
    due = mi_earlier(due, parked_due);
    mi_out_send(out, now);
    due = mi_earlier(due, mi_out_dead_step(out, now));
    due = mi_earlier(due, mi_out_homeless_step(out, now));
    due = mi_earlier(due, out->timed_due_ns);
    if (out->paused_for)
        due = mi_earlier(due, out->paused_until_ns);
    if (out->read_due_ns > now)
        due = mi_earlier(due, out->read_due_ns);
    if (out->gate.closed && !out->gate.probing)
        due = mi_earlier(due, out->gate.due_ns);
    if (mi_out_holds_sends(out, now))
        due = mi_earlier(due, out->restart.hold_until_ns);
    gauges(out, now);
    return more ? now : due > now ? due : now + MI_NS_PER_MS;
}

bool mi_out_idle(const struct mi_out *out)
{
    struct mi_journal_stats stats;
    mi_journal_stats(out->journal, &stats);
    struct mi_parked_totals parked;
    mi_parked_total(out, &parked);
    return parked.targets == 0 && mi_window_pending(&out->window) == 0 && out->window.side_used == 0 &&
           out->in_flight == 0 && mi_cursor_sequence(out->cursor) >= stats.next_sequence;
}

bool mi_out_run_settled(const struct mi_out *out, uint64_t first, uint64_t last)
{
    if (last >= out->window.next_sequence)
        return false;
    for (uint64_t sequence = first; sequence <= last; sequence++)
        if ((sequence >= mi_window_start(&out->window) &&
             mi_window_find(&out->window, sequence) != MI_NO_ENTRY) ||
            (sequence && out->parked_recent[sequence % MI_PARKED_RECENT] == sequence))
            return false;
    return true;
}

void mi_out_refresh_metrics(struct mi_out *out)
{
    mi_out_mirror_counts(out);
}

bool mi_out_away(const struct mi_out *out)
{
    return out->gate.closed;
}

bool mi_out_quiet(const struct mi_out *out)
{
    return out->in_flight == 0;
}

void mi_out_stop(struct mi_out *out)
{
    out->stopping = true;
}

bool mi_out_changed(const struct mi_out *out)
{
    return out->changed;
}

bool mi_out_target_missing(struct mi_out *out, struct mi_span stream, struct mi_span topic)
{
    return mi_missing_has(&out->missing, stream, topic);
}

bool mi_out_route_full(struct mi_out *out, uint32_t route)
{
    uint8_t id[4];
    mi_put_u32le(id, route);
    return mi_missing_has(&out->full_routes, (struct mi_span){id, sizeof id}, (struct mi_span){0});
}

static uint64_t oldest_pending_ms(struct mi_out *out, uint64_t oldest_us)
{
    struct mi_record r;
    const struct mi_entry *e = mi_out_entry(out, (uint32_t)(out->window.head % MI_WINDOW_RECORDS));
    if (mi_window_pending(&out->window) &&
        mi_journal_read(out->journal, &e->ref, &out->scratch, &r, NULL) == 0 && r.time_us < oldest_us)
        oldest_us = r.time_us;
    uint64_t wall = mi_wall_us(out->clock);
    return wall > oldest_us ? (wall - oldest_us) / 1000 : 0;
}

static void gauges(struct mi_out *out, uint64_t now)
{
    if (now < out->gauges_due_ns)
        return;
    out->gauges_due_ns = now + GAUGES_MS * MI_NS_PER_MS;
    uint64_t waiting = 0, held = 0;
    for (uint32_t i = 0; i < out->lane_count; i++) {
        waiting += out->lanes[i]->queue.count > 0;
        held += out->lanes[i]->machine.state == MI_LANE_HELD;
    }
    mi_metrics_set(out->metrics, MI_G_LANES, waiting);
    mi_metrics_set(out->metrics, MI_G_LANES_HELD, held);
    mi_metrics_set(out->metrics, MI_G_IN_FLIGHT, out->in_flight);
    struct mi_parked_totals parked;
    mi_parked_total(out, &parked);
    mi_metrics_set(out->metrics, MI_G_PARKED, parked.records);
    mi_metrics_set(out->metrics, MI_G_PARKED_BYTES, parked.bytes);
    mi_metrics_set(out->metrics, MI_G_OLDEST_PENDING_MS, oldest_pending_ms(out, parked.oldest_us));
    mi_out_mirror_counts(out);
}
