/* The disk refuses: full, failing, short writes, failed syncs; and comes back. */
#include "fixture.h"
#include "journal/journal_private.h"
#include "support/suite.h"

#include <errno.h>
#include <string.h>

static struct mi_journal_stats stats(struct fixture *f)
{
    struct mi_journal_stats s;
    mi_journal_stats(f->j, &s);
    return s;
}

static void open_with(struct fixture *f, uint64_t from, uint64_t to)
{
    fixture_begin(f);
    CU_ASSERT_TRUE_FATAL(fixture_open(f));
    for (uint64_t n = from; n <= to; n++)
        CU_ASSERT_EQUAL(fixture_append(f, n, 1), MI_APPEND_OK);
}

static size_t lines_with(const struct fixture *f, const char *text)
{
    size_t n = 0;
    for (const char *at = f->lines; (at = strstr(at, text)); at++)
        n++;
    return n;
}

static void recover_disk(struct fixture *f)
{
    memset(f->files.error, 0, sizeof f->files.error);
    f->files.write_budget = -1;
    f->files.short_write = 0;
    for (int i = 0; i < 3; i++) {
        f->now_ns += 2 * MI_NS_PER_S;
        mi_journal_disk_step(f->j);
    }
}

static void test_failed_write_refuses_loudly_and_comes_back(void)
{
    struct fixture f;
    uint64_t numbers[16];
    open_with(&f, 1, 3);
    f.files.error[FAULTY_WRITE] = EIO;
    for (uint64_t n = 4; n < 50; n++)
        CU_ASSERT_EQUAL(fixture_append(&f, n, 1), MI_APPEND_FAILED);
    CU_ASSERT_EQUAL(fixture_append(&f, 50, 0), MI_APPEND_FAILED);
    CU_ASSERT_TRUE(stats(&f).failed && !mi_journal_has_room(f.j, 10));
    CU_ASSERT_EQUAL(lines_with(&f, "write failed"), 1);
    CU_ASSERT_EQUAL(lines_with(&f, f.dir), 1);
    CU_ASSERT_EQUAL(lines_with(&f, strerror(EIO)), 1);
    f.now_ns += 2 * MI_NS_PER_S;
    mi_journal_disk_step(f.j);
    CU_ASSERT_TRUE(stats(&f).failed);
    CU_ASSERT_EQUAL(fixture_walk(&f, 0, NULL, 0), 3);
    recover_disk(&f);
    CU_ASSERT_FALSE(stats(&f).failed);
    CU_ASSERT_EQUAL(lines_with(&f, "messages are taken"), 1);
    CU_ASSERT_EQUAL(fixture_append(&f, 60, 1), MI_APPEND_OK);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(fixture_walk(&f, 0, numbers, 16), 4);
        CU_ASSERT_TRUE(numbers[2] == 3 && numbers[3] == 60);
        fixture_crash(&f);
        CU_ASSERT_TRUE_FATAL(fixture_open(&f));
        CU_ASSERT_EQUAL(f.report.damaged_records, 0);
    }
    fixture_end(&f);
}

/* The disk fills in the middle of a write: the part that was written is taken back, and no start ever finds
 * it. */
static void test_full_disk_in_the_middle_of_a_write(void)
{
    for (int budget = 0; budget < 700; budget += 23) {
        struct fixture f;
        struct mi_record r[3] = {{.qos = 1, .payload = mi_span_of("one")},
                                 {.qos = 1, .payload = mi_span_of("two")},
                                 {.qos = 2, .payload = mi_span_of("three")}};
        open_with(&f, 1, 3);
        f.files.write_budget = budget;
        enum mi_append rc = mi_journal_append(f.j, r, 3);
        CU_ASSERT_EQUAL(rc, budget < 3 * 64 ? MI_APPEND_FAILED : MI_APPEND_OK);
        if (rc == MI_APPEND_FAILED)
            CU_ASSERT_PTR_NOT_NULL(strstr(f.lines, "free space"));
        uint64_t have = rc == MI_APPEND_OK ? 6 : 3;
        f.files.write_budget = 100; /* enough to take it back */
        fixture_crash(&f);
        CU_ASSERT_TRUE_FATAL(fixture_open(&f));
        CU_ASSERT_EQUAL(f.report.records, budget < 3 * 64 && rc == MI_APPEND_OK ? 0 : have);
        fixture_end(&f);
    }
}

