/* positions: what is written is read back; the form before it too; a cut state is refused at every length;
 * what no target took yet is kept. */
#include "in/positions.h"
#include "in/saved.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>

static struct mi_position position(uint32_t route, uint32_t partition, uint64_t next, const char *stream,
                                   const char *topic)
{
    return (struct mi_position){.route = route,
                                .partition = partition,
                                .created_at = 111,
                                .next = next,
                                .stream = mi_span_of(stream),
                                .topic = mi_span_of(topic)};
}

static void write_two(struct mi_buf *out)
{
    size_t start;
    struct mi_position a = position(1, 0, 42, "streams", "topic one");
    struct mi_position b = position(0xffffffff, 7, UINT64_MAX, "s", "\xc3\xa9");
    a.marked = true;
    a.mark = (struct mi_mark){41, 0x8000000000000001, 3, 99};
    b.rests = b.rebuild = true;
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
    CU_ASSERT_TRUE(p.marked && !p.rests && !p.rebuild);
    CU_ASSERT_TRUE(p.mark.offset == 41 && p.mark.id_hi == 0x8000000000000001 && p.mark.id_lo == 3 &&
                   p.mark.stamp_us == 99);
    CU_ASSERT_TRUE(mi_span_equal(p.topic, mi_span_of("topic one")));
    CU_ASSERT_EQUAL(mi_positions_next(mi_buf_span(&out), &at, &p), 1);
    CU_ASSERT_EQUAL(p.route, 0xffffffff);
    CU_ASSERT_EQUAL(p.partition, 7);
    CU_ASSERT_EQUAL(p.next, UINT64_MAX);
    CU_ASSERT_TRUE(!p.marked && p.rests && p.rebuild);
    CU_ASSERT_TRUE(mi_span_equal(p.stream, mi_span_of("s")));
    CU_ASSERT_EQUAL(mi_positions_next(mi_buf_span(&out), &at, &p), 0);
    mi_buf_fini(&out);
}

static void the_form_before_it_is_read(void)
{
    static const uint8_t one[] = "MIP1\1\0\0\0"
                                 "\7\0\0\0"
                                 "\2\0\0\0"
                                 "\5\0\0\0\0\0\0\0"
                                 "\x0b\0\0\0\0\0\0\0"
                                 "\1\0\3\0sabc";
    struct mi_position p;
    size_t at = 0;
    struct mi_span saved = {one, sizeof one - 1};
    CU_ASSERT_EQUAL(mi_positions_next(saved, &at, &p), 1);
    CU_ASSERT_TRUE(p.route == 7 && p.partition == 2 && p.created_at == 5 && p.next == 11);
    CU_ASSERT_TRUE(!p.marked && !p.rests);
    CU_ASSERT_TRUE(mi_span_equal(p.stream, mi_span_of("s")) && mi_span_equal(p.topic, mi_span_of("abc")));
    CU_ASSERT_EQUAL(mi_positions_next(saved, &at, &p), 0);
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
    size_t boundary = 8 + 56 + 7 + 9; /* behind the first entry a cut cannot be told from an end */
    for (size_t len = 0; len < out.len; len++) {
        struct mi_span cut = {out.data, len};
        int expected = len == 8 ? 0 : len == boundary ? 1 : -1;
        CU_ASSERT_EQUAL(read_all(cut), expected);
    }
    mi_buf_fini(&out);
}

static void sum(void *context, const struct mi_position *p)
{
    *(uint64_t *)context += p->next;
}

static bool not_route_9(void *context, uint32_t route)
{
    (void)context;
    return route != 9;
}

static void what_no_target_took_is_kept(void)
{
    struct mi_buf out, again;
    struct mi_saved saved;
    size_t start;
    uint64_t found = 0;
    mi_buf_init(&out, 100000);
    mi_buf_init(&again, 100000);
    mi_saved_init(&saved);
    mi_positions_begin(&out, &start);
    for (uint32_t i = 0; i < 300; i++) {
        char topic[16];
        snprintf(topic, sizeof topic, "t%u", i % 100);
        struct mi_position p = position(i / 100 == 2 ? 9 : 1, i / 100, 1000 + i, "s", topic);
        CU_ASSERT_TRUE(mi_positions_add(&out, start, &p));
    }
    CU_ASSERT_TRUE(mi_saved_load(&saved, mi_buf_span(&out)));
    mi_saved_take(&saved, 1, mi_span_of("s"), mi_span_of("t17"), sum, &found);
    CU_ASSERT_EQUAL(found, 1017 + 1117);
    mi_saved_take(&saved, 1, mi_span_of("s"), mi_span_of("t17"), sum, &found);
    CU_ASSERT_EQUAL(found, 1017 + 1117); /* once */
    mi_positions_begin(&again, &start);
    CU_ASSERT_TRUE(mi_saved_write(&saved, &again, start, false, not_route_9, NULL));
    CU_ASSERT_EQUAL(read_all(mi_buf_span(&again)), 198);
    CU_ASSERT_FALSE(mi_saved_load(&saved, mi_span_of("MIP3....")));
    found = 0;
    mi_saved_take(&saved, 1, mi_span_of("s"), mi_span_of("t18"), sum, &found);
    CU_ASSERT_EQUAL(found, 0);
    mi_saved_fini(&saved);
    mi_buf_fini(&out);
    mi_buf_fini(&again);
}

static CU_TestInfo tests[] = {
    {"what is written is read back", what_is_written_is_read_back},
    {"the form before it is read", the_form_before_it_is_read},
    {"a cut state is refused", a_cut_state_is_refused},
    {"what no target took is kept", what_no_target_took_is_kept},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("positions", tests)
