#include "loop/orders.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "out/letter_round.h"

enum {
    LETTERS_PER_TICK = 64, /* about 0.1 ms of the broker's time */
    SYNC_LOOK_MS = 5,      /* between two looks whether the disk thread has synced */
    SYNC_WAIT_S = 10
};

enum state { IDLE, READING, APPENDING, APPENDED, SYNCING };

struct mi_orders {
    /* constant */
    const char *directory;
    struct mi_journal *journal;
    uint64_t settled_at_start;
    const struct mi_clock *clock;
    void (*wake_bridge)(void *);
    void *context;
    /* The round belongs to the main thread while this is APPENDING, else to the bridge thread. */
    _Atomic int state;
    struct mi_round round;
    enum mi_append append_result;
    /* bridge thread */
    struct mi_order order;
    struct mi_letter_file *file;
    uint64_t done;           /* letters that the order has dealt with */
    uint64_t sync_before_ns; /* deadline of SYNCING */
};

struct mi_orders *mi_orders_new(const char *directory, struct mi_journal *journal, uint64_t settled_at_start,
                                const struct mi_clock *clock, void (*wake_bridge)(void *context),
                                void *context)
{
    struct mi_orders *o = calloc(1, sizeof *o);
    if (!o)
        return NULL;
    o->directory = directory;
    o->journal = journal;
    o->settled_at_start = settled_at_start;
    o->clock = clock;
    o->wake_bridge = wake_bridge;
    o->context = context;
    mi_round_init(&o->round);
    return o;
}

/* ---- main thread ---- */

void mi_orders_tick(struct mi_orders *o)
{
    if (atomic_load_explicit(&o->state, memory_order_acquire) != APPENDING)
        return;
    o->append_result = mi_round_append(&o->round, o->journal, LETTERS_PER_TICK);
    if (o->append_result == MI_APPEND_OK && o->round.appended < o->round.count)
        return; /* the bridge thread goes on asking for the next TICK */
    atomic_store_explicit(&o->state, APPENDED, memory_order_release);
    o->wake_bridge(o->context);
}

/* ---- bridge thread ---- */

static bool step(struct mi_orders *o, uint64_t now, char *answer, uint64_t *due);

void mi_orders_begin(struct mi_orders *o, const char *text)
{
    struct mi_journal_stats stats;
    mi_round_fini(&o->round);
    mi_round_init(&o->round);
    o->done = 0;
    o->order = (struct mi_order){0};
    if (mi_order_parse(text, &o->order)) {
        mi_journal_stats(o->journal, &stats);
        o->order.below = stats.next_sequence;
    }
    atomic_store(&o->state, READING);
}

bool mi_orders_busy(const struct mi_orders *o)
{
    return atomic_load(&o->state) != IDLE;
}

bool mi_orders_waits_for_main(const struct mi_orders *o)
{
    return atomic_load_explicit(&o->state, memory_order_relaxed) == APPENDING;
}

/* What a failure here leaves undone the next order does. */
static void give_space_back(struct mi_orders *o)
{
    struct mi_journal_stats stats;
    mi_journal_stats(o->journal, &stats);
    uint64_t settled = stats.released_sequence;
    mi_letter_file_compact(o->directory, settled > o->settled_at_start ? settled : o->settled_at_start, NULL);
}

static void end_order(struct mi_orders *o)
{
    mi_letter_file_close(o->file);
    o->file = NULL;
    if (o->done)
        give_space_back(o);
    mi_round_fini(&o->round);
    atomic_store(&o->state, IDLE);
}

bool mi_orders_step(struct mi_orders *o, uint64_t now_ns, char answer[MI_ORDER_ANSWER], uint64_t *due_ns)
{
    *due_ns = UINT64_MAX;
    if (!mi_orders_busy(o) || mi_orders_waits_for_main(o) || !step(o, now_ns, answer, due_ns))
        return false;
    end_order(o);
    return true;
}

static const char *verb(const struct mi_orders *o)
{
    return o->order.requeue ? "requeued" : "dropped";
}

static bool say_error(const struct mi_orders *o, char *answer, const char *text)
{
    snprintf(answer, MI_ORDER_ANSWER, "error %.300s (%s before: %" PRIu64 ")", text, verb(o), o->done);
    return true;
}

