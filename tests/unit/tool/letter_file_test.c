/* The file of dead letters: walking, damage, taking out, giving space back. */
#include "letters.h"

#include "out/dead_letter_file.h"
#include "out/dead_letters.h"
#include "out/letter_round.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct mi_letter_file *open_file(bool to_write)
{
    struct mi_letter_file *f = NULL;
    struct mi_error err;
    CU_ASSERT_EQUAL_FATAL(mi_letter_file_open(letters_dir, to_write, &f, &err), 1);
    return f;
}

/* "1 2 -3 !40 t8": letters, taken out ones, damage and its bytes, torn bytes. */
static const char *walk(bool whole)
{
    static char text[400];
    struct mi_letter_file *f = open_file(false);
    struct mi_letter letter;
    struct mi_error err;
    size_t n = 0;
    text[0] = '\0';
    while (mi_letter_file_next(f, whole, &letter, &err) == 1)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              letter.damaged     ? "!%llu "
                              : letter.taken_out ? "-%llu "
                                                 : "%llu ",
                              (unsigned long long)(letter.damaged ? letter.bytes : letter.sequence));
    if (mi_letter_file_torn(f))
        snprintf(text + n, sizeof text - n, "t%llu", (unsigned long long)mi_letter_file_torn(f));
    mi_letter_file_close(f);
    return text;
}

static void take_out(uint64_t number)
{
    struct mi_letter_file *f = open_file(true);
    struct mi_letter letter;
    struct mi_error err;
    while (mi_letter_file_next(f, false, &letter, &err) == 1)
        if (letter.sequence == number)
            CU_ASSERT_EQUAL(mi_letter_file_take_out(f, &letter, &err), 0);
    CU_ASSERT_EQUAL(mi_letter_file_sync(f, &err), 0);
    mi_letter_file_close(f);
}

static void three(void)
{
    CU_ASSERT_TRUE_FATAL(letters_make());
    for (uint64_t i = 1; i <= 3; i++)
        CU_ASSERT_TRUE_FATAL(letters_file(i, MI_REASON_REFUSED, "a/b", "payload"));
}

static void a_walk_gives_all_letters_in_order(void)
{
    struct mi_letter_file *f;
    struct mi_error err;
    CU_ASSERT_TRUE_FATAL(letters_make());
    CU_ASSERT_EQUAL(mi_letter_file_open(letters_dir, false, &f, &err), 0);
    letters_remove();
    three();
    CU_ASSERT_STRING_EQUAL(walk(true), "1 2 3 ");
    CU_ASSERT_STRING_EQUAL(walk(false), "1 2 3 ");
    letters_remove();
}

static void what_is_taken_out_stays_out_and_known(void)
{
    three();
    take_out(2);
    CU_ASSERT_STRING_EQUAL(walk(true), "1 -2 3 ");
    CU_ASSERT_TRUE(letters_file(2, MI_REASON_REFUSED, "a/b", "payload")); /* after a crash: filed again */
    CU_ASSERT_STRING_EQUAL(walk(true), "1 -2 3 ");
    letters_remove();
}

static void damage_is_passed_over(void)
{
    three();
    uint64_t one = letters_bytes() / 3;
    CU_ASSERT_TRUE(letters_flip(one + 100)); /* in the middle letter's content */
    char wanted[40];
    snprintf(wanted, sizeof wanted, "1 !%llu 3 ", (unsigned long long)one);
    CU_ASSERT_STRING_EQUAL(walk(true), wanted);
    CU_ASSERT_TRUE(letters_flip(one + 8 + 5)); /* its length, too */
    CU_ASSERT_STRING_EQUAL(walk(true), wanted);
    CU_ASSERT_STRING_EQUAL(walk(false), wanted);
    CU_ASSERT_TRUE(letters_flip(4 + 8)); /* the first one's length */
    snprintf(wanted, sizeof wanted, "!%llu 3 ", (unsigned long long)(2 * one));
    CU_ASSERT_STRING_EQUAL(walk(true), wanted);
    letters_remove();
}

