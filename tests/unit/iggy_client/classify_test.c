/* classify: what every status and every failed exchange means, one line each, for writes and for reads. */
#include "classify.h"

#include "support/suite.h"

#include <stdio.h>
#include <string.h>

#define NONE IGGY_EFFECT_NONE
#define DONE IGGY_EFFECT_DONE
#define UNKNOWN IGGY_EFFECT_UNKNOWN
#define NEVER IGGY_RETRY_NEVER
#define LATER IGGY_RETRY_LATER

static const struct {
    struct exchange_facts facts; /* of a write */
    struct outcome expected;
    enum iggy_effect read_effect; /* the same for a read */
} rows[] = {
    {{EXCHANGE_ANSWERED, true, true, 200, 0}, {IGGY_OK, DONE, NEVER}, DONE},
    {{EXCHANGE_ANSWERED, true, true, 201, 0}, {IGGY_OK, DONE, NEVER}, DONE},
    {{EXCHANGE_ANSWERED, true, true, 204, 0}, {IGGY_OK, DONE, NEVER}, DONE},
    {{EXCHANGE_ANSWERED, true, true, 400, 0}, {IGGY_HTTP, NONE, NEVER}, NONE},
    {{EXCHANGE_ANSWERED, true, true, 400, 4022}, {IGGY_HTTP, NONE, NEVER}, NONE},
    {{EXCHANGE_ANSWERED, true, true, 400, 1012}, {IGGY_HTTP, NONE, NEVER}, NONE},
    {{EXCHANGE_ANSWERED, true, true, 400, 85}, {IGGY_HTTP, UNKNOWN, LATER}, NONE},
    {{EXCHANGE_ANSWERED, true, true, 401, 40}, {IGGY_HTTP, NONE, LATER}, NONE},
    {{EXCHANGE_ANSWERED, true, true, 401, 0}, {IGGY_HTTP, NONE, LATER}, NONE},
    {{EXCHANGE_ANSWERED, true, true, 403, 41}, {IGGY_HTTP, NONE, NEVER}, NONE},
    {{EXCHANGE_ANSWERED, true, true, 404, 20}, {IGGY_HTTP, NONE, NEVER}, NONE},
    {{EXCHANGE_ANSWERED, true, true, 404, 0}, {IGGY_HTTP, NONE, NEVER}, NONE},
    {{EXCHANGE_ANSWERED, true, true, 405, 0}, {IGGY_HTTP, NONE, NEVER}, NONE},
    {{EXCHANGE_ANSWERED, true, true, 409, 101}, {IGGY_HTTP, NONE, NEVER}, NONE},
    {{EXCHANGE_ANSWERED, true, true, 413, 0}, {IGGY_HTTP, NONE, NEVER}, NONE},
    {{EXCHANGE_ANSWERED, true, true, 415, 0}, {IGGY_HTTP, NONE, NEVER}, NONE},
    {{EXCHANGE_ANSWERED, true, true, 422, 0}, {IGGY_HTTP, NONE, NEVER}, NONE},
    {{EXCHANGE_ANSWERED, true, true, 429, 429}, {IGGY_HTTP, NONE, LATER}, NONE},
    {{EXCHANGE_ANSWERED, true, true, 503, 57}, {IGGY_HTTP, UNKNOWN, LATER}, NONE},
    {{EXCHANGE_ANSWERED, true, true, 503, 58}, {IGGY_HTTP, NONE, LATER}, NONE},
    {{EXCHANGE_ANSWERED, true, true, 503, 503}, {IGGY_HTTP, NONE, LATER}, NONE},
    {{EXCHANGE_ANSWERED, true, true, 503, 9}, {IGGY_HTTP, NONE, LATER}, NONE},
    {{EXCHANGE_ANSWERED, true, true, 503, 0}, {IGGY_HTTP, NONE, LATER}, NONE},
    {{EXCHANGE_ANSWERED, true, true, 504, 504}, {IGGY_HTTP, UNKNOWN, LATER}, NONE},
    /* unheard of */
    {{EXCHANGE_ANSWERED, true, true, 100, 0}, {IGGY_HTTP, UNKNOWN, LATER}, NONE},
    {{EXCHANGE_ANSWERED, true, true, 307, 0}, {IGGY_HTTP, UNKNOWN, LATER}, NONE},
    {{EXCHANGE_ANSWERED, true, true, 418, 0}, {IGGY_HTTP, UNKNOWN, LATER}, NONE},
    {{EXCHANGE_ANSWERED, true, true, 500, 0}, {IGGY_HTTP, UNKNOWN, LATER}, NONE},
    {{EXCHANGE_ANSWERED, true, true, 502, 0}, {IGGY_HTTP, UNKNOWN, LATER}, NONE},
    {{EXCHANGE_ANSWERED, true, true, 999, 7}, {IGGY_HTTP, UNKNOWN, LATER}, NONE},
    /* no answer */
    {{EXCHANGE_NO_CONNECT, false, true, 0, 0}, {IGGY_CONNECT, NONE, LATER}, NONE},
    {{EXCHANGE_CUT, true, true, 0, 0}, {IGGY_CUT, UNKNOWN, LATER}, NONE},
    {{EXCHANGE_CUT, false, true, 0, 0}, {IGGY_CUT, NONE, LATER}, NONE},
    {{EXCHANGE_TIMEOUT, true, true, 0, 0}, {IGGY_TIMEOUT, UNKNOWN, LATER}, NONE},
    {{EXCHANGE_TIMEOUT, false, true, 0, 0}, {IGGY_TIMEOUT, NONE, LATER}, NONE},
    /* larger than the bound: the status is known, the body is not */
    {{EXCHANGE_TOO_LARGE, true, true, 201, 0}, {IGGY_GARBLED, UNKNOWN, LATER}, NONE},
    {{EXCHANGE_TOO_LARGE, true, true, 404, 0}, {IGGY_HTTP, NONE, NEVER}, NONE},
    {{EXCHANGE_TOO_LARGE, true, true, 500, 0}, {IGGY_HTTP, UNKNOWN, LATER}, NONE},
};

