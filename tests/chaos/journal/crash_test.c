/*
 * One crash test for each fault point of the journal (taken from its sources, so that none is forgotten): a
 * child is killed there, again and again on the same directory; what it was told to be safe must be there,
 * once, whole and in order, and what was refused must not.
 */
#include "crash_child.h"
#include "journal/inspect.h"
#include "journal/journal.h"
#include "journal/slots.h"
#include "support/process.h"
#include "support/suite.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_NUMBERS = 40000, MAX_POINTS = 100, LIVES = 5 };

enum fate { UNKNOWN, ACKNOWLEDGED, REFUSED };

struct told {
    enum fate fate;
    uint64_t run, sequence;
};

struct run {
    char base[256], dir[300];
    unsigned seed, kills;
    uint64_t next_number, releasing, state;
    struct told told[MAX_NUMBERS];
    bool seen[MAX_NUMBERS];
    uint64_t problems;
};

static struct run run;

static void problem(const char *what, uint64_t number)
{
    if (run.problems++ < 5)
        printf("\n    %s: number %llu, seed %u ", what, (unsigned long long)number, run.seed);
}

/* ---- one life ---- */

static void take_note(const struct crash_note *n)
{
    struct told *t = n->number < MAX_NUMBERS ? &run.told[n->number] : NULL;
    switch ((enum crash_kind)n->kind) {
    case NOTE_TRYING:
        run.next_number = n->number + 3;
        break;
    case NOTE_APPENDED:
        if (t && n->qos > 0)
            t->fate = ACKNOWLEDGED;
        if (t) {
            t->run = n->run;
            t->sequence = n->sequence;
        }
        break;
    case NOTE_REFUSED:
        if (t)
            t->fate = REFUSED;
        break;
    case NOTE_RELEASING:
        run.releasing = n->sequence;
        break;
    case NOTE_STATE:
        run.state = n->number;
        break;
    }
}

static void start_child(int notes, const char *point, unsigned passage)
{
    char fault[100], seed[20], first[20];
    snprintf(fault, sizeof fault, "%s:%u", point, passage);
    snprintf(seed, sizeof seed, "%u", run.seed);
    snprintf(first, sizeof first, "%llu", (unsigned long long)run.next_number);
    setenv("MI_FAULT", fault, 1);
    if (notes != 3) {
        dup2(notes, 3);
        close(notes);
    }
    execl("/proc/self/exe", "journal_crash_test", "--child", run.dir, seed, first, (char *)NULL);
    _exit(126);
}

static void live(const char *point, unsigned passage)
{
    int ends[2], status = 0;
    CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_CLOEXEC), 0);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        int notes = dup(ends[1]);
        close(ends[0]);
        start_child(notes, point, passage);
    }
    close(ends[1]);
    FILE *in = fdopen(ends[0], "rb");
    struct crash_note n;
    while (fread(&n, sizeof n, 1, in) == 1)
        take_note(&n);
    fclose(in);
    waitpid(pid, &status, 0);
    bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    run.kills += killed;
    CU_ASSERT_TRUE(killed || (WIFEXITED(status) && WEXITSTATUS(status) == CRASH_ENDED));
}

/* ---- what is left ---- */

static void check_record(const struct mi_record *r, uint64_t *last)
{
    static uint8_t payload[CRASH_MOST];
    uint64_t n = r->payload.len >= 8 ? mi_get_u64le(r->payload.data) : 0;
    if (n == 0 || n >= MAX_NUMBERS) {
        problem("a record that nobody wrote", n);
        return;
    }
    struct mi_span want = {payload, crash_payload(n, payload)};
    if (!mi_span_equal(r->payload, want))
        problem("wrong content", n);
    if (n <= *last)
        problem("twice, or not in order", n);
    if (run.told[n].fate == REFUSED)
        problem("was refused", n);
    if (run.told[n].run && (run.told[n].run != r->run || run.told[n].sequence != r->sequence))
        problem("another run or sequence than told", n);
    *last = n;
    run.seen[n] = true;
}

static void check_all_seen(void)
{
    for (uint64_t n = 1; n < MAX_NUMBERS; n++)
        if (run.told[n].fate == ACKNOWLEDGED && run.told[n].sequence >= run.releasing && !run.seen[n])
            problem("lost", n);
}