/* Everything that was to be found was dealt with. */
static bool say_end(const struct mi_orders *o, char *answer)
{
    const struct mi_round *r = &o->round;
    if (!o->order.all && o->done == 0) {
        snprintf(answer, MI_ORDER_ANSWER,
                 r->hopeless ? "error letter %" PRIu64
                               " names a stream or topic that Iggy cannot address and would "
                               "only come back; mend the route and publish its payload again"
                             : "error there is no letter %" PRIu64,
                 o->order.number);
        return true;
    }
    int n = snprintf(answer, MI_ORDER_ANSWER, "ok %s %" PRIu64, verb(o), o->done);
    if (r->hopeless)
        n += snprintf(answer + n, MI_ORDER_ANSWER - (size_t)n,
                      "; left %" PRIu64 " whose stream or topic name Iggy cannot address", r->hopeless);
    if (r->damaged)
        snprintf(answer + n, MI_ORDER_ANSWER - (size_t)n, "; passed over %" PRIu64 " damaged places",
                 r->damaged);
    return true;
}

/* Out may have put a smaller file in the place of ours since the last step. */
static int open_file(struct mi_orders *o, bool *replaced, struct mi_error *err)
{
    *replaced = o->file && mi_letter_file_replaced(o->file);
    if (*replaced) {
        mi_letter_file_close(o->file);
        o->file = NULL;
    }
    return o->file ? 1 : mi_letter_file_open(o->directory, true, &o->file, err);
}

static bool take_out(struct mi_orders *o, size_t count, char *answer)
{
    struct mi_error err = {{0}};
    bool replaced;
    int rc = open_file(o, &replaced, &err);
    if (rc <= 0 || mi_round_take_out(&o->round, o->file, count, replaced, &err) != 0)
        return say_error(o, answer, rc == 0 ? "the file of dead letters is gone" : err.text);
    o->done += count;
    return false;
}

static bool read_round(struct mi_orders *o, char *answer, uint64_t *due)
{
    struct mi_error err = {{0}};
    bool replaced;
    if (!o->order.all && !o->order.number) {
        snprintf(answer, MI_ORDER_ANSWER, "error no such order: requeue|drop NUMBER|all");
        return true;
    }
    if (!o->order.all && o->done)
        return say_end(o, answer);
    int rc = open_file(o, &replaced, &err);
    if (replaced)
        o->round.next = 0;
    if (rc > 0)
        rc = mi_round_read(&o->round, o->file, &o->order, &err);
    if (rc < 0)
        return say_error(o, answer, err.text);
    if (rc == 0)
        return say_end(o, answer);
    if (o->order.requeue)
        atomic_store_explicit(&o->state, APPENDING, memory_order_release);
    else if (take_out(o, o->round.count, answer))
        return true;
    *due = 0;
    return false;
}

static bool all_synced(struct mi_orders *o)
{
    struct mi_journal_stats stats;
    mi_journal_stats(o->journal, &stats);
    return o->round.appended == 0 ||
           stats.durable_sequence > o->round.records[o->round.appended - 1].sequence;
}

static bool after_sync(struct mi_orders *o, uint64_t now, char *answer, uint64_t *due)
{
    if (!all_synced(o) && now < o->sync_before_ns) {
        *due = now + SYNC_LOOK_MS * MI_NS_PER_MS;
        return false;
    }
    if (!all_synced(o))
        return say_error(
            o, answer,
            "the journal's disk does not sync; the letters of the last round went to the journal and stay "
            "in the file too: look into Iggy before they are requeued again");
    if (take_out(o, o->round.appended, answer))
        return true;
    switch (o->append_result) {
    case MI_APPEND_OK:
        atomic_store(&o->state, READING);
        *due = 0;
        return false;
    case MI_APPEND_FULL:
        return say_error(o, answer,
                         "the journal is full; the other letters stay, try again when it has drained");
    case MI_APPEND_TOO_LARGE:
        return say_error(o, answer,
                         "a letter is larger than the journal may be (journal.max_size); it stays");
    case MI_APPEND_FAILED:
        break;
    }
    return say_error(o, answer, "the journal's disk refuses writes; the other letters stay");
}

static bool step(struct mi_orders *o, uint64_t now, char *answer, uint64_t *due)
{
    switch (atomic_load_explicit(&o->state, memory_order_acquire)) {
    case READING:
        return read_round(o, answer, due);
    case APPENDED:
        o->sync_before_ns = now + SYNC_WAIT_S * MI_NS_PER_S;
        atomic_store(&o->state, SYNCING);
        return after_sync(o, now, answer, due);
    case SYNCING:
        return after_sync(o, now, answer, due);
    default:
        return false;
    }
}

void mi_orders_free(struct mi_orders *o)
{
    char answer[MI_ORDER_ANSWER];
    if (!o)
        return;
    if (o->order.requeue && mi_orders_busy(o) && o->round.appended && all_synced(o))
        take_out(o, o->round.appended, answer);
    mi_letter_file_close(o->file);
    mi_round_fini(&o->round);
    free(o);
}
