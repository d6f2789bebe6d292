/* state: both parts come back whole, and nothing else is taken for a state. */
#include "loop/state.h"
#include "support/suite.h"

static void write_state(struct mi_buf *b, const char *checkpoint, const char *positions)
{
    CU_ASSERT_TRUE(mi_state_begin(b));
    mi_buf_add_text(b, checkpoint);
    CU_ASSERT_TRUE(mi_state_between(b));
    mi_buf_add_text(b, positions);
    CU_ASSERT_TRUE(mi_state_end(b));
}

static void both_parts_come_back(void)
{
    struct mi_buf b;
    struct mi_span checkpoint, positions;
    struct mi_state_store store;
    mi_buf_init(&b, 1000);
    write_state(&b, "check", "positions!");
    CU_ASSERT_TRUE(mi_state_split(mi_buf_span(&b), &checkpoint, &positions, &store));
    CU_ASSERT_TRUE(mi_span_equal(checkpoint, mi_span_of("check")));
    CU_ASSERT_TRUE(mi_span_equal(positions, mi_span_of("positions!")));
    write_state(&b, "", "p");
    CU_ASSERT_TRUE(mi_state_split(mi_buf_span(&b), &checkpoint, &positions, &store));
    CU_ASSERT_EQUAL(checkpoint.len, 0);
    CU_ASSERT_EQUAL(positions.len, 1);
    mi_buf_fini(&b);
}

static void cut_or_foreign_bytes_are_refused(void)
{
    struct mi_buf b;
    struct mi_span checkpoint, positions;
    struct mi_state_store store;
    mi_buf_init(&b, 1000);
    write_state(&b, "check", "positions");
    for (size_t len = 0; len < b.len; len++) {
        struct mi_span cut = {b.data, len};
        CU_ASSERT_FALSE(mi_state_split(cut, &checkpoint, &positions, &store));
    }
    b.data[0] ^= 1;
    CU_ASSERT_FALSE(mi_state_split(mi_buf_span(&b), &checkpoint, &positions, &store));
    mi_buf_fini(&b);
}

static void what_is_known_of_the_store_comes_back(void)
{
    struct mi_buf b;
    struct mi_span checkpoint, positions;
    struct mi_state_store store, in = {true, 77, mi_span_of("outstanding")};
    mi_buf_init(&b, 1000);
    write_state(&b, "check", "positions");
    CU_ASSERT_TRUE(mi_state_split(mi_buf_span(&b), &checkpoint, &positions, &store));
    CU_ASSERT_FALSE(store.clean); /* a state of an older version */
    CU_ASSERT_TRUE(mi_state_add_store(&b, &in));
    CU_ASSERT_TRUE(mi_state_split(mi_buf_span(&b), &checkpoint, &positions, &store));
    CU_ASSERT_TRUE(mi_span_equal(positions, mi_span_of("positions")));
    CU_ASSERT_TRUE(store.clean);
    CU_ASSERT_EQUAL(store.next_sequence, 77);
    CU_ASSERT_TRUE(mi_span_equal(store.outstanding, mi_span_of("outstanding")));
    struct mi_span cut = {b.data, b.len - store.outstanding.len - 1};
    CU_ASSERT_TRUE(mi_state_split(cut, &checkpoint, &positions, &store));
    CU_ASSERT_FALSE(store.clean);
    mi_buf_fini(&b);
}

static void a_state_that_does_not_fit_is_not_half_written(void)
{
    struct mi_buf b;
    mi_buf_init(&b, 14);
    CU_ASSERT_TRUE(mi_state_begin(&b));
    mi_buf_add_text(&b, "too long");
    CU_ASSERT_FALSE(mi_state_between(&b));
    CU_ASSERT_FALSE(mi_state_end(&b));
    mi_buf_fini(&b);
}

static CU_TestInfo tests[] = {
    {"both parts come back", both_parts_come_back},
    {"cut or foreign bytes are refused", cut_or_foreign_bytes_are_refused},
    {"what is known of the store comes back", what_is_known_of_the_store_comes_back},
    {"a state that does not fit is not half written", a_state_that_does_not_fit_is_not_half_written},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("state", tests)
