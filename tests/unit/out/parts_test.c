/*
 * parts: outcome table, window, gate, missing set, id set, checkpoint, dead-letter file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "out/checkpoint.h"
#include "out/dead_letters.h"
#include "out/gate.h"
#include "out/id_set.h"
#include "out/missing.h"
#include "out/outcome.h"
#include "out/window.h"
#include "support/process.h"
#include "support/suite.h"

static void test_outcome_table(void)
{
    static const struct {
        struct iggy_result result;
        enum mi_outcome outcome;
    } ROWS[] = {
        {{.kind = IGGY_OK, .http_status = 201}, MI_OUTCOME_STORED},
        {{.kind = IGGY_OK, .http_status = 202}, MI_OUTCOME_STORED},
        {{.kind = IGGY_CONNECT, .effect = IGGY_EFFECT_NONE}, MI_OUTCOME_LINK},
        {{.kind = IGGY_TOO_OLD, .effect = IGGY_EFFECT_NONE}, MI_OUTCOME_LINK},
        {{.kind = IGGY_LOGIN, .http_status = 400, .code = 42}, MI_OUTCOME_TOKEN},
        {{.kind = IGGY_LOGIN, .http_status = 503}, MI_OUTCOME_TOKEN},
        {{.kind = IGGY_HTTP, .http_status = 401}, MI_OUTCOME_TOKEN},
        {{.kind = IGGY_HTTP, .http_status = 403}, MI_OUTCOME_TARGET},
        {{.kind = IGGY_HTTP, .http_status = 404}, MI_OUTCOME_TARGET},
        {{.kind = IGGY_HTTP, .http_status = 413}, MI_OUTCOME_MESSAGE},
        {{.kind = IGGY_HTTP, .http_status = 422}, MI_OUTCOME_MESSAGE},
        {{.kind = IGGY_HTTP, .http_status = 400, .code = 4022}, MI_OUTCOME_MESSAGE},
        {{.kind = IGGY_HTTP, .http_status = 400, .code = 4023}, MI_OUTCOME_MESSAGE},
        {{.kind = IGGY_HTTP, .http_status = 400, .code = 4024}, MI_OUTCOME_MESSAGE},
        {{.kind = IGGY_HTTP, .http_status = 400, .code = 4028}, MI_OUTCOME_MESSAGE},
        {{.kind = IGGY_HTTP, .http_status = 400, .code = 4025}, MI_OUTCOME_UNKNOWN},
        {{.kind = IGGY_HTTP, .http_status = 429}, MI_OUTCOME_NOT_STORED},
        {{.kind = IGGY_HTTP, .http_status = 503}, MI_OUTCOME_NOT_STORED},
        {{.kind = IGGY_HTTP, .http_status = 503, .code = 58}, MI_OUTCOME_NOT_STORED},
        {{.kind = IGGY_HTTP, .http_status = 503, .code = 57}, MI_OUTCOME_UNKNOWN},
        {{.kind = IGGY_HTTP, .http_status = 504}, MI_OUTCOME_UNKNOWN},
        {{.kind = IGGY_HTTP, .http_status = 500, .effect = IGGY_EFFECT_NONE}, MI_OUTCOME_UNKNOWN},
        {{.kind = IGGY_HTTP, .http_status = 418}, MI_OUTCOME_UNKNOWN},
        {{.kind = IGGY_CUT, .effect = IGGY_EFFECT_UNKNOWN}, MI_OUTCOME_UNKNOWN},
        {{.kind = IGGY_CUT, .effect = IGGY_EFFECT_NONE}, MI_OUTCOME_NOT_STORED},
        {{.kind = IGGY_TIMEOUT, .effect = IGGY_EFFECT_UNKNOWN}, MI_OUTCOME_UNKNOWN},
        {{.kind = IGGY_GARBLED, .http_status = 200, .effect = IGGY_EFFECT_DONE}, MI_OUTCOME_UNKNOWN},
        {{.kind = IGGY_CANCELLED, .effect = IGGY_EFFECT_UNKNOWN}, MI_OUTCOME_UNKNOWN},
        {{.kind = IGGY_LOCAL}, MI_OUTCOME_TARGET},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++)
        CU_ASSERT_EQUAL(mi_outcome_of(&ROWS[i].result), ROWS[i].outcome);
    CU_ASSERT_STRING_EQUAL(mi_outcome_name(MI_OUTCOME_UNKNOWN), "unknown");
}

static uint32_t push(struct mi_window *w, uint64_t sequence)
{
    struct mi_journal_ref ref = {.sequence = sequence};
    return mi_window_push(w, &ref);
}

static void test_window_moves_over_what_is_done(void)
{
    struct mi_window w;
    uint32_t e[10];
    CU_ASSERT_TRUE_FATAL(mi_window_init(&w, 100));
    CU_ASSERT_EQUAL(mi_window_start(&w), 100);
    for (unsigned i = 0; i < 10; i++)
        e[i] = push(&w, 100 + i * 2); /* every second record was damaged */
    CU_ASSERT_EQUAL(mi_window_find(&w, 106), e[3]);
    CU_ASSERT_EQUAL(mi_window_find(&w, 107), MI_NO_ENTRY);
    CU_ASSERT_EQUAL(mi_window_find(&w, 500), MI_NO_ENTRY);
    mi_window_done(&w, e[1]);
    CU_ASSERT_EQUAL(mi_window_start(&w), 100);
    mi_window_done(&w, e[0]);
    CU_ASSERT_EQUAL(mi_window_start(&w), 104);
    for (unsigned i = 2; i < 10; i++)
        mi_window_done(&w, e[i]);
    CU_ASSERT_EQUAL(mi_window_start(&w), 119);
    CU_ASSERT_EQUAL(mi_window_pending(&w), 0);
    mi_window_fini(&w);
}

