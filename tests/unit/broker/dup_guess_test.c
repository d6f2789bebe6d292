/* dup_guess: only what repeats the end of the connection before, in order, right after a reconnect, is
 * suspect. */
#include "broker/dup_guess.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>

static struct mi_dup_guess *guess;

/* Sends each letter as one message of a client; returns which were suspected, as letters. */
static const char *send(const char *client, const char *letters)
{
    static char marked[256];
    size_t n = 0;
    for (const char *l = letters; *l; l++) {
        struct mi_span payload = {(const uint8_t *)l, 1};
        uint64_t print = mi_dup_guess_print(mi_span_of("t"), payload, 1, false);
        if (mi_dup_guess_check(guess, mi_span_of(client), print))
            marked[n++] = *l;
        mi_dup_guess_keep(guess, mi_span_of(client), print);
    }
    marked[n] = '\0';
    return marked;
}

static void reconnect(const char *client)
{
    mi_dup_guess_disconnected(guess, mi_span_of(client));
}

static void nothing_is_suspect_on_one_connection(void)
{
    guess = mi_dup_guess_new(10);
    CU_ASSERT_STRING_EQUAL(send("c", "aaabbbaaa"), "");
    reconnect("other");
    CU_ASSERT_STRING_EQUAL(send("c", "aaa"), "");
    mi_dup_guess_free(guess);
}

static void the_repeated_end_is_suspect_and_what_follows_is_not(void)
{
    guess = mi_dup_guess_new(10);
    send("c", "abcdef");
    reconnect("c");
    CU_ASSERT_STRING_EQUAL(send("c", "efgabc"), "ef");
    mi_dup_guess_free(guess);
}

static void a_new_message_ends_the_suspicion(void)
{
    guess = mi_dup_guess_new(10);
    send("c", "abcdef");
    reconnect("c");
    CU_ASSERT_STRING_EQUAL(send("c", "xef"), "");
    mi_dup_guess_free(guess);
}

static void acknowledged_ones_in_between_are_stepped_over(void)
{
    guess = mi_dup_guess_new(10);
    send("c", "abcdef");
    reconnect("c");
    CU_ASSERT_STRING_EQUAL(send("c", "bdfa"), "bdf");
    mi_dup_guess_free(guess);
}

static void each_reconnect_begins_anew(void)
{
    guess = mi_dup_guess_new(10);
    send("c", "abc");
    reconnect("c");
    CU_ASSERT_STRING_EQUAL(send("c", "c"), "c");
    reconnect("c");
    CU_ASSERT_STRING_EQUAL(send("c", "cd"), "c");
    mi_dup_guess_free(guess);
}

static void memory_is_bounded_per_client_and_in_all(void)
{
    guess = mi_dup_guess_new(2);
    for (int i = 0; i < 3 * MI_DUP_MESSAGES; i++)
        send("c", "abcdefgh");
    reconnect("c");
    CU_ASSERT_EQUAL(strlen(send("c", "abcdefghabcdefghabcdefghabcdefghabcdefgh")), MI_DUP_MESSAGES);
    send("d", "x");
    send("e", "x"); /* c is forgotten */
    reconnect("c");
    reconnect("d");
    CU_ASSERT_STRING_EQUAL(send("c", "gh"), "");
    CU_ASSERT_STRING_EQUAL(send("d", "x"), "");
    mi_dup_guess_free(guess);
}

static void everything_about_a_message_counts(void)
{
    struct mi_span a = mi_span_of("a"), b = mi_span_of("b"), none = mi_span_of(NULL);
    uint64_t print = mi_dup_guess_print(a, b, 1, false);
    CU_ASSERT_EQUAL(mi_dup_guess_print(a, b, 1, false), print);
    CU_ASSERT_NOT_EQUAL(mi_dup_guess_print(b, a, 1, false), print);
    CU_ASSERT_NOT_EQUAL(mi_dup_guess_print(a, b, 2, false), print);
    CU_ASSERT_NOT_EQUAL(mi_dup_guess_print(a, b, 1, true), print);
    CU_ASSERT_NOT_EQUAL(mi_dup_guess_print(a, none, 1, false), print);
}

static CU_TestInfo tests[] = {
    {"nothing is suspect on one connection", nothing_is_suspect_on_one_connection},
    {"the repeated end is suspect and what follows is not",
     the_repeated_end_is_suspect_and_what_follows_is_not},
    {"a new message ends the suspicion", a_new_message_ends_the_suspicion},
    {"acknowledged ones in between are stepped over", acknowledged_ones_in_between_are_stepped_over},
    {"each reconnect begins anew", each_reconnect_begins_anew},
    {"memory is bounded per client and in all", memory_is_bounded_per_client_and_in_all},
    {"everything about a message counts", everything_about_a_message_counts},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("dup_guess", tests)
