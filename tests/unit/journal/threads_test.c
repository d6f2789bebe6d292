/* The three threads at once: main appends, disk steps, bridge reads, reads again and releases. For TSan above
 * all. */
#include "journal/journal.h"
#include "support/process.h"
#include "support/suite.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGES = 20000 };

struct stage {
    struct mi_journal *j;
    atomic_bool stop;
    atomic_uint disk_wakes, read_wakes;
    uint64_t seen, wrong;
};

static void wake_disk(void *context)
{
    atomic_fetch_add(&((struct stage *)context)->disk_wakes, 1);
}

static void wake_reader(void *context)
{
    atomic_fetch_add(&((struct stage *)context)->read_wakes, 1);
}

static void print_line(void *context, enum mi_log_level level, const char *line)
{
    (void)context;
    (void)level;
    printf("\n    %s", line);
}

static void *disk(void *arg)
{
    struct stage *s = arg;
    while (!atomic_load(&s->stop)) {
        mi_journal_disk_step(s->j);
        sched_yield();
    }
    return NULL;
}

static void *bridge(void *arg)
{
    struct stage *s = arg;
    struct mi_cursor *c = mi_cursor_new(s->j, 0);
    struct mi_journal_ref ref;
    struct mi_record r, again;
    struct mi_error err;
    struct mi_buf buf;
    struct mi_journal_stats stats;
    struct mi_route_count counts[4];
    uint64_t next;
    mi_buf_init(&buf, 1 << 20);
    while (s->seen < MESSAGES && !atomic_load(&s->stop)) {
        int rc = mi_cursor_next(c, &ref, &r, &err);
        if (rc == 0) {
            sched_yield();
            continue;
        }
        s->seen++;
        s->wrong += rc < 0 || r.payload.len < 8 || mi_get_u64le(r.payload.data) != s->seen;
        if (s->seen % 16 == 0)
            s->wrong +=
                mi_journal_read(s->j, &ref, &buf, &again, &err) != 0 || again.sequence != ref.sequence;
        if (s->seen % 64 == 0) {
            mi_journal_release(s->j, ref.sequence);
            mi_journal_stats(s->j, &stats);
            mi_journal_counts(s->j, counts, 4, &next);
            s->wrong += stats.damaged_records != 0 || stats.failed;
        }
    }
    mi_buf_fini(&buf);
    mi_cursor_free(c);
    return NULL;
}

static void append_all(struct stage *s)
{
    uint8_t payload[600];
    memset(payload, 5, sizeof payload);
    for (uint64_t n = 1; n <= MESSAGES;) {
        mi_put_u64le(payload, n);
        struct mi_record r = {.qos = n % 3 != 0,
                              .route = (uint32_t)(n % 4),
                              .stream = mi_span_of("s"),
                              .topic = mi_span_of("t"),
                              .payload = {payload, 8 + n * 31 % 590}};
        enum mi_append rc = mi_journal_append(s->j, &r, 1);
        if (rc == MI_APPEND_OK)
            n++;
        else
            sched_yield();
        if (rc == MI_APPEND_FAILED) {
            s->wrong++;
            atomic_store(&s->stop, true);
            break;
        }
        mi_journal_has_room(s->j, 100);
    }
}

static void run(enum mi_sync sync)
{
    char base[256], dir[300];
    struct stage s = {0};
    struct mi_error err;
    const struct mi_log log = {print_line, NULL};
    pthread_t threads[2];
    CU_ASSERT_TRUE_FATAL(mi_temp_dir(base, sizeof base));
    snprintf(dir, sizeof dir, "%s/journal", base);
    struct mi_journal_options o = {.directory = dir,
                                   .max_size = 512 << 10,
                                   .keep = 64 << 10,
                                   .segment_size = 64 << 10,
                                   .sync = sync,
                                   .sync_interval_ns = MI_NS_PER_MS,
                                   .clock = &mi_clock_system,
                                   .log = &log};
    CU_ASSERT_EQUAL_FATAL(mi_journal_open(&o, &s.j, NULL, &err), 0);
    mi_journal_set_wakers(s.j, wake_disk, wake_reader, &s);
    pthread_create(&threads[0], NULL, disk, &s);
    pthread_create(&threads[1], NULL, bridge, &s);
    append_all(&s);
    pthread_join(threads[1], NULL);
    atomic_store(&s.stop, true);
    pthread_join(threads[0], NULL);
    CU_ASSERT_EQUAL(s.seen, MESSAGES);
    CU_ASSERT_EQUAL(s.wrong, 0);
    CU_ASSERT_TRUE(atomic_load(&s.disk_wakes) > 0 && atomic_load(&s.read_wakes) > 0);
    mi_journal_close(s.j);
    mi_remove_tree(base);
}

static void test_interval(void)
{
    run(MI_SYNC_INTERVAL);
}

static void test_always(void)
{
    run(MI_SYNC_ALWAYS);
}

static CU_TestInfo tests[] = {{"three threads, sync by interval", test_interval},
                              {"three threads, sync always", test_always},
                              CU_TEST_INFO_NULL};
MI_SUITE_MAIN("journal threads", tests)
