/* cache: bounded, right after any number of puts, and what comes again stays. */
#include "mapping/cache.h"
#include "maps.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
    struct mi_cached head;
    uint32_t value;
    char text[16];
};

static struct mi_span key_of(char *text, uint32_t i)
{
    snprintf(text, 16, "k%u", i);
    return mi_span_of(text);
}

static bool ask(struct mi_cache *c, uint32_t i)
{
    char text[16];
    uint64_t hash;
    struct item *x = (struct item *)mi_cache_get(c, key_of(text, i), &hash);
    if (x) {
        CU_ASSERT_EQUAL_FATAL(x->value, i);
        return true;
    }
    x = calloc(1, sizeof *x);
    x->value = i;
    x->head.topic = key_of(x->text, i);
    mi_cache_put(c, &x->head, hash);
    return false;
}

static void never_more_than_its_size(void)
{
    for (size_t size = 1; size < 70; size += 3) {
        struct mi_cache *c = mi_cache_new(size);
        size_t held = 0;
        for (uint32_t i = 0; i < 1000; i++)
            ask(c, i);
        for (uint32_t i = 0; i < 1000; i++) {
            char text[16];
            uint64_t hash;
            held += mi_cache_get(c, key_of(text, i), &hash) != NULL;
        }
        CU_ASSERT_TRUE(held >= 1 && held <= size);
        mi_cache_free(c);
    }
}

static void what_comes_again_stays(void)
{
    struct mi_cache *c = mi_cache_new(1024);
    unsigned hits = 0;
    for (uint32_t round = 0; round < 200; round++) {
        for (uint32_t i = 0; i < 100; i++)
            hits += ask(c, i);
        for (uint32_t i = 0; i < 100; i++)
            ask(c, 1000 + round * 100 + i);
    }
    CU_ASSERT_TRUE(hits > 200 * 100 * 95 / 100);
    mi_cache_free(c);
}

/* Another topic that happens to have the same hash is another topic. */
static void a_hash_is_not_a_topic(void)
{
    struct mi_cache *c = mi_cache_new(8);
    uint64_t hash;
    struct item *x = calloc(1, sizeof *x);
    CU_ASSERT_PTR_NULL(mi_cache_get(c, mi_span_of("a"), &hash));
    x->head.topic = key_of(x->text, 1);
    mi_cache_put(c, &x->head, hash);
    CU_ASSERT_PTR_NULL(mi_cache_get(c, mi_span_of("a"), &hash));
    mi_cache_free(c);
}

static CU_TestInfo tests[] = {
    {"never more than its size", never_more_than_its_size},
    {"what comes again stays", what_comes_again_stays},
    {"a hash is not a topic", a_hash_is_not_a_topic},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("mapping cache", tests)
