/* requeue: takes dead letters out of the file, into the journal again or for good. */
#include "journal/identity.h"
#include "journal/inspect.h"
#include "out/letter_round.h"
#include "tool/command.h"
#include "tool/directory.h"
#include "tool/letters.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEGMENT_BYTES = 4 << 20 };

static int ask_broker(const char *directory, const char *order, long holder);
static int work(const char *directory, struct mi_order *order);

static int fail(const char *text)
{
    fprintf(stderr, "mosquitto_iggy dead-letters: %s\n", text);
    return MI_EXIT_REFUSED;
}

int mi_letters_order(const char *directory, const char *text)
{
    struct mi_order order;
    struct mi_error err;
    int dir = mi_directory_open(directory, false, &err);
    if (dir < 0)
        return fail(err.text);
    long holder = mi_directory_holder(dir);
    close(dir);
    if (holder)
        return ask_broker(directory, text, holder);
    if (!mi_order_parse(text, &order))
        return fail("no such order");
    return work(directory, &order);
}

/* ---- a running broker ---- */

static int ask_broker(const char *directory, const char *order, long holder)
{
    char answer[MI_ANSWER];
    struct mi_error err;
    if (mi_control_ask(directory, order, answer, &err) != 0) {
        fprintf(stderr, "mosquitto_iggy dead-letters: process %ld has the journal open: %s\n", holder,
                err.text);
        return MI_EXIT_REFUSED;
    }
    if (strncmp(answer, "ok ", 3) != 0)
        return fail(strncmp(answer, "error ", 6) == 0 ? answer + 6 : answer);
    puts(answer + 3);
    return MI_EXIT_OK;
}

/* ---- a stopped one ---- */

/* What root made here the broker could not open later. */
static int become_owner(const char *directory)
{
    struct stat st;
    if (geteuid() != 0 || stat(directory, &st) != 0 || st.st_uid == 0)
        return 0;
    return setegid(st.st_gid) == 0 ? seteuid(st.st_uid) : -1;
}

static void on_log(void *context, enum mi_log_level level, const char *line)
{
    (void)context;
    if (level <= MI_LOG_WARNING)
        fprintf(stderr, "%s\n", line);
}

/* Nothing is recycled, nothing but what the letters need is made. */
static struct mi_journal *open_journal(const char *directory, struct mi_error *err)
{
    static const struct mi_log log = {on_log, NULL};
    const struct mi_journal_options options = {
        .directory = directory,
        .max_size = UINT64_MAX / 4,
        .keep = UINT64_MAX / 4,
        .segment_size = SEGMENT_BYTES,
        .sync = MI_SYNC_ALWAYS,
        .clock = &mi_clock_system,
        .log = &log,
    };
    struct mi_state_summary state;
    struct mi_journal *journal = NULL;
    if (mi_journal_open(&options, &journal, NULL, err) != 0)
        return NULL;
    /* A power loss may have taken messages whose numbers the state file knows as settled: not to be used
     * again. */
    mi_state_summary_read(directory, &state);
    if (state.found && mi_journal_set_counts(journal, state.next, NULL, 0, err) != 0) {
        mi_journal_close(journal);
        return NULL;
    }
    return journal;
}

static const char *append_error(enum mi_append result)
{
    return result == MI_APPEND_TOO_LARGE ? "a letter does not fit the journal's format"
                                         : "the journal's disk refuses writes";
}

/* Rounds until the letters are at their end. journal NULL: drop. 0, or -1 with err. */
static int rounds(struct mi_round *r, struct mi_letter_file *file, const struct mi_order *order,
                  struct mi_journal *journal, uint64_t *done, struct mi_error *err)
{
    int rc;
    while ((rc = mi_round_read(r, file, order, err)) > 0) {
        enum mi_append result = MI_APPEND_OK;
        size_t count = r->count;
        if (journal) {
            result = mi_round_append(r, journal, r->count);
            count = r->appended;
        }
        if (mi_round_take_out(r, file, count, false, err) != 0)
            return -1;
        *done += count;
        if (result != MI_APPEND_OK)
            return mi_error_set(err, "%s", append_error(result));
        if (!order->all)
            return 0;
    }
    return rc;
}

static int say(const struct mi_order *order, const struct mi_round *r, uint64_t done)
{
    const char *verb = order->requeue ? "requeued" : "dropped";
    if (!order->all && done == 0) {
        fprintf(stderr, "mosquitto_iggy dead-letters: ");
        fprintf(stderr,
                r->hopeless
                    ? "letter %" PRIu64
                      " names a stream or topic that Iggy cannot address and would only come back; mend "
                      "the route and publish its payload again\n"
                    : "there is no letter %" PRIu64 "\n",
                order->number);
        return MI_EXIT_REFUSED;
    }
    printf("%s %" PRIu64, verb, done);
    if (r->hopeless)
        printf("; left %" PRIu64 " whose stream or topic name Iggy cannot address", r->hopeless);
    if (r->damaged)
        printf("; passed over %" PRIu64 " damaged places", r->damaged);
    putchar('\n');
    return MI_EXIT_OK;
}

static int locked_work(const char *directory, struct mi_order *order, struct mi_journal *journal)
{
    struct mi_error err = {{0}};
    struct mi_letter_file *file;
    struct mi_state_summary state;
    static struct mi_round round; /* large */
    uint64_t done = 0;
    mi_round_init(&round);
    int rc = mi_letter_file_open(directory, true, &file, &err);
    if (rc > 0)
        rc = rounds(&round, file, order, journal, &done, &err);
    int code = rc == 0 ? say(order, &round, done) : fail(err.text);
    if (rc != 0 && done)
        fprintf(stderr, "%s before: %" PRIu64 "\n", order->requeue ? "requeued" : "dropped", done);
    mi_letter_file_close(file);
    mi_round_fini(&round);
    mi_state_summary_read(directory, &state);
    if (done && state.found)
        mi_letter_file_compact(directory, state.settled_below, NULL); /* else the next time */
    return code;
}

static int work(const char *directory, struct mi_order *order)
{
    struct mi_error err;
    if (become_owner(directory) != 0)
        return fail("cannot act as the owner of the directory");
    if (order->requeue) {
        struct mi_journal *journal = open_journal(directory, &err);
        if (!journal)
            return fail(err.text);
        int code = locked_work(directory, order, journal);
        mi_journal_close(journal);
        return code;
    }
    int dir = mi_directory_open(directory, false, &err);
    int lock = dir < 0 ? -1 : mi_directory_lock(&mi_file_ops_system, dir, directory, &err);
    int code = lock < 0 ? fail(err.text) : locked_work(directory, order, NULL);
    if (lock >= 0)
        close(lock);
    if (dir >= 0)
        close(dir);
    return code;
}