/* Even if it cannot be taken back: once a new segment is written, what was refused stays out. */
static void test_refused_records_never_come_back(void)
{
    struct fixture f;
    uint64_t numbers[8];
    fixture_begin(&f);
    f.options.sync = MI_SYNC_ALWAYS;
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    CU_ASSERT_EQUAL(fixture_append(&f, 1, 1), MI_APPEND_OK);
    uint8_t whole[1] = {9};
    struct mi_record r = {.qos = 1, .payload = {whole, 1}};
    f.files.error[FAULTY_SYNC] = EIO; /* written whole, not synced, and no way to take it back */
    f.files.error[FAULTY_TRUNCATE] = EIO;
    f.files.write_budget = (int64_t)mi_record_bytes(&r);
    CU_ASSERT_EQUAL(mi_journal_append(f.j, &r, 1), MI_APPEND_FAILED);
    CU_ASSERT_EQUAL(r.sequence, 2);
    CU_ASSERT_EQUAL(lines_with(&f, "sync failed"), 1);
    recover_disk(&f);
    CU_ASSERT_EQUAL(fixture_append(&f, 3, 1), MI_APPEND_OK);
    fixture_crash(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    CU_ASSERT_EQUAL(fixture_walk(&f, 0, numbers, 8), 2);
    CU_ASSERT_TRUE(numbers[0] == 1 && numbers[1] == 3);
    CU_ASSERT_EQUAL(f.report.damaged_records, 0);
    CU_ASSERT_EQUAL(stats(&f).next_sequence, 4);
    fixture_end(&f);
}

static void test_short_writes_are_continued(void)
{
    struct fixture f;
    fixture_begin(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    f.files.short_write = 13;
    for (uint64_t n = 1; n <= 100; n++)
        CU_ASSERT_EQUAL(fixture_append(&f, n, n % 3), MI_APPEND_OK);
    CU_ASSERT_EQUAL(fixture_append(&f, 101, 1), MI_APPEND_OK);
    CU_ASSERT_EQUAL(fixture_walk(&f, 0, NULL, 0), 101);
    fixture_end(&f);
}

static void test_failed_interval_sync(void)
{
    struct fixture f;
    open_with(&f, 1, 3);
    f.files.error[FAULTY_SYNC] = EIO;
    f.now_ns += MI_NS_PER_S;
    mi_journal_disk_step(f.j);
    CU_ASSERT_TRUE(stats(&f).failed);
    CU_ASSERT_EQUAL(fixture_append(&f, 4, 1), MI_APPEND_FAILED);
    CU_ASSERT_PTR_NOT_NULL(strstr(f.lines, "messages 1 to 3 could not be synced"));
    CU_ASSERT_EQUAL(fixture_walk(&f, 0, NULL, 0), 3);
    recover_disk(&f);
    CU_ASSERT_EQUAL(fixture_append(&f, 4, 1), MI_APPEND_OK);
    uint64_t syncs = f.files.calls[FAULTY_SYNC];
    f.now_ns += MI_NS_PER_S;
    mi_journal_disk_step(f.j);
    CU_ASSERT_EQUAL(f.files.calls[FAULTY_SYNC], syncs + 1); /* of the new segment only */
    CU_ASSERT_EQUAL(stats(&f).durable_sequence, 1);         /* honest about the three */
    CU_ASSERT_EQUAL(fixture_walk(&f, 0, NULL, 0), 4);
    mi_journal_release(f.j, 4);
    mi_journal_disk_step(f.j);
    CU_ASSERT_EQUAL(fixture_append(&f, 5, 1), MI_APPEND_OK);
    fixture_end(&f);
}

static void test_gathered_lost_with_the_disk_are_counted(void)
{
    struct fixture f;
    open_with(&f, 1, 1);
    for (uint64_t n = 2; n <= 6; n++)
        CU_ASSERT_EQUAL(fixture_append(&f, n, 0), MI_APPEND_OK);
    f.files.error[FAULTY_WRITE] = ENOSPC;
    f.now_ns += MI_NS_PER_S;
    mi_journal_disk_step(f.j);
    CU_ASSERT_EQUAL(stats(&f).gathered_lost, 5);
    recover_disk(&f);
    CU_ASSERT_EQUAL(fixture_append(&f, 7, 1), MI_APPEND_OK);
    CU_ASSERT_EQUAL(fixture_walk(&f, 0, NULL, 0), 2);
    CU_ASSERT_EQUAL(stats(&f).damaged_records, 0);
    fixture_end(&f);
}

static void test_no_space_for_the_next_segment(void)
{
    struct fixture f;
    open_with(&f, 1, 3);
    uint64_t n = 4;
    mi_journal_disk_step(f.j);
    f.files.error[FAULTY_ALLOCATE] = ENOSPC;
    while (n < 500 && fixture_append(&f, n, 1) == MI_APPEND_OK) {
        n++;
        mi_journal_disk_step(f.j);
    }
    CU_ASSERT_TRUE(n > 60 && n < 500); /* the segment that was there and the prepared one were used up */
    CU_ASSERT_PTR_NOT_NULL(strstr(f.lines, "no space for the next segment"));
    CU_ASSERT_PTR_NOT_NULL(strstr(f.lines, "making a new segment failed"));
    CU_ASSERT_EQUAL(fixture_walk(&f, 0, NULL, 0), n - 1);
    recover_disk(&f);
    CU_ASSERT_EQUAL(fixture_append(&f, n, 1), MI_APPEND_OK);
    CU_ASSERT_EQUAL(fixture_walk(&f, 0, NULL, 0), n);
    fixture_end(&f);
}

static void test_open_on_a_full_disk(void)
{
    struct fixture f;
    fixture_begin(&f);
    f.files.error[FAULTY_ALLOCATE] = ENOSPC;
    CU_ASSERT_FALSE(fixture_open(&f));
    CU_ASSERT_PTR_NOT_NULL(strstr(f.err.text, f.dir));
    CU_ASSERT_PTR_NOT_NULL(strstr(f.err.text, strerror(ENOSPC)));
    CU_ASSERT_PTR_NOT_NULL(strstr(f.err.text, "free space"));
    f.files.error[FAULTY_ALLOCATE] = 0;
    f.files.error[FAULTY_WRITE] = ENOSPC;
    CU_ASSERT_FALSE(fixture_open(&f) && fixture_append(&f, 1, 1) == MI_APPEND_OK);
    fixture_close(&f);
    fixture_end(&f);
}

/* What waits must be sent even if nothing more can be taken. */
static void test_open_with_waiting_messages_on_a_full_disk(void)
{
    struct fixture f;
    open_with(&f, 1, 200);
    fixture_crash(&f);
    f.files.error[FAULTY_ALLOCATE] = ENOSPC;
    f.files.error[FAULTY_WRITE] = ENOSPC;
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    CU_ASSERT_EQUAL(fixture_walk(&f, 0, NULL, 0), 200);
    CU_ASSERT_EQUAL(fixture_append(&f, 201, 1), MI_APPEND_FAILED);
    recover_disk(&f);
    CU_ASSERT_EQUAL(fixture_append(&f, 201, 1), MI_APPEND_OK);
    CU_ASSERT_EQUAL(fixture_walk(&f, 0, NULL, 0), 201);
    fixture_end(&f);
}

/* A disk that cannot be read holds everything: nothing is skipped as damaged. */
static void test_unreadable_disk_skips_nothing(void)
{
    struct fixture f;
    struct mi_journal_ref ref;
    struct mi_record r;
    open_with(&f, 1, 100);
    struct mi_cursor *c = mi_cursor_new(f.j, 0);
    f.files.error[FAULTY_READ] = EIO;
    for (int i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(mi_cursor_next(c, &ref, &r, &f.err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(f.err.text, "nothing is skipped"));
    f.files.error[FAULTY_READ] = 0;
    for (uint64_t n = 1; n <= 100; n++) {
        CU_ASSERT_EQUAL(mi_cursor_next(c, &ref, &r, &f.err), 1);
        CU_ASSERT_TRUE(fixture_is(&r, n));
    }
    CU_ASSERT_EQUAL(stats(&f).damaged_records, 0);
    mi_cursor_free(c);
    fixture_end(&f);
}

/* Each kind of call fails at each of its occurrences, once, during a busy life: nothing acknowledged is ever
 * lost. */
static void one_failure(enum faulty_op op, uint64_t at)
{
    struct fixture f;
    static uint64_t acked[2000], found[2000];
    size_t n = 0;
    fixture_begin(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    uint64_t start = f.files.calls[op];
    for (uint64_t i = 1; i <= 400; i++) {
        f.files.error[op] = f.files.calls[op] == start + at ? EIO : 0;
        if (fixture_append(&f, i, 1 + i % 2) == MI_APPEND_OK)
            acked[n++] = i;
        if (i % 7 == 0) {
            f.now_ns += 400 * MI_NS_PER_MS;
            mi_journal_disk_step(f.j);
        }
    }
    fixture_crash(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    CU_ASSERT_EQUAL(f.report.damaged_records, 0);
    size_t got = fixture_walk(&f, 0, found, 2000);
    CU_ASSERT_EQUAL(got, n);
    CU_ASSERT_TRUE(got == n && memcmp(acked, found, n * sizeof *acked) == 0);
    fixture_end(&f);
}

static void test_any_single_failure_loses_nothing(void)
{
    const enum faulty_op ops[] = {FAULTY_OPEN,     FAULTY_WRITE,  FAULTY_SYNC,
                                  FAULTY_ALLOCATE, FAULTY_RENAME, FAULTY_SYNC_DIR};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        for (uint64_t at = 0; at < (ops[i] == FAULTY_WRITE ? 60 : 20); at++)
            one_failure(ops[i], at);
}

static CU_TestInfo tests[] = {
    {"a failed write refuses loudly", test_failed_write_refuses_loudly_and_comes_back},
    {"full disk in the middle of a write", test_full_disk_in_the_middle_of_a_write},
    {"refused records never come back", test_refused_records_never_come_back},
    {"short writes are continued", test_short_writes_are_continued},
    {"a failed interval sync", test_failed_interval_sync},
    {"gathered lost with the disk", test_gathered_lost_with_the_disk_are_counted},
    {"no space for the next segment", test_no_space_for_the_next_segment},
    {"open on a full disk", test_open_on_a_full_disk},
    {"open with waiting on a full disk", test_open_with_waiting_messages_on_a_full_disk},
    {"an unreadable disk skips nothing", test_unreadable_disk_skips_nothing},
    {"any single failure loses nothing", test_any_single_failure_loses_nothing},
    CU_TEST_INFO_NULL};
MI_SUITE_MAIN("journal failure", tests)
