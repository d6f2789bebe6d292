/*
 * parked: what its own target does not take leaves the window, and comes back in order, once, whatever falls
 * in between (design section 6, promise 6).
 */
#include "out/parked.h"
#include "support/process.h"
#include "support/suite.h"
#include "world.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool denied; /* of every produce request */

static enum fate deny(struct model *m, const uint32_t *numbers, size_t count, size_t bytes)
{
    (void)m, (void)numbers, (void)count, (void)bytes;
    return denied ? FATE_403 : FATE_STORE;
}

/* Messages whose number is odd are refused access, as if they went to a forbidden topic; tests send only such
 * to one target. */
static enum fate deny_odd(struct model *m, const uint32_t *numbers, size_t count, size_t bytes)
{
    (void)m, (void)bytes;
    return denied && count && numbers[0] % 2 ? FATE_403 : FATE_STORE;
}

static void no_creation(struct world *w)
{
    ((struct mi_route *)(uintptr_t)&w->config->routes[0])->create = false;
}

static unsigned parked_files(const struct world *w, char *path, size_t size)
{
    char dir[300];
    unsigned n = 0;
    snprintf(dir, sizeof dir, "%s/journal", w->dir);
    DIR *d = opendir(dir);
    for (const struct dirent *e = readdir(d); e; e = readdir(d))
        if (strncmp(e->d_name, "parked-", 7) == 0) {
            n++;
            if (path)
                snprintf(path, size, "%s/%s", dir, e->d_name);
        }
    closedir(d);
    return n;
}

static void account(struct world *w)
{
    world_pass(w, 300);
    CU_ASSERT_EQUAL(world_counted(w, MI_C_JOURNALED), w->sent);
    CU_ASSERT_EQUAL(world_counted(w, MI_C_COMMITTED), w->sent);
    CU_ASSERT_EQUAL(world_counted(w, MI_C_LOST_RESENT), 0);
}

static void all_arrives(struct world *w)
{
    CU_ASSERT_TRUE(world_run(w, 600000));
    CU_ASSERT_TRUE(world_each_once(w));
    CU_ASSERT_TRUE(world_in_order(w, "s", "t", 0));
    CU_ASSERT_TRUE(world_in_order(w, "s", "held", 0));
    account(w);
}

/* More messages than the window holds wait for a target that is missing: the other route flows on. */
static void test_missing_target_with_100000_stops_nobody(void)
{
    struct world w;
    world_begin(&w);
    no_creation(&w);
    struct model_topic *t = model_create(&w.model, "s", "t", 1);
    for (unsigned i = 0; i < 10; i++) {
        world_append_to(&w, 10000, "s", "held", 0);
        world_append(&w, 100, 0);
    }
    world_pass(&w, 10000);
    CU_ASSERT_EQUAL(t->partition[0].count, 1000);
    world_append(&w, 100, 0);
    world_pass(&w, 1000);
    CU_ASSERT_EQUAL(t->partition[0].count, 1100);
    CU_ASSERT_EQUAL(mi_route_pending(mi_metrics_route(w.metrics, w.config->routes[0].id, NULL)), 100000);
    world_pass(&w, 40000); /* park_after has passed: the rest too */
    CU_ASSERT_EQUAL(mi_window_pending(&w.out->window), 0);
    CU_ASSERT_EQUAL(mi_metrics_get(w.metrics, MI_G_PARKED), 100000);
    CU_ASSERT_EQUAL(parked_files(&w, NULL, 0), 1);
    model_create(&w.model, "s", "held", 1);
    all_arrives(&w);
    world_append(&w, 1, 0);
    world_pass(&w, 1000);
    CU_ASSERT_EQUAL(mi_metrics_get(w.metrics, MI_G_PARKED), 0);
    world_end(&w);
}

