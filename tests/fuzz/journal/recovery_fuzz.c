/*
 * Recovery over arbitrary files. The first input byte chooses: the rest is a whole segment file and a state
 * file, or it is a list of edits (file, offset, xor) of a sound journal, so that checksums are usually right
 * where they are looked at. Whatever comes: no crash, what is read was once appended, in order, and the
 * journal takes messages afterwards.
 */
#include "journal/inspect.h"
#include "journal/journal.h"
#include "journal/slots.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 8, SEGMENT = 8192, RECORDS = 60 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir[128];
static struct {
    char name[260];
    uint8_t bytes[SEGMENT];
    size_t len;
} sound[FILES];
static size_t sound_count;

static struct mi_journal_options options(void)
{
    struct mi_journal_options o = {.directory = dir,
                                   .max_size = 16 * SEGMENT,
                                   .segment_size = SEGMENT,
                                   .sync_interval_ns = MI_NS_PER_S,
                                   .clock = &mi_clock_system};
    return o;
}

static void require(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "broken: %s\n", what);
    __builtin_trap();
}

static void empty_directory(void)
{
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));)
        unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
}

static void put(const char *name, const uint8_t *bytes, size_t len)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    require(fd >= 0 && write(fd, bytes, len) == (ssize_t)len, "temporary directory");
    close(fd);
}

static void take_files(void)
{
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d)) && sound_count < FILES;) {
        char path[400];
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        int fd = strstr(e->d_name, ".seg") ? open(path, O_RDONLY) : -1;
        if (fd < 0)
            continue;
        snprintf(sound[sound_count].name, sizeof sound[0].name, "%s", e->d_name);
        ssize_t n = read(fd, sound[sound_count].bytes, SEGMENT);
        sound[sound_count].len = n > 0 ? (size_t)n : 0;
        sound_count++;
        close(fd);
    }
    closedir(d);
}

/* A journal of several segments, the last one not sealed, as a crash leaves it. */
static void make_sound(void)
{
    snprintf(dir, sizeof dir, "%s/journal-fuzz-%ld", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
             (long)getpid());
    mkdir(dir, 0700);
    struct mi_journal_options o = options();
    struct mi_journal *j;
    require(mi_journal_open(&o, &j, NULL, NULL) == 0, "open at start");
    for (uint64_t n = 1; n <= RECORDS; n++) {
        uint8_t payload[300] = {0};
        mi_put_u64le(payload, n);
        struct mi_record r = {.qos = 1, .route = (uint32_t)n % 3, .payload = {payload, 8 + n * 37 % 290}};
        require(mi_journal_append(j, &r, 1) == MI_APPEND_OK, "append at start");
        if (n % 20 == 0)
            mi_journal_disk_step(j);
    }
    take_files();
    mi_journal_close(j);
    require(sound_count > 2, "several segments");
}

static size_t walk(struct mi_journal *j, bool ours)
{
    struct mi_cursor *c = mi_cursor_new(j, 0);
    struct mi_journal_ref ref;
    struct mi_record r;
    struct mi_error err;
    uint64_t last = 0;
    size_t n = 0;
    while (mi_cursor_next(c, &ref, &r, &err) == 1) {
        require(r.sequence > last, "order");
        require(!ours || r.payload.len == 1 || mi_get_u64le(r.payload.data) == r.sequence, "content");
        last = r.sequence;
        n++;
    }
    mi_cursor_free(c);
    return n;
}

static void look(void)
{
    struct mi_error err;
    struct mi_journal_ref ref;
    struct mi_record r;
    uint64_t lost;
    struct mi_inspect *i = mi_inspect_open(dir, &err);
    for (size_t s = 0; i && mi_inspect_segment(i, s); s++) {
        mi_inspect_begin(i, s);
        while (mi_inspect_next(i, &ref, &r, &lost, &err) != MI_INSPECT_END)
            continue;
    }
    mi_inspect_close(i);
}

static void live(bool ours)
{
    struct mi_journal_options o = options();
    struct mi_journal *j;
    struct mi_error err;
    look();
    if (mi_journal_open(&o, &j, NULL, &err) != 0) {
        require(strstr(err.text, "format version") != NULL, err.text);
        return;
    }
    size_t before = walk(j, ours);
    struct mi_record r = {.qos = 1, .payload = mi_span_of("x")};
    enum mi_append rc = mi_journal_append(j, &r, 1);
    require(rc == MI_APPEND_OK || rc == MI_APPEND_FULL, "append");
    mi_journal_close(j);
    require(mi_journal_open(&o, &j, NULL, &err) == 0, "open again");
    require(walk(j, ours) == before + (rc == MI_APPEND_OK), "the same again");
    mi_journal_set_counts(j, 0, NULL, 0, &err);
    mi_journal_close(j);
}

static void edit(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < sound_count; i++) {
        static uint8_t bytes[SEGMENT];
        size_t len = sound[i].len;
        memcpy(bytes, sound[i].bytes, len);
        for (size_t at = 0; at + 4 <= size; at += 4)
            if (data[at] % sound_count == i) {
                size_t offset = mi_get_u16le(data + at + 1) % SEGMENT;
                if (data[at] & 0x80)
                    len = offset < len ? offset : len;
                else
                    bytes[offset] ^= data[at + 3];
            }
        put(sound[i].name, bytes, len);
    }
}

static void state_file(const uint8_t *data, size_t size)
{
    struct mi_error err;
    struct mi_buf out;
    mi_buf_init(&out, 1 << 20);
    put("state.0", data, size / 2);
    put("state.1", data + size / 2, size - size / 2);
    struct mi_slots *s = mi_slots_open(dir, "state", &err);
    mi_slots_read(s, &out, &err);
    require(mi_slots_write(s, mi_span_of("new"), &err) == 0, "state write");
    require(mi_slots_read(s, &out, &err) == 1 && mi_span_equal(mi_buf_span(&out), mi_span_of("new")),
            "state read");
    mi_slots_close(s);
    mi_buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!sound_count)
        make_sound();
    empty_directory();
    if (size == 0)
        return 0;
    if (data[0] & 1) {
        edit(data + 1, size - 1);
    } else {
        put("0000000000000001.seg", data + 1, size - 1);
        put("identity", data + 1, size - 1 < 4000 ? size - 1 : 4000);
        state_file(data + 1, size - 1);
    }
    live(data[0] & 1);
    return 0;
}