static void test_window_is_bounded_and_wraps(void)
{
    struct mi_window w;
    CU_ASSERT_TRUE_FATAL(mi_window_init(&w, 1));
    uint64_t sequence = 1;
    for (unsigned round = 0; round < 3; round++) {
        while (mi_window_has_room(&w))
            push(&w, sequence++);
        CU_ASSERT_EQUAL(mi_window_pending(&w), MI_WINDOW_RECORDS);
        for (unsigned i = 0; i < 1000; i++)
            mi_window_done(&w, mi_window_find(&w, mi_window_start(&w)));
        CU_ASSERT_EQUAL(mi_window_pending(&w), MI_WINDOW_RECORDS - 1000);
    }
    mi_window_fini(&w);
}

static void test_side_entries_are_given_back(void)
{
    struct mi_window w;
    struct mi_journal_ref ref = {.sequence = 1};
    CU_ASSERT_TRUE_FATAL(mi_window_init(&w, 1));
    uint32_t last = 0;
    for (unsigned i = 0; i < MI_SIDE_ENTRIES; i++)
        last = mi_window_side(&w, &ref);
    CU_ASSERT_TRUE(mi_window_is_side(last));
    CU_ASSERT_EQUAL(mi_window_side(&w, &ref), MI_NO_ENTRY);
    mi_window_done(&w, last);
    CU_ASSERT_EQUAL(mi_window_side(&w, &ref), last);
    mi_window_fini(&w);
}

static void test_queues_keep_order_through_merging(void)
{
    struct mi_window w;
    struct mi_queue a, b;
    CU_ASSERT_TRUE_FATAL(mi_window_init(&w, 0));
    mi_queue_init(&a);
    mi_queue_init(&b);
    for (uint64_t i = 0; i < 50; i++)
        mi_queue_push(&w, i % 3 ? &a : &b, push(&w, i));
    mi_queue_merge(&w, &a, &b);
    CU_ASSERT_EQUAL(a.count, 50);
    CU_ASSERT_EQUAL(b.count, 0);
    uint32_t third = mi_queue_take(&w, &a, 2);
    CU_ASSERT_EQUAL(w.entries[third].ref.sequence, 2);
    uint32_t last = mi_queue_take(&w, &a, 48);
    CU_ASSERT_EQUAL(w.entries[last].ref.sequence, 49);
    mi_queue_push(&w, &a, last);
    mi_queue_put_back(&w, &a, third);
    CU_ASSERT_EQUAL(mi_queue_pop(&w, &a), third);
    uint64_t before = 0;
    while (a.count > 1) {
        uint64_t now = w.entries[mi_queue_pop(&w, &a)].ref.sequence;
        CU_ASSERT_TRUE(now >= before);
        before = now;
    }
    mi_window_fini(&w);
}

