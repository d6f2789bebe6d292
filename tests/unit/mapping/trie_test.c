/* trie: the same answer, in order, as asking every filter; depth, and order with "continue". */
#include "mapping/trie.h"
#include "maps.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RULES = 60 };

struct forest {
    char text[RULES][256];
    struct mi_filter filters[RULES];
    const struct mi_filter *pointers[RULES];
    bool goes_on[RULES];
    struct mi_trie *trie;
};

static void plant(struct forest *f, struct dice *d)
{
    struct mi_error err;
    for (int i = 0; i < RULES; i++) {
        random_filter(d, f->text[i], sizeof f->text[i]);
        CU_ASSERT_EQUAL_FATAL(mi_filter_parse(&f->filters[i], f->text[i], &err), 0);
        f->pointers[i] = roll(d, 10) ? &f->filters[i] : NULL;
        f->goes_on[i] = roll(d, 3) != 0;
    }
    f->trie = mi_trie_new(f->pointers, f->goes_on, RULES);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->trie);
}

static void fell(struct forest *f)
{
    mi_trie_free(f->trie);
    for (int i = 0; i < RULES; i++)
        mi_filter_fini(&f->filters[i]);
}

/* In order, up to the first that does not go on, at most as many as are kept. */
static uint32_t one_by_one(const struct forest *f, const char *topic, uint32_t *rules)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < RULES && n < MI_MAX_HITS + 1; i++) {
        if (!f->pointers[i] || !naive_match(f->text[i], topic))
            continue;
        rules[n++] = i;
        if (!f->goes_on[i])
            break;
    }
    return n;
}

static void random_tries_agree_with_one_by_one(void)
{
    struct dice d = dice_new();
    static struct forest f;
    unsigned several = 0;
    for (int round = 0; round < 300; round++) {
        plant(&f, &d);
        for (int i = 0; i < 100; i++) {
            char topic[256];
            struct mi_match found;
            uint32_t rules[MI_MAX_HITS + 1];
            random_topic(&d, topic, sizeof topic);
            uint32_t n = one_by_one(&f, topic, rules);
            mi_match_init(&found);
            mi_trie_match(f.trie, mi_span_of(topic), &found);
            several += n > 1;
            CU_ASSERT_EQUAL_FATAL(found.count, n);
            CU_ASSERT_EQUAL_FATAL(memcmp(rules, found.rules, n * sizeof *rules), 0);
        }
        fell(&f);
    }
    CU_ASSERT_TRUE(several > 100);
}

/* What is said to contain a filter takes every topic that the filter takes. */
static void containment_is_true(void)
{
    struct dice d = dice_new();
    static struct forest f;
    unsigned seen = 0;
    for (int round = 0; round < 100; round++) {
        plant(&f, &d);
        for (uint32_t inner = 0; inner < RULES; inner++) {
            struct mi_match found;
            mi_match_init(&found);
            mi_trie_contains(f.trie, &f.filters[inner], &found);
            for (int i = 0; i < 50; i++) {
                char topic[256];
                random_topic(&d, topic, sizeof topic);
                if (!naive_match(f.text[inner], topic))
                    continue;
                for (uint32_t k = 0; k < found.count; k++, seen++)
                    CU_ASSERT_TRUE_FATAL(naive_match(f.text[found.rules[k]], topic));
            }
        }
        fell(&f);
    }
    CU_ASSERT_TRUE(seen > 1000);
}

static void more_than_the_most_keeps_the_first(void)
{
    struct mi_match found;
    mi_match_init(&found);
    for (uint32_t i = 40; i-- > 0;)
        mi_match_add(&found, i, true);
    CU_ASSERT_EQUAL(found.count, MI_MAX_HITS + 1);
    for (uint32_t i = 0; i < found.count; i++)
        CU_ASSERT_EQUAL(found.rules[i], i);
    mi_match_add(&found, 3, false);
    CU_ASSERT_EQUAL(found.bound, 3);
}

/* A topic of 65,535 slashes has 65,536 levels. */
static void field_65_as_deep_as_a_topic_can_be(void)
{
    static char topic[65536], filter[65536];
    memset(topic, '/', 65535);
    memcpy(filter, topic, sizeof filter);
    struct mi_filter f[2];
    const struct mi_filter *pointers[2] = {&f[0], &f[1]};
    bool goes_on[2] = {true, false};
    struct mi_error err;
    CU_ASSERT_EQUAL_FATAL(mi_filter_parse(&f[0], filter, &err), 0);
    filter[65534] = '#';
    CU_ASSERT_EQUAL_FATAL(mi_filter_parse(&f[1], filter, &err), 0);
    struct mi_trie *t = mi_trie_new(pointers, goes_on, 2);
    struct mi_match found;
    mi_match_init(&found);
    mi_trie_match(t, mi_span_of(topic), &found);
    CU_ASSERT_EQUAL(found.count, 2);
    mi_match_init(&found);
    topic[65534] = 'x';
    mi_trie_match(t, mi_span_of(topic), &found);
    CU_ASSERT_EQUAL(found.count, 1);
    CU_ASSERT_EQUAL(found.rules[0], 1);
    mi_trie_free(t);
    mi_filter_fini(&f[0]);
    mi_filter_fini(&f[1]);
}

static CU_TestInfo tests[] = {
    {"random tries agree with one by one", random_tries_agree_with_one_by_one},
    {"containment is true", containment_is_true},
    {"more than the most keeps the first", more_than_the_most_keeps_the_first},
    {"field 65: as deep as a topic can be", field_65_as_deep_as_a_topic_can_be},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("mapping trie", tests)