static void test_forbidden_target_with_100000_stops_nobody(void)
{
    struct world w;
    world_begin(&w);
    struct model_topic *t = model_create(&w.model, "s", "t", 1);
    model_create(&w.model, "s", "held", 1);
    w.model.fate = deny_odd;
    denied = true;
    for (unsigned i = 0; i < 100000; i++) {
        world_append(&w, 1, 0);
        world_append_to(&w, 1, "s", "held", 0);
        if (i % 5000 == 0)
            world_pass(&w, 200);
    }
    world_pass(&w, 20000);
    CU_ASSERT_EQUAL(t->partition[0].count, 100000);
    world_pass(&w, 40000);
    CU_ASSERT_TRUE(mi_window_pending(&w.out->window) == 0);
    denied = false;
    for (unsigned i = 0; i < 100; i++) { /* newer ones come behind */
        world_append_to(&w, 20, "s", "held", 0);
        world_pass(&w, 20);
    }
    all_arrives(&w);
    world_end(&w);
}

/* The journal has nothing to hold any more, and what was parked survives alone. */
static void test_restart_with_and_without_the_latest_checkpoint(void)
{
    struct world w;
    world_begin(&w);
    model_create(&w.model, "s", "held", 1);
    w.config->park_after_ns = 100 * MI_NS_PER_MS;
    w.model.fate = deny;
    denied = true;
    world_append_to(&w, 3000, "s", "held", 0);
    world_pass(&w, 5000);
    CU_ASSERT_EQUAL(mi_window_pending(&w.out->window), 0);
    CU_ASSERT_FALSE(mi_out_run_settled(w.out, 2990, 2990));
    world_checkpoint(&w);
    mi_journal_release(w.journal, w.release);
    world_append_to(&w, 2000, "s", "held", 0); /* parked, but no checkpoint says so */
    world_pass(&w, 5000);
    CU_ASSERT_EQUAL(mi_window_pending(&w.out->window), 0);
    world_restart(&w);
    world_pass(&w, 20000);
    CU_ASSERT_EQUAL(mi_window_pending(&w.out->window), 0);
    denied = false;
    world_pass(&w, 10000);
    world_restart(&w); /* nothing of what was shipped is in the checkpoint: it must be found */
    all_arrives(&w);
    CU_ASSERT_TRUE(world_counted(&w, MI_C_FOUND) > 0);
    world_end(&w);
}

static void test_files_go_when_a_state_no_longer_needs_them(void)
{
    struct world w;
    world_begin(&w);
    model_create(&w.model, "s", "held", 1);
    w.config->park_after_ns = 100 * MI_NS_PER_MS;
    w.model.fate = deny;
    denied = true;
    world_append_to(&w, 3000, "s", "held", 0);
    world_pass(&w, 5000);
    CU_ASSERT_EQUAL(parked_files(&w, NULL, 0), 1);
    denied = false;
    CU_ASSERT_TRUE(world_run(&w, 60000));
    CU_ASSERT_EQUAL(parked_files(&w, NULL, 0), 1);
    for (unsigned i = 0; i < 3; i++) {
        world_checkpoint(&w);
        mi_journal_release(w.journal, w.release);
        world_append_to(&w, 10, "s", "held", 0);
        world_pass(&w, 500);
    }
    CU_ASSERT_EQUAL(parked_files(&w, NULL, 0), 0);
    all_arrives(&w);
    world_end(&w);
}

static void test_bound_refuses_the_route(void)
{
    struct world w;
    world_begin(&w);
    uint32_t route = w.config->routes[0].id;
    model_create(&w.model, "s", "held", 1);
    w.config->park_after_ns = 100 * MI_NS_PER_MS;
    ((struct mi_route *)(uintptr_t)&w.config->routes[0])->parked_max_size = 200 * 80;
    w.model.fate = deny;
    denied = true;
    world_append_to(&w, 100, "s", "held", 0);
    world_pass(&w, 5000);
    CU_ASSERT_FALSE(mi_out_route_full(w.out, route));
    world_append_to(&w, 100, "s", "held", 0);
    world_pass(&w, 5000);
    CU_ASSERT_TRUE(mi_out_route_full(w.out, route));
    CU_ASSERT_FALSE(mi_out_route_full(w.out, route + 1));
    CU_ASSERT_TRUE(world_said(&w, "parked_max_size is reached"));
    world_checkpoint(&w);
    world_restart(&w);
    CU_ASSERT_TRUE(mi_out_route_full(w.out, route));
    denied = false;
    all_arrives(&w);
    CU_ASSERT_FALSE(mi_out_route_full(w.out, route));
    world_end(&w);
}

