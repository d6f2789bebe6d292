/*
 * What a PUBLISH pays for the journal: nanoseconds of CPU per append of a 256-byte payload, with the disk
 * thread at work beside it, next to the bare pwritev of as many bytes in the same run; reading through a
 * cursor; starts with a million waiting. journal_bench [DIRECTORY]      default: a temporary one
 */
#include "journal/journal.h"
#include "support/process.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { PAYLOAD = 256, HEADERS = 120, MESSAGES = 400000, WAITING = 1000000 };

static atomic_bool stop, wanted;

static void wake(void *context)
{
    (void)context;
    atomic_store(&wanted, true);
}

static void *disk(void *arg)
{
    while (!atomic_load(&stop)) {
        uint64_t wait = mi_journal_disk_step(arg);
        for (uint64_t slept = 0; slept < wait && !atomic_load(&stop) && !atomic_exchange(&wanted, false);
             slept += 500000)
            usleep(500);
    }
    return NULL;
}

static struct mi_journal *open_journal(const char *dir, uint64_t max_size, enum mi_sync sync)
{
    struct mi_error err;
    struct mi_journal *j;
    struct mi_journal_options o = {.directory = dir,
                                   .max_size = max_size,
                                   .sync = sync,
                                   .sync_interval_ns = 100 * MI_NS_PER_MS,
                                   .clock = &mi_clock_system};
    if (mi_journal_open(&o, &j, NULL, &err) == 0)
        return j;
    fprintf(stderr, "%s\n", err.text);
    exit(1);
}

static struct mi_record make(uint8_t qos)
{
    static uint8_t payload[PAYLOAD], headers[HEADERS];
    struct mi_record r = {.qos = qos,
                          .route = 7,
                          .stream = mi_span_of("sensors"),
                          .topic = mi_span_of("messages"),
                          .headers = {headers, HEADERS},
                          .payload = {payload, PAYLOAD}};
    return r;
}

/* Time that this thread ran, so that neighbours on the machine do not count. */
static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * MI_NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Nanoseconds of CPU per append; every 1000 messages are released, as when Iggy keeps up. */
static double appends(const char *base, uint8_t qos, enum mi_sync sync, int count)
{
    char dir[400];
    pthread_t thread;
    snprintf(dir, sizeof dir, "%s/append", base);
    struct mi_journal *j = open_journal(dir, 512ull << 20, sync);
    mi_journal_set_wakers(j, wake, NULL, NULL);
    atomic_store(&stop, false);
    pthread_create(&thread, NULL, disk, j);
    struct mi_record r = make(qos);
    uint64_t start = cpu_ns();
    int failed = 0;
    for (int i = 0; i < count; i++) {
        failed += mi_journal_append(j, &r, 1) != MI_APPEND_OK;
        if (i % 1000 == 999)
            mi_journal_release(j, r.sequence);
    }
    double ns = (double)(cpu_ns() - start) / count;
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    mi_journal_close(j);
    mi_remove_tree(dir);
    if (failed)
        printf("  %d appends were refused!\n", failed);
    return ns;
}

/* The system call alone: five pieces, as many bytes, into a file that is allocated. */
static double bare_writes(const char *base)
{
    char path[400];
    static uint8_t bytes[512];
    struct iovec v[4] = {{bytes, 71}, {bytes, HEADERS}, {bytes, PAYLOAD}, {bytes, 1}};
    snprintf(path, sizeof path, "%s/bare", base);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || fallocate(fd, 0, 0, 448ll * MESSAGES) != 0)
        return 0;
    uint64_t start = cpu_ns();
    for (off_t i = 0; i < MESSAGES; i++)
        if (pwritev(fd, v, 4, i * 448) != 448)
            return 0;
    double ns = (double)(cpu_ns() - start) / MESSAGES;
    close(fd);
    unlink(path);
    return ns;
}

static void waiting(const char *base)
{
    char dir[400];
    snprintf(dir, sizeof dir, "%s/waiting", base);
    struct mi_journal *j = open_journal(dir, 2ull << 30, MI_SYNC_INTERVAL);
    struct mi_record r = make(1);
    for (int i = 0; i < WAITING; i++) {
        mi_journal_append(j, &r, 1);
        if (i % 50000 == 0)
            mi_journal_disk_step(j);
    }
    mi_journal_close(j);
    uint64_t start = mi_now_ns(&mi_clock_system);
    j = open_journal(dir, 2ull << 30, MI_SYNC_INTERVAL);
    mi_journal_set_counts(j, 0, NULL, 0, NULL);
    uint64_t opened = mi_now_ns(&mi_clock_system);
    struct mi_cursor *c = mi_cursor_new(j, 0);
    struct mi_journal_ref ref;
    struct mi_record got;
    int read = 0;
    while (mi_cursor_next(c, &ref, &got, NULL) == 1)
        read++;
    uint64_t walked = mi_now_ns(&mi_clock_system);
    printf("start with %d waiting        %8.1f ms\n", WAITING, (double)(opened - start) / 1e6);
    printf("cursor over %d               %8.1f ns each\n", read, (double)(walked - opened) / read);
    mi_cursor_free(c);
    mi_journal_close(j);
    mi_remove_tree(dir);
}

int main(int argc, char **argv)
{
    char base[256];
    if (argc > 1)
        snprintf(base, sizeof base, "%s", argv[1]);
    else if (!mi_temp_dir(base, sizeof base))
        return 1;
    printf("payload %d, headers %d bytes, %d appends\n", PAYLOAD, HEADERS, MESSAGES);
    printf("bare pwritev of as many bytes     %8.1f ns\n", bare_writes(base));
    printf("append QoS 1, sync by interval    %8.1f ns\n", appends(base, 1, MI_SYNC_INTERVAL, MESSAGES));
    printf("append QoS 0, gathered            %8.1f ns\n", appends(base, 0, MI_SYNC_INTERVAL, MESSAGES));
    printf("append QoS 1, sync always         %8.1f ns\n", appends(base, 1, MI_SYNC_ALWAYS, 500));
    waiting(base);
    if (argc <= 1)
        mi_remove_tree(base);
    return 0;
}
