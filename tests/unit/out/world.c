/*
 * world: see world.h.
 */
#include "world.h"

#include "support/suite.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support/process.h"

static uint64_t now_ns(void *context)
{
    return ((struct world *)context)->model.now_ns;
}

static uint64_t wall_us(void *context)
{
    return 1700000000000000ull + ((struct world *)context)->model.now_ns / 1000;
}

static uint64_t random_bits(void *context)
{
    return model_random(&((struct world *)context)->model);
}

static void write_line(void *context, enum mi_log_level level, const char *line)
{
    struct world *w = context;
    size_t at = strlen(w->lines);
    if (getenv("WORLD_LOG"))
        fprintf(stderr, "%9.3f %d %s\n", (double)w->model.now_ns / 1e9, level, line);
    snprintf(w->lines + at, sizeof w->lines - at, "%s\n", line);
}

static void find(void *context, const struct mi_finding *f)
{
    (void)context;
    if (f->refused)
        fprintf(stderr, "config: %s: %s\n", f->key, f->sentence);
}

static void open_all(struct world *w)
{
    struct mi_error err;
    struct mi_journal_report report;
    char dir[300];
    snprintf(dir, sizeof dir, "%s/journal", w->dir);
    struct mi_journal_options options = {
        .directory = dir,
        .max_size = 1ull << 30,
        .keep = 1ull << 30,
        .segment_size = 1 << 20,
        .sync_interval_ns = 100 * MI_NS_PER_MS,
        .clock = &w->clock,
        .log = &w->log,
    };
    if (mi_journal_open(&options, &w->journal, &report, &err) != 0)
        CU_FAIL_FATAL("journal");
    struct mi_transport transport = model_transport(&w->model);
    struct mi_out_options out = {
        .config = w->config,
        .journal = w->journal,
        .metrics = w->metrics,
        .clock = &w->clock,
        .log = &w->log,
        .checkpoint = mi_buf_span(&w->checkpoint),
    };
    w->out = mi_out_new_over(&out, &transport, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w->out);
}

void world_begin(struct world *w)
{
    *w = (struct world){0};
    model_init(&w->model);
    mi_temp_dir(w->dir, sizeof w->dir);
    snprintf(w->secret, sizeof w->secret, "%s/secret", w->dir);
    mi_write_file(w->secret, "iggy\n");
    w->clock = (struct mi_clock){now_ns, wall_us, random_bits, w};
    w->log = (struct mi_log){write_line, w};
    char dir[300];
    snprintf(dir, sizeof dir, "%s/journal", w->dir);
    struct mi_plugin_opt opts[] = {{"url", "http://127.0.0.1:1"},
                                   {"username", "iggy"},
                                   {"password_file", w->secret},
                                   {"journal", dir},
                                   {"topic", "sensors/# out s/t"}};
    chmod(w->secret, 0600);
    w->config = mi_config_from_options(opts, sizeof opts / sizeof opts[0], find, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w->config);
    w->metrics = mi_metrics_new();
    mi_buf_init(&w->checkpoint, 64 << 20);
    open_all(w);
}

void world_end(struct world *w)
{
    mi_out_free(w->out);
    mi_journal_close(w->journal);
    model_fini(&w->model);
    mi_metrics_free(w->metrics);
    mi_config_release(w->config);
    mi_buf_fini(&w->checkpoint);
    mi_remove_tree(w->dir);
}

void world_restart(struct world *w)
{
    mi_out_free(w->out);
    mi_journal_close(w->journal);
    mi_metrics_free(w->metrics);
    w->metrics = mi_metrics_new();
    open_all(w);
}

void world_append_record(struct world *w, struct mi_record *r)
{
    uint8_t payload[70000] = {0};
    memcpy(payload, &w->sent, 4);
    r->route = w->config->routes[0].id;
    r->qos = 1;
    r->time_us = mi_wall_us(&w->clock);
    if (!r->payload.len)
        r->payload = (struct mi_span){payload, 4 + w->padding};
    CU_ASSERT_EQUAL(mi_journal_append(w->journal, r, 1), MI_APPEND_OK);
    w->sent++;
}

void world_append_to(struct world *w, uint32_t n, const char *stream, const char *topic, uint32_t key_hash)
{
    for (uint32_t i = 0; i < n; i++) {
        struct mi_record r = {.stream = mi_span_of(stream), .topic = mi_span_of(topic), .key_hash = key_hash};
        world_append_record(w, &r);
    }
}

void world_append(struct world *w, uint32_t n, uint32_t key_hash)
{
    world_append_to(w, n, "s", "t", key_hash);
}

static void one_turn(struct world *w, uint64_t until)
{
    uint64_t due = mi_out_step(w->out, w->model.now_ns);
    uint64_t next = model_next(&w->model);
    next = due < next ? due : next;
    next = next < until ? next : until;
    if (next > w->model.now_ns)
        w->model.now_ns = next;
    model_run(&w->model);
}

bool world_run(struct world *w, uint64_t most_ms)
{
    uint64_t until = w->model.now_ns + most_ms * MI_NS_PER_MS;
    one_turn(w, until);
    while (w->model.now_ns < until && !mi_out_idle(w->out))
        one_turn(w, until);
    return mi_out_idle(w->out);
}

void world_pass(struct world *w, uint64_t ms)
{
    uint64_t until = w->model.now_ns + ms * MI_NS_PER_MS;
    do
        one_turn(w, until);
    while (w->model.now_ns < until);
}

void world_checkpoint(struct world *w)
{
    mi_buf_reset(&w->checkpoint);
    CU_ASSERT_TRUE_FATAL(mi_out_checkpoint(w->out, &w->checkpoint, &w->release));
}

bool world_said(const struct world *w, const char *text)
{
    return strstr(w->lines, text) != NULL;
}

uint64_t world_counted(struct world *w, enum mi_route_counter which)
{
    return mi_counted(mi_metrics_route(w->metrics, w->config->routes[0].id, NULL), which);
}

bool world_each_once(const struct world *w)
{
    uint32_t *seen = calloc(w->sent + 1, sizeof *seen);
    bool ok = true;
    for (size_t i = 0; i < MODEL_TARGETS; i++)
        for (size_t p = 0; p < MODEL_PARTITIONS; p++)
            for (size_t k = 0; k < w->model.topics[i].partition[p].count; k++) {
                uint32_t n = w->model.topics[i].partition[p].list[k].number;
                if (n < w->sent)
                    seen[n]++;
            }
    for (uint32_t n = 0; n < w->sent && ok; n++) {
        ok = seen[n] == 1;
        if (!ok)
            fprintf(stderr, "message %u is there %u times\n", n, seen[n]);
    }
    free(seen);
    return ok;
}

bool world_in_order(struct world *w, const char *stream, const char *topic, uint32_t partition)
{
    const struct partition *p = &model_topic(&w->model, stream, topic)->partition[partition];
    int64_t last = -1;
    for (size_t k = 0; k < p->count; k++) {
        if (p->list[k].number == UINT32_MAX || p->list[k].dead)
            continue;
        if ((int64_t)p->list[k].number <= last) {
            fprintf(stderr, "message %u stands behind %lld\n", p->list[k].number, (long long)last);
            return false;
        }
        last = p->list[k].number;
    }
    return true;
}