/* Without touching anything, so that the child's own start meets what the kill left. */
static void inspect(void)
{
    struct mi_error err;
    struct mi_journal_ref ref;
    struct mi_record r;
    uint64_t last = 0, lost;
    memset(run.seen, 0, sizeof run.seen);
    struct mi_inspect *i = mi_inspect_open(run.dir, &err);
    if (!i)
        return; /* killed before there was anything; then nothing was told either */
    for (size_t s = 0; mi_inspect_segment(i, s); s++) {
        enum mi_inspect_found found;
        mi_inspect_begin(i, s);
        while ((found = mi_inspect_next(i, &ref, &r, &lost, &err)) != MI_INSPECT_END) {
            if (found == MI_INSPECT_RECORD)
                check_record(&r, &last);
            else if (found != MI_INSPECT_TORN)
                problem("damage by a mere kill", ref.sequence);
            if (found == MI_INSPECT_ERROR)
                break;
        }
    }
    mi_inspect_close(i);
    check_all_seen();
}

static void check_state(void)
{
    struct mi_error err;
    struct mi_buf out;
    mi_buf_init(&out, 1 << 20);
    struct mi_slots *s = mi_slots_open(run.dir, "state", &err);
    int rc = s ? mi_slots_read(s, &out, &err) : 0;
    if (run.state > 0 && (rc != 1 || out.len < 8 || mi_get_u64le(out.data) < run.state))
        problem("the state file is behind", run.state);
    mi_slots_close(s);
    mi_buf_fini(&out);
}

static void reopen(void)
{
    struct mi_journal_options o;
    struct mi_journal_report report;
    struct mi_journal *j;
    struct mi_error err;
    struct mi_journal_ref ref;
    struct mi_record r;
    uint64_t last = 0;
    int rc;
    crash_options(&o, run.dir, run.seed);
    memset(run.seen, 0, sizeof run.seen);
    CU_ASSERT_EQUAL_FATAL(mi_journal_open(&o, &j, &report, &err), 0);
    CU_ASSERT_TRUE(report.damaged_records == 0 && report.damaged_bytes == 0);
    struct mi_cursor *c = mi_cursor_new(j, 0);
    while ((rc = mi_cursor_next(c, &ref, &r, &err)) == 1)
        check_record(&r, &last);
    CU_ASSERT_EQUAL(rc, 0);
    mi_cursor_free(c);
    mi_journal_close(j);
    check_all_seen();
}

static unsigned torture(const char *point, unsigned seed)
{
    memset(&run, 0, sizeof run);
    run.seed = seed;
    run.next_number = 1;
    CU_ASSERT_TRUE_FATAL(mi_temp_dir(run.base, sizeof run.base));
    snprintf(run.dir, sizeof run.dir, "%s/journal", run.base);
    for (unsigned i = 0; i < LIVES; i++) {
        live(point, i < 2 ? 1 : 1 + (seed * 7919 + i * 31) % (i < 4 ? 10 : 150));
        inspect();
        check_state();
    }
    reopen();
    CU_ASSERT_EQUAL(run.problems, 0);
    mi_remove_tree(run.base);
    return run.kills;
}

/* ---- which points there are ---- */

static char points[MAX_POINTS][64];
static size_t point_count;

static void add_points(const char *text)
{
    static const char call[] = "mi_fault(\"";
    for (const char *at = text; (at = strstr(at, call));) {
        at += sizeof call - 1;
        size_t len = strcspn(at, "\""), i = 0;
        char name[64] = "";
        memcpy(name, at, len < 63 ? len : 63);
        while (i < point_count && strcmp(points[i], name) != 0)
            i++;
        if (i == point_count && point_count < MAX_POINTS)
            strcpy(points[point_count++], name);
    }
}

static void find_points(void)
{
    DIR *d = opendir(JOURNAL_FOLDER);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s", JOURNAL_FOLDER, e->d_name);
        size_t len = strlen(path);
        char *text = len > 2 && strcmp(path + len - 2, ".c") == 0 ? mi_read_file(path) : NULL;
        if (text)
            add_points(text);
        free(text);
    }
    if (d)
        closedir(d);
}

static void test_every_point(void)
{
    find_points();
    CU_ASSERT_TRUE(point_count >= 20);
    for (size_t i = 0; i < point_count; i++) {
        unsigned kills = torture(points[i], 2 * (unsigned)i) + torture(points[i], 2 * (unsigned)i + 1);
        printf("\n    %-22s %u kills ", points[i], kills);
        CU_ASSERT_TRUE(kills > 0);
    }
}

static CU_TestInfo tests[] = {{"killed at every fault point", test_every_point}, CU_TEST_INFO_NULL};

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "--child") == 0)
        _exit(crash_child(argv[2], (unsigned)strtoul(argv[3], NULL, 10), strtoull(argv[4], NULL, 10)));
    return mi_suite_run("journal crash", tests, argc, argv);
}
