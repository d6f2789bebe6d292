#include "fixture.h"

#include "journal/journal_private.h"
#include "support/process.h"
#include "support/suite.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 700 };

static uint64_t now_ns(void *context)
{
    return ((struct fixture *)context)->now_ns;
}

static uint64_t wall_us(void *context)
{
    (void)context;
    return 1700000000000000ull;
}

static uint64_t next_random(void *context)
{
    struct fixture *f = context;
    f->random = f->random * 6364136223846793005ull + 1442695040888963407ull;
    return f->random ^ f->random >> 29;
}

static void write_line(void *context, enum mi_log_level level, const char *line)
{
    struct fixture *f = context;
    (void)level;
    size_t len = strlen(f->lines);
    snprintf(f->lines + len, sizeof f->lines - len, "%s\n", line);
}

void fixture_begin(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    CU_ASSERT_TRUE_FATAL(mi_temp_dir(f->base, sizeof f->base));
    snprintf(f->dir, sizeof f->dir, "%s/journal", f->base);
    faulty_init(&f->files);
    f->now_ns = 1000 * MI_NS_PER_S;
    f->random = 42;
    f->clock = (struct mi_clock){now_ns, wall_us, next_random, f};
    f->log = (struct mi_log){write_line, f};
    f->options = (struct mi_journal_options){.directory = f->dir,
                                             .max_size = 1 << 20,
                                             .keep = 0,
                                             .segment_size = 16 << 10,
                                             .sync = MI_SYNC_INTERVAL,
                                             .sync_interval_ns = 100 * MI_NS_PER_MS,
                                             .clock = &f->clock,
                                             .log = &f->log};
}

void fixture_end(struct fixture *f)
{
    fixture_close(f);
    faulty_fini(&f->files);
    mi_remove_tree(f->base);
}

static void disk_wake(void *context)
{
    ((struct fixture *)context)->disk_wakes++;
}

static void read_wake(void *context)
{
    ((struct fixture *)context)->read_wakes++;
}

bool fixture_open(struct fixture *f)
{
    memset(&f->err, 0, sizeof f->err);
    bool good = mi_journal_open_with(&f->options, &f->files.ops, &f->j, &f->report, &f->err) == 0;
    if (good)
        mi_journal_set_wakers(f->j, disk_wake, read_wake, f);
    return good;
}

void fixture_close(struct fixture *f)
{
    mi_journal_close(f->j);
    f->j = NULL;
}

static void close_cut(struct fixture *f)
{
    faulty_cut(&f->files);
    fixture_close(f);
}

static void new_files(struct fixture *f)
{
    bool remember = f->files.remember;
    faulty_fini(&f->files);
    faulty_init(&f->files);
    f->files.remember = remember;
}

void fixture_crash(struct fixture *f)
{
    close_cut(f);
    new_files(f);
}

void fixture_power_loss(struct fixture *f, unsigned seed, unsigned keep)
{
    close_cut(f);
    faulty_lose_power(&f->files, seed, keep);
    new_files(f);
}

size_t fixture_payload(uint64_t n, uint8_t *payload, size_t most)
{
    size_t len = (size_t)(n * 7919 % most);
    if (len < 8)
        len = 8;
    for (size_t i = 8; i < len; i++)
        payload[i] = (uint8_t)(n * 31 + i * 7);
    mi_put_u64le(payload, n);
    return len;
}

static struct mi_record make(uint64_t n, uint8_t qos, uint8_t *payload)
{
    size_t len = fixture_payload(n, payload, MOST), prefix = len / 3;
    struct mi_record r = {.time_us = n * 3,
                          .route = (uint32_t)(n % 5),
                          .key_hash = (uint32_t)(n * 17),
                          .qos = qos,
                          .balanced = n % 2,
                          .stream = mi_span_of("stream"),
                          .topic = mi_span_of(n % 3 ? "topic" : "another/topic"),
                          .headers = mi_span_of(n % 7 ? "headers" : ""),
                          .prefix = {payload, prefix},
                          .payload = {payload + prefix, len - prefix}};
    return r;
}

enum mi_append fixture_append(struct fixture *f, uint64_t n, uint8_t qos)
{
    uint8_t payload[MOST];
    struct mi_record r = make(n, qos, payload);
    return mi_journal_append(f->j, &r, 1);
}

uint64_t fixture_number(const struct mi_record *r)
{
    return r->payload.len >= 8 ? mi_get_u64le(r->payload.data) : 0;
}

bool fixture_is(const struct mi_record *r, uint64_t n)
{
    uint8_t payload[MOST];
    struct mi_record want = make(n, r->qos, payload);
    struct mi_span whole = {payload, want.prefix.len + want.payload.len};
    return mi_span_equal(r->payload, whole) && mi_span_equal(r->stream, want.stream) &&
           mi_span_equal(r->topic, want.topic) && mi_span_equal(r->headers, want.headers) &&
           r->time_us == want.time_us && r->route == want.route && r->key_hash == want.key_hash &&
           r->balanced == want.balanced && r->run != 0;
}

size_t fixture_walk(struct fixture *f, uint64_t from, uint64_t *numbers, size_t cap)
{
    struct mi_cursor *c = mi_cursor_new(f->j, from);
    struct mi_journal_ref ref;
    struct mi_record r;
    size_t n = 0;
    uint64_t last = 0;
    int rc;
    while ((rc = mi_cursor_next(c, &ref, &r, &f->err)) > 0) {
        CU_ASSERT_TRUE(fixture_is(&r, fixture_number(&r)));
        CU_ASSERT_TRUE(r.sequence > last && r.sequence >= from && ref.sequence == r.sequence);
        last = r.sequence;
        if (numbers && n < cap)
            numbers[n] = fixture_number(&r);
        n++;
    }
    CU_ASSERT_EQUAL(rc, 0);
    mi_cursor_free(c);
    return n;
}

const char *fixture_path(const struct fixture *f, const char *name)
{
    static char path[400];
    snprintf(path, sizeof path, "%s/%s", f->dir, name);
    return path;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static size_t list_names(const struct fixture *f, char (*names)[MI_SEGMENT_NAME], size_t cap)
{
    size_t n = 0;
    uint64_t number;
    DIR *d = opendir(f->dir);
    for (struct dirent *e; d && (e = readdir(d)) && n < cap;)
        if (mi_segment_number(e->d_name, &number))
            mi_segment_name(number, names[n++]);
    if (d)
        closedir(d);
    qsort(names, n, MI_SEGMENT_NAME, by_name);
    return n;
}

bool fixture_segment(const struct fixture *f, size_t n, char *name)
{
    char names[256][MI_SEGMENT_NAME];
    if (n >= list_names(f, names, 256))
        return false;
    memcpy(name, names[n], MI_SEGMENT_NAME);
    return true;
}

size_t fixture_files(const struct fixture *f)
{
    char names[256][MI_SEGMENT_NAME];
    return list_names(f, names, 256);
}

void fixture_flip(const char *path, long offset, uint8_t mask)
{
    uint8_t byte = 0;
    int fd = open(path, O_RDWR);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(pread(fd, &byte, 1, offset), 1);
    byte ^= mask;
    CU_ASSERT_EQUAL(pwrite(fd, &byte, 1, offset), 1);
    close(fd);
}
