#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support/process.h"
#include "support/suite.h"

static uint64_t now_ns(void *context)
{
    (void)context;
    return fake.now_ns;
}

static uint64_t wall_us(void *context)
{
    (void)context;
    return 1700000000000000ull + fake.now_ns / 1000;
}

static uint64_t random_bits(void *context)
{
    (void)context;
    return fake_random();
}

static void write_line(void *context, enum mi_log_level level, const char *line)
{
    struct world *w = context;
    size_t at = strlen(w->lines);
    if (getenv("WORLD_LOG"))
        fprintf(stderr, "%9.3f %d %s\n", (double)fake.now_ns / 1e9, level, line);
    snprintf(w->lines + at, sizeof w->lines - at, "%s\n", line);
}

static void find(void *context, const struct mi_finding *f)
{
    (void)context;
    if (f->refused)
        fprintf(stderr, "config: %s: %s\n", f->key, f->sentence);
}

static bool is_own(void *context, struct mi_span origin)
{
    (void)context;
    (void)origin;
    return false;
}

static void wake(void *context)
{
    (void)context;
}

static void read_config(struct world *w, const char *json)
{
    char path[300], secret[300], text[8192];
    snprintf(path, sizeof path, "%s/iggy.json", w->dir);
    snprintf(secret, sizeof secret, "%s/secret", w->dir);
    snprintf(text, sizeof text,
             "{'iggy':{'url':'http://127.0.0.1:1','username':'iggy','password_file':'%s'},"
             "'journal':{'directory':'%s/journal'},%s}",
             secret, w->dir, json);
    for (char *c = text; *c; c++)
        if (*c == '\'')
            *c = '"';
    mi_write_file(secret, "iggy\n");
    chmod(secret, 0600);
    mi_write_file(path, text);
    w->config = mi_config_from_file(path, find, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w->config);
}

void world_start(struct world *w)
{
    struct mi_error err;
    w->inbox = mi_inbox_new(w->config->inbox_messages, w->config->max_poll_bytes * 2);
    struct mi_in_options options = {.config = w->config,
                                    .inbox = w->inbox,
                                    .gate = &w->gate,
                                    .rebuild = w->rebuild,
                                    .identity = "0123456789abcdef0123456789abcdef",
                                    .metrics = w->metrics,
                                    .clock = &w->clock,
                                    .log = &w->log,
                                    .is_own = is_own,
                                    .wake = wake,
                                    .context = w};
    w->in = mi_in_new(&options, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w->in);
    if (w->saved.len)
        CU_ASSERT_TRUE(mi_in_load(w->in, mi_buf_span(&w->saved)));
}

void world_begin(struct world *w, const char *json)
{
    memset(w, 0, sizeof *w);
    fake_begin();
    mi_temp_dir(w->dir, sizeof w->dir);
    w->clock = (struct mi_clock){now_ns, wall_us, random_bits, w};
    w->log = (struct mi_log){write_line, w};
    read_config(w, json);
    w->metrics = mi_metrics_new();
    mi_save_gate_init(&w->gate, &(struct mi_broker_facts){0}, NULL, NULL);
    mi_buf_init(&w->saved, 64 << 20);
    world_start(w);
}

/* What the broker took is reported at its next turn. */
static void report(struct world *w)
{
    while (w->taken) {
        struct mi_inbound *m = w->taken;
        w->taken = m->next;
        mi_inbox_delivered(w->inbox, m->reader, &m->mark);
        mi_inbound_free(m);
    }
}

static void take_rebuilt(struct world *w, const struct mi_inbound *m, uint32_t n)
{
    CU_ASSERT_EQUAL(m->reader, 0);
    w->rebuilds_begun += m->kind == MI_INBOUND_REBUILD_BEGIN;
    w->rebuilds_ended += m->kind == MI_INBOUND_REBUILD_END;
    CU_ASSERT_TRUE_FATAL(w->rebuilds_begun > 0 && w->rebuilt_count < 1000);
    if (m->kind != MI_INBOUND_REBUILT)
        return;
    CU_ASSERT_TRUE(m->retain && w->rebuilds_ended < w->rebuilds_begun);
    snprintf(w->rebuilt[w->rebuilt_count].topic, sizeof w->rebuilt[0].topic, "%s", m->topic);
    w->rebuilt[w->rebuilt_count++].n = n;
}

static void take(struct world *w)
{
    w->taken = mi_inbox_take(w->inbox, 200);
    for (const struct mi_inbound *m = w->taken; m; m = m->next) {
        uint32_t n = 0;
        if (m->payload_len >= 4)
            memcpy(&n, m->payload, 4);
        if (m->kind != MI_INBOUND_MESSAGE) {
            take_rebuilt(w, m, n);
            continue;
        }
        CU_ASSERT_TRUE_FATAL(n < sizeof w->times && w->delivered < sizeof w->order / sizeof *w->order);
        w->times[n]++;
        w->order[w->delivered++] = n;
    }
}

void world_pass(struct world *w, uint64_t ms)
{
    uint64_t until = fake.now_ns + ms * MI_NS_PER_MS;
    while (fake.now_ns < until) {
        uint64_t due = mi_in_step(w->in, fake.now_ns), answer = fake_due();
        w->steps++;
        if (!w->broker_stands) {
            report(w);
            take(w);
        }
        due = answer < due ? answer : due;
        if (w->taken && due > fake.now_ns + MI_NS_PER_MS)
            due = fake.now_ns + MI_NS_PER_MS;
        if (due <= fake.now_ns)
            due = fake.now_ns + 1000;
        fake.now_ns = due < until ? due : until;
        fake_answer();
    }
}

void world_settle(struct world *w, uint64_t ms)
{
    size_t before;
    do {
        before = w->delivered;
        world_pass(w, ms);
    } while (w->delivered != before);
}

void world_stop(struct world *w)
{
    report(w);
    mi_in_step(w->in, fake.now_ns);
    mi_buf_reset(&w->saved);
    CU_ASSERT_TRUE(mi_in_save(w->in, &w->saved));
    mi_in_free(w->in);
    mi_inbox_free(w->inbox);
    w->in = NULL;
    w->inbox = NULL;
}

void world_end(struct world *w)
{
    if (w->in)
        world_stop(w);
    mi_metrics_free(w->metrics);
    mi_config_release(w->config);
    mi_buf_fini(&w->saved);
    mi_remove_tree(w->dir);
    fake_end();
}

bool world_said(const struct world *w, const char *text)
{
    return strstr(w->lines, text) != NULL;
}

uint64_t world_counted(struct world *w, size_t route, enum mi_route_counter which)
{
    return mi_counted(mi_metrics_route(w->metrics, w->config->routes[route].id, NULL), which);
}