static void flip(const char *path, long at)
{
    FILE *f = fopen(path, "r+b");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fseek(f, at, SEEK_SET);
    int c = fgetc(f);
    fseek(f, at, SEEK_SET);
    fputc(c ^ 0xff, f);
    fclose(f);
}

/* destroyed: messages that the fault itself takes. */
static void damage(void (*fault)(const char *path, long size), unsigned destroyed, const char *said)
{
    struct world w;
    char path[700];
    world_begin(&w);
    model_create(&w.model, "s", "held", 1);
    w.config->park_after_ns = 100 * MI_NS_PER_MS;
    w.model.fate = deny;
    denied = true;
    world_append_to(&w, 1000, "s", "held", 0);
    world_pass(&w, 5000);
    world_checkpoint(&w);
    mi_journal_release(w.journal, w.release);
    CU_ASSERT_EQUAL_FATAL(parked_files(&w, path, sizeof path), 1);
    struct stat st;
    CU_ASSERT_EQUAL_FATAL(stat(path, &st), 0);
    CU_ASSERT_EQUAL(st.st_mode & 0777, 0600);
    fault(path, (long)st.st_size);
    world_restart(&w);
    denied = false;
    CU_ASSERT_TRUE(world_run(&w, 120000));
    world_pass(&w, 300);
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_DROPPED_DAMAGED), destroyed);
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_COMMITTED), 1000 - destroyed);
    CU_ASSERT_EQUAL(mi_route_pending(mi_metrics_route(w.metrics, w.config->routes[0].id, NULL)), 0);
    CU_ASSERT_TRUE(world_in_order(&w, "s", "held", 0));
    CU_ASSERT_TRUE(world_said(&w, said));
    CU_ASSERT_FALSE(mi_out_route_full(w.out, w.config->routes[0].id));
    world_end(&w);
}

static void flip_one(const char *path, long size)
{
    flip(path, size / 2);
}
static void flip_the_first_length(const char *path, long size)
{
    (void)size;
    flip(path, 8 + 5);
}
static void flip_the_last(const char *path, long size)
{
    flip(path, size - 20);
}
static void cut_in_half(const char *path, long size)
{
    CU_ASSERT_EQUAL(truncate(path, size / 2), 0);
}
static void remove_it(const char *path, long size)
{
    (void)size;
    unlink(path);
}

static void test_damaged_files(void)
{
    damage(flip_one, 1, "damaged at offset");
    damage(flip_the_first_length, 1, "damaged at offset");
    damage(flip_the_last, 1, "damaged at offset");
    damage(cut_in_half, 500, "instead of");
    damage(remove_it, 1000, "instead of");
}

/* The state file is gone, and the journal has given the messages up: the parked file alone has them. */
static void test_no_state_file(void)
{
    struct world w;
    world_begin(&w);
    model_create(&w.model, "s", "held", 1);
    w.config->park_after_ns = 100 * MI_NS_PER_MS;
    w.model.fate = deny;
    denied = true;
    world_append_to(&w, 500, "s", "held", 0);
    world_pass(&w, 5000);
    CU_ASSERT_EQUAL(parked_files(&w, NULL, 0), 1);
    world_checkpoint(&w);
    mi_buf_reset(&w.checkpoint);
    world_restart(&w); /* the journal still has all: nothing comes twice */
    CU_ASSERT_EQUAL(mi_route_pending(mi_metrics_route(w.metrics, w.config->routes[0].id, NULL)), 500);
    denied = false;
    all_arrives(&w);
    world_end(&w);
}

