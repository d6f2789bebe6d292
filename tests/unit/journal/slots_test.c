/* The state file: replaced whole, never half. */
#include "faulty_files.h"
#include "journal/slots.h"
#include "journal/slots_private.h"
#include "support/process.h"
#include "support/suite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
    char dir[256];
    struct faulty files;
    struct mi_buf out;
    struct mi_error err;
};

static void begin(struct place *p)
{
    CU_ASSERT_TRUE_FATAL(mi_temp_dir(p->dir, sizeof p->dir));
    faulty_init(&p->files);
    mi_buf_init(&p->out, 1 << 20);
    memset(&p->err, 0, sizeof p->err);
}

static void end(struct place *p)
{
    mi_buf_fini(&p->out);
    faulty_fini(&p->files);
    mi_remove_tree(p->dir);
}

static struct mi_slots *open_slots(struct place *p)
{
    struct mi_slots *s = mi_slots_open_with(p->dir, "state", &p->files.ops, &p->err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    return s;
}

static bool reads(struct mi_slots *s, struct place *p, const char *want)
{
    return mi_slots_read(s, &p->out, &p->err) == 1 && mi_span_equal(mi_buf_span(&p->out), mi_span_of(want));
}

static const char *path(const struct place *p, int slot)
{
    static char file[300];
    snprintf(file, sizeof file, "%s/state.%d", p->dir, slot);
    return file;
}

static void write_all(struct place *p, const char *const *contents)
{
    struct mi_slots *s = open_slots(p);
    for (; *contents; contents++)
        CU_ASSERT_EQUAL(mi_slots_write(s, mi_span_of(*contents), &p->err), 0);
    mi_slots_close(s);
}

static void test_never_written(void)
{
    struct place p;
    struct stat st;
    begin(&p);
    struct mi_slots *s = open_slots(&p);
    CU_ASSERT_EQUAL(mi_slots_read(s, &p.out, &p.err), 0);
    mi_slots_close(s);
    s = open_slots(&p);
    CU_ASSERT_EQUAL(mi_slots_read(s, &p.out, &p.err), 0);
    CU_ASSERT_TRUE(stat(path(&p, 0), &st) == 0 && (st.st_mode & 0777) == 0600);
    mi_slots_close(s);
    end(&p);
}

static void test_newest_is_read(void)
{
    struct place p;
    char text[40];
    begin(&p);
    for (int i = 0; i < 10; i++) {
        snprintf(text, sizeof text, "content %d%s", i, i % 3 ? "" : " which is longer");
        struct mi_slots *s = open_slots(&p);
        CU_ASSERT_EQUAL(mi_slots_write(s, mi_span_of(text), &p.err), 0);
        CU_ASSERT_TRUE(reads(s, &p, text));
        mi_slots_close(s);
        s = open_slots(&p);
        CU_ASSERT_TRUE(reads(s, &p, text));
        mi_slots_close(s);
    }
    struct mi_slots *s = open_slots(&p);
    CU_ASSERT_EQUAL(mi_slots_write(s, mi_span_of(""), &p.err), 0);
    CU_ASSERT_TRUE(reads(s, &p, ""));
    mi_slots_close(s);
    end(&p);
}

/* The newest slot is cut, flipped or gone: the one before it is read. */
static void test_damaged_newest(void)
{
    const char *contents[] = {"first", "second, a bit longer", NULL}; /* in slots 0 and 1 */
    for (int cut = 0; cut < 52; cut++) {
        struct place p;
        begin(&p);
        write_all(&p, contents);
        CU_ASSERT_EQUAL(truncate(path(&p, 1), cut), 0);
        struct mi_slots *s = open_slots(&p);
        CU_ASSERT_TRUE(reads(s, &p, "first"));
        CU_ASSERT_EQUAL(mi_slots_write(s, mi_span_of("third"), &p.err), 0);
        CU_ASSERT_TRUE(reads(s, &p, "third"));
        mi_slots_close(s);
        end(&p);
    }
    struct place p;
    begin(&p);
    write_all(&p, contents);
    unlink(path(&p, 1));
    struct mi_slots *s = open_slots(&p);
    CU_ASSERT_TRUE(reads(s, &p, "first"));
    mi_slots_close(s);
    end(&p);
}

static void test_both_damaged(void)
{
    const char *contents[] = {"first", "second", NULL};
    struct place p;
    begin(&p);
    write_all(&p, contents);
    CU_ASSERT_EQUAL(truncate(path(&p, 0), 20), 0);
    CU_ASSERT_EQUAL(truncate(path(&p, 1), 35), 0);
    struct mi_slots *s = open_slots(&p);
    CU_ASSERT_EQUAL(mi_slots_read(s, &p.out, &p.err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(p.err.text, p.dir));
    CU_ASSERT_PTR_NOT_NULL(strstr(p.err.text, "both damaged"));
    CU_ASSERT_EQUAL(mi_slots_write(s, mi_span_of("new"), &p.err), 0);
    CU_ASSERT_TRUE(reads(s, &p, "new"));
    mi_slots_close(s);
    end(&p);
}

static void test_failed_write_keeps_the_old(void)
{
    const enum faulty_op ops[] = {FAULTY_WRITE, FAULTY_SYNC};
    for (int i = 0; i < 2; i++) {
        struct place p;
        begin(&p);
        struct mi_slots *s = open_slots(&p);
        CU_ASSERT_EQUAL(mi_slots_write(s, mi_span_of("good"), &p.err), 0);
        for (int again = 0; again < 3; again++) {
            p.files.error[ops[i]] = ENOSPC;
            CU_ASSERT_EQUAL(mi_slots_write(s, mi_span_of("not"), &p.err), -1);
            CU_ASSERT_PTR_NOT_NULL(strstr(p.err.text, strerror(ENOSPC)));
            CU_ASSERT_TRUE(reads(s, &p, "good"));
        }
        p.files.error[ops[i]] = 0;
        CU_ASSERT_EQUAL(mi_slots_write(s, mi_span_of("better"), &p.err), 0);
        CU_ASSERT_TRUE(reads(s, &p, "better"));
        mi_slots_close(s);
        end(&p);
    }
}

/* Power goes during a write: the old content or the new, never another. */
static void test_power_loss(void)
{
    for (unsigned seed = 0; seed < 200; seed++) {
        struct place p;
        begin(&p);
        p.files.remember = true;
        char old[3000], new[3000];
        memset(old, 'o', sizeof old);
        memset(new, 'n', sizeof new);
        struct mi_span o = {(uint8_t *)old, 500 + seed * 7}, n = {(uint8_t *)new, 2900 - seed * 11};
        struct mi_slots *s = open_slots(&p);
        for (unsigned i = 0; i < 2 + seed % 3; i++)
            CU_ASSERT_EQUAL(mi_slots_write(s, o, &p.err), 0);
        p.files.error[FAULTY_SYNC] = EIO;
        CU_ASSERT_EQUAL(mi_slots_write(s, n, &p.err), -1);
        mi_slots_close(s);
        faulty_lose_power(&p.files, seed, 1 + seed % 3);
        p.files.error[FAULTY_SYNC] = 0;
        s = open_slots(&p);
        CU_ASSERT_EQUAL(mi_slots_read(s, &p.out, &p.err), 1);
        struct mi_span got = mi_buf_span(&p.out);
        CU_ASSERT_TRUE(mi_span_equal(got, o) || mi_span_equal(got, n));
        mi_slots_close(s);
        end(&p);
    }
}

static void test_cannot_open(void)
{
    struct mi_error err;
    CU_ASSERT_PTR_NULL(mi_slots_open("/no/such/directory", "state", &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/no/such/directory"));
}

static CU_TestInfo tests[] = {{"never written", test_never_written},
                              {"the newest is read", test_newest_is_read},
                              {"damaged newest", test_damaged_newest},
                              {"both damaged", test_both_damaged},
                              {"a failed write keeps the old", test_failed_write_keeps_the_old},
                              {"power loss", test_power_loss},
                              {"cannot open", test_cannot_open},
                              CU_TEST_INFO_NULL};
MI_SUITE_MAIN("slots", tests)
