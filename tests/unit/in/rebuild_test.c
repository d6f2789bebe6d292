/* rebuild: the last value of each topic, deletes, the shared budget. */
#include "in/rebuild.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct mi_inbound *value(const char *topic, const char *payload)
{
    struct mi_inbound *m = mi_inbound_new(mi_span_of(topic), mi_span_of(payload), mi_span_of(NULL));
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    m->retain = true;
    return m;
}

static void the_scan_ends_at_the_position(void)
{
    struct mi_rebuild_budget budget = {1000, 0};
    struct mi_rebuild *r = mi_rebuild_new(&budget, 10);
    CU_ASSERT_EQUAL(mi_rebuild_offset(r), 0);
    mi_rebuild_read(r, 9);
    mi_rebuild_read(r, 3); /* an answer that began earlier than asked */
    CU_ASSERT_EQUAL(mi_rebuild_offset(r), 9);
    CU_ASSERT_FALSE(mi_rebuild_scanned(r));
    mi_rebuild_read(r, 12);
    CU_ASSERT_TRUE(mi_rebuild_scanned(r));
    mi_rebuild_free(r);
}

static void the_last_value_stays_and_a_delete_removes_it(void)
{
    struct mi_rebuild_budget budget = {100000, 0};
    struct mi_rebuild *r = mi_rebuild_new(&budget, 10);
    mi_rebuild_take(r, value("a", "1"));
    mi_rebuild_take(r, value("b", "1"));
    mi_rebuild_take(r, value("a", "2"));
    mi_rebuild_take(r, value("c", "1"));
    mi_rebuild_take(r, value("c", ""));
    mi_rebuild_take(r, value("never there", ""));
    bool a = false, b = false;
    for (struct mi_inbound *m; (m = mi_rebuild_next(r)) != NULL; mi_inbound_free(m)) {
        a = a || (strcmp(m->topic, "a") == 0 && m->payload[0] == '2');
        b = b || (strcmp(m->topic, "b") == 0 && m->payload[0] == '1');
        CU_ASSERT_PTR_NULL(m->next);
        CU_ASSERT_STRING_NOT_EQUAL(m->topic, "c");
    }
    CU_ASSERT_TRUE(a && b);
    CU_ASSERT_EQUAL(budget.left, 100000);
    mi_rebuild_free(r);
}

static void own_messages_are_told_of(void)
{
    struct mi_rebuild_budget budget = {100000, 0};
    struct mi_rebuild *r = mi_rebuild_new(&budget, 10);
    struct mi_inbound *own = value("a", "own"), *deleted = value("b", "");
    own->mark.id_lo = 7;
    deleted->mark.id_lo = 8;
    mi_rebuild_take(r, own);
    mi_rebuild_take(r, value("a", "foreign"));
    mi_rebuild_take(r, deleted);
    mi_rebuild_take(r, value("c", ""));
    size_t count = 0;
    for (struct mi_inbound *m; (m = mi_rebuild_next(r)) != NULL; mi_inbound_free(m), count++) {
        CU_ASSERT_EQUAL(m->mark.id_lo, m->topic[0] == 'a' ? 7 : 8);
        CU_ASSERT_EQUAL(m->payload_len, m->topic[0] == 'a' ? 7 : 0);
    }
    CU_ASSERT_EQUAL(count, 2);
    mi_rebuild_free(r);
}

static void field_64_what_does_not_fit_has_no_value(void)
{
    struct mi_rebuild_budget budget = {1000000, 0};
    struct mi_rebuild *r = mi_rebuild_new(&budget, 10), *other = mi_rebuild_new(&budget, 10);
    mi_rebuild_take(other, value("m", "1"));
    size_t two = 2 * (1000000 - budget.left);
    mi_rebuild_take(other, value("m", ""));
    budget.left = two;
    char large[500];
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    mi_rebuild_take(r, value("a", "1"));
    mi_rebuild_take(r, value("a", large)); /* and not the older one instead */
    CU_ASSERT_PTR_NULL(mi_rebuild_next(r));
    CU_ASSERT_EQUAL(budget.left_out, 1);
    CU_ASSERT_EQUAL(budget.left, two);
    mi_rebuild_free(r);
    r = mi_rebuild_new(&budget, 10);
    mi_rebuild_take(r, value("a", "1"));
    mi_rebuild_take(other, value("b", "1"));
    mi_rebuild_take(other, value("c", "1"));
    CU_ASSERT_EQUAL(budget.left_out, 2);
    mi_rebuild_free(r);
    mi_rebuild_free(other);
    CU_ASSERT_EQUAL(budget.left, two);
}

enum { TOPICS = 3000, VALUES = 30000 };

static void many_topics(void)
{
    static int last[TOPICS];
    struct mi_rebuild_budget budget = {100000000, 0};
    struct mi_rebuild *r = mi_rebuild_new(&budget, VALUES);
    char topic[16], payload[16];
    uint64_t random = 1;
    for (int i = 1; i <= VALUES; i++) {
        random = random * 6364136223846793005ull + 1442695040888963407ull;
        int t = (int)(random >> 33) % TOPICS;
        last[t] = random >> 60 ? i : 0;
        snprintf(topic, sizeof topic, "t/%d", t);
        snprintf(payload, sizeof payload, "%d", i);
        mi_rebuild_take(r, value(topic, last[t] ? payload : ""));
    }
    int found = 0, expected = 0;
    for (struct mi_inbound *m; (m = mi_rebuild_next(r)) != NULL; mi_inbound_free(m)) {
        CU_ASSERT_EQUAL_FATAL(atoi((const char *)m->payload), last[atoi(m->topic + 2)]);
        found++;
    }
    for (int t = 0; t < TOPICS; t++)
        expected += last[t] != 0;
    CU_ASSERT_EQUAL(found, expected);
    CU_ASSERT_EQUAL(budget.left, 100000000);
    mi_rebuild_free(r);
}

static CU_TestInfo tests[] = {
    {"the scan ends at the position", the_scan_ends_at_the_position},
    {"the last value stays and a delete removes it", the_last_value_stays_and_a_delete_removes_it},
    {"own messages are told of", own_messages_are_told_of},
    {"field 64: what does not fit has no value", field_64_what_does_not_fit_has_no_value},
    {"many topics", many_topics},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("rebuild", tests)
