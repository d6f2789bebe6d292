/* What a start makes of torn, damaged, cut and half-synced files. */
#include "fixture.h"
#include "journal/journal_private.h"
#include "support/process.h"
#include "support/suite.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void open_with(struct fixture *f, uint64_t to)
{
    fixture_begin(f);
    CU_ASSERT_TRUE_FATAL(fixture_open(f));
    for (uint64_t n = 1; n <= to; n++)
        CU_ASSERT_EQUAL(fixture_append(f, n, 1), MI_APPEND_OK);
}

/* Where each record lies. */
static size_t locate(struct fixture *f, struct mi_journal_ref *refs, size_t cap)
{
    struct mi_cursor *c = mi_cursor_new(f->j, 0);
    struct mi_record r;
    size_t n = 0;
    while (n < cap && mi_cursor_next(c, &refs[n], &r, &f->err) == 1)
        n++;
    mi_cursor_free(c);
    return n;
}

static const char *segment_path(const struct fixture *f, uint64_t number)
{
    char name[MI_SEGMENT_NAME];
    mi_segment_name(number, name);
    return fixture_path(f, name);
}

static struct mi_journal_stats stats(struct fixture *f)
{
    struct mi_journal_stats s;
    mi_journal_stats(f->j, &s);
    return s;
}

/* The last record is cut at every byte: it alone is gone, and counted. */
static void test_torn_last_record(void)
{
    for (uint32_t cut = 0; cut < 500; cut += 9) {
        struct fixture f;
        struct mi_journal_ref refs[10];
        open_with(&f, 10);
        CU_ASSERT_EQUAL(locate(&f, refs, 10), 10);
        uint32_t len = cut < refs[9].bytes ? refs[9].bytes - cut : 0;
        fixture_crash(&f);
        int fd = open(segment_path(&f, refs[9].segment), O_RDWR);
        static const uint8_t zeros[1000];
        CU_ASSERT_EQUAL(pwrite(fd, zeros, len, refs[9].offset + refs[9].bytes - len), (ssize_t)len);
        close(fd);
        CU_ASSERT_TRUE_FATAL(fixture_open(&f));
        bool whole = len < 8; /* no more than padding may be gone */
        CU_ASSERT_TRUE(f.report.records == 9 || (whole && f.report.records == 10));
        CU_ASSERT_EQUAL(f.report.damaged_records, 0);
        if (f.report.records == 9 && cut >= 56)
            CU_ASSERT_EQUAL(f.report.torn_bytes, len == refs[9].bytes ? 0 : refs[9].bytes);
        CU_ASSERT_EQUAL(fixture_walk(&f, 0, NULL, 0), f.report.records);
        CU_ASSERT_EQUAL(fixture_append(&f, 11, 1), MI_APPEND_OK);
        CU_ASSERT_EQUAL(fixture_walk(&f, 0, NULL, 0), f.report.records + 1);
        fixture_end(&f);
    }
}