static void field_16_17_19_every_row(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct exchange_facts facts = rows[i].facts;
        struct outcome write = classify(&facts);
        facts.write = false;
        struct outcome read = classify(&facts);
        bool fits = write.kind == rows[i].expected.kind && write.effect == rows[i].expected.effect &&
                    write.retry == rows[i].expected.retry && read.kind == write.kind &&
                    read.retry == write.retry && read.effect == rows[i].read_effect;
        if (!fits)
            printf("    row %zu: status %d code %u\n", i, facts.status, facts.code);
        CU_ASSERT_TRUE(fits);
    }
}

static void garbled(void)
{
    CU_ASSERT_EQUAL(classify_garbled(true).effect, UNKNOWN);
    CU_ASSERT_EQUAL(classify_garbled(false).effect, NONE);
    CU_ASSERT_EQUAL(classify_garbled(true).retry, LATER);
}

static void every_kind_has_a_name_of_its_own(void)
{
    for (int a = IGGY_OK; a <= IGGY_CANCELLED; a++) {
        CU_ASSERT_STRING_NOT_EQUAL(iggy_kind_name((enum iggy_kind)a), "unknown");
        for (int b = IGGY_OK; b < a; b++)
            CU_ASSERT_STRING_NOT_EQUAL(iggy_kind_name((enum iggy_kind)a), iggy_kind_name((enum iggy_kind)b));
    }
}

static CU_TestInfo tests[] = {{"field 16 17 19: every row", field_16_17_19_every_row},
                              {"garbled", garbled},
                              {"every_kind_has_a_name_of_its_own", every_kind_has_a_name_of_its_own},
                              CU_TEST_INFO_NULL};
MI_SUITE_MAIN("classify", tests)