static void test_gate_lets_one_probe_through(void)
{
    struct mi_gate g = {0};
    CU_ASSERT_TRUE(mi_gate_lets(&g, 0));
    mi_gate_failed(&g, 1000, 100, 10000, 0, 50);
    mi_gate_failed(&g, 1001, 100, 10000, 0, 50);
    CU_ASSERT_EQUAL(g.failures, 1);
    CU_ASSERT_FALSE(mi_gate_lets(&g, 1001));
    CU_ASSERT_TRUE(mi_gate_lets(&g, g.due_ns));
    mi_gate_took(&g);
    CU_ASSERT_FALSE(mi_gate_lets(&g, g.due_ns + 1000));
    mi_gate_failed(&g, 3000, 100, 10000, 0, 0);
    CU_ASSERT_EQUAL(g.failures, 2);
    CU_ASSERT_TRUE(mi_gate_opened(&g));
    CU_ASSERT_FALSE(mi_gate_opened(&g));
    CU_ASSERT_TRUE(mi_gate_lets(&g, 0));
}

static void test_missing_set(void)
{
    static struct mi_missing m;
    char name[16];
    struct mi_span s = mi_span_of("s");
    mi_missing_init(&m, 42);
    CU_ASSERT_FALSE(mi_missing_has(&m, s, mi_span_of("t")));
    unsigned held = 0;
    for (unsigned i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "t%u", i);
        mi_missing_add(&m, s, mi_span_of(name));
        mi_missing_add(&m, s, mi_span_of(name));
        held += mi_missing_has(&m, s, mi_span_of(name));
    }
    CU_ASSERT_EQUAL(held, 1000);
    CU_ASSERT_FALSE(mi_missing_has(&m, s, mi_span_of("t1000")));
    for (unsigned i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "t%u", i);
        mi_missing_remove(&m, s, mi_span_of(name));
        CU_ASSERT_FALSE(mi_missing_has(&m, s, mi_span_of(name)));
    }
    CU_ASSERT_EQUAL(m.count, 0);
    CU_ASSERT_NOT_EQUAL(mi_target_hash(1, mi_span_of("ab"), mi_span_of("c")),
                        mi_target_hash(1, mi_span_of("a"), mi_span_of("bc")));
}

static void test_id_set(void)
{
    struct mi_id_set *s = mi_id_set_new();
    CU_ASSERT_FALSE(mi_id_set_take(s, (struct iggy_id){1, 1}));
    for (uint64_t i = 0; i < 100000; i++)
        CU_ASSERT_TRUE(mi_id_set_add(s, (struct iggy_id){i % 3, i}));
    CU_ASSERT_FALSE(mi_id_set_take(s, (struct iggy_id){2, 0}));
    for (uint64_t i = 0; i < 100000; i++)
        CU_ASSERT_TRUE(mi_id_set_take(s, (struct iggy_id){i % 3, i}));
    CU_ASSERT_FALSE(mi_id_set_take(s, (struct iggy_id){0, 0}));
    uint64_t n = 0;
    while (n <= MI_MAX_ID_SET && mi_id_set_add(s, (struct iggy_id){9, n}))
        n++;
    CU_ASSERT_TRUE(n <= MI_MAX_ID_SET);
    mi_id_set_free(s);
}

/* ---- checkpoint ---- */

static void write_checkpoint(struct mi_buf *b)
{
    struct mi_checkpoint_writer w;
    mi_buf_init(b, 1 << 20);
    mi_checkpoint_begin(&w, b);
    mi_checkpoint_put(&w, &(struct mi_checkpoint_item){.tag = 'H', .head = {1000, UINT64_MAX}});
    mi_checkpoint_put(&w, &(struct mi_checkpoint_item){.tag = 'D', .done = {1003, 4}});
    mi_checkpoint_put(&w, &(struct mi_checkpoint_item){.tag = 'D', .done = {2000, 1}});
    struct mi_checkpoint_item route = {
        .tag = 'C', .route = {.id = 7, .targets_made = 3, .journaled = 12, .counters = MI_C_ROUTE_COUNTERS}};
    route.route.counter[MI_C_COMMITTED] = 11;
    mi_checkpoint_put(&w, &route);
    mi_checkpoint_put(
        &w, &(struct mi_checkpoint_item){.tag = 'T', .target = {mi_span_of("s"), mi_span_of("t"), 99, 4, 7}});
    mi_checkpoint_put(&w, &(struct mi_checkpoint_item){.tag = 'L',
                                                       .lane = {.partition = 3,
                                                                .confirmed = true,
                                                                .confirmed_offset = 1ull << 40,
                                                                .id_hi = UINT64_MAX,
                                                                .id_lo = 5,
                                                                .read_from_known = true,
                                                                .read_from = 77}});
    CU_ASSERT_TRUE(mi_checkpoint_end(&w));
}

