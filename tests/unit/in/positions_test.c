/* positions: what is written is read back; a cut state is refused at every length. */
#include "in/positions.h"
#include "support/suite.h"

static void write_two(struct mi_buf *out)
{
    size_t start;
    struct mi_position a = {1, 0, 111, 42, mi_span_of("streams"), mi_span_of("topic one")};
    struct mi_position b = {0xffffffff, 7, UINT64_MAX, UINT64_MAX, mi_span_of("s"), mi_span_of("\xc3\xa9")};
    CU_ASSERT_TRUE(mi_positions_begin(out, &start));
    CU_ASSERT_TRUE(mi_positions_add(out, start, &a));
    CU_ASSERT_TRUE(mi_positions_add(out, start, &b));
}

static void what_is_written_is_read_back(void)
{
    struct mi_buf out;
    struct mi_position p;
    size_t at = 0;
    mi_buf_init(&out, 1000);
    write_two(&out);
    CU_ASSERT_EQUAL(mi_positions_next(mi_buf_span(&out), &at, &p), 1);
    CU_ASSERT_EQUAL(p.next, 42);
    CU_ASSERT_EQUAL(p.created_at, 111);
    CU_ASSERT_TRUE(mi_span_equal(p.topic, mi_span_of("topic one")));
    CU_ASSERT_EQUAL(mi_positions_next(mi_buf_span(&out), &at, &p), 1);
    CU_ASSERT_EQUAL(p.route, 0xffffffff);
    CU_ASSERT_EQUAL(p.partition, 7);
    CU_ASSERT_EQUAL(p.next, UINT64_MAX);
    CU_ASSERT_TRUE(mi_span_equal(p.stream, mi_span_of("s")));
    CU_ASSERT_EQUAL(mi_positions_next(mi_buf_span(&out), &at, &p), 0);
    mi_buf_fini(&out);
}

static int read_all(struct mi_span saved)
{
    struct mi_position p;
    size_t at = 0;
    int found, n = 0;
    while ((found = mi_positions_next(saved, &at, &p)) == 1)
        n++;
    return found < 0 ? -1 : n;
}

static void a_cut_state_is_refused(void)
{
    struct mi_buf out;
    mi_buf_init(&out, 1000);
    write_two(&out);
    size_t boundary = 8 + 28 + 7 + 9; /* behind the first entry a cut cannot be told from an end */
    for (size_t len = 0; len < out.len; len++) {
        struct mi_span cut = {out.data, len};
        int expected = len == 8 ? 0 : len == boundary ? 1 : -1;
        CU_ASSERT_EQUAL(read_all(cut), expected);
    }
    mi_buf_fini(&out);
}

static CU_TestInfo tests[] = {
    {"what is written is read back", what_is_written_is_read_back},
    {"a cut state is refused", a_cut_state_is_refused},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("positions", tests)