static void remove_segments(const struct world *w)
{
    char dir[300], path[700];
    snprintf(dir, sizeof dir, "%s/journal", w->dir);
    DIR *d = opendir(dir);
    for (const struct dirent *e = readdir(d); e; e = readdir(d))
        if (strstr(e->d_name, ".seg")) {
            snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
            unlink(path);
        }
    closedir(d);
}

/* The journal has given the messages up and the state file is gone: the parked file alone has them. */
static void test_no_state_file_and_no_segment(void)
{
    struct world w;
    world_begin(&w);
    model_create(&w.model, "s", "held", 1);
    w.config->park_after_ns = 100 * MI_NS_PER_MS;
    w.model.fate = deny;
    denied = true;
    world_append_to(&w, 500, "s", "held", 0);
    world_pass(&w, 5000);
    world_checkpoint(&w);
    mi_journal_release(w.journal, w.release);
    world_restart(&w); /* a segment of its own */
    remove_segments(&w);
    mi_buf_reset(&w.checkpoint);
    world_restart(&w);
    CU_ASSERT_TRUE(world_said(&w, "taken over without a state file"));
    CU_ASSERT_EQUAL(parked_files(&w, NULL, 0), 1);
    world_append_to(&w, 10, "s", "held", 0);
    denied = false;
    all_arrives(&w);
    world_end(&w);
}

/* A topic gets more partitions while what belongs there is parked. */
static void test_more_partitions_while_parked(void)
{
    struct world w;
    world_begin(&w);
    struct model_topic *t = model_create(&w.model, "s", "t", 2);
    w.config->park_after_ns = 100 * MI_NS_PER_MS;
    w.model.fate = deny;
    denied = true;
    for (uint32_t i = 0; i < 4000; i++) {
        world_append(&w, 1, i % 8);
        if (i % 500 == 0)
            world_pass(&w, 1000);
    }
    world_pass(&w, 5000);
    t->partitions = 4;
    world_pass(&w, 130000);
    for (uint32_t i = 0; i < 100; i++)
        world_append(&w, 1, i % 8);
    denied = false;
    CU_ASSERT_TRUE(world_run(&w, 600000));
    CU_ASSERT_TRUE(world_said(&w, "4 partitions instead of 2"));
    CU_ASSERT_TRUE(world_each_once(&w));
    for (uint32_t p = 0; p < 4; p++) {
        CU_ASSERT_EQUAL(t->partition[p].count, 1025);
        CU_ASSERT_TRUE(world_in_order(&w, "s", "t", p));
    }
    account(&w);
    world_end(&w);
}

/* A full disk: nothing is lost, and it is said. */
static void test_cannot_park(void)
{
    struct world w;
    char dir[300], moved[330];
    world_begin(&w);
    model_create(&w.model, "s", "held", 1);
    w.config->park_after_ns = 100 * MI_NS_PER_MS;
    w.model.fate = deny;
    denied = true;
    world_append_to(&w, 100, "s", "held", 0);
    snprintf(dir, sizeof dir, "%s/journal", w.dir);
    snprintf(moved, sizeof moved, "%s.moved", dir);
    rename(dir, moved);
    world_pass(&w, 5000);
    CU_ASSERT_TRUE(world_said(&w, "cannot be parked either"));
    CU_ASSERT_EQUAL(mi_window_pending(&w.out->window), 100);
    rename(moved, dir);
    world_pass(&w, 5000);
    CU_ASSERT_EQUAL(mi_window_pending(&w.out->window), 0);
    denied = false;
    all_arrives(&w);
    world_end(&w);
}

/* ---- at random ---- */

enum { PARTITIONS = 3 };
static unsigned trouble;