static void test_checkpoint_comes_back(void)
{
    struct mi_buf b;
    struct mi_checkpoint_reader r;
    struct mi_checkpoint_item item;
    write_checkpoint(&b);
    CU_ASSERT_TRUE_FATAL(mi_checkpoint_open(&r, mi_buf_span(&b)));
    CU_ASSERT_EQUAL(mi_checkpoint_next(&r, &item), 1);
    CU_ASSERT_TRUE(item.tag == 'H' && item.head.window_start == 1000 && item.head.counts_next == UINT64_MAX);
    CU_ASSERT_EQUAL(mi_checkpoint_next(&r, &item), 1);
    CU_ASSERT_TRUE(item.tag == 'D' && item.done.first == 1003 && item.done.count == 4);
    CU_ASSERT_EQUAL(mi_checkpoint_next(&r, &item), 1);
    CU_ASSERT_TRUE(item.done.first == 2000 && item.done.count == 1);
    CU_ASSERT_EQUAL(mi_checkpoint_next(&r, &item), 1);
    CU_ASSERT_TRUE(item.tag == 'C' && item.route.id == 7 && item.route.targets_made == 3 &&
                   item.route.journaled == 12);
    CU_ASSERT_EQUAL(item.route.counter[MI_C_COMMITTED], 11);
    CU_ASSERT_EQUAL(mi_checkpoint_next(&r, &item), 1);
    CU_ASSERT_TRUE(item.tag == 'T' && mi_span_equal(item.target.topic, mi_span_of("t")) &&
                   item.target.partitions == 4);
    CU_ASSERT_EQUAL(mi_checkpoint_next(&r, &item), 1);
    CU_ASSERT_TRUE(item.tag == 'L' && item.lane.confirmed && item.lane.confirmed_offset == 1ull << 40);
    CU_ASSERT_TRUE(item.lane.id_hi == UINT64_MAX && item.lane.read_from_known && item.lane.read_from == 77 &&
                   !item.lane.lost);
    CU_ASSERT_EQUAL(mi_checkpoint_next(&r, &item), 0);
    mi_buf_fini(&b);
}

static int read_all(struct mi_span in)
{
    struct mi_checkpoint_reader r;
    struct mi_checkpoint_item item;
    int rc = mi_checkpoint_open(&r, in) ? 1 : -1;
    for (unsigned i = 0; rc == 1 && i < 10000; i++)
        rc = mi_checkpoint_next(&r, &item);
    return rc;
}

static void test_checkpoint_that_is_cut_or_changed_does_not_crash(void)
{
    struct mi_buf b;
    write_checkpoint(&b);
    for (size_t n = 0; n < b.len; n++) {
        uint8_t *copy = malloc(n + 1);
        memcpy(copy, b.data, n);
        CU_ASSERT_EQUAL(read_all((struct mi_span){copy, n}), -1);
        free(copy);
    }
    for (size_t n = 0; n < b.len; n++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            b.data[n] ^= (uint8_t)(1u << bit);
            read_all(mi_buf_span(&b));
            b.data[n] ^= (uint8_t)(1u << bit);
        }
    }
    b.data[3]++;
    CU_ASSERT_EQUAL(read_all(mi_buf_span(&b)), -1);
    mi_buf_fini(&b);
}

