/* request: what $iggy/FROM/FILTER means, and what is refused with which sentence. */
#include "history/request.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>

#define US 1000000ull
static const uint64_t now_us = 1800000000 * US;

static bool parse(const char *text, struct mi_request *r)
{
    const char *why;
    bool ok = mi_request_parse(mi_span_of(text), now_us, r, &why);
    CU_ASSERT_TRUE(ok || strlen(why) > 10);
    CU_ASSERT_TRUE(ok || !strpbrk(why, "\"\\")); /* it goes into JSON as it is */
    return ok;
}

static uint64_t since(const char *from)
{
    char text[128];
    struct mi_request r;
    snprintf(text, sizeof text, "$iggy/%s/a/#", from);
    return parse(text, &r) && r.kind == MI_FROM_TIME ? r.since_us : UINT64_MAX;
}

static void the_words(void)
{
    struct mi_request r;
    CU_ASSERT_TRUE(parse("$iggy/first/a/b", &r) && r.kind == MI_FROM_FIRST);
    CU_ASSERT_TRUE(mi_span_equal(r.filter, mi_span_of("a/b")) && mi_span_equal(r.from, mi_span_of("first")));
    CU_ASSERT_TRUE(parse("$iggy/last-100/#", &r) && r.kind == MI_FROM_LAST && r.last == 100);
    CU_ASSERT_TRUE(parse("$iggy/c_abc/a", &r) && r.kind == MI_FROM_CURSOR);
    CU_ASSERT_TRUE(mi_span_equal(r.from, mi_span_of("c_abc")));
    CU_ASSERT_TRUE(parse("$iggy/first//", &r) && mi_span_equal(r.filter, mi_span_of("/")));
}

static void ages(void)
{
    CU_ASSERT_EQUAL(since("90s"), now_us - 90 * US);
    CU_ASSERT_EQUAL(since("15m"), now_us - 900 * US);
    CU_ASSERT_EQUAL(since("2h"), now_us - 7200 * US);
    CU_ASSERT_EQUAL(since("7d"), now_us - 604800 * US);
    CU_ASSERT_EQUAL(since("4w"), now_us - 4 * 604800 * US);
    CU_ASSERT_EQUAL(since("0s"), now_us);
    CU_ASSERT_EQUAL(since("999999999w"), 0);
}

static void times(void)
{
    CU_ASSERT_EQUAL(since("1970-01-01T00:00:00Z"), 0);
    CU_ASSERT_EQUAL(since("2026-11-29T12:00:00Z"), 1795953600 * US);
    CU_ASSERT_EQUAL(since("2026-11-29t12:00:00z"), 1795953600 * US);
    CU_ASSERT_EQUAL(since("2026-11-29T07:00:00-05:00"), 1795953600 * US);
    CU_ASSERT_EQUAL(since("2026-11-29T13:30:00%2B01:30"), 1795953600 * US);
    CU_ASSERT_EQUAL(since("2026-11-29T12:00:00.25Z"), 1795953600 * US + 250000);
    CU_ASSERT_EQUAL(since("2026-11-29T12:00:00.1234567891Z"), 1795953600 * US + 123456);
    CU_ASSERT_EQUAL(since("2024-02-29T00:00:00Z"), 1709164800 * US);
    CU_ASSERT_EQUAL(since("2000-03-01T00:00:00Z"), 951868800 * US);
    CU_ASSERT_EQUAL(since("2100-03-01T00:00:00Z"), 4107542400 * US);
    CU_ASSERT_EQUAL(since("9999-12-31T23:59:60Z"), 253402300800 * US);
    CU_ASSERT_EQUAL(since("1970-01-01T00:00:00%2B05:00"), 0); /* before 1970: all of it */
}

static void what_is_refused(void)
{
    static const char *const bad[] = {
        "",
        "$iggy",
        "$iggy/",
        "$iggy/first",
        "$iggy/first/",
        "$iggy//a",
        "$iggy/+/a",
        "$iggy/#",
        "$iggy/First/a",
        "$iggy/last/a",
        "$iggy/last-/a",
        "$iggy/last-0/a",
        "$iggy/last--1/a",
        "$iggy/last-1000000000/a",
        "$iggy/last-1x/a",
        "$iggy/15/a",
        "$iggy/m/a",
        "$iggy/15mm/a",
        "$iggy/-15m/a",
        "$iggy/1.5h/a",
        "$iggy/9999999999m/a",
        "$iggy/2026-11-29/a",
        "$iggy/2026-13-01T00:00:00Z/a",
        "$iggy/2026-00-01T00:00:00Z/a",
        "$iggy/2026-02-29T00:00:00Z/a",
        "$iggy/2100-02-29T00:00:00Z/a",
        "$iggy/2026-04-31T00:00:00Z/a",
        "$iggy/2026-11-29T24:00:00Z/a",
        "$iggy/2026-11-29T12:60:00Z/a",
        "$iggy/2026-11-29T12:00:61Z/a",
        "$iggy/2026-11-29T12:00:00/a",
        "$iggy/2026-11-29T12:00:00.Z/a",
        "$iggy/2026-11-29T12:00:00Zx/a",
        "$iggy/2026-11-29T12:00:00-1:00/a",
        "$iggy/2026-11-29 12:00:00Z/a",
        "$iggy/1969-12-31T23:59:59Z/a",
        "iggy/first/a",
    };
    struct mi_request r;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CU_ASSERT_FALSE(parse(bad[i], &r));
        if (parse(bad[i], &r))
            printf("\n    taken: %s", bad[i]);
    }
}

static void where_it_stands(void)
{
    CU_ASSERT_EQUAL(mi_request_begins(mi_span_of("$iggy/first/a")), 0);
    CU_ASSERT_EQUAL(mi_request_begins(mi_span_of("$iggy")), 0);
    CU_ASSERT_EQUAL(mi_request_begins(mi_span_of("tenant/1/$iggy/first/a")), 9);
    CU_ASSERT_EQUAL(mi_request_begins(mi_span_of("/$iggy/first/a")), 1);
    CU_ASSERT_EQUAL(mi_request_begins(mi_span_of("x$iggy/first/a")), SIZE_MAX);
    CU_ASSERT_EQUAL(mi_request_begins(mi_span_of("$iggyx/first/a")), SIZE_MAX);
    CU_ASSERT_EQUAL(mi_request_begins(mi_span_of("a/b/#")), SIZE_MAX);
    CU_ASSERT_EQUAL(mi_request_begins(mi_span_of("")), SIZE_MAX);
    size_t at = 0;
    CU_ASSERT_TRUE(mi_request_is_shared(mi_span_of("$share/g/$iggy/first/a"), &at) && at == 9);
    CU_ASSERT_FALSE(mi_request_is_shared(mi_span_of("$share/g"), &at));
    CU_ASSERT_FALSE(mi_request_is_shared(mi_span_of("$iggy/first/a"), &at));
}

static CU_TestInfo tests[] = {
    {"the words", the_words},
    {"ages", ages},
    {"times", times},
    {"what is refused", what_is_refused},
    {"where it stands", where_it_stands},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("history_request", tests)