static void a_torn_end_is_no_damage(void)
{
    three();
    uint64_t one = letters_bytes() / 3;
    CU_ASSERT_EQUAL(truncate(letters_path(MI_DEAD_LETTER_FILE), (off_t)(2 * one + 72)), 0);
    CU_ASSERT_STRING_EQUAL(walk(true), "1 2 t72");
    CU_ASSERT_EQUAL(truncate(letters_path(MI_DEAD_LETTER_FILE), (off_t)(2 * one + 5)), 0);
    CU_ASSERT_STRING_EQUAL(walk(true), "1 2 t5");
    letters_remove();
}

static void space_comes_back_for_what_is_settled(void)
{
    struct mi_error err;
    three();
    uint64_t one = letters_bytes() / 3;
    CU_ASSERT_EQUAL(mi_letter_file_compact(letters_dir, 100, &err), 0); /* nothing is taken out */
    take_out(1);
    take_out(3);
    struct mi_letter_file *f = open_file(false);
    CU_ASSERT_EQUAL(mi_letter_file_compact(letters_dir, 3, &err), 1);
    CU_ASSERT_TRUE(mi_letter_file_replaced(f));
    mi_letter_file_close(f);
    CU_ASSERT_STRING_EQUAL(walk(true), "2 -3 "); /* 3 could still be filed again after a crash */
    CU_ASSERT_EQUAL(letters_bytes(), 2 * one);
    CU_ASSERT_EQUAL(mi_letter_file_compact(letters_dir, 4, &err), 1);
    CU_ASSERT_STRING_EQUAL(walk(true), "2 ");
    CU_ASSERT_EQUAL(access(letters_path(MI_DEAD_LETTER_FILE ".new"), F_OK), -1);
    letters_remove();
}

static void orders_are_understood_or_refused(void)
{
    struct mi_order o;
    CU_ASSERT_TRUE(mi_order_parse("requeue all", &o) && o.requeue && o.all);
    CU_ASSERT_TRUE(mi_order_parse("drop 17", &o) && !o.requeue && !o.all && o.number == 17);
    static const char *const bad[] = {
        "", "requeue", "requeue ", "drop -1", "drop 1 2", "drop 99999999999999999999", "eat all"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CU_ASSERT_FALSE(mi_order_parse(bad[i], &o));
}

/* Out may make the file smaller between the reading and the taking out. */
static void a_round_finds_its_letters_in_a_file_made_anew(void)
{
    static struct mi_round r;
    struct mi_error err;
    const struct mi_order order = {.all = true, .below = UINT64_MAX};
    three();
    CU_ASSERT_TRUE_FATAL(letters_file(4, MI_REASON_REFUSED, "a/b", "payload"));
    take_out(1);
    struct mi_letter_file *f = open_file(true);
    mi_round_init(&r);
    r.next = letters_bytes() / 4; /* as after an earlier round */
    CU_ASSERT_EQUAL_FATAL(mi_round_read(&r, f, &order, &err), 1);
    CU_ASSERT_EQUAL(r.count, 3);
    CU_ASSERT_EQUAL(r.records[0].reason, MI_REASON_NONE);
    CU_ASSERT_EQUAL(mi_letter_file_compact(letters_dir, 100, &err), 1);
    mi_letter_file_close(f);
    f = open_file(true);
    CU_ASSERT_EQUAL(mi_round_take_out(&r, f, 2, true, &err), 0);
    mi_letter_file_close(f);
    CU_ASSERT_STRING_EQUAL(walk(true), "-2 -3 4 ");
    mi_round_fini(&r);
    letters_remove();
}

static CU_TestInfo tests[] = {
    {"a walk gives all letters in order", a_walk_gives_all_letters_in_order},
    {"what is taken out stays out and known", what_is_taken_out_stays_out_and_known},
    {"damage is passed over", damage_is_passed_over},
    {"a torn end is no damage", a_torn_end_is_no_damage},
    {"space comes back for what is settled", space_comes_back_for_what_is_settled},
    {"orders are understood or refused", orders_are_understood_or_refused},
    {"a round finds its letters in a file made anew", a_round_finds_its_letters_in_a_file_made_anew},
    CU_TEST_INFO_NULL,
};

MI_SUITE_MAIN("letter file", tests)