static void test_done_runs(void)
{
    struct mi_done_runs d = {0};
    mi_done_runs_add(&d, 10, 5);
    mi_done_runs_add(&d, 20, 1);
    static const uint64_t DONE[] = {10, 11, 12, 13, 14, 20};
    size_t next = 0;
    for (uint64_t s = 0; s < 30; s++) {
        bool done = next < sizeof DONE / sizeof DONE[0] && DONE[next] == s;
        CU_ASSERT_EQUAL(mi_done_runs_has(&d, s), done);
        next += done;
    }
    mi_done_runs_fini(&d);
}

/* ---- dead letters ---- */

static struct mi_record letter(uint64_t sequence)
{
    return (struct mi_record){.run = 3,
                              .sequence = sequence,
                              .reason = MI_REASON_TOO_LARGE,
                              .stream = mi_span_of("stream"),
                              .topic = mi_span_of("topic"),
                              .headers = mi_span_of("headers"),
                              .prefix = mi_span_of("pre"),
                              .payload = mi_span_of("payload")};
}

static uint64_t size_of(const char *dir)
{
    char path[400];
    struct stat st = {0};
    snprintf(path, sizeof path, "%s/" MI_DEAD_LETTER_FILE, dir);
    stat(path, &st);
    return (uint64_t)st.st_size;
}

static void test_dead_letter_file(void)
{
    char dir[256], path[400];
    struct mi_error err;
    struct mi_record r = letter(5);
    CU_ASSERT_TRUE_FATAL(mi_temp_dir(dir, sizeof dir));
    snprintf(path, sizeof path, "%s/" MI_DEAD_LETTER_FILE, dir);
    struct mi_dead_letters *d = mi_dead_letters_new(dir, 250, 5);
    CU_ASSERT_EQUAL(mi_dead_letters_add(d, &r, &err), MI_DEAD_WRITTEN);
    uint64_t one = size_of(dir);
    CU_ASSERT_EQUAL(one, 8 + mi_record_bytes(&r));
    r = letter(6);
    CU_ASSERT_EQUAL(mi_dead_letters_add(d, &r, &err), MI_DEAD_WRITTEN);
    r = letter(7);
    CU_ASSERT_EQUAL(mi_dead_letters_add(d, &r, &err), MI_DEAD_FULL);
    mi_dead_letters_free(d);
    /* a torn last letter is cut, those that are there do not come twice */
    CU_ASSERT_EQUAL(truncate(path, (off_t)(2 * one - 9)), 0);
    d = mi_dead_letters_new(dir, 1000, 5);
    r = letter(5);
    CU_ASSERT_EQUAL(mi_dead_letters_add(d, &r, &err), MI_DEAD_WRITTEN);
    CU_ASSERT_EQUAL(size_of(dir), one);
    r = letter(6);
    CU_ASSERT_EQUAL(mi_dead_letters_add(d, &r, &err), MI_DEAD_WRITTEN);
    CU_ASSERT_EQUAL(size_of(dir), 2 * one);
    /* the tool put another file in its place */
    CU_ASSERT_EQUAL(unlink(path), 0);
    r = letter(8);
    CU_ASSERT_EQUAL(mi_dead_letters_add(d, &r, &err), MI_DEAD_WRITTEN);
    CU_ASSERT_EQUAL(size_of(dir), one);
    mi_dead_letters_free(d);
    mi_remove_tree(dir);
    d = mi_dead_letters_new(dir, 1000, 5);
    CU_ASSERT_EQUAL(mi_dead_letters_add(d, &r, &err), MI_DEAD_FAILED);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, MI_DEAD_LETTER_FILE));
    mi_dead_letters_free(d);
}

static CU_TestInfo tests[] = {
    {"outcome table", test_outcome_table},
    {"window moves over what is done", test_window_moves_over_what_is_done},
    {"window is bounded and wraps", test_window_is_bounded_and_wraps},
    {"side entries are given back", test_side_entries_are_given_back},
    {"queues keep order through merging", test_queues_keep_order_through_merging},
    {"gate lets one probe through", test_gate_lets_one_probe_through},
    {"missing set", test_missing_set},
    {"id set", test_id_set},
    {"checkpoint comes back", test_checkpoint_comes_back},
    {"checkpoint that is cut or changed", test_checkpoint_that_is_cut_or_changed_does_not_crash},
    {"done runs", test_done_runs},
    {"dead letter file", test_dead_letter_file},
    CU_TEST_INFO_NULL,
};

MI_SUITE_MAIN("out parts", tests)
