/* Looking at a journal without being its owner. */
#include "fixture.h"
#include "journal/inspect.h"
#include "journal/journal_private.h"
#include "support/process.h"
#include "support/suite.h"

#include <string.h>
#include <unistd.h>

struct found {
    size_t segments, sealed, records, damage, torn;
    uint64_t lost, last;
};

static struct found look(struct fixture *f)
{
    struct found t = {0};
    struct mi_journal_ref ref;
    struct mi_record r;
    uint64_t lost;
    struct mi_inspect *i = mi_inspect_open(f->dir, &f->err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(i);
    const struct mi_inspect_segment *s;
    for (size_t n = 0; (s = mi_inspect_segment(i, n)); n++) {
        size_t before = t.records;
        enum mi_inspect_found found;
        t.segments++;
        t.sealed += s->sealed;
        mi_inspect_begin(i, n);
        while ((found = mi_inspect_next(i, &ref, &r, &lost, &f->err)) != MI_INSPECT_END) {
            CU_ASSERT_NOT_EQUAL_FATAL(found, MI_INSPECT_ERROR);
            if (found == MI_INSPECT_RECORD) {
                CU_ASSERT_TRUE(fixture_is(&r, fixture_number(&r)) && r.sequence > t.last && r.run == s->run);
                t.last = r.sequence;
                t.records++;
            }
            t.damage += found == MI_INSPECT_DAMAGE;
            t.torn += found == MI_INSPECT_TORN;
            t.lost += lost;
        }
        CU_ASSERT_EQUAL(s->records, t.records - before);
    }
    mi_inspect_close(i);
    return t;
}

static void test_running_and_stopped(void)
{
    struct fixture f;
    fixture_begin(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    for (uint64_t n = 1; n <= 200; n++)
        CU_ASSERT_EQUAL(fixture_append(&f, n, 1), MI_APPEND_OK);
    struct found t = look(&f);
    CU_ASSERT_TRUE(t.records == 200 && t.damage == 0 && t.torn == 0 && t.sealed == 0);
    mi_journal_disk_step(f.j);
    t = look(&f);
    CU_ASSERT_TRUE(t.records == 200 && t.sealed == t.segments - 1);
    struct mi_inspect *i = mi_inspect_open(f.dir, &f.err);
    CU_ASSERT_EQUAL(mi_inspect_holder(i), (long)getpid());
    CU_ASSERT_STRING_EQUAL(mi_inspect_identity(i), mi_journal_identity(f.j));
    CU_ASSERT_EQUAL(mi_inspect_former(i), 0);
    mi_inspect_close(i);
    fixture_close(&f);
    t = look(&f);
    CU_ASSERT_TRUE(t.records == 200 && t.sealed == t.segments);
    i = mi_inspect_open(f.dir, &f.err);
    CU_ASSERT_EQUAL(mi_inspect_holder(i), 0);
    mi_inspect_close(i);
    fixture_end(&f);
}

static void test_damage_and_torn(void)
{
    struct fixture f;
    struct mi_journal_ref refs[20];
    struct mi_record r;
    char name[MI_SEGMENT_NAME];
    fixture_begin(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    for (uint64_t n = 1; n <= 20; n++)
        CU_ASSERT_EQUAL(fixture_append(&f, n, 1), MI_APPEND_OK);
    struct mi_cursor *c = mi_cursor_new(f.j, 0);
    for (int i = 0; i < 20; i++)
        CU_ASSERT_EQUAL(mi_cursor_next(c, &refs[i], &r, &f.err), 1);
    mi_cursor_free(c);
    fixture_crash(&f);
    mi_segment_name(refs[0].segment, name);
    fixture_flip(fixture_path(&f, name), refs[5].offset + 20, 1);
    fixture_flip(fixture_path(&f, name), refs[6].offset + 20, 1);
    fixture_flip(fixture_path(&f, name), refs[19].offset + 80, 1);
    struct found t = look(&f);
    CU_ASSERT_TRUE(t.records == 17 && t.damage == 1 && t.lost == 2 && t.torn == 1);
    fixture_end(&f);
}

static void test_no_journal(void)
{
    struct mi_error err;
    char dir[256];
    CU_ASSERT_TRUE_FATAL(mi_temp_dir(dir, sizeof dir));
    CU_ASSERT_PTR_NULL(mi_inspect_open(dir, &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "holds no journal"));
    CU_ASSERT_TRUE(access(dir, F_OK) == 0);
    mi_remove_tree(dir);
    CU_ASSERT_PTR_NULL(mi_inspect_open(dir, &err));
}

static CU_TestInfo tests[] = {{"running and stopped", test_running_and_stopped},
                              {"damage and torn", test_damage_and_torn},
                              {"no journal", test_no_journal},
                              CU_TEST_INFO_NULL};
MI_SUITE_MAIN("inspect", tests)