static enum fate any(struct model *m, const uint32_t *numbers, size_t count, size_t bytes)
{
    static const enum fate FATES_OF_TROUBLE[] = {FATE_503,      FATE_429, FATE_CUT_BEFORE, FATE_CUT_AFTER,
                                                 FATE_CUT_LATE, FATE_403, FATE_504_LATE,   FATE_REFUSED};
    (void)numbers, (void)count, (void)bytes;
    m->late_ns = model_random(m) % (10 * MI_NS_PER_S);
    if (denied)
        return FATE_403;
    if (model_random(m) % 100 >= trouble)
        return FATE_STORE;
    return FATES_OF_TROUBLE[model_random(m) % (sizeof FATES_OF_TROUBLE / sizeof FATES_OF_TROUBLE[0])];
}

static uint64_t below(struct world *w, uint64_t n)
{
    return model_random(&w->model) % n;
}

static void one_run(uint64_t seed)
{
    struct world w;
    world_begin(&w);
    no_creation(&w);
    w.model.random = seed * 2654435761u + 88172645463325252ull;
    bool made = below(&w, 2);
    if (made)
        model_create(&w.model, "s", "t", PARTITIONS);
    w.config->park_after_ns = 1 + below(&w, 2000) * MI_NS_PER_MS;
    w.config->max_batch_messages = 1 + (uint32_t)below(&w, 50);
    w.model.tail_unknown = below(&w, 2);
    w.model.fate = any;
    trouble = (unsigned)below(&w, 30);
    denied = false;
    for (unsigned i = 0; i < 80; i++) {
        for (uint64_t n = below(&w, 60); n > 0; n--)
            world_append(&w, 1, (uint32_t)below(&w, PARTITIONS));
        if (!made && below(&w, 20) == 0) {
            made = true;
            model_create(&w.model, "s", "t", PARTITIONS);
        }
        if (below(&w, 8) == 0)
            denied = !denied;
        world_pass(&w, below(&w, 4) ? below(&w, 800) : below(&w, 15000));
        if (below(&w, 5) == 0) {
            world_checkpoint(&w);
            mi_journal_release(w.journal, w.release);
        }
        if (below(&w, 12) == 0)
            world_restart(&w);
    }
    trouble = 0;
    denied = false;
    if (!made)
        model_create(&w.model, "s", "t", PARTITIONS);
    bool done = world_run(&w, 240000);
    world_pass(&w, 300);
    bool ok = done && world_each_once(&w) && world_counted(&w, MI_C_COMMITTED) == w.sent &&
              world_counted(&w, MI_C_JOURNALED) == w.sent;
    for (uint32_t p = 0; p < PARTITIONS; p++)
        ok &= world_in_order(&w, "s", "t", p);
    if (!ok)
        fprintf(stderr, "seed %" PRIu64 ": done %d, committed %" PRIu64 ", journaled %" PRIu64 " of %u\n",
                seed, done, world_counted(&w, MI_C_COMMITTED), world_counted(&w, MI_C_JOURNALED), w.sent);
    CU_ASSERT_TRUE(ok);
    world_end(&w);
}

static void test_random(void)
{
    const char *text = getenv("SEED");
    uint64_t first = text ? strtoull(text, NULL, 10) : 1;
    for (uint64_t seed = first; seed < first + 80; seed++)
        one_run(seed);
}

static CU_TestInfo tests[] = {
    {"a missing target with 100,000 waiting stops nobody", test_missing_target_with_100000_stops_nobody},
    {"a forbidden target with 100,000 waiting stops nobody", test_forbidden_target_with_100000_stops_nobody},
    {"restart with and without the latest checkpoint", test_restart_with_and_without_the_latest_checkpoint},
    {"files go when a state no longer needs them", test_files_go_when_a_state_no_longer_needs_them},
    {"bound refuses the route", test_bound_refuses_the_route},
    {"damaged files", test_damaged_files},
    {"no state file", test_no_state_file},
    {"no state file and no segment", test_no_state_file_and_no_segment},
    {"more partitions while parked", test_more_partitions_while_parked},
    {"cannot park", test_cannot_park},
    {"random", test_random},
    CU_TEST_INFO_NULL,
};

MI_SUITE_MAIN("out parked", tests)
