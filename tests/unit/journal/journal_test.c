/* The journal in its ordinary life: append, gather, roll, read, release, keep, recycle, full, counts. */
#include "fixture.h"
#include "journal/journal_private.h"
#include "support/suite.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void append_range(struct fixture *f, uint64_t from, uint64_t to, uint8_t qos)
{
    for (uint64_t n = from; n <= to; n++)
        CU_ASSERT_EQUAL(fixture_append(f, n, qos), MI_APPEND_OK);
}

static void step_after(struct fixture *f, uint64_t ns)
{
    f->now_ns += ns;
    mi_journal_disk_step(f->j);
}

static struct mi_journal_stats stats(struct fixture *f)
{
    struct mi_journal_stats s;
    mi_journal_stats(f->j, &s);
    return s;
}

static void test_new_directory(void)
{
    struct fixture f;
    struct stat st;
    fixture_begin(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    CU_ASSERT_TRUE(f.report.created && f.report.records == 0 && !f.report.identity_changed);
    CU_ASSERT_TRUE(stat(f.dir, &st) == 0 && (st.st_mode & 0777) == 0700);
    CU_ASSERT_TRUE(stat(fixture_path(&f, "identity"), &st) == 0 && (st.st_mode & 0777) == 0600);
    CU_ASSERT_TRUE(stat(fixture_path(&f, "0000000000000001.seg"), &st) == 0 && (st.st_mode & 0777) == 0600);
    CU_ASSERT_EQUAL(strlen(mi_journal_identity(f.j)), 32);
    CU_ASSERT_EQUAL(stats(&f).next_sequence, 1);
    CU_ASSERT_EQUAL(fixture_walk(&f, 0, NULL, 0), 0);
    fixture_end(&f);
}

static void test_append_and_read_over_many_segments(void)
{
    struct fixture f;
    fixture_begin(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    append_range(&f, 1, 500, 1);
    CU_ASSERT_EQUAL(fixture_walk(&f, 0, NULL, 0), 500);
    CU_ASSERT_EQUAL(fixture_walk(&f, 333, NULL, 0), 168);
    CU_ASSERT_TRUE(stats(&f).segments > 5);
    fixture_close(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    CU_ASSERT_EQUAL(f.report.records, 500);
    CU_ASSERT_EQUAL(fixture_walk(&f, 0, NULL, 0), 500);
    append_range(&f, 501, 510, 2);
    CU_ASSERT_EQUAL(fixture_walk(&f, 0, NULL, 0), 510);
    CU_ASSERT_EQUAL(stats(&f).next_sequence, 511);
    fixture_end(&f);
}

static void test_each_opening_draws_a_run(void)
{
    struct fixture f;
    struct mi_record r[3];
    uint64_t runs[3];
    fixture_begin(&f);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_TRUE_FATAL(fixture_open(&f));
        memset(&r[i], 0, sizeof r[i]);
        CU_ASSERT_EQUAL(mi_journal_append(f.j, &r[i], 1), MI_APPEND_OK);
        CU_ASSERT_EQUAL(r[i].sequence, (uint64_t)i + 1);
        runs[i] = r[i].run;
        fixture_close(&f);
    }
    CU_ASSERT_TRUE(runs[0] != runs[1] && runs[1] != runs[2]);
    fixture_end(&f);
}

static void test_records_of_one_publish_are_one_write(void)
{
    struct fixture f;
    struct mi_record r[3] = {{.qos = 1, .route = 1}, {.qos = 0, .route = 2}, {.qos = 1, .route = 3}};
    fixture_begin(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    uint64_t before = f.files.calls[FAULTY_WRITE];
    CU_ASSERT_EQUAL(mi_journal_append(f.j, r, 3), MI_APPEND_OK);
    CU_ASSERT_EQUAL(f.files.calls[FAULTY_WRITE], before + 1);
    CU_ASSERT_TRUE(r[0].sequence == 1 && r[1].sequence == 2 && r[2].sequence == 3);
    CU_ASSERT_EQUAL(stats(&f).next_sequence, 4);
    fixture_end(&f);
}

static void test_qos0_gathers_and_keeps_order(void)
{
    struct fixture f;
    uint64_t numbers[4] = {0};
    fixture_begin(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    uint64_t before = f.files.calls[FAULTY_WRITE];
    append_range(&f, 1, 2, 0);
    CU_ASSERT_EQUAL(f.files.calls[FAULTY_WRITE], before);
    CU_ASSERT_EQUAL(fixture_walk(&f, 0, NULL, 0), 0);
    append_range(&f, 3, 3, 1);
    CU_ASSERT_EQUAL(f.files.calls[FAULTY_WRITE], before + 1);
    CU_ASSERT_EQUAL(fixture_walk(&f, 0, numbers, 4), 3);
    CU_ASSERT_TRUE(numbers[0] == 1 && numbers[1] == 2 && numbers[2] == 3);
    append_range(&f, 4, 4, 0);
    CU_ASSERT_TRUE(mi_journal_disk_step(f.j) <= 2 * MI_NS_PER_MS);
    CU_ASSERT_EQUAL(fixture_walk(&f, 0, NULL, 0), 3);
    step_after(&f, 2 * MI_NS_PER_MS);
    CU_ASSERT_EQUAL(fixture_walk(&f, 0, NULL, 0), 4);
    fixture_end(&f);
}

static void test_gathered_are_lost_in_a_crash_and_not_counted(void)
{
    struct fixture f;
    struct mi_route_count counts[8];
    uint64_t next;
    fixture_begin(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    append_range(&f, 1, 3, 1);
    append_range(&f, 4, 6, 0);
    CU_ASSERT_EQUAL(mi_journal_counts(f.j, counts, 8, &next), 3);
    CU_ASSERT_EQUAL(next, 4);
    fixture_crash(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    CU_ASSERT_EQUAL(f.report.records, 3);
    CU_ASSERT_EQUAL(fixture_walk(&f, 0, NULL, 0), 3);
    fixture_end(&f);
}

static void test_large_record_gets_its_own_segment(void)
{
    struct fixture f;
    fixture_begin(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    uint8_t *big = malloc(100000);
    memset(big, 7, 100000);
    append_range(&f, 1, 2, 1);
    struct mi_record r = {.qos = 1, .payload = {big, 100000}}, got;
    CU_ASSERT_EQUAL(mi_journal_append(f.j, &r, 1), MI_APPEND_OK);
    append_range(&f, 4, 5, 1);
    mi_journal_disk_step(f.j);
    for (int round = 0; round < 2; round++) {
        struct mi_cursor *c = mi_cursor_new(f.j, 3);
        struct mi_journal_ref ref;
        CU_ASSERT_EQUAL(mi_cursor_next(c, &ref, &got, NULL), 1);
        CU_ASSERT_TRUE(mi_span_equal(got.payload, r.payload) && got.sequence == 3);
        CU_ASSERT_EQUAL(mi_cursor_next(c, &ref, &got, NULL), 1);
        CU_ASSERT_EQUAL(fixture_number(&got), 4);
        mi_cursor_free(c);
        fixture_crash(&f);
        CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    }
    r.payload.len = 2 << 20;
    CU_ASSERT_EQUAL(mi_journal_append(f.j, &r, 1), MI_APPEND_TOO_LARGE);
    r.payload.len = 10;
    r.topic.len = 70000;
    CU_ASSERT_EQUAL(mi_journal_append(f.j, &r, 1), MI_APPEND_TOO_LARGE);
    free(big);
    fixture_end(&f);
}

static uint64_t fill(struct fixture *f, uint64_t n)
{
    while (fixture_append(f, n, 1) == MI_APPEND_OK) {
        n++;
        if (n % 50 == 0)
            mi_journal_disk_step(f->j);
    }
    return n;
}

static void test_full_and_room_again(void)
{
    struct fixture f;
    fixture_begin(&f);
    f.options.max_size = 128 << 10;
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    uint64_t n = fill(&f, 1);
    CU_ASSERT_TRUE(n > 100);
    CU_ASSERT_EQUAL(fixture_append(&f, n, 1), MI_APPEND_FULL);
    CU_ASSERT_FALSE(mi_journal_has_room(f.j, 2000));
    CU_ASSERT_TRUE(stats(&f).bytes <= f.options.max_size);
    CU_ASSERT_FALSE(stats(&f).failed);
    fixture_close(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f)); /* a full journal opens */
    CU_ASSERT_EQUAL(fixture_walk(&f, 0, NULL, 0), n - 1);
    CU_ASSERT_EQUAL(fixture_append(&f, n, 1), MI_APPEND_FULL);
    mi_journal_release(f.j, n / 2);
    CU_ASSERT_TRUE(mi_journal_has_room(f.j, 2000));
    CU_ASSERT_EQUAL(fixture_append(&f, n, 1), MI_APPEND_OK);
    mi_journal_disk_step(f.j);
    CU_ASSERT_TRUE(stats(&f).bytes <= f.options.max_size);
    mi_journal_release(f.j, n + 1);
    CU_ASSERT_TRUE(fill(&f, n + 1) > n + 100);
    fixture_end(&f);
}

static void test_keep_holds_released_segments(void)
{
    struct fixture f;
    fixture_begin(&f);
    f.options.keep = 64 << 10;
    f.options.max_size = 256 << 10;
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    append_range(&f, 1, 300, 1);
    mi_journal_release(f.j, 301);
    step_after(&f, MI_NS_PER_S);
    struct mi_journal_stats s = stats(&f);
    CU_ASSERT_TRUE(s.first_sequence > 1 && s.first_sequence < 200);
    CU_ASSERT_EQUAL(fixture_walk(&f, 0, NULL, 0), 300 - s.first_sequence + 1);
    uint64_t n = fill(&f, 301); /* what is kept goes first */
    CU_ASSERT_TRUE(stats(&f).first_sequence >= 280);
    CU_ASSERT_TRUE(stats(&f).bytes <= f.options.max_size);
    CU_ASSERT_EQUAL(fixture_append(&f, n, 1), MI_APPEND_FULL);
    fixture_end(&f);
}

/* Nothing is allocated, made or unlinked while appends and releases go on. */
static void test_steady_state_allocates_nothing(void)
{
    struct fixture f;
    fixture_begin(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    uint64_t made = 0, unlinked = 0, renamed = 0;
    for (uint64_t n = 1; n <= 3000; n++) {
        CU_ASSERT_EQUAL(fixture_append(&f, n, 1), MI_APPEND_OK);
        if (n % 20 == 0) {
            mi_journal_release(f.j, n - 10);
            step_after(&f, 150 * MI_NS_PER_MS);
        }
        if (n == 1000) {
            made = f.files.calls[FAULTY_ALLOCATE];
            unlinked = f.files.calls[FAULTY_UNLINK];
            renamed = f.files.calls[FAULTY_RENAME];
        }
    }
    CU_ASSERT_EQUAL(f.files.calls[FAULTY_ALLOCATE], made);
    CU_ASSERT_EQUAL(f.files.calls[FAULTY_UNLINK], unlinked);
    CU_ASSERT_TRUE(f.files.calls[FAULTY_RENAME] > renamed + 20);
    CU_ASSERT_TRUE(stats(&f).segments <= 5);
    fixture_end(&f);
}

static void test_cursor_wakes_and_catches_up(void)
{
    struct fixture f;
    struct mi_journal_ref ref;
    struct mi_record r;
    fixture_begin(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    struct mi_cursor *c = mi_cursor_new(f.j, 0);
    CU_ASSERT_EQUAL(mi_cursor_next(c, &ref, &r, &f.err), 0);
    for (uint64_t n = 1; n <= 300; n++) {
        f.read_wakes = 0;
        CU_ASSERT_EQUAL(fixture_append(&f, n, 1), MI_APPEND_OK);
        CU_ASSERT_EQUAL(f.read_wakes, 1);
        CU_ASSERT_EQUAL(mi_cursor_next(c, &ref, &r, &f.err), 1);
        CU_ASSERT_TRUE(fixture_is(&r, n) && mi_cursor_sequence(c) == n + 1);
        CU_ASSERT_EQUAL(mi_cursor_next(c, &ref, &r, &f.err), 0);
    }
    fixture_append(&f, 301, 1);
    f.read_wakes = 0;
    fixture_append(&f, 302, 1);
    CU_ASSERT_EQUAL(f.read_wakes, 0); /* the reader has not come to the end again */
    mi_cursor_free(c);
    fixture_end(&f);
}

static void test_read_by_reference(void)
{
    struct fixture f;
    struct mi_journal_ref refs[200];
    struct mi_record r;
    struct mi_buf buf;
    fixture_begin(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    append_range(&f, 1, 200, 1);
    struct mi_cursor *c = mi_cursor_new(f.j, 0);
    for (int i = 0; i < 200; i++)
        CU_ASSERT_EQUAL(mi_cursor_next(c, &refs[i], &r, &f.err), 1);
    mi_cursor_free(c);
    mi_buf_init(&buf, 1 << 20);
    for (int i = 199; i >= 0; i -= 3) {
        CU_ASSERT_EQUAL(mi_journal_read(f.j, &refs[i], &buf, &r, &f.err), 0);
        CU_ASSERT_TRUE(fixture_is(&r, (uint64_t)i + 1));
    }
    mi_journal_release(f.j, 201);
    for (uint64_t n = 201; n < 600; n++) {
        fixture_append(&f, n, 1);
        mi_journal_release(f.j, n);
        mi_journal_disk_step(f.j);
    }
    CU_ASSERT_EQUAL(mi_journal_read(f.j, &refs[0], &buf, &r, &f.err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(f.err.text, "not in the journal any more"));
    mi_buf_fini(&buf);
    fixture_end(&f);
}

/* A cursor on a segment that is recycled under it goes on with what is left, and counts no damage. */
static void test_cursor_over_recycled_segments(void)
{
    struct fixture f;
    struct mi_journal_ref ref;
    struct mi_record r;
    fixture_begin(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    append_range(&f, 1, 100, 1);
    struct mi_cursor *c = mi_cursor_new(f.j, 0);
    CU_ASSERT_EQUAL(mi_cursor_next(c, &ref, &r, &f.err), 1);
    for (uint64_t n = 101; n <= 900; n++) {
        fixture_append(&f, n, 1);
        mi_journal_release(f.j, n - 20);
        mi_journal_disk_step(f.j);
    }
    uint64_t first = stats(&f).first_sequence, last = r.sequence;
    while (mi_cursor_next(c, &ref, &r, &f.err) == 1) {
        CU_ASSERT_TRUE(r.sequence > last && fixture_is(&r, r.sequence));
        last = r.sequence;
    }
    CU_ASSERT_TRUE(first > 500 && last == 900);
    CU_ASSERT_EQUAL(stats(&f).damaged_records, 0);
    mi_cursor_free(c);
    fixture_end(&f);
}

/* What the disk thread and the broker do between two steps of the reader. */
static struct {
    struct fixture *f;
    uint64_t n; /* the next record */
    int (*open)(void *context, int dir, const char *name, int flags, mode_t mode);
    ssize_t (*pread)(void *context, int fd, void *data, size_t len, off_t offset);
} meanwhile;

static void recycle_all_but_the_newest(void)
{
    struct fixture *f = meanwhile.f;
    f->files.ops.open = meanwhile.open;
    f->files.ops.pread = meanwhile.pread;
    for (uint64_t end = meanwhile.n + 300; meanwhile.n < end; meanwhile.n++) {
        fixture_append(f, meanwhile.n, 1);
        mi_journal_release(f->j, meanwhile.n - 20);
        mi_journal_disk_step(f->j);
    }
}

static int open_too_late(void *context, int dir, const char *name, int flags, mode_t mode)
{
    recycle_all_but_the_newest();
    return meanwhile.open(context, dir, name, flags, mode);
}

static ssize_t read_too_late(void *context, int fd, void *data, size_t len, off_t offset)
{
    recycle_all_but_the_newest();
    return meanwhile.pread(context, fd, data, len, offset);
}

/* The segment goes after the cursor chose it: before it is opened, or before it is read. */
static void recycled_under_the_cursor(bool before_opening)
{
    struct fixture f;
    struct mi_journal_ref ref;
    struct mi_record r;
    fixture_begin(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    append_range(&f, 1, 100, 1);
    mi_journal_disk_step(f.j);
    struct mi_cursor *c = mi_cursor_new(f.j, 0);
    meanwhile.f = &f;
    meanwhile.n = 101;
    meanwhile.open = f.files.ops.open;
    meanwhile.pread = f.files.ops.pread;
    if (before_opening)
        f.files.ops.open = open_too_late;
    else
        f.files.ops.pread = read_too_late;
    CU_ASSERT_EQUAL(mi_cursor_next(c, &ref, &r, &f.err), 1);
    CU_ASSERT_EQUAL(meanwhile.n, 401);
    uint64_t last = r.sequence;
    CU_ASSERT_TRUE(last == stats(&f).first_sequence && last > 100 && fixture_is(&r, last));
    while (mi_cursor_next(c, &ref, &r, &f.err) == 1) {
        CU_ASSERT_TRUE(r.sequence == last + 1 && fixture_is(&r, r.sequence));
        last = r.sequence;
    }
    CU_ASSERT_EQUAL(last, 400);
    CU_ASSERT_EQUAL(stats(&f).damaged_records, 0);
    CU_ASSERT_EQUAL(strlen(f.lines), 0);
    mi_cursor_free(c);
    fixture_end(&f);
}

static void test_segment_recycled_before_it_is_opened(void)
{
    recycled_under_the_cursor(true);
}

static void test_segment_recycled_before_it_is_read(void)
{
    recycled_under_the_cursor(false);
}

static uint64_t count_of(const struct mi_route_count *c, size_t n, uint32_t route)
{
    for (size_t i = 0; i < n; i++)
        if (c[i].route == route)
            return c[i].records;
    return 0;
}

static void test_counts_over_restarts(void)
{
    struct fixture f;
    struct mi_route_count c[8], base[2] = {{0, 1000}, {1, 2000}};
    uint64_t next;
    fixture_begin(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    append_range(&f, 1, 403, 1);
    CU_ASSERT_EQUAL(mi_journal_counts(f.j, c, 8, &next), 5);
    CU_ASSERT_EQUAL(next, 404);
    CU_ASSERT_EQUAL(count_of(c, 5, 0), 80);
    CU_ASSERT_EQUAL(count_of(c, 5, 3), 81);
    for (int crash = 0; crash < 2; crash++) {
        if (crash)
            fixture_crash(&f);
        else
            fixture_close(&f);
        CU_ASSERT_TRUE_FATAL(fixture_open(&f));
        CU_ASSERT_EQUAL(mi_journal_set_counts(f.j, 0, NULL, 0, &f.err), 0);
        size_t n = mi_journal_counts(f.j, c, 8, &next);
        CU_ASSERT_EQUAL(n, 5);
        CU_ASSERT_EQUAL(count_of(c, n, 1), 81);
        CU_ASSERT_EQUAL(count_of(c, n, 4), 80);
    }
    fixture_close(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    CU_ASSERT_EQUAL(mi_journal_set_counts(f.j, 301, base, 2, &f.err), 0);
    append_range(&f, 405, 405, 1);
    size_t n = mi_journal_counts(f.j, c, 8, &next);
    CU_ASSERT_EQUAL(count_of(c, n, 0), 1000 + 20 + 1);
    CU_ASSERT_EQUAL(count_of(c, n, 1), 2000 + 21);
    CU_ASSERT_EQUAL(mi_journal_counts(f.j, c, 1, &next), n);
    fixture_end(&f);
}

/* The checkpoint may be ahead of a journal that lost its tail with the power. */
static void test_checkpoint_ahead_of_journal(void)
{
    struct fixture f;
    struct mi_record r = {.qos = 1};
    fixture_begin(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    append_range(&f, 1, 5, 1);
    fixture_close(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    CU_ASSERT_EQUAL(mi_journal_set_counts(f.j, 50, NULL, 0, &f.err), 0);
    mi_journal_release(f.j, 50);
    CU_ASSERT_EQUAL(mi_journal_append(f.j, &r, 1), MI_APPEND_OK);
    CU_ASSERT_EQUAL(r.sequence, 50);
    mi_journal_release(f.j, 5000);
    CU_ASSERT_EQUAL(stats(&f).released_sequence, 51);
    fixture_end(&f);
}

/* With nothing left to send the next sequence is still known after a restart. */
static void test_sequence_survives_emptiness(void)
{
    struct fixture f;
    fixture_begin(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    append_range(&f, 1, 700, 1);
    mi_journal_release(f.j, 701);
    step_after(&f, MI_NS_PER_S);
    for (int i = 0; i < 5; i++) {
        fixture_close(&f);
        CU_ASSERT_TRUE_FATAL(fixture_open(&f));
        mi_journal_release(f.j, 701);
        step_after(&f, MI_NS_PER_S);
    }
    CU_ASSERT_EQUAL(stats(&f).next_sequence, 701);
    fixture_end(&f);
}

/* The newest segment stays though it is released and space is wanted: nothing else says what comes next. */
static void test_the_newest_segment_is_never_given_up(void)
{
    struct fixture f;
    fixture_begin(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    uint8_t *big = calloc(1, 600000);
    struct mi_record r = {.qos = 1, .payload = {big, 600000}};
    append_range(&f, 1, 6, 1);
    CU_ASSERT_EQUAL(mi_journal_append(f.j, &r, 1), MI_APPEND_OK);
    fixture_close(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    mi_journal_release(f.j, 8);
    f.files.error[FAULTY_ALLOCATE] = ENOSPC;
    CU_ASSERT_EQUAL(mi_journal_append(f.j, &r, 1),
                    MI_APPEND_FAILED); /* twice that is more than the maximum */
    fixture_crash(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    CU_ASSERT_EQUAL(stats(&f).next_sequence, 8);
    free(big);
    fixture_end(&f);
}

static void test_sync_interval_and_durable(void)
{
    struct fixture f;
    fixture_begin(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    append_range(&f, 1, 3, 1);
    CU_ASSERT_TRUE(f.disk_wakes > 0);
    uint64_t syncs = f.files.calls[FAULTY_SYNC];
    CU_ASSERT_EQUAL(mi_journal_disk_step(f.j), 100 * MI_NS_PER_MS);
    CU_ASSERT_EQUAL(f.files.calls[FAULTY_SYNC], syncs);
    CU_ASSERT_EQUAL(stats(&f).durable_sequence, 1);
    step_after(&f, 100 * MI_NS_PER_MS);
    CU_ASSERT_EQUAL(f.files.calls[FAULTY_SYNC], syncs + 1);
    CU_ASSERT_EQUAL(stats(&f).durable_sequence, 4);
    CU_ASSERT_EQUAL(mi_journal_disk_step(f.j), UINT64_MAX);
    fixture_end(&f);
}

static void test_sync_always(void)
{
    struct fixture f;
    fixture_begin(&f);
    f.options.sync = MI_SYNC_ALWAYS;
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    uint64_t syncs = f.files.calls[FAULTY_SYNC];
    append_range(&f, 1, 3, 0);
    CU_ASSERT_EQUAL(f.files.calls[FAULTY_SYNC], syncs);
    append_range(&f, 4, 6, 1);
    CU_ASSERT_EQUAL(f.files.calls[FAULTY_SYNC], syncs + 3);
    CU_ASSERT_EQUAL(stats(&f).durable_sequence, 7);
    fixture_end(&f);
}

static CU_TestInfo tests[] = {
    {"a new directory", test_new_directory},
    {"append and read over many segments", test_append_and_read_over_many_segments},
    {"each opening draws a run", test_each_opening_draws_a_run},
    {"records of one PUBLISH are one write", test_records_of_one_publish_are_one_write},
    {"QoS 0 gathers and keeps order", test_qos0_gathers_and_keeps_order},
    {"gathered are lost in a crash", test_gathered_are_lost_in_a_crash_and_not_counted},
    {"a large record gets its own segment", test_large_record_gets_its_own_segment},
    {"full and room again", test_full_and_room_again},
    {"keep holds released segments", test_keep_holds_released_segments},
    {"the steady state allocates nothing", test_steady_state_allocates_nothing},
    {"cursor wakes and catches up", test_cursor_wakes_and_catches_up},
    {"read by reference", test_read_by_reference},
    {"cursor over recycled segments", test_cursor_over_recycled_segments},
    {"a segment recycled before it is opened", test_segment_recycled_before_it_is_opened},
    {"a segment recycled before it is read", test_segment_recycled_before_it_is_read},
    {"counts over restarts", test_counts_over_restarts},
    {"checkpoint ahead of the journal", test_checkpoint_ahead_of_journal},
    {"sequence survives emptiness", test_sequence_survives_emptiness},
    {"the newest segment is never given up", test_the_newest_segment_is_never_given_up},
    {"sync interval and durable", test_sync_interval_and_durable},
    {"sync always", test_sync_always},
    CU_TEST_INFO_NULL};
MI_SUITE_MAIN("journal", tests)
