#include "crash_child.h"

#include "faulty_files.h"
#include "journal/journal_private.h"
#include "journal/slots_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOTES = 3 };

struct life {
    struct faulty files;
    struct mi_journal *j;
    struct mi_slots *slots;
    uint64_t number, released, random;
    uint8_t payload[3][CRASH_MOST];
};

static uint64_t clock_ns = 1000 * MI_NS_PER_S;

static uint64_t now_ns(void *context)
{
    (void)context;
    return clock_ns;
}

static uint64_t wall_us(void *context)
{
    (void)context;
    return 1;
}

static uint64_t real_random(void *context)
{
    (void)context;
    return mi_random(&mi_clock_system);
}

static const struct mi_clock test_clock = {now_ns, wall_us, real_random, NULL};

void crash_options(struct mi_journal_options *o, const char *directory, unsigned seed)
{
    memset(o, 0, sizeof *o);
    o->directory = directory;
    o->max_size = 256 << 10;
    o->keep = 16 << 10;
    o->segment_size = 16 << 10;
    o->sync = seed % 2 ? MI_SYNC_ALWAYS : MI_SYNC_INTERVAL;
    o->sync_interval_ns = 50 * MI_NS_PER_MS;
    o->clock = &test_clock;
}

size_t crash_payload(uint64_t n, uint8_t *payload)
{
    size_t len = n % 97 == 0 ? CRASH_MOST : 8 + (size_t)(n * 2654435761u % 900);
    for (size_t i = 8; i < len; i++)
        payload[i] = (uint8_t)(n + i * 13);
    mi_put_u64le(payload, n);
    return len;
}

static void note(enum crash_kind kind, uint64_t number, const struct mi_record *r, uint64_t sequence)
{
    struct crash_note n = {kind, r ? r->qos : 0, number, r ? r->run : 0, r ? r->sequence : sequence};
    if (write(NOTES, &n, sizeof n) != (ssize_t)sizeof n)
        _exit(3);
}

static unsigned draw(struct life *l, unsigned below)
{
    l->random = l->random * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(l->random >> 33) % below;
}

static void append(struct life *l)
{
    struct mi_record r[3];
    size_t count = 1 + draw(l, 3);
    note(NOTE_TRYING, l->number, NULL, 0);
    for (size_t i = 0; i < count; i++) {
        memset(&r[i], 0, sizeof r[i]);
        r[i].qos = (uint8_t)draw(l, 3);
        r[i].route = draw(l, 4);
        r[i].stream = mi_span_of("stream");
        r[i].topic = mi_span_of("topic");
        r[i].payload.data = l->payload[i];
        r[i].payload.len = crash_payload(l->number + i, l->payload[i]);
    }
    enum mi_append rc = mi_journal_append(l->j, r, count);
    for (size_t i = 0; i < count; i++)
        note(rc == MI_APPEND_OK ? NOTE_APPENDED : NOTE_REFUSED, l->number + i, &r[i], 0);
    l->number += count;
}

/* Now and then the disk is full for a while. */
static void disturb(struct life *l)
{
    if (draw(l, 60) == 0) {
        l->files.write_budget = draw(l, 1500);
    } else if (l->files.write_budget >= 0 && draw(l, 5) == 0) {
        l->files.write_budget = -1;
        clock_ns += 2 * MI_NS_PER_S;
        mi_journal_disk_step(l->j);
        clock_ns += 2 * MI_NS_PER_S;
    }
}

static void release(struct life *l)
{
    struct mi_journal_stats s;
    mi_journal_stats(l->j, &s);
    uint64_t to = s.next_sequence > 30 ? s.next_sequence - draw(l, 30) : 0;
    if (to <= l->released)
        return;
    l->released = to;
    note(NOTE_RELEASING, 0, NULL, to);
    mi_journal_release(l->j, to);
}

static void write_state(struct life *l, uint64_t value)
{
    uint8_t bytes[5000] = {0};
    mi_put_u64le(bytes, value);
    struct mi_span content = {bytes, 8 + draw(l, sizeof bytes - 8)};
    if (mi_slots_write(l->slots, content, NULL) == 0)
        note(NOTE_STATE, value, NULL, 0);
}

int crash_child(const char *directory, unsigned seed, uint64_t first)
{
    struct life *l = calloc(1, sizeof *l);
    struct mi_journal_options o;
    struct mi_error err;
    if (!l)
        return 2;
    l->random = seed * 0x9e3779b97f4a7c15ull + first;
    l->number = first;
    faulty_init(&l->files);
    crash_options(&o, directory, seed);
    if (mi_journal_open_with(&o, &l->files.ops, &l->j, NULL, &err) != 0 ||
        !(l->slots = mi_slots_open_with(directory, "state", &l->files.ops, &err))) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    for (int i = 0; i < CRASH_OPS; i++) {
        append(l);
        clock_ns += draw(l, 10) * MI_NS_PER_MS;
        disturb(l);
        if (draw(l, 4) == 0)
            mi_journal_disk_step(l->j);
        if (draw(l, i % 200 < 100 ? 100 : 12) == 0)
            release(l);
        if (draw(l, 25) == 0)
            write_state(l, first + (uint64_t)i);
    }
    return CRASH_ENDED;
}