static void test_file_cut_short(void)
{
    struct fixture f;
    struct mi_journal_ref refs[10];
    open_with(&f, 10);
    locate(&f, refs, 10);
    fixture_crash(&f);
    CU_ASSERT_EQUAL(truncate(segment_path(&f, refs[5].segment), refs[5].offset + 70), 0);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    CU_ASSERT_EQUAL(f.report.records, 5);
    CU_ASSERT_EQUAL(f.report.torn_bytes, 70);
    CU_ASSERT_EQUAL(fixture_append(&f, 11, 1), MI_APPEND_OK);
    fixture_close(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    CU_ASSERT_EQUAL(f.report.records, 6);
    CU_ASSERT_EQUAL(f.report.torn_bytes, 0);
    fixture_end(&f);
}

static size_t count_lines(const struct fixture *f, const char *text)
{
    size_t n = 0;
    for (const char *at = f->lines; (at = strstr(at, text)) != NULL; at += strlen(text))
        n++;
    return n;
}

/* A bit flips in the middle: that record is lost and counted, its bytes are kept, the others come. */
static void flipped_bit(bool sealed)
{
    struct fixture f;
    struct mi_journal_ref refs[200];
    uint64_t numbers[200];
    open_with(&f, 200);
    CU_ASSERT_EQUAL(locate(&f, refs, 200), 200);
    if (sealed)
        fixture_close(&f);
    else
        fixture_crash(&f);
    for (int i = 10; i < 200; i += 60)
        fixture_flip(segment_path(&f, refs[i].segment), refs[i].offset + 60, 0x08);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    CU_ASSERT_EQUAL(f.report.damaged_records, sealed ? 0 : 4);
    CU_ASSERT_EQUAL(fixture_walk(&f, 0, numbers, 200), 196);
    CU_ASSERT_TRUE(numbers[9] == 10 && numbers[10] == 12);
    CU_ASSERT_EQUAL(stats(&f).damaged_records, 4);
    CU_ASSERT_EQUAL(fixture_walk(&f, 0, NULL, 0), 196);
    CU_ASSERT_EQUAL(stats(&f).damaged_records, 4); /* counted once */
    CU_ASSERT_PTR_NOT_NULL(strstr(f.lines, "1 messages lost"));
    CU_ASSERT_EQUAL(count_lines(&f, "damage in segment"), 1); /* one disk, one line */
    f.now_ns += 2 * MI_DISK_LOG_NS;
    f.lines[0] = '\0';
    CU_ASSERT_EQUAL(fixture_walk(&f, 0, NULL, 0), 196);
    CU_ASSERT_EQUAL(count_lines(&f, "damage in segment"), 0); /* nor is it told again later */
    char *kept = mi_read_file(fixture_path(&f, "quarantine"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(kept);
    CU_ASSERT_PTR_NOT_NULL(strstr(kept, "offset "));
    free(kept);
    struct stat st;
    stat(fixture_path(&f, "quarantine"), &st);
    CU_ASSERT_TRUE(st.st_size > (off_t)(refs[10].bytes + refs[190].bytes) && (st.st_mode & 0777) == 0600);
    fixture_close(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    CU_ASSERT_EQUAL(fixture_walk(&f, 0, NULL, 0), 196);
    CU_ASSERT_EQUAL(stats(&f).damaged_records, sealed ? 4 : 0); /* a seal made after the damage knows it */
    fixture_end(&f);
}

static void test_flipped_bit_unsealed(void)
{
    flipped_bit(false);
}

static void test_flipped_bit_sealed(void)
{
    flipped_bit(true);
}

/* A length that is damaged must not hide the records behind it. */
static void test_damaged_length(void)
{
    struct fixture f;
    struct mi_journal_ref refs[50];
    open_with(&f, 30);
    locate(&f, refs, 50);
    fixture_crash(&f);
    for (int at = 4; at < 8; at++)
        fixture_flip(segment_path(&f, refs[20].segment), refs[20].offset + at, 0x7f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    CU_ASSERT_EQUAL(f.report.damaged_records, 1);
    CU_ASSERT_EQUAL(f.report.damaged_bytes, refs[20].bytes);
    CU_ASSERT_EQUAL(fixture_walk(&f, 0, NULL, 0), 29);
    fixture_end(&f);
}

static void test_quarantine_is_bounded(void)
{
    struct fixture f;
    struct mi_journal_ref refs[10];
    struct stat st;
    open_with(&f, 10);
    locate(&f, refs, 10);
    fixture_crash(&f);
    CU_ASSERT_TRUE(mi_write_file(fixture_path(&f, "quarantine"), ""));
    CU_ASSERT_EQUAL(truncate(fixture_path(&f, "quarantine"), (16 << 20) - 20), 0);
    fixture_flip(segment_path(&f, refs[3].segment), refs[3].offset + 30, 1);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    CU_ASSERT_EQUAL(f.report.damaged_records, 1);
    stat(fixture_path(&f, "quarantine"), &st);
    CU_ASSERT_TRUE(st.st_size <= 16 << 20);
    CU_ASSERT_PTR_NOT_NULL(strstr(f.lines, "quarantine file is full"));
    fixture_end(&f);
}

static void test_damaged_header(void)
{
    struct fixture f;
    char first[MI_SEGMENT_NAME];
    open_with(&f, 200);
    mi_journal_disk_step(f.j);
    fixture_crash(&f);
    CU_ASSERT_TRUE(fixture_segment(&f, 0, first));
    fixture_flip(fixture_path(&f, first), 8, 1);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f)); /* the second copy */
    CU_ASSERT_EQUAL(f.report.records, 200);
    fixture_crash(&f);
    fixture_flip(fixture_path(&f, first), 64 + 8, 1);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f)); /* the seal */
    CU_ASSERT_EQUAL(f.report.records, 200);
    CU_ASSERT_EQUAL(fixture_walk(&f, 0, NULL, 0), 200);
    fixture_end(&f);
}

static void test_destroyed_header_of_the_open_segment(void)
{
    struct fixture f;
    struct mi_journal_ref refs[10];
    struct stat st;
    open_with(&f, 5);
    locate(&f, refs, 10);
    fixture_crash(&f);
    fixture_flip(segment_path(&f, refs[0].segment), 8, 1);
    fixture_flip(segment_path(&f, refs[0].segment), 64 + 8, 1);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    CU_ASSERT_EQUAL(f.report.records, 0);
    CU_ASSERT_TRUE(f.report.damaged_bytes > 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(f.lines, "is destroyed"));
    CU_ASSERT_EQUAL(stat(fixture_path(&f, "0000000000000001.seg.damaged"), &st), 0);
    CU_ASSERT_EQUAL(fixture_append(&f, 6, 1), MI_APPEND_OK);
    fixture_end(&f);
}

/* A file is cut in the middle of the journal: what is missing up to the next file is counted. */
static void test_earlier_file_cut_short(void)
{
    struct fixture f;
    struct mi_journal_ref refs[200];
    open_with(&f, 200);
    locate(&f, refs, 200);
    size_t in_first = 0;
    while (refs[in_first].segment == refs[0].segment)
        in_first++;
    fixture_crash(&f);
    CU_ASSERT_EQUAL(truncate(segment_path(&f, refs[0].segment), refs[10].offset), 0);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    CU_ASSERT_EQUAL(f.report.damaged_records, in_first - 10);
    CU_ASSERT_EQUAL(f.report.torn_bytes, 0);
    CU_ASSERT_EQUAL(f.report.records, 200 - (in_first - 10));
    CU_ASSERT_EQUAL(fixture_walk(&f, 0, NULL, 0), f.report.records);
    CU_ASSERT_EQUAL(stats(&f).damaged_records, in_first - 10);
    fixture_end(&f);
}

/* A valid record with the sequence that is due, but of another run, is what an earlier use left. */
static void test_record_of_another_run(void)
{
    struct fixture f;
    struct mi_journal_ref refs[10];
    uint8_t bytes[64] = {0};
    open_with(&f, 3);
    locate(&f, refs, 10);
    struct mi_record r = {.run = 0x123456789, .sequence = 4, .qos = 1};
    mi_record_encode_head(&r, bytes);
    fixture_crash(&f);
    int fd = open(segment_path(&f, refs[2].segment), O_RDWR);
    CU_ASSERT_EQUAL(pwrite(fd, bytes, 56, refs[2].offset + refs[2].bytes), 56);
    close(fd);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    CU_ASSERT_TRUE(f.report.records == 3 && f.report.torn_bytes == 0);
    fixture_end(&f);
}

/* Three records, then bytes, then a valid record of the same run with that sequence: what a start finds. */
static uint64_t found_with(uint64_t sequence, uint32_t gap, uint64_t *damaged)
{
    struct fixture f;
    struct mi_journal_ref refs[10];
    uint8_t bytes[64] = {0};
    open_with(&f, 3);
    locate(&f, refs, 10);
    struct mi_record r = {.run = f.j->run, .sequence = sequence, .qos = 1};
    CU_ASSERT_EQUAL_FATAL(mi_record_encode_head(&r, bytes), MI_RECORD_HEAD);
    fixture_crash(&f);
    int fd = open(segment_path(&f, refs[2].segment), O_RDWR);
    CU_ASSERT_EQUAL(pwrite(fd, bytes, MI_RECORD_HEAD, refs[2].offset + refs[2].bytes + gap), MI_RECORD_HEAD);
    close(fd);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    uint64_t records = f.report.records;
    *damaged = f.report.damaged_records;
    fixture_end(&f);
    return records;
}

/* Behind a record comes the next sequence, or damage that was large enough to have held what is missing. */
static void test_sequences_that_cannot_be(void)
{
    uint64_t damaged;
    CU_ASSERT_TRUE(found_with(4, 0, &damaged) == 4 && damaged == 0);
    CU_ASSERT_TRUE(found_with(5, 0, &damaged) == 3 && damaged == 0); /* nothing could stand between */
    CU_ASSERT_TRUE(found_with(3, 0, &damaged) == 3 && damaged == 0);
    CU_ASSERT_TRUE(found_with(6, 2 * MI_RECORD_HEAD, &damaged) == 4 && damaged == 2);
    CU_ASSERT_TRUE(found_with(7, 2 * MI_RECORD_HEAD, &damaged) == 3 && damaged == 0);
    CU_ASSERT_TRUE(found_with(3, 2 * MI_RECORD_HEAD, &damaged) == 3 && damaged == 0);
}

/* A seal counts for the run that its header names only: the file is scanned then, and holds nothing of it. */
static void test_seal_of_another_run(void)
{
    struct fixture f;
    struct mi_journal_ref refs[300];
    struct mi_segment_header h;
    uint8_t bytes[MI_SEGMENT_HEAD];
    open_with(&f, 300);
    CU_ASSERT_EQUAL(locate(&f, refs, 300), 300);
    uint64_t in_first = 0;
    while (refs[in_first].segment == refs[0].segment)
        in_first++;
    fixture_close(&f);
    int fd = open(segment_path(&f, refs[0].segment), O_RDWR);
    CU_ASSERT_EQUAL(pread(fd, bytes, sizeof bytes, 0), (ssize_t)sizeof bytes);
    CU_ASSERT_EQUAL(mi_segment_header_decode(bytes, sizeof bytes, &h), MI_SEGMENT_GOOD);
    h.run ^= 1;
    mi_segment_header_encode(&h, bytes);
    CU_ASSERT_EQUAL(pwrite(fd, bytes, sizeof bytes, 0), (ssize_t)sizeof bytes);
    close(fd);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    CU_ASSERT_EQUAL(f.report.records, 300 - in_first);
    CU_ASSERT_EQUAL(f.report.damaged_records, in_first);
    CU_ASSERT_EQUAL(fixture_walk(&f, 0, NULL, 0), 300 - in_first);
    fixture_end(&f);
}

/* Records that an earlier use left in a recycled file never come back, wherever the tail is torn. */
static void test_recycled_leftovers_never_come_back(void)
{
    for (uint64_t extra = 0; extra < 60; extra += 3) {
        struct fixture f;
        fixture_begin(&f);
        CU_ASSERT_TRUE_FATAL(fixture_open(&f));
        uint64_t n = 1;
        for (; n <= 400 + extra; n++) {
            CU_ASSERT_EQUAL(fixture_append(&f, n, 1), MI_APPEND_OK);
            mi_journal_release(f.j, n - n % 40);
            mi_journal_disk_step(f.j);
        }
        uint64_t first = stats(&f).first_sequence;
        fixture_crash(&f);
        CU_ASSERT_TRUE_FATAL(fixture_open(&f));
        CU_ASSERT_EQUAL(f.report.records, n - first);
        CU_ASSERT_EQUAL(f.report.damaged_records + f.report.torn_bytes, 0);
        CU_ASSERT_EQUAL(f.report.damaged_bytes, 0); /* the one prepared for later is known as such */
        CU_ASSERT_EQUAL(fixture_walk(&f, 0, NULL, 0), n - first);
        fixture_end(&f);
    }
}

/* Power goes at some call: what was told to be durable is there, whole and in order, whatever of the rest got
 * lost; nothing comes twice. */
static void power_loss(unsigned seed, unsigned keep, enum mi_sync sync)
{
    static uint64_t numbers[4000];
    struct fixture f;
    fixture_begin(&f);
    f.files.remember = true;
    f.options.sync = sync;
    f.options.max_size = 4 << 20;
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    f.files.cut_after = 100 + seed * 37 % 300;
    uint64_t acked = 0, durable;
    for (uint64_t n = 1; n <= 400 && fixture_append(&f, n, (uint8_t)(1 + n % 2)) == MI_APPEND_OK; n++) {
        acked = n;
        f.now_ns += 10 * MI_NS_PER_MS;
        if ((n * 2654435761u >> 5 & 15) < seed % 4)
            mi_journal_disk_step(f.j);
    }
    durable = sync == MI_SYNC_ALWAYS ? acked + 1 : stats(&f).durable_sequence;
    fixture_power_loss(&f, seed, keep);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    size_t got = fixture_walk(&f, 0, numbers, 4000);
    for (uint64_t want = 1; want < durable; want++)
        CU_ASSERT_TRUE_FATAL(want <= got && numbers[want - 1] == want);
    for (size_t i = 1; i < got; i++)
        CU_ASSERT_TRUE(numbers[i] > numbers[i - 1]);
    fixture_end(&f);
}

static void test_power_loss(void)
{
    for (unsigned seed = 0; seed < 60; seed++) {
        power_loss(seed, 1, MI_SYNC_INTERVAL);
        power_loss(seed, 2, MI_SYNC_INTERVAL);
        power_loss(seed, 4, MI_SYNC_INTERVAL);
        power_loss(seed, 1 + seed % 3, MI_SYNC_ALWAYS);
    }
}

/* Several lives with power losses between, recycling on: no (run, sequence) is ever seen with two contents,
 * and what is read is always a record that was appended. */
static void test_power_loss_with_recycling(void)
{
    for (unsigned seed = 0; seed < 30; seed++) {
        struct fixture f;
        fixture_begin(&f);
        f.files.remember = true;
        f.options.max_size = 128 << 10;
        uint64_t n = 1;
        for (int life = 0; life < 6; life++) {
            CU_ASSERT_TRUE_FATAL(fixture_open(&f));
            uint64_t last = 0;
            static uint64_t numbers[4000];
            size_t got = fixture_walk(&f, 0, numbers, 4000);
            for (size_t i = 0; i < got; i++) {
                CU_ASSERT_TRUE(numbers[i] > last); /* nothing twice, nothing old */
                last = numbers[i];
            }
            for (uint64_t end = n + 150 + seed * 13 % 100; n < end; n++) {
                CU_ASSERT_EQUAL(fixture_append(&f, n, 1), MI_APPEND_OK);
                f.now_ns += 20 * MI_NS_PER_MS;
                if (n % 9 == 0) {
                    mi_journal_release(f.j, stats(&f).next_sequence - 5);
                    mi_journal_disk_step(f.j);
                }
            }
            fixture_power_loss(&f, seed * 7 + (unsigned)life, 1 + seed % 3);
        }
        fixture_end(&f);
    }
}

/* Bytes that this process has read so far; 0 where the kernel does not tell. */
static unsigned long long bytes_read(void)
{
    unsigned long long n = 0;
    FILE *io = fopen("/proc/self/io", "r");
    if (io && fscanf(io, "rchar: %llu", &n) != 1)
        n = 0;
    if (io)
        fclose(io);
    return n;
}

/* A million waiting messages: a start reads seals, not messages; after a crash the one segment that has none.
 */
static void test_start_with_a_million(void)
{
    struct fixture f;
    uint8_t payload[100] = {1};
    fixture_begin(&f);
    f.options.max_size = 1ull << 30;
    f.options.segment_size = 0;
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    struct mi_record r = {
        .qos = 0, .stream = mi_span_of("s"), .topic = mi_span_of("t"), .payload = {payload, 100}};
    for (int i = 0; i < 1000000; i++)
        CU_ASSERT_EQUAL_FATAL(mi_journal_append(f.j, &r, 1), MI_APPEND_OK);
    r.qos = 1;
    CU_ASSERT_EQUAL(mi_journal_append(f.j, &r, 1), MI_APPEND_OK);
    fixture_crash(&f); /* not even the last segment is sealed */
    for (int i = 0; i < 2; i++) {
        unsigned long long before = bytes_read();
        CU_ASSERT_TRUE_FATAL(fixture_open(&f));
        unsigned long long read = bytes_read() - before;
        printf("\n    start with 1,000,001 messages %s: %llu bytes read ", i ? "sealed" : "after a crash",
               read);
        CU_ASSERT_EQUAL(f.report.records, 1000001);
        CU_ASSERT_TRUE(before == 0 || read < (i ? 1u << 20 : 256u << 20));
        fixture_close(&f);
    }
    fixture_end(&f);
}

/* Every start begins a segment: those before it may not use up what is kept, nor the maximum, while empty. */
static void test_many_starts_keep_what_was_kept(void)
{
    struct fixture f;
    fixture_begin(&f);
    f.options.segment_size = 256 << 10;
    f.options.keep = 1 << 20;
    f.options.max_size = 2 << 20;
    uint64_t n = 1;
    for (unsigned start = 0; start < 30; start++) {
        CU_ASSERT_TRUE_FATAL(fixture_open(&f));
        if (start == 0)
            CU_ASSERT_EQUAL(fixture_append(&f, n, 1), MI_APPEND_OK);
        mi_journal_release(f.j, n + 1);
        mi_journal_disk_step(f.j);
        CU_ASSERT_EQUAL(fixture_append(&f, ++n, 1), MI_APPEND_OK);
        CU_ASSERT_EQUAL(fixture_walk(&f, 0, NULL, 0), n);
        if (start % 2)
            fixture_crash(&f);
        else
            fixture_close(&f);
    }
    fixture_end(&f);
}

static CU_TestInfo tests[] = {{"many starts keep what was kept", test_many_starts_keep_what_was_kept},
                              {"torn last record", test_torn_last_record},
                              {"file cut short", test_file_cut_short},
                              {"flipped bit, not sealed", test_flipped_bit_unsealed},
                              {"flipped bit, sealed", test_flipped_bit_sealed},
                              {"damaged length", test_damaged_length},
                              {"quarantine is bounded", test_quarantine_is_bounded},
                              {"damaged header", test_damaged_header},
                              {"destroyed header", test_destroyed_header_of_the_open_segment},
                              {"an earlier file cut short", test_earlier_file_cut_short},
                              {"a record of another run", test_record_of_another_run},
                              {"sequences that cannot be", test_sequences_that_cannot_be},
                              {"the seal of another run", test_seal_of_another_run},
                              {"recycled leftovers stay away", test_recycled_leftovers_never_come_back},
                              {"power loss", test_power_loss},
                              {"power loss with recycling", test_power_loss_with_recycling},
                              {"start with a million", test_start_with_a_million},
                              CU_TEST_INFO_NULL};
MI_SUITE_MAIN("journal recovery", tests)
