/*
 * random: seeded sequences of answers, kills of the server, restarts of the bridge, against the model.
 * Whatever happens, every message is there once and each partition is in order; the account adds up.
 */
#include "support/suite.h"
#include "world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTITIONS = 3 };

static unsigned trouble; /* percent of requests that do not end well */

static enum fate any(struct model *m, const uint32_t *numbers, size_t count, size_t bytes)
{
    static const enum fate FATES_OF_TROUBLE[] = {
        FATE_503, FATE_429, FATE_CUT_BEFORE, FATE_CUT_AFTER, FATE_CUT_LATE,      FATE_504_LATE,
        FATE_403, FATE_400, FATE_REFUSED,    FATE_LOGIN,     FATE_STORE_SILENTLY};
    (void)numbers, (void)count, (void)bytes;
    m->late_ns = model_random(m) % (10 * MI_NS_PER_S);
    if (model_random(m) % 100 >= trouble)
        return FATE_STORE;
    return FATES_OF_TROUBLE[model_random(m) % (sizeof FATES_OF_TROUBLE / sizeof FATES_OF_TROUBLE[0])];
}

static uint64_t below(struct world *w, uint64_t n)
{
    return model_random(&w->model) % n;
}

static void check_all(struct world *w, uint64_t seed)
{
    bool ok = world_each_once(w);
    for (uint32_t p = 0; p < PARTITIONS; p++)
        ok &= world_in_order(w, "s", "t", p);
    ok &= world_counted(w, MI_C_COMMITTED) == w->sent && world_counted(w, MI_C_JOURNALED) == w->sent;
    if (!ok)
        fprintf(stderr, "seed %" PRIu64 ": committed %" PRIu64 " of %u\n", seed,
                world_counted(w, MI_C_COMMITTED), w->sent);
    CU_ASSERT_TRUE(ok);
}

static void one_run(uint64_t seed, bool bridge_restarts, bool foreign)
{
    struct world w;
    world_begin(&w);
    w.model.random = seed * 2654435761u + 88172645463325252ull;
    struct model_topic *t = model_create(&w.model, "s", "t", PARTITIONS);
    w.config->max_batch_messages = 1 + (uint32_t)below(&w, 50);
    w.model.tail_unknown = below(&w, 2);
    w.model.stats_denied = below(&w, 3) == 0;
    w.model.fate = any;
    trouble = (unsigned)below(&w, 40);
    for (unsigned i = 0; i < 60; i++) {
        for (uint64_t n = below(&w, 40); n > 0; n--)
            world_append(&w, 1, (uint32_t)below(&w, PARTITIONS));
        world_pass(&w, below(&w, 800));
        if (foreign && below(&w, 3) == 0)
            model_foreign(&w.model, t, (uint32_t)below(&w, PARTITIONS));
        if (below(&w, 5) == 0)
            world_checkpoint(&w);
        if (bridge_restarts && below(&w, 15) == 0)
            world_restart(&w);
    }
    trouble = 0;
    bool done = world_run(&w, 120000);
    world_pass(&w, 300); /* the gauges of the journal come with a delay */
    CU_ASSERT_TRUE(done);
    if (!done)
        fprintf(stderr, "seed %" PRIu64 " does not come to rest\n", seed);
    check_all(&w, seed);
    world_end(&w);
}

static uint64_t first_seed(void)
{
    const char *text = getenv("SEED");
    return text ? strtoull(text, NULL, 10) : 1;
}

static void test_random_answers(void)
{
    for (uint64_t seed = first_seed(); seed < first_seed() + 60; seed++)
        one_run(seed, false, seed % 2);
}

static void test_random_answers_and_restarts_of_the_bridge(void)
{
    for (uint64_t seed = first_seed(); seed < first_seed() + 60; seed++)
        one_run(seed + 1000, true, seed % 2);
}

static enum fate silently(struct model *m, const uint32_t *numbers, size_t count, size_t bytes)
{
    (void)m, (void)numbers, (void)count, (void)bytes;
    return FATE_STORE_SILENTLY;
}

/* The server is killed at random moments and loses what it had not saved: nothing may be missing, nothing be
 * there twice or out of order, whether it says where it stored (0.9) or not (0.8). */
static void one_kill_run(uint64_t seed)
{
    struct world w;
    world_begin(&w);
    w.model.random = seed * 2654435761u + 88172645463325252ull;
    model_create(&w.model, "s", "t", PARTITIONS);
    w.config->max_batch_messages = 1 + (uint32_t)below(&w, 50);
    w.model.tail_unknown = below(&w, 2);
    w.model.stats_denied = below(&w, 4) == 0;
    w.model.fate = seed % 2 ? silently : NULL;
    for (unsigned i = 0; i < 40; i++) {
        for (uint64_t n = below(&w, 40); n > 0; n--)
            world_append(&w, 1, (uint32_t)below(&w, PARTITIONS));
        world_pass(&w, below(&w, 800));
        if (below(&w, 4) == 0)
            model_save(&w.model);
        if (below(&w, 12) == 0) {
            model_kill(&w.model);
            if (below(&w, 2))
                w.model.start_time--; /* within the same second */
            world_pass(&w, below(&w, 3000));
        }
    }
    world_pass(&w, 20000);
    bool ok = world_run(&w, 120000) && world_each_once(&w);
    for (uint32_t p = 0; p < PARTITIONS; p++)
        ok &= world_in_order(&w, "s", "t", p);
    if (!ok)
        fprintf(stderr, "seed %" PRIu64 "\n", seed);
    CU_ASSERT_TRUE(ok);
    CU_ASSERT_EQUAL(world_counted(&w, MI_C_COMMITTED), w.sent);
    world_end(&w);
}

static void test_random_kills_of_the_server(void)
{
    for (uint64_t seed = first_seed(); seed < first_seed() + 60; seed++)
        one_kill_run(seed + 2000);
}

static CU_TestInfo tests[] = {
    {"random answers", test_random_answers},
    {"random answers and restarts of the bridge", test_random_answers_and_restarts_of_the_bridge},
    {"random kills of the server", test_random_kills_of_the_server},
    CU_TEST_INFO_NULL,
};

MI_SUITE_MAIN("out random", tests)
